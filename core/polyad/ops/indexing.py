"""Reading and writing at indices that tensors hold.

Primitives: index_select, index_add, gather, scatter, scatter_add, nonzero. ``x[i, j]`` with tensors is the composite
``index``, and ``x[i, j] = v`` is ``index_put``; subscript.py reads what stands between the brackets.

An index out of range raises IndexError that names its place, value and range (`polyad.backend.bounds`); raising it is
the kernels' part of the contract. Index tensors are int64 when a kernel sees them; masks are bool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..backend.interface import Signature
from ..dispatch.op import composite, function, gradient, primitive
from ..dispatch.promotion import Typing, first, to_int64
from ..dtypes import INTEGER, bool_, int64, uint8
from ..errors import ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError
from ..layout import Shape, broadcast_shapes, normalize_dim
from ..tensor import Tensor, check_tensor
from .conversion import check_fits
from .creation import _full
from .shape import _expand, _permute, _reshape

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


def _added(input: Shape, index: Shape, source: Shape, dim: int) -> Shape:
    wanted = _selected(input, index, dim)
    if source != wanted:
        raise ShapeError(
            f"index_add: source is {tuple(source)}, not {wanted}",
            fix=f"give one slice of source an index, along dimension {dim}",
        )
    return input


@primitive(dtype=typed_like_input(index=1, values=2), shape=_added, method=False)
def _index_add(input: Tensor, index: Tensor, source: Tensor, dim: int) -> Tensor:
    """*input* with the slices of *source* added at the positions *index* of *dim*; the same position may come often."""


gradient(_index_add, input=lambda g: g, source=lambda g, index, dim: _index_select(g, index, dim))


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


@primitive(dtype=typed_like_input(index=1, values=2), shape=_scattered, method=False)
def _scatter_add(input: Tensor, index: Tensor, src: Tensor, dim: int) -> Tensor:
    """As scatter, but adding; the same place may come often."""


gradient(
    _scatter_add,
    input=lambda g: g,
    src=lambda g, src_shape, index, dim: _padded(_gather(g, index, dim), src_shape),
)


def _padded(gradient: Tensor, shape: Shape) -> Tensor:
    """The gradient of a source of which only the leading part, of the index's shape, was read."""
    from .strided import _window_put

    if gradient._array.shape == shape:
        return gradient
    from ..layout import contiguous_strides

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


# ---------------------------------------------------------------------------------------------------- x[i, j]


