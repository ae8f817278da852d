"""Kernels of `polyad.linalg`, by family."""

from __future__ import annotations

from polyad.backend import Kernel

from . import factorizations, solving, spectra

KERNELS: dict[str, Kernel] = {
    **factorizations.KERNELS,
    **solving.KERNELS,
    **spectra.KERNELS,
}
