"""Functions of images of `polyad.nn.functional` as programs: windows, sizes, grids, and poolings beside the usual ones.

Those in `WITH_INDICES` give a pair if they are called with ``return_indices=True``.
"""

from __future__ import annotations

from typing import Any

import polyad as torch
from polyad import Tensor
from polyad.jit.annotations import BroadcastingList1, BroadcastingList2, BroadcastingList3

__all__ = ["FUNCTIONS", "WITH_INDICES"]


def unfold(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return torch.im2col(input, kernel_size, dilation, padding, stride)


def fold(
    input: Tensor,
    output_size: BroadcastingList2[int],
    kernel_size: BroadcastingList2[int],
    dilation: BroadcastingList2[int] = 1,
    padding: BroadcastingList2[int] = 0,
    stride: BroadcastingList2[int] = 1,
) -> Tensor:
    return torch.col2im(input, output_size, kernel_size, dilation, padding, stride)


# ---------------------------------------------------------------------------------------------------------------- sizes


def sizes_wanted(
    input: Tensor, size: int | list[int] | None, scale_factor: float | list[float] | None, recompute: bool | None
) -> tuple[list[int] | None, list[float] | None]:
    count = input.dim() - 2
    if size is not None:
        if scale_factor is not None:
            raise ValueError("only one of size or scale_factor should be defined")
        if recompute is not None and recompute:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        if isinstance(size, int):
            return [size for _ in range(count)], None
        return size, None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, float):
        factors = [scale_factor for _ in range(count)]
    else:
        factors = scale_factor
    if recompute is None or not recompute:
        return None, factors
    return [int(float(input.size(dim + 2)) * factors[dim]) for dim in range(count)], None


def averaged(input: Tensor, size: list[int] | None, factors: list[float] | None) -> Tensor:
    wanted = [0]
    if size is not None:
        wanted = size
    elif factors is not None:
        wanted = [int(float(input.size(dim + 2)) * factors[dim]) for dim in range(len(factors))]
    if input.dim() == 3:
        return torch.adaptive_avg_pool1d(input, wanted)
    if input.dim() == 4:
        return torch.adaptive_avg_pool2d(input, wanted)
    return torch.adaptive_avg_pool3d(input, wanted)


