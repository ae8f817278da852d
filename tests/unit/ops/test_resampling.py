"""Interpolation, grid sampling and patches beyond samples: identities, bytes, places outside, NaN."""

from __future__ import annotations

import math

import pytest

import polyad
from polyad.nn import functional as F


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_the_same_size_is_a_copy(mode):
    polyad.manual_seed(0)
    x = polyad.rand(1, 2, 3, 4)
    y = F.interpolate(x, size=(3, 4), mode=mode)
    assert bool((y == x).all())
    y.zero_()
    assert bool((x != 0).all())


@pytest.mark.parametrize(
    "settings", [{"mode": "bilinear"}, {"mode": "bicubic"}, {"mode": "bicubic", "antialias": True}]
)
@pytest.mark.parametrize("size", [(3, 11), (16, 2), (1, 40)])
def test_weights_add_up_to_one(settings, size):
    y = F.interpolate(polyad.full((1, 1, 7, 5), 2.5, dtype=polyad.float64), size=size, **settings)
    assert float((y - 2.5).abs().max()) < 1e-14


def test_corners_meet_with_align_corners():
    x = polyad.arange(12.0).reshape(1, 1, 3, 4)
    y = F.interpolate(x, size=(7, 9), mode="bilinear", align_corners=True)
    assert [float(y[0, 0, i, j]) for i in (0, -1) for j in (0, -1)] == [0.0, 3.0, 8.0, 11.0]


def test_a_scale_factor_is_the_scale_unless_recomputed():
    x = polyad.arange(10.0).reshape(1, 1, 10)
    given = F.interpolate(x, scale_factor=0.33, mode="linear")
    again = F.interpolate(x, scale_factor=0.33, mode="linear", recompute_scale_factor=True)
    # Position 1 of the result lies at 1.5 / 0.33 - 0.5 or, with 3 of 10 elements, at 1.5 * 10 / 3 - 0.5.
    assert float(given[0, 0, 1]) == pytest.approx(1.5 / 0.33 - 0.5)
    assert float(again[0, 0, 1]) == pytest.approx(4.5)


def test_bytes_are_rounded_and_stay_bytes():
    x = polyad.tensor([[[[0, 255]]]], dtype=polyad.uint8)
    assert F.interpolate(x, size=(1, 4), mode="bilinear").flatten().tolist() == [0, 64, 191, 255]
    # Cubic interpolation overshoots.
    y = F.interpolate(polyad.tensor([[[[0, 0, 255, 255]]]], dtype=polyad.uint8), size=(1, 9), mode="bicubic")
    assert (int(y.min()), int(y.max())) == (0, 255)


def test_interpolation_keeps_nan_near_its_place():
    x = polyad.zeros(1, 1, 9)
    x[0, 0, 4] = math.nan
    assert int(F.interpolate(x, scale_factor=2, mode="linear").isnan().sum()) == 4
    x.requires_grad_()
    g = polyad.zeros(1, 1, 18)
    g[0, 0, 9] = math.inf
    F.interpolate(x, scale_factor=2, mode="nearest").backward(g)
    assert x.grad[0, 0].tolist() == [0.0] * 4 + [math.inf] + [0.0] * 4


def test_the_identity_grid_gives_the_image():
    polyad.manual_seed(0)
    x = polyad.rand(2, 3, 4, 5, dtype=polyad.float64)
    theta = polyad.eye(2, 3, dtype=polyad.float64).expand(2, 2, 3)
    for corners in (True, False):
        grid = F.affine_grid(theta, x.shape, align_corners=corners)
        for mode in ("bilinear", "nearest", "bicubic"):
            y = F.grid_sample(x, grid, mode=mode, align_corners=corners)
            assert float((y - x).abs().max()) < 1e-13


