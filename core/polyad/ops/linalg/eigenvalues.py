"""Eigenvalues and eigenvectors.

Eigenvectors are defined up to a factor of magnitude 1. Over the real numbers that is a sign, which changes no
derivative; over the complex numbers a function of eigenvectors has a gradient only if it does not depend on the factor,
which the formulas check (`check_phase`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ... import return_types
from ...backend.interface import Signature
from ...base.shapes_and_strides import Shape
from ...dispatch.forward import forward
from ...dispatch.op import composite, function, gradient, primitive
from ...dispatch.promotion import Typing
from ...dispatch.structure import Last, Rowwise
from ...errors import AutogradError
from ...tensor import Tensor
from ..creation.sequences import eye
from ..declaring.checks import check_choice
from ..pointwise.maximum import maximum
from ..reductions.any_all import check_all
from ..shaping.diagonals import diag_embed
from .operands import (
    adjoint,
    adjoint_times,
    diagonal_of,
    matrices,
    real,
    real_and_vectors,
    real_part,
    times,
    times_adjoint,
)


def check_phase(op: str, phase: Tensor, *products: Tensor) -> None:
    """Raise RuntimeError unless *phase*, the derivative along the vectors' phases, is nothing beside *products*."""
    if not phase.numel():
        return
    largest = products[0].abs().max()
    for product in products[1:]:
        largest = maximum(largest, product.abs().max())
    check_all(
        ~(phase.abs() > largest * 1e-3),
        lambda position, value: AutogradError(
            f"{op}: the function to differentiate depends on the phase of the vectors, which is arbitrary",
            fix="use the vectors in a way that multiplying a vector by exp(i phi) does not change, such as v v^H",
        ),
    )


def gaps(values: Tensor) -> Tensor:
    """values_j - values_i in row i and column j, with ones on the diagonal: divisors."""
    return values.unsqueeze(-2) - values.unsqueeze(-1) + _unit(values)


def off_diagonal(matrix: Tensor) -> Tensor:
    """The matrices with zeros on the diagonal."""
    return matrix * (1 - _unit(real_part(matrix)))


def _unit(like: Tensor) -> Tensor:
    return eye(like._array.shape[-1], dtype=like.dtype, device=like.device)


# --------------------------------------------------------------------------------------------------- Hermitian


def _eigh_shape(input: Shape, upper: bool) -> tuple[Shape, Shape]:
    return input[:-1], input


@primitive(
    dtype=real_and_vectors,
    structure=Rowwise(Last(2)),
    shape=_eigh_shape,
    outputs=("eigenvalues", "eigenvectors"),
    method=False,
)
def _linalg_eigh(input: Tensor, upper: bool) -> Any:
    """Rising eigenvalues and the eigenvectors, as columns, of the Hermitian matrices in the lower (or upper) triangle.

    Raises LinAlgError where the algorithm does not converge.
    """


