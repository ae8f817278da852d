"""Operators of Tensor: both sides, in-place forms, numbers outside a dtype's range, foreign operands."""

from __future__ import annotations

import enum
import fractions
import operator

import numpy as np
import pytest

import polyad
from polyad.errors import AutogradError, DivisionByZero, DTypeError, ShapeError

X = [6, -7, 3]
BINARY = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": operator.truediv,
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "pow": operator.pow,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "lshift": operator.lshift,
    "rshift": operator.rshift,
}


def python_result(operate, left, right):
    return [operate(a, b) for a, b in zip(left, right)]


@pytest.mark.parametrize("name", BINARY)
def test_tensor_with_number_is_pythons_integer_arithmetic(name):
    operate = BINARY[name]
    assert operate(polyad.tensor(X), 2).tolist() == python_result(operate, X, [2] * 3)


@pytest.mark.parametrize("name", BINARY)
def test_number_with_tensor_is_pythons_integer_arithmetic(name):
    operate, right = BINARY[name], [1, 2, 3]
    expected = [np.float32(one).item() for one in python_result(operate, [12] * 3, right)]
    assert operate(12, polyad.tensor(right)).tolist() == expected


@pytest.mark.parametrize("name", [name for name in BINARY if name != "truediv"])
def test_in_place_form_writes_into_the_same_tensor_and_counts(name):
    x = polyad.tensor(X)
    alias, version = x.view(3), x._version
    result = getattr(operator, {"and": "iand", "or": "ior"}.get(name, "i" + name))(x, 2)
    assert result is x
    assert x.tolist() == alias.tolist() == python_result(BINARY[name], X, [2] * 3)
    assert x._version == version + 1


def test_in_place_division_of_integers_is_refused_and_changes_nothing():
    x = polyad.tensor(X)
    with pytest.raises(RuntimeError, match=r"float32.*int64"):
        x /= 2
    assert x.tolist() == X


@pytest.mark.parametrize(
    ("operate", "expected"),
    [(operator.neg, [-6, 7, -3]), (operator.pos, X), (abs, [6, 7, 3]), (operator.invert, [-7, 6, -4])],
)
def test_unary_operators(operate, expected):
    assert operate(polyad.tensor(X)).tolist() == expected


@pytest.mark.parametrize("operate", [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge])
def test_comparisons_with_number_on_either_side(operate):
    assert operate(polyad.tensor(X), 3).tolist() == [operate(one, 3) for one in X]
    assert operate(3, polyad.tensor(X)).tolist() == [operate(3, one) for one in X]


def test_comparison_with_something_else_is_identity_as_python_says():
    x = polyad.tensor(X)
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "abc") is False
    with pytest.raises(TypeError):
        x < None  # noqa: B015


@pytest.mark.parametrize("other", [None, "1", [1, 2, 3], {}, object()])
@pytest.mark.parametrize("name", ["add", "sub", "pow", "and"])
def test_foreign_operands_are_pythons_type_error(name, other):
    with pytest.raises(TypeError, match="unsupported operand"):
        BINARY[name](polyad.tensor(X), other)


class Three(enum.IntEnum):
    THREE = 3


@pytest.mark.parametrize(
    ("number", "dtype", "expected"),
    [
        (np.float64(0.5), polyad.float32, [0.5, 1.0]),
        (np.float32(0.5), polyad.float32, [0.5, 1.0]),
        (np.int8(3), polyad.int64, [3, 6]),
        (fractions.Fraction(1, 2), polyad.float32, [0.5, 1.0]),
        (Three.THREE, polyad.int64, [3, 6]),
    ],
)
def test_numbers_of_other_kinds_count_as_pythons_own(number, dtype, expected):
    for x in (polyad.tensor([1, 2]), polyad.tensor([1.0, 2.0])):
        want = dtype if not x.is_floating_point() else polyad.float32
        for product in (x * number, number * x):
            assert isinstance(product, polyad.Tensor)
            assert product.dtype is want
            assert product.tolist() == expected


