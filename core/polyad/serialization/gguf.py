"""GGUF files, the models of llama.cpp and its like: tensors by name, quantised ones as float32.

    https://github.com/ggml-org/ggml/blob/master/docs/gguf.md

    magic "GGUF", version, count of tensors, count of entries; entries (key, type, value); for each tensor name, sizes
    (the fastest first), type and place; then, aligned, the data

Invariants: counts are believed only as far as the file has bytes for them; every tensor lies within the file, and all
tensors together take no more bytes than it has.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

from ..base import dtypes
from ..base.dtypes import DType
from ..base.shapes_and_strides import is_addressable
from ..interop.quantized import FORMATS, dequantized
from ..tensor import Tensor
from .container import Blob, swapped
from .source import Source, damaged

__all__ = ["read_gguf"]

PLAIN: dict[int, DType] = {
    0: dtypes.float32, 1: dtypes.float16, 24: dtypes.int8, 25: dtypes.int16, 26: dtypes.int32, 27: dtypes.int64,
    28: dtypes.float64, 30: dtypes.bfloat16,
}  # fmt: skip
QUANTIZED = {
    2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0", 10: "Q2_K", 11: "Q3_K", 12: "Q4_K", 13: "Q5_K", 14: "Q6_K",
}  # fmt: skip
OTHERS = {
    9: "Q8_1", 15: "Q8_K", 16: "IQ2_XXS", 17: "IQ2_XS", 18: "IQ3_XXS", 19: "IQ1_S", 20: "IQ4_NL", 21: "IQ3_S",
    22: "IQ2_S", 23: "IQ4_XS", 29: "IQ1_M", 34: "TQ1_0", 35: "TQ2_0", 39: "MXFP4",
}  # fmt: skip
NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
TEXT, ARRAY = 8, 9
MOST_TENSORS = 1 << 17
MOST_DIMENSIONS = 4
CHUNK = 1 << 20
ALIGNMENT = b"general.alignment"


class _Header:
    """Reads the file from its beginning, a megabyte at a time."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self.at = 0
        self._begin, self._chunk = 0, b""

    def take(self, count: int) -> bytes:
        begin = self.at
        if begin + count > self._source.size:
            raise damaged(self._source.name, "is truncated within its header")
        if not self._begin <= begin <= begin + count <= self._begin + len(self._chunk):
            size = min(max(count, CHUNK), self._source.size - begin)
            self._begin, self._chunk = begin, bytes(self._source.read(begin, size, "the header"))
        self.at += count
        return self._chunk[begin - self._begin : begin - self._begin + count]

    def skip(self, count: int) -> None:
        if count > self._source.size - self.at:
            raise damaged(self._source.name, "is truncated within its header")
        self.at += count

    def number(self, form: str) -> Any:
        return struct.unpack(f"<{form}", self.take(struct.calcsize(f"<{form}")))[0]

    def text(self) -> bytes:
        return self.take(self.number("Q"))


def read_gguf(source: Source, place: Callable[[Tensor, str], Tensor], flat: Callable[[Blob], Tensor]) -> Any:
    """The tensors of a GGUF file by name.

    Raises:
        SerializationError: whatever is wrong with it, or a format of numbers that is not read.
    """
    header = _Header(source)
    if header.take(4) != b"GGUF":
        raise damaged(source.name, "is no GGUF file")
    version = header.number("I")
    if version not in (2, 3):
        raise damaged(
            source.name,
            f"has version {version} of GGUF, and versions 2 and 3 are read",
            fix="convert it with the program that wrote it, or install a newer polyad: pip install --upgrade polyad",
        )
    count, entries = header.number("Q"), header.number("Q")
    alignment = 32
    for _ in range(entries):
        key, kind = header.text(), header.number("I")
        if key == ALIGNMENT and kind == 4:
            alignment = header.number("I")
        else:
            _skip(header, kind, source, 0)
    if count > MOST_TENSORS or alignment == 0 or alignment % 8:
        raise damaged(source.name, f"has {count:,} tensors, aligned to {alignment} bytes")
    described = [_read_tensor_info(header, source) for _ in range(count)]
    begin = -(-header.at // alignment) * alignment
    if len({name for name, *_ in described}) != count:
        raise damaged(source.name, "has two tensors of one name")
    if sum(size for *_, size in described) > source.size - begin:
        raise damaged(source.name, "is truncated: its tensors are larger than it")
    loaded = {}
    for name, shape, kind, at, size in described:
        data = source.data(begin + at, size, f"tensor {name!r}")
        if kind in PLAIN:
            dtype = PLAIN[kind]
            tensor = flat(Blob(dtype, shape, swapped(data, dtype)))
        else:
            tensor = dequantized(data, QUANTIZED[kind]) if size else flat(Blob(dtypes.float32, shape, b""))
        loaded[name] = place(tensor, "cpu").reshape(shape)
    return loaded


def _read_tensor_info(header: _Header, source: Source) -> tuple[str, tuple[int, ...], int, int, int]:
    """Name, shape, type, place and size in bytes of a tensor."""
    try:
        name = header.text().decode("utf-8")
    except UnicodeDecodeError:
        raise damaged(source.name, "has a tensor whose name is no text") from None
    rank = header.number("I")
    if rank > MOST_DIMENSIONS:
        raise damaged(source.name, f"has tensor {name!r} of {rank} dimensions")
    shape = tuple(header.number("Q") for _ in range(rank))[::-1]
    kind, at = header.number("I"), header.number("Q")
    if kind not in PLAIN and kind not in QUANTIZED:
        raise damaged(
            source.name,
            f"has tensor {name!r} in format {OTHERS.get(kind, kind)}, which is not read",
            fix=f"convert it to one of {', '.join(QUANTIZED.values())}, F16 or F32 with llama-quantize",
        )
    numbers, size, _ = FORMATS[QUANTIZED[kind]] if kind in QUANTIZED else (1, PLAIN[kind].itemsize, None)
    if (shape[-1] if shape else 1) % numbers or not is_addressable(shape, 8):
        raise damaged(source.name, f"has tensor {name!r} of shape {shape}, which is not of whole blocks")
    return name, shape, kind, at, math.prod(shape) // numbers * size


def _skip(header: _Header, kind: int, source: Source, depth: int) -> None:
    """Pass over a value."""
    if kind in NUMBERS:
        header.skip(struct.calcsize(NUMBERS[kind]))
    elif kind == TEXT:
        header.skip(header.number("Q"))
    elif kind == ARRAY and depth < 8:
        inner, count = header.number("I"), header.number("Q")
        if inner in NUMBERS:
            header.skip(count * struct.calcsize(NUMBERS[inner]))
        else:
            for _ in range(count):
                _skip(header, inner, source, depth + 1)
    else:
        raise damaged(source.name, f"has a value of type {kind}, which GGUF does not have")
