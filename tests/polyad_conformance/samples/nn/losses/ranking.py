"""Losses of margins, sample by sample from their definitions."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float64, int32, int64

from ....sample import REAL_FLOATS, Sample
from . import reduced, refused, unknown_reduction


def ranking(a, b, target, margin=0.0):
    return np.maximum(0, margin - target * (a - b))


def hinge(x, target, margin=1.0):
    return np.where(target == 1, x, np.maximum(0, margin - x))


def cosine(a, b, target, margin=0.0):
    lengths = np.sqrt((np.square(a).sum(-1) + 1e-12) * (np.square(b).sum(-1) + 1e-12))
    angle = (a * b).sum(-1) / lengths
    return np.where(target == 1, 1 - angle, np.where(target == -1, np.maximum(0, angle - margin), 0))


def multi_margin(x, target, p=1, margin=1.0, weight=None):
    if x.ndim == 1:
        return multi_margin(x[None], np.reshape(target, (1,)), p, margin, weight).reshape(np.shape(target))
    losses = np.zeros(len(x))
    for row, wanted in enumerate(target):
        others = np.delete(np.arange(x.shape[1]), wanted)
        short = np.maximum(0, margin - x[row, wanted] + x[row, others]) ** p
        losses[row] = short.sum() / x.shape[1] * (1 if weight is None else weight[wanted])
    return losses


def multilabel_margin(x, target):
    if x.ndim < 2:
        return multilabel_margin(x.reshape(1, -1), target.reshape(1, -1))[0]
    losses = np.zeros(len(x))
    for row in range(len(x)):
        stop = np.flatnonzero(target[row] == -1)
        listed = target[row, : stop[0] if len(stop) else None]
        others = [place for place in range(x.shape[1]) if place not in listed]
        losses[row] = sum(max(0, 1 - x[row, t] + x[row, i]) for t in listed for i in others) / x.shape[1]
    return losses


def distance(a, b, p=2, eps=1e-6):
    return (np.abs(a - b + eps) ** p).sum(-1) ** (1 / p)


def triplet(a, b, c, margin=1.0, p=2, eps=1e-6, swap=False, distance=distance):
    near, far = distance(a, b, p, eps), distance(a, c, p, eps)
    return np.maximum(near - (np.minimum(far, distance(b, c, p, eps)) if swap else far) + margin, 0)


def sample(op, name, reference, inputs, gradient=True, **settings):
    def call(*given, reduction="mean", **kwargs):
        return reduced(reference(*given, **kwargs), reduction)

    return Sample(
        op=f"nn.functional.{op}",
        name=name,
        inputs=inputs,
        reference=call,
        kwargs=settings,
        magnitude=lambda *given, **kwargs: 64.0,
        dtypes=REAL_FLOATS,
        gradient=gradient,
        steps=8,
        length=16,
        expand=False,
    )


def signs(make, shape):
    """Targets 1 and -1."""
    return np.where(make.mask(shape), 1, -1)


def classes(make):
    return make((4, 5)), make.index((4,), 5)


def labels(make):
    return make.distinct((3, 4)) * make.of(float64)((1,), 1, 1).astype(make(()).dtype), np.array(
        [[3, 0, -1, 1], [-1, 2, 1, 0], [0, 1, 2, 2]]
    )


def vectors(make):
    return make((3, 4)), make((3, 4)), make((3, 4))


SAMPLES = [
    sample(
        "margin_ranking_loss",
        "mean",
        ranking,
        lambda make: (make.nonzero((3, 4)), make((3, 4), -0.25, 0.25), signs(make, (3, 4))),
    ),
    sample(
        "margin_ranking_loss",
        "margin",
        ranking,
        lambda make: (make.nonzero((3, 4)), make((3, 4), -0.1, 0.1), signs(make, (3, 4))),
        margin=0.2,
        reduction="none",
    ),
    sample("hinge_embedding_loss", "mean", hinge, lambda make: (make.nonzero((3, 4), 0.1, 0.8), signs(make, (3, 4)))),
    sample(
        "hinge_embedding_loss",
        "margin, none",
        hinge,
        lambda make: (make.nonzero((3, 4), 0.1, 0.8), signs(make, (3, 4))),
        margin=2.0,
        reduction="none",
    ),
    sample(
        "cosine_embedding_loss",
        "mean",
        cosine,
        lambda make: (make.nonzero((3, 4)), make.nonzero((3, 4)), np.array([1, -1, 0])),
        margin=-1.5,
    ),
    sample(
        "cosine_embedding_loss",
        "one pair",
        cosine,
        lambda make: (make.nonzero((4,)), make.nonzero((4,)), np.array(1)),
        reduction="none",
    ),
    sample("multi_margin_loss", "mean", multi_margin, classes, (0,), margin=5.0),
    sample("multi_margin_loss", "squares, none", multi_margin, classes, (0,), p=2, margin=5.0, reduction="none"),
    sample(
        "multi_margin_loss",
        "weight",
        lambda x, target, p, margin, weight: multi_margin(x, target, p, margin, weight),
        lambda make: (*classes(make), 1, 5.0, make.positive((5,))),
        (0, 4),
    ),
    sample(
        "multi_margin_loss",
        "one sample, none",
        multi_margin,
        lambda make: (make((5,)), make.index((1,), 5)),
        (0,),
        margin=5.0,
        reduction="none",
    ),
    sample(
        "multi_margin_loss",
        "one sample",
        multi_margin,
        lambda make: (make((5,)), make.index((), 5)),
        (0,),
        margin=5.0,
        reduction="none",
    ),
    sample("multilabel_margin_loss", "mean", multilabel_margin, labels, False),
    sample("multilabel_margin_loss", "none", multilabel_margin, labels, False, reduction="none"),
    sample(
        "multilabel_margin_loss",
        "no score is off by its margin",
        multilabel_margin,
        lambda make: (make((4,), -0.4, 0.4), np.array([3, 1, -1, 0])),
        (0,),
    ),
    sample("triplet_margin_loss", "mean", triplet, vectors, margin=10.0),
    sample("triplet_margin_loss", "swap, none", triplet, vectors, margin=10.0, swap=True, p=3, reduction="none"),
    sample(
        "triplet_margin_loss",
        "one triplet",
        triplet,
        lambda make: (make((4,)), make((4,)), make((4,))),
        margin=10.0,
        reduction="none",
    ),
    sample("triplet_margin_with_distance_loss", "mean", triplet, vectors, margin=10.0),
    sample(
        "triplet_margin_with_distance_loss",
        "a distance of one's own",
        lambda a, b, c, distance_function, margin, swap: triplet(
            a, b, c, margin, swap=swap, distance=lambda x, y, *rest: np.square(x - y).sum(-1)
        ),
        vectors,
        margin=50.0,
        swap=True,
        reduction="sum",
        distance_function=lambda x, y: ((x - y) * (x - y)).sum(-1),
    ),
]

THREE = ((4, 3), (4, 3), (4, 3))

ERRORS = [
    *(
        unknown_reduction(op, *THREE[: 2 if op.startswith(("hinge", "multi")) else 3])
        for op in (
            "margin_ranking_loss",
            "hinge_embedding_loss",
            "multi_margin_loss",
            "multilabel_margin_loss",
            "cosine_embedding_loss",
            "triplet_margin_loss",
            "triplet_margin_with_distance_loss",
        )
    ),
    refused(
        "margin_ranking_loss",
        "shapes",
        lambda op, tensor: op(tensor(4, 1), tensor(4, 1), tensor(4)),
        RuntimeError,
        r".*do not broadcast\n.*input1 .*\n.*input2 .*\n.*target",
    ),
    refused(
        "hinge_embedding_loss",
        "shapes",
        lambda op, tensor: op(tensor(4, 2), tensor(4)),
        RuntimeError,
        r".*do not broadcast\n.*input .*\n.*target",
    ),
    refused(
        "cosine_embedding_loss",
        "dimensions",
        lambda op, tensor: op(tensor(4, 3), tensor(4, 3), tensor()),
        RuntimeError,
        r"inputs of 2 and 2 dimensions, target of 0\n.*input1 .*\n.*input2 .*\n.*target",
    ),
    refused("multi_margin_loss", "p", lambda op, tensor: op(tensor(4, 3), tensor(4), p=3), ValueError, "p is 3"),
    *(
        refused(
            "multi_margin_loss",
            f"class {value}",
            lambda op, tensor, value=value: op(tensor(4, 3), tensor(4, dtype=int64) * 0 + value),
            (RuntimeError, IndexError),
            r"target has class numbers that are not in \[0, 3\)\n.*target",
        )
        for value in (3, -1)
    ),
    refused(
        "multi_margin_loss",
        "classes of int32",
        lambda op, tensor: op(tensor(4, 3), tensor(4, dtype=int32)),
        RuntimeError,
        "target is int32",
    ),
    refused(
        "multi_margin_loss",
        "batches",
        lambda op, tensor: op(tensor(4, 3), tensor(3, dtype=int64)),
        RuntimeError,
        r"target \(3,\) does not fit input \(4, 3\)",
    ),
    refused(
        "multi_margin_loss",
        "weight",
        lambda op, tensor: op(tensor(4, 3), tensor(4, dtype=int64), weight=tensor(4)),
        RuntimeError,
        r"weight \(4,\) .* 3 classes",
    ),
    *(
        refused(
            "multilabel_margin_loss",
            f"class {value}",
            lambda op, tensor, value=value: op(tensor(4, 3), tensor(4, 3, dtype=int64) * 0 + value),
            (RuntimeError, IndexError),
            r"target has class numbers that are not in \[-1, 3\)\n.*target",
        )
        for value in (3, -2)
    ),
    refused(
        "multilabel_margin_loss",
        "shapes",
        lambda op, tensor: op(tensor(4, 3), tensor(3, dtype=int64)),
        RuntimeError,
        r".*do not broadcast",
    ),
    *(
        refused(
            op,
            "margin",
            lambda op, tensor: op(tensor(4, 3), tensor(4, 3), tensor(4, 3), margin=0.0),
            ValueError,
            r"margin 0\.0 is not above 0",
        )
        for op in ("triplet_margin_loss", "triplet_margin_with_distance_loss")
    ),
    refused(
        "triplet_margin_loss",
        "dimensions",
        lambda op, tensor: op(tensor(4, 3), tensor(3), tensor(4, 3)),
        RuntimeError,
        r".*numbers of dimensions\n.*anchor .*\n.*positive .*\n.*negative",
    ),
]
