"""Files in PyTorch's format that `save` writes: what they consist of, and what comes back."""

import argparse
import collections
import dataclasses
import enum
import io
import pathlib
import pickletools
import struct
import zipfile

import numpy
import pytest

import polyad
from polyad import nn
from saved_files import DTYPES, loaded, saved

READ_BY_PYTORCH = {
    "PROTO", "STOP", "GLOBAL", "REDUCE", "BUILD", "NEWOBJ", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1",
    "BININT2", "LONG1", "BINFLOAT", "BINUNICODE", "SHORT_BINSTRING", "BINPERSID", "BINGET", "LONG_BINGET", "BINPUT",
    "LONG_BINPUT", "EMPTY_TUPLE", "TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "EMPTY_LIST", "APPEND", "APPENDS",
    "EMPTY_DICT", "SETITEM", "SETITEMS", "EMPTY_SET",
}  # fmt: skip
"""Instructions that PyTorch 2.13 reads with weights_only=True."""


class Color(enum.Enum):
    RED = 1


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@dataclasses.dataclass
class Settings:
    lr: float = 0.1
    weight: object = None


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    lr: float = 0.1


class Pair(collections.namedtuple("Pair", "a b")):
    pass


class Listed(list):
    pass


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.tied = self.inner
        self.activation = nn.functional.relu
        self.kind = nn.ReLU
        self.register_buffer("scale", polyad.tensor([2.0, 3.0]))

    def forward(self, input):
        return self.activation(self.tied(input)) * self.scale


def written(value):
    return saved(value, format="torch")


