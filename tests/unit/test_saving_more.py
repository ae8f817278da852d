"""Saving for other programs, in several files, with classes of one's own; loading by mapping; a run's checkpoints."""

import dataclasses
import io
import json
import os

import pytest

import polyad
from polyad.serialization import register_dataclass
from polyad.serialization.shards import split


def through(value, **arguments):
    file = io.BytesIO()
    polyad.save(value, file, **arguments)
    file.seek(0)
    return polyad.load(file)


# ---------------------------------------------------------------------------------------------------------- safetensors


def test_format_safetensors_holds_tensors_and_nothing_else(tmp_path):
    weight = polyad.arange(6.0).reshape(2, 3)
    path = tmp_path / "model.safetensors"
    polyad.save({"a": weight, "b": weight.t(), "flag": polyad.tensor([True]), "none": polyad.zeros(0, 2)}, path,
                format="safetensors")  # fmt: skip
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header.pop("__metadata__") == {"format": "pt"}
    assert {name: entry["shape"] for name, entry in header.items()} == {
        "a": [2, 3], "b": [3, 2], "flag": [1], "none": [0, 2],
    }  # fmt: skip
    found = polyad.load(path)
    assert (found["b"].tolist(), found["flag"].tolist()) == (weight.t().tolist(), [True])
    official = pytest.importorskip("safetensors.numpy", reason="the safetensors package is not installed")
    assert official.load_file(path)["b"].tolist() == weight.t().tolist()


@pytest.mark.parametrize("value", [[polyad.ones(1)], {"a": 1}, {1: polyad.ones(1)}, polyad.ones(1)])
def test_format_safetensors_takes_tensors_by_name(value):
    with pytest.raises(TypeError, match="holds tensors by name"):
        through(value, format="safetensors")


def test_bad_formats_and_sizes(tmp_path):
    with pytest.raises(ValueError, match="format is 'pickle'"):
        through(1, format="pickle")
    with pytest.raises(ValueError, match="no tensor can be called"):
        through({"__metadata__": polyad.ones(1)}, format="safetensors")
    with pytest.raises(ValueError, match="max_shard_size goes with"):
        through({"a": polyad.ones(1)}, max_shard_size="5GB")
    for size in (0, -1, "5", "5 TBytes", "GB", True, 2.5, "-5GB", "1.5GB"):
        with pytest.raises(ValueError, match="is no size"):
            polyad.save({}, tmp_path / "a", format="safetensors", max_shard_size=size)
    with pytest.raises(TypeError, match="need a path"):
        through({}, format="safetensors", max_shard_size=5)


# --------------------------------------------------------------------------------------------------------------- shards


def test_a_large_model_is_divided_and_comes_back(tmp_path):
    model = {f"layer.{n}": polyad.full((n + 1, 25), float(n)) for n in range(5)}
    path = tmp_path / "model.safetensors"
    polyad.save(model, path, format="safetensors", max_shard_size=600)
    assert sorted(os.listdir(tmp_path)) == [
        *(f"model-{n:05}-of-00003.safetensors" for n in (1, 2, 3)), "model.safetensors.index.json",
    ]  # fmt: skip
    index = json.loads((tmp_path / "model.safetensors.index.json").read_text())
    assert index["metadata"] == {"total_size": sum(tensor.nbytes for tensor in model.values())}
    assert index["weight_map"]["layer.0"] == index["weight_map"]["layer.1"] == "model-00001-of-00003.safetensors"
    for mmap in (False, True):
        found = polyad.load(tmp_path / "model.safetensors.index.json", mmap=mmap)
        assert list(found) == list(model)
        assert all(bool((found[name] == model[name]).all()) for name in model)


def test_a_small_model_is_one_file(tmp_path):
    path = tmp_path / "model.safetensors"
    polyad.save({"a": polyad.ones(2)}, path, format="safetensors", max_shard_size="1MB")
    assert os.listdir(tmp_path) == ["model.safetensors"]
    assert polyad.load(path)["a"].tolist() == [1, 1]


def test_split():
    assert split({}, 5) == []
    assert split({"a": 0, "b": 0}, 5) == [["a", "b"]]
    assert split({"a": 9, "b": 5, "c": 1}, 5) == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        ([], "no weight_map"),
        ({"weight_map": {"a": 1}}, "no weight_map"),
        ({"weight_map": {"a": "../x.safetensors"}}, "no plain name"),
        ({"weight_map": {"a": "/etc/passwd"}}, "no plain name"),
        ({"weight_map": {"a": ".."}}, "no plain name"),
        ({"weight_map": {"a": ""}}, "no plain name"),
        ({"weight_map": {"a": "\ud800"}}, "no plain name"),
        ({"weight_map": {"a": "m.index.json"}}, "names the index"),
        ({"weight_map": {"a": "part"}}, "holds 'a', and it does not"),
    ],
)
def test_indices_that_are_not_right(index, message, tmp_path):
    polyad.save({"b": polyad.ones(1)}, tmp_path / "part", format="safetensors")
    (tmp_path / "m.index.json").write_text(json.dumps(index))
    with pytest.raises(RuntimeError, match=message):
        polyad.load(tmp_path / "m.index.json")


