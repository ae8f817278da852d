"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any

from ..ops.creation.factories import zeros_like
from ..ops.optim.nadam import _nadam_rates, _nadam_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_betas, check_hints, check_numbers, number
from .update import advance, update

__all__ = ["NAdam"]


class NAdam(Optimizer):
    """NAdam: Adam that looks ahead along its average, as Nesterov's momentum does.

    Dozat 2016.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        betas: how slowly the averages of the gradient and of its square move.
        eps: added to the denominator.
        weight_decay: strength of the L2 penalty.
        momentum_decay: how slowly the momentum grows to betas[0].
        decoupled_weight_decay: shrink the parameters instead of adding to the gradient.
        maximize: go uphill.
        foreach, capturable: hints that change no result: the parameters of a group are stepped together, and
            their count of steps is on their device.
        differentiable: record the step; see `SGD`.

    Raises:
        ValueError: a number is negative, or a beta is not in [0, 1).

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.NAdam([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.4718
    """

    _state_names = frozenset({"exp_avg", "exp_avg_sq"})
    _required_state = frozenset({"step", "mu_product", "exp_avg", "exp_avg_sq"})
    _optional_options = frozenset({"decoupled_weight_decay", "foreach", "maximize", "differentiable", "capturable"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "momentum_decay": momentum_decay,
                "decoupled_weight_decay": decoupled_weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "capturable": capturable,
                "differentiable": differentiable,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("NAdam", options, "lr", "eps", "weight_decay", "momentum_decay")
        check_betas("NAdam", options["betas"])
        check_hints("NAdam", options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_step(param),
            "mu_product": new_step(param, 1.0),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        lr, (beta1, beta2) = number(group["lr"]), map(number, group["betas"])
        rows = self._rows(group, "exp_avg", "exp_avg_sq")
        scalars = self._scalars(group, "step", "mu_product")
        rates = advance(_nadam_rates, scalars, (lr, beta1, beta2, group["momentum_decay"]), line)
        operands = [(*row, *rate) for row, rate in zip(rows, rates, strict=True)]
        decay, decoupled = group["weight_decay"], group["decoupled_weight_decay"]
        options = (lr, beta1, beta2, group["eps"], decay, decoupled, group["maximize"])
        update(_nadam_step, operands, options, (0, 2, 3), line)
