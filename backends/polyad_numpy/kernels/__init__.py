"""Kernels by family. `KERNELS` maps op names to kernels; a family module adds its own table to it."""

from __future__ import annotations

from polyad.backend import Kernel

from . import arithmetic, conversion, linear_algebra, reduction

KERNELS: dict[str, Kernel] = {
    **arithmetic.KERNELS,
    **conversion.KERNELS,
    **linear_algebra.KERNELS,
    **reduction.KERNELS,
}
