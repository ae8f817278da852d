"""Linear systems, inverses, least squares, and the same for tensors as linear maps."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ... import return_types
from ...backend.interface import Signature
from ...base.dtypes import finfo, int64
from ...base.shapes_and_strides import Shape, broadcast_shapes, normalize_dim
from ...dispatch.forward import forward
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import Last, Rowwise, columns, opaque
from ...errors import ArgumentTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import full
from ..creation.sequences import eye
from ..declaring.checks import check_choice, check_int
from ..reductions.any_all import anywhere
from .factorizations import _linalg_lu_factor_ex, _linalg_lu_solve, _linalg_qr
from .operands import (
    adjoint,
    adjoint_times,
    check_info,
    is_flag,
    lapack_dtype,
    matrices,
    product_shape,
    same_dtype,
    times,
    times_adjoint,
    with_info,
)
from .svd import _linalg_pinv, _linalg_svd, pinv_gradient
from .triangular import _linalg_solve_triangular

_SINGULAR = "the matrix is singular: element {order} of U's diagonal is zero"
_NOT_SINGULAR = "make the matrix regular, or take the least-squares solution: polyad.linalg.lstsq or pinv"

# --------------------------------------------------------------------------------------------------- systems


def _factored_shape(A: Shape, B: Shape, LU: Shape, pivots: Shape, of_adjoint: bool) -> Shape:
    return product_shape(A, B)


@composite(structure=opaque, strides=columns, shape=_factored_shape, grad_name="LinalgSolveExBackward0", method=False)
def _linalg_solve_factored(A: Tensor, B: Tensor, LU: Tensor, pivots: Tensor, of_adjoint: bool) -> Tensor:
    """X of A X = B, or A^H X = B with *of_adjoint*, by A's factors, which the gradients use again."""
    return _linalg_lu_solve(LU, pivots, B, of_adjoint)


def _solve_grad_A(g: Tensor, A: Tensor, LU: Tensor, pivots: Tensor, of_adjoint: bool, out: Tensor) -> Tensor:
    gB = _linalg_solve_factored(A, g, LU, pivots, not of_adjoint)
    return -(times_adjoint(out, gB) if of_adjoint else times_adjoint(gB, out))


def _solve_forward(
    A: Tensor, A_t: Tensor | None, B_t: Tensor | None, LU: Tensor, pivots: Tensor, of_adjoint: bool, out: Tensor
) -> Tensor:
    change = None if A_t is None else -(adjoint_times(A_t, out) if of_adjoint else times(A_t, out))
    if B_t is not None:
        change = B_t if change is None else change + B_t
    return _linalg_solve_factored(A, change, LU, pivots, of_adjoint)  # type: ignore[arg-type]


gradient(
    _linalg_solve_factored,
    A=_solve_grad_A,
    B=lambda g, A, LU, pivots, of_adjoint: _linalg_solve_factored(A, g, LU, pivots, not of_adjoint),
)
forward(_linalg_solve_factored, _solve_forward)


def _solve_shape(A: Shape, B: Shape) -> tuple[Shape, Shape]:
    shape = product_shape(A, B)
    return shape, shape[:-2]


@composite(
    dtype=with_info, structure=opaque, strides=columns, shape=_solve_shape, outputs=("result", "info"), method=False
)
def _linalg_solve_ex(A: Tensor, B: Tensor) -> Any:
    """X of A X = B, and the place of the first zero pivot of each matrix (0: none)."""
    LU, pivots, info = _linalg_lu_factor_ex(A.detach(), True)
    result = _linalg_solve_factored(A, B, LU, pivots, False)
    return result, info.expand(result._array.shape[:-2])


def _solved(op: str, A: Any, B: Any, left: Any, check_errors: Any) -> tuple[Tensor, Tensor]:
    matrices(op, A, square=True)
    check_tensor(B, op, "B")
    if A._type.nd is not B._type.nd:
        lapack_dtype(op, B, "B")
        same_dtype(op, A=A, B=B)
    is_flag(op, "left", left)
    vector = B.ndim == 1 or (A.ndim - 1 == B.ndim and B._array.shape == A._array.shape[:-1])
    if vector and left:
        columns = B.unsqueeze(-1)
    elif B.ndim < 2:
        raise ShapeError(
            f"{op}: B {tuple(B.shape)} is no matrix, which left=False asks for",
            operands={"A": A, "B": B},
            fix="make B (*, k, n)",
        )
    else:
        columns = B if left else adjoint(B)
    if A._array.shape[-1] != columns._array.shape[-2]:
        raise ShapeError(
            f"{op}: A {tuple(A.shape)} and B {tuple(B.shape)} do not agree: {A.shape[-1]} != {columns.shape[-2]}",
            operands={"A": A, "B": B},
            fix=f"make B (*, {A.shape[-1]}, k)" if left else f"make B (*, k, {A.shape[-1]})",
        )
    result, info = _linalg_solve_ex(A if left else adjoint(A), columns)
    if check_errors:
        check_info(op, info, _SINGULAR, _NOT_SINGULAR, A=A, B=B)
    if vector and left:
        return result.squeeze(-1), info
    return (result if left else adjoint(result)), info


