"""Fourier transforms, and what goes with them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

import polyad
from polyad import Tensor
from polyad.errors import ShapeError

from ..elements import element_type
from ..operators import Compute, Node, operator

__all__: list[str] = []


def _as_complex(x: Tensor) -> Tensor:
    """Numbers whose parts are in the last dimension, or which have one part."""
    if x.shape[-1] == 2:
        return polyad.view_as_complex(x.contiguous())
    if x.shape[-1] == 1:
        return polyad.complex(x[..., 0], polyad.zeros_like(x[..., 0]))
    raise ShapeError(
        "DFT: the last dimension has neither one nor two parts", operands={"input": x}, fix="make it 1 or 2"
    )


@operator("DFT", host=(1, 2))
def dft(node: Node) -> Compute:
    fixed, inverse = node.integer("axis", 1), bool(node.integer("inverse", 0))
    one_sided = bool(node.integer("onesided", 0))
    default = fixed if node.version < 20 else -2

    def call(x: Tensor, length: Any = None, axis: Any = (default,)) -> Tensor:
        length, axis = None if length is None else length[0], axis[0]
        dtype, dim = x.dtype, axis % x.ndim
        wide = x.to(polyad.float32) if x.dtype.itemsize < 4 else x
        if inverse and one_sided:
            made = polyad.fft.irfft(_as_complex(wide), length, dim).unsqueeze(-1)
            return made.to(dtype)
        transform: Any = polyad.fft.ifft if inverse else polyad.fft.fft
        made = transform(_as_complex(wide), length, dim)
        if one_sided:
            made = made.narrow(dim, 0, made.shape[dim] // 2 + 1)
        return polyad.view_as_real(made).to(dtype)

    return call


@operator("STFT", host=(1, 3))
def stft(node: Node) -> Compute:
    one_sided = bool(node.integer("onesided", 1))

    def call(signal: Tensor, step: Any, window: Tensor | None = None, length: Any = None) -> Tensor:
        step, length = step[0], None if length is None else length[0]
        if window is None and length is None:
            raise ShapeError("STFT: neither a window nor a length of frames is given", fix="give one of them")
        size = length or cast(Tensor, window).shape[0]
        frames = (signal if signal.ndim == 3 else signal.unsqueeze(-1)).unfold(1, size, step).transpose(2, 3)
        if window is not None:
            frames = frames * window[:, None]
        made = polyad.fft.fft(_as_complex(frames), dim=2)
        if one_sided:
            made = made.narrow(2, 0, size // 2 + 1)
        return polyad.view_as_real(made)

    return call


@operator("MelWeightMatrix", host=(-1,))
def mel_weight_matrix(node: Node) -> Compute:
    dtype = element_type(node.integer("output_datatype", 1), "MelWeightMatrix").dtype

    def call(*given: Any) -> Tensor:
        bins, length, rate, low, high = (each[0] for each in given)
        count = length // 2 + 1
        mels = 2595 * np.log10(1 + low / 700) + np.arange(bins + 2) * (
            (2595 * np.log10(1 + high / 700) - 2595 * np.log10(1 + low / 700)) / (bins + 2)
        )
        edges = ((length + 1) * (700 * (10 ** (mels / 2595) - 1)) // rate).astype(np.int64)
        made = np.zeros((count, bins))
        for index in range(bins):
            left, centre, right = edges[index : index + 3]
            if centre == left:
                made[centre, index] = 1
            else:
                rising = np.arange(left, centre + 1)
                made[rising, index] = (rising - left) / (centre - left)
            if right > centre:
                falling = np.arange(centre, right)
                made[falling, index] = (right - falling) / (right - centre)
        return polyad.from_numpy(made).to(device=node.device, dtype=dtype)

    return call
