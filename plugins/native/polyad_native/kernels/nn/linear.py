"""Linear layers, and the gradient of their weight."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ...gemm import multiplied, product


def linear(types: Signature) -> Call | None:
    """The kernel of `linear`."""
    run = product(types)

    def call(a: Any, weight: Any, bias: Any) -> Any:
        if weight.ndim != 2 or (bias is not None and bias.shape != weight.shape[:1]):
            raise Declined
        return multiplied(run, a, weight.T, bias if bias is None else np.ascontiguousarray(bias))

    return None if run is None else call


def linear_weight_grad(types: Signature) -> Call | None:
    """The kernel of `linear_weight_grad`."""
    run = product(types)

    def call(grad: Any, a: Any) -> Any:
        if not (grad.size and a.size):
            raise Declined
        return multiplied(run, grad.reshape(-1, grad.shape[-1]).T, a.reshape(-1, a.shape[-1]))

    return None if run is None else call
