"""Integers that are asked for: fractions, numbers that do not fit and bools in their place."""

import numpy as np
import pytest

import polyad
from polyad import nn
from polyad.errors import DTypeError


@pytest.mark.parametrize(
    ("arguments", "dtype", "expected"),
    [
        ((0.0, 4.0, 1.5), polyad.int64, [0, 1, 2, 3]),
        ((0.0, 4.0, 1.5), polyad.int32, [0, 1, 2]),
        ((-0.5, 2.9), polyad.int64, [0, 1]),
        ((-0.5, 2.9), polyad.int32, [0, 1, 2, 3]),
        ((0, 0.9), polyad.int64, []),
    ],
)
def test_arange_of_integers_drops_fractions_first(arguments, dtype, expected):
    assert polyad.arange(*arguments, dtype=dtype).tolist() == expected


def test_arange_of_int64_refuses_a_step_that_becomes_zero():
    with pytest.raises(ValueError, match="step 0"):
        polyad.arange(0.0, 1.0, 0.25, out=polyad.zeros(4, dtype=polyad.int64))


@pytest.mark.parametrize("function", ["masked_fill", "index_fill"])
def test_an_integer_that_does_not_fit_is_refused(function):
    x, places = polyad.zeros(2, dtype=polyad.uint8), polyad.tensor([True, False])
    arguments = (places,) if function == "masked_fill" else (0, polyad.tensor([0]))
    assert getattr(x, function)(*arguments, polyad.tensor(200)).tolist() == [200, 0]
    with pytest.raises(RuntimeError):
        getattr(x, function)(*arguments, polyad.tensor(300))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: polyad.diag(x, True),
        lambda x: polyad.diag_embed(x, True),
        lambda x: polyad.nonzero_static(x, size=True),
        lambda x: polyad.select(x, 0, True),
        lambda x: polyad.slice_scatter(x, x, 0, False),
        lambda x: polyad.multinomial(x, True),
        lambda x: polyad.vander(x[0], True),
        lambda x: polyad.polygamma(True, x),
        lambda x: polyad.mvlgamma(x + 4, True),
        lambda x: polyad.empty_permuted((2, 2), (True, False)),
        lambda x: polyad.nn.functional.layer_norm(x[:, :1], (True,)),
        lambda x: polyad.nn.functional.local_response_norm(x[None], True),
    ],
)
def test_a_bool_is_no_int(call):
    with pytest.raises(TypeError):
        call(polyad.ones(2, 2))


def test_exponents_are_integers_of_the_dtype():
    x = polyad.tensor([2, 3], dtype=polyad.int32)
    for exponent in (-1, np.int8(-1), 2**31, 10**30):
        with pytest.raises(DTypeError, match="pow"):
            x.pow(exponent)
    assert x.pow(np.int8(2)).tolist() == [4, 9]


@pytest.mark.parametrize(
    "call",
    [
        lambda x, i: nn.functional.pad(x, (i(1), i(0))),
        lambda x, i: nn.functional.interpolate(x, size=(i(5), i(5))),
        lambda x, i: nn.functional.adaptive_avg_pool2d(x, (i(2), None)),
        lambda x, i: nn.ZeroPad2d(i(1))(x),
        lambda x, i: nn.Conv2d(3, 3, i(3), padding=(i(1), i(1)))(x).shape,
        lambda x, i: polyad.full((i(2),), i(3)),
    ],
)
def test_integers_of_numpy_are_ints(call) -> None:
    x = polyad.arange(48.0).reshape(1, 3, 4, 4)
    assert str(call(x, np.int64)) == str(call(x, int))
