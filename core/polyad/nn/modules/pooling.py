"""Pooling over windows: maxima, means, and the way back from maxima.

What each computes, and what raises, is documented with its functional form in `polyad.nn.functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = [
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "MaxUnpool1d",
    "MaxUnpool2d",
    "MaxUnpool3d",
]


PerAxis = int | tuple[int, ...]


class _Pool(Module):
    """What the layers have in common."""

    _functional: ClassVar[str]
    """The name of the function that computes it."""

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class _MaxPoolNd(_Pool):
    """What the layers of maxima have in common."""

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        dilation: PerAxis = 1,
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
        pool, windows = getattr(F, self._functional), (self.kernel_size, self.stride, self.padding, self.dilation)
        return pool(input, *windows, ceil_mode=self.ceil_mode, return_indices=self.return_indices)

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, dilation={self.dilation}, ceil_mode={self.ceil_mode}"


class MaxPool1d(_MaxPoolNd):
    """The largest value of each window.

    Shapes: input (N, C, L) or (C, L) -> the same with
    L_out = (L + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1. *ceil_mode* rounds up.

    Args:
        kernel_size: of the window, a number.
        stride: step of the window; the kernel size by default.
        padding: places of -inf around the input; at most half the kernel size.
        dilation: distance between the elements of a window.
        return_indices: also return where in the flattened last dimensions each maximum was.
        ceil_mode: also use windows that reach over the edge.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MaxPool1d(2)(polyad.zeros(1, 3, 8)).shape
    polyad.Size([1, 3, 4])
    """

    _functional = "max_pool1d"


class MaxPool2d(_MaxPoolNd):
    """The largest value of each window.

    Shapes: input (N, C, H, W) or (C, H, W) -> the same with
    H_out = (H + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; W likewise. *ceil_mode* rounds up.

    Args:
        kernel_size: of the window, a number, or (height, width).
        stride: step of the window; the kernel size by default.
        padding: places of -inf around the input; at most half the kernel size.
        dilation: distance between the elements of a window.
        return_indices: also return where in the flattened last dimensions each maximum was.
        ceil_mode: also use windows that reach over the edge.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MaxPool2d(2)(polyad.zeros(1, 3, 8, 6)).shape
    polyad.Size([1, 3, 4, 3])
    """

    _functional = "max_pool2d"


class MaxPool3d(_MaxPoolNd):
    """The largest value of each window.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with
    D_out = (D + 2 * padding - dilation * (kernel_size - 1) - 1) // stride + 1; H and W likewise. *ceil_mode* rounds up.

    Args:
        kernel_size: of the window, a number, or (depth, height, width).
        stride: step of the window; the kernel size by default.
        padding: places of -inf around the input; at most half the kernel size.
        dilation: distance between the elements of a window.
        return_indices: also return where in the flattened last dimensions each maximum was.
        ceil_mode: also use windows that reach over the edge.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.MaxPool3d(2)(polyad.zeros(1, 3, 4, 8, 6)).shape
    polyad.Size([1, 3, 2, 4, 3])
    """

    _functional = "max_pool3d"


class _MaxUnpoolNd(_Pool):
    """What the layers that undo pooling have in common."""

    spatial_dims: ClassVar[int]

    kernel_size: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]

    def __init__(self, kernel_size: PerAxis, stride: PerAxis | None = None, padding: PerAxis = 0) -> None:
        super().__init__()
        self.kernel_size = _each(kernel_size, self.spatial_dims)
        self.stride = _each(stride if stride is not None else kernel_size, self.spatial_dims)
        self.padding = _each(padding, self.spatial_dims)

    def forward(self, input: Tensor, indices: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        unpool = getattr(F, self._functional)
        result: Tensor = unpool(input, indices, self.kernel_size, self.stride, self.padding, output_size)
        return result


def _each(value: PerAxis, count: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * count


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts the maxima that `MaxPool1d` took back to where they were, and zeros elsewhere.

    Shapes: input and indices (N, C, L) or (C, L), as `MaxPool1d` with ``return_indices`` gave them.

    Args:
        kernel_size, stride, padding: those of the pooling.

    ``forward`` takes *output_size* besides, the size before the pooling, where several sizes have the same result.

    >>> import polyad
    >>> from polyad import nn
    >>> maxima, places = nn.MaxPool1d(2, return_indices=True)(polyad.ones(1, 1, 4))
    >>> nn.MaxUnpool1d(2)(maxima, places).shape
    polyad.Size([1, 1, 4])
    """

    spatial_dims = 1
    _functional = "max_unpool1d"


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts the maxima that `MaxPool2d` took back to where they were, and zeros elsewhere.

    Shapes: input and indices (N, C, H, W) or (C, H, W), as `MaxPool2d` with ``return_indices`` gave them.

    Args:
        kernel_size, stride, padding: those of the pooling.

    ``forward`` takes *output_size* besides, the size before the pooling, where several sizes have the same result.

    >>> import polyad
    >>> from polyad import nn
    >>> maxima, places = nn.MaxPool2d(2, return_indices=True)(polyad.ones(1, 1, 4, 4))
    >>> nn.MaxUnpool2d(2)(maxima, places).shape
    polyad.Size([1, 1, 4, 4])
    """

    spatial_dims = 2
    _functional = "max_unpool2d"


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts the maxima that `MaxPool3d` took back to where they were, and zeros elsewhere.

    Shapes: input and indices (N, C, D, H, W) or (C, D, H, W), as `MaxPool3d` with ``return_indices`` gave them.

    Args:
        kernel_size, stride, padding: those of the pooling.

    ``forward`` takes *output_size* besides, the size before the pooling, where several sizes have the same result.

    >>> import polyad
    >>> from polyad import nn
    >>> maxima, places = nn.MaxPool3d(2, return_indices=True)(polyad.ones(1, 1, 4, 4, 4))
    >>> nn.MaxUnpool3d(2)(maxima, places).shape
    polyad.Size([1, 1, 4, 4, 4])
    """

    spatial_dims = 3
    _functional = "max_unpool3d"


class AvgPool1d(_Pool):
    """The mean of each window.

    Shapes: as `MaxPool1d` without dilation.

    Args:
        kernel_size: of the window, a number.
        stride: step of the window; the kernel size by default.
        padding: places of zeros around the input; at most half the kernel size.
        ceil_mode: also use windows that reach over the edge.
        count_include_pad: whether the zeros of the padding count in the mean.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AvgPool1d(2)(polyad.ones(1, 1, 2)).flatten().tolist()
    [1.0]
    """

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = _each(kernel_size, 1)
        self.stride = _each(stride if stride is not None else kernel_size, 1)
        self.padding = _each(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class _AvgPoolNd(_Pool):
    """What the layers of means over several dimensions have in common."""

    def __init__(
        self,
        kernel_size: PerAxis,
        stride: PerAxis | None = None,
        padding: PerAxis = 0,
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
        pool, windows = getattr(F, self._functional), (self.kernel_size, self.stride, self.padding)
        result: Tensor = pool(input, *windows, self.ceil_mode, self.count_include_pad, self.divisor_override)
        return result


class AvgPool2d(_AvgPoolNd):
    """The mean of each window.

    Shapes: as `MaxPool2d` without dilation.

    Args:
        kernel_size: of the window, a number, or (height, width).
        stride: step of the window; the kernel size by default.
        padding: places of zeros around the input; at most half the kernel size.
        ceil_mode: also use windows that reach over the edge.
        count_include_pad: whether the zeros of the padding count in the mean.
        divisor_override: divide by this instead of the number of elements.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AvgPool2d(2)(polyad.ones(1, 1, 2, 2)).flatten().tolist()
    [1.0]
    """

    _functional = "avg_pool2d"


class AvgPool3d(_AvgPoolNd):
    """The mean of each window.

    Shapes: as `MaxPool3d` without dilation.

    Args:
        kernel_size: of the window, a number, or (depth, height, width).
        stride: step of the window; the kernel size by default.
        padding: places of zeros around the input; at most half the kernel size.
        ceil_mode: also use windows that reach over the edge.
        count_include_pad: whether the zeros of the padding count in the mean.
        divisor_override: divide by this instead of the number of elements.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AvgPool3d(2)(polyad.ones(1, 1, 2, 2, 2)).flatten().tolist()
    [1.0]
    """

    _functional = "avg_pool3d"