def interpolate(
    input: Tensor,
    size: int | list[int] | None = None,
    scale_factor: float | list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    copies = mode == "nearest" or mode == "nearest-exact" or mode == "area"
    if copies and align_corners is not None:
        raise ValueError("align_corners option can only be set with the interpolating modes")
    if antialias and mode != "bilinear" and mode != "bicubic" and mode != "lanczos":
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic and lanczos modes")
    corners = align_corners is not None and align_corners
    wanted, factors = sizes_wanted(input, size, scale_factor, recompute_scale_factor)
    if mode == "area":
        return averaged(input, wanted, factors)
    if input.dim() == 3:
        if mode == "nearest":
            return torch.upsample_nearest1d(input, wanted, factors)
        if mode == "nearest-exact":
            return torch._upsample_nearest_exact1d(input, wanted, factors)
        if mode == "linear":
            return torch.upsample_linear1d(input, wanted, corners, factors)
    elif input.dim() == 4:
        if mode == "nearest":
            return torch.upsample_nearest2d(input, wanted, factors)
        if mode == "nearest-exact":
            return torch._upsample_nearest_exact2d(input, wanted, factors)
        if mode == "bilinear":
            if antialias:
                return torch._upsample_bilinear2d_aa(input, wanted, corners, factors)
            return torch.upsample_bilinear2d(input, wanted, corners, factors)
        if mode == "bicubic":
            if antialias:
                return torch._upsample_bicubic2d_aa(input, wanted, corners, factors)
            return torch.upsample_bicubic2d(input, wanted, corners, factors)
        if mode == "lanczos" and antialias and not corners:
            return torch._upsample_lanczos2d_aa(input, wanted, corners, factors)
    elif input.dim() == 5:
        if mode == "nearest":
            return torch.upsample_nearest3d(input, wanted, factors)
        if mode == "nearest-exact":
            return torch._upsample_nearest_exact3d(input, wanted, factors)
        if mode == "trilinear":
            return torch.upsample_trilinear3d(input, wanted, corners, factors)
    raise NotImplementedError(f"interpolate: mode {mode} does not take an input of {input.dim()} dimensions")


def upsample(
    input: Tensor,
    size: int | list[int] | None = None,
    scale_factor: float | list[float] | None = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(
    input: Tensor, size: int | list[int] | None = None, scale_factor: float | list[float] | None = None
) -> Tensor:
    return interpolate(input, size, scale_factor, "nearest")


def upsample_bilinear(
    input: Tensor, size: int | list[int] | None = None, scale_factor: float | list[float] | None = None
) -> Tensor:
    return interpolate(input, size, scale_factor, "bilinear", True)


# ---------------------------------------------------------------------------------------------------------------- grids


def grid_sample(
    input: Tensor,
    grid: Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Tensor:
    if mode != "bilinear" and mode != "nearest" and mode != "bicubic":
        raise ValueError(f"expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode != "zeros" and padding_mode != "border" and padding_mode != "reflection":
        raise ValueError(f"expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    how = 0 if mode == "bilinear" else (1 if mode == "nearest" else 2)
    outside = 0 if padding_mode == "zeros" else (1 if padding_mode == "border" else 2)
    return torch.grid_sampler(input, grid, how, outside, align_corners is not None and align_corners)


def affine_grid(theta: Tensor, size: list[int], align_corners: bool | None = None) -> Tensor:
    return torch.affine_grid_generator(theta, size, align_corners is not None and align_corners)


# -------------------------------------------------------------------------------------------------------------- pooling


def lp_pool1d(
    input: Tensor,
    norm_type: float,
    kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    means = torch.avg_pool1d(input.pow(norm_type), kernel_size, steps, 0, ceil_mode)
    return (torch.sign(means) * torch.relu(torch.abs(means))).mul(kernel_size[0]).pow(1.0 / norm_type)


def lp_pool2d(
    input: Tensor,
    norm_type: float,
    kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    count = kernel_size[0] * kernel_size[1]
    means = torch.avg_pool2d(input.pow(norm_type), kernel_size, steps, 0, ceil_mode)
    return (torch.sign(means) * torch.relu(torch.abs(means))).mul(count).pow(1.0 / norm_type)


def lp_pool3d(
    input: Tensor,
    norm_type: float,
    kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None,
    ceil_mode: bool = False,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    count = kernel_size[0] * kernel_size[1] * kernel_size[2]
    means = torch.avg_pool3d(input.pow(norm_type), kernel_size, steps, 0, ceil_mode)
    return (torch.sign(means) * torch.relu(torch.abs(means))).mul(count).pow(1.0 / norm_type)


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    steps = kernel_size if stride is None else stride
    return torch.max_pool1d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    steps = kernel_size if stride is None else stride
    return torch.max_pool2d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    steps = kernel_size if stride is None else stride
    return torch.max_pool3d_with_indices(input, kernel_size, steps, padding, dilation, ceil_mode)


def max_pool1d(
    input: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0,
    dilation: BroadcastingList1[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    return torch.max_pool1d(input, kernel_size, steps, padding, dilation, ceil_mode)


def max_pool2d(
    input: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0,
    dilation: BroadcastingList2[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    return torch.max_pool2d(input, kernel_size, steps, padding, dilation, ceil_mode)


def max_pool3d(
    input: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0,
    dilation: BroadcastingList3[int] = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    return torch.max_pool3d(input, kernel_size, steps, padding, dilation, ceil_mode)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool2d(input, output_size)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    return torch.adaptive_max_pool3d(input, output_size)


def adaptive_max_pool1d(input: Tensor, output_size: BroadcastingList1[int], return_indices: bool = False) -> Tensor:
    return torch.adaptive_max_pool1d(input, output_size)[0]


def adaptive_max_pool2d(input: Tensor, output_size: BroadcastingList2[int], return_indices: bool = False) -> Tensor:
    return torch.adaptive_max_pool2d(input, output_size)[0]


def adaptive_max_pool3d(input: Tensor, output_size: BroadcastingList3[int], return_indices: bool = False) -> Tensor:
    return torch.adaptive_max_pool3d(input, output_size)[0]


def size_before(
    shape: list[int], kernel: list[int], steps: list[int], padding: list[int], output_size: list[int] | None
) -> list[int]:
    count = len(kernel)
    usual: list[int] = []
    for place in range(count):
        have = shape[len(shape) - count + place]
        usual.append((have - 1) * steps[place] + kernel[place] - 2 * padding[place])
    if output_size is None:
        return usual
    wanted = output_size[len(output_size) - count :]
    for place in range(count):
        if abs(wanted[place] - usual[place]) >= steps[place]:
            raise ValueError(f"invalid output_size {wanted} (dim {place} must be near {usual[place]})")
    return wanted


def max_unpool1d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList1[int],
    stride: BroadcastingList1[int] | None = None,
    padding: BroadcastingList1[int] = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    size = size_before(input.size(), kernel_size, steps, padding, output_size)
    found = torch.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), [size[0], 1])
    return found.squeeze(-1)


def max_unpool2d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList2[int],
    stride: BroadcastingList2[int] | None = None,
    padding: BroadcastingList2[int] = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    return torch.max_unpool2d(input, indices, size_before(input.size(), kernel_size, steps, padding, output_size))


def max_unpool3d(
    input: Tensor,
    indices: Tensor,
    kernel_size: BroadcastingList3[int],
    stride: BroadcastingList3[int] | None = None,
    padding: BroadcastingList3[int] = 0,
    output_size: list[int] | None = None,
) -> Tensor:
    steps = kernel_size if stride is None else stride
    size = size_before(input.size(), kernel_size, steps, padding, output_size)
    return torch.max_unpool3d(input, indices, size, steps, padding)


FUNCTIONS = (
    unfold, fold, interpolate, upsample, upsample_nearest, upsample_bilinear, grid_sample, affine_grid, lp_pool1d,
    lp_pool2d, lp_pool3d, max_pool1d, max_pool2d, max_pool3d, adaptive_max_pool1d, adaptive_max_pool2d,
    adaptive_max_pool3d, max_unpool1d, max_unpool2d, max_unpool3d, max_pool1d_with_indices, max_pool2d_with_indices,
    max_pool3d_with_indices,
)  # fmt: skip
"""The functions."""

WITH_INDICES: dict[Any, Any] = {
    max_pool1d: max_pool1d_with_indices, max_pool2d: max_pool2d_with_indices, max_pool3d: max_pool3d_with_indices,
    adaptive_max_pool1d: adaptive_max_pool1d_with_indices, adaptive_max_pool2d: adaptive_max_pool2d_with_indices,
    adaptive_max_pool3d: adaptive_max_pool3d_with_indices,
}  # fmt: skip
"""What takes the place of a function that is asked for indices, too."""
