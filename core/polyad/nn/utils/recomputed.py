"""Tensors of a module that are computed anew before each call, by a pre-hook: how older `weight_norm` and
`spectral_norm` and pruning work. In the module's attributes the tensor is an ordinary one; what it is computed from are
parameters and buffers whose names begin with its name.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, TypeVar

from ...errors import ArgumentError, safe_repr
from ...tensor import Tensor
from ..hooks import PreHook
from ..modules.module import Module, require_module
from ..parameter import Parameter, is_lazy

R = TypeVar("R", bound="Recomputed")


class Recomputed(ABC):
    """The pre-hook: called with the module and its arguments, it computes the tensor.

    Attributes:
        tensor_name: the tensor's name.
    """

    tensor_name: str

    @abstractmethod
    def compute(self, module: Module) -> Tensor:
        """The tensor, from what *module* keeps for it."""

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.tensor_name, self.compute(module))


def hooks_of(module: Module, kind: type[R], name: str | None = None) -> list[tuple[int, R]]:
    """The hooks of *kind* in *module*, or those for the tensor *name*, with the keys by which they are kept."""
    require_module(kind.__name__, module)
    own = module.__dict__.get("_call_hooks")
    hooks: dict[int, PreHook] = {} if own is None else own.pre
    return [
        (key, hook.function)
        for key, hook in hooks.items()
        if isinstance(hook.function, kind) and name in (None, hook.function.tensor_name)
    ]


def take_out(module: Module, key: int) -> None:
    """Remove the hook that is kept under *key*."""
    del module._own_forward_hooks().pre[key]


def parameter_of(op: str, module: Module, name: str) -> Parameter:
    """The parameter *name* of *module*. Raises ValueError if there is none, or it has no shape yet."""
    found = module._parameters.get(name)
    if found is None:
        raise ArgumentError(
            f"{op}: {type(module).__name__} has no parameter {safe_repr(name)}",
            notes={"has": ", ".join(module._parameters) or "none"},
            fix="name one of its own parameters",
        )
    if is_lazy(found):
        raise ArgumentError(
            f"{op}: the parameter {safe_repr(name)} has no shape yet", fix="call the module with an input first"
        )
    return found
