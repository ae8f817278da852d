"""Reading and writing single elements at indices along a dimension: gather, scatter, scatter_add.

An index tensor has as many dimensions as its operand, and is no larger except along *dim*. Negative indices are out of
range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import Shape, contiguous_strides
from ...dispatch.forward import linear_in
from ...dispatch.op import function, gradient, primitive
from ...dispatch.structure import Indexing
from ...errors import ArgumentTypeError, DTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..declaring.checks import check_choice, check_dtype
from ..memory.copying import element
from ..shaping.reshape import _expand
from ..shaping.strided import _window_put
from .operands import _zeros_like, check_index, typed_like_input

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _gathered(input: Shape, index: Shape, dim: int) -> Shape:
    return index


@primitive(dtype=typed_like_input(index=1), structure=Indexing("dim"), shape=_gathered, method=False)
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


@primitive(
    dtype=typed_like_input(index=1, values=2), structure=Indexing("dim", writes=True), shape=_scattered, method=False
)
def _scatter(input: Tensor, index: Tensor, src: Tensor | Number, dim: int) -> Tensor:
    """*input* with ``src[i, j, k]`` written at ``(i, index[i, j, k], k)``, for *dim* 1 of three; the last write
    stays.
    """


gradient(
    _scatter,
    input=lambda g, index, dim: _scatter(g, index, 0, dim),
    src=lambda g, src_shape, index, dim: _pad_gradient(_gather(g, index, dim), src_shape),
)
linear_in(_scatter, "input", "src")


@primitive(
    dtype=typed_like_input(index=1, values=2), structure=Indexing("dim", writes=True), shape=_scattered, method=False
)
def _scatter_add(input: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    """As scatter, but adding; the same place may come often."""


gradient(
    _scatter_add,
    input=lambda g: g,
    src=lambda g, src_shape, index, dim: _pad_gradient(_gather(g, index, dim), src_shape),
)
linear_in(_scatter_add, "input", "src")


def _pad_gradient(gradient: Tensor, shape: Shape) -> Tensor:
    """The gradient of a source of which only the leading part, of the index's shape, was read."""
    if gradient._array.shape == shape:
        return gradient

    dense = contiguous_strides(shape)
    return _window_put(gradient, shape, dense, dense, 0)


def _check_extent(op: str, input: Tensor, index: Tensor, dim: int, src: Any = None) -> None:
    """The sizes that gather and scatter want: as many dimensions, and the index no larger than what it stands
    beside.
    """
    if (input.ndim or 1) != (index.ndim or 1) or (isinstance(src, Tensor) and (src.ndim or 1) != (index.ndim or 1)):
        operands = {"input": input, "index": index, **({"src": src} if isinstance(src, Tensor) else {})}
        raise ShapeError(
            f"{op}: the numbers of dimensions differ", operands=operands, fix="give index as many dimensions"
        )
    have = src._array.shape or (1,) if isinstance(src, Tensor) else None
    for at, size in enumerate(index._array.shape):
        if at != dim and size > input._array.shape[at]:
            raise ShapeError(
                f"{op}: index is larger than input in dimension {at}: {size} > {input._array.shape[at]}",
                operands={"input": input, "index": index},
                fix=f"index may be larger only along dim {dim}",
            )
        if have is not None and size > have[at]:
            raise ShapeError(
                f"{op}: index is larger than src in dimension {at}: {size} > {have[at]}",
                operands={"index": index, "src": src},
                fix="give src an element for each index",
            )