def test_an_index_of_a_file_that_is_not_there(tmp_path):
    (tmp_path / "m.index.json").write_text(json.dumps({"weight_map": {"a": "missing"}}))
    with pytest.raises(FileNotFoundError, match="missing"):
        polyad.load(tmp_path / "m.index.json")


# -------------------------------------------------------------------------------------------------------------- mapping


def test_mapped_tensors_show_the_file_and_writes_stay_here(tmp_path):
    path = tmp_path / "a.polyad"
    base = polyad.arange(1000.0)
    polyad.save({"base": base, "view": base[10:20], "byte": polyad.ones(3, dtype=polyad.uint8)}, path)
    before = path.read_bytes()
    found = polyad.load(path, mmap=True)
    found["base"][10] = -1.0
    assert found["view"][0].item() == -1
    assert path.read_bytes() == before
    assert polyad.load(path)["base"][10].item() == 10
    found["base"].requires_grad_().sum().backward()


def test_mapping_does_not_read_the_data(tmp_path):
    path = tmp_path / "a.polyad"
    polyad.save(polyad.arange(1000.0), path)
    data = bytearray(path.read_bytes())
    data[-1] ^= 64
    path.write_bytes(data)
    with pytest.raises(RuntimeError, match="checksum of array"):
        polyad.load(path)
    assert polyad.load(path, mmap=True).shape == (1000,)
    path.write_bytes(data[:-1])
    with pytest.raises(RuntimeError, match="truncated"):
        polyad.load(path, mmap=True)


def test_arrays_that_do_not_lie_as_they_should_are_copied(tmp_path):
    header = {
        "a": {"dtype": "U8", "shape": [3], "data_offsets": [0, 3]},
        "b": {"dtype": "F32", "shape": [1], "data_offsets": [3, 7]},
    }
    text = json.dumps(header).encode()
    path = tmp_path / "a"
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"\1\2\3" + b"\0\0\x80\x3f")
    assert polyad.load(path, mmap=True)["b"].tolist() == [1.0]


def test_mapping_needs_a_path():
    with pytest.raises(TypeError, match="needs the path"):
        polyad.load(io.BytesIO(b""), mmap=True)


# ------------------------------------------------------------------------------------------------ classes, generators


@register_dataclass
@dataclasses.dataclass(frozen=True)
class Settings:
    lr: float
    weights: polyad.Tensor
    nested: object = None


@dataclasses.dataclass
class Unregistered:
    lr: float


def test_dataclasses_and_generators():
    generator = polyad.Generator().manual_seed(2**64 - 1)
    polyad.rand(5, generator=generator)
    found = through([Settings(0.5, polyad.ones(2), {"a": Settings(1, polyad.zeros(1))}), generator])
    assert type(found[0]) is Settings
    assert (found[0].lr, found[0].weights.tolist(), found[0].nested["a"].lr) == (0.5, [1, 1], 1)
    assert found[1].get_state().tolist() == generator.get_state().tolist()


def test_a_dataclass_that_is_not_registered_is_refused_with_its_path():
    with pytest.raises(TypeError, match=r"the object\['a'\]\[0\] is of type .*Unregistered(.|\n)*register_dataclass"):
        polyad.save({"a": [Unregistered(1)]}, io.BytesIO(), format="polyad")
    with pytest.raises(TypeError, match="is no dataclass"):
        register_dataclass(int)
    with pytest.raises(ValueError, match="name of another class"):
        register_dataclass(Unregistered, f"{Settings.__module__}.Settings")


def test_files_with_dataclasses_that_are_not_there(monkeypatch):
    from polyad.serialization import structure

    file = io.BytesIO()
    polyad.save(Settings(1, polyad.ones(1)), file)
    monkeypatch.setattr(structure, "_CLASSES", {})
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"Settings', which this program has not registered"):
        polyad.load(file)
    monkeypatch.setattr(structure, "_CLASSES", {f"{Settings.__module__}.Settings": Unregistered})
    file.seek(0)
    with pytest.raises(RuntimeError, match="and the class has"):
        polyad.load(file)


def test_a_whole_optimizer_and_its_model_come_back_together():
    model = polyad.nn.Linear(2, 1)
    optimizer = polyad.optim.Adam(model.parameters())
    model(polyad.ones(1, 2)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    with pytest.warns(UserWarning, match="whole"):
        polyad.save({"model": model, "optimizer": optimizer}, file)
    file.seek(0)
    found = polyad.load(file, weights_only=False)
    assert [id(one) for one in found["optimizer"].state] == [id(one) for one in found["model"].parameters()]
    assert found["optimizer"].state[found["model"].bias]["step"] == 1
