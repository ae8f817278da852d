"""What the layers Linear and Bilinear compute: ``x @ weight.T + bias``, and a weighted product of two inputs."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...dispatch.forward import affine, multilinear
from ...dispatch.op import alias, composite, function, gradient
from ...dispatch.promotion import promoted
from ...dispatch.structure import Contraction, contraction
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import conjugate
from ..products.einsum import einsum
from ..products.matmul import _gemm, _matmul
from ..products.mm import check_same_dtype

if TYPE_CHECKING:
    from ...base.shapes_and_strides import Shape


@composite(dtype=promoted, structure=contraction, grad_name="AddmmBackward0", method=False)
def _linear(input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    """input @ weight.T + bias."""
    product = _gemm(input, weight, False, True)
    return product if bias is None else product + bias


def _weight_grad_products(result: Shape, grad: Shape, input: Shape) -> int:
    return math.prod(grad) * input[-1]


@composite(dtype=promoted, structure=Contraction(products=_weight_grad_products), method=False)
def _linear_weight_grad(grad: Tensor, input: Tensor) -> Tensor:
    """grad.T @ input, where all dimensions but the last are rows."""
    if len(grad._array.shape) > 2:
        grad, input = grad.flatten(0, -2), input.flatten(0, -2)
    return _gemm(grad, input, True, False)


gradient(
    _linear_weight_grad,
    grad=lambda g, input: _gemm(conjugate(input), g, False, True),
    input=lambda g, grad: _gemm(conjugate(grad), g, False, False),
)
multilinear(_linear_weight_grad, "grad", "input")
gradient(
    _linear,
    input=lambda g, weight: _gemm(g, conjugate(weight), False, False),
    weight=lambda g, input: _linear_weight_grad(g, conjugate(input)),
    bias=lambda g: g,
)
affine(_linear, "input", "weight", "bias")


@function(method=False)
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input @ weight.T + bias``: input (*, in), weight (out, in) or (in,), bias (out,); the result is (*, out).

    Raises RuntimeError when in or out do not agree.

    >>> import polyad
    >>> polyad.nn.functional.linear(polyad.tensor([[1.0, 2.0]]), polyad.tensor([[3.0, 4.0]]))
    tensor([[11.]])
    """
    check_tensor(input, "linear", "input")
    check_tensor(weight, "linear", "weight")
    shape, of_weight = input._array.shape, weight._array.shape
    if (
        not shape
        or len(of_weight) not in (1, 2)
        or shape[-1] != of_weight[-1]
        or (bias is not None and bias.ndim and bias.shape[-1] not in (1, of_weight[0]))
    ):
        operands = {"input": input, "weight": weight, "bias": bias}
        inner = f": {input.shape[-1]} != {weight.shape[-1]}" if input.ndim and weight.ndim else ""
        raise ShapeError(
            f"linear: input {tuple(input.shape)} and weight {tuple(weight.shape)} do not agree{inner}",
            operands={name: value for name, value in operands.items() if value is not None},
            fix=f"make the last dimension of input {weight.shape[-1] if weight.ndim else '...'}, or use "
            f"Linear({input.shape[-1] if input.ndim else '...'}, {weight.shape[0] if weight.ndim else '...'})",
        )
    if len(of_weight) == 1 or len(shape) == 1:
        product = _matmul(input, weight.t() if weight.ndim == 2 else weight)
        return product if bias is None else product + bias
    return _linear(input, weight, bias)


alias("linear", linear, namespace="nn.functional")


@function(method=False, namespace="nn.functional")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k: input1 (*, n), input2 (*, m), weight (out, n, m), bias
    (out,); the result is (*, out).

    Raises RuntimeError when sizes or dtypes do not agree.

    >>> import polyad
    >>> polyad.nn.functional.bilinear(polyad.ones(1, 2), polyad.ones(1, 3), polyad.ones(1, 2, 3))
    tensor([[6.]])
    """
    operands = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    for name, tensor in operands.items():
        check_tensor(tensor, "bilinear", name)
    check_same_dtype("bilinear", **operands)
    first, second, shape = input1._array.shape, input2._array.shape, weight._array.shape
    if (
        not first
        or len(shape) != 3
        or first[:-1] != second[:-1]
        or len(first) != len(second)
        or (first[-1], second[-1]) != shape[1:]
    ):
        raise ShapeError(
            f"bilinear: input1 {first}, input2 {second} and weight {shape} do not agree",
            operands=operands,
            fix="shapes are (*, n), (*, m), (out, n, m) and, for bias, (out,)",
        )
    if bias is not None and bias._array.shape != shape[:1]:
        raise ShapeError(
            f"bilinear: bias {bias._array.shape} is not ({shape[0]},), one number for each of weight's matrices",
            operands=operands,
            fix="add what broadcasts otherwise to the result",
        )
    result: Tensor = einsum("...n,knm,...m->...k", input1, weight, input2)
    return result if bias is None else result + bias


# PyTorch shows these in its main namespace, too.
alias("bilinear", bilinear, namespace="")
