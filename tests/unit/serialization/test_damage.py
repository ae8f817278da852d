"""Damaged and hostile files: what they can do (nothing)."""

import builtins
import os
import re
import struct

import pytest

import polyad
from polyad.serialization import keys
from saved_files import COLLIDING, joined, loaded, rewritten, saved, through

WHOLE = saved({"x": polyad.arange(5.0), "flag": polyad.tensor([True]), "n": [1, 2.5, "s", b"b", (None,)]})


@pytest.mark.parametrize("as_file_object", [False, True])
def test_every_truncation_is_noticed(tmp_path, as_file_object):
    path = tmp_path / "cut"
    for length in range(len(WHOLE)):
        path.write_bytes(WHOLE[:length])
        with pytest.raises(RuntimeError, match=r"fix "):
            loaded(WHOLE[:length]) if as_file_object else polyad.load(path)


def test_every_flipped_bit_is_noticed():
    intact = repr(loaded(WHOLE))
    length = 8 + int.from_bytes(WHOLE[:8], "little")
    for position in range(len(WHOLE)):
        damaged = bytearray(WHOLE)
        damaged[position] ^= 1 << (position % 8)
        try:
            result = loaded(bytes(damaged))
        except RuntimeError:
            continue
        # White space in the header may change; nothing that is returned may.
        assert repr(result) == intact
        assert position < length


def test_trailing_data_is_noticed(tmp_path):
    (tmp_path / "long").write_bytes(WHOLE + b"\0")
    with pytest.raises(RuntimeError, match="more data than its header says"):
        polyad.load(tmp_path / "long")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "ends after 0 bytes"),
        (b"PK\x03\x04" + b"\0" * 20, "is a zip archive without an end"),
        (b"\x80\x04\x95" + b"\0" * 20, "a Python pickle"),
        (b"hello world, this is text", "does not begin as"),
        (struct.pack("<Q", 10**9) + b"{}", "does not begin as"),
        (struct.pack("<Q", 99_999_999) + b"{}", "truncated: the header"),
        (struct.pack("<Q", 2) + b"[]", "does not begin as"),
        (struct.pack("<Q", 0), "does not begin as"),
        (b"\x1f\x8b\x08\0\0\0\0\0" + b"\0" * 20, "gzip-compressed"),
        (struct.pack("<Q", 3) + b"{a}", "cannot be read"),
        (struct.pack("<Q", 3) + b"{\xff}", "cannot be read"),
        (struct.pack("<Q", 100_000) + b'{"a":' * 20_000, "cannot be read"),
        (struct.pack("<Q", 20) + b'{"a":1,"a":1}       ', "occurs twice"),
        (struct.pack("<Q", 9) + b'{"a":NaN}', "not JSON"),
        (joined({"a": 1}, b""), "describes tensor 'a'"),
        (joined({"__metadata__": {"a": 1}}, b""), "not text"),
        (joined({"__metadata__": "a"}, b""), "not text"),
    ],
    ids=range(17),
)
def test_what_is_no_such_file(data, message):
    with pytest.raises(RuntimeError, match=message):
        loaded(data)


