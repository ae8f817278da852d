"""The memory behind tensors as an object: in bytes (`UntypedStorage`), or in elements of a dtype (`TypedStorage`)."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator
from typing import Any

from ...base import dtypes
from ...base.dtypes import DType, get_default_dtype
from ...base.shapes_and_strides import Shape, Strides, int_of
from ...base.state import warn_user
from ...devices import registry
from ...dispatch.arguments import explaining
from ...dispatch.catalogue import PUBLIC
from ...dispatch.op import method
from ...errors import ArgumentTypeError, IndexOutOfRange, NoData, NotSupported, ShapeError, safe_repr, wrong_type
from ...interop.numpy import from_file
from ...tensor import Tensor
from ...tensor.pending import settle
from ...tensor.storage import Storage, ViewOf
from ...tensor.tensor import check_tensor


def over(storage: Storage, type_: Any, shape: Shape, strides: Strides, offset: int) -> Tensor:
    """A tensor that shows *storage*."""
    out = Tensor._of(type_.backend.as_strided(storage.root, type_.dtype, shape, strides, offset), type_.nd)
    out._storage, out._view = storage, ViewOf(None, offset)
    return out


class UntypedStorage:
    """The memory behind a tensor, without a dtype: what all tensors that share it have in common.

    Two are equal if they are the same memory. ``Tensor.untyped_storage()`` gives that of a tensor,
    ``UntypedStorage(nbytes)`` new memory.
    """

    __slots__ = ("_storage", "_type")

    _storage: Storage
    _type: Any
    filename = None

    def __init__(self, size: int = 0, *, device: Any = None) -> None:
        memory = PUBLIC["zeros"].call(size, dtype=dtypes.uint8, device=device)
        self._storage, self._type = memory._make_storage(), memory._type

    @classmethod
    def _of(cls, storage: Storage, type_: Any) -> UntypedStorage:
        out = object.__new__(cls)
        out._storage, out._type = storage, type_
        return out

    @classmethod
    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first *nbytes* bytes of a file as memory, which is read when it is used; with *shared*, writes to it are
        written to the file, which is made, or made longer, as needed. Raises as `polyad.from_file` does.

        >>> import polyad, tempfile, os
        >>> name = os.path.join(tempfile.mkdtemp(), "bytes")
        >>> _ = open(name, "wb").write(bytes([1, 2, 3]))
        >>> list(polyad.UntypedStorage.from_file(name, nbytes=3))
        [1, 2, 3]
        """
        memory = from_file(filename, shared, nbytes, dtype=dtypes.uint8)
        return cls._of(memory._make_storage(), memory._type)

    def untyped(self) -> UntypedStorage:
        """Itself: `TypedStorage` has the same method."""
        return self

    def _bytes(self) -> Tensor:
        type_ = registry.tensor_type(dtypes.uint8, self.device, False)
        return over(self._storage, type_, (self.nbytes(),), (1,), 0)

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._type.device

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is a cuda device's."""
        return bool(self.device.type == "cuda")

    def nbytes(self) -> int:
        """The size of the memory in bytes."""
        return self._storage.nbytes

    size = __len__ = nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """1: its elements are bytes."""
        return 1

    def data_ptr(self) -> int:
        """The address (or handle number) of the first byte; 0 if there is none."""
        return self._type.backend.data_ptr(self._storage.root) if self._storage.nbytes else 0

    def is_shared(self) -> bool:
        """Whether other processes can be given it; see `polyad.Tensor.share_memory_`."""
        return (self._storage.origin or self._storage).segment is not None

    def __getitem__(self, index: Any) -> Any:
        """A byte; of a slice the same memory as a storage of its own, whose writes are not this storage's versions."""
        if isinstance(index, slice):
            part = self._bytes()[index]
            return self._of(Storage(part._array, part._type.backend, 1), part._type)
        return self._bytes()[_place(index, len(self), self.device)].item()

    def __setitem__(self, index: int | slice, value: int) -> None:
        self._bytes()[index if isinstance(index, slice) else _place(index, len(self), self.device)] = value

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes().tolist()  # type: ignore[no-any-return]

    def fill_(self, value: int) -> UntypedStorage:
        """Write *value* to each byte."""
        self._bytes().fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Write the bytes of *source*, which has as many."""
        self._bytes().copy_(source._bytes())
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        whole = self._same()
        if id(whole) not in memo:  # which tensors that show the memory ask, too
            memo[id(whole)] = self._bytes().clone()
        return memo[id(whole)].untyped_storage()  # type: ignore[no-any-return]

    def clone(self) -> UntypedStorage:
        """A copy of the memory."""
        return self._bytes().clone().untyped_storage()  # type: ignore[no-any-return]

    def resize_(self, size: int) -> None:
        """Not supported: raises NotImplementedError."""
        raise NotSupported(
            "resize_: memory that tensors share keeps its size", fix="use Tensor.resize_, or make a new tensor"
        )

    def _same(self) -> Storage:
        return self._storage.origin or self._storage

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._same() is other._same()

    def __hash__(self) -> int:
        return id(self._same())

    def __repr__(self) -> str:
        return f"<storage of {self.nbytes()} bytes on {self.device}>"


def _place(index: Any, length: int, device: Any) -> int:
    if not hasattr(index, "__index__"):
        raise ArgumentTypeError(f"storage: the index {safe_repr(index)} is no int", fix="give an int")
    at = int(index.__index__())
    if device.type == "meta":
        raise NoData("storage: memory on device 'meta' has no elements", fix="make it on another device")
    if not -length <= at < length:
        raise IndexOutOfRange(f"storage: {at} is not in [{-length}, {length})", fix="give an index within the storage")
    return at % length


def _values(values: Any) -> list[Any]:
    """The elements that a storage is made of; of a tensor, which has them in one dimension."""
    if not isinstance(values, Tensor):
        try:
            return list(values)
        except TypeError:
            raise wrong_type("storage", "data", values, "a number of elements or their values") from None
    if values.ndim != 1:
        raise ShapeError(
            f"storage: the tensor of values has {values.ndim} dimensions, not one",
            operands={"data": values},
            fix="flatten it",
        )
    listed: list[Any] = values.tolist()
    return listed


class TypedStorage:
    """The memory behind a tensor as elements of its dtype; deprecated, as in PyTorch: `UntypedStorage` takes its place.

    ``Tensor.storage()`` gives that of a tensor. ``FloatStorage(3)``, ``FloatStorage([1, 2])`` and their like are new.
    """

    __slots__ = ("_untyped", "dtype")

    _untyped: UntypedStorage
    dtype: DType

    @explaining
    def __init__(
        self, *data: Any, wrap_storage: UntypedStorage | None = None, dtype: DType | None = None, device: Any = None
    ) -> None:
        self.dtype = dtype or get_default_dtype()
        if wrap_storage is None:
            values: Any = data[0] if data else 0
            if not isinstance(values, Iterable) and int_of(values) is None:
                raise wrong_type("storage", "data", values, "a number of elements or their values")
            sized = int_of(values) is not None
            wrap_storage = (
                PUBLIC["zeros"].call(values, dtype=self.dtype, device=device)
                if sized
                else PUBLIC["tensor"].call(_values(values), dtype=self.dtype, device=device)
            ).untyped_storage()
        self._untyped = wrap_storage

    def _elements(self) -> Tensor:
        type_ = registry.tensor_type(self.dtype, self.device, False)
        return over(self._untyped._storage, type_, (len(self),), (1,), 0)

    @property
    def device(self) -> Any:
        """Where the memory is."""
        return self._untyped.device

    @property
    def is_cuda(self) -> bool:
        """Whether it is CUDA's memory."""
        return self._untyped.is_cuda

    def untyped(self) -> UntypedStorage:
        """The memory in bytes."""
        return self._untyped

    def size(self) -> int:
        """The number of elements."""
        return self._untyped.nbytes() // self.dtype.itemsize

    __len__ = size

    def nbytes(self) -> int:
        """The size of the memory in bytes."""
        return self._untyped.nbytes()

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    def element_size(self) -> int:
        """Bytes an element."""
        return self.dtype.itemsize

    def data_ptr(self) -> int:
        """The address (or handle number) of the first element; 0 if there is none."""
        return self._untyped.data_ptr()

    def is_shared(self) -> bool:
        """Whether other processes can be given it; see `polyad.Tensor.share_memory_`."""
        return self._untyped.is_shared()

    def type(self) -> str:
        """The old name of its type, such as ``polyad.FloatStorage``, or ``polyad.cuda.FloatStorage``."""
        where = self.device.type
        return f"polyad.{'' if where == 'cpu' else where + '.'}{_BY_DTYPE[self.dtype].__name__}"

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            raise IndexOutOfRange("storage: only bytes are taken in slices", fix="use storage.untyped(), or a tensor")
        return self._elements()[_place(index, len(self), self.device)].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        self._elements()[index if isinstance(index, slice) else _place(index, len(self), self.device)] = value

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def tolist(self) -> list[Any]:
        """The elements as numbers."""
        return self._elements().tolist()  # type: ignore[no-any-return]

    def fill_(self, value: Any) -> TypedStorage:
        """Write *value* to each element."""
        self._elements().fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Write the elements of *source*, which has as many."""
        self._elements().copy_(source._elements())
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=copy.deepcopy(self._untyped, memo), dtype=self.dtype)

    def clone(self) -> TypedStorage:
        """A copy of the memory."""
        return TypedStorage(wrap_storage=self._untyped.clone(), dtype=self.dtype)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._untyped == other._untyped and self.dtype is other.dtype

    def __hash__(self) -> int:
        return hash(self._untyped)

    def __repr__(self) -> str:
        return f"<storage of {len(self)} {self.dtype.name} on {self.device}>"


class StorageType(type):
    """The class of the types below: their instances are typed storages of a dtype."""

    dtype: DType

    def __call__(cls, *data: Any, device: Any = None) -> TypedStorage:
        """New memory with *data*, or of so many elements."""
        return TypedStorage(*data, dtype=cls.dtype, device=device)

    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, size: int = 0) -> TypedStorage:
        """The first *size* elements of a file as memory; see `polyad.UntypedStorage.from_file`."""
        untyped = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=untyped, dtype=cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'polyad.{cls.__name__}'>"


def _type(name: str, dtype: DType) -> Any:
    doc = f"Memory of {dtype.name}: ``{name}([1, 2])`` holds data, ``{name}(2)`` two elements."
    return StorageType(name, (), {"dtype": dtype, "__doc__": doc, "__module__": "polyad"})


BFloat16Storage = _type("BFloat16Storage", dtypes.bfloat16)
BoolStorage = _type("BoolStorage", dtypes.bool_)
ByteStorage = _type("ByteStorage", dtypes.uint8)
CharStorage = _type("CharStorage", dtypes.int8)
ComplexDoubleStorage = _type("ComplexDoubleStorage", dtypes.complex128)
ComplexFloatStorage = _type("ComplexFloatStorage", dtypes.complex64)
DoubleStorage = _type("DoubleStorage", dtypes.float64)
FloatStorage = _type("FloatStorage", dtypes.float32)
HalfStorage = _type("HalfStorage", dtypes.float16)
IntStorage = _type("IntStorage", dtypes.int32)
LongStorage = _type("LongStorage", dtypes.int64)
ShortStorage = _type("ShortStorage", dtypes.int16)

_BY_DTYPE = {
    each.dtype: each
    for each in (
        BFloat16Storage, BoolStorage, ByteStorage, CharStorage, ComplexDoubleStorage, ComplexFloatStorage,
        DoubleStorage, FloatStorage, HalfStorage, IntStorage, LongStorage, ShortStorage,
    )
}  # fmt: skip


def is_storage(obj: Any) -> bool:
    """Whether *obj* is a storage.

    >>> import polyad
    >>> polyad.is_storage(polyad.ones(2).untyped_storage()), polyad.is_storage(polyad.ones(2))
    (True, False)
    """
    return isinstance(obj, (UntypedStorage, TypedStorage))


@method()
def untyped_storage(self: Tensor) -> UntypedStorage:
    """The memory behind the tensor, which its views share: its size and address.

    >>> import polyad
    >>> x = polyad.zeros(4)
    >>> x[1:].untyped_storage() == x.untyped_storage(), x[1:].untyped_storage().nbytes()
    (True, 16)
    """
    settle(check_tensor(self, "untyped_storage", "self"))
    return UntypedStorage._of(self._storage or self._make_storage(), self._type)


@method()
def storage(self: Tensor) -> TypedStorage:
    """The memory behind the tensor as elements of its dtype; deprecated, as in PyTorch: use ``untyped_storage()``.

    >>> import polyad
    >>> x = polyad.arange(4)
    >>> x[2:].storage().tolist()
    [0, 1, 2, 3]
    """
    warn_user("storage: typed storages are deprecated; use Tensor.untyped_storage()", UserWarning)
    return TypedStorage(wrap_storage=untyped_storage(self), dtype=self.dtype)


@method()
def storage_type(self: Tensor) -> Any:
    """The type of the tensor's typed storage, such as ``polyad.FloatStorage``.

    >>> import polyad
    >>> polyad.ones(1).storage_type()
    <class 'polyad.FloatStorage'>
    """
    return _BY_DTYPE[check_tensor(self, "storage_type", "self").dtype]
