"""save and load: what comes back, where it goes, what a hostile file can do (nothing), what a failure leaves."""

import builtins
import io
import json
import math
import os
import re
import stat
import struct
import sys
import zlib
from collections import OrderedDict, namedtuple

import pytest
from hypothesis import given, strategies as st

import polyad
from polyad import nn
from polyad.files import json_text, replacing
from polyad.serialization import keys

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


def saved(value):
    file = io.BytesIO()
    polyad.save(value, file)
    return file.getvalue()


def loaded(data, **arguments):
    return polyad.load(io.BytesIO(data), **arguments)


def through(value):
    return loaded(saved(value))


COLLIDING = 2**61 - 1
"""The hash of each of its multiples is 0."""


# ------------------------------------------------------------------------------------------------ what comes back


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("shape", [(), (3,), (0, 2), (2, 3, 4)], ids=str)
def test_tensors_of_every_dtype_and_rank(dtype, shape):
    x = (polyad.arange(math.prod(shape)).reshape(shape) % 2).to(dtype)
    y = through(x)
    assert (y.shape, y.dtype, y.device, y.requires_grad) == (x.shape, x.dtype, x.device, False)
    assert y.tolist() == x.tolist()
    assert y is not x


def test_special_values_are_kept_bit_for_bit():
    x = polyad.tensor([float("nan"), float("inf"), -0.0, 5e-324], dtype=polyad.float64)
    y = through(x)
    assert y.numpy().tobytes() == x.numpy().tobytes()


VALUES = [
    None,
    True,
    0,
    -(2**70),
    1.5,
    -0.0,
    float("inf"),
    1 + 2j,
    "text with ü, \0 and \ud800",
    b"\x00\xff",
    [1, [2, []]],
    (),
    (1, (2,)),
    {"a": {1: [None], (2, "b"): 1.0, None: 0, 2.5: b""}},
    OrderedDict([("z", 1), ("a", 2)]),
    polyad.Size([2, 3]),
    polyad.float16,
    polyad.device("cpu"),
    polyad.device("somewhere", 3),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_python_values(value):
    result = through(value)
    assert result == value
    assert type(result) is type(value)
    assert repr(result) == repr(value)  # order of keys, sign of zero


def test_nan_comes_back():
    assert math.isnan(through(float("nan")))
    assert math.isnan(through([complex(math.nan, 1)])[0].real)


nested = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=20,
)


@given(nested)
def test_any_nesting(value):
    result = through(value)
    assert result == value
    assert repr(result) == repr(value)


@pytest.mark.parametrize(
    "value",
    [
        dict.fromkeys(range(5_000)),
        {str(n * COLLIDING): None for n in range(5_000)},
        {n * COLLIDING: None for n in range(16)},
        [{n: 0, n + 1: 0} for n in range(0, 15_000, 3)],
        {(n, n + 1): 0 for n in range(3_000)},
        "[{," * 2_000_000,
    ],
    ids=["counted", "text", "few", "small", "pairs", "brackets in text"],
)
def test_many_keys_and_brackets(value, monkeypatch):
    monkeypatch.setattr(keys, "MOST_CHOSEN", 4_000)
    assert through(value) == value


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({n * COLLIDING: None for n in range(100)}, "have the same hash"),
        ({(n * COLLIDING,): None for n in range(100)}, "have the same hash"),
        ({n * 3: None for n in range(5_000)}, "neither text nor count 0, 1, 2"),
        ([[]] * 1_000, "more than 500 lists and objects"),
        ([0] * 1_000, "more than 800 values"),
    ],
    ids=["hash", "tuples", "keys", "lists", "values"],
)
def test_what_could_not_be_loaded_is_not_saved(value, why, monkeypatch):
    monkeypatch.setattr(keys, "MOST_CHOSEN", 4_000)
    if "key" not in why and "hash" not in why:
        monkeypatch.setattr(json_text, "MOST_CONTAINERS", 500)
        monkeypatch.setattr(json_text, "MOST_VALUES", 1_500 if "lists" in why else 800)
    with pytest.raises(polyad.errors.SerializationError, match=f"save: .*{why}"):
        saved(value)


def test_a_header_whose_length_looks_like_another_format():
    # Lengths from 0x0480, the first bytes of a pickle, and near it.
    assert [through("x" * n) for n in range(900, 1100)] == ["x" * n for n in range(900, 1100)]
    assert any(saved("x" * n)[:2] == b"\x80\x04" for n in range(900, 1100))


def test_parameters_buffers_and_gradients_are_kept_apart():
    weight = nn.Parameter(polyad.ones(2))
    frozen = nn.Parameter(polyad.ones(2), requires_grad=False)
    leaf = polyad.ones(2, requires_grad=True)
    result = through([weight, frozen, leaf, leaf * 2])
    assert [type(item) for item in result] == [nn.Parameter, nn.Parameter, polyad.Tensor, polyad.Tensor]
    assert [item.requires_grad for item in result] == [True, False, True, True]
    assert all(item.is_leaf for item in result)


