"""What the declarations give Tensor."""

from __future__ import annotations

import sys

import pytest

import polyad
from polyad.nn import functional as F
from polyad.ops.declaring.attach import attributes
from polyad.tensor_methods import TensorMethods


def test_each_attribute_says_which_module_declares_it():
    found = attributes()
    own = {"__module__", "__doc__", "__slots__", "__array_priority__"}
    assert vars(TensorMethods).keys() - own == found.keys()
    assert all(one.name == name and one.module in sys.modules for name, one in found.items())
    expected = {
        "exp": "pointwise.exponential",
        "exp_": "pointwise.exponential",
        "__iadd__": "pointwise.arithmetic",
        "__rmatmul__": "products.matmul",
        "__getitem__": "indexing.subscript",
        "real": "pointwise.complex_numbers",
        "as_strided_": "indexing.slicing",
        "copy_": "memory.conversion",
    }
    assert {name: found[name].module.removeprefix("polyad.ops.") for name in expected} == expected


def test_a_twin_that_overwrites_tells_errors_under_its_own_name():
    with pytest.raises(TypeError, match=r"^elu_: alpha"):
        F.elu_(polyad.zeros(2), "much")
    with pytest.raises(TypeError, match=r"elu_\(\) .*inplace"):
        F.elu_(polyad.zeros(2), inplace=False)
