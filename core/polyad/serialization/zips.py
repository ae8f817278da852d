"""Zip archives whose members are stored as they are, as PyTorch writes them: read, and written.

    https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT

Invariants: a member whose data is asked for is not packed, so that it takes no more memory than the file; members lie
one behind the other, so that all together take no more either. Texts, which PyTorch packs, are unpacked one by one, up
to a size that who asks for them sets.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import IO, Any

from ..errors import SerializationError
from .source import Source, damaged

__all__ = ["Members", "write_members"]

END = struct.Struct("<4s4H2LH")
END_64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR_64 = struct.Struct("<4sLQL")
ENTRY = struct.Struct("<4s4B4HL2L5H2L")
LOCAL = struct.Struct("<4s2B4HL2L2H")
LONGEST_COMMENT = 1 << 16
_DEFLATED = 8
LARGEST_DIRECTORY = 1 << 26
"""Bytes: some half a million members."""


@dataclass(frozen=True, slots=True)
class _Member:
    at: int
    size: int
    checksum: int
    packed: int | None = None


class Members:
    """The members of an archive, by name.

    Raises:
        SerializationError: it is no zip archive, or another than described above.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self.members: dict[str, _Member] = {}
        try:
            self._read_directory()
        except struct.error:
            raise damaged(source.name, "has a zip directory that is cut off") from None

    def _read_directory(self) -> None:
        source = self._source
        begin = max(0, source.size - END.size - LONGEST_COMMENT)
        tail = bytes(source.read(begin, source.size - begin, "the end of the zip archive"))
        found = tail.rfind(b"PK\5\6")
        if found < 0:
            raise damaged(source.name, "is a zip archive without an end: it is truncated")
        _, disk, first_disk, _, count, size, at, _ = END.unpack_from(tail, found)
        locator = found - LOCATOR_64.size
        if locator >= 0 and tail.startswith(b"PK\6\7", locator):
            _, _, end_at, _ = LOCATOR_64.unpack_from(tail, locator)
            fields = END_64.unpack(source.read(end_at, END_64.size, "the zip directory's end"))
            if fields[0] != b"PK\6\6":
                raise damaged(source.name, "has a zip directory whose end is not where it says")
            disk, first_disk, count, size, at = fields[4], fields[5], fields[7], fields[8], fields[9]
        if disk or first_disk:
            raise damaged(source.name, "is a part of a zip archive of several")
        if size > LARGEST_DIRECTORY or count * ENTRY.size > size:
            raise damaged(source.name, f"has a zip directory of {count:,} members in {size:,} bytes")
        self._read_entries(bytes(source.read(at, size, "the zip directory")), count)

    def _read_entries(self, directory: bytes, count: int) -> None:
        source, at, total = self._source, 0, 0
        for _ in range(count):
            fields = ENTRY.unpack_from(directory, at)
            flags, method, checksum = fields[5], fields[6], fields[9]
            packed, size, name_size, extra_size, comment_size = fields[10:15]
            begin = fields[18]
            name = directory[at + ENTRY.size : at + ENTRY.size + name_size].decode("utf-8", "replace")
            extra = directory[at + ENTRY.size + name_size : at + ENTRY.size + name_size + extra_size]
            packed, size, begin = _zip64_sizes(extra, packed, size, begin)
            at += ENTRY.size + name_size + extra_size + comment_size
            if fields[0] != b"PK\1\2" or flags & 1 or method not in (0, _DEFLATED) or (not method and packed != size):
                raise self._unfit(name)
            if name in self.members:
                raise damaged(source.name, f"has two members {name!r}")
            total += packed
            if total > source.size:
                raise damaged(source.name, "has members that overlap")
            self.members[name] = _Member(begin, size, checksum, packed if method else None)

    def data(self, name: str) -> Any:
        """The bytes of a member, checked against its checksum unless the file is mapped; packed ones are refused."""
        member, source = self.members[name], self._source
        if member.packed is not None:
            raise self._unfit(name)
        data, checksum = source.data_and_checksum(self._begin(name), member.size, f"member {name!r}")
        if checksum not in (None, member.checksum):
            raise damaged(source.name, f"is damaged: the checksum of member {name!r} does not match")
        return data

    def unpacked(self, name: str, most: int) -> bytes:
        """The bytes of a member that may be packed, and has no more than *most* of them, checked."""
        member, source = self.members[name], self._source
        if member.size > most:
            raise damaged(source.name, f"has member {name!r} of {member.size:,} bytes, and {most:,} are read at most")
        packed = member.size if member.packed is None else member.packed
        data = bytes(source.read(self._begin(name), packed, f"member {name!r}"))
        if member.packed is not None:
            machine = zlib.decompressobj(-zlib.MAX_WBITS)
            try:
                data = machine.decompress(data, member.size + 1)
            except zlib.error as error:
                raise damaged(source.name, f"is damaged: member {name!r} cannot be unpacked: {error}") from None
        if len(data) != member.size or zlib.crc32(data) != member.checksum:
            raise damaged(source.name, f"is damaged: the checksum of member {name!r} does not match")
        return data

    def _begin(self, name: str) -> int:
        """Where the bytes of a member begin."""
        member, source = self.members[name], self._source
        local = LOCAL.unpack(source.read(member.at, LOCAL.size, f"member {name!r}"))
        if local[0] != b"PK\3\4":
            raise damaged(source.name, f"has no member {name!r} where its directory says")
        return int(member.at + LOCAL.size + local[-2] + local[-1])

    def _unfit(self, name: str) -> SerializationError:
        return damaged(self._source.name, f"has member {name!r}, which is packed, encrypted or damaged")


def _zip64_sizes(extra: bytes, packed: int, size: int, begin: int) -> tuple[int, int, int]:
    """Sizes and place, from the extra field where they do not fit into 32 bits."""
    at = 0
    while at + 4 <= len(extra):
        tag, length = struct.unpack_from("<2H", extra, at)
        if tag == 1:
            wide = list(struct.unpack_from(f"<{length // 8}Q", extra, at + 4))
            values = []
            for value in (size, packed, begin):
                values.append(wide.pop(0) if value == 0xFFFFFFFF and wide else value)
            size, packed, begin = values
        at += 4 + length
    return packed, size, begin


# ------------------------------------------------------------------------------------------------------------ writing

ALIGNMENT = 64
_WIDE = 0xFFFFFFFF
_VERSION = 45
_DATE = (0, 33)
"""Time and day: midnight on the first of January 1980, so that equal objects make equal files."""


def write_members(stream: IO[bytes], members: Iterable[tuple[str, Any]]) -> None:
    """Write an archive of named bytes; each member's begin at a multiple of 64, so that they can be mapped."""
    at, directory, count = 0, b"", 0
    for name, data in members:
        encoded, size, checksum = name.encode(), len(data), zlib.crc32(data)
        packed = min(size, _WIDE)
        wide = struct.pack("<2H2Q", 1, 16, size, size) if packed == _WIDE else b""
        before = at + LOCAL.size + len(encoded) + len(wide) + 4
        padding = -before % ALIGNMENT
        extra = wide + struct.pack("<2sH", b"FB", padding) + bytes(padding)
        local = struct.pack(
            "<4s5H3L2H", b"PK\3\4", _VERSION, 0, 0, *_DATE, checksum, packed, packed, len(encoded), len(extra)
        )
        stream.write(local + encoded + extra)
        stream.write(data)
        begin = min(at, _WIDE)
        wide = b"".join(
            struct.pack("<Q", value)
            for value in (*([size, size] if packed == _WIDE else []), *([at] if begin == _WIDE else []))
        )
        wide = struct.pack("<2H", 1, len(wide)) + wide if wide else b""
        directory += (
            struct.pack(
                "<4s6H3L5H2L",
                b"PK\1\2",
                _VERSION,
                _VERSION,
                0,
                0,
                *_DATE,
                checksum,
                packed,
                packed,
                len(encoded),
                len(wide),
                0,
                0,
                0,
                0,
                begin,
            )
            + encoded
            + wide
        )
        at += len(local) + len(encoded) + len(extra) + size
        count += 1
    stream.write(directory)
    end = at + len(directory)
    stream.write(END_64.pack(b"PK\6\6", END_64.size - 12, _VERSION, _VERSION, 0, 0, count, count, len(directory), at))
    stream.write(LOCATOR_64.pack(b"PK\6\7", 0, end, 1))
    stream.write(
        END.pack(b"PK\5\6", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), min(len(directory), _WIDE), min(at, _WIDE), 0)
    )
