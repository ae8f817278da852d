"""`polyad.lobpcg`: a few eigenpairs of a symmetric matrix, under the name of PyTorch's iteration for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .errors import ArgumentError
from .functions import flip
from .linalg import cholesky, eigh, solve_triangular
from .tensor import Tensor
from .tensor.tensor import check_tensor

__all__ = ["lobpcg"]


def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Callable[..., Any] | None = None,
    ortho_iparams: dict[str, int] | None = None,
    ortho_fparams: dict[str, float] | None = None,
    ortho_bparams: dict[str, bool] | None = None,
) -> tuple[Tensor, Tensor]:
    """The *k* largest eigenvalues (..., k) of a symmetric *A* (..., m, m), in falling order, and their eigenvectors
    (..., m, k); the smallest, in rising order, if *largest* is False. With *B*, those of ``A x = value B x``.

    Tensors are dense, so all eigenvalues are computed, by `polyad.linalg.eigh`, and the options of the iteration
    change nothing; *tracker* is not called. Raises ValueError where the matrix has fewer than 3 k rows, RuntimeError
    for a *B* that is not positive-definite.

    >>> import polyad
    >>> values, vectors = polyad.lobpcg(polyad.diag(polyad.arange(6.0)), k=2)
    >>> values
    tensor([5., 4.])
    """
    check_tensor(A, "lobpcg", "A")
    rows = A.shape[-1]
    count = k if k is not None else X.shape[-1] if X is not None else n if n is not None else 1
    if rows < 3 * count:
        raise ArgumentError(
            f"lobpcg: A has {rows} rows, fewer than three times the {count} eigenpairs asked for",
            operands={"A": A},
            fix="ask for fewer, or use polyad.linalg.eigh",
        )
    lower = None if B is None else cholesky(B)
    if lower is not None:
        half = solve_triangular(lower, A, upper=False)
        A = solve_triangular(lower, half.mT, upper=False)
    values, vectors = eigh(A)
    if largest is None or largest:
        values, vectors = flip(values[..., -count:], (-1,)), flip(vectors[..., -count:], (-1,))
    else:
        values, vectors = values[..., :count], vectors[..., :count]
    return values, vectors if lower is None else solve_triangular(lower.mT, vectors, upper=True)
