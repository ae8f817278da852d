"""Losses: how far predictions are from targets, as one number or one an element.

A loss never broadcasts its target: shapes that differ raise. Class numbers outside their range raise IndexError where
they are read.

`cross_entropy` with class numbers is one op, with its gradient as another, since every classifier's training step calls
it; the decompositions are log-softmax and the negative log-likelihood. The others are functions of ops.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..dispatch.op import composite, function, gradient
from ..dispatch.promotion import Typing, first
from ..dtypes import BOOL, FLOATING, int64
from ..errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from ..layout import Shape
from ..tensor import Tensor, check_tensor
from .activation.smooth import logsigmoid
from .activation.softmax import _log_softmax, _log_softmax_backward
from .creation import zeros
from .exponential import xlogy

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ..backend.interface import Signature

    Reduction = str

_REDUCTIONS = ("mean", "sum", "none")


def _check_reduction(op: str, reduction: str, allowed: tuple[str, ...] = _REDUCTIONS) -> None:
    if reduction not in allowed:
        raise ArgumentError(
            f"{op}: reduction {reduction!r} is unknown", fix=f"use one of {', '.join(map(repr, allowed))}"
        )


def _reduced(loss: Tensor, reduction: str) -> Tensor:
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


# ------------------------------------------------------------------------------------------------ class numbers


def _loss_shape(input: Shape, target: Shape, weight: Any, reduction: str, *rest: Any) -> Shape:
    return target if reduction == "none" else ()


def _input_shape(grad: Shape, input: Shape, *rest: Any) -> Shape:
    return input


def _first_floating(op: str) -> Any:
    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        dtype = types[0].dtype
        if dtype.category != FLOATING:
            raise DTypeError(f"{op}: input is {dtype.name}, not floating point", fix="convert it first: input.float()")
        return Typing((None,) * len(types), (dtype,))

    return rule


def _factors(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> tuple[Tensor, Tensor, Tensor]:
    """Which targets count, each one's class (0 for those that do not), and its weight."""
    counts = target != ignore_index
    classes = target * counts
    if weight is None:
        return counts, classes, counts.to(input.dtype)
    return counts, classes, weight.index_select(0, classes.flatten()).reshape(classes.shape) * counts


def _over_classes(weight: Tensor, ndim: int) -> Tensor:
    return weight.reshape((1, -1) + (1,) * (ndim - 2))


@composite(dtype=_first_floating("nll_loss"), shape=_loss_shape, method=False)
def _nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: Reduction, ignore_index: int, smoothing: float
) -> Tensor:
    """Minus the log-probability, in input (N, C, *), of each target (N, *); with *smoothing*, partly of all classes."""
    counts, classes, factor = _factors(input, target, weight, ignore_index)
    loss = (input.gather(1, classes.unsqueeze(1)).squeeze(1) * -factor).masked_fill(counts.logical_not(), 0)
    if smoothing:
        every = input if weight is None else input * _over_classes(weight, input.ndim)
        loss = loss * (1 - smoothing) - (every.sum(1) * (smoothing / input.shape[1])).masked_fill(
            counts.logical_not(), 0
        )
    if reduction == "none":
        return loss
    return loss.sum() / factor.sum() if reduction == "mean" else loss.sum()


@composite(dtype=first, shape=_input_shape, method=False)
def _nll_loss_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: Reduction,
    ignore_index: int,
    smoothing: float,
) -> Tensor:
    """The gradient of `nll_loss` with respect to input, which only gives its shape."""
    counts, classes, factor = _factors(input, target, weight, ignore_index)
    scale = grad / factor.sum() if reduction == "mean" else grad
    spread = (factor * scale * (smoothing - 1)).unsqueeze(1)
    result = zeros(input.shape, dtype=input.dtype, device=input.device).scatter_add(1, classes.unsqueeze(1), spread)
    if smoothing:
        every = (counts * scale * (-smoothing / input.shape[1])).unsqueeze(1)
        result = result + (every if weight is None else every * _over_classes(weight, input.ndim))
    return result


gradient(
    _nll_loss,
    input=lambda g, input, target, weight, reduction, ignore_index, smoothing: _nll_loss_backward(
        g, input.detach(), target, weight, reduction, ignore_index, smoothing
    ),
)


