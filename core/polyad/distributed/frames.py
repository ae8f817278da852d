"""How a `TCPStore` and its server write requests: four bytes of length, then fields with four bytes of length each."""

from __future__ import annotations

import struct

__all__ = ["MOST_BYTES", "pack", "unpack_from"]

MOST_BYTES = 1 << 30
"""The longest request; a longer one is refused."""

_LENGTH = struct.Struct("!I")


def pack(*fields: bytes) -> bytes:
    """A request of *fields*.

    >>> unpack_from(bytearray(pack(b"set", b"key", b"")))
    [b'set', b'key', b'']
    """
    body = b"".join(_LENGTH.pack(len(field)) + field for field in fields)
    return _LENGTH.pack(len(body)) + body


def unpack_from(data: bytearray) -> list[bytes] | None:
    """The fields of the first request in *data*, which is taken out of it; None if it is not whole yet.

    Raises ValueError for what is no request.
    """
    if len(data) < 4:
        return None
    (size,) = _LENGTH.unpack_from(data)
    if size > MOST_BYTES:
        raise ValueError(f"a request of {size} bytes")
    if len(data) < 4 + size:
        return None
    fields, place, end = [], 4, 4 + size
    while place < end:
        if place + 4 > end:
            raise ValueError("a field without a length")
        (length,) = _LENGTH.unpack_from(data, place)
        if place + 4 + length > end:
            raise ValueError("a field beyond the end of its request")
        fields.append(bytes(data[place + 4 : place + 4 + length]))
        place += 4 + length
    del data[:end]
    return fields
