"""The file itself: a safetensors file that other programs read."""

import struct
import sys
from collections import OrderedDict

import pytest

import polyad
from saved_files import joined, loaded, parts, saved, through


def test_it_is_a_safetensors_file_with_names():
    header, data = parts(saved({"model": OrderedDict(weight=polyad.ones(2, 3)), "steps": [polyad.tensor(7)]}))
    header.pop("__metadata__")
    assert header == {
        "model.weight": {"dtype": "F32", "shape": [2, 3], "data_offsets": [8, 32]},
        "steps.0": {"dtype": "I64", "shape": [], "data_offsets": [0, 8]},  # the widest numbers are first
    }
    assert data == struct.pack("<q6f", 7, *[1.0] * 6)


def test_names_that_collide_are_numbered():
    tensors = {"a": {"b": polyad.tensor(1)}, "a.b": polyad.tensor(2), "__metadata__": polyad.tensor(3)}
    header, _ = parts(saved(tensors))
    assert set(header) == {"a.b", "a.b#2", "__metadata__", "__metadata__#2"}
    result = through(tensors)
    assert (result["a"]["b"].item(), result["a.b"].item(), result["__metadata__"].item()) == (1, 2, 3)


def test_other_programs_read_it(tmp_path):
    numpy_reader = pytest.importorskip("safetensors.numpy", reason="the safetensors package is not installed")
    path = tmp_path / "model.safetensors"
    polyad.save({"w": polyad.arange(6.0).reshape(2, 3), "z": polyad.tensor([1 + 2j], dtype=polyad.complex128)}, path)
    read = numpy_reader.load_file(path)
    assert read["w"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    assert read["z"].tolist() == [[1.0, 2.0]]
    numpy_reader.save_file(read, path)
    assert polyad.load(path)["w"].tolist() == read["w"].tolist()


def test_files_of_other_programs_give_their_tensors():
    data = joined({"a": {"dtype": "BF16", "shape": [2], "data_offsets": [0, 4]}}, b"\x80\x3f\x00\x40")
    assert loaded(data)["a"].tolist() == [1.0, 2.0]
    assert loaded(joined({"__metadata__": {"format": "pt"}}, b"")) == {}


def test_bytes_are_little_endian_on_every_machine(monkeypatch):
    x = polyad.tensor([1, 256], dtype=polyad.int16)
    monkeypatch.setattr(sys, "byteorder", "big")
    _, data = parts(saved([x, polyad.tensor([1 + 2j])]))
    # This machine's bytes, taken for big-endian, come out reversed; complex numbers part by part.
    assert data[8:] == b"\x00\x01\x01\x00"
    assert data[:8] == struct.pack(">ff", 1, 2)
    assert through([x])[0].tolist() == [1, 256]
