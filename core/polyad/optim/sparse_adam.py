"""SparseAdam: Adam for embeddings, of which a step changes a few rows."""

from __future__ import annotations

import math
from typing import Any

from ..base.memory_formats import strided
from ..errors import ArgumentError
from ..ops.creation.factories import zeros_like
from ..tensor import Tensor
from .optimizer import Optimizer, Params
from .options import check_betas, check_number
from .sparse_gradients import changed_rows

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients, as those of ``nn.Embedding(sparse=True)``: rows that a gradient does not have are left
    alone, with their averages. The arithmetic is done on the others.

    Of a dense gradient, which PyTorch refuses, the rows count whose gradient has an element that is not 0.

    Args:
        params: the parameters, or groups of them; see `Optimizer`.
        lr: learning rate.
        betas: how slowly the averages of the gradient and of its square move.
        eps: added to the denominator.
        maximize: go uphill.

    Raises:
        ValueError: lr or eps is not positive, a beta is not in [0, 1), or a parameter is complex.

    >>> import polyad
    >>> from polyad import optim
    >>> table = polyad.ones(3, 2, requires_grad=True)
    >>> optimizer = optim.SparseAdam([table], lr=0.5)
    >>> table[1].sum().backward()
    >>> optimizer.step()
    >>> [round(value, 4) for value in table[:, 0].tolist()]
    [1.0, 0.5, 1.0]
    """

    _state_names = frozenset({"exp_avg", "exp_avg_sq"})
    _required_state = frozenset({"step", "exp_avg", "exp_avg_sq"})
    _optional_options = frozenset({"maximize"})

    def __init__(
        self,
        params: Params,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def _check_options(self, options: dict[str, Any]) -> None:
        for key in ("lr", "eps"):
            check_number("SparseAdam", key, options[key])
            if float(options[key]) == 0:
                raise ArgumentError(f"SparseAdam: {key} must be positive, not 0", fix=f"choose another {key}")
        check_betas("SparseAdam", options["betas"])

    def _check_param(self, label: str, param: Tensor) -> None:
        super()._check_param(label, param)
        if param.layout is not strided:
            raise ArgumentError(
                f"SparseAdam: {label} is sparse; it requires dense parameters, of which gradients are sparse",
                operands={label: param},
                fix="train a dense parameter",
            )
        if param.dtype.is_complex:
            raise ArgumentError(
                "SparseAdam: complex parameters are not supported",
                operands={label: param},
                fix="train the real and the imaginary part as two parameters",
            )

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"step": 0, "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        for param in group["params"]:
            grad = param._grad
            if grad is None:
                continue
            flat = grad.reshape(1) if param.dim() == 0 else grad
            rows = (flat != 0).reshape(flat.shape[0], -1).any(1).nonzero().flatten()
            tables = [one.reshape(flat.shape) for one in (param, *self._averages(param, group))]
            self._step_rows(rows, flat.index_select(0, rows), tables, self.state[param]["step"], group)

    def _step_sparse(self, param: Tensor, grad: Any, group: dict[str, Any]) -> None:
        rows, values, tables = changed_rows(grad, param, *self._averages(param, group))
        self._step_rows(rows, values, tables, self.state[param]["step"], group)

    def _averages(self, param: Tensor, group: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """The averages of the gradient and of its square, one step further."""
        state = self.state[param]
        if not state:
            state.update(self._new_state(param, group))
        state["step"] = int(state["step"]) + 1
        return state["exp_avg"], state["exp_avg_sq"]

    @staticmethod
    def _step_rows(rows: Tensor, grad: Tensor, tables: list[Tensor], count: int, group: dict[str, Any]) -> None:
        """Change *rows* of the parameter and its averages, in this order in *tables*, by their gradients."""
        if rows.numel() == 0:
            return
        whole, average, square = tables
        beta1, beta2 = map(float, group["betas"])
        grad = -grad if group["maximize"] else grad
        new_average = average.index_select(0, rows).lerp(grad, 1 - beta1)
        new_square = square.index_select(0, rows) * beta2 + grad * grad * (1 - beta2)
        average.index_copy_(0, rows, new_average)
        square.index_copy_(0, rows, new_square)
        rate = float(group["lr"]) * math.sqrt(1 - beta2**count) / (1 - beta1**count)
        whole.index_add_(0, rows, new_average / (new_square.sqrt() + group["eps"]), alpha=-rate)
