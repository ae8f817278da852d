"""PyTorch's older `spectral_norm`, whose state has the keys ``weight_orig``, ``weight_u`` and ``weight_v``.

For new models, use `polyad.nn.utils.parametrizations.spectral_norm`.
"""

from __future__ import annotations

from typing import Any, TypeVar

from ... import linalg
from ...arguments import explain
from ...base.kinds import Positive
from ...errors import ArgumentError, OptionError, safe_repr
from ...functions import dot, mv
from ...history.grad_mode import no_grad
from ...tensor import Tensor
from .. import functional as F
from ..modules.conv import ConvTransposeNd
from ..modules.module import Module
from ..parameter import Parameter
from .recomputed import Recomputed, hooks_of, parameter_of, take_out

__all__ = ["SpectralNorm", "remove_spectral_norm", "spectral_norm"]

M = TypeVar("M", bound=Module)


class SpectralNorm(Recomputed):
    """The hook that divides a tensor by its largest singular value, found by power iteration."""

    def __init__(self, name: str = "weight", n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12) -> None:
        self.tensor_name = name
        self.n_power_iterations = n_power_iterations
        self.dim = dim
        self.eps = eps

    def as_matrix(self, weight: Tensor) -> Tensor:
        """The tensor as a matrix with a row for each index of ``dim``."""
        return weight.movedim(self.dim, 0).flatten(1)

    def compute(self, module: Module) -> Tensor:
        """The normalised tensor, after iterations in training."""
        return self.normalised(module, module.training)

    def normalised(self, module: Module, iterate: bool) -> Tensor:
        """The tensor divided by its largest singular value, after iterations if wanted."""
        weight, u, v = (getattr(module, self.tensor_name + end) for end in ("_orig", "_u", "_v"))
        matrix = self.as_matrix(weight)
        if iterate:
            with no_grad():
                for _ in range(self.n_power_iterations):
                    v.copy_(F.normalize(mv(matrix.mT, u), dim=0, eps=self.eps))
                    u.copy_(F.normalize(mv(matrix, v), dim=0, eps=self.eps))
                # Copies: a second forward pass would write what backward of the first needs.
                u, v = u.clone(), v.clone()
        result: Tensor = weight / dot(u, mv(matrix, v))
        return result


class SpectralNormStateDictHook:
    """Says in the state's metadata that it has ``<name>_v``, which states of the first version have not."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state_dict: Any, prefix: str, local_metadata: dict[str, Any]) -> None:
        local_metadata.setdefault("spectral_norm", {})[f"{self.fn.tensor_name}.version"] = 1


class SpectralNormLoadStateDictPreHook:
    """Finds ``<name>_v`` for a state of the first version, which has the normalised tensor instead."""

    def __init__(self, fn: SpectralNorm) -> None:
        self.fn = fn

    def __call__(self, module: Module, state: dict[str, Any], prefix: str, *rest: Any) -> None:
        key = prefix + self.fn.tensor_name
        if key not in state or f"{key}_orig" not in state or f"{key}_u" not in state:
            return
        with no_grad():
            original, normalised, u = state[f"{key}_orig"], state.pop(key), state[f"{key}_u"]
            matrix = self.fn.as_matrix(original)
            v = mv(linalg.pinv(matrix), u)
            state[f"{key}_v"] = v * ((original / normalised).mean() / dot(u, mv(matrix, v)))


def spectral_norm(
    module: M, name: str = "weight", n_power_iterations: Positive = 1, eps: float = 1e-12, dim: int | None = None
) -> M:
    """Divide a parameter by its largest singular value (Miyato et al. 2018). Returns *module*.

    Arguments as in `polyad.nn.utils.parametrizations.spectral_norm`, which is for new models.

    Raises RuntimeError if that was done before, ValueError if there is no such parameter.

    >>> from polyad import nn
    >>> list(nn.utils.spectral_norm(nn.Linear(2, 3)).state_dict())
    ['bias', 'weight_orig', 'weight_u', 'weight_v']
    """
    if hooks_of(module, SpectralNorm, name):
        raise OptionError(f"spectral_norm: {safe_repr(name)} has it already", fix="call it once")
    weight = parameter_of("spectral_norm", module, name)
    if dim is None:
        dim = 1 if isinstance(module, ConvTransposeNd) else 0
    hook = SpectralNorm(name, n_power_iterations, dim, eps)
    with no_grad():
        rows, columns = hook.as_matrix(weight).shape
        u = F.normalize(weight.new_empty(rows).normal_(), dim=0, eps=eps)
        v = F.normalize(weight.new_empty(columns).normal_(), dim=0, eps=eps)
    delattr(module, name)
    module.register_parameter(name + "_orig", weight)
    setattr(module, name, weight.data)
    module.register_buffer(name + "_u", u)
    module.register_buffer(name + "_v", v)
    module.register_forward_pre_hook(hook)
    module.register_state_dict_post_hook(SpectralNormStateDictHook(hook))
    module.register_load_state_dict_pre_hook(SpectralNormLoadStateDictPreHook(hook))
    return module


def remove_spectral_norm(module: M, name: str = "weight") -> M:
    """Make the normalised tensor a parameter again. Returns *module*. Raises ValueError if `spectral_norm` was not
    called.
    """
    for key, hook in hooks_of(module, SpectralNorm, name):
        with no_grad():
            value = hook.normalised(module, iterate=False)
        for end in ("", "_u", "_v", "_orig"):
            delattr(module, name + end)
        module.register_parameter(name, Parameter(value.detach()))
        take_out(module, key)
        hooks = module._own_state_hooks()
        for table in (hooks.save_post, hooks.load_pre):
            for number, other in list(table.items()):
                if getattr(other, "fn", None) is hook:
                    del table[number]
        return module
    raise ArgumentError(
        f"remove_spectral_norm: {safe_repr(name)} has no spectral_norm", fix="name the tensor that has it"
    )


explain(globals())
