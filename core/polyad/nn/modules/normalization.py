"""Normalisation over features rather than over the batch."""

from __future__ import annotations

from collections.abc import Sequence

from ...device import Device
from ...dtypes import DType
from ...layout import normalize_shape
from ...tensor import Tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["LayerNorm"]


class LayerNorm(Module):
    """Normalises over the last dimensions to mean 0 and variance 1, then scales and shifts (Ba et al. 2016).

    Shapes: input (*, *normalized_shape) -> the same; weight and bias normalized_shape.

    Args:
        normalized_shape: sizes of the last dimensions; a number for the last dimension alone.
        eps: added to the variance.
        elementwise_affine: whether there are learnt weight and bias.
        bias: with ``elementwise_affine``, whether there is a bias.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LayerNorm(2)(polyad.tensor([[1.0, 3.0]])).round(decimals=3).tolist()
    [[-1.0, 1.0]]
    """

    normalized_shape: tuple[int, ...]
    eps: float
    elementwise_affine: bool
    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        shape = normalize_shape((normalized_shape,), type(self).__name__)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", uninitialized(shape, device, dtype) if elementwise_affine else None)
        self.register_parameter("bias", uninitialized(shape, device, dtype) if elementwise_affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )
