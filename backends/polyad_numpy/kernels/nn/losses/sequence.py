"""Connectionist temporal classification: the recursions of Graves et al. 2006 in logarithms, all samples at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.bounds import out_of_range

from ....half_types import half_to_float32
from ....quiet import quiet


def _states(targets: Any, blank: int, classes: int) -> tuple[Any, Any]:
    """The label of each state, and which may follow the state before their predecessor."""
    wrong = (targets < 0) | (targets >= classes)
    if wrong.any():
        place = tuple(int(coordinate) for coordinate in np.unravel_index(wrong.argmax(), wrong.shape))
        raise out_of_range("ctc_loss", "targets", place, int(targets[place]), classes)
    count, length = targets.shape
    labels = np.full((count, 2 * length + 1), blank, np.int64)
    labels[:, 1::2] = targets
    skips = np.zeros(labels.shape, bool)
    skips[:, 2:] = (labels[:, 2:] != blank) & (labels[:, 2:] != labels[:, :-2])
    return labels, skips


def _sum_of_three(a: Any, b: Any, c: Any) -> Any:
    """log(exp(a) + exp(b) + exp(c)); -inf where all are."""
    top = np.maximum(np.maximum(a, b), c)
    base = np.where(top == -np.inf, 0, top)
    total = np.exp(a - base)
    total += np.exp(b - base)
    total += np.exp(c - base)
    return np.log(total, total) + base


def _forward(emitted: Any, skips: Any, input_lengths: Any) -> Any:
    """Log-probabilities (T, N, L) of all ways to be in a state; those after a sequence's end repeat its last values."""
    steps, count, length = emitted.shape
    states = np.empty_like(emitted)
    # Two columns in front, of what is impossible, are what moves in.
    state = np.full((count, length + 2), -np.inf, emitted.dtype)
    state[:, 2] = 0
    for step in range(steps):
        skipped = np.where(skips, state[:, :-2], -np.inf)
        after = _sum_of_three(state[:, 2:], state[:, 1:-1], skipped)
        after += emitted[step]
        state[:, 2:] = np.where((input_lengths > step)[:, None], after, state[:, 2:])
        states[step] = state[:, 2:]
    return states


def _ends(length: int, target_lengths: Any) -> Any:
    end, places = 2 * target_lengths[:, None], np.arange(length)
    return (places == end) | (places == end - 1)


def _prepared(log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> tuple[Any, ...]:
    logs = half_to_float32(log_probs)
    labels, skips = _states(targets, blank, logs.shape[2])
    emitted = np.take_along_axis(logs, labels[None], 2)
    states = _forward(emitted, skips, input_lengths)
    ends = _ends(labels.shape[1], target_lengths)
    last = np.where(ends, states[-1], -np.inf)
    top = last.max(1)
    base = np.where(top == -np.inf, 0, top)
    total = np.log(np.exp(last - base[:, None]).sum(1)) + base
    return labels, skips, emitted, states, ends, total


@quiet
def ctc_loss(
    log_probs: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int, zero_infinity: bool
) -> Any:
    total = _prepared(log_probs, targets, input_lengths, target_lengths, blank)[-1]
    loss = -total
    if zero_infinity:
        loss = np.where(np.isposinf(loss), 0, loss)
    return loss.astype(log_probs.dtype, copy=False)


@quiet
def ctc_loss_backward(
    grad: Any,
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    labels, skips, emitted, states, ends, total = _prepared(log_probs, targets, input_lengths, target_lengths, blank)
    steps, count, length = emitted.shape
    final = np.where(ends, 0, -np.inf).astype(emitted.dtype)
    skipped_to = np.zeros((count, length + 2), bool)
    skipped_to[:, :length] = skips
    skipped_to = skipped_to[:, 2:]
    # Two columns behind, of what is impossible, are what moves in.
    ahead = np.full((count, length + 2), -np.inf, emitted.dtype)
    rest = final
    for step in reversed(range(steps)):
        if step < steps - 1:
            ahead[:, :length] = rest + emitted[step + 1]
            skipped = np.where(skipped_to, ahead[:, 2:], -np.inf)
            before = _sum_of_three(ahead[:, :length], ahead[:, 1:-1], skipped)
            rest = np.where((input_lengths - 1 > step)[:, None], before, final)
        states[step] += rest
    states -= total[:, None]
    np.exp(states, states)
    if zero_infinity:
        states[:, total == -np.inf] = 0
    states *= -half_to_float32(grad).reshape(-1, 1)
    states[np.arange(steps)[:, None] >= input_lengths] = 0
    result = np.zeros(log_probs.shape, emitted.dtype)
    rows = np.arange(count)
    for place in range(length):
        # One state of each sample: no element is added to twice.
        result[:, rows, labels[:, place]] += states[:, :, place]
    return result.astype(log_probs.dtype, copy=False)


KERNELS = {"ctc_loss": Kernel(ctc_loss), "ctc_loss_backward": Kernel(ctc_loss_backward)}
