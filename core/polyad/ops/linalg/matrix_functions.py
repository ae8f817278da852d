"""Functions of square matrices: powers and the exponential."""

from __future__ import annotations

import functools
from typing import Any

from ...base.dtypes import bool_, float32
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import first
from ...dispatch.structure import Last, Rowwise, row_major
from ...errors import ArgumentTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor, has_data
from ..creation.sequences import eye
from ..declaring.shape_rules import same
from ..indexing.slicing import narrow
from ..pointwise.where import _where
from ..shaping.joining import _cat
from .operands import adjoint, matrices, times
from .solving import _linalg_solve_ex, inverted

_THETA = {
    8: {3: 1.5e-2, 5: 2.5e-1, 7: 9.5e-1, 9: 2.1, 13: 5.37},
    4: {3: 4.25e-1, 5: 1.88, 7: 3.92},
}
"""By bytes of a real number: the degrees of the Pade approximant to exp, and up to which 1-norm of the matrix each is
exact to rounding (Higham, "The scaling and squaring method for the matrix exponential revisited", 2005, table 2.3).
"""


@functools.cache
def _pade(degree: int) -> tuple[float, ...]:
    """Coefficients of the numerator of the Pade approximant to exp, from the constant term up, which is 1."""
    coefficients = [1.0]
    for k in range(degree):
        coefficients.append(coefficients[-1] * (degree - k) / ((2 * degree - k) * (k + 1)))
    return tuple(coefficients)


@composite(dtype=first, structure=Rowwise(Last(2)), strides=row_major, shape=same, method=False)
def _linalg_matrix_exp(A: Tensor) -> Tensor:
    """exp(A) = exp(A / 2^s)^(2^s), with s for each matrix such that the approximant is exact to rounding."""
    if not A.numel():
        return A.clone()
    norm = A.abs().sum(-2).amax(-1)
    finite = norm.isfinite().unsqueeze(-1).unsqueeze(-1)
    A, norm = _where(finite, A, 0), _where(finite.squeeze(-1).squeeze(-1), norm, 0.0)
    limits = _THETA[A.dtype.to_real().itemsize]
    largest = norm.max().item() if has_data(norm) else 0.0
    degree = next((degree for degree, limit in limits.items() if largest <= limit), max(limits))
    halvings = (norm / limits[max(limits)]).clamp(min=1.0).log2().ceil().unsqueeze(-1).unsqueeze(-1)
    X = _rational(A * (-halvings).exp2(), degree)
    for k in range(int(halvings.max().item()) if has_data(norm) else 0):
        X = _where(halvings > k, times(X, X), X)
    return _where(finite, X, float("nan"))


def _rational(A: Tensor, degree: int) -> Tensor:
    """The Pade approximant (V - U)^-1 (V + U), U the odd part and V the even part, by Horner's rule in A^2."""
    c = _pade(degree)
    unit = eye(A._array.shape[-1], dtype=A.dtype, device=A.device)
    square = times(A, A)
    odd, even = unit * c[degree], unit * c[degree - 1]
    for k in range(degree - 2, 0, -2):
        odd = times(odd, square) + unit * c[k]
        even = times(even, square) + unit * c[k - 1]
    odd = times(A, odd)
    result, _ = _linalg_solve_ex(even - odd, even + odd)
    return result  # type: ignore[no-any-return]


def _matrix_exp_grad(g: Tensor, A: Tensor) -> Tensor:
    """The derivative at A^H in the direction g: the upper right block of exp([[A^H, g], [0, A^H]]) (Mathias, "A chain
    rule for matrix functions", 1996).
    """
    n = A._array.shape[-1]
    Ah = adjoint(A)
    last = A.ndim - 1
    upper = _cat([Ah, g], last)
    lower = _cat([Ah * 0, Ah], last)
    return narrow(narrow(_linalg_matrix_exp(_cat([upper, lower], last - 1)), -2, 0, n), -1, n, n)


gradient(_linalg_matrix_exp, A=_matrix_exp_grad)


def exponential(op: str, name: str, A: Any) -> Tensor:
    """exp of what the user gave; raises as `matrix_exp` says."""
    dtype = matrices(op, A, name, square=True, half=True)._type.dtype
    return _linalg_matrix_exp(A.to(float32)).to(dtype) if dtype.itemsize == 2 else _linalg_matrix_exp(A)


@function(namespace="linalg", also={"input": "A"})
def matrix_exp(A: Tensor) -> Tensor:
    """The exponential of square matrices (*, n, n): the sum of A^k / k!.

    Raises RuntimeError for matrices that are not square, integers and bool.

    >>> import polyad
    >>> polyad.linalg.matrix_exp(polyad.tensor([[0.0, 1.0], [0.0, 0.0]]))
    tensor([[1., 1.],
            [0., 1.]])
    """
    return exponential("matrix_exp", "A", A)


def power(op: str, name: str, A: Any, n: Any) -> Tensor:
    """A^n of what the user gave, by repeated squaring; raises as `matrix_power` says."""
    check_tensor(A, op, name)
    if isinstance(n, bool) or not isinstance(n, int):
        raise ArgumentTypeError(f"{op}: n is {safe_repr(n)}, not an int", fix="pass an int")
    if A.ndim < 2 or A.shape[-1] != A.shape[-2]:
        raise ShapeError(
            f"{op}: {name} {tuple(A.shape)} is no batch of square matrices",
            operands={name: A},
            fix=f"make {name} (*, n, n)",
        )
    if n == 0:
        unit = eye(A.shape[-1], dtype=A.dtype, device=A.device).expand(*A.shape)
        # With A among the operands, so that it has a gradient: zeros.
        return _where(A.new_ones(A.shape, dtype=bool_), unit, A) if A.requires_grad else unit.clone()
    base = A if n > 0 else inverted(op, name, A)
    n = abs(n)
    if n == 1:
        return base.clone() if base is A else base
    result: Tensor | None = None
    while True:
        if n & 1:
            result = base if result is None else times(result, base)
        n >>= 1
        if not n:
            break
        base = times(base, base)
    assert result is not None
    return result


@function(namespace="linalg", also={"input": "A"})
def matrix_power(A: Tensor, n: int, *, out: Tensor | None = None) -> Tensor:
    """The *n*-th power of square matrices (*, m, m); of the inverse if n is negative, the identity if it is 0.

    Any numeric dtype, for a negative n only those of `polyad.linalg.inv`, whose errors it then raises. Raises
    RuntimeError for matrices that are not square, TypeError if n is no int.

    >>> import polyad
    >>> polyad.linalg.matrix_power(polyad.tensor([[1, 1], [0, 1]]), 5)
    tensor([[1, 5],
            [0, 1]])
    """
    return power("matrix_power", "A", A, n)
