"""Special functions: what their decompositions, which every backend has, and the NumPy backend's kernels are worth.

Errors are measured in units in the last place against mpmath. The bounds are what was measured on dense samples, with a
margin of about two; where a function oscillates or has zeros that are not taken out, relative to its size beside them.
"""

from __future__ import annotations

import functools
import pathlib
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import mpmath
import numpy as np
import pytest

import polyad
from polyad.dispatch.op import OPS
from polyad.tables import special as tables

ROOT = pathlib.Path(__file__).resolve().parents[3]


def between(low: float, high: float) -> Any:
    return np.random.default_rng(3).uniform(low, high, 40)


def powers(low: float, high: float) -> Any:
    """Numbers of all magnitudes between two powers of ten."""
    return 10.0 ** np.random.default_rng(4).uniform(low, high, 40)


def wave(x: Any) -> Any:
    """The amplitude of Bessel functions."""
    return np.minimum(1, np.abs(x) ** -0.5)


def one(x: Any) -> Any:
    return np.ones_like(x)


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], Any, Callable[[Any], Any] | None, float]] = {
    "erf": (mpmath.erf, (between(-6, 6), powers(-20, 0)), None, 4),
    "erfc": (mpmath.erfc, (between(-6, 9), -powers(-20, 0)), None, 8),
    "special_erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), (between(-9, 80), powers(-9, 1)), None, 5),
    "erfinv": (mpmath.erfinv, (between(-1, 1), powers(-20, -1)), None, 5),
    "special_ndtr": (lambda x: mpmath.erfc(-x / mpmath.sqrt(2)) / 2, (between(-9, 8),), None, 8),
    "special_log_ndtr": (
        lambda x: mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2),
        (between(-30, 2), -powers(1, 4)),
        None,
        6,
    ),
    "special_ndtri": (
        lambda p: mpmath.sqrt(2) * mpmath.erfinv(2 * p - 1),
        (between(0, 1), powers(-30, -1)),
        None,
        6,
    ),
    "lgamma": (mpmath.loggamma, (between(0, 3), powers(-30, 30)), None, 8),
    "digamma": (mpmath.digamma, (between(1, 3), powers(-30, 30)), one, 8),
    "i0": (lambda x: mpmath.besseli(0, x), (between(-80, 80), powers(-5, 0)), None, 8),
    "special_i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), (between(-20, 20), powers(0, 4)), None, 5),
    "special_i1": (lambda x: mpmath.besseli(1, x), (between(-80, 80), powers(-5, 0)), None, 8),
    "special_i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), (between(-20, 20), powers(0, 4)), None, 5),
    "special_modified_bessel_k0": (lambda x: mpmath.besselk(0, x), (between(0, 80), powers(-20, 0.5)), None, 20),
    "special_modified_bessel_k1": (lambda x: mpmath.besselk(1, x), (between(0, 80), powers(-20, 0.5)), None, 20),
    "special_scaled_modified_bessel_k0": (
        lambda x: mpmath.besselk(0, x) * mpmath.exp(x),
        (between(0, 80), powers(-20, 0.5)),
        None,
        20,
    ),
    "special_scaled_modified_bessel_k1": (
        lambda x: mpmath.besselk(1, x) * mpmath.exp(x),
        (between(0, 80), powers(-20, 0.5)),
        None,
        6,
    ),
    "special_bessel_j0": (lambda x: mpmath.besselj(0, x), (between(-6, 6), between(-50, 50)), wave, 6),
    "special_bessel_j1": (lambda x: mpmath.besselj(1, x), (between(-6, 6), between(-50, 50)), wave, 6),
    "special_bessel_y0": (lambda x: mpmath.bessely(0, x), (between(0, 6), between(1, 50)), wave, 8),
    "special_bessel_y1": (lambda x: mpmath.bessely(1, x), (between(0, 6), between(1, 50)), wave, 8),
    "special_airy_ai": (
        mpmath.airyai,
        (between(-20, 8),),
        # The rounding of zeta = 2/3 x**(3/2) goes into a phase, or into an exponential.
        lambda x: np.where(x < 0, np.maximum(1, np.abs(x) ** 1.5), 0),
        30,
    ),
    "special_spherical_bessel_j0": (lambda x: mpmath.sin(x) / x, (between(-50, 50),), None, 4),
    "sinc": (lambda x: mpmath.sin(mpmath.pi * x) / (mpmath.pi * x), (between(-3, 3),), one, 4),
    "special_zeta": (lambda x: mpmath.zeta(3, x), (powers(-3, 3),), None, 8),
}
"""By op: mpmath's function, arguments, what the error is relative to (None: the value), and the bound in ulp."""


