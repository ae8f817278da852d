"""Accuracy, precision, recall, F1 and the confusion matrix: all are made of counts.

Per class, *tp* are elements that are of it and are predicted so, *fp* those that only are predicted so, *fn* those that
only are of it, *tn* the others. Binary metrics are about class 1. Averages over classes:

    micro      counts are added over classes first
    macro      the mean over classes; of multiclass, over those that occur in predictions or targets (with top_k, in
               targets)
    weighted   the mean over classes, weighted by how often each is true
    none       a value a class

Where a value would be 0 / 0 it is 0, as in torchmetrics and scikit-learn.
"""

from __future__ import annotations

from typing import Any, Literal

import polyad
from polyad import Tensor

from .inputs import Options, counted, options
from .metric import Metric


class _OfCounts(Metric):
    """A value of tp, fp, fn and tn."""

    tp: Tensor
    fp: Tensor
    fn: Tensor
    tn: Tensor

    def __init__(self, chosen: Options) -> None:
        super().__init__()
        self.options = chosen
        count = 2 if chosen.task == "binary" else chosen.classes
        for name in ("tp", "fp", "fn", "tn"):
            self.add_state(name, polyad.zeros(count, dtype=polyad.int64))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch; shapes as in `polyad.metrics.inputs`."""
        guess, truth, kept = counted(self.options, preds, target)
        self.tp = self.tp + (guess * truth * kept).sum(0)
        self.fp = self.fp + (guess * (1 - truth) * kept).sum(0)
        self.fn = self.fn + ((1 - guess) * truth * kept).sum(0)
        self.tn = self.tn + ((1 - guess) * (1 - truth) * kept).sum(0)

    def compute(self) -> Tensor:
        """The value: 0-d, or (C,) without an average."""
        counts = [one.cpu().double() for one in (self.tp, self.fp, self.fn, self.tn)]
        return self._averaged(*counts).float().to(self.tp.device)

    def _averaged(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        task, average = self.options.task, self.options.average
        if task == "binary":
            return self._value(tp[1], fp[1], fn[1], tn[1])
        if average == "micro":
            return self._value(tp.sum(), fp.sum(), fn.sum(), tn.sum())
        values = self._value(tp, fp, fn, tn)
        if average in ("none", None):
            return values
        if average == "weighted":
            weights = tp + fn
        else:
            # With top_k a wrong prediction names one class of several: it does not say that the class occurs.
            there = tp + fn if self.options.top_k > 1 else tp + fp + fn
            weights = (there > 0).double() if task == "multiclass" else polyad.ones_like(values)
        return divided((values * weights).sum(), weights.sum())

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        raise NotImplementedError


def divided(count: Tensor, whole: Tensor) -> Tensor:
    """*count* / *whole*, 0 where that is 0 / 0."""
    return polyad.where(whole == 0, 0.0, count / polyad.where(whole == 0, 1.0, whole))


class Accuracy(_OfCounts):
    """The part of predictions that is right.

    Args:
        task: "binary", "multiclass" or "multilabel".
        threshold: scores above it are predictions of class 1.
        num_classes, num_labels: C of "multiclass", L of "multilabel".
        average: "micro" (all elements alike), "macro" (classes alike), "weighted" or "none". Of multiclass, the
            accuracy of a class is the part of its elements that is found.
        top_k: of multiclass scores, a prediction is right if the true class is among the best *k*.
        ignore_index: elements with this target do not count.
        validate_args: look at the classes that occur, which waits for the device.

    Raises ValueError for options that are not possible and for classes that there are not, RuntimeError for shapes and
    dtypes that do not fit.

    >>> import polyad
    >>> scores = polyad.tensor([[0.1, 0.8, 0.1], [0.4, 0.3, 0.3], [0.2, 0.5, 0.3]])
    >>> truth = polyad.tensor([1, 0, 2])
    >>> polyad.metrics.Accuracy(task="multiclass", num_classes=3)(scores, truth)
    tensor(0.6667)
    >>> polyad.metrics.Accuracy(task="multiclass", num_classes=3, top_k=2)(scores, truth)
    tensor(1.)
    """

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "micro",
        top_k: int = 1,
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__(
            options("Accuracy", task, threshold, num_classes, num_labels, average, top_k, ignore_index, validate_args)
        )

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        if self.options.task == "multiclass":
            return divided(tp, tp + fn)
        return divided(tp + tn, tp + fp + fn + tn)


class Precision(_OfCounts):
    """Of what is predicted to be of a class, the part that is: tp / (tp + fp). Arguments as of `Accuracy`.

    >>> import polyad
    >>> polyad.metrics.Precision(task="binary")(polyad.tensor([1, 1, 0]), polyad.tensor([1, 0, 0]))
    tensor(0.5000)
    """

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "micro",
        top_k: int = 1,
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        name = type(self).__name__
        super().__init__(
            options(name, task, threshold, num_classes, num_labels, average, top_k, ignore_index, validate_args)
        )

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        return divided(tp, tp + fp)


class Recall(Precision):
    """Of what is of a class, the part that is found: tp / (tp + fn). Arguments as of `Accuracy`.

    >>> import polyad
    >>> polyad.metrics.Recall(task="binary")(polyad.tensor([1, 0, 0]), polyad.tensor([1, 1, 0]))
    tensor(0.5000)
    """

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        return divided(tp, tp + fn)


class F1Score(Precision):
    """The harmonic mean of precision and recall: 2 tp / (2 tp + fp + fn). Arguments as of `Accuracy`.

    >>> import polyad
    >>> polyad.metrics.F1Score(task="binary")(polyad.tensor([1, 1, 0]), polyad.tensor([1, 0, 0]))
    tensor(0.6667)
    """

    def _value(self, tp: Tensor, fp: Tensor, fn: Tensor, tn: Tensor) -> Tensor:
        return divided(2 * tp, 2 * tp + fp + fn)


class ConfusionMatrix(Metric):
    """How often elements of each class are predicted to be of each: rows are true classes, columns predicted ones.

    Args:
        task, threshold, num_classes, num_labels, ignore_index, validate_args: as of `Accuracy`.
        normalize: divide by the number of true elements of the class ("true"), of predicted ones ("pred"), or of all
            ("all"); counts if it is None.

    The value is (C, C); (2, 2) of binary; (L, 2, 2) of multilabel. Raises as `Accuracy` does.

    >>> import polyad
    >>> matrix = polyad.metrics.ConfusionMatrix(task="multiclass", num_classes=3)
    >>> matrix(polyad.tensor([0, 1, 2, 2]), polyad.tensor([0, 1, 1, 2]))
    tensor([[1, 0, 0],
            [0, 1, 1],
            [0, 0, 1]])
    """

    confmat: Tensor

    def __init__(
        self,
        task: str,
        threshold: float = 0.5,
        num_classes: int | None = None,
        num_labels: int | None = None,
        normalize: Literal["true", "pred", "all", "none"] | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__()
        self.options = options(
            "ConfusionMatrix", task, threshold, num_classes, num_labels, "none", 1, ignore_index, validate_args
        )
        self.normalize = normalize
        count = self.options.classes
        shape = {"binary": (2, 2), "multiclass": (count, count), "multilabel": (count, 2, 2)}[task]
        self.add_state("confmat", polyad.zeros(shape, dtype=polyad.int64))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch; shapes as in `polyad.metrics.inputs`."""
        guess, truth, kept = counted(self.options, preds, target)
        if self.options.task == "multilabel":
            place = (2 * truth + guess + 4 * polyad.arange(self.options.classes, device=truth.device)).reshape(-1)
        else:
            place = truth.argmax(1) * truth.shape[1] + guess.argmax(1)
            kept = kept[:, 0]
        found = polyad.zeros(self.confmat.numel(), dtype=polyad.int64, device=place.device)
        found = found.index_add(0, place, kept.reshape(-1).long())
        self.confmat = self.confmat + found.view_as(self.confmat)

    def compute(self) -> Tensor:
        """Counts (int64), or parts (float32)."""
        if self.normalize in ("none", None):
            return self.confmat
        dims: Any = {"true": -1, "pred": -2, "all": (-2, -1)}[self.normalize]
        counts = self.confmat.cpu().double()
        return divided(counts, counts.sum(dims, keepdim=True)).float().to(self.confmat.device)
