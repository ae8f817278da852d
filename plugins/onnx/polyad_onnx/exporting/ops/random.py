"""Random numbers: a runtime draws its own, of the same distribution."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates
from .arithmetic import number
from .effects import filled


def uniform_like(to: Any, shape: tuple[Any, ...], low: float, high: float, dtype: Any) -> Any:
    """Numbers in [low, high)."""
    if all(isinstance(size, int) for size in shape) and shape:
        kind = int(element(to, dtype))
        return to.op("RandomUniform", shape=list(shape), low=float(low), high=float(high), dtype_=kind, dtype=dtype)
    return to.op("RandomUniformLike", filled(to, shape, 0, dtype), low=float(low), high=float(high))


def element(to: Any, dtype: Any) -> Any:
    """ONNX's number of a dtype."""
    from ..element_types import element_type

    return element_type(dtype)


@translates("uniform")
def uniform(to: Any, shape: tuple[Any, ...], low: float, high: float, generator: Any, dtype: Any, device: Any) -> Any:
    """Numbers in [low, high), all equally likely."""
    return uniform_like(to, shape, low, high, dtype)


@translates("normal")
def normal(to: Any, shape: tuple[Any, ...], mean: float, std: float, generator: Any, dtype: Any, device: Any) -> Any:
    """Normally distributed numbers."""
    if all(isinstance(size, int) for size in shape) and shape:
        kind = int(element(to, dtype))
        return to.op("RandomNormal", shape=list(shape), mean=float(mean), scale=float(std), dtype_=kind, dtype=dtype)
    return to.op("RandomNormalLike", filled(to, shape, 0, dtype), mean=float(mean), scale=float(std))


@translates("integers")
def integers(to: Any, shape: tuple[Any, ...], low: int, high: int, generator: Any, dtype: Any, device: Any) -> Any:
    """Integers in [low, high), all equally likely."""
    return to.cast(to.op("Floor", uniform_like(to, shape, low, high, torch.float64)), dtype)


@translates("chances")
def chances(to: Any, shape: tuple[Any, ...], p: float, generator: Any, device: Any) -> Any:
    """True with probability p."""
    return to.op("Less", uniform_like(to, shape, 0.0, 1.0, torch.float32), to.constant(p, torch.float32))


@translates("chances_of")
def chances_of(to: Any, input: Any, generator: Any) -> Any:
    """1 with the probability that the input holds."""
    drawn = to.op("RandomUniformLike", input, low=0.0, high=1.0)
    return to.cast(to.op("Less", drawn, input), to.result.dtype)


@translates("exponential")
def exponential(to: Any, shape: tuple[Any, ...], rate: float, generator: Any, dtype: Any, device: Any) -> Any:
    """Exponentially distributed numbers."""
    rest = to.op("Sub", number(to, 1), uniform_like(to, shape, 0.0, 1.0, dtype))
    return to.op("Div", to.op("Log", rest), number(to, -rate))


@translates("permutation")
def permutation(to: Any, n: Any, generator: Any, dtype: Any, device: Any) -> Any:
    """The integers below n in an order in which each is equally likely."""
    drawn = uniform_like(to, (n,), 0.0, 1.0, torch.float32)
    _, places = to.op("TopK", drawn, to.sizes([n]), count=2, axis=0)
    places.type = to.ir.TensorType(to.ir.DataType.INT64)
    return to.cast(places, dtype)


@translates("dropout")
def dropout(to: Any, input: Any, p: float, generator: Any) -> tuple[Any, Any]:
    """Each element 0 with probability p, else divided by 1 - p; and which were kept."""
    ratio = to.constant(p, torch.float32)
    out, kept = to.op("Dropout", input, ratio, to.constant(True, torch.bool), count=2)
    kept.type = to.ir.TensorType(to.ir.DataType.BOOL)
    return out, kept
