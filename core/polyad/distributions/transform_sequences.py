"""Transforms made of transforms: one after the other, side by side, over more dimensions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

from .. import functions as F
from ..arguments import check_dims, check_length
from ..base.shapes_and_strides import Size
from ..errors import ConditionError
from ..tensor import Tensor
from . import constraints
from .constraints import dependent_property
from .transform import Transform
from .utils import lazy_property, sum_rightmost


class ComposeTransform(Transform):
    """The transforms *parts*, one after the other.

    >>> import polyad as torch
    >>> from polyad.distributions import AffineTransform, ComposeTransform, ExpTransform
    >>> ComposeTransform([AffineTransform(0.0, 2.0), ExpTransform()])(torch.tensor(0.0))
    tensor(1.)
    """

    arguments = ("parts",)
    equal_by_arguments = True

    def __init__(self, parts: list[Transform], cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.parts = [part.with_cache(cache_size) for part in parts] if cache_size else parts

    def _constraint(self, first: Any, others: list[tuple[int, int]]) -> Any:
        """*first* with as many event dimensions as the others, pairs (wanted, given), need."""
        dims = others[0][1]
        for wanted, given in others:
            dims = max(dims + wanted - given, wanted)
        missing = dims - first.event_dim
        return constraints.independent(first, missing) if missing else first

    @dependent_property(is_discrete=False)
    def domain(self) -> Any:
        if not self.parts:
            return constraints.real
        dims = [(p.domain.event_dim, p.codomain.event_dim) for p in reversed(self.parts)]
        return self._constraint(self.parts[0].domain, dims)

    @dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        if not self.parts:
            return constraints.real
        dims = [(p.codomain.event_dim, p.domain.event_dim) for p in self.parts]
        return self._constraint(self.parts[-1].codomain, dims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(p.bijective for p in self.parts)

    @property
    def sign(self) -> Any:
        return math.prod(p.sign for p in self.parts)

    @property
    def inv(self) -> Transform:
        if self._inv is None:
            self._inv = ComposeTransform([p.inv for p in reversed(self.parts)])
            self._inv._inv = self
        return self._inv

    def __call__(self, x: Tensor) -> Tensor:
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        if not self.parts:
            return F.zeros_like(x)
        terms, dims = [], self.domain.event_dim
        for place, part in enumerate(self.parts, 1):
            out = y if place == len(self.parts) else part(x)
            terms.append(sum_rightmost(part.log_abs_det_jacobian(x, out), dims - part.domain.event_dim))
            dims += part.codomain.event_dim - part.domain.event_dim
            x = out
        return reduce(add, terms)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        for part in self.parts:
            shape = part.forward_shape(shape)
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(\n    " + ",\n    ".join(map(repr, self.parts)) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """*base_transform* with *reinterpreted_batch_ndims* more dimensions as part of the event: the logarithm of the
    determinant is summed over them.

    >>> import polyad as torch
    >>> from polyad.distributions import ExpTransform, IndependentTransform
    >>> IndependentTransform(ExpTransform(), 1).log_abs_det_jacobian(torch.ones(3), torch.ones(3))
    tensor(3.)
    """

    arguments = ("base_transform", "reinterpreted_batch_ndims")

    def __init__(self, base_transform: Transform, reinterpreted_batch_ndims: int, cache_size: int = 0) -> None:
        super().__init__(cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self.base_transform.bijective

    @property
    def sign(self) -> Any:
        return self.base_transform.sign

    def _enough(self, value: Tensor, dims: int) -> None:
        check_dims("IndependentTransform", "value", value, range(dims, 65), "add dimensions")

    def _call(self, x: Tensor) -> Tensor:
        self._enough(x, self.domain.event_dim)
        return self.base_transform(x)

    def _inverse(self, y: Tensor) -> Tensor:
        self._enough(y, self.codomain.event_dim)
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self.base_transform.inverse_shape(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"


class _SideBySide(Transform):
    """Transforms of parts along dimension *dim*."""

    transforms: list[Transform]
    dim: int

    def _keep(self, tseq: Sequence[Transform], dim: int, cache_size: int) -> None:
        if not all(isinstance(t, Transform) for t in tseq):
            raise ConditionError(
                f"{type(self).__name__}: not all elements of tseq are Transforms", fix="pass a list of transforms"
            )
        Transform.__init__(self, cache_size)
        self.transforms = [t.with_cache(cache_size) for t in tseq] if cache_size else list(tseq)
        self.dim = dim

    def _split(self, value: Tensor) -> tuple[Tensor, ...]:
        raise NotImplementedError

    def _joined(self, parts: list[Tensor]) -> Tensor:
        raise NotImplementedError

    def _parts(self, value: Tensor, count: int) -> tuple[Tensor, ...]:
        if not -value.ndim <= self.dim < value.ndim or value.shape[self.dim] != count:
            raise ConditionError(
                f"{type(self).__name__}: dimension {self.dim} of the value must have {count} elements",
                operands={"value": value},
                fix="pass a value with an element for each transform",
            )
        return self._split(value)

    @property
    def _count(self) -> int:
        return len(self.transforms)

    def _each(self, value: Tensor, function: Callable[[Transform, Tensor], Tensor]) -> Tensor:
        parts = self._parts(value, self._count)
        return self._joined([function(t, part) for t, part in zip(self.transforms, parts, strict=True)])

    def _call(self, x: Tensor) -> Tensor:
        return self._each(x, lambda t, part: t(part))

    def _inverse(self, y: Tensor) -> Tensor:
        return self._each(y, lambda t, part: t.inv(part))

    def _log_dets(self, x: Tensor, y: Tensor) -> list[Tensor]:
        parts = zip(self.transforms, self._parts(x, self._count), self._parts(y, self._count), strict=True)
        return [t.log_abs_det_jacobian(a, b) for t, a, b in parts]

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return all(t.bijective for t in self.transforms)


class CatTransform(_SideBySide):
    """Each of *tseq* for a part along *dim*, of the *lengths* given, 1 by default.

    >>> import polyad as torch
    >>> from polyad.distributions import AbsTransform, CatTransform, ExpTransform
    >>> CatTransform([AbsTransform(), ExpTransform()], lengths=[2, 1])(torch.tensor([-1.0, 2.0, 0.0]))
    tensor([1., 2., 1.])
    """

    arguments = ("transforms", "dim", "lengths")

    def __init__(
        self, tseq: Sequence[Transform], dim: int = 0, lengths: Sequence[int] | None = None, cache_size: int = 0
    ) -> None:
        self._keep(tseq, dim, cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        check_length(
            "CatTransform",
            "lengths",
            self.lengths,
            len(self.transforms),
            "lengths, one for each transform",
            ConditionError,
        )

    @lazy_property
    def event_dim(self) -> Any:
        return max(t.event_dim for t in self.transforms)

    @property
    def length(self) -> int:
        return sum(self.lengths)

    @property
    def _count(self) -> int:
        return self.length

    def _split(self, value: Tensor) -> tuple[Tensor, ...]:
        return tuple(value.split(self.lengths, self.dim))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return F.cat(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        terms = [
            sum_rightmost(term, self.event_dim - t.event_dim)
            for t, term in zip(self.transforms, self._log_dets(x, y), strict=True)
        ]
        dim = self.dim - x.ndim if self.dim >= 0 else self.dim
        dim += self.event_dim
        return F.cat(terms, dim) if dim < 0 else reduce(add, terms)

    @dependent_property
    def domain(self) -> Any:
        return constraints.cat([t.domain for t in self.transforms], self.dim, self.lengths)

    @dependent_property
    def codomain(self) -> Any:
        return constraints.cat([t.codomain for t in self.transforms], self.dim, self.lengths)


class StackTransform(_SideBySide):
    """Each of *tseq* for a position along *dim*.

    >>> import polyad as torch
    >>> from polyad.distributions import AbsTransform, ExpTransform, StackTransform
    >>> StackTransform([AbsTransform(), ExpTransform()], dim=1)(torch.tensor([[-1.0, 0.0], [2.0, 0.0]]))
    tensor([[1., 1.],
            [2., 1.]])
    """

    arguments = ("transforms", "dim")

    def __init__(self, tseq: Sequence[Transform], dim: int = 0, cache_size: int = 0) -> None:
        self._keep(tseq, dim, cache_size)

    def _split(self, value: Tensor) -> tuple[Tensor, ...]:
        return tuple(value.unbind(self.dim))

    def _joined(self, parts: list[Tensor]) -> Tensor:
        return F.stack(parts, self.dim)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return F.stack(self._log_dets(x, y), self.dim)

    @dependent_property
    def domain(self) -> Any:
        return constraints.stack([t.domain for t in self.transforms], self.dim)

    @dependent_property
    def codomain(self) -> Any:
        return constraints.stack([t.codomain for t in self.transforms], self.dim)
