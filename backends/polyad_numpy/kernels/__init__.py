"""Kernels by family. `KERNELS` maps op names to kernels; a family module adds its own table to it."""

from __future__ import annotations

from polyad.backend import Kernel

from . import arithmetic, conversion, convolution, joining, linear_algebra, optimizer, padding, pooling, reduction

KERNELS: dict[str, Kernel] = {
    **arithmetic.KERNELS,
    **conversion.KERNELS,
    **convolution.KERNELS,
    **joining.KERNELS,
    **linear_algebra.KERNELS,
    **optimizer.KERNELS,
    **padding.KERNELS,
    **pooling.KERNELS,
    **reduction.KERNELS,
}
