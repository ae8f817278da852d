"""The file: named arrays of raw little-endian bytes behind a JSON header.

    8 bytes   length of the header, unsigned little-endian
    header    JSON: {name: {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, "__metadata__": {key: text}}
    data      the arrays, one after another, without gaps, uncompressed

This is the safetensors layout (https://github.com/huggingface/safetensors#format), so that any program that reads
safetensors reads the tensors of a polyad file. What polyad adds is in ``__metadata__`` (see
`polyad.serialization.structure`).

Invariants: reading trusts nothing. The header must be the JSON described here and nothing else, offsets must tile the
data exactly, and no memory is taken before the file has been seen to hold that many bytes. Nothing is compressed,
no name is used as a path, no value is looked up as code.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import IO, Any

from ..base import dtypes
from ..base.shapes_and_strides import is_addressable
from ..errors import SerializationError
from ..files.json_text import LONGEST, excess, parsed
from .source import Source, damaged, of_each

__all__ = ["Blob", "Contents", "contents_of", "damaged", "header_length", "read_container", "write_container"]

METADATA = "__metadata__"
CHUNK = 1 << 24

DTYPE_TO_CODE = {
    dtypes.bool_: "BOOL",
    dtypes.uint8: "U8",
    dtypes.int8: "I8",
    dtypes.int16: "I16",
    dtypes.int32: "I32",
    dtypes.int64: "I64",
    dtypes.float16: "F16",
    dtypes.bfloat16: "BF16",
    dtypes.float32: "F32",
    dtypes.float64: "F64",
    dtypes.complex64: "C64",
    dtypes.uint16: "U16",
    dtypes.uint32: "U32",
    dtypes.uint64: "U64",
    dtypes.float8_e4m3fn: "F8_E4M3",
    dtypes.float8_e4m3fnuz: "F8_E4M3FNUZ",
    dtypes.float8_e5m2: "F8_E5M2",
    dtypes.float8_e5m2fnuz: "F8_E5M2FNUZ",
    dtypes.float8_e8m0fnu: "F8_E8M0",
}
CODE_TO_DTYPE = {code: dtype for dtype, code in DTYPE_TO_CODE.items()}

FOREIGN = {
    b"PK\x05\x06": "an empty zip archive",
    b"\x80\x02": "a Python pickle",
    b"\x80\x04": "a Python pickle",
    b"\x80\x05": "a Python pickle",
    b"\x93NUMPY": "a NumPy array",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "gzip-compressed",
}


@dataclass(frozen=True, slots=True)
class Blob:
    """One array of a file. ``data`` holds its bytes, little-endian; complex128 is stored as pairs of float64.

    ``checksum`` is the CRC-32 of the bytes in the file, where it is known.
    """

    dtype: dtypes.DType
    shape: tuple[int, ...]
    data: Any
    checksum: int | None = None


@dataclass(frozen=True, slots=True)
class Contents:
    """What a file holds."""

    blobs: dict[str, Blob]
    metadata: dict[str, str]

    @property
    def is_of_polyad(self) -> bool:
        """Whether the file says to be polyad's, which has a structure and checksums, not only named arrays."""
        return not self.metadata.keys().isdisjoint(("polyad", "polyad.crc32"))


