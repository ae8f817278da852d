"""Files of ``torch.save``, in both of its formats, read without running anything of them.

    zip      an archive with ``NAME/data.pkl``, a pickle, and ``NAME/data/KEY`` for each storage
    legacy   a magic number, a version and facts of the system, each a pickle; the object's pickle; a pickled list of
             keys; and for each key a count of elements and the elements

The pickles are read by `polyad.serialization.pickles`. What they may name is in `_names`: storages, what PyTorch
rebuilds tensors with, dtypes, sizes, devices, and the plain types of Python and NumPy. What else they name, such as the
classes of a module that was saved whole, is for `polyad.serialization.classes` to allow or refuse.

A file is gone through twice: first everything is checked, then tensors are put where they are wanted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from ..base import dtypes, provided
from ..base.device import Device
from ..base.dtypes import DType
from ..base.memory_formats import MemoryLayout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided
from ..base.shapes_and_strides import Size, is_addressable
from ..errors import PolyadError
from ..nn.parameter import Buffer, Parameter
from ..tensor import Tensor
from .classes import FileClasses
from .container import Blob, are_counts, swapped
from .pickles import CheckedClasses, Known, Pending, PickleError, read_pickle
from .plain_types import PLAIN_TYPES
from .source import Source, damaged
from .zips import Members

__all__ = ["MAGIC", "STORAGES", "ZipPickle", "check_pickle", "read_legacy", "read_zip", "unsafe_names"]

MAGIC = 0x1950A86A20F9469CFC6C
PROTOCOL = 1001
STORAGES = {
    "FloatStorage": dtypes.float32, "DoubleStorage": dtypes.float64, "HalfStorage": dtypes.float16,
    "BFloat16Storage": dtypes.bfloat16, "LongStorage": dtypes.int64, "IntStorage": dtypes.int32,
    "ShortStorage": dtypes.int16, "CharStorage": dtypes.int8, "ByteStorage": dtypes.uint8,
    "BoolStorage": dtypes.bool_, "ComplexFloatStorage": dtypes.complex64, "ComplexDoubleStorage": dtypes.complex128,
}  # fmt: skip
DTYPES = dtypes.BY_NAME | {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "long": dtypes.int64,
    "int": dtypes.int32, "short": dtypes.int16,
}  # fmt: skip

LAYOUTS = {
    f"torch.{layout.name}": layout for layout in (strided, sparse_coo, sparse_csr, sparse_csc, sparse_bsr, sparse_bsc)
}

LoadDevice = Callable[[Tensor, str], Tensor]
Flat = Callable[[Blob], Tensor]


class _StorageType:
    """The dtype that a storage's class stands for; None for untyped bytes."""

    def __init__(self, dtype: DType | None) -> None:
        self.dtype = dtype


class _Storage:
    """A storage of the file: how many elements, where it was, and, once it is loaded, its memory."""

    def __init__(self, key: str, dtype: DType, location: str, count: int) -> None:
        self.key, self.dtype, self.location, self.count = key, dtype, location, count
        self.flat: Tensor | None = None


def read_zip(source: Source, place: LoadDevice, flat: Flat, classes: FileClasses) -> Any:
    """The object in a zip file of ``torch.save``.

    Raises:
        SerializationError: whatever is wrong with it.
    """
    members = Members(source)
    found = _pickle_in(source, members)
    if found.removesuffix("data.pkl") + "constants.pkl" in members.members:
        raise damaged(source.name, "is a TorchScript archive: it holds a program", fix="load it with polyad.jit.load")
    return ZipPickle(source, members, found, place, flat, classes).object()


class ZipPickle:
    """A pickle in an archive, whose storages are members of a folder with the pickle's name.

    Args:
        name: of the pickle's member: ``archive/data.pkl`` has its storages in ``archive/data/``.
        names: what it may name besides tensors and plain values.

    Raises:
        SerializationError: whatever is wrong with the pickle.
    """

    def __init__(
        self,
        source: Source,
        members: Members,
        name: str,
        place: LoadDevice,
        flat: Flat,
        classes: CheckedClasses,
        names: Mapping[str, Any] | None = None,
    ) -> None:
        self._members, self._classes = members, classes
        self._folder = f"{name.removesuffix('.pkl')}/"
        order = f"{name.rpartition('/')[0]}/byteorder".lstrip("/")
        if order in members.members and bytes(members.data(order)) != b"little":
            raise damaged(
                source.name, "was written on a big-endian machine", fix="save it again on a little-endian one"
            )
        self._data: dict[str, Any] = {}
        self._text = memoryview(bytes(members.data(name)))
        self._loading = _Loading(source, place, flat, self._bytes_of, classes)
        self._names = {**_names(self._loading), **(names or {})}

    def checked(self) -> Any:
        """The object, with `Pending` in the place of each tensor: nothing is loaded."""
        return self._loading.checked(self._read)

    def object(self) -> Any:
        """The object, once all of it is checked."""
        return self._loading.object(self._read)

    def _read(self) -> Any:
        return read_pickle(self._text, 0, self._names, self._loading.stored, self._classes)[0]

    def _bytes_of(self, storage: _Storage) -> Any:
        if storage.key not in self._data:
            name = self._folder + storage.key
            if name not in self._members.members:
                raise PickleError(f"it names storage {storage.key!r}, and the archive has no member {name!r}")
            self._data[storage.key] = self._members.data(name)
        return self._data[storage.key]


