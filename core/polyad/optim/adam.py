"""Adam (Kingma and Ba 2015), AMSGrad (Reddi et al. 2018) and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

from typing import Any

from ..ops.creation.factories import zeros_like
from ..ops.optim.adam import _adam_step, _amsgrad_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_betas, check_hints, check_numbers, number
from .update import update

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Adam: steps scaled by moving averages of the gradient and of its square (Kingma and Ba 2015).

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate, about the size of a step.
        betas: how slowly the averages of the gradient and of its square move.
        eps: added to the denominator.
        weight_decay: strength of the L2 penalty.
        amsgrad: divide by the largest average of the square so far (Reddi et al. 2018).
        maximize: go uphill.
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient, as `AdamW` does.
        foreach, fused, capturable: hints that change no result; a backend's fused step is used where there is one.
        differentiable: record the step, so that what is computed from the parameters afterwards is differentiated
            through it; the parameters are then results of operations rather than leaves.

    Raises:
        ValueError: a number is negative, or a beta is not in [0, 1).

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.Adam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    _state_names = frozenset({"exp_avg", "exp_avg_sq", "max_exp_avg_sq"})
    _required_state = frozenset({"step", "exp_avg", "exp_avg_sq"})
    _optional_options = frozenset(
        {"amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused", "decoupled_weight_decay"}
    )

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        name = type(self).__name__
        check_numbers(name, options, "lr", "eps", "weight_decay")
        check_betas(name, options["betas"])
        check_hints(name, options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(param), "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        beta1, beta2 = group["betas"]
        options = (
            number(group["lr"]),
            number(beta1),
            number(beta2),
            group["eps"],
            group["weight_decay"],
            group["decoupled_weight_decay"],
            group["maximize"],
        )
        rows = self._rows(group, "exp_avg", "exp_avg_sq", "step")
        if not group["amsgrad"]:
            update(_adam_step, rows, options, (0, 2, 3, 4), line)
            return
        for param in group["params"]:
            if param._grad is not None and "max_exp_avg_sq" not in self.state[param]:
                self.state[param]["max_exp_avg_sq"] = self._apart(zeros_like, param)
        rows = self._rows(group, "exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")
        update(_amsgrad_step, rows, options, (0, 2, 3, 4, 5), line)


class AdamW(Adam):
    """Adam with decoupled weight decay: each step first shrinks the parameters by ``1 - lr * weight_decay``.

    Loshchilov and Hutter 2019. Arguments as in `Adam`.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optim.AdamW([x]).defaults["weight_decay"]
    0.01
    """

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )
