"""Histograms, searches and sampled functions, beside what the conformance suite says of each."""

from __future__ import annotations

import numpy as np
import pytest

import polyad
from polyad import errors

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize("dtype", [polyad.float32, polyad.float64])
@pytest.mark.parametrize("bins", [3, 7, 10, 49])
def test_counts_agree_with_the_edges_that_are_returned(dtype: polyad.DType, bins: int) -> None:
    low, high = -0.7, 1.3
    _, edges = polyad.histogram(polyad.zeros(1, dtype=dtype), bins, range=(low, high))
    near = np.concatenate([edges.numpy(), *[np.nextafter(edges.numpy(), toward) for toward in (-9, 9)]])
    values = polyad.tensor(near.astype(near.dtype), dtype=dtype)
    got, again = polyad.histogram(values, bins, range=(low, high))
    assert polyad.equal(edges, again)
    by_edges, _ = polyad.histogram(values, edges)
    assert got.tolist() == by_edges.tolist()
    weighted, _ = polyad.histogram(values, bins, range=(low, high), weight=polyad.ones_like(values))
    assert weighted.tolist() == got.tolist()


def test_a_large_histogram_is_the_sum_of_small_ones() -> None:
    values = polyad.tensor(np.random.default_rng(0).standard_normal(200_000))
    hist, edges = polyad.histogram(values, 50)
    assert hist.sum().item() == 200_000
    parts = sum(polyad.histogram(part, edges).hist for part in values.chunk(7))
    assert parts.tolist() == hist.tolist()


def test_edges_are_exact_at_both_ends_and_even_between() -> None:
    edges = polyad.histogram(polyad.tensor([0.1, 0.9]), 7).bin_edges
    assert edges[0].item() == np.float32(0.1)
    assert edges[-1].item() == np.float32(0.9)
    np.testing.assert_allclose(np.diff(edges.numpy()), 0.8 / 7, rtol=1e-5)


def test_one_value_lies_in_the_middle_of_its_bins() -> None:
    hist, edges = polyad.histogram(polyad.full((4,), 3.0), 3)
    assert hist.tolist() == [0, 4, 0]
    assert (edges[0].item(), edges[-1].item()) == (2.5, 3.5)


def test_edges_are_a_copy_and_falling_ones_count_nothing() -> None:
    edges = polyad.tensor([0.0, 1.0, 2.0])
    result = polyad.histogram(polyad.tensor([0.5]), edges)
    result.bin_edges.fill_(9)
    assert edges.tolist() == [0, 1, 2]
    assert polyad.histogram(polyad.tensor([0.5, 1.5]), polyad.tensor([2.0, 1.0, 0.0])).hist.tolist() == [0, 0]


@pytest.mark.parametrize("bad", [NAN, INF, -INF])
def test_values_that_are_not_finite_need_a_range(bad: float) -> None:
    values = polyad.tensor([bad, 1.0])
    for call in (lambda: polyad.histc(values, 2), lambda: polyad.histogram(values, 2)):
        with pytest.raises(errors.ShapeError, match="not finite"):
            call()
    assert polyad.histc(values, 2, 0, 2).sum().item() == 1
    assert polyad.histogram(values, 2, range=(0, 2)).hist.sum().item() == 1
    assert polyad.histogram(values, polyad.tensor([0.0, 2.0])).hist.sum().item() == 1


def test_results_are_named() -> None:
    assert "polyad.return_types.histogram(" in repr(polyad.histogram(polyad.ones(2), 1))
    result = polyad.histogramdd(polyad.rand(5, 2), bins=(2, 3), weight=polyad.ones(5))
    assert result.hist.shape == (2, 3)
    assert [edges.shape[0] for edges in result.bin_edges] == [3, 4]
    assert result.hist.sum().item() == 5


def test_the_integral_of_a_density_is_1() -> None:
    points = polyad.tensor(np.random.default_rng(1).random((60, 2)))
    hist, (rows, columns) = polyad.histogramdd(points, [4, 5], density=True)
    area = rows.diff().unsqueeze(1) * columns.diff()
    assert abs((hist * area).sum().item() - 1) < 1e-12


def test_asking_for_the_gradient_of_counts_is_refused() -> None:
    weights = polyad.ones(3, requires_grad=True)
    counts = polyad.bincount(polyad.tensor([0, 1, 1]), weights)
    with pytest.raises(NotImplementedError, match="bincount: there is no derivative with respect to weights"):
        counts.sum().backward()
    for result in (polyad.histogram(weights, 2), polyad.histogramdd(weights.reshape(3, 1), 2)):
        with pytest.raises(NotImplementedError, match="histogram: there is no derivative with respect to input"):
            result.hist.sum().backward()


