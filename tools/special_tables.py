"""Writes the tables of coefficients that the special functions are made of: ``python tools/special_tables.py``.

Every number in core/polyad/tables/special.py is computed here, from mpmath's values of the functions at 60 digits:
expansions in Chebyshev polynomials by interpolation in the zeros of a polynomial of high degree, cut where what follows
is below the rounding of float64; zeros of functions in two parts; Bernoulli numbers. Needs mpmath, and about a minute.

To add a function: a line in `TABLES` with the interval and the function, which should have no zero there and no
singularity near it; then use the table in polyad/ops/special. The number of terms that comes out tells whether the
interval or the variable is a good choice: 15 to 30 is.
"""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable, Sequence
from typing import Any

import mpmath
from mpmath import mp, mpf

TARGET = pathlib.Path(__file__).resolve().parent.parent / "core/polyad/tables/special.py"
NODES = 80
DOUBLE, SINGLE = mpf(2) ** -55, mpf(2) ** -26
"""What may be left out, relative to the smallest magnitude of the function on the interval."""

mp.dps = 60


def interpolated(function: Callable[[Any], Any], low: float, high: float) -> tuple[list[Any], Any]:
    """Chebyshev coefficients of *function* on [low, high], and its smallest magnitude at the nodes."""
    angles = [mp.pi * (2 * k + 1) / (2 * NODES) for k in range(NODES)]
    middle, half = (mpf(low) + mpf(high)) / 2, (mpf(high) - mpf(low)) / 2
    values = [function(middle + half * mp.cos(angle)) for angle in angles]
    found = []
    for degree in range(NODES):
        total = mp.fsum(value * mp.cos(degree * angle) for value, angle in zip(values, angles))
        found.append(total * (1 if degree == 0 else 2) / NODES)
    return found, min(abs(value) for value in values)


def terms_for(coefficients: Sequence[Any], allowed: Any) -> int:
    """How many terms leave out no more than *allowed*."""
    left = mpf(0)
    for count in range(len(coefficients), 0, -1):
        left += abs(coefficients[count - 1])
        if left > allowed:
            return count
    return 1


def series(function: Callable[[Any], Any], low: float, high: float, floor: float | None = None) -> str:
    """The source of a `Series`; *floor* stands in for the smallest magnitude of a function with zeros."""
    coefficients, smallest = interpolated(function, low, high)
    smallest = mpf(floor) if floor is not None else smallest
    double, single = terms_for(coefficients, DOUBLE * smallest), terms_for(coefficients, SINGLE * smallest)
    if double >= NODES - 4:
        raise ValueError(f"{function} on [{low}, {high}] needs more than {NODES} terms")
    return f"Series({float(low)!r}, {float(high)!r}, {single}, {numbers(coefficients[:double])})"


def numbers(values: Sequence[Any]) -> str:
    """The source of a tuple of floats, in lines of bearable length."""
    texts = [repr(float(value)) for value in values]
    lines, line = [], "    "
    for text in texts:
        if len(line) + len(text) > 114:
            lines.append(line.rstrip())
            line = "    "
        line += f"{text}, "
    return "(\n" + "\n".join([*lines, line.rstrip()]) + "\n)"


def root(function: Callable[[Any], Any], near: float) -> str:
    """The source of a zero of *function* as a sum of three parts.

    The first two have the bits of float32 and the third those of float64, so that the differences of a number from
    them, one after the other, lose nothing in either dtype.
    """
    zero = mpmath.findroot(function, mpf(near))
    parts = []
    for bits in (24, 24, 53):
        scale = mpf(2) ** (bits - 1 - int(mp.floor(mp.log(abs(zero), 2))))
        part = mp.nint(zero * scale) / scale
        parts.append(float(part))
        zero -= part
    return f"({', '.join(map(repr, parts))})"


# --------------------------------------------------------------------------------------------------------- functions


def erfcx(x: Any) -> Any:
    """exp(x**2) * erfc(x)."""
    return mp.exp(x * x) * mp.erfc(x)


def erfcx_by_quotient(t: Any) -> Any:
    """(1 + 2 x) * erfcx(x) at x = k (1 + t) / (1 - t): smooth on the whole of [-1, 1], with the limit 2 / sqrt(pi)."""
    if 1 - t < mpf(10) ** -30:
        return 2 / mp.sqrt(mp.pi)
    x = ERFCX_K * (1 + t) / (1 - t)
    if x > 1000:
        inverse = 1 / (2 * x * x)
        total, term = mpf(0), mpf(1)
        for k in range(1, 12):
            total += term
            term *= -(2 * k - 1) * inverse
        return (1 + 2 * x) * total / (x * mp.sqrt(mp.pi))
    return (1 + 2 * x) * erfcx(x)


