"""Every op and public tensor function, by family.

Each module declares its ops (see `polyad.dispatch.op`); importing this package declares them all and attaches to Tensor the methods,
in-place forms and operators that follow from the declarations.
"""

from __future__ import annotations

from . import (
    activation,
    arithmetic,
    bitwise,
    comparison,
    conversion,
    convolution,
    creation,
    cumulative,
    embedding,
    exponential,
    indexing,
    joining,
    linear_algebra,
    masking,
    normalization,
    optimizer,
    padding,
    pooling,
    powers,
    reduction,
    rounding,
    selection,
    shape,
    slicing,
    sorting,
    special,
    statistics,
    strided,
    subscript,
    trigonometry,
)
from .attach import attach_methods

attach_methods()

__all__ = [
    "activation",
    "arithmetic",
    "bitwise",
    "comparison",
    "conversion",
    "convolution",
    "creation",
    "cumulative",
    "embedding",
    "exponential",
    "indexing",
    "joining",
    "linear_algebra",
    "masking",
    "normalization",
    "optimizer",
    "padding",
    "pooling",
    "powers",
    "reduction",
    "rounding",
    "selection",
    "shape",
    "slicing",
    "sorting",
    "special",
    "statistics",
    "strided",
    "subscript",
    "trigonometry",
]
