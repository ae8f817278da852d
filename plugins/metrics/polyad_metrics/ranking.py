"""The area under the receiver operating characteristic (ROC) curve."""

from __future__ import annotations

import warnings

import polyad
from polyad import Tensor
from polyad.errors import ArgumentError

from .inputs import options, scores
from .metric import Metric


class AUROC(Metric):
    """The probability that an element of a class scores higher than one that is not, ties counting half.

    That is the area under the curve of true against false positives over all thresholds (Hanley and McNeil 1982).

    Args:
        task: "binary", "multiclass" (each class against the rest) or "multilabel".
        thresholds: None keeps all scores and is exact. An int counts at so many thresholds from 0 to 1 and needs no
            memory that grows; the area is then that of the curve through these.
        num_classes, num_labels: C of "multiclass", L of "multilabel".
        average: over classes: "macro", "weighted" by how often each is true, or "none".
        ignore_index, validate_args: as of `Accuracy`.

    Scores are probabilities or logits. A class of which all elements are true, or none, has no area: nan, with a
    warning, and averages leave it out. Raises ValueError for options that are not possible, RuntimeError for shapes and
    dtypes that do not fit.

    >>> import polyad
    >>> auroc = polyad.metrics.AUROC(task="binary")
    >>> auroc(polyad.tensor([0.1, 0.4, 0.35, 0.8]), polyad.tensor([0, 0, 1, 1]))
    tensor(0.7500)
    """

    preds: list[Tensor]
    target: list[Tensor]
    kept: list[Tensor]
    tp: Tensor
    fp: Tensor
    positive: Tensor
    negative: Tensor

    def __init__(
        self,
        task: str,
        thresholds: int | None = None,
        num_classes: int | None = None,
        num_labels: int | None = None,
        average: str | None = "macro",
        ignore_index: int | None = None,
        validate_args: bool = True,
    ) -> None:
        super().__init__()
        if average == "micro" or (thresholds is not None and (not isinstance(thresholds, int) or thresholds < 2)):
            raise ArgumentError(
                f"AUROC: average is {average!r}, thresholds {thresholds!r}",
                fix='pass "macro", "weighted" or "none", and None or an int of at least 2',
            )
        self.options = options("AUROC", task, 0.5, num_classes, num_labels, average, 1, ignore_index, validate_args)
        self.thresholds = thresholds
        if thresholds is None:
            for name in ("preds", "target", "kept"):
                self.add_state(name, dist_reduce_fx="cat")
        else:
            for name in ("tp", "fp"):
                self.add_state(name, polyad.zeros(thresholds, self.options.classes, dtype=polyad.int64))
            for name in ("positive", "negative"):
                self.add_state(name, polyad.zeros(self.options.classes, dtype=polyad.int64))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch; shapes as in `polyad.metrics.inputs`."""
        values, truth, kept = scores(self.options, preds, target)
        if self.thresholds is None:
            self.preds, self.target, self.kept = [*self.preds, values], [*self.target, truth], [*self.kept, kept]
            return
        positive, negative = truth.bool() & kept, ~truth.bool() & kept
        for at in range(self.thresholds):
            above = values >= at / (self.thresholds - 1)
            self.tp[at] += (above & positive).sum(0)
            self.fp[at] += (above & negative).sum(0)
        self.positive = self.positive + positive.sum(0)
        self.negative = self.negative + negative.sum(0)

    def compute(self) -> Tensor:
        """The area: 0-d, or (C,) without an average."""
        areas, weights = self._exact() if self.thresholds is None else self._binned()  # on the host
        missing = int(areas.isnan().sum())
        if missing:
            warnings.warn(
                f"AUROC: {missing} of {len(areas)} classes are of all elements or of none, so they have no area",
                UserWarning,
                stacklevel=4,
            )
        device = self._device()
        if self.options.task == "binary":
            return areas[0].float().to(device)
        if self.options.average in ("none", None):
            return areas.float().to(device)
        weights = weights.double() if self.options.average == "weighted" else polyad.ones_like(areas)
        weights = polyad.where(areas.isnan(), 0.0, weights)
        return ((areas.nan_to_num(0.0) * weights).sum() / weights.sum()).float().to(device)

    def _exact(self) -> tuple[Tensor, Tensor]:
        if not self.preds:
            nothing = polyad.zeros(self.options.classes, dtype=polyad.float64)
            return nothing + float("nan"), nothing
        preds, target, kept = (polyad.cat(parts) for parts in (self.preds, self.target, self.kept))
        areas, weights = [], []
        for label in range(preds.shape[1]):
            values, truth = preds[:, label][kept[:, label]], target[:, label][kept[:, label]].bool()
            below, above = values[~truth].sort().values, values[truth]
            pairs = polyad.searchsorted(below, above).sum() + polyad.searchsorted(below, above, right=True).sum()
            areas.append(pairs.cpu().double() / (2.0 * len(below) * len(above)))  # 0 / 0 without pairs
            weights.append(truth.sum().cpu())
        return polyad.stack(areas), polyad.stack(weights)

    def _binned(self) -> tuple[Tensor, Tensor]:
        tp, fp, positive, negative = (one.cpu().double() for one in (self.tp, self.fp, self.positive, self.negative))
        end = polyad.zeros(1, self.options.classes, dtype=polyad.float64)  # a threshold above all scores
        true, false = polyad.cat([tp / positive, end]), polyad.cat([fp / negative, end])
        return ((false[:-1] - false[1:]) * (true[:-1] + true[1:]) / 2).sum(0), positive
