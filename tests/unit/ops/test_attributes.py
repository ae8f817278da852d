"""What the declarations give Tensor."""

from __future__ import annotations

import sys

import pytest

import polyad
from polyad.dispatch.catalogue import ATTRIBUTES
from polyad.nn import functional as F
from polyad.ops.declaring.attach import OPERATORS
from polyad.tensor.methods import TensorMethods


def test_each_attribute_says_which_module_declares_it():
    own = {"__module__", "__doc__", "__slots__", "__array_priority__"}
    own |= {"__firstlineno__", "__static_attributes__"}  # of every class, from Python 3.13 on
    assert vars(TensorMethods).keys() - own == ATTRIBUTES.keys() | OPERATORS.keys()
    assert all(one.name == name and one.module in sys.modules for name, one in ATTRIBUTES.items())
    expected = {
        "exp": "pointwise.exponential",
        "exp_": "pointwise.exponential",
        "__rmatmul__": "products.matmul",
        "__getitem__": "indexing.subscript",
        "real": "pointwise.complex_numbers",
        "as_strided_": "shaping.strided",
        "copy_": "memory.copying",
    }
    assert {name: ATTRIBUTES[name].module.removeprefix("polyad.ops.") for name in expected} == expected


def test_a_twin_that_overwrites_tells_errors_under_its_own_name():
    with pytest.raises(TypeError, match=r"^elu_: alpha"):
        F.elu_(polyad.zeros(2), "much")
    with pytest.raises(TypeError, match=r"elu_\(\) .*inplace"):
        F.elu_(polyad.zeros(2), inplace=False)


@pytest.mark.parametrize("name", ["coalesce", "indices", "values", "crow_indices", "is_coalesced"])
def test_a_dense_tensor_has_no_parts(name):
    with pytest.raises(RuntimeError, match=f"{name}: expected a sparse tensor"):
        getattr(polyad.ones(2), name)()