@functools.cache
def exactly(name: str, argument: float) -> Any:
    return mpmath.re(FUNCTIONS[name][0](mpmath.mpf(argument)))


def error_in_ulp(name: str, got: Any, arguments: Any, size: Any) -> float:
    """The largest error of *got*, in units in the last place of the exact value, or of *size* where that is larger."""
    worst = 0.0
    with mpmath.workdps(50):
        for value, argument, least in zip(got, arguments, size):
            exact = exactly(name, float(argument))
            if abs(exact) < 1e-30:  # on the way out of float32's range
                continue
            unit = np.spacing(got.dtype.type(max(abs(float(exact)), least)))
            worst = max(worst, float(abs(mpmath.mpf(float(value)) - exact)) / float(unit))
    return worst


@pytest.mark.parametrize("form", ["decomposition", "kernel"])
@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64], ids=lambda dtype: dtype.name)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_accuracy(name: str, dtype: polyad.dtype, form: str) -> None:
    _, arguments, size, bound = FUNCTIONS[name]
    x = polyad.tensor(np.concatenate(arguments)).to(dtype)
    call = OPS[name].call if form == "kernel" else OPS[name].body
    assert call is not None
    operands = (polyad.tensor(3.0, dtype=dtype), x) if name == "special_zeta" else (x,)
    got, given = call(*operands).numpy(), x.numpy()
    assert got.dtype == given.dtype
    least = np.zeros(given.shape) if size is None else size(given.astype(np.float64))
    # SciPy's gammaln, ndtr and erfcx have places where they are worse than the decomposition.
    margin = 12 if form == "kernel" and dtype is polyad.float64 else 1
    assert error_in_ulp(name, got, given, least) < bound * margin


@pytest.mark.parametrize("upper", [False, True], ids=["igamma", "igammac"])
@pytest.mark.parametrize(
    ("a", "x"),
    [
        (between(0.01, 1), between(0.01, 1.4)),
        (between(0.5, 19), between(0.5, 24)),
        (between(20, 60), between(20, 60) * between(0.8, 1.3)),
        (powers(2, 6), powers(2, 6) * (1 + 0.3 * (between(0, 2) - 1) * powers(2, 6) ** -0.5)),
    ],
    ids=["small", "series and fraction", "uniform", "large"],
)
def test_accuracy_of_incomplete_gamma_functions(a: Any, x: Any, upper: bool) -> None:
    body = OPS["igammac" if upper else "igamma"].body
    assert body is not None
    got = body(polyad.tensor(a), polyad.tensor(x)).numpy()
    worst = 0.0
    with mpmath.workdps(40):
        for value, one_a, one_x in zip(got, a, x):
            limits = (one_x, mpmath.inf) if upper else (0, one_x)
            exact = mpmath.gammainc(mpmath.mpf(one_a), *limits, regularized=True)
            # What a density that decays costs: its exponent is off by its own rounding.
            exponent = abs(float(mpmath.log(exact)))
            worst = max(worst, float(abs(value / exact - 1)) / (np.finfo(float).eps * (1 + exponent)))
    assert worst < 12


@pytest.mark.parametrize("n", [2, 7, 12, 40])
def test_polynomials_of_one_degree_and_of_a_tensor_of_degrees_agree(n: int) -> None:
    x = polyad.linspace(-1.5, 1.5, 31, dtype=polyad.float64)
    for name in ("chebyshev_polynomial_t", "shifted_chebyshev_polynomial_w", "hermite_polynomial_he"):
        function = getattr(polyad.special, name)
        polyad.testing.assert_close(function(x, n), function(x, polyad.full((31,), n)), rtol=1e-12, atol=1e-9)


