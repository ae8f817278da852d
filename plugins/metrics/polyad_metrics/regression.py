"""How far predictions of numbers are from what they should be, and how they go together with it.

Two bases: the mean of a value of each element (`polyad_metrics.aggregation` has its simplest members), and what follows
from moments: the numbers, means and products of deviations of predictions, targets and their differences. Moments of
batches are put together as Chan, Golub and LeVeque (1983) do it, so that nothing is lost for large means.

To add a metric of moments, derive from `_OfMoments` and define `_value`.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import polyad
from polyad import Tensor
from polyad.base.kinds import Count, Positive
from polyad.errors import ArgumentError, DTypeError, ShapeError

from .aggregation import OfErrors
from .metric import Metric

__all__ = [
    "ConcordanceCorrCoef",
    "CosineSimilarity",
    "ExplainedVariance",
    "LogCoshError",
    "MeanAbsolutePercentageError",
    "MeanSquaredLogError",
    "MinkowskiDistance",
    "PearsonCorrCoef",
    "R2Score",
    "RelativeSquaredError",
    "SpearmanCorrCoef",
    "SymmetricMeanAbsolutePercentageError",
    "WeightedMeanAbsolutePercentageError",
]

SMALLEST = 1.17e-06
"""What divides in the place of anything smaller; torchmetrics has it from float32's epsilon."""


def _pairs(metric: str, preds: Tensor, target: Tensor, outputs: int | None = None) -> tuple[Tensor, Tensor]:
    """Both as columns (N, outputs), in float64 where the device has it; None takes the second dimension as it is."""
    shape = tuple(preds.shape)
    fits = shape == tuple(target.shape) and len(shape) in (1, 2)
    if not fits or (outputs is not None and (shape[1] if len(shape) == 2 else 1) != outputs):
        wanted = "(N,) or (N, outputs)" if outputs is None else "(N,)" if outputs == 1 else f"(N, {outputs})"
        raise ShapeError(
            f"{metric}: preds {shape} and target {tuple(target.shape)} are not both {wanted}",
            operands={"preds": preds, "target": target},
            fix=f"pass two tensors of shape {wanted}",
        )
    columns = 1 if len(shape) == 1 else shape[1]
    return _exact(preds).reshape(-1, columns), _exact(target).reshape(-1, columns)


def _exact(values: Tensor) -> Tensor:
    try:
        return values.double()
    except DTypeError:
        return values.float()


class _Moments(NamedTuple):
    """Of all pairs, by output: how many, means, and sums of products of deviations from the means."""

    number: Tensor
    preds: Tensor
    target: Tensor
    preds_preds: Tensor
    target_target: Tensor
    preds_target: Tensor
    error_error: Tensor

    @property
    def squared_error(self) -> Tensor:
        """The sum of ``(preds - target)**2``."""
        return self.error_error + self.number * (self.preds - self.target) ** 2


