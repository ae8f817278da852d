"""default_collate and default_convert: the structure of a batch."""

import collections
import dataclasses
import types

import numpy
import pytest

import polyad
from polyad.utils.data import TensorDataset, _utils, default_collate, default_convert, get_worker_info

Point = collections.namedtuple("Point", "x y")


def test_tensors_are_stacked():
    batch = default_collate([polyad.tensor([1, 2]), polyad.tensor([3, 4])])
    assert batch.tolist() == [[1, 2], [3, 4]]
    assert batch.dtype is polyad.int64


def test_gradients_pass_through():
    x = polyad.tensor([1.0, 2.0], requires_grad=True)
    default_collate([x, x]).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("samples", "values", "dtype"),
    [
        ([1, 2], [1, 2], polyad.int64),
        ([1.5, 2], [1.5, 2.0], polyad.float64),
        ([True, False], [True, False], polyad.bool),
        ([numpy.float32(1), numpy.float32(2)], [1.0, 2.0], polyad.float32),
        ([numpy.array([1], numpy.int16), numpy.array([2], numpy.int16)], [[1], [2]], polyad.int16),
    ],
)
def test_numbers_and_arrays_become_tensors(samples, values, dtype):
    batch = default_collate(samples)
    assert batch.tolist() == values
    assert batch.dtype is dtype


def test_strings_stay():
    assert default_collate(["a", "b"]) == ["a", "b"]
    assert default_collate([b"a", b"b"]) == [b"a", b"b"]


def test_structures_are_kept():
    batch = default_collate([{"x": 1, "name": "a"}, {"x": 2, "name": "b"}])
    assert batch["x"].tolist() == [1, 2]
    assert batch["name"] == ["a", "b"]

    point = default_collate([Point(1, 2.0), Point(3, 4.0)])
    assert isinstance(point, Point)
    assert point.x.tolist() == [1, 3]

    numbers, names = default_collate([(1, "a"), (2, "b")])
    assert (numbers.tolist(), names) == ([1, 2], ("a", "b"))

    ordered = default_collate([collections.OrderedDict(b=1, a=2)] * 2)
    assert list(ordered) == ["b", "a"]
    assert isinstance(ordered, collections.OrderedDict)


def test_a_mapping_that_cannot_be_rebuilt_becomes_a_dict():
    class Frozen(collections.abc.Mapping):
        def __getitem__(self, key):
            return 1

        def __iter__(self):
            return iter("a")

        def __len__(self):
            return 1

    assert default_collate([Frozen(), Frozen()])["a"].tolist() == [1, 1]
    assert default_collate([types.MappingProxyType({"a": 1})])["a"].tolist() == [1]


def test_gathered_samples_are_taken_whole():
    samples = TensorDataset(polyad.arange(4), polyad.arange(4.0)).__getitems__([3, 1])
    x, y = default_collate(samples)
    assert (x.tolist(), y.tolist()) == ([3, 1], [3.0, 1.0])
    assert x is samples.tensors[0]


def test_different_shapes_are_refused_by_name():
    with pytest.raises(RuntimeError, match="sample 0 and sample 2") as caught:
        default_collate([polyad.zeros(2), polyad.zeros(2), polyad.zeros(3)])
    assert "float32 (3,) on cpu" in str(caught.value)


def test_different_lengths_are_refused():
    with pytest.raises(RuntimeError, match=r"sample has different lengths in .*: \[1, 2\]"):
        default_collate([[1, 2], [3]])


@dataclasses.dataclass
class Pair:
    image: object
    label: int
    weight: float = dataclasses.field(default=0.5, init=False)


def test_dataclasses():
    batch = default_collate([Pair(numpy.ones(2), 1), Pair(numpy.zeros(2), 2)])
    assert isinstance(batch, Pair)
    assert (batch.image.tolist(), batch.label.tolist(), batch.weight) == ([[1, 1], [0, 0]], [1, 2], 0.5)
    assert default_convert(Pair(numpy.ones(2), 1)).image.tolist() == [1, 1]


