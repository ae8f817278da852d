"""IDX files, the format of MNIST: a big-endian header of sizes, then bytes; often compressed with gzip.

    2 bytes  zero
    1 byte   element type: 8 is unsigned bytes
    1 byte   number of dimensions n
    4n bytes sizes, unsigned big-endian
    data     row-major

Source: http://yann.lecun.com/exdb/mnist/ ("the IDX file format"). Invariant: no more is unpacked than
`unpacked_at_most` allows for the file, and the sizes must fit the data exactly.
"""

from __future__ import annotations

import gzip
import math
import os
import struct
import zlib
from typing import IO

from ..base import dtypes
from ..base.shapes_and_strides import LARGEST_RANK, is_addressable
from ..errors import SerializationError
from ..files import checked_path, opened, unpacked_at_most
from ..interop.numpy import frombuffer
from ..tensor import Tensor

__all__ = ["read_idx"]

GZIP = b"\x1f\x8b"
UNSIGNED_BYTES = 8


def read_idx(path: str | os.PathLike[str]) -> Tensor:
    """The array of an IDX file, gzip-compressed or not, as a uint8 tensor on the CPU.

    Raises:
        FileNotFoundError, PermissionError, OSError: a path that cannot be read.
        RuntimeError (SerializationError): a file that is no IDX file of bytes, is cut off, has data left over, or
            unpacks to more than a hundred times its size and 64 MiB.

    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "labels-idx1-ubyte")
    >>> _ = file.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 8, 9]))
    >>> read_idx(file)
    tensor([7, 8, 9], dtype=polyad.uint8)
    """
    name = checked_path(path, "read_idx")
    with opened(path, "read_idx") as file:
        size = os.fstat(file.fileno()).st_size
        compressed = file.peek(2)[:2] == GZIP  # type: ignore[attr-defined]  # a BufferedReader
        if not compressed:
            return _read(file, size, name)
        try:
            with gzip.GzipFile(fileobj=file) as stream:
                return _read(stream, unpacked_at_most(size), name)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise _damaged(name, f"cannot be unpacked: {error}") from error


def _read(stream: IO[bytes] | gzip.GzipFile, at_most: int, name: str) -> Tensor:
    start = stream.read(4)
    if len(start) < 4 or start[:2] != b"\0\0":
        raise _damaged(name, f"is not an IDX file: it begins with {start.hex(' ') or 'nothing'}, not with 00 00")
    code, rank = start[2], start[3]
    if code != UNSIGNED_BYTES or rank == 0:
        raise _damaged(
            name, f"holds {rank}-d elements of IDX type 0x{code:02x}; only arrays of unsigned bytes (0x08) are read"
        )
    if rank > LARGEST_RANK:
        raise _damaged(name, f"has {rank} dimensions; a tensor has {LARGEST_RANK} at most")
    header = stream.read(4 * rank)
    if len(header) < 4 * rank:
        raise _damaged(name, "is cut off inside its header")
    shape = struct.unpack(f">{rank}I", header)
    count = math.prod(shape)
    if count > at_most or not is_addressable(shape, 1):
        raise _damaged(name, f"says its shape is {shape}, which is more than a file of its size can hold")
    data = bytearray(stream.read(count))
    if len(data) < count:
        raise _damaged(name, f"is cut off: shape {shape} takes {count} bytes, of which {len(data)} are there")
    if stream.read(1):
        raise _damaged(name, f"goes on after the {count} bytes of shape {shape}")
    return frombuffer(data, dtype=dtypes.uint8).reshape(shape) if count else _empty(shape)


def _empty(shape: tuple[int, ...]) -> Tensor:
    from ..ops.creation.factories import empty

    return empty(shape, dtype=dtypes.uint8, device="cpu")


def _damaged(name: str, what: str) -> SerializationError:
    return SerializationError(
        f"read_idx: {name} {what}", fix="fetch the file again; it should be an IDX file, plain or .gz"
    )
