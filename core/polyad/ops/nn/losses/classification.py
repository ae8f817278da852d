"""Losses of class numbers, and of probabilities of classes.

`cross_entropy` with class numbers is an op, with its gradient as another, since every classifier's training step calls
it; the decompositions are log-softmax and the negative log-likelihood.
"""

from __future__ import annotations

import math
from typing import Any

from ....base.dtypes import BOOL, FLOATING, INTEGER, int64
from ....base.shapes_and_strides import Shape
from ....dispatch.forward import by_body, linear_in
from ....dispatch.op import composite, function, gradient
from ....dispatch.promotion import first
from ....dispatch.structure import opaque
from ....errors import ArgumentError, DTypeError, ShapeError
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...creation.factories import zeros
from ..activation.softmax import _log_softmax, _log_softmax_backward
from ..linear import linear
from .reduction import check_same_dtype, first_floating, reduced, reduction_of


def _loss_shape(input: Shape, target: Shape, weight: Any, reduction: str, *rest: Any) -> Shape:
    return target if reduction == "none" else ()


def _input_shape(grad: Shape, input: Shape, *rest: Any) -> Shape:
    return input


def _factors(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> tuple[Tensor, Tensor, Tensor]:
    """Which targets count, the class of each (0 for those that do not), and its weight."""
    counts = target != ignore_index
    classes = target * counts
    if weight is None:
        return counts, classes, counts.to(input.dtype)
    return counts, classes, weight.index_select(0, classes.flatten()).reshape(classes.shape) * counts


def _over_classes(weight: Tensor, ndim: int) -> Tensor:
    return weight.reshape((1, -1) + (1,) * (ndim - 2))


@composite(dtype=first_floating("nll_loss"), structure=opaque, shape=_loss_shape, method=False)
def _nll_loss(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, smoothing: float
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


@composite(dtype=first, structure=opaque, shape=_input_shape, method=False)
def _nll_loss_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    smoothing: float,
) -> Tensor:
    """The gradient of `nll_loss` with respect to input, which only gives its shape."""
    counts, classes, factor = _factors(input, target, weight, ignore_index)
    scale = grad / factor.sum() if reduction == "mean" else grad
    # Where no target counts, the mean is nan, and its gradient 0.
    ignored = counts.logical_not()
    spread = (factor * scale * (smoothing - 1)).masked_fill(ignored, 0).unsqueeze(1)
    result = zeros(input.shape, dtype=input.dtype, device=input.device).scatter_add(1, classes.unsqueeze(1), spread)
    if smoothing:
        every = (counts * scale * (-smoothing / input.shape[1])).masked_fill(ignored, 0).unsqueeze(1)
        result = result + (every if weight is None else every * _over_classes(weight, input.ndim))
    return result


gradient(
    _nll_loss,
    input=lambda g, input, target, weight, reduction, ignore_index, smoothing: _nll_loss_backward(
        g, input.detach(), target, weight, reduction, ignore_index, smoothing
    ),
)
linear_in(_nll_loss, "input")


@composite(dtype=first_floating("cross_entropy"), structure=opaque, shape=_loss_shape, method=False)
def _cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, ignore_index: int, smoothing: float
) -> Tensor:
    """`nll_loss` of the log-softmax of input over its classes."""
    return _nll_loss(_log_softmax(input, 1), target, weight, reduction, ignore_index, smoothing)


