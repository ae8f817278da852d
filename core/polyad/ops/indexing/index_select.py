"""Reading and writing at indices that tensors hold: the primitives, and slices of one dimension by their indices.

Primitives: index_select, index_add, gather, scatter, scatter_add, nonzero. The public forms for single elements are in
gather_scatter.py, ``x[i, j]`` with tensors is in index_put.py.

An index out of range raises IndexError that names its place, value and range (`polyad.backend.bounds`); raising it is
the kernels' part of the contract. Index tensors are int64 when a kernel sees them; masks are bool.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing, to_int64
from ...dtypes import INTEGER, int64
from ...errors import DTypeError, IndexOutOfRange, ShapeError
from ...layout import Shape, normalize_dim
from ...tensor import Tensor, check_tensor
from ..creation.factories import _full
from ..memory.conversion import check_fits
from ..shaping.reshape import _expand, _reshape

if TYPE_CHECKING:
    Number = bool | int | float | complex


# ---------------------------------------------------------------------------------------------------- primitives


def typed_like_input(*, index: int, values: int | None = None) -> Any:
    """The input as it is, the index operand int64, the values of the input's dtype, and so the result."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        casts: list[Any] = [None] * len(types)
        casts[index] = int64
        if values is not None:
            casts[values] = types[0].dtype
        return Typing(tuple(casts), (types[0].dtype,))

    return rule


def _selected(input: Shape, index: Shape, dim: int) -> Shape:
    return (*input[:dim], *index, *input[dim + 1 :])


@primitive(dtype=typed_like_input(index=1), shape=_selected, method=False)
def _index_select(input: Tensor, index: Tensor, dim: int) -> Tensor:
    """The positions *index* (1-d) of dimension *dim*; negative ones are out of range."""


gradient(
    _index_select,
    input=lambda g, input_shape, index, dim: _index_add(_zeros_like(g, input_shape), index, g, dim),
)
linear_in(_index_select, "input")


def _added(input: Shape, index: Shape, source: Shape, dim: int) -> Shape:
    return input


@primitive(dtype=typed_like_input(index=1, values=2), shape=_added, method=False)
def _index_add(input: Tensor, index: Tensor, source: Tensor, dim: int) -> Tensor:
    """*input* with the slices of *source* added at the positions *index* of *dim*; the same position may come often."""


gradient(_index_add, input=lambda g: g, source=lambda g, index, dim: _index_select(g, index, dim))
linear_in(_index_add, "input", "source")


def _gathered(input: Shape, index: Shape, dim: int) -> Shape:
    return index


@primitive(dtype=typed_like_input(index=1), shape=_gathered, method=False)
def _gather(input: Tensor, index: Tensor, dim: int) -> Tensor:
    """``input[i, index[i, j], k]`` at (i, j, k), for *dim* 1 of three; index is at most as large in the other
    dimensions.
    """


gradient(
    _gather,
    input=lambda g, input_shape, index, dim: _scatter_add(_zeros_like(g, input_shape), index, g, dim),
)
linear_in(_gather, "input")


def _scattered(input: Shape, index: Shape, src: Shape | None, dim: int) -> Shape:
    return input


@primitive(dtype=typed_like_input(index=1, values=2), shape=_scattered, method=False)
def _scatter(input: Tensor, index: Tensor, src: Tensor | Number, dim: int) -> Tensor:
    """*input* with ``src[i, j, k]`` written at ``(i, index[i, j, k], k)``, for *dim* 1 of three; the last write
    stays.
    """


gradient(
    _scatter,
    input=lambda g, index, dim: _scatter(g, index, 0, dim),
    src=lambda g, src_shape, index, dim: _padded(_gather(g, index, dim), src_shape),
)
linear_in(_scatter, "input", "src")


