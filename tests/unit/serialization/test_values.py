"""Values that are saved and loaded: what comes back."""

import math
from collections import OrderedDict

import pytest
from hypothesis import given, strategies as st

import polyad
from polyad import nn
from polyad.files import json_text
from polyad.serialization import keys
from saved_files import COLLIDING, DTYPES, saved, through


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
    polyad.device("fpga", 3),
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
