"""Tar files of samples."""

import contextlib
import io
import json
import pickle
import tarfile

import numpy as np
import pytest

import polyad
from polyad.datasets import WebDataset
from polyad.errors import SerializationError
from polyad.utils.data.nodes import Loader, Shuffler


def packed(members, mode="w"):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=mode) as tar:
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return file.getvalue()


def saved(write, *args):
    file = io.BytesIO()
    write(file, *args)
    return file.getvalue()


def samples(begin, end):
    return [item for i in range(begin, end) for item in ((f"d/{i:04}.txt", f"text {i}".encode()),
                                                         (f"d/{i:04}.cls", str(i).encode()))]  # fmt: skip


@pytest.fixture
def shards(tmp_path):
    for number, (begin, end) in enumerate(((0, 4), (4, 4), (4, 9))):
        (tmp_path / f"shard-{number:03}.tar").write_bytes(packed(samples(begin, end)))
    return f"{tmp_path}/shard-{{000..002}}.tar"


def test_samples_of_several_files(shards):
    found = list(WebDataset(shards))
    assert found == [{"__key__": f"d/{i:04}", "txt": f"text {i}", "cls": i} for i in range(9)]
    assert next(WebDataset(shards, decoders=None))["cls"] == b"0"
    own = next(WebDataset(shards, decoders={"cls": lambda data: -int(data), "txt": None}))
    assert (own["cls"], own["txt"]) == (0, b"text 0")


def test_decoders(tmp_path):
    tensor = polyad.arange(6).reshape(2, 3)
    members = [
        ("a.b.json", json.dumps({"x": [1, 2]}).encode()),
        ("a.npy", saved(np.save, np.arange(3.0))),
        ("a.npz", saved(lambda file: np.savez(file, u=np.ones(2)))),
        ("a.pt", saved(lambda file: polyad.save(tensor, file))),
        ("a.SafeTensors", saved(lambda file: polyad.save({"w": tensor}, file, format="safetensors"))),
        ("a.bin", b"\0\1"),
        (".hidden", b""),
        ("noextension", b""),
    ]
    path = tmp_path / "a.tar"
    path.write_bytes(packed(members))
    [sample] = WebDataset(path)
    assert sample.keys() == {"__key__", "b.json", "npy", "npz", "pt", "SafeTensors", "bin"}
    assert sample["b.json"] == {"x": [1, 2]}
    assert sample["npy"].tolist() == [0, 1, 2]
    assert sample["npz"]["u"].tolist() == [1, 1]
    assert sample["pt"].tolist() == sample["SafeTensors"]["w"].tolist() == tensor.tolist()
    assert sample["bin"] == b"\0\1"


def test_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    picture = saved(lambda file: image.fromarray(np.full((4, 6, 3), 9, np.uint8)).save(file, "PNG"))
    path = tmp_path / "a.tar"
    path.write_bytes(packed([("a.png", picture), ("b.png", picture[:30])]))
    node = WebDataset(path)
    assert next(node)["png"].shape == (3, 4, 6)
    with pytest.raises(RuntimeError, match=r"b\.png in .* cannot be read as a picture"):
        next(node)


@pytest.mark.parametrize("packing", ["", "gz", "bz2", "xz"])
def test_a_reader_goes_on_where_its_state_was_taken(tmp_path, packing):
    for number, (begin, end) in enumerate(((0, 4), (4, 9))):
        (tmp_path / f"{number}.tar").write_bytes(packed(samples(begin, end), f"w:{packing}"))
    node, items, states = WebDataset(f"{tmp_path}/{{0..1}}.tar"), [], []
    for item in node:
        items.append(item)
        states.append(node.state_dict())
    assert len(items) == 9
    assert (states[1]["offset"] > 0) == (packing == "")
    for place, state in enumerate(states, 1):
        again = WebDataset(f"{tmp_path}/{{0..1}}.tar")
        again.load_state_dict(state)
        assert list(again) == items[place:]
        again.reset()
        assert next(again) == items[0]


def test_long_names_are_found_again(tmp_path):
    """Their headers are of several blocks."""
    names = [f"{'n' * 200}{i}" for i in range(4)]
    path = tmp_path / "a.tar"
    path.write_bytes(packed([(f"{name}.txt", name.encode()) for name in names]))
    node = WebDataset(path)
    next(node), next(node)
    again = WebDataset(path)
    again.load_state_dict(node.state_dict())
    assert [sample["txt"] for sample in again] == names[2:]


def test_a_damaged_file_is_never_taken_for_its_end(tmp_path):
    whole = packed(samples(0, 4))
    path = tmp_path / "a.tar"
    keys = [f"d/{i:04}" for i in range(4)]

    def read(data):
        path.write_bytes(data)
        found = WebDataset(path, decoders=None)
        with contextlib.suppress(SerializationError):
            return [sample["__key__"] for sample in found]
        return None

    end = len(whole.rstrip(b"\0"))
    for size in range(0, end, 100):
        assert read(whole[:size]) is None
    for header in range(0, 8 * 1024, 1024):
        for place in (0, 100, 130, 150):
            broken = bytearray(whole)
            broken[header + place] ^= 0x41
            assert read(bytes(broken)) is None
    assert read(whole) == keys
    assert read(whole[: end + 512]) in (keys, None)
    zipped = packed(samples(0, 4), "w:gz")
    for size in range(0, len(zipped) - 1, 10):
        assert read(zipped[:size]) is None


def test_what_is_wrong_is_named(tmp_path):
    path = tmp_path / "a.tar"
    path.write_bytes(packed([("a.pkl", pickle.dumps(1)), ("b.cls", b"seven"), ("c.npy", b"no"), ("d.json", b"{")]))
    node = WebDataset(path)
    for words in (r"a\.pkl in .* is a pickle", r"b\.cls in .* cannot be decoded", r"c\.npy in", r"d\.json in"):
        with pytest.raises(RuntimeError, match=words):
            next(node)
    assert next(WebDataset(path, decoders={"pkl": None}))["pkl"] == pickle.dumps(1)
    path.write_bytes(packed([("a.txt", b""), ("a.txt", b"")]))
    with pytest.raises(RuntimeError, match="twice in a sample"):
        list(WebDataset(path))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        next(WebDataset(tmp_path / "nowhere.tar"))
    with pytest.raises(TypeError, match="decoders"):
        WebDataset(path, decoders={"txt": 3})
    with pytest.raises(ValueError, match="stands for no files"):
        WebDataset("{3..1}.tar")
    with pytest.raises(ValueError, match="of 2 files, and there are 1"):
        WebDataset(path).load_state_dict(WebDataset([path, path]).state_dict())


def test_in_a_pipeline_and_by_url(shards, tmp_path):
    loader = Loader(Shuffler(WebDataset(shards), 5))
    epochs = [[sample["cls"] for sample in loader] for _ in range(2)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == list(range(9))
    assert epochs[0] != epochs[1]
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed")
    with fsspec.open("memory://shards/0.tar", "wb") as stream:
        stream.write(packed(samples(0, 3)))
    assert [sample["cls"] for sample in WebDataset("memory://shards/{0..0}.tar")] == [0, 1, 2]
