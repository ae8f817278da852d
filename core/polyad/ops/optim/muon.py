"""Muon: momentum whose direction is made orthogonal (Jordan et al. 2024)."""

from __future__ import annotations

from ...base.dtypes import bfloat16
from ...dispatch.structure import opaque
from ...tensor import Tensor
from .steps import step


@step("param", "momentum_buffer", structure=opaque)
def _muon_step(
    param: Tensor,
    grad: Tensor,
    momentum_buffer: Tensor,
    rate: float,
    shrink: float,
    momentum: float,
    nesterov: bool,
    a: float,
    b: float,
    c: float,
    eps: float,
    ns_steps: int,
) -> tuple[Tensor, Tensor]:
    """A step by the momentum of a matrix with its singular values brought near 1."""
    momentum_buffer = momentum_buffer + (grad - momentum_buffer) * (1 - momentum)
    update = grad + (momentum_buffer - grad) * momentum if nesterov else momentum_buffer
    update = _orthogonal(update, a, b, c, eps, ns_steps)
    return param * shrink - update.to(param._type.dtype) * rate, momentum_buffer


def _orthogonal(matrix: Tensor, a: float, b: float, c: float, eps: float, steps: int) -> Tensor:
    """*matrix* after Newton and Schulz's iteration, which needs no more digits than bfloat16 has.

    Each step takes every singular value s to ``a s + b s^3 + c s^5``.
    """
    tall = matrix.shape[0] > matrix.shape[1]
    found = matrix.to(bfloat16)
    found = found.t() if tall else found
    found = found / found.norm().clamp_min(eps)
    for _ in range(steps):
        gram = found @ found.t()
        found = found.addmm(gram.addmm(gram, gram, beta=b, alpha=c), found, beta=a)
    return found.t() if tall else found
