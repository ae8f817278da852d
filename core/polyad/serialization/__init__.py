"""save and load: nested Python data and tensors in a file, without running what a file says.

Loading runs no code that a file could choose, checks everything before it returns anything, and saving never leaves
half a file.

container.py   the bytes of a file of `save`, which is a safetensors file
structure.py   what may be saved in it, and how that is written in the file's metadata
views.py       tensors that share memory
keys.py        keys of dicts that a file may have
source.py      a file's bytes: read, or mapped into memory
shards.py      tensors in several files with an index
checkpoints.py checkpoints of a run in a folder
pytorch.py     PyTorch's files read, and
pytorch_writer.py   written; by
pickles.py     pickles read as data,
plain_types.py types of Python and NumPy whose objects are data,
classes.py     classes that the program allows files to name, and
zips.py        archives whose members are not packed
options.py     what PyTorch's serialization can be told
gguf.py        models of llama.cpp
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from typing import IO, Any

from ..base.device import Device
from ..base.state import warn_user
from ..compatibility.absent import lacking
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    BackendUnavailable,
    DeviceError,
    SerializationError,
    describe,
    safe_repr,
    wrong_type,
)
from ..files import checked_path, is_remote, local_path, opened, replacing
from ..files.json_text import LONGEST
from ..interop.npz import arrays_of, is_archive_of_arrays
from ..interop.numpy import flat_array
from ..ops.creation.factories import empty
from ..tensor import Tensor
from .checkpoints import CheckpointManager
from .classes import FileClasses, add_safe_globals, clear_safe_globals, get_safe_globals, safe_globals
from .container import Blob, contents_of, read_container, write_container
from .gguf import read_gguf
from .options import (
    LoadEndianness,
    SourceChangeWarning,
    default_restore_location,
    get_crc32_options,
    get_default_load_endianness,
    get_default_mmap_options,
    location_tag,
    register_package,
    set_crc32_options,
    set_default_load_endianness,
    set_default_mmap_options,
    skip_data,
    validate_cuda_device,
)
from .pytorch import MAGIC, read_legacy, read_zip, unsafe_names
from .pytorch_writer import members_of
from .shards import INDEX, checked_limit, read_index, write_shards
from .source import Source
from .structure import Unsupported, contents_of_tensors, decode, encode, named_tensors, register_dataclass
from .zips import write_members

__all__ = [
    "CheckpointManager",
    "LoadEndianness",
    "SourceChangeWarning",
    "add_safe_globals",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "register_package",
    "register_dataclass",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "validate_cuda_device",
]

__getattr__ = lacking(__name__)

FileLike = str | os.PathLike[str] | IO[bytes]
MapLocation = str | Device | Mapping[str, Any] | Callable[[Tensor, str], Any] | None


def save(
    obj: Any,
    f: FileLike,
    pickle_module: Any = None,
    pickle_protocol: int = 2,
    _use_new_zipfile_serialization: bool = True,
    *,
    format: str | None = None,
    max_shard_size: int | str | None = None,
) -> None:
    """Save *obj* to a file, whole or not at all.

    The format is polyad's or PyTorch's. polyad's, which is a safetensors file with checksums, holds None, bool, int,
    float, complex, str, bytes, list, tuple, dict, OrderedDict, `Size`, dtype, device, `Generator`, dataclasses that
    `register_dataclass` was told of, tensors, parameters and buffers, nested as you like; tensors are named in it by
    where they are in *obj*: ``model.0.weight``. PyTorch's holds whatever Python pickles besides: sets, slices, paths,
    NumPy's arrays and numbers, objects of classes. In both, tensors that share memory still do after loading.

    Args:
        f: a path, whose old file stays until the new file is complete; a URL such as ``s3://bucket/name``, for which
            fsspec is needed (``pip install 'polyad[remote]'``); or a binary file object with ``write``.
        pickle_module, pickle_protocol, _use_new_zipfile_serialization: PyTorch's, which choose how it pickles. Here
            there is one way, protocol 2 in a zip archive, which PyTorch reads from version 1.6 on.
        format: "polyad"; "torch", which PyTorch reads, with ``weights_only=True`` if *obj* is data; or "safetensors",
            for other programs: *obj* is then a dict of tensors by name, each of which is written by itself. None:
            "torch" for a path that ends with .pt, .pth, .pt.tar or .pth.tar and for an object that polyad's format does
            not hold, "polyad" for any other.
        max_shard_size: with format "safetensors", the most bytes of tensors that a file gets, such as "5GB". More are
            divided into files beside *f*, with an index, ``NAME.index.json``, which `load` takes.

    Raises:
        TypeError: an object in *obj* that the format does not hold. Or an *f* that is neither path nor file.
        ValueError: an unknown format, or a max_shard_size that is no size.
        PermissionError, FileNotFoundError, OSError: a path that cannot be written.

    >>> import io, polyad
    >>> file = io.BytesIO()
    >>> polyad.save({"weight": polyad.ones(2, 3), "epoch": 4}, file)
    >>> _ = file.seek(0)
    >>> polyad.load(file)["epoch"]
    4
    """
    _check_pickling("save", pickle_module)
    if isinstance(pickle_protocol, bool) or not isinstance(pickle_protocol, int):
        raise wrong_type("save", "pickle_protocol", pickle_protocol, "an int")
    if not _use_new_zipfile_serialization:
        warn_user("save: a zip archive is written, which PyTorch reads from version 1.6 on; nothing older", UserWarning)
    if format == "safetensors":
        _save_tensors(named_tensors(obj), f, max_shard_size)
        return
    if format not in (None, "polyad", "torch"):
        raise ArgumentError(f"save: format is {format!r}", fix='pass "polyad", "torch" or "safetensors"')
    if max_shard_size is not None:
        raise ArgumentError(
            "save: max_shard_size goes with format='safetensors'", fix="pass both, for a dict of tensors"
        )
    contents = None
    if format == "polyad" or (format is None and not _is_named_for_pytorch(f)):
        try:
            contents = encode(obj)
        except Unsupported:
            if format == "polyad":
                raise
    if contents is not None:
        _write(lambda stream: write_container(stream, contents), f)
        return
    members = [(f"archive/{name}", data) for name, data in members_of(obj)]
    _write(lambda stream: write_members(stream, members), f)


def _check_pickling(function: str, module: Any) -> None:
    """Refuse another module than Python's: files are written and read without it, so that they run no code."""
    if module is not None and getattr(module, "__name__", None) not in ("pickle", "_pickle"):
        raise ArgumentError(
            f"{function}: pickle_module is {safe_repr(module)}: files are written and read by polyad itself",
            fix="leave pickle_module out; what polyad does not save, pickle to bytes and save these",
        )


