"""`matmul`, and the primitive ``gemm`` that all products of matrices and vectors come down to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...dispatch.forward import multilinear
from ...dispatch.op import alias, composite, function, gradient, method, primitive
from ...dispatch.promotion import promoted
from ...dispatch.structure import Contraction, contraction
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring import shape_rules
from ..declaring.attach import from_array
from ..pointwise.arithmetic import _conj, conjugate

if TYPE_CHECKING:
    from ...base.shapes_and_strides import Shape


def _gemm_products(result: Shape, input: Shape, other: Shape, transpose_input: bool, transpose_other: bool) -> int:
    return math.prod(result) * input[-2 if transpose_input else -1]


@primitive(
    dtype=promoted,
    structure=Contraction(products=_gemm_products),
    shape=shape_rules.gemm,
    grad_name="MmBackward0",
    title="matmul",
)
def _gemm(input: Tensor, other: Tensor, transpose_input: bool, transpose_other: bool) -> Tensor:
    """Batched matrix product of operands with two or more dimensions, either of them transposed in its last two."""


def _gemm_grad_input(g: Tensor, other: Tensor, transpose_input: bool, transpose_other: bool) -> Tensor:
    other = _conj(other) if other._type.dtype.is_complex else other
    return _gemm(other, g, transpose_other, True) if transpose_input else _gemm(g, other, False, not transpose_other)


def _gemm_grad_other(g: Tensor, input: Tensor, transpose_input: bool, transpose_other: bool) -> Tensor:
    input = _conj(input) if input._type.dtype.is_complex else input
    return _gemm(g, input, True, transpose_input) if transpose_other else _gemm(input, g, not transpose_input, False)


gradient(_gemm, input=_gemm_grad_input, other=_gemm_grad_other)
multilinear(_gemm, "input", "other")


@function()
def matmul(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The matrix product; 1-d operands are vectors, dimensions before the last two are batches and broadcast.

    Raises RuntimeError when inner sizes differ or an operand is 0-d.

    >>> import polyad
    >>> polyad.matmul(polyad.tensor([[1.0, 2.0]]), polyad.tensor([[3.0], [4.0]]))
    tensor([[11.]])
    """
    return _matmul(input, other)


alias("matmul", matmul, namespace="linalg")


def _matmul(input: Tensor, other: Tensor) -> Tensor:
    try:
        left, right = len(input._array.shape), len(other._array.shape)
    except AttributeError:
        check_tensor(input, "matmul", "input")
        check_tensor(other, "matmul", "other")
        raise
    if left >= 2 and right >= 2:
        return _gemm(input, other, False, False)
    if not left or not right:
        raise ShapeError(
            "matmul: both operands need at least one dimension",
            operands={"input": input, "other": other},
            fix="use * for a product with a scalar",
        )
    return _vector_product(input, other)


@method("__matmul__")
def _operator(self: Any, other: Any) -> Any:
    if not isinstance(other, Tensor):
        other = from_array(other)
    return NotImplemented if other is None else _matmul(self, other)


@method("__rmatmul__")
def _reflected_operator(self: Any, other: Any) -> Any:
    if not isinstance(other, Tensor):
        other = from_array(other)
    return NotImplemented if other is None else _matmul(other, self)


@composite(
    dtype=promoted, structure=contraction, shape=shape_rules.vector_product, grad_name="MvBackward0", method=False
)
def _vector_product(input: Tensor, other: Tensor) -> Tensor:
    """The product where an operand is a vector; an op of its own, so that its result is no view of a matrix."""
    shape_rules.vector_product(input._array.shape, other._array.shape)
    left, right = input.ndim == 1, other.ndim == 1
    result = _gemm(input.unsqueeze(0) if left else input, other.unsqueeze(1) if right else other, False, False)
    if right:
        result = result.squeeze(-1)
    return result.squeeze(-1 if right else -2) if left else result


def _vector_product_grad_input(g: Tensor, other: Tensor) -> Tensor:
    if other.ndim == 1:
        return g.unsqueeze(-1) * conjugate(other)
    return _gemm(g.unsqueeze(-2), conjugate(other), False, True).squeeze(-2)


def _vector_product_grad_other(g: Tensor, input: Tensor, other_shape: Shape) -> Tensor:
    if input.ndim == 1:
        g = g.unsqueeze(-1) if len(other_shape) == 1 else g.unsqueeze(-2)
        return g * (conjugate(input) if len(other_shape) == 1 else conjugate(input).unsqueeze(-1))
    return _gemm(conjugate(input), g.unsqueeze(-1), True, False).squeeze(-1)


gradient(_vector_product, input=_vector_product_grad_input, other=_vector_product_grad_other)
multilinear(_vector_product, "input", "other")