ERFCX_K = mpf("3.75")


def probit_tail(s: Any) -> Any:
    """The y > 0 with (1 - erf(y / sqrt(2))) / 2 = exp(-s**2 / 2), divided by s."""
    wanted = -s * s / 2
    y = s
    if s > 3:
        y = mp.sqrt(s * s - mp.log(2 * mp.pi * s * s))
    for _ in range(60):
        value = mp.log(mp.erfc(y / mp.sqrt(2)) / 2)
        slope = -mp.sqrt(2 / mp.pi) / erfcx(y / mp.sqrt(2))
        step = (value - wanted) / slope
        y -= step
        if abs(step) < mpf(10) ** -50:
            return y / s
    raise ArithmeticError(f"no convergence at {s}")


def erfinv_over_x(u: Any) -> Any:
    """erfinv(x) / x at u = x**2."""
    x = mp.sqrt(u)
    return mp.erfinv(x) / x


def log_gamma_between_zeros(x: Any) -> Any:
    """log(gamma(x)) / ((x - 1) * (x - 2))."""
    return mp.loggamma(x) / ((x - 1) * (x - 2))


DIGAMMA_ZERO = mpmath.findroot(mp.digamma, mpf("1.46"))


def bessel_i_scaled(order: int) -> Callable[[Any], Any]:
    """sqrt(x) exp(-x) I(x)."""
    return lambda x: mp.sqrt(x) * mp.exp(-x) * mp.besseli(order, x)


def bessel_k_scaled(order: int) -> Callable[[Any], Any]:
    """sqrt(x) exp(x) K(x)."""
    return lambda x: mp.sqrt(x) * mp.exp(x) * mp.besselk(order, x)


def in_inverse(function: Callable[[Any], Any], scale: float) -> Callable[[Any], Any]:
    """*function* of x in the variable scale / x."""
    return lambda w: function(mpf(scale) / w)


def modulus_and_phase(order: int, part: int) -> Callable[[Any], Any]:
    """P and x * Q of Hankel's expansion: sqrt(pi x / 2) H1(x) exp(-i (x - (2 order + 1) pi / 4)) = P + i Q."""

    def function(x: Any) -> Any:
        turned = mp.expj(-(x - (2 * order + 1) * mp.pi / 4))
        value = mp.sqrt(mp.pi * x / 2) * mp.hankel1(order, x) * turned
        return value.real if part == 0 else value.imag * x

    return function


def in_inverse_square(function: Callable[[Any], Any], scale: float) -> Callable[[Any], Any]:
    """*function* of x in the variable (scale / x)**2."""
    return lambda w: function(mpf(scale) / mp.sqrt(w))


def j_without_zeros(order: int) -> Callable[[Any], Any]:
    """J_order(x), divided by x for order 1 and by x - z for its first two positive zeros, as a function of u = x**2."""
    zeros = [mp.besseljzero(order, k) for k in (1, 2)]

    def function(u: Any) -> Any:
        x = mp.sqrt(u)
        value = mp.besselj(order, x) / (x if order else 1)
        return value / ((u - zeros[0] ** 2) * (u - zeros[1] ** 2))

    return function


def y_regular(order: int) -> Callable[[Any], Any]:
    """What is left of Y when its logarithm (and pole) is taken off, as a function of u = x**2."""

    def function(u: Any) -> Any:
        x = mp.sqrt(u)
        logarithmic = 2 / mp.pi * mp.log(x) * mp.besselj(order, x)
        if order == 0:
            return mp.bessely(0, x) - logarithmic
        return (mp.bessely(1, x) - logarithmic + 2 / (mp.pi * x)) / x

    return function


def k_regular(order: int) -> Callable[[Any], Any]:
    """K without its logarithm, as a function of u = x**2: K0 + log(x/2) I0, x * (K1 - log(x/2) I1)."""

    def function(u: Any) -> Any:
        x = mp.sqrt(u)
        if order == 0:
            return mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x)
        return x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x))

    return function


AIRY_ZEROS = [mp.airyaizero(k) for k in (1, 2)]


