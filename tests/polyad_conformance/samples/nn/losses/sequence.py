"""Connectionist temporal classification, as the sum over every alignment."""

from __future__ import annotations

import itertools

import numpy as np

from polyad.base.dtypes import bfloat16, float16, float32, float64, int64

from ....sample import ErrorCase, Sample
from . import refused


def collapsed(path, blank):
    """What a path of labels spells: repeats are one, blanks nothing."""
    return [label for label, _ in itertools.groupby(path) if label != blank]


def likelihood(logs, target, blank):
    """The probability of all paths through logs (T, C) that spell the target."""
    steps, classes = logs.shape
    return sum(
        np.exp(sum(logs[step, label] for step, label in enumerate(path)))
        for path in itertools.product(range(classes), repeat=steps)
        if collapsed(path, blank) == list(target)
    )


def ctc(logs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    if logs.ndim == 2:
        one = ctc(logs[:, None], targets[None], [input_lengths], [target_lengths], blank, reduction, zero_infinity)
        return one[0] if reduction == "none" else one
    lengths = [int(length) for length in np.ravel(target_lengths)]
    if targets.ndim == 1:
        rows = np.split(targets, np.cumsum(lengths)[:-1])
    else:
        rows = [row[:length] for row, length in zip(targets, lengths, strict=True)]
    losses = []
    for place, (row, steps) in enumerate(zip(rows, np.ravel(input_lengths), strict=True)):
        with np.errstate(divide="ignore"):
            loss = -np.log(likelihood(logs[: int(steps), place], row, blank))
        losses.append(0.0 if zero_infinity and np.isinf(loss) else loss)
    losses = np.array(losses)
    if reduction == "mean":
        return (losses / np.maximum(lengths, 1)).mean()
    return losses.sum() if reduction == "sum" else losses


def log_softmax(x):
    shifted = x - x.max(-1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))


HALVES = (float16, bfloat16)


def sample(name, targets, input_lengths, target_lengths, gradient=(0,), halves=(), **settings):
    shape = (4, len(target_lengths), 3)

    def inputs(make):
        logs = log_softmax(make.of(float64)(shape)).astype(make(()).dtype)
        return (
            logs,
            np.array(targets),
            input_lengths if isinstance(input_lengths, tuple) else np.array(input_lengths),
            target_lengths if isinstance(target_lengths, tuple) else np.array(target_lengths),
        )

    return Sample(
        op="nn.functional.ctc_loss",
        name=name,
        inputs=inputs,
        reference=ctc,
        magnitude=lambda *given, **kwargs: 32.0,
        kwargs=settings,
        dtypes=(*halves, float32, float64),
        gradient=gradient,
        steps=12,
        length=32,
        expand=False,
    )


SAMPLES = [
    sample("mean", [[1, 2], [2, 1]], [4, 3], [2, 1], halves=HALVES),
    sample("none, repeats", [[1, 1], [2, 1], [2, 2]], (4, 2, 4), (2, 2, 0), reduction="none"),
    sample("one row, blank", [1, 0, 0], [4, 4], [2, 1], reduction="sum", blank=2),
    sample("impossible", [[1, 1], [2, 1]], [2, 4], [2, 2], gradient=False, reduction="none"),
    sample("impossible is 0", [[1, 1], [2, 1]], [2, 4], [2, 2], reduction="none", zero_infinity=True),
    sample("no targets", np.zeros((2, 0), np.int64), [4, 0], [0, 0], reduction="none"),
    Sample(
        op="nn.functional.ctc_loss",
        name="one sequence",
        inputs=lambda make: (log_softmax(make((4, 3))), np.array([1, 2]), np.array(4), np.array(2)),
        kwargs={"reduction": "none"},
        reference=ctc,
        magnitude=lambda *given, **kwargs: 32.0,
        dtypes=(float32, float64),
        gradient=(0,),
        steps=12,
        length=32,
        expand=False,
    ),
]


def call(targets=(2, 2), inputs=(4, 4), lengths=(2, 2), shape=(4, 2, 3), shift=0, **settings):
    def made(op, tensor):
        labels = tensor(*targets, dtype=int64) * 0 + 1 + shift
        return op(tensor(*shape), labels, list(inputs), list(lengths), **settings)

    return made


ERRORS = [
    refused("ctc_loss", "reduction", call(reduction="avg"), ValueError, "reduction 'avg' is unknown"),
    refused("ctc_loss", "blank", call(blank=3), RuntimeError, r"blank 3 is not in \[0, 3\)\n.*log_probs .*\n.*targets"),
    refused(
        "ctc_loss", "input length", call(inputs=(4, 5)), RuntimeError, r"input_lengths\[1\] = 5 is not in \[0, 4\]"
    ),
    refused("ctc_loss", "target length", call(lengths=(2, 3)), RuntimeError, r"target_lengths\[1\] = 3 is not in"),
    refused("ctc_loss", "negative length", call(lengths=(2, -1)), RuntimeError, r"target_lengths\[1\] = -1 is not in"),
    refused("ctc_loss", "lengths", call(inputs=(4,)), RuntimeError, r"1 input_lengths for a batch of 2"),
    refused("ctc_loss", "one row", call(targets=(5,)), RuntimeError, r"5 targets in one row, .* add up to 4"),
    refused("ctc_loss", "batch", call(targets=(3, 2)), RuntimeError, r"targets \(3, 2\) are not of a batch of 2"),
    refused("ctc_loss", "dimensions", call(shape=(4,)), RuntimeError, r"log_probs must be \(T, N, C\)"),
    refused("ctc_loss", "no steps", call(shape=(0, 2, 3), inputs=(0, 0)), RuntimeError, "log_probs must be"),
    ErrorCase(
        op="nn.functional.ctc_loss",
        name="label",
        call=call(shift=2),
        raises=IndexError,
        match=r"3 is not in \[0, 3\)",
    ),
    refused(
        "ctc_loss",
        "targets of floats",
        lambda op, tensor: op(tensor(4, 2, 3), tensor(2, 2), [4, 4], [2, 2]),
        RuntimeError,
        "targets are float32",
    ),
]