def write_container(stream: IO[bytes], contents: Contents) -> None:
    """Write *contents* to a binary *stream*. The caller vouches for shapes that agree with the data."""
    header: dict[str, Any] = {METADATA: contents.metadata}
    end = 0
    # The widest elements first: so each array begins at a multiple of its elements' size, and can be mapped.
    blobs = dict(sorted(contents.blobs.items(), key=lambda item: -_width(item[1].dtype)))
    for name, blob in blobs.items():
        begin, end = end, end + len(blob.data)
        dtype, shape = blob.dtype, blob.shape
        if dtype not in DTYPE_TO_CODE:  # complex128
            dtype, shape = dtype.to_real(), (*shape, 2)
        header[name] = {"dtype": DTYPE_TO_CODE[dtype], "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":"), allow_nan=False).encode("ascii")
    text += b" " * (-len(text) % 8)
    check_size(text)
    stream.write(len(text).to_bytes(8, "little") + text)
    for blob in blobs.values():
        stream.write(swapped(blob.data, blob.dtype))


def _width(dtype: dtypes.DType) -> int:
    """Bytes of an element that is read or written at once."""
    return dtype.itemsize // 2 if dtype.is_complex else dtype.itemsize


def check_size(text: bytes) -> None:
    """Raise SerializationError if *text* is more than `read_container` takes."""
    too_much = excess(text)
    if too_much is not None:
        raise SerializationError(
            f"save: without its tensors the object is too much for a file: as JSON, {too_much}",
            fix="turn long lists of numbers into tensors, or save parts of it in files of their own",
        )


def read_container(stream: IO[bytes], source: str, begin: bytes = b"") -> Contents:
    """Read just the container's bytes from a binary *stream*, which may have more behind them.

    Args:
        source: what to call the file in errors.
        begin: what was read of it already, at most 9 bytes.

    Raises:
        SerializationError: whatever is wrong with it.
    """
    length = header_length(begin, source)
    header = bytes(_read_exactly(stream, length - len(begin) + 8, source, "the header", begin[8:]))
    entries, metadata = _checked_header(header, source)
    blobs = {}
    for name, (dtype, shape, begin_at, end) in entries.items():
        data = _read_exactly(stream, end - begin_at, source, f"tensor {name!r}")
        blobs[name] = Blob(dtype, shape, swapped(data, dtype))
    return Contents(blobs, metadata)


def contents_of(source: Source) -> Contents:
    """The container that fills *source* from end to end.

    Raises:
        SerializationError: whatever is wrong with it.
    """
    if not source.size:
        source.read_something()  # what says that it is empty may refuse to be read
    length = header_length(bytes(source.read(0, min(9, source.size), "the file")), source.name)
    header = bytes(source.read(8, length, "the header"))
    entries, metadata = _checked_header(header, source.name)
    total = 8 + length + max((end for *_, end in entries.values()), default=0)
    if source.size != total:
        state = "is truncated" if source.size < total else "has more data than its header says"
        raise damaged(source.name, f"{state}: {source.size} bytes, and {total} are described")
    contents = Contents({}, metadata)

    def blob(item: tuple[str, tuple[dtypes.DType, tuple[int, ...], int, int]]) -> Blob:
        name, (dtype, shape, begin, end) = item
        where = (8 + length + begin, end - begin, f"tensor {name!r}")
        data, checksum = source.data_and_checksum(*where) if contents.is_of_polyad else (source.data(*where), None)
        return Blob(dtype, shape, swapped(data, dtype), checksum)

    blobs = of_each(blob, entries.items(), 0 if source.mapped else total)
    contents.blobs.update(zip(entries, blobs, strict=True))
    return contents


def header_length(begin: bytes, source: str) -> int:
    """The length of the header, from the file's first 9 bytes.

    Raises:
        SerializationError: the file does not begin as a container does.
    """
    if not isinstance(begin, bytes | bytearray):
        raise damaged(source, "gives text, not bytes", fix='open it with mode "rb"')
    if len(begin) < 8:
        raise damaged(source, f"ends after {len(begin)} bytes")
    length = int.from_bytes(begin[:8], "little")
    if length > LONGEST or begin[8:] != b"{":
        # Looked at only now: a header's length may look like another format's first bytes.
        format_ = next((format_ for magic, format_ in FOREIGN.items() if begin.startswith(magic)), None)
        if format_ is None:
            raise damaged(source, "does not begin as a polyad or safetensors file does")
        raise damaged(
            source,
            f"is {format_}, which polyad.load does not read",
            fix="convert it with the program that wrote it: tensors of other libraries come in as safetensors files",
        )
    return length


def _checked_header(
    text: bytes, source: str
) -> tuple[dict[str, tuple[dtypes.DType, tuple[int, ...], int, int]], dict[str, str]]:
    header = _parsed(text, source)
    metadata = header.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(text, str) for text in metadata.values()):
        raise damaged(source, f"has {METADATA} that is not text")
    return _checked_entries(header, source), metadata


def swapped(data: Any, dtype: dtypes.DType) -> Any:
    """Data turned from little-endian into this machine's byte order, or back: on most machines, the data itself."""
    width = _width(dtype)
    if sys.byteorder == "little" or width == 1:
        return data
    result = bytearray(len(data))
    for byte in range(width):
        result[byte::width] = data[width - 1 - byte :: width]
    return result


def _parsed(text: bytes, source: str) -> dict[str, Any]:
    try:
        header = parsed(text)
    except ValueError as error:
        raise damaged(source, f"has a header that cannot be read: {error}") from error
    if not isinstance(header, dict):
        raise damaged(source, "has a header that is not a JSON object")
    return header


def _checked_entries(
    header: Mapping[str, Any], source: str
) -> dict[str, tuple[dtypes.DType, tuple[int, ...], int, int]]:
    entries = {}
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise damaged(source, f"describes tensor {name!r} by something else than dtype, shape and data_offsets")
        dtype = CODE_TO_DTYPE.get(entry["dtype"]) if isinstance(entry["dtype"], str) else None
        if dtype is None:
            raise damaged(source, f"has tensor {name!r} of dtype {entry['dtype']!r}, which polyad does not have")
        shape, offsets = entry["shape"], entry["data_offsets"]
        if not are_counts(shape) or not are_counts(offsets) or len(offsets) != 2:
            raise damaged(source, f"has tensor {name!r} with sizes or offsets that are not counts")
        if not is_addressable(shape, dtype.itemsize):
            raise damaged(source, f"gives tensor {name!r} the shape {tuple(shape)}, which no memory holds")
        if math.prod(shape) * dtype.itemsize != offsets[1] - offsets[0]:
            raise damaged(source, f"gives tensor {name!r} of shape {tuple(shape)} {offsets[1] - offsets[0]} bytes")
        entries[name] = (dtype, tuple(shape), offsets[0], offsets[1])
    expected = 0
    entries = dict(sorted(entries.items(), key=lambda entry: entry[1][2:]))
    for name, (_, _, begin, end) in entries.items():
        if begin != expected:
            overlap = "overlaps another" if begin < expected else "leaves a gap before it"
            raise damaged(source, f"has tensor {name!r} at bytes {begin} to {end}, which {overlap}")
        expected = end
    return entries


def are_counts(values: Any, at_most: int = 64) -> bool:
    """Whether this is a list of at most 64 integers from 0 to 2**63 - 1."""
    return (
        isinstance(values, list)
        and len(values) <= at_most
        and all(type(value) is int and 0 <= value < 2**63 for value in values)
    )


def _read_exactly(stream: IO[bytes], count: int, source: str, what: str, begin: bytes = b"") -> bytearray:
    """*begin* and *count* bytes after it, taken in chunks, so that a false count costs no memory."""
    data = bytearray(begin)
    count += len(begin)
    read: Callable[[int], bytes] = stream.read
    while len(data) < count:
        chunk = read(min(CHUNK, count - len(data)))
        if not chunk:
            raise damaged(source, f"is truncated: {what} has {count} bytes, of which {len(data)} are there")
        data += chunk
    return data
