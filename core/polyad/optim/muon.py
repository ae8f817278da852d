"""Muon: momentum whose direction is made orthogonal, for the weights of hidden layers."""

from __future__ import annotations

import math
from typing import Any

from ..arguments import check_choice, check_length
from ..errors import ArgumentError
from ..ops.creation.factories import zeros_like
from ..ops.optim.muon import _muon_step
from ..tensor import Tensor
from .optimizer import Optimizer, Params
from .options import check_numbers, number
from .update import update

__all__ = ["Muon"]

_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(Optimizer):
    """Muon: steps by a momentum of which all directions are about equally long. For matrices alone.

    Biases, embeddings and the last layer are for another optimizer, such as `AdamW`. The iteration that brings the
    singular values near 1 computes in bfloat16, as PyTorch's does. Jordan et al. 2024.

    Args:
        params: matrices, or groups of them; see `Optimizer`.
        lr: learning rate.
        weight_decay: how much each step shrinks the parameters, times *lr*.
        momentum: how much of the last step's direction is kept.
        nesterov: look ahead along the momentum.
        ns_coefficients: of s, s^3 and s^5 in a step of the iteration that acts on singular values s.
        eps: the least norm that the direction is divided by.
        ns_steps: how many steps the iteration has.
        adjust_lr_fn: how *lr* follows the shape (rows, columns): "original", which None stands for, times
            ``sqrt(max(1, rows / columns))``; "match_rms_adamw" times ``0.2 * sqrt(max(rows, columns))``.

    Raises:
        ValueError: a number is negative, a parameter is no matrix, or *adjust_lr_fn* is another word.

    >>> import polyad
    >>> from polyad import optim
    >>> x = polyad.tensor([[1.0, 2.0]], requires_grad=True)
    >>> optimizer = optim.Muon([x], lr=0.25, weight_decay=0.0)
    >>> (x * x).sum().backward()
    >>> optimizer.step()
    >>> bool((x < polyad.tensor([[1.0, 2.0]])).all())
    True
    """

    _state_names = frozenset({"momentum_buffer"})

    def __init__(
        self,
        params: Params,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "momentum": momentum,
                "nesterov": nesterov,
                "ns_coefficients": ns_coefficients,
                "eps": eps,
                "ns_steps": ns_steps,
                "adjust_lr_fn": adjust_lr_fn,
            },
        )

    def _check_options(self, options: dict[str, Any]) -> None:
        check_numbers("Muon", options, "lr", "momentum", "weight_decay")
        check_choice("Muon", "adjust_lr_fn", options["adjust_lr_fn"], _ADJUSTMENTS)
        check_length("Muon", "ns_coefficients", options["ns_coefficients"], 3, "numbers")
        if not options["ns_steps"] < 100:
            raise ArgumentError(
                f"Muon: ns_steps must be less than 100, not {options['ns_steps']}", fix="choose about 5 steps"
            )

    def _check_param(self, label: str, param: Tensor) -> None:
        super()._check_param(label, param)
        if param.dim() != 2 or param.dtype.is_complex:
            raise ArgumentError(
                f"Muon: {label} is no real matrix",
                operands={label: param},
                fix="give what is no weight of a hidden layer to another optimizer, such as AdamW",
            )

    def _new_state(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {"momentum_buffer": zeros_like(param)}

    def _step_group(self, group: dict[str, Any], line: str) -> None:
        lr = number(group["lr"])
        options = (
            1 - lr * group["weight_decay"],
            group["momentum"],
            group["nesterov"],
            *map(number, group["ns_coefficients"]),
            group["eps"],
            group["ns_steps"],
        )
        for row in self._rows(group, "momentum_buffer"):
            rows, columns = row[0].shape
            if group["adjust_lr_fn"] == "match_rms_adamw":
                scale = 0.2 * math.sqrt(max(rows, columns))
            else:
                scale = math.sqrt(max(1, rows / columns)) if columns else 1.0
            update(_muon_step, [row], (lr * scale, *options), (0, 2), line)
