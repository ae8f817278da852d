"""Kernels by family. `KERNELS` maps op names to kernels; a family module adds its own table to it."""

from __future__ import annotations

from polyad.backend import Kernel

from . import (
    activation,
    arithmetic,
    bitwise,
    comparison,
    conversion,
    convolution,
    cumulative,
    exponential,
    indexing,
    joining,
    linear_algebra,
    loss,
    normalization,
    optimizer,
    padding,
    pooling,
    powers,
    random,
    reduction,
    rounding,
    selection,
    sorting,
    special,
    trigonometry,
)

KERNELS: dict[str, Kernel] = {
    **activation.KERNELS,
    **arithmetic.KERNELS,
    **bitwise.KERNELS,
    **comparison.KERNELS,
    **conversion.KERNELS,
    **convolution.KERNELS,
    **cumulative.KERNELS,
    **exponential.KERNELS,
    **indexing.KERNELS,
    **joining.KERNELS,
    **linear_algebra.KERNELS,
    **loss.KERNELS,
    **normalization.KERNELS,
    **optimizer.KERNELS,
    **padding.KERNELS,
    **pooling.KERNELS,
    **powers.KERNELS,
    **random.KERNELS,
    **reduction.KERNELS,
    **rounding.KERNELS,
    **selection.KERNELS,
    **sorting.KERNELS,
    **special.KERNELS,
    **trigonometry.KERNELS,
}
