"""Linear systems whose matrix is triangular."""

from __future__ import annotations

from typing import Any

from ...base.shapes_and_strides import Shape
from ...dispatch.forward import forward
from ...dispatch.op import function, gradient, primitive
from ...dispatch.structure import columns, opaque
from ...errors import ShapeError
from ...tensor import Tensor
from .operands import (
    adjoint,
    adjoint_times,
    is_flag,
    matrices,
    product_shape,
    same_dtype,
    times,
    times_adjoint,
)


def _triangular_shape(A: Shape, B: Shape, upper: bool, adjoint: bool, unitriangular: bool) -> Shape:
    return product_shape(A, B)


@primitive(structure=opaque, strides=columns, shape=_triangular_shape, method=False)
def _linalg_solve_triangular(A: Tensor, B: Tensor, upper: bool, adjoint: bool, unitriangular: bool) -> Tensor:
    """X of A X = B, or of A^H X = B with *adjoint*, for triangular A. The other triangle is not read, nor is the
    diagonal with *unitriangular*; a 0 on it gives infinities.
    """


def _solve_triangular_grad_A(
    g: Tensor, A: Tensor, out: Tensor, upper: bool, adjoint: bool, unitriangular: bool
) -> Tensor:
    gB = _linalg_solve_triangular(A, g, upper, not adjoint, unitriangular)
    product = times_adjoint(out, gB) if adjoint else times_adjoint(gB, out)
    return -(product.triu(1 if unitriangular else 0) if upper else product.tril(-1 if unitriangular else 0))


def _solve_triangular_forward(
    A: Tensor, A_t: Tensor | None, B_t: Tensor | None, upper: bool, adjoint: bool, unitriangular: bool, out: Tensor
) -> Tensor:
    change = None
    if A_t is not None:
        part = A_t.triu(1 if unitriangular else 0) if upper else A_t.tril(-1 if unitriangular else 0)
        change = -(adjoint_times(part, out) if adjoint else times(part, out))
    if B_t is not None:
        change = B_t if change is None else change + B_t
    return _linalg_solve_triangular(A, change, upper, adjoint, unitriangular)  # type: ignore[arg-type]


gradient(
    _linalg_solve_triangular,
    A=_solve_triangular_grad_A,
    B=lambda g, A, upper, adjoint, unitriangular: _linalg_solve_triangular(A, g, upper, not adjoint, unitriangular),
)
forward(_linalg_solve_triangular, _solve_triangular_forward)


@function(namespace="linalg", also={"input": "A"})
def solve_triangular(
    A: Tensor,
    B: Tensor,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
    out: Tensor | None = None,
) -> Tensor:
    """X of A X = B (or of X A = B with ``left=False``) for triangular A (*, n, n) and B (*, n, k) (or (*, k, n)).

    Batches broadcast. The other triangle of A is not read, and the diagonal counts as ones with *unitriangular*; a
    zero on the diagonal gives infinities. Raises RuntimeError for shapes that do not agree, different dtypes,
    integers, bool and 16-bit floats.

    >>> import polyad
    >>> A = polyad.tensor([[2.0, 1.0], [0.0, 4.0]])
    >>> polyad.linalg.solve_triangular(A, polyad.tensor([[4.0], [8.0]]), upper=True)
    tensor([[1.],
            [2.]])
    """
    upper, left = is_flag("solve_triangular", "upper", upper), is_flag("solve_triangular", "left", left)
    unitriangular = is_flag("solve_triangular", "unitriangular", unitriangular)
    check_system("solve_triangular", A, B, left)
    if left:
        return _linalg_solve_triangular(A, B, upper, False, unitriangular)
    return adjoint(_linalg_solve_triangular(A, adjoint(B), upper, True, unitriangular))


def check_system(op: str, A: Any, B: Any, left: bool = True, names: tuple[str, str] = ("A", "B")) -> None:
    """Raise unless A is a square matrix, B a matrix of its dtype, and A X = B (or X A = B) makes sense."""
    matrices(op, A, names[0], square=True)
    matrices(op, B, names[1])
    same_dtype(op, **{names[0]: A, names[1]: B})
    side = -2 if left else -1
    if A._array.shape[-1] != B._array.shape[side]:
        raise ShapeError(
            f"{op}: {names[0]} {tuple(A.shape)} and {names[1]} {tuple(B.shape)} do not agree: "
            f"{A.shape[-1]} != {B.shape[side]}",
            operands={names[0]: A, names[1]: B},
            fix=f"make dimension {side} of {names[1]} {A.shape[-1]}",
        )
