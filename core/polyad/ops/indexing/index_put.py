"""``x[i, j]`` with index tensors and masks, as values: reading, writing, adding.

Canonical indices are a list with an entry a dimension: None for all of it, an int64 tensor, or a mask for as many
dimensions as it has. The broadcast shape of the tensors takes the place of their dimensions if these are neighbours,
else it comes first, as NumPy has it. subscript.py reads what stands between the brackets.

An index out of range raises IndexError that names its place, value and range (`polyad.backend.bounds`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...backend.bounds import out_of_range
from ...backend.interface import Signature
from ...base.dtypes import INTEGER, bool_, int64, uint8
from ...base.shapes_and_strides import Shape, broadcast_shapes
from ...base.state import warn_user
from ...dispatch.forward import linear_in
from ...dispatch.inplace import inplace
from ...dispatch.op import composite, function, gradient, method, op_of
from ...dispatch.overlap import share
from ...dispatch.promotion import Typing, first
from ...dispatch.structure import Indexing, as_first, indexing, pointwise, row_major
from ...errors import ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor, has_data
from ..creation.factories import _full
from ..memory.copying import _copy, element
from ..pointwise.where import _where
from ..reductions.any_all import anywhere
from ..reductions.sums import sum_to
from ..shaping.reshape import _expand, _permute, _reshape
from .gather_scatter import _scatter
from .index_select import _index_add, _index_select
from .nonzero import _nonzero
from .operands import _zeros_like, check_countable

if TYPE_CHECKING:
    Number = bool | int | float | complex


@composite(dtype=first, structure=indexing, grad_name="IndexBackward0", method=False)
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
    """The indexed dimensions, flat positions in them together, and the index tensors' broadcast shape."""
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
            dims.append(dim)
            # Whatever the other indices are: with this and the dimensions behind it the position is below 0.
            outside = -_product([input._array.shape[at] for at in dims])
            parts.append(_counted_index(index.to(int64), input._array.shape[dim], outside, number, dim))
            dim += 1
    shape = broadcast_shapes(*[part._array.shape for part in parts])
    linear = None
    for part, at in zip(parts, dims, strict=True):
        linear = part if linear is None else linear * input._array.shape[at] + part
    assert linear is not None
    return dims, _reshape(_expand(linear, shape), (_product(shape),)), shape


@composite(dtype=first, structure=pointwise, strides=row_major, method=False)
def _counted_index(index: Tensor, size: int, outside: int, number: int, dim: int) -> Tensor:
    """Indices (int64) of dimension *dim*, which has *size* elements: negative ones counted from the front, all checked.

    This waits for their values. A kernel notes what is wrong instead and gives *outside* there, by which no position
    comes out that is in the tensor. *number* is the index tensor's, for the error.
    """
    wrong = (index < -size) | (index >= size)
    if anywhere(wrong):
        place = _nonzero(wrong)[0].tolist()
        raise out_of_range("index", f"indices[{number}]", place, index[tuple(place)].item(), size, wraps=True, dim=dim)
    return _where(index < 0, index + size, index)


def _values_like_input(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None, None, types[0].dtype), (types[0].dtype,))


@composite(
    dtype=_values_like_input,
    structure=Indexing(writes=True),
    strides=as_first,
    grad_name="IndexPutBackward0",
    method=False,
)
def _index_put(input: Tensor, indices: Sequence[Tensor | None], values: Tensor | Number, accumulate: bool) -> Tensor:
    """*input* with *values*, broadcast, written (or added) at ``input[indices]``; see index."""
    if not has_data(*[index for index in indices if index is not None and index._type.dtype is bool_]):
        return _copy(input)  # which elements a mask names is unknown; what they lie in is not
    if not accumulate and (not isinstance(values, Tensor) or values.numel() == 1) and _is_one_mask(indices):
        return _fill_mask(input, indices, values)
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
    return _permute(_reshape(flat, moved._array.shape), back)


def _is_one_mask(indices: Sequence[Tensor | None]) -> bool:
    given = [index for index in indices if index is not None]
    return len(given) == 1 and given[0]._type.dtype is bool_


def _fill_mask(input: Tensor, indices: Sequence[Tensor | None], value: Tensor | Number) -> Tensor:
    """*input* with one value where the only index, a mask, holds: how often it does need not be known."""
    from .masking import _masked_fill

    ((dim, mask),) = [(dim, index) for dim, index in enumerate(indices) if index is not None]
    behind = input.ndim - dim - mask.ndim
    mask = _reshape(mask, (*mask._array.shape, *(1,) * behind))
    return _masked_fill(input, mask, _reshape(value, ()) if isinstance(value, Tensor) else value)


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
    input=lambda g, input_shape, indices: _index_put(_zeros_like(g, input_shape), indices, g, not _only_masks(indices)),
)
linear_in(_index, "input")
gradient(
    _index_put,
    input=lambda g, indices, accumulate: g if accumulate else _index_put(g, indices, 0, False),
    values=lambda g, values_shape, indices: _summed_to(_index(g, indices), values_shape),
)
linear_in(_index_put, "input", "values")


def _only_masks(indices: Sequence[Tensor | None]) -> bool:
    """Whether each element is named once: nothing is to be added up."""
    return all(index is None or index._type.dtype is bool_ for index in indices)


