"""Files as ``torch.save`` writes them: a zip archive with a pickle, and the memory of its tensors beside it.

Tensors, dtypes, sizes and devices go into the pickle by PyTorch's names, so that PyTorch reads what is data with
``weights_only=True``. Objects of classes go as Python pickles them, by the names of their classes.

Invariant: what is written can be read by `polyad.load`: the pickle goes through the machine that reads it first.
"""

from __future__ import annotations

import contextlib
import io
import pickle
from collections import OrderedDict
from enum import Enum, Flag
from typing import Any, ClassVar

from ..base import provided
from ..base.device import Device
from ..base.dtypes import BY_NAME, DType
from ..base.memory_formats import MemoryLayout, sparse_coo, strided
from ..base.shapes_and_strides import Size
from ..base.state import warn_user
from ..errors import ArgumentTypeError, PolyadError, SerializationError
from ..nn.modules import Module
from ..nn.parameter import Buffer, Parameter, is_lazy
from ..tensor import Tensor
from .container import swapped
from .pickles import PickleError
from .pytorch import STORAGES, check_pickle
from .structure import where
from .views import Laid, lay_out, memory_of

__all__ = ["Name", "Pickler", "Tensors", "members_of"]

PROTOCOL = 2
"""The only one whose every instruction PyTorch reads with ``weights_only=True``."""
_STORAGE_OF = {dtype: name for name, dtype in STORAGES.items()}


class Name:
    """Something of PyTorch's, by its name."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        """Never called: Python's pickler asks whether it could be."""


_TENSOR = Name("torch._utils", "_rebuild_tensor_v2")
_TENSOR_OF_DTYPE = Name("torch._utils", "_rebuild_tensor_v3")
_SPARSE = Name("torch._utils", "_rebuild_sparse_tensor")
_LAYOUT = Name("torch.serialization", "_get_layout")
_PARAMETER = Name("torch._utils", "_rebuild_parameter")
_SIZE, _DEVICE = Name("torch", "Size"), Name("torch", "device")
_DTYPES = {name: Name("torch", name) for name in BY_NAME}
_STORAGES = {name: Name("torch", name) for name in STORAGES}
_UNTYPED = Name("torch.storage", "UntypedStorage")


_PLAIN = (type(None), bool, int, float, complex, str, bytes, Size, DType, Device)


class _Data:
    """The tensor in a parameter."""

    def __init__(self, parameter: Parameter) -> None:
        self.parameter = parameter


class _Storage:
    """The memory of tensors that share it."""

    def __init__(self, key: str) -> None:
        self.key = key
        self.views: list[Tensor] = []
        self.laid: Laid | None = None

    @property
    def is_untyped(self) -> bool:
        """Whether its tensors read it as several dtypes, or as one for which PyTorch has no class of storages."""
        if self.laid is None:
            return False
        dtype = self.laid.dtype
        return dtype not in _STORAGE_OF or any(view.dtype is not dtype for view in self.views)

    def described(self) -> tuple[Any, ...]:
        """The persistent id."""
        if self.laid is None:
            return ("storage", None, self.key, "cpu", 0)
        flat = self.laid.flat
        kind = _UNTYPED if self.is_untyped else _STORAGES[_STORAGE_OF[flat.dtype]]
        count = flat.numel() * flat.itemsize if self.is_untyped else flat.numel()
        return ("storage", kind, self.key, str(flat.device), count)


