"""Adadelta: steps in proportion to those before, without a learning rate of one's own."""

from __future__ import annotations

from typing import Any

from ..ops.creation.factories import zeros_like
from ..ops.optim.adadelta import _adadelta_step
from ..ops.optim.counting import _step_count
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_hints, check_number, check_numbers, number
from .update import advance, update

__all__ = ["Adadelta"]


class Adadelta(Optimizer):
    """Adadelta: steps in proportion to the average size of the steps before over that of the gradients.

    Zeiler 2012.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        rho: how slowly the averages of squares move.
        eps: added to the denominator.
        weight_decay: strength of the L2 penalty.
        maximize: go uphill.
        foreach, capturable: hints that change no result: the parameters of a group are stepped together, and
            their count of steps is on their device.
        differentiable: record the step; see `SGD`.

    Raises:
        ValueError: a number is negative, or rho is not in [0, 1].

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.Adadelta([x], lr=1.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.9968
    """

    _state_names = frozenset({"square_avg", "acc_delta"})
    _required_state = frozenset({"step", "square_avg", "acc_delta"})
    _optional_options = frozenset({"foreach", "maximize", "differentiable", "capturable"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "rho": rho,
                "eps": eps,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "capturable": capturable,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("Adadelta", options, "lr", "eps", "weight_decay")
        check_number("Adadelta", "rho", options["rho"], most=1.0)
        check_hints("Adadelta", options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": new_step(param), "square_avg": zeros_like(param), "acc_delta": zeros_like(param)}

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        options = (number(group["lr"]), group["rho"], group["eps"], group["weight_decay"], group["maximize"])
        update(_adadelta_step, self._rows(group, "square_avg", "acc_delta"), options, (0, 2, 3), line)
        advance(_step_count, self._scalars(group, "step"), (), line)
