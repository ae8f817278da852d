"""What tests of saved files share: bytes of a saved object, and a file's header taken apart."""

import io
import json
import struct
import zlib

import polyad

DTYPES = [
    polyad.bool,
    polyad.uint8,
    polyad.int8,
    polyad.int16,
    polyad.int32,
    polyad.int64,
    polyad.float16,
    polyad.bfloat16,
    polyad.float32,
    polyad.float64,
    polyad.complex64,
    polyad.complex128,
]


def saved(value, **arguments):
    file = io.BytesIO()
    polyad.save(value, file, **arguments)
    return file.getvalue()


def loaded(data, **arguments):
    return polyad.load(io.BytesIO(data), **arguments)


def through(value):
    return loaded(saved(value))


COLLIDING = 2**61 - 1
"""The hash of each of its multiples is 0."""


def parts(data):
    """Header and data of a file."""
    (length,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + length]), data[8 + length :]


def joined(header, data):
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def rewritten(data, change):
    """The file with its structure changed and its checksum mended: what an attacker would write."""
    header, arrays = parts(data)
    document = json.loads(header["__metadata__"]["polyad"])
    document = change(document) or document
    text = json.dumps(document)
    header["__metadata__"] = {"polyad": text, "polyad.crc32": str(zlib.crc32(text.encode()))}
    return joined(header, arrays)
