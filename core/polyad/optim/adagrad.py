"""Adagrad: steps divided by the root of the sum of all squared gradients."""

from __future__ import annotations

from typing import Any

from ..ops.creation.factories import full_like
from ..ops.optim.adagrad import _adagrad_rates, _adagrad_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_hints, check_numbers, number
from .sparse_gradients import changed_rows, refuse_decay
from .update import advance, update

__all__ = ["Adagrad"]


class Adagrad(Optimizer):
    """Adagrad: each element has a learning rate of its own, which falls with the squares of its gradients.

    Duchi, Hazan and Singer 2011.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        lr_decay: how fast the learning rate falls besides.
        weight_decay: strength of the L2 penalty.
        initial_accumulator_value: what the sums of squares begin with.
        eps: added to the denominator.
        maximize: go uphill.
        foreach, fused: hints that change no result: the parameters of a group are stepped together, and
            their count of steps is on their device.
        differentiable: record the step; see `SGD`.

    Raises:
        ValueError: a number is negative.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.Adagrad([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    _state_names = frozenset({"sum"})
    _required_state = frozenset({"step", "sum"})
    _optional_options = frozenset({"foreach", "maximize", "differentiable", "fused"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "lr_decay": lr_decay,
                "weight_decay": weight_decay,
                "initial_accumulator_value": initial_accumulator_value,
                "eps": eps,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
                "fused": fused,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("Adagrad", options, "lr", "lr_decay", "weight_decay", "initial_accumulator_value", "eps")
        check_hints("Adagrad", options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        start = group["initial_accumulator_value"]
        start = complex(start, start) if param.dtype.is_complex else start
        return {"step": new_step(param), "sum": full_like(param, start)}

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        rows = self._rows(group, "sum")
        scalars = self._scalars(group, "step")
        rates = advance(_adagrad_rates, scalars, (number(group["lr"]), group["lr_decay"]), line)
        operands = [(*row, *rate) for row, rate in zip(rows, rates, strict=True)]
        update(_adagrad_step, operands, (group["eps"], group["weight_decay"], group["maximize"]), (0, 2), line)

    def _step_sparse(self, param: Tensor, grad: Any, group: dict[str, Any]) -> None:
        refuse_decay("Adagrad", grad, group)
        state = self.state[param]
        if not state:
            state.update(self._new_state(param, group))
        state["step"] += 1
        rate = float(group["lr"]) / (1 + (float(state["step"]) - 1) * group["lr_decay"])
        rows, values, (table, squares) = changed_rows(-grad if group["maximize"] else grad, param, state["sum"])
        squares.index_add_(0, rows, values * values)
        spread = squares.index_select(0, rows).sqrt() + group["eps"]
        table.index_add_(0, rows, values / spread, alpha=-rate)
