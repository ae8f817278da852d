"""How a file is made wrong. Everything random comes from the `Random` that is passed."""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from random import Random
from typing import Any

NUMBERS = (0, 1, 2, 7, 8, 63, 64, 65, 127, 128, 255, 256, 2**15, 2**16 - 1, 2**16, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
           2**40, 2**53, 2**61 - 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1)  # fmt: skip
"""Where integers of some width, or sums and products of them, go over."""

COLLIDING = 2**61 - 1
"""CPython's hash of every multiple of it is 0."""


def mutated_bytes(random: Random, data: bytes, others: list[bytes]) -> bytes:
    """*data* after one to four changes that know nothing of what it is."""
    for _ in range(random.choice((1, 1, 1, 2, 4))):
        data = random.choice(_CHANGES)(random, data, others)
    return data


def _flip(random: Random, data: bytes, _: list[bytes]) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8)) if data else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _truncate(random: Random, data: bytes, _: list[bytes]) -> bytes:
    return data[: random.randrange(len(data) + 1)]


def _cut(random: Random, data: bytes) -> tuple[int, int]:
    begin = random.randrange(len(data) + 1)
    return begin, min(len(data), begin + random.choice((1, 2, 4, 8, 64, 1024)))


def _delete(random: Random, data: bytes, _: list[bytes]) -> bytes:
    begin, end = _cut(random, data)
    return data[:begin] + data[end:]


def _repeat(random: Random, data: bytes, _: list[bytes]) -> bytes:
    begin, end = _cut(random, data)
    return data[:end] + data[begin:end] * random.choice((1, 2, 100)) + data[end:]


def _splice(random: Random, data: bytes, others: list[bytes]) -> bytes:
    other = random.choice(others)
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


def _insert(random: Random, data: bytes, _: list[bytes]) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] + random.randbytes(random.choice((1, 2, 8, 100))) + data[at:]


def _overwrite(random: Random, data: bytes, _: list[bytes]) -> bytes:
    width = random.choice((1, 2, 4, 8))
    if len(data) < width:
        return data
    # Headers are short and stand at the beginning: half of the numbers go there.
    at = random.randrange(min(len(data), 256 if random.random() < 0.5 else len(data)) - width + 1)
    number = random.choice(NUMBERS) % 256**width
    return data[:at] + number.to_bytes(width, random.choice(("little", "big"))) + data[at + width :]


_CHANGES = (_flip, _truncate, _delete, _repeat, _splice, _insert, _overwrite)


# ----------------------------------------------------------------------------------------------------------------- JSON


def values(random: Random) -> Any:
    """Something that does not belong where it is put."""
    return random.choice(
        (None, True, False, 0, -1, 1.5, 1e308, float("nan"), float("inf"), "", "x", "\0", "\ud800", "../../x",
         "é" * 300, "cpu", "cpu:7", "cpu:" + "9" * 5000, "opencl:99", "nonesuch:0", "meta", [], {}, [0], [[]], {"": 0},
         {"tensor": {}}, {"dict": [[0, 0]]}, 10**400, -(10**400), "9" * 5000, *NUMBERS, *(-n for n in NUMBERS))
    )  # fmt: skip


def mutated_json(random: Random, tree: Any) -> Any:
    """*tree* after one to three changes of a node: replaced, deleted, doubled, moved, wrapped, renamed."""
    box = [json.loads(json.dumps(tree))]
    for _ in range(random.choice((1, 1, 2, 3))):
        places = list(_places(box))
        holder, key = random.choice(places)
        change = random.randrange(7)
        if change <= 2:
            holder[key] = values(random)
        elif change == 3 and len(places) > 1 and holder is not box:
            del holder[key]
        elif change == 4:
            other_holder, other_key = random.choice(places)
            holder[key] = json.loads(json.dumps(other_holder[other_key]))
        elif change == 5:
            wrapped: Any = holder[key]
            for _ in range(random.choice((1, 1, 2, 50, 150))):
                tag = random.choice(("tuple", "dict", "x", None))
                wrapped = [wrapped] if tag is None else {tag: wrapped}
            holder[key] = wrapped
        elif isinstance(holder, dict):
            holder[random.choice((*holder, "", "x", "tensor", "tuple", "device"))] = holder.pop(key)
        else:
            holder[key:key] = [values(random)] * random.choice((1, 2, 70))
    return box[0]


