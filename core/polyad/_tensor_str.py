"""What code for PyTorch asks of its module of this name: how tensors print, without their frame."""

from __future__ import annotations

from typing import Any

from .interop import printing
from .tensor import Tensor

__all__: list[str] = []


def _tensor_str(self: Tensor, indent: int) -> str:
    """The elements of a tensor in brackets; lines after the first begin with *indent* spaces.

    >>> import polyad
    >>> from polyad._tensor_str import _tensor_str
    >>> print(_tensor_str(polyad.ones(2, 2), 1))
    [[1., 1.],
      [1., 1.]]
    """
    return printing.elements_text(self, indent)


def __getattr__(name: str) -> Any:
    if name == "PRINT_OPTS":
        return printing.options  # another object after each set_printoptions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
