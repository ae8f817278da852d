"""Dropout: zeroing random elements in training (Srivastava et al. 2014)."""

from __future__ import annotations

from ...errors import ArgumentError, ArgumentTypeError
from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """In training, zeroes each element with probability *p* and scales the others by 1 / (1 - p); else the identity.

    Raises:
        ValueError: *p* is outside [0, 1].

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Dropout(0.2).eval()(polyad.ones(3)).tolist()
    [1.0, 1.0, 1.0]
    """

    p: float
    inplace: bool

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        super().__init__()
        name = type(self).__name__
        if isinstance(p, bool) or not isinstance(p, (int, float)):
            raise ArgumentTypeError(
                f"{name}: p must be a number, not {type(p).__name__}",
                operands={"p": p},
                fix="pass a float between 0 and 1",
            )
        if not 0 <= p <= 1:
            raise ArgumentError(
                f"{name}: p is a probability and must be between 0 and 1",
                operands={"p": p},
                fix="pass a float between 0 and 1",
            )
        self.p = p
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.dropout(input, self.p, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"p={self.p}, inplace={self.inplace}"
