"""The translations of ops by family, each loaded when something is exported."""

from . import activation, arithmetic, convolution, effects, normalization, pooling, products, reductions, views

__all__ = [
    "activation", "arithmetic", "convolution", "effects", "normalization", "pooling", "products", "reductions", "views",
]  # fmt: skip
