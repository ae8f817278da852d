"""Stochastic gradient descent, plain or with momentum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..autograd.grad_mode import no_grad
from ..errors import ArgumentError, NotSupported
from ..ops.creation import zeros_like
from ..ops.optimizer import _sgd_momentum_step, _sgd_step
from ..state import user_line
from ..tensor import Tensor
from .inplace import update
from .optimizer import Optimizer, Params, check_number

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum (Sutskever et al. 2013, in PyTorch's form of it).

    With g the gradient (plus ``weight_decay * param``) and, after the first step, b = momentum * b + (1 - dampening) * g, a step
    subtracts ``lr`` times b, or times g + momentum * b with *nesterov*.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        momentum: how much of the last step's direction is kept.
        dampening: takes away from what the gradient adds to the momentum.
        weight_decay: strength of the L2 penalty.
        nesterov: look ahead along the momentum; needs momentum and no dampening.
        maximize: go uphill.
        foreach, fused: hints that change no result; a backend's fused step is used where there is one.
        differentiable: not supported.

    Raises:
        ValueError: a number is negative, or nesterov without momentum or with dampening.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.SGD([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> x.tolist()
    [0.5]
    """

    _state_names = frozenset({"momentum_buffer"})
    _optional_options = frozenset({"nesterov", "maximize", "foreach", "differentiable", "fused"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        super().add_param_group(param_group)
"""placeholder"""
