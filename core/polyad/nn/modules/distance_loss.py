"""Losses of how near vectors or scores are to each other; their functional forms say what each computes."""

from __future__ import annotations

from collections.abc import Callable

from ...base.kinds import PositiveNumber
from ...tensor import Tensor
from .. import functional as F
from .distance import PairwiseDistance
from .loss import Loss

__all__ = [
    "CosineEmbeddingLoss",
    "HingeEmbeddingLoss",
    "MarginRankingLoss",
    "TripletMarginLoss",
    "TripletMarginWithDistanceLoss",
]


class _MarginLoss(Loss):
    """What the losses with a margin have in common."""

    margin: float

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class MarginRankingLoss(_MarginLoss):
    """max(0, -target * (input1 - input2) + margin), for targets of 1 (the first is to be larger) and -1.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MarginRankingLoss()(polyad.zeros(1), polyad.ones(1), polyad.ones(1)).item()
    1.0
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class CosineEmbeddingLoss(_MarginLoss):
    """1 - cosine for targets of 1, max(0, cosine - margin) for targets of -1, of vectors (N, D) or (D,).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CosineEmbeddingLoss()(polyad.eye(2), polyad.ones(2, 2), polyad.tensor([1, 1])).round(decimals=4).item()
    0.2928999960422516
    """

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class HingeEmbeddingLoss(_MarginLoss):
    """The input, a distance, for targets of 1, and max(0, margin - input) for targets of -1.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.HingeEmbeddingLoss()(polyad.tensor([0.5, 0.5]), polyad.tensor([1.0, -1.0])).item()
    0.5
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(Loss):
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), d being the p-norm of the difference.

    Args:
        margin: how much farther the negative is to be; positive.
        p: the norm's exponent.
        eps: added to each element of the difference.
        swap: use the nearer of anchor and positive to the negative.
        size_average: see `Loss`.
        reduce: see `Loss`.
        reduction: ``"mean"``, ``"sum"`` or ``"none"``.

    Raises:
        ValueError: the margin is not positive.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.TripletMarginLoss()(polyad.zeros(1, 2), polyad.zeros(1, 2), polyad.zeros(1, 2)).item()
    1.0
    """

    def __init__(
        self,
        margin: PositiveNumber = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_loss(
            anchor,
            positive,
            negative,
            margin=self.margin,
            p=self.p,
            eps=self.eps,
            swap=self.swap,
            reduction=self.reduction,
        )


class TripletMarginWithDistanceLoss(Loss):
    """`TripletMarginLoss` with any distance: a function or module of two tensors, `PairwiseDistance` by default.

    >>> import polyad
    >>> from polyad import nn
    >>> loss = nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: (a - b).abs().amax(-1))
    >>> loss(polyad.zeros(1, 2), polyad.zeros(1, 2), polyad.zeros(1, 2)).item()
    1.0
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: PositiveNumber = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        self.distance_function = PairwiseDistance() if distance_function is None else distance_function
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        return F.triplet_margin_with_distance_loss(
            anchor,
            positive,
            negative,
            distance_function=self.distance_function,
            margin=self.margin,
            swap=self.swap,
            reduction=self.reduction,
        )
