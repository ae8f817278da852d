"""Products, beside what the conformance suite says of each alone."""

from __future__ import annotations

import numpy as np
import pytest

import polyad
from polyad import errors
from polyad.ops.products import mm as products


def values(*shape: int, seed: int = 0) -> polyad.Tensor:
    return polyad.tensor(np.random.default_rng(seed).standard_normal(shape))


def test_products_of_fixed_ranks_do_not_promote_and_matmul_does() -> None:
    a, b = polyad.ones(2, 3), polyad.ones(3, 2, dtype=polyad.float64)
    assert (a @ b).dtype is polyad.float64
    for call in (lambda: polyad.mm(a, b), lambda: a.mm(b), lambda: polyad.addmm(a.mm(a.T), a, b)):
        with pytest.raises(errors.DTypeError, match="same dtype"):
            call()


def test_an_integer_product_stays_an_integer() -> None:
    a = polyad.full((2, 2), 100, dtype=polyad.uint8)
    assert polyad.mm(a, a).tolist() == [[20000 % 256] * 2] * 2


def test_halves_are_summed_in_float32() -> None:
    ones = polyad.ones(1, 4096, dtype=polyad.float16)
    assert polyad.mm(ones, ones.T).item() == 4096  # float16 alone would stop at 2048
    assert polyad.dot(ones[0], ones[0]).item() == 4096
    total = polyad.addmm(polyad.full((1, 1), -4096.0, dtype=polyad.float16), ones, ones.T)
    assert total.item() == 0


def test_the_reflected_product_takes_tensors_only() -> None:
    a = values(2, 2)
    assert polyad.equal(a.__rmatmul__(a.T), a.T @ a)
    assert a.__rmatmul__(3) is NotImplemented
    with pytest.raises(TypeError):
        [[1.0, 2.0]] @ a  # type: ignore[operator]


def test_an_in_place_sum_keeps_the_tensor_and_its_shape() -> None:
    total = values(2, 2)
    before = total.clone()
    a, b = values(2, 3, seed=1), values(3, 2, seed=2)
    assert total.addmm_(a, b, beta=0.5, alpha=2) is total
    assert polyad.allclose(total, before * 0.5 + 2 * (a @ b))
    row = values(2)
    with pytest.raises(errors.ShapeError, match="does not fit into self"):
        row.addmm_(a, b)
    assert polyad.equal(row, values(2))


def test_an_in_place_sum_has_a_gradient() -> None:
    start, a, b = (values(*shape, seed=shape[0]).requires_grad_() for shape in ((2, 2), (2, 3), (3, 2)))
    total = start * 1
    total.addmm_(a, b, beta=2, alpha=3)
    total.sum().backward()
    assert polyad.equal(start.grad, polyad.full((2, 2), 2.0, dtype=polyad.float64))
    assert polyad.allclose(a.grad, 3 * b.sum(1).expand(2, 3))


def test_factors_of_integer_tensors_lose_their_fraction() -> None:
    a = polyad.ones(2, 2, dtype=polyad.int64)
    assert polyad.addmm(a, a, a, beta=0.5, alpha=2.9).tolist() == [[4, 4], [4, 4]]


def test_many_matrices_are_multiplied_in_the_cheapest_order(monkeypatch: pytest.MonkeyPatch) -> None:
    cost = []

    def counted(left: polyad.Tensor, right: polyad.Tensor) -> polyad.Tensor:
        cost.append(left.shape[0] * left.shape[1] * right.shape[1])
        return left @ right

    monkeypatch.setattr(products, "mm", counted)
    matrices = [values(*shape, seed=at) for at, shape in enumerate(((30, 2), (2, 30), (30, 2), (2, 30), (30, 1)))]
    result = polyad.linalg.multi_dot(matrices)
    assert sum(cost) == 30 * 2 + 2 * 30 * 1 + 30 * 2 * 1 + 2 * 30 * 1
    assert polyad.allclose(result, matrices[0] @ matrices[1] @ matrices[2] @ matrices[3] @ matrices[4])


def test_an_error_of_a_composite_speaks_in_its_own_name() -> None:
    with pytest.raises(errors.ShapeError, match=r"^baddbmm: batch1 .*3 != 4\n +input"):
        polyad.baddbmm(polyad.ones(1), polyad.ones(2, 2, 3), polyad.ones(2, 4, 2))
    with pytest.raises(errors.ShapeError, match=r"^vdot: "):
        polyad.vdot(polyad.ones(2), polyad.ones(3))


def test_the_first_dimension_of_size_3_is_the_one_of_cross() -> None:
    a, b = values(3, 3), values(3, 3, seed=1)
    assert polyad.equal(polyad.cross(a, b), polyad.linalg.cross(a, b, dim=0))
    assert not polyad.allclose(polyad.cross(a, b), polyad.linalg.cross(a, b))


@pytest.mark.parametrize(
    ("weights", "numpys"),
    [
        ({"fweights": [1, 2, 3, 1]}, {"fweights": [1, 2, 3, 1]}),
        ({"aweights": [0.5, 1.0, 2.0, 0.25]}, {"aweights": [0.5, 1.0, 2.0, 0.25]}),
        ({"fweights": [2, 1, 1, 1], "aweights": [0.5, 1.0, 2.0, 0.25]}, None),
        ({"aweights": [0.5, 1.0, 2.0, 0.25], "correction": 0}, {"aweights": [0.5, 1.0, 2.0, 0.25], "ddof": 0}),
    ],
)
def test_weighted_covariances_are_numpys(weights: dict, numpys: dict | None) -> None:
    x = values(3, 4)
    given = {
        name: value
        if name == "correction"
        else polyad.tensor(value, dtype=polyad.int64 if name == "fweights" else polyad.float64)
        for name, value in weights.items()
    }
    expected = np.cov(x.numpy(), **(weights if numpys is None else numpys))
    np.testing.assert_allclose(polyad.cov(x, **given).numpy(), expected, rtol=1e-12)


