"""Calls of PyTorch's older overloads, with numbers among the operands, mean what those of today mean."""

from __future__ import annotations

import warnings

import pytest

import polyad
from polyad.base import state

x, y, z = (polyad.tensor(values) for values in ([1.0, 2.0], [3.0, 5.0], [7.0, 4.0]))
m, a, b = (polyad.arange(4.0).reshape(2, 2) + start for start in (0, 1, 2))
p, q, r = (polyad.arange(8.0).reshape(2, 2, 2) + start for start in (0, 1, 2))

OPERANDS = {
    "addmm": (m, a, b),
    "addmv": (x, a, y),
    "addr": (m, x, y),
    "addbmm": (m, q, r),
    "baddbmm": (p, q, r),
}
SINGLE = {"add": ("alpha", x, y), "sub": ("alpha", x, y), "addcmul": ("value", x, y, z), "addcdiv": ("value", x, y, z)}


@pytest.fixture(autouse=True)
def _nobody_was_warned(monkeypatch):
    monkeypatch.setattr(state, "_warned", set())


@pytest.mark.filterwarnings("ignore:.*numbers among:UserWarning")
@pytest.mark.parametrize("name", OPERANDS)
def test_products(name):
    function = getattr(polyad, name)
    first, *rest = OPERANDS[name]
    both, one = function(first, *rest, beta=2, alpha=3), function(first, *rest, beta=2)
    assert polyad.equal(function(2, first, 3, *rest), both)
    assert polyad.equal(function(2, first, *rest), one)
    assert polyad.equal(getattr(first, name)(2, 3, *rest), both)
    assert polyad.equal(getattr(first, name)(2, *rest), one)
    assert polyad.equal(getattr(first.clone(), name + "_")(2, 3, *rest), both)
    assert polyad.equal(getattr(first.clone(), name + "_")(2, *rest), one)
    assert polyad.equal(function(2, first, 3, *rest, out=polyad.empty(0)), both)


@pytest.mark.filterwarnings("ignore:.*numbers among:UserWarning")
@pytest.mark.parametrize("name", SINGLE)
def test_sums(name):
    factor, first, *rest = SINGLE[name]
    function = getattr(polyad, name)
    expected = function(first, *rest, **{factor: -0.5})
    assert polyad.equal(function(first, -0.5, *rest), expected)
    assert polyad.equal(function(first, polyad.tensor(-0.5), *rest), expected)
    assert polyad.equal(getattr(first, name)(-0.5, *rest), expected)
    written = first.clone()
    assert getattr(written, name + "_")(-0.5, *rest) is written
    assert polyad.equal(written, expected)
    assert polyad.equal(function(first, -0.5, *rest, out=polyad.empty(2)), expected)


@pytest.mark.filterwarnings("ignore:.*numbers among:UserWarning")
def test_a_tensor_of_one_element_is_the_operand_and_keeps_its_gradient():
    w = polyad.tensor([4.0], requires_grad=True)
    polyad.zeros(1).add(-0.5, w).backward()
    assert w.grad.tolist() == [-0.5]


@pytest.mark.filterwarnings("ignore:.*numbers among:UserWarning")
def test_transforms_and_captures_see_it():
    assert polyad.equal(polyad.vmap(lambda row: row.clone().add_(2, row))(m), 3 * m)
    graph = polyad.jit.capture(lambda t: t.clone().add_(2, t), m)
    assert polyad.equal(graph(a), 3 * a)


def test_one_warning_for_each_function():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for _ in range(2):
            x.clone().add_(-0.1, y)
            polyad.addmm(1, m, 2, a, b)
    assert [str(one.message).partition(":")[0] for one in seen] == ["add", "addmm"]
    assert all(one.filename == __file__ for one in seen)


@pytest.mark.parametrize(
    "call",
    [
        lambda: polyad.add(x, y, 3),
        lambda: polyad.add(2, x, y),
        lambda: polyad.add(x, 2, y, z),
        lambda: polyad.add(x, 2, y, alpha=2),
        lambda: polyad.add(x, polyad.tensor(2.0, requires_grad=True), y),
        lambda: polyad.addcmul(x, y, z, 2),
        lambda: polyad.addcmul(2, x, y, z),
        lambda: polyad.addmm(1, m, 2, 3, a, b),
        lambda: polyad.addmm(1, 2, m, a),
        lambda: polyad.addmm(2, m, a, b, alpha=3),
        lambda: polyad.addmm(m, a, b, 2),
        lambda: m.clone().addmm_(a, b, 2),
    ],
)
def test_what_pytorch_refuses(call):
    with pytest.raises(TypeError):
        call()


def test_it_is_said_each_time_if_the_user_wants() -> None:
    polyad.set_warn_always(True)
    try:
        for _ in range(2):
            with pytest.warns(UserWarning, match="numbers among the operands"):
                polyad.add(x, 2, y)
    finally:
        polyad.set_warn_always(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        polyad.add(x, 2, y)
