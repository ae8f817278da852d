"""Programs written as TorchScript archives, which PyTorch reads, too.

A pickle has lists and dicts with their types: an attribute that holds any is given as
`Typed`. Tensors that share memory do so in the file.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Any, ClassVar

from polyad.base.device import Device
from polyad.base.dtypes import DType
from polyad.errors import ArgumentTypeError, NotSupported
from polyad.serialization.container import swapped
from polyad.serialization.pytorch_writer import Name, Pickler, Tensors
from polyad.tensor import Tensor

from .objects import NamedValue, ScriptObject, Typed
from .program import Program

__all__ = ["members_of"]

VERSION = 10
"""Of the format: the newest, in which operators do what they do today."""
_BUILT = {
    "List[int]": "build_intlist", "List[float]": "build_doublelist", "List[bool]": "build_boollist",
    "List[Tensor]": "build_tensorlist",
}  # fmt: skip
_HOME = "torch.jit._pickle"


class _ProgramPickler(Pickler):
    """A pickler of objects of a program's classes."""

    dispatch: ClassVar[dict[type, Any]] = dict(Pickler.dispatch)

    def __init__(self, stream: io.BytesIO, tensors: Tensors, names: dict[tuple[str, str], Name]) -> None:
        super().__init__(stream, tensors)
        self.names = names

    def name(self, module: str, name: str) -> Name:
        """What stands for a name; the same each time, so that it is written once."""
        return self.names.setdefault((module, name), Name(module, name))

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Tensor):
            return self.tensor(obj, obj.requires_grad)
        if type(obj) is Device:
            return self.name("torch", "device"), (str(obj),)
        if type(obj) is Typed:
            built = _BUILT.get(obj.type_text)
            if built is not None:
                return self.name(_HOME, built), (list(obj.value),)
            return self.name(_HOME, "restore_type_tag"), (obj.value, obj.type_text)
        return NotImplemented

    def save_script_object(self, obj: ScriptObject) -> None:
        self.save(self.name(*_module_and_name(obj.name)))
        self.write(b")\x81")
        self.memoize(obj)
        self.save(obj.state)
        self.write(b"b")

    def save_named_value(self, obj: NamedValue) -> None:
        self.save(self.name(*_module_and_name(obj.name)))
        self.save(obj.arguments[0] if len(obj.arguments) == 1 else obj.arguments)
        self.write(b"R")
        self.memoize(obj)

    def _batch_appends(self, items: Any, *_: Any) -> None:
        self._save_all(list(items), b"e")

    def _batch_setitems(self, items: Any, *_: Any) -> None:
        self._save_all([one for pair in items for one in pair], b"u")

    def _save_all(self, items: list[Any], end: bytes) -> None:
        if items:  # PyTorch reads them only if all are given at once
            self.write(b"(")
            for item in items:
                self.save(item)
            self.write(end)

    def save_dtype(self, obj: DType) -> None:
        raise ArgumentTypeError(f"save: the dtype {obj} is an attribute", fix="a program has dtypes as numbers")

    dispatch[ScriptObject] = save_script_object
    dispatch[NamedValue] = save_named_value
    dispatch[DType] = save_dtype


def _module_and_name(name: str) -> tuple[str, str]:
    module, _, last = name.rpartition(".")
    return module, last


def members_of(program: Program, extra: Mapping[str, bytes | str] | None = None) -> list[tuple[str, bytes]]:
    """The members of the archive for *program* with bytes beside it, name and bytes, in order.

    Raises:
        TypeError: an attribute that is neither data nor a tensor.
        NotImplementedError: a tensor of a dtype that TorchScript's archives do not hold.
    """
    found: list[tuple[str, Any]] = []
    for name, data in (extra or {}).items():
        found.append((f"extra/{name}", data.encode() if isinstance(data, str) else bytes(data)))
    for name, value in (("data", program.root), ("constants", tuple(program.constants))):
        text, tensors = _pickled(value)
        found += [(f"{name}/{key}", swapped(laid.bytes(), laid.dtype)) for key, laid in tensors.written.items()]
        found.append((f"{name}.pkl", text))
    found += [(f"code/{home.replace('.', '/')}.py", text.encode()) for home, text in program.sources.items()]
    return [*found, ("version", f"{VERSION}\n".encode()), ("byteorder", b"little")]


def _pickled(value: Any) -> tuple[bytes, Tensors]:
    tensors, names = Tensors(), dict[tuple[str, str], Name]()
    _ProgramPickler(io.BytesIO(), tensors, names).dump(value)
    tensors.lay_out()
    for storage in tensors.storages.values():
        if storage.is_untyped:
            raise NotSupported(
                f"save: TorchScript's archives hold no tensor such as this, of dtype {storage.views[0].dtype}",
                operands={"tensor": storage.views[0]},
                fix="use another dtype; clone() tensors that show the same memory as several dtypes",
            )
    stream = io.BytesIO()
    _ProgramPickler(stream, tensors, names).dump(value)
    return stream.getvalue(), tensors
