"""Losses of sequences: connectionist temporal classification (Graves et al. 2006)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ....base.dtypes import INTEGER, int64
from ....base.shapes_and_strides import Shape
from ....dispatch.op import composite, function, gradient
from ....dispatch.structure import opaque
from ....errors import ArgumentTypeError, DTypeError, ShapeError
from ....tensor import Tensor
from ....tensor.tensor import check_tensor, has_data
from ...creation.factories import arange, full, tensor, zeros
from ...declaring.half_types import half_to_float32
from ...pointwise.exponential import exp
from ...pointwise.where import _where
from ...reductions.any_all import check_all
from ...reductions.logsumexp import logsumexp
from ...shaping.joining import cat, stack
from .reduction import first_floating, reduced, reduction_of

if TYPE_CHECKING:
    Lengths = Tensor | Sequence[int]

IMPOSSIBLE = -1e30
"""The logarithm of the probability of what cannot be: so small that no sum of others reaches it, and still a number,
whose gradient is not nan."""


def _full_like_batch(like: Tensor, shape: Shape, value: float) -> Tensor:
    return full(shape, value, dtype=like.dtype, device=like.device)


def _states(targets: Tensor, blank: int) -> tuple[Tensor, Tensor]:
    """The labels (N, 2 S + 1) of the states, blanks around each target, and whether a state may follow the state
    two before it: a target may, unless it repeats the target before.
    """
    count, length = targets._array.shape
    blanks = full((count, 1), blank, dtype=int64, device=targets.device)
    between = blanks.expand(count, length)
    labels = cat([stack([between, targets], 2).reshape(count, 2 * length), blanks], 1)
    if not length:
        return labels, labels != labels
    before = cat([blanks, blanks, labels.narrow(1, 0, 2 * length - 1)], 1)
    return labels, (labels != blank) & (labels != before)


def _moved(states: Tensor, by: int) -> Tensor:
    """The states (N, L) moved by 1 or 2 places, with what is impossible moving in."""
    count, length = states._array.shape
    beyond = _full_like_batch(states, (count, min(abs(by), length)), IMPOSSIBLE)
    if abs(by) >= length:
        return beyond
    return (
        cat([beyond, states.narrow(1, 0, length - by)], 1)
        if by > 0
        else cat([states.narrow(1, -by, length + by), beyond], 1)
    )


def _forward(emitted: Tensor, skips: Tensor, input_lengths: Tensor) -> list[Tensor]:
    """Log-probabilities (N, L) of all ways to be in a state after each of the T steps; frozen where a sequence ends."""
    steps, count, length = emitted._array.shape
    first = _full_like_batch(emitted, (count, 1), 0.0)
    state = first if length == 1 else cat([first, _full_like_batch(emitted, (count, length - 1), IMPOSSIBLE)], 1)
    states = []
    for step in range(steps):
        skipped = _where(skips, _moved(state, 2), IMPOSSIBLE)
        after = logsumexp(stack([state, _moved(state, 1), skipped]), 0) + emitted.select(0, step)
        state = _where((input_lengths > step).unsqueeze(1), after, state)
        states.append(state)
    return states


def _last(emitted: Tensor, target_lengths: Tensor) -> Tensor:
    """Whether a sequence may end in a state (N, L): in the last target or the blank after it."""
    places = arange(emitted._array.shape[2], device=emitted.device)
    end = (target_lengths * 2).unsqueeze(1)
    return (places == end) | (places == end - 1)


def _total(states: list[Tensor], emitted: Tensor, ends: Tensor) -> Tensor:
    """Log-probabilities (N,) of all ways to produce the targets."""
    return logsumexp(_where(ends, states[-1], IMPOSSIBLE), 1)


def _loss_shape(log_probs: Shape, targets: Shape, *rest: Any) -> Shape:
    return targets[:1]


@composite(dtype=first_floating("ctc_loss"), structure=opaque, shape=_loss_shape, method=False)
def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int, zero_infinity: bool
) -> Tensor:
    """Minus the log-probability (N,) of *targets* (N, S) under *log_probs* (T, N, C); inf, or 0, where it is 0."""
    logs = half_to_float32(log_probs)
    labels, skips = _states(targets, blank)
    emitted = logs.gather(2, labels.expand(logs.shape[0], *labels.shape))
    states = _forward(emitted, skips, input_lengths)
    total = _total(states, emitted, _last(emitted, target_lengths))
    loss = _where(total < IMPOSSIBLE / 10, 0.0 if zero_infinity else math.inf, -total)
    return loss.to(log_probs.dtype)


def _gradient_shape(grad: Shape, log_probs: Shape, *rest: Any) -> Shape:
    return log_probs


@composite(dtype=first_floating("ctc_loss_backward"), structure=opaque, shape=_gradient_shape, method=False)
def _ctc_loss_backward(
    grad: Tensor,
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int,
    zero_infinity: bool,
) -> Tensor:
    """The gradient of `ctc_loss`: minus the probability, given the targets, that a label is emitted at a step.

    It is nan where the loss is inf, and 0 there with *zero_infinity*.
    """
    logs = half_to_float32(log_probs)
    steps = logs._array.shape[0]
    labels, skips = _states(targets, blank)
    emitted = logs.gather(2, labels.expand(steps, *labels.shape))
    ends = _last(emitted, target_lengths)
    states = _forward(emitted, skips, input_lengths)
    total = _total(states, emitted, ends)
    reachable = (total >= IMPOSSIBLE / 10).unsqueeze(1)
    # Which state may be skipped to, seen from the state that it is skipped from.
    skipped_to = cat([skips, skips.narrow(1, 0, 1), skips.narrow(1, 0, 1)], 1).narrow(1, 2, skips.shape[1])
    final = _where(ends, _full_like_batch(total, (1, 1), 0.0), IMPOSSIBLE)
    rest = final
    spread = []
    for step in reversed(range(steps)):
        if step < steps - 1:
            ahead = rest + emitted.select(0, step + 1)
            skipped = _where(skipped_to, _moved(ahead, -2), IMPOSSIBLE)
            before = logsumexp(stack([ahead, _moved(ahead, -1), skipped]), 0)
            rest = _where((input_lengths - 1 > step).unsqueeze(1), before, final)
        share = exp(_where(reachable, states[step] + rest - total.unsqueeze(1), 0.0 if zero_infinity else math.nan))
        if zero_infinity:
            share = share.masked_fill(reachable.logical_not(), 0)
        spread.append(share.masked_fill((input_lengths <= step).unsqueeze(1), 0))
    shares = stack(spread[::-1]) * -half_to_float32(grad).reshape(1, -1, 1)
    like = zeros(logs._array.shape, dtype=logs.dtype, device=logs.device)
    return like.scatter_add(2, labels.expand(steps, *labels.shape), shares).to(log_probs.dtype)


gradient(
    _ctc_loss,
    log_probs=lambda g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity: _ctc_loss_backward(
        g, log_probs, targets, input_lengths, target_lengths, blank, zero_infinity
    ),
)


def _lengths(name: str, given: Any, count: int, most: int) -> Tensor:
    """Lengths as an int64 tensor (N,), where they are: numbers on the host."""
    if isinstance(given, Tensor):
        if given._type.dtype.category != INTEGER:
            raise DTypeError(
                f"ctc_loss: {name} is {given._type.dtype.name}, not integer", operands={name: given}, fix="use .long()"
            )
        lengths = given.reshape(-1).to(int64)
    else:
        values = [given] if isinstance(given, int) else list(given)
        if not all(isinstance(value, int) for value in values):
            raise ArgumentTypeError(f"ctc_loss: {name} holds no ints", operands={name: given}, fix="pass ints")
        lengths = tensor(values, dtype=int64, device="cpu")
    if lengths.numel() != count:
        raise ShapeError(
            f"ctc_loss: {lengths.numel()} {name} for a batch of {count}",
            operands={name: given},
            fix="give a length for each sample",
        )

    def outside(position: tuple[int, ...], value: int) -> ShapeError:
        return ShapeError(
            f"ctc_loss: {name}[{position[0]}] = {value} is not in [0, {most}]",
            fix="lengths count steps of log_probs and elements of targets",
        )

    check_all((lengths >= 0) & (lengths <= most), outside, lengths, **{name: given})
    return lengths


@function(namespace="nn.functional")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Lengths,
    target_lengths: Lengths,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-probability of the sequences *targets* under label probabilities at each step, over all alignments
    with repeats and blanks (Graves et al. 2006).

    Shapes: log_probs (T, N, C) or (T, C), logarithms of probabilities; targets (N, S) padded, (S,), or all targets of
    the batch in a row; the lengths (N,) or numbers. ``"mean"`` divides each loss by its target's length first. A
    target that needs more steps than there are has a loss of inf, or with *zero_infinity* of 0, and a gradient of nan
    or 0.

    Raises RuntimeError for shapes, dtypes and lengths that do not fit, IndexError for a label out of range,
    ValueError for an unknown reduction.

    >>> import polyad
    >>> logs = polyad.full((3, 1, 4), 0.25).log()
    >>> polyad.nn.functional.ctc_loss(logs, polyad.tensor([[1, 2]]), [3], [2], reduction="sum")
    tensor(2.5494)
    """
    reduction = reduction_of("ctc_loss", None, None, reduction)
    check_tensor(log_probs, "ctc_loss", "log_probs")
    check_tensor(targets, "ctc_loss", "targets")
    operands = {"log_probs": log_probs, "targets": targets}
    if targets._type.dtype.category != INTEGER:
        raise DTypeError(
            f"ctc_loss: targets are {targets._type.dtype.name}; labels are integers",
            operands=operands,
            fix="convert them: targets.long()",
        )
    single = log_probs.ndim == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
    if log_probs.ndim != 3 or not log_probs.numel():
        raise ShapeError(
            "ctc_loss: log_probs must be (T, N, C) or (T, C), with elements", operands=operands, fix="reshape it"
        )
    steps, count, classes = log_probs._array.shape
    if not 0 <= blank < classes:
        raise ShapeError(f"ctc_loss: blank {blank} is not in [0, {classes})", operands=operands, fix="name a class")
    device = log_probs.device
    of_inputs = _lengths("input_lengths", input_lengths, count, steps).to(device)
    room = targets._array.shape[-1] if targets.ndim else 0
    given = _lengths("target_lengths", target_lengths, count, room)
    of_targets = given.to(device)
    if single and targets.ndim == 1:
        targets = targets.unsqueeze(0)
    if targets.ndim == 1:
        lengths = given.tolist() if has_data(given) else [room, *[0] * (count - 1)]
        if sum(lengths) != room:
            raise ShapeError(
                f"ctc_loss: {room} targets in one row, but target_lengths add up to {sum(lengths)}",
                operands=operands,
                fix="concatenate the targets without padding, or pad them to (N, S)",
            )
        targets = _pad_targets(targets, lengths)
    elif targets.ndim != 2 or targets._array.shape[0] != count:
        raise ShapeError(
            f"ctc_loss: targets {tuple(targets.shape)} are not of a batch of {count}",
            operands=operands,
            fix=f"make them ({count}, S), or one row",
        )
    # What pads a target is read, too: it must be some label.
    within = arange(targets._array.shape[1], device=device) < of_targets.unsqueeze(1)
    targets = _where(within, targets.to(int64), blank)
    loss = _ctc_loss(log_probs, targets, of_inputs, of_targets, blank, bool(zero_infinity))
    if reduction == "mean":
        loss = loss / of_targets.clamp(min=1)
    return loss.squeeze(0) if single and reduction == "none" else reduced(loss, reduction)


def _pad_targets(targets: Tensor, lengths: list[int]) -> Tensor:
    """Targets of one row as (N, S), the end filled with whatever follows."""
    widest, starts = max(lengths), [sum(lengths[:place]) for place in range(len(lengths))]
    if not widest:
        return targets.reshape(1, 0).expand(len(lengths), 0)
    last = sum(lengths) - 1
    places = [min(start + step, last) for start in starts for step in range(widest)]
    return targets.index_select(0, tensor(places, device=targets.device)).reshape(len(lengths), widest)
