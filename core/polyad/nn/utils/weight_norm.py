"""PyTorch's older `weight_norm`, whose state has the keys ``weight_g`` and ``weight_v``.

For new models, use `polyad.nn.utils.parametrizations.weight_norm`.
"""

from __future__ import annotations

from typing import TypeVar

from ... import functions
from ...arguments import explain
from ...base.state import warn_user
from ...errors import ArgumentError, OptionError, safe_repr
from ...tensor import Tensor
from ..modules.module import Module
from ..parameter import Parameter
from .recomputed import Recomputed, hooks_of, parameter_of, take_out

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


class WeightNorm(Recomputed):
    """The hook that computes a tensor from its length ``<name>_g`` and direction ``<name>_v``."""

    def __init__(self, name: str, dim: int | None) -> None:
        self.tensor_name = name
        self.dim = -1 if dim is None else dim

    def compute(self, module: Module) -> Tensor:
        """The direction with that length."""
        length, direction = (getattr(module, self.tensor_name + end) for end in ("_g", "_v"))
        result: Tensor = direction * (length / functions.norm_except_dim(direction, 2, self.dim))
        return result


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a parameter by its length and its direction. Returns *module*. Deprecated, as in PyTorch.

    Raises RuntimeError if that was done before, ValueError if there is no such parameter.

    >>> from polyad import nn
    >>> import warnings; warnings.simplefilter("ignore")
    >>> list(nn.utils.weight_norm(nn.Linear(2, 3)).state_dict())
    ['bias', 'weight_g', 'weight_v']
    """
    if hooks_of(module, WeightNorm, name):
        raise OptionError(f"weight_norm: {safe_repr(name)} has it already", fix="call it once")
    weight = parameter_of("weight_norm", module, name)
    warn_user("weight_norm: deprecated; use polyad.nn.utils.parametrizations.weight_norm", FutureWarning)
    hook = WeightNorm(name, dim)
    delattr(module, name)
    module.register_parameter(name + "_g", Parameter(functions.norm_except_dim(weight, 2, hook.dim).detach()))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    hook(module, ())
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Make the tensor a parameter again. Returns *module*. Raises ValueError if `weight_norm` was not called."""
    for key, hook in hooks_of(module, WeightNorm, name):
        value = hook.compute(module).detach()
        for one in (name, name + "_g", name + "_v"):
            delattr(module, one)
        module.register_parameter(name, Parameter(value))
        take_out(module, key)
        return module
    raise ArgumentError(f"remove_weight_norm: {safe_repr(name)} has no weight_norm", fix="name the tensor that has it")


explain(globals())
