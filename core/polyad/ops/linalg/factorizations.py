"""LU, LDL and QR factorizations. Cholesky's is in cholesky.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import int32
from ...base.shapes_and_strides import Shape, broadcast_shapes
from ...dispatch.modes import differentiated
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing, first, to_int64
from ...dispatch.structure import Last, Rowwise, columns, opaque
from ...errors import ArgumentTypeError, DTypeError, NotSupported, OptionError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import arange
from ..creation.sequences import eye
from ..indexing.gather_scatter import _gather
from ..indexing.slicing import narrow
from ..shaping.diagonals import diag_embed
from ..shaping.joining import _cat
from ..sorting.sort import argsort
from .operands import (
    adjoint,
    adjoint_times,
    check_info,
    diagonal_of,
    is_flag,
    lapack_dtype,
    matrices,
    product_shape,
    real_part,
    same_dtype,
    times,
    times_adjoint,
)
from .triangular import _linalg_solve_triangular, check_system

# ------------------------------------------------------------------------------------------------------- LU


def _pivoted(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (types[0].dtype, int32, int32))


def _lu_shape(input: Shape, pivot: bool) -> tuple[Shape, Shape, Shape]:
    return input, (*input[:-2], min(input[-2:])), input[:-2]


@primitive(
    dtype=_pivoted,
    structure=Rowwise(Last(2)),
    strides=columns,
    shape=_lu_shape,
    outputs=("LU", "pivots", "info"),
    method=False,
)
def _linalg_lu_factor_ex(input: Tensor, pivot: bool) -> Any:
    """U in the upper triangle and L, whose diagonal is ones, below it; row i was exchanged with row pivots[i] (from 1).

    info is the place (from 1) of the first 0 on U's diagonal, or 0. *pivot* is True.
    """


@primitive(dtype=to_int64, structure=Rowwise(Last(1)), shape=lambda pivots, rows: (*pivots[:-1], rows), method=False)
def _lu_permutation(pivots: Tensor, rows: int) -> Tensor:
    """Where the exchanges that *pivots* tells put the rows: row i of L U is row permutation[i] of the matrix."""


def _lu_grad(g: list[Tensor], LU: Tensor, pivots: Tensor) -> Tensor:
    """P L^-H (tril(L^H gL, -1) + triu(gU U^H)) U^-H; the columns or rows beyond the square part by the chain rule.

    With B = P^T A the square part of B is L U; further columns of U are L^-1 B, further rows of L are B U^-1.
    """
    gL, gU = g[0].tril(-1), g[0].triu()
    rows, columns = LU._array.shape[-2:]
    k = min(rows, columns)
    square = narrow(narrow(LU, -2, 0, k), -1, 0, k)
    U = square.triu()
    L = square.tril(-1) + eye(k, dtype=LU.dtype, device=LU.device)
    beyond: Tensor | None = None
    if columns > rows:
        gU, gU2 = narrow(gU, -1, 0, k), narrow(gU, -1, k, columns - k)
        beyond = _linalg_solve_triangular(L, gU2, False, True, True)
        gL = narrow(gL, -1, 0, k) - times_adjoint(beyond, narrow(LU, -1, k, columns - k)).tril(-1)
    elif rows > columns:
        gL, gL2 = narrow(gL, -2, 0, k), narrow(gL, -2, k, rows - k)
        beyond = adjoint(_linalg_solve_triangular(U, adjoint(gL2), True, False, False))
        gU = narrow(gU, -2, 0, k) - adjoint_times(narrow(LU, -2, k, rows - k), beyond).triu()
    inner = adjoint_times(L, gL).tril(-1) + times_adjoint(gU, U).triu()
    left = _linalg_solve_triangular(L, inner, False, True, True)
    moved = adjoint(_linalg_solve_triangular(U, adjoint(left), True, False, False))
    if beyond is not None:
        moved = _cat([moved, beyond], moved.ndim - (1 if columns > rows else 2))
    return rows_back(moved, _lu_permutation(pivots, rows))


gradient(_linalg_lu_factor_ex, input=_lu_grad)


def rows_forth(matrix: Tensor, permutation: Tensor) -> Tensor:
    """P^T matrix: row i is row permutation[i]."""
    batch = broadcast_shapes(matrix._array.shape[:-2], permutation._array.shape[:-1])
    shape = (*batch, *matrix._array.shape[-2:])
    return _gather(matrix.expand(*shape), permutation.unsqueeze(-1).expand(*shape), len(shape) - 2)


def rows_back(matrix: Tensor, permutation: Tensor) -> Tensor:
    """P matrix: row permutation[i] is row i."""
    return rows_forth(matrix, argsort(permutation))


_SINGULAR_FACTOR = "U[{order},{order}] is zero, so that solving with the factors would divide by zero"
_WITHOUT_CHECK = "call polyad.linalg.lu_factor_ex or polyad.linalg.lu, which accept singular matrices"


def factored(op: str, A: Any, pivot: Any, check_errors: bool, name: str = "A") -> tuple[Tensor, Tensor, Tensor]:
    """LU, pivots and info of what the user gave; raises as `lu_factor` says."""
    matrices(op, A, name)
    if not is_flag(op, "pivot", pivot):
        raise NotSupported(
            f"{op}: LU without pivoting is not supported", operands={name: A}, fix="leave pivot out: pivot=True"
        )
    LU, pivots, info = _linalg_lu_factor_ex(A, True)
    if check_errors:
        check_info(op, info, _SINGULAR_FACTOR, _WITHOUT_CHECK, **{name: A})
    return LU, pivots, info


@function(namespace="linalg")
def lu_factor(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """The LU factorization of matrices (*, m, n) in the compact form that `lu_solve` takes: a named tuple (LU, pivots).

    U is LU's upper triangle, L is what lies below it and ones on the diagonal; pivots (*, min(m, n)), int32, tells
    with which row, counted from 1, each row was exchanged. Raises RuntimeError (polyad.linalg.LinAlgError) if U has a
    zero on its diagonal, NotImplementedError for ``pivot=False``, RuntimeError for integers, bool and 16-bit floats.

    >>> import polyad
    >>> LU, pivots = polyad.linalg.lu_factor(polyad.tensor([[1.0, 2.0], [2.0, 8.0]]))
    >>> LU, pivots
    (tensor([[ 2.0000,  8.0000],
            [ 0.5000, -2.0000]]), tensor([2, 2], dtype=polyad.int32))
    """
    LU, pivots, _ = factored("lu_factor", A, pivot, True)
    return return_types.linalg_lu_factor(LU, pivots)


@function(namespace="linalg")
def lu_factor_ex(A: Tensor, *, pivot: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """As `polyad.linalg.lu_factor`, without an error for singular matrices: a named tuple (LU, pivots, info).

    info (*), int32, is 0 or the place, counted from 1, of the first zero on U's diagonal. With *check_errors* it
    raises after all.

    >>> import polyad
    >>> polyad.linalg.lu_factor_ex(polyad.ones(2, 2)).info
    tensor(2, dtype=polyad.int32)
    """
    return return_types.linalg_lu_factor_ex(*factored("lu_factor_ex", A, pivot, check_errors))


@function(namespace="linalg")
def lu(A: Tensor, *, pivot: bool = True, out: Any = None) -> Any:
    """The LU factorization A = P L U of matrices (*, m, n): a named tuple (P, L, U).

    P (*, m, m) is a permutation matrix, L (*, m, k) is lower triangular with ones on its diagonal, U (*, k, n) upper
    triangular, k = min(m, n). Raises NotImplementedError for ``pivot=False``, RuntimeError for integers, bool and
    16-bit floats.

    >>> import polyad
    >>> P, L, U = polyad.linalg.lu(polyad.tensor([[1.0, 2.0], [2.0, 8.0]]))
    >>> L, U
    (tensor([[1.0000, 0.0000],
            [0.5000, 1.0000]]), tensor([[ 2.,  8.],
            [ 0., -2.]]))
    """
    LU, pivots, _ = factored("lu", A, pivot, False)
    return return_types.linalg_lu(*_unpacked(LU, pivots))


def _unpacked(LU: Tensor, pivots: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    rows, columns = LU._array.shape[-2:]
    k = min(rows, columns)
    L = narrow(LU, -1, 0, k).tril(-1) + eye(rows, k, dtype=LU.dtype, device=LU.device)
    return _permutation_matrix(LU, pivots), L, narrow(LU, -2, 0, k).triu()


def _permutation_matrix(LU: Tensor, pivots: Tensor) -> Tensor:
    rows = LU._array.shape[-2]
    permutation = _lu_permutation(pivots, rows).unsqueeze(-2)
    return (arange(rows, device=LU.device).unsqueeze(-1) == permutation).to(LU.dtype)


@function(method=False)
def lu_unpack(
    LU_data: Tensor, LU_pivots: Tensor, unpack_data: bool = True, unpack_pivots: bool = True, *, out: Any = None
) -> Any:
    """P, L and U from the compact form that `polyad.linalg.lu_factor` gives: a named tuple (P, L, U).

    What is not asked for is an empty tensor. Raises RuntimeError unless LU_pivots is int32 and its shape fits.

    >>> import polyad
    >>> P, L, U = polyad.lu_unpack(*polyad.linalg.lu_factor(polyad.tensor([[1.0, 2.0], [2.0, 8.0]])))
    >>> P @ L @ U
    tensor([[1., 2.],
            [2., 8.]])
    """
    matrices("lu_unpack", LU_data, "LU_data")
    check_pivots("lu_unpack", LU_data, LU_pivots, "LU_data", "LU_pivots")
    nothing = LU_data.new_empty((0,))
    P, L, U = nothing, nothing, nothing
    if unpack_pivots:
        P = _permutation_matrix(LU_data, LU_pivots)
    if unpack_data:
        _, L, U = _unpacked(LU_data, LU_pivots)
    return return_types.lu_unpack(P, L, U)


def check_pivots(op: str, LU: Tensor, pivots: Any, name: str, pivots_name: str) -> None:
    """Raise RuntimeError unless *pivots* is int32 and of the shape that belongs to the factors."""
    check_tensor(pivots, op, pivots_name)
    if pivots._type.dtype is not int32:
        raise DTypeError(
            f"{op}: {pivots_name} is {pivots._type.dtype.name}, not int32",
            operands={name: LU, pivots_name: pivots},
            fix="pass the pivots that lu_factor or ldl_factor gave",
        )
    wanted = (*LU._array.shape[:-2], min(LU._array.shape[-2:]))
    if pivots._array.shape != wanted:
        raise ShapeError(
            f"{op}: {pivots_name} {tuple(pivots.shape)} does not belong to {name} {tuple(LU.shape)}: "
            f"it should be {wanted}",
            operands={name: LU, pivots_name: pivots},
            fix="pass the pivots that came with the factors",
        )


def _lu_solve_shape(LU: Shape, pivots: Shape, B: Shape, adjoint: bool) -> Shape:
    return product_shape(LU, B)


def _second_of_three(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None, None, None), (types[2].dtype,))


@composite(dtype=_second_of_three, structure=opaque, strides=columns, shape=_lu_solve_shape, method=False)
def _linalg_lu_solve(LU: Tensor, pivots: Tensor, B: Tensor, adjoint: bool) -> Tensor:
    """X of A X = B, or A^H X = B with *adjoint*, from A's factors."""
    permutation = _lu_permutation(pivots, LU._array.shape[-1])
    if adjoint:
        inner = _linalg_solve_triangular(LU, B, True, True, False)
        return rows_back(_linalg_solve_triangular(LU, inner, False, True, True), permutation)
    inner = _linalg_solve_triangular(LU, rows_forth(B, permutation), False, False, True)
    return _linalg_solve_triangular(LU, inner, True, False, False)


