"""Adamax: Adam with the infinity norm."""

from __future__ import annotations

from typing import Any

from ..ops.creation.factories import zeros_like
from ..ops.optim.adamax import _adamax_rates, _adamax_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_betas, check_hints, check_numbers, number
from .update import advance, update

__all__ = ["Adamax"]


class Adamax(Optimizer):
    """Adamax: Adam whose steps are divided by the largest gradient so far, which fades.

    Kingma and Ba 2015, section 7.1.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        betas: how slowly the averages of the gradient and of its square move.
        eps: added to the denominator.
        weight_decay: strength of the L2 penalty.
        maximize: go uphill.
        foreach, capturable: hints that change no result: the parameters of a group are stepped together, and
            their count of steps is on their device.
        differentiable: record the step; see `SGD`.

    Raises:
        ValueError: a number is negative, or a beta is not in [0, 1).

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.Adamax([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    _state_names = frozenset({"exp_avg", "exp_inf"})
    _required_state = frozenset({"step", "exp_avg", "exp_inf"})
    _optional_options = frozenset({"foreach", "maximize", "differentiable", "capturable"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("Adamax", options, "lr", "eps", "weight_decay")
        check_betas("Adamax", options["betas"])
        check_hints("Adamax", options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(param), "exp_avg": zeros_like(param), "exp_inf": zeros_like(param)}

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        beta1, beta2 = map(number, group["betas"])
        rows = self._rows(group, "exp_avg", "exp_inf")
        rates = advance(_adamax_rates, self._scalars(group, "step"), (number(group["lr"]), beta1), line)
        operands = [(*row, *rate) for row, rate in zip(rows, rates, strict=True)]
        options = (beta1, beta2, group["eps"], group["weight_decay"], group["maximize"])
        update(_adamax_step, operands, options, (0, 2, 3), line)
