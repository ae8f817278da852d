"""Channels exchanged for places, and back."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["PixelShuffle", "PixelUnshuffle"]


class PixelShuffle(Module):
    """Rearranges (*, C r^2, H, W) as (*, C, H r, W r), r being *upscale_factor* (Shi et al. 2016).

    >>> import polyad
    >>> from polyad import nn
    >>> nn.PixelShuffle(2)(polyad.zeros(1, 8, 3, 3)).shape
    polyad.Size([1, 2, 6, 6])
    """

    upscale_factor: int

    def __init__(self, upscale_factor: int) -> None:
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_shuffle(input, self.upscale_factor)

    def extra_repr(self) -> str:
        return f"upscale_factor={self.upscale_factor}"


class PixelUnshuffle(Module):
    """Undoes `PixelShuffle`: (*, C, H r, W r) as (*, C r^2, H, W), r being *downscale_factor*.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.PixelUnshuffle(2)(polyad.zeros(1, 2, 6, 6)).shape
    polyad.Size([1, 8, 3, 3])
    """

    downscale_factor: int

    def __init__(self, downscale_factor: int) -> None:
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input: Tensor) -> Tensor:
        return F.pixel_unshuffle(input, self.downscale_factor)

    def extra_repr(self) -> str:
        return f"downscale_factor={self.downscale_factor}"