class Tensors:
    """The tensors of an object, by the memory that they share."""

    def __init__(self) -> None:
        self.storages: dict[Any, _Storage] = {}
        self.written: dict[str, Laid] = {}
        self._places: dict[int, tuple[_Storage, int]] = {}
        self._is_complete = False

    def see(self, tensor: Tensor) -> tuple[_Storage, tuple[int, ...], int]:
        """Its storage, strides and offset; the latter two mean something when all tensors have been seen."""
        if not self._is_complete:
            storage = self.storages.setdefault(memory_of(tensor), _Storage(str(len(self.storages))))
            self._places[id(tensor)] = storage, len(storage.views)
            storage.views.append(tensor)
            return storage, (), 0
        if id(tensor) not in self._places:
            # An object's ``__getstate__`` made it just now.
            storage = self.storages[id(tensor)] = _Storage(str(len(self.storages)))
            storage.views.append(tensor)
            storage.laid = lay_out(storage.views)
            self._places[id(tensor)] = storage, 0
        storage, place = self._places[id(tensor)]
        assert storage.laid is not None
        self.written[storage.key] = storage.laid
        return storage, *storage.laid.layouts[place]

    def see_all(self, obj: Any) -> bool:
        """See the tensors in nested containers; False if there is something else in them than plain values."""
        waiting, seen = [obj], set()
        while waiting:
            value = waiting.pop()
            kind = type(value)
            if kind in (Tensor, Parameter, Buffer):
                if id(value) not in self._places:
                    self.see(value)
            elif kind in (dict, OrderedDict, list, tuple):
                if id(value) not in seen:
                    seen.add(id(value))
                    waiting.extend(reversed(list(value.values() if isinstance(value, dict) else value)))
                    waiting.extend(vars(value).values() if kind is OrderedDict else ())
            elif kind not in _PLAIN:
                return False
        return True

    def lay_out(self) -> None:
        """All tensors have been seen."""
        for storage in self.storages.values():
            storage.laid = lay_out(storage.views)
        self._is_complete = True


_PythonPickler: Any = pickle._Pickler
"""Written in Python, so that it can be told how to write names that no module here has."""


class Pickler(_PythonPickler):  # type: ignore[misc]
    """Python's pickler, that writes tensors as PyTorch does. It runs twice: to see all tensors, and to write."""

    dispatch: ClassVar[dict[type, Any]] = dict(_PythonPickler.dispatch)

    def __init__(self, stream: io.BytesIO, tensors: Tensors) -> None:
        super().__init__(stream, PROTOCOL, fix_imports=False)
        self.tensors = tensors
        self.module: Module | None = None

    def persistent_id(self, obj: Any) -> Any:
        return obj.described() if type(obj) is _Storage else None

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor) and not is_lazy(obj):
            if type(obj) is Parameter:
                return _PARAMETER, (_Data(obj), obj.requires_grad, OrderedDict())
            if obj.layout is not strided:
                return self._sparse(obj)
            if type(obj) not in (Tensor, Buffer):
                raise pickle.PicklingError(f"tensors of the class {type(obj).__name__} are not saved")
            return self.tensor(obj, obj.requires_grad)
        if type(obj) is _Data:
            return self.tensor(obj.parameter, False)
        if isinstance(obj, MemoryLayout):
            return _LAYOUT, (f"torch.{obj.name}",)
        if type(obj) is Size:
            return _SIZE, (tuple(obj),)
        if type(obj) is Device:
            return _DEVICE, (obj.type,) if obj.index is None else (obj.type, obj.index)
        if isinstance(obj, Enum) and type(obj).__reduce_ex__ in (Enum.__reduce_ex__, Flag.__reduce_ex__):
            return type(obj), (obj.value,)  # as Python does, except for 3.11.0 to 3.11.3, which write getattr
        if isinstance(obj, Module):
            self.module = self.module or obj
        return NotImplemented

    def _sparse(self, tensor: Tensor) -> tuple[Any, ...]:
        parts, size, coalesced = provided.sparse_parts(tensor)
        flag = (coalesced,) if tensor.layout is sparse_coo else ()
        return _SPARSE, (tensor.layout, (*parts, Size(size), *flag))

    def tensor(self, tensor: Tensor, requires_grad: bool) -> tuple[Any, ...]:
        storage, strides, offset = self.tensors.see(tensor)
        described: tuple[Any, ...] = (
            storage,
            offset,
            tuple(tensor.shape),
            tuple(strides),
            requires_grad,
            OrderedDict(),
        )
        if storage.is_untyped:
            return _TENSOR_OF_DTYPE, (*described, tensor.dtype)
        return _TENSOR, described

    def save_name(self, obj: Name) -> None:
        self.write(pickle.GLOBAL + f"{obj.module}\n{obj.name}\n".encode())
        self.memoize(obj)

    def save_dtype(self, obj: DType) -> None:
        self.save(_DTYPES[obj.name])

    dispatch[Name] = save_name
    dispatch[DType] = save_dtype