def _summed_to(gradient: Tensor, shape: Shape) -> Tensor:
    """The gradient of values that may have more dimensions than their place, ones in front."""
    extra = len(shape) - gradient.ndim
    return _reshape(sum_to(gradient, shape[extra:]), shape) if extra > 0 else gradient


def index_tensors(op: str, input: Tensor, indices: Sequence[Any]) -> list[Tensor | None]:
    """The entries of a subscript, checked against the shape of *input* and in canonical form: int64, bool or None.

    Those that are on the cpu are brought to the device of *input*, as PyTorch does it.
    """
    if not isinstance(indices, (tuple, list)):
        raise ArgumentTypeError(
            f"{op}: indices is {type(indices).__name__}, not a tuple of tensors",
            operands={"indices": indices},
            fix="write (index,)",
        )
    if not indices:
        raise ArgumentTypeError(f"{op}: there are no indices", fix="write to all elements by copy_ or fill_")
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
        if index._type.device.type == "cpu" and input._type.device.type != "cpu":
            index = index.to(input._type.device)
        if dtype is bool_ or dtype is uint8:
            covered = shape[dim : dim + index.ndim]
            if covered != index._array.shape:
                raise IndexOutOfRange(
                    f"{op}: the mask {tuple(index.shape)} does not match the dimensions {covered} that it stands for",
                    operands={"input": input, f"indices[{number}]": index},
                    fix="a mask has the sizes of the dimensions that it indexes",
                )
            check_countable(op, index)
            dim += index.ndim
            if dtype is uint8:
                warn_user(f"{op}: a uint8 tensor is read as a mask, as PyTorch still does; use bool", UserWarning)
                index = index != 0
            found.append(index)
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
                f"{op}: the index tensors {', '.join(str(tuple(shape)) for shape in shapes)} do not broadcast",
                operands={"input": input},
                fix="give index tensors whose shapes broadcast",
            ) from None
    return found


@function()
def index_put(input: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with *values*, broadcast, written at ``input[indices]``, or added there with *accumulate*.

    Raises IndexError for an index out of range, RuntimeError for values that do not broadcast, or that the dtype of
    *input* cannot hold.

    >>> import polyad
    >>> polyad.zeros(3).index_put((polyad.tensor([0, 0]),), polyad.tensor([1.0, 2.0]), accumulate=True)
    tensor([3., 0., 0.])
    """
    check_tensor(input, "index_put", "input")
    found = index_tensors("index_put", input, indices)
    return _index_put(input, found, _fitting("index_put", input, found, values, accumulate), bool(accumulate))


@method()
def index_put_(self: Tensor, indices: Sequence[Any], values: Tensor, accumulate: bool = False) -> Tensor:
    """In-place form of `index_put`."""
    return write_at("index_put_", self, index_tensors("index_put_", self, indices), values, bool(accumulate))


def place_ndim(input: Tensor, indices: Sequence[Tensor | None]) -> int:
    """How many dimensions ``input[indices]`` has."""
    taken = sum([0 if index is None else index.ndim if index._type.dtype is bool_ else 1 for index in indices])
    # A mask becomes one dimension.
    index_ndims = [1 if index._type.dtype is bool_ else index.ndim for index in indices if index is not None]
    return input.ndim - taken + max(index_ndims, default=0)


def _fills_a_mask(indices: Sequence[Tensor | None], values: Tensor) -> bool:
    """Whether a value goes to where a single mask holds, which PyTorch carries out as masked_fill, with any dtype."""
    return _is_one_mask(indices) and values.numel() == 1


def write_at(name: str, target: Tensor, indices: list[Tensor | None], values: Any, accumulate: bool) -> Tensor:
    """Write *values* into *target* at canonical *indices*."""
    values = _fitting(name, target, indices, values, accumulate)
    shape, strides = target._array.shape, target._array.strides
    if 0 in strides and not accumulate and (not isinstance(values, Tensor) or values.numel() == 1):
        repeated = [dim for dim, stride in enumerate(strides) if not stride and shape[dim] > 1]
        if repeated:
            return _write_once(target, indices, values, repeated)
    return inplace(name, _index_put, op_of(_index_put), target, indices, values, accumulate)


def _write_once(target: Tensor, indices: list[Tensor | None], value: Any, repeated: list[int]) -> Tensor:
    """Write one *value* to each place of an expanded *target* of which one of its elements is named."""
    named = _index_put(_full(tuple(target.shape), False, bool_, target._type.device), indices, True, False)
    once = target
    for dim in repeated:
        named, once = named.any(dim, keepdim=True), once.narrow(dim, 0, 1)
    once.masked_fill_(named, value.reshape(()) if isinstance(value, Tensor) else value)
    return target


def _fitting(name: str, target: Tensor, indices: list[Tensor | None], values: Any, accumulate: bool) -> Any:
    """*values* as they can be written into *target*; raises DTypeError if its dtype cannot hold them."""
    if not isinstance(values, Tensor):
        values = element(name, values, target._type.dtype)
    elif values._type.dtype.category <= target._type.dtype.category:
        if target._storage is not None and share(target._storage, (values,)) and _fills_a_mask(indices, values):
            values = values.clone()  # it is read before anything is written
    elif not accumulate and not values._type.dtype.is_complex and _fills_a_mask(indices, values):
        values = values.to(target._type.dtype)
    else:
        raise DTypeError(
            f"{name}: the values are {values.dtype.name}, which self ({target.dtype.name}) cannot hold",
            operands={"self": target, "values": values},
            fix="convert the values, or self, first",
        )
    return values
