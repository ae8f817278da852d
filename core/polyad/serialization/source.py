"""A file's bytes, wherever they are: on the disk, mapped into memory, or read already.

Invariant: no more is read, and no more memory is taken, than the file has bytes.
"""

from __future__ import annotations

import io
import mmap
import os
import threading
import zlib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import IO, Any, TypeVar

from ..errors import SerializationError
from ..interop.numpy import room

__all__ = ["Source", "damaged", "of_each"]

T = TypeVar("T")
R = TypeVar("R")


def damaged(source: str, what: str, fix: str | None = None) -> SerializationError:
    """The error for a file that is not what it should be."""
    return SerializationError(
        f"load: {source} {what}", fix=fix or "use another copy: the file is damaged, or polyad.save did not write it"
    )


_CAN_READ_AT = hasattr(os, "preadv")
CHUNK = 1 << 19
_LARGE = 1 << 23
"""Bytes, from which on it is worth it to work on several arrays at a time."""


def of_each(compute: Callable[[T], R], items: Iterable[T], size: int) -> list[R]:
    """*compute* of each item, in several threads where all are large together: it lets go of the interpreter."""
    if size < _LARGE:
        return [compute(item) for item in items]
    with ThreadPoolExecutor(min(4, os.cpu_count() or 1), "polyad file") as threads:
        return list(threads.map(compute, items))


class Source:
    """The bytes of a file.

    Attributes:
        name: what to call it in errors.
        size: how many there are.
        mapped: whether `data` shows the file's memory, and does not copy it.
    """

    def __init__(self, name: str, size: int, file: IO[bytes] | None, memory: Any) -> None:
        self.name = name
        self.size = size
        self._file = file
        self._memory = None if memory is None else memoryview(memory)
        self.mapped = False
        self._seeking = threading.Lock()

    @classmethod
    def of_file(cls, name: str, file: IO[bytes], mapped: bool) -> Source:
        """Of a regular file that is open. Writes to the memory of a mapped file do not reach the file."""
        size = os.fstat(file.fileno()).st_size
        if not mapped or size == 0:
            return cls(name, size, file, None)
        source = cls(name, size, None, mmap.mmap(file.fileno(), size, access=mmap.ACCESS_COPY))
        source.mapped = True
        return source

    @classmethod
    def of_memory(cls, name: str, data: bytes | bytearray) -> Source:
        """Of bytes that were read."""
        return cls(name, len(data), None, data)

    def read(self, at: int, count: int, what: str) -> bytearray:
        """A copy of *count* bytes; raises SerializationError if the file ends before."""
        self._check(at, count, what)
        if self._memory is not None:
            return bytearray(self._memory[at : at + count])
        data = bytearray(count)
        self._fill(memoryview(data), at, what)
        return data

    def read_something(self) -> None:
        """Read a byte of a file that has none by its size: raises OSError where the system does."""
        if self._file is not None:
            self._file.seek(0)
            self._file.read(1)

    def _fill(self, view: memoryview, at: int, what: str, checked: bool = False) -> int:
        """Fill *view* from byte *at* on; if *checked*, gives the checksum, computed while the bytes are in the
        processor's cache.
        """
        assert self._file is not None
        done = checksum = 0
        while done < len(view):
            part = view[done : done + CHUNK]
            if _CAN_READ_AT:
                read = os.preadv(self._file.fileno(), [part], at + done)
            else:
                with self._seeking:
                    self._file.seek(at + done)
                    read = self._file.readinto(part)  # type: ignore[attr-defined]
            if not read:
                raise damaged(self.name, f"ends within {what}")
            if checked:
                checksum = zlib.crc32(part[:read], checksum)
            done += read
        return checksum

    def data(self, at: int, count: int, what: str) -> Any:
        """The bytes to make an array of: the mapped memory itself, or a copy."""
        self._check(at, count, what)
        if self._memory is not None:
            part = self._memory[at : at + count]
            return part if self.mapped else bytearray(part)
        view = room(count)
        self._fill(view, at, what)
        return view

    def data_and_checksum(self, at: int, count: int, what: str) -> tuple[Any, int | None]:
        """The same, and the CRC-32 of the bytes; None of mapped memory, which would be read for it."""
        if self._memory is not None:
            data = self.data(at, count, what)
            return data, None if self.mapped else zlib.crc32(data)
        self._check(at, count, what)
        view = room(count)
        return view, self._fill(view, at, what, checked=True)

    def stream(self) -> IO[bytes]:
        """The bytes as a file to read."""
        if self._file is not None:
            self._file.seek(0)
            return self._file
        return io.BytesIO(self._memory if self._memory is not None else b"")

    def _check(self, at: int, count: int, what: str) -> None:
        if at < 0 or count < 0 or at + count > self.size:
            raise damaged(self.name, f"is truncated: {what} goes to byte {at + count}, and there are {self.size}")
