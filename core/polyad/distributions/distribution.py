"""The base of the distributions: shapes, checks of arguments, expanding, sampling.

A distribution says as data what its parameters are: ``arg_constraints`` names them with what they must satisfy, and
``parts`` names the distributions that it is made of. Checking, `expand` and `repr` follow from that.

To add a distribution: a module of its name with the class, its name in `polyad/distributions/__init__.py`, its pairs in
kl.py or kl_pairs.py, and a row in the table of tests/unit/distributions/cases.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import functions as F
from ..arguments import Explained, check_type
from ..base.shapes_and_strides import Size
from ..base.state import state, warn_user
from ..errors import ArgumentError, ShapeError
from ..history.grad_mode import no_grad
from ..ops.reductions.any_all import anywhere
from ..tensor import Tensor
from . import constraints
from .utils import broadcast_all, is_lazy

if TYPE_CHECKING:
    from .constraints import Constraint

__all__ = ["Distribution"]

D = TypeVar("D", bound="Distribution")


class Distribution(Explained):
    """A probability distribution over events of ``event_shape``, a batch of ``batch_shape`` of them.

    Args:
        batch_shape: the shape of the parameters; each element is a distribution of its own.
        event_shape: the shape of one sample.
        validate_args: whether parameters and values are checked; the class's default is True, unless Python runs with
            -O. A check reads the tensor.

    Attributes:
        has_rsample: whether samples have gradients with respect to parameters.
        has_enumerate_support: whether the support can be listed.
        parts: the attributes that are distributions, with the attribute that says their shape beyond batch_shape.
    """

    has_rsample: bool = False
    has_enumerate_support: bool = False
    parts: tuple[str, ...] = ()
    _validate_args: bool = __debug__

    @staticmethod
    def set_default_validate_args(value: bool) -> None:
        """Whether distributions check their arguments unless they are told. Raises ValueError for what is no bool."""
        if value not in (True, False):
            raise ArgumentError(f"set_default_validate_args: {value!r} is no bool", fix="pass True or False")
        Distribution._validate_args = value

    def __init__(
        self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = (), validate_args: bool | None = None
    ) -> None:
        self._batch_shape, self._event_shape = Size(batch_shape), Size(event_shape)
        if validate_args is not None:
            self._validate_args = validate_args
        if self._validate_args:
            self._validate_parameters()
        super().__init__()  # of a class beside it

    def _parametrize(self, validate_args: bool | None, **params: Any) -> None:
        """Broadcast the parameters against each other, keep them, and check them."""
        tensors = broadcast_all(*params.values())
        self.__dict__.update(zip(params, tensors, strict=True))
        Distribution.__init__(self, tensors[0].shape, validate_args=validate_args)

    # ----------------------------------------------------------------------------------------------- checks

    def _validate_parameters(self) -> None:
        try:
            wanted = self.arg_constraints
        except NotImplementedError:
            warn_user(
                f"{type(self).__name__}: no arg_constraints, so parameters are not checked; set arg_constraints = {{}} "
                "or pass validate_args=False",
                UserWarning,
            )
            return
        for name, constraint in wanted.items():
            if constraints.is_dependent(constraint):
                continue
            if name not in self.__dict__ and is_lazy(getattr(type(self), name)):
                continue
            self._check(name, getattr(self, name), constraint, "parameter")

    def _check(self, name: str, value: Tensor, constraint: Constraint, role: str) -> None:
        valid = constraint.check(value)
        if anywhere(~valid):
            notes = {} if state.modes else {"found": _found(name, value, valid)}
            raise ArgumentError(
                f"{type(self).__name__}: {role} {name} must satisfy {_shown(constraint)}",
                operands={name: value},
                notes=notes,
                fix=f"pass a {name} that does" + ("" if role == "parameter" else ", or validate_args=False"),
            )

    def _validate_sample(self, value: Tensor) -> None:
        """Raise ValueError unless *value* broadcasts with samples and lies in the support."""
        kind = type(self).__name__
        check_type(kind, "value", value, Tensor, "a Tensor", ArgumentError)
        shape, batch, event = tuple(value.shape), tuple(self.batch_shape), tuple(self.event_shape)
        if shape[max(len(shape) - len(event), 0) :] != event:
            raise ArgumentError(
                f"{kind}: value {shape} does not end in event_shape {event}",
                operands={"value": value},
                fix="reshape it",
            )
        for given, expected in zip(reversed(shape), reversed(batch + event), strict=False):
            if given != expected and 1 not in (given, expected):
                raise ArgumentError(
                    f"{kind}: value {shape} does not broadcast with batch_shape {batch} and event_shape {event}",
                    operands={"value": value},
                    fix="give value the batch's dimensions last",
                )
        try:
            support = self.support
        except NotImplementedError:
            warn_user(
                f"{kind}: no support, so values are not checked; define support or pass validate_args=False",
                UserWarning,
            )
            return
        self._check("value", value, support, "the argument")

    # ----------------------------------------------------------------------------------------------- shapes

    @property
    def batch_shape(self) -> Size:
        """The shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> Size:
        """The shape of one sample."""
        return self._event_shape

    def _extended_shape(self, sample_shape: Sequence[int] = ()) -> Size:
        shape = Size((*sample_shape, *self._batch_shape, *self._event_shape))
        if any(size < 0 for size in shape):
            raise ShapeError(
                f"{type(self).__name__}: sample_shape has a negative size",
                operands={"sample_shape": sample_shape},
                fix="pass sizes of at least 0",
            )
        return shape

    def _get_checked_instance(self, cls: type, _instance: Any = None) -> Any:
        if _instance is not None:
            return check_type(f"{type(self).__name__}.expand", "_instance", _instance, Distribution, "a Distribution")
        if type(self).__init__ is not cls.__init__:  # type: ignore[misc]
            raise NotImplementedError(
                f"{type(self).__name__} has an __init__ of its own and must define expand, too: {cls.__name__}'s would "
                "not know its attributes"
            )
        return type(self).__new__(type(self))

    def _new_instance(self, _instance: Any = None) -> Any:
        """An instance without attributes, unless a subclass outside the package has an __init__ that would set some."""
        owners = (c for c in type(self).__mro__ if c.__module__.startswith(__package__) and "__init__" in vars(c))
        return self._get_checked_instance(next(owners), _instance)

    def expand(self: D, batch_shape: Sequence[int], _instance: Distribution | None = None) -> D:
        """The distribution with parameters expanded to *batch_shape*; no memory is copied.

        >>> import polyad as torch
        >>> torch.distributions.Normal(0.0, 1.0).expand((2, 3)).batch_shape
        polyad.Size([2, 3])
        """
        new = self._new_instance(_instance)
        batch_shape = Size(batch_shape)
        for name, value in self.__dict__.items():
            if name in new.__dict__:
                continue  # a subclass has expanded it
            if name in self.parts:
                inner = tuple(value.batch_shape[len(self._batch_shape) :])
                new.__dict__[name] = value.expand((*batch_shape, *inner))
            elif name in self.arg_constraints and isinstance(value, Tensor):
                inner = tuple(value.shape[value.ndim - self.arg_constraints[name].event_dim :])
                new.__dict__[name] = value.expand((*batch_shape, *inner))
            elif not is_lazy(getattr(type(self), name, None)):
                new.__dict__[name] = value
        new._batch_shape = batch_shape
        new._validate_args = self._validate_args
        return new

    # ---------------------------------------------------------------------------------------- what subclasses say

    @property
    def arg_constraints(self) -> Mapping[str, Constraint]:
        """What each parameter must satisfy."""
        raise NotImplementedError

    @property
    def support(self) -> Constraint:
        """What each sample satisfies."""
        raise NotImplementedError

    @property
    def mean(self) -> Tensor:
        """The mean, of shape batch_shape + event_shape."""
        raise NotImplementedError

    @property
    def mode(self) -> Tensor:
        """The value with the largest density."""
        raise NotImplementedError(f"{type(self).__name__} has no mode")

    @property
    def variance(self) -> Tensor:
        """The variance of each element."""
        raise NotImplementedError

    @property
    def stddev(self) -> Tensor:
        """The square root of the variance."""
        return self.variance.sqrt()

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples of shape ``sample_shape + batch_shape + event_shape``, without history."""
        with no_grad():
            return self.rsample(sample_shape)

    def rsample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Samples that are differentiable with respect to the parameters."""
        raise NotImplementedError

    def sample_n(self, n: int) -> Tensor:
        """``sample((n,))``, as it was once written."""
        warn_user("sample_n(n) is deprecated; write sample((n,))", FutureWarning)
        return self.sample((n,))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density or the probability of *value*, of its shape without events."""
        raise NotImplementedError

    def cdf(self, value: Tensor) -> Tensor:
        """The probability of a sample of at most *value*."""
        raise NotImplementedError

    def icdf(self, value: Tensor) -> Tensor:
        """The number that a sample does not exceed with probability *value*."""
        raise NotImplementedError

    def enumerate_support(self, expand: bool = True) -> Tensor:
        """All values of a discrete distribution, along a new first dimension, for each of the batch if *expand*."""
        raise NotImplementedError

    def entropy(self) -> Tensor:
        """The entropy, of shape batch_shape."""
        raise NotImplementedError

    def perplexity(self) -> Tensor:
        """``exp(entropy())``."""
        return F.exp(self.entropy())

    def _full(self, value: float, like: Tensor) -> Tensor:
        return F.full(self._extended_shape(), value, dtype=like.dtype, device=like.device)

    def _along_batch(self, values: Tensor, expand: bool) -> Tensor:
        """*values* (K,) as (K, 1, ..., 1), or (K, *batch_shape) with *expand*."""
        values = values.reshape(-1, *[1] * len(self._batch_shape))
        return values.expand(-1, *self._batch_shape) if expand else values

    def __repr__(self) -> str:
        shown = [(name, self.__dict__[name]) for name in self.arg_constraints if name in self.__dict__]
        return (
            type(self).__name__
            + "("
            + ", ".join(f"{name}: {value if value.numel() == 1 else value.size()}" for name, value in shown)
            + ")"
        )


def _shown(constraint: Constraint) -> str:
    text = " ".join(repr(constraint).split())
    return text if len(text) <= 100 else text[:97] + "..."


def _found(name: str, value: Tensor, valid: Tensor) -> str:
    """The first event that is not valid, with its place."""
    place = (~valid).nonzero()[0].tolist()
    at = [
        i if size > 1 else 0 for i, size in zip(place[-value.ndim :] if value.ndim else [], value.shape, strict=False)
    ]
    event = value.detach()[tuple(at)]
    where = f"{name}[{', '.join(map(str, at))}]" if at else name
    text = f"{event.tolist()}"
    return f"{where} = {text if len(text) < 80 else text[:77] + '...'}"
