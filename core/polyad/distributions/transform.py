"""A transform of random variables: a function, its inverse, and the logarithm of its Jacobian's determinant.

A transform of ``cache_size`` 1 remembers its last pair of value and result, so that the inverse of a result just
computed costs nothing and is exact.

To add a transform, derive a class in transforms.py, or in transform_sequences.py if it is made of others, that defines
`_call`, `_inverse` and `log_abs_det_jacobian`, says its domain and codomain, and names the arguments of its constructor
in ``arguments``: `with_cache` and equality follow from these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..arguments import Explained, check_choice
from ..base.shapes_and_strides import Size
from ..errors import ArgumentError
from ..tensor import Tensor
from .constraints import dependent_property


class Transform(Explained):
    """A function of tensors with a known change of volume.

    Args:
        cache_size: 0, or 1 to remember the last value with its result. Raises ValueError for others.

    Attributes:
        domain, codomain: the constraints of values and of results.
        bijective: whether ``t.inv(t(x))`` is x, and ``t(t.inv(y))`` is y.
        sign: 1 if the function rises, -1 if it falls.
        arguments: the attributes that hold the constructor's arguments.
        equal_by_arguments: whether two of the same arguments are equal; otherwise each equals only itself.
    """

    bijective: bool = False
    domain: Any
    codomain: Any
    arguments: tuple[str, ...] = ()
    equal_by_arguments: bool = False

    def __init__(self, cache_size: int = 0) -> None:
        check_choice(type(self).__name__, "cache_size", cache_size, (0, 1))
        self._cache_size = cache_size
        self._inv: Transform | None = None
        self._cached_x_y: tuple[Any, Any] = (None, None)
        super().__init__()  # of a class beside it: transforms may be modules

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_inv": None, "_cached_x_y": (None, None)}

    @property
    def event_dim(self) -> int:
        """The number of dimensions of an event, if the transform does not change it."""
        if self.domain.event_dim != self.codomain.event_dim:
            raise ArgumentError(
                f"{type(self).__name__}: events have {self.domain.event_dim} dimensions before, "
                f"{self.codomain.event_dim} after",
                fix="ask for domain.event_dim or codomain.event_dim",
            )
        return self.domain.event_dim

    @property
    def inv(self) -> Transform:
        """The inverse transform; its inverse is this one."""
        if self._inv is None:
            self._inv = _InverseTransform(self)
        return self._inv

    @property
    def sign(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} neither rises nor falls")

    def with_cache(self, cache_size: int = 1) -> Transform:
        """The same transform with a cache of that size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__ or self.arguments:
            make: Any = type(self)
            return make(*(getattr(self, name) for name in self.arguments), cache_size=cache_size)
        raise NotImplementedError(f"{type(self).__name__} does not define with_cache")

    def __eq__(self, other: object) -> bool:
        if not self.equal_by_arguments:
            return self is other
        return type(self) is type(other) and all(
            same(getattr(self, name), getattr(other, name)) for name in self.arguments
        )

    __hash__ = None  # type: ignore[assignment]

    def __call__(self, x: Tensor) -> Tensor:
        if self._cache_size and x is self._cached_x_y[0]:
            return self._cached_x_y[1]
        y = self._call(x)
        if self._cache_size:
            self._cached_x_y = (x, y)
        return y

    def _inv_call(self, y: Tensor) -> Tensor:
        if self._cache_size and y is self._cached_x_y[1]:
            return self._cached_x_y[0]
        x = self._inverse(y)
        if self._cache_size:
            self._cached_x_y = (x, y)
        return x

    def _call(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def _inverse(self, y: Tensor) -> Tensor:
        raise NotImplementedError

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        """``log |dy/dx|``, one number for each event."""
        raise NotImplementedError

    def forward_shape(self, shape: Sequence[int]) -> Size:
        """The shape of the result for a value of *shape*."""
        return Size(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        """The shape of the value for a result of *shape*."""
        return Size(shape)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def same(a: Any, b: Any) -> bool:
    """Whether two arguments, numbers or tensors, are equal."""
    if isinstance(a, Tensor) or isinstance(b, Tensor):
        return bool((a == b).all())
    return bool(a == b)


def at_least(kind: Transform, shape: Sequence[int], dims: int) -> None:
    """Raise ValueError unless *shape* has an event's dimensions."""
    if len(shape) < dims:
        raise ArgumentError(
            f"{type(kind).__name__}: an event has {dims} dimensions, the value {tuple(shape)} has {len(shape)}",
            fix="add dimensions",
        )


class _InverseTransform(Transform):
    _inv: Transform

    def __init__(self, transform: Transform) -> None:
        super().__init__(transform._cache_size)
        self._inv = transform

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__

    @dependent_property(is_discrete=False)
    def domain(self) -> Any:
        return self._inv.codomain

    @dependent_property(is_discrete=False)
    def codomain(self) -> Any:
        return self._inv.domain

    @property
    def bijective(self) -> bool:  # type: ignore[override]
        return self._inv.bijective

    @property
    def sign(self) -> Any:
        return self._inv.sign

    @property
    def inv(self) -> Transform:
        return self._inv

    def with_cache(self, cache_size: int = 1) -> Transform:
        return self._inv.with_cache(cache_size).inv

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    def __call__(self, x: Tensor) -> Tensor:
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x: Tensor, y: Tensor) -> Tensor:
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape: Sequence[int]) -> Size:
        return self._inv.forward_shape(shape)

    def __repr__(self) -> str:
        return f"_InverseTransform({self._inv!r})"
