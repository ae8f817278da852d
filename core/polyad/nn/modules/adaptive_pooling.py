"""Pooling over windows whose place follows from the result's size, and power means.

What each computes, and what raises, is documented with its functional form in `polyad.nn.functional`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from ...arguments import check_either
from ...errors import ArgumentError
from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    "LPPool1d",
    "LPPool2d",
    "LPPool3d",
]


PerAxis = int | tuple[int, ...]


class _LPPool(Module):
    """What the layers of power means have in common."""

    _functional: ClassVar[str]
    """The name of the function that computes it."""

    def __init__(
        self, norm_type: float, kernel_size: PerAxis, stride: PerAxis | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def forward(self, input: Tensor) -> Tensor:
        pool = getattr(F, self._functional)
        result: Tensor = pool(input, self.norm_type, self.kernel_size, self.stride, self.ceil_mode)
        return result

    def extra_repr(self) -> str:
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPool):
    """The p-norm of each window: the sum of x ** p, to the power 1 / p.

    Shapes: as `MaxPool1d` without padding and dilation.

    Args:
        norm_type: p; 1 gives sums.
        kernel_size: of the window, a number.
        stride: step of the window; the kernel size by default.
        ceil_mode: also use windows that reach over the edge.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LPPool1d(1, 2)(polyad.ones(1, 1, 2)).flatten().tolist()
    [2.0]
    """

    _functional = "lp_pool1d"


class LPPool2d(_LPPool):
    """The p-norm of each window: the sum of x ** p, to the power 1 / p.

    Shapes: as `MaxPool2d` without padding and dilation.

    Args:
        norm_type: p; 1 gives sums.
        kernel_size: of the window, a number, or (height, width).
        stride: step of the window; the kernel size by default.
        ceil_mode: also use windows that reach over the edge.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LPPool2d(1, 2)(polyad.ones(1, 1, 2, 2)).flatten().tolist()
    [4.0]
    """

    _functional = "lp_pool2d"


class LPPool3d(_LPPool):
    """The p-norm of each window: the sum of x ** p, to the power 1 / p.

    Shapes: as `MaxPool3d` without padding and dilation.

    Args:
        norm_type: p; 1 gives sums.
        kernel_size: of the window, a number, or (depth, height, width).
        stride: step of the window; the kernel size by default.
        ceil_mode: also use windows that reach over the edge.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.LPPool3d(1, 2)(polyad.ones(1, 1, 2, 2, 2)).flatten().tolist()
    [8.0]
    """

    _functional = "lp_pool3d"


class _FractionalMaxPool(Module):
    """What the layers of fractional pooling have in common."""

    spatial_dims: ClassVar[int]
    _functional: ClassVar[str]

    def __init__(
        self,
        kernel_size: PerAxis,
        output_size: PerAxis | None = None,
        output_ratio: float | Sequence[float] | None = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        name, count = type(self).__name__, self.spatial_dims
        check_either(name, output_size=output_size, output_ratio=output_ratio)
        self.kernel_size = _each(kernel_size, count)
        self.return_indices = return_indices
        self.output_size = None if output_size is None else _each(output_size, count)
        self.output_ratio = None if output_ratio is None else _each(output_ratio, count)
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ArgumentError(
                f"{name}: output_ratio must be between 0 and 1",
                operands={"output_ratio": output_ratio},
                fix="choose smaller ratios",
            )
        self.register_buffer("_random_samples", _random_samples)

    def forward(self, input: Tensor) -> Any:
        pool, sizes = getattr(F, self._functional), (self.output_size, self.output_ratio)
        return pool(input, self.kernel_size, *sizes, self.return_indices, _random_samples=self._random_samples)


def _each(value: Any, count: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, Sequence) else (value,) * count


class FractionalMaxPool2d(_FractionalMaxPool):
    """The largest value of each of windows that are placed at random so that they give *output_size* (Graham 2014).

    Shapes: input (N, C, H, W) or (C, H, W) -> the same with output_size.

    Args:
        kernel_size: of the windows, a number, or (height, width).
        output_size: size of the result; or
        output_ratio: the result's size as a part of the input's, between 0 and 1.
        return_indices: also return where in the flattened last dimensions each maximum was.

    Raises:
        ValueError: neither or both of *output_size* and *output_ratio* are given, or the ratio is outside of (0, 1).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.FractionalMaxPool2d(2, output_size=3)(polyad.ones(1, 1, 7, 7)).shape
    polyad.Size([1, 1, 3, 3])
    """

    spatial_dims = 2
    _functional = "fractional_max_pool2d"


class FractionalMaxPool3d(_FractionalMaxPool):
    """The largest value of each of windows that are placed at random so that they give *output_size* (Graham 2014).

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with output_size.

    Args:
        kernel_size: of the windows, a number, or (depth, height, width).
        output_size: size of the result; or
        output_ratio: the result's size as a part of the input's, between 0 and 1.
        return_indices: also return where in the flattened last dimensions each maximum was.

    Raises:
        ValueError: neither or both of *output_size* and *output_ratio* are given, or the ratio is outside of (0, 1).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.FractionalMaxPool3d(2, output_size=3)(polyad.ones(1, 1, 7, 7, 7)).shape
    polyad.Size([1, 1, 3, 3, 3])
    """

    spatial_dims = 3
    _functional = "fractional_max_pool3d"


class _Adaptive(Module):
    """What the adaptive layers have in common."""

    _functional: ClassVar[str]

    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._functional)(input, self.output_size)

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_Adaptive):
    """The mean of each of as many windows as *output_size* says, spread over the whole input.

    Shapes: input (N, C, L) or (C, L) -> the same with output_size.

    Args:
        output_size: size of the result, a number.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AdaptiveAvgPool1d(3)(polyad.ones(1, 2, 7)).shape
    polyad.Size([1, 2, 3])
    """

    _functional = "adaptive_avg_pool1d"


class AdaptiveAvgPool2d(_Adaptive):
    """The mean of each of as many windows as *output_size* says, spread over the whole input.

    Shapes: input (N, C, H, W) or (C, H, W) -> the same with output_size.

    Args:
        output_size: size of the result, a number, or 2 of them, None for the size that the input has.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AdaptiveAvgPool2d(3)(polyad.ones(1, 2, 7, 7)).shape
    polyad.Size([1, 2, 3, 3])
    """

    _functional = "adaptive_avg_pool2d"


class AdaptiveAvgPool3d(_Adaptive):
    """The mean of each of as many windows as *output_size* says, spread over the whole input.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with output_size.

    Args:
        output_size: size of the result, a number, or 3 of them, None for the size that the input has.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AdaptiveAvgPool3d(3)(polyad.ones(1, 2, 7, 7, 7)).shape
    polyad.Size([1, 2, 3, 3, 3])
    """

    _functional = "adaptive_avg_pool3d"


class _AdaptiveMax(_Adaptive):
    """What the adaptive layers of maxima have in common."""

    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input: Tensor) -> Any:
        return getattr(F, self._functional)(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMax):
    """The largest value of each of as many windows as *output_size* says, spread over the whole input.

    Shapes: input (N, C, L) or (C, L) -> the same with output_size.

    Args:
        output_size: size of the result, a number.
        return_indices: also return where in the flattened last dimensions each maximum was.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AdaptiveMaxPool1d(3)(polyad.ones(1, 2, 7)).shape
    polyad.Size([1, 2, 3])
    """

    _functional = "adaptive_max_pool1d"


class AdaptiveMaxPool2d(_AdaptiveMax):
    """The largest value of each of as many windows as *output_size* says, spread over the whole input.

    Shapes: input (N, C, H, W) or (C, H, W) -> the same with output_size.

    Args:
        output_size: size of the result, a number, or 2 of them, None for the size that the input has.
        return_indices: also return where in the flattened last dimensions each maximum was.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AdaptiveMaxPool2d(3)(polyad.ones(1, 2, 7, 7)).shape
    polyad.Size([1, 2, 3, 3])
    """

    _functional = "adaptive_max_pool2d"


class AdaptiveMaxPool3d(_AdaptiveMax):
    """The largest value of each of as many windows as *output_size* says, spread over the whole input.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with output_size.

    Args:
        output_size: size of the result, a number, or 3 of them, None for the size that the input has.
        return_indices: also return where in the flattened last dimensions each maximum was.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.AdaptiveMaxPool3d(3)(polyad.ones(1, 2, 7, 7, 7)).shape
    polyad.Size([1, 2, 3, 3, 3])
    """

    _functional = "adaptive_max_pool3d"
