"""``x[...]`` and ``x[...] = value``: what may stand between the brackets, read as PyTorch reads it.

    int, 0-d integer tensor     that position; the dimension goes
    slice with positive step    a range
    ...                         all dimensions not named otherwise; a second ellipsis names none
    None                        a new dimension of size 1
    integer tensor, list        those positions; several of them broadcast together
    mask (bool, or old uint8)   the positions where it holds; stands for as many dimensions as it has
    True, False                 a new dimension of size 1 or 0

Everything in the first four rows is a single view. Tensors and masks then index that view (index_put.py), so that an
int beside a tensor is always taken first. A list is an index tensor. Only a list that cannot be such, since a slice,
``...`` or None is in it, is read as a tuple of indices, with a warning.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ...base.dtypes import BOOL, INTEGER, bool_, int64, uint8
from ...base.shapes_and_strides import Layout, Shape, Strides, int_of
from ...base.state import state, warn_user
from ...dispatch.inplace import check_writable, wrote
from ...dispatch.op import method, op_of, view
from ...dispatch.overlap import share
from ...dispatch.views import alias, array_seen
from ...errors import ArgumentError, ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError, safe_repr
from ...tensor import Tensor
from ...transforms.wrapped import Wrapped
from ..creation.factories import _full, tensor
from ..memory.copying import copy_, element, fill_
from ..shaping.flipping import _flip
from ..shaping.reshape import _reshape
from .index_put import _index, index_tensors, place_ndim, write_at
from .operands import check_countable
from .slicing import _select, _slice

Entry = int | tuple[int, int, int] | None
"""What becomes of a dimension: a position, (start, size, step), or None for a new dimension before it."""

_VALUES = (Tensor, bool, int, float, complex)
_PLAIN_NUMBERS = frozenset({bool, int, float})


@view(grad_name="SliceBackward0")
def _subscript(input: Layout, entries: tuple[Entry, ...]) -> Layout:
    """Positions, ranges and new dimensions; dimensions without an entry stay."""
    shape: list[int] = []
    strides: list[int] = []
    offset, dim = input.offset, 0
    for entry in entries:
        if entry is None:
            shape.append(1)
            strides.append(input.shape[dim] * input.strides[dim] if dim < len(input.shape) else 1)
            continue
        stride = input.strides[dim]
        dim += 1
        if isinstance(entry, tuple):
            start, size, step = entry
            shape.append(size)
            strides.append(stride * step)
            offset += start * stride
        else:
            offset += entry * stride
    return Layout((*shape, *input.shape[dim:]), (*strides, *input.strides[dim:]), offset)


_SUBSCRIPT = op_of(_subscript)


@lru_cache(maxsize=4096)
def _layout_of_rows(shape: Shape, byte_strides: Strides, itemsize: int) -> tuple[Shape, Strides, int]:
    """The shape and strides of a row, and how many elements lie between the beginnings of two."""
    step, *strides = [stride // itemsize for stride in byte_strides]
    return shape[1:], tuple(strides), step


@method("__getitem__")
def getitem(self: Tensor, index: Any) -> Tensor:
    """``self[index]``: a view for ints, slices, ``...`` and None; a copy where tensors, lists or masks index.

    Raises IndexError for positions out of range, too many indices or a mask of the wrong shape, TypeError for anything
    that is no index, ValueError for a slice with a step that is not positive.

    >>> import polyad
    >>> x = polyad.arange(6).reshape(2, 3)
    >>> x[1], x[:, ::2], x[..., polyad.tensor([2, 0])]
    (tensor([3, 4, 5]), tensor([[0, 2],
            [3, 5]]), tensor([[2, 0],
            [5, 3]]))
    """
    index_class = index.__class__
    if index_class is int:
        shape = self._array.shape
        if shape and -shape[0] <= index < shape[0]:
            if index < 0:
                index += shape[0]
            if self._node is None and not state.modes:
                # Rows are what programs take most: the view without an op in between.
                row, strides, step = _layout_of_rows(shape, self._array.strides, self._type.dtype.itemsize)
                place = self._view
                return alias(self, row, strides, index * step if place is None else place.offset + index * step)
            return _select(self, 0, index)
    elif index_class is slice and self._array.shape:
        return _slice(self, 0, *_range(index, self._array.shape[0], self, 0))
    elif index_class is tuple and (entries := _plain_entries(self, index)) is not None:
        return _subscript(self, entries)
    seen, indices = _read_subscript(self, index)
    return seen if indices is None else _index(seen, indices)


@method("__setitem__")
def setitem(self: Tensor, index: Any, value: Any) -> None:
    """``self[index] = value``: writes a number, a tensor that broadcasts, or data that `polyad.tensor` takes.

    Raises what reading raises; RuntimeError for a value that does not broadcast, and on a leaf that requires a
    gradient.

    >>> import polyad
    >>> x = polyad.zeros(2, 3)
    >>> x[0] = 1
    >>> x[x == 0] = polyad.tensor(2.0)
    >>> x
    tensor([[1., 1., 1.],
            [2., 2., 2.]])
    """
    if not isinstance(value, _VALUES):
        value = tensor(value, dtype=self.dtype, device=self.device)
    if index is False:
        return  # nothing is named, so PyTorch does not even ask whether the tensor may be written
    check_writable("__setitem__", self, one_value=True)  # an expanded tensor has parts that can be written
    if index.__class__ is int and isinstance(value, Tensor) and _is_row(self, index, value):
        wrote("copy_", self)  # as ``x[i] += y`` ends: its place already holds it
        return
    if self._node is None and not state.modes and _wrote_plainly(self, index, value):
        return
    entries = _plain_entries(self, index) if index.__class__ is tuple else None
    indices = None
    if entries is not None:
        target = _subscript(self, entries)
    elif index.__class__ in (int, slice):  # which reading has a short way for
        target = getitem(self, index)
    else:
        target, indices = _read_subscript(self, index)
    if isinstance(value, Tensor):
        if value._type.device != target._type.device and not value.ndim:
            value = value.to(target._type.device)
        if value._array.shape[:1] == (1,):
            value = _without_leading_ones(value, target.ndim if indices is None else place_ndim(target, indices))
    if indices is not None:
        write_at("__setitem__", target, indices, value, False)
    elif isinstance(value, Tensor):
        copy_(target, value)
    else:
        fill_(target, value)


def _is_row(self: Tensor, index: int, value: Tensor) -> bool:
    """Whether *value* is ``self[index]`` itself, neither having a history."""
    view, array, row = self._view, self._array, value._array
    shape = array.shape
    if (
        value._storage is None
        or value._storage is not self._storage
        or value._node is not None
        or self._node is not None
        or value._view is None
        or value._type.dtype is not self._type.dtype
        or not shape
        or row.shape != shape[1:]
        or row.strides != array.strides[1:]
        or not -shape[0] <= index < shape[0]
        or state.modes
        or isinstance(self, Wrapped)
    ):
        return False
    _, _, step = _layout_of_rows(shape, array.strides, self._type.dtype.itemsize)
    offset = (0 if view is None else view.offset) + index % shape[0] * step
    return bool(value._view.offset == offset)


def _wrote_plainly(self: Tensor, index: Any, value: Any) -> bool:
    """Write a number, or a tensor of the place's shape and dtype from other memory, to where ints and slices point, if
    there is no history to renew; whether that was so.
    """
    number = value.__class__ in _PLAIN_NUMBERS
    if isinstance(self, Wrapped) or not (number or value.__class__ is Tensor):
        return False
    entries = _plain_entries(self, index if index.__class__ is tuple else (index,))
    if entries is None:
        return False
    type_ = self._type
    if number:
        number = element("fill_", value, type_.dtype)
        type_.backend.fill(array_seen(_SUBSCRIPT, self, (entries,)), number)
        wrote("fill_", self)
        return True
    if value._node is not None or value._type.nd is not type_.nd:
        return False
    storage = self._storage
    if storage is not None and value._storage is not None and share(storage, (value,)):
        return False
    place = array_seen(_SUBSCRIPT, self, (entries,))
    if place.shape != value._array.shape or 0 in place.strides:
        return False
    type_.backend.copy(place, value._array)
    wrote("copy_", self)
    return True


def _without_leading_ones(value: Tensor, ndim: int) -> Tensor:
    """PyTorch and NumPy both let a value have more dimensions than its place, if they are ones in front."""
    shape = value._array.shape
    if len(shape) <= ndim:
        return value
    extra = len(shape) - ndim
    return _reshape(value, shape[extra:]) if all(size == 1 for size in shape[:extra]) else value


def _plain_entries(self: Tensor, index: tuple[Any, ...]) -> tuple[Entry, ...] | None:
    """What `_subscript` gets for ints in range and slices, which most subscripts consist of; else None."""
    shape = self._array.shape
    if len(index) > len(shape):
        return None
    entries: list[Entry] = []
    for item, size in zip(index, shape, strict=False):
        if item.__class__ is slice:
            entries.append(_range(item, size, self, len(entries)))
        elif item.__class__ is int and -size <= item < size:
            entries.append(item + size if item < 0 else item)
        else:
            return None
    return tuple(entries)


def _range(index: slice, size: int, operand: Tensor, dim: int) -> tuple[int, int, int]:
    try:
        start, stop, step = index.indices(size)
    except ValueError:
        start, stop, step = 0, 0, 0
    except TypeError:
        raise ArgumentTypeError(
            f"index: the slice {index} of dimension {dim} has a bound that is not an int",
            operands={"input": operand},
            fix="give ints or None",
        ) from None
    if step <= 0:
        raise ArgumentError(
            f"index: the step of the slice {index} of dimension {dim} is not positive",
            operands={"input": operand},
            fix="use flip to reverse a dimension",
        )
    return start, max(0, -((start - stop) // step)), step


def _consumed(item: Any) -> int:
    """How many dimensions an item of a subscript stands for."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and item._type.dtype in (bool_, uint8):
        return item.ndim
    return 1


