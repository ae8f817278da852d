"""Sorting functions; both are stable always."""

from __future__ import annotations

from .. import functions
from ..tensor import Tensor


def argsort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The positions along *axis* in the order of their elements."""
    return functions.argsort(x, axis, descending, stable=stable)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """The elements in order along *axis*."""
    values: Tensor = functions.sort(x, dim=axis, descending=descending, stable=stable)[0]
    return values
