"""From a constraint to a transform that leads into it, from all real numbers.

`biject_to` gives one with an inverse, for changes of variables; `transform_to` one that is good to optimise through,
which need not have one. To add a row, write it in the tables below; users call ``biject_to.register``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..arguments import explain
from . import constraints, transforms
from .constraints import Constraint
from .transform import Transform

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]

Factory = Callable[[Any], Transform]


class ConstraintRegistry:
    """A table from classes of constraints to functions that give a transform.

    >>> from polyad.distributions import biject_to, constraints
    >>> biject_to(constraints.unit_interval)
    SigmoidTransform()
    """

    def __init__(self) -> None:
        self._registry: dict[type[Constraint], Factory] = {}

    def register(self, constraint: Any, factory: Factory | None = None) -> Any:
        """Have *factory* give the transforms for the class of *constraint*; without it, decorates one. Raises TypeError
        for what is no constraint.
        """
        if factory is None:
            return lambda factory: self.register(constraint, factory)
        kind = type(constraint) if isinstance(constraint, Constraint) else constraint
        if not (isinstance(kind, type) and issubclass(kind, Constraint)):
            raise TypeError(f"register: {constraint!r} is no Constraint, neither a class of them")
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Constraint) -> Transform:
        """A transform to *constraint*. Raises NotImplementedError if none is known."""
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(f"no transform to {constraint!r} is known; register one for its class")
        return factory(constraint)


biject_to, transform_to = ConstraintRegistry(), ConstraintRegistry()


def _to_interval(constraint: Any) -> Transform:
    low, high = constraint.lower_bound, constraint.upper_bound
    if isinstance(low, int | float) and isinstance(high, int | float) and (low, high) == (0, 1):
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low)])


def _exp_then(loc: Any, scale: int) -> Transform:
    return transforms.ComposeTransform([transforms.ExpTransform(), transforms.AffineTransform(loc, scale)])


_BOTH: dict[Any, Factory] = {
    constraints.real: lambda c: transforms.identity_transform,
    constraints.greater_than: lambda c: _exp_then(c.lower_bound, 1),
    constraints.greater_than_eq: lambda c: _exp_then(c.lower_bound, 1),
    constraints.less_than: lambda c: _exp_then(c.upper_bound, -1),
    constraints.interval: _to_interval,
    constraints.half_open_interval: _to_interval,
    constraints.corr_cholesky: lambda c: transforms.CorrCholeskyTransform(),
}
_ONLY_BIJECT: dict[Any, Factory] = {constraints.simplex: lambda c: transforms.StickBreakingTransform()}
_ONLY_TRANSFORM: dict[Any, Factory] = {
    constraints.simplex: lambda c: transforms.SoftmaxTransform(),
    constraints.lower_cholesky: lambda c: transforms.LowerCholeskyTransform(),
    constraints.positive_definite: lambda c: transforms.PositiveDefiniteTransform(),
    constraints.positive_semidefinite: lambda c: transforms.PositiveDefiniteTransform(),
}


def _of_parts(registry: ConstraintRegistry) -> dict[Any, Factory]:
    """The constraints made of others."""
    return {
        constraints.independent: lambda c: transforms.IndependentTransform(
            registry(c.base_constraint), c.reinterpreted_batch_ndims
        ),
        constraints.cat: lambda c: transforms.CatTransform([registry(p) for p in c.cseq], c.dim, c.lengths),
        constraints.stack: lambda c: transforms.StackTransform([registry(p) for p in c.cseq], c.dim),
    }


for _registry, _rows in ((biject_to, _ONLY_BIJECT), (transform_to, _ONLY_TRANSFORM)):
    for _constraint, _factory in {**_BOTH, **_rows, **_of_parts(_registry)}.items():
        _registry.register(_constraint, _factory)


explain(globals())
