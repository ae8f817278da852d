"""Windows: a strided layout laid over a tensor, read, written or cleared as a value; and `as_strided`, the view.

Gradients of views and histories of in-place writes are composed of the three window ops. Each takes the *base strides*
in which its dense operand is thought to lie in memory, since a window may cross its dimensions in any way (a ``view``
of a transposed tensor); offsets count from the base's first element and may be negative. Each op's gradient is again a
window op.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import Layout, Shape, Strides, contiguous_strides, normalize_shape, reach
from ...dispatch.forward import forward, linear_in
from ...dispatch.op import composite, function, gradient, view
from ...dispatch.structure import contraction, shaping
from ...dispatch.views import layout_of
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .reshape import _reshape, relaid

if TYPE_CHECKING:
    from collections.abc import Sequence


def may_overlap(shape: Shape, strides: Strides) -> bool:
    """Whether two indices may name one element; sorted by stride, each dimension must step over all before it."""
    taken = 0
    for stride, size in sorted((stride, size) for size, stride in zip(shape, strides, strict=True) if size > 1):
        if stride <= taken:
            return True
        taken += (size - 1) * stride
    return False


def _memory(
    type_: Any, shape: Shape, strides: Strides, window: tuple[Shape, Strides, int], zero: bool
) -> tuple[Any, ...]:
    """New memory that holds a base and a window of it: (array of the base, array of the window, is the base all of
    it).
    """
    window_shape, window_strides, offset = window
    lead = max(0, -offset)
    extent = max(lead + reach(shape, strides), lead + offset + reach(window_shape, window_strides), 1)
    backend, dtype = type_.backend, type_.dtype
    gaps = extent != math.prod(shape)
    memory = (backend.zeros if zero or gaps else backend.empty)((extent,), dtype, type_.device)
    root = backend.root(memory)
    return (
        backend.as_strided(root, dtype, shape, strides, lead),
        backend.as_strided(root, dtype, window_shape, window_strides, 0 if 0 in window_shape else lead + offset),
        not gaps,
    )


def _copy_dense(type_: Any, array: Any) -> Any:
    dense = type_.backend.empty(array.shape, type_.dtype, type_.device)
    type_.backend.copy(dense, array)
    return dense


def _tensor(type_: Any, array: Any) -> Tensor:
    return Tensor._of(array, type_.nd if array.shape else type_.zd)


def strided_array(type_: Any, shape: Shape, strides: Strides) -> Any:
    """An array of *shape* over new, unset memory, in which it lies with *strides*."""
    backend, dtype = type_.backend, type_.dtype
    if strides == contiguous_strides(shape):
        return backend.empty(shape, dtype, type_.device)
    root = backend.root(backend.empty((max(reach(shape, strides), 1),), dtype, type_.device))
    return backend.as_strided(root, dtype, shape, strides, 0)


def _take_shape(input: Shape, base_strides: Strides, shape: Shape, *rest: Any) -> Shape:
    return shape


@composite(structure=shaping, shape=_take_shape, grad_name="AsStridedBackward0", method=False)
def _window_take(input: Tensor, base_strides: Strides, shape: Shape, strides: Strides, offset: int) -> Tensor:
    """The window's elements, where *input* lies in memory with *base_strides*."""
    type_ = input._type
    base, window, _ = _memory(type_, input._array.shape, base_strides, (shape, strides, offset), False)
    type_.backend.copy(base, input._array)
    return _tensor(type_, _copy_dense(type_, window))


def _put_shape(input: Shape, base_shape: Shape, *rest: Any) -> Shape:
    return base_shape


@composite(structure=contraction, shape=_put_shape, grad_name="AsStridedScatterBackward0", method=False)
def _window_put(input: Tensor, base_shape: Shape, base_strides: Strides, strides: Strides, offset: int) -> Tensor:
    """Zeros of *base_shape* with *input* at the window; elements that meet at the same place add up."""
    type_ = input._type
    shape = input._array.shape
    if may_overlap(shape, strides):
        repeated = tuple([dim for dim, size in enumerate(shape) if size > 1 and strides[dim] == 0])
        if repeated:
            from ..reductions.sums import _sum

            return _window_put(_sum(input, repeated, True), base_shape, base_strides, strides, offset)
        return _put_overlapping(input, base_shape, base_strides, strides, offset)
    base, window, whole = _memory(type_, base_shape, base_strides, (shape, strides, offset), True)
    type_.backend.copy(window, input._array)
    return _tensor(type_, base if whole else _copy_dense(type_, base))


