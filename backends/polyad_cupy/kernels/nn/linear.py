"""Linear layers as one product of matrices, to which cuBLASLt adds the bias where it was proved."""

from __future__ import annotations

import math

from polyad.backend import Kernel
from polyad.base.shapes_and_strides import broadcast_strides, contiguous_strides
from polyad.codegen import collapse
from polyad_kernels.array import Array, new

from ..pointwise.arithmetic import add_to
from ..products import cublaslt_matmul
from ..products.matmul import COMPUTED, multiply, multiply_safely, product, transposed


def linear(input: Array, weight: Array, bias: Array | None) -> Array:
    """input @ weight.T + bias as the product of two matrices, however many dimensions *input* has."""
    turned, shape = transposed(weight), (*input.shape[:-1], weight.shape[0])
    sizes, (steps,) = collapse(input.shape[:-1], [input.steps[:-1]])
    if len(sizes) > 1 or not math.prod(shape) or not input.shape[-1]:
        out = product(input, weight, False, True)
    else:
        rows = Array(input.block, input.dtype, (*sizes, input.shape[-1]), (*steps, input.steps[-1]), input.offset)
        whole = new(input.device, (*sizes, weight.shape[0]), input.dtype)
        out = Array(whole.block, whole.dtype, shape, contiguous_strides(shape), whole.offset)
        if bias is not None and bias.shape == (weight.shape[0],) and bias.is_dense:
            if cublaslt_matmul.multiplied(whole, rows, turned, bias):
                return out
            multiply_safely(whole, rows, turned)
        else:
            multiply(whole, rows, turned)
    if bias is not None and out.size:
        spread = broadcast_strides(bias.shape, bias.steps, out.shape)
        add_to(out, Array(bias.block, bias.dtype, out.shape, spread, bias.offset))
    return out


KERNELS = {"linear": Kernel(linear, dtypes=COMPUTED)}