def test_matching_other_objects_get_their_turn():
    class Other:
        def __radd__(self, left):
            return "mine"

    assert polyad.tensor(X) + Other() == "mine"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lambda x: x + 300, [45, 43]),
        (lambda x: x - 300, [213, 211]),
        (lambda x: x * 300, [44, 212]),
        (lambda x: 300 - x, [43, 45]),
        (lambda x: x + (-1), [0, 254]),
        (lambda x: x & 300, [0, 44]),
        (lambda x: x // 300, [0, 5]),
        (lambda x: x % -3, [1, 2]),
    ],
)
def test_integers_outside_uint8_are_taken_modulo_256(expression, expected):
    result = expression(polyad.tensor([1, 255], dtype=polyad.uint8))
    assert result.dtype is polyad.uint8
    assert result.tolist() == expected


def test_comparing_uint8_with_minus_one_compares_with_255():
    x = polyad.tensor([1, 255], dtype=polyad.uint8)
    assert (x == -1).tolist() == [False, True]
    assert (x > -1).tolist() == [False, False]
    assert (x < 300).tolist() == [True, False]


def test_integers_outside_int64_wrap_around():
    assert (polyad.tensor([5]) + 2**63).tolist() == [5 - 2**63]


def test_zero_keeps_its_sign_beside_a_tensor():
    x = polyad.tensor([1.0, -1.0])
    for zero in (0.0, -0.0, 0, -0.0, 0.0):
        assert np.signbit((x * zero).numpy()).tolist() == np.signbit(np.array([1.0, -1.0]) * zero).tolist()


def test_calls_with_numbers_alone_make_0d_tensors():
    assert repr(polyad.add(1, 2)) == "tensor(3)"
    assert repr(polyad.mul(2, 2.5)) == "tensor(5.)"
    assert repr(polyad.div(1, 2)) == "tensor(0.5000)"
    assert repr(polyad.floor_divide(5, 3)) == "tensor(1)"


@pytest.mark.parametrize("operate", [operator.floordiv, operator.mod])
def test_integer_division_by_zero_is_both_errors_and_changes_nothing(operate):
    x, zeros = polyad.tensor([1, 2]), polyad.tensor([1, 0])
    for divisor in (0, zeros):
        with pytest.raises(DivisionByZero, match="zero") as caught:
            operate(x, divisor)
        assert isinstance(caught.value, RuntimeError)
        assert isinstance(caught.value, ZeroDivisionError)
    with pytest.raises(DivisionByZero):
        x //= 0
    assert x.tolist() == [1, 2]


