"""Windows of images as columns, and back."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Fold", "Unfold"]

PerAxis = int | tuple[int, ...]


class Unfold(Module):
    """The windows of images (N, C, H, W), each as a column: (N, C * window, number of windows).

    Args:
        kernel_size: of the window, a number or (height, width); so are the others.
        dilation: distance between the elements of a window.
        padding: zeros around the image.
        stride: step of the window.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Unfold(2)(polyad.zeros(1, 3, 4, 5)).shape
    polyad.Size([1, 12, 12])
    """

    def __init__(self, kernel_size: PerAxis, dilation: PerAxis = 1, padding: PerAxis = 0, stride: PerAxis = 1) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, dilation={self.dilation}, padding={self.padding}, stride={self.stride}"


class Fold(Module):
    """Images from windows as `Unfold` gives them, added up where they overlap.

    Args:
        output_size: height and width of the images.
        kernel_size, dilation, padding, stride: as in `Unfold`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Fold((4, 5), 2)(polyad.ones(1, 12, 12)).shape
    polyad.Size([1, 3, 4, 5])
    """

    def __init__(
        self,
        output_size: PerAxis,
        kernel_size: PerAxis,
        dilation: PerAxis = 1,
        padding: PerAxis = 0,
        stride: PerAxis = 1,
    ) -> None:
        super().__init__()
        self.output_size = output_size
        self.kernel_size = kernel_size
        self.dilation = dilation
        self.padding = padding
        self.stride = stride

    def forward(self, input: Tensor) -> Tensor:
        return F.fold(input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self) -> str:
        return (
            f"output_size={self.output_size}, kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )
