"""Ops on lists of tensors."""

from __future__ import annotations

import pytest

import polyad
from polyad import foreach

LIST = [polyad.tensor([0.5, 0.25]), polyad.tensor([[0.75]], dtype=polyad.float64)]
OTHERS = [polyad.tensor([2.0, 3.0]), polyad.tensor([[4.0]], dtype=polyad.float64)]


def copies() -> list[polyad.Tensor]:
    return [one.clone() for one in LIST]


def values(tensors: list[polyad.Tensor]) -> list[object]:
    return [(one.dtype, one.tolist()) for one in tensors]


@pytest.mark.parametrize("name", sorted(foreach.POINTWISE))
def test_pointwise(name: str) -> None:
    expected = [getattr(one, name)() for one in LIST]
    tensors = copies()
    found = getattr(polyad, f"_foreach_{name}")(tensors)
    assert type(found) is tuple
    assert values(found) == values(expected)
    assert values(tensors) == values(LIST)
    assert getattr(polyad, f"_foreach_{name}_")(tensors) is tensors
    assert values(tensors) == values(expected)


CALLS = {
    "scalar": ("add", (2,), {}, lambda x, y: x + 2),
    "scalars": ("mul", ([2.0, 3.0],), {}, lambda x, y: x * (2.0 if x.dim() == 1 else 3.0)),
    "list, alpha": ("add", (OTHERS,), {"alpha": 3}, lambda x, y: x + 3 * y),
    "tensor, alpha": ("add", (polyad.tensor(2.0),), {"alpha": 3}, lambda x, y: x + 6),
    "sub": ("sub", (OTHERS,), {"alpha": 2}, lambda x, y: x - 2 * y),
    "div": ("div", (OTHERS,), {}, lambda x, y: x / y),
    "addcmul": ("addcmul", (OTHERS, OTHERS), {"value": 0.5}, lambda x, y: x.addcmul(y, y, value=0.5)),
    "addcmul, scalars": ("addcmul", (OTHERS, OTHERS, [0.5, 0.5]), {}, lambda x, y: x.addcmul(y, y, value=0.5)),
    "addcdiv, tensor": ("addcdiv", (OTHERS, OTHERS, polyad.tensor([0.5, 0.5])), {}, lambda x, y: x + 0.5),
    "lerp": ("lerp", (OTHERS, 0.25), {}, lambda x, y: x.lerp(y, 0.25)),
    "maximum, scalar": ("maximum", (0.5,), {}, lambda x, y: x.clamp_min(0.5)),
    "minimum": ("minimum", (OTHERS,), {}, lambda x, y: x.minimum(y)),
    "clamp_max": ("clamp_max", (0.5,), {}, lambda x, y: x.clamp_max(0.5)),
    "pow": ("pow", (2,), {}, lambda x, y: x**2),
}


@pytest.mark.parametrize("case", list(CALLS))
def test_with_others(case: str) -> None:
    name, others, options, by_itself = CALLS[case]
    expected = [by_itself(x, y) for x, y in zip(LIST, OTHERS, strict=True)]
    tensors = copies()
    assert values(getattr(polyad, f"_foreach_{name}")(tensors, *others, **options)) == values(expected)
    getattr(polyad, f"_foreach_{name}_")(tensors, *others, **options)
    assert values(tensors) == values(expected)


def test_those_of_one_form() -> None:
    assert values(polyad._foreach_norm(LIST, 1)) == values([LIST[0].sum(), LIST[1].sum()])
    assert values(polyad._foreach_powsum(LIST, 2)) == values([(one**2).sum() for one in LIST])
    assert values(polyad._foreach_pow(2.0, OTHERS)) == values([2.0**one for one in OTHERS])
    assert values(polyad._foreach_max(LIST)) == values([LIST[0].max(), LIST[1].max()])
    tensors = copies()
    assert polyad._foreach_copy_(tensors, OTHERS) is tensors
    assert values(tensors) == values(OTHERS)
    polyad._foreach_zero_(tensors)
    assert all(one.count_nonzero() == 0 for one in tensors)


def test_gradients_pass() -> None:
    tensors = [one.clone().requires_grad_() for one in LIST]
    sum(one.sum() for one in polyad._foreach_mul(tensors, OTHERS)).backward()
    assert tensors[0].grad.tolist() == [2.0, 3.0]


def test_what_does_not_fit() -> None:
    with pytest.raises(RuntimeError, match="1 items for 2 tensors"):
        polyad._foreach_add(LIST, [1.0])
    with pytest.raises(RuntimeError, match="empty"):
        polyad._foreach_add([], 1)
    with pytest.raises(TypeError, match="list of tensors"):
        polyad._foreach_neg(LIST[0])
    with pytest.raises(TypeError, match="arguments"):
        polyad._foreach_addcmul(LIST, OTHERS)
    with pytest.raises(RuntimeError, match="expected to be 0 dim but it has 1 dimensions and 1 elements"):
        polyad._foreach_mul(LIST, polyad.ones(1))
    with pytest.raises(TypeError, match="expected to be 0 dim but it has 1"):
        polyad._foreach_maximum(LIST, polyad.ones(1))
    with pytest.raises(RuntimeError, match="expected to be 1 dim but it has 0"):
        polyad._foreach_addcmul(LIST, OTHERS, OTHERS, polyad.tensor(1.0))
    with pytest.raises(AttributeError):
        _ = polyad._foreach_twist
    assert len(foreach.names()) == 91


FAILING = {
    "shapes": (LIST, "add_", ([OTHERS[0], polyad.ones(3, 2)],), "shapes|does not fit"),
    "copies": (LIST, "copy_", ([OTHERS[0], polyad.ones(3, 2)],), "cannot become"),
    "dtypes": ([LIST[0], polyad.ones(2, dtype=polyad.int32)], "mul_", (1.5,), "cannot hold"),
    "without others": ([LIST[0], polyad.ones(2, dtype=polyad.int32)], "sqrt_", (), "cannot hold"),
    "leaves": ([LIST[0], polyad.ones(2, requires_grad=True)], "zero_", (), "leaf"),
    "limits": ([LIST[0], polyad.ones(2, 1).expand(2, 2)], "maximum_", (2.0,), "expanded"),
    "items": (LIST, "add_", ([1.0, "2"],), "not a tensor or a number"),
}


@pytest.mark.parametrize("case", FAILING)
def test_what_fails_has_written_to_none(case: str) -> None:
    given, name, others, match = FAILING[case]
    tensors = [given[0].clone(), given[1]]
    before = values(tensors)
    with pytest.raises((RuntimeError, TypeError), match=match):
        getattr(polyad, f"_foreach_{name}")(tensors, *others)
    assert values(tensors) == before