def _eigh_grad(g: list[Tensor | None], eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    """V (diag(gL) + skew(V^H gV) / (2 E)) V^H with E_ij = L_j - L_i, which is Hermitian (Giles 2008, section 3.1)."""
    gL, gV = g
    V = eigenvectors
    if gV is None:
        assert gL is not None
        return times_adjoint(V * gL.unsqueeze(-2), V)
    product = adjoint_times(V, gV)
    if V.dtype.is_complex:
        check_phase("eigh", diagonal_of(product).imag, product)
    inner = off_diagonal(product - adjoint(product)) * 0.5 / gaps(eigenvalues)
    if gL is not None:
        inner = inner + diag_embed(gL)
    return times_adjoint(times(V, inner), V)


def _eigh_forward(input_t: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> tuple[Tensor, Tensor]:
    """(diag(P), V (P / E)) with P = V^H dA V and E_ij = L_j - L_i off the diagonal (Giles 2008, section 3.1)."""
    V = eigenvectors
    product = times(adjoint_times(V, (input_t + adjoint(input_t)) * 0.5), V)
    return real_part(diagonal_of(product)), times(V, off_diagonal(product) / gaps(eigenvalues))


gradient(_linalg_eigh, input=_eigh_grad)
forward(_linalg_eigh, _eigh_forward)


@composite(dtype=real, structure=Rowwise(Last(2)), shape=lambda input, upper: input[:-1], method=False)
def _linalg_eigvalsh(input: Tensor, upper: bool) -> Tensor:
    """The rising eigenvalues of the Hermitian matrices in the lower (or upper) triangle."""
    eigenvalues, _ = _linalg_eigh(input, upper)
    return eigenvalues  # type: ignore[no-any-return]


def _is_upper(op: str, UPLO: Any) -> bool:
    check_choice(
        op, "UPLO", UPLO, ("L", "U", "l", "u"), fix='choose "L" for the lower triangle or "U" for the upper triangle'
    )
    return UPLO in ("U", "u")


@function(namespace="linalg", also={"input": "A"})
def eigh(A: Tensor, UPLO: str = "L", *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors of symmetric or Hermitian matrices (*, n, n): a named tuple (eigenvalues,
    eigenvectors).

    eigenvalues (*, n) are real and rise; the columns of eigenvectors (*, n, n) are orthonormal, each up to a factor
    of magnitude 1, on which nothing that is differentiated may depend. Only the triangle that *UPLO* names is read.
    The gradient is Hermitian and exists where no eigenvalues are equal. Raises polyad.linalg.LinAlgError (a
    RuntimeError) if the algorithm does not converge, as for nan, RuntimeError for matrices that are not square, another
    UPLO, integers, bool and 16-bit floats.

    >>> import polyad
    >>> polyad.linalg.eigh(polyad.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    matrices("eigh", A, square=True)
    return return_types.linalg_eigh(*_linalg_eigh(A, _is_upper("eigh", UPLO)))


@function(namespace="linalg", also={"input": "A"})
def eigvalsh(A: Tensor, UPLO: str = "L", *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues (*, n) of symmetric or Hermitian matrices (*, n, n), rising; see `polyad.linalg.eigh`.

    >>> import polyad
    >>> polyad.linalg.eigvalsh(polyad.tensor([[2.0, 1.0], [1.0, 2.0]]))
    tensor([1., 3.])
    """
    matrices("eigvalsh", A, square=True)
    return _linalg_eigvalsh(A, _is_upper("eigvalsh", UPLO))


# --------------------------------------------------------------------------------------------------- general


def _complex_pair(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype.to_complex()
    return Typing((None,), (dtype, dtype))


def _complex(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,), (types[0].dtype.to_complex(),))


@primitive(
    dtype=_complex_pair,
    structure=Rowwise(Last(2)),
    shape=lambda input: (input[:-1], input),
    outputs=("eigenvalues", "eigenvectors"),
    method=False,
)
def _linalg_eig(input: Tensor) -> Any:
    """Eigenvalues, and eigenvectors of length 1 as columns. Raises LinAlgError where it does not converge."""


def _eig_grad(g: list[Tensor | None], input: Tensor, eigenvalues: Tensor, eigenvectors: Tensor) -> Tensor:
    """V^-H (diag(gL) + (V^H gV - V^H V diag(Re V^H gV)) / conj(E)) V^H with E_ij = L_j - L_i; the second term keeps the
    eigenvectors' length 1 (Boeddeker et al., "On the computation of complex-valued gradients", 2017, section 4.5).
    """
    from .solving import _linalg_solve_ex

    gL, gV = g
    V = eigenvectors
    if gV is None:
        assert gL is not None
        inner = gL.unsqueeze(-1) * adjoint(V)
    else:
        product = adjoint_times(V, gV)
        along = diagonal_of(product)
        check_phase("eig", along.imag, product)
        inner = off_diagonal(product - adjoint_times(V, V * along.real.unsqueeze(-2))) / gaps(eigenvalues).conj()
        if gL is not None:
            inner = inner + diag_embed(gL)
        inner = times_adjoint(inner, V)
    result, _ = _linalg_solve_ex(adjoint(V), inner)
    return result if input.dtype.is_complex else real_part(result)


gradient(_linalg_eig, input=_eig_grad)


@composite(dtype=_complex, structure=Rowwise(Last(2)), shape=lambda input: input[:-1], method=False)
def _linalg_eigvals(input: Tensor) -> Tensor:
    """The eigenvalues."""
    eigenvalues, _ = _linalg_eig(input)
    return eigenvalues  # type: ignore[no-any-return]


@function(namespace="linalg", also={"input": "A"})
def eig(A: Tensor, *, out: Any = None) -> Any:
    """Eigenvalues and eigenvectors of square matrices (*, n, n): a named tuple (eigenvalues, eigenvectors).

    Both are complex whatever A is. Eigenvalues (*, n) come in no particular order; the columns of eigenvectors
    (*, n, n) have length 1, each up to a factor of magnitude 1, on which nothing that is differentiated may depend.
    The gradient exists where no eigenvalues are equal. Raises polyad.linalg.LinAlgError (a RuntimeError) for nan and
    infinities, RuntimeError for matrices that are not square, integers, bool and 16-bit floats.

    >>> import polyad
    >>> polyad.linalg.eig(polyad.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.imag.abs()
    tensor([1., 1.])
    """
    return return_types.linalg_eig(*_linalg_eig(matrices("eig", A, square=True)))


@function(namespace="linalg", also={"input": "A"})
def eigvals(A: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The eigenvalues (*, n), complex, of square matrices (*, n, n), in no particular order; see `polyad.linalg.eig`.

    >>> import polyad
    >>> polyad.linalg.eigvals(polyad.tensor([[2.0, 0.0], [0.0, 2.0]])).real
    tensor([2., 2.])
    """
    return _linalg_eigvals(matrices("eigvals", A, square=True))
