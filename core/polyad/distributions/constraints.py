"""Constraints: what values a parameter or a sample may take, as objects that check tensors.

`Constraint.check` gives one bool for each event: for a constraint of ``event_dim`` n, the last n dimensions of the
value are one event. To add a constraint, derive a class, and say in constraint_registry.py which transform leads to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, overload

from .. import functions as F, linalg
from ..arguments import Explained, check_dims, check_length, check_type, check_within, explain
from ..base.dtypes import bool_, finfo
from ..errors import ArgumentError, ArgumentTypeError, ConditionError
from ..tensor import Tensor

__all__ = [
    "Constraint",
    "MixtureSameFamilyConstraint",
    "boolean",
    "cat",
    "corr_cholesky",
    "dependent",
    "dependent_property",
    "greater_than",
    "greater_than_eq",
    "half_open_interval",
    "independent",
    "integer_interval",
    "interval",
    "is_dependent",
    "less_than",
    "lower_cholesky",
    "lower_triangular",
    "multinomial",
    "nonnegative",
    "nonnegative_integer",
    "one_hot",
    "positive",
    "positive_definite",
    "positive_integer",
    "positive_semidefinite",
    "real",
    "real_vector",
    "simplex",
    "square",
    "stack",
    "symmetric",
    "unit_interval",
]


class Constraint(Explained):
    """A region in which a variable may lie.

    Attributes:
        is_discrete: whether the region is discrete.
        event_dim: how many of the last dimensions are one event.
        bounds: names of the attributes that `repr` shows.
    """

    is_discrete: bool = False
    event_dim: int = 0
    bounds: tuple[str, ...] = ()

    def check(self, value: Tensor) -> Tensor:
        """Whether each event of *value* lies in the region: bool, of the shape of value without its events."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)}" for name in self.bounds)
        return f"{type(self).__name__.removeprefix('_')}({shown})"


class _Dependent(Constraint):
    """A constraint that depends on other variables, so that it cannot be checked alone."""

    def __init__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> None:
        self._is_discrete, self._event_dim = is_discrete, event_dim

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self._known("is_discrete")

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self._known("event_dim")

    def _known(self, name: str) -> Any:
        value = getattr(self, "_" + name)
        if value is NotImplemented:
            raise NotImplementedError(f"{name} of this constraint depends on other variables")
        return value

    def __call__(self, *, is_discrete: Any = NotImplemented, event_dim: Any = NotImplemented) -> Any:
        return _Dependent(
            is_discrete=self._is_discrete if is_discrete is NotImplemented else is_discrete,
            event_dim=self._event_dim if event_dim is NotImplemented else event_dim,
        )

    def check(self, value: Tensor) -> Tensor:
        raise ArgumentError(
            "check: a constraint that depends on other variables cannot be checked alone",
            fix="ask the distribution for its support",
        )


def is_dependent(constraint: Any) -> bool:
    """Whether *constraint* depends on other variables."""
    return isinstance(constraint, _Dependent)


class _DependentProperty(property, _Dependent):
    """A property that gives a constraint; of the class, it is a constraint itself, of which some things are known."""

    def __init__(
        self,
        fn: Callable[[Any], Any] | None = None,
        *,
        is_discrete: Any = NotImplemented,
        event_dim: Any = NotImplemented,
    ) -> None:
        property.__init__(self, fn)
        self._is_discrete, self._event_dim = is_discrete, event_dim

    def __call__(self, fn: Any = None, **known: Any) -> Any:
        return _DependentProperty(fn, is_discrete=self._is_discrete, event_dim=self._event_dim)


@overload
def dependent_property(fn: Callable[[Any], Any]) -> Any: ...
@overload
def dependent_property(*, is_discrete: bool = ..., event_dim: int = ...) -> Callable[[Callable[[Any], Any]], Any]: ...
def dependent_property(fn: Callable[[Any], Any] | None = None, **known: Any) -> Any:
    """Decorates a method that gives a constraint which depends on the instance: ``@dependent_property`` or
    ``@dependent_property(is_discrete=False, event_dim=0)``.
    """
    return _DependentProperty(fn, **known)


