"""The largest and smallest elements, over all or some dimensions, and where they are.

nan counts as both largest and smallest. Several of the functions have the names of Python's own (``max``), which this
module therefore cannot use. Of two operands, element by element: pointwise/maximum.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import int64
from ...base.shapes_and_strides import Shape, normalize_dim, normalize_dims
from ...dispatch.forward import forward, reduction
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing, first, not_complex, to_int64
from ...dispatch.structure import ALL, Reduction
from ...errors import ArgumentTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..indexing.gather_scatter import _gather, _scatter
from ..pointwise import maximum
from ..pointwise.where import _where
from .sums import _one_or_all, _sum, keep_dims

if TYPE_CHECKING:
    Dims = int | tuple[int, ...] | list[int] | None


@primitive(dtype=not_complex("amax", first), structure=Reduction("dims", "max"), method=False)
def _amax(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The largest element over *dims*; nan if any is nan."""


@primitive(dtype=not_complex("amin", first), structure=Reduction("dims", "min"), method=False)
def _amin(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The smallest element over *dims*; nan if any is nan."""


def evenly(g: Tensor, input: Tensor, dims: tuple[int, ...], keepdim: bool, out: Tensor) -> Tensor:
    """The gradient of an extreme: shared evenly by the elements that equal it; nan where the extreme is nan."""
    shape = input._array.shape
    same = input == keep_dims(out, shape, dims, keepdim)
    return same * (keep_dims(g, shape, dims, keepdim) / _sum(same, dims, True))


gradient(_amax, input=evenly)
reduction(_amax)
gradient(_amin, input=evenly)
reduction(_amin)


def _check_not_empty(op: str, input: Tensor) -> None:
    """Raise for an extreme of nothing, which PyTorch calls a RuntimeError where no dim was named."""
    if 0 in input._array.shape:
        raise ShapeError(
            f"{op}: a tensor without elements has no extreme",
            operands={"input": input},
            fix="give a dim that has elements, or concatenate a value for that case",
        )


def _all_of(dim: Any) -> bool:
    return dim is None or (isinstance(dim, (tuple, list)) and not dim)


@function()
def amax(input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The largest element of all, or over *dim*; nan if any is nan. Equal largest elements share the gradient evenly.

    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.amax(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([5, 4])
    """
    check_tensor(input, "amax", "input")
    if _all_of(dim):
        _check_not_empty("amax", input)
    return _amax(input, normalize_dims(dim, len(input._array.shape), "amax"), keepdim)


@function()
def amin(input: Tensor, dim: Dims = (), keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The smallest element of all, or over *dim*; nan if any is nan. Equal smallest elements share the gradient evenly.

    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.amin(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([1, 2])
    """
    check_tensor(input, "amin", "input")
    if _all_of(dim):
        _check_not_empty("amin", input)
    return _amin(input, normalize_dims(dim, len(input._array.shape), "amin"), keepdim)


@function()
def aminmax(input: Tensor, *, dim: int | None = None, keepdim: bool = False, out: Any = None) -> return_types.aminmax:
    """The smallest and the largest element of all, or over *dim*; see `amin` and `amax`.

    >>> import polyad
    >>> polyad.aminmax(polyad.tensor([3, 1, 2])).max
    tensor(3)
    """
    check_tensor(input, "aminmax", "input")
    dims = _one_or_all(dim, input.ndim, "aminmax")
    if dim is None:
        _check_not_empty("aminmax", input)
    return return_types.aminmax(_amin(input, dims, keepdim), _amax(input, dims, keepdim))


@primitive(dtype=not_complex("argmax", to_int64), structure=Reduction("dim", "argmax"), method=False)
def _argmax(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The position of the first largest element along *dim*, or of the flattened tensor; nan is largest."""


@primitive(dtype=not_complex("argmin", to_int64), structure=Reduction("dim", "argmin"), method=False)
def _argmin(input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The position of the first smallest element along *dim*, or of the flattened tensor; nan is smallest."""


@function()
def argmax(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the largest element is, along *dim* or in the flattened tensor; the first of several. nan counts as
    largest.

    The result is int64. Raises IndexError for a dim out of range or without elements.

    >>> import polyad
    >>> polyad.argmax(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([1, 0])
    """
    return _find_extreme(_argmax, "argmax", input, dim, keepdim)


@function()
def argmin(input: Tensor, dim: int | None = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Where the smallest element is, along *dim* or in the flattened tensor; the first of several. nan counts as
    smallest.

    The result is int64. Raises IndexError for a dim out of range or without elements.

    >>> import polyad
    >>> polyad.argmin(polyad.tensor([[1, 5], [4, 2]]), 1)
    tensor([0, 1])
    """
    return _find_extreme(_argmin, "argmin", input, dim, keepdim)


def _find_extreme(op: Any, name: str, input: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    ndim = len(check_tensor(input, name, "input")._array.shape)
    at = None if dim is None else normalize_dim(dim, ndim, name)
    result: Tensor = op(input, at if ndim else None, keepdim)
    return result


@composite(
    dtype=not_complex("max", first),
    structure=Reduction(ALL, "max"),
    grad_name="MaxBackward1",
    method=False,
)
def _max_all(input: Tensor) -> Tensor:
    """The largest of all elements; nan if any is nan."""
    return _amax(input, tuple(range(input.ndim)), False)


@composite(
    dtype=not_complex("min", first),
    structure=Reduction(ALL, "min"),
    grad_name="MinBackward1",
    method=False,
)
def _min_all(input: Tensor) -> Tensor:
    """The smallest of all elements; nan if any is nan."""
    return _amin(input, tuple(range(input.ndim)), False)


def among_equals(g: Tensor, input: Tensor, out: Tensor) -> Tensor:
    """The gradient of a chosen element: shared evenly by those that equal it, by the nans if it is nan."""
    same = (input == out) | ((input != input) & (out != out))
    return _where(same, g / same.sum(), 0)


gradient(_max_all, input=among_equals)
reduction(_max_all)
gradient(_min_all, input=among_equals)
reduction(_min_all)


def _value_and_position(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (types[0].dtype, int64))


@composite(
    dtype=not_complex("max", _value_and_position),
    structure=Reduction("dim", "max"),
    outputs=("values", "indices"),
    method=False,
)
def _max_dim(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The largest elements along *dim* and where they are."""
    return _amax(input, (dim,), keepdim), _argmax(input, dim, keepdim)


@composite(
    dtype=not_complex("min", _value_and_position),
    structure=Reduction("dim", "min"),
    outputs=("values", "indices"),
    method=False,
)
def _min_dim(input: Tensor, dim: int, keepdim: bool) -> Any:
    """The smallest elements along *dim* and where they are."""
    return _amin(input, (dim,), keepdim), _argmin(input, dim, keepdim)


def scatter_to_chosen(g: Any, input_shape: Shape, dim: int, keepdim: bool, indices: Tensor) -> Tensor:
    """The gradient of elements chosen along *dim*: theirs alone."""
    type_ = g[0]._type
    index, values = keep_dims(indices, input_shape, (dim,), keepdim), keep_dims(g[0], input_shape, (dim,), keepdim)
    if len(input_shape) == 1 and not keepdim:
        index, values = index.unsqueeze(0), values.unsqueeze(0)
    return _scatter(_full(input_shape, 0, type_.dtype, type_.device), index, values, dim)


def gather_chosen(tangent: Tensor, dim: int, keepdim: bool, indices: Tensor) -> Tensor:
    """The tangent of elements chosen along *dim*: theirs."""
    if not tangent._array.shape:
        return tangent
    result = _gather(tangent, indices if keepdim else indices.unsqueeze(dim), dim)
    return result if keepdim else result.squeeze(dim)


gradient(_max_dim, input=scatter_to_chosen)
forward(_max_dim, lambda input_t, dim, keepdim, indices: (gather_chosen(input_t, dim, keepdim, indices), None))
gradient(_min_dim, input=scatter_to_chosen)
forward(_min_dim, lambda input_t, dim, keepdim, indices: (gather_chosen(input_t, dim, keepdim, indices), None))


def _extreme(name: str, args: tuple[Any, ...], dim: Any, keepdim: bool, other: Any) -> Any:
    """The three forms of max and min: of all elements, along a dim, of two tensors."""
    input, *rest = args
    check_tensor(input, name, "input")
    if isinstance(dim, Tensor):
        dim = dim.__index__()
    rest = [*rest, *(value for value in (dim, other) if value is not None)]
    if not rest:
        if keepdim:
            raise ArgumentTypeError(
                f"{name}: keepdim without a dim", operands={"input": input}, fix=f"name a dim, or use a{name}"
            )
        _check_not_empty(name, input)
        return _max_all(input) if name == "max" else _min_all(input)
    if isinstance(rest[0], Tensor):
        pair: Tensor = maximum.maximum(input, rest[0]) if name == "max" else maximum.minimum(input, rest[0])
        return pair
    if len(rest) > 2 or (len(rest) == 2 and not isinstance(rest[1], bool)):
        raise ArgumentTypeError(
            f"{name}: the arguments {safe_repr(tuple(rest))} are neither (dim), (dim, keepdim) nor another tensor",
            operands={"input": input},
            fix=f"write {name}(), {name}(dim, keepdim) or {name}(other)",
        )
    keepdim = keepdim or (len(rest) == 2 and rest[1])
    at = normalize_dim(rest[0], input.ndim, name)
    named_tuple = getattr(return_types, name)
    op = _max_dim if name == "max" else _min_dim
    if input.ndim:
        return named_tuple(*op(input, at, keepdim))
    values, indices = op(input.reshape(1), 0, False)
    return named_tuple(values, indices)


@function()
def max(
    input: Tensor,
    *args: Any,
    dim: int | None = None,
    keepdim: bool = False,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The largest element: ``max(x)`` of all, ``max(x, dim)`` with its position along *dim*, ``max(x, other)`` of each
    pair.

    nan is larger than any number. ``max(x, dim, keepdim)`` gives a named tuple (values, indices), the first position of
    several equal ones, which alone gets the gradient; ``max(x)`` shares it evenly; ``max(x, other)`` is `maximum`.
    Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> x = polyad.tensor([[1, 5], [4, 2]])
    >>> polyad.max(x)
    tensor(5)
    >>> x.max(dim=1).indices
    tensor([1, 0])
    """
    return _extreme("max", (input, *args), dim, keepdim, other)


@function()
def min(
    input: Tensor,
    *args: Any,
    dim: int | None = None,
    keepdim: bool = False,
    other: Tensor | None = None,
    out: Any = None,
) -> Any:
    """The smallest element: ``min(x)`` of all, ``min(x, dim)`` with its position along *dim*, ``min(x, other)`` of each
    pair.

    nan is smaller than any number here. ``min(x, dim, keepdim)`` gives a named tuple (values, indices), the first
    position of several equal ones, which alone gets the gradient; ``min(x)`` shares it evenly; ``min(x, other)`` is
    `minimum`. Raises IndexError for a dim out of range or without elements, RuntimeError for complex tensors.

    >>> import polyad
    >>> x = polyad.tensor([[1, 5], [4, 2]])
    >>> polyad.min(x)
    tensor(1)
    >>> x.min(dim=1).values
    tensor([1, 2])
    """
    return _extreme("min", (input, *args), dim, keepdim, other)
