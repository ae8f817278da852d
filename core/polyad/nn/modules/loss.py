"""Losses as modules; those of distances between vectors are in distance_loss.py.

What each computes, and when it raises, is documented with its functional form.

A loss whose target broadcasts warns, or raises: an (N, 1) prediction against an (N,) target is seldom meant as (N, N).
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, Literal

from ...base.device import Device
from ...base.dtypes import DType
from ...errors import ArgumentError, OptionError, ShapeError, safe_repr
from ...tensor import Tensor
from .. import functional as F
from .linear import Linear
from .module import Module

__all__ = [
    "BCELoss",
    "BCEWithLogitsLoss",
    "CTCLoss",
    "CrossEntropyLoss",
    "GaussianNLLLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "LinearCrossEntropyLoss",
    "Loss",
    "MSELoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "WeightedLoss",
]

REDUCTIONS = ("mean", "sum", "none")


class Loss(Module):
    """Base of the losses: checks how the elements' losses are put together.

    Args:
        size_average: PyTorch's older way to say it, with *reduce*; takes precedence over *reduction*.
        reduce: see *size_average*.
        reduction: ``"mean"``, ``"sum"``, or ``"none"`` for a loss at each element.

    Raises:
        ValueError: *reduction* is none of these.
    """

    reductions: ClassVar[tuple[str, ...]] = REDUCTIONS
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        if not isinstance(reduction, str) or reduction not in self.reductions:
            raise ArgumentError(
                f"{type(self).__name__}: unknown reduction {safe_repr(reduction)}",
                fix=f"use one of {', '.join(self.reductions)}",
            )
        self.reduction = reduction


class WeightedLoss(Loss):
    """Base of the losses with a weight for each class: a buffer, so that it moves and is saved with the model."""

    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(WeightedLoss):
    """Minus the logarithm of the softmax probability of the target class.

    Shapes: input (N, C, *) of unnormalised scores; target (N, *) of class numbers, or (N, C, *) of probabilities.

    Args:
        weight: a factor for each class (C,).
        size_average: see `Loss`.
        ignore_index: a class number whose targets count nothing.
        reduce: see `Loss`.
        reduction: ``"mean"`` (weighted, over targets that count), ``"sum"`` or ``"none"``.
        label_smoothing: how much probability the target gives to all classes alike.

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.CrossEntropyLoss()(polyad.zeros(3, 4), polyad.tensor([0, 1, 2])).item(), 4)
    1.3863
    """

    ignore_index: int
    label_smoothing: float

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(WeightedLoss):
    """Minus the log-probability of the target class, from log-probabilities such as `LogSoftmax` gives.

    Shapes: input (N, C, *) of log-probabilities; target (N, *) of class numbers. Arguments as in `CrossEntropyLoss`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.NLLLoss()(polyad.tensor([[-1.0, -2.0]]), polyad.tensor([1])).item()
    2.0
    """

    ignore_index: int

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(Loss):
    """The mean (or sum) of squared differences; input and target must have the same shape.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MSELoss()(polyad.zeros(2), polyad.tensor([1.0, 3.0])).item()
    5.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(Loss):
    """The mean (or sum) of absolute differences; input and target must have the same shape.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.L1Loss()(polyad.zeros(2), polyad.tensor([1.0, -3.0])).item()
    2.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class BCEWithLogitsLoss(Loss):
    """Binary cross entropy of sigmoid(input), computed without overflow; input and target must have the same shape.

    Args:
        weight: a factor for each element of a batch; broadcast.
        size_average: see `Loss`.
        reduce: see `Loss`.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.
        pos_weight: a factor for targets of 1; broadcast.

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.BCEWithLogitsLoss()(polyad.zeros(2), polyad.ones(2)).item(), 4)
    0.6931
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SmoothL1Loss(Loss):
    """Half the squared difference divided by *beta* where the difference is less than *beta*, else the absolute
    difference less beta / 2 (Girshick 2015).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.SmoothL1Loss()(polyad.zeros(2), polyad.tensor([1.0, 3.0])).item()
    1.5
    """

    beta: float

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(Loss):
    """*delta* times `SmoothL1Loss` with ``beta=delta`` (Huber 1964).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.HuberLoss()(polyad.zeros(2), polyad.tensor([1.0, 3.0])).item()
    1.5
    """

    delta: float

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class BCELoss(WeightedLoss):
    """Binary cross entropy of probabilities in [0, 1]; *weight* is a factor for each element of a batch.

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.BCELoss()(polyad.tensor([0.5]), polyad.tensor([1.0])).item(), 4)
    0.6931
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, self.weight, reduction=self.reduction)


class KLDivLoss(Loss):
    """target * (log(target) - input): the divergence of a distribution from log-probabilities *input*.

    Args:
        size_average: see `Loss`.
        reduce: see `Loss`.
        reduction: ``"batchmean"`` (the sum divided by the batch's size), ``"mean"``, ``"sum"`` or ``"none"``.
        log_target: whether the target is log-probabilities too.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.KLDivLoss(reduction="batchmean", log_target=True)(polyad.zeros(1, 2), polyad.zeros(1, 2)).item()
    0.0
    """

    reductions = (*REDUCTIONS, "batchmean")
    log_target: bool

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(Loss):
    """Minus the log-likelihood of counts under a Poisson distribution.

    Args:
        log_input: whether the input is the logarithm of the expected count.
        full: add Stirling's approximation of the target's factorial.
        size_average: see `Loss`.
        eps: added to the input before its logarithm, without ``log_input``.
        reduce: see `Loss`.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.PoissonNLLLoss()(polyad.zeros(2), polyad.ones(2)).item()
    1.0
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(Loss):
    """Minus the log-likelihood under normal distributions of mean *input* and variance *var*, at least *eps*.

    Args:
        full: add the constant term.
        eps: the least variance.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.GaussianNLLLoss()(polyad.zeros(2), polyad.ones(2), polyad.ones(2)).item()
    0.5
    """

    full: bool
    eps: float

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class SoftMarginLoss(Loss):
    """log(1 + exp(-target * input)) for targets of 1 and -1.

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.SoftMarginLoss()(polyad.zeros(2), polyad.ones(2)).item(), 4)
    0.6931
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiMarginLoss(WeightedLoss):
    """max(0, margin - score of the target + score of another class) ** p, averaged over classes.

    Args:
        p: 1 or 2.
        margin: how much larger the target's score is to be.
        weight: a factor for each class (C,).
        size_average: see `Loss`.
        reduce: see `Loss`.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: *p* is neither 1 nor 2.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MultiMarginLoss()(polyad.zeros(1, 4), polyad.tensor([0])).item()
    0.75
    """

    p: int
    margin: float

    def __init__(
        self,
        p: Literal[1, 2] = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if weight is not None and weight.ndim != 1:
            raise ArgumentError("MultiMarginLoss: weight must be 1-d", operands={"weight": weight}, fix="flatten it")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class MultiLabelMarginLoss(Loss):
    """The margins between scores of classes that are targets, listed up to the first -1, and of those that are not.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MultiLabelMarginLoss()(polyad.zeros(1, 4), polyad.tensor([[3, 0, -1, 1]])).item()
    1.0
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(WeightedLoss):
    """`BCEWithLogitsLoss` averaged over the classes of each sample; *weight* is a factor for each class.

    >>> import polyad
    >>> from polyad import nn
    >>> round(nn.MultiLabelSoftMarginLoss()(polyad.zeros(1, 4), polyad.ones(1, 4)).item(), 4)
    0.6931
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.multilabel_soft_margin_loss(input, target, self.weight, reduction=self.reduction)


class CTCLoss(Loss):
    """Connectionist temporal classification: minus the log-probability of all alignments of a target with the steps of
    a sequence (Graves et al. 2006).

    Shapes: log_probs (T, N, C) or (T, C); targets (N, S) or their concatenation; lengths (N,).

    Args:
        blank: the class that stands between labels.
        reduction: ``"mean"`` (of the losses divided by the targets' lengths), ``"sum"`` or ``"none"``.
        zero_infinity: whether a loss that is infinite, of a target longer than its input, counts as 0.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CTCLoss()(polyad.zeros(1, 1, 2), polyad.tensor([[1]]), polyad.tensor([1]), polyad.tensor([1])).item()
    0.0
    """

    blank: int
    zero_infinity: bool

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )


class LinearCrossEntropyLoss(WeightedLoss):
    """`CrossEntropyLoss` of a linear layer's scores, with the layer's parameters as ``linear``.

    Shapes: input (N, in_features) or (in_features,); target as in `CrossEntropyLoss` for scores
    (N, num_classes, *out_features).

    Args:
        in_features: size of the input.
        num_classes: how many classes there are.
        out_features: further dimensions of the scores.
        bias: whether the linear layer has one.
        reduction, weight, ignore_index, label_smoothing: as in `CrossEntropyLoss`.
        options: what PyTorch trades memory for time by; changes no result.

    Raises:
        RuntimeError: *weight* is not (num_classes,), or *label_smoothing* is outside of [0, 1].

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LinearCrossEntropyLoss(5, 10)(polyad.zeros(2, 5), polyad.tensor([1, 2])).shape
    polyad.Size([])
    """

    def __init__(
        self,
        in_features: int,
        num_classes: int,
        *,
        out_features: tuple[int, ...] = (),
        bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
        reduction: str = "mean",
        weight: Tensor | None = None,
        ignore_index: int | None = None,
        label_smoothing: float = 0.0,
        options: Any = None,
    ) -> None:
        if weight is not None and tuple(weight.shape) != (num_classes,):
            raise ShapeError(
                f"LinearCrossEntropyLoss: weight must be ({num_classes},)",
                operands={"weight": weight},
                fix="give a factor for each class",
            )
        if not 0 <= label_smoothing <= 1:
            raise OptionError(
                "LinearCrossEntropyLoss: label_smoothing must be between 0 and 1",
                operands={"label_smoothing": label_smoothing},
                fix="pass a probability",
            )
        super().__init__(weight, reduction=reduction)
        self.num_classes = num_classes
        self.out_features = out_features
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing
        self.linear = Linear(in_features, num_classes * math.prod(out_features), bias, device, dtype)
        self.options = options

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        scores, bias = (self.num_classes, *self.out_features), self.linear.bias
        return F.linear_cross_entropy(
            input,
            self.linear.weight.reshape(*scores, self.linear.in_features),
            target,
            linear_bias=None if bias is None else bias.reshape(scores),
            weight=self.weight,
            reduction=self.reduction,
            ignore_index=self.ignore_index,
            label_smoothing=self.label_smoothing,
            options=self.options,
        )

    def extra_repr(self) -> str:
        return (
            f"in_features={self.linear.in_features}, num_classes={self.num_classes}, "
            f"out_features={self.out_features}, bias={self.linear.bias is not None}, reduction={self.reduction}, "
            f"ignore_index={self.ignore_index}, label_smoothing={self.label_smoothing}, options={self.options}"
        )


# By these names code for PyTorch asks whether a layer is of the family.
_Loss = Loss
_WeightedLoss = WeightedLoss
