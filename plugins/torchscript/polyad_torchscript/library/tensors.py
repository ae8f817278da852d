"""Functions of `polyad` as programs, whose arguments are not those of PyTorch's operators."""

from __future__ import annotations

import polyad as torch
from polyad import Tensor, dtype as dtype_

__all__ = ["FUNCTIONS"]


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    return torch.stft(
        input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex,
        align_to_window,
    )  # fmt: skip


def split(tensor: Tensor, split_size_or_sections: int | list[int], dim: int = 0) -> list[Tensor]:
    if isinstance(split_size_or_sections, int):
        return torch.split(tensor, split_size_or_sections, dim)
    return torch.split_with_sizes(tensor, split_size_or_sections, dim)


def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: int | list[int] | None = None,
    keepdim: bool = False,
    dtype: dtype_ | None = None,
) -> Tensor:
    dims: list[int] | None = None
    if isinstance(dim, int):
        dims = [dim]
    elif isinstance(dim, list):
        dims = dim
    order = 2.0
    if isinstance(p, str):
        if p == "nuc":
            return torch.linalg_matrix_norm(input, "nuc", [-2, -1] if dims is None else dims, keepdim, dtype=dtype)
        if p != "fro":
            raise RuntimeError(f"only valid string values are 'fro' and 'nuc', found {p}")
    elif isinstance(p, float):
        order = p
    return torch.linalg_vector_norm(input, order, dims, keepdim, dtype=dtype)


def tensordot(a: Tensor, b: Tensor, dims: int | list[list[int]] = 2) -> Tensor:
    if isinstance(dims, int):
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        return torch.tensordot(a, b, list(range(a.dim() - dims, a.dim())), list(range(dims)))
    return torch.tensordot(a, b, dims[0], dims[1])


FUNCTIONS = (stft, split, norm, tensordot)
"""The functions."""
