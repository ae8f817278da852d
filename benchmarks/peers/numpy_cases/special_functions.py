"""Functions that SciPy has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import special

import polyad

from .arrays import Arrays, Case

_SCIPYS = {
    "digamma": "psi", "lgamma": "gammaln", "igamma": "gammainc", "igammac": "gammaincc", "multigammaln": "multigammaln",
    "bessel_j0": "j0", "bessel_j1": "j1", "bessel_y0": "y0", "bessel_y1": "y1", "modified_bessel_i0": "i0",
    "modified_bessel_i1": "i1", "modified_bessel_k0": "k0", "modified_bessel_k1": "k1",
    "scaled_modified_bessel_k0": "k0e", "scaled_modified_bessel_k1": "k1e", "xlogy": "xlogy",
    "legendre_polynomial_p": "eval_legendre", "laguerre_polynomial_l": "eval_laguerre",
    "hermite_polynomial_h": "eval_hermite", "hermite_polynomial_he": "eval_hermitenorm",
    "chebyshev_polynomial_t": "eval_chebyt", "chebyshev_polynomial_u": "eval_chebyu",
    "shifted_chebyshev_polynomial_t": "eval_sh_chebyt", "shifted_chebyshev_polynomial_u": "eval_sh_chebyu",
}  # fmt: skip


def _ours(name: str) -> object:
    return getattr(polyad.special, name, None) or getattr(polyad, name)


def cases(arrays: Arrays) -> Iterator[Case]:
    x, unit = arrays.x, arrays.unit
    for name in [
        "erf",
        "erfc",
        "erfcx",
        "erfinv",
        "digamma",
        "lgamma",
        "i0",
        "i0e",
        "i1",
        "i1e",
        "logit",
        "expit",
        "ndtr",
        "ndtri",
        "log_ndtr",
        "entr",
        "bessel_j0",
        "bessel_j1",
        "bessel_y0",
        "bessel_y1",
        "modified_bessel_i0",
        "modified_bessel_i1",
        "modified_bessel_k0",
        "modified_bessel_k1",
        "scaled_modified_bessel_k0",
        "scaled_modified_bessel_k1",
    ]:
        yield Case(name, _ours(name), getattr(special, _SCIPYS.get(name, name)), (unit,))
    yield Case("erfc of normal", polyad.special.erfc, special.erfc, (x,))
    yield Case("lgamma of normal", polyad.lgamma, special.gammaln, (x * 10,))
    yield Case("zeta", polyad.special.zeta, special.zeta, (unit + 1.5, unit))
    yield Case("polygamma", lambda a: polyad.polygamma(1, a), lambda a: special.polygamma(1, a), (unit,))
    yield Case("mvlgamma", lambda a: polyad.mvlgamma(a, 3), lambda a: special.multigammaln(a, 3), (unit[:8] + 3,))
    yield Case("xlogy", polyad.xlogy, special.xlogy, (x, unit))
    yield Case("xlog1py", polyad.special.xlog1py, special.xlog1py, (x, unit))
    yield Case("igamma", polyad.igamma, special.gammainc, (unit, unit))
    yield Case("igammac", polyad.igammac, special.gammaincc, (unit, unit))
    yield Case("airy_ai", polyad.special.airy_ai, lambda a: special.airy(a)[0], (unit[:64],))
    yield Case("spherical_bessel_j0", polyad.special.spherical_bessel_j0, lambda a: np.sin(a) / a, (unit,))
    yield Case("log_ndtr of normal", polyad.special.log_ndtr, special.log_ndtr, (x,))
    for name in [
        "legendre_polynomial_p",
        "laguerre_polynomial_l",
        "hermite_polynomial_h",
        "hermite_polynomial_he",
        "chebyshev_polynomial_t",
        "chebyshev_polynomial_u",
        "shifted_chebyshev_polynomial_t",
        "shifted_chebyshev_polynomial_u",
    ]:
        ours, theirs = getattr(polyad.special, name), getattr(special, _SCIPYS[name])
        yield Case(name, lambda a, f=ours: f(a, 5), lambda a, f=theirs: f(5, a), (unit,))