ENTRY = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"a": {**ENTRY, "dtype": "F4"}}, "dtype 'F4', which polyad does not have"),
        ({"a": {**ENTRY, "dtype": ["F32"]}}, "dtype"),
        ({"a": {**ENTRY, "shape": [-2]}}, "not counts"),
        ({"a": {**ENTRY, "shape": [2.0]}}, "not counts"),
        ({"a": {**ENTRY, "shape": [True, 2]}}, "not counts"),
        ({"a": {**ENTRY, "shape": [1] * 65}}, "not counts"),
        ({"a": {**ENTRY, "shape": [2**62, 2**62]}}, "no memory holds"),
        ({"a": {**ENTRY, "shape": [2**62, 0, 2**62], "data_offsets": [0, 0]}}, "no memory holds"),
        ({"a": {**ENTRY, "shape": [3]}}, "bytes"),
        ({"a": {**ENTRY, "data_offsets": [8, 0]}}, "bytes"),
        ({"a": {**ENTRY, "data_offsets": [0, 8, 8]}}, "not counts"),
        ({"a": {**ENTRY, "data_offsets": [2**64, 2**64 + 8]}}, "not counts"),
        ({"a": {**ENTRY, "extra": 1}}, "describes tensor 'a'"),
        ({"a": ENTRY, "b": ENTRY}, "overlaps another"),
        ({"a": ENTRY, "b": {**ENTRY, "data_offsets": [4, 12]}}, "overlaps another"),
        ({"a": {**ENTRY, "data_offsets": [4, 12]}}, "leaves a gap"),
        ({"a": {**ENTRY, "shape": [2**40], "data_offsets": [0, 2**42]}}, "truncated"),
        ({"a": {"dtype": "BOOL", "shape": [8], "data_offsets": [0, 8]}}, "neither 0 nor 1"),
    ],
    ids=range(18),
)
def test_hostile_headers(entries, message):
    with pytest.raises(RuntimeError, match=message):
        loaded(joined(entries, b"\x02" * 8))


def nest(depth):
    value = 0
    for _ in range(depth):
        value = {"tuple": [value]}
    return value


