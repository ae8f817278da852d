"""kornia: colours, filters, geometry, augmentation without chance, losses, features."""

from __future__ import annotations

from typing import Any

import kornia

from ..job import Run, job

PACKAGE = "kornia"


def record_with_gradient(run: Run, name: str, function: Any, x: Any) -> None:
    value = function(x)
    run.record(name, value, depth=16)
    run.record(f"{name}'s gradient", run.torch.autograd.grad(value.square().sum(), x)[0], depth=64)


@job("colours and filters, with gradients")
def filters(run: Run) -> None:
    pictures = (0.2 + 0.6 * run.normal(2, 3, 16, 16).sigmoid()).requires_grad_()
    for name in ("rgb_to_grayscale", "rgb_to_hsv", "rgb_to_lab", "rgb_to_ycbcr", "rgb_to_xyz", "rgb_to_hls"):
        record_with_gradient(run, name, getattr(kornia.color, name), pictures)
    record_with_gradient(run, "gaussian", lambda x: kornia.filters.gaussian_blur2d(x, (5, 5), (1.5, 1.5)), pictures)
    record_with_gradient(run, "median", lambda x: kornia.filters.median_blur(x, (3, 3)), pictures)
    record_with_gradient(run, "sobel", kornia.filters.sobel, pictures)
    record_with_gradient(run, "laplacian", lambda x: kornia.filters.laplacian(x, 3), pictures)
    record_with_gradient(run, "bilateral", lambda x: kornia.filters.bilateral_blur(x, 3, 0.1, (1.5, 1.5)), pictures)
    record_with_gradient(run, "unsharp", lambda x: kornia.filters.unsharp_mask(x, (3, 3), (1.5, 1.5)), pictures)
    run.record("canny", kornia.filters.canny(pictures)[0], depth=64)


@job("geometry: warps, cameras, rotations, with gradients")
def geometry(run: Run) -> None:
    torch = run.torch
    pictures = run.normal(2, 3, 12, 12).requires_grad_()
    turned = torch.tensor([20.0, -35.0])
    record_with_gradient(run, "rotate", lambda x: kornia.geometry.rotate(x, turned), pictures)
    record_with_gradient(run, "resize", lambda x: kornia.geometry.resize(x, (7, 9)), pictures)
    record_with_gradient(run, "pyramid", kornia.geometry.pyrdown, pictures)
    corners = torch.tensor([[[0.0, 0], [11, 0], [11, 11], [0, 11]]]).repeat(2, 1, 1)
    matrix = kornia.geometry.get_perspective_transform(corners, corners + 0.5 * run.normal(2, 4, 2, seed=1))
    run.record("perspective", matrix, depth=64)
    warped = kornia.geometry.warp_perspective(pictures, matrix, (12, 12))
    run.record("warped", warped, depth=256)
    axes = run.normal(4, 3, seed=2)
    rotation = kornia.geometry.axis_angle_to_rotation_matrix(axes)
    run.record("rotation", [rotation, kornia.geometry.rotation_matrix_to_quaternion(rotation)], depth=16)


@job("morphology, losses, metrics, corners, augmentation")
def others(run: Run) -> None:
    torch = run.torch
    one = run.normal(2, 3, 16, 16).sigmoid().requires_grad_()
    other = run.normal(2, 3, 16, 16, seed=1).sigmoid()
    kernel = torch.ones(3, 3)
    for name in ("dilation", "erosion", "opening", "gradient"):
        run.record(name, getattr(kornia.morphology, name)(one, kernel), depth=4)
    record_with_gradient(run, "ssim", lambda x: kornia.losses.ssim_loss(x, other, 5), one)
    record_with_gradient(run, "variation", lambda x: kornia.losses.total_variation(x), one)
    classes = run.integers(3, 2, 16, 16)
    record_with_gradient(run, "focal", lambda x: kornia.losses.focal_loss(x, classes, 0.5, reduction="mean"), one)
    record_with_gradient(run, "dice", lambda x: kornia.losses.dice_loss(x, classes), one)
    record_with_gradient(run, "harris", lambda x: kornia.feature.harris_response(x), one)
    always = kornia.augmentation.AugmentationSequential(
        kornia.augmentation.RandomHorizontalFlip(p=1.0),
        kornia.augmentation.Normalize(torch.full((3,), 0.5), torch.full((3,), 0.2)),
        kornia.augmentation.CenterCrop((10, 10)),
    )
    run.record("augmented", always(one), depth=4)
    drawn = kornia.augmentation.ColorJitter(0.1, 0.1, 0.1, 0.1, p=1.0)(one)
    run.record("drawn", tuple(drawn.shape))
