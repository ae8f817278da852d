"""Copies in reverse or shifted order: flip and its kin, `rot90`, `roll`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import normalize_dim, normalize_dims, normalize_shape
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.structure import Shaping, as_operands, shaping
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.shape_rules import same
from .joining import _cat
from .reshape import _reshape
from .splitting import _pieces

if TYPE_CHECKING:
    from collections.abc import Sequence


@primitive(structure=Shaping("dims"), strides=as_operands, shape=same, method=False)
def _flip(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """Reversed along *dims*."""


gradient(_flip, input=lambda g, dims: _flip(g, dims))
linear_in(_flip, "input")


@function()
def flip(input: Tensor, *dims: Any) -> Tensor:
    """A copy reversed along *dims*. Raises IndexError for a dim out of range, RuntimeError for a dim named twice.

    >>> import polyad
    >>> polyad.flip(polyad.arange(3), (0,))
    tensor([2, 1, 0])
    """
    check_tensor(input, "flip", "input")
    named = normalize_shape(dims, "flip")
    return _flip(input, normalize_dims(named, input.ndim, "flip") if named else ())


@function()
def fliplr(input: Tensor) -> Tensor:
    """A copy reversed along dimension 1. Raises RuntimeError for a tensor of fewer than 2 dimensions.

    >>> import polyad
    >>> polyad.fliplr(polyad.tensor([[1, 2]]))
    tensor([[2, 1]])
    """
    _check_rank("fliplr", input, 2)
    return flip(input, 1)


@function()
def flipud(input: Tensor) -> Tensor:
    """A copy reversed along dimension 0. Raises RuntimeError for a 0-d tensor.

    >>> import polyad
    >>> polyad.flipud(polyad.tensor([1, 2]))
    tensor([2, 1])
    """
    _check_rank("flipud", input, 1)
    return flip(input, 0)


def _check_rank(op: str, input: Tensor, least: int) -> None:
    rank = len(check_tensor(input, op, "input")._array.shape)
    if rank < least:
        raise ShapeError(
            f"{op}: input has {rank} dimensions, fewer than {least}", operands={"input": input}, fix="use flip"
        )


@function()
def rot90(input: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """A copy rotated *k* times by 90 degrees, from the first of two *dims* towards the second.

    Raises RuntimeError unless dims names two dimensions, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.rot90(polyad.tensor([[1, 2], [3, 4]]))
    tensor([[2, 4],
            [1, 3]])
    """
    named = normalize_shape((dims,), "rot90")
    if check_tensor(input, "rot90", "input").ndim < 2 or len(named) != 2:
        raise ShapeError(
            f"rot90: {len(named)} dims of a tensor of {input.ndim} dimensions",
            operands={"input": input},
            fix="name two dimensions of a tensor that has two or more",
        )
    first, second = (normalize_dim(dim, input.ndim, "rot90") for dim in named)
    if first == second:
        raise ShapeError(f"rot90: both dims are {first}", operands={"input": input}, fix="name two dimensions")
    turns = normalize_shape((k,), "rot90")[0] % 4
    if turns == 0:
        return input.clone()
    if turns == 2:
        return _flip(input, tuple(sorted((first, second))))
    flipped = _flip(input, (second if turns == 1 else first,))
    return flipped.transpose(first, second)


@composite(structure=shaping, shape=same, method=False)
def _roll(input: Tensor, shifts: tuple[int, ...], dims: tuple[int, ...]) -> Tensor:
    """Shifted along *dims*, around the end."""
    for shift, dim in zip(shifts, dims, strict=True):
        size = input._array.shape[dim]
        if size:
            cut = (size - shift) % size
            input = _cat(list(reversed(_pieces(input, dim, [cut, size - cut]))), dim)
        else:
            input = input.clone()  # an op never returns its operand
    return input


gradient(_roll, input=lambda g, shifts, dims: _roll(g, tuple([-shift for shift in shifts]), dims))
linear_in(_roll, "input")


@function()
def roll(input: Tensor, shifts: int | Sequence[int], dims: int | Sequence[int] | None = None) -> Tensor:
    """A copy shifted by *shifts* along *dims*; what leaves at the end comes in at the start. Without dims, of the flat
    tensor.

    Raises RuntimeError if shifts and dims differ in number, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.roll(polyad.arange(4), 1)
    tensor([3, 0, 1, 2])
    """
    check_tensor(input, "roll", "input")
    amounts = normalize_shape((shifts,), "roll")
    if dims is None or (isinstance(dims, (tuple, list)) and not dims):
        if len(amounts) != 1:
            raise ShapeError("roll: several shifts need as many dims", operands={"input": input}, fix="give dims")
        return _reshape(_roll(_reshape(input, (input.numel(),)), amounts, (0,)), input._array.shape)
    named = tuple([normalize_dim(dim, input.ndim, "roll") for dim in normalize_shape((dims,), "roll")])
    if len(named) != len(amounts):
        raise ShapeError(
            f"roll: {len(amounts)} shifts and {len(named)} dims",
            operands={"input": input},
            fix="give a shift for each dimension",
        )
    return _roll(input, amounts, named) if input.ndim else input.clone()