def test_hermite_polynomials_end_where_floats_do() -> None:
    x = polyad.tensor([0.5])
    assert polyad.isfinite(polyad.special.hermite_polynomial_h(x.double(), 128)).all()
    assert polyad.isnan(polyad.special.hermite_polynomial_h(x, 129)).all()
    assert polyad.isnan(polyad.special.hermite_polynomial_h(x, polyad.tensor([129]))).all()
    assert polyad.isnan(polyad.special.hermite_polynomial_h(x.double(), 513)).all()


@pytest.mark.parametrize("name", ["erf", "lgamma", "special_i1", "special_bessel_y0", "special_ndtri"])
def test_half_types_are_rounded_once(name: str) -> None:
    x = polyad.tensor([0.1, 0.3, 0.7, 0.9])
    for dtype in (polyad.float16, polyad.bfloat16):
        half = x.to(dtype)
        for call in (OPS[name].call, OPS[name].body):
            assert call is not None
            assert call(half).tolist() == call(half.float()).to(dtype).tolist()


def test_zeros_are_zeros_and_signed() -> None:
    zeros = polyad.tensor([0.0, -0.0])
    for name in ("erf", "erfinv"):
        for call in (OPS[name].call, OPS[name].body):
            assert call is not None
            assert polyad.signbit(call(zeros)).tolist() == [False, True]
    for call in (OPS["lgamma"].call, OPS["lgamma"].body):
        assert call is not None
        result = call(polyad.tensor([1.0, 2.0], dtype=polyad.float64))
        assert result.tolist() == [0.0, 0.0]
        assert not polyad.signbit(result).any()


@pytest.mark.parametrize("x", [0.7, -0.4, 1e-4])
def test_gradients_of_gradients(x: float) -> None:
    """Third derivatives against differences of second ones: the formulas differentiate as often as one likes."""
    for function in (polyad.erf, polyad.special.erfcx, polyad.special.i1e, polyad.special.ndtr, polyad.sinc):

        def second(at: float, function: Callable[..., Any] = function) -> Any:
            point = polyad.tensor(at, dtype=polyad.float64, requires_grad=True)
            (slope,) = polyad.autograd.grad(function(point), point, create_graph=True)
            (bend,) = polyad.autograd.grad(slope, point, create_graph=True)
            return point, bend

        point, bend = second(x)
        (third,) = polyad.autograd.grad(bend, point)
        step = 1e-5
        expected = (second(x + step)[1].item() - second(x - step)[1].item()) / (2 * step)
        assert third.item() == pytest.approx(expected, rel=1e-4, abs=1e-6), function.__name__


def test_tables_are_what_the_generator_writes() -> None:
    """The error function's table, made anew."""
    code = (
        "import sys; sys.path.insert(0, 'tools'); import special_tables as made;"
        "print(made.TABLES['ERF_NEAR'][1](), made.TABLES['STIRLING'][1]())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    fresh: Any = eval(run.stdout.replace(")) (", ")), ("), {"Series": tables.Series})
    assert fresh == (tables.ERF_NEAR, tables.STIRLING)


def test_scipy_is_imported_when_it_is_needed() -> None:
    code = (
        "import sys, polyad; x = polyad.ones(3); (x + x).exp();"
        "assert 'scipy' not in sys.modules; polyad.lgamma(x); assert 'scipy' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(("dtype", "value"), [(polyad.float32, -3e37), (polyad.float64, -1e306)])
@pytest.mark.parametrize("count", [1, 5000])
def test_lgamma_of_large_negative_numbers_is_infinite(dtype, value, count) -> None:
    """Such numbers are integers, all poles; what is reflected overflows there, too."""
    assert (polyad.full((count,), value, dtype=dtype).lgamma() == polyad.inf).all()