def read_legacy(source: Source, place: LoadDevice, flat: Flat, classes: FileClasses) -> Any:
    """The object in a file of ``torch.save(..., _use_new_zipfile_serialization=False)``.

    Raises:
        SerializationError: whatever is wrong with it.
    """
    whole = memoryview(source.data(0, source.size, "the file"))
    places: dict[str, tuple[int, int]] = {}

    def bytes_of(storage: _Storage) -> Any:
        if storage.key not in places:
            raise PickleError(f"it names storage {storage.key!r}, which is not there")
        at, count = places[storage.key]
        if count != storage.count:
            raise PickleError(f"storage {storage.key!r} has {count} elements, and should have {storage.count}")
        size = count * storage.dtype.itemsize
        return whole[at : at + size] if source.mapped else bytearray(whole[at : at + size])

    loading = _Loading(source, place, flat, bytes_of, classes)
    names = _names(loading)

    def check() -> Any:
        at = 0
        for wanted in (MAGIC, PROTOCOL):
            value, at = read_pickle(whole, at, names, loading.stored, classes)
            if value != wanted:
                raise PickleError(f"it does not begin with {MAGIC:#x} and {PROTOCOL}")
        system, at = read_pickle(whole, at, names, loading.stored, classes)
        if not isinstance(system, dict) or system.get("little_endian") is not True:
            raise PickleError("it was not written on a little-endian machine")
        begin = at
        _, at = read_pickle(whole, begin, names, loading.stored, classes)
        keys, at = read_pickle(whole, at, names, loading.stored, classes)
        if not isinstance(keys, list) or not all(type(key) is str for key in keys):
            raise PickleError("its keys of storages are no list of text")
        for key in keys:
            storage = loading.storages.get(key)
            if storage is None or key in places:
                raise PickleError(f"it has data of storage {key!r}, which nothing uses, or has it twice")
            count = int.from_bytes(whole[at : at + 8], "little")
            size = count * storage.dtype.itemsize
            if at + 8 + size > len(whole):
                raise PickleError(f"it ends within storage {key!r}")
            places[key] = at + 8, count
            at += 8 + size
        if at != len(whole):
            raise PickleError(f"it has {len(whole) - at} bytes behind its end")
        return begin

    try:
        begin = check()
    except PickleError as error:
        raise _unfit(source, error) from error
    return loading.object(lambda: read_pickle(whole, begin, names, loading.stored, classes)[0])


def unsafe_names(source: Source) -> list[str]:
    """The names of classes and functions in a zip file that are not allowed.

    Raises:
        SerializationError: whatever else is wrong with it.
    """
    members = Members(source)
    try:
        return list(check_pickle(memoryview(bytes(members.data(_pickle_in(source, members))))).missing)
    except PickleError as error:
        raise _unfit(source, error) from error


def _pickle_in(source: Source, members: Members) -> str:
    found = [name for name in members.members if name == "data.pkl" or name.endswith("/data.pkl")]
    if len(found) != 1:
        raise damaged(
            source.name,
            "is a zip archive, but holds neither one data.pkl, as PyTorch's files do, nor NumPy's arrays",
            fix="name a file that torch.save, numpy.savez or polyad.save wrote",
        )
    return found[0]


def check_pickle(text: memoryview) -> FileClasses:
    """The classes that a pickle names; raises PickleError if for another reason `read_zip` would not take it."""
    classes = FileClasses(trusted=False)
    nothing = Source.of_memory("", b"")
    loading = _Loading(nothing, lambda tensor, _: tensor, lambda blob: blob.data, lambda storage: b"", classes)
    read_pickle(text, 0, _names(loading), loading.stored, classes)
    return classes


