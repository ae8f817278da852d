"""Kernels by family. `KERNELS` maps op names to kernels; a family module adds its own table to it."""

from __future__ import annotations

from polyad.backend import Kernel

from . import arithmetic, conversion, linear_algebra, optimizer, reduction

KERNELS: dict[str, Kernel] = {
    **arithmetic.KERNELS,
    **conversion.KERNELS,
    **linear_algebra.KERNELS,
    **optimizer.KERNELS,
    **reduction.KERNELS,
}
