"""The windows of pooling as slices: position (i, j) of all windows at once is a strided slice of the images.

Everything works on (planes, *spatial), where planes are images times channels, several planes at a time in each thread.
A maximum or a sum over windows is taken along one dimension after the other.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from polyad.base.shapes_and_strides import window_count

Sizes = tuple[int, ...]


class Windows:
    """The slices that the positions of all windows are in.

    Attributes:
        size, padding: of the images.
        out: how many windows there are along each dimension.
        slices: for each dimension, a slice for each kernel position.
        padded: the size that all slices lie in; smaller than the image if its last elements are in no window.
        reaches_out: whether any window reaches beyond the image.
        inside: where the image lies in the padded planes.
    """

    def __init__(
        self, size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
    ) -> None:
        self.size, self.padding = tuple(size), padding
        self.out = tuple(
            [window_count(*axis, ceil_mode) for axis in zip(size, kernel, stride, padding, dilation, strict=True)]
        )
        self.slices = [
            [slice(i * spacing, i * spacing + (out - 1) * step + 1, step) for i in range(extent)]
            for out, extent, step, spacing in zip(self.out, kernel, stride, dilation, strict=True)
        ]
        self.padded = tuple(
            [
                max(slices[-1].stop, amount + have)
                for slices, amount, have in zip(self.slices, padding, size, strict=True)
            ]
        )
        self.reaches_out = self.padded != self.size or any(padding)
        self.inside = (
            slice(None),
            *[slice(amount, amount + have) for amount, have in zip(padding, size, strict=True)],
        )

    def pad(self, planes: Any, value: float) -> Any:
        """The planes with *value* around them; themselves if no window reaches beyond them."""
        if not self.reaches_out:
            return planes
        padded = np.full((len(planes), *self.padded), value, planes.dtype)
        padded[self.inside] = planes
        return padded

    def taps(self) -> Iterator[tuple[slice, ...]]:
        """The slice of each window position, in row-major order."""
        for slices in itertools.product(*self.slices):
            yield (slice(None), *slices)


def as_planes(x: Any) -> Any:
    """(images, channels, *spatial) as (planes, *spatial)."""
    return x.reshape(math.prod(x.shape[:2]), *x.shape[2:])


def fold(function: Any, planes: Any, windows: Windows, out: Any) -> None:
    """The windows of *planes* reduced by *function* (np.maximum or np.add), one dimension after the other."""
    last = len(windows.slices) - 1
    for axis, slices in enumerate(windows.slices):
        before = (slice(None),) * (axis + 1)
        parts = [planes[(*before, part)] for part in slices]
        if len(parts) == 1:
            planes = parts[0]
            if axis == last:
                out[...] = planes
            continue
        reduced = function(parts[0], parts[1], out=out) if axis == last else function(parts[0], parts[1])
        for part in parts[2:]:
            function(reduced, part, out=reduced)
        planes = reduced


def along(values: Any, axis: int, count: int) -> Any:
    """A vector that varies along *axis* of *count* dimensions."""
    return values.reshape([-1 if at == axis else 1 for at in range(count)])
