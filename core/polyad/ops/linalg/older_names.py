"""Functions that PyTorch has outside of ``torch.linalg`` too: the same operations under older names or signatures, and
as methods of Tensor.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ... import return_types
from ...base.dtypes import DType
from ...base.shapes_and_strides import normalize_dim
from ...dispatch.op import function
from ...errors import OptionError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..shaping.joining import _cat
from . import factorizations
from .cholesky import cholesky_factor
from .determinants import _linalg_det, _linalg_slogdet
from .matrix_functions import exponential, power
from .norms import _matrix_norm, vector_norm
from .operands import adjoint, is_flag, matrices, same_dtype, times
from .solving import inverted
from .svd import _linalg_pinv, _linalg_svd, _linalg_svdvals, tolerance
from .triangular import _linalg_solve_triangular, check_system

if TYPE_CHECKING:
    Dims = int | tuple[int, ...] | list[int] | None


@function()
def det(input: Tensor) -> Tensor:
    """The determinant: `polyad.linalg.det`.

    >>> import polyad
    >>> polyad.det(polyad.tensor([[2.0, 1.0], [0.0, 3.0]]))
    tensor(6.)
    """
    return _linalg_det(matrices("det", input, "input", square=True))


@function()
def slogdet(input: Tensor, *, out: Any = None) -> Any:
    """The sign and the logarithm of the magnitude of the determinant: `polyad.linalg.slogdet`.

    >>> import polyad
    >>> polyad.slogdet(polyad.eye(2)).sign
    tensor(1.)
    """
    return return_types.slogdet(*_linalg_slogdet(matrices("slogdet", input, "input", square=True)))


@function()
def inverse(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices: `polyad.linalg.inv`.

    >>> import polyad
    >>> polyad.inverse(polyad.tensor([[1.0, 1.0], [1.0, 2.0]]))
    tensor([[ 2., -1.],
            [-1.,  1.]])
    """
    return inverted("inverse", "input", input)


