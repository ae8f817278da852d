"""Copies that repeat: whole tensors (`repeat`, `tile`) or each element (`repeat_interleave`)."""

from __future__ import annotations

from typing import Any

from ...base.memory_formats import contiguous_format
from ...base.shapes_and_strides import Shape, check_sizes, normalize_dim, normalize_shape
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, function, gradient, method
from ...dispatch.structure import Shaping, shaping
from ...dispatch.views import owned
from ...errors import NoData, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_room, check_tensor, has_data
from ..creation.factories import _full, arange
from ..declaring.checks import check_least
from ..indexing.index_select import _index_add, _index_select
from ..indexing.slicing import _slice
from ..reductions.any_all import check_all
from ..reductions.cumulative import _cumsum
from ..reductions.sums import _sum
from .reshape import _expand, _reshape, _unsqueeze


@method()
def repeat(input: Tensor, *repeats: Any) -> Tensor:
    """A copy of *input* repeated along each dimension; more sizes than dimensions make new ones in front.

    Raises RuntimeError for fewer sizes than dimensions or negative ones.

    >>> import polyad
    >>> polyad.tensor([1, 2]).repeat(2, 2)
    tensor([[1, 2, 1, 2],
            [1, 2, 1, 2]])
    """
    times = normalize_shape(repeats, "repeat")
    shape = check_tensor(input, "repeat", "input")._array.shape
    if len(times) < len(shape) or any(time < 0 for time in times):
        raise ShapeError(
            f"repeat: sizes {times} do not fit",
            operands={"input": input},
            fix=f"give {len(shape)} or more sizes of 0 or more",
        )
    return _repeat(input, times)


@composite(structure=shaping, shape=lambda shape, times: _repeated(shape, times), method=False)
def _repeat(input: Tensor, times: tuple[int, ...]) -> Tensor:
    """Repeated *times* along each dimension."""
    shape = (1,) * (len(times) - len(input._array.shape)) + input._array.shape
    spread = _reshape(input, tuple([part for size in shape for part in (1, size)]))
    spread = _expand(spread, tuple([size for pair in zip(times, shape, strict=True) for size in pair]))
    copied = spread.clone(memory_format=contiguous_format)
    return owned(_reshape(copied, tuple([time * size for time, size in zip(times, shape, strict=True)])))


def _repeated(shape: Shape, times: tuple[int, ...]) -> Shape:
    padded = (1,) * (len(times) - len(shape)) + tuple(shape)
    return tuple([time * size for time, size in zip(times, padded, strict=True)])


@function()
def tile(input: Tensor, *dims: Any) -> Tensor:
    """A copy of *input* repeated along its last dimensions; see ``Tensor.repeat``, which wants a number for each
    dimension.

    >>> import polyad
    >>> polyad.tile(polyad.tensor([[1, 2]]), (2,))
    tensor([[1, 2, 1, 2]])
    """
    times = normalize_shape(dims, "tile")
    return repeat(input, (1,) * (check_tensor(input, "tile", "input").ndim - len(times)) + times)


def _interleaved(shape: Shape, times: int, dim: int) -> Shape:
    return (*shape[:dim], shape[dim] * times, *shape[dim + 1 :])


@composite(structure=Shaping("dim"), shape=_interleaved, method=False, grad_name="RepeatInterleaveBackward0")
def _repeat_interleave(input: Tensor, times: int, dim: int) -> Tensor:
    """Each position of *dim* *times* times in a row."""
    shape = input._array.shape
    spread = _expand(_unsqueeze(input, dim + 1), (*shape[: dim + 1], times, *shape[dim + 1 :]))
    return _reshape(spread.clone(), _interleaved(shape, times, dim))


def _interleaved_grad(g: Tensor, input_shape: Shape, times: int, dim: int) -> Tensor:
    return _sum(_reshape(g, (*input_shape[: dim + 1], times, *input_shape[dim + 1 :])), (dim + 1,), False)


gradient(_repeat_interleave, input=_interleaved_grad)
linear_in(_repeat_interleave, "input")