@composite(dtype=_first_floating("cross_entropy"), shape=_loss_shape, method=False)
def _cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: Reduction, ignore_index: int, smoothing: float
) -> Tensor:
    """`nll_loss` of the log-softmax of input over its classes."""
    return _nll_loss(_log_softmax(input, 1), target, weight, reduction, ignore_index, smoothing)


@composite(dtype=first, shape=_input_shape, method=False)
def _cross_entropy_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: Reduction,
    ignore_index: int,
    smoothing: float,
) -> Tensor:
    """The gradient of `cross_entropy` with respect to input."""
    logs = _log_softmax(input, 1)
    arriving = _nll_loss_backward(grad, logs, target, weight, reduction, ignore_index, smoothing)
    return _log_softmax_backward(arriving, logs, 1)


gradient(
    _cross_entropy,
    input=lambda g, input, target, weight, reduction, ignore_index, smoothing: _cross_entropy_backward(
        g, input, target, weight, reduction, ignore_index, smoothing
    ),
)


def _of_classes(
    op: str,
    call: Any,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    smoothing: float,
) -> Tensor:
    """Check, and bring to (N, C, *) and (N, *), what a loss of class numbers is given."""
    _check_reduction(op, reduction)
    check_tensor(input, op, "input")
    check_tensor(target, op, "target")
    shape, places = input._array.shape, target._array.shape
    if not shape:
        raise ShapeError(
            f"{op}: input must have a dimension of classes", operands={"input": input}, fix="give (N, C, ...) or (C,)"
        )
    classes = shape[1] if len(shape) > 1 else shape[0]
    if weight is not None and check_tensor(weight, op, "weight")._array.shape != (classes,):
        raise ShapeError(
            f"{op}: weight {tuple(weight.shape)} must hold one number for each of {classes} classes",
            operands={"input": input, "weight": weight},
            fix=f"make it ({classes},)",
        )
    if target._type.dtype.category >= FLOATING or target._type.dtype.category == BOOL:
        raise DTypeError(
            f"{op}: target is {target._type.dtype.name}; class numbers are integers",
            operands={"input": input, "target": target},
            fix="convert it: target.long()",
        )
    expected = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    if places != expected:
        message = f"{op}: target {tuple(places)} does not fit input {tuple(shape)}: it must be {expected}"
        operands, fix = {"input": input, "target": target}, f"give class numbers of shape {expected}"
        if len(places) == len(expected) and places and places[0] != expected[0]:
            raise ArgumentError(message, operands=operands, fix=fix)
        raise ShapeError(message, operands=operands, fix=fix)
    if target._type.dtype is not int64:
        target = target.to(int64)
    if len(shape) == 1:
        input, target = input.unsqueeze(0), target.unsqueeze(0)
    loss: Tensor = call(input, target, weight, reduction, ignore_index, smoothing)
    return loss.squeeze(0) if len(shape) == 1 and reduction == "none" else loss


@function(method=False)
def nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """Minus the log-probability that *input* gives to the class *target*.

    Shapes: input (N, C, ...) or (C,) of log-probabilities, target (N, ...) or () of class numbers in [0, C), weight
    (C,). Targets equal to *ignore_index* count nothing. *reduction* is ``"mean"`` (weighted, over targets that count),
    ``"sum"`` or ``"none"`` (target's shape).

    Raises IndexError for a class number out of range, naming it; RuntimeError for shapes and dtypes that do not fit,
    ValueError for batches of different size or an unknown reduction.

    >>> import polyad
    >>> polyad.nn.functional.nll_loss(polyad.tensor([[-1.0, -2.0], [-3.0, -4.0]]), polyad.tensor([1, 0]))
    tensor(2.5000)
    """
    return _of_classes("nll_loss", _nll_loss, input, target, weight, ignore_index, reduction, 0.0)