def _places(node: Any) -> Any:
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], (dict, list)):
            yield from _places(node[key])


def large_json(random: Random) -> str:
    """JSON that is short to write and costs much to read: wide, deep, or with keys that collide."""
    count = random.choice((1_000, 30_000, 400_000, 400_000, 3_000_000))
    sort = random.randrange(8)
    if sort == 0:
        return "[" + ",".join([random.choice(("[]", "{}", '{"":0}', "0", '""', "[[]]", "12345"))] * count) + "]"
    if sort == 1:
        depth = random.choice((90, 101, 500, 1_000, 5_000, count))
        opening, closing = random.choice((("[", "]"), ('{"list":', "}"), ('{"tuple":[', "]}"), ('{"x":', "}")))
        return opening * depth + "0" + closing * depth * random.choice((0, 1))
    if sort == 2:
        return '{"dict":[' + ",".join(f"[{COLLIDING * n},0]" for n in range(min(count, 30_000))) + "]}"
    if sort == 3:
        pairs = (f'[{{"tuple":[{COLLIDING * n}]}},0]' for n in range(min(count, 30_000)))
        return '{"dict":[' + ",".join(pairs) + "]}"
    if sort == 4:
        pairs = (f'[{{"device":"a:{COLLIDING * n}"}},0]' for n in range(min(count, 10_000)))
        return '{"dict":[' + ",".join(pairs) + "]}"
    if sort == 5:
        return "9" * random.choice((4_000, count))
    if sort == 6:
        return "{" + ",".join(f'"{n}":0' for n in range(count)) + "}"
    return '"' + random.choice(("x", "\\u0000", "\\ud83d\\ude00", "\U0001f600", "\\\\", "[")) * count + '"'


# ------------------------------------------------------------------------------------------------------------- archives

LOCAL, CENTRAL, END = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_FIELDS = {
    LOCAL: ((4, 2), (6, 2), (8, 2), (10, 2), (14, 4), (18, 4), (22, 4), (26, 2), (28, 2)),
    CENTRAL: ((4, 2), (6, 2), (8, 2), (10, 2), (16, 4), (20, 4), (24, 4), (28, 2), (30, 2), (32, 2), (34, 2), (42, 4)),
    END: ((4, 2), (6, 2), (8, 2), (10, 2), (12, 4), (16, 4), (20, 2)),
}
"""Of each record of a zip archive the offset and width of its fields (APPNOTE.TXT, sections 4.3.7, 4.3.12, 4.3.16)."""

METHODS = (0, 1, 6, 8, 9, 10, 12, 14, 19, 93, 95, 96, 98, 99, 65535)


def mutated_zip(random: Random, data: bytes) -> bytes:
    """An archive with some field of a record overwritten; the method of compression in both records of a member."""
    changed = bytearray(data)
    if random.random() < 0.3:
        method = random.choice(METHODS)
        for magic, offset in ((LOCAL, 8), (CENTRAL, 10)):
            at = data.find(magic)
            if at >= 0:
                struct.pack_into("<H", changed, at + offset, method)
    for _ in range(random.choice((1, 1, 2))):
        magic = random.choice((LOCAL, CENTRAL, CENTRAL, END))
        starts = [at for at in range(len(data)) if data.startswith(magic, at)]
        if starts:
            offset, width = random.choice(_FIELDS[magic])
            at = random.choice(starts) + offset
            if at + width <= len(changed):
                changed[at : at + width] = (random.choice(NUMBERS) % 256**width).to_bytes(width, "little")
    return bytes(changed)