def _is_named_for_pytorch(f: FileLike) -> bool:
    if not isinstance(f, str | os.PathLike):
        return False
    name = os.fspath(f)
    return isinstance(name, str) and name.lower().removesuffix(".tar").endswith((".pt", ".pth"))


def _save_tensors(tensors: dict[str, Tensor], f: FileLike, max_shard_size: int | str | None) -> None:
    if max_shard_size is None:
        whole = contents_of_tensors(tensors)
        _write(lambda stream: write_container(stream, whole), f)
        return
    limit = checked_limit(max_shard_size)
    if not isinstance(f, str | os.PathLike):
        raise ArgumentTypeError("save: files of a sharded model need a path", fix="pass a path as f")

    def write(path: str, names: list[str]) -> None:
        part = contents_of_tensors({name: tensors[name] for name in names})
        _write(lambda stream: write_container(stream, part), path)

    write_shards(f, {name: tensor.nbytes for name, tensor in tensors.items()}, limit, write)


def _write(write: Callable[[IO[bytes]], None], f: FileLike) -> None:
    if isinstance(f, str | os.PathLike):
        with replacing(f, "save") as stream:
            write(stream)
    elif hasattr(f, "write"):
        try:
            write(f)
        except TypeError as error:
            raise ArgumentTypeError(
                "save: the file object takes text, not bytes", fix='open it with mode "wb"'
            ) from error
    else:
        raise _not_a_file("save", f, "write")


