"""What regions of interest (n, 5), as number of the picture, left, top, right, bottom, are pooled by.

A region is cut into bins. What a bin reads of a picture is a product of rows and columns with weights, so each axis is
made by itself, an `Axis`; the mean of samples between pixels and the mean of pixels differ in it alone. Pixels are then
gathered from a table with the channels of a pixel side by side, for as many regions at once as `_ELEMENTS` allows, and
the sums are products of matrices. Backward scatters by the same axes. Numbers are torchvision's but for the order of
sums. Position-sensitive pooling: https://arxiv.org/abs/1605.06409; bilinear samples: https://arxiv.org/abs/1703.06870
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import polyad
from polyad import Tensor
from polyad.errors import ArgumentError, DTypeError, IndexOutOfRange, ShapeError

_ELEMENTS = 2**24
"""About how many elements are gathered at once."""

_SAMPLES = 2**25
"""So many samples along an axis may all regions of a call have together."""


class Axis(NamedTuple):
    """What the bins of each region read along one axis of a picture.

    Attributes:
        place: which rows or columns, int64 (regions, bins, reads).
        weight: of each, (regions, bins, reads); 0 for what is not read.
    """

    place: Tensor
    weight: Tensor

    def part(self, begin: int, end: int) -> Axis:
        """Of the regions from *begin* to *end*."""
        return Axis(self.place[begin:end], self.weight[begin:end])


# ------------------------------------------------------------------------------------------------------------- axes


def _most_samples(op: str, parts: Tensor, bins: int, ratio: int) -> int:
    """The largest of *parts*, which are the samples of a bin of each region."""
    most = parts.amax().item() if len(parts) else 1.0
    if not len(parts) * bins * most <= _SAMPLES:
        raise ArgumentError(
            f"{op}: rois[{int(parts.argmax())}] is so large that sampling_ratio {ratio}, a sample for each pixel, "
            f"makes {most:g} samples of a bin along one axis",
            fix="clip boxes to the image (torchvision.ops.clip_boxes_to_image), or give a sampling_ratio above 0",
        )
    return max(1, int(most))


def _sampled(op: str, low: Tensor, extent: Tensor, bins: int, ratio: int, length: int, least: int) -> Axis:
    """Samples in the middle of *ratio* equal parts of each bin, by default as many as it has pixels, each between two
    pixels; the weight is divided by their number, at *least* what is given.
    """
    width = extent / bins
    parts = polyad.full_like(width, ratio) if ratio > 0 else width.ceil()
    most = ratio if ratio > 0 else _most_samples(op, parts, bins, ratio)
    bin_, part = (polyad.arange(n, dtype=low.dtype, device=low.device) for n in (bins, most))
    position = (bin_ * width[:, None] + low[:, None])[:, :, None] + ((part + 0.5) * width[:, None] / parts[:, None])[
        :, None
    ]
    read = (position >= -1) & (position <= length) & (part < parts[:, None])[:, None]
    position = polyad.where(read, position, 0).clamp(min=0)
    first = position.floor().clamp(max=length - 1)
    share = polyad.where(first >= length - 1, 0, position - first)
    place = polyad.stack([first, (first + 1).clamp(max=length - 1)], -1).to(polyad.int64)
    weight = polyad.stack([1 - share, share], -1) * read[..., None] / parts.clamp(min=least)[:, None, None, None]
    return Axis(place.flatten(2), weight.flatten(2))


def _pixels(low: Tensor, high: Tensor, bins: int, end: int) -> Axis:
    """The pixels before *end* in each bin of whole numbers, with equal weights."""
    width = (high - low).clamp(min=1) / bins
    bin_ = polyad.arange(bins, dtype=low.dtype, device=low.device)
    begin, stop = ((bin_ * width[:, None]).floor(), ((bin_ + 1) * width[:, None]).ceil())
    begin, stop = ((edge + low[:, None]).clamp(0, end).to(polyad.int64) for edge in (begin, stop))
    count = (stop - begin).clamp(min=0)
    most = max(1, int(count.amax())) if len(count) else 1
    step = polyad.arange(most, device=low.device)
    read = (step < count[..., None]).to(low.dtype)
    place = (begin[..., None] + step).clamp(max=max(end - 1, 0))
    return Axis(place, read / count.clamp(min=1)[..., None])


def _edges(rois: Tensor, scale: float) -> tuple[Tensor, ...]:
    """Left, top, right and bottom in whole pixels, halves away from 0."""
    scaled = rois[:, 1:].t() * scale
    return (scaled.sign() * (scaled.abs() + 0.5).floor()).unbind()


def _reads_of_region(axis: Axis) -> Axis:
    """The rows that all bins of a region read, (regions, reads), with weights (regions, bins, reads): one range of
    neighbours where that is shorter than all reads one after another.
    """
    place, weight = axis
    regions, bins, reads = weight.shape
    lowest = place.amin((1, 2))
    length = int((place.amax((1, 2)) - lowest).amax()) + 1
    if length < bins * reads:
        column = place - lowest[:, None, None]
        rows = lowest[:, None] + polyad.arange(length, device=place.device)
        rows = rows.minimum(place.amax((1, 2))[:, None])
    else:
        length = bins * reads
        column = polyad.arange(length, device=place.device).view(1, bins, reads).expand(regions, bins, reads)
        rows = place.flatten(1)
    return Axis(rows, weight.new_zeros(regions, bins, length).scatter_add(2, column, weight))


# ------------------------------------------------------------------------------------------------- calls and chunks


def _check(op: str, input: Tensor, rois: Tensor, bins: int = 1) -> None:
    operands = {"input": input, "rois": rois}
    if rois.dim() != 2 or rois.shape[1] != 5 or input.dim() != 4:
        raise ShapeError(
            f"{op}: rois must have shape as Tensor[K, 5], input has 4 dimensions",
            operands=operands,
            fix="give each region as number of the picture, left, top, right, bottom",
        )
    if input.dtype is not rois.dtype:
        raise DTypeError(f"{op}: input and rois are of two dtypes", operands=operands, fix="cast one to the other's")
    if input.shape[1] % bins:
        raise ShapeError(
            f"{op}: input channels must be a multiple of pooling height * pooling width, {bins}",
            operands=operands,
            fix="give a picture for each bin",
        )
    wrong = ~((rois[:, 0] > -1) & (rois[:, 0] < len(input)) & rois.isfinite().all(1))
    if not bool(wrong.any()):
        return
    at = int(wrong.nonzero()[0])
    number, *coordinates = rois[at].tolist()
    if -1 < number < len(input):
        raise ArgumentError(
            f"{op}: rois[{at}] has coordinates {coordinates}, which are not all finite", operands=operands,
            fix="leave such regions out: rois[rois.isfinite().all(1)]",
        )  # fmt: skip
    raise IndexOutOfRange(
        f"{op}: rois[{at}, 0] is {number:g}, the number of an image, and input has {len(input)} images",
        operands=operands,
        fix="count images from 0",
    )


def _in_single(compute: Callable[..., Any]) -> Callable[..., Any]:
    """Let *compute* work in float32 where tensors are of 16 bits."""

    def call(first: Tensor, *args: Any) -> Any:
        if first.dtype not in (polyad.float16, polyad.bfloat16):
            return compute(first, *args)
        wide = [arg.float() if isinstance(arg, Tensor) and arg.is_floating_point() else arg for arg in (first, *args)]
        result = compute(*wide)
        return (result[0].to(first.dtype), result[1]) if isinstance(result, tuple) else result.to(first.dtype)

    return call


def _region_ranges(regions: int, elements: int) -> Iterator[tuple[int, int]]:
    """Ranges of regions, each of which has so many elements."""
    step = max(1, _ELEMENTS // max(1, elements))
    for begin in range(0, regions, step):
        yield begin, min(begin + step, regions)


# -------------------------------------------------------------------------------------------- mean of samples: align


def _align_axes(
    op: str, rois: Tensor, scale: float, bins: tuple[int, int], ratio: int, size: tuple[int, ...], offset: float,
    least: int,
) -> tuple[Axis, Axis]:  # fmt: skip
    """Rows and columns; *least* is 1 where a region of no extent has no samples, which is then 0."""
    left, top, right, bottom = (rois[:, 1:] * scale - offset).unbind(1)
    extents = bottom - top, right - left
    if not offset:  # regions have at least a pixel
        extents = extents[0].clamp(min=1), extents[1].clamp(min=1)
    rows = _sampled(op, top, extents[0], bins[0], ratio, size[0], least)
    return rows, _sampled(op, left, extents[1], bins[1], ratio, size[1], least)


def _table_rows(rois: Tensor, rows: Tensor, columns: Tensor, size: tuple[int, ...]) -> Tensor:
    """Where pixels are in a table of all pixels of all pictures; *rows* and *columns* broadcast, regions first."""
    picture = rois[:, 0].to(polyad.int64).view(-1, *[1] * (rows.dim() - 1))
    return (picture * size[0] + rows) * size[1] + columns


@_in_single
def roi_align(input: Tensor, rois: Tensor, scale: float, height: int, width: int, ratio: int, aligned: bool) -> Tensor:
    """Means of bilinear samples, (regions, channels, height, width) of *input* (pictures, channels, rows, columns).

    Raises RuntimeError for shapes or dtypes that do not fit, IndexError for a picture that there is not, ValueError for
    a region that is not finite, or too large for samples of each pixel.
    """
    _check("roi_align", input, rois)
    channels, *size = input.shape[1:]
    if not len(rois):
        return input.new_zeros(0, channels, height, width)
    axes = _align_axes("roi_align", rois, scale, (height, width), ratio, size, 0.5 * aligned, 1)
    rows, columns = _reads_of_region(axes[0]), _reads_of_region(axes[1])
    table = input.permute(0, 2, 3, 1).reshape(-1, channels)
    read = rows.place.shape[1], columns.place.shape[1]
    results = []
    for begin, end in _region_ranges(len(rois), read[0] * read[1] * channels):
        (row, by_row), (column, by_column) = rows.part(begin, end), columns.part(begin, end)
        places = _table_rows(rois[begin:end], row[:, :, None], column[:, None], size)
        pixels = table.index_select(0, places.flatten()).view(end - begin, read[0], -1)
        means = (by_row @ pixels).view(end - begin, height, read[1], channels)
        results.append((by_column[:, None] @ means).permute(0, 3, 1, 2))
    return polyad.cat(results)


@_in_single
def roi_align_backward(
    grad: Tensor, rois: Tensor, scale: float, height: int, width: int, pictures: int, channels: int, rows: int,
    columns: int, ratio: int, aligned: bool,
) -> Tensor:  # fmt: skip
    """The gradient of `roi_align` by its input."""
    size = rows, columns
    table = grad.new_zeros(pictures * rows * columns, channels)
    if len(rois):
        axes = _align_axes("roi_align", rois, scale, (height, width), ratio, size, 0.5 * aligned, 1)
        down, across = _reads_of_region(axes[0]), _reads_of_region(axes[1])
        read = down.place.shape[1], across.place.shape[1]
        for begin, end in _region_ranges(len(rois), read[0] * read[1] * channels):
            (row, by_row), (column, by_column) = down.part(begin, end), across.part(begin, end)
            places = _table_rows(rois[begin:end], row[:, :, None], column[:, None], size)
            spread_out = by_column.mT[:, None] @ grad[begin:end].permute(0, 2, 3, 1)
            pixels = by_row.mT @ spread_out.flatten(2)
            table.index_add_(0, places.flatten(), pixels.reshape(-1, channels))
    return table.view(pictures, rows, columns, channels).permute(0, 3, 1, 2).contiguous()


# --------------------------------------------------------------------------------------- a channel for each bin: ps


def _bin_table(input: Tensor, height: int, width: int) -> Tensor:
    """The pixels of each bin's channels: (pictures * rows * columns * bins, channels of the result)."""
    pictures, channels, *size = input.shape
    apart = input.view(pictures, channels // (height * width), height, width, *size)
    return apart.permute(0, 4, 5, 2, 3, 1).reshape(-1, channels // (height * width))


def _bin_reads(
    rois: Tensor, axes: tuple[Axis, Axis], begin: int, end: int, size: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Which rows of `_bin_table` the bins of *rois*, those from *begin* to *end*, read, and their weights: (regions,
    height, width, reads).
    """
    rows, columns = axes[0].part(begin, end), axes[1].part(begin, end)
    height, width = rows.place.shape[1], columns.place.shape[1]
    places = _table_rows(rois, rows.place[:, :, None, :, None], columns.place[:, None, :, None], size)
    of_bin = polyad.arange(height * width, device=rois.device).view(height, width, 1, 1)
    weights = rows.weight[:, :, None, :, None] * columns.weight[:, None, :, None]
    return (places * (height * width) + of_bin).flatten(3), weights.flatten(3)


def _ps_forward(input: Tensor, rois: Tensor, axes: tuple[Axis, Axis]) -> tuple[Tensor, Tensor]:
    """Weighted means and, int32, the channel that each is of."""
    height, width = axes[0].place.shape[1], axes[1].place.shape[1]
    channels = input.shape[1] // (height * width)
    table, results = _bin_table(input, height, width), []
    reads = height * width * axes[0].place.shape[2] * axes[1].place.shape[2]
    for begin, end in _region_ranges(len(rois), reads * channels):
        places, weights = _bin_reads(rois[begin:end], axes, begin, end, tuple(input.shape[2:]))
        pixels = table.index_select(0, places.flatten()).view(*places.shape, channels)
        results.append((weights[..., None, :] @ pixels).squeeze(-2).permute(0, 3, 1, 2))
    of = polyad.arange(input.shape[1], dtype=polyad.int32, device=input.device)
    mapping = of.view(1, channels, height, width).expand(len(rois), -1, -1, -1).clone()
    return polyad.cat(results) if results else input.new_zeros(mapping.shape), mapping


def _ps_backward(grad: Tensor, rois: Tensor, axes: tuple[Axis, Axis], shape: tuple[int, ...]) -> Tensor:
    pictures, _, *size = shape
    channels, height, width = grad.shape[1:]
    table = grad.new_zeros(pictures * size[0] * size[1] * height * width, channels)
    reads = height * width * axes[0].place.shape[2] * axes[1].place.shape[2]
    for begin, end in _region_ranges(len(rois), reads * channels):
        places, weights = _bin_reads(rois[begin:end], axes, begin, end, tuple(size))
        shares = weights[..., None] * grad[begin:end].permute(0, 2, 3, 1)[..., None, :]
        table.index_add_(0, places.flatten(), shares.reshape(-1, channels))
    return table.view(pictures, *size, height, width, channels).permute(0, 5, 3, 4, 1, 2).reshape(shape)


@_in_single
def ps_roi_align(
    input: Tensor, rois: Tensor, scale: float, height: int, width: int, ratio: int
) -> tuple[Tensor, Tensor]:
    """Means of bilinear samples, each bin of channels of its own."""
    _check("ps_roi_align", input, rois, height * width)
    axes = _align_axes("ps_roi_align", rois, scale, (height, width), ratio, tuple(input.shape[2:]), 0.5, 0)
    return _ps_forward(input, rois, axes)


@_in_single
def ps_roi_align_backward(
    grad: Tensor, rois: Tensor, mapping: Tensor, scale: float, height: int, width: int, ratio: int, *shape: int
) -> Tensor:
    """The gradient of `ps_roi_align` by its input."""
    axes = _align_axes("ps_roi_align", rois, scale, (height, width), ratio, shape[2:], 0.5, 0)
    return _ps_backward(grad, rois, axes, shape)


def _pixel_axes(
    rois: Tensor, scale: float, bins: tuple[int, int], ends: tuple[int, int], more: int = 0
) -> tuple[Axis, Axis]:
    """Rows and columns of bins in whole pixels; regions are *more* pixels larger."""
    left, top, right, bottom = _edges(rois, scale)
    return _pixels(top, bottom + more, bins[0], ends[0]), _pixels(left, right + more, bins[1], ends[1])


@_in_single
def ps_roi_pool(input: Tensor, rois: Tensor, scale: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    """Means of pixels, each bin of channels of its own. As in torchvision, the last row and column are not read."""
    _check("ps_roi_pool", input, rois, height * width)
    rows, columns = input.shape[2:]
    return _ps_forward(input, rois, _pixel_axes(rois, scale, (height, width), (rows - 1, columns - 1)))


@_in_single
def ps_roi_pool_backward(
    grad: Tensor, rois: Tensor, mapping: Tensor, scale: float, height: int, width: int, *shape: int
) -> Tensor:
    """torchvision's gradient of `ps_roi_pool` by its input, whose bins have the last row and column, too."""
    return _ps_backward(grad, rois, _pixel_axes(rois, scale, (height, width), (shape[2], shape[3])), shape)


# ------------------------------------------------------------------------------------------------- the largest: pool


@_in_single
def roi_pool(input: Tensor, rois: Tensor, scale: float, height: int, width: int) -> tuple[Tensor, Tensor]:
    """The largest pixel of each bin and, int32, its place in the picture: 0 and -1 for a bin outside of it."""
    _check("roi_pool", input, rois)
    channels, *size = input.shape[1:]
    if not len(rois):
        empty = input.new_zeros(0, channels, height, width)
        return empty, empty.to(polyad.int32)
    rows, columns = _pixel_axes(rois, scale, (height, width), tuple(size), 1)
    table = input.permute(0, 2, 3, 1).reshape(-1, channels)
    largest, where = [], []
    reads = height * width * rows.place.shape[2] * columns.place.shape[2]
    for begin, end in _region_ranges(len(rois), reads * channels):
        (row, by_row), (column, by_column) = rows.part(begin, end), columns.part(begin, end)
        row, column = row[:, :, None, :, None], column[:, None, :, None]
        read = ((by_row > 0)[:, :, None, :, None] & (by_column > 0)[:, None, :, None]).flatten(3)[..., None]
        places = _table_rows(rois[begin:end], row, column, size).flatten(3)
        pixels = table.index_select(0, places.flatten()).view(*places.shape, channels)
        values, which = polyad.where(read, pixels, -float("inf")).max(3)
        within = (row * size[1] + column).flatten(3)[..., None].expand(*places.shape, channels)
        empty = ~read.any(3)
        largest.append(polyad.where(empty, 0, values).permute(0, 3, 1, 2))
        chosen = within.gather(3, which[:, :, :, None]).squeeze(3)
        where.append(polyad.where(empty, -1, chosen).permute(0, 3, 1, 2).to(polyad.int32))
    return polyad.cat(largest), polyad.cat(where)


@_in_single
def roi_pool_backward(
    grad: Tensor, rois: Tensor, argmax: Tensor, scale: float, height: int, width: int, pictures: int, channels: int,
    rows: int, columns: int,
) -> Tensor:  # fmt: skip
    """The gradient of `roi_pool` by its input."""
    picture = rois[:, 0].to(polyad.int64).view(-1, 1, 1, 1)
    channel = polyad.arange(channels, device=grad.device).view(-1, 1, 1)
    places = (picture * channels + channel) * (rows * columns) + argmax.clamp(min=0)
    flat = grad.new_zeros(pictures * channels * rows * columns)
    flat.index_add_(0, places.flatten(), polyad.where(argmax >= 0, grad, 0).flatten())
    return flat.view(pictures, channels, rows, columns)
