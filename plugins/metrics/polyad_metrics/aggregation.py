"""Means and sums of values, and errors of predictions."""

from __future__ import annotations

import polyad
from polyad import Tensor
from polyad.base.kinds import Positive
from polyad.base.state import warn_user
from polyad.errors import ArgumentError, ShapeError

from .metric import Metric


class MeanMetric(Metric):
    """The mean of values, each with a weight.

    Sums are kept in float64 where the device has it. Raises RuntimeError for a weight that does not broadcast.

    >>> import polyad
    >>> mean = polyad.metrics.MeanMetric()
    >>> mean.update(3.0)
    >>> mean.update(polyad.tensor([1.0, 2.0]), weight=2)
    >>> mean.compute()
    tensor(1.8000)
    """

    total: Tensor
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", polyad.tensor(0.0, dtype=polyad.float64))
        self.add_state("weight", polyad.tensor(0.0, dtype=polyad.float64))

    def update(self, value: Tensor | float, weight: Tensor | float = 1.0) -> None:
        """Count *value*, a number or a tensor, with *weight*, which broadcasts to it."""
        values = polyad.as_tensor(value, device=self.total.device).to(self.total.dtype)
        weights = polyad.as_tensor(weight, device=self.total.device).to(self.total.dtype).expand_as(values)
        self.total = self.total + (values * weights).sum()
        self.weight = self.weight + weights.sum()

    def compute(self) -> Tensor:
        """The mean, float32; nan of nothing."""
        return (self.total / self.weight).float()


class SumMetric(Metric):
    """The sum of values.

    >>> import polyad
    >>> total = polyad.metrics.SumMetric()
    >>> total.update(polyad.tensor([1.0, 2.0])); total.update(4)
    >>> total.compute()
    tensor(7.)
    """

    total: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", polyad.tensor(0.0, dtype=polyad.float64))

    def update(self, value: Tensor | float) -> None:
        """Count *value*, a number or a tensor."""
        values = polyad.as_tensor(value, device=self.total.device)
        self.total = self.total + values.to(self.total.dtype).sum()

    def compute(self) -> Tensor:
        """The sum, float32."""
        return self.total.float()


class _OfValues(Metric):
    """Something of single values, in which NaN is not counted unless *nan_strategy* says so."""

    def __init__(self, nan_strategy: str | float = "warn") -> None:
        super().__init__()
        if isinstance(nan_strategy, str) and nan_strategy not in ("error", "warn", "ignore"):
            raise ArgumentError(
                f"{type(self).__name__}: nan_strategy is {nan_strategy!r}",
                fix='pass "error", "warn", "ignore", or a number to put in the place of NaN',
            )
        self.nan_strategy = nan_strategy

    def _values_of(self, value: Tensor | float) -> Tensor:
        found = polyad.as_tensor(value, device=self._device()).reshape(-1)
        found = found if found.is_floating_point() else found.float()
        missing = found.isnan()
        if not bool(missing.any()):
            return found
        if isinstance(self.nan_strategy, str):
            if self.nan_strategy == "error":
                raise ArgumentError(f"{type(self).__name__}: a value is NaN", fix='pass nan_strategy="ignore"')
            if self.nan_strategy == "warn":
                warn_user(f"{type(self).__name__}: values that are NaN are left out", UserWarning)
            return found[~missing]
        return polyad.where(missing, float(self.nan_strategy), found)


class MaxMetric(_OfValues):
    """The greatest of values.

    Args:
        nan_strategy: what to do with NaN: "warn" and leave it out, "ignore", "error" (ValueError), or a number instead.

    >>> import polyad
    >>> greatest = polyad.metrics.MaxMetric()
    >>> greatest.update(polyad.tensor([1.0, 3.0])); greatest.update(2)
    >>> greatest.compute()
    tensor(3.)
    """

    value: Tensor
    _way = "max"

    def __init__(self, nan_strategy: str | float = "warn") -> None:
        super().__init__(nan_strategy)
        self.add_state("value", polyad.tensor(float("-inf") if self._way == "max" else float("inf")), self._way)

    def update(self, value: Tensor | float) -> None:
        """Count *value*, a number or a tensor."""
        found = self._values_of(value)
        if found.numel():
            best, join = (found.amax(), polyad.maximum) if self._way == "max" else (found.amin(), polyad.minimum)
            self.value = join(self.value, best.to(self.value.dtype))

    def compute(self) -> Tensor:
        """The value, float32; an infinity of nothing."""
        return self.value


class MinMetric(MaxMetric):
    """The least of values. Arguments as of `MaxMetric`.

    >>> import polyad
    >>> polyad.metrics.MinMetric()(polyad.tensor([1.0, 3.0]))
    tensor(1.)
    """

    _way = "min"


class CatMetric(_OfValues):
    """All values, one after the other. Arguments as of `MaxMetric`.

    >>> import polyad
    >>> values = polyad.metrics.CatMetric()
    >>> values.update(1); values.update(polyad.tensor([2.0, 3.0]))
    >>> values.compute()
    tensor([1., 2., 3.])
    """

    value: list[Tensor]

    def __init__(self, nan_strategy: str | float = "warn") -> None:
        super().__init__(nan_strategy)
        self.add_state("value", dist_reduce_fx="cat")

    def update(self, value: Tensor | float) -> None:
        """Count *value*, a number or a tensor."""
        self.value = [*self.value, self._values_of(value)]

    def compute(self) -> Tensor:
        """The values (N,)."""
        return polyad.cat(self.value) if self.value else polyad.zeros(0)


class OfErrors(Metric):
    """The mean of something of each element of *preds* and *target*."""

    total: Tensor
    count: Tensor

    def __init__(self, num_outputs: Positive = 1) -> None:
        super().__init__()
        self.num_outputs = num_outputs
        self.add_state("total", polyad.zeros(num_outputs, dtype=polyad.float64))
        self.add_state("count", polyad.tensor(0, dtype=polyad.int64))

    def update(self, preds: Tensor, target: Tensor) -> None:
        """Count a batch: two tensors of one shape; (N, num_outputs) if there are several."""
        if preds.shape != target.shape or (self.num_outputs > 1 and preds.shape[1:] != (self.num_outputs,)):
            raise ShapeError(
                f"{type(self).__name__}: preds {tuple(preds.shape)} and target {tuple(target.shape)} do not fit "
                f"num_outputs={self.num_outputs}",
                operands={"preds": preds, "target": target},
                fix="pass two tensors of one shape" + (f", (N, {self.num_outputs})" if self.num_outputs > 1 else ""),
            )
        dtype = self.total.dtype
        values = self._of(preds.to(dtype), target.to(dtype)).reshape(-1, self.num_outputs)
        self.total = self.total + values.sum(0)
        self.count = self.count + len(values)

    def compute(self) -> Tensor:
        """The mean, float32: 0-d, or (num_outputs,) of several; nan of nothing."""
        return (
            (self.total / self.count).float().squeeze() if self.num_outputs == 1 else (self.total / self.count).float()
        )

    def _of(self, preds: Tensor, target: Tensor) -> Tensor:
        raise NotImplementedError


class MeanSquaredError(OfErrors):
    """The mean of ``(preds - target)**2``; its root if not *squared*.

    Args:
        squared: False gives the root of the mean (RMSE).
        num_outputs: how many columns have a value of their own.

    Raises RuntimeError for shapes that do not fit.

    >>> import polyad
    >>> rmse = polyad.metrics.MeanSquaredError(squared=False)
    >>> rmse(polyad.tensor([1.0, 5.0]), polyad.tensor([1.0, 3.0]))
    tensor(1.4142)
    """

    def __init__(self, squared: bool = True, num_outputs: Positive = 1) -> None:
        super().__init__(num_outputs)
        self.squared = squared

    def compute(self) -> Tensor:
        """The mean, or its root, float32: 0-d, or (num_outputs,) of several; nan of nothing."""
        mean = super().compute()
        return mean if self.squared else mean.sqrt()

    def _of(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target) ** 2


class MeanAbsoluteError(OfErrors):
    """The mean of ``|preds - target|``. *num_outputs* says how many columns have a value of their own.

    Raises RuntimeError for shapes that do not fit.

    >>> import polyad
    >>> polyad.metrics.MeanAbsoluteError()(polyad.tensor([1.0, 5.0]), polyad.tensor([1.0, 3.0]))
    tensor(1.)
    """

    def _of(self, preds: Tensor, target: Tensor) -> Tensor:
        return (preds - target).abs()
