"""Factors of matrices that are nearly of low rank, found with random directions.

Halko, Martinsson, Tropp (2011): "Finding structure with randomness", algorithms 4.4 and 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...dispatch.op import function
from ...errors import ArgumentError, ShapeError, safe_repr
from ...tensor import Tensor
from ..random.sampling import randn
from .factorizations import qr
from .operands import matrices
from .svd import svd

if TYPE_CHECKING:
    Factors = tuple[Tensor, Tensor, Tensor]


_MOST_STEPS = 10_000
"""Far more than bring anything: each makes wrong directions smaller by the square of a ratio of singular values."""


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns Q (*, m, q) with A nearly Q Q^H A."""
    directions = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q: Tensor = qr(A @ directions)[0]
    for _ in range(niter):
        Q = qr(A @ qr(A.mH @ Q)[0])[0]
    return Q


@function(method=False)
def svd_lowrank(A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None) -> Factors:
    """Nearly the *q* largest singular values of A (*, m, n), or of A - M, with their vectors: (U, S, V), and A is
    nearly U diag(S) V^H.

    Random directions find the space; each of *niter* steps brings it closer. Raises RuntimeError for a negative *q*,
    for what is no matrix and for other dtypes than `polyad.linalg` takes.

    >>> import polyad
    >>> x = polyad.arange(6.0)
    >>> U, S, V = polyad.svd_lowrank(polyad.outer(x, x), q=1)
    >>> S.round()
    tensor([55.])
    """
    matrices("svd_lowrank", A, "A")
    q, niter = 6 if q is None else q, 2 if niter is None else niter
    if q < 0:
        raise ShapeError(f"svd_lowrank: q is {q}", operands={"A": A}, fix="pass 0 or more")
    if niter > _MOST_STEPS:
        raise ArgumentError(
            f"svd_lowrank: niter is {safe_repr(niter)}, more than {_MOST_STEPS:,} steps",
            operands={"A": A},
            fix="2 is usual; linalg.svd is exact",
        )
    A = A if M is None else A - M
    if A.shape[-2] < A.shape[-1]:
        V, S, U = svd_lowrank(A.mH, q, niter)
        return U, S, V
    Q = _basis(A, q, niter)
    U, S, Vh = svd(Q.mH @ A, full_matrices=False)
    return Q @ U, S, Vh.mH


@function(method=False)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> Factors:
    """Nearly the *q* main components of the rows of A (*, m, n): `svd_lowrank` of A, less its mean row with *center*.

    The columns of V are the components, and S**2 / (m - 1) their variances. *q* is at most min(m, n); by default 6, or
    that. Raises ValueError for another q, and as `svd_lowrank`.

    >>> import polyad
    >>> rows = polyad.tensor([[0.0, 1.0], [2.0, 1.0], [4.0, 1.0]])
    >>> U, S, V = polyad.pca_lowrank(rows, q=1)
    >>> S, V.abs()
    (tensor([2.8284]), tensor([[1.],
            [0.]]))
    """
    matrices("pca_lowrank", A, "A")
    most = min(A.shape[-2:])
    q = min(6, most) if q is None else q
    if not 0 <= q <= most:
        raise ArgumentError(
            f"pca_lowrank: q is {q}, and A has {most} components", operands={"A": A}, fix=f"pass 0 to {most}"
        )
    return svd_lowrank(A - A.mean(-2, keepdim=True) if center else A, q, niter)