def load(
    f: FileLike,
    map_location: MapLocation = None,
    pickle_module: Any = None,
    *,
    weights_only: bool = True,
    mmap: bool = False,
) -> Any:
    """Load what `save` wrote, or a file of another program. No file can run code, unless you allow it.

    ===============  =================================================================================================
    file             what is loaded
    ===============  =================================================================================================
    of `save`        the object
    safetensors      a dict of its tensors; of an index ``*.index.json``, those of all the files that it names
    of PyTorch       the object, if it is data: ``.pt``, ``.pth``, ``.bin``, zip archives and older files
    .npz of NumPy    a dict of its arrays as tensors
    GGUF             a dict of its tensors; quantised ones (Q4_0 to Q8_0, Q2_K to Q6_K) as float32
    ===============  =================================================================================================

    The format is seen from the file's beginning, not from its name. The file is checked from end to end (structure,
    sizes, checksums) before anything is returned.

    Args:
        f: a path, a URL, or a binary file object with ``read``, from which just the saved bytes are taken; of formats
            other than safetensors, all.
        map_location: where tensors go. None: the device they were saved on. A device or its name: there. A dict: the
            value for the saved device's name, None's rule for names it lacks. A function ``(tensor, name)``: it gets
            each array as a 1-d tensor on the CPU with the saved device's name, and returns that tensor where it
            belongs, a device, or None.
        pickle_module: PyTorch's. Python's ``pickle`` or None: here files are read without it.
        weights_only: with True, a file gives data: numbers, text, containers, tensors, NumPy's arrays, and objects of
            classes that `add_safe_globals` or `register_dataclass` was told of. With False, which says that you trust
            who wrote it, a file of PyTorch's format also gives objects of classes whose modules the program has
            imported, such as whole models; their ``__setstate__`` is called. Other functions are not called, nothing
            is imported, and the error names what is missing.
        mmap: show the file's memory, and do not read it before it is used. *f* is a path then. What is written to the
            tensors does not reach the file; the file must not be changed meanwhile. Checksums of the data are not
            looked at, since that would read all of it.

    Raises:
        RuntimeError (SerializationError): a file that is damaged, cut off, hostile, or in another format.
        RuntimeError (BackendError): a device that the tensors were saved on is not there.
        FileNotFoundError, PermissionError, OSError: a path that cannot be read.
    """
    _check_pickling("load", pickle_module)
    classes = FileClasses(trusted=weights_only is False)
    if isinstance(f, str | os.PathLike):
        path = local_path(checked_path(f, "load"))
        place = placer(map_location, path)
        if path.endswith(INDEX):
            return read_index(path, lambda part: load(part, map_location, mmap=mmap))
        if is_remote(path):
            if mmap:
                raise ArgumentError(
                    f"load: mmap=True needs a file on this machine, and {path} is none", fix="leave mmap out"
                )
            with opened(path, "load") as stream:
                return _load_stream(stream, path, place, classes)
        with opened(path, "load") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                return _load_stream(stream, path, place, classes)
            return _load_whole(Source.of_file(path, stream, bool(mmap)), place, classes)
    if not hasattr(f, "read"):
        raise _not_a_file("load", f, "read")
    source = str(getattr(f, "name", "the file object"))
    if mmap:
        raise ArgumentTypeError("load: mmap=True needs the path of a file", fix="pass the path as f")
    return _load_stream(f, source, placer(map_location, source), classes)


def _load_stream(stream: IO[bytes], name: str, place: Callable[[Tensor, str], Tensor], classes: FileClasses) -> Any:
    begin = stream.read(8)
    if len(begin) == 8 and isinstance(begin, bytes | bytearray):
        # A file that has ended after 8 bytes is told so by what reads it.
        begin += stream.read(1)
        if _is_of_others(begin):
            return _load_whole(Source.of_memory(name, begin + stream.read()), place, classes)
    return decode(read_container(stream, name, begin), place, read_flat, name)


def _load_whole(source: Source, place: Callable[[Tensor, str], Tensor], classes: FileClasses) -> Any:
    begin = bytes(source.read(0, min(9, source.size), "the file"))
    if not _is_of_others(begin):
        return decode(contents_of(source), place, read_flat, source.name, source.mapped)
    if begin.startswith(b"GGUF"):
        return read_gguf(source, place, read_flat)
    if begin.startswith(b"PK"):
        stream = source.stream()
        if is_archive_of_arrays(stream):
            return {name: place(tensor, "cpu") for name, tensor in arrays_of(stream, source.name).items()}
        return read_zip(source, place, read_flat, classes)
    return read_legacy(source, place, read_flat, classes)