def test_edges_of_several_dimensions_come_back_themselves() -> None:
    edges = polyad.tensor([0.0, 1.0])
    assert polyad.histogramdd(polyad.rand(3, 1), [edges]).bin_edges[0] is edges


def test_a_sorter_stands_for_sorting() -> None:
    x = polyad.tensor([[5.0, 1.0, 3.0], [2.0, 4.0, 0.0]])
    values = polyad.tensor([[2.0, 9.0], [2.0, 0.0]])
    got = polyad.searchsorted(x, values, sorter=x.argsort())
    assert got.tolist() == polyad.searchsorted(x.sort().values, values).tolist()
    with pytest.raises(errors.ShapeError, match="sorter has a position out of range"):
        polyad.searchsorted(x[0], values[0], sorter=polyad.tensor([0, 1, 3]))


def test_side_and_right_say_the_same() -> None:
    x = polyad.tensor([1, 1, 2])
    assert polyad.searchsorted(x, 1, side="right").item() == polyad.searchsorted(x, 1, right=True).item() == 2
    assert polyad.searchsorted(x, 1, side="left").item() == 0


def test_mixed_dtypes_are_compared_in_their_common_one() -> None:
    assert polyad.searchsorted(polyad.tensor([0, 1]), 0.5).item() == 1
    assert polyad.isin(polyad.tensor([1, 2]), 1.5).tolist() == [False, False]
    assert polyad.bucketize(polyad.tensor([1], dtype=polyad.int8), polyad.tensor([0.5, 1.5])).item() == 1


def test_uneven_samples_of_a_parabola_have_exact_slopes() -> None:
    x = polyad.tensor([0.0, 1.0, 1.5, 4.0, 6.0], dtype=polyad.float64)
    (slopes,) = polyad.gradient(x**2, spacing=[x], edge_order=2)
    np.testing.assert_allclose(slopes.numpy(), 2 * x.numpy(), rtol=1e-12)
    (first_order,) = polyad.gradient(x**2, spacing=[x])
    np.testing.assert_allclose(first_order.numpy(), np.gradient(x.numpy() ** 2, x.numpy()), rtol=1e-12)


def test_coordinates_and_distances_mix() -> None:
    f = polyad.tensor(np.random.default_rng(0).random((3, 4)))
    x = polyad.tensor([0.0, 0.5, 2.0, 3.0], dtype=polyad.float64)
    got = polyad.gradient(f, spacing=[2.0, x])
    for one, expected in zip(got, np.gradient(f.numpy(), 2.0, x.numpy()), strict=True):
        np.testing.assert_allclose(one.numpy(), expected, rtol=1e-12)
    with pytest.raises(errors.ShapeError, match="coordinates of dimension 0"):
        polyad.gradient(f, spacing=[x, x])


def test_slopes_at_coordinates_have_gradients() -> None:
    f = polyad.rand(5, dtype=polyad.float64, requires_grad=True)
    x = polyad.tensor([0.0, 1.0, 1.5, 4.0, 6.0], dtype=polyad.float64, requires_grad=True)
    weight = polyad.tensor([1.0, -2.0, 3.0, 0.5, 1.0], dtype=polyad.float64)

    def total(f: polyad.Tensor, x: polyad.Tensor) -> polyad.Tensor:
        return (polyad.gradient(f, spacing=[x], edge_order=2)[0] * weight).sum()

    slopes = polyad.autograd.grad(total(f, x), (f, x))
    h = 1e-6
    for which, slope in enumerate(slopes):
        for at in range(5):
            step = polyad.zeros(5, dtype=polyad.float64)
            step[at] = h
            ahead = total(*[one.detach() + step * (which == i) for i, one in enumerate((f, x))])
            behind = total(*[one.detach() - step * (which == i) for i, one in enumerate((f, x))])
            assert abs(slope[at].item() - (ahead - behind).item() / (2 * h)) < 1e-7


def test_differences_are_taken_after_joining() -> None:
    x = polyad.tensor([1.0, 4.0])
    got = polyad.diff(x, prepend=polyad.tensor([0.0]), append=polyad.tensor([9], dtype=polyad.int64))
    assert got.tolist() == [1, 3, 5]
    assert polyad.diff(x, 0) is not x
    assert polyad.diff(polyad.tensor([True, True, False])).tolist() == [False, True]
