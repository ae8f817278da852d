"""Functions that tensors call and modules above them bring: what is no op, and therefore in no catalogue.

Each is a `Slot` here, with what it does, and is filled by the package that owns the function. To add a function,
write its slot here and fill it there.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Generic, TypeVar

R = TypeVar("R")


class Slot(Generic[R]):
    """A place for one function; a call of it calls the function."""

    __slots__ = ("_function",)

    def __init__(self) -> None:
        self._function: Callable[..., R] | None = None

    def fill(self, function: Callable[..., R]) -> None:
        """Say which function it is."""
        self._function = function

    def fill_later(self, module: str, name: str) -> None:
        """Say where the function is: its module is imported by the first call."""

        def first(*args: Any, **kwargs: Any) -> R:
            function: Callable[..., R] = getattr(importlib.import_module(module), name)
            self._function = function
            return function(*args, **kwargs)

        self._function = first

    @property
    def filled(self) -> bool:
        """Whether somebody said which function it is."""
        return self._function is not None

    def __call__(self, *args: Any, **kwargs: Any) -> R:
        return self._function(*args, **kwargs)  # type: ignore[misc]


device_of_number: Slot[Any] = Slot()
"""``device_of_number(index)``: that device of the current accelerator."""

check_device_type: Slot[None] = Slot()
"""``check_device_type(name)``: raises unless an installed backend is called that."""

backward: Slot[None] = Slot()
"""`polyad.autograd.backward`: sends gradients from tensors through their histories."""

node_of_its_own: Slot[Any] = Slot()
"""The history of a tensor as a node at which nothing arrives but its own gradient; `polyad.dispatch.inplace` knows what
writes did to it."""

call_node: Slot[Any] = Slot()
"""``node(*gradients)``: what a node of a graph makes of the gradients of its results."""

to_numpy: Slot[Any] = Slot()
"""``Tensor.numpy(force)``."""

as_array: Slot[Any] = Slot()
"""``Tensor.__array__(dtype, copy)``."""

from_ufunc: Slot[Any] = Slot()
"""``Tensor.__array_wrap__(array)``: what a NumPy ufunc of tensors computed, as a tensor."""

lowered_kernel: Slot[Any] = Slot()
"""`polyad.lowering.kernels.lowered_kernel`: a composite's body as a kernel of a backend that runs generated code."""

why_composed: Slot[str] = Slot()
"""`polyad.lowering.kernels.why_composed`: why there is no such kernel."""

abstract_backend: Slot[Any] = Slot()
"""`polyad.dispatch.abstract.AbstractBackend`: device "meta"."""

tensor_repr: Slot[str] = Slot()
"""How a tensor is printed."""

reduced: Slot[Any] = Slot()
"""``Tensor.__reduce_ex__(protocol)``: a tensor as data, for another process."""

compile: Slot[Any] = Slot()
"""`polyad.compile`."""

capture: Slot[Any] = Slot()
"""`polyad.jit.capture`."""
