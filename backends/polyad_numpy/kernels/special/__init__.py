"""Special functions, which NumPy has no ufuncs for."""

from __future__ import annotations

from . import bessel, error_functions, gamma, polynomials
from .error_functions import erfc_of_magnitude

__all__ = ["KERNELS", "erfc_of_magnitude"]

KERNELS = {**bessel.KERNELS, **error_functions.KERNELS, **gamma.KERNELS, **polynomials.KERNELS}
