"""Reductions, sorting: their forms, named results, ties."""

from __future__ import annotations

import math

import numpy as np
import pytest

import polyad

x = polyad.tensor([[1.0, 5.0, 5.0], [4.0, 2.0, 0.0]])


@pytest.mark.parametrize("name", ["max", "min"])
def test_three_forms(name):
    call = getattr(polyad, name)
    assert call(x).item() == {"max": 5, "min": 0}[name]
    for result in (call(x, 1), call(x, dim=1), getattr(x, name)(1, False)):
        assert type(result).__name__ == name
        assert result.values.tolist() == {"max": [5, 4], "min": [1, 0]}[name]
        assert result.indices.tolist() == {"max": [1, 0], "min": [0, 2]}[name]
    assert call(x, 1, True).values.shape == (2, 1)
    assert call(x, x * 0 + 3).tolist() == {"max": [[3, 5, 5], [4, 3, 3]], "min": [[1, 3, 3], [3, 2, 0]]}[name]
    assert call(x, other=x).tolist() == x.tolist()
    with pytest.raises(TypeError, match="neither"):
        call(x, 0, 1)


def test_named_results():
    _, indices = x.sort(1)
    assert indices.tolist() == [[0, 1, 2], [2, 1, 0]]
    result = x.topk(2)
    assert result.values is result[0]
    assert repr(polyad.tensor([2, 1]).max(0)) == "polyad.return_types.max(\nvalues=tensor(2),\nindices=tensor(0))"


def test_results_written_into_given_tensors():
    values, indices = polyad.empty(2), polyad.empty(2, dtype=polyad.int64)
    result = polyad.max(x, 1, out=(values, indices))
    assert result.values is values
    assert indices.tolist() == [1, 0]
    total = polyad.empty(0)
    assert polyad.sum(x, 1, out=total) is total
    assert total.tolist() == [11, 6]


def test_gradients_of_ties():
    w = polyad.tensor([1.0, 3.0, 3.0], requires_grad=True)
    for call, expected in (
        (lambda: w.max(), [0, 0.5, 0.5]),
        (lambda: w.amax(0), [0, 0.5, 0.5]),
        (lambda: w.max(0).values, [0, 1, 0]),
        (lambda: w.median(), [0, 0.5, 0.5]),
    ):
        (got,) = polyad.autograd.grad(call(), w)
        assert got.tolist() == expected


def test_indices_have_no_history():
    w = polyad.tensor([1.0, 3.0], requires_grad=True)
    values, indices = w.max(0)
    assert values.requires_grad
    assert not indices.requires_grad
    assert not w.argmax().requires_grad


def test_halves_add_up_in_single_precision():
    many = polyad.full((4096,), 1.0, dtype=polyad.float16)
    assert many.sum().item() == 4096  # in float16 the sum would stop at 2048
    assert (many * 100).mean().item() == 100  # and the sum of these overflow
    assert polyad.ones(512, dtype=polyad.bfloat16).sum().item() == 512  # in bfloat16 it would stop at 256
    assert polyad.ones(512, dtype=polyad.bfloat16).cumsum(0)[-1].item() == 512


def test_uint8_truth_stays_uint8():
    assert polyad.tensor([0, 3], dtype=polyad.uint8).any().dtype is polyad.uint8
    assert polyad.tensor([0, 3], dtype=polyad.uint8).any().item() == 1


def test_0d_tensors_take_dim_0():
    one = polyad.tensor(3.0)
    for result in (one.sum(0), one.mean(-1), one.max(0).values, one.sort().values, one.cumsum(0), one.median(0).values):
        assert result.shape == ()
        assert result.item() == 3
    with pytest.raises(IndexError, match=r"dim 1 is out of range \[-1, 0\]"):
        one.sum(1)


def test_median_of_nothing_is_nan():
    assert np.isnan(polyad.zeros(0).median().item())


def test_std_of_equal_elements_has_gradient_0():
    w = polyad.ones(3, requires_grad=True)
    w.std().backward()
    assert w.grad.tolist() == [0, 0, 0]


def test_sorting_is_stable_whatever_is_said():
    keys = polyad.tensor([1, 0] * 50)
    for descending in (False, True):
        order = polyad.argsort(keys, descending=descending, stable=False)
        first = order[:50]
        assert (first[1:] > first[:-1]).all()


def test_unique_consistency():
    values, inverse, counts = polyad.unique(polyad.tensor([[3, 1], [3, 2]]), return_inverse=True, return_counts=True)
    assert values.tolist() == [1, 2, 3]
    assert values[inverse].tolist() == [[3, 1], [3, 2]]
    assert counts.tolist() == [1, 1, 2]
    assert polyad.unique(polyad.zeros(0)).shape == (0,)