def test_a_model_and_its_optimizer_go_on_as_if_never_saved(tmp_path):
    def make():
        polyad.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
        return model, polyad.optim.Adam(model.parameters(), lr=0.1)

    def step(model, optimizer):
        optimizer.zero_grad()
        model(polyad.ones(2, 3)).sum().backward()
        optimizer.step()

    model, optimizer = make()
    step(model, optimizer)
    polyad.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, tmp_path / "c")
    step(model, optimizer)

    fresh, its_optimizer = make()
    state = polyad.load(tmp_path / "c")
    fresh.load_state_dict(state["model"])
    its_optimizer.load_state_dict(state["optimizer"])
    step(fresh, its_optimizer)
    assert [p.tolist() for p in fresh.parameters()] == [p.tolist() for p in model.parameters()]


# ------------------------------------------------------------------------------------------------ memory


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


# ------------------------------------------------------------------------------------------------ what is refused

Pair = namedtuple("Pair", "a b")


class Odd(dict):
    pass


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, {2}]}, r"the object\['a'\]\[1\] is of type builtins.set"),
        (Pair(1, 2), "Pair"),
        (Odd(), "Odd"),
        (print, "builtin_function_or_method"),
        (polyad, "module"),
        (nn.ReLU(), r"(.|\n)*state_dict\(\)"),
        ({polyad.zeros(1): 1}, "the key"),
        ({Pair(1, 2): 1}, "the key Pair"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_other_types_are_refused_with_the_place(value, message):
    with pytest.raises(TypeError, match=message):
        saved(value)


def test_numpy_values_are_refused_with_advice():
    import numpy

    with pytest.raises(TypeError, match=r"numpy.float64(.|\n)*\.item\(\)"):
        saved({"lr": numpy.float64(1)})


def test_cycles_and_depths_are_refused():
    cycle = []
    cycle.append({"again": cycle})
    with pytest.raises(RuntimeError, match=r"the object\[0\]\['again'\] contains itself"):
        saved(cycle)
    deep = []
    for _ in range(99):
        deep = [deep]
    assert through(deep) == deep
    with pytest.raises(RuntimeError, match="nested more than 100 levels"):
        saved([deep])
    shared = [1]
    assert through([shared, shared]) == [[1], [1]]


def test_huge_integers_are_refused():
    assert through(2**4000) == 2**4000
    with pytest.raises(RuntimeError, match="more than 4096 bits"):
        saved(2**5000)


@pytest.mark.parametrize("function", [lambda f: polyad.save(1, f), polyad.load])
def test_f_must_be_a_path_or_a_file(function):
    with pytest.raises(TypeError, match="f is int, neither a path nor a file"):
        function(3)


def test_text_files_are_refused(tmp_path):
    with open(tmp_path / "a", "w") as file, pytest.raises(TypeError, match='mode "wb"'):
        polyad.save(1, file)
    polyad.save("plain", tmp_path / "b")
    with open(tmp_path / "b") as file, pytest.raises(RuntimeError, match='mode "rb"'):
        polyad.load(file)


# ------------------------------------------------------------------------------------------------ files


def test_paths_and_file_objects(tmp_path):
    for path in (tmp_path / "a", str(tmp_path / "b")):
        polyad.save({"x": polyad.ones(2)}, path)
        assert polyad.load(path)["x"].tolist() == [1.0, 1.0]
    with open(tmp_path / "two", "wb") as file:
        polyad.save("first", file)
        polyad.save(polyad.tensor([2]), file)
    with open(tmp_path / "two", "rb") as file:
        assert polyad.load(file) == "first"
        assert polyad.load(file).tolist() == [2]


def test_pipes():
    read, write = os.pipe()
    with os.fdopen(write, "wb") as file:
        polyad.save(polyad.arange(5), file)
    with os.fdopen(read, "rb", buffering=0) as file:
        assert polyad.load(file).tolist() == [0, 1, 2, 3, 4]


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"load: .*nothing: no such file(.|\n)*fix") as caught:
        polyad.load(tmp_path / "nothing")
    assert caught.value.filename == str(tmp_path / "nothing")
    with pytest.raises(FileNotFoundError, match="the folder must exist"):
        polyad.save(1, tmp_path / "nowhere" / "file")
    with pytest.raises(IsADirectoryError, match="name a file inside the folder"):
        polyad.save(1, tmp_path)
    with pytest.raises(IsADirectoryError):
        polyad.load(tmp_path)


@pytest.fixture
def forbidden(tmp_path):
    """A folder in which this user may make no file, whoever the user is."""
    if os.name == "posix" and os.geteuid() != 0:
        folder = tmp_path / "forbidden"
        folder.mkdir(mode=0o500)
        return folder
    if sys.platform == "linux":
        return type(tmp_path)("/sys/kernel")
    pytest.skip("needs a user who is not root, or Linux")


def test_no_permission_to_write(forbidden):
    with pytest.raises(
        PermissionError, match=r"save: .*model: permission denied\n +fix +choose a folder you may write"
    ):
        polyad.save(1, forbidden / "model")


