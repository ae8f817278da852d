"""Slices of a dimension by their indices: reading, adding, copying, filling and reducing them (``index_*``).

Single elements are in gather_scatter.py, ``x[i, j]`` with tensors is in index_put.py; what all of them ask of an index
is in operands.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...base.dtypes import INTEGER, bool_, int64
from ...base.shapes_and_strides import Shape
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.structure import Indexing, indexing
from ...errors import DTypeError, IndexOutOfRange, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import zeros
from ..declaring.checks import check_dtype, check_ndim
from ..memory.copying import check_element_fits, element
from ..pointwise.where import _where
from ..shaping.reshape import _expand, _reshape
from .gather_scatter import _scatter
from .operands import _check_vector, _zeros_like, check_index, typed_like_input
from .scatter_reduce import _REDUCTIONS, _scatter_reduce, check_reduction

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _selected(input: Shape, index: Shape, dim: int) -> Shape:
    return (*input[:dim], *index, *input[dim + 1 :])


@primitive(dtype=typed_like_input(index=1), structure=indexing, shape=_selected, method=False)
def _index_select(input: Tensor, index: Tensor, dim: int) -> Tensor:
    """The positions *index* (1-d) of dimension *dim*; negative ones are out of range."""


gradient(
    _index_select,
    input=lambda g, input_shape, index, dim: _index_add(_zeros_like(g, input_shape), index, g, dim),
)
linear_in(_index_select, "input")


def _input_shape(input: Shape, index: Shape, source: Shape, dim: int) -> Shape:
    return input


@primitive(dtype=typed_like_input(index=1, values=2), structure=Indexing(writes=True), shape=_input_shape, method=False)
def _index_add(input: Tensor, index: Tensor, source: Tensor, dim: int) -> Tensor:
    """*input* with the slices of *source* added at the positions *index* of *dim*; the same position may come often."""


gradient(_index_add, input=lambda g: g, source=lambda g, index, dim: _index_select(g, index, dim))
linear_in(_index_add, "input", "source")


@function()
def index_select(input: Tensor, dim: int, index: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The positions *index* (a vector of integers) of dimension *dim*, copied. Raises IndexError for an index out of
    range.

    >>> import polyad
    >>> polyad.index_select(polyad.tensor([[1, 2, 3]]), 1, polyad.tensor([2, 0]))
    tensor([[3, 1]])
    """
    at = check_index("index_select", input, dim, index)
    index = _check_vector("index_select", index)
    return _index_select(input, index, at) if input.ndim else _index_select(input.reshape(1), index, 0).reshape(())


def check_source(op: str, input: Tensor, index: Tensor, source: Tensor, dim: int) -> None:
    """Raise unless *source* has a slice for each element of the vector *index*, in the shape of *input*'s."""
    wanted = _selected(input._array.shape, index._array.shape, dim)
    if source._array.shape != wanted:
        raise ShapeError(
            f"{op}: source is {tuple(source.shape)}, not {wanted}",
            operands={"input": input, "index": index, "source": source},
            fix=f"give a slice of source for each index, along dimension {dim}",
        )


def _check_source_dtype(op: str, input: Tensor, source: Tensor) -> None:
    check_tensor(source, op, "source")
    check_dtype(op, "source", source, "input", input)