def _put_overlapping(input: Tensor, base_shape: Shape, base_strides: Strides, strides: Strides, offset: int) -> Tensor:
    from ..creation.factories import _full, arange
    from ..indexing.index_select import _index_add

    type_, shape = input._type, input._array.shape
    lead = max(0, -offset)
    places = arange(lead + offset, lead + offset + 1, device=type_.device)
    for size, stride in zip(shape, strides, strict=True):
        places = (places.unsqueeze(-1) + arange(size, device=type_.device) * stride).flatten()
    extent = max(lead + reach(base_shape, base_strides), lead + offset + reach(shape, strides))
    memory = _index_add(_full((extent,), 0, type_.dtype, type_.device), places, input.reshape(-1), 0)
    root = type_.backend.root(memory._array)
    base = type_.backend.as_strided(root, type_.dtype, base_shape, base_strides, lead)
    return _tensor(type_, _copy_dense(type_, base))


def _clear_shape(input: Shape, *rest: Any) -> Shape:
    return input


@composite(structure=shaping, shape=_clear_shape, grad_name="AsStridedScatterBackward0", method=False)
def _window_clear(input: Tensor, base_strides: Strides, shape: Shape, strides: Strides, offset: int) -> Tensor:
    """*input* with zeros at the window."""
    type_ = input._type
    base, window, whole = _memory(type_, input._array.shape, base_strides, (shape, strides, offset), False)
    type_.backend.copy(base, input._array)
    type_.backend.fill(window, 0)
    return _tensor(type_, base if whole else _copy_dense(type_, base))


def _write_shape(input: Shape, src: Shape, *rest: Any) -> Shape:
    return input


@composite(structure=shaping, shape=_write_shape, grad_name="AsStridedScatterBackward0", method=False)
def _window_write(input: Tensor, src: Tensor, base_strides: Strides, strides: Strides, offset: int) -> Tensor:
    """*input* with *src*, cast to its dtype, at the window."""
    type_ = input._type
    shape = src._array.shape
    base, window, whole = _memory(type_, input._array.shape, base_strides, (shape, strides, offset), False)
    type_.backend.copy(base, input._array)
    type_.backend.copy(window, src._array)
    return _tensor(type_, base if whole else _copy_dense(type_, base))


gradient(
    _window_write,
    input=lambda g, src_shape, base_strides, strides, offset: _window_clear(
        g, base_strides, src_shape, strides, offset
    ),
    src=lambda g, src_shape, base_strides, strides, offset: _window_take(g, base_strides, src_shape, strides, offset),
)
linear_in(_window_write, "input", "src")


def _put_shared(g: Tensor, input_shape: Shape, base_strides: Strides, strides: Strides, offset: int) -> Tensor:
    """As `_window_put`, but what the base shows several times, being expanded, say, is shared among its places: the
    gradient of what expanded it adds them up again.
    """
    result = _window_put(g, input_shape, base_strides, strides, offset)
    if not may_overlap(input_shape, base_strides):
        return result
    from ..creation.factories import ones_like

    return result / _window_put(ones_like(result), input_shape, base_strides, base_strides, 0)


def _take_added(g: Tensor, input_shape: Shape, base_strides: Strides, strides: Strides, offset: int) -> Tensor:
    """The gradient of `_window_put`, whose base may show a place several times: the gradients of all of them add up."""
    if may_overlap(g.shape, base_strides):
        g = _window_put(g, g.shape, base_strides, base_strides, 0)
    return _window_take(g, base_strides, input_shape, strides, offset)


gradient(_window_take, input=_put_shared)
linear_in(_window_take, "input")
gradient(_window_put, input=_take_added)
linear_in(_window_put, "input")
gradient(
    _window_clear,
    input=lambda g, base_strides, shape, strides, offset: _window_clear(g, base_strides, shape, strides, offset),
)
linear_in(_window_clear, "input")


