"""Weights of convolutions laid out as their inputs are, for backends that compute faster so."""

from __future__ import annotations

from typing import TypeVar

from ...arguments import explain
from ...base.memory_formats import MemoryFormat
from ..modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from ..modules.module import Module, require_module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def convert_conv2d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Lay out the weights of all 2-d convolutions in *module* in *memory_format*. Returns *module*.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.utils.convert_conv2d_weight_memory_format(nn.Conv2d(8, 4, 2), polyad.channels_last)
    >>> layer.weight.is_contiguous(memory_format=polyad.channels_last)
    True
    """
    return _converted(module, memory_format, (Conv2d, ConvTranspose2d))


def convert_conv3d_weight_memory_format(module: M, memory_format: MemoryFormat) -> M:
    """Lay out the weights of all 3-d convolutions in *module* in *memory_format*. Returns *module*."""
    return _converted(module, memory_format, (Conv3d, ConvTranspose3d))


def _converted(module: M, memory_format: MemoryFormat, layers: tuple[type[Module], ...]) -> M:
    require_module("convert_conv_weight_memory_format", module)
    for part in module.modules():
        if isinstance(part, layers):
            weight = part.weight
            weight.data = weight.detach().clone(memory_format=memory_format)
    return module


explain(globals())