@function()
def gather(input: Tensor, dim: int, index: Tensor, *, sparse_grad: bool = False, out: Tensor | None = None) -> Tensor:
    """The elements that *index* names along *dim*: ``input[i, index[i, j]]`` at (i, j) for dim 1 of two.

    The result has the shape of index, which has as many dimensions as input and is no larger except along dim. Raises
    IndexError for an index out of range, RuntimeError for shapes that do not fit.

    >>> import polyad
    >>> polyad.gather(polyad.tensor([[1, 2], [3, 4]]), 1, polyad.tensor([[0, 0], [1, 0]]))
    tensor([[1, 1],
            [4, 3]])
    """
    at = check_index("gather", input, dim, index)
    if not index.numel() and input.ndim != index.ndim:
        return _full(index._array.shape, 0, input._type.dtype, input._type.device)
    _check_extent("gather", input, index, at)
    if input.ndim and index.ndim:
        return _gather(input, index, at)
    return _gather(input.reshape(-1), index.reshape(-1), 0).reshape(index.shape)


@function(inplace=True)
def scatter(
    input: Tensor,
    dim: int,
    index: Tensor,
    src: Tensor | Number | None = None,
    *,
    value: Number | None = None,
    reduce: str | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """*input* with *src* (or a *value*) written where *index* says along *dim*: at ``(i, index[i, j])`` for dim 1 of
    two; with *reduce* "add" or "multiply" it changes what is there instead (`scatter_reduce` can do more).

    Where a place is named twice the last write stays. Raises IndexError for an index out of range, RuntimeError for
    shapes that do not fit and for another name of a reduction.

    >>> import polyad
    >>> polyad.scatter(polyad.zeros(2, 2), 1, polyad.tensor([[1], [0]]), 7)
    tensor([[0., 7.],
            [7., 0.]])
    """
    at = check_index("scatter", input, dim, index)
    given = value if src is None else src
    if given is None:
        raise ArgumentTypeError(
            "scatter: neither src nor value is given", operands={"input": input}, fix="give src or value"
        )
    if isinstance(given, Tensor) and not given.ndim and index.ndim:
        given = _expand(given.to(input._type.dtype), index._array.shape)
    if isinstance(given, Tensor) and given._type.dtype is not input._type.dtype:
        raise DTypeError(
            "scatter: src must have input's dtype", operands={"input": input, "src": given}, fix="convert src first"
        )
    if not isinstance(given, Tensor):
        given = element("scatter", given, input._type.dtype)
    if reduce is None:
        return _scatter_where_indexed("scatter", _scatter, input, at, index, given)
    check_choice(
        "scatter",
        "reduce",
        reduce,
        ("add", "multiply"),
        operands={"input": input},
        fix='write "add" or "multiply", or use scatter_reduce',
    )
    if not isinstance(given, Tensor):
        given = _expand(_full((), given, input._type.dtype, input._type.device), index._array.shape)
    if reduce == "add":
        return _scatter_where_indexed("scatter", _scatter_add, input, at, index, given)
    from .scatter_reduce import _reducing

    return _scatter_where_indexed("scatter", _reducing("prod", True), input, at, index, given)


@function(inplace=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor, *, out: Tensor | None = None) -> Tensor:
    """*input* with *src* added where *index* says along *dim*; the same place may come often. See `scatter`.

    >>> import polyad
    >>> polyad.scatter_add(polyad.zeros(2), 0, polyad.tensor([1, 1]), polyad.tensor([1.0, 2.0]))
    tensor([0., 3.])
    """
    at = check_index("scatter_add", input, dim, index)
    check_tensor(src, "scatter_add", "src")
    check_dtype("scatter_add", "src", src, "input", input)
    return _scatter_where_indexed("scatter_add", _scatter_add, input, at, index, src)


def _scatter_where_indexed(name: str, op: Any, input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    if not index.numel() and not (isinstance(src, Tensor) and src.requires_grad):
        return input.clone()
    _check_extent(name, input, index, dim, src)
    if input.ndim and index.ndim:
        result: Tensor = op(input, index, src, dim)
        return result
    src = src.reshape(-1) if isinstance(src, Tensor) else src
    return op(input.reshape(-1), index.reshape(-1), src, 0).reshape(input.shape)  # type: ignore[no-any-return]
