"""What trackers are given, as the tools take it: NumPy arrays, plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from polyad import Tensor
from polyad.errors import ArgumentError

__all__ = ["as_array", "as_histogram", "as_picture", "as_plain"]


def as_array(values: Any) -> Any:
    """A tensor of any device, or whatever NumPy takes, as a NumPy array."""
    if isinstance(values, Tensor):
        values = values.detach().cpu()
        return (values.float() if values.dtype.name == "bfloat16" else values).numpy()
    return numpy.asarray(values)


def as_picture(image: Any) -> Any:
    """A picture (C, H, W) or (H, W) as bytes (H, W, C), with 1, 3 or 4 channels.

    Raises:
        ValueError: it has another shape.
    """
    array = as_array(image)
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or array.shape[0] not in (1, 3, 4):
        raise ArgumentError(
            f"log_image: the picture has shape {array.shape}",
            fix="pass (C, H, W) with 1, 3 or 4 channels, or (H, W); make one of several with polyad.vision's make_grid",
        )
    if array.dtype != numpy.uint8:
        array = (numpy.nan_to_num(array.astype(numpy.float64)).clip(0, 1) * 255).round().astype(numpy.uint8)
    return numpy.ascontiguousarray(array.transpose(1, 2, 0))


def as_histogram(values: Any, bins: int = 64) -> tuple[Any, Any]:
    """How many of the finite elements are in which of *bins* equal parts of their range, and the parts' borders."""
    array = as_array(values).reshape(-1).astype(numpy.float64)
    return numpy.histogram(array[numpy.isfinite(array)], bins=bins)


def as_plain(params: Mapping[str, Any]) -> dict[str, Any]:
    """Hyper-parameters as numbers and text: what a dict holds is called ``outer/inner``, other objects are repr."""
    found: dict[str, Any] = {}
    for name, value in params.items():
        if isinstance(value, Mapping):
            found.update({f"{name}/{inner}": v for inner, v in as_plain(value).items()})
        elif isinstance(value, bool | int | float | str) or value is None:
            found[str(name)] = value
        else:
            found[str(name)] = repr(value)
    return found
