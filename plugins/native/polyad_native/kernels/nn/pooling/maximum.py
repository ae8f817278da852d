"""The largest element of windows and its gradient, by the engine's threads."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature
from polyad.base.shapes_and_strides import window_count

from ....choosing import Call
from ....engine import SOONER, Library

MAXIMUM = Library("kernels/nn/pooling/maximum", flags=SOONER)

_MOST = 1 << 31
Sizes = tuple[int, ...]
_PACK = struct.Struct("13q").pack


def _two(sizes: Sizes, lacking: int) -> tuple[int, ...]:
    return sizes if len(sizes) == 2 else (lacking, *sizes)


def _windows(x: Any, out: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> bytes:
    return _PACK(
        math.prod(x.shape[:2]), *_two(x.shape[2:], 1), *_two(kernel, 1), *_two(out, 1), *_two(stride, 1),
        *_two(padding, 0), *_two(dilation, 1),
    )  # fmt: skip


def max_pool(types: Signature) -> Call | None:
    """The kernel of `max_pool`."""
    run = MAXIMUM.function("max_pool", types[0].dtype)
    if run is None:
        return None

    def call(x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Any:
        if x.ndim not in (3, 4) or not x.size or ceil_mode:
            raise Declined
        if math.prod(kernel) <= 4:  # NumPy's few maxima of whole arrays are as fast, and faster for small images
            raise Declined
        out = tuple(map(window_count, x.shape[2:], kernel, stride, padding, dilation))
        if min(out) < 1:
            raise Declined
        result = np.empty((*x.shape[:2], *out), x.dtype)
        run(result, np.ascontiguousarray(x), _windows(x, out, kernel, stride, padding, dilation))
        return result

    return call


def max_pool_backward(types: Signature) -> Call | None:
    """The kernel of `max_pool_backward`."""
    run = MAXIMUM.function("max_pool_backward", types[0].dtype)
    if run is None:
        return None

    def call(g: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool) -> Any:
        if x.ndim not in (3, 4) or not g.size or g.dtype != x.dtype or math.prod(x.shape[2:]) >= _MOST:
            raise Declined
        g, x = np.ascontiguousarray(g), np.ascontiguousarray(x)
        result = np.empty(x.shape, x.dtype)
        run(result, g, x, _windows(x, g.shape[2:], kernel, stride, padding, dilation))
        return result

    return call