def _canonical(item: Any, operand: Tensor) -> Any:
    """An item as int, bool, slice, None, Ellipsis or tensor."""
    if item is None or item is Ellipsis or isinstance(item, (bool, int, slice)):
        return item
    if isinstance(item, Tensor):
        dtype = item._type.dtype
        if item.ndim or dtype.category > INTEGER:
            return item
        if isinstance(item, Wrapped) and dtype.category == INTEGER and dtype is not uint8:
            return item  # an index for each sample of a batch: no position, but a tensor of them
        return bool(item.item()) if dtype.category == BOOL or dtype is uint8 else int(item.item())
    if isinstance(item, (list, tuple, range)) or hasattr(item, "__array__"):
        if getattr(item, "shape", None) == ():
            number = item.item()  # a NumPy number
            if isinstance(number, (bool, int)):
                return number
        else:
            return _from_data(item, operand)
    number = int_of(item)
    if number is not None:
        return number
    raise ArgumentTypeIndexError(
        f"index: {safe_repr(item)} is {type(item).__name__}, which is no index",
        operands={"input": operand},
        fix="use ints, slices, None, ..., bools, integer or bool tensors, or lists of them",
    )


class ArgumentTypeIndexError(IndexOutOfRange, ArgumentTypeError):
    """Something between the brackets that is no index: PyTorch raises IndexError, Python's own containers TypeError."""


