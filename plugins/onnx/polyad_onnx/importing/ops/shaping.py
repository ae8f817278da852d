"""The same elements in another arrangement."""

from __future__ import annotations

from math import prod
from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor
from polyad.errors import ShapeError

from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []


@operator("Shape")
def shape(node: Node) -> Compute:
    start, end, device = node.integer("start", 0), node.integer("end", None), node.device
    return lambda x: polyad.tensor(x.shape[start:end], dtype=polyad.int64, device=device)


@operator("Size")
def size(node: Node) -> Compute:
    return lambda x: polyad.tensor(x.numel(), device=node.device)


@operator("Reshape", host=(1,))
def reshape(node: Node) -> Compute:
    literal, fixed = node.integer("allowzero", 0), node.integers("shape")

    def call(x: Tensor, target: Any = fixed) -> Tensor:
        if not literal and 0 in target:
            target = [x.shape[index] if size == 0 else size for index, size in enumerate(target)]
        return x.reshape(target)

    return call


@operator("Flatten")
def flatten(node: Node) -> Compute:
    axis = node.integer("axis", 1)

    def call(x: Tensor) -> Tensor:
        rows = prod(x.shape[:axis])
        return x.reshape(rows, x.numel() // rows if rows else prod(x.shape[axis:]))

    return call


@operator("Transpose")
def transpose(node: Node) -> Compute:
    order = node.integers("perm")
    if order is None:
        return lambda x: x.permute(*range(x.ndim - 1, -1, -1))
    return lambda x: x.permute(order)


@operator("Unsqueeze", host=(1,))
def unsqueeze(node: Node) -> Compute:
    fixed = node.integers("axes")

    def call(x: Tensor, axes: Any = fixed) -> Tensor:
        if len(axes) == 1:
            return x.unsqueeze(axes[0])
        ndim = x.ndim + len(axes)
        places = {axis % ndim for axis in axes}
        if len(places) != len(axes):
            raise ShapeError(f"Unsqueeze: axes {axes} name a dimension twice", fix="name each once")
        rest = iter(x.shape)
        return x.reshape([1 if index in places else next(rest) for index in range(ndim)])

    return call


@operator("Squeeze", host=(1,))
def squeeze(node: Node) -> Compute:
    fixed = node.integers("axes")

    def call(x: Tensor, axes: Any = fixed) -> Tensor:
        if axes is None:
            return x.squeeze()
        if any(x.shape[axis] != 1 for axis in axes):
            raise ShapeError(f"Squeeze: axes {axes} are not all of size 1", operands={"input": x}, fix="leave them")
        return x.squeeze(tuple(axes))

    return call


@operator("Concat")
def concat(node: Node) -> Compute:
    axis = node.integer("axis", 1 if node.version < 4 else REQUIRED)
    node.result = node.element(0)
    return lambda *xs: polyad.cat(xs, axis)


@operator("Split", host=(1,))
def split(node: Node) -> Compute:
    axis, fixed, outputs = node.integer("axis", 0), node.integers("split"), node.outputs

    def call(x: Tensor, sizes: Any = fixed) -> Any:
        if sizes is None:
            each = -(-x.shape[axis] // outputs)
            sizes = [max(min(each, x.shape[axis] - index * each), 0) for index in range(outputs)]
        made = x.split(sizes, axis)
        return made[0] if outputs == 1 else made

    return call


@operator("Tile", host=(1, 2))
def tile(node: Node) -> Compute:
    if node.version >= 6:
        return lambda x, repeats: x.repeat(repeats)

    def call(x: Tensor, count: Any, axis: Any) -> Tensor:
        counts = [1] * x.ndim
        counts[axis[0]] = count[0]
        return x.repeat(counts)

    return call


@operator("Expand", host=(1,))
def expand(node: Node) -> Compute:
    def call(x: Tensor, sizes: Any) -> Tensor:
        return x.expand(polyad.broadcast_shapes(x.shape, tuple(sizes)))

    return call


MODES = {"constant": "constant", "edge": "replicate", "reflect": "reflect", "wrap": "circular"}


@operator("Pad", host=(1, 3))
def pad(node: Node) -> Compute:
    mode = node.choice("mode", "constant", *MODES)
    fixed, number = node.integers("pads", node.integers("paddings")), node.number("value", 0.0)

    def call(x: Tensor, pads: Any = fixed, value: Tensor | None = None, axes: Any = None) -> Tensor:
        axes = range(x.ndim) if axes is None else [axis % x.ndim for axis in axes]
        count = len(pads) // 2
        before, after = [0] * x.ndim, [0] * x.ndim
        for index, axis in enumerate(axes):
            before[axis], after[axis] = pads[index], pads[count + index]
        if mode == "constant":
            flat = [each for pair in reversed(list(zip(before, after, strict=True))) for each in pair]
            fill = number if value is None else value.reshape(()).item()
            return F.pad(x, flat, "constant", fill)
        for axis in range(x.ndim):
            if before[axis] or after[axis]:
                x = _padded(x, axis, before[axis], after[axis], mode)
        return x

    return call


def _padded(x: Tensor, axis: int, before: int, after: int, mode: str) -> Tensor:
    """One dimension, padded by elements of its own."""
    size = x.shape[axis]
    places = polyad.arange(-before, size + after, device=x.device)
    if mode == "edge":
        places = places.clamp(0, size - 1)
    elif mode == "wrap":
        places = places.remainder(size)
    elif size > 1:
        period = 2 * (size - 1)
        places = places.remainder(period)
        places = polyad.where(places >= size, period - places, places)
    else:
        places = places * 0
    return x.index_select(axis, places)


@operator("DepthToSpace")
def depth_to_space(node: Node) -> Compute:
    block, columns_first = node.integer("blocksize", REQUIRED), node.text("mode", "DCR") == "CRD"

    def call(x: Tensor) -> Tensor:
        n, c, h, w = x.shape
        if columns_first:
            return F.pixel_shuffle(x, block)
        parts = x.reshape(n, block, block, c // block**2, h, w).permute(0, 3, 4, 1, 5, 2)
        return parts.reshape(n, c // block**2, h * block, w * block)

    return call


@operator("SpaceToDepth")
def space_to_depth(node: Node) -> Compute:
    block, columns_first = node.integer("blocksize", REQUIRED), node.text("mode", "DCR") == "CRD"

    def call(x: Tensor) -> Tensor:
        if columns_first:
            return F.pixel_unshuffle(x, block)
        n, c, h, w = x.shape
        parts = x.reshape(n, c, h // block, block, w // block, block).permute(0, 3, 5, 1, 2, 4)
        return parts.reshape(n, c * block**2, h // block, w // block)

    return call


@operator("ReverseSequence", host=(1,))
def reverse_sequence(node: Node) -> Compute:
    batch, time = node.integer("batch_axis", 1), node.integer("time_axis", 0)

    def call(x: Tensor, lengths: Any) -> Tensor:
        length = polyad.tensor(lengths, device=x.device)[:, None]
        step = polyad.arange(x.shape[time], device=x.device)[None, :]
        places = polyad.where(step < length, length - 1 - step, step)
        if batch > time:
            places = places.t()
        places = places.reshape(*places.shape, *[1] * (x.ndim - 2)).expand(x.shape)
        return x.gather(time, places)

    return call


@operator("Col2Im", host=(1, 2))
def col_to_im(node: Node) -> Compute:
    dilations, pads, strides = node.integers("dilations"), node.integers("pads"), node.integers("strides")

    def call(x: Tensor, image: Any, block: Any) -> Tensor:
        count = len(image)
        before, after = (pads or [0] * 2 * count)[:count], (pads or [0] * 2 * count)[count:]
        by, apart = strides or [1] * count, dilations or [1] * count
        return _sum_blocks(x, image, block, before, after, by, apart)

    return call


def _sum_blocks(
    x: Tensor, image: Any, block: Any, before: list[int], after: list[int], strides: list[int], dilations: list[int]
) -> Tensor:
    """Blocks summed into an image, of any number of dimensions."""
    n, rows, _ = x.shape
    channels = rows // prod(block)
    padded = [size + b + a for size, b, a in zip(image, before, after, strict=True)]
    counts = [
        (size - apart * (k - 1) - 1) // by + 1
        for size, apart, k, by in zip(padded, dilations, block, strides, strict=True)
    ]
    places = polyad.zeros((), dtype=polyad.int64, device=x.device)
    dims = len(image)
    for index in range(dims):
        inside = polyad.arange(block[index], device=x.device) * dilations[index]
        start = polyad.arange(counts[index], device=x.device) * strides[index]
        sizes = [1] * 2 * dims
        sizes[index], sizes[dims + index] = block[index], counts[index]
        places = places * padded[index] + (inside[:, None] + start[None, :]).reshape(sizes)
    flat = places.reshape(-1)
    made = polyad.zeros(n, channels, prod(padded), dtype=x.dtype, device=x.device)
    made = made.index_add(2, flat, x.reshape(n, channels, -1)).reshape(n, channels, *padded)
    for index in range(dims):
        made = made.narrow(2 + index, before[index], image[index])
    return made


@operator("CenterCropPad", host=(1,))
def center_crop_pad(node: Node) -> Compute:
    fixed = node.integers("axes")

    def call(x: Tensor, sizes: Any) -> Tensor:
        axes = range(x.ndim) if fixed is None else [axis % x.ndim for axis in fixed]
        for axis, size in zip(axes, sizes, strict=True):
            found = x.shape[axis]
            if found >= size:
                x = x.narrow(axis, (found - size) // 2, size)
            else:
                before = (size - found) // 2
                flat = [0] * 2 * (x.ndim - axis - 1) + [before, size - found - before]
                x = F.pad(x, flat)
        return x

    return call