@pytest.mark.parametrize(
    ("samples", "path"),
    [
        ([{"a": [1, (2, None)]}] * 2, r"sample\['a'\]\[1\]\[1\] is None"),
        ([Pair({"x": object()}, 1)] * 2, r"sample\.image\['x'\] is object"),
        ([Point(1, None)] * 2, r"sample\.y is None"),
        ([[numpy.array(["a"])]] * 2, r"sample\[0\] is a NumPy array"),
    ],
)
def test_what_cannot_be_collated_is_named_by_its_path(samples, path):
    with pytest.raises(TypeError, match=path):
        default_collate(samples)


def test_shapes_and_keys_that_differ_are_named_by_their_path():
    with pytest.raises(RuntimeError, match=r"sample\['a'\] differs in shape between sample 0 and sample 1"):
        default_collate([{"a": polyad.zeros(1)}, {"a": polyad.zeros(2)}])
    with pytest.raises(KeyError, match=r"sample\['a'\] of a sample has no 'b'"):
        default_collate([{"a": {"b": 1}}, {"a": {"c": 1}}])


@pytest.mark.parametrize("sample", [None, object(), {1, 2}, numpy.array(["a"]), numpy.array([None])])
def test_types_without_meaning_are_refused(sample):
    with pytest.raises(TypeError, match="default_collate"):
        default_collate([sample, sample])


def test_nothing_to_collate():
    with pytest.raises(IndexError, match="no sample"):
        default_collate([])


def test_convert():
    converted = default_convert({"a": numpy.ones(2), "b": [numpy.float32(3), "x"], "c": Point(1, 2), "d": None})
    assert converted["a"].tolist() == [1.0, 1.0]
    assert converted["b"][0].item() == 3.0
    assert converted["b"][1] == "x"
    assert converted["c"] == Point(1, 2)
    assert converted["d"] is None


def test_strings_of_numpy_are_strings():
    assert default_collate([numpy.str_("a"), numpy.str_("b")]) == ["a", "b"]
    assert default_collate([{"t": numpy.bytes_(b"a")}])["t"] == [b"a"]


@pytest.mark.parametrize("values", [["a", "b"], [b"a"], [None, 1]], ids=["str", "bytes", "object"])
def test_an_array_without_a_tensor_form_is_left_as_it_is(values):
    array = numpy.array(values)

    assert default_convert({"names": array, "sizes": numpy.ones(2)})["names"] is array


def test_a_mapping_keeps_what_it_holds_besides_its_entries():
    class Encoded(collections.UserDict):
        tokenizer = None

    sample = Encoded({"x": 1})
    sample.tokenizer = "words"
    batch = default_collate([sample, Encoded({"x": 2})])
    assert type(batch) is Encoded
    assert batch.tokenizer == "words"
    assert batch["x"].tolist() == [1, 2]
    assert sample["x"] == 1
    counted = default_collate([collections.defaultdict(list, x=1)])
    assert counted.default_factory is list


# ------------------------------------------------------------------------------------------- at the paths of PyTorch's


class Word(str):
    pass


def test_functions_by_type(monkeypatch):
    """As `collate` of PyTorch's is used: the part's own type, then what it is an instance of, at any depth."""
    collate, default = _utils.collate.collate, _utils.collate.default_collate_fn_map
    seen = []

    def words(batch, *, collate_fn_map):
        seen.append(collate_fn_map)
        return "-".join(batch)

    samples = [{"a": [Word("x"), 1]}, {"a": [Word("y"), 2]}]
    added = {**default, Word: words}
    batch = collate(samples, collate_fn_map=added)
    assert batch["a"][0] == "x-y"
    assert batch["a"][1].tolist() == [1, 2]
    assert seen == [added]
    lengths = collate([polyad.ones(1), polyad.ones(2)], collate_fn_map={polyad.Tensor: lambda batch, **_: len(batch)})
    assert lengths == 2
    assert collate([numpy.ones(1)], collate_fn_map={(numpy.ndarray, list): lambda batch, **_: "array"}) == "array"
    assert default_collate(samples)["a"][0] == ("x", "y")
    monkeypatch.setitem(default, Word, words)
    assert default_collate(samples)["a"][0] == "x-y"


def test_what_is_defined_elsewhere():
    assert _utils.collate.default_collate is default_collate
    assert _utils.collate.collate_tensor_fn([polyad.ones(2), polyad.zeros(2)]).shape == (2, 2)
    assert _utils.worker.get_worker_info is get_worker_info
    assert _utils.pin_memory.pin_memory({"x": ["text", 3]}) == {"x": ["text", 3]}
