"""Losses of numbers: squared and absolute differences, and likelihoods of distributions."""

from __future__ import annotations

import math

from ....base.state import warn_user
from ....dispatch.forward import symmetric
from ....dispatch.op import composite, function, gradient
from ....dispatch.promotion import promoted
from ....dispatch.structure import pointwise
from ....errors import ArgumentError
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...creation.factories import ones_like
from ...declaring.half_types import in_float32
from ...pointwise.exponential import xlogy
from ...reductions.any_all import check_all
from .reduction import (
    REDUCTIONS,
    broadcast_pair,
    check_broadcast,
    check_floating,
    check_least,
    check_number,
    reduced,
    reduction_of,
    weighted,
)


@function(namespace="nn.functional")
def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The squared difference: its mean, its sum, or with ``"none"`` a number for each element.

    Shapes: input, target and weight (*). Others broadcast, with a warning. The mean with a weight is over the weights.
    Floating point.

    Raises RuntimeError when the shapes do not broadcast or for other dtypes, ValueError for an unknown reduction or a
    weight of another shape.

    >>> import polyad
    >>> polyad.nn.functional.mse_loss(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 4.0]))
    tensor(2.)
    """
    reduction = reduction_of("mse_loss", size_average, reduce, reduction)
    input, target = broadcast_pair("mse_loss", input, target)
    check_floating("mse_loss", input, target)
    difference = input - target
    return weighted("mse_loss", difference * difference, weight, reduction, by_weight=True)


@function(namespace="nn.functional")
def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The absolute difference: its mean, its sum, or with ``"none"`` a number for each element.

    Shapes and errors as in `mse_loss`; integers have a sum, but no mean.

    >>> import polyad
    >>> polyad.nn.functional.l1_loss(polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 4.0]))
    tensor(1.)
    """
    reduction = reduction_of("l1_loss", size_average, reduce, reduction)
    input, target = broadcast_pair("l1_loss", input, target)
    return weighted("l1_loss", (input - target).abs(), weight, reduction, by_weight=True)


@composite(dtype=promoted, structure=pointwise, method=False)
@in_float32
def _huber(input: Tensor, target: Tensor, delta: float, scale: float) -> Tensor:
    """scale times Huber's function of the difference: a parabola up to delta, straight beyond."""
    distance = (input - target).abs()
    near = distance.clamp(max=delta)
    return near * near * (0.5 * scale) + (distance - near) * (delta * scale)


def _huber_slope(g: Tensor, input: Tensor, target: Tensor, delta: float, scale: float) -> Tensor:
    slope = (input - target).clamp(-delta, delta)
    return (slope if scale == 1 else slope * scale) * g


gradient(
    _huber,
    input=_huber_slope,
    target=lambda g, input, target, delta, scale: _huber_slope(g, target, input, delta, scale),
)


@function(namespace="nn.functional")
def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``0.5 * d**2 / beta`` where the difference d is below *beta*, else ``|d| - 0.5 * beta`` (Girshick 2015).

    Errors as in `mse_loss`; RuntimeError also for a negative *beta*.

    >>> import polyad
    >>> polyad.nn.functional.smooth_l1_loss(polyad.tensor([0.0, 0.0]), polyad.tensor([1.0, 3.0]), reduction="none")
    tensor([0.5000, 2.5000])
    """
    reduction = reduction_of("smooth_l1_loss", size_average, reduce, reduction)
    input, target = broadcast_pair("smooth_l1_loss", input, target)
    check_least("smooth_l1_loss", "beta", beta, 0, strict=False)
    check_floating("smooth_l1_loss", input, target, complex=not beta)
    if not beta:
        return reduced((input - target).abs(), reduction)
    return reduced(_huber(input, target, beta, 1 / beta), reduction)


@function(namespace="nn.functional")
def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """``0.5 * d**2`` where the difference d is below *delta*, else ``delta * (|d| - 0.5 * delta)`` (Huber 1964).

    Shapes: input, target and weight (*). The mean is over elements, with a weight too.

    Errors as in `mse_loss`; RuntimeError also unless *delta* is positive.

    >>> import polyad
    >>> x, y = polyad.tensor([0.0, 0.0]), polyad.tensor([1.0, 3.0])
    >>> polyad.nn.functional.huber_loss(x, y, reduction="none", delta=2.0)
    tensor([0.5000, 4.0000])
    """
    reduction = reduction_of("huber_loss", None, None, reduction)
    input, target = broadcast_pair("huber_loss", input, target)
    check_least("huber_loss", "delta", delta, 0, strict=True)
    check_floating("huber_loss", input, target)
    return weighted("huber_loss", _huber(input, target, delta, 1), weight, reduction, by_weight=False)


@function(namespace="nn.functional")
def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """The Kullback-Leibler divergence ``target * (log(target) - input)`` of log-probabilities from probabilities.

    With *log_target* the target holds log-probabilities too. ``"mean"`` is over elements, and warns; ``"batchmean"``,
    over the first dimension, is the divergence's definition. Errors as in `mse_loss`.

    >>> import polyad
    >>> polyad.nn.functional.kl_div(polyad.tensor([-1.0]), polyad.tensor([1.0]), reduction="batchmean")
    tensor(1.)
    """
    reduction = reduction_of("kl_div", size_average, reduce, reduction, (*REDUCTIONS, "batchmean"))
    check_broadcast("kl_div", input, target)
    check_floating("kl_div", input, target)
    if reduction == "mean":
        warn_user('kl_div: the mean over elements is not the divergence; "batchmean", over the batch, is', UserWarning)
    loss = target.exp() * (target - input) if log_target else xlogy(target, target) - target * input
    if reduction == "batchmean":
        return loss.sum() / input.shape[0] if input.ndim else loss.sum()
    return reduced(loss, reduction)


@function(namespace="nn.functional")
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of counts *target* under Poisson distributions of rate exp(input) or, without
    *log_input*, of rate input.

    The term log(target!) is left out; with *full* it is added where the target is above 1, by Stirling's formula.
    *eps* keeps the logarithm of a rate of 0 finite. Errors as in `mse_loss`.

    >>> import polyad
    >>> polyad.nn.functional.poisson_nll_loss(polyad.tensor([0.0, 1.0]), polyad.tensor([1.0, 2.0]), reduction="none")
    tensor([1.0000, 0.7183])
    """
    reduction = reduction_of("poisson_nll_loss", size_average, reduce, reduction)
    check_broadcast("poisson_nll_loss", input, target)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = xlogy(target, target) - target + (target * (2 * math.pi)).log() * 0.5
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return reduced(loss, reduction)