def _from_data(item: Any, operand: Tensor) -> Tensor:
    try:
        result = tensor(list(item) if isinstance(item, range) else item, device=operand.device)
    except (TypeError, ValueError, ShapeError, DTypeError) as error:
        raise ArgumentTypeIndexError(
            f"index: {safe_repr(item)} cannot be read as an index tensor",
            operands={"input": operand},
            fix="a list holds ints or bools; for several indices use a tuple: x[0, :]",
        ) from error
    return result.to(int64) if not result.numel() and result.dtype is not bool_ else result


def _is_several(index: list[Any]) -> bool:
    """Whether a list between the brackets is read as a tuple of indices: as in PyTorch, where it has less than 32
    items, of which any is no plain number.
    """
    return len(index) < 32 and any(
        item is None or item is Ellipsis or isinstance(item, slice) or _has_items(item) for item in index
    )


def _has_items(item: Any) -> bool:
    return hasattr(item, "__len__") and not isinstance(item, str)


def _read_subscript(self: Tensor, index: Any) -> tuple[Tensor, list[Tensor | None] | None]:
    """The view that the subscript's basic part makes of *self*, and the index tensors that apply to it, None if there
    are none.
    """
    shape = self._array.shape
    if (
        isinstance(index, Tensor)
        and (index._type.dtype is int64 or index._type.dtype is bool_)
        and index._type.device == self._type.device
        and not isinstance(index, Wrapped)
        and (found := index._array.shape)
        and shape
    ):
        # The most frequent of all: what follows finds the same, item by item.
        if index._type.dtype is int64:
            return self, [index]
        if found == shape[: len(found)]:
            check_countable("index", index)
            return self, [index]
    if index.__class__ is list and _is_several(index):
        warn_user("index: a list of several indices is deprecated; use a tuple: x[tuple(indices)]", UserWarning)
        index = tuple(index)
    items = [_canonical(item, self) for item in (index if isinstance(index, tuple) else (index,))]
    named = sum([_consumed(item) for item in items])
    if named > len(shape):
        raise IndexOutOfRange(
            f"index: {named} indices for {len(shape)} dimensions",
            operands={"input": self},
            fix="give fewer indices" if shape else "use .item() to read a 0-d tensor",
        )
    entries, tensors, advanced, plain = _read_items(self, items, len(shape) - named)
    if not advanced:
        return _subscript(self, entries), None
    seen = self if plain else _subscript(self, entries)
    return seen, index_tensors("index", seen, tensors)


