"""Kernels by family. `KERNELS` maps op names to kernels; a family module adds its own table to it."""

from __future__ import annotations

from polyad.backend import Kernel

from . import (
    activation,
    convolution,
    copying,
    creation,
    cumulative,
    elementwise,
    indexing,
    joining,
    linalg,
    linear_algebra,
    normalization,
    optimizer,
    pooling,
    random,
    reduction,
    searching,
    sorting,
)

KERNELS: dict[str, Kernel] = {
    **activation.KERNELS,
    **convolution.KERNELS,
    **copying.KERNELS,
    **creation.KERNELS,
    **cumulative.KERNELS,
    **elementwise.KERNELS,
    **indexing.KERNELS,
    **joining.KERNELS,
    **linalg.KERNELS,
    **linear_algebra.KERNELS,
    **normalization.KERNELS,
    **optimizer.KERNELS,
    **pooling.KERNELS,
    **random.KERNELS,
    **reduction.KERNELS,
    **searching.KERNELS,
    **sorting.KERNELS,
}
