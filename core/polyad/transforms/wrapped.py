"""Tensors of a transform level: a tensor whose memory is another tensor.

While a function runs under a transform such as `polyad.func.vmap`, it computes with `Wrapped` tensors. To the function
a wrapped tensor is like any other, with a shape, a dtype, views, versions, a history of its own. Behind it is
``_inner``, a tensor one level further out, on which the transform's rules work. The inner tensor has its own history,
that of the transforms outside: so each level records what it differentiates, and none sees another's nodes.

Invariants:

- ``_array`` of a wrapped tensor may be a `Handle`, which has the layout that the function sees and no memory. Whatever
  reaches for memory past the level gets an error and never a number.
- ``_storage`` and ``_view`` are of this level: they count the writes and know the views that the function took.
- Only the level whose tensor it is looks at ``_inner``, and it does so set aside (`polyad.dispatch.modes.outside`).

To wrap tensors for another transform, derive from `Wrapped` and write its methods; its level derives from
`polyad.transforms.levels.Level`.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..backend.interface import TensorType
from ..base.state import state
from ..dispatch.modes import Mode, outside
from ..dispatch.overriding import disabled
from ..errors import TransformError
from ..tensor import Tensor
from ..tensor.storage import ViewOf


class Transform(Mode):
    """A transform at work on one call of a function, as its tensors know it.

    Attributes:
        name: the transform, as users call it, for messages.
        function: the name of the transformed function, for messages.
        ended: whether the function has returned; its tensors are of no use from then on.
    """

    name = "transform"
    alters = True

    def __init__(self, function: str) -> None:
        self.function = function
        self.ended = False

    def end(self) -> None:
        """Say that the function has returned."""
        self.ended = True


class Handle:
    """What a wrapped tensor has for an array: shape and strides (in bytes), and an error for all who want more."""

    __slots__ = ("level", "ndim", "shape", "strides")

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], level: Transform) -> None:
        self.shape, self.strides, self.ndim, self.level = shape, strides, len(shape), level

    def __getattr__(self, name: str) -> NoReturn:
        raise escaped(self.level)

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise escaped(self.level)

    # Looked up on the class, so that __getattr__ does not catch them.
    __array__ = __array_ufunc__ = __array_function__ = __getitem__ = __iter__ = __len__ = __index__ = _refuse
    __float__ = __int__ = __bool__ = __dlpack__ = _refuse


def escaped(level: Transform) -> TransformError:
    """The error for a tensor of *level* that is used where the level does not work."""
    name = level.name
    if level.ended:
        return TransformError(
            f"{name}: a tensor that was made inside the transformed function is used after that has returned",
            notes={"function": level.function},
            fix="return it from the function",
        )
    return TransformError(
        f"{name}: a tensor of the transformed function is used where {name} does not see it",
        notes={"function": level.function},
        fix="compute with it in the function itself, in the thread that runs it",
    )


class Wrapped(Tensor):
    """A tensor of the transform level ``_level``, over ``_inner``."""

    __slots__ = ("_inner", "_level")

    __torch_function__ = disabled
    _is_wrapped = True

    _inner: Tensor
    _level: Transform
    _batched = False

    @classmethod
    def _over(cls, level: Transform, inner: Tensor, array: Any, type_: TensorType) -> Any:
        """A wrapped tensor of *level* with storage of its own and no history; subclasses have their own makers."""
        out = object.__new__(cls)
        out._array = array
        out._type = type_
        out._node = out._storage = out._grad = out._view = None
        out._inner = inner
        out._level = level
        return out

    def _like(self, inner: Tensor) -> Any:
        """A tensor of this tensor's level, without history, over another inner tensor."""
        raise TransformError(f"{self._level.name}: {type(self).__name__} has no _like", fix="define it")

    def _alias(self, cls: type[Tensor] | None = None) -> Tensor:
        """Another tensor over the same inner tensor, without history at this level."""
        storage = self._storage
        if storage is None:
            storage = self._make_storage()
        out: Tensor = self._like(self._inner)
        out._storage = storage
        out._view = None if self._view is None else ViewOf(None, self._view.offset)
        return out

    def _detached(self) -> Tensor:
        out: Wrapped = self._alias()  # type: ignore[assignment]
        with outside(self._level):
            out._inner = self._inner.detach()
        return out

    def _forget(self) -> Tensor:
        super()._forget()
        with outside(self._level):
            self._inner = self._inner.detach()
        return self

    def numpy(self, *, force: bool = False) -> Any:
        """What the level gives for a read of the data."""
        if not state.modes:
            raise escaped(self._level)
        return super().numpy(force=force)

    def _after_end(self) -> None:
        """Used after the level has ended: an error, unless there is something left of it."""
        raise escaped(self._level)

    def _bare(self) -> Tensor:
        """The same without history at this level, to compute with."""
        return self if self._node is None else self._like(self._inner)

    def _tracked(self) -> bool:
        """Whether a transform or a user outside will differentiate it: its inner tensor has a history."""
        inner = self._inner
        return inner._node is not None or (isinstance(inner, Wrapped) and inner._tracked())

    def _store(self, name: str, result: Tensor) -> None:
        """Write *result*, of this tensor's shape and dtype, into the inner tensor; *name* is the op that writes."""
        raise TransformError(f"{name}: {type(self).__name__} has no _store", fix="define it")

    def _store_number(self, name: str, value: Any) -> None:
        """Write a number into all elements of the inner tensor."""
        raise TransformError(f"{name}: {type(self).__name__} has no _store_number", fix="define it")

    def _copied(self) -> Tensor:
        """A copy in memory of its own, with this tensor's history at this level."""
        with outside(self._level):
            out: Tensor = self._like(self._inner.clone())
        out._node = self._node
        return out

    def _made_like(self, created: Tensor) -> Tensor:
        """*created*, which the function created in the pattern of this tensor, as a tensor that can hold its values."""
        return created

    def _copied_memory(self, memo: dict[int, Any]) -> Tensor:
        copy = self._copied()
        copy._node = None
        return copy

    def _show(self, view: Wrapped) -> None:
        """Take the place of *view*, a view of all of this tensor."""
        self._inner = view._inner


def check_own_memory(op: str, tensor: Tensor) -> None:
    """Raise RuntimeError, in the name of *op*, for a tensor that has no memory of its own to be replaced or resized."""
    if isinstance(tensor, Wrapped):
        raise TransformError(
            f"{op}: it cannot be done to a tensor of a transformed function",
            operands={"self": tensor},
            notes={"function": tensor._level.function},
            fix=f"do it outside of {tensor._level.name}, or make a new tensor",
        )


def innermost(tensor: Tensor) -> Tensor:
    """The tensor behind all levels, which has memory: to look at the numbers of all samples of a batch."""
    while isinstance(tensor, Wrapped):
        tensor = tensor._inner
    return tensor


def differs(tensor: Tensor) -> bool:
    """Whether *tensor* holds something of its own for each sample of a batch that a transform maps over."""
    while isinstance(tensor, Wrapped):
        if tensor._batched:
            return True
        tensor = tensor._inner
    return False


def tracked_outside(value: Any) -> bool:
    """Whether *value* is a wrapped tensor whose inner tensor has a history."""
    return isinstance(value, Wrapped) and value._tracked()
