"""Names that models take from PyTorch's modules about modules."""

from __future__ import annotations

from collections import OrderedDict

import pytest

import polyad
from polyad import nn
from polyad.nn import common_types
from polyad.nn.modules import utils


def test_sizes_as_tuples() -> None:
    assert (utils._single(2), utils._pair(2), utils._triple([1, 2, 3]), utils._quadruple(0)) == (
        (2,), (2, 2), (1, 2, 3), (0, 0, 0, 0),
    )  # fmt: skip
    assert utils._ntuple(5)("ab") == ("a", "b")
    assert utils._reverse_repeat_tuple((1, 2), 2) == (2, 2, 1, 1)
    assert common_types._size_2_t == int | tuple[int, int]


def test_a_state_of_a_wrapped_model() -> None:
    model = nn.Sequential(nn.Linear(1, 1))
    state = nn.DataParallel(model, device_ids=["cpu"]).state_dict()
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    assert list(state) == ["0.weight", "0.bias"]
    model.load_state_dict(state)
    plain = OrderedDict(model=1)
    utils.consume_prefix_in_state_dict_if_present(plain, "module.")
    assert list(plain) == ["model"]


def test_members_by_the_method() -> None:
    layer = nn.BatchNorm1d(1)
    assert layer.__getattr__("weight") is layer.weight
    assert layer.__getattr__("running_mean") is layer.running_mean
    assert nn.Sequential(layer).__getattr__("0") is layer
    with pytest.raises(AttributeError, match="has no attribute 'training'"):
        layer.__getattr__("training")


def test_types() -> None:
    assert isinstance(2.0, polyad.types.Number)
    assert polyad.types._size == polyad.Size | list[int] | tuple[int, ...]