def airy_between(x: Any) -> Any:
    """Ai(x) without its first two zeros."""
    return mp.airyai(x) / ((x - AIRY_ZEROS[0]) * (x - AIRY_ZEROS[1]))


def airy_large(x: Any) -> Any:
    """Ai(x) exp(zeta) x**(1/4), zeta = 2/3 x**(3/2)."""
    zeta = 2 * x ** mpf("1.5") / 3
    return mp.airyai(x) * mp.exp(zeta) * mp.root(x, 4)


def airy_of_zeta(w: Any) -> Any:
    """`airy_large` in w = 1 / zeta."""
    return airy_large((mpf(3) / (2 * w)) ** (mpf(2) / 3))


def airy_oscillating(part: int) -> Callable[[Any], Any]:
    """Ai(-z) = (f sin(zeta + pi/4) - g cos(zeta + pi/4) / zeta) / z**(1/4): f and g in w = 1 / zeta**2."""

    def function(w: Any) -> Any:
        zeta = 1 / mp.sqrt(w)
        z = (3 * zeta / 2) ** (mpf(2) / 3)
        turned = (mp.airybi(-z) + 1j * mp.airyai(-z)) * mp.root(z, 4) * mp.expj(-(zeta + mp.pi / 4))
        # Bi + i Ai = z**(-1/4) exp(i (zeta + pi/4)) (f + i (-g / zeta)), by DLMF 9.7.9 and 9.7.11
        return turned.real if part == 0 else -turned.imag * zeta

    return function


def bernoulli_over(function: Callable[[int], Any], count: int) -> str:
    """The source of B(2k) * function(k) for k = 1 ... count."""
    return numbers([mp.bernoulli(2 * k) * function(k) for k in range(1, count + 1)])


