"""A file's bytes, wherever they are: on the disk, mapped into memory, or read already.

Invariant: no more is read, and no more memory is taken, than the file has bytes.
"""

from __future__ import annotations

import io
import mmap
import os
from typing import IO, Any

from ..errors import SerializationError

__all__ = ["Source", "damaged"]


def damaged(source: str, what: str, fix: str | None = None) -> SerializationError:
    """The error for a file that is not what it should be."""
    return SerializationError(
        f"load: {source} {what}", fix=fix or "use another copy: the file is damaged, or polyad.save did not write it"
    )


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
        assert self._file is not None
        data = bytearray(count)
        view, done = memoryview(data), 0
        self._file.seek(at)
        while done < count:
            read = self._file.readinto(view[done:])  # type: ignore[attr-defined]
            if not read:
                raise damaged(self.name, f"ends within {what}")
            done += read
        return data

    def data(self, at: int, count: int, what: str) -> Any:
        """The bytes to make an array of: the mapped memory itself, or a copy."""
        if not self.mapped:
            return self.read(at, count, what)
        self._check(at, count, what)
        assert self._memory is not None
        return self._memory[at : at + count]

    def stream(self) -> IO[bytes]:
        """The bytes as a file to read."""
        if self._file is not None:
            self._file.seek(0)
            return self._file
        return io.BytesIO(self._memory if self._memory is not None else b"")

    def _check(self, at: int, count: int, what: str) -> None:
        if at < 0 or count < 0 or at + count > self.size:
            raise damaged(self.name, f"is truncated: {what} goes to byte {at + count}, and there are {self.size}")