@function(method=False)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the logarithm of the softmax probability that *input* gives to the target.

    Shapes: input (N, C, ...) or (C,) of scores; target (N, ...) or () of class numbers in [0, C), or input's shape of
    probabilities; weight (C,). *label_smoothing* in [0, 1] gives that much of the target to all classes alike.
    *ignore_index* (of class numbers only) and *reduction* as in `nll_loss`; the mean over probabilities is over
    samples.

    Raises IndexError for a class number out of range, naming it; RuntimeError for shapes and dtypes that do not fit,
    ValueError for batches of different size, an unknown reduction or a smoothing outside [0, 1].

    >>> import polyad
    >>> scores = polyad.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> polyad.nn.functional.cross_entropy(scores, polyad.tensor([0, 0]))
    tensor(1.1269)
    """
    if not 0 <= label_smoothing <= 1:
        raise ArgumentError(
            f"cross_entropy: label_smoothing {label_smoothing} is not in [0, 1]",
            operands={"input": input},
            fix="0 turns it off, 0.1 is usual",
        )
    check_tensor(input, "cross_entropy", "input")
    check_tensor(target, "cross_entropy", "target")
    if target._array.shape != input._array.shape or not input._array.shape:
        return _of_classes(
            "cross_entropy", _cross_entropy, input, target, weight, ignore_index, reduction, label_smoothing
        )
    _check_reduction("cross_entropy", reduction)
    operands = {"input": input, "target": target}
    if target._type.dtype.category != FLOATING:
        raise DTypeError(
            "cross_entropy: a target of input's shape holds probabilities, which are floating point",
            operands=operands,
            fix="give class numbers without the dimension of classes, or target.float()",
        )
    dim = 1 if input.ndim > 1 else 0
    classes = input._array.shape[dim]
    if weight is not None and check_tensor(weight, "cross_entropy", "weight")._array.shape != (classes,):
        raise ShapeError(
            f"cross_entropy: weight must hold one number for each of {classes} classes",
            operands={**operands, "weight": weight},
            fix=f"make it ({classes},)",
        )
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / classes
    logs = _log_softmax(input, dim)
    if weight is not None:
        logs = logs * (_over_classes(weight, input.ndim) if dim else weight)
    loss = -(logs * target).sum(dim)
    return loss.sum() / max(math.prod(loss._array.shape), 1) if reduction == "mean" else _reduced(loss, reduction)


# ------------------------------------------------------------------------------------------------ element by element


def _check_pair(op: str, input: Any, target: Any, reduction: str, allowed: tuple[str, ...] = _REDUCTIONS) -> None:
    _check_reduction(op, reduction, allowed)
    check_tensor(input, op, "input")
    check_tensor(target, op, "target")
    if input._array.shape != target._array.shape:
        raise ShapeError(
            f"{op}: input {tuple(input.shape)} and target {tuple(target.shape)} must have one shape; "
            "losses do not broadcast",
            operands={"input": input, "target": target},
            fix="reshape, squeeze or expand one of them to the other's shape",
        )


def _positive(op: str, name: str, value: Any, least: float, strict: bool) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentTypeError(f"{op}: {name} is {value!r}, not a number", fix="pass a float")
    if value < least or (strict and value == least):
        raise ShapeError(
            f"{op}: {name} {value} must be {'greater than' if strict else 'at least'} {least}",
            fix="pass a larger number",
        )


@function(method=False)
def mse_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The squared difference: its mean, its sum, or with ``"none"`` one an element.

    Raises RuntimeError when the shapes differ, ValueError for an unknown reduction.

    >>> import polyad
    >>> polyad.nn.functional.mse_loss(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 4.0]))
    tensor(2.)
    """
    _check_pair("mse_loss", input, target, reduction)
    difference = input - target
    return _reduced(difference * difference, reduction)


@function(method=False)
def l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean") -> Tensor:
    """The absolute difference: its mean, its sum, or with ``"none"`` one an element. Errors as in `mse_loss`.

    >>> import polyad
    >>> polyad.nn.functional.l1_loss(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 4.0]))
    tensor(1.)
    """
    _check_pair("l1_loss", input, target, reduction)
    return _reduced((input - target).abs(), reduction)


@function(method=False)
def smooth_l1_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", beta: float = 1.0) -> Tensor:
    """``0.5 * d**2 / beta`` where the difference d is below *beta*, else ``|d| - 0.5 * beta`` (Girshick 2015).

    Errors as in `mse_loss`; RuntimeError also for a negative *beta*.

    >>> import polyad
    >>> polyad.nn.functional.smooth_l1_loss(polyad.tensor([0.0, 0.0]), polyad.tensor([1.0, 3.0]), reduction="none")
    tensor([0.5000, 2.5000])
    """
    _check_pair("smooth_l1_loss", input, target, reduction)
    _positive("smooth_l1_loss", "beta", beta, 0, False)
    distance = (input - target).abs()
    if not beta:
        return _reduced(distance, reduction)
    near = distance.clamp(max=beta)
    return _reduced(near * near * (0.5 / beta) + (distance - near), reduction)


