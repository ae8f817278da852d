"""Rprop: resilient propagation."""

from __future__ import annotations

from typing import Any

from ..errors import ArgumentError
from ..ops.creation.factories import full_like, zeros_like
from ..ops.optim.counting import _step_count
from ..ops.optim.rprop import _rprop_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_hints, check_numbers, check_pair, number
from .update import advance, update

__all__ = ["Rprop"]


class Rprop(Optimizer):
    """Rprop: steps by the gradient's sign, longer while it stays and shorter where it changes.

    For gradients of whole data sets. Riedmiller and Braun 1993.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        etas: by how much a step shrinks, and by how much it grows.
        step_sizes: the smallest and the largest step.
        maximize: go uphill.
        foreach, capturable: hints that change no result: the parameters of a group are stepped together, and
            their count of steps is on their device.
        differentiable: record the step; see `SGD`.

    Raises:
        ValueError: lr is negative, or etas are not on both sides of 1.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([1.0], requires_grad=True)
    >>> optimizer = optim.Rprop([x], lr=0.5)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> round(x.item(), 4)
    0.5
    """

    _state_names = frozenset({"prev", "step_size"})
    _required_state = frozenset({"step", "prev", "step_size"})
    _optional_options = frozenset({"foreach", "maximize", "differentiable", "capturable"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "etas": etas,
                "step_sizes": step_sizes,
                "capturable": capturable,
                "foreach": foreach,
                "maximize": maximize,
                "differentiable": differentiable,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("Rprop", options, "lr")
        check_pair("Rprop", "etas", options["etas"], "(shrink, grow), such as (0.5, 1.2)")
        check_pair("Rprop", "step_sizes", options["step_sizes"], "(smallest, largest), such as (1e-6, 50)")
        shrink, grow = options["etas"]
        if not 0.0 < shrink < 1.0 < grow:
            raise ArgumentError(
                f"Rprop: etas must be a number between 0 and 1 and another above 1, not {options['etas']}",
                fix="choose other etas, such as (0.5, 1.2)",
            )
        check_hints("Rprop", options)

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        lr = float(group["lr"])
        size = full_like(param, complex(lr, lr) if param.dtype.is_complex else lr)
        return {"step": new_step(param), "prev": zeros_like(param), "step_size": size}

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        options = (*map(number, group["etas"]), *map(number, group["step_sizes"]), group["maximize"])
        update(_rprop_step, self._rows(group, "prev", "step_size"), options, (0, 2, 3), line)
        advance(_step_count, self._scalars(group, "step"), (), line)