class _Loading:
    """The storages of a file while it is read, and whether they are loaded already."""

    def __init__(
        self,
        source: Source,
        place: LoadDevice,
        flat: Flat,
        bytes_of: Callable[[_Storage], Any],
        classes: CheckedClasses,
    ) -> None:
        self._source = source
        self._place = place
        self._flat = flat
        self._bytes_of = bytes_of
        self._classes = classes
        self.storages: dict[str, _Storage] = {}
        self.is_loaded = False

    def object(self, read: Callable[[], Any]) -> Any:
        """What *read* gives when the storages are loaded; before that, all is checked."""
        self.checked(read)
        try:
            loaded = {storage.key: self._loaded(storage) for storage in self.storages.values()}
            for key, (blob, location) in loaded.items():
                self.storages[key].flat = self._place(self._flat(blob), location)
            self.is_loaded = self._classes.is_checked = True
            return read()
        except PickleError as error:
            raise _unfit(self._source, error) from error

    def checked(self, read: Callable[[], Any]) -> Any:
        """What *read* gives before storages are loaded."""
        try:
            found = read()
            self._classes.check()
        except PickleError as error:
            raise _unfit(self._source, error) from error
        return found

    def _loaded(self, storage: _Storage) -> tuple[Blob, str]:
        data, dtype = self._bytes_of(storage), storage.dtype
        if len(data) != storage.count * dtype.itemsize:
            raise PickleError(f"storage {storage.key!r} of {storage.count} elements has {len(data)} bytes")
        if dtype is dtypes.bool_ and bytes(data).translate(None, b"\0\1"):
            raise PickleError(f"storage {storage.key!r} is bool, with values that are neither 0 nor 1")
        return Blob(dtype, (storage.count,), swapped(data, dtype)), storage.location

    def stored(self, described: Any) -> _Storage:
        """The storage that a persistent id describes."""
        if type(described) is not tuple or len(described) not in (5, 6) or described[0] != "storage":
            raise PickleError("it refers to something else than storages")
        _, kind, key, location, count = described[:5]
        if not isinstance(kind, _StorageType) or type(key) is not str or not are_counts([count]):
            raise PickleError("it describes a storage that is none")
        if len(described) == 6 and described[5] is not None:
            raise PickleError("it has a view of a storage, as PyTorch before 0.4 wrote it")
        if type(location) is not str or not _is_device(location):
            raise PickleError(f"storage {key!r} is on {location!r}, which is no device")
        dtype = kind.dtype or dtypes.uint8
        found = self.storages.setdefault(key, _Storage(key, dtype, location, count))
        if (found.dtype, found.location, found.count) != (dtype, location, count):
            raise PickleError(f"it describes storage {key!r} in two ways")
        return found

    def tensor(
        self,
        storage: Any,
        offset: Any,
        shape: Any,
        strides: Any,
        requires_grad: Any = False,
        hooks: Any = None,
        metadata: Any = None,
        *_: Any,
    ) -> Any:
        """``torch._utils._rebuild_tensor`` and its second version: what it shows may be conjugated, or negated."""
        if metadata is None or not isinstance(metadata, dict):
            return self._view(storage, offset, shape, strides, requires_grad, None)
        found = self._view(storage, offset, shape, strides, False, None)
        if isinstance(found, Pending):
            return found
        found = found.conj() if metadata.get("conj") is True else found
        found = found.neg() if metadata.get("neg") is True else found
        return found.detach().requires_grad_(requires_grad is True)

    def tensor_of_dtype(
        self, storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any, hooks: Any, dtype: Any, *_: Any
    ) -> Any:
        """``torch._utils._rebuild_tensor_v3``: of an untyped storage."""
        if not isinstance(dtype, DType):
            raise PickleError("it has a tensor of no dtype")
        return self._view(storage, offset, shape, strides, requires_grad, dtype)

    def _view(
        self, storage: Any, offset: Any, shape: Any, strides: Any, requires_grad: Any, dtype: DType | None
    ) -> Any:
        if not isinstance(storage, _Storage) or not are_counts([offset]):
            raise PickleError("it has a tensor without a storage")
        shape, strides = list(shape), list(strides)
        if not are_counts(shape) or not are_counts(strides) or len(shape) != len(strides):
            raise PickleError("it has a tensor with sizes or strides that are not counts")
        dtype = dtype or storage.dtype
        held = storage.count * storage.dtype.itemsize // dtype.itemsize
        last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True))
        if (math.prod(shape) and last >= held) or not is_addressable(shape, dtype.itemsize):
            raise PickleError(f"it has a tensor of shape {tuple(shape)} that reaches beyond its storage")
        if type(requires_grad) is not bool:
            raise PickleError(f"it has a tensor whose requires_grad is {type(requires_grad).__name__}, not bool")
        if requires_grad and dtype.category < dtypes.FLOATING:
            raise PickleError(f"it has a tensor of dtype {dtype.name} with requires_grad True")
        if not self.is_loaded:
            return Pending(kind=Tensor)
        flat = storage.flat
        assert flat is not None
        if dtype is not storage.dtype:
            if dtypes.bool_ in (dtype, storage.dtype):
                raise PickleError("it has a tensor that shows another dtype's memory as bool")
            flat = flat[: held * dtype.itemsize // storage.dtype.itemsize].view(dtype)
        if math.prod(shape) == 0:
            return flat[:0].reshape(shape).detach().requires_grad_(requires_grad)
        return flat.as_strided(shape, strides, offset).detach().requires_grad_(requires_grad)

    def parameter(self, data: Any, requires_grad: Any = True, *_: Any) -> Any:
        """``torch._utils._rebuild_parameter``, with and without a state, which is left out."""
        if isinstance(data, Pending):
            return data
        if not isinstance(data, Tensor) or type(requires_grad) is not bool:
            raise PickleError("it has a parameter without a tensor")
        return Parameter(data.detach(), requires_grad)

    def tensor_of_class(self, rebuild: Any, kind: Any, arguments: Any, state: Any = None) -> Any:
        """``torch._tensor._rebuild_from_type_v2``: a tensor with attributes, which are left out, or a buffer."""
        build = next((known for known in (self.tensor, self.tensor_of_dtype) if known == rebuild), None)
        if build is None or kind not in (Tensor, Buffer) or type(arguments) is not tuple:
            raise PickleError("it has a tensor of a class that is not PyTorch's")
        data = build(*arguments)
        return data if isinstance(data, Pending) or kind is Tensor else Buffer(data)

    def sparse(self, layout: Any, described: Any) -> Any:
        """``torch._utils._rebuild_sparse_tensor``: of (indices, values, size) and whether they are coalesced, or of the
        two indices of a compressed tensor, values and size.
        """
        if not isinstance(layout, MemoryLayout) or type(described) is not tuple or not 3 <= len(described) <= 4:
            raise PickleError("it has a sparse tensor that is none")
        coalesced = False
        if layout is sparse_coo:
            coalesced = described[3] if len(described) == 4 else False
            described = described[:3]
        *parts, size = described
        if type(size) is not Size or type(coalesced) is not bool:
            raise PickleError("it has a sparse tensor without a size")
        if not self.is_loaded:
            return Pending(kind=Tensor)
        if not all(isinstance(part, Tensor) for part in parts):
            raise PickleError("it has a sparse tensor that is not of tensors")
        try:
            return provided.sparse_tensor(layout, parts, size, coalesced)
        except PolyadError as error:
            raise PickleError(f"it has a sparse tensor that is wrong: {error.message}") from error


def _unfit(source: Source, error: PickleError) -> Exception:
    return damaged(
        source.name,
        f"is a PyTorch file that cannot be read: {error}",
        fix=error.fix
        or "save state_dict()s of tensors, numbers, text, lists and dicts with torch.save, or use another copy if the "
        "file may be damaged",
    )


def _is_device(location: str) -> bool:
    return Device._saved(location) is not None


def _not_made(*_: Any) -> Any:
    raise PickleError("it makes a tensor without a storage")


def _size(values: Any = ()) -> Size:
    if not are_counts(list(values)):
        raise PickleError("it has a size that is not of counts")
    return Size(values)


def _device(name: Any, index: Any = None) -> Device:
    if type(name) is not str or not (index is None or are_counts([index])):
        raise PickleError("it has a device that is not of a name and a number")
    device = Device._saved(name if index is None else f"{name}:{index}")
    if device is None:
        raise PickleError("it has a device that is none")
    return device


def _layout(name: Any) -> MemoryLayout:
    found = LAYOUTS.get(name) if type(name) is str else None
    if found is None:
        raise PickleError("it has a layout that is none")
    return found


def _names(loading: _Loading) -> dict[str, Any]:
    """What a file may name."""
    return {
        "torch._utils._rebuild_tensor": loading.tensor,
        "torch._utils._rebuild_tensor_v2": loading.tensor,
        "torch._utils._rebuild_tensor_v3": loading.tensor_of_dtype,
        "torch._utils._rebuild_parameter": loading.parameter,
        "torch._utils._rebuild_parameter_with_state": loading.parameter,
        "torch._utils._rebuild_sparse_tensor": loading.sparse,
        "torch._utils._rebuild_sparse_csr_tensor": loading.sparse,  # of PyTorch 1.12 and before
        "torch.serialization._get_layout": _layout,
        "torch._tensor._rebuild_from_type_v2": loading.tensor_of_class,
        "torch.Tensor": Known(Tensor, _not_made),
        "torch.nn.parameter.Buffer": Known(Buffer, _not_made),
        "torch.Size": Known(Size, _size),
        "torch.device": Known(Device, _device),
        "torch.storage.UntypedStorage": _StorageType(None),
        **PLAIN_TYPES,
        **{f"torch.{name}": _StorageType(dtype) for name, dtype in STORAGES.items()},
        **{f"torch.{name}": dtype for name, dtype in DTYPES.items()},
    }