@function(namespace="linalg")
def solve(A: Tensor, B: Tensor, *, left: bool = True, out: Tensor | None = None) -> Tensor:
    """X of A X = B for square A (*, n, n) and B (*, n, k) or vectors (*, n); with ``left=False`` X of X A = B for
    B (*, k, n). Batches broadcast.

    B counts as vectors if it is (n,) or has the shape of A without its last dimension. Raises
    polyad.linalg.LinAlgError (a RuntimeError) for a singular matrix, RuntimeError for shapes that do not agree,
    different dtypes, integers, bool and 16-bit floats.

    >>> import polyad
    >>> polyad.linalg.solve(polyad.tensor([[1.0, 2.0], [2.0, 8.0]]), polyad.tensor([3.0, 10.0]))
    tensor([1., 1.])
    """
    return _solved("solve", A, B, left, True)[0]


@function(namespace="linalg")
def solve_ex(A: Tensor, B: Tensor, *, left: bool = True, check_errors: bool = False, out: Any = None) -> Any:
    """As `polyad.linalg.solve`, without an error for singular matrices: a named tuple (result, info).

    info (*), int32, is 0 or the place, counted from 1, of the first zero on the diagonal of U of A = P L U; that
    matrix's result is unspecified. With *check_errors* it raises after all.

    >>> import polyad
    >>> polyad.linalg.solve_ex(polyad.ones(2, 2), polyad.ones(2)).info
    tensor(2, dtype=polyad.int32)
    """
    return return_types.linalg_solve_ex(
        *_solved("solve_ex", A, B, left, is_flag("solve_ex", "check_errors", check_errors))
    )


# --------------------------------------------------------------------------------------------------- inverses


@composite(
    dtype=with_info,
    structure=Rowwise(Last(2)),
    strides=columns,
    shape=lambda A: (A, A[:-2]),
    outputs=("inverse", "info"),
    method=False,
)
def _linalg_inv_ex(A: Tensor) -> Any:
    """The inverse, and the place of the first zero pivot of each matrix (0: none)."""
    return _linalg_solve_ex(A, eye(A._array.shape[-1], dtype=A.dtype, device=A.device))


gradient(_linalg_inv_ex, A=lambda g, inverse: -adjoint_times(inverse, times_adjoint(g[0], inverse)))
forward(_linalg_inv_ex, lambda A_t, inverse: (-times(times(inverse, A_t), inverse), None))


def inverted(op: str, name: str, A: Any) -> Tensor:
    """The inverse of what the user gave; raises as `inv` says."""
    inverse, info = _linalg_inv_ex(matrices(op, A, name, square=True))
    check_info(op, info, _SINGULAR, _NOT_SINGULAR, **{name: A})
    return inverse  # type: ignore[no-any-return]


