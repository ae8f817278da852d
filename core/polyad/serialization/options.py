"""What PyTorch's serialization can be told: names that programs set and read. What has one meaning here says so."""

from __future__ import annotations

import enum
import mmap
from types import TracebackType
from typing import Any

from ..base.device import Device
from ..compatibility.absent import stand_in
from ..errors import ArgumentError, DeviceError, NotSupported, safe_repr

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "location_tag",
    "register_package",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "validate_cuda_device",
]


register_package = stand_in("serialization.register_package")
skip_data = stand_in("serialization.skip_data")


class LoadEndianness(enum.Enum):
    """Orders of bytes that a file may have. polyad's files, and those of PyTorch that it reads, are little-endian."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


class SourceChangeWarning(Warning):
    """PyTorch warns so of a whole module whose class has changed since it was saved; polyad keeps no source."""


def get_crc32_options() -> bool:
    """Whether `save` computes checksums: always."""
    return True


def set_crc32_options(compute_crc32: bool) -> None:
    """Have checksums computed, as they always are.

    Raises:
        NotImplementedError: *compute_crc32* is False; a file without them is damaged unnoticed.
    """
    if not compute_crc32:
        raise NotSupported("set_crc32_options: files have checksums always", fix="leave the call out")


def get_default_load_endianness() -> LoadEndianness | None:
    """The order of bytes in files that do not say theirs: None, which is little-endian."""
    return None


def set_default_load_endianness(endianness: LoadEndianness | None) -> None:
    """Have files that do not say their order of bytes read as little-endian, as they always are.

    Raises:
        NotImplementedError: *endianness* is BIG.
    """
    if endianness is LoadEndianness.BIG:
        raise NotSupported(
            "set_default_load_endianness: big-endian files are not read", fix="save them again on another machine"
        )


def get_default_mmap_options() -> int | None:
    """How ``load(mmap=True)`` maps files: privately, so that what is written to tensors does not reach the file."""
    return getattr(mmap, "MAP_PRIVATE", None)


class set_default_mmap_options:
    """Have files mapped privately, as they always are; a function, and a context.

    Raises:
        NotImplementedError: ``mmap.MAP_SHARED``, by which a program would write to its checkpoints.
        ValueError: any other flag.
    """

    def __init__(self, flags: int) -> None:
        if flags == getattr(mmap, "MAP_SHARED", None):
            raise NotSupported(
                "set_default_mmap_options: a file is not changed by its tensors", fix="save the tensors again"
            )
        if flags != getattr(mmap, "MAP_PRIVATE", None):
            raise ArgumentError(f"set_default_mmap_options: flags is {safe_repr(flags)}", fix="pass mmap.MAP_PRIVATE")

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


def location_tag(storage: Any) -> str:
    """The name by which a file says where a storage, or a tensor, was.

    >>> import polyad
    >>> polyad.serialization.location_tag(polyad.ones(2).untyped_storage())
    'cpu'
    """
    return str(storage.device)


def default_restore_location(storage: Any, location: str) -> Any:
    """The tensor on the device that *location* names: for a ``map_location`` that changes some locations.

    >>> import polyad
    >>> polyad.serialization.default_restore_location(polyad.ones(2), "cpu")
    tensor([1., 1.])
    """
    return storage.to(location)


def validate_cuda_device(location: str) -> int:
    """The number of the cuda device that *location* names; raises RuntimeError if there is none."""
    device = Device(location)
    if device.type != "cuda":
        raise DeviceError(f"validate_cuda_device: {safe_repr(location)} is no cuda device", fix='pass "cuda:0"')
    from ..functions import empty

    empty(0, device=device)  # raises if the device is not there
    return device.index or 0
