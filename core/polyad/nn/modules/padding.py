"""Padding layers: they make the last dimensions larger.

Each takes one number for all sides, or a number before and after each dimension, the last dimension first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from ...arguments import check_dims, check_length
from ...base.kinds import as_ints
from ...errors import ArgumentTypeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import functional as F
from .module import Module

__all__ = [
    "CircularPad1d",
    "CircularPad2d",
    "CircularPad3d",
    "ConstantPad1d",
    "ConstantPad2d",
    "ConstantPad3d",
    "ReflectionPad1d",
    "ReflectionPad2d",
    "ReflectionPad3d",
    "ReplicationPad1d",
    "ReplicationPad2d",
    "ReplicationPad3d",
    "ZeroPad1d",
    "ZeroPad2d",
    "ZeroPad3d",
]


class _Pad(Module):
    """What the padding layers have in common."""

    spatial_dims: ClassVar[int]
    mode: ClassVar[str]

    padding: tuple[int, ...]

    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__()
        name, count = type(self).__name__, 2 * self.spatial_dims
        sides = as_ints(padding if isinstance(padding, (tuple, list)) else (padding,) * count)
        if sides is None:
            raise ArgumentTypeError(
                f"{name}: padding must be an int or {count} of them",
                operands={"padding": padding},
                fix="pass an int for all sides",
            )
        check_length(name, "padding", sides, count, "numbers, before and after each dimension")
        self.padding = sides

    def forward(self, input: Tensor) -> Tensor:
        check_tensor(input, type(self).__name__, "input")
        if self.mode == "circular":
            fits = (self.spatial_dims + 1, self.spatial_dims + 2)
            check_dims(self._get_name(), "input", input, fits, "reshape the input, or use the layer for its rank")
        return F.pad(input, self.padding, self.mode)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class _ConstantPad(_Pad):
    mode = "constant"

    value: float

    def __init__(self, padding: int | Sequence[int], value: float) -> None:
        super().__init__(padding)
        self.value = value

    def forward(self, input: Tensor) -> Tensor:
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self) -> str:
        return f"padding={self.padding}, value={self.value}"


class _ZeroPad(_ConstantPad):
    def __init__(self, padding: int | Sequence[int]) -> None:
        super().__init__(padding, 0.0)

    def extra_repr(self) -> str:
        return f"{self.padding}"


class ConstantPad1d(_ConstantPad):
    """Pads the last dimension with the number *value*.

    Shapes: input (*, W).

    Args:
        padding: the same for all sides, or 2 numbers: before and after W.
        value: what the padding holds.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ConstantPad1d(1, 9.0)(polyad.ones(2)).tolist()
    [9.0, 1.0, 1.0, 9.0]
    """

    spatial_dims = 1


class ConstantPad2d(_ConstantPad):
    """Pads the last two dimensions with the number *value*.

    Shapes: input (*, H, W).

    Args:
        padding: the same for all sides, or 4 numbers: before and after W, then H.
        value: what the padding holds.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ConstantPad2d(1, 9.0)(polyad.zeros(1, 2, 2)).shape
    polyad.Size([1, 4, 4])
    """

    spatial_dims = 2


class ConstantPad3d(_ConstantPad):
    """Pads the last three dimensions with the number *value*.

    Shapes: input (*, D, H, W).

    Args:
        padding: the same for all sides, or 6 numbers: before and after W, then H, then D.
        value: what the padding holds.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ConstantPad3d(1, 9.0)(polyad.zeros(1, 2, 2, 2)).shape
    polyad.Size([1, 4, 4, 4])
    """

    spatial_dims = 3


class ZeroPad1d(_ZeroPad):
    """Pads the last dimension with zeros.

    Shapes: input (*, W).

    Args:
        padding: the same for all sides, or 2 numbers: before and after W.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ZeroPad1d(1)(polyad.ones(2)).tolist()
    [0.0, 1.0, 1.0, 0.0]
    """

    spatial_dims = 1


class ZeroPad2d(_ZeroPad):
    """Pads the last two dimensions with zeros.

    Shapes: input (*, H, W).

    Args:
        padding: the same for all sides, or 4 numbers: before and after W, then H.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ZeroPad2d(1)(polyad.zeros(1, 2, 2)).shape
    polyad.Size([1, 4, 4])
    """

    spatial_dims = 2


class ZeroPad3d(_ZeroPad):
    """Pads the last three dimensions with zeros.

    Shapes: input (*, D, H, W).

    Args:
        padding: the same for all sides, or 6 numbers: before and after W, then H, then D.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ZeroPad3d(1)(polyad.zeros(1, 2, 2, 2)).shape
    polyad.Size([1, 4, 4, 4])
    """

    spatial_dims = 3


class ReflectionPad1d(_Pad):
    """Pads the last dimension with the values mirrored at the edge, which is not repeated; less than its size.

    Shapes: input (N, C, W) or without N.

    Args:
        padding: the same for all sides, or 2 numbers: before and after W.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReflectionPad1d(1)(polyad.tensor([[1.0, 2.0, 3.0]])).tolist()
    [[2.0, 1.0, 2.0, 3.0, 2.0]]
    """

    spatial_dims = 1
    mode = "reflect"


class ReflectionPad2d(_Pad):
    """Pads the last two dimensions with the values mirrored at the edge, which is not repeated; less than its size.

    Shapes: input (N, C, H, W) or without N.

    Args:
        padding: the same for all sides, or 4 numbers: before and after W, then H.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReflectionPad2d(1)(polyad.zeros(1, 2, 2)).shape
    polyad.Size([1, 4, 4])
    """

    spatial_dims = 2
    mode = "reflect"


class ReflectionPad3d(_Pad):
    """Pads the last three dimensions with the values mirrored at the edge, which is not repeated; less than its size.

    Shapes: input (N, C, D, H, W) or without N.

    Args:
        padding: the same for all sides, or 6 numbers: before and after W, then H, then D.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReflectionPad3d(1)(polyad.zeros(1, 2, 2, 2)).shape
    polyad.Size([1, 4, 4, 4])
    """

    spatial_dims = 3
    mode = "reflect"


class ReplicationPad1d(_Pad):
    """Pads the last dimension with the values at the edge.

    Shapes: input (N, C, W) or without N.

    Args:
        padding: the same for all sides, or 2 numbers: before and after W.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReplicationPad1d(1)(polyad.tensor([[1.0, 2.0]])).tolist()
    [[1.0, 1.0, 2.0, 2.0]]
    """

    spatial_dims = 1
    mode = "replicate"


class ReplicationPad2d(_Pad):
    """Pads the last two dimensions with the values at the edge.

    Shapes: input (N, C, H, W) or without N.

    Args:
        padding: the same for all sides, or 4 numbers: before and after W, then H.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReplicationPad2d(1)(polyad.zeros(1, 2, 2)).shape
    polyad.Size([1, 4, 4])
    """

    spatial_dims = 2
    mode = "replicate"


class ReplicationPad3d(_Pad):
    """Pads the last three dimensions with the values at the edge.

    Shapes: input (N, C, D, H, W) or without N.

    Args:
        padding: the same for all sides, or 6 numbers: before and after W, then H, then D.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.ReplicationPad3d(1)(polyad.zeros(1, 2, 2, 2)).shape
    polyad.Size([1, 4, 4, 4])
    """

    spatial_dims = 3
    mode = "replicate"


class CircularPad1d(_Pad):
    """Pads the last dimension with the values from the other end; at most its size.

    Shapes: input (N, C, W) or without N.

    Args:
        padding: the same for all sides, or 2 numbers: before and after W.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CircularPad1d(1)(polyad.tensor([[1.0, 2.0, 3.0]])).tolist()
    [[3.0, 1.0, 2.0, 3.0, 1.0]]
    """

    spatial_dims = 1
    mode = "circular"


class CircularPad2d(_Pad):
    """Pads the last two dimensions with the values from the other end; at most its size.

    Shapes: input (N, C, H, W) or without N.

    Args:
        padding: the same for all sides, or 4 numbers: before and after W, then H.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CircularPad2d(1)(polyad.zeros(1, 2, 2)).shape
    polyad.Size([1, 4, 4])
    """

    spatial_dims = 2
    mode = "circular"


class CircularPad3d(_Pad):
    """Pads the last three dimensions with the values from the other end; at most its size.

    Shapes: input (N, C, D, H, W) or without N.

    Args:
        padding: the same for all sides, or 6 numbers: before and after W, then H, then D.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CircularPad3d(1)(polyad.zeros(1, 2, 2, 2)).shape
    polyad.Size([1, 4, 4, 4])
    """

    spatial_dims = 3
    mode = "circular"
