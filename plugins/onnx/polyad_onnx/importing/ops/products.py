"""Products of matrices, and sums of products."""

from __future__ import annotations

import polyad
from polyad import Tensor

from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []


@operator("MatMul")
def matmul(node: Node) -> Compute:
    return polyad.matmul


@operator("Gemm")
def gemm(node: Node) -> Compute:
    alpha, beta = node.number("alpha", 1.0), node.number("beta", 1.0)
    turn_a, turn_b = node.integer("transA", 0), node.integer("transB", 0)

    def call(a: Tensor, b: Tensor, c: Tensor | None = None) -> Tensor:
        a, b = a.t() if turn_a else a, b.t() if turn_b else b
        if c is None:
            made = a @ b
            return made if alpha == 1 else made * alpha
        if c.dtype.is_floating_point:
            return polyad.addmm(c, a, b, beta=beta, alpha=alpha)
        return (a @ b) * int(alpha) + c * int(beta)

    return call


@operator("Einsum")
def einsum(node: Node) -> Compute:
    equation = node.text("equation", REQUIRED)
    return lambda *xs: polyad.einsum(equation, *xs)
