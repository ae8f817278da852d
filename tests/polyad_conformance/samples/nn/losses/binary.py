"""Losses of elements that each are a yes or a no."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float32, float64, int64

from . import pairs, refused, unknown_reduction


def binary(x, t, weight=1.0):
    return -(t * np.log(x) + (1 - t) * np.log(1 - x)) * weight


def binary_of_scores(x, t, weight=1.0, pos_weight=1.0):
    return (pos_weight * t * np.log1p(np.exp(-x)) + (1 - t) * np.log1p(np.exp(x))) * (1.0 if weight is None else weight)


def soft_margin(x, t):
    return np.log1p(np.exp(-t * x))


SAMPLES = [
    pairs("binary_cross_entropy", "mean", binary, 0.1, 0.9),
    pairs(
        "binary_cross_entropy",
        "weight",
        binary,
        0.1,
        0.9,
        gradient=(0, 1),
        more=lambda make: (make.positive((5,)),),
        reduction="none",
    ),
    pairs("binary_cross_entropy_with_logits", "mean", binary_of_scores),
    pairs(
        "binary_cross_entropy_with_logits",
        "weight",
        binary_of_scores,
        more=lambda make: (make.positive((5,)),),
        reduction="sum",
    ),
    pairs(
        "binary_cross_entropy_with_logits",
        "weight of positives",
        lambda x, t, weight, average, reduce, reduction, pos_weight: binary_of_scores(x, t, weight, pos_weight),
        inputs=lambda make: (make((3, 5)), make((3, 5)), None, None, None, "mean", make.positive((5,))),
    ),
    pairs("soft_margin_loss", "mean", soft_margin),
    pairs("soft_margin_loss", "none", soft_margin, reduction="none"),
    pairs("multilabel_soft_margin_loss", "mean", lambda x, t: binary_of_scores(x, t).mean(-1)),
    pairs(
        "multilabel_soft_margin_loss",
        "weight",
        lambda x, t, weight: binary_of_scores(x, t, weight).mean(-1),
        more=lambda make: (make.positive((5,)),),
        reduction="none",
    ),
]

NAMES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "soft_margin_loss",
    "multilabel_soft_margin_loss",
)

ERRORS = [
    *(
        refused(
            op,
            "shapes differ",
            lambda op, tensor: op(tensor(4, 1), tensor(1, 4)),
            ValueError if op.startswith("binary") else RuntimeError,
            r".*do not broadcast\n.*input .*\n.*target",
        )
        for op in NAMES
    ),
    *(unknown_reduction(op, (4,), (4,)) for op in NAMES),
    refused(
        "binary_cross_entropy",
        "no probability",
        lambda op, tensor: op(tensor(4, dtype=float32) * 0 + 2, tensor(4) * 0),
        RuntimeError,
        r"input\[0\] = 2\.0 is not in \[0, 1\]",
        fused=True,
    ),
    refused(
        "binary_cross_entropy",
        "target that is no probability",
        lambda op, tensor: op(tensor(4) * 0, tensor(4) * 0 - 1),
        RuntimeError,
        r"target\[0\] = -1\.0 is not in \[0, 1\]",
        fused=True,
    ),
    refused(
        "binary_cross_entropy",
        "dtypes",
        lambda op, tensor: op(tensor(4) * 0, tensor(4, dtype=float64)),
        RuntimeError,
        r"target is float64, input is float32\n.*input .*\n.*target",
    ),
    refused(
        "binary_cross_entropy",
        "weight",
        lambda op, tensor: op(tensor(4) * 0, tensor(4) * 0, tensor(3, 4)),
        RuntimeError,
        r"weight \(3, 4\) does not broadcast to input \(4,\)\n.*input .*\n.*weight",
    ),
    refused(
        "binary_cross_entropy_with_logits",
        "weight of positives",
        lambda op, tensor: op(tensor(2, 4), tensor(2, 4), pos_weight=tensor(2)),
        RuntimeError,
        r"pos_weight \(2,\) does not broadcast",
    ),
    refused(
        "binary_cross_entropy_with_logits",
        "target of integers",
        lambda op, tensor: op(tensor(4), tensor(4, dtype=int64)),
        RuntimeError,
        "target is int64",
    ),
    refused(
        "soft_margin_loss",
        "integers",
        lambda op, tensor: op(tensor(4, dtype=int64), tensor(4)),
        RuntimeError,
        "int64 elements",
    ),
]
