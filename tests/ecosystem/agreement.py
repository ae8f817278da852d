"""How far two results are apart, beside how far rounding may put them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import numpy as np

ROUNDINGS = 4
"""Roundings, of half an epsilon each, that a layer may add to the error of what it is given."""

GROUP_FLOOR = 1e-3
"""Of the largest element among the values recorded together: an array whose elements are smaller than that is compared
as if that were its largest. What is zero but for rounding, as the gradient of a key's bias, has no scale of its own."""


@dataclasses.dataclass(frozen=True)
class Difference:
    """The value that is the furthest from what it may be.

    Attributes:
        name: of the value.
        error: the largest difference, of the largest element.
        ratio: the error by what is allowed; above 1 the two do not agree.
        reason: why they do not, where it is not a number.
    """

    name: str
    error: float
    ratio: float
    reason: str = ""


def allowed(dtype: np.dtype, depth: float) -> float:
    """The relative error that *depth* layers may have in *dtype*."""
    return ROUNDINGS / 2 * float(np.finfo(dtype).eps) * depth


def largest(values: np.ndarray) -> float:
    """The largest finite magnitude in *values*, 0 where there is none."""
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def compare(
    ours: Mapping[str, np.ndarray], theirs: Mapping[str, np.ndarray], depths: Mapping[str, float]
) -> Difference:
    """The worst difference between the values that both sides recorded under the same names."""
    if set(ours) != set(theirs):
        return Difference("names", np.inf, np.inf, f"recorded on one side alone: {sorted(set(ours) ^ set(theirs))[:5]}")
    scales: dict[str, float] = {}
    for name, values in theirs.items():
        if np.issubdtype(values.dtype, np.inexact):
            group = name.partition(".")[0]
            scales[group] = max(scales.get(group, 0.0), largest(values))
    worst = Difference("", 0.0, 0.0)
    for name in theirs:
        scale = GROUP_FLOOR * scales.get(name.partition(".")[0], 0.0)
        found = compare_one(name, ours[name], theirs[name], depths[name], scale)
        if found.ratio > worst.ratio or not worst.name:
            worst = found
    return worst


def compare_one(name: str, ours: np.ndarray, theirs: np.ndarray, depth: float, floor: float) -> Difference:
    """The difference between two arrays."""
    if ours.shape != theirs.shape or (ours.dtype != theirs.dtype and theirs.dtype.kind not in "US"):
        said = f"{ours.dtype} {ours.shape} where PyTorch has {theirs.dtype} {theirs.shape}"
        return Difference(name, np.inf, np.inf, said)
    if theirs.dtype.kind not in "fc":
        equal = bool((ours == theirs).all())
        return Difference(name, 0.0, 0.0) if equal else Difference(name, np.inf, np.inf, "not equal")
    finite = np.isfinite(theirs)
    if not np.array_equal(ours[~finite], theirs[~finite], equal_nan=True) or not np.isfinite(ours[finite]).all():
        return Difference(name, np.inf, np.inf, "infinite or not a number on one side alone")
    wide = np.complex128 if theirs.dtype.kind == "c" else np.float64
    apart = largest(ours[finite].astype(wide) - theirs[finite].astype(wide))
    scale = max(largest(theirs), floor)
    error = apart / scale if apart else 0.0
    return Difference(name, error, error / allowed(theirs.dtype, depth))
