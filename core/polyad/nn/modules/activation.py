"""Layers without parameters that apply a function elementwise or along a dimension."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .attention import MultiheadAttention
from .module import Module

__all__ = ["GELU", "LogSoftmax", "MultiheadAttention", "ReLU", "SiLU", "Sigmoid", "Softmax", "Tanh"]


class ReLU(Module):
    """max(0, x), elementwise. With *inplace* the input itself is overwritten.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReLU()(polyad.tensor([-1.0, 2.0])).tolist()
    [0.0, 2.0]
    """

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class SiLU(Module):
    """x * sigmoid(x), elementwise (Elfwing et al. 2018). With *inplace* the input itself is overwritten.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.SiLU()(polyad.zeros(2)).tolist()
    [0.0, 0.0]
    """

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, self.inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class Sigmoid(Module):
    """1 / (1 + exp(-x)), elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Sigmoid()(polyad.zeros(2)).tolist()
    [0.5, 0.5]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent, elementwise.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Tanh()(polyad.zeros(2)).tolist()
    [0.0, 0.0]
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanh(input)


class GELU(Module):
    """x * P(X <= x) for a standard normal X, elementwise (Hendrycks and Gimpel 2016).

    Args:
        approximate: ``"none"``, or ``"tanh"`` for the formula that replaces the error function by a tanh.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.GELU()(polyad.zeros(2)).tolist()
    [0.0, 0.0]
    """

    approximate: str

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class Softmax(Module):
    """exp(x) divided by its sum along *dim*, so that the results along it are positive and add up to 1.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Softmax(dim=1)(polyad.zeros(1, 4)).tolist()
    [[0.25, 0.25, 0.25, 0.25]]
    """

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class LogSoftmax(Module):
    """The logarithm of `Softmax` along *dim*, computed without overflow.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LogSoftmax(dim=0)(polyad.zeros(1)).tolist()
    [0.0]
    """

    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
