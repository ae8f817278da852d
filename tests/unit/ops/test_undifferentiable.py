"""Functions without a derivative say so when one is asked for."""

from __future__ import annotations

import pytest

import polyad
from polyad.dispatch.op import OPS, Op

REFUSING = [
    (op, position)
    for op in OPS.values()
    for position, formula in enumerate(op.formulas)
    if getattr(formula.function, "refuses", False)
]


def test_there_are_some() -> None:
    names = {op.name for op, _ in REFUSING}
    assert {"heaviside", "igamma", "special_zeta", "special_bessel_j0", "special_legendre_polynomial_p"} <= names


@pytest.mark.parametrize(("op", "position"), REFUSING, ids=lambda value: value.name if isinstance(value, Op) else "")
def test_a_gradient_is_refused(op: Op, position: int) -> None:
    name = list(op.operands)[op.formulas[position].position]  # type: ignore[index]
    inputs = {given: polyad.full((2,), 1.5, dtype=polyad.float64) for given in op.operands}
    inputs[name].requires_grad_()
    result = op.call(*inputs.values())
    with pytest.raises(NotImplementedError, match=rf"no derivative with respect to {name}\n(.*\n)*.*detach"):
        result.sum().backward()
    assert inputs[name].grad is None


def test_other_operands_have_theirs() -> None:
    a, x = polyad.tensor([2.0]), polyad.tensor([1.0], requires_grad=True)
    polyad.igamma(a, x).backward()
    assert x.grad is not None
    assert polyad.allclose(x.grad, polyad.exp(polyad.tensor([-1.0])))
