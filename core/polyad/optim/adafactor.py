"""Adafactor: squares of matrices are kept as averages of rows and of columns."""

from __future__ import annotations

from typing import Any

from ..base.dtypes import finfo
from ..errors import ArgumentError, NotSupported
from ..ops.creation.factories import zeros, zeros_like
from ..ops.optim.adafactor import _adafactor_step, _adafactor_vector_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params, new_step
from .options import check_number, check_numbers, check_pair, number
from .update import update

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Adafactor: Adam without an average of gradients, and with little memory for that of squares.

    What it keeps of a matrix's squares is a column and a row. Shazeer and Stern 2018, in PyTorch's form: *lr* is the
    largest relative step.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: the largest step relative to the parameter's root mean square, and the rate of weight decay.
        beta2_decay: power of the step count that says how slowly the averages move.
        eps: the least size of what is divided by (None: the dtype's eps), and the least root mean square of parameters.
        d: the root mean square of an update from which on it is clipped.
        weight_decay: how much each step shrinks the parameters, times *lr*.
        foreach: a hint that changes no result.
        maximize: go uphill.

    Raises:
        ValueError: a number is outside of its range.
        RuntimeError: a parameter is complex.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([[1.0, 2.0]], requires_grad=True)
    >>> optimizer = optim.Adafactor([x], lr=0.25)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> [round(value, 4) for value in x.flatten().tolist()]
    [0.6047, 1.6047]
    """

    _required_state = frozenset({"step"})
    _optional_options = frozenset({"foreach", "maximize"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "beta2_decay": beta2_decay,
                "eps": eps,
                "d": d,
                "weight_decay": weight_decay,
                "foreach": foreach,
                "maximize": maximize,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("Adafactor", options, "lr", "weight_decay")
        check_number("Adafactor", "d", options["d"], least=1.0)
        check_pair("Adafactor", "eps", options["eps"], "(None, 1e-3)")
        for position, eps in enumerate(options["eps"]):
            if position or eps is not None:
                check_number("Adafactor", f"eps[{position}]", eps)
        if not options["beta2_decay"] <= 0:
            raise ArgumentError(
                f"Adafactor: beta2_decay must be at most 0, not {options['beta2_decay']}",
                fix="choose another beta2_decay, such as -0.8",
            )

    def _check_param(self, label: str, param: Tensor) -> None:
        super()._check_param(label, param)
        if param.dtype.is_complex:
            raise NotSupported(
                "Adafactor: complex parameters are not supported",
                operands={label: param},
                fix="train the real and the imaginary part as two parameters",
            )

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        if param.dim() < 2:
            return {"step": new_step(param), "variance": zeros_like(param)}
        shape = list(param.shape)
        return {
            "step": new_step(param),
            "row_var": zeros([*shape[:-1], 1], dtype=param.dtype, device=param.device),
            "col_var": zeros([*shape[:-2], 1, shape[-1]], dtype=param.dtype, device=param.device),
        }

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        least, smallest = group["eps"]
        for param, grad in self._rows(group):
            state = self.state[param]
            if not state:
                state.update(self._apart(self._new_state, param, group))
            options = (
                number(group["lr"]),
                group["beta2_decay"],
                finfo(param.dtype).eps if least is None else least,
                smallest,
                group["d"],
                group["weight_decay"],
                group["maximize"],
            )
            if param.dim() < 2:
                vector = (param, grad, state["variance"], state["step"])
                update(_adafactor_vector_step, [vector], options, (0, 2, 3), line)
            else:
                matrix = (param, grad, state["row_var"], state["col_var"], state["step"])
                update(_adafactor_step, [matrix], options, (0, 2, 3, 4), line)