@function(inplace=True)
def index_add(
    input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """*input* with ``alpha * source`` added at the positions *index* of *dim*; the same position may come often.

    Raises IndexError for an index out of range, RuntimeError for a source of another shape or dtype.

    >>> import polyad
    >>> polyad.index_add(polyad.zeros(2), 0, polyad.tensor([0, 0]), polyad.tensor([1.0, 2.0]))
    tensor([3., 0.])
    """
    at = check_index("index_add", input, dim, index)
    index = _check_vector("index_add", index)
    _check_source_dtype("index_add", input, source)
    if isinstance(alpha, (float, complex)) and input._type.dtype.category <= INTEGER:
        raise DTypeError(f"index_add: alpha is {alpha}, input {input.dtype.name}", fix="give an int, or convert input")
    alpha = element("index_add", alpha, input._type.dtype)
    if not input.ndim:
        return _index_add(input.reshape(1), index, (source * alpha).reshape(1), 0).reshape(())
    check_source("index_add", input, index, source, at)
    return _index_add(input, index, source if alpha == 1 else source * alpha, at)


def _slices(input: Shape, index: Shape, source: Shape, dim: int) -> Shape:
    return input


@composite(dtype=typed_like_input(index=1, values=2), structure=Indexing(writes=True), shape=_slices, method=False)
def _index_copy(input: Tensor, index: Tensor, source: Tensor, dim: int) -> Tensor:
    """*input* with the slices of *source* written at the positions *index* of *dim*."""
    shape = source._array.shape
    places = _expand(_reshape(index, (index._array.shape[0], *[1] * (len(shape) - dim - 1))), shape)
    return _scatter(input, places, source, dim)


def _index_cleared(g: Tensor, index: Tensor, source_shape: Shape, dim: int) -> Tensor:
    return _index_copy(g, index, _zeros_like(g, source_shape), dim)


gradient(
    _index_copy,
    input=_index_cleared,
    source=lambda g, index, dim: _index_select(g, index, dim),
)
linear_in(_index_copy, "input", "source")


@function(inplace=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor, *, out: Tensor | None = None) -> Tensor:
    """*input* with the slices of *source* written at the positions *index* of *dim*.

    Raises IndexError for an index out of range, RuntimeError for a source of another shape or dtype.

    >>> import polyad
    >>> polyad.index_copy(polyad.zeros(3), 0, polyad.tensor([2]), polyad.tensor([5.0]))
    tensor([0., 0., 5.])
    """
    at = check_index("index_copy", input, dim, index)
    index = _check_vector("index_copy", index)
    _check_source_dtype("index_copy", input, source)
    if input.ndim and source.ndim and source.ndim != input.ndim:
        raise IndexOutOfRange(
            f"index_copy: source has {source.ndim} dimensions, input {input.ndim}",
            operands={"input": input, "source": source},
            fix="give source as many dimensions as input",
        )
    if not source.ndim:
        if index.numel() != 1:
            raise IndexOutOfRange(
                f"index_copy: source is one number, but index has {index.numel()} elements",
                operands={"index": index, "source": source},
                fix="give a slice of source for each index",
            )
        source = source.reshape(1)
    target = input if input.ndim else input.reshape(1)
    source = source if input.ndim else source.reshape(1)
    check_source("index_copy", target, index, source, at)
    return _index_copy(target, index, source, at).reshape(input.shape)


@function(inplace=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Number | Tensor) -> Tensor:
    """*input* with *value* (a number or a 0-d tensor) written at the positions *index* of *dim*; negative positions
    count from the end.

    Raises IndexError for an index out of range, RuntimeError for a value that input's dtype cannot hold.

    >>> import polyad
    >>> polyad.index_fill(polyad.zeros(3), 0, polyad.tensor([2]), 5)
    tensor([0., 0., 5.])
    """
    from .index_put import _index_put

    at = check_index("index_fill", input, dim, index)
    check_ndim("index_fill", "index", index, 0, 1, fix="flatten it")
    if not isinstance(value, Tensor):
        value = element("index_fill", value, input._type.dtype)
    elif value.ndim:
        raise ShapeError(
            f"index_fill: value has {value.ndim} dimensions", operands={"value": value}, fix="give a number"
        )
    else:
        check_element_fits("index_fill", value, input._type.dtype)
    target, positions = input if input.ndim else input.reshape(1), _check_vector("index_fill", index).to(int64)
    if isinstance(value, Tensor):  # by a mask, that a position named twice counts once in the value's gradient
        size, after = target._array.shape[at], (1,) * (target.ndim - at - 1)
        mask = _index_put(zeros(size, dtype=bool_, device=input._type.device), [positions], True, False)
        return _where(mask.reshape((size, *after)), value.to(input._type.dtype), target).reshape(input.shape)
    return _index_put(target, [*[None] * at, positions], value, False).reshape(input.shape)


@function(inplace=True)
def index_reduce(
    input: Tensor,
    dim: int,
    index: Tensor,
    source: Tensor,
    reduce: str,
    *,
    include_self: bool = True,
    out: Tensor | None = None,
) -> Tensor:
    """*input* with the slices of *source* that *index* (a vector) sends to the same position of *dim* reduced:
    *reduce* is "prod", "mean", "amax" or "amin". See `scatter_reduce`.

    Raises IndexError for an index out of range, RuntimeError for shapes or dtypes that do not fit and for another
    reduction.

    >>> import polyad
    >>> polyad.index_reduce(polyad.ones(2), 0, polyad.tensor([1, 1]), polyad.tensor([2.0, 3.0]), "prod")
    tensor([1., 6.])
    """
    at = check_index("index_reduce", input, dim, index)
    check_reduction("index_reduce", reduce, _REDUCTIONS[1:])
    index = _check_vector("index_reduce", index)
    check_tensor(source, "index_reduce", "source")
    check_dtype("index_reduce", "source", source, "input", input)
    if not input.ndim:
        return index_reduce(input.reshape(1), 0, index, source.reshape(1), reduce, include_self=include_self).reshape(
            ()
        )
    check_source("index_reduce", input, index, source, at)
    if not source.numel():
        return input.clone()
    shape = (*[1] * at, index._array.shape[0], *[1] * (input.ndim - at - 1))
    places = _expand(_reshape(index, shape), source._array.shape)
    return _scatter_reduce(input, places, source, at, reduce, bool(include_self))
