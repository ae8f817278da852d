"""Losses of class numbers, place by place."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float64, int32, int64

from ....sample import REAL_FLOATS, ErrorCase, Sample
from . import reduced, refused, unknown_reduction


def log_softmax(x, axis):
    shifted = x - x.max(axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis, keepdims=True))


def nll(logs, target, weight=None, ignore_index=-100, reduction="mean", label_smoothing=0.0):
    """The mean is over weights of targets that count; smoothing spreads some of each target over all classes."""
    if logs.ndim == 1:
        return nll(logs[None], np.asarray(target)[None], weight, ignore_index, "sum", label_smoothing)
    classes = logs.shape[1]
    weight = np.ones(classes) if weight is None else weight
    losses, factors = np.zeros(target.shape), np.zeros(target.shape)
    for place in np.ndindex(target.shape):
        wanted = target[place]
        if wanted != ignore_index:
            row = logs[(place[0], slice(None), *place[1:])]
            losses[place] = (
                -(1 - label_smoothing) * weight[wanted] * row[wanted] - label_smoothing / classes * (weight * row).sum()
            )
            factors[place] = weight[wanted]
    return losses.sum() / factors.sum() if reduction == "mean" else reduced(losses, reduction)


def cross_entropy(x, target, weight=None, **settings):
    return nll(log_softmax(x, 1 if x.ndim > 1 else 0), target, weight, **settings)


def of_probabilities(x, target, weight=None, reduction="mean", label_smoothing=0.0):
    axis = 1 if x.ndim > 1 else 0
    target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    logs = log_softmax(x, axis)
    if weight is not None:
        logs = logs * weight.reshape((-1,) + (1,) * (x.ndim - 1 - axis))
    return reduced(-(logs * target).sum(axis), reduction)


def classes(op, name, shape, weight=False, ignored=False, reference=None, **settings):
    def inputs(make):
        target = make.index((shape[0], *shape[2:]) if len(shape) > 1 else (), shape[1 if len(shape) > 1 else 0])
        if ignored:
            target.flat[::3] = settings.get("ignore_index", -100)
        scores = make(shape)
        return (scores, target, *((make.positive(shape[1:2]),) if weight else ()))

    return Sample(
        op=f"nn.functional.{op}",
        name=name,
        inputs=inputs,
        reference=reference or (nll if op == "nll_loss" else cross_entropy),
        magnitude=lambda *given, **kwargs: 8.0 * (shape[0] if kwargs.get("reduction") == "sum" else 1),
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=(0,),
        steps=8,
        length=int(np.prod(shape)),
        expand=False,
    )


def of_linear(x, linear_weight, target, bias=None, weight=None, **settings):
    scores = np.moveaxis(np.tensordot(x, linear_weight, (-1, -1)), 0, 0)
    return cross_entropy(scores if bias is None else scores + bias, target, weight, **settings)


SAMPLES = [
    *(
        sample
        for op in ("nll_loss", "cross_entropy")
        for sample in (
            classes(op, "a batch", (6, 4)),
            classes(op, "sum", (6, 4), reduction="sum"),
            classes(op, "none", (6, 4), reduction="none"),
            classes(op, "weight", (6, 4), weight=True),
            classes(op, "ignored", (7, 4), ignored=True),
            classes(
                op, "ignored class, weight, none", (7, 4), weight=True, ignored=True, ignore_index=2, reduction="none"
            ),
            classes(op, "images", (2, 3, 2, 4), weight=True),
            classes(op, "images, none", (2, 3, 2, 4), ignored=True, reduction="none"),
            classes(op, "one sample", (5,)),
        )
    ),
    classes("cross_entropy", "smoothing", (6, 4), label_smoothing=0.2),
    classes("cross_entropy", "smoothing, weight, ignored", (6, 4), weight=True, ignored=True, label_smoothing=0.2),
    classes("cross_entropy", "smoothing, images, none", (2, 3, 4), label_smoothing=0.2, reduction="none"),
    *(
        Sample(
            op="nn.functional.cross_entropy",
            name=name,
            inputs=lambda make, shape=shape, weight=weight: (
                make(shape),
                make(shape, 0.0, 1.0),
                make.positive((3,)) if weight else None,
            ),
            reference=of_probabilities,
            magnitude=lambda *given, **kwargs: 64.0,
            kwargs=settings,
            dtypes=REAL_FLOATS,
            gradient=(0, 1),
            steps=8,
            length=24,
            expand=False,
        )
        for name, shape, weight, settings in (
            ("probabilities", (4, 3), False, {}),
            ("probabilities, weight, smoothing", (4, 3), True, {"label_smoothing": 0.3}),
            ("probabilities of images, none", (2, 3, 4), True, {"reduction": "none"}),
            ("probabilities of one sample", (3,), False, {}),
        )
    ),
    *(
        Sample(
            op="nn.functional.linear_cross_entropy",
            name=name,
            inputs=inputs,
            reference=lambda x, weight, target, **settings: of_linear(x, weight, target, **settings),
            magnitude=lambda *given, **kwargs: 64.0,
            kwargs=settings,
            dtypes=REAL_FLOATS,
            gradient=(0, 1),
            steps=10,
            length=24,
            expand=False,
        )
        for name, inputs, settings in (
            ("a batch", lambda make: (make((4, 3)), make((5, 3)), make.index((4,), 5)), {}),
            (
                "images, smoothing",
                lambda make: (make((4, 3)), make((5, 2, 3)), make.index((4, 2), 5)),
                {"reduction": "sum", "label_smoothing": 0.2},
            ),
            ("one sample", lambda make: (make((3,)), make((5, 3)), make.index((), 5)), {"reduction": "none"}),
        )
    ),
    Sample(
        op="nn.functional.cross_entropy",
        name="no target counts, sum",
        inputs=lambda make: (make((3, 4)), np.full(3, -100)),
        kwargs={"reduction": "sum"},
        reference=cross_entropy,
        dtypes=REAL_FLOATS,
        gradient=(0,),
        expand=False,
    ),
    Sample(
        op="nn.functional.cross_entropy",
        name="no samples",
        inputs=lambda make: (make((0, 4)), make.index((0,), 4)),
        reference=lambda x, target: np.array(np.nan),
        dtypes=REAL_FLOATS,
        gradient=(0,),
        second_gradient=False,  # by what comes in it is NaN, as the mean is
    ),
    Sample(
        op="nn.functional.cross_entropy",
        name="no samples of probabilities",
        inputs=lambda make: (make((0, 4)), make((0, 4))),
        reference=lambda x, target: np.array(np.nan),
        dtypes=REAL_FLOATS,
    ),
]


def long(tensor, *shape):
    return tensor(*shape, dtype=int64)


ERRORS = [
    *(unknown_reduction(op, (4, 3), (4,)) for op in ("nll_loss", "cross_entropy")),
    ErrorCase(
        op="nn.functional.cross_entropy",
        name="class out of range",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 4) + 3),
        raises=IndexError,
        match=r"target\[0\] = \d+ is not in \[0, 3\)",
        fused=True,
    ),
    ErrorCase(
        op="nn.functional.nll_loss",
        name="negative class",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 4) * 0 - 1),
        raises=IndexError,
        match=r"target\[0\] = -1 is not in \[0, 3\)",
        fused=True,
    ),
    refused(
        "cross_entropy",
        "batches",
        lambda op, tensor: op(tensor(4, 3), long(tensor, 5)),
        ValueError,
        r"target \(5,\) does not fit input \(4, 3\).*\n.*input .*\n.*target",
    ),
    refused(
        "cross_entropy",
        "classes of floats",
        lambda op, tensor: op(tensor(4, 3), tensor(4)),
        RuntimeError,
        "target is float32",
    ),
    refused(
        "cross_entropy",
        "probabilities of integers",
        lambda op, tensor: op(tensor(4, 3), long(tensor, 4, 3)),
        RuntimeError,
        r".*probabilities.*\n.*input .*\n.*target",
    ),
    refused(
        "cross_entropy",
        "probabilities and ignore_index",
        lambda op, tensor: op(tensor(4, 3), tensor(4, 3), ignore_index=1),
        RuntimeError,
        r"ignore_index 1 is for class numbers.*\n.*input .*\n.*target",
    ),
    refused(
        "cross_entropy",
        "weight",
        lambda op, tensor: op(tensor(4, 3), tensor(4, dtype=int32), tensor(4)),
        RuntimeError,
        r"weight \(4,\).*3 classes",
    ),
    refused(
        "nll_loss",
        "weight of another dtype",
        lambda op, tensor: op(tensor(4, 3), long(tensor, 4), tensor(3, dtype=float64)),
        RuntimeError,
        r"weight is float64, input is float32\n.*input .*\n.*weight",
    ),
    refused(
        "cross_entropy",
        "smoothing",
        lambda op, tensor: op(tensor(4, 3), long(tensor, 4), label_smoothing=1.5),
        RuntimeError,
        r"label_smoothing 1\.5",
    ),
    refused(
        "nll_loss", "0-d", lambda op, tensor: op(tensor(), long(tensor)), ValueError, "input must have a dimension"
    ),
    refused(
        "nll_loss",
        "extra dimension",
        lambda op, tensor: op(tensor(4, 3), long(tensor, 4, 1)),
        RuntimeError,
        r"target \(4, 1\) does not fit.*\n.*input .*\n.*target",
    ),
    refused(
        "linear_cross_entropy",
        "features",
        lambda op, tensor: op(tensor(4, 3), tensor(5, 2), long(tensor, 4)),
        RuntimeError,
        r".*3 != 2\n.*input .*\n.*linear_weight",
    ),
    refused(
        "linear_cross_entropy",
        "dimensions",
        lambda op, tensor: op(tensor(1, 4, 3), tensor(5, 3), long(tensor, 4)),
        RuntimeError,
        r".*are not \(N, in\) and \(C, ..., in\)",
    ),
    refused(
        "linear_cross_entropy",
        "bias",
        lambda op, tensor: op(tensor(4, 3), tensor(5, 3), long(tensor, 4), linear_bias=tensor(3)),
        RuntimeError,
        r"linear_bias \(3,\) is not \(5,\)",
    ),
]