def temme(rows: int) -> list[list[Any]]:
    """Power series in eta of the functions c_k of DLMF 8.12.9-12: row k holds d(k, 0), d(k, 1), ..."""
    count = 90 + 2 * rows
    # alpha of DLMF 8.12.12: lambda - 1 = eta + alpha_2 eta**2 + ..., from lambda' (lambda - 1) = eta lambda.
    alpha = [mpf(0), mpf(1)]
    for n in range(2, count + 3):
        # coefficient of eta**n on both sides, solved for alpha[n]
        inner = mp.fsum((n + 1 - k) * alpha[k] * alpha[n + 1 - k] for k in range(2, n))
        alpha.append((alpha[n - 1] - inner) / (n + 1))
    stirling = [mpf(1)]
    # 1 / gamma*(a) series: exp(-(sum B2k / (2k (2k-1) a**(2k-1)))) in 1/a, wanted as (-1)**k g_k with gamma* = sum g_k
    log_terms = [mpf(0)] * (rows + 2)
    for k in range(1, rows // 2 + 2):
        if 2 * k - 1 < len(log_terms):
            log_terms[2 * k - 1] = mp.bernoulli(2 * k) / (2 * k * (2 * k - 1))
    for n in range(1, rows + 1):
        stirling.append(mp.fsum(k * log_terms[k] * stirling[n - k] for k in range(1, n + 1)) / n)
    table = [[mpf(-1) / 3 if n == 0 else (n + 2) * alpha[n + 2] for n in range(count)]]
    for k in range(1, rows):
        last = table[-1]
        table.append([(-1) ** k * stirling[k] * table[0][n] + (n + 2) * last[n + 2] for n in range(len(last) - 2)])
    return table


def power_series(row: Sequence[Any]) -> Callable[[Any], Any]:
    """The function that a power series sums up to."""
    return lambda x: mp.polyval(list(reversed(row)), x)


ETA = 1.0
TEMME_A = 20
TEMME_ROWS = 11

TABLES: dict[str, tuple[str, Callable[[], str]]] = {
    "ERF_NEAR": ("erf(x) / x in x**2", lambda: series(lambda u: mp.erf(mp.sqrt(u)) / mp.sqrt(u), 0, 1)),
    "ERFCX": (
        f"(1 + 2 x) erfcx(x) in (x - {float(ERFCX_K)}) / (x + {float(ERFCX_K)}), x >= 0",
        lambda: series(erfcx_by_quotient, -1, 1),
    ),
    "ERFINV_NEAR": ("erfinv(x) / x in x**2", lambda: series(erfinv_over_x, 0, 0.25)),
    "PROBIT_1": ("-ndtri(p) / s in s = sqrt(-2 log p)", lambda: series(probit_tail, 1.66, 3)),
    "PROBIT_2": ("the same", lambda: series(probit_tail, 3, 6)),
    "PROBIT_3": ("the same", lambda: series(probit_tail, 6, 14)),
    "PROBIT_4": ("the same", lambda: series(probit_tail, 14, 39)),
    "LGAMMA_1": ("log(gamma(x)) / ((x - 1) (x - 2))", lambda: series(log_gamma_between_zeros, 0.5, 1.5)),
    "LGAMMA_2": ("the same", lambda: series(log_gamma_between_zeros, 1.5, 3)),
    "LGAMMA_3": ("the same", lambda: series(log_gamma_between_zeros, 3, 8)),
    "STIRLING": (
        "B(2k) / (2k (2k - 1)), of Stirling's series (DLMF 5.11.1)",
        lambda: bernoulli_over(lambda k: 1 / mpf(2 * k * (2 * k - 1)), 11),
    ),
    "DIGAMMA_ROOT": ("the positive zero of digamma, in parts", lambda: root(mp.digamma, 1.46)),
    "DIGAMMA_1": (
        "digamma(x) / (x - zero)",
        lambda: series(lambda x: mp.digamma(x) / (x - DIGAMMA_ZERO), 1, 2),
    ),
    "DIGAMMA_2": ("digamma(x)", lambda: series(mp.digamma, 2, 4)),
    "DIGAMMA_3": ("the same", lambda: series(mp.digamma, 4, 8)),
    "DIGAMMA_FAR": (
        "B(2k) / (2k), of digamma's asymptotic series (DLMF 5.11.2)",
        lambda: bernoulli_over(lambda k: 1 / mpf(2 * k), 11),
    ),
    "EULER_MACLAURIN": (
        "B(2k) / (2k)!, of the Euler-Maclaurin formula (DLMF 2.10.1)",
        lambda: bernoulli_over(lambda k: 1 / mp.factorial(2 * k), 13),
    ),
    "LOG1P_REST": (
        "(d - log(1 + d)) / d**2",
        lambda: series(lambda d: (d - mp.log1p(d)) / (d * d) if d else mpf(1) / 2, -0.5, 1),
    ),
    "I0_NEAR": ("sqrt(x) exp(-x) I0(x)", lambda: series(bessel_i_scaled(0), 2, 8)),
    "I0_FAR": (
        "the same in 8 / x",
        lambda: series(in_inverse(bessel_i_scaled(0), 8), 0, 1),
    ),
    "I1_NEAR": ("sqrt(x) exp(-x) I1(x)", lambda: series(bessel_i_scaled(1), 2, 8)),
    "I1_FAR": (
        "the same in 8 / x",
        lambda: series(in_inverse(bessel_i_scaled(1), 8), 0, 1),
    ),
    "I0_SMALL": (
        "(I0(x) - 1) / x**2 in x**2",
        lambda: series(lambda u: (mp.besseli(0, mp.sqrt(u)) - 1) / u, 0, 4),
    ),
    "I1_SMALL": ("I1(x) / x in x**2", lambda: series(lambda u: mp.besseli(1, mp.sqrt(u)) / mp.sqrt(u), 0, 4)),
    "K0_NEAR": ("K0(x) + log(x / 2) I0(x) in x**2", lambda: series(k_regular(0), 0, 4, floor=0.1)),
    "K0_FAR": (
        "sqrt(x) exp(x) K0(x) in 2 / x",
        lambda: series(in_inverse(bessel_k_scaled(0), 2), 0, 1),
    ),
    "K1_NEAR": ("x (K1(x) - log(x / 2) I1(x)) in x**2", lambda: series(k_regular(1), 0, 4, floor=0.1)),
    "K1_FAR": (
        "sqrt(x) exp(x) K1(x) in 2 / x",
        lambda: series(in_inverse(bessel_k_scaled(1), 2), 0, 1),
    ),
    "J0_ROOT_1": ("the first zero of J0, in parts", lambda: root(lambda x: mp.besselj(0, x), 2.4)),
    "J0_ROOT_2": ("the second", lambda: root(lambda x: mp.besselj(0, x), 5.5)),
    "J1_ROOT_1": ("the first positive zero of J1, in parts", lambda: root(lambda x: mp.besselj(1, x), 3.8)),
    "J1_ROOT_2": ("the second", lambda: root(lambda x: mp.besselj(1, x), 7.0)),
    "J0_NEAR": (
        "J0(x) / ((x**2 - z1**2) (x**2 - z2**2)) in x**2",
        lambda: series(j_without_zeros(0), 0, 36),
    ),
    "J1_NEAR": (
        "J1(x) / (x (x**2 - z1**2) (x**2 - z2**2)) in x**2",
        lambda: series(j_without_zeros(1), 0, 36),
    ),
    "J0_P": (
        "P of Hankel's expansion, in (6 / x)**2",
        lambda: series(in_inverse_square(modulus_and_phase(0, 0), 6), 0, 1),
    ),
    "J0_Q": ("x Q of the same", lambda: series(in_inverse_square(modulus_and_phase(0, 1), 6), 0, 1)),
    "J1_P": (
        "P of Hankel's expansion, in (6 / x)**2",
        lambda: series(in_inverse_square(modulus_and_phase(1, 0), 6), 0, 1),
    ),
    "J1_Q": ("x Q of the same", lambda: series(in_inverse_square(modulus_and_phase(1, 1), 6), 0, 1)),
    "Y0_NEAR": ("Y0(x) - 2/pi log(x) J0(x) in x**2", lambda: series(y_regular(0), 0, 36, floor=0.1)),
    "Y1_NEAR": (
        "(Y1(x) - 2/pi log(x) J1(x) + 2 / (pi x)) / x in x**2",
        lambda: series(y_regular(1), 0, 36, floor=0.02),
    ),
    "AIRY_ROOT_1": ("the first zero of Ai, in parts", lambda: root(mp.airyai, -2.3)),
    "AIRY_ROOT_2": ("the second", lambda: root(mp.airyai, -4.1)),
    "AIRY_NEGATIVE": ("Ai(x) / ((x - z1) (x - z2))", lambda: series(airy_between, -5, 0)),
    "AIRY_NEAR": ("Ai(x) exp(x)", lambda: series(lambda x: mp.airyai(x) * mp.exp(x), 0, 2)),
    "AIRY_FAR": (
        "Ai(x) exp(zeta) x**(1/4) in 1 / zeta, zeta = 2/3 x**(3/2)",
        lambda: series(airy_of_zeta, 0, 0.5303300858899107),
    ),
    "AIRY_SINE": (
        "f of Ai(-z) z**(1/4) = f sin(zeta + pi/4) - g cos(zeta + pi/4) / zeta, in 1 / zeta**2",
        lambda: series(airy_oscillating(0), 0, 0.018),
    ),
    "AIRY_COSINE": ("g of the same", lambda: series(airy_oscillating(1), 0, 0.018)),
    "TEMME": (
        f"c_k(eta) of the uniform expansion of Q(a, x) (DLMF 8.12.9) for a >= {TEMME_A}, k = 0, 1, ...",
        lambda: (
            "(\n"
            + "".join(
                # Row k is divided by a**k, so it may be as much less precise.
                f"    {series(power_series(row), -ETA, ETA, floor=float(mpf('0.01') * mpf(TEMME_A) ** k))},\n"
                for k, row in enumerate(temme(TEMME_ROWS))
            )
            + ")"
        ),
    ),
}

HEADER = '''"""The numbers that special functions are made of: coefficients of expansions, and where a definition ends.

The composites in `polyad.ops.special` and the kernels of backends read them here. Written by
``python tools/special_tables.py``; do not edit.
"""

from typing import NamedTuple


class Series(NamedTuple):
    """A sum of Chebyshev polynomials in a variable between *low* and *high*.

    Attributes:
        low, high: the interval.
        single: how many of the coefficients float32 needs.
        coefficients: of T0, T1, T2, ...
    """

    low: float
    high: float
    single: int
    coefficients: tuple[float, ...]


HIGH_DEGREE = 8
"""Chebyshev polynomials of a higher degree are computed by their angle."""

HIGHEST_DEGREE = 1 << 20
"""A recurrence takes one step a degree: a higher one is refused, since nobody waits for it."""

HERMITE_LIMIT = {False: 128, True: 512}
"""Beyond this degree (of float32 and of float64) Hermite polynomials, which leave the range of their dtype, are nan."""

'''


def source() -> str:
    """The text of the tables' module."""
    parts = [HEADER]
    for name, (what, make) in TABLES.items():
        text = make()
        print(f"{name}: {text.count(', ') - 2} numbers", file=sys.stderr)
        parts.append(f'\n{name} = {text}\n"""{what}"""\n')
    return "".join(parts)


if __name__ == "__main__":
    TARGET.write_text(source())