@composite(dtype=first, structure=opaque, shape=_input_shape, method=False)
def _cross_entropy_backward(
    grad: Tensor,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
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
by_body(_cross_entropy)


def _check_weight(op: str, input: Tensor, weight: Tensor | None, classes: int) -> None:
    if weight is not None and check_tensor(weight, op, "weight")._array.shape != (classes,):
        raise ShapeError(
            f"{op}: weight {tuple(weight.shape)} must hold one number for each of {classes} classes",
            operands={"input": input, "weight": weight},
            fix=f"make it ({classes},)",
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
    check_tensor(input, op, "input")
    check_tensor(target, op, "target")
    shape, places = input._array.shape, target._array.shape
    if not shape:
        raise (ArgumentError if op == "nll_loss" else ShapeError)(
            f"{op}: input must have a dimension of classes", operands={"input": input}, fix="give (N, C, ...) or (C,)"
        )
    _check_weight(op, input, weight, shape[1] if len(shape) > 1 else shape[0])
    check_same_dtype(op, input, weight=weight)
    if target._type.dtype.category >= FLOATING or target._type.dtype.category == BOOL:
        if input._type.dtype.category == INTEGER and places[:1] + places[2:] == shape:
            raise DTypeError(
                f"{op}: input looks like class numbers and target like scores: they are swapped",
                operands={"input": input, "target": target},
                fix=f"exchange them: {op}(scores, classes)",
            )
        raise DTypeError(
            f"{op}: target is {target._type.dtype.name}; class numbers are integers",
            operands={"input": input, "target": target},
            fix="convert it: target.long()",
        )
    expected = (shape[0], *shape[2:]) if len(shape) > 1 else ()
    if places == (1,) and not expected:
        target, places = target.squeeze(0), ()
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


@function(namespace="nn.functional")
def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
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
    reduction = reduction_of("nll_loss", size_average, reduce, reduction)
    return _of_classes("nll_loss", _nll_loss, input, target, weight, ignore_index, reduction, 0.0)


@function(namespace="nn.functional")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Minus the logarithm of the softmax probability that *input* gives to the target.

    Shapes: input (N, C, ...) or (C,) of scores; target (N, ...) or () of class numbers in [0, C), or input's shape of
    probabilities; weight (C,). *label_smoothing* in [0, 1] gives that much of the target to all classes alike.
    *ignore_index* (of class numbers only) and *reduction* as in `nll_loss`; the mean over probabilities is over
    samples.

    Raises IndexError for a class number out of range, naming it; RuntimeError for shapes and dtypes that do not fit,
    a smoothing outside [0, 1] or probabilities with an ignore_index; ValueError for batches of different size or an
    unknown reduction.

    >>> import polyad
    >>> scores = polyad.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> polyad.nn.functional.cross_entropy(scores, polyad.tensor([0, 0]))
    tensor(1.1269)
    """
    reduction = reduction_of("cross_entropy", size_average, reduce, reduction)
    return _cross_entropy_of("cross_entropy", input, target, weight, ignore_index, reduction, label_smoothing)


def _cross_entropy_of(
    op: str,
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    if not 0 <= label_smoothing <= 1:
        raise ShapeError(
            f"{op}: label_smoothing {label_smoothing} is not in [0, 1]",
            operands={"input": input},
            fix="0 turns it off, 0.1 is usual",
        )
    check_tensor(input, op, "input")
    check_tensor(target, op, "target")
    if target._array.shape != input._array.shape or not input._array.shape:
        return _of_classes(op, _cross_entropy, input, target, weight, ignore_index, reduction, label_smoothing)
    operands = {"input": input, "target": target}
    if target._type.dtype.category != FLOATING:
        raise DTypeError(
            f"{op}: a target of input's shape holds probabilities, which are floating point",
            operands=operands,
            fix="give class numbers without the dimension of classes, or target.float()",
        )
    if ignore_index >= 0:
        raise ShapeError(
            f"{op}: ignore_index {ignore_index} is for class numbers, and target holds probabilities",
            operands=operands,
            fix="leave out ignore_index",
        )
    dim = 1 if input.ndim > 1 else 0
    classes = input._array.shape[dim]
    _check_weight(op, input, weight, classes)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / max(classes, 1)
    logs = _log_softmax(input, dim)
    if weight is not None:
        logs = logs * (_over_classes(weight, input.ndim) if dim else weight)
    loss = -(logs * target).sum(dim)
    return loss.sum() / math.prod(loss._array.shape) if reduction == "mean" else reduced(loss, reduction)


@function(namespace="nn.functional")
def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of ``linear(input, linear_weight, linear_bias)``.

    Shapes: input (N, in) or (in,); linear_weight (C, in), or (C, *, in) for scores (N, C, *); linear_bias as
    linear_weight without its last dimension; the rest as in `cross_entropy`. *options*, which say in PyTorch how much
    memory to trade for time, change no result and are not looked at.

    Raises RuntimeError for shapes that do not fit, and as `cross_entropy`.

    >>> import polyad
    >>> x, weight = polyad.tensor([[1.0, 0.0]]), polyad.tensor([[2.0, 0.0], [0.0, 2.0]])
    >>> polyad.nn.functional.linear_cross_entropy(x, weight, polyad.tensor([0]))
    tensor(0.1269)
    """
    op = "linear_cross_entropy"
    reduction = reduction_of(op, None, None, reduction)
    check_tensor(input, op, "input")
    check_tensor(linear_weight, op, "linear_weight")
    operands = {"input": input, "linear_weight": linear_weight}
    shape, sizes = input._array.shape, linear_weight._array.shape
    if len(shape) not in (1, 2) or len(sizes) < 2 or (len(shape) == 1 and len(sizes) > 2):
        raise ShapeError(
            f"{op}: input {tuple(shape)} and linear_weight {tuple(sizes)} are not (N, in) and (C, ..., in)",
            operands=operands,
            fix="flatten the dimensions of samples into one",
        )
    if shape[-1] != sizes[-1]:
        raise ShapeError(
            f"{op}: input {tuple(shape)} and linear_weight {tuple(sizes)} do not agree: {shape[-1]} != {sizes[-1]}",
            operands=operands,
            fix=f"make the last dimension of input {sizes[-1]}",
        )
    if linear_bias is not None:
        if check_tensor(linear_bias, op, "linear_bias")._array.shape != sizes[:-1]:
            raise ShapeError(
                f"{op}: linear_bias {tuple(linear_bias.shape)} is not {tuple(sizes[:-1])}",
                operands={**operands, "linear_bias": linear_bias},
                fix="give it linear_weight's shape without the last dimension",
            )
        linear_bias = linear_bias.reshape(-1)
    scores = linear(input, linear_weight.reshape(-1, sizes[-1]), linear_bias)
    if len(sizes) > 2:
        scores = scores.reshape(shape[0], *sizes[:-1])
    ignored = -100 if ignore_index is None else ignore_index
    return _cross_entropy_of(op, scores, target, weight, ignored, reduction, label_smoothing)
