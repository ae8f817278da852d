"""NumPy archives (.npz) as tensors: the zip files that numpy.savez writes, of arrays of numbers.

    https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html

Invariants: a header is text of the form that NumPy writes and is taken apart by a regular expression; nothing of it is
evaluated. What an archive says of itself is checked before memory is taken for it: members are stored or deflated, not
many, and no larger together than `unpacked_at_most` allows; the size of an array is the size of its member.
"""

from __future__ import annotations

import math
import os
import re
import struct
import zipfile
import zlib
from typing import IO

import numpy

from ..base.shapes_and_strides import is_addressable
from ..errors import SerializationError
from ..files import opened, unpacked_at_most
from ..tensor import Tensor
from .numpy import from_numpy

__all__ = ["array_of", "arrays_of", "is_archive_of_arrays", "read_npz"]

MOST_MEMBERS = 10_000
DIRECTORY_ENTRY = b"PK\1\2"
LONGEST_HEADER = 10_000
LONGEST_NAME = 1 << 16
CHUNK = 1 << 18

_FIELD = re.compile(
    r"\s*(?:'descr'\s*:\s*'(?P<descr>[<>|=][a-z][0-9]{1,2})'"
    r"|'fortran_order'\s*:\s*(?P<order>True|False)"
    r"|'shape'\s*:\s*\((?P<shape>\s*(?:[0-9]{1,19}L?\s*,\s*)*(?:[0-9]{1,19}L?\s*)?)\)\s*)\s*(?:,|$)"
)


class _Unfit(Exception):
    """What is wrong with the archive, in words."""


def read_npz(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """The arrays of an .npz file by name, on the CPU. Pickled objects are refused.

    Raises:
        FileNotFoundError, PermissionError, OSError: a path that cannot be read.
        RuntimeError (SerializationError): a file that is no archive of number arrays, or that unpacks to more than a
            hundred times its size and 64 MiB.
    """
    with opened(path, "read_npz") as stream:
        return arrays_of(stream, os.fspath(path), "read_npz")


def arrays_of(stream: IO[bytes], name: str, op: str = "load") -> dict[str, Tensor]:
    """What `read_npz` gives, of an open file; *name* and *op* are for errors."""
    size, entries = _measured(stream)
    try:
        return _arrays(stream, size, entries)
    except (
        _Unfit, ValueError, TypeError, EOFError, RuntimeError, OverflowError, OSError, struct.error,
        zipfile.BadZipFile, zlib.error,
    ) as error:  # fmt: skip
        # OSError too: the disk has given all of the file before; zipfile seeks to where records say.
        raise SerializationError(
            f"{op}: {name} cannot be read as an archive of arrays: {error}",
            fix="write it with numpy.savez or numpy.savez_compressed, from arrays of numbers",
        ) from error


def array_of(data: bytes, name: str, op: str) -> Tensor:
    """The array of a .npy file's bytes, on the CPU; *name* and *op* are for errors.

    Raises SerializationError for what is no array of numbers.
    """
    try:
        return from_numpy(_array(data, name))
    except (_Unfit, ValueError, TypeError, OverflowError) as error:
        raise SerializationError(
            f"{op}: {name} cannot be read as an array: {error}",
            fix="write it with numpy.save, from an array of numbers",
        ) from error


def is_archive_of_arrays(stream: IO[bytes]) -> bool:
    """Whether the zip archive's first member is called as NumPy's are; the stream stays at its beginning."""
    begin = stream.read(30 + LONGEST_NAME)
    stream.seek(0)
    size = int.from_bytes(begin[26:28], "little")
    return begin[:4] == b"PK\3\4" and begin[30 : 30 + size].endswith(b".npy")


def _measured(stream: IO[bytes]) -> tuple[int, int]:
    """How many bytes the file has, and at most how many entries its directory."""
    size, entries, before = 0, 0, b""
    while chunk := stream.read(CHUNK):
        entries += (before + chunk).count(DIRECTORY_ENTRY)
        before = chunk[-len(DIRECTORY_ENTRY) + 1 :]
        size += len(chunk)
    return size, entries


def _arrays(stream: IO[bytes], size: int, entries: int) -> dict[str, Tensor]:
    if entries > MOST_MEMBERS:
        raise _Unfit(f"it has more than {MOST_MEMBERS:,} members")
    arrays: dict[str, Tensor] = {}
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        unpacked = sum(member.file_size for member in members)
        if unpacked > unpacked_at_most(size):
            raise _Unfit(f"its {size:,} bytes unpack to {unpacked:,}, more than numbers do")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name == member.filename or name in arrays:
                raise _Unfit(f"member {member.filename!r} is {'no array' if name not in arrays else 'there twice'}")
            if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.flag_bits & 1:
                raise _Unfit(f"member {member.filename!r} is encrypted, or packed in another way than NumPy's")
            if member.compress_size > size:  # so much would be asked for before the end is seen
                raise _Unfit(f"member {member.filename!r} has more bytes than the file")
            with archive.open(member) as file:
                arrays[name] = from_numpy(_array(file.read(), member.filename))
    return arrays


def _array(data: bytes, name: str) -> numpy.ndarray:
    """The array of a .npy file."""
    if data[:6] != b"\x93NUMPY" or len(data) < 12:
        raise _Unfit(f"member {name!r} is no array")
    width = 2 if data[6] == 1 else 4
    start = 8 + width
    end = start + int.from_bytes(data[8:start], "little")
    fields: dict[str, str] = {}
    if data[6] in (1, 2, 3) and end - start <= LONGEST_HEADER and end <= len(data):
        fields = _fields(data[start:end].decode("latin-1").strip())
    if not fields:
        raise _Unfit(f"member {name!r} has a header that is not of an array of numbers")
    dtype = numpy.dtype(fields["descr"])
    shape = tuple(int(size.strip().rstrip("L")) for size in fields["shape"].split(",") if size.strip())
    if not is_addressable(shape, dtype.itemsize) or math.prod(shape) * dtype.itemsize != len(data) - end:
        raise _Unfit(f"member {name!r} of dtype {dtype} and shape {shape} has {len(data) - end:,} bytes")
    if dtype.hasobject:
        raise _Unfit(f"member {name!r} holds Python objects")
    flat = numpy.frombuffer(data, dtype, offset=end).astype(dtype.newbyteorder("="))
    if dtype.kind == "b" and flat.view(numpy.uint8).max(initial=0) > 1:
        raise _Unfit(f"member {name!r} is bool, with values that are neither 0 nor 1")
    return flat.reshape(shape, order="F" if fields["order"] == "True" else "C")


def _fields(header: str) -> dict[str, str]:
    """The three fields of a .npy header; nothing if it has others, or not all of them."""
    if not (header.startswith("{") and header.endswith("}")):
        return {}
    found: dict[str, str] = {}
    text, at = header[1:-1], 0
    while at < len(text) and text[at:].strip():
        match = _FIELD.match(text, at)
        if match is None:
            return {}
        found.update({key: value for key, value in match.groupdict().items() if value is not None})
        at = match.end()
    return found if len(found) == 3 else {}
