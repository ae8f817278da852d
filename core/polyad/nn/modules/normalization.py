"""Normalisation over features rather than over the batch."""

from __future__ import annotations

from collections.abc import Sequence

from ...arguments import check_dims, check_divisible
from ...base.device import Device
from ...base.dtypes import DType
from ...base.shapes_and_strides import normalize_shape
from ...functions import arange, where
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


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


class RMSNorm(Module):
    """Divides by the root of the mean square over the last dimensions, then scales (Zhang and Sennrich 2019).

    Shapes: input (*, *normalized_shape) -> the same; weight normalized_shape.

    Args:
        normalized_shape: sizes of the last dimensions; a number for the last dimension alone.
        eps: added to the mean square; None for the epsilon of the input's dtype.
        elementwise_affine: whether there is a learnt weight.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.RMSNorm(2)(polyad.tensor([[1.0, 7.0]])).detach()
    tensor([[0.2000, 1.4000]])
    """

    normalized_shape: tuple[int, ...]
    eps: float | None
    elementwise_affine: bool
    weight: Parameter | None

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        shape = normalize_shape((normalized_shape,), type(self).__name__)
        self.normalized_shape = shape
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.register_parameter("weight", uninitialized(shape, device, dtype) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1."""
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(Module):
    """Normalises each group of channels of each element of the batch, then scales and shifts (Wu and He 2018).

    Shapes: input (N, num_channels, *) -> the same; weight and bias (num_channels,).

    Args:
        num_groups: how many groups the channels are split into.
        num_channels: divisible by *num_groups*.
        eps: added to the variance.
        affine: whether there are learnt weight and bias.
        bias: with ``affine``, whether there is a bias.

    Raises:
        ValueError: *num_channels* is not divisible by *num_groups*.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.GroupNorm(1, 2)(polyad.tensor([[1.0, 3.0]])).round(decimals=3).tolist()
    [[-1.0, 1.0]]
    """

    num_groups: int
    num_channels: int
    eps: float
    affine: bool
    weight: Parameter | None
    bias: Parameter | None

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        check_divisible("GroupNorm", "num_channels", num_channels, "num_groups", num_groups)
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self.register_parameter("weight", uninitialized((num_channels,), device, dtype) if affine else None)
        self.register_parameter("bias", uninitialized((num_channels,), device, dtype) if affine and bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set weight to 1 and bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class LocalResponseNorm(Module):
    """Divides by a power of the mean square over neighbouring channels (Krizhevsky et al. 2012).

    Shapes: input (N, C, *) -> the same. The divisor is (k + alpha * mean square) ** beta over *size* channels.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LocalResponseNorm(2)(polyad.zeros(1, 3, 4)).shape
    polyad.Size([1, 3, 4])
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """`LocalResponseNorm` as older models have it: of images (N, C, H, W), with *size* odd and its window centred.

    As in PyTorch, the first channel counts in the windows of all channels behind it.

    Raises:
        ValueError: the input is not 4-d.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CrossMapLRN2d(3)(polyad.zeros(1, 3, 2, 2)).shape
    polyad.Size([1, 3, 2, 2])
    """

    size: int
    alpha: float
    beta: float
    k: float

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        check_tensor(input, type(self).__name__, "input")
        check_dims("CrossMapLRN2d", "input", input, (4,), "pass images (N, C, H, W), or use LocalResponseNorm")
        around, channels = (self.size - 1) // 2, input.shape[1]
        squares = F.pad(input.square(), (0, 0, 0, 0, around, around))
        total = squares[:, :channels]
        for offset in range(1, 2 * around + 1):
            total = total + squares[:, offset : offset + channels]
        beyond = (arange(channels, device=input.device) > around).view(-1, 1, 1)
        total = total + where(beyond, squares[:, around : around + 1], 0)
        result: Tensor = input * (total * (self.alpha / self.size) + self.k).pow(-self.beta)
        return result

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