@function(namespace="linalg")
def lu_solve(
    LU: Tensor, pivots: Tensor, B: Tensor, *, left: bool = True, adjoint: bool = False, out: Tensor | None = None
) -> Tensor:
    """X of A X = B from the factors of A that `polyad.linalg.lu_factor` gave; B is (*, n, k), batches broadcast.

    With ``left=False`` X of X A = B for B (*, k, n); with *adjoint* A^H takes A's place. Raises RuntimeError for
    shapes that do not agree, different dtypes, integers, bool and 16-bit floats.

    >>> import polyad
    >>> LU, pivots = polyad.linalg.lu_factor(polyad.tensor([[1.0, 2.0], [2.0, 8.0]]))
    >>> polyad.linalg.lu_solve(LU, pivots, polyad.tensor([[3.0], [10.0]]))
    tensor([[1.],
            [1.]])
    """
    return solve_with_factors("lu_solve", LU, pivots, B, ("LU", "pivots", "B"), left, adjoint)


def solve_with_factors(
    op: str,
    LU: Tensor,
    pivots: Tensor,
    B: Tensor,
    names: tuple[str, str, str],
    left: bool = True,
    of_adjoint: bool = False,
) -> Tensor:
    """The solution by the factors that the user gave; raises as `lu_solve` says."""
    is_flag(op, "left", left)
    check_system(op, LU, B, left, names=(names[0], names[2]))
    check_pivots(op, LU, pivots, names[0], names[1])
    is_flag(op, "adjoint", of_adjoint)
    if left:
        return _linalg_lu_solve(LU, pivots, B, of_adjoint)
    return adjoint(_linalg_lu_solve(LU, pivots, adjoint(B), not of_adjoint))


