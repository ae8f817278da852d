"""Losses as modules. What each computes, and when it raises, is documented with its functional form.

A loss never broadcasts its target: an (N, 1) prediction against an (N,) target is an error, not an (N, N) loss.
"""

from __future__ import annotations

from ...errors import ArgumentError, safe_repr
from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["BCEWithLogitsLoss", "CrossEntropyLoss", "L1Loss", "Loss", "MSELoss", "NLLLoss", "WeightedLoss"]

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

    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        if size_average is not None or reduce is not None:
            reduction = "none" if reduce is False else "sum" if size_average is False else "mean"
        if not isinstance(reduction, str) or reduction not in REDUCTIONS:
            raise ArgumentError(
                f"{type(self).__name__}: unknown reduction {safe_repr(reduction)}",
                fix=f"use one of {', '.join(REDUCTIONS)}",
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