# ---------------------------------------------------------------------------------------------------- sliding windows


def _added_shape(input: Shape, step: int, length: int) -> Shape:
    return (*input[:-2], length)


@composite(structure=contraction, shape=_added_shape, method=False)
def _overlap_add(input: Tensor, step: int, length: int) -> Tensor:
    """The rows (..., count, size) added up where they lie in (..., length), each *step* after the row before it."""
    from ..creation.factories import _full
    from ..nn.padding import _pad_constant

    *batch, count, size = input._array.shape
    type_ = input._type
    parts = -(-size // step)
    if parts > 64:
        dense = contiguous_strides((*batch, length))
        return _window_put(input, (*batch, length), dense, (*dense[:-1], step, 1), 0)
    # In pieces of one step, the k-th pieces of all rows lie one after another.
    if size % step:
        input = _pad_constant(input, (0,) * (2 * input.ndim - 1) + (parts * step - size,), 0)
    pieces = _reshape(input, (*batch, count, parts, step))
    total = max(count + parts - 1 if count else 0, -(-length // step))
    sums = _full((*batch, total, step), 0, type_.dtype, type_.device)
    for part in range(parts):
        sums.narrow(-2, part, count).add_(pieces.select(-2, part))
    return _reshape(sums, (*batch, total * step)).narrow(-1, 0, length).clone()


def _overlap_add_grad(g: Tensor, input_shape: Shape, step: int) -> Tensor:
    from ..indexing.slicing import _sliding_windows

    count, size = input_shape[-2:]
    used = g.narrow(-1, 0, size + step * (count - 1)) if count else g.narrow(-1, 0, size)
    return _sliding_windows(used, g.ndim - 1, size, step)


gradient(_overlap_add, input=_overlap_add_grad)
linear_in(_overlap_add, "input")


@view(grad_name="AsStridedBackward0")
def _as_strided(
    input: Layout, shape: Shape, strides: Strides, offset: int, source: tuple[Shape, Strides, int]
) -> Layout:
    """Any layout over the storage; *source* is the input's own, which the gradient needs."""
    return Layout(shape, strides, offset)


def _put_back(g: Tensor, strides: Strides, offset: int, source: tuple[Shape, Strides, int]) -> Tensor:
    shape, steps, start = source
    return _put_shared(g, shape, steps, strides, offset - start)


gradient(_as_strided, input=_put_back)
forward(
    _as_strided,
    lambda input_t, shape, strides, offset, source: _window_take(
        input_t, source[1], shape, strides, offset - source[2]
    ),
)


@function()
def as_strided(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """The storage of *input* under any layout, counted in elements; the offset is input's own unless given.

    Raises RuntimeError for a layout that leaves the storage, for negative strides or sizes.

    >>> import polyad
    >>> polyad.as_strided(polyad.arange(4), (2, 2), (1, 1))
    tensor([[0, 1],
            [1, 2]])
    """
    source = layout_of(check_tensor(input, "as_strided", "input"))
    shape, strides = normalize_shape((size,), "as_strided"), normalize_shape((stride,), "as_strided")
    offset = source.offset if storage_offset is None else normalize_shape((storage_offset,), "as_strided")[0]
    if len(shape) != len(strides) or any(number < 0 for number in (*shape, *strides, offset)):
        raise ShapeError(
            f"as_strided: size {shape}, stride {strides} and storage_offset {offset} "
            "must be of one length and not negative",
            operands={"input": input},
            fix="give a stride for each size",
        )
    room = (input._storage or input._make_storage()).nbytes // input.itemsize
    if 0 not in shape and offset + reach(shape, strides) > room:
        raise ShapeError(
            f"as_strided: size {shape}, stride {strides} and storage_offset {offset} reach element "
            f"{offset + reach(shape, strides) - 1} of a storage of {room}",
            operands={"input": input},
            fix="use smaller sizes, strides or offset",
        )
    return _as_strided(input, shape, strides, offset, source)


relaid(as_strided)