# ------------------------------------------------------------------------------------------------------- LDL


def _ldl_shape(input: Shape, hermitian: bool) -> tuple[Shape, Shape, Shape]:
    return input, input[:-1], input[:-2]


@primitive(
    dtype=_pivoted,
    structure=Rowwise(Last(2)),
    strides=columns,
    shape=_ldl_shape,
    outputs=("LD", "pivots", "info"),
    method=False,
)
def _linalg_ldl_factor_ex(input: Tensor, hermitian: bool) -> Any:
    """Bunch and Kaufman's factors of the symmetric (Hermitian) matrices in the lower triangle, as LAPACK's sytrf."""


def _ldl_solve_shape(LD: Shape, pivots: Shape, B: Shape, hermitian: bool) -> Shape:
    return product_shape(LD, B)


@primitive(dtype=_second_of_three, structure=opaque, strides=columns, shape=_ldl_solve_shape, method=False)
def _linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, hermitian: bool) -> Tensor:
    """X of A X = B from A's LDL factors."""


def _refuse_gradient(op: str, **operands: Tensor) -> None:
    """PyTorch raises when the gradient is asked for; to return a result without history would hide it."""
    if differentiated(*operands.values()):
        raise NotSupported(
            f"{op}: it has no gradient, and an operand requires a gradient or has a tangent",
            operands=operands,
            fix="work under polyad.no_grad() or on detached tensors; cholesky, lu_factor and solve have gradients",
        )