def test_conversions_by_name():
    one = polyad.tensor([1.5])
    for name in [
        "bool",
        "byte",
        "char",
        "short",
        "int",
        "long",
        "half",
        "bfloat16",
        "float",
        "double",
        "cfloat",
        "cdouble",
    ]:
        assert getattr(one, name)().numel() == 1
    assert one.type() == "polyad.FloatTensor"
    assert one.type("polyad.DoubleTensor").dtype is polyad.float64
    assert one.type(polyad.int64).tolist() == [1]
    with pytest.raises(ValueError, match="is no type's name"):
        one.type("polyad.QuadTensor")
    assert polyad.is_floating_point(one)
    assert not one.is_complex()


@pytest.mark.parametrize(
    "call", [polyad.sum, polyad.prod, polyad.cumsum, polyad.cumprod], ids=lambda call: call.__name__
)
@pytest.mark.parametrize("dtype", [polyad.int8, polyad.uint8, polyad.int32, polyad.bool, polyad.float64])
def test_dtype_is_the_dtype_of_the_result(call, dtype):
    result = call(polyad.tensor([3, 100, 2]), 0, dtype=dtype)
    assert result.dtype is dtype
    assert call(polyad.tensor(2), 0, dtype=dtype).dtype is dtype


def test_a_sum_wraps_in_the_dtype_that_was_asked_for():
    assert polyad.tensor([100, 100]).sum(dtype=polyad.int8).item() == -56


def test_sorting_and_picking_from_an_empty_dimension_has_a_gradient():
    for pick in (lambda x: x.sort(1)[0], lambda x: x.gather(1, polyad.zeros(3, 0, dtype=polyad.int64))):
        x = polyad.zeros(3, 0, requires_grad=True)
        pick(x).sum().backward()
        assert x.grad.shape == (3, 0)


def test_numpys_names_of_dim_and_keepdim_are_understood():
    x = polyad.arange(6.0).reshape(2, 3)
    assert x.sum(axis=0).tolist() == [3.0, 5.0, 7.0]
    assert polyad.mean(x, axis=1, keepdims=True).tolist() == [[1.0], [4.0]]
    assert x.max(axis=1).values.tolist() == [2.0, 5.0]
    assert x.argmax(axis=0).tolist() == [1, 1, 1]
    assert polyad.cat([x, x], axis=1).shape == (2, 6)
    assert x.var(axis=(0, 1)).item() == pytest.approx(3.5)
    with pytest.raises(TypeError, match="axis"):
        x.sum(dim=0, axis=0)


@pytest.mark.parametrize("name", ["max", "min", "median"])
def test_the_gradient_of_a_nan_extreme_goes_to_the_nan(name):
    y = polyad.tensor([[1.0, 3.0], [float("nan"), 3.0]], requires_grad=True)
    getattr(polyad, name)(y).backward()
    assert y.grad.tolist() == [[0, 0], [1, 0]]


def test_any_and_all_of_no_dimension_ask_each_element():
    assert polyad.any(x, ()).tolist() == polyad.all(x, []).tolist() == [[True] * 3, [True, True, False]]
    assert polyad.any(x).shape == ()


def test_a_variance_without_freedom_warns():
    with pytest.warns(UserWarning, match="no degree of freedom"):
        assert polyad.isnan(polyad.var(polyad.ones(1)))
    with pytest.warns(UserWarning, match="no degree of freedom"):
        assert polyad.std(polyad.tensor([1.0, 2.0]), correction=3).item() == float("inf")


@pytest.mark.parametrize("size", [1e20, 1e-30])
@pytest.mark.parametrize("count", [10, 3000])
def test_squares_of_a_standard_deviation_may_leave_the_range(size, count):
    x = polyad.ones(count) * size
    x[0] = -size
    assert x.std(correction=0).item() == pytest.approx(size * 2 * math.sqrt(count - 1) / count, rel=1e-5)


@pytest.mark.parametrize("name", ["sum", "mean", "amax", "prod", "any", "var", "logsumexp", "cumsum", "cummax"])
def test_results_are_row_major_whatever_the_inputs_order(name):
    y = polyad.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)
    result = getattr(y, name)(1)
    result = result.values if name == "cummax" else result
    assert result.is_contiguous()


def test_sorted_results_keep_the_inputs_order_in_memory():
    y = polyad.arange(6.0).reshape(2, 3).t()
    assert [one.stride() for one in y.sort(0)] == [(1, 3), (1, 3)]
    assert y.msort().stride() == (1, 3)


