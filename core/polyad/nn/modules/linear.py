"""Layers that multiply by a matrix, and the layer that does nothing."""

from __future__ import annotations

import math
from typing import Any

from ...base.device import Device
from ...base.dtypes import DType
from ...base.kinds import Positive
from ...tensor import Tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["Bilinear", "Identity", "Linear", "NonDynamicallyQuantizableLinear"]


class Identity(Module):
    """Returns its input; takes and ignores any arguments, so that it can stand in for another layer.

    >>> from polyad import nn
    >>> nn.Identity(54, unused=True)(3)
    3
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__()

    def forward(self, input: Any) -> Any:
        """Return *input* itself."""
        return input


class Linear(Module):
    """Affine map of the last dimension: ``input @ weight.T + bias``.

    Shapes: input (*, in_features) -> (*, out_features); weight (out_features, in_features); bias (out_features,).

    Weight and bias start uniform in +-1/sqrt(in_features) (He et al. 2015 with a = sqrt(5)).

    Args:
        in_features: size of the input's last dimension.
        out_features: size of the result's last dimension.
        bias: whether to add a learnt vector.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Linear(20, 30)(polyad.zeros(128, 20)).shape
    polyad.Size([128, 30])
    """

    in_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = uninitialized((out_features, in_features), device, dtype)
        if bias:
            self.bias = uninitialized((out_features,), device, dtype)
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            init.uniform_fan_in_(self.bias, self.weight)

    def forward(self, input: Tensor) -> Tensor:
        """Map *input* (*, in_features) to (*, out_features)."""
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"

    def _describe(self) -> str:
        return f"{self._get_name()} {self.in_features} -> {self.out_features}"


class NonDynamicallyQuantizableLinear(Linear):
    """A `Linear` under the name that it has in `MultiheadAttention`."""


class Bilinear(Module):
    """Bilinear map of two inputs: ``input1 @ weight[k] @ input2 + bias[k]`` for each result feature k.

    Shapes: input1 (*, in1_features), input2 (*, in2_features) -> (*, out_features); weight (out_features, in1_features,
    in2_features); bias (out_features,). Both start uniform in +-1/sqrt(in1_features).

    Raises:
        ValueError: *in1_features* is not positive.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Bilinear(2, 3, 4)(polyad.zeros(5, 2), polyad.zeros(5, 3)).shape
    polyad.Size([5, 4])
    """

    in1_features: int
    in2_features: int
    out_features: int
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in1_features: Positive,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = uninitialized((out_features, in1_features, in2_features), device, dtype)
        self.register_parameter("bias", uninitialized((out_features,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw weight and bias anew."""
        bound = 1 / math.sqrt(self.weight.shape[1])
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )
