"""Curves over thresholds, for a value of which one has to decide: ROC, precision and recall, and the area below these.

A value above or at the threshold is a prediction of the class. Each class of multiclass, and each label, has a curve of
its own, against the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import polyad
from polyad import Tensor
from polyad.arguments import check_choice
from polyad.errors import ArgumentError

from .classification import divided
from .inputs import options, scores
from .metric import Metric

__all__ = ["ROC", "AveragePrecision", "PrecisionRecallCurve"]

Curve = tuple[Any, Any, Any]


class _Counts(NamedTuple):
    """By thresholds, the highest first: elements of the class and others at or above each; and how many there are."""

    true: Tensor
    false: Tensor
    thresholds: Tensor
    positive: Tensor
    negative: Tensor


class _OverThresholds(Metric):
    """What follows from the scores of all elements, or from counts at given thresholds."""

    preds: list[Tensor]
    target: list[Tensor]
    kept: list[Tensor]
    counts: Tensor
    _averages: tuple[str | None, ...] = (None, "none")

    def __init__(
        self,
        task: str,
        thresholds: int | Sequence[float] | Tensor | None = None,
        num_classes: int | None = None,
        num_labels: int | None = None,
        ignore_index: int | None = None,
        validate_args: bool = True,
        *,
        average: str | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        check_choice(name, "average", average, self._averages)
        self.options = options(name, task, 0.5, num_classes, num_labels, average, 1, ignore_index, validate_args)
        self.thresholds = _thresholds(name, thresholds)
        if self.thresholds is None:
            for state in ("preds", "target", "kept"):
                self.add_state(state, dist_reduce_fx="cat")
        else:  # at each threshold: true, false; then all of these
            shape = (len(self.thresholds) + 1, 2, self.options.classes)
            self.add_state("counts", polyad.zeros(shape, dtype=polyad.int64))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch; shapes as in `polyad.metrics.inputs`."""
        values, truth, kept = scores(self.options, preds, target)
        if self.thresholds is None:
            self.preds, self.target, self.kept = [*self.preds, values], [*self.target, truth], [*self.kept, kept]
            return
        both = polyad.stack([truth.bool() & kept, ~truth.bool() & kept])  # (2, N, C)
        rows = [((values >= at) & both).sum(1) for at in self.thresholds.tolist()]
        self.counts = self.counts + polyad.stack([*rows, both.sum(1)])

    def _curves(self) -> list[_Counts]:
        """The counts of each class, on the host."""
        if self.thresholds is not None:
            counts = self.counts.cpu().double()
            high = self.thresholds.flip(0)
            true, false = counts[:-1].flip(0).unbind(1)
            positive, negative = counts[-1]
            return [
                _Counts(true[:, at], false[:, at], high, positive[at], negative[at])
                for at in range(self.options.classes)
            ]
        if not self.preds:
            nothing, none = polyad.zeros(0, dtype=polyad.float64), polyad.tensor(0.0, dtype=polyad.float64)
            return [_Counts(nothing, nothing, nothing, none, none)] * self.options.classes
        preds, target, kept = (polyad.cat(parts).cpu() for parts in (self.preds, self.target, self.kept))
        return [_exact(preds[k, at], target[k, at]) for at in range(preds.shape[1]) for k in [kept[:, at]]]

    def _told(self, found: list[Curve]) -> Curve:
        """What the user gets of the curves of all classes."""
        device = self._device()
        curves: list[Any] = [tuple(part.float().to(device) for part in curve) for curve in found]
        if self.options.task == "binary":
            return curves[0]
        if self.thresholds is None:
            first, second, third = zip(*curves, strict=True)
            return list(first), list(second), list(third)
        first, second, thresholds = zip(*curves, strict=True)
        return polyad.stack(first), polyad.stack(second), thresholds[0]


def _thresholds(name: str, given: Any) -> Tensor | None:
    if given is None:
        return None
    if isinstance(given, int) and not isinstance(given, bool) and given >= 2:
        return polyad.linspace(0, 1, given, dtype=polyad.float64)
    if isinstance(given, (list, tuple, Tensor)) and len(given):
        found = polyad.as_tensor(given).double().cpu()
        if bool(((found >= 0) & (found <= 1)).all()):
            return found.sort().values
    raise ArgumentError(
        f"{name}: thresholds is {given!r}", fix="pass None, an int of at least 2, or numbers from 0 to 1"
    )


