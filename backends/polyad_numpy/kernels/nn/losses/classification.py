"""Losses of class numbers.

The usual case, scores (N, C) with every target counting alike, takes as few NumPy calls as it can: at a batch of 64 the
calls are the cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.errors import IndexOutOfRange

from ....half_types import half_to_float32
from ....quiet import quiet


def _all_count(target: Any, classes: int, ignore_index: int) -> bool:
    """Whether every target is a class that counts. Negative targets are large as unsigned numbers."""
    return not 0 <= ignore_index < classes and target.size and np.maximum.reduce(target.view(np.uint64), None) < classes


def _is_usual(x: Any, target: Any, weight: Any, ignore_index: int, smoothing: float) -> bool:
    return x.ndim == 2 and weight is None and not smoothing and _all_count(target, x.shape[1], ignore_index)


def _class_places(x: Any, target: Any) -> Any:
    """Where in the flat row-major scores (N, C) the targets' are."""
    return target + np.arange(0, x.size, x.shape[1])


def _reduce_losses(loss: Any, reduction: str, dtype: Any) -> Any:
    """Losses of targets that all count."""
    if reduction == "none":
        return loss.astype(dtype, copy=False)
    total = np.add.reduce(loss)
    return np.asarray(total / len(loss) if reduction == "mean" else total, dtype)


def _counting(op: str, target: Any, classes: int, ignore_index: int) -> Any:
    """Which targets count; raises for a target that is no class and not ignored."""
    counts = target != ignore_index
    wrong = counts & ((target < 0) | (target >= classes))
    if wrong.any():
        place = np.unravel_index(wrong.argmax(), target.shape)
        where = ", ".join(map(str, place))
        raise IndexOutOfRange(
            f"{op}: target[{where}] = {target[place]} is not in [0, {classes})",
            fix=f"targets are class numbers below {classes}; {ignore_index} (ignore_index) marks what does not count",
        )
    return counts


def _log_softmax(x: Any) -> Any:
    shifted = x - np.maximum.reduce(x, axis=1, keepdims=True, initial=-np.inf)  # of no classes too
    shifted -= np.log(np.add.reduce(np.exp(shifted), axis=1, keepdims=True))
    return shifted


def _class_factors(op: str, x: Any, target: Any, weight: Any, ignore_index: int) -> tuple[Any, Any, Any]:
    """Which targets count, their classes with the dimension of classes, and their weights."""
    counts = _counting(op, target, x.shape[1], ignore_index)
    classes = np.where(counts, target, 0)
    factor = counts.astype(x.dtype) if weight is None else half_to_float32(weight)[classes] * counts
    return counts, classes[:, None], factor


def _likelihood(
    op: str, logs: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float
) -> Any:
    counts, classes, factor = _class_factors(op, logs, target, weight, ignore_index)
    picked = np.take_along_axis(logs, classes, 1)[:, 0]
    loss = np.where(counts, picked * -factor, 0)
    if smoothing:
        every = logs if weight is None else logs * half_to_float32(weight).reshape(-1, *(1,) * (logs.ndim - 2))
        loss = loss * (1 - smoothing) - np.where(counts, np.add.reduce(every, axis=1) * (smoothing / logs.shape[1]), 0)
    if reduction == "none":
        return loss
    total = np.add.reduce(loss, axis=None)
    return total / np.add.reduce(factor, axis=None) if reduction == "mean" else total


def _likelihood_backward(
    op: str, g: Any, x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float
) -> Any:
    counts, classes, factor = _class_factors(op, x, target, weight, ignore_index)
    scale = g / np.add.reduce(factor, axis=None) if reduction == "mean" else g
    # Where no target counts, the mean is nan, and its gradient 0.
    scale = np.where(counts, scale, 0)
    result = np.zeros(x.shape, x.dtype)
    np.put_along_axis(result, classes, (factor * scale * (smoothing - 1))[:, None], 1)
    if smoothing:
        every = (scale * (-smoothing / x.shape[1]))[:, None]
        result += every if weight is None else every * half_to_float32(weight).reshape(-1, *(1,) * (x.ndim - 2))
    return result


@quiet
def nll_loss(x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
    if _is_usual(x, target, weight, ignore_index, smoothing):
        return _reduce_losses(
            -half_to_float32(np.ascontiguousarray(x).reshape(-1).take(_class_places(x, target))), reduction, x.dtype
        )
    loss = _likelihood("nll_loss", half_to_float32(x), target, weight, reduction, ignore_index, smoothing)
    return np.asarray(loss, x.dtype, order="C")


@quiet
def nll_loss_backward(
    g: Any, x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float
) -> Any:
    if _is_usual(x, target, weight, ignore_index, smoothing):
        result = np.zeros(x.shape, x.dtype)
        result.reshape(-1)[_class_places(x, target)] = half_to_float32(-g) / (len(target) if reduction == "mean" else 1)
        return result
    return _likelihood_backward(
        "nll_loss", half_to_float32(g), half_to_float32(x), target, weight, reduction, ignore_index, smoothing
    ).astype(g.dtype, copy=False)


@quiet
def cross_entropy(x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float) -> Any:
    values = half_to_float32(x)
    if not _is_usual(x, target, weight, ignore_index, smoothing):
        return np.asarray(
            _likelihood("cross_entropy", _log_softmax(values), target, weight, reduction, ignore_index, smoothing),
            x.dtype,
            order="C",
        )
    shifted = values - np.maximum.reduce(values, axis=1, keepdims=True)
    # shifted is row-major, whatever x is: its elements can be taken by flat position.
    picked = np.ascontiguousarray(shifted).reshape(-1).take(_class_places(x, target))
    loss = np.log(np.add.reduce(np.exp(shifted), axis=1))
    loss -= picked
    return _reduce_losses(loss, reduction, x.dtype)


@quiet
def cross_entropy_backward(
    g: Any, x: Any, target: Any, weight: Any, reduction: str, ignore_index: int, smoothing: float
) -> Any:
    values = half_to_float32(x)
    if not _is_usual(x, target, weight, ignore_index, smoothing):
        logs = _log_softmax(values)
        arriving = _likelihood_backward(
            "cross_entropy", half_to_float32(g), logs, target, weight, reduction, ignore_index, smoothing
        )
        np.exp(logs, out=logs)
        logs *= np.add.reduce(arriving, axis=1, keepdims=True)
        arriving -= logs
        return arriving.astype(x.dtype, copy=False)
    result = np.ascontiguousarray(values - np.maximum.reduce(values, axis=1, keepdims=True))
    np.exp(result, out=result)
    scale = half_to_float32(g)
    scale = scale[:, None] if reduction == "none" else scale / len(x) if reduction == "mean" else scale
    result *= scale / np.add.reduce(result, axis=1, keepdims=True)
    result.reshape(-1)[_class_places(x, target)] -= scale[:, 0] if reduction == "none" else scale
    return result.astype(x.dtype, copy=False)


KERNELS = {
    "nll_loss": Kernel(nll_loss),
    "nll_loss_backward": Kernel(nll_loss_backward),
    "cross_entropy": Kernel(cross_entropy),
    "cross_entropy_backward": Kernel(cross_entropy_backward),
}
