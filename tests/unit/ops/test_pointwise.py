"""Pointwise functions: what the conformance suite cannot say of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polyad
from polyad.dispatch.op import OPS
from polyad.errors import ArgumentError, DTypeError
from polyad.ops.pointwise.where import _where


def special_row(dtype):
    return polyad.tensor([float("nan"), float("inf"), -float("inf"), 0.0, -0.0, 2.0], dtype=dtype)


@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64])
@pytest.mark.parametrize("name", ["erf", "erfc"])
def test_error_function_against_the_c_library(name, dtype):
    x = np.concatenate([np.linspace(-9, 9, 20001), np.linspace(-0.6, 0.6, 4001), 10.0 ** np.linspace(-30, 0, 301)])
    x = x.astype(np.float32 if dtype is polyad.float32 else np.float64)
    got = getattr(polyad, name)(polyad.from_numpy(x)).numpy()
    true = np.array([getattr(math, name)(one) for one in x.astype(np.float64)])
    ulp = np.abs(got - true) / np.spacing(np.maximum(np.abs(true), np.finfo(x.dtype).tiny).astype(x.dtype))
    assert ulp.max() <= {"erf": 5, "erfc": 12}[name]


def test_error_function_at_the_ends():
    x = polyad.tensor([0.0, -0.0, math.inf, -math.inf, math.nan, 30.0, -30.0], dtype=polyad.float64)
    assert str(x.erf().tolist()) == "[0.0, -0.0, 1.0, -1.0, nan, 1.0, -1.0]"
    assert str(x.erfc().tolist()) == "[1.0, 1.0, 0.0, 2.0, nan, 0.0, 2.0]"
    assert str(x.float().erf().tolist()) == "[0.0, -0.0, 1.0, -1.0, nan, 1.0, -1.0]"


@pytest.mark.parametrize("dtype", [polyad.float16, polyad.bfloat16, polyad.float32, polyad.float64])
@pytest.mark.parametrize("repeats", [1, 500])
def test_relu_passes_nan_and_its_gradient_stops_infinity_exactly(dtype, repeats):
    x = polyad.cat([special_row(dtype)] * repeats).requires_grad_()
    y = x.relu()
    assert str(y[:6].float().tolist()).replace("-0.0", "0.0") == "[nan, inf, 0.0, 0.0, 0.0, 2.0]"
    y.backward(polyad.full_like(y, math.inf))
    assert x.grad[-6:].tolist() == [math.inf, math.inf, 0.0, 0.0, 0.0, math.inf]
    assert x.grad[:6].tolist() == x.grad[-6:].tolist()


def test_relu_saves_its_result_alone():
    x = polyad.tensor([1.0, -1.0], requires_grad=True)
    h = x * 1
    y = h.relu()
    h.detach().fill_(5.0)  # h is not needed any more
    y.sum().backward()
    assert x.grad.tolist() == [1.0, 0.0]


def test_a_changed_result_of_relu_is_noticed():
    x = polyad.tensor([1.0, -1.0], requires_grad=True)
    y = (x * 1).relu()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"ReluBackward0.*in place"):
        y.sum().backward()


@pytest.mark.parametrize("size", [10, 20000])
@pytest.mark.parametrize(
    "dtype",
    [polyad.bool_, polyad.uint8, polyad.int64, polyad.float16, polyad.bfloat16, polyad.float64, polyad.complex128],
)
def test_where_chooses_bit_for_bit_at_any_size(size, dtype):
    random = np.random.default_rng(3)
    values = random.integers(0, 2, (2, size)) if dtype is polyad.bool_ else random.integers(0, 200, (2, size))
    a, b = polyad.tensor(values[0]).to(dtype), polyad.tensor(values[1]).to(dtype)
    if dtype.is_floating_point:
        a[0], b[1], a[2], b[3] = math.nan, math.nan, -0.0, math.inf
    mask = random.integers(0, 2, size).astype(bool)
    got = polyad.where(polyad.tensor(mask), a, b)
    assert got.dtype is dtype
    for offset, source in ((True, a), (False, b)):
        rows = np.flatnonzero(mask == offset)
        assert str(got.tolist()) is not None
        left, right = np.array(got.tolist(), object)[rows], np.array(source.tolist(), object)[rows]
        assert list(map(str, left)) == list(map(str, right))


def test_where_with_condition_alone_is_nonzero():
    (rows,) = polyad.where(polyad.tensor([0, 3, 0, 5]) > 0)
    assert rows.tolist() == [1, 3]


def test_where_method_takes_the_condition_first():
    x = polyad.tensor([1.0, -1.0])
    assert x.where(x > 0, 0.0).tolist() == [1.0, 0.0]


def test_where_of_two_numbers_has_the_default_dtype():
    assert polyad.where(polyad.tensor([True, False]), 1.0, 2).dtype is polyad.float32
    assert polyad.where(polyad.tensor([True, False]), 1, 2).dtype is polyad.int64


def test_maximum_shares_the_gradient_of_a_tie():
    a = polyad.tensor([1.0, 2.0, 3.0], requires_grad=True)
    b = polyad.tensor([2.0, 2.0, 2.0], requires_grad=True)
    polyad.maximum(a, b).sum().backward()
    assert a.grad.tolist() == [0.0, 0.5, 1.0]
    assert b.grad.tolist() == [1.0, 0.5, 0.0]


def test_clamp_counts_its_bounds_as_inside():
    x = polyad.tensor([-1.0, 0.0, 1.0, 2.0, 3.0], requires_grad=True)
    x.clamp(0, 2).sum().backward()
    assert x.grad.tolist() == [0.0, 1.0, 1.0, 1.0, 0.0]


def test_clamp_refuses_a_bound_that_the_dtype_cannot_hold_and_changes_nothing():
    x = polyad.tensor([1, 200], dtype=polyad.uint8)
    with pytest.raises(DTypeError, match=r"clamp: .*300"):
        x.clamp_(0, 300)
    assert x.tolist() == [1, 200]


def test_pow_gradient_at_zero_is_finite():
    x = polyad.tensor([0.0, 2.0], requires_grad=True)
    for exponent, slope in ((0, [0.0, 0.0]), (1, [1.0, 1.0]), (2, [0.0, 4.0]), (polyad.zeros(2), [0.0, 0.0])):
        x.grad = None
        (x**exponent).sum().backward()
        assert x.grad.tolist() == slope


def test_pow_gradient_of_the_exponent_at_base_zero():
    exponent = polyad.tensor([0.0, 1.0, 2.0], requires_grad=True)
    polyad.zeros(3).pow(exponent).sum().backward()
    assert exponent.grad.tolist() == [0.0, 0.0, 0.0]


def test_nan_to_num_defaults_to_the_largest_numbers_of_the_dtype():
    for dtype in (polyad.float16, polyad.bfloat16, polyad.float32, polyad.float64):
        got = special_row(dtype).nan_to_num()[:3].tolist()
        assert got == [0.0, polyad.finfo(dtype).max, -polyad.finfo(dtype).max]


def test_equal_and_allclose_answer_with_a_bool():
    a = polyad.tensor([1.0, float("nan")])
    assert polyad.equal(a[:1], polyad.tensor([1.0])) is True
    assert polyad.equal(a, a) is False
    assert polyad.equal(a[:1], a) is False
    assert polyad.equal(polyad.zeros(0, 3), polyad.zeros(0, 3)) is True
    assert polyad.allclose(a, a) is False
    assert polyad.allclose(a, a, equal_nan=True) is True


def test_isclose_of_unsigned_integers_does_not_wrap_around():
    a, b = polyad.tensor([0], dtype=polyad.uint8), polyad.tensor([255], dtype=polyad.uint8)
    assert polyad.isclose(a, b, atol=2).tolist() == [False]


def test_positive_and_conj_of_real_tensors_are_the_tensors_themselves():
    x = polyad.ones(2)
    assert +x is x
    assert x.conj() is x


@pytest.mark.parametrize("name", ["relu6", "leaky_relu", "elu", "selu", "silu", "hardtanh"])
def test_inplace_activations_write_over_their_input(name):
    call = getattr(polyad.nn.functional, name)
    x = polyad.tensor([-1.0, 0.5, 8.0])
    expected = call(x).tolist()
    assert call(x, inplace=True) is x
    assert x.tolist() == expected
    leaf = polyad.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=f"{name}_: a leaf"):
        call(leaf, inplace=True)
    grown = leaf * 2
    assert call(grown, inplace=True) is grown
    grown.sum().backward()
    assert leaf.grad is not None


def test_gelu_keeps_digits_far_below_zero():
    x = np.linspace(-5, -1, 101).astype(np.float32)
    got = polyad.nn.functional.gelu(polyad.from_numpy(x)).numpy()
    true = np.array([0.5 * one * math.erfc(-one / math.sqrt(2)) for one in x.astype(np.float64)])
    assert np.abs(got / true - 1).max() < 64 * np.finfo(np.float32).eps


def test_softmax_of_rows_without_a_finite_element_is_nan_and_others_are_not():
    x = polyad.tensor([[-math.inf, -math.inf], [-math.inf, 0.0]])
    assert str(x.softmax(1).tolist()) == "[[nan, nan], [0.0, 1.0]]"
    assert str(x.log_softmax(1).tolist()) == "[[nan, nan], [-inf, 0.0]]"


def test_softmax_dtype_converts_first():
    x = polyad.tensor([1000.0, 1001.0], dtype=polyad.float16)
    assert x.softmax(0, dtype=polyad.float32).dtype is polyad.float32
    assert polyad.tensor([1, 2]).softmax(0, polyad.float64).dtype is polyad.float64


def test_round_refuses_what_has_no_meaning():
    with pytest.raises(TypeError, match="decimals is True"):
        polyad.round(polyad.ones(2), decimals=True)


def test_div_refuses_an_unknown_rounding_mode():
    with pytest.raises(ArgumentError, match="rounding_mode is 'ceil'"):
        polyad.div(polyad.ones(2), 2, rounding_mode="ceil")


def test_every_pointwise_gradient_twin_is_a_composite_that_a_backend_may_fuse():
    twins = {
        "relu",
        "hardtanh",
        "leaky_relu",
        "elu",
        "gelu",
        "silu",
        "softplus",
        "softmax",
        "log_softmax",
        "sigmoid",
        "tanh",
        "clamp",
    }
    assert {name: OPS[name + "_backward"].kind for name in twins} == dict.fromkeys(twins, "composite")


def test_real_and_imag():
    z = polyad.tensor([1 + 2j, 3 - 4j])
    assert z.real.tolist() == [1.0, 3.0]
    assert z.imag.tolist() == [2.0, -4.0]
    x = polyad.ones(2)
    assert x.real is x


def test_a_number_beyond_float32_is_refused_where_it_is_written() -> None:
    mask = polyad.tensor([True, False])
    for dtype in (polyad.float32, polyad.complex64):
        x = polyad.ones(2, dtype=dtype)
        for write in (lambda: x.masked_fill(mask, 1e300), lambda: x.fill_(-1e300), lambda: polyad.full_like(x, 1e39)):  # noqa: B023
            with pytest.raises(RuntimeError, match="out of the range of"):
                write()
        assert x.tolist() == [1, 1]
    with pytest.raises(RuntimeError, match="range of int64"):
        polyad.zeros(2, dtype=polyad.int64).masked_fill(mask, polyad.tensor(float("nan")))


@pytest.mark.filterwarnings("error")
def test_half_types_make_infinity_of_it_without_a_warning() -> None:
    mask = polyad.tensor([True, False])
    for dtype in (polyad.float16, polyad.bfloat16):
        x = polyad.zeros(2, dtype=dtype)
        assert x.masked_fill(mask, 1e300).tolist() == [float("inf"), 0.0]
        assert x.fill_(1e300).tolist() == [float("inf")] * 2


def test_where_keeps_the_sign_of_zero() -> None:
    x = polyad.tensor([1.0, 2.0])
    assert polyad.signbit(polyad.where(polyad.tensor([True, False]), x, -0.0)).tolist() == [False, True]


def test_inverting_floats_is_a_type_error() -> None:
    for x in (polyad.ones(2), polyad.ones(2, dtype=polyad.complex64)):
        with pytest.raises(TypeError, match="no bits to invert"):
            _ = ~x


def test_slopes_that_are_zero_where_there_is_no_direction() -> None:
    for function, start in ((polyad.angle, [float("nan"), -1.0]), (polyad.angle, [0j]), (polyad.sgn, [0j])):
        x = polyad.tensor(start, requires_grad=True)
        function(x).abs().sum().backward()
        assert x.grad is not None
        assert not x.grad.any()


def test_the_sign_of_an_infinite_complex_number_is_nan() -> None:
    signs = polyad.sgn(polyad.tensor([complex(float("inf"), 0), 3 + 4j]))
    assert polyad.isnan(signs).tolist() == [True, False]


def test_bounds_are_asked_for_in_place_too() -> None:
    x = polyad.ones(2)
    for call in (x.clamp, x.clamp_, lambda low, high: polyad.clamp(x, low, high, out=x)):
        with pytest.raises(RuntimeError, match="clamp: neither min nor max is given"):
            call(None, None)
    assert x._version == 0


@pytest.mark.parametrize("of", [lambda mask, a, b: polyad.where(mask, a, b), _where], ids=["where", "the op"])
@pytest.mark.parametrize(
    ("a", "b", "dtype"),
    [
        (True, False, polyad.bool_),
        (1, 2, polyad.int64),
        (1, True, polyad.int64),
        (2.5, 1, polyad.float32),
        (-0.0, 0.0, polyad.float32),
        (1j, 2.5, polyad.complex64),
    ],
)
def test_where_takes_two_numbers(of, a, b, dtype) -> None:
    for mask, wanted in ((polyad.tensor([True, False]), [a, b]), (polyad.tensor(False), b)):
        chosen = of(mask, a, b)
        assert chosen.dtype is dtype
        assert str(chosen.tolist()) == str(polyad.tensor(wanted, dtype=dtype).tolist())


@pytest.mark.parametrize("base", [0, True, polyad.tensor(2)])
def test_integers_have_no_negative_powers(base) -> None:
    with pytest.raises(RuntimeError, match="pow: integers have no negative integer powers"):
        polyad.pow(base, -2)


@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64, polyad.int32, polyad.int64])
@pytest.mark.parametrize("width", [2, 4, 8])
@pytest.mark.parametrize("op", ["neg", "abs", "square", "sign", "bitwise_not"])
def test_writing_into_a_column(op, width, dtype):
    if op == "bitwise_not" and dtype.is_floating_point:
        return
    table = polyad.arange(9 * width).view(9, width).to(dtype) + 1
    wanted = getattr(polyad, op)(table[:, 0].contiguous())
    column = table[:, 0]
    getattr(column, op + "_")()
    assert column.tolist() == wanted.tolist()
    other = polyad.zeros(9, width, dtype=dtype)[:, 0]
    getattr(polyad, op)(-column, out=other)
    assert other.tolist() == getattr(polyad, op)((-column).contiguous()).tolist()