def test_what_lies_outside_is_as_the_padding_mode_says():
    x = polyad.tensor([[[[1.0, 2.0, 3.0]]]])
    # Positions -2, 3 and one far away: beyond both edges.
    grid = polyad.tensor([[[[-2.0, 0.0], [4 / 3, 0.0], [1e30, 0.0]]]])
    sampled = {
        mode: F.grid_sample(x, grid, "nearest", mode, False).flatten().tolist()
        for mode in ("zeros", "border", "reflection")
    }
    assert sampled["zeros"] == [0.0, 0.0, 0.0]
    assert sampled["border"] == [1.0, 3.0, 3.0]
    assert sampled["reflection"][:2] == [2.0, 3.0]


def test_infinity_at_the_edge_does_not_reach_places_outside():
    x = polyad.full((1, 1, 2, 2), math.inf)
    grid = polyad.full((1, 1, 1, 2), 9.0)
    assert F.grid_sample(x, grid, align_corners=False).item() == 0


def test_nearest_has_a_zero_gradient_for_the_grid():
    x = polyad.rand(1, 1, 2, 2, requires_grad=True)
    grid = polyad.zeros(1, 1, 1, 2, requires_grad=True)
    F.grid_sample(x, grid, mode="nearest", align_corners=False).sum().backward()
    assert grid.grad.flatten().tolist() == [0.0, 0.0]
    assert float(x.grad.sum()) == 1


def test_folding_counts_how_many_patches_cover_a_pixel():
    ones = polyad.ones(1, 1, 4, 4)
    covered = F.fold(F.unfold(ones, 3), (4, 4), 3)
    assert covered[0, 0].tolist() == [[1, 2, 2, 1], [2, 4, 4, 2], [2, 4, 4, 2], [1, 2, 2, 1]]


def test_folding_half_precision_adds_up_in_float32():
    # 4096 overlapping patches; in float16 the sum would stay at 2048.
    patches = polyad.ones(1, 64 * 64, 64 * 64, dtype=polyad.float16)
    assert float(F.fold(patches, (127, 127), 64)[0, 0, 63, 63]) == 4096


def test_shuffles_are_inverse_and_copy():
    x = polyad.arange(2 * 12 * 2 * 3).reshape(2, 12, 2, 3)
    y = F.pixel_shuffle(x, 2)
    assert bool((F.pixel_unshuffle(y, 2) == x).all())
    assert bool((F.channel_shuffle(F.channel_shuffle(x, 3), 4) == x).all())
    for one in (F.pixel_shuffle(x, 1), F.pixel_unshuffle(x, 1), F.channel_shuffle(x, 1)):
        assert one.data_ptr() != x.data_ptr()


def test_channels_last_images_stay_so():
    x = polyad.rand(2, 4, 6, 6).contiguous(memory_format=polyad.channels_last)
    w = polyad.rand(8, 4, 3, 3)
    results = [
        F.conv2d(x, w),
        F.conv_transpose2d(x, w.transpose(0, 1)),
        F.conv2d(x.contiguous(), w.contiguous(memory_format=polyad.channels_last)),
        *F.max_pool2d(x, 2, return_indices=True),
        F.avg_pool2d(x, 2),
        F.adaptive_max_pool2d(x, 4),
        F.interpolate(x, size=4, mode="bilinear"),
        F.pixel_shuffle(x, 2),
        F.pad(x, (1, 1, 1, 1), mode="reflect"),
    ]
    for result in results:
        assert result.is_contiguous(memory_format=polyad.channels_last) or result.shape[1] == 1
    assert bool((F.conv2d(x.contiguous(), w) == results[0]).all())
    assert F.grid_sample(x, polyad.zeros(2, 3, 3, 2), align_corners=False).is_contiguous()


def test_what_inference_mode_computes_serves_no_training():
    x = polyad.ones(1, 1, 3, 5, requires_grad=True)
    with polyad.inference_mode():
        F.interpolate(x, (7, 4), mode="bilinear")
    F.interpolate(x, (7, 4), mode="bilinear").sum().backward()
    assert x.grad.sum().item() == pytest.approx(28)
