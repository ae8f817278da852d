"""Tensors whose elements are not computed yet: what `polyad.compile` answers a call with that it has seen before.

Such a tensor is a plain Tensor. Three of its attributes stand for what is to come:

    _array    a `PendingArray`, which knows shape and strides; whatever else is asked of it computes the array first
    _type     a type of its own for each type, so that no plan of another call takes the array for one: dispatch finds
              no plan for it, computes the tensor, and calls again
    _node     a `PendingNode` where the tensor requires a gradient

Who reads a shape, a dtype or ``requires_grad`` computes nothing.
"""

from __future__ import annotations

import operator
import weakref
from typing import TYPE_CHECKING, Any, Protocol

from ..backend.interface import TensorType
from ..errors import KernelFailure

if TYPE_CHECKING:
    from .tensor import Tensor


class Work(Protocol):
    """What a pending array waits for."""

    def finish(self) -> None:
        """Compute all that is pending."""


class PendingArray:
    """Stands for an array that is not computed yet.

    Attributes:
        shape, strides: those that the array will have.
        work: what computes it.
        number: which of the work's tensors it is.
        tensor: a weak reference to the tensor that shows it.
        array: the array, once there is one.
    """

    __slots__ = ("__weakref__", "array", "number", "shape", "strides", "tensor", "work")

    tensor: weakref.ref[Tensor]

    def __init__(self, shape: tuple[int, ...], strides: tuple[int, ...], work: Work, number: int) -> None:
        self.shape, self.strides, self.work, self.number = shape, strides, work, number
        self.array: Any = None

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.shape)

    def settled(self) -> Any:
        """The array; computed if it was not. Raises RuntimeError if what computes it has failed."""
        if self.array is None:
            self.work.finish()
            if self.array is None:
                raise KernelFailure(
                    "compile: a tensor has no elements, since the work that computes it has failed",
                    fix="see the first error; polyad.compiler.set_stance('force_eager') runs the program op by op",
                )
        return self.array

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settled(), name)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        return self.settled().__array__(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self.settled()[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.settled()[key] = value

    def __len__(self) -> int:
        return self.shape[0]


def _delegate(name: str) -> None:
    def call(self: PendingArray, *args: Any) -> Any:
        return getattr(operator, name)(self.settled(), *args)

    setattr(PendingArray, f"__{name.rstrip('_')}__", call)


# Python looks these up in the class alone, and has answers of its own for some.
for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "matmul",
    "pow",
    "neg",
    "and_",
    "or_",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
):
    _delegate(_name)
PendingArray.__hash__ = object.__hash__  # type: ignore[method-assign]
PendingArray.__bool__ = lambda self: bool(self.settled())  # type: ignore[attr-defined]
PendingArray.__iter__ = lambda self: iter(self.settled())  # type: ignore[attr-defined]


_types: dict[TensorType, TensorType] = {}
_computed_types: dict[TensorType, TensorType] = {}


def pending_type(of: TensorType) -> TensorType:
    """The type of tensors that are to be of type *of*."""
    found = _types.get(of)
    if found is None:
        found = TensorType()
        found.dtype, found.device, found.zero_dim, found.backend = of.dtype, of.device, of.zero_dim, of.backend
        found.nd, found.zd = of.nd, of.zd
        _computed_types[found] = of
        found = _types.setdefault(of, found)
    return found


def real_type(of: TensorType) -> TensorType:
    """The type that a tensor of type *of* has once it is computed."""
    return _computed_types.get(of, of)


def is_pending_type(of: Any) -> bool:
    """Whether tensors of this type are not computed yet."""
    return of in _computed_types


def settle(tensor: Tensor) -> None:
    """Compute *tensor*, if it is pending."""
    array = tensor._array
    if array.__class__ is PendingArray:
        found = array.settled()
        if tensor._array is array:  # another tensor over the same memory, which the work does not know
            tensor._array, tensor._type = found, real_type(tensor._type)


def watched(array: PendingArray, tensor: Tensor) -> None:
    """Make *tensor* the one that shows *array*."""
    array.tensor = weakref.ref(tensor)
    tensor._array = array


def fulfil(tensor: Tensor, result: Tensor) -> None:
    """Make *tensor*, which was pending, what *result* is, down to the views that its memory knows."""
    tensor._array, tensor._type, tensor._node = result._array, result._type, result._node
    tensor._storage, tensor._view = result._storage, result._view
    if tensor._grad is None:
        tensor._grad = result._grad
    storage = tensor._storage
    if storage is not None and any(view() is result for view in storage.views):
        storage.track(tensor)
