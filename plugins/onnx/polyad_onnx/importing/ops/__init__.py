"""The operators, by family as ONNX's documentation groups them. Importing this package enters all of them."""

from __future__ import annotations

from . import (
    activations,
    arithmetic,
    casting,
    control_flow,
    convolution,
    creation,
    images,
    indexing,
    learning,
    microsoft,
    normalization,
    pooling,
    products,
    quantization,
    recurrent,
    reductions,
    resizing,
    scores,
    sequences,
    shapes,
    shaping,
    signals,
    support_vectors,
    text,
    training,
    trees,
    windows,
)

__all__ = [
    "activations", "arithmetic", "casting", "control_flow", "convolution", "creation", "images", "indexing", "learning",
    "microsoft", "normalization", "pooling", "products", "quantization", "recurrent", "reductions", "resizing",
    "scores", "sequences", "shapes", "shaping", "signals", "support_vectors", "text", "training", "trees", "windows",
]  # fmt: skip