def globals_of(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        operations = list(pickletools.genops(archive.read("archive/data.pkl")))
    assert {operation.name for operation, _, _ in operations} <= READ_BY_PYTORCH
    return {argument for operation, argument, _ in operations if operation.name == "GLOBAL"}


def trained():
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    optimizer = polyad.optim.Adam(model.parameters(), amsgrad=True)
    model(polyad.ones(4, 3)).sum().backward()
    optimizer.step()
    return model, optimizer


class TestArchive:
    def test_is_one_that_others_read(self):
        data = written({"a": polyad.arange(3), "b": polyad.ones(2, dtype=polyad.float16)})
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            assert archive.testzip() is None
            assert archive.namelist() == [
                f"archive/{name}"
                for name in ("data.pkl", ".format_version", ".storage_alignment", "byteorder", "data/0", "data/1",
                             "version")
            ]  # fmt: skip
            assert archive.read("archive/data/1") == struct.pack("<2e", 1, 1)
            for info in archive.infolist():
                lengths = struct.unpack_from("<2H", data, info.header_offset + 26)
                assert (info.header_offset + 30 + sum(lengths)) % 64 == 0

    def test_equal_objects_make_equal_files(self):
        assert written([polyad.ones(3)]) == written([polyad.ones(3)])

    def test_states_name_nothing_but_tensors(self):
        model, optimizer = trained()
        data = written({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 3})
        assert globals_of(data) == {
            "collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch FloatStorage", "torch LongStorage",
        }  # fmt: skip
        found = loaded(data)
        assert list(found["model"]) == list(model.state_dict())
        assert found["model"]._metadata == model.state_dict()._metadata
        assert polyad.equal(
            found["optimizer"]["state"][1]["max_exp_avg_sq"], optimizer.state[model[0].bias]["max_exp_avg_sq"]
        )

    def test_plain_types_are_named_as_pytorch_names_them(self):
        value = [polyad.Size([2]), polyad.float16, polyad.device("cpu"), polyad.device("cuda:1"), {1}, b"bytes",
                 bytearray(b"x"), complex(1, 2), collections.Counter("aab"), nn.Parameter(polyad.ones(1)),
                 2**70]  # fmt: skip
        data = written(value)
        assert globals_of(data) == {
            "torch Size", "torch float16", "torch device", "builtins set", "_codecs encode", "builtins bytearray",
            "builtins complex", "collections Counter", "collections OrderedDict", "torch._utils _rebuild_parameter",
            "torch._utils _rebuild_tensor_v2", "torch FloatStorage",
        }  # fmt: skip
        found = loaded(data)
        assert found[:9] == value[:9]
        assert list(map(type, found)) == list(map(type, value))

    def test_names_choose_the_format(self, tmp_path):
        for name, is_zip in (("a.pt", True), ("a.PTH", True), ("a.pth.tar", True), ("a.polyad", False), ("pt", False)):
            polyad.save({"x": polyad.ones(1)}, tmp_path / name)
            assert zipfile.is_zipfile(tmp_path / name) is is_zip
            assert polyad.load(tmp_path / name, mmap=True)["x"].tolist() == [1]
        polyad.save({"x": 1}, tmp_path / "a.pt", format="polyad")
        assert not zipfile.is_zipfile(tmp_path / "a.pt")
        with pytest.raises(ValueError, match="format is 'pickle'"):
            polyad.save({}, tmp_path / "a", format="pickle")

    def test_a_failure_leaves_the_old_file(self, tmp_path):
        polyad.save([1], tmp_path / "a.pt")
        with pytest.raises(
            TypeError, match=r"object\['a'\]\[1\] is of type .*function, which cannot be saved: (.|\n)*fix"
        ):
            polyad.save({"a": [{1}, lambda: 1]}, tmp_path / "a.pt")
        holder = Settings(weight=lambda: 1)
        with pytest.raises(TypeError, match=r"the object\['weight'\] is of type builtins.function"):
            polyad.save(holder, tmp_path / "a.pt")
        deep = []
        for _ in range(10_000):
            deep = [deep]
        with pytest.raises(RuntimeError, match="nested too deeply"):
            polyad.save(deep, tmp_path / "a.pt")
        assert polyad.load(tmp_path / "a.pt") == [1]

    def test_nothing_is_saved_that_could_not_be_loaded(self):
        with pytest.raises(RuntimeError, match="keys that are numbers"):
            written({number * 3: None for number in range(70_000)})
        with pytest.raises(RuntimeError, match="keys of"):
            written({(polyad.ones(1),): 1})


class TestTensors:
    @pytest.mark.parametrize("dtype", DTYPES)
    def test_of_every_dtype(self, dtype):
        tensor = polyad.arange(6).reshape(2, 3).to(dtype)
        for one in (tensor, tensor.t(), tensor[:, 1:], tensor[:0], tensor[1, 1], tensor.expand(2, 2, 3)):
            found = loaded(written(one))
            assert found.dtype is dtype
            assert found.tolist() == one.tolist()

    def test_share_memory_and_bring_no_more_than_they_show(self):
        whole = polyad.arange(100_000.0)
        data = written({"a": whole[2:5], "b": whole[4:8], "bits": whole[:4].view(polyad.int32), "again": whole[2:5]})
        assert len(data) < 3000
        found = loaded(data)
        found["a"][2] = 99
        assert found["b"][0].item() == 99
        assert found["bits"].dtype is polyad.int32

    def test_an_object_that_occurs_twice_is_one(self):
        tensor = nn.Parameter(polyad.ones(2))
        first, second = loaded(written([tensor, tensor]))
        assert first is second
        assert type(first) is nn.Parameter

    def test_gradients_are_asked_for_again(self):
        found = loaded(written([polyad.ones(1, requires_grad=True), nn.Parameter(polyad.ones(1), False)]))
        assert [one.requires_grad for one in found] == [True, False]

    def test_made_while_saving(self):
        class_ = Settings()
        class_.__class__ = Making
        assert loaded(written(class_), weights_only=False).weight.tolist() == [1, 1]


class Making(Settings):
    def __getstate__(self):
        return {"lr": 1, "weight": polyad.ones(2)}


PLAIN = [
    numpy.float64(1.5), numpy.int64(3), numpy.bool_(True), numpy.float32(0.5), {1, "a"}, frozenset({1}),
    collections.deque([1, 2], 3), collections.defaultdict(list, a=[1]), collections.defaultdict(None, {1: 2}),
    slice(1, None, 2), range(0, 10, 2), pathlib.Path("a", "b"), pathlib.PureWindowsPath("c:/d"),
]  # fmt: skip
OF_CLASSES = [
    argparse.Namespace(lr=0.1), Color.RED, Settings(3), Slotted(4), Pair(1, (2,)), Listed([1, 2]),
    {Color.RED: {Color.RED}}, Access.READ | Access.WRITE,
]  # fmt: skip


@pytest.mark.parametrize("value", PLAIN, ids=lambda value: type(value).__name__)
def test_plain_types_come_back(value):
    found = loaded(saved({"value": [value]}))["value"][0]
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    "array",
    [numpy.arange(6).reshape(2, 3), numpy.asfortranarray(numpy.ones((2, 3), "f4")), numpy.array(["a", "bb"]),
     numpy.array(5), numpy.zeros((0, 3)), numpy.arange(6)[::2], numpy.array([True])],
)  # fmt: skip
def test_arrays_come_back(array):
    found = loaded(saved(array))
    assert found.dtype == array.dtype
    assert found.shape == array.shape
    assert found.tolist() == array.tolist()
    assert found.flags.writeable


