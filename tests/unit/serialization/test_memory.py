"""Tensors that share memory, and their strides, after loading."""

from zlib import crc32

import pytest

import polyad
from polyad.interop import numpy as interop
from polyad.serialization import source
from saved_files import saved, through


def test_views_of_one_memory_share_memory_after_loading():
    base = polyad.arange(12.0).reshape(3, 4)
    row, column, same = through([base[1], base[:, 2], base[1]])
    assert (row.tolist(), column.tolist()) == ([4.0, 5.0, 6.0, 7.0], [2.0, 6.0, 10.0])
    row[2] = -1.0
    assert column.tolist() == [2.0, -1.0, 10.0]
    assert same.tolist() == row.tolist()


def test_tensors_of_several_dtypes_share_memory_after_loading():
    z = polyad.tensor([1 + 2j, 3 + 4j, 5 + 6j], dtype=polyad.complex128)
    read = through({"part": z[1:].imag, "z": z[1:], "bits": z.real.view(polyad.int64)[1:]})
    assert read["z"].tolist() == [3 + 4j, 5 + 6j]
    assert read["bits"].view(polyad.float64).tolist() == [3.0, 5.0]
    assert read["part"].dtype is polyad.float64
    read["part"].fill_(-1)
    read["bits"][0] = 0
    assert read["z"].tolist() == [-1j, 5 - 1j]


def test_one_tensor_saved_twice_shares_memory():
    x = polyad.zeros(3)
    first, second = through({"a": x, "b": [x]}).values()
    first[0] = 7.0
    assert second[0].tolist() == [7.0, 0.0, 0.0]


def test_separate_tensors_stay_separate():
    first, second = through([polyad.zeros(3), polyad.zeros(3)])
    first[0] = 7.0
    assert second.tolist() == [0.0, 0.0, 0.0]


def test_a_lone_view_brings_only_what_it_shows():
    big = polyad.arange(100_000.0)
    assert len(saved(big[10:13])) < 1000
    assert through(big[10:13]).tolist() == [10.0, 11.0, 12.0]
    assert len(saved(big[::1000])) < 2000
    assert through(big[::50_000]).tolist() == [0.0, 50_000.0]


def test_two_views_bring_the_memory_between_them():
    big = polyad.arange(100_000.0)
    views = [big[50_000:50_010], big[50_005:50_020]]
    assert len(saved(views)) < 1500
    assert [view.tolist() for view in through(views)] == [view.tolist() for view in views]


def test_strides_of_dense_and_expanded_tensors_are_kept():
    transposed = polyad.arange(6.0).reshape(2, 3).t()
    result = through(transposed)
    assert (result.stride(), result.tolist()) == (transposed.stride(), transposed.tolist())
    expanded = polyad.ones(1).expand(1_000_000)
    assert len(saved(expanded)) < 1000
    assert through(expanded).stride() == (0,)


def test_saving_changes_nothing():
    x = polyad.arange(6.0, requires_grad=True).reshape(2, 3)
    before = (x.tolist(), x._version, x.requires_grad, x.grad_fn)
    saved({"x": x, "view": x[0]})
    assert (x.tolist(), x._version, x.requires_grad, x.grad_fn) == before


def test_what_is_loaded_can_be_written():
    x = through(polyad.zeros(2))
    x += 1
    assert x.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("madvise", [interop._MADVISE, lambda *_: -1, None])
def test_room_can_be_written_to_on_every_system(monkeypatch, madvise):
    monkeypatch.setattr(interop, "_MADVISE", madvise)
    for size in (1, (1 << 22) - 1, (1 << 22) + 4097):
        room = interop.room(size)
        assert len(room) == size
        room[:] = b"\1" * size
        assert polyad.tensor([room[0], room[-1]]).tolist() == [1, 1]


def test_no_checksum_is_computed_where_none_is_compared(tmp_path, monkeypatch):
    polyad.save({"w": polyad.ones(3)}, tmp_path / "named", format="safetensors")
    polyad.save({"w": polyad.ones(3)}, tmp_path / "own")
    computed = []
    monkeypatch.setattr(source.zlib, "crc32", lambda data, begin=0: computed.append(len(data)) or crc32(data, begin))
    assert polyad.load(tmp_path / "named")["w"].tolist() == [1.0, 1.0, 1.0]
    assert 12 not in computed
    polyad.load(tmp_path / "own")
    assert 12 in computed