@pytest.mark.parametrize("dtype", ["int64", "float32", "bfloat16"])
@pytest.mark.parametrize("largest", [True, False])
def test_the_largest_by_partition_are_those_of_a_sort(dtype, largest):
    """Long enough for a partition; many equal elements, and nan."""
    random = np.random.default_rng(0)
    for trial in range(20):
        values = random.integers(0, 12 if trial % 2 else 10_000, (3, 100 if trial < 8 else 700)).astype(np.float64)
        if dtype != "int64":
            values[random.random(values.shape) < (0.0, 0.02, 0.5, 0.97)[trial % 4]] = np.nan
        y = polyad.tensor(values).nan_to_num(-1.0).to(polyad.int64) if dtype == "int64" else polyad.tensor(values)
        y = y.to(getattr(polyad, dtype))
        for dim in (0, 1):
            size = y.shape[dim]
            ordered = y.sort(dim, descending=largest)
            for k in {1, min(7, size), size}:
                found = y.topk(k, dim, largest)
                assert found.indices.tolist() == ordered.indices.narrow(dim, 0, k).tolist()
            rank = int(random.integers(1, size + 1))
            assert y.kthvalue(rank, dim).indices.tolist() == y.sort(dim).indices.select(dim, rank - 1).tolist()


def test_quantiles_do_not_depend_on_how_many_there_are():
    values = polyad.tensor(np.random.default_rng(1).normal(size=(2, 200)))
    q = polyad.linspace(0, 1, 41, dtype=polyad.float64)
    together = polyad.quantile(values, q, dim=1)
    apart = polyad.stack([polyad.quantile(values, float(one), dim=1) for one in q.tolist()])
    assert together.shape == (41, 2)
    np.testing.assert_allclose(together.numpy(), apart.numpy(), rtol=1e-14)
    np.testing.assert_allclose(together.numpy(), np.quantile(values.numpy(), q.numpy(), axis=1), rtol=1e-13)


def test_unique_slices_and_runs():
    y = polyad.tensor([[1, 2], [0, 5], [1, 2], [1, 2]])
    values, inverse, counts = polyad.unique(y, return_inverse=True, return_counts=True, dim=0)
    assert values.tolist() == [[0, 5], [1, 2]]
    assert values[inverse].tolist() == y.tolist()
    assert counts.tolist() == [1, 3]
    values, inverse, counts = polyad.unique_consecutive(y, return_inverse=True, return_counts=True, dim=0)
    assert values.tolist() == [[1, 2], [0, 5], [1, 2]]
    assert inverse.tolist() == [0, 1, 2, 2]
    assert counts.tolist() == [1, 1, 2]


def test_is_nonzero():
    assert polyad.is_nonzero(polyad.tensor([2.0]))
    assert not polyad.tensor(0).is_nonzero()
    with pytest.raises(RuntimeError):
        polyad.is_nonzero(polyad.zeros(2))


@pytest.mark.parametrize("special", [None, np.nan, np.inf])
def test_kthvalue_and_median_of_long_rows_are_those_of_a_stable_sort(special):
    """Rows long enough to be partitioned, with unique elements, with ties and with what is no number."""
    random = np.random.default_rng(3)
    rows = random.standard_normal((6, 101)).astype(np.float32)
    rows[2:4] = np.round(rows[2:4])
    if special is not None:
        rows[3:5, ::7] = special
    order = np.argsort(rows, axis=1, kind="stable")
    for k in (1, 13, 51, 101):
        values, indices = polyad.kthvalue(polyad.tensor(rows), k, dim=1)
        assert indices.tolist() == order[:, k - 1].tolist()
        np.testing.assert_array_equal(values.numpy(), np.take_along_axis(rows, order[:, k - 1 : k], 1)[:, 0])
    expected = np.where(np.isnan(rows).any(1), np.isnan(rows).argmax(1), order[:, 50])
    assert polyad.median(polyad.tensor(rows), 1).indices.tolist() == expected.tolist()


def test_coordinates_of_unsigned_integers_may_fall() -> None:
    values, places = polyad.tensor([1.0, 2.0, 4.0]), [200, 150, 40]
    (found,) = polyad.gradient(values, spacing=[polyad.tensor(places, dtype=polyad.uint8)])
    (expected,) = polyad.gradient(values, spacing=[polyad.tensor(places)])
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize("function", [polyad.median, polyad.nanmedian])
def test_the_median_of_nothing_has_a_history(function):
    x = polyad.empty(0, requires_grad=True)
    function(x).backward()
    assert x.grad.shape == (0,)