def _ldl_factored(op: str, A: Any, hermitian: Any, check_errors: bool) -> tuple[Tensor, Tensor, Tensor]:
    matrices(op, A, square=True)
    _refuse_gradient(op, A=A)
    LD, pivots, info = _linalg_ldl_factor_ex(A, is_flag(op, "hermitian", hermitian))
    if check_errors:
        check_info(
            op,
            info,
            "D[{order},{order}] is zero, so that solving with the factors would divide by zero",
            "call polyad.linalg.ldl_factor_ex, which accepts singular matrices",
            A=A,
        )
    return LD, pivots, info


@function(namespace="linalg", also={"input": "A"})
def ldl_factor(A: Tensor, *, hermitian: bool = False, out: Any = None) -> Any:
    """The LDL factorization of symmetric (or, with *hermitian*, Hermitian) matrices (*, n, n), which need not be
    definite, in the compact form that `ldl_solve` takes: a named tuple (LD, pivots).

    Only A's lower triangle is read. The form is that of LAPACK's sytrf: a negative pivot marks a 2 by 2 block of D.
    There is no gradient: NotImplementedError if A requires grad. Raises RuntimeError (polyad.linalg.LinAlgError) for a
    singular D, RuntimeError for matrices that are not square, integers, bool and 16-bit floats.

    >>> import polyad
    >>> polyad.linalg.ldl_factor(polyad.tensor([[4.0, 2.0], [2.0, -3.0]])).LD
    tensor([[ 4.0000,  0.0000],
            [ 0.5000, -4.0000]])
    """
    return return_types.linalg_ldl_factor(*_ldl_factored("ldl_factor", A, hermitian, True)[:2])


@function(namespace="linalg", also={"input": "A"})
def ldl_factor_ex(A: Tensor, *, hermitian: bool = False, check_errors: bool = False, out: Any = None) -> Any:
    """As `polyad.linalg.ldl_factor`, without an error for singular matrices: a named tuple (LD, pivots, info).

    info (*), int32, is 0 or the place, counted from 1, of the first zero on D's diagonal. With *check_errors* it
    raises after all.

    >>> import polyad
    >>> polyad.linalg.ldl_factor_ex(polyad.zeros(2, 2)).info
    tensor(1, dtype=polyad.int32)
    """
    return return_types.linalg_ldl_factor_ex(*_ldl_factored("ldl_factor_ex", A, hermitian, check_errors))


