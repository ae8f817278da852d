"""Steps by sparse gradients: which rows of a parameter they change, and who refuses them.

A sparse tensor answers for itself (`polyad.sparse`), so nothing here knows how it is made.
"""

from __future__ import annotations

from typing import Any

from ..errors import SettingError
from ..tensor import Tensor

__all__ = ["SparseGradient", "changed_rows", "refuse_decay"]


class SparseGradient(SettingError):
    """A sparse gradient, for an optimizer or an option that takes dense ones."""


def refuse_decay(optimizer: str, grad: Any, group: dict[str, Any]) -> None:
    """Raise SparseGradient if the group has a weight_decay, which would change all rows."""
    if group["weight_decay"]:
        raise SparseGradient(
            f"{optimizer}: weight_decay is not compatible with sparse gradients, which it makes dense",
            operands={"grad": grad},
            fix="use weight_decay=0 for parameters with sparse gradients, in a group of their own",
        )


def changed_rows(grad: Any, *tensors: Tensor) -> tuple[Tensor, Tensor, list[Tensor]]:
    """The rows that a sparse gradient changes, its values there, and *tensors* of its shape as tables of such rows.

    Several sparse dimensions count as one. Raises RuntimeError for a tensor that cannot be shown so.
    """
    grad = grad.coalesce()
    indices, values = grad._indices(), grad._values()
    rows = indices[0]
    for row, size in zip(indices[1:], grad.shape[1:]):
        rows = rows * size + row
    return rows, values, [tensor.view(-1, *values.shape[1:]) for tensor in tensors]
