"""How predicted classes agree with true ones: of counts (see `polyad_metrics.classification`) or a confusion matrix."""

from __future__ import annotations

from typing import Literal

import polyad
from polyad import Tensor
from polyad.base.kinds import PositiveNumber

from .classification import ConfusionMatrix, Precision, divided

__all__ = [
    "CohenKappa",
    "FBetaScore",
    "HammingDistance",
    "JaccardIndex",
    "MatthewsCorrCoef",
    "Specificity",
    "StatScores",
]


class Specificity(Precision):
    """Of what is not of a class, the part that is not predicted to be: tn / (tn + fp). Arguments as of `Accuracy`.

    >>> import polyad
    >>> polyad.metrics.Specificity(task="binary")(polyad.tensor([1, 0, 0]), polyad.tensor([0, 0, 1]))
    tensor(0.5000)
    """

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        return divided(tn, tn + fp)


class FBetaScore(Precision):
    """The harmonic mean of precision and recall in which recall counts *beta* times as much. Others as of `Accuracy`.

    >>> import polyad
    >>> polyad.metrics.FBetaScore(task="binary", beta=2.0)(polyad.tensor([1, 1, 0]), polyad.tensor([1, 0, 0]))
    tensor(0.8333)
    """

    def __init__(
        self,
        task: str,
        beta: PositiveNumber = 1.0,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "micro",
        top_k: int = 1,
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__(task, threshold, num_classes, num_labels, average, top_k, ignore_index, validate_args)
        self.beta = beta

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        square = self.beta**2
        return divided((1 + square) * tp, (1 + square) * tp + square * fn + fp)


class HammingDistance(Precision):
    """The part of predictions that is wrong; of multiclass classes, the part of a class that is not found.

    Arguments as of `Accuracy`.

    >>> import polyad
    >>> polyad.metrics.HammingDistance(task="binary")(polyad.tensor([1, 0, 0, 0]), polyad.tensor([1, 1, 0, 0]))
    tensor(0.2500)
    """

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        if self.options.task == "multiclass":
            return 1 - divided(tp, tp + fn)
        return 1 - divided(tp + tn, tp + fp + fn + tn)


class StatScores(Precision):
    """The counts themselves: tp, fp, tn, fn, and tp + fn, the last dimension. Arguments as of `Accuracy`.

    >>> import polyad
    >>> polyad.metrics.StatScores(task="binary")(polyad.tensor([1, 0, 0, 0]), polyad.tensor([1, 1, 0, 0]))
    tensor([1, 0, 2, 1, 2])
    """

    def compute(self) -> Tensor:
        """(5,), int64 counts, or float32 means of them over classes; (C, 5) without an average."""
        counts = polyad.stack([self.tp, self.fp, self.tn, self.fn, self.tp + self.fn], -1)
        average = self.options.average
        if self.options.task == "binary":
            return counts[1]
        if average == "micro":
            return counts.sum(0)
        if average in ("none", None):
            return counts
        if average == "macro":
            return counts.float().mean(0)
        weights = counts[:, 4:].float()
        return (counts * divided(weights, weights.sum())).sum(0)


class JaccardIndex(Precision):
    """What is of a class and predicted so, over what is one or the other: tp / (tp + fp + fn). Others as of `Accuracy`.

    >>> import polyad
    >>> index = polyad.metrics.JaccardIndex(task="multiclass", num_classes=3)
    >>> index(polyad.tensor([0, 1, 2, 2]), polyad.tensor([0, 1, 1, 2]))
    tensor(0.6667)
    """

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "macro",
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__(task, threshold, num_classes, num_labels, average, 1, ignore_index, validate_args)

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        return divided(tp, tp + fp + fn)


class _OfMatrix(ConfusionMatrix):
    """A value of the confusion matrix."""

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__(task, threshold, num_classes, num_labels, None, ignore_index, validate_args)

    def compute(self) -> Tensor:
        """The value, 0-d, float32."""
        counts = self.confmat.cpu().double()
        if self.options.task == "multilabel":
            counts = counts.sum(0)
        return self._value(counts).float().to(self.confmat.device)

    def _value(self, counts: Tensor) -> Tensor:
        raise NotImplementedError


class MatthewsCorrCoef(_OfMatrix):
    """The correlation of true and predicted classes, from -1 to 1; 0 where one of them is constant.

    Sources: Matthews 1975, Gorodkin 2004. Arguments as of `ConfusionMatrix`.

    >>> import polyad
    >>> polyad.metrics.MatthewsCorrCoef(task="binary")(polyad.tensor([0, 1, 0, 0]), polyad.tensor([1, 1, 0, 0]))
    tensor(0.5774)
    """

    def _value(self, counts: Tensor) -> Tensor:
        if counts.shape == (2, 2):
            right, wrong = float(counts.trace()), float(counts.sum() - counts.trace())
            if (right == 0) != (wrong == 0):
                return polyad.tensor(1.0 if right else -1.0)
        true, guessed, count = counts.sum(1), counts.sum(0), counts.sum()
        both = (count**2 - (guessed**2).sum()) * (count**2 - (true**2).sum())
        return divided(counts.trace() * count - (true * guessed).sum(), both.sqrt())


class CohenKappa(_OfMatrix):
    """How much more often both agree than by chance (Cohen 1960); 1 is always, 0 as often as by chance.

    Args:
        task: "binary" or "multiclass".
        weights: None, or "linear" or "quadratic" for classes in an order, of which far ones are worse mistakes.
        threshold, num_classes, ignore_index, validate_args: as of `ConfusionMatrix`.

    >>> import polyad
    >>> polyad.metrics.CohenKappa(task="binary")(polyad.tensor([0, 1, 0, 0]), polyad.tensor([1, 1, 0, 0]))
    tensor(0.5000)
    """

    def __init__(
        self,
        task: Literal["binary", "multiclass"],
        threshold: float = 0.5,
        num_classes: int | None = None,
        weights: Literal["linear", "quadratic", "none"] | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__(task, threshold, num_classes, None, ignore_index, validate_args)
        self.weights = weights

    def _value(self, counts: Tensor) -> Tensor:
        number = polyad.arange(float(len(counts)), dtype=counts.dtype)
        apart = (number[:, None] - number).abs()
        cost = apart**2 if self.weights == "quadratic" else apart if self.weights == "linear" else (apart > 0).double()
        chance = counts.sum(1)[:, None] * counts.sum(0) / counts.sum()
        return 1 - (cost * counts).sum() / (cost * chance).sum()