@function(namespace="linalg")
def inv(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inverse of square matrices (*, n, n).

    `polyad.linalg.solve` is faster and more accurate than a product with the inverse. Raises polyad.linalg.LinAlgError
    (a RuntimeError) for a singular matrix, RuntimeError for matrices that are not square, integers, bool and 16-bit
    floats.

    >>> import polyad
    >>> polyad.linalg.inv(polyad.tensor([[1.0, 1.0], [1.0, 2.0]]))
    tensor([[ 2., -1.],
            [-1.,  1.]])
    """
    return inverted("inv", "A", A)


@function(namespace="linalg")
def inv_ex(A: Tensor, *, check_errors: bool = False, out: Any = None) -> Any:
    """As `polyad.linalg.inv`, without an error for singular matrices: a named tuple (inverse, info).

    info (*), int32, is 0 or the place, counted from 1, of the first zero on the diagonal of U of A = P L U; that
    matrix's inverse is unspecified. With *check_errors* it raises after all.

    >>> import polyad
    >>> polyad.linalg.inv_ex(polyad.ones(2, 2)).info
    tensor(2, dtype=polyad.int32)
    """
    inverse, info = _linalg_inv_ex(matrices("inv_ex", A, square=True))
    if is_flag("inv_ex", "check_errors", check_errors):
        check_info("inv_ex", info, _SINGULAR, _NOT_SINGULAR, A=A)
    return return_types.linalg_inv_ex(inverse, info)


def _factors(sizes: Shape, first: int, op: str, operands: dict[str, Any]) -> int:
    """The common product of the sizes before and from *first* on; raises ShapeError if they differ."""
    rows, columns = math.prod(sizes[:first]), math.prod(sizes[first:])
    if rows != columns:
        raise ShapeError(
            f"{op}: the sizes {tuple(sizes[:first])} and {tuple(sizes[first:])} must have the same product: "
            f"{rows} != {columns}",
            operands=operands,
            fix="the tensor, as a matrix from its last dimensions to its first, must be square",
        )
    return rows


@function(namespace="linalg", also={"input": "A"})
def tensorinv(A: Tensor, ind: int = 2, *, out: Tensor | None = None) -> Tensor:
    """The inverse of A as a linear map: ``tensordot(tensorinv(A, ind), A, ind)`` is the identity.

    The first *ind* dimensions of A and the others have the same product; the result has the others first. Raises
    RuntimeError if they have not or A is singular (polyad.linalg.LinAlgError), or for an *ind* that is not positive.

    >>> import polyad
    >>> polyad.linalg.tensorinv(polyad.eye(6).reshape(6, 2, 3), ind=1).shape
    polyad.Size([2, 3, 6])
    """
    check_tensor(A, "tensorinv", "A")
    check_int("tensorinv", "ind", ind)
    if not 0 < ind <= A.ndim:
        raise ShapeError(
            f"tensorinv: ind is {ind}, but A has {A.ndim} dimensions",
            operands={"A": A},
            fix="pass an int from 1 to the number of dimensions",
        )
    sizes = tuple(A.shape)
    n = _factors(sizes, ind, "tensorinv", {"A": A})
    return inverted("tensorinv", "A", A.reshape(n, n)).reshape((*sizes[ind:], *sizes[:ind]))


@function(namespace="linalg", also={"input": "A", "other": "B"})
def tensorsolve(A: Tensor, B: Tensor, dims: tuple[int, ...] | None = None, *, out: Tensor | None = None) -> Tensor:
    """X of ``tensordot(A, X, X.ndim) == B``: A is B's shape followed by X's, both of the same product.

    *dims* of A are moved to its end first. Raises RuntimeError for other shapes or a singular A
    (polyad.linalg.LinAlgError).

    >>> import polyad
    >>> polyad.linalg.tensorsolve(polyad.eye(6).reshape(2, 3, 6), polyad.ones(2, 3)).shape
    polyad.Size([6])
    """
    check_tensor(A, "tensorsolve", "A")
    check_tensor(B, "tensorsolve", "B")
    if dims is not None:
        moved = [normalize_dim(dim, A.ndim, "tensorsolve") for dim in dims]
        A = A.permute((*[dim for dim in range(A.ndim) if dim not in moved], *moved))
    sizes = tuple(A.shape)
    n = _factors(sizes, B.ndim, "tensorsolve", {"A": A, "B": B})
    if B.numel() != n:
        raise ShapeError(
            f"tensorsolve: A {sizes} and B {tuple(B.shape)} do not agree: {n} != {B.numel()} elements",
            operands={"A": A, "B": B},
            fix="give A the shape of B followed by that of the solution",
        )
    return _solved("tensorsolve", A.reshape(n, n), B.reshape(n), True, True)[0].reshape(sizes[B.ndim :])


# --------------------------------------------------------------------------------------------------- least squares

DRIVERS = ("gels", "gelsy", "gelsd", "gelss")


def _lstsq_types(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    return Typing((None, None), (dtype, int64, dtype.to_real()))


def _lstsq_shape(A: Shape, B: Shape, rcond: float, driver: str) -> tuple[Shape, Shape, Shape]:
    rows, columns = A[-2:]
    if B[-2] != rows:
        raise ShapeError(
            f"lstsq: A {tuple(A)} and B {tuple(B)} do not agree: {rows} != {B[-2]} rows", fix=f"make B (*, {rows}, k)"
        )
    batch = broadcast_shapes(A[:-2], B[:-2])
    return (*batch, columns, B[-1]), batch, (*batch, min(rows, columns))


@composite(
    dtype=_lstsq_types,
    structure=opaque,
    strides=columns,
    shape=_lstsq_shape,
    outputs=("solution", "rank", "singular_values"),
    method=False,
)
def _linalg_lstsq(A: Tensor, B: Tensor, rcond: float, driver: str) -> Any:
    """The X of least norm among those that make A X - B smallest; singular values below rcond times the largest count
    as 0. For "gels", A has full rank, rank and singular values are not computed (zeros); nor are the values for
    "gelsy".
    """
    rows, columns = A._array.shape[-2:]
    shape, batch, values_shape = _lstsq_shape(A._array.shape, B._array.shape, rcond, driver)
    real = A.dtype.to_real()
    nothing = full(values_shape, 0, dtype=real, device=A.device)
    if driver == "gels" or not math.prod(shape) or not rows:
        rank = full(batch, min(rows, columns) if driver == "gels" else 0, dtype=int64, device=A.device)
        if not math.prod(shape) or not rows:
            return full(shape, 0, dtype=A.dtype, device=A.device), rank, nothing
        if rows >= columns:
            Q, R = _linalg_qr(A, "reduced")
            return _linalg_solve_triangular(R, adjoint_times(Q, B), True, False, False).expand(*shape), rank, nothing
        Q, R = _linalg_qr(adjoint(A), "reduced")
        return times(Q, _linalg_solve_triangular(R, B, True, True, False)).expand(*shape), rank, nothing
    U, S, Vh = _linalg_svd(A, False)
    cut = S.amax(-1, keepdim=True) * rcond
    kept = cut < S
    scaled = adjoint_times(U, B) * (kept / S.where(kept, 1.0)).unsqueeze(-1)
    rank = kept.sum(-1).expand(batch)
    return adjoint_times(Vh, scaled), rank, S.expand(values_shape) if driver != "gelsy" else nothing


def _lstsq_pinv(A: Tensor, rcond: float) -> Tensor:
    return _linalg_pinv(A, None, rcond, False)


gradient(
    _linalg_lstsq,
    A=lambda g, A, B, rcond: pinv_gradient(times_adjoint(g[0], B), _lstsq_pinv(A, rcond), A),
    B=lambda g, A, rcond: adjoint_times(_lstsq_pinv(A, rcond), g[0]),
)


@function(namespace="linalg", method=False, also={"input": "A", "b": "B"})
def lstsq(A: Tensor, B: Tensor, rcond: float | None = None, *, driver: str | None = None) -> Any:
    """The X that makes the Frobenius norm of A X - B smallest: a named tuple (solution, residuals, rank,
    singular_values).

    A is (*, m, n), B (*, m, k) or vectors (*, m); solution is (*, n, k) or (*, n). *driver* names LAPACK's method:
    "gelsy" (the default) and "gelsd", "gelss" take any rank and count singular values below *rcond* times the largest
    as 0 (eps * max(m, n) by default), "gels" takes full rank. residuals, the squared norms (*, k), are given if m > n
    and all ranks are full, not by "gelsy"; rank (*) not by "gels"; singular_values (*, min(m, n)) by "gelsd" and
    "gelss"; what is not given is an empty tensor. The gradient takes the rank for constant. Raises RuntimeError for
    shapes that do not agree, different dtypes, integers, bool and 16-bit floats, and for another driver.

    >>> import polyad
    >>> A = polyad.tensor([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]])
    >>> polyad.linalg.lstsq(A, polyad.tensor([1.0, 3.0, 5.0])).solution
    tensor([1.0000, 2.0000])
    """
    matrices("lstsq", A)
    lapack_dtype("lstsq", check_tensor(B, "lstsq", "B"), "B")
    same_dtype("lstsq", A=A, B=B)
    if driver is None:
        driver = "gelsy"
    check_choice("lstsq", "driver", driver, DRIVERS, operands={"A": A}, fix=f"choose one of {', '.join(DRIVERS)}")
    rows, columns = A._array.shape[-2:]
    vector = A.ndim - 1 == B.ndim and B._array.shape == A._array.shape[:-1]
    if not B.ndim or (B.ndim == 1 and not vector) or (not vector and B._array.shape[-2] != rows):
        raise ShapeError(
            f"lstsq: A {tuple(A.shape)} and B {tuple(B.shape)} do not agree",
            operands={"A": A, "B": B},
            fix=f"make B (*, {rows}, k), or (*, {rows}) with A's batch",
        )
    if rcond is None:
        rcond = finfo(A.dtype).eps * max(rows, columns)
    elif not isinstance(rcond, (int, float)):
        raise ArgumentTypeError(f"lstsq: rcond is {safe_repr(rcond)}, not a number", fix="pass a float")
    columns_of_B = B.unsqueeze(-1) if vector else B
    solution, rank, values = _linalg_lstsq(A, columns_of_B, float(rcond), driver)
    nothing = A.new_empty((0,), dtype=A.dtype.to_real())
    residuals = nothing
    if driver != "gelsy" and rows > columns and (driver == "gels" or not anywhere(rank < columns)):
        off = times(A, solution) - columns_of_B
        residuals = (off.abs() ** 2).sum(-2)
    if driver == "gels":
        rank = A.new_empty((0,), dtype=int64)
    values = nothing if driver in ("gels", "gelsy") else values.detach()
    return return_types.linalg_lstsq(solution.squeeze(-1) if vector else solution, residuals, rank, values)
