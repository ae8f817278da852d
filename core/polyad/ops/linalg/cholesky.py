"""Cholesky factors of positive-definite matrices, and solving and inverting with them."""

from __future__ import annotations

from typing import Any

from ... import return_types
from ...base.shapes_and_strides import Shape
from ...dispatch.forward import forward
from ...dispatch.op import function, gradient, primitive
from ...dispatch.structure import Last, Rowwise, columns
from ...tensor import Tensor
from ..creation.sequences import eye
from ..shaping.diagonals import diag_embed
from .operands import (
    adjoint,
    adjoint_times,
    check_info,
    diagonal_of,
    is_flag,
    matrices,
    real_part,
    times,
    times_adjoint,
    with_info,
)
from .triangular import _linalg_solve_triangular, check_system


def _cholesky_shape(input: Shape, upper: bool) -> tuple[Shape, Shape]:
    return input, input[:-2]


@primitive(
    dtype=with_info,
    structure=Rowwise(Last(2)),
    strides=columns,
    shape=_cholesky_shape,
    outputs=("L", "info"),
    method=False,
)
def _linalg_cholesky_ex(input: Tensor, upper: bool) -> Any:
    """The Cholesky factor of each matrix, computed from its lower (or upper) triangle; info is the order of the first
    leading minor that is not positive definite, 0 if all are.
    """


def _cholesky_grad(g: list[Tensor], L: Tensor, upper: bool) -> Tensor:
    """L^-H P L^-1 with P the Hermitian half of tril(L^H g): Murray, "Differentiation of the Cholesky decomposition"
    (2016), eq. 10.
    """
    gL = g[0]
    if upper:
        L, gL = adjoint(L), adjoint(gL)
    product = adjoint_times(L, gL).tril()
    inner = (product + adjoint(product)) * 0.5 - diag_embed(real_part(diagonal_of(product)) * 0.5)
    half = _linalg_solve_triangular(L, inner, False, True, False)
    return _linalg_solve_triangular(L, adjoint(half), False, True, False)


def _cholesky_forward(input_t: Tensor, L: Tensor, upper: bool) -> tuple[Tensor, None]:
    """L P with P the lower half of L^-1 dA L^-H, where dA is Hermitian: Murray, eq. 8."""
    if upper:
        L = adjoint(L)
    change = (input_t + adjoint(input_t)) * 0.5
    inner = _linalg_solve_triangular(L, change, False, False, False)
    inner = _linalg_solve_triangular(L, adjoint(inner), False, False, False)
    product = times(L, inner.tril() - diag_embed(diagonal_of(inner) * 0.5))
    return (adjoint(product) if upper else product), None


gradient(_linalg_cholesky_ex, input=_cholesky_grad)
forward(_linalg_cholesky_ex, _cholesky_forward)

_NOT_POSITIVE = "the input is not positive-definite (the leading minor of order {order} is not)"
_MAKE_POSITIVE = "make the matrix symmetric (Hermitian) positive-definite, for example add a small multiple of eye(n)"


def cholesky_factor(op: str, name: str, A: Any, upper: bool) -> Tensor:
    """The Cholesky factor of what the user gave; raises as `cholesky` says."""
    matrices(op, A, name, square=True)
    factor, info = _linalg_cholesky_ex(A, is_flag(op, "upper", upper))
    check_info(op, info, _NOT_POSITIVE, _MAKE_POSITIVE, **{name: A})
    return factor  # type: ignore[no-any-return]


@function(namespace="linalg", also={"input": "A"})
def cholesky(A: Tensor, *, upper: bool = False, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of symmetric (Hermitian) positive-definite matrices (*, n, n): lower triangular L with
    A = L L^H, or its adjoint with *upper*.

    Only the lower triangle of A is read, or with *upper* the upper. Raises polyad.linalg.LinAlgError (a RuntimeError)
    for a matrix that is not positive-definite, RuntimeError for matrices that are not square, integers, bool and 16-bit
    floats.

    >>> import polyad
    >>> polyad.linalg.cholesky(polyad.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return cholesky_factor("cholesky", "A", A, upper)


@function(namespace="linalg", also={"input": "A"})
def cholesky_ex(A: Tensor, *, upper: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """As `polyad.linalg.cholesky`, without an error for what is not positive-definite: a named tuple (L, info).

    info (*), int32, is 0 or the order of the first leading minor that is not positive-definite; that matrix's L is
    unspecified. With *check_errors* it raises after all.

    >>> import polyad
    >>> polyad.linalg.cholesky_ex(polyad.tensor([[4.0, 2.0], [2.0, 0.0]])).info
    tensor(2, dtype=polyad.int32)
    """
    matrices("cholesky_ex", A, square=True)
    factor, info = _linalg_cholesky_ex(A, is_flag("cholesky_ex", "upper", upper))
    if check_errors:
        check_info("cholesky_ex", info, _NOT_POSITIVE, _MAKE_POSITIVE, A=A)
    return return_types.linalg_cholesky_ex(factor, info)


@function(also={"input": "B", "input2": "L"})
def cholesky_solve(B: Tensor, L: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """X of A X = B, for B (*, n, k) and the Cholesky factor L (*, n, n) of A: A = L L^H, or L^H L with *upper*.

    Batches broadcast. Raises RuntimeError for shapes that do not agree and for other dtypes than `polyad.linalg` takes.

    >>> import polyad
    >>> L = polyad.tensor([[2.0, 0.0], [1.0, 2.0]])
    >>> polyad.cholesky_solve(polyad.tensor([[6.0], [7.0]]), L)
    tensor([[1.],
            [1.]])
    """
    matrices("cholesky_solve", B, "B")
    check_system("cholesky_solve", L, B, names=("L", "B"))
    upper = is_flag("cholesky_solve", "upper", upper)
    inner = _linalg_solve_triangular(L, B, upper, upper, False)
    return _linalg_solve_triangular(L, inner, upper, not upper, False)


@function(also={"input": "L"})
def cholesky_inverse(L: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A, from its Cholesky factor L (*, n, n): A = L L^H, or L^H L with *upper*.

    Raises RuntimeError for matrices that are not square and for other dtypes than `polyad.linalg` takes.

    >>> import polyad
    >>> polyad.cholesky_inverse(polyad.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.2500, 0.0000],
            [0.0000, 0.0625]])
    """
    matrices("cholesky_inverse", L, "L", square=True)
    upper = is_flag("cholesky_inverse", "upper", upper)
    inverse = _linalg_solve_triangular(L, eye(L.shape[-1], dtype=L.dtype, device=L.device), upper, False, False)
    return times_adjoint(inverse, inverse) if upper else adjoint_times(inverse, inverse)
