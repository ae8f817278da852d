"""Support vector machines of the domain ai.onnx.ml."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

import polyad
from polyad import Tensor

from ..operators import ML, REQUIRED, Compute, Node, operator
from .scores import labelled, transformed

__all__: list[str] = []


def _in_dtype_of(numbers: Any, x: Tensor) -> Tensor:
    return polyad.tensor(numbers, dtype=x.dtype, device=x.device)


def _support_kernel(node: Node) -> Any:
    """The function of samples and support vectors that attribute kernel_type names."""
    gamma, coefficient, degree = (node.numbers("kernel_params", None) or [0.0, 0.0, 3.0])[:3]
    match node.choice("kernel_type", "LINEAR", "LINEAR", "POLY", "RBF", "SIGMOID"):
        case "POLY":
            return lambda x, y: (gamma * (x @ y.t()) + coefficient) ** degree
        case "RBF":
            return lambda x, y: (-gamma * (x.unsqueeze(1) - y).square().sum(-1)).exp()
        case "SIGMOID":
            return lambda x, y: (gamma * (x @ y.t()) + coefficient).tanh()
    return lambda x, y: x @ y.t()


@operator("SVMRegressor", domain=ML)
def svm_regressor(node: Node) -> Compute:
    kernel, weights, shift = (
        _support_kernel(node),
        node.numbers("coefficients", REQUIRED),
        node.numbers("rho", REQUIRED),
    )
    count, vectors = node.integer("n_supports", 0), node.numbers("support_vectors", [])
    one_class, transform = node.integer("one_class", 0), node.text("post_transform", "NONE")

    def call(x: Tensor) -> Tensor:
        wide = x.to(polyad.float32)
        by = _in_dtype_of(weights, wide)
        seen = kernel(wide, _in_dtype_of(vectors, wide).reshape(count, -1)) if count else wide
        made = (seen @ by + shift[0]).unsqueeze(1)
        if one_class:
            made = polyad.where(made > 0, 1.0, -1.0)
        return transformed(made, transform)

    return call


def _pair_weights(coefficients: np.ndarray, sizes: list[int]) -> np.ndarray:
    """What each support vector counts in the decision between each pair of classes, (pairs, vectors)."""
    starts = np.cumsum([0, *sizes])
    rows = []
    for i, j in combinations(range(len(sizes)), 2):
        row = np.zeros(starts[-1], np.float32)
        row[starts[i] : starts[i + 1]] = coefficients[j - 1, starts[i] : starts[i + 1]]
        row[starts[j] : starts[j + 1]] = coefficients[i, starts[j] : starts[j + 1]]
        rows.append(row)
    return np.stack(rows)


def _coupled(pairs: Tensor, classes: int) -> Tensor:
    """Probabilities of classes from those between pairs of them: the second method of Wu, Lin and Weng (2004)."""
    r = pairs.new_zeros(pairs.shape[0], classes, classes)
    for index, (i, j) in enumerate(combinations(range(classes), 2)):
        r[:, i, j], r[:, j, i] = pairs[:, index], 1 - pairs[:, index]
    q = -r * r.transpose(1, 2)
    diagonal = (r * r).sum(1)
    q = q + polyad.diag_embed(diagonal)
    p = polyad.full((pairs.shape[0], classes), 1 / classes, dtype=pairs.dtype, device=pairs.device)
    for _ in range(max(100, classes)):
        qp = (q * p.unsqueeze(1)).sum(2)
        pqp = (p * qp).sum(1)
        moving = (qp - pqp.unsqueeze(1)).abs().amax(1) >= 0.005 / classes
        if not bool(moving.any()):
            break
        new = p
        for t in range(classes):
            change = (pqp - qp[:, t]) / diagonal[:, t]
            pqp = (pqp + change * (change * diagonal[:, t] + 2 * qp[:, t])) / (1 + change) ** 2
            by = (1 + change).unsqueeze(1)
            qp = (qp + change.unsqueeze(1) * q[:, t]) / by
            step = polyad.zeros_like(new)
            step[:, t] = change
            new = (new + step) / by
        p = polyad.where(moving.unsqueeze(1), new, p)
    return p


@operator("SVMClassifier", domain=ML)
def svm_classifier(node: Node) -> Compute:
    labels = labelled(node, "classlabels_ints", "classlabels_strings")
    kernel, transform = _support_kernel(node), node.text("post_transform", "NONE")
    sizes, shift = node.integers("vectors_per_class", []), node.numbers("rho", REQUIRED)
    if not sizes:
        raise node.refused("it has no support vectors, so it is a linear model", "export it as a LinearClassifier")
    classes, total = len(sizes), sum(sizes)
    coefficients = np.asarray(node.numbers("coefficients", REQUIRED), np.float32).reshape(classes - 1, total)
    vectors = np.asarray(node.numbers("support_vectors", REQUIRED), np.float32).reshape(total, -1)
    weights, pairs = _pair_weights(coefficients, sizes), list(combinations(range(classes), 2))
    slope, offset = node.numbers("prob_a", []), node.numbers("prob_b", [])

    def call(x: Tensor) -> tuple[Tensor, Tensor]:
        wide = x.to(polyad.float32)
        likeness = kernel(wide, _in_dtype_of(vectors, wide))
        decided = likeness @ _in_dtype_of(weights, wide).t() + _in_dtype_of(shift, wide)
        votes = wide.new_zeros(wide.shape[0], classes)
        for index, (i, j) in enumerate(pairs):
            first = (decided[:, index] > 0).to(wide.dtype)
            votes[:, i] += first
            votes[:, j] += 1 - first
        if slope:
            chance = 1 - (decided * _in_dtype_of(slope, wide) + _in_dtype_of(offset, wide)).sigmoid()
            scores = _coupled(chance.clamp(1e-7, 1 - 1e-7), classes)
        else:
            scores = decided if len(pairs) > 1 else polyad.cat([-decided, decided], 1)
        place = votes.argmax(1)
        return polyad.tensor(labels, device=x.device)[place], transformed(scores, transform)

    return call