@function()
def repeat_interleave(
    input: Tensor | None = None,
    repeats: int | Tensor | None = None,
    dim: int | None = None,
    *,
    output_size: int | None = None,
) -> Tensor:
    """Each element repeated *repeats* times (a number, or a number for each position) along *dim*, or of the flattened
    tensor. With a tensor of counts alone, each position repeated that often.

    *output_size*, the sum of the repeats, is needed on device "meta" alone; with it nothing waits for a device to know
    how much comes out. Raises RuntimeError for negative numbers, for as many as there are not positions, and for
    another sum.

    >>> import polyad
    >>> polyad.repeat_interleave(polyad.tensor([1, 2]), polyad.tensor([1, 3]))
    tensor([1, 2, 2, 2])
    >>> polyad.repeat_interleave(polyad.tensor([1, 3]))
    tensor([0, 1, 1, 1])
    """
    if input is None:
        input, repeats = check_tensor(repeats, "repeat_interleave", "repeats"), None
    check_tensor(input, "repeat_interleave", "input")
    if repeats is None:
        if input.ndim != 1:
            raise ShapeError(
                "repeat_interleave: counts alone must be 1-d", operands={"repeats": input}, fix="flatten it"
            )
        input, repeats = arange(input._array.shape[0], device=input.device), input
    if dim is None:
        input, dim = _reshape(input, (input.numel(),)), 0
    at = normalize_dim(dim, input.ndim, "repeat_interleave")
    shape = input._array.shape
    if output_size is not None:
        (output_size,) = normalize_shape((output_size,), "repeat_interleave")
    if not isinstance(repeats, Tensor):
        (times,) = normalize_shape((repeats,), "repeat_interleave")
        check_least("repeat_interleave", "repeats", times, 0, operands={"input": input}, fix="give 0 or more")
        check_sizes((*shape[:at], (shape[at] if shape else 1) * times, *shape[at + 1 :]), "repeat_interleave")
        return _repeat_interleave(input, times, at) if shape else _reshape(_expand(input, (times,)).clone(), (times,))
    counts = _expand(repeats, (shape[at],)) if repeats.numel() == 1 else repeats
    fitting = counts._array.shape == (shape[at],) and counts.dtype.category == 1
    if fitting and not has_data(counts):
        if output_size is None:
            raise NoData("how large its result is depends on repeats", fix="give output_size, the sum of repeats")
        return input.new_empty((*shape[:at], output_size, *shape[at + 1 :]))
    numbers = counts.tolist() if fitting and output_size is None else []
    if not fitting or min(numbers, default=0) < 0:
        raise _no_counts(shape[at], at, input=input, repeats=repeats)
    total = sum(numbers) if output_size is None else output_size
    if output_size is not None:
        check_all(counts >= 0, lambda position, value: _no_counts(shape[at], at), input=input, repeats=repeats)
    check_sizes((*shape[:at], total, *shape[at + 1 :]), "repeat_interleave")
    check_room("repeat_interleave", (*shape[:at], total, *shape[at + 1 :]), input)
    if output_size is not None:
        sums = counts.sum()
        check_all(
            sums == output_size,
            lambda position, value: ShapeError(
                f"repeat_interleave: repeats add up to {value}, output_size is {output_size}", fix="leave it out"
            ),
            sums,
            input=input,
            repeats=repeats,
        )
    return repeated(input, counts, total, at)


def repeated(input: Tensor, counts: Tensor, total: int, dim: int) -> Tensor:
    """*input* with each position of *dim* repeated as often as *counts* (a vector) says, *total* in all."""
    ends = _cumsum(counts, 0)
    type_ = ends._type
    # Where a position ends the next begins: summing up these marks gives each element's position.
    marks = _full((total + 1,), 0, type_.dtype, type_.device)
    marks = _index_add(marks, ends, _full(ends._array.shape, 1, type_.dtype, type_.device), 0)
    return _index_select(input, _cumsum(_slice(marks, 0, 0, total, 1), 0), dim)


def _no_counts(size: int, dim: int, **operands: Any) -> ShapeError:
    return ShapeError(
        f"repeat_interleave: repeats must be {size} integers of 0 or more",
        operands=operands,
        fix=f"give one number for each position of dimension {dim}",
    )
