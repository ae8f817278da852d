"""Operators of the domain com.microsoft: what onnxruntime's quantiser and optimiser write into models.

Their definitions are in onnxruntime's page of contributed operators. Those that quantise again do so as QuantizeLinear
does.
"""

from __future__ import annotations

from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor

from ..elements import of_dtype
from ..operators import MICROSOFT, REQUIRED, Compute, Node, operator
from .convolution import convolved
from .quantization import Prepared, dequantize_linear, less_zero_point, quantize_dynamically, quantize_linear, quantized
from .windows import Windows

__all__: list[str] = []

operator("QuantizeLinear", domain=MICROSOFT, state=(1,))(quantize_linear)
operator("DequantizeLinear", domain=MICROSOFT, state=(1,))(dequantize_linear)


def _numbers(x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    """What quantised integers stand for; one scale for all of them."""
    return less_zero_point(x, zero, -1) * scale.float()


def _again(made: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
    return quantized(made / scale.float(), zero.reshape(()), of_dtype(zero.dtype))


@operator("QLinearAdd", "QLinearMul", domain=MICROSOFT, state=(1, 4, 6))
def qlinear_binary(node: Node) -> Compute:
    function: Any = polyad.add if node.proto.op_type == "QLinearAdd" else polyad.mul

    def call(
        a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor, scale: Tensor,
        zero: Tensor,
    ) -> Tensor:  # fmt: skip
        return _again(function(_numbers(a, a_scale, a_zero), _numbers(b, b_scale, b_zero)), scale, zero)

    return call


@operator("QLinearSigmoid", "QLinearLeakyRelu", "QLinearSoftmax", domain=MICROSOFT, state=(1, 3))
def qlinear_activation(node: Node) -> Compute:
    slope, axis = node.number("alpha", 0.01), node.integer("axis", -1)
    functions: dict[str, Any] = {
        "QLinearSigmoid": polyad.sigmoid,
        "QLinearLeakyRelu": lambda x: F.leaky_relu(x, slope),
        "QLinearSoftmax": lambda x: F.softmax(x, axis),
    }
    function = functions[node.proto.op_type]
    return lambda x, x_scale, x_zero, scale, zero: _again(function(_numbers(x, x_scale, x_zero)), scale, zero)


@operator("QLinearGlobalAveragePool", domain=MICROSOFT, state=(1, 3))
def qlinear_global_average_pool(node: Node) -> Compute:
    channels_last = node.integer("channels_last", 0)

    def call(x: Tensor, x_scale: Tensor, x_zero: Tensor, scale: Tensor, zero: Tensor) -> Tensor:
        dims = tuple(range(1, x.ndim - 1) if channels_last else range(2, x.ndim))
        return _again(_numbers(x, x_scale, x_zero).mean(dims, keepdim=True), scale, zero)

    return call


@operator("QLinearConcat", domain=MICROSOFT, state=(0, 3, 6, 9, 12, 15))
def qlinear_concat(node: Node) -> Compute:
    axis = node.integer("axis", REQUIRED)

    def call(scale: Tensor, zero: Tensor, *parts: Tensor) -> Tensor:
        made = [_numbers(*parts[index : index + 3]) for index in range(0, len(parts), 3)]
        return _again(polyad.cat(made, axis), scale, zero)

    return call


@operator("QGemm", domain=MICROSOFT, state=(1, 4, 7))
def qgemm(node: Node) -> Compute:
    alpha, turn_a, turn_b = node.number("alpha", 1.0), node.integer("transA", 0), node.integer("transB", 0)
    prepared = Prepared()

    def call(
        a: Tensor, a_scale: Tensor, a_zero: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor,
        c: Tensor | None = None, scale: Tensor | None = None, zero: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        left, right = less_zero_point(a, a_zero, -1), prepared.of(b, b_zero, make=matrix)
        made = (left.t() if turn_a else left) @ right
        made = (made if c is None else made + c.float()) * (alpha * a_scale.float() * b_scale.float())
        return made if scale is None or zero is None else _again(made, scale, zero)

    def matrix(b: Tensor, zero: Tensor) -> Tensor:
        whole = b.t() if turn_b else b
        return less_zero_point(whole, zero, -1)

    return call


@operator("MatMulIntegerToFloat", domain=MICROSOFT, state=(2, 3))
def matmul_integer_to_float(node: Node) -> Compute:
    prepared = Prepared()

    def call(
        a: Tensor, b: Tensor, a_scale: Tensor, b_scale: Tensor, a_zero: Tensor | None = None,
        b_zero: Tensor | None = None, bias: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        right = prepared.of(b, b_zero, make=lambda b, zero: less_zero_point(b, zero, -1))
        made = less_zero_point(a, a_zero, -2) @ right * (a_scale * b_scale)
        return made if bias is None else made + bias

    return call


@operator("DynamicQuantizeMatMul", domain=MICROSOFT, state=(2,))
def dynamic_quantize_matmul(node: Node) -> Compute:
    prepared = Prepared()

    def call(a: Tensor, b: Tensor, b_scale: Tensor, b_zero: Tensor | None = None, bias: Tensor | None = None) -> Tensor:
        right = prepared.of(b, b_zero, make=lambda b, zero: less_zero_point(b, zero, -1))
        whole, scale, zero = quantize_dynamically(a)
        made = less_zero_point(whole, zero, -1) @ right * (scale * b_scale)
        return made if bias is None else made + bias

    return call


@operator("MatMulNBits", domain=MICROSOFT, state=(2,))
def matmul_n_bits(node: Node) -> Compute:
    columns, rows = node.integer("K", REQUIRED), node.integer("N", REQUIRED)
    bits, block = node.integer("bits", 4), node.integer("block_size", REQUIRED)
    if bits not in (2, 4, 8):
        raise node.refused(f"numbers of {bits} bits", "quantise to 2, 4 or 8 bits")
    blocks = -(-columns // block)
    prepared = Prepared()

    def unpacked(x: Tensor, count: int) -> Tensor:
        """The last dimension's numbers, the first of which is in the lowest bits of a byte."""
        parts = [(x.to(polyad.int32) >> shift) & ((1 << bits) - 1) for shift in range(0, 8, bits)]
        return polyad.stack(parts, -1).flatten(-2)[..., :count].float()

    def matrix(packed: Tensor, scales: Tensor, zeros: Tensor | None) -> Tensor:
        whole = unpacked(packed.reshape(rows, blocks, -1), block)
        if zeros is None:
            shift: Any = float(1 << (bits - 1))
        elif zeros.dtype.is_floating_point:
            shift = zeros.float().reshape(rows, blocks, 1)
        else:
            shift = unpacked(zeros.reshape(rows, -1), blocks).unsqueeze(-1)
        made = (whole - shift) * scales.float().reshape(rows, blocks, 1)
        return made.reshape(rows, -1)[:, :columns]

    def call(
        a: Tensor, packed: Tensor, scales: Tensor, zeros: Tensor | None = None, order: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        weight = prepared.of(packed, scales, zeros, make=matrix)
        return F.linear(a, weight.to(a.dtype), bias)

    if node.has(4):
        raise node.refused("input g_idx, an order of blocks", "quantise without it")
    return call


@operator("Gelu", domain=MICROSOFT)
def gelu(node: Node) -> Compute:
    return F.gelu


@operator("BiasGelu", "FastGelu", domain=MICROSOFT)
def bias_gelu(node: Node) -> Compute:
    how = "tanh" if node.proto.op_type == "FastGelu" else "none"
    return lambda x, bias=None: F.gelu(x if bias is None else x + bias, approximate=how)


@operator("QuickGelu", domain=MICROSOFT)
def quick_gelu(node: Node) -> Compute:
    alpha = node.number("alpha", 1.702)
    return lambda x: x * (alpha * x).sigmoid()


@operator("FusedMatMul", domain=MICROSOFT)
def fused_matmul(node: Node) -> Compute:
    alpha, turn_a, turn_b = node.number("alpha", 1.0), node.integer("transA", 0), node.integer("transB", 0)
    if node.integer("transBatchA", 0) or node.integer("transBatchB", 0):
        raise node.refused("attributes transBatchA and transBatchB", "turn the operands by Transpose")

    def call(a: Tensor, b: Tensor) -> Tensor:
        made = polyad.matmul(a.mT if turn_a and a.ndim > 1 else a, b.mT if turn_b and b.ndim > 1 else b)
        return made if alpha == 1 else made * alpha

    return call


ACTIVATIONS: dict[str, Any] = {
    "Relu": lambda x, params: F.relu(x),
    "Sigmoid": lambda x, params: x.sigmoid(),
    "Tanh": lambda x, params: x.tanh(),
    "LeakyRelu": lambda x, params: F.leaky_relu(x, params[0]),
    "Clip": lambda x, params: x.clamp(min=params[0]).clamp(max=params[1]),
    "HardSigmoid": lambda x, params: (x * params[0] + params[1]).clamp(min=0).clamp(max=1),
}


@operator("FusedConv", domain=MICROSOFT)
def fused_conv(node: Node) -> Compute:
    windows, groups = Windows.of(node), node.integer("group", 1)
    function = ACTIVATIONS[node.choice("activation", "Relu", *ACTIVATIONS)]
    params = node.numbers("activation_params", [])

    def call(x: Tensor, weight: Tensor, bias: Tensor | None = None, added: Tensor | None = None) -> Tensor:
        made = convolved(x, weight, bias, windows, groups)
        return function(made if added is None else made + added, params)

    return call


@operator("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_normalization(node: Node) -> Compute:
    epsilon = node.number("epsilon", 1e-12)
    if node.wants(1) or node.wants(2):
        raise node.refused("outputs mean and inv_std_var", "leave them out")

    def call(x: Tensor, skip: Tensor, gamma: Tensor, beta: Tensor | None = None, bias: Tensor | None = None) -> Any:
        total = x + skip if bias is None else x + skip + bias
        made = F.layer_norm(total, total.shape[-1:], gamma, beta, epsilon)
        return made if node.outputs == 1 else (made, None, None, total)[: node.outputs]

    return call