@composite(dtype=promoted, structure=pointwise, method=False)
def _gaussian_nll(input: Tensor, target: Tensor, var: Tensor, eps: float) -> Tensor:
    """Half of log(var) + (input - target)**2 / var, for variances of at least eps."""
    held = var.clamp(min=eps)
    difference = input - target
    return (held.log() + difference * difference / held) * 0.5


def _gaussian_slope(g: Tensor, input: Tensor, target: Tensor, var: Tensor, eps: float) -> Tensor:
    return g * (input - target) / var.clamp(min=eps)


def _gaussian_slope_of_var(g: Tensor, input: Tensor, target: Tensor, var: Tensor, eps: float) -> Tensor:
    # Of what the variance is held to, also where it is below: PyTorch holds it without recording that.
    held = var.clamp(min=eps)
    difference = input - target
    return g * (held - difference * difference) / (held * held * 2)


gradient(
    _gaussian_nll,
    input=_gaussian_slope,
    target=lambda g, input, target, var, eps: _gaussian_slope(g, target, input, var, eps),
    var=_gaussian_slope_of_var,
)
symmetric(_huber, _gaussian_nll)


@function(namespace="nn.functional")
def gaussian_nll_loss(
    input: Tensor,
    target: Tensor,
    var: Tensor | float,
    full: bool = False,
    eps: float = 1e-6,
    reduction: str = "mean",
) -> Tensor:
    """Minus the log-likelihood of *target* under normal distributions of mean *input* and variance *var* (Nix and
    Weigend 1994).

    Shapes: input (*, M), target broadcasting with it, var a number, (*, M), (*, 1) or (*). Variances below *eps* count
    as eps, with the gradient of what they are. The constant log(2 pi) / 2 is added with *full*.

    Raises ValueError for a negative variance, a var of another shape or an unknown reduction.

    >>> import polyad
    >>> mean, target = polyad.tensor([0.0, 0.0]), polyad.tensor([1.0, 2.0])
    >>> polyad.nn.functional.gaussian_nll_loss(mean, target, 4.0, reduction="none")
    tensor([0.8181, 1.1931])
    """
    reduction = reduction_of("gaussian_nll_loss", None, None, reduction)
    check_tensor(input, "gaussian_nll_loss", "input")
    check_tensor(target, "gaussian_nll_loss", "target")
    if not isinstance(var, Tensor):
        if check_number("gaussian_nll_loss", "var", var) < 0:
            raise _negative(var=var)
        var = ones_like(input) * var
    else:
        check_all(~(var < 0), lambda position, value: _negative(), var=var)
        shape, sizes = input._array.shape, var._array.shape
        if sizes != shape:
            if sizes == shape[:-1] and shape:
                var = var.unsqueeze(-1)
            elif not shape or sizes != (*shape[:-1], 1):
                raise ArgumentError(
                    f"gaussian_nll_loss: var {tuple(sizes)} does not fit input {tuple(shape)}",
                    operands={"input": input, "var": var},
                    fix=f"make it {tuple(shape)}, {(*shape[:-1], 1)} or a number",
                )
    loss = _gaussian_nll(input, target, var, eps)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return reduced(loss, reduction)


def _negative(**operands: object) -> ArgumentError:
    return ArgumentError(
        "gaussian_nll_loss: a variance is negative", operands=operands, fix="predict its logarithm, and exp() that"
    )
