"""Orthogonal polynomials."""

from __future__ import annotations

import mpmath
import numpy as np

from polyad.base.dtypes import bfloat16, complex64, float32, float64, int64

from ...precise import precise
from ...sample import ErrorCase, Sample, as_float


def by_sum(first, factor):
    """A polynomial of degree n from explicit coefficients: sum over m of ``factor(n, m)``."""
    return lambda x, n: mpmath.fsum(factor(n, m, x) for m in range(first(n) + 1))


def half(n):
    return n // 2


def whole(n):
    return n


def chebyshev(kind):
    """From hypergeometric functions; the third and fourth kind are sums of the second."""

    def polynomial(x, n):
        second, before = mpmath.chebyu(n, x), mpmath.chebyu(n - 1, x) if n else 0
        return {"t": lambda: mpmath.chebyt(n, x), "u": lambda: second, "v": lambda: second - before}.get(
            kind, lambda: second + before
        )()

    return polynomial


POLYNOMIALS = {
    **{f"chebyshev_polynomial_{kind}": chebyshev(kind) for kind in "tuvw"},
    **{
        f"shifted_chebyshev_polynomial_{kind}": lambda x, n, kind=kind: chebyshev(kind)(2 * x - 1, n) for kind in "tuvw"
    },
    "hermite_polynomial_h": by_sum(
        half,
        lambda n, m, x: (-1) ** m * mpmath.factorial(n) * (2 * x) ** (n - 2 * m)
        / (mpmath.factorial(m) * mpmath.factorial(n - 2 * m)),
    ),
    "hermite_polynomial_he": by_sum(
        half,
        lambda n, m, x: (-1) ** m * mpmath.factorial(n) * x ** (n - 2 * m)
        / (mpmath.factorial(m) * mpmath.factorial(n - 2 * m) * mpmath.mpf(2) ** m),
    ),
    "laguerre_polynomial_l": by_sum(
        whole, lambda n, m, x: (-1) ** m * mpmath.binomial(n, m) * x**m / mpmath.factorial(m)
    ),
    "legendre_polynomial_p": by_sum(
        whole, lambda n, m, x: mpmath.binomial(n, m) * mpmath.binomial(n + m, m) * ((x - 1) / 2) ** m
    ),
}  # fmt: skip


def of_any_degree(polynomial):
    def value(x, n):
        if mpmath.isinf(n):
            return mpmath.nan
        degree = int(n)
        return mpmath.mpf(0) if degree < 0 else polynomial(x, degree)

    return precise(value)


REFERENCES = {name: of_any_degree(polynomial) for name, polynomial in POLYNOMIALS.items()}


def growth(x, n):
    """What the errors are relative to: a bound of all polynomials here up to the degree."""
    n = np.maximum(np.trunc(np.asarray(n, np.float64)), 0)
    return (2 * np.abs(np.asarray(x)) + 3) ** np.minimum(n, 8) * (n + 1)


def of_number(make, degree, shape=(3, 4)):
    return make(shape, -2, 2), degree


def degrees(make):
    return make((3, 1), -2, 2), make.of(int64)((1, 5), -1, 6)


def mixed(make):
    """High degrees inside (-1, 1) and low ones outside, in one call."""
    x = make((24,), 0.05, 0.95)
    x[::3] = make((8,), 1, 2)
    n = make.of(int64)((24,), 9, 20)
    n[::3] = make.of(int64)((8,), 0, 5)
    return x, n


SAMPLES = [
    Sample(
        op=f"special.{name}",
        name=what,
        inputs=inputs,
        reference=reference,
        dtypes=dtypes,
        result=as_float,
        steps=40 if what.startswith("high") else 12,
        magnitude=growth,
    )
    for name, reference in REFERENCES.items()
    for what, inputs, dtypes in (
        ("degree 4", lambda make: of_number(make, 4), (int64, bfloat16, float32, float64)),
        ("degree 1, 0-d", lambda make: of_number(make, 1, ()), (float32,)),
        ("empty", lambda make: of_number(make, 3, (0, 3)), (float32,)),
        ("a tensor of degrees", degrees, (float32, float64)),
        *([("high degrees", mixed, (float32, float64))] if "chebyshev" in name else []),
        *([("high degree", lambda make: of_number(make, 11, (7,)), (float64,))] if "chebyshev" in name else []),
    )
]

ERRORS = [
    case
    for name in REFERENCES
    for case in (
        ErrorCase(
            op=f"special.{name}",
            name="complex",
            call=lambda op, tensor: op(tensor(3, dtype=complex64), 2),
            raises=NotImplementedError,
            match=rf"{name}: complex",
        ),
        ErrorCase(
            op=f"special.{name}",
            name="shapes that do not broadcast",
            call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
            raises=RuntimeError,
            match=r"3 != 4\n.*x .*\(2, 3\).*\n.*n .*\(4,\)",
        ),
    )
]