@composite(dtype=first, grad_name="IndexBackward0", method=False)
def _index(input: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """``input[indices]``: each entry stands for the next dimension (a mask for as many as it has), None for all of it.

    The broadcast shape of the index tensors takes the place of their dimensions if these are neighbours, else it comes
    first. Negative indices count from the end.
    """
    dims, linear, shape = _linear(input, indices)
    rest = [dim for dim in range(input.ndim) if dim not in dims]
    moved = _permute(input, (*dims, *rest))
    sizes = moved._array.shape[len(dims) :]
    rows = _index_select(_reshape(moved, (_product(moved._array.shape[: len(dims)]), *sizes)), linear, 0)
    result = _reshape(rows, (*shape, *sizes))
    if dims[-1] - dims[0] != len(dims) - 1 or dims[0] == 0:
        return result
    count, ahead = len(shape), dims[0]
    order = (*range(count, count + ahead), *range(count), *range(count + ahead, result.ndim))
    return _permute(result, order).contiguous()


def _product(sizes: Sequence[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total


def _linear(input: Tensor, indices: Sequence[Tensor | None]) -> tuple[list[int], Tensor, Shape]:
    """The indexed dimensions, positions in them as if they were one, flat, and the index tensors' broadcast shape."""
    dims: list[int] = []
    parts: list[Tensor] = []
    dim = 0
    for number, index in enumerate(indices):
        if index is None:
            dim += 1
        elif index._type.dtype is bool_:
            for part in _nonzero(index).unbind(1):
                dims.append(dim)
                parts.append(part)
                dim += 1
        else:
            parts.append(_wrapped(index, input._array.shape[dim], number, dim))
            dims.append(dim)
            dim += 1
    shape = broadcast_shapes(*[part._array.shape for part in parts])
    linear = None
    for part, at in zip(parts, dims, strict=True):
        linear = part if linear is None else linear * input._array.shape[at] + part
    assert linear is not None
    return dims, _reshape(_expand(linear, shape), (_product(shape),)), shape


def _wrapped(index: Tensor, size: int, number: int, dim: int) -> Tensor:
    """Negative indices counted from the front, all of them checked; waits for the index's values."""
    from ..backend.bounds import out_of_range
    from .selection import _where

    index = index.to(int64)
    wrong = _nonzero((index < -size) | (index >= size))
    if wrong._array.shape[0]:
        place = wrong[0].tolist()
        raise out_of_range("index", f"indices[{number}]", place, index[tuple(place)].item(), size, wraps=True, dim=dim)
    return _where(index < 0, index + size, index)


def _values_like_input(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None, None, types[0].dtype), (types[0].dtype,))


@composite(dtype=_values_like_input, grad_name="IndexPutBackward0", method=False)
def _index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor | Number, accumulate: bool) -> Tensor:
    """*input* with *values*, broadcast, written (or added) at ``input[indices]``; see index."""
    dims, linear, shape = _linear(input, indices)
    rest = [dim for dim in range(input.ndim) if dim not in dims]
    order = (*dims, *rest)
    moved = _permute(input, order)
    sizes = moved._array.shape[len(dims) :]
    flat = _reshape(moved, (_product(moved._array.shape[: len(dims)]), _product(sizes)))
    if not isinstance(values, Tensor):
        values = _full((), values, input._type.dtype, input._type.device)
    rows = _rows_of(values, dims, shape, sizes)
    if accumulate:
        flat = _index_add(flat, linear, rows, 0)
    else:
        flat = _scatter(flat, _expand(linear.unsqueeze(1), rows._array.shape), rows, 0)
    back = tuple([order.index(dim) for dim in range(input.ndim)])
    return _permute(_reshape(flat, moved._array.shape), back).contiguous()


def _rows_of(values: Tensor, dims: list[int], shape: Shape, sizes: Shape) -> Tensor:
    """The values in the shape (positions, elements a position), from the shape that the subscript has."""
    if dims[-1] - dims[0] != len(dims) - 1 or dims[0] == 0:
        full = _expand(values, (*shape, *sizes))
    else:
        ahead, count = dims[0], len(shape)
        full = _expand(values, (*sizes[:ahead], *shape, *sizes[ahead:]))
        full = _permute(full, (*range(ahead, ahead + count), *range(ahead), *range(ahead + count, full.ndim)))
    return _reshape(full, (_product(shape), _product(sizes)))


gradient(
    _index,
    input=lambda g, input_shape, indices: _index_put(_zeros_like(g, input_shape), indices, g, True),
)
gradient(
    _index_put,
    input=lambda g, indices, accumulate: g if accumulate else _index_put(g, indices, 0, False),
    values=lambda g, values_shape, indices: _summed_to(_index(g, indices), values_shape),
)


def _summed_to(gradient: Tensor, shape: Shape) -> Tensor:
    """The gradient of values that may have more dimensions than their place, ones in front."""
    from .reduction import sum_to

    extra = len(shape) - gradient.ndim
    return _reshape(sum_to(gradient, shape[extra:]), shape) if extra > 0 else gradient


def index_tensors(op: str, input: Tensor, indices: Sequence[Any]) -> list[Tensor | None]:
    """The entries of a subscript, checked against the shape of *input* and in canonical form: int64, bool or None."""
    shape = input._array.shape
    found: list[Tensor | None] = []
    shapes: list[Shape] = []
    dim = 0
    for number, index in enumerate(indices):
        if index is None:
            dim += 1
            found.append(None)
            continue
        dtype = check_tensor(index, op, f"indices[{number}]")._type.dtype
        if dtype is bool_ or dtype is uint8:
            covered = shape[dim : dim + index.ndim]
            if covered != index._array.shape:
                raise IndexOutOfRange(
                    f"{op}: the mask {tuple(index.shape)} does not match the dimensions {covered} that it stands for",
                    operands={"input": input, f"indices[{number}]": index},
                    fix="a mask has the sizes of the dimensions that it indexes",
                )
            dim += index.ndim
            found.append(index if dtype is bool_ else index != 0)
            continue
        if dtype.category != INTEGER:
            raise IndexOutOfRange(
                f"{op}: indices[{number}] is {dtype.name}; index tensors are integers, masks are bool",
                operands={"input": input, f"indices[{number}]": index},
                fix="convert it with .long(), or compare to get a mask",
            )
        dim += 1
        shapes.append(index._array.shape)
        found.append(index if dtype is int64 else index.to(int64))
    if dim > len(shape):
        raise IndexOutOfRange(
            f"{op}: {dim} indices for {len(shape)} dimensions", operands={"input": input}, fix="give fewer indices"
        )
    if len(shapes) > 1:
        try:
            broadcast_shapes(*shapes)
        except ShapeError:
            raise IndexOutOfRange(
                f"{op}: the index tensors {', '.join(str(tuple(one)) for one in shapes)} do not broadcast",
                operands={"input": input},
                fix="give index tensors whose shapes broadcast",
            ) from None
    return found


def index_put(input: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with *values*, broadcast, written at ``input[indices]``, or added there with *accumulate*.

    Raises IndexError for an index out of range, RuntimeError for values that do not broadcast.

    >>> import polyad
    >>> polyad.zeros(3).index_put((polyad.tensor([0, 0]),), polyad.tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0., 0.])
    """
    check_tensor(input, "index_put", "input")
    return _index_put(input, index_tensors("index_put", input, indices), values, bool(accumulate))


def index_put_(self: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of `index_put`."""
    return write_at("index_put_", self, index_tensors("index_put_", self, indices), values, bool(accumulate))


def write_at(name: str, target: Tensor, indices: list[Tensor | None], values: Any, accumulate: bool) -> Tensor:
    """Write *values* into *target* at canonical *indices*."""
    from ..dispatch.inplace import inplace
    from ..dispatch.op import op_of

    if not isinstance(values, Tensor):
        check_fits(name, values, target._type.dtype)
    elif values._type.dtype.category > target._type.dtype.category:
        raise DTypeError(
            f"{name}: the values are {values.dtype.name}, which self ({target.dtype.name}) cannot hold",
            operands={"self": target, "values": values},
            fix="convert the values, or self, first",
        )
    return inplace(name, _index_put, op_of(_index_put), target, indices, values, accumulate)


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


@function(inplace=True)
def index_add(input: Tensor, dim: int, index: Tensor, source: Tensor, *, alpha: Number = 1) -> Tensor:
    """*input* with ``alpha * source`` added at the positions *index* of *dim*; the same position may come often.

    Raises IndexError for an index out of range, RuntimeError for a source of another shape.

    >>> import polyad
    >>> polyad.index_add(polyad.zeros(2), 0, polyad.tensor([0, 0]), polyad.tensor([1.0, 2.0]))
    tensor([3., 0.])
    """
    at = check_index("index_add", input, dim, index)
    index = _check_vector("index_add", index)
    check_tensor(source, "index_add", "source")
    if not input.ndim:
        return _index_add(input.reshape(1), index, source.reshape(1), 0).reshape(())
    _added(input._array.shape, index._array.shape, source._array.shape, at)
    return _index_add(input, index, source if alpha == 1 else source * alpha, at)


def _put_along(op: str, input: Tensor, dim: int, index: Tensor, values: Any) -> Tensor:
    at = check_index(op, input, dim, index)
    from .selection import _where

    index = _check_vector(op, index)
    size = input._array.shape[at] if input.ndim else 1
    # index_put counts negative indices from the end, these ops refuse them.
    index = _where(index < 0, index - size, index)
    target = input if input.ndim else input.reshape(1)
    return _index_put(target, [*[None] * at, index], values, False).reshape(input.shape)


@function(inplace=True)
def index_copy(input: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
    """*input* with the slices of *source* written at the positions *index* of *dim*.

    Raises IndexError for an index out of range, RuntimeError for a source of another shape.

    >>> import polyad
    >>> polyad.index_copy(polyad.zeros(3), 0, polyad.tensor([2]), polyad.tensor([5.0]))
    tensor([0., 0., 5.])
    """
    check_tensor(source, "index_copy", "source")
    return _put_along("index_copy", input, dim, index, source)


@function(inplace=True)
def index_fill(input: Tensor, dim: int, index: Tensor, value: Number | Tensor) -> Tensor:
    """*input* with one *value* written at the positions *index* of *dim*. Raises IndexError for an index out of range.

    >>> import polyad
    >>> polyad.index_fill(polyad.zeros(3), 0, polyad.tensor([2]), 5)
    tensor([0., 0., 5.])
    """
    if not isinstance(value, Tensor):
        check_fits("index_fill", value, check_tensor(input, "index_fill", "input")._type.dtype)
    return _put_along("index_fill", input, dim, index, value)


def _check_extent(op: str, input: Tensor, index: Tensor, dim: int, src: Any = None) -> None:
    """The sizes that gather and scatter want: as many dimensions, and the index no larger than what it stands
    beside.
    """
    if (input.ndim or 1) != (index.ndim or 1) or (isinstance(src, Tensor) and (src.ndim or 1) != (index.ndim or 1)):
        operands = {"input": input, "index": index, **({"src": src} if isinstance(src, Tensor) else {})}
        raise ShapeError(
            f"{op}: the numbers of dimensions differ", operands=operands, fix="give index as many dimensions"
        )
    for at, size in enumerate(index._array.shape):
        if at != dim and size > input._array.shape[at]:
            raise ShapeError(
                f"{op}: index is larger than input in dimension {at}: {size} > {input._array.shape[at]}",
                operands={"input": input, "index": index},
                fix=f"index may be larger only along dim {dim}",
            )
        if isinstance(src, Tensor) and size > src._array.shape[at]:
            raise ShapeError(
                f"{op}: index is larger than src in dimension {at}: {size} > {src._array.shape[at]}",
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
    input: Tensor, dim: int, index: Tensor, src: Tensor | Number | None = None, *, value: Number | None = None
) -> Tensor:
    """*input* with *src* (or one *value*) written where *index* says along *dim*: at ``(i, index[i, j])`` for dim 1 of
    two.

    Where one place is named twice the last write stays. Raises IndexError for an index out of range, RuntimeError for
    shapes that do not fit.

    >>> import polyad
    >>> polyad.scatter(polyad.zeros(2, 2), 1, polyad.tensor([[1], [0]]), 7)
    tensor([[0., 7.],
            [7., 0.]])
    """
    at = check_index("scatter", input, dim, index)
    given = value if src is None else src
    if given is None:
        raise ArgumentTypeError("scatter: neither src nor value is given", operands={"input": input}, fix="give one")
    if isinstance(given, Tensor) and given._type.dtype is not input._type.dtype:
        raise DTypeError(
            "scatter: src must have input's dtype", operands={"input": input, "src": given}, fix="convert src first"
        )
    if not isinstance(given, Tensor):
        check_fits("scatter", given, input._type.dtype)
    return _spread("scatter", _scatter, input, at, index, given)


@function(inplace=True)
def scatter_add(input: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """*input* with *src* added where *index* says along *dim*; the same place may come often. See `scatter`.

    >>> import polyad
    >>> polyad.scatter_add(polyad.zeros(2), 0, polyad.tensor([1, 1]), polyad.tensor([1.0, 2.0]))
    tensor([0., 3.])
    """
    at = check_index("scatter_add", input, dim, index)
    if check_tensor(src, "scatter_add", "src")._type.dtype is not input._type.dtype:
        raise DTypeError(
            "scatter_add: src must have input's dtype", operands={"input": input, "src": src}, fix="convert src first"
        )
    return _spread("scatter_add", _scatter_add, input, at, index, src)


def _spread(name: str, op: Any, input: Tensor, dim: int, index: Tensor, src: Any) -> Tensor:
    if not index.numel():
        return input.clone()
    _check_extent(name, input, index, dim, src)
    if input.ndim and index.ndim:
        result: Tensor = op(input, index, src, dim)
        return result
    src = src.reshape(-1) if isinstance(src, Tensor) else src
    return op(input.reshape(-1), index.reshape(-1), src, 0).reshape(input.shape)  # type: ignore[no-any-return]


@function()
def take(input: Tensor, index: Tensor) -> Tensor:
    """The elements of the flattened *input* at *index*, in its shape; negative ones count from the end.

    Raises IndexError for an index out of range.

    >>> import polyad
    >>> polyad.take(polyad.tensor([[1, 2], [3, 4]]), polyad.tensor([0, -1]))
    tensor([1, 4])
    """
    check_tensor(input, "take", "input")
    check_index("take", input, 0, index)
    flat = _reshape(input, (input.numel(),))
    return _index(flat, index_tensors("take", flat, [index]))


@function()
def take_along_dim(input: Tensor, indices: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """`gather` whose operands broadcast in the other dimensions; without *dim*, of the flattened tensors.

    >>> import polyad
    >>> x = polyad.tensor([[3, 1], [2, 4]])
    >>> polyad.take_along_dim(x, x.argsort(1), 1)
    tensor([[1, 3],
            [2, 4]])
    """
    at = check_index("take_along_dim", input, 0 if dim is None else dim, indices, "indices")
    if dim is None:
        return _gather(input.reshape(-1), indices.reshape(-1), 0)
    if input.ndim != indices.ndim:
        raise ShapeError(
            "take_along_dim: the numbers of dimensions differ",
            operands={"input": input, "indices": indices},
            fix="give indices as many dimensions as input",
        )

    def without(shape: Shape, size: int) -> Shape:
        return (*shape[:at], size, *shape[at + 1 :])

    have, named = input._array.shape, indices._array.shape
    shape = broadcast_shapes(without(have, 1), without(named, 1))
    return _gather(_expand(input, without(shape, have[at])), _expand(indices, without(shape, named[at])), at)


METHODS = {"index_put": index_put, "index_put_": index_put_}
"""Methods that are not made from a declaration."""