@function()
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverse: `polyad.linalg.pinv` with a cut at *rcond* times the largest singular value.

    >>> import polyad
    >>> polyad.pinverse(polyad.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    matrices("pinverse", input, "input")
    return _linalg_pinv(input, None, tolerance("pinverse", "rcond", rcond), False)


@function()
def matrix_exp(input: Tensor) -> Tensor:
    """The exponential of square matrices: `polyad.linalg.matrix_exp`.

    >>> import polyad
    >>> polyad.matrix_exp(polyad.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    return exponential("matrix_exp", "input", input)


@function()
def matrix_power(input: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The *n*-th power of square matrices: `polyad.linalg.matrix_power`.

    >>> import polyad
    >>> polyad.matrix_power(polyad.tensor([[1, 1], [0, 1]]), 3)
    tensor([[1, 3],
            [0, 1]])
    """
    return power("matrix_power", "input", input, n)


@function(also={"input": "b"})
def triangular_solve(
    b: Tensor,
    A: Tensor,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
    *,
    out: Any = None,
) -> Any:
    """X of A X = b (or of A^T X = b with *transpose*) for triangular A, and a copy of A: a named tuple (solution,
    cloned_coefficient).

    PyTorch's older form of `polyad.linalg.solve_triangular`, which also says what raises.

    >>> import polyad
    >>> A = polyad.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> polyad.triangular_solve(polyad.tensor([[4.0], [8.0]]), A).solution
    tensor([[1.],
            [2.]])
    """
    matrices("triangular_solve", b, "b")
    check_system("triangular_solve", A, b, names=("A", "b"))
    if transpose:  # without conjugation, unlike the op's adjoint
        solution = _linalg_solve_triangular(A.mT, b, not upper, False, unitriangular)
    else:
        solution = _linalg_solve_triangular(A, b, bool(upper), False, unitriangular)
    batch = solution.shape[:-2]
    return return_types.triangular_solve(solution, A.expand(*batch, *A.shape[-2:]).clone())


@function()
def cholesky(input: Tensor, upper: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The Cholesky factor of positive-definite matrices: PyTorch's older form of `polyad.linalg.cholesky`.

    >>> import polyad
    >>> polyad.cholesky(polyad.tensor([[4.0, 2.0], [2.0, 5.0]]), upper=True)
    tensor([[2., 1.],
            [0., 2.]])
    """
    return cholesky_factor("cholesky", "input", input, upper)


@function()
def lu(A: Tensor, pivot: bool = True, get_infos: bool = False, out: Any = None) -> Any:
    """The LU factorization in compact form, (LU, pivots) or, with *get_infos*, (LU, pivots, info): PyTorch's older form
    of `polyad.linalg.lu_factor_ex`: a singular matrix does not raise.

    >>> import polyad
    >>> LU, pivots = polyad.lu(polyad.tensor([[1.0, 2.0], [2.0, 8.0]]))
    >>> pivots
    tensor([2, 2], dtype=polyad.int32)
    """
    factored = factorizations.factored("lu", A, pivot, False)
    return factored if get_infos else factored[:2]


@function(also={"input": "b"})
def lu_solve(b: Tensor, LU_data: Tensor, LU_pivots: Tensor, *, out: Tensor | None = None) -> Tensor:
    """X of A X = b from A's LU factors: PyTorch's older form of `polyad.linalg.lu_solve`.

    >>> import polyad
    >>> LU, pivots = polyad.lu(polyad.tensor([[1.0, 2.0], [2.0, 8.0]]))
    >>> polyad.lu_solve(polyad.tensor([[3.0], [10.0]]), LU, pivots)
    tensor([[1.],
            [1.]])
    """
    matrices("lu_solve", b, "b")
    return factorizations.solve_with_factors("lu_solve", LU_data, LU_pivots, b, ("LU_data", "LU_pivots", "b"))


@function()
def qr(input: Tensor, some: bool = True, *, out: Any = None) -> Any:
    """The QR factorization, reduced or, without *some*, complete: PyTorch's older form of `polyad.linalg.qr`.

    >>> import polyad
    >>> polyad.qr(polyad.tensor([[3.0, 1.0], [4.0, 2.0]])).R
    tensor([[-5.0000, -2.2000],
            [ 0.0000,  0.4000]])
    """
    matrices("qr", input, "input")
    return return_types.qr(*factorizations._linalg_qr(input, "reduced" if is_flag("qr", "some", some) else "complete"))


@function()
def svd(input: Tensor, some: bool = True, compute_uv: bool = True, *, out: Any = None) -> Any:
    """The singular value decomposition input = U diag(S) V^H: PyTorch's older form of `polyad.linalg.svd`, a named
    tuple (U, S, V).

    V is not transposed. Without *some* U and V are square; without *compute_uv* they are zeros.

    >>> import polyad
    >>> polyad.svd(polyad.tensor([[0.0, 2.0], [1.0, 0.0]])).S
    tensor([2., 1.])
    """
    matrices("svd", input, "input")
    is_flag("svd", "some", some)
    if not is_flag("svd", "compute_uv", compute_uv):
        rows, columns = input.shape[-2:]
        batch = input.shape[:-2]
        U, V = input.new_zeros((*batch, rows, rows)), input.new_zeros((*batch, columns, columns))
        return return_types.svd(U, _linalg_svdvals(input), V)
    U, S, Vh = _linalg_svd(input, not some)
    return return_types.svd(U, S, adjoint(Vh))


@function(also={"input2": "tau"})
def orgqr(input: Tensor, tau: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The columns of a product of Householder reflections: `polyad.linalg.householder_product`.

    >>> import polyad
    >>> a, tau = polyad.geqrf(polyad.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> polyad.orgqr(a, tau)
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """
    factorizations.check_reflections("orgqr", input, tau, "input")
    return factorizations._linalg_householder_product(input, tau)


@function(also={"input2": "tau", "input3": "other"})
def ormqr(
    input: Tensor, tau: Tensor, other: Tensor, left: bool = True, transpose: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """Q other, or other Q without *left*, for the square Q (*, m, m) that *input* (*, m, k) and *tau* hold as
    `polyad.geqrf` gives them; Q^H in its place with *transpose*.

    Raises RuntimeError for shapes that do not agree, different dtypes, integers, bool and 16-bit floats.

    >>> import polyad
    >>> a, tau = polyad.geqrf(polyad.tensor([[3.0, 1.0], [4.0, 2.0]]))
    >>> polyad.ormqr(a, tau, polyad.eye(2))
    tensor([[-0.6000, -0.8000],
            [-0.8000,  0.6000]])
    """
    rows, columns = matrices("ormqr", input, "input").shape[-2:]
    if columns > rows:  # the columns on the right hold no reflections
        input, columns = input.narrow(-1, 0, rows), rows
    factorizations.check_reflections("ormqr", input, tau, "input")
    same_dtype("ormqr", input=input, other=matrices("ormqr", other, "other"))
    side = -2 if is_flag("ormqr", "left", left) else -1
    if other.shape[side] != rows:
        raise ShapeError(
            f"ormqr: input {tuple(input.shape)} and other {tuple(other.shape)} do not agree: "
            f"{rows} != {other.shape[side]}",
            operands={"input": input, "other": other},
            fix=f"make dimension {side} of other {rows}",
        )
    if rows > columns:
        input = _cat([input, input.new_zeros((*input.shape[:-1], rows - columns))], input.ndim - 1)
    Q = factorizations._linalg_householder_product(input, tau)
    if is_flag("ormqr", "transpose", transpose):
        Q = adjoint(Q)
    return times(Q, other) if left else times(other, Q)


@function()
def norm(
    input: Tensor,
    p: float | str | None = "fro",
    dim: Dims = None,
    keepdim: bool = False,
    out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """The *p*-norm of all elements, or over *dim*; "fro" and None are 2, "nuc" is the nuclear norm of matrices.

    PyTorch's older form of `polyad.linalg.vector_norm` and `polyad.linalg.matrix_norm`. Raises RuntimeError for
    integers and bool, and for another name.

    >>> import polyad
    >>> polyad.norm(polyad.tensor([3.0, 4.0])), polyad.norm(polyad.eye(3), "nuc")
    (tensor(5.), tensor(3.))
    """
    check_tensor(input, "norm", "input")
    if p is None or p == "fro":
        p = 2
    if p == "nuc":
        pair = tuple(range(input.ndim)) if dim is None else (dim,) if isinstance(dim, int) else dim
        return _matrix_norm("norm", "input", input, "nuc", pair, keepdim, dtype)
    if isinstance(p, str):
        raise OptionError(f"norm: p is {safe_repr(p)}", operands={"input": input}, fix='pass a number, "fro" or "nuc"')
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


@function(method=False)
def frobenius_norm(input: Tensor, dim: Dims, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The square root of the sum of squares over *dim*: `polyad.linalg.vector_norm` of order 2.

    >>> import polyad
    >>> polyad.frobenius_norm(polyad.tensor([[3.0, 4.0]]), (0, 1))
    tensor(5.)
    """
    return vector_norm(input, 2, dim, keepdim)


@function(method=False)
def nuclear_norm(input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """The sum of the singular values of matrices, those in the dims *dim*: `polyad.linalg.matrix_norm` of order "nuc".

    ``nuclear_norm(input, keepdim)`` is of the last two dimensions.

    >>> import polyad
    >>> polyad.nuclear_norm(polyad.tensor([[3.0, 0.0], [0.0, -4.0]]))
    tensor(7.)
    """
    if isinstance(dim, bool):
        dim, keepdim = None, dim
    return _matrix_norm("nuclear_norm", "input", input, "nuc", (-2, -1) if dim is None else dim, keepdim, None)


@function(method=False)
def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norm of order *pow* over all dimensions but *dim*, which are kept with size 1; of all elements for a dim of
    -1. What weight normalisation divides by.

    >>> import polyad
    >>> polyad.norm_except_dim(polyad.tensor([[3.0, 4.0], [6.0, 8.0]]))
    tensor([[ 5.],
            [10.]])
    """
    check_tensor(v, "norm_except_dim", "v")
    if dim == -1:
        return vector_norm(v, pow)
    at = normalize_dim(dim, v.ndim, "norm_except_dim")
    if not v.ndim:
        return vector_norm(v, pow)
    rows = v.movedim(at, 0).reshape(v.shape[at], -1) if v.numel() else v.new_empty((v.shape[at], 0))
    return vector_norm(rows, pow, 1).reshape([v.shape[at] if each == at else 1 for each in range(v.ndim)])