class _OfMoments(Metric):
    """A value of `_Moments`."""

    outputs: int | None = None
    moments: list[Tensor]

    def __init__(self) -> None:
        super().__init__()
        self.add_state("moments", dist_reduce_fx="cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch: two tensors (N,), or (N, outputs)."""
        p, t = _pairs(type(self).__name__, preds, target, self.outputs)
        if not len(p):
            return
        means = p.mean(0), t.mean(0)
        p, t = p - means[0], t - means[1]
        count = polyad.full_like(means[0], len(p))
        rows = [count, *means, (p * p).sum(0), (t * t).sum(0), (p * t).sum(0), ((p - t) ** 2).sum(0)]
        self.moments = [*self.moments, polyad.stack(rows).unsqueeze(0)]

    def compute(self) -> Tensor:
        """The value, float32."""
        if not self.moments:
            return polyad.tensor(float("nan"))
        device = self.moments[0].device
        parts = polyad.cat([one.cpu().double() for one in self.moments])
        counts, preds, target, preds_preds, target_target, preds_target, error_error = parts.unbind(1)
        count = counts.sum(0)
        p, t = (counts * preds).sum(0) / count, (counts * target).sum(0) / count
        dp, dt = preds - p, target - t
        found = _Moments(
            count, p, t,
            (preds_preds + counts * dp * dp).sum(0), (target_target + counts * dt * dt).sum(0),
            (preds_target + counts * dp * dt).sum(0), (error_error + counts * (dp - dt) ** 2).sum(0),
        )  # fmt: skip
        return self._value(found).float().to(device)

    def _value(self, of: _Moments) -> Tensor:
        raise NotImplementedError


def _averaged(values: Tensor, how: str, variances: Tensor) -> Tensor:
    if how == "raw_values":
        return values.squeeze(0) if values.numel() == 1 else values
    return values.mean() if how == "uniform_average" else (values * variances).sum() / variances.sum()


class PearsonCorrCoef(_OfMoments):
    """The linear correlation of predictions and targets, from -1 to 1; nan where one of them is constant.

    >>> import polyad
    >>> polyad.metrics.PearsonCorrCoef()(polyad.tensor([1.0, 2.0, 4.0]), polyad.tensor([2.0, 4.0, 8.0]))
    tensor(1.)
    """

    def __init__(self, num_outputs: Positive = 1) -> None:
        super().__init__()
        self.outputs = num_outputs

    def _value(self, of: _Moments) -> Tensor:
        both = of.preds_preds.sqrt() * of.target_target.sqrt()
        return (of.preds_target / both).clamp(-1, 1).squeeze()


class ConcordanceCorrCoef(PearsonCorrCoef):
    """Lin's correlation (1989), which also falls with a shift or another scale of the predictions.

    >>> import polyad
    >>> polyad.metrics.ConcordanceCorrCoef()(polyad.tensor([1.0, 2.0, 3.0]), polyad.tensor([2.0, 3.0, 4.0]))
    tensor(0.6667)
    """

    def _value(self, of: _Moments) -> Tensor:
        shift = (of.number - 1) * (of.preds - of.target) ** 2  # beside variances of samples, as in torchmetrics
        return (2 * of.preds_target / (of.preds_preds + of.target_target + shift)).squeeze()


class R2Score(_OfMoments):
    """The part of the targets' variance that predictions explain: 1 - (squared errors) / (squared deviations).

    Args:
        adjusted: the number of variables that the predictions are made from, for which the score is corrected.
        multioutput: of several outputs "uniform_average", "variance_weighted" or "raw_values".

    Of constant targets it is 1 for perfect predictions, else 0. Raises ValueError for less than two pairs.

    >>> import polyad
    >>> polyad.metrics.R2Score()(polyad.tensor([2.5, 0.0, 2.0, 8.0]), polyad.tensor([3.0, -0.5, 2.0, 7.0]))
    tensor(0.9486)
    """

    def __init__(
        self,
        adjusted: Count = 0,
        multioutput: Literal["raw_values", "uniform_average", "variance_weighted"] = "uniform_average",
    ) -> None:
        super().__init__()
        self.adjusted, self.multioutput = adjusted, multioutput

    def _value(self, of: _Moments) -> Tensor:
        count = int(of.number[0])
        if count < 2:
            raise ArgumentError("R2Score: one pair has no variance", fix="update it with two or more")
        value = _averaged(_explained(of.squared_error, of.target_target), self.multioutput, of.target_target)
        if self.adjusted and count > self.adjusted + 1:
            value = 1 - (1 - value) * (count - 1) / (count - self.adjusted - 1)
        return value


class ExplainedVariance(_OfMoments):
    """`R2Score` without a constant shift of the predictions: ``1 - var(target - preds) / var(target)``.

    >>> import polyad
    >>> polyad.metrics.ExplainedVariance()(polyad.tensor([2.5, 0.0, 2.0, 8.0]), polyad.tensor([3.0, -0.5, 2.0, 7.0]))
    tensor(0.9572)
    """

    def __init__(
        self, multioutput: Literal["raw_values", "uniform_average", "variance_weighted"] = "uniform_average"
    ) -> None:
        super().__init__()
        self.multioutput = multioutput

    def _value(self, of: _Moments) -> Tensor:
        return _averaged(_explained(of.error_error, of.target_target), self.multioutput, of.target_target)


def _explained(left: Tensor, whole: Tensor) -> Tensor:
    constant = polyad.where(left == 0, 1.0, 0.0).to(left.dtype)
    return polyad.where(whole == 0, constant, 1 - left / polyad.where(whole == 0, 1.0, whole))


class RelativeSquaredError(_OfMoments):
    """The squared error beside that of the targets' mean, averaged over outputs; its root if not *squared*.

    >>> import polyad
    >>> error = polyad.metrics.RelativeSquaredError()
    >>> error(polyad.tensor([2.5, 0.0, 2.0, 8.0]), polyad.tensor([3.0, -0.5, 2.0, 7.0]))
    tensor(0.0514)
    """

    def __init__(self, num_outputs: Positive = 1, squared: bool = True) -> None:
        super().__init__()
        self.outputs, self.squared = num_outputs, squared

    def _value(self, of: _Moments) -> Tensor:
        value = of.squared_error / of.target_target.clamp(min=SMALLEST)
        return (value if self.squared else value.sqrt()).mean()


class SpearmanCorrCoef(Metric):
    """The correlation of ranks: how well both rise together. Ties have their mean rank. Keeps all pairs.

    >>> import polyad
    >>> polyad.metrics.SpearmanCorrCoef()(polyad.tensor([1.0, 2.0, 9.0]), polyad.tensor([1.0, 4.0, 5.0]))
    tensor(1.)
    """

    preds: list[Tensor]
    target: list[Tensor]

    def __init__(self, num_outputs: Positive = 1) -> None:
        super().__init__()
        self.num_outputs = num_outputs
        for name in ("preds", "target"):
            self.add_state(name, dist_reduce_fx="cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch: two tensors (N,), or (N, num_outputs)."""
        p, t = _pairs("SpearmanCorrCoef", preds, target, self.num_outputs)
        self.preds, self.target = [*self.preds, p], [*self.target, t]

    def compute(self) -> Tensor:
        """The correlation, float32: 0-d, or (num_outputs,)."""
        if not self.preds:
            return polyad.tensor(float("nan"))
        p, t = (_ranks(polyad.cat(parts)) for parts in (self.preds, self.target))
        p, t = p - p.mean(0), t - t.mean(0)
        value = (p * t).sum(0) / ((p * p).sum(0).sqrt() * (t * t).sum(0).sqrt())
        return value.clamp(-1, 1).float().squeeze()


def _ranks(values: Tensor) -> Tensor:
    """The rank of each element in its column, from 0; of equal ones the mean."""
    columns = values.t().contiguous()
    ordered = columns.sort(-1).values
    below, up_to = (polyad.searchsorted(ordered, columns, right=right) for right in (False, True))
    return ((below + up_to - 1).to(values.dtype) / 2).t()


class MeanAbsolutePercentageError(OfErrors):
    """The mean of ``|preds - target| / |target|``, as a part of 1.

    >>> import polyad
    >>> polyad.metrics.MeanAbsolutePercentageError()(polyad.tensor([0.9, 15.0]), polyad.tensor([1.0, 10.0]))
    tensor(0.3000)
    """

    def __init__(self) -> None:
        super().__init__()

    def _of(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs() / target.abs().clamp(min=SMALLEST)


class SymmetricMeanAbsolutePercentageError(MeanAbsolutePercentageError):
    """The mean of ``2 |preds - target| / (|preds| + |target|)``, from 0 to 2.

    >>> import polyad
    >>> polyad.metrics.SymmetricMeanAbsolutePercentageError()(polyad.tensor([3.0]), polyad.tensor([1.0]))
    tensor(1.)
    """

    def _of(self, preds: Tensor, target: Tensor) -> Tensor:
        return 2 * (preds - target).abs() / (preds.abs() + target.abs()).clamp(min=SMALLEST)


class MeanSquaredLogError(MeanAbsolutePercentageError):
    """The mean of ``(log(1 + preds) - log(1 + target))**2``.

    >>> import polyad
    >>> polyad.metrics.MeanSquaredLogError()(polyad.tensor([0.0, 1.0]), polyad.tensor([0.0, 3.0]))
    tensor(0.2402)
    """

    def _of(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds.log1p() - target.log1p()) ** 2


class LogCoshError(OfErrors):
    """The mean of ``log(cosh(preds - target))``: squares of small differences, absolute values of large ones.

    >>> import polyad
    >>> polyad.metrics.LogCoshError()(polyad.tensor([3.0, 5.0]), polyad.tensor([2.5, 5.0]))
    tensor(0.0601)
    """

    def _of(self, preds: Tensor, target: Tensor) -> Tensor:
        size = (preds - target).abs()
        return size + (-2 * size).exp().log1p() - math.log(2)


class _OfSums(Metric):
    """A value of two sums."""

    total: Tensor
    whole: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name in ("total", "whole"):
            self.add_state(name, polyad.tensor(0.0, dtype=polyad.float64))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch: two tensors of one shape."""
        if preds.shape != target.shape:
            raise ShapeError(
                f"{type(self).__name__}: preds {tuple(preds.shape)} and target {tuple(target.shape)} differ",
                operands={"preds": preds, "target": target},
                fix="pass two tensors of one shape",
            )
        total, whole = self._sums(preds.to(self.total.dtype), target.to(self.total.dtype))
        self.total, self.whole = self.total + total, self.whole + whole

    def _sums(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


class WeightedMeanAbsolutePercentageError(_OfSums):
    """``sum(|preds - target|) / sum(|target|)``.

    >>> import polyad
    >>> polyad.metrics.WeightedMeanAbsolutePercentageError()(polyad.tensor([1.0, 5.0]), polyad.tensor([2.0, 6.0]))
    tensor(0.2500)
    """

    def _sums(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return (preds - target).abs().sum(), target.abs().sum()

    def compute(self) -> Tensor:
        """The error, float32."""
        return (self.total / self.whole.clamp(min=SMALLEST)).float()


class MinkowskiDistance(_OfSums):
    """``sum(|preds - target|**p)**(1 / p)``. Raises ValueError for *p* below 1.

    >>> import polyad
    >>> polyad.metrics.MinkowskiDistance(2)(polyad.tensor([0.0, 0.0]), polyad.tensor([3.0, 4.0]))
    tensor(5.)
    """

    def __init__(self, p: float) -> None:
        super().__init__()
        if not p >= 1:
            raise ArgumentError(f"MinkowskiDistance: p is {p!r}", fix="pass a number of at least 1")
        self.p = p

    def _sums(self, preds: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        return ((preds - target).abs() ** self.p).sum(), self.whole * 0

    def compute(self) -> Tensor:
        """The distance, float32."""
        return (self.total ** (1 / self.p)).float()


class CosineSimilarity(Metric):
    """The cosine of the angle between rows of predictions and targets (N, D).

    Args:
        reduction: "sum" or "mean" over rows, "none" or None for all of them.

    >>> import polyad
    >>> polyad.metrics.CosineSimilarity("mean")(polyad.tensor([[3.0, 4.0]]), polyad.tensor([[4.0, 3.0]]))
    tensor(0.9600)
    """

    values: list[Tensor]

    def __init__(self, reduction: Literal["sum", "mean", "none"] | None = "sum") -> None:
        super().__init__()
        self.reduction = reduction
        self.add_state("values", dist_reduce_fx="cat")

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch: two tensors (N, D)."""
        if preds.ndim != 2:
            raise ShapeError(
                f"CosineSimilarity: preds {tuple(preds.shape)} is not (N, D)",
                operands={"preds": preds},
                fix="pass rows of vectors",
            )
        p, t = _pairs("CosineSimilarity", preds, target)
        self.values = [*self.values, (p * t).sum(1) / ((p * p).sum(1).sqrt() * (t * t).sum(1).sqrt())]

    def compute(self) -> Tensor:
        """The sum or mean, or (N,), float32."""
        found = polyad.cat(self.values) if self.values else polyad.zeros(0)
        if self.reduction in ("none", None):
            return found.float()
        return (found.sum() if self.reduction == "sum" else found.mean()).float()
