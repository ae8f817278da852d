"""Convolution over one to three dimensions by matrix products, in blocks that stay in the cache.

The input is copied, a block of images (or of a part of an image) at a time, into zero-padded planes (C, B * area) in
which the element that a kernel position multiplies lies at a constant distance from the result's element. So each row
of the matrix of patches is a contiguous piece of a plane: it takes a few long copies, and one matrix product
gives the block's results. At row ends there are columns that belong to no result; they are left out when results are
copied out, and held zero in gradients.

Neighbouring rows share their padding: what lies right of a row's end is the zeros left of the next row; so it is with
the rows of neighbouring images. With strides, plane (a, b) holds every stride-th element from (a, b) on, and kernel
position (i, j) reads plane (i mod stride, j mod stride).

Float16 and bfloat16 are multiplied and summed in float32.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ...quiet import thread
from ...workers import WORTH_THREADS, spread

Sizes = tuple[int, ...]
Box = tuple[tuple[int, int], ...]
"""A part of the results: (first, end) along each spatial dimension."""

_MANY = 2**28
"""Results of an image so many that there may not be memory for them."""

_BLOCK_BYTES = 2 << 20
"""About how large the patches of a block are: small enough for the cache, large enough for BLAS at full speed."""

_SUMMED_PARTS = 8
"""In how many parts of the batch the gradient of the weight is added up."""


class _Axis:
    """How a spatial dimension lies in the planes.

    Attributes:
        size, out: elements of the input and of the result.
        pitch: distance between the starts of neighbouring rows (or images) in a plane.
        phases: which planes the kernel reads along this dimension.
        taps: for each kernel position, (index into phases, distance in the plane).
    """

    __slots__ = ("out", "phases", "pitch", "reach", "size", "spans", "taps")

    def __init__(self, size: int, kernel: int, stride: int, padding: int, dilation: int) -> None:
        self.size = size
        self.out = (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1
        self.phases = sorted({position * dilation % stride for position in range(kernel)})
        self.taps = [
            (self.phases.index(position * dilation % stride), position * dilation // stride)
            for position in range(kernel)
        ]
        self.reach = dilation * (kernel - 1) // stride
        last = self.out - 1 + self.reach
        # Plane positions [low, high) of each phase hold input elements start, start + stride, ...
        self.spans = []
        for phase in self.phases:
            low = max(-((phase - padding) // stride), 0)
            high = max(min(-((phase - padding - size) // stride), last + 1), low)
            self.spans.append((low, high, low * stride + phase - padding))
        self.pitch = max(
            self.out, last + 1 - min(low for low, _, _ in self.spans), *(high for _, high, _ in self.spans)
        )


@functools.lru_cache(256)
class _Plan:
    """The geometry of a convolution and the views that its blocks need.

    Patches are ordered (group, *kernel, channel of the group). A model repeats few geometries many times.
    """

    def __init__(
        self,
        images: int,
        channels: int,
        size: Sizes,
        kernel: Sizes,
        stride: Sizes,
        padding: Sizes,
        dilation: Sizes,
        groups: int,
        dtype: Any,
    ) -> None:
        self.images, self.channels, self.groups, self.dtype = images, channels, groups, dtype
        self.kernel, self.stride = kernel, stride
        self.axes = axes = [_Axis(*settings) for settings in zip(size, kernel, stride, padding, dilation, strict=True)]
        self.out = tuple([axis.out for axis in axes])
        if math.prod(self.out) > _MANY:
            np.empty(self.out, dtype)  # raises before anything is laid out for results that no memory holds
        # Plane elements from each position to the next along each dimension, and to the next image.
        pitches, area = [], 1
        for axis in reversed(axes):
            pitches.append(area)
            area *= axis.pitch
        self.pitches, self.area = tuple(pitches[::-1]), area
        self.reach = sum([axis.reach * pitch for axis, pitch in zip(axes, self.pitches, strict=True)])
        self.taps = [(0, 0)]
        self.planes = 1
        for axis, pitch in zip(axes, self.pitches, strict=True):
            phases = len(axis.phases)
            self.planes *= phases
            self.taps = [
                (plane * phases + phase, at + distance * pitch)
                for plane, at in self.taps
                for phase, distance in axis.taps
            ]
        # From each kernel position to the next, where all read the same plane: dilations are multiples of strides then.
        self.steps = [
            spacing // step * pitch for spacing, step, pitch in zip(dilation, stride, self.pitches, strict=True)
        ]
        self.depth = channels * len(self.taps)
        patch_bytes = max(self.depth * dtype.itemsize, 1)
        # At least eight blocks of a large batch, so that every core gets some.
        most_images = images if images * area * self.depth < WORTH_THREADS else -(-images // 8)
        self.block = max(1, min(most_images, _BLOCK_BYTES // (patch_bytes * max(area, 1))))
        self.boxes = self._boxes(patch_bytes)
        # Plane elements of a block, with room for the taps of its last results.
        self.length = self.block * area + self.reach
        self.most = max([self.positions(self.block, box) for box in self.boxes], default=0)

    def _boxes(self, patch_bytes: int) -> list[Box]:
        """The parts of an image's results that are computed at once: all of them, or some along one dimension for each
        position along those before it.
        """
        whole = [(0, out) for out in self.out]
        room = self.area * patch_bytes
        if self.block > 1 or room <= _BLOCK_BYTES:
            return [tuple(whole)]
        for at, (axis, pitch) in enumerate(zip(self.axes, self.pitches, strict=True)):
            if pitch * patch_bytes <= _BLOCK_BYTES or at == len(self.axes) - 1:
                count = max(1, min(axis.out, _BLOCK_BYTES // (patch_bytes * pitch)))
                pieces = [(first, min(first + count, axis.out)) for first in range(0, axis.out, count)]
                before = [[(place, place + 1) for place in range(out)] for out in self.out[:at]]
                return [(*box, *whole[at + 1 :]) for box in itertools.product(*before, pieces)]
        raise AssertionError("the last dimension is always taken")

    def positions(self, images: int, box: Box) -> int:
        """How many plane positions a block's results span, the unused ones between them included."""
        count = (images - 1) * self.area + 1
        for (first, end), pitch in zip(box, self.pitches, strict=True):
            count += (end - first - 1) * pitch
        return count

    def start(self, box: Box) -> int:
        """The plane position of the first result of a part."""
        return sum([first * pitch for (first, _), pitch in zip(box, self.pitches, strict=True)])

    def blocks(self, begin: int, end: int) -> Iterator[tuple[int, int]]:
        """(first image, end) of each block of the images [begin, end)."""
        for first in range(begin, end, self.block):
            yield first, min(first + self.block, end)

    def spread(self, work: Callable[[int, int], Any], parts: int = 0) -> list[Any]:
        """Run ``work(first image, end)`` on whole blocks, in several threads if there is enough to do.

        Blocks do not depend on the number of threads, so neither do the products' roundings.
        """
        block, images = self.block, self.images

        def on_blocks(first: int, end: int) -> Any:
            return work(first * block, min(end * block, images))

        return spread(on_blocks, -(-images // block), parts, images * self.area * self.depth)

    def new_planes(self) -> Any:
        """Zeroed planes: (planes, channels, length)."""
        return np.zeros((self.planes, self.channels, self.length), self.dtype)

    def new_patches(self) -> Any:
        """Memory for the patches of a block."""
        return np.empty(self.depth * self.most, self.dtype)

    def interior(self, planes: Any, images: int) -> Iterator[tuple[Any, tuple[slice, ...]]]:
        """Where input elements lie: pairs of a view (images, channels, *spatial) of the planes and the slices."""
        item = self.dtype.itemsize
        plane_bytes, channel_bytes, _ = planes.strides
        strides = (self.area * item, channel_bytes, *[pitch * item for pitch in self.pitches])
        for index, spans in enumerate(itertools.product(*[axis.spans for axis in self.axes])):
            counts = [high - low for low, high, _ in spans]
            if min(counts) > 0:
                offset = index * plane_bytes + item * sum(
                    [low * pitch for (low, _, _), pitch in zip(spans, self.pitches, strict=True)]
                )
                view = np.ndarray((images, self.channels, *counts), self.dtype, planes, offset, strides)
                slices = [
                    slice(start, start + (count - 1) * step + 1, step)
                    for (_, _, start), count, step in zip(spans, counts, self.stride, strict=True)
                ]
                yield view, (slice(None), slice(None), *slices)

    def patches(self, planes: Any, buffer: Any, images: int, box: Box) -> Any:
        """The matrix of patches (groups, depth / groups, positions) of a part's results, written into *buffer*."""
        count, begin, groups = self.positions(images, box), self.start(box), self.groups
        each = self.channels // groups
        patches = buffer[: self.depth * count].reshape(groups, *self.kernel, each, count)
        item = self.dtype.itemsize
        channel_bytes = planes.strides[1]
        if self.planes == 1:
            strides = (each * channel_bytes, *[step * item for step in self.steps], channel_bytes, item)
            patches[...] = np.ndarray(patches.shape, self.dtype, planes, begin * item, strides)
        else:
            flat = patches.reshape(groups, len(self.taps), each, count)
            for tap, (plane, distance) in enumerate(self.taps):
                at = begin + distance
                flat[:, tap] = planes[plane, :, at : at + count].reshape(groups, each, count)
        return patches.reshape(groups, self.depth // groups, count)

    def results(self, flat: Any, out_channels: int, images: int, box: Box) -> Any:
        """The results in *flat* (out_channels, positions), as a view (images, out_channels, *spatial)."""
        item = self.dtype.itemsize
        strides = (
            self.area * item,
            flat.size // out_channels * item,
            *[pitch * item for pitch in self.pitches],
        )
        shape = (images, out_channels, *[end - first for first, end in box])
        return np.ndarray(shape, self.dtype, flat, 0, strides)

    def gradients(self, g: Any, buffer: Any, box: Box) -> Any:
        """The gradient *g* of a part's results at their positions, zero between them, in *buffer*."""
        images, out_channels = g.shape[:2]
        flat = buffer[: out_channels * self.positions(images, box)]
        flat.fill(0)
        self.results(flat, out_channels, images, box)[...] = g
        return flat.reshape(out_channels, -1)


def _at(box: Box) -> tuple[slice, ...]:
    """A part of the results as a subscript of (images, channels, *spatial)."""
    return (slice(None), slice(None), *[slice(first, end) for first, end in box])


def _matrix(weight: Any, groups: int) -> Any:
    """The weight (O, C / groups, *kernel) as matrices (groups, O / groups, kernel positions * C / groups)."""
    return np.moveaxis(weight, 1, -1).reshape(groups, weight.shape[0] // groups, -1)


def _multiply(a: Any, b: Any, out: Any) -> None:
    """Batched matrix product; dot has less overhead than matmul and calls the same BLAS."""
    if len(a) == 1:
        np.dot(a[0], b[0], out=out[0])
    else:
        np.matmul(a, b, out=out)


def _in_float32(kernel: Any) -> Any:
    """*kernel*, computing in float32 where its first operand is of a half precision type."""

    def call(*args: Any) -> Any:
        dtype = args[0].dtype
        if dtype.itemsize > 2 or dtype.kind in "iub":
            return kernel(*args)
        result = kernel(*(arg.astype(np.float32) if isinstance(arg, np.ndarray) else arg for arg in args))
        return thread.run(result.astype, dtype)  # what the half type cannot hold is infinite there

    return call


def _is_pointwise(kernel: Sizes, stride: Sizes, padding: Sizes, groups: int) -> bool:
    return groups == 1 and math.prod(kernel) == 1 and math.prod(stride) == 1 and not any(padding)


def _pointwise(matrix: Any, x: Any, bias: Any) -> Any:
    """A convolution with a kernel of one element: a matrix product for each image."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    out = np.empty((len(x), len(matrix), flat.shape[2]), x.dtype)

    def work(first: int, end: int) -> None:
        np.matmul(matrix, flat[first:end], out=out[first:end])
        if bias is not None:
            out[first:end] += bias[:, None]

    spread(work, len(x), cost=out.size + flat.size)
    return out.reshape(len(x), len(matrix), *x.shape[2:])


def _pointwise_weight_grad(g: Any, x: Any, kernel: Sizes) -> Any:
    """The sum over images of the products of g (images, O, positions) with x (images, C, positions)."""
    images, out_channels = g.shape[:2]
    total = np.zeros((out_channels, x.shape[1]), x.dtype)

    def work(first: int, end: int) -> Any:
        part = np.zeros_like(total)
        for at in range(first, end):
            part += np.dot(g[at], x[at].T)
        return part

    if g.size:
        # A fixed number of parts, so that the sum's rounding does not depend on the number of threads.
        for part in spread(work, images, _SUMMED_PARTS, g.size + x.size):
            total += part
    return total.reshape(out_channels, x.shape[1], *kernel)


def _column(bias: Any, dims: int) -> Any:
    """The bias as it is added to (images, channels, *spatial)."""
    return None if bias is None else bias.reshape(-1, *[1] * dims)


def convolution(x: Any, weight: Any, bias: Any, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int) -> Any:
    images, channels, *size = x.shape
    out_channels, _, *kernel = weight.shape
    if _is_pointwise(kernel, stride, padding, groups):
        return _pointwise(weight.reshape(out_channels, channels), x, bias)
    plan = _Plan(images, channels, tuple(size), tuple(kernel), stride, padding, dilation, groups, x.dtype)
    out = np.empty((images, out_channels, *plan.out), x.dtype)
    if not out.size:
        return out
    matrix, column = _matrix(weight, groups), _column(bias, len(size))

    def work(begin: int, stop: int) -> None:
        planes, buffer, products = plan.new_planes(), plan.new_patches(), np.empty(out_channels * plan.most, x.dtype)
        for first, end in plan.blocks(begin, stop):
            count = end - first
            for view, slices in plan.interior(planes, count):
                view[...] = x[first:end][slices]
            for box in plan.boxes:
                patches = plan.patches(planes, buffer, count, box)
                flat = products[: out_channels * patches.shape[2]].reshape(groups, -1, patches.shape[2])
                _multiply(matrix, patches, flat)
                results, target = plan.results(flat, out_channels, count, box), out[first:end][_at(box)]
                if column is None:
                    target[...] = results
                else:
                    np.add(results, column, out=target)

    plan.spread(work)
    return out


def convolution_transposed(
    g: Any, weight: Any, bias: Any, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    images, out_channels = g.shape[:2]
    each, *kernel = weight.shape[1:]
    channels = each * groups
    if _is_pointwise(kernel, stride, padding, groups):
        return _pointwise(weight.reshape(out_channels, channels).T, g, bias)
    around = tuple(
        [spacing * (extent - 1) - amount for spacing, extent, amount in zip(dilation, kernel, padding, strict=True)]
    )
    if math.prod(stride) == 1 and min(around) >= 0 and out_channels <= 3 * channels:
        # The gradient is itself a convolution, with the kernel turned around; adding up patches costs more unless g is
        # much deeper.
        turned = np.flip(weight, tuple(range(2, weight.ndim))).reshape(groups, out_channels // groups, each, *kernel)
        turned = turned.swapaxes(1, 2).reshape(channels, out_channels // groups, *kernel)
        return convolution(g, turned, bias, stride, around, dilation, groups)
    plan = _Plan(images, channels, tuple(size), tuple(kernel), stride, padding, dilation, groups, g.dtype)
    out = np.zeros((images, channels, *size), g.dtype)
    column = _column(bias, len(size))
    if not out.size or not g.size:
        return out if column is None else out + column
    matrix = _matrix(weight, groups).swapaxes(1, 2)

    def work(begin: int, stop: int) -> None:
        planes, buffer, apart = plan.new_planes(), plan.new_patches(), np.empty(out_channels * plan.most, g.dtype)
        for first, end in plan.blocks(begin, stop):
            count = end - first
            planes.fill(0)
            for box in plan.boxes:
                flat = plan.gradients(g[first:end][_at(box)], apart, box)
                start, positions = plan.start(box), flat.shape[1]
                patches = buffer[: plan.depth * positions].reshape(groups, plan.depth // groups, positions)
                _multiply(matrix, flat.reshape(groups, -1, positions), patches)
                parts = patches.reshape(groups, len(plan.taps), each, positions)
                for tap, (plane, distance) in enumerate(plan.taps):
                    at = start + distance
                    target = planes[plane].reshape(groups, each, plan.length)[:, :, at : at + positions]
                    np.add(target, parts[:, tap], out=target)
            for view, slices in plan.interior(planes, count):
                out[first:end][slices] = view
            if column is not None:
                out[first:end] += column

    plan.spread(work)
    return out


def convolution_weight_grad(
    g: Any, x: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Any:
    images, channels, *size = x.shape
    out_channels = g.shape[1]
    if _is_pointwise(kernel, stride, padding, groups):
        return _pointwise_weight_grad(
            g.reshape(*g.shape[:2], math.prod(size)), x.reshape(images, channels, math.prod(size)), kernel
        )
    each = channels // groups
    plan = _Plan(images, channels, tuple(size), kernel, stride, padding, dilation, groups, x.dtype)

    def work(begin: int, stop: int) -> Any:
        total = np.zeros((groups, out_channels // groups, plan.depth // groups), x.dtype)
        planes, buffer, apart = plan.new_planes(), plan.new_patches(), np.empty(out_channels * plan.most, x.dtype)
        for first, end in plan.blocks(begin, stop):
            count = end - first
            for view, slices in plan.interior(planes, count):
                view[...] = x[first:end][slices]
            for box in plan.boxes:
                patches = plan.patches(planes, buffer, count, box)
                flat = plan.gradients(g[first:end][_at(box)], apart, box)
                total += np.matmul(flat.reshape(groups, -1, flat.shape[1]), patches.swapaxes(1, 2))
        return total

    if g.size:
        # A fixed number of parts, so that the sum's rounding does not depend on the number of threads.
        total, *more = plan.spread(work, _SUMMED_PARTS)
        for part in more:
            total += part
    else:
        total = np.zeros((groups, out_channels // groups, plan.depth // groups), x.dtype)
    return np.ascontiguousarray(np.moveaxis(total.reshape(out_channels, *kernel, each), -1, 1))


KERNELS = {
    "convolution": Kernel(_in_float32(convolution)),
    "convolution_transposed": Kernel(_in_float32(convolution_transposed)),
    "convolution_weight_grad": Kernel(_in_float32(convolution_weight_grad)),
}