def _exact(values: Tensor, truth: Tensor) -> _Counts:
    order = values.argsort(descending=True, stable=True)
    values, truth = values[order], truth[order].double()
    true = truth.cumsum(0)
    false = polyad.arange(1, len(truth) + 1, dtype=polyad.float64) - true
    last = polyad.ones(len(values), dtype=polyad.bool)  # of those with equal scores
    last[:-1] = values[1:] != values[:-1]
    return _Counts(true[last], false[last], values[last], truth.sum(), (1 - truth).sum())


class ROC(_OverThresholds):
    """The receiver operating characteristic: at each threshold, which part of the others and of the class is above it.

    Args:
        task: "binary", "multiclass" or "multilabel".
        thresholds: None has one at each score that occurs; an int so many from 0 to 1; or the thresholds.
        num_classes, num_labels: C of "multiclass", L of "multilabel".
        ignore_index, validate_args: as of `Accuracy`.

    The value is (false positives, true positives, thresholds), thresholds falling; of several classes lists of these,
    or with *thresholds* (C, T), (C, T), (T,).

    >>> import polyad
    >>> curve = polyad.metrics.ROC(task="binary")
    >>> false, true, thresholds = curve(polyad.tensor([0.1, 0.6, 0.8]), polyad.tensor([0, 1, 1]))
    >>> false, true
    (tensor([0., 0., 0., 1.]), tensor([0.0000, 0.5000, 1.0000, 1.0000]))
    """

    def compute(self) -> Curve:
        """(false positives, true positives, thresholds)."""
        return self._told([self._curve(one) for one in self._curves()])

    def _curve(self, of: _Counts) -> Curve:
        false, true, thresholds = divided(of.false, of.negative), divided(of.true, of.positive), of.thresholds
        if self.thresholds is not None:
            return false, true, thresholds
        zero, one = polyad.zeros(1, dtype=polyad.float64), polyad.ones(1, dtype=polyad.float64)
        return polyad.cat([zero, false]), polyad.cat([zero, true]), polyad.cat([one, thresholds.double()])


class PrecisionRecallCurve(_OverThresholds):
    """At each threshold, precision and recall. Arguments as of `ROC`.

    The value is (precision, recall, thresholds), thresholds rising; the first two end with 1 and 0, which have none.

    >>> import polyad
    >>> curve = polyad.metrics.PrecisionRecallCurve(task="binary")
    >>> precision, recall, thresholds = curve(polyad.tensor([0.1, 0.6, 0.8]), polyad.tensor([0, 0, 1]))
    >>> precision, recall
    (tensor([0.3333, 0.5000, 1.0000, 1.0000]), tensor([1., 1., 1., 0.]))
    """

    def compute(self) -> Any:
        """(precision, recall, thresholds)."""
        return self._told([self._curve(one) for one in self._curves()])

    def _curve(self, of: _Counts) -> Curve:
        precision, recall = divided(of.true, of.true + of.false), divided(of.true, of.positive)
        zero, one = polyad.zeros(1, dtype=polyad.float64), polyad.ones(1, dtype=polyad.float64)
        return polyad.cat([precision.flip(0), one]), polyad.cat([recall.flip(0), zero]), of.thresholds.flip(0)


class AveragePrecision(PrecisionRecallCurve):
    """The mean of precisions, weighted by how much recall each adds: the area below the curve, by steps.

    Arguments as of `ROC`, but *average* over classes is "macro", "weighted" by how often each is true, or "none".

    >>> import polyad
    >>> polyad.metrics.AveragePrecision(task="binary")(polyad.tensor([0.1, 0.6, 0.8]), polyad.tensor([1, 0, 1]))
    tensor(0.8333)
    """

    _averages = ("macro", "weighted", "none", None)

    def __init__(
        self,
        task: str,
        thresholds: int | Sequence[float] | Tensor | None = None,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "macro",
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__(task, thresholds, num_classes, num_labels, ignore_index, validate_args, average=average)

    def compute(self) -> Tensor:
        """The area: 0-d, or (C,) without an average; nan of a class that does not occur, which averages leave out."""
        counts = self._curves()
        areas = []
        for one in counts:
            precision, recall, _ = self._curve(one)
            area = ((recall[:-1] - recall[1:]) * precision[:-1]).sum()
            areas.append(polyad.where(one.positive == 0, float("nan"), area))
        values, device = polyad.stack(areas), self._device()
        if self.options.task == "binary":
            return values[0].float().to(device)
        if self.options.average in ("none", None):
            return values.float().to(device)
        positive = polyad.stack([one.positive for one in counts])
        weights = positive if self.options.average == "weighted" else polyad.ones_like(values)
        weights = polyad.where(values.isnan(), 0.0, weights)
        return ((values.nan_to_num(0.0) * weights).sum() / weights.sum()).float().to(device)
