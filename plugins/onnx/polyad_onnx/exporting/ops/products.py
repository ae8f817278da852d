"""Products of matrices."""

from __future__ import annotations

from typing import Any

from ..registry import translates


@translates("gemm")
def gemm(to: Any, input: Any, other: Any, transpose_input: bool, transpose_other: bool) -> Any:
    """A product of matrices, one or both transposed."""
    if transpose_input:
        input = _transposed(to, input)
    if transpose_other:
        other = _transposed(to, other)
    return to.op("MatMul", input, other)


def _transposed(to: Any, value: Any) -> Any:
    rank = len(value.shape)
    return to.op("Transpose", value, perm=[*range(rank - 2), rank - 1, rank - 2])


@translates("linear")
def linear(to: Any, input: Any, weight: Any, bias: Any) -> Any:
    """input @ weight.T + bias."""
    if len(input.shape) == 2 and len(weight.shape) == 2 and (bias is None or len(bias.shape) == 1):
        return to.op("Gemm", input, weight, bias, transB=1)
    if len(weight.shape) == 2:
        turned = to.rearranged(to.node.args[1], ".T", lambda tensor: tensor.t())
        weight = _transposed(to, weight) if turned is None else turned
    product = to.op("MatMul", input, weight)
    return product if bias is None else to.op("Add", product, bias)


def linear_behind(to: Any, ref: Any) -> tuple[Any, Any, Any] | None:
    """The operands of the linear op that made a value of the graph; None if another did."""
    node = to.makers.get(ref.number)
    return node.operands if node is not None and node.name == "linear" else None