def view(**changes):
    return {"data": "x", "shape": [5], "strides": [1], "offset": 0, "requires_grad": False} | changes


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"eval": "print(1)"}, "type 'eval', which this polyad does not know"),
        ({"__reduce__": []}, "type '__reduce__'"),
        ({"tuple": [1], "dict": []}, "2 tags"),
        ({}, "0 tags"),
        ({"tuple": 1}, "not a list"),
        ({"dict": {"a": 1}}, "list of pairs"),
        ({"dict": [[1, 2, 3]]}, "list of pairs"),
        ({"dict": [[[], 2]]}, "cannot be a key"),
        ({"dict": [["a", 1], ["a", 2]]}, "occurs twice"),
        ({"dict": [[{"tensor": view()}, 1]]}, "cannot be a key"),
        ({"float": "1e400"}, "float"),
        ({"float": {"a": 1}}, "float"),
        ({"complex": [1]}, "complex"),
        ({"bytes": "!"}, "bytes"),
        ({"bytes": 5}, "bytes"),
        ({"size": [-1]}, "size"),
        ({"dtype": "float7"}, "dtype"),
        ({"dtype": []}, "dtype"),
        ({"device": "../etc"}, "device"),
        ({"device": 5}, "device"),
        (nest(110), "nested too deeply"),
        (nest(210), "nested more than 400 levels deep"),
        ({"tensor": 1}, "tensor without data"),
        ({"tensor": view(data="y")}, "not described as a tensor"),
        ({"tensor": view(shape=[6])}, "reaches beyond its data"),
        ({"tensor": view(strides=[2])}, "reaches beyond its data"),
        ({"tensor": view(offset=1)}, "reaches beyond its data"),
        ({"tensor": view(offset=-1)}, "not described"),
        ({"tensor": view(strides=[-1])}, "not described"),
        ({"tensor": view(shape=[5, 1])}, "sizes and"),
        ({"tensor": view(shape=[2**40, 2**40], strides=[0, 0])}, "reaches beyond"),
        ({"tensor": view(shape=None)}, "not described"),
        ({"tensor": view(requires_grad=1)}, "requires_grad"),
        ({"tensor": view(data="flag", shape=[1], requires_grad=True)}, "requires_grad"),
        ({"tensor": view(dtype="float7")}, "with dtype 'float7'"),
        ({"tensor": view(dtype=[])}, "cannot be read"),
        ({"tensor": view(dtype="bool")}, "with dtype 'bool'"),
        ({"tensor": view(data="flag", shape=[1], dtype="int8")}, "with dtype 'int8'"),
        ({"tensor": view(dtype="complex128")}, "reaches beyond its data"),
        ({"tensor": view(shape=[2**60, 2**60, 0], strides=[0, 0, 0])}, "reaches beyond"),
        ({"tensor": view(shape=[1], strides=[2**63 - 1])}, "cannot be read"),
        ({"complex": [10**400, 0]}, "complex that cannot be read"),
        ({"dict": [[n * COLLIDING, 0] for n in range(100)]}, "have the same hash"),
        ({"dict": [[{"tuple": [n * COLLIDING, "a"]}, 0] for n in range(100)]}, "have the same hash"),
        ({"dict": [[n * 3, 0] for n in range(5_000)]}, "neither text nor count 0, 1, 2"),
        ([{"dict": [[n * 3, 0] for n in range(300)]}] * 15, "neither text nor count 0, 1, 2"),
    ],
    ids=lambda value: None if isinstance(value, str) else str(value)[:40],
)
def test_hostile_structures(tree, message, monkeypatch):
    monkeypatch.setattr(keys, "MOST_CHOSEN", 4_000)
    data = rewritten(WHOLE, lambda document: document | {"object": tree})
    loaded(WHOLE)  # polyad compiles its own functions when they are first called
    with monkeypatch.context() as patched:
        for name in ("eval", "exec", "compile"):
            patched.setattr(builtins, name, None)
        try:
            loaded(data)
            error = None
        except RuntimeError as caught:
            error = caught
    assert error is not None
    assert re.search(message, str(error))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda d: [d], "not a JSON object"),
        (lambda d: d | {"version": [2, 0]}, r"version 2\.0(.|\n)*pip install --upgrade polyad"),
        (lambda d: d | {"version": "1"}, "which version"),
        (lambda d: d | {"arrays": {}}, "other arrays than it holds"),
        (lambda d: d | {"arrays": d["arrays"] | {"x": 1}}, "does not describe array 'x'"),
        (lambda d: d | {"arrays": d["arrays"] | {"x": d["arrays"]["x"] | {"dtype": "int32"}}}, "two dtypes"),
        (lambda d: d | {"arrays": d["arrays"] | {"x": d["arrays"]["x"] | {"dtype": "complex128"}}}, "two dtypes"),
        (lambda d: d | {"arrays": d["arrays"] | {"x": d["arrays"]["x"] | {"crc32": 1}}}, "checksum of array 'x'"),
        (lambda d: d | {"arrays": d["arrays"] | {"x": d["arrays"]["x"] | {"device": "a/b"}}}, "describe array 'x'"),
        (
            lambda d: d | {"arrays": d["arrays"] | {"x": d["arrays"]["x"] | {"device": "a:" + "9" * 5000}}},
            "describe array",
        ),
        (lambda d: {key: d[key] for key in ("version", "arrays")}, "no object"),
    ],
    ids=range(11),
)
def test_hostile_documents(change, message):
    with pytest.raises(RuntimeError, match=message):
        loaded(rewritten(WHOLE, change))


def test_newer_minor_versions_are_read():
    assert loaded(rewritten(saved([1]), lambda document: document | {"version": [1, 9], "more": 1})) == [1]


def test_nothing_is_placed_before_everything_is_checked():
    data = rewritten(saved([polyad.zeros(2), 1]), lambda d: d | {"object": [d["object"][0], {"no such tag": 1}]})
    placed = []
    with pytest.raises(RuntimeError, match="no such tag"):
        loaded(data, map_location=lambda tensor, name: placed.append(name))
    assert placed == []


def test_names_are_not_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"../up": polyad.zeros(1), "/etc/passwd": polyad.ones(1)}
    assert [x.item() for x in through(names).values()] == [0.0, 1.0]
    assert os.listdir(tmp_path) == os.listdir(tmp_path.parent / tmp_path.name) == []