def _read_items(self: Tensor, items: list[Any], whole: int) -> tuple[tuple[Entry, ...], list[Any], bool, bool]:
    """What the basic *items* say of each dimension, what index tensors say, whether there are any of the latter, and
    whether the former leave *self* as it is; *whole* dimensions are named by no item.
    """
    shape = self._array.shape
    entries: list[Entry] = []
    tensors: list[Any] = []
    dim, spent, advanced, plain, ellipsis_seen = 0, False, False, True, False

    def keep(count: int) -> None:
        nonlocal dim
        for _ in range(count):
            entries.append((0, shape[dim], 1))
            dim += 1

    for item in items:
        if item is Ellipsis:
            # In PyTorch an ellipsis names all dimensions not named otherwise; a second ellipsis finds none left.
            spent = ellipsis_seen and whole > 0
            if not ellipsis_seen:
                keep(whole)
                tensors += [None] * whole
            ellipsis_seen = True
        elif spent:
            raise IndexOutOfRange("index: more than one ellipsis", operands={"input": self}, fix="write ... once")
        elif item is None or isinstance(item, bool):
            plain = False
            entries.append(None)
            if item is None:
                tensors.append(None)
            else:
                advanced = True
                tensors.append(_mask_of(item, self))
        elif isinstance(item, int):
            plain = False
            size = shape[dim]
            if not -size <= item < size:
                raise IndexOutOfRange(
                    f"index: {item} is not in [{-size}, {size}) of dimension {dim}",
                    operands={"input": self},
                    fix="use an index within the dimension" if size else "the dimension is empty",
                )
            entries.append(item + size if item < 0 else item)
            dim += 1
        elif isinstance(item, slice):
            part = _range(item, shape[dim], self, dim)
            plain = plain and part == (0, shape[dim], 1)
            entries.append(part)
            tensors.append(None)
            dim += 1
        else:
            advanced = True
            tensors.append(item)
            keep(_consumed(item))
    return tuple(entries), tensors, advanced, plain


def _mask_of(value: bool, operand: Tensor) -> Tensor:
    return _full((1,), value, bool_, operand._type.device)


@method("__delitem__")
def delitem(self: Tensor, index: Any) -> None:
    """Raises TypeError: elements of a tensor cannot be deleted."""
    raise ArgumentTypeError(
        "del: elements of a tensor cannot be deleted",
        operands={"self": self},
        fix="take what shall stay: x[keep], or cat the parts before and after",
    )


@method("__reversed__")
def backwards(self: Tensor) -> Tensor:
    """``reversed(self)``: a copy with the first dimension in reverse order; itself if 0-d.

    >>> import polyad
    >>> reversed(polyad.tensor([1, 2, 3]))
    tensor([3, 2, 1])
    """
    return _flip(self, (0,)) if self._array.shape else self