def zip_of(members: dict[str, bytes], method: int) -> bytes:
    """An archive that holds *members*."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


DESCRIPTIONS = (
    "<f4", ">f8", "|b1", "<i8", "|O", "<U4", "<U1000000000", "|S0", "|V8", "|V2000000000", "<M8[ns]", "<c16", "<f16",
    "i4,i4", "<f2", "?", "x", "", "<i0", "(2,3)f4", "(1000000000,1000000000)f4", "\0",
)  # fmt: skip


def npy_of(random: Random, count: int) -> bytes:
    """A .npy file whose header says what it may not."""
    shape = random.choice(
        (f"({count},)", "()", "(0,)", "(2, 3)", f"({2**40},)", "(-1,)", f"(0, {2**62})", f"({2**62}, 0, {2**62})",
         "(1,) * 70", str((1,) * 70), str((0,) * 64), "(True,)", "(1.5,)", "None", "[3]", "(" * 500,
         "(" * 90 + ")" * 90, f"({10**400},)", "('a',)", f"({2**63},)")
    )  # fmt: skip
    description = random.choice(
        (*(repr(text) for text in DESCRIPTIONS), "[('a', '<f4')]", "[('a', '<f4', (2**40,))]", "[]", "None", "4", "{}",
         "[" * 200, "[('a'," * 50, "-" * 5000 + "1", "'" + "f" * 70_000 + "'")
    )  # fmt: skip
    order = random.choice(("True", "False", "False", "0", "None"))
    header = random.choice(
        (f"{{'descr': {description}, 'fortran_order': {order}, 'shape': {shape}, }}",) * 6
        + ("{" * 200, "", "(" * 5000, "\0", "[" + "0," * 100_000 + "]", "{'descr'}", "1" * 5000, "-" * 9_000 + "1")
    )
    version = random.choice((1, 1, 1, 2, 3, 4, 255))
    text = header.encode("latin-1", "replace") + b"\n"
    if version == 1:
        text = text[:65_000]
        length = struct.pack("<H", random.choice((len(text), len(text), len(text), 0, 65535)))
    else:
        length = struct.pack("<I", random.choice((len(text), len(text), len(text), 0, 2**31, 2**32 - 1)))
    return b"\x93NUMPY" + bytes((version, 0)) + length + text + bytes(random.choice((0, count, 4 * count, 8 * count)))


def deflated_zeros(size: int) -> bytes:
    """A raw deflate stream of *size* zero bytes, by repeating a block that stands by itself."""
    block = 1 << 24
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = packer.compress(bytes(block)) + packer.flush(zlib.Z_FULL_FLUSH)
    last = zlib.compressobj(9, zlib.DEFLATED, -15)
    return whole * (size // block) + last.compress(bytes(size % block)) + last.flush()


def zip_bomb(random: Random) -> bytes:
    """A small archive with an array of gigabytes."""
    size = random.choice((1 << 30, 3 << 30))
    count = size - 128
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': ({count},), }}".ljust(117) + "\n"
    npy = b"\x93NUMPY\1\0" + struct.pack("<H", 118) + header.encode()
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(npy) + packer.flush(zlib.Z_FULL_FLUSH) + deflated_zeros(count)
    name = b"a.npy"
    sizes = struct.pack("<III", 0, len(packed), size)
    local = LOCAL + struct.pack("<HHHHH", 20, 0, 8, 0, 0x21) + sizes + struct.pack("<HH", len(name), 0) + name
    central = (
        CENTRAL + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0x21) + sizes
        + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    )  # fmt: skip
    end = END + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local) + len(packed), 0)
    return local + packed + central + end


def gzip_of(data: bytes) -> bytes:
    """*data* as a gzip file."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def gzip_bomb(start: bytes, size: int) -> bytes:
    """A gzip file of *start* and *size* zero bytes; its checksum is wrong, which is seen last."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = packer.compress(start) + packer.flush(zlib.Z_FULL_FLUSH) + deflated_zeros(size)
    return b"\x1f\x8b\x08\0\0\0\0\0\0\3" + packed + struct.pack("<II", 0, (len(start) + size) % 2**32)