_LEGACY = b"\x8a\n" + MAGIC.to_bytes(10, "little")[:5]
_FRAME = b"\x95"


def _is_of_others(begin: bytes) -> bool:
    """Whether a file that begins so is in a format that is no container: their beginnings are no length of a header."""
    if begin[:1] == b"\x80" and begin[1:2] in (b"\2", b"\3", b"\4", b"\5"):
        return begin[2:9] == _LEGACY or (begin[2:3] == _FRAME and int.from_bytes(begin[:8], "little") > LONGEST)
    return begin.startswith((b"PK\3\4", b"GGUF"))


def read_flat(blob: Blob) -> Tensor:
    if len(blob.data) == 0:
        return empty(0, dtype=blob.dtype, device="cpu")
    return flat_array(blob.data, blob.dtype)


def placer(map_location: MapLocation, source: str) -> Callable[[Tensor, str], Tensor]:
    """The function that puts an array where *map_location* wants it."""
    if not (map_location is None or isinstance(map_location, str | Device | Mapping) or callable(map_location)):
        raise ArgumentTypeError(
            f"load: map_location is {map_location!r}",
            fix='pass None, a device such as "cpu", a dict of device names, or a function (tensor, device name)',
        )

    def place(tensor: Tensor, saved_on: str) -> Tensor:
        wanted: Any = map_location
        if isinstance(wanted, Mapping):
            wanted = wanted.get(saved_on)
        elif callable(wanted):
            wanted = wanted(tensor, saved_on)
            if isinstance(wanted, Tensor):
                if wanted.shape != tensor.shape or wanted.dtype is not tensor.dtype:
                    raise SerializationError(
                        "load: map_location returned a tensor of another shape or dtype than it was given",
                        operands={"given": tensor, "returned": wanted},
                        fix="return the given tensor, moved: tensor.to(device)",
                    )
                return wanted
        if not (wanted is None or isinstance(wanted, str | Device)):
            raise ArgumentTypeError(
                f"load: map_location gives {describe(wanted)} for what was saved on {saved_on}",
                fix='have it give a device such as "cpu", or None'
                + ("" if isinstance(map_location, Mapping) else ", or the tensor that it is given"),
            )
        try:
            moved: Tensor = tensor.to(saved_on if wanted is None else wanted)
            return moved
        except (BackendError, DeviceError) as error:
            if wanted is not None:
                raise
            missing = type(error) if isinstance(error, BackendError) else BackendUnavailable
            raise missing(
                f"load: {source} holds tensors saved on {saved_on}, which is not here: {error.message}",
                fix='pass map_location="cpu", or another device that is here',
            ) from error

    return place


def _not_a_file(op: str, f: Any, method: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{op}: f is {type(f).__name__}, neither a path nor a file object with {method}()",
        fix="pass a path, or an open binary file",
    )


def get_unsafe_globals_in_checkpoint(f: FileLike) -> list[str]:
    """The classes and functions that a file of PyTorch's format names and that `load` would not allow.

    Those of polyad's own format are none. Nothing is loaded.

    Raises:
        RuntimeError (SerializationError): a file that is damaged, or no zip archive of PyTorch's.

    >>> import argparse, io, polyad
    >>> file = io.BytesIO()
    >>> polyad.save(argparse.Namespace(lr=0.1), file)
    >>> _ = file.seek(0)
    >>> polyad.serialization.get_unsafe_globals_in_checkpoint(file)
    ['argparse.Namespace']
    """
    if isinstance(f, str | os.PathLike):
        with opened(f, "load") as stream:
            return get_unsafe_globals_in_checkpoint(stream)
    if not hasattr(f, "read"):
        raise _not_a_file("get_unsafe_globals_in_checkpoint", f, "read")
    return unsafe_names(Source.of_memory(str(getattr(f, "name", "the file object")), f.read()))
