"""Stochastic gradient descent, plain or with momentum."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops.creation.factories import zeros_like
from ..ops.optim.sgd import _sgd_momentum_step, _sgd_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params
from .options import check_hints, check_numbers, number
from .sparse_gradients import refuse_decay
from .update import update

__all__ = ["SGD"]


class SGD(Optimizer):
    """Stochastic gradient descent, optionally with momentum (Sutskever et al. 2013, in PyTorch's form of it).

    With g the gradient (plus ``weight_decay * param``) and, from the second step on, b = momentum * b + (1 - dampening)
    * g, a step subtracts ``lr`` times b, or times g + momentum * b with *nesterov*.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        momentum: how much of the last step's direction is kept.
        dampening: takes away from what the gradient adds to the momentum.
        weight_decay: strength of the L2 penalty.
        nesterov: look ahead along the momentum; needs momentum and no dampening.
        maximize: go uphill.
        foreach, fused: hints that change no result; a backend's fused step is used where there is one.
        differentiable: record the step, so that what is computed from the parameters afterwards is differentiated
            through it; the parameters are then results of operations rather than leaves.

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

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("SGD", options, "lr", "momentum", "weight_decay")
        if options["nesterov"] and (options["momentum"] <= 0 or options["dampening"] != 0):
            raise ArgumentError(
                "SGD: nesterov needs momentum and no dampening",
                operands={"momentum": options["momentum"], "dampening": options["dampening"]},
                fix="set momentum, for example to 0.9, and dampening=0",
            )
        check_hints("SGD", options)

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        lr, decay, maximize = number(group["lr"]), group["weight_decay"], group["maximize"]
        momentum, dampening, nesterov = group["momentum"], group["dampening"], group["nesterov"]
        if not momentum:
            update(_sgd_step, self._rows(group), (lr, decay, maximize), (0,), line)
            return
        first, others = [], []
        for param in group["params"]:
            grad = param._grad
            if grad is None:
                continue
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                # The first step's direction is the gradient itself.
                buffer = state["momentum_buffer"] = self._apart(zeros_like, param)
                first.append((param, grad, buffer))
            else:
                others.append((param, grad, buffer))
        for rows, damping in ((first, 0.0), (others, dampening)):
            if rows:
                update(_sgd_momentum_step, rows, (lr, momentum, damping, decay, nesterov, maximize), (0, 2), line)

    def _step_sparse(self, param: Tensor, grad: Any, group: dict[str, Any]) -> None:
        refuse_decay("SGD", grad, group)
        grad = -grad if group["maximize"] else grad
        if group["momentum"]:
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is not None:
                buffer = (buffer * group["momentum"]).add(grad, alpha=1 - group["dampening"])
            # One with a place for each row that was ever changed, however often.
            buffer = state["momentum_buffer"] = (grad if buffer is None else buffer).coalesce()
            grad = grad.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
        param.add_(grad, alpha=-float(group["lr"]))
