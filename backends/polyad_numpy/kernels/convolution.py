"""Two-dimensional convolution by matrix products, in blocks that stay in the cache.

The input is copied, a block of images (or of rows of one image) at a time, into zero-padded planes (C, B * rows *
width) in which the element that kernel position (i, j) multiplies lies at a constant distance from the result's
element. So each row of the matrix of patches is one contiguous piece of a plane: making it is a few long copies, and
one matrix product gives the block's results. At row ends there are columns that belong to no result; they are left out
when results are copied out, and held zero in gradients.

Neighbouring rows share their padding: what lies right of a row's end is the zeros left of the next row. With a stride,
plane (a, b) holds every stride-th element from (a, b) on, and kernel position (i, j) reads plane (i mod stride, j mod
stride).

Float16 and bfloat16 are multiplied and summed in float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from polyad.backend import Kernel

from .workers import WORTH_THREADS, spread

Pair = tuple[int, int]

_BLOCK_BYTES = 2 << 20
"""About how large the patches of one block are: small enough for the cache, large enough for BLAS at full speed."""

_SUMMED_PARTS = 8
"""In how many parts of the batch the gradient of the weight is added up."""


class _Axis:
    """How one spatial dimension lies in the planes.

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


class _Plan:
    """The geometry of one convolution and the views that its blocks need.

    Patches are ordered (group, kernel row, kernel column, channel of the group).
    """

    def __init__(
        self,
        images: int,
        channels: int,
        size: Pair,
        kernel: Pair,
        stride: Pair,
        padding: Pair,
        dilation: Pair,
        groups: int,
        dtype: Any,
    ) -> None:
        self.images, self.channels, self.groups, self.dtype = images, channels, groups, dtype
        self.kernel, self.stride = kernel, stride
        self.vertical, self.horizontal = (
            _Axis(*of_axis) for of_axis in zip(size, kernel, stride, padding, dilation, strict=True)
        )
        rows, width = self.vertical.pitch, self.horizontal.pitch
        self.width, self.area = width, rows * width
        self.reach = self.vertical.reach * width + self.horizontal.reach
        columns = len(self.horizontal.phases)
        self.planes = len(self.vertical.phases) * columns
        self.taps = [
            (vertical * columns + horizontal, down * width + right)
            for vertical, down in self.vertical.taps
            for horizontal, right in self.horizontal.taps
        ]
        # From one kernel position to the next, where all read one plane: dilations are multiples of strides then.
        self.step = (dilation[0] // stride[0] * width, dilation[1] // stride[1])
        self.depth = channels * len(self.taps)
        patch_bytes = self.depth * dtype.itemsize
        # At least eight blocks of a large batch, so that every core gets some.
        most_images = images if images * self.area * self.depth < WORTH_THREADS else -(-images // 8)
        self.block = max(1, min(most_images, _BLOCK_BYTES // max(patch_bytes * self.area, 1)))
        out_rows = self.vertical.out
        self.block_rows = (
            out_rows if self.block > 1 else max(1, min(out_rows, _BLOCK_BYTES // max(patch_bytes * width, 1)))
        )
        # Plane elements of a block, with room for the taps of its last results.
        self.length = self.block * self.area + self.reach
        self.most = self.positions(self.block, out_rows) if self.block > 1 else self.block_rows * width

    def positions(self, images: int, rows: int) -> int:
        """How many plane positions a block's results span, the unused ones between them included."""
        return ((images - 1) * self.area if images > 1 else 0) + rows * self.width

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

    def strips(self, images: int) -> Iterator[tuple[int, int]]:
        """(first row, end) of the results that are computed at once in a block of that many images."""
        out = self.vertical.out
        for first in range(0, out, self.block_rows if images == 1 else out):
            yield first, min(first + self.block_rows, out) if images == 1 else out

    def new_planes(self) -> Any:
        """Zeroed planes: (planes, channels, length)."""
        return np.zeros((self.planes, self.channels, self.length), self.dtype)

    def new_patches(self) -> Any:
        """Memory for the patches of one block."""
        return np.empty(self.depth * self.most, self.dtype)

    def interior(self, planes: Any, images: int) -> Iterator[tuple[Any, tuple[slice, ...]]]:
        """Where input elements lie: pairs of a view (images, channels, rows, columns) of the planes and the slices."""
        item, (down, across) = self.dtype.itemsize, self.stride
        columns = len(self.horizontal.phases)
        plane_bytes, channel_bytes, _ = planes.strides
        strides = (self.area * item, channel_bytes, self.width * item, item)
        for index in range(self.planes):
            low, high, start = self.vertical.spans[index // columns]
            left, right, begin = self.horizontal.spans[index % columns]
            if high > low and right > left:
                offset = index * plane_bytes + (low * self.width + left) * item
                view = np.ndarray(
                    (images, self.channels, high - low, right - left), self.dtype, planes, offset, strides
                )
                rows = slice(start, start + (high - low - 1) * down + 1, down)
                yield (
                    view,
                    (slice(None), slice(None), rows, slice(begin, begin + (right - left - 1) * across + 1, across)),
                )

    def patches(self, planes: Any, buffer: Any, images: int, first: int, end: int) -> Any:
        """The matrix of patches (groups, depth / groups, positions) of some result rows, written into *buffer*."""
        count, begin, groups = self.positions(images, end - first), first * self.width, self.groups
        each = self.channels // groups
        made = buffer[: self.depth * count].reshape(groups, *self.kernel, each, count)
        item = self.dtype.itemsize
        channel_bytes = planes.strides[1]
        if self.planes == 1:
            strides = (each * channel_bytes, self.step[0] * item, self.step[1] * item, channel_bytes, item)
            made[...] = np.ndarray(made.shape, self.dtype, planes, begin * item, strides)
        else:
            flat = made.reshape(groups, len(self.taps), each, count)
            for tap, (plane, distance) in enumerate(self.taps):
                at = begin + distance
                flat[:, tap] = planes[plane, :, at : at + count].reshape(groups, each, count)
        return made.reshape(groups, self.depth // groups, count)

    def results(self, flat: Any, out_channels: int, images: int, rows: int) -> Any:
        """The results in *flat* (out_channels, positions), as a view (images, out_channels, rows, columns)."""
        item = self.dtype.itemsize
        strides = (self.area * item, flat.size // out_channels * item, self.width * item, item)
        return np.ndarray((images, out_channels, rows, self.horizontal.out), self.dtype, flat, 0, strides)

    def gradients(self, g: Any, buffer: Any) -> Any:
        """The gradient *g* of result rows at their positions, zero between them, in *buffer*."""
        images, out_channels, rows, _ = g.shape
        flat = buffer[: out_channels * self.positions(images, rows)]
        flat.fill(0)
        self.results(flat, out_channels, images, rows)[...] = g
        return flat.reshape(out_channels, -1)


def _matrix(weight: Any, groups: int) -> Any:
    """The weight (O, C / groups, KH, KW) as matrices (groups, O / groups, KH * KW * C / groups)."""
    out_channels = weight.shape[0]
    return weight.transpose(0, 2, 3, 1).reshape(groups, out_channels // groups, -1)


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
        return kernel(*(arg.astype(np.float32) if isinstance(arg, np.ndarray) else arg for arg in args)).astype(dtype)

    return call


def _is_pointwise(kernel: Pair, stride: Pair, padding: Pair, groups: int) -> bool:
    return kernel == (1, 1) and stride == (1, 1) and padding == (0, 0) and groups == 1


def _pointwise(matrix: Any, x: Any, bias: Any) -> Any:
    """A convolution with a kernel of one element: one matrix product an image."""
    flat = x.reshape(*x.shape[:2], math.prod(x.shape[2:]))
    out = np.empty((len(x), len(matrix), flat.shape[2]), x.dtype)

    def work(first: int, end: int) -> None:
        np.matmul(matrix, flat[first:end], out=out[first:end])
        if bias is not None:
            out[first:end] += bias[:, None]

    spread(work, len(x), cost=out.size + flat.size)
    return out.reshape(len(x), len(matrix), *x.shape[2:])


def conv2d(x: Any, weight: Any, bias: Any, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Any:
    images, channels, *size = x.shape
    out_channels = weight.shape[0]
    kernel = weight.shape[2:]
    if _is_pointwise(kernel, stride, padding, groups):
        return _pointwise(weight.reshape(out_channels, channels), x, bias)
    plan = _Plan(images, channels, tuple(size), kernel, stride, padding, dilation, groups, x.dtype)  # type: ignore[arg-type]
    out = np.empty((images, out_channels, plan.vertical.out, plan.horizontal.out), x.dtype)
    if not out.size:
        return out
    matrix = _matrix(weight, groups)
    column = None if bias is None else bias[:, None, None]

    def work(begin: int, stop: int) -> None:
        planes, buffer, products = plan.new_planes(), plan.new_patches(), np.empty(out_channels * plan.most, x.dtype)
        for first, end in plan.blocks(begin, stop):
            count = end - first
            for view, slices in plan.interior(planes, count):
                view[...] = x[first:end][slices]
            for top, bottom in plan.strips(count):
                patches = plan.patches(planes, buffer, count, top, bottom)
                flat = products[: out_channels * patches.shape[2]].reshape(groups, -1, patches.shape[2])
                _multiply(matrix, patches, flat)
                results = plan.results(flat, out_channels, count, bottom - top)
                if column is None:
                    out[first:end, :, top:bottom] = results
                else:
                    np.add(results, column, out=out[first:end, :, top:bottom])

    plan.spread(work)
    return out


def conv2d_input_grad(g: Any, weight: Any, size: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Any:
    images, out_channels = g.shape[:2]
    each, *kernel = weight.shape[1:]
    channels = each * groups
    if _is_pointwise(tuple(kernel), stride, padding, groups):  # type: ignore[arg-type]
        return _pointwise(weight.reshape(out_channels, channels).T, g, None)
    around = tuple(step * (extent - 1) - amount for step, extent, amount in zip(dilation, kernel, padding, strict=True))
    if stride == (1, 1) and min(around) >= 0 and out_channels <= 3 * channels:
        # The gradient is itself a convolution, with the kernel turned around; adding up patches costs more unless g is
        # much deeper.
        turned = weight[:, :, ::-1, ::-1].reshape(groups, out_channels // groups, each, *kernel).swapaxes(1, 2)
        return conv2d(
            g, turned.reshape(channels, out_channels // groups, *kernel), None, stride, around, dilation, groups
        )  # type: ignore[arg-type]
    plan = _Plan(images, channels, size, tuple(kernel), stride, padding, dilation, groups, g.dtype)  # type: ignore[arg-type]
    out = np.zeros((images, channels, *size), g.dtype)
    if not out.size or not g.size:
        return out
    matrix = _matrix(weight, groups).swapaxes(1, 2)

    def work(begin: int, stop: int) -> None:
        planes, buffer, apart = plan.new_planes(), plan.new_patches(), np.empty(out_channels * plan.most, g.dtype)
        for first, end in plan.blocks(begin, stop):
            count = end - first
            planes.fill(0)
            for top, bottom in plan.strips(count):
                flat = plan.gradients(g[first:end, :, top:bottom], apart)
                positions = flat.shape[1]
                patches = buffer[: plan.depth * positions].reshape(groups, plan.depth // groups, positions)
                _multiply(matrix, flat.reshape(groups, -1, positions), patches)
                parts = patches.reshape(groups, len(plan.taps), each, positions)
                for tap, (plane, distance) in enumerate(plan.taps):
                    at = top * plan.width + distance
                    target = planes[plane].reshape(groups, each, plan.length)[:, :, at : at + positions]
                    np.add(target, parts[:, tap], out=target)
            for view, slices in plan.interior(planes, count):
                out[first:end][slices] = view

    plan.spread(work)
    return out


def conv2d_weight_grad(g: Any, x: Any, kernel: Pair, stride: Pair, padding: Pair, dilation: Pair, groups: int) -> Any:
    images, channels, *size = x.shape
    out_channels = g.shape[1]
    each = channels // groups
    plan = _Plan(images, channels, tuple(size), kernel, stride, padding, dilation, groups, x.dtype)  # type: ignore[arg-type]

    def work(begin: int, stop: int) -> Any:
        total = np.zeros((groups, out_channels // groups, plan.depth // groups), x.dtype)
        planes, buffer, apart = plan.new_planes(), plan.new_patches(), np.empty(out_channels * plan.most, x.dtype)
        for first, end in plan.blocks(begin, stop):
            count = end - first
            for view, slices in plan.interior(planes, count):
                view[...] = x[first:end][slices]
            for top, bottom in plan.strips(count):
                patches = plan.patches(planes, buffer, count, top, bottom)
                flat = plan.gradients(g[first:end, :, top:bottom], apart)
                total += np.matmul(flat.reshape(groups, -1, flat.shape[1]), patches.swapaxes(1, 2))
        return total

    if g.size:
        # A fixed number of parts, so that the sum's rounding does not depend on the number of threads.
        total, *more = plan.spread(work, _SUMMED_PARTS)
        for part in more:
            total += part
    else:
        total = np.zeros((groups, out_channels // groups, plan.depth // groups), x.dtype)
    shaped = total.reshape(out_channels, *kernel, each)
    return np.ascontiguousarray(shaped.transpose(0, 3, 1, 2))


KERNELS = {
    "conv2d": Kernel(_in_float32(conv2d)),
    "conv2d_input_grad": Kernel(_in_float32(conv2d_input_grad)),
    "conv2d_weight_grad": Kernel(_in_float32(conv2d_weight_grad)),
}
