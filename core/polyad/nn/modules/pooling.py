"""Pooling over windows of images."""

from __future__ import annotations

from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["AvgPool2d", "MaxPool2d"]

IntOrPair = int | tuple[int, int]


class MaxPool2d(Module):
    """The largest value of each window.

    Shapes: input (N, C, H, W) or (C, H, W) -> the same with
    H_out = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1, and W likewise; *ceil_mode* rounds up.

    Args:
        kernel_size: of the window, a number or (height, width).
        stride: step of the window; the kernel size by default.
        padding: rows and columns of -inf around the image; at most half the kernel size.
        dilation: distance between the elements of a window.
        return_indices: also return where in the flattened image each maximum was.
        ceil_mode: also use windows that reach over the edge.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MaxPool2d(2)(polyad.zeros(1, 3, 8, 6)).shape
    polyad.Size([1, 3, 4, 3])
    """

    def __init__(
        self,
        kernel_size: IntOrPair,
        stride: IntOrPair | None = None,
        padding: IntOrPair = 0,
        dilation: IntOrPair = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Any:
        return F.max_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class AvgPool2d(Module):
    """The mean of each window.

    Shapes: as `MaxPool2d` without dilation.

    Args:
        kernel_size: of the window, a number or (height, width).
        stride: step of the window; the kernel size by default.
        padding: rows and columns of zeros around the image.
        ceil_mode: also use windows that reach over the edge.
        count_include_pad: whether the zeros of the padding count in the mean.
        divisor_override: divide by this instead of the number of elements.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AvgPool2d(2)(polyad.ones(1, 1, 2, 2)).tolist()
    [[[[1.0]]]]
    """

    def __init__(
        self,
        kernel_size: IntOrPair,
        stride: IntOrPair | None = None,
        padding: IntOrPair = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool2d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"