class _OfBase(Constraint):
    def __init__(self, base_constraint: Constraint) -> None:
        check_type(type(self).__name__, "base_constraint", base_constraint, Constraint, "a Constraint", ConditionError)
        self.base_constraint = base_constraint

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return self.base_constraint.is_discrete

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim

    def _enough(self, value: Tensor) -> None:
        check_dims("check", "value", value, range(self.event_dim, 65), "add dimensions: an event has that number")


class _IndependentConstraint(_OfBase):
    """*base_constraint* for all elements along *reinterpreted_batch_ndims* more dimensions."""

    def __init__(self, base_constraint: Constraint, reinterpreted_batch_ndims: int) -> None:
        super().__init__(base_constraint)
        if not isinstance(reinterpreted_batch_ndims, int) or reinterpreted_batch_ndims < 0:
            raise ConditionError(
                f"independent: reinterpreted_batch_ndims is {reinterpreted_batch_ndims!r}, not an int of 0 or more",
                fix="pass a number of dimensions",
            )
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return self.base_constraint.event_dim + self.reinterpreted_batch_ndims

    def check(self, value: Tensor) -> Tensor:
        self._enough(value)
        result = self.base_constraint.check(value)
        dims = self.reinterpreted_batch_ndims
        return result.reshape(*result.shape[: result.ndim - dims], -1).all(-1)

    def __repr__(self) -> str:
        return f"IndependentConstraint({self.base_constraint!r}, {self.reinterpreted_batch_ndims})"


class MixtureSameFamilyConstraint(_OfBase):
    """The support of a mixture, of which *base_constraint* is that of the components: it holds for all of them."""

    def check(self, value: Tensor) -> Tensor:
        self._enough(value)
        result = self.base_constraint.check(value.unsqueeze(-1 - self.event_dim))
        return result.reshape(*result.shape[: value.ndim - self.event_dim], -1).all(-1)

    def __repr__(self) -> str:
        return f"MixtureSameFamilyConstraint({self.base_constraint!r})"


class _Boolean(Constraint):
    is_discrete = True

    def check(self, value: Tensor) -> Tensor:
        return (value == 0) | (value == 1)


class _OneHot(Constraint):
    is_discrete = True
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return ((value == 0) | (value == 1)).all(-1) & (value.sum(-1) == 1)


class _Real(Constraint):
    def check(self, value: Tensor) -> Tensor:
        return value == value


class _Bounded(Constraint):
    """A constraint with bounds, numbers or tensors, in the order of the arguments."""

    lower_bound: Any
    upper_bound: Any

    def __init__(self, *args: Any, **named: Any) -> None:
        given = dict(zip(self.bounds, args, strict=False)) | named
        if len(args) + len(named) != len(self.bounds) or set(given) != set(self.bounds):
            takes = ", ".join(self.bounds)
            raise ArgumentTypeError(
                f"{type(self).__name__.removeprefix('_')}: it takes {takes}", fix=f"pass {takes}, numbers or tensors"
            )
        self.__dict__.update(given)


class _IntegerInterval(_Bounded):
    is_discrete = True
    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound) & (value <= self.upper_bound)


class _IntegerGreaterThan(_Bounded):
    is_discrete = True
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        return (value % 1 == 0) & (value >= self.lower_bound)


class _GreaterThan(_Bounded):
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        return value > self.lower_bound


class _GreaterThanEq(_Bounded):
    bounds = ("lower_bound",)

    def check(self, value: Tensor) -> Tensor:
        return value >= self.lower_bound


class _LessThan(_Bounded):
    bounds = ("upper_bound",)

    def check(self, value: Tensor) -> Tensor:
        return value < self.upper_bound


class _Interval(_Bounded):
    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value <= self.upper_bound)


class _HalfOpenInterval(_Bounded):
    bounds = ("lower_bound", "upper_bound")

    def check(self, value: Tensor) -> Tensor:
        return (value >= self.lower_bound) & (value < self.upper_bound)


class _Simplex(Constraint):
    event_dim = 1

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & ((value.sum(-1) - 1).abs() < 1e-6)


class _Multinomial(Constraint):
    is_discrete = True
    event_dim = 1

    def __init__(self, upper_bound: int) -> None:
        self.upper_bound = upper_bound

    def check(self, value: Tensor) -> Tensor:
        return (value >= 0).all(-1) & (value.sum(-1) <= self.upper_bound)


