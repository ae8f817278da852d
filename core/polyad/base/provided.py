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
    """A place for one function; a call of it calls the function.

    The function is what ``__call__`` of the slot is: Python calls it with no frame in between.
    """

    __slots__ = ("__call__",)

    __call__: Callable[..., R]

    def fill(self, function: Callable[..., R]) -> None:
        """Say which function it is."""
        self.__call__ = function

    def fill_later(self, module: str, name: str) -> None:
        """Say where the function is: its module is imported by the first call."""

        def first(*args: Any, **kwargs: Any) -> R:
            function: Callable[..., R] = getattr(importlib.import_module(module), name)
            self.fill(function)
            return function(*args, **kwargs)

        self.fill(first)

    @property
    def filled(self) -> bool:
        """Whether somebody said which function it is."""
        return hasattr(self, "__call__")  # noqa: B004 - callable() asks the class, which always has the place for it


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

generated_kind: Slot[str] = Slot()
"""``generated_kind(op)``: what a kernel that is generated for the op of that name goes by, see `Runtime.pays_from`."""

generated_call: Slot[Any] = Slot()
"""`polyad.lowering.kernels.generated_call`: an op's kernel by its formula or its body."""

why_composed: Slot[str] = Slot()
"""`polyad.lowering.kernels.why_composed`: why there is no such kernel."""

abstract_backend: Slot[Any] = Slot()
"""`polyad.dispatch.abstract.AbstractBackend`: device "meta"."""

tensor_repr: Slot[str] = Slot()
"""How a tensor is printed."""

reduced: Slot[Any] = Slot()
"""``Tensor.__reduce_ex__(protocol)``: a tensor as data, for another process."""

class_dispatch: Slot[Any] = Slot()
"""`polyad.aten.dispatching.of_classes`: the mode that gives calls to ``__torch_dispatch__`` of classes."""

compile_forward: Slot[None] = Slot()
"""`polyad.nn.Module.compile`."""

capture: Slot[Any] = Slot()
"""`polyad.jit.capture`."""

sparse_parts: Slot[Any] = Slot()
"""``sparse_parts(tensor)``: the tensors that a sparse one is made of, its size, and whether it is coalesced."""

sparse_tensor: Slot[Any] = Slot()
"""``sparse_tensor(layout, parts, size, coalesced)``: the inverse."""

sparse_zeros: Slot[Any] = Slot()
"""``sparse_zeros(op, layout, shape, dtype, device)``: a sparse tensor without specified elements."""

sparse_rows: Slot[Any] = Slot()
"""``sparse_rows(table, index, padding_idx, by_frequency)``: rows of a table whose gradient is a sparse tensor."""