class _Finder(Pickler):
    """Finds what cannot be pickled."""

    culprit: Any = None
    is_found = False

    def save(self, obj: Any, save_persistent_id: bool = True) -> None:
        try:
            super().save(obj, save_persistent_id)
        except Exception:
            if not self.is_found:
                self.culprit, self.is_found = obj, True
            raise


def _place_of(culprit: Any, obj: Any) -> str:
    """Where in nested dicts, lists and tuples an object is, or the first object whose attributes have it."""
    waiting: list[tuple[tuple[Any, ...], Any]] = [((), obj)]
    seen = set()
    while waiting:
        path, value = waiting.pop()
        if value is culprit:
            return where(path)
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            waiting += [((*path, key), item) for key, item in value.items()]
        elif isinstance(value, list | tuple | set):
            waiting += [((*path, place), item) for place, item in enumerate(value)]
        elif not isinstance(value, Tensor | type) and hasattr(value, "__dict__"):
            waiting += [((*path, name), item) for name, item in vars(value).items()]
    return "something in the object"


def members_of(obj: Any) -> list[tuple[str, Any]]:
    """The members of the archive for *obj*, name and bytes, in order.

    Raises:
        TypeError: an object that Python does not pickle, such as a lambda.
        SerializationError: an object that is nested too deeply, or that `polyad.load` would refuse.
    """
    tensors = Tensors()
    if not tensors.see_all(obj):
        # Objects of classes say only to a pickler what they are made of.
        tensors = Tensors()
        _pickled(obj, tensors)
    tensors.lay_out()
    text, module = _pickled(obj, tensors)
    try:
        check_pickle(memoryview(text))
    except PickleError as error:
        raise SerializationError(
            f"save: the object could not be loaded again: {error}",
            fix="save long lists and dicts of numbers as tensors",
        ) from error
    if module is not None:
        warn_user(
            f"save: a whole module, {type(module).__name__}, is saved by the name of its class: the file can be read "
            "only where that class is, as it is now, with weights_only=False. Save model.state_dict() instead, and "
            "load it with model.load_state_dict(polyad.load(path))",
            UserWarning,
        )
    return [
        ("data.pkl", text),
        (".format_version", b"1"),
        (".storage_alignment", b"64"),
        ("byteorder", b"little"),
        *((f"data/{key}", swapped(laid.bytes(), laid.dtype)) for key, laid in tensors.written.items()),
        ("version", b"3\n"),
    ]


def _pickled(obj: Any, tensors: Tensors) -> tuple[bytes, Module | None]:
    stream = io.BytesIO()
    pickler = Pickler(stream, tensors)
    try:
        pickler.dump(obj)
    except RecursionError:
        raise SerializationError(
            "save: the object is nested too deeply", fix="save a flatter structure: dicts and lists of tensors"
        ) from None
    except PolyadError:
        raise
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        finder = _Finder(io.BytesIO(), Tensors())
        with contextlib.suppress(Exception):
            finder.dump(obj)
        culprit = finder.culprit
        raise ArgumentTypeError(
            f"save: {_place_of(culprit, obj)} is of type {type(culprit).__module__}.{type(culprit).__qualname__}, "
            f"which cannot be saved: {error}",
            fix="save what it is made of: dicts, lists, numbers, strings and tensors; objects need classes and "
            "functions that a module defines by name",
        ) from error
    return stream.getvalue(), pickler.module