def test_a_covariance_without_freedom_warns() -> None:
    with pytest.warns(UserWarning, match="degrees of freedom"):
        assert polyad.cov(polyad.tensor([1.0])).isnan().item()


def test_correlations_have_gradients() -> None:
    x = values(3, 6).requires_grad_()
    weight = values(3, 3, seed=1)
    upper = polyad.triu(weight, 1)  # the diagonal is constant
    (slope,) = polyad.autograd.grad((polyad.corrcoef(x) * upper).sum(), x)
    h = 1e-6
    base = x.detach().numpy()
    for place in np.ndindex(3, 6):
        ahead, behind = base.copy(), base.copy()
        ahead[place] += h
        behind[place] -= h
        difference = ((np.corrcoef(ahead) - np.corrcoef(behind)) * upper.numpy()).sum() / (2 * h)
        assert abs(slope.numpy()[place] - difference) < 1e-8


def test_equal_points_have_distance_and_slope_0() -> None:
    for mode in ("donot_use_mm_for_euclid_dist", "use_mm_for_euclid_dist"):
        x = polyad.ones(2, 3, dtype=polyad.float64, requires_grad=True)
        distances = polyad.cdist(x, x, compute_mode=mode)
        distances.sum().backward()
        assert distances.tolist() == [[0, 0], [0, 0]]
        assert not x.grad.any().item()
    x = polyad.ones(3, 2, requires_grad=True)
    polyad.nn.functional.pdist(x).sum().backward()
    assert not x.grad.any().item()


def test_distances_of_more_than_25_rows_are_a_product_of_matrices() -> None:
    with polyad.trace_dispatch() as few:
        polyad.cdist(polyad.ones(25, 3), polyad.ones(25, 3))
    with polyad.trace_dispatch() as many:
        polyad.cdist(polyad.ones(25, 3), polyad.ones(26, 3))
    assert "gemm" not in str(few)
    assert "gemm" in str(many)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, float("inf")])
def test_nan_is_far_from_everything(p: float) -> None:
    x = polyad.tensor([[0.0, float("nan")], [1.0, 2.0]])
    distances = polyad.cdist(x, x, p)
    expected = np.linalg.norm(x.numpy()[:, None] - x.numpy(), p, -1) if p else [[1, 2], [2, 0]]
    np.testing.assert_allclose(distances.numpy(), expected, rtol=1e-6)


def test_renorm_never_exceeds_its_limit() -> None:
    x = values(50, 7) * 10
    assert (polyad.linalg.vector_norm(x.renorm(2, 0, 1.0), 2, 1) <= 1).all().item()


@pytest.mark.parametrize("dtype", [polyad.float8_e4m3fn, polyad.float8_e5m2])
def test_scaled_products_of_small_floats(dtype):
    scaling = polyad.nn.functional.ScalingType
    a, b = polyad.linspace(-3, 3, 12).view(3, 4).to(dtype), polyad.linspace(2, -1, 20).view(4, 5).to(dtype)
    rows, columns = polyad.arange(1.0, 4).view(3, 1), polyad.arange(1.0, 6).view(1, 5)
    plain = a.float() @ b.float()
    two, half, bias = polyad.tensor(2.0), polyad.tensor(0.5), polyad.ones(5)
    assert polyad.equal(polyad._scaled_mm(a, b, two, half, out_dtype=polyad.float32), plain)
    polyad.testing.assert_close(
        polyad._scaled_mm(a, b, rows, columns, bias, out_dtype=polyad.float32), plain * rows * columns + 1
    )
    assert polyad._scaled_mm(a, b, two, half).dtype is dtype
    by_row = polyad.nn.functional.scaled_mm(a, b, rows, scaling.RowWise, [columns], [scaling.RowWise])
    assert by_row.dtype is polyad.bfloat16
    stacked = polyad.nn.functional.scaled_grouped_mm(
        polyad.stack([a, a]), polyad.stack([b, b]), rows.view(1, 3).expand(2, 3), scaling.RowWise,
        columns.expand(2, 5), scaling.RowWise, output_dtype=polyad.float32,
    )  # fmt: skip
    polyad.testing.assert_close(stacked[1], plain * rows * columns)
    for problem, call in (
        ("only 8-bit floats have scales", lambda: polyad._scaled_mm(a.float(), b, two, half)),
        ("no float32", lambda: polyad._scaled_mm(a, b, two.double(), half)),
        (r"the scale of mat_a is \(5, 1\)", lambda: polyad._scaled_mm(a, b, polyad.ones(5, 1), half)),
        (
            "invalid scaling configuration",
            lambda: polyad.nn.functional.scaled_mm(a, b, two, scaling.BlockWise1x32, half, scaling.TensorWise),
        ),
    ):
        with pytest.raises(ValueError, match=problem):
            call()


def test_ends_of_groups_out_of_order():
    a, b = polyad.ones(4, 2), polyad.ones(2, 2, 3)
    for ends in ([3, 1], [1, 5]):
        with pytest.raises(ValueError, match="no ends of groups of 4"):
            polyad.nn.functional.grouped_mm(a, b, offs=polyad.tensor(ends, dtype=polyad.int32))
    assert polyad.nn.functional.grouped_mm(a, b, offs=polyad.tensor([1, 3], dtype=polyad.int32))[3].tolist() == [0] * 3
