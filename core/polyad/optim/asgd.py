"""ASGD: averaged stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ..ops.creation.factories import zeros_like
from ..ops.optim.asgd import _asgd_rates, _asgd_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_hints, check_numbers, number
from .update import advance, update

__all__ = ["ASGD"]


class ASGD(Optimizer):
    """Stochastic gradient descent that also averages the parameters over the steps.

    The averages are in the state, as ``ax``. Polyak and Juditsky 1992, with the step size of Xu 2011.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        lambd: how fast the parameters, and the learning rate, decay.
        alpha: power of the learning rate's decay.
        t0: the step from which on averages are taken.
        weight_decay: strength of the L2 penalty.
        maximize: go uphill.
        foreach, capturable: hints that change no result: the parameters of a group are stepped together, and
            their count of steps is on their device.
        differentiable: record the step; see `SGD`.

    Raises:
        ValueError: a number is negative.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.ASGD([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    _state_names = frozenset({"ax"})
    _required_state = frozenset({"step", "eta", "mu", "ax"})
    _optional_options = frozenset({"foreach", "maximize", "differentiable", "capturable"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lambd": lambd,
                "alpha": alpha,
                "t0": t0,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "capturable": capturable,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("ASGD", options, "lr", "weight_decay")
        check_hints("ASGD", options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": new_step(param),
            "eta": new_step(param, float(group["lr"])),
            "mu": new_step(param, 1.0),
            "ax": zeros_like(param),
        }

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        lambd = group["lambd"]
        rows = self._rows(group, "ax", "eta", "mu")
        update(_asgd_step, rows, (lambd, group["weight_decay"], group["maximize"]), (0, 2), line)
        # The size and the share are those of the next step.
        options = (number(group["lr"]), lambd, group["alpha"], group["t0"])
        rates = advance(_asgd_rates, self._scalars(group, "step"), options, line)
        for (eta, mu), (new_eta, new_mu) in zip(self._scalars(group, "eta", "mu"), rates, strict=True):
            eta.copy_(new_eta)
            mu.copy_(new_mu)