@pytest.mark.parametrize("value", OF_CLASSES, ids=lambda value: type(value).__name__)
def test_objects_come_back_to_those_who_trust_the_file(value):
    data = saved(value)
    with pytest.raises(
        RuntimeError, match=r"needs [\w.]+, which is code(.|\n)*weights_only=False(.|\n)*add_safe_globals"
    ):
        loaded(data)
    found = loaded(data, weights_only=False)
    assert found == value
    assert type(found) is type(value)


def test_a_whole_module_with_a_warning_that_says_what_to_do():
    model = Model()
    with pytest.warns(UserWarning, match=r"whole module, Model(.|\n)*state_dict\(\) instead"):
        data = saved({"model": model})
    with pytest.raises(RuntimeError, match=r"test_pytorch_format\.Model, polyad\.nn\.modules\.linear\.Linear"):
        loaded(data)
    found = loaded(data, weights_only=False)["model"]
    assert found.tied is found.inner
    assert found.kind is nn.ReLU
    assert polyad.equal(found(polyad.ones(1, 2)), model(polyad.ones(1, 2)))
    assert len(list(found.parameters())) == 2


@pytest.mark.filterwarnings("ignore:save. a whole module")
def test_registered_dataclasses_and_generators_are_data():
    @polyad.serialization.register_dataclass
    @dataclasses.dataclass
    class Registered:
        lr: float

    Registered.__qualname__ = "Registered"
    globals()["Registered"] = Registered
    polyad.serialization.register_dataclass(Registered, "another name")
    generator = polyad.Generator().manual_seed(7)
    found, again = loaded(written([Registered(0.5), generator]))
    assert found == Registered(0.5)
    assert again.initial_seed() == 7


@pytest.mark.filterwarnings("ignore:save. a whole module")
def test_extra_state_that_is_a_module():
    class Holder(nn.Linear):
        def get_extra_state(self):
            return nn.ReLU()

        def set_extra_state(self, state):
            self.__dict__["given"] = state

    holder = Holder(1, 1)
    assert isinstance(loaded(saved(holder.state_dict()), weights_only=False)["_extra_state"], nn.ReLU)


def test_how_pytorch_is_told_to_pickle(tmp_path) -> None:
    import pickle

    path, state = tmp_path / "model.pt", {"weight": polyad.ones(2)}
    polyad.save(state, path, pickle, 4)
    with pytest.warns(UserWarning, match="a zip archive is written"):
        polyad.save(state, path, pickle_protocol=4, _use_new_zipfile_serialization=False)
    assert polyad.load(path, "cpu", pickle)["weight"].tolist() == [1, 1]
    for call in (
        lambda: polyad.save(state, path, pickle_module=struct),
        lambda: polyad.load(path, pickle_module=struct),
    ):
        with pytest.raises(ValueError, match="pickle_module is <module 'struct'"):
            call()
    with pytest.raises(TypeError, match="pickle_protocol is str, not an int"):
        polyad.save(state, path, pickle_protocol="2")


@pytest.mark.parametrize("lazily", ["conj", "neg"])
def test_what_pytorch_saved_as_conjugated_or_negated_comes_back_so(lazily: str) -> None:
    """PyTorch writes such a view as its memory, and in the tensor's last argument what is to be done to it."""
    x = polyad.tensor([1.0 + 2j, 3.0 - 4j])
    old, new = io.BytesIO(), io.BytesIO()
    polyad.save({"x": x}, old, format="torch")
    with zipfile.ZipFile(old) as source, zipfile.ZipFile(new, "w") as target:
        for name in source.namelist():
            data = source.read(name)
            if name.endswith("data.pkl"):
                ordered = b"ccollections\nOrderedDict\n"
                at = data.index(ordered)
                end = data.index(b"R", at)  # of the call that makes the empty table of hooks; then the arguments end
                word = lazily.encode()
                flag = b"}X" + struct.pack("<I", len(word)) + word + b"\x88s"
                assert data[end + 1 : end + 2] in (b"t", b"q")
                cut = end + 1 if data[end + 1 : end + 2] == b"t" else end + 3
                data = data[:cut] + flag + data[cut:]
            target.writestr(name, data)
    new.seek(0)
    assert polyad.equal(polyad.load(new)["x"], x.conj() if lazily == "conj" else -x)
