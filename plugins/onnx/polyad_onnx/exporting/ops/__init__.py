"""The translations of ops by family, each loaded when something is exported."""

from . import (
    activation,
    arithmetic,
    convolution,
    effects,
    fold,
    indexing,
    linalg,
    normalization,
    pooling,
    products,
    random,
    recurrent,
    reductions,
    shaping,
    sorting,
    views,
)

__all__ = [
    "activation",
    "arithmetic",
    "convolution",
    "effects",
    "fold",
    "indexing",
    "linalg",
    "normalization",
    "pooling",
    "products",
    "random",
    "recurrent",
    "reductions",
    "shaping",
    "sorting",
    "views",
]