def test_a_write_protected_file_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "model"
    polyad.save("old", path)
    path.chmod(0o444)
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write any file; other users' answer
    with pytest.raises(PermissionError, match="save: "):
        polyad.save("new", path)
    assert polyad.load(path) == "old"


def fail_after(monkeypatch, writes, error):
    """Let os.fdopen give files whose write fails after some calls."""
    real = os.fdopen

    def fdopen(*arguments, **keywords):
        stream = real(*arguments, **keywords)
        left = [writes]

        class Failing:
            def __enter__(self):
                return self

            def __exit__(self, *_):
                stream.close()

            def write(self, data):
                left[0] -= 1
                if left[0] < 0:
                    raise error
                return stream.write(data)

        return Failing()

    monkeypatch.setattr(os, "fdopen", fdopen)


@pytest.mark.parametrize(
    "error",
    [OSError(28, "No space left on device"), KeyboardInterrupt(), MemoryError()],
    ids=lambda e: type(e).__name__,
)
@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch, error, writes):
    path = tmp_path / "model"
    polyad.save({"x": polyad.ones(3), "y": polyad.ones(4)}, path)
    before = path.read_bytes()
    fail_after(monkeypatch, writes, error)
    with pytest.raises(type(error)) as caught:
        polyad.save({"x": polyad.zeros(3), "y": polyad.zeros(4)}, path)
    if isinstance(error, OSError):
        assert "free some space" in str(caught.value)
        assert caught.value.errno == 28
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["model"]


def test_an_object_that_cannot_be_saved_leaves_the_old_file(tmp_path):
    polyad.save("old", tmp_path / "model")
    with pytest.raises(TypeError):
        polyad.save([1, {2}], tmp_path / "model")
    assert polyad.load(tmp_path / "model") == "old"
    assert os.listdir(tmp_path) == ["model"]


def test_the_new_file_is_on_the_disk_before_the_old_one_goes(tmp_path, monkeypatch):
    events = []
    for name in ("fsync", "replace"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, real=real, name=name: (events.append(name), real(*a))[1])
    polyad.save(1, tmp_path / "model")
    assert events[:2] == ["fsync", "replace"]


@pytest.mark.skipif(os.name != "posix", reason="permissions and links are POSIX's")
def test_permissions_links_and_devices_are_kept(tmp_path):
    path = tmp_path / "model"
    polyad.save(1, path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~os.umask(os.umask(0o022) and 0o022)
    path.chmod(0o640)
    link = tmp_path / "link"
    link.symlink_to(path)
    polyad.save(2, link)
    assert link.is_symlink()
    assert polyad.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    polyad.save(3, "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_replacing_is_whole_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(ZeroDivisionError), replacing(path, "test") as stream:
        stream.write(bytes([1 // (stream.write(b"half") - 4)]))
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------------------------------------------ where tensors go


def test_map_location(tmp_path):
    data = saved({"x": polyad.arange(4.0)})
    seen = []

    def place(tensor, name):
        seen.append((tensor.tolist(), name))
        return tensor

    for location in (
        "cpu",
        polyad.device("cpu"),
        {"cpu": "cpu"},
        {},
        place,
        lambda tensor, name: None,
        lambda *_: "cpu",
    ):
        assert loaded(data, map_location=location)["x"].tolist() == [0.0, 1.0, 2.0, 3.0]
    assert seen == [([0.0, 1.0, 2.0, 3.0], "cpu")]
    assert loaded(data, weights_only=False)["x"].numel() == 4
    with pytest.raises(TypeError, match="map_location is 3"):
        loaded(data, map_location=3)
    with pytest.raises(RuntimeError, match="another shape or dtype"):
        loaded(data, map_location=lambda tensor, name: tensor[1:])


def test_a_device_that_is_not_here():
    data = rewritten(saved([polyad.arange(2)]), lambda doc: doc["arrays"]["0"].update(device="elsewhere:1"))
    with pytest.raises(RuntimeError, match=r'saved on elsewhere:1(.|\n)*map_location="cpu"'):
        loaded(data)
    assert loaded(data, map_location="cpu")[0].tolist() == [0, 1]
    assert loaded(data, map_location={"elsewhere:1": "cpu"})[0].tolist() == [0, 1]
    with pytest.raises(RuntimeError, match="nosuch"):
        loaded(data, map_location="nosuch")


@pytest.mark.parametrize("name", ["cpu:7", "cpu:999999999"])
def test_a_device_number_that_is_not_here(name):
    data = rewritten(saved([polyad.arange(2)]), lambda doc: doc["arrays"]["0"].update(device=name))
    with pytest.raises(
        polyad.errors.BackendError, match=rf'saved on {name}, which is not here(.|\n)*map_location="cpu"'
    ):
        loaded(data)
    assert loaded(data, map_location="cpu")[0].tolist() == [0, 1]


# ------------------------------------------------------------------------------------------------ the file itself


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


# ------------------------------------------------------------------------------------------------ hostile files

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
        ({"a": {**ENTRY, "dtype": "F8_E4M3"}}, "dtype 'F8_E4M3', which polyad does not have"),
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
