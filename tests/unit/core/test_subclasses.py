"""Classes derived from Tensor: what methods and operators compute from their objects is of the class."""

from __future__ import annotations

import pytest

import polyad
from polyad import Tensor, nn


class Measured(Tensor):
    unit = "m"

    def doubled(self) -> Tensor:
        return polyad.mul(self, 2)


class Precise(Measured):
    pass


RESULTS = {
    "an operator": lambda x: x + 1,
    "a reflected operator": lambda x: 1 - x,
    "a comparison": lambda x: x == x,
    "a plain tensor first": lambda x: polyad.ones(2, 2) * x,
    "a method": lambda x: x.exp(),
    "a keyword": lambda x: x.sum(dim=0),
    "a view": lambda x: x.view(4),
    "a property": lambda x: x.T,
    "an index": lambda x: x[0],
    "a clone": lambda x: x.clone(),
    "an alias": lambda x: x.detach(),
    "data": lambda x: x.data,
    "a cast": lambda x: x.double(),
    "a tensor like it": lambda x: x.new_zeros(3),
    "in place": lambda x: x.add_(1),
    "an assignment": lambda x: x.__iadd__(1),
    "a row": lambda x: next(iter(x)),
    "parts": lambda x: x.unbind()[1],
    "one of several results": lambda x: x.topk(1).values,
    "a constructor": lambda x: type(x)([1.0, 2.0]),
    "a constructor of sizes": lambda x: type(x)(2, 3),
}


@pytest.mark.parametrize("cls", [Measured, Precise])
@pytest.mark.parametrize("name", RESULTS)
def test_results_are_of_the_class(name: str, cls: type[Tensor]) -> None:
    result = RESULTS[name](polyad.ones(2, 2).as_subclass(cls))
    assert type(result) is cls
    assert result.unit == "m"


def test_the_most_derived_class_wins() -> None:
    one, other = polyad.ones(2).as_subclass(Measured), polyad.ones(2).as_subclass(Precise)
    assert type(one + other) is type(other + one) is type(one.maximum(other)) is Precise


def test_what_says_its_class_keeps_it() -> None:
    x = polyad.ones(2).as_subclass(Measured)
    assert type(x.as_subclass(Tensor)) is Tensor
    assert type(x.doubled()) is Measured
    plain = polyad.zeros(2)
    assert x.copy_(plain) is x
    assert type(plain) is Tensor
    assert {x: 1}[x] == 1


def test_parameters_compute_plain_tensors() -> None:
    class Weight(nn.Parameter):
        pass

    for x in (nn.Parameter(polyad.ones(2)), Weight(polyad.ones(2)), nn.Buffer(polyad.ones(2))):
        assert type(x + 1) is type(x.exp()) is type(x.detach()) is Tensor


def test_histories_go_on() -> None:
    x = polyad.ones(2, requires_grad=True)
    y = (x.as_subclass(Measured) * 3).exp()
    y.sum().backward()
    assert type(y) is Measured
    assert x.grad is not None
    assert type(x.grad) is Tensor


def test_make_subclass() -> None:
    x = polyad.arange(3.0)
    y = Tensor._make_subclass(Measured, x, True)
    assert (type(y), y.requires_grad, y.is_leaf, y.data_ptr()) == (Measured, True, True, x.data_ptr())
    assert not Tensor._make_subclass(Measured, y).requires_grad
    with pytest.raises(TypeError, match="_make_subclass: cls"):
        Tensor._make_subclass(dict, x)
