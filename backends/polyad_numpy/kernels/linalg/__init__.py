"""Kernels of `polyad.linalg`, by family."""

from __future__ import annotations

from polyad.backend import Kernel

from . import factorizations, functions, solving, spectra

KERNELS: dict[str, Kernel] = {
    **factorizations.KERNELS,
    **functions.KERNELS,
    **solving.KERNELS,
    **spectra.KERNELS,
}