def test_division_of_floats_by_zero_is_ieee():
    x = polyad.tensor([1.0, -1.0, 0.0])
    assert str((x / 0).tolist()) == "[inf, -inf, nan]"
    assert str((x // 0).tolist()) == "[inf, -inf, nan]"
    assert str((x % 0).tolist()) == "[nan, nan, nan]"


@pytest.mark.filterwarnings("error")
def test_no_warning_of_numpy_reaches_the_user_and_its_error_state_stays():
    before = np.geterr()
    x = polyad.tensor([0.0, -1.0, float("inf"), float("nan"), 1e30])
    for call in (
        lambda: x / 0,
        lambda: 1 / x,
        x.log,
        x.sqrt,
        x.exp,
        lambda: x * x,
        lambda: x - x,
        lambda: x % 0,
        lambda: x**0.5,
    ):
        call()
    for dtype in (polyad.float16, polyad.bfloat16, polyad.float64):
        y = x.to(dtype)
        (y > 0, y.maximum(-y), y.relu(), y.clamp(-1, 1), y + 1e300, y.softmax(0))
    assert np.geterr() == before


def test_bool_subtraction_names_the_alternative():
    mask = polyad.tensor([True, False])
    for operate in (lambda: mask - mask, lambda: 1 - mask, lambda: polyad.tensor([1, 2]) - mask):
        with pytest.raises(DTypeError, match=r"bool(.|\n)*logical_xor"):
            operate()
    with pytest.raises(DTypeError):
        operator.neg(mask)


def test_mistakes_in_shapes_name_the_op_that_was_called_even_if_it_is_made_of_others():
    left, right = polyad.zeros(2, 3), polyad.zeros(4)
    for call in (polyad.xlogy, polyad.add, polyad.lerp, polyad.gt):
        arguments = (left, right, 0.5) if call is polyad.lerp else (left, right)
        name = {polyad.xlogy: "xlogy", polyad.add: "add", polyad.lerp: "lerp", polyad.gt: "gt"}[call]
        with pytest.raises(ShapeError, match=f"^{name}: "):
            call(*arguments)


def test_in_place_with_broadcast_of_self_is_refused():
    x = polyad.zeros(3)
    with pytest.raises(RuntimeError, match=r"\(2, 3\)"):
        x += polyad.ones(2, 3)
    assert x.tolist() == [0.0, 0.0, 0.0]


def test_in_place_on_a_leaf_is_refused_and_changes_nothing():
    x = polyad.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match="leaf"):
        x *= 2
    assert x.tolist() == [1.0, 1.0]


def test_aliases_are_the_functions_they_name():
    for name, other in {
        "absolute": "abs", "subtract": "sub", "multiply": "mul", "divide": "div", "negative": "neg", "clip": "clamp",
        "arccos": "acos", "arctan2": "atan2", "fix": "trunc", "greater": "gt", "less_equal": "le", "not_equal": "ne",
    }.items():  # fmt: skip
        assert getattr(polyad, name) is getattr(polyad, other)
        assert hasattr(polyad.Tensor, name)
        assert hasattr(polyad.Tensor, name + "_")


@pytest.mark.parametrize(
    "name",
    ["add_", "sub_", "mul_", "div_", "floor_divide_", "remainder_", "fmod_", "pow_", "eq_", "gt_", "logical_and_"],
)
def test_in_place_methods_give_what_the_functions_give(name):
    x, y = polyad.tensor([1.5, -2.0, 3.0]), polyad.tensor([2.0, 0.5, 3.0])
    expected = getattr(polyad, name[:-1])(x, y).to(polyad.float32).tolist()
    assert str(getattr(x, name)(y).tolist()) == str(expected)


def test_in_place_keeps_the_dtype_when_the_operand_is_of_a_lower_or_equal_category():
    x = polyad.tensor([1.0, 2.0])
    assert x.add_(polyad.tensor([1.0, 2.0], dtype=polyad.float64)).dtype is polyad.float32
    i = polyad.tensor([1, 2], dtype=polyad.int8)
    assert i.mul_(polyad.tensor([100, 100])).tolist() == [100, -56]


def test_in_asks_whether_an_element_is_equal():
    x = polyad.tensor([[1, 3], [5, 7]])
    assert 3 in x
    assert polyad.tensor(5) in x
    assert 2 not in x
    assert 1.5 in polyad.tensor(1.5)
    with pytest.raises(TypeError, match="neither a number nor a tensor"):
        "a" in x  # noqa: B015


@pytest.mark.parametrize("kind", [int, float, complex])
def test_several_elements_are_no_python_number(kind):
    with pytest.raises(ValueError, match="is not one number"):
        kind(polyad.ones(2))


@pytest.mark.parametrize("divide", [polyad.remainder, polyad.fmod, polyad.floor_divide])
def test_nothing_may_be_divided_by_zero(divide):
    assert divide(polyad.zeros(0, 4, dtype=polyad.int64), 0).shape == (0, 4)


@pytest.mark.parametrize("call", [polyad.sub, polyad.rsub])
def test_sub_refuses_bools_with_alpha_too(call):
    with pytest.raises(RuntimeError, match="bool"):
        call(polyad.ones(2), polyad.tensor([True, False]), alpha=2)


def test_a_formatted_0d_tensor_is_its_number():
    assert f"{polyad.tensor(2)} {polyad.tensor(0.5)} {polyad.tensor(1 / 3):.2f}" == "2 0.5 0.33"
    assert f"{polyad.tensor([7])}" == "tensor([7])"
