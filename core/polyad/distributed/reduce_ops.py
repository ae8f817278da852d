"""ReduceOp: how numbers of several processes become one."""

from __future__ import annotations

from enum import Enum

__all__ = ["ReduceOp"]


class ReduceOp(Enum):
    """How numbers of several processes become one.

    >>> import polyad
    >>> polyad.distributed.ReduceOp.SUM.name
    'SUM'
    """

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


ReduceOp.RedOpType = ReduceOp  # type: ignore[attr-defined]  # PyTorch's class holds the one of its values