@function(namespace="linalg")
def ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False, out: Tensor | None = None) -> Tensor:
    """X of A X = B from the factors of A that `polyad.linalg.ldl_factor` gave; B is (*, n, k), batches broadcast.

    There is no gradient: NotImplementedError if an operand requires grad. Raises RuntimeError for shapes that do not
    agree, different dtypes, integers, bool and 16-bit floats.

    >>> import polyad
    >>> LD, pivots = polyad.linalg.ldl_factor(polyad.tensor([[4.0, 2.0], [2.0, -3.0]]))
    >>> polyad.linalg.ldl_solve(LD, pivots, polyad.tensor([[6.0], [-1.0]]))
    tensor([[1.],
            [1.]])
    """
    check_system("ldl_solve", LD, B, names=("LD", "B"))
    check_pivots("ldl_solve", LD, pivots, "LD", "pivots")
    _refuse_gradient("ldl_solve", LD=LD, B=B)
    return _linalg_ldl_solve(LD, pivots, B, is_flag("ldl_solve", "hermitian", hermitian))


# ------------------------------------------------------------------------------------------------------- QR


def _two_of_first(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    return Typing((None,) * len(types), (dtype, dtype))


def _geqrf_shape(input: Shape) -> tuple[Shape, Shape]:
    return input, (*input[:-2], min(input[-2:]))


@primitive(
    dtype=_two_of_first,
    structure=Rowwise(Last(2)),
    strides=columns,
    shape=_geqrf_shape,
    outputs=("a", "tau"),
    method=False,
)
def _geqrf(input: Tensor) -> Any:
    """R in the upper triangle, below it the vectors v and in tau the factors of the reflections I - tau v v^H whose
    product is Q; v is 1 where R's diagonal is. LAPACK's geqrf.
    """


@composite(dtype=first, structure=opaque, strides=columns, shape=lambda input, tau: input, method=False)
def _linalg_householder_product(input: Tensor, tau: Tensor) -> Tensor:
    """The first columns of the product of the reflections I - tau_i v_i v_i^H, v_i in the columns of *input*."""
    rows, columns = input._array.shape[-2:]
    unit = eye(rows, columns, dtype=input.dtype, device=input.device)
    vectors = input.tril(-1) + unit
    product = unit.expand(*input._array.shape)
    for i in reversed(range(tau._array.shape[-1])):
        v = narrow(vectors, -1, i, 1)
        scale = narrow(tau, -1, i, 1).unsqueeze(-1)
        product = product - times(v * scale, adjoint_times(v, product))
    return product


def _qr_shape(A: Shape, mode: str) -> tuple[Shape, Shape]:
    rows, columns = A[-2:]
    inner = rows if mode == "complete" else min(rows, columns)
    return (0,) if mode == "r" else (*A[:-2], rows, inner), (*A[:-2], inner, columns)


@composite(
    dtype=_two_of_first, structure=Rowwise(Last(2)), strides=columns, shape=_qr_shape, outputs=("Q", "R"), method=False
)
def _linalg_qr(A: Tensor, mode: str) -> Any:
    """The QR factorization; *mode* is "reduced", "complete" or "r"."""
    rows, columns = A._array.shape[-2:]
    inner = rows if mode == "complete" else min(rows, columns)
    factors, tau = _geqrf(A)
    R = narrow(factors, -2, 0, inner).triu()
    if mode == "r":
        return A.new_empty((0,)), R
    if inner > columns:
        factors = _cat([factors, factors.new_zeros((*factors.shape[:-1], inner - columns))], factors.ndim - 1)
    return _linalg_householder_product(narrow(factors, -1, 0, inner), tau), R


def _qr_grad(g: list[Tensor | None], Q: Tensor, R: Tensor, mode: str) -> Tensor:
    """(gQ + Q S) R^-H with S the Hermitian matrix that has the upper triangle of gR R^H - Q^H gQ and a real diagonal
    (Walter and Lehmann, "Algorithmic differentiation of linear algebra functions", 2018; the diagonal of R is real
    because LAPACK's is). Of a wide matrix the further columns give R's by R = Q^H A.
    """
    if mode == "r":
        raise NotSupported(
            "qr: the gradient depends on Q, which mode='r' does not compute",
            fix="use mode='reduced' if you differentiate",
        )
    k, columns = R._array.shape[-2:]
    if k > columns:
        raise NotSupported(
            "qr: with mode='complete' and more rows than columns, Q's last columns are arbitrary and have no gradient",
            fix="use mode='reduced' if you differentiate",
        )
    gQ, gR = g
    beyond: Tensor | None = None
    if columns > k:
        if gR is not None:
            gR, gR2 = narrow(gR, -1, 0, k), narrow(gR, -1, k, columns - k)
            beyond = times(Q, gR2)
            # R2 = Q^H A2 and A2 = Q R2
            through_Q = times(Q, times_adjoint(narrow(R, -1, k, columns - k), gR2))
            gQ = through_Q if gQ is None else gQ + through_Q
        else:
            beyond = Q.new_zeros((*Q.shape[:-1], columns - k))
        R = narrow(R, -1, 0, k)
    inner: Tensor | None = None
    if gR is not None:
        inner = times_adjoint(gR.triu(), R)
    if gQ is not None:
        product = adjoint_times(Q, gQ)
        inner = -product if inner is None else inner - product
    assert inner is not None
    upper = inner.triu()
    symmetric = upper + adjoint(upper) - diag_embed(real_part(diagonal_of(upper)))
    moved = times(Q, symmetric)
    if gQ is not None:
        moved = moved + gQ
    result = adjoint(_linalg_solve_triangular(R, adjoint(moved), True, False, False))
    return result if beyond is None else _cat([result, beyond], result.ndim - 1)


gradient(_linalg_qr, A=_qr_grad)


@function(namespace="linalg")
def qr(A: Tensor, mode: str = "reduced", *, out: Any = None) -> Any:
    """The QR factorization A = Q R of matrices (*, m, n), with k = min(m, n): a named tuple (Q, R).

    ``mode="reduced"`` gives Q (*, m, k) with orthonormal columns and upper triangular R (*, k, n), "complete" Q
    (*, m, m) and R (*, m, n), "r" an empty Q and R. The gradient exists for "reduced", if the first k columns of A are
    independent. Raises RuntimeError for another mode, integers, bool and 16-bit floats.

    >>> import polyad
    >>> Q, R = polyad.linalg.qr(polyad.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> R
    tensor([[-5.0000, -2.2000],
            [ 0.0000,  0.4000]])
    """
    matrices("qr", A)
    if mode not in ("reduced", "complete", "r"):
        if not isinstance(mode, str):
            raise ArgumentTypeError(
                f"qr: mode is {safe_repr(mode)}, not a str", fix='pass "reduced", "complete" or "r"'
            )
        raise OptionError(
            f"qr: mode is {safe_repr(mode)}", operands={"A": A}, fix='choose "reduced", "complete" or "r"'
        )
    return return_types.linalg_qr(*_linalg_qr(A, mode))


@function(namespace="linalg", also={"input": "A"})
def householder_product(A: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The first n columns (*, m, n) of the product of k Householder reflections I - tau_i v_i v_i^H.

    v_i is 0 above row i, 1 in it, and what column i of A (*, m, n) has below it; tau is (*, k), k <= n <= m. Raises
    RuntimeError for other shapes, different dtypes, integers, bool and 16-bit floats.

    >>> import polyad
    >>> A, tau = polyad.geqrf(polyad.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> polyad.linalg.householder_product(A, tau)
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """
    check_reflections("householder_product", A, tau, "A")
    return _linalg_householder_product(A, tau)


def check_reflections(op: str, A: Any, tau: Any, name: str) -> None:
    """Raise unless *A* and *tau* hold Householder reflections."""
    matrices(op, A, name)
    lapack_dtype(op, check_tensor(tau, op, "tau"), "tau")
    same_dtype(op, **{name: A, "tau": tau})
    rows, columns = A._array.shape[-2:]
    if not rows >= columns or not tau.ndim or tau.shape[-1] > columns or tau.shape[:-1] != A.shape[:-2]:
        raise ShapeError(
            f"{op}: {name} {tuple(A.shape)} and tau {tuple(tau.shape)} do not agree",
            operands={name: A, "tau": tau},
            fix=f"make {name} (*, m, n) and tau (*, k) with k <= n <= m",
        )


@function()
def geqrf(input: Tensor, *, out: Any = None) -> Any:
    """The QR factorization of matrices (*, m, n) in LAPACK's compact form: a named tuple (a, tau).

    R is the upper triangle of a; below it are the vectors of the reflections whose product is Q (see
    `polyad.linalg.householder_product`). There is no gradient: NotImplementedError if *input* requires grad. Raises
    RuntimeError for integers, bool and 16-bit floats.

    >>> import polyad
    >>> polyad.geqrf(polyad.tensor([[3.0, 1.0], [4.0, 2.0]])).tau
    tensor([1.6000, 0.0000])
    """
    matrices("geqrf", input, "input")
    _refuse_gradient("geqrf", input=input)
    return return_types.geqrf(*_geqrf(input))
