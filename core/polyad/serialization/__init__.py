"""save and load: nested Python data and tensors in a file, without pickle.

Loading runs no code that a file could choose, checks everything before it returns anything, and saving never leaves
half a file. `polyad.serialization.container` describes the bytes (a safetensors file),
`polyad.serialization.structure` what may be saved.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import IO, Any

from ..device import Device
from ..errors import ArgumentTypeError, BackendError, BackendUnavailable, DeviceError, SerializationError
from ..files import opened, replacing
from ..interop.numpy import frombuffer
from ..ops.creation.factories import empty
from ..tensor import Tensor
from .container import Blob, read_container, write_container
from .structure import decode, encode

__all__ = ["load", "save"]

FileLike = str | os.PathLike[str] | IO[bytes]
MapLocation = str | Device | Mapping[str, Any] | Callable[[Tensor, str], Any] | None


def save(obj: Any, f: FileLike) -> None:
    """Save *obj* to a file, whole or not at all.

    What can be saved: None, bool, int, float, complex, str, bytes, list, tuple, dict, OrderedDict, `Size`, dtype,
    device, tensors, parameters and buffers, nested as you like. Tensors that share memory still do after loading. The
    file is a safetensors file; tensors are named in it by where they are in *obj*: ``model.0.weight``.

    Args:
        f: a path, whose old file stays until the new file is complete; or a binary file object with ``write``.

    Raises:
        TypeError: an object of another type in *obj*; the message says where. Or an *f* that is neither path nor file.
        PermissionError, FileNotFoundError, OSError: a path that cannot be written.

    >>> import io, polyad
    >>> file = io.BytesIO()
    >>> polyad.save({"weight": polyad.ones(2, 3), "epoch": 4}, file)
    >>> _ = file.seek(0)
    >>> polyad.load(file)["epoch"]
    4
    """
    contents = encode(obj)
    if isinstance(f, str | os.PathLike):
        with replacing(f, "save") as stream:
            write_container(stream, contents)
    elif hasattr(f, "write"):
        try:
            write_container(f, contents)
        except TypeError as error:
            raise ArgumentTypeError(
                "save: the file object takes text, not bytes", fix='open it with mode "wb"'
            ) from error
    else:
        raise _not_a_file("save", f, "write")


def load(f: FileLike, map_location: MapLocation = None, *, weights_only: bool = True) -> Any:
    """Load what `save` wrote; or, from any other safetensors file, a dict of its tensors.

    The file is checked from end to end (structure, sizes, checksums) before anything is returned. No file can run code.

    Args:
        f: a path, or a binary file object with ``read``, from which just the saved bytes are taken.
        map_location: where tensors go. None: the device they were saved on. A device or its name: there. A dict: the
            value for the saved device's name, None's rule for names it lacks. A function ``(tensor, name)``: it gets
            each array as a 1-d tensor on the CPU with the saved device's name, and returns that tensor where it
            belongs, a device, or None.
        weights_only: accepted for code written for PyTorch; it makes no difference, since no file can hold more
            than data.

    Raises:
        RuntimeError (SerializationError): a file that is damaged, cut off, hostile, or in another format.
        RuntimeError (BackendError): a device that the tensors were saved on is not there.
        FileNotFoundError, PermissionError, OSError: a path that cannot be read.
    """
    if isinstance(f, str | os.PathLike):
        source = os.fspath(f)
        with opened(f, "load") as stream:
            contents = read_container(stream, _size_left(stream), source)
    elif hasattr(f, "read"):
        source = str(getattr(f, "name", "the file object"))
        contents = read_container(f, None, source)
    else:
        raise _not_a_file("load", f, "read")
    return decode(contents, _placer(map_location, source), _flat, source)


def _size_left(stream: IO[bytes]) -> int | None:
    """Bytes to the end of a regular file; None for pipes and devices, which do not know."""
    import stat

    status = os.fstat(stream.fileno())
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _flat(blob: Blob) -> Tensor:
    if len(blob.data) == 0:
        return empty(0, dtype=blob.dtype, device="cpu")
    return frombuffer(blob.data, dtype=blob.dtype)


def _placer(map_location: MapLocation, source: str) -> Callable[[Tensor, str], Tensor]:
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