@primitive(dtype=typed_like_input(index=1, values=2), shape=_scattered, method=False)
def _scatter_add(input: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    """As scatter, but adding; the same place may come often."""


gradient(
    _scatter_add,
    input=lambda g: g,
    src=lambda g, src_shape, index, dim: _padded(_gather(g, index, dim), src_shape),
)
linear_in(_scatter_add, "input", "src")


def _padded(gradient: Tensor, shape: Shape) -> Tensor:
    """The gradient of a source of which only the leading part, of the index's shape, was read."""
    from ..shaping.strided import _window_put

    if gradient._array.shape == shape:
        return gradient
    from ...layout import contiguous_strides

    dense = contiguous_strides(shape)
    return _window_put(gradient, shape, dense, dense, 0)


def _zeros_like(gradient: Tensor, shape: Shape) -> Tensor:
    return _full(shape, 0, gradient._type.dtype, gradient._type.device)


def _places(shape: Shape) -> Shape:
    return (-1, len(shape))  # how many there are, only the data can tell


@primitive(dtype=to_int64, shape=_places, method=False)
def _nonzero(input: Tensor) -> Tensor:
    """The indices of all elements that are not zero, a row an element, in row-major order."""


@function()
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of all elements that are not zero: int64 (n, ndim), or with *as_tuple* one vector a dimension.

    >>> import polyad
    >>> polyad.nonzero(polyad.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    check_tensor(input, "nonzero", "input")
    if not as_tuple:
        return _nonzero(input)
    return _nonzero(input if input.ndim else input.reshape(1)).unbind(1)


@function()
def argwhere(input: Tensor) -> Tensor:
    """The indices of all elements that are not zero; see `nonzero`.

    >>> import polyad
    >>> polyad.argwhere(polyad.tensor([0, 3]))
    tensor([[1]])
    """
    return _nonzero(check_tensor(input, "argwhere", "input"))


# ---------------------------------------------------------------------------------------------------- along a dimension


def check_index(op: str, input: Tensor, dim: Any, index: Any, name: str = "index") -> int:
    """*dim* counted from the front; raises unless *index* is a tensor of integers and *input* has that dimension."""
    check_tensor(input, op, "input")
    check_tensor(index, op, name)
    at = normalize_dim(dim, input.ndim, op)
    if index._type.dtype.category != INTEGER:
        raise DTypeError(f"{op}: {name} is {index.dtype.name}, not int64", operands={name: index}, fix="use .long()")
    return at


def _check_vector(op: str, index: Tensor) -> Tensor:
    if index.ndim > 1:
        raise IndexOutOfRange(
            f"{op}: index has {index.ndim} dimensions, not one", operands={"index": index}, fix="flatten it"
        )
    return index if index.ndim else index.reshape(1)


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


def _same_index(index: Shape, size: int) -> Shape:
    return index


@composite(dtype=to_int64, shape=_same_index, method=False)
def _from_front(index: Tensor, size: int) -> Tensor:
    """*index* with negative positions among *size* counted from the front; those out of range stay, to be refused."""
    from ..pointwise.selection import _where

    return _where((index < 0) & (index >= -size), index + size, index)


def counted_from_front(index: Tensor, size: int) -> Tensor:
    """*index* as int64, negative positions among *size* counted from the front."""
    return _from_front(index.to(int64), size)


def check_source(op: str, input: Tensor, index: Tensor, source: Tensor, dim: int) -> None:
    """Raise unless *source* has a slice for each element of the vector *index*, in the shape of *input*'s."""
    wanted = _selected(input._array.shape, index._array.shape, dim)
    if source._array.shape != wanted:
        raise ShapeError(
            f"{op}: source is {tuple(source.shape)}, not {wanted}",
            operands={"input": input, "index": index, "source": source},
            fix=f"give one slice of source an index, along dimension {dim}",
        )


def _check_source_dtype(op: str, input: Tensor, source: Tensor) -> None:
    check_tensor(source, op, "source")
    if source._type.dtype is not input._type.dtype:
        raise DTypeError(
            f"{op}: source must have input's dtype", operands={"input": input, "source": source}, fix="convert source"
        )


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
    check_fits("index_add", alpha, input._type.dtype)
    if not input.ndim:
        return _index_add(input.reshape(1), index, (source * alpha).reshape(1), 0).reshape(())
    check_source("index_add", input, index, source, at)
    return _index_add(input, index, source if alpha == 1 else source * alpha, at)


def _slices(input: Shape, index: Shape, source: Shape, dim: int) -> Shape:
    return input


@composite(dtype=typed_like_input(index=1, values=2), shape=_slices, method=False)
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
    target = input if input.ndim else input.reshape(1)
    source = source if input.ndim else source.reshape(1)
    check_source("index_copy", target, index, source, at)
    return _index_copy(target, index, source, at).reshape(input.shape)


@function(inplace=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Number | Tensor) -> Tensor:
    """*input* with one *value* (a number or a 0-d tensor) written at the positions *index* of *dim*; negative ones
    count from the end.

    Raises IndexError for an index out of range, RuntimeError for a value that input's dtype cannot hold.

    >>> import polyad
    >>> polyad.index_fill(polyad.zeros(3), 0, polyad.tensor([2]), 5)
    tensor([0., 0., 5.])
    """
    from .index_put import _index_put

    at = check_index("index_fill", input, dim, index)
    if index.ndim > 1:
        raise ShapeError(
            f"index_fill: index has {index.ndim} dimensions, not one", operands={"index": index}, fix="flatten it"
        )
    if not isinstance(value, Tensor):
        check_fits("index_fill", value, input._type.dtype)
    elif value.ndim:
        raise ShapeError(
            f"index_fill: value has {value.ndim} dimensions", operands={"value": value}, fix="give one number"
        )
    target = input if input.ndim else input.reshape(1)
    return _index_put(target, [*[None] * at, _check_vector("index_fill", index).to(int64)], value, False).reshape(
        input.shape
    )
