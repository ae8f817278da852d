"""Files by URL."""

import sys

import pytest

import polyad

fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")


@pytest.fixture
def url():
    system = fsspec.filesystem("memory")
    system.store.clear()
    return "memory://models/a.polyad"


def test_save_and_load_by_url(url):
    state = {"w": polyad.arange(1000), "epoch": 3}
    polyad.save(state, url)
    assert fsspec.filesystem("memory").ls("/models", detail=False) == ["/models/a.polyad"]
    found = polyad.load(url)
    assert found["epoch"] == 3
    assert found["w"].tolist() == list(range(1000))


def test_shards_by_url(url):
    tensors = {name: polyad.full((100,), float(ord(name))) for name in "abc"}
    polyad.save(tensors, "memory://models/m.safetensors", format="safetensors", max_shard_size=400)
    found = polyad.load("memory://models/m.safetensors.index.json")
    assert {name: tensor.tolist() for name, tensor in found.items()} == {
        name: tensor.tolist() for name, tensor in tensors.items()
    }


def test_a_save_that_fails_leaves_what_was_there(url):
    polyad.save(1, url)
    with pytest.raises(TypeError):
        polyad.save({"bad": lambda: 1}, url)
    assert polyad.load(url) == 1


def test_file_urls_are_paths(tmp_path):
    path = tmp_path / "a model.polyad"
    polyad.save({"w": polyad.ones(3)}, path.as_uri())
    assert path.exists()
    assert polyad.load(path.as_uri(), mmap=True)["w"].tolist() == [1, 1, 1]


def test_damage_and_absence_are_named(url, monkeypatch):
    with pytest.raises(FileNotFoundError, match="memory://models/nowhere"):
        polyad.load("memory://models/nowhere")
    polyad.save(polyad.ones(100), url)
    system = fsspec.filesystem("memory")
    system.pipe("/models/short", system.cat("/models/a.polyad")[:-7])
    with pytest.raises(RuntimeError, match="memory://models/short is truncated"):
        polyad.load("memory://models/short")
    with pytest.raises(ValueError, match="mmap=True needs a file on this machine"):
        polyad.load(url, mmap=True)
    with pytest.raises(ImportError, match="fsspec cannot open nosuchplace://a"):
        polyad.load("nosuchplace://a")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(ImportError, match=r"polyad\[remote\]"):
        polyad.load(url)
