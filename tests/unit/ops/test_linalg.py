"""Linear algebra beyond samples: names, errors with values in them, refused gradients, sizes that samples have not."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import polyad
from polyad import linalg


def random(*shape, dtype=np.float64, seed=0):
    generator = np.random.default_rng(seed)
    values = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * generator.standard_normal(shape)
    return polyad.tensor(values.astype(dtype))


def close(got, expected, tolerance=1e-9):
    np.testing.assert_allclose(got.detach().numpy(), np.asarray(expected), rtol=tolerance, atol=tolerance)


# ---------------------------------------------------------------------------------------------------- names and errors


def test_results_have_pytorchs_names() -> None:
    a = random(3, 3) + 4 * polyad.eye(3, dtype=polyad.float64)
    fields = {
        name: type(getattr(linalg, name)(a))._fields
        for name in ("svd", "eigh", "eig", "qr", "slogdet", "lu", "lu_factor", "lu_factor_ex", "inv_ex", "cholesky_ex")
    }
    assert fields == {
        "svd": ("U", "S", "Vh"),
        "eigh": ("eigenvalues", "eigenvectors"),
        "eig": ("eigenvalues", "eigenvectors"),
        "qr": ("Q", "R"),
        "slogdet": ("sign", "logabsdet"),
        "lu": ("P", "L", "U"),
        "lu_factor": ("LU", "pivots"),
        "lu_factor_ex": ("LU", "pivots", "info"),
        "inv_ex": ("inverse", "info"),
        "cholesky_ex": ("L", "info"),
    }
    assert linalg.lstsq(a, a)._fields == ("solution", "residuals", "rank", "singular_values")
    assert polyad.svd(a)._fields == ("U", "S", "V")
    assert repr(linalg.slogdet(polyad.eye(2))) == (
        "polyad.return_types.linalg_slogdet(\nsign=tensor(1.),\nlogabsdet=tensor(0.))"
    )


def test_a_matrix_that_does_not_do_is_a_lin_alg_error_that_says_which() -> None:
    batch = polyad.eye(3).expand(2, 2, 3, 3).clone()
    batch[1, 0] = 0.0
    assert linalg.LinAlgError is polyad.errors.LinAlgError
    assert issubclass(linalg.LinAlgError, RuntimeError)
    for function in (linalg.inv, linalg.cholesky, linalg.lu_factor, lambda a: linalg.solve(a, a)):
        with pytest.raises(linalg.LinAlgError, match=r"batch element \(1, 0\): "):
            function(batch)
    with pytest.raises(linalg.LinAlgError, match="leading minor of order 2"):
        linalg.cholesky(polyad.tensor([[1.0, 2.0], [2.0, 1.0]]))
    info = linalg.inv_ex(batch).info
    assert info.tolist() == [[0, 0], [1, 0]]
    assert info.dtype is polyad.int32


def test_nan_is_noticed() -> None:
    nan = polyad.full((2, 2, 2), float("nan"))
    for function in (linalg.cholesky, linalg.eigh, linalg.eig, linalg.svd, linalg.svdvals):
        with pytest.raises(linalg.LinAlgError):
            function(nan)
    assert linalg.cholesky_ex(nan).info.tolist() == [1, 1]
    assert linalg.inv(nan).isnan().all()
    assert linalg.det(nan).isnan().all()


def test_scipy_is_not_imported_before_it_is_needed() -> None:
    program = (
        "import sys, polyad; polyad.linalg.svd(polyad.eye(2)); assert 'scipy' not in sys.modules; "
        "polyad.linalg.cholesky(polyad.eye(2)); assert 'scipy.linalg' in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_out_takes_a_tuple() -> None:
    a = random(3, 3)
    out = (polyad.empty(0, dtype=polyad.float64), polyad.empty(0, dtype=polyad.float64))
    result = linalg.eigh(a, out=out)
    assert result.eigenvalues is out[0]
    assert result.eigenvectors is out[1]
    close(out[0], linalg.eigh(a).eigenvalues.numpy())


# ---------------------------------------------------------------------------------------------------- gradients


@pytest.mark.parametrize("function", [linalg.eigh, linalg.eig, linalg.svd])
def test_a_function_of_the_vectors_phase_has_no_gradient(function) -> None:
    a = random(3, 3, dtype=np.complex128).requires_grad_()
    vectors = function(a)[-1]
    with pytest.raises(RuntimeError, match="depends on the phase"):
        (vectors * random(3, 3, dtype=np.complex128, seed=1)).real.sum().backward()
    function(a)[-1].abs().sum().backward()
    assert a.grad is not None


@pytest.mark.parametrize("mode", ["r", "complete"])
def test_qr_refuses_gradients_that_do_not_exist(mode) -> None:
    a = random(4, 3).requires_grad_()
    with pytest.raises(RuntimeError, match="reduced"):
        linalg.qr(a, mode).R.sum().backward()


def test_the_second_gradient_goes_through_all_saved_results() -> None:
    # f(a) = a**-2, made of the inverse: f'' = 6 a**-4.
    a = polyad.tensor([[2.0]], dtype=polyad.float64, requires_grad=True)
    (first,) = polyad.autograd.grad(linalg.matrix_power(a, -2).sum(), a, create_graph=True)
    (second,) = polyad.autograd.grad(first.sum(), a)
    close(first, [[-0.25]])
    close(second, [[0.375]])


def test_the_zeroth_power_has_a_gradient() -> None:
    a = random(2, 2).requires_grad_()
    linalg.matrix_power(a, 0).sum().backward()
    assert a.grad.tolist() == [[0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("n", [3, 24])
def test_the_determinant_of_a_singular_matrix_has_its_cofactors_as_gradient(n) -> None:
    a = random(n, n)
    a[-1] = a[0]
    a.requires_grad_()
    linalg.det(a).backward()
    cofactors = np.array(
        [
            [(-1) ** (i + j) * np.linalg.det(np.delete(np.delete(a.detach().numpy(), i, 0), j, 1)) for j in range(n)]
            for i in range(n)
        ]
    )
    close(a.grad / np.abs(cofactors).max(), cofactors / np.abs(cofactors).max(), 1e-7)


def test_solve_reuses_its_factors_for_both_operands() -> None:
    a, b = random(5, 5).requires_grad_(), random(5, 2, seed=1).requires_grad_()
    x = linalg.solve(a, b)
    x.sum().backward()
    expected = np.linalg.solve(a.detach().numpy().T, np.ones((5, 2)))
    close(b.grad, expected)
    close(a.grad, -expected @ x.detach().numpy().T)


def test_lstsq_residuals_differentiate() -> None:
    a, b = random(5, 2).requires_grad_(), random(5, 1, seed=1).requires_grad_()
    linalg.lstsq(a, b, driver="gels").residuals.sum().backward()
    off = (a @ linalg.lstsq(a, b).solution - b).detach().numpy()
    close(b.grad, -2 * off)


def test_no_gradient_is_an_error_where_there_is_none() -> None:
    a = polyad.eye(2).requires_grad_()
    with pytest.raises(NotImplementedError, match="ldl_factor: it has no gradient"):
        linalg.ldl_factor(a)
    with polyad.no_grad():
        linalg.ldl_factor(a)


# ---------------------------------------------------------------------------------------------------- sizes


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(65, 65), (3, 40, 40), (300, 6, 6), (300, 3, 3)])
def test_factorizations_multiply_back(shape, dtype) -> None:
    a = random(*shape, dtype=dtype)
    n = shape[-1]
    tolerance = 200 * n * np.finfo(dtype).eps
    unit = polyad.eye(n, dtype=a.dtype)
    gram = a @ a.mH + unit
    L = linalg.cholesky(gram)
    P, lower, U = linalg.lu(a)
    Q, R = linalg.qr(a)
    values, vectors = linalg.eigh(gram)
    left, S, Vh = linalg.svd(a)
    LU, pivots = linalg.lu_factor(gram)
    LD, order = linalg.ldl_factor(gram, hermitian=True)
    for product, whole in (
        (L @ L.mH, gram),
        (P @ lower @ U, a),
        (Q @ R, a),
        ((vectors * values.unsqueeze(-2)) @ vectors.mH, gram),
        ((left * S.unsqueeze(-2)) @ Vh, a),
        (linalg.inv(gram) @ gram, unit.expand(*shape)),
        (linalg.lu_solve(LU, pivots, gram), unit.expand(*shape)),
        (linalg.lu_solve(LU, pivots, gram.mH.contiguous(), adjoint=True), unit.expand(*shape)),
        (linalg.ldl_solve(LD, order, gram, hermitian=True), unit.expand(*shape)),
        (linalg.solve_triangular(U, U @ a, upper=True) if n < 10 else a, a),
        (linalg.solve_triangular(L, L @ a, upper=False), a),
        (linalg.lstsq(gram, gram).solution, unit.expand(*shape)),
    ):
        scale = float(whole.abs().max().item()) * (float(S.max().item()) ** 2 if n < 10 else 1e2)
        off = float((product - whole).abs().max().item())
        assert off <= tolerance * scale


def test_matrix_exp_of_large_norms() -> None:
    a = random(30, 30) - 8 * polyad.eye(30, dtype=polyad.float64)
    values, vectors = np.linalg.eig(a.numpy())
    expected = ((vectors * np.exp(values)) @ np.linalg.inv(vectors)).real
    close(linalg.matrix_exp(a), expected, 1e-10)
    close(linalg.matrix_exp(polyad.eye(2, dtype=polyad.float64) * 200.0), np.exp(200.0) * np.eye(2), 1e-12)


def test_one_matrix_is_column_major_as_pytorchs() -> None:
    a = random(3, 3) + 4 * polyad.eye(3, dtype=polyad.float64)
    for result in (linalg.inv(a), linalg.lu_factor(a).LU, linalg.solve(a, a), linalg.qr(a).Q, linalg.cholesky(a @ a.T)):
        assert result.stride() == (1, 3)


def test_norms_take_pytorchs_orders_and_dims() -> None:
    a = random(2, 3, 4)
    x = a.numpy()
    for ord in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        close(linalg.norm(a, ord, dim=(2, 0)), np.linalg.norm(x, ord, axis=(2, 0)))
        close(linalg.matrix_norm(a, ord, dim=(0, 1), keepdim=True), np.linalg.norm(x, ord, axis=(0, 1), keepdims=True))
    close(linalg.norm(a), np.linalg.norm(x))
    close(polyad.norm(a, "nuc", dim=(1, 2)), np.linalg.norm(x, "nuc", axis=(1, 2)))
    with pytest.raises(ValueError, match="ord is 'max'"):
        linalg.norm(a[0], "max")


def test_lu_of_a_singular_matrix_does_not_raise():
    LU, pivots = polyad.lu(polyad.zeros(2, 2))
    assert LU.tolist() == [[0.0, 0.0], [0.0, 0.0]]
    assert pivots.tolist() == [1, 2]


def test_a_norm_of_negative_order_has_no_slope_where_an_element_is_zero():
    """It is 0 there, whatever the others are."""
    x = polyad.tensor([2.0, 0.0, 3.0], requires_grad=True)
    polyad.linalg.vector_norm(x, -1).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]


def test_the_number_of_elements_that_are_not_zero_has_no_slope():
    x = polyad.tensor([2.0, float("inf"), float("nan")], requires_grad=True)
    polyad.linalg.vector_norm(x, 0).backward()
    assert x.grad.tolist() == [0.0, 0.0, 0.0]
