"""Large matrices go to cuSOLVER, small ones to kernels; what is not finite is told by both in the same words."""

import pytest

import polyad
from polyad.errors import LinAlgError


@pytest.mark.parametrize("dtype", [polyad.float32, polyad.complex128])
@pytest.mark.parametrize("n", [5, 70])
def test_spectra_of_small_and_large_matrices(n, dtype):
    a = polyad.randn(2, n, n + 1, dtype=dtype, device="cuda")
    u, s, vh = polyad.linalg.svd(a, full_matrices=False)
    assert polyad.allclose((u * s.to(dtype).unsqueeze(-2)) @ vh, a, atol=1e-3)
    hermitian = a @ a.mH
    values, vectors = polyad.linalg.eigh(hermitian)
    assert polyad.allclose(vectors @ (values.to(dtype).unsqueeze(-1) * vectors.mH), hermitian, atol=1e-2)
    assert bool((values.diff() >= 0).all())
    assert polyad.linalg.svd(a)[2].shape == (2, n + 1, n + 1)


@pytest.mark.parametrize("n", [5, 70])
@pytest.mark.parametrize("function", [polyad.linalg.svd, polyad.linalg.eigh])
def test_what_is_not_finite_is_told(function, n):
    a = polyad.eye(n).repeat(2, 1, 1)
    a[1, 2, 2] = float("nan")
    results = function(a.to("cuda"))
    with pytest.raises(LinAlgError, match="batch element 1 has values that are not finite"):
        results[0].cpu()
