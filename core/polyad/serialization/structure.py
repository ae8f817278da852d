"""From nested Python objects to JSON and arrays, and back.

A value is written as JSON where JSON has it (None, bool, int, finite float, str, list) and as an object of one entry,
tag to payload, where it has not: ``{"tuple": [1, 2]}``. A tensor is ``{"tensor": {"data": name, "shape": ...,
"strides": ..., "offset": ..., "requires_grad": ...}}``: a view of the array of that name. The text goes into the file's
metadata:

    polyad          {"version": [1, 3], "object": value, "arrays": {name: {"dtype", "device", "crc32"}}}
    polyad.crc32    the checksum of that text

Invariants: only the exact types in `_ENCODERS` are written, so that what is read has the type of what was saved;
reading builds values from `_DECODERS` alone and can therefore run nothing else. How tensors share arrays is in
views.py; a tensor of another dtype than its array says so ("dtype"). Dicts and lists that occur twice are written
twice.

To add a type, add a row to both tables, and raise the minor version; a reader meets an unknown tag with a clear error.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import math
import zlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ..base import dtypes
from ..base.device import Device
from ..base.shapes_and_strides import Size, is_addressable, is_contiguous
from ..errors import ArgumentError, ArgumentTypeError, InvalidGraph, SerializationError
from ..files import parsed
from ..graph import Graph, parse
from ..nn.parameter import Buffer, Parameter
from ..random.generator import Generator
from ..tensor import Tensor
from .container import METADATA, Blob, Contents, are_counts, check_size, damaged, swapped
from .keys import Keys
from .source import of_each
from .views import bytes_of, lay_out, memory_of

__all__ = [
    "LoadDevice",
    "Unsupported",
    "contents_of_tensors",
    "decode",
    "encode",
    "named_tensors",
    "register_dataclass",
    "registered",
    "where",
]

VERSION = (1, 3)
DEEPEST = 100

Path = tuple[Any, ...]
LoadDevice = Callable[[Tensor, str], Tensor]
"""Moves a flat tensor on the CPU that was saved on the device of that name to where it is wanted."""

_DTYPES = dtypes.BY_NAME


# ------------------------------------------------------------------------------------------------------------ writing


def encode(value: Any) -> Contents:
    """What a file must hold to give *value* back.

    Raises:
        TypeError: an object of a type that cannot be saved, naming where in *value* it is.
        SerializationError: containers that contain themselves or are nested too deeply.
    """
    encoder = _Encoder()
    tree = encoder.encode(value, ())
    arrays = encoder.arrays()
    checksums = _checksums([blob for blob, _ in arrays.values()])
    about = {
        name: {"dtype": blob.dtype.name, "device": device, "crc32": checksum}
        for (name, (blob, device)), checksum in zip(arrays.items(), checksums, strict=True)
    }
    text = json.dumps({"version": VERSION, "object": tree, "arrays": about}, separators=(",", ":"), allow_nan=False)
    check_size(text.encode("ascii"))
    metadata = {"polyad": text, "polyad.crc32": str(zlib.crc32(text.encode("ascii")))}
    return Contents({name: blob for name, (blob, _) in arrays.items()}, metadata)


def _checksums(blobs: list[Blob]) -> list[int]:
    def checksum(blob: Blob) -> int:
        return zlib.crc32(swapped(blob.data, blob.dtype)) if blob.checksum is None else blob.checksum

    return of_each(checksum, blobs, sum(len(blob.data) for blob in blobs))


def named_tensors(value: Any) -> dict[str, Tensor]:
    """*value*, if it is a dict of tensors by name.

    Raises TypeError otherwise.
    """
    if not isinstance(value, dict):
        raise ArgumentTypeError(
            f"save: format 'safetensors' holds tensors by name, and the object is {type(value).__name__}",
            fix="pass a dict, such as model.state_dict(), or leave format out",
        )
    for name, tensor in value.items():
        if type(name) is not str or not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"save: format 'safetensors' holds tensors by name, and {where((name,))} is {type(tensor).__name__}",
                fix="pass a dict of text to tensors, or leave format out",
            )
    if METADATA in value:
        raise ArgumentError(f"save: no tensor can be called {METADATA!r}", fix="choose another name")
    return value


def contents_of_tensors(tensors: dict[str, Tensor]) -> Contents:
    """A file of *tensors* as other programs expect it: nothing but them."""
    blobs = {}
    for name, tensor in tensors.items():
        flat = tensor.detach().contiguous()
        blobs[name] = Blob(tensor.dtype, tuple(tensor.shape), bytes_of(flat))
    return Contents(blobs, {"format": "pt"})


class _Encoder:
    def __init__(self) -> None:
        self._open: set[int] = set()
        self._keys = Keys()
        self._views: dict[Any, list[tuple[Path, Tensor, dict[str, Any]]]] = {}

    def encode(self, value: Any, path: Path) -> Any:
        encoder = _ENCODERS.get(type(value))
        if encoder is None and type(value) in _NAMES:
            encoder = _encode_dataclass
        if encoder is None:
            raise _unsupported(value, path)
        if not isinstance(value, list | tuple | dict) and encoder is not _encode_dataclass:
            return encoder(self, value, path)
        if id(value) in self._open or len(path) >= DEEPEST:
            reason = "contains itself" if id(value) in self._open else f"is nested more than {DEEPEST} levels deep"
            raise SerializationError(f"save: {where(path)} {reason}", fix="save a flatter structure without cycles")
        self._open.add(id(value))
        try:
            return encoder(self, value, path)
        finally:
            self._open.discard(id(value))

    def sequence(self, value: Any, path: Path) -> list[Any]:
        return [self.encode(item, (*path, position)) for position, item in enumerate(value)]

    def mapping(self, value: dict[Any, Any], path: Path) -> list[list[Any]]:
        for key in value:
            if not _is_plain(key):
                raise Unsupported(
                    f"save: {where(path)} has the key {key!r} of type {type(key).__name__}, which cannot be saved",
                    fix="use str, int, float, bool, None, bytes or tuples of these as keys",
                )
        too_much = self._keys.excess(value)
        if too_much is not None:
            raise SerializationError(
                f"save: {where(path)} cannot be saved as a dict: {too_much}",
                fix="save keys and values as two tensors, or use text as keys",
            )
        return [[self.encode(key, path), self.encode(item, (*path, key))] for key, item in value.items()]

    def tensor(self, value: Tensor, path: Path) -> dict[str, Any]:
        record: dict[str, Any] = {}
        self._views.setdefault(memory_of(value), []).append((path, value, record))
        return record

    def arrays(self) -> dict[str, tuple[Blob, str]]:
        """One array for each memory; fills in the records that `tensor` gave out."""
        result: dict[str, tuple[Blob, str]] = {}
        for views in self._views.values():
            path, first, _ = views[0]
            name = _free_name(path, result)
            laid = lay_out([view for _, view, _ in views])
            for (_, view, record), (strides, offset) in zip(views, laid.layouts, strict=True):
                if view.dtype is not laid.dtype:
                    record["dtype"] = view.dtype.name
                record["data"], record["shape"] = name, list(view.shape)
                record["strides"], record["offset"] = list(strides), offset
                record["requires_grad"] = view.requires_grad
            result[name] = Blob(laid.dtype, laid.shape, laid.bytes()), str(first.device)
        return result


def _is_plain(key: Any) -> bool:
    if type(key) is tuple:
        return all(_is_plain(item) for item in key)
    return key is None or type(key) in (str, int, float, bool, bytes, complex, dtypes.DType, Device)


def _free_name(path: Path, taken: dict[str, Any]) -> str:
    """``model.0.weight`` for what is at value["model"][0]["weight"]; numbered where that name is taken."""
    plain = ".".join(str(part) for part in path).encode("utf-8", "backslashreplace").decode() or "tensor"
    name, number = plain, 2
    while name in taken or name == METADATA:
        name, number = f"{plain}#{number}", number + 1
    return name


def where(path: Path) -> str:
    """Words for a place in a saved object."""
    return "the object" + "".join(f"[{part!r}]" for part in path)


_ADVICE = {
    "Module": "save its state_dict(): polyad.save(model.state_dict(), path)",
    "Optimizer": "save its state_dict(): polyad.save(optimizer.state_dict(), path)",
}


class Unsupported(ArgumentTypeError):
    """An object of a type that this format does not hold."""


def _unsupported(value: Any, path: Path) -> Unsupported:
    names = [cls.__name__ for cls in type(value).__mro__]
    fix = next((advice for name, advice in _ADVICE.items() if name in names), None)
    if fix is None and dataclasses.is_dataclass(value):
        fix = "register its class: polyad.serialization.register_dataclass(...)"
    if fix is None and type(value).__module__ == "numpy":
        fix = "convert it with polyad.as_tensor(...), or with .item() if it is one number"
    return Unsupported(
        f"save: {where(path)} is of type {type(value).__module__}.{type(value).__qualname__}, which cannot be saved",
        fix=fix or "save what it is made of: dicts, lists, tuples, numbers, strings, bytes and tensors",
    )


def _encode_int(_: _Encoder, value: int, path: Path) -> int:
    if value.bit_length() > 4096:
        raise SerializationError(f"save: {where(path)} is an int of more than 4096 bits", fix="save it as bytes")
    return value


def _encode_float(_: _Encoder, value: float, __: Path) -> Any:
    return value if math.isfinite(value) else {"float": str(value)}


def _encode_complex(encoder: _Encoder, value: complex, path: Path) -> Any:
    return {"complex": [encoder.encode(value.real, path), encoder.encode(value.imag, path)]}


def _encode_dataclass(encoder: _Encoder, value: Any, path: Path) -> Any:
    fields = {
        field.name: encoder.encode(getattr(value, field.name), (*path, field.name))
        for field in dataclasses.fields(value)
    }
    return {"dataclass": {"name": _NAMES[type(value)], "fields": fields}}


_CLASSES: dict[str, type] = {}
_NAMES: dict[type, str] = {}


def register_dataclass(cls: type, name: str | None = None) -> type:
    """Let objects of the dataclass *cls* be saved and loaded; gives *cls*, so that it may stand as a decorator.

    A file holds the *name*, by default module and name of the class, and the fields. Loading takes the class that this
    program registered by that name, and sets the fields; neither ``__init__`` nor ``__post_init__`` runs.

    Raises:
        TypeError: *cls* is no dataclass.
        ValueError: another class has that name.

    >>> import dataclasses, io, polyad
    >>> from polyad.serialization import register_dataclass
    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Settings:
    ...     lr: float
    >>> file = io.BytesIO()
    >>> polyad.save([Settings(0.1)], file)
    >>> _ = file.seek(0)
    >>> polyad.load(file)
    [Settings(lr=0.1)]
    """
    if not isinstance(cls, type) or not dataclasses.is_dataclass(cls):
        raise ArgumentTypeError(f"register_dataclass: {cls!r} is no dataclass", fix="decorate it with dataclass first")
    name = name or f"{cls.__module__}.{cls.__qualname__}"
    if _CLASSES.get(name, cls).__qualname__ != cls.__qualname__:
        raise ArgumentError(f"register_dataclass: {name!r} is the name of another class", fix="pass another name")
    _CLASSES[name], _NAMES[cls] = cls, name
    return cls


def registered(name: str) -> type | None:
    """The dataclass that `register_dataclass` was told of, by that name or by its own."""
    found = _CLASSES.get(name)
    return found or next((cls for cls in _NAMES if f"{cls.__module__}.{cls.__qualname__}" == name), None)


def _decode_dataclass(decoder: _Decoder, payload: Any, depth: int) -> Any:
    fields = payload.get("fields") if isinstance(payload, dict) else None
    if not isinstance(fields, dict) or not isinstance(payload.get("name"), str):
        raise decoder.damaged("has a dataclass that is not described as one")
    cls = _CLASSES.get(payload["name"])
    if cls is None:
        raise damaged(
            decoder._source,
            f"holds an object of the dataclass {payload['name']!r}, which this program has not registered",
            fix="import the module that defines it, and call polyad.serialization.register_dataclass(cls) there",
        )
    wanted = {field.name for field in dataclasses.fields(cls)}
    if fields.keys() != wanted:
        raise damaged(
            decoder._source,
            f"holds a {cls.__qualname__} with fields {sorted(fields)}, and the class has {sorted(wanted)}",
            fix="load it with the version of the class that saved it",
        )
    found: Any = object.__new__(cls)
    for name, tree in fields.items():
        object.__setattr__(found, name, decoder.decode(tree, depth))
    return found


def _encode_generator(_: _Encoder, value: Generator, __: Path) -> Any:
    with value._lock:
        return {"generator": {"device": str(value.device), "seed": value._seed, "offset": value._offset}}


def _decode_generator(decoder: _Decoder, payload: Any, _: int) -> Generator:
    numbers: list[Any] = [payload.get("seed"), payload.get("offset")] if isinstance(payload, dict) else [None]
    if not all(type(number) is int and 0 <= number < 2**64 for number in numbers):
        raise decoder.damaged("has a generator without seed and offset")
    generator = Generator(payload["device"])
    generator._seed, generator._offset = numbers
    return generator


def _encode_graph(encoder: _Encoder, value: Graph, path: Path) -> Any:
    """A graph is its text and what that leaves out; what cannot be read back is refused now."""
    text, state = value.text, value.state
    try:
        parse(text, state)
    except InvalidGraph as error:
        said = error.message.partition(": ")[2]
        raise Unsupported(
            f"save: {where(path)} is a graph that no text holds whole: {said}",
            fix="capture a function that is made of polyad's own, with lists, tuples and dicts around tensors",
        ) from error
    return {"graph": {"text": text, "state": encoder.mapping(state, path)}}


def _decode_graph(decoder: _Decoder, payload: Any, depth: int) -> Graph | None:
    if not isinstance(payload, dict) or payload.keys() != {"text", "state"} or not isinstance(payload["text"], str):
        raise decoder.damaged("has a graph that is not described as one")
    state = decoder.mapping(payload["state"], depth)
    if any(value is None for value in state.values()):
        return None  # the first pass has no tensors
    try:
        return parse(payload["text"], state)
    except InvalidGraph as error:
        raise damaged(decoder._source, f"holds a graph that is none: {error.message}", fix=error.fix or "") from error


_ENCODERS: dict[type, Callable[[_Encoder, Any, Path], Any]] = {
    type(None): lambda _, value, __: value,
    bool: lambda _, value, __: value,
    str: lambda _, value, __: value,
    int: _encode_int,
    float: _encode_float,
    complex: _encode_complex,
    bytes: lambda _, value, __: {"bytes": base64.b64encode(value).decode("ascii")},
    list: _Encoder.sequence,
    tuple: lambda encoder, value, path: {"tuple": encoder.sequence(value, path)},
    dict: lambda encoder, value, path: {"dict": encoder.mapping(value, path)},
    OrderedDict: lambda encoder, value, path: {"ordered_dict": encoder.mapping(value, path)},
    Size: lambda _, value, __: {"size": list(value)},
    dtypes.DType: lambda _, value, __: {"dtype": value.name},
    Device: lambda _, value, __: {"device": str(value)},
    Generator: _encode_generator,
    Graph: _encode_graph,
    Tensor: lambda encoder, value, path: {"tensor": encoder.tensor(value, path)},
    Parameter: lambda encoder, value, path: {"parameter": encoder.tensor(value, path)},
    Buffer: lambda encoder, value, path: {"buffer": encoder.tensor(value, path)},
}


# ------------------------------------------------------------------------------------------------------------ reading


def decode(
    contents: Contents, load_device: LoadDevice, flat: Callable[[Blob], Tensor], source: str, mapped: bool = False
) -> Any:
    """The value that a file holds; every array of a file that polyad did not write, by name.

    Args:
        load_device: puts an array where it is wanted.
        flat: makes a 1-d tensor on the CPU of an array's bytes.
        source: what to call the file in errors.
        mapped: the arrays are mapped memory, whose checksums would need all of it to be read: they are not computed.

    Raises:
        SerializationError: whatever is wrong with the contents.
    """
    if not contents.is_of_polyad:
        tensors = {
            name: load_device(flat(_checked_bytes(name, blob, source)), "cpu") for name, blob in contents.blobs.items()
        }
        return {name: tensors[name].reshape(contents.blobs[name].shape) for name in tensors}
    return _Decoder(contents, load_device, flat, source, mapped).decode_text(contents.metadata.get("polyad", ""))


class _Decoder:
    def __init__(
        self,
        contents: Contents,
        load_device: LoadDevice,
        flat: Callable[[Blob], Tensor],
        source: str,
        mapped: bool,
    ) -> None:
        self._mapped = mapped
        self._contents = contents
        self._load_device = load_device
        self._flat = flat
        self._source = source
        self._devices: dict[str, str] = {}
        self._arrays: dict[str, Blob] = {}
        self._loaded: dict[str, Tensor] = {}

    def damaged(self, what: str) -> SerializationError:
        return damaged(self._source, what)

    def decode_text(self, text: str) -> Any:
        checksum = self._contents.metadata.get("polyad.crc32")
        if checksum != str(zlib.crc32(text.encode("utf-8", "surrogatepass"))):
            raise self.damaged("is damaged: the checksum of its structure does not match")
        try:
            document = parsed(text.encode("ascii"))
        except ValueError as error:
            raise self.damaged(f"has a structure that cannot be read: {error}") from error
        if not isinstance(document, dict):
            raise self.damaged("has a structure that is not a JSON object")
        self._check_version(document.get("version"))
        self._check_arrays(document.get("arrays"))
        if "object" not in document:
            raise self.damaged("holds no object")
        # Twice: the first pass finds every fault before anything is put on a device.
        self._keys = Keys()
        self.decode(document["object"], 0)
        self._keys = Keys()
        for name, blob in self._arrays.items():
            self._loaded[name] = self._load_device(self._flat(blob), self._devices[name])
        return self.decode(document["object"], 0)

    def _check_version(self, version: Any) -> None:
        if not are_counts(version, 2) or len(version) != 2:
            raise self.damaged("does not say which version of the format it has")
        if version[0] != VERSION[0]:
            raise damaged(
                self._source,
                f"has version {version[0]}.{version[1]} of the format, and this polyad reads version {VERSION[0]}",
                fix="install a newer polyad: pip install --upgrade polyad",
            )

    def _check_arrays(self, arrays: Any) -> None:
        blobs = self._contents.blobs
        if not isinstance(arrays, dict) or arrays.keys() != blobs.keys():
            raise self.damaged("describes other arrays than it holds")
        checksums = dict(zip(blobs, [] if self._mapped else _checksums(list(blobs.values())), strict=not self._mapped))
        for name, about in arrays.items():
            if not isinstance(about, dict) or not _names_a_device(about.get("device")):
                raise self.damaged(f"does not describe array {name!r}")
            blob = blobs[name]
            dtype = _DTYPES.get(about["dtype"]) if isinstance(about.get("dtype"), str) else None
            if dtype is dtypes.complex128 and blob.dtype is dtypes.float64 and len(blob.data) % 16 == 0:
                blob = Blob(dtype, blob.shape[:-1], blob.data, blob.checksum)
            if dtype is not blob.dtype:
                raise self.damaged(f"gives array {name!r} two dtypes: {about.get('dtype')!r} and {blob.dtype.name!r}")
            if not self._mapped and about.get("crc32") != checksums[name]:
                raise self.damaged(f"is damaged: the checksum of array {name!r} does not match")
            self._arrays[name] = _checked_bytes(name, blob, self._source)
            self._devices[name] = about["device"]

    def decode(self, tree: Any, depth: int) -> Any:
        if depth > DEEPEST + 1:
            raise self.damaged("is nested too deeply")
        if isinstance(tree, list):
            return self.sequence(tree, depth + 1)
        if not isinstance(tree, dict):
            return tree
        if len(tree) != 1:
            raise self.damaged(f"has an object with {len(tree)} tags instead of one")
        [(tag, payload)] = tree.items()
        decoder = _DECODERS.get(tag)
        if decoder is None:
            raise damaged(
                self._source,
                f"holds a value of type {tag!r}, which this polyad does not know",
                fix="install a newer polyad, or use another copy if the file may be damaged",
            )
        try:
            return decoder(self, payload, depth + 1)
        except SerializationError:
            raise
        except (TypeError, ValueError, KeyError, OverflowError, binascii.Error, RuntimeError) as error:
            raise self.damaged(f"holds a {tag} that cannot be read: {str(error).splitlines()[0]}") from error

    def sequence(self, payload: Any, depth: int) -> list[Any]:
        if not isinstance(payload, list):
            raise self.damaged("has a sequence that is not a list")
        return [self.decode(item, depth) if type(item) in (list, dict) else item for item in payload]

    def mapping(self, payload: Any, depth: int) -> dict[Any, Any]:
        if not isinstance(payload, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in payload):
            raise self.damaged("has a dict that is not a list of pairs")
        items = [(self.decode(key, depth), self.decode(item, depth)) for key, item in payload]
        if not all(_is_plain(key) for key, _ in items):
            raise self.damaged("has a dict with a key that cannot be a key")
        too_much = self._keys.excess(key for key, _ in items)
        if too_much is not None:
            raise self.damaged(f"has too many keys: {too_much}")
        result = dict(items)
        if len(result) != len(items):
            raise self.damaged("has a dict with a key that occurs twice")
        return result

    def tensor(self, payload: Any) -> Tensor | None:
        """The tensor described; None on the first pass, which only checks."""
        if not isinstance(payload, dict) or not isinstance(payload.get("data"), str):
            raise self.damaged("has a tensor without data")
        blob = self._arrays.get(payload["data"])
        shape: Any = payload.get("shape")
        strides: Any = payload.get("strides")
        offset: Any = payload.get("offset")
        if blob is None or not are_counts(shape) or not are_counts(strides) or not are_counts([offset]):
            raise self.damaged(f"has a tensor of data {payload['data']!r} that is not described as a tensor")
        if len(shape) != len(strides):
            raise self.damaged(f"has a tensor with {shape} sizes and {strides} strides")
        dtype = _DTYPES.get(payload["dtype"]) if "dtype" in payload else blob.dtype
        if dtype is None or (dtype is not blob.dtype and dtypes.bool_ in (dtype, blob.dtype)):
            raise self.damaged(f"has a tensor of data {payload['data']!r} with dtype {payload.get('dtype')!r}")
        count, held = math.prod(shape), len(blob.data) // dtype.itemsize
        last = offset + sum((size - 1) * step for size, step in zip(shape, strides, strict=True)) if count else -1
        if last >= held or not is_addressable(shape, dtype.itemsize):
            raise self.damaged(f"has a tensor of shape {tuple(shape)} that reaches beyond its data {payload['data']!r}")
        requires_grad = payload.get("requires_grad")
        if not isinstance(requires_grad, bool) or (requires_grad and dtype.category < dtypes.FLOATING):
            raise self.damaged(f"has a tensor of dtype {dtype.name} with requires_grad {requires_grad!r}")
        if not self._loaded:
            return None
        flat = self._loaded[payload["data"]]
        if dtype is not blob.dtype:
            flat = flat[: len(blob.data) // dtype.itemsize * dtype.itemsize // blob.dtype.itemsize].view(dtype)
        if offset == 0 and count == held and is_contiguous(tuple(shape), tuple(strides)):
            view = flat.reshape(shape)
        else:
            view = flat.as_strided(shape, strides, offset)
        # A new alias: no two tensors of the result are the same object, or views of each other to autograd.
        return view.detach().requires_grad_(requires_grad)

    def parameter(self, payload: Any, cls: Any) -> Any:
        tensor = self.tensor(payload)
        if tensor is None or cls is Buffer:
            return None if tensor is None else Buffer(tensor.detach())
        return Parameter(tensor.detach(), tensor.requires_grad)


def _names_a_device(value: Any) -> bool:
    return isinstance(value, str) and Device._saved(value) is not None


def _checked_bytes(name: str, blob: Blob, source: str) -> Blob:
    if blob.dtype is dtypes.bool_ and bytes(blob.data).translate(None, b"\0\1"):
        raise damaged(source, f"has bool array {name!r} with values that are neither 0 nor 1")
    return blob


def _decode_float(decoder: _Decoder, payload: Any, _: int) -> float:
    if payload not in ("inf", "-inf", "nan"):
        raise ValueError(f"{payload!r} is not inf, -inf or nan")
    return float(payload)


def _decode_complex(decoder: _Decoder, payload: Any, depth: int) -> complex:
    real, imaginary = decoder.sequence(payload, depth)
    return complex(real, imaginary)


def _decode_size(decoder: _Decoder, payload: Any, _: int) -> Size:
    if not are_counts(payload):
        raise decoder.damaged("has a size that is not a list of counts")
    return Size(payload)


def _decode_device(decoder: _Decoder, payload: Any, depth: int) -> Device:
    device = Device._saved(payload) if isinstance(payload, str) else None
    if device is None:
        raise decoder.damaged("has a device that is none")
    return device


_DECODERS: dict[str, Callable[[_Decoder, Any, int], Any]] = {
    "float": _decode_float,
    "complex": _decode_complex,
    "bytes": lambda _, payload, __: base64.b64decode(payload, validate=True),
    "tuple": lambda decoder, payload, depth: tuple(decoder.sequence(payload, depth)),
    "dict": lambda decoder, payload, depth: decoder.mapping(payload, depth),
    "ordered_dict": lambda decoder, payload, depth: OrderedDict(decoder.mapping(payload, depth)),
    "size": _decode_size,
    "dtype": lambda _, payload, __: _DTYPES[payload],
    "device": _decode_device,
    "generator": _decode_generator,
    "graph": _decode_graph,
    "dataclass": _decode_dataclass,
    "tensor": lambda decoder, payload, _: decoder.tensor(payload),
    "parameter": lambda decoder, payload, _: decoder.parameter(payload, Parameter),
    "buffer": lambda decoder, payload, _: decoder.parameter(payload, Buffer),
}
