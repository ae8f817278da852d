"""Weights for a model: from a file or a state dict, or an error that says where they come from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import polyad
from polyad import nn
from polyad.arguments import check_type
from polyad.errors import ArgumentError

__all__ = ["Weights", "with_weights"]

Weights = str | os.PathLike[str] | Mapping[str, Any] | None
Model = TypeVar("Model", bound=nn.Module)


def with_weights(model: Model, weights: Weights, name: str) -> Model:
    """*model* with *weights*: a file that `polyad.load` reads, or a state dict; None leaves it as it is.

    Raises:
        ValueError: a name of published weights, such as "DEFAULT": nothing is downloaded.
        TypeError: neither a path nor a state dict.
        RuntimeError: the weights are those of another model.
    """
    if weights is None:
        return model
    if isinstance(weights, str) and not Path(weights).exists() and not Path(weights).suffix:
        raise ArgumentError(
            f"{name}: weights is {weights!r}, a name of published weights; polyad brings none and downloads none",
            fix="pass the path of a downloaded file (.pth, .safetensors) or a state dict",
        )
    if isinstance(weights, str | os.PathLike):
        weights = polyad.load(weights, map_location="cpu")
    model.load_state_dict(check_type(name, "weights", weights, Mapping, "the path of a file, a state dict or None"))
    return model
