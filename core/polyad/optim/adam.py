"""Adam (Kingma and Ba 2015), AMSGrad (Reddi et al. 2018) and AdamW (Loshchilov and Hutter 2019)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..errors import ArgumentError, ArgumentTypeError, NotSupported
from ..history.grad_mode import no_grad
from ..ops.creation.factories import zeros_like
from ..ops.optim import _adam_step, _amsgrad_step
from ..state import user_line
from ..tensor import Tensor
from .inplace import update
from .optimizer import Optimizer, Params, check_hints, check_number, new_step

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
        differentiable: not supported.

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
        for key in ("lr", "eps", "weight_decay"):
            check_number(name, key, options[key])
        betas = options["betas"]
        if not isinstance(betas, (tuple, list)):
            raise ArgumentTypeError(
                f"{name}: betas must be a pair of numbers",
                operands={"betas": betas},
                fix="pass (beta1, beta2), such as (0.9, 0.999)",
            )
        if len(betas) != 2:
            raise ArgumentError(
                f"{name}: betas must be two numbers, not {len(betas)}",
                operands={"betas": betas},
                fix="pass (beta1, beta2), such as (0.9, 0.999)",
            )
        for position, beta in enumerate(betas):
            check_number(name, f"betas[{position}]", beta, below=1.0)
        check_hints(name, options)

    def _check_param(self, label: str, param: Tensor) -> None:
        super()._check_param(label, param)
        if param.dtype.is_complex:
            raise NotSupported(
                f"{type(self).__name__}: complex parameters are not supported",
                operands={label: param},
                fix="train the real and the imaginary part as two parameters",
            )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters once; see `Optimizer.step`."""
        loss = self._evaluate(closure)
        line = user_line()
        with no_grad():
            for group in self.param_groups:
                amsgrad = group["amsgrad"]
                beta1, beta2 = group["betas"]
                options = (
                    float(group["lr"]),
                    float(beta1),
                    float(beta2),
                    group["eps"],
                    group["weight_decay"],
                    group["decoupled_weight_decay"],
                    group["maximize"],
                )
                for param in group["params"]:
                    grad = param._grad
                    if grad is None:
                        continue
                    state = self.state[param]
                    if not state:
                        state["step"] = new_step(param)
                        state["exp_avg"] = zeros_like(param)
                        state["exp_avg_sq"] = zeros_like(param)
                    average, square, step = state["exp_avg"], state["exp_avg_sq"], state["step"]
                    if amsgrad:
                        largest = state.get("max_exp_avg_sq")
                        if largest is None:
                            largest = state["max_exp_avg_sq"] = zeros_like(param)
                        operands = (param, grad, average, square, largest, step)
                        update(_amsgrad_step, operands, options, (0, 2, 3, 4, 5), line)
                    else:
                        update(_adam_step, (param, grad, average, square, step), options, (0, 2, 3, 4), line)
        return loss


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
