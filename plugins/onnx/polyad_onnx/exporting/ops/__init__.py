"""The translations of ops by family, each loaded when something is exported."""

from . import (
    activation,
    arithmetic,
    convolution,
    effects,
    indexing,
    normalization,
    pooling,
    products,
    random,
    reductions,
    shaping,
    sorting,
    views,
)  # fmt: skip

__all__ = [
    "activation", "arithmetic", "convolution", "effects", "indexing", "normalization", "pooling", "products", "random",
    "reductions", "shaping", "sorting", "views",
]  # fmt: skip
