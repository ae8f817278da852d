"""The memory behind a tensor: looking at it, and giving a tensor other memory.

`set_` and `resize_` change what a tensor object shows; other tensors over the old memory keep it. PyTorch's ``resize_``
grows the storage itself, so that aliases share the new memory; here a tensor that outgrows its storage gets a new
storage, with the old contents in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...base.dtypes import DType
from ...base.memory_formats import (
    MemoryFormat,
    channels_last,
    channels_last_3d,
    check_format,
    contiguous_format,
    format_strides,
    preserve_format,
)
from ...base.shapes_and_strides import Shape, Strides, check_sizes, contiguous_strides, normalize_shape, reach
from ...base.state import state
from ...dispatch.effects import Effect, Result, declare
from ...dispatch.op import method
from ...dispatch.views import layout_of
from ...errors import ArgumentTypeError, AutogradError, DeviceError, DTypeError, ShapeError, safe_repr
from ...history.node import Leaf, make_node
from ...tensor import Tensor
from ...tensor.storage import Storage, ViewOf
from ...tensor.tensor import check_tensor
from ...transforms.wrapped import check_own_memory
from ..creation.factories import empty
from .storage_types import TypedStorage, UntypedStorage, over

# ---------------------------------------------------------------------------------------------------- other memory


@method()
def set_(
    self: Tensor,
    source: Tensor | UntypedStorage | TypedStorage | None = None,
    storage_offset: int = 0,
    size: Sequence[int] | None = None,
    stride: Sequence[int] | None = None,
) -> Tensor:
    """Let this tensor show the memory of *source*, a tensor or a storage: all of it, or a layout. Without *source* it
    becomes empty.

    Raises RuntimeError for another dtype or device, or a layout that leaves the storage; on a leaf that requires a
    gradient.

    >>> import polyad
    >>> x, y = polyad.zeros(2), polyad.arange(3.0)
    >>> _ = x.set_(y)
    >>> _ = y.mul_(2)
    >>> x
    tensor([0., 2., 4.])
    """
    type_ = check_tensor(self, "set_", "self")._type
    if isinstance(source, TypedStorage):
        _check_dtype(self, source.dtype, source)
        source = source.untyped()
    if isinstance(source, UntypedStorage):
        room = source.nbytes() // type_.dtype.itemsize
        shape = normalize_shape((size,), "set_") if size is not None else (room - storage_offset,)
        whole = over(source._storage, type_, (room,), (1,), 0)
        return _set(self, _window(whole, shape, stride, storage_offset))
    if source is None:
        return _set(self, empty(0, dtype=type_.dtype, device=type_.device))
    _check_dtype(self, check_tensor(source, "set_", "source")._type.dtype, source)
    if source._type.device != type_.device:
        raise DeviceError(
            "set_: self and source are on different devices",
            operands={"self": self, "source": source},
            fix="move one of them with .to(device)",
        )
    if size is None:
        return _set(self, source.detach())
    return _set(self, _window(source.detach(), normalize_shape((size,), "set_"), stride, storage_offset))


def _check_dtype(self: Tensor, dtype: DType, source: Tensor | TypedStorage) -> None:
    if dtype is not self._type.dtype:
        raise DTypeError(
            f"set_: a tensor of {self._type.dtype.name} cannot show memory of {dtype.name}",
            operands={"self": self, "source": source},
            fix="set_(source.view(dtype)) reads a tensor's as another dtype, set_(source.untyped()) a storage's",
        )


def _window(whole: Tensor, shape: Shape, stride: Sequence[int] | None, offset: int) -> Tensor:
    return whole.as_strided(shape, contiguous_strides(shape) if stride is None else stride, offset)


def _set(self: Tensor, shown: Tensor) -> Tensor:
    if state.modes:
        return SET.through_modes(self, shown)  # type: ignore[no-any-return]
    return _show(self, shown)


def _show(self: Tensor, shown: Tensor) -> Tensor:
    check_own_memory("set_", self)
    if self._node is not None and state.grad_enabled:
        raise AutogradError(
            "set_: a tensor that requires a gradient cannot be given other memory",
            operands={"self": self},
            fix="work under polyad.no_grad(), or use copy_",
        )
    storage = shown._storage or shown._make_storage()
    self._array, self._type, self._storage = shown._array, shown._type, storage
    self._view = None if shown._view is None else ViewOf(None, shown._view.offset)
    if isinstance(self._node, Leaf):
        self._node.shape, self._node.type = self._array.shape, self._type
    return self


SET = declare(Effect("set_", _set, _show, rebinds=0, result=Result.DETACHED, of=1))


# ---------------------------------------------------------------------------------------------------- other size


@method()
def resize_(self: Tensor, *size: Any, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """Give this tensor another size, row-major over the same memory, its elements taken in the order of memory; new
    elements are not set.

    A tensor that outgrows its storage gets memory of its own, with the old storage's contents in front. Raises
    RuntimeError for a tensor that requires a gradient and for negative sizes.

    >>> import polyad
    >>> polyad.arange(6).resize_(2, 2)
    tensor([[0, 1],
            [2, 3]])
    """
    check_tensor(self, "resize_", "self")
    shape = check_sizes(normalize_shape(size, "resize_"), "resize_")
    memory_format = check_format(memory_format, "resize_", contiguous_format)
    if memory_format is preserve_format:
        raise ShapeError(
            "resize_: preserve_format is not for another size", operands={"self": self}, fix="name a format"
        )
    strides = format_strides(shape, memory_format, "resize_")
    return _resize(self, shape, strides)


def _resize(self: Tensor, shape: Shape, strides: Strides) -> Tensor:
    if state.modes:
        return RESIZE_.through_modes(self, shape, strides)  # type: ignore[no-any-return]
    return _resized(self, shape, strides)


def _resized(self: Tensor, shape: Shape, strides: Strides) -> Tensor:
    check_own_memory("resize_", self)
    if self._node is not None:
        raise AutogradError(
            "resize_: a tensor that requires a gradient cannot be resized",
            operands={"self": self},
            fix="use reshape, pad or narrow, which have gradients",
        )
    if shape == self._array.shape and strides == layout_of(self).strides:
        return self
    type_ = self._type.nd if shape else self._type.zd
    storage = self._storage or self._make_storage()
    offset = self.storage_offset()
    backend, needed = type_.backend, offset + reach(shape, strides)
    if needed * type_.dtype.itemsize > storage.nbytes:
        old = storage.nbytes // type_.dtype.itemsize
        memory = backend.empty((needed,), type_.dtype, type_.device)
        root = backend.root(memory)
        backend.copy(
            backend.as_strided(root, type_.dtype, (old,), (1,), 0),
            backend.as_strided(storage.root, type_.dtype, (old,), (1,), 0),
        )
        storage = Storage(memory, backend, type_.dtype.itemsize)
    array = backend.as_strided(storage.root, type_.dtype, shape, strides, 0 if 0 in shape else offset)
    return _show(self, _show_storage(array, type_, storage, offset))


def _show_storage(array: Any, type_: Any, storage: Storage, offset: int) -> Tensor:
    tensor = Tensor._of(array, type_)
    tensor._storage, tensor._view = storage, ViewOf(None, offset)
    return tensor


RESIZE_ = declare(Effect("resize_", _resize, _resized, reads=(0,), rebinds=0, result=Result.RESIZED))


@method()
def resize_as_(self: Tensor, the_template: Tensor, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """Give this tensor the size of another; see ``resize_``.

    >>> import polyad
    >>> polyad.arange(6).resize_as_(polyad.zeros(2, 2)).shape
    polyad.Size([2, 2])
    """
    shape = check_tensor(the_template, "resize_as_", "the_template").shape
    if memory_format is preserve_format:
        last = {4: channels_last, 5: channels_last_3d}.get(len(shape), contiguous_format)
        dense = the_template.is_contiguous() or not the_template.is_contiguous(memory_format=last)
        memory_format = contiguous_format if dense else last
    return resize_(self, shape, memory_format=memory_format)


# ---------------------------------------------------------------------------------------------------- another class


@method()
def as_subclass(self: Tensor, cls: type[Tensor]) -> Tensor:
    """The same memory and history in an object of a subclass of Tensor. Raises TypeError for another class.

    >>> import polyad
    >>> class Measured(polyad.Tensor):
    ...     pass
    >>> type(polyad.zeros(2).as_subclass(Measured)).__name__
    'Measured'
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise ArgumentTypeError(
            f"as_subclass: {safe_repr(cls)} is no subclass of Tensor",
            operands={"self": self},
            fix="derive the class from Tensor",
        )
    alias = check_tensor(self, "as_subclass", "self")._alias(cls)
    alias._node = self._node
    if self._node is not None and isinstance(self._node, Leaf):
        # The leaf's node stays the leaf's alone.
        alias._node = make_node("AliasBackward0", [(self._node, _pass_gradient, ())], self._array.shape, self._type)
    return alias


def _pass_gradient(gradient: Tensor) -> Tensor:
    return gradient