@function(method=False)
def huber_loss(input: Tensor, target: Tensor, *, reduction: str = "mean", delta: float = 1.0) -> Tensor:
    """``0.5 * d**2`` where the difference d is below *delta*, else ``delta * (|d| - 0.5 * delta)`` (Huber 1964).

    Errors as in `mse_loss`; RuntimeError also unless *delta* is positive.

    >>> import polyad
    >>> x, y = polyad.tensor([0.0, 0.0]), polyad.tensor([1.0, 3.0])
    >>> polyad.nn.functional.huber_loss(x, y, reduction="none", delta=2.0)
    tensor([0.5000, 4.0000])
    """
    _check_pair("huber_loss", input, target, reduction)
    _positive("huber_loss", "delta", delta, 0, True)
    distance = (input - target).abs()
    near = distance.clamp(max=delta)
    return _reduced(near * near * 0.5 + (distance - near) * delta, reduction)


def _same_pair(input: Shape, target: Shape) -> Shape:
    return input


@composite(dtype=_first_floating("binary_cross_entropy"), shape=_same_pair, method=False)
def _binary_cross_entropy(input: Tensor, target: Tensor) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, each logarithm at least -100."""
    return (target - 1) * (-input).log1p().clamp(min=-100) - target * input.log().clamp(min=-100)


gradient(
    _binary_cross_entropy,
    input=lambda g, input, target: g * (input - target) / (input * (1 - input)).clamp(min=1e-12),
    target=lambda g, input: g * ((-input).log1p() - input.log()),
)


@function(method=False)
def binary_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, reduction: str = "mean"
) -> Tensor:
    """Minus the logarithm of the probability that *input*, in [0, 1], gives to the *target*, in [0, 1], of two classes.

    Shapes: input and target agree; weight broadcasts to them. Logarithms are at least -100.

    Raises RuntimeError for shapes and dtypes that do not fit and for elements of input outside [0, 1], ValueError for
    an unknown reduction.

    >>> import polyad
    >>> polyad.nn.functional.binary_cross_entropy(polyad.tensor([0.5, 0.5]), polyad.tensor([0.0, 1.0]))
    tensor(0.6931)
    """
    _check_pair("binary_cross_entropy", input, target, reduction)
    loss = _binary_cross_entropy(input, target)
    return _reduced(loss if weight is None else loss * weight, reduction)


@function(method=False)
def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    *,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(input), without overflow or loss of digits.

    Shapes: input and target agree; weight and pos_weight, a factor for targets of 1, broadcast to them.

    Raises RuntimeError for shapes and dtypes that do not fit, ValueError for an unknown reduction.

    >>> import polyad
    >>> polyad.nn.functional.binary_cross_entropy_with_logits(polyad.tensor([0.0, 100.0]), polyad.tensor([0.0, 1.0]))
    tensor(0.3466)
    """
    _check_pair("binary_cross_entropy_with_logits", input, target, reduction)
    logs = logsigmoid(input)
    if pos_weight is not None:
        logs = logs * ((pos_weight - 1) * target + 1)
    loss = (1 - target) * input - logs
    return _reduced(loss if weight is None else loss * weight, reduction)


@function(method=False)
def kl_div(input: Tensor, target: Tensor, *, reduction: str = "mean", log_target: bool = False) -> Tensor:
    """The Kullback-Leibler divergence ``target * (log(target) - input)`` of log-probabilities from probabilities.

    With *log_target* the target holds log-probabilities too. ``"mean"`` is over elements; ``"batchmean"``, over the
    first dimension, is the divergence's definition. Errors as in `mse_loss`.

    >>> import polyad
    >>> polyad.nn.functional.kl_div(polyad.tensor([-1.0]), polyad.tensor([1.0]), reduction="batchmean")
    tensor(1.)
    """
    _check_pair("kl_div", input, target, reduction, (*_REDUCTIONS, "batchmean"))
    loss = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return _reduced(loss, reduction)
