"""Layers that change the size of sequences, images and volumes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["Upsample", "UpsamplingBilinear2d", "UpsamplingNearest2d"]


class Upsample(Module):
    """Makes sequences, images or volumes (N, C, *) larger or smaller by interpolation.

    Args:
        size: the new size of the last dimensions; or
        scale_factor: by what to multiply it, a number or one for each dimension.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"bicubic"`` or ``"trilinear"``.
        align_corners: whether the corners' centres stay in place; None leaves it to the mode.
        recompute_scale_factor: use the factor that follows from the rounded size.

    Raises:
        ValueError: by forward: neither or both of *size* and *scale_factor* are given.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Upsample(scale_factor=2)(polyad.tensor([[[1.0, 2.0]]])).tolist()
    [[[1.0, 1.0, 2.0, 2.0]]]
    """

    name: str
    size: Any
    scale_factor: Any
    mode: str
    align_corners: bool | None
    recompute_scale_factor: bool | None

    def __init__(
        self,
        size: int | tuple[int, ...] | None = None,
        scale_factor: float | tuple[float, ...] | None = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
    ) -> None:
        super().__init__()
        self.name = type(self).__name__
        self.size = size
        if isinstance(scale_factor, Sequence):
            self.scale_factor = tuple(float(factor) for factor in scale_factor)
        else:
            self.scale_factor = float(scale_factor) if scale_factor else None
        self.mode = mode
        self.align_corners = align_corners
        self.recompute_scale_factor = recompute_scale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.interpolate(
            input,
            self.size,
            self.scale_factor,
            self.mode,
            self.align_corners,
            recompute_scale_factor=self.recompute_scale_factor,
        )

    def extra_repr(self) -> str:
        how = f"size={self.size}" if self.scale_factor is None else f"scale_factor={self.scale_factor}"
        return f"{how}, mode={self.mode!r}"


class UpsamplingNearest2d(Upsample):
    """`Upsample` of images with ``mode="nearest"``.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.UpsamplingNearest2d(scale_factor=2)(polyad.ones(1, 1, 1, 1)).tolist()
    [[[[1.0, 1.0], [1.0, 1.0]]]]
    """

    def __init__(
        self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="nearest")


class UpsamplingBilinear2d(Upsample):
    """`Upsample` of images with ``mode="bilinear"`` and ``align_corners=True``.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.UpsamplingBilinear2d(size=3)(polyad.tensor([[[[0.0, 1.0]]]])).flatten().tolist()[:3]
    [0.0, 0.5, 1.0]
    """

    def __init__(
        self, size: int | tuple[int, int] | None = None, scale_factor: float | tuple[float, float] | None = None
    ) -> None:
        super().__init__(size, scale_factor, mode="bilinear", align_corners=True)
