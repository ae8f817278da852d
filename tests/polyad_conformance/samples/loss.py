"""Losses, element by element from their definitions."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import float32, int32, int64

from ..sample import REAL_FLOATS, ErrorCase, Sample


def reduced(loss, reduction="mean"):
    return {"mean": np.mean, "sum": np.sum, "none": lambda x: x}[reduction](loss)


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
        op=op,
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


def pairs(op, name, reference, low=-2.0, high=2.0, gradient=True, more=lambda make: (), **settings):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make((3, 5), low, high), make((3, 5), low, high), *more(make)),
        reference=lambda x, t, *rest, reduction="mean", **kwargs: reduced(reference(x, t, *rest, **kwargs), reduction),
        magnitude=lambda *given, **kwargs: 64.0,
        kwargs=settings,
        dtypes=REAL_FLOATS,
        gradient=gradient,
        steps=6,
        length=15,
        expand=False,
    )


def smooth(x, t, beta=1.0):
    d = np.abs(x - t)
    return np.where(d < beta, 0.5 * d * d / beta, d - 0.5 * beta)


def huber(x, t, delta=1.0):
    d = np.abs(x - t)
    return np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta))


def binary(x, t, weight=1.0):
    return -(t * np.log(x) + (1 - t) * np.log(1 - x)) * weight


def binary_of_scores(x, t, weight=1.0, pos_weight=1.0):
    return (pos_weight * t * np.log1p(np.exp(-x)) + (1 - t) * np.log1p(np.exp(x))) * (1.0 if weight is None else weight)


def divergence(x, t, log_target=False):
    return np.exp(t) * (t - x) if log_target else t * (np.log(t) - x)


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
            op="cross_entropy",
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
        pairs("mse_loss", name, lambda x, t: (x - t) ** 2, **settings)
        for name, settings in (("mean", {}), ("sum", {"reduction": "sum"}), ("none", {"reduction": "none"}))
    ),
    pairs("l1_loss", "mean", lambda x, t: np.abs(x - t)),
    pairs("l1_loss", "none", lambda x, t: np.abs(x - t), reduction="none"),
    pairs("smooth_l1_loss", "mean", smooth),
    pairs("smooth_l1_loss", "beta", smooth, beta=0.3, reduction="none"),
    pairs("huber_loss", "mean", huber),
    pairs("huber_loss", "delta", huber, delta=0.3, reduction="none"),
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
    pairs("kl_div", "mean", divergence, 0.1, 0.9),
    pairs("kl_div", "logarithms", divergence, log_target=True, reduction="sum"),
]


def long(tensor, *shape):
    return tensor(*shape, dtype=int64)


ERRORS = [
    ErrorCase(
        op="mse_loss",
        name="a column against a vector",
        call=lambda op, tensor: op(tensor(4, 1), tensor(4)),
        raises=RuntimeError,
        match=r"mse_loss: input \(4, 1\) and target \(4,\) must have one shape.*\n.*input .*\n.*target",
    ),
    *(
        ErrorCase(
            op=op,
            name="shapes differ",
            call=lambda op, tensor: op(tensor(4, 1), tensor(1, 4)),
            raises=RuntimeError,
            match=rf"{op}: .*do not broadcast\n.*input .*\n.*target",
        )
        for op in (
            "l1_loss",
            "smooth_l1_loss",
            "huber_loss",
            "binary_cross_entropy",
            "binary_cross_entropy_with_logits",
            "kl_div",
        )
    ),
    ErrorCase(
        op="mse_loss",
        name="reduction",
        call=lambda op, tensor: op(tensor(4), tensor(4), reduction="avg"),
        raises=ValueError,
        match="mse_loss: reduction 'avg' is unknown",
    ),
    ErrorCase(
        op="cross_entropy",
        name="class out of range",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 4) + 3),
        raises=IndexError,
        match=r"target\[0\] = \d+ is not in \[0, 3\)",
    ),
    ErrorCase(
        op="nll_loss",
        name="negative class",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 4) * 0 - 1),
        raises=IndexError,
        match=r"target\[0\] = -1 is not in \[0, 3\)",
    ),
    ErrorCase(
        op="cross_entropy",
        name="batches",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 5)),
        raises=ValueError,
        match=r"cross_entropy: target \(5,\) does not fit input \(4, 3\).*\n.*input .*\n.*target",
    ),
    ErrorCase(
        op="cross_entropy",
        name="classes of floats",
        call=lambda op, tensor: op(tensor(4, 3), tensor(4)),
        raises=RuntimeError,
        match=r"cross_entropy: target is float32",
    ),
    ErrorCase(
        op="cross_entropy",
        name="probabilities of integers",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 4, 3)),
        raises=RuntimeError,
        match=r"cross_entropy: .*probabilities.*\n.*input .*\n.*target",
    ),
    ErrorCase(
        op="cross_entropy",
        name="weight",
        call=lambda op, tensor: op(tensor(4, 3), tensor(4, dtype=int32), tensor(4)),
        raises=RuntimeError,
        match=r"cross_entropy: weight \(4,\).*3 classes",
    ),
    ErrorCase(
        op="cross_entropy",
        name="smoothing",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 4), label_smoothing=1.5),
        raises=ValueError,
        match=r"label_smoothing 1\.5",
    ),
    ErrorCase(
        op="nll_loss",
        name="extra dimension",
        call=lambda op, tensor: op(tensor(4, 3), long(tensor, 4, 1)),
        raises=RuntimeError,
        match=r"nll_loss: target \(4, 1\) does not fit.*\n.*input .*\n.*target",
    ),
    ErrorCase(
        op="binary_cross_entropy",
        name="no probability",
        call=lambda op, tensor: op(tensor(4, dtype=float32) * 0 + 2, tensor(4)),
        raises=RuntimeError,
        match=r"input\[0\] = 2\.0 is not in \[0, 1\]",
    ),
    ErrorCase(
        op="smooth_l1_loss",
        name="beta",
        call=lambda op, tensor: op(tensor(4), tensor(4), beta=-1.0),
        raises=RuntimeError,
        match=r"smooth_l1_loss: beta -1\.0",
    ),
]