class _LowerTriangular(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        return (value.tril() == value).all(-1).all(-1)


class _LowerCholesky(_LowerTriangular):
    def check(self, value: Tensor) -> Tensor:
        return super().check(value) & (value.diagonal(dim1=-2, dim2=-1) > 0).all(-1)


class _CorrCholesky(_LowerCholesky):
    def check(self, value: Tensor) -> Tensor:
        tolerance = finfo(value.dtype).eps * value.shape[-1] * 10
        norms: Tensor = linalg.norm(value.detach(), dim=-1)
        return super().check(value) & ((norms - 1).abs() <= tolerance).all(-1)


class _Square(Constraint):
    event_dim = 2

    def check(self, value: Tensor) -> Tensor:
        square = value.shape[-2] == value.shape[-1]
        return F.full(value.shape[:-2], square, dtype=bool_, device=value.device)


class _Symmetric(_Square):
    def check(self, value: Tensor) -> Tensor:
        if value.shape[-2] != value.shape[-1]:
            return super().check(value)
        return F.isclose(value, value.mT, atol=1e-6).all(-2).all(-1)


class _PositiveSemidefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        values: Tensor = linalg.eigvalsh(value)
        return (values >= 0).all(-1)


class _PositiveDefinite(_Symmetric):
    def check(self, value: Tensor) -> Tensor:
        symmetric = super().check(value)
        if not symmetric.all():
            return symmetric
        failed: Tensor = linalg.cholesky_ex(value).info
        return failed == 0


class _Sequence(Constraint):
    def __init__(self, cseq: Sequence[Constraint], dim: int = 0) -> None:
        self.cseq, self.dim = list(cseq), dim
        if not all(isinstance(c, Constraint) for c in self.cseq):
            raise ConditionError("cat and stack: not all parts are Constraints", fix="pass a list of Constraints")

    @property
    def is_discrete(self) -> bool:  # type: ignore[override]
        return any(c.is_discrete for c in self.cseq)

    def _check_dim(self, value: Tensor) -> None:
        check_within("check", "dim", self.dim, -value.ndim, value.ndim, ConditionError, "a dimension of value")


class _Cat(_Sequence):
    """Constraints of neighbouring parts along a dimension, of the given *lengths*."""

    def __init__(self, cseq: Sequence[Constraint], dim: int = 0, lengths: Sequence[int] | None = None) -> None:
        super().__init__(cseq, dim)
        self.lengths = [1] * len(self.cseq) if lengths is None else list(lengths)
        check_length("cat", "lengths", self.lengths, len(self.cseq), "lengths, one for each constraint", ConditionError)

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        return max(c.event_dim for c in self.cseq)

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        parts = value.split(self.lengths, self.dim)
        return F.cat([c.check(part) for c, part in zip(self.cseq, parts, strict=True)], self.dim)


class _Stack(_Sequence):
    """A constraint for each position along a dimension."""

    @property
    def event_dim(self) -> int:  # type: ignore[override]
        dim = max(c.event_dim for c in self.cseq)
        return dim + 1 if self.dim + dim < 0 else dim

    def check(self, value: Tensor) -> Tensor:
        self._check_dim(value)
        parts = value.unbind(self.dim)
        return F.stack([c.check(part) for c, part in zip(self.cseq, parts, strict=False)], self.dim)


dependent = _Dependent()
independent = _IndependentConstraint
boolean = _Boolean()
one_hot = _OneHot()
nonnegative_integer = _IntegerGreaterThan(0)
positive_integer = _IntegerGreaterThan(1)
integer_interval = _IntegerInterval
real = _Real()
real_vector = independent(real, 1)
positive = _GreaterThan(0.0)
nonnegative = _GreaterThanEq(0.0)
greater_than = _GreaterThan
greater_than_eq = _GreaterThanEq
less_than = _LessThan
multinomial = _Multinomial
unit_interval = _Interval(0.0, 1.0)
interval = _Interval
half_open_interval = _HalfOpenInterval
simplex = _Simplex()
lower_triangular = _LowerTriangular()
lower_cholesky = _LowerCholesky()
corr_cholesky = _CorrCholesky()
square = _Square()
symmetric = _Symmetric()
positive_semidefinite = _PositiveSemidefinite()
positive_definite = _PositiveDefinite()
cat = _Cat
stack = _Stack


explain(globals())
