"""A step's gates in passes over arrays of its own. A sigmoid is ``tanh(x / 2) / 2 + 1 / 2``."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend import Kernel

from ....half_types import half_to_float32
from ....quiet import quiet


def _sigmoid(x: Any) -> Any:
    half = x.dtype.type(0.5)
    x *= half
    np.tanh(x, x)
    x *= half
    x += half
    return x


@quiet
def lstm_gates(input_gates: Any, hidden_gates: Any, cell: Any) -> tuple[Any, ...]:
    first, second = np.split(half_to_float32(input_gates), 4, -1), np.split(half_to_float32(hidden_gates), 4, -1)
    before = [one + other for one, other in zip(first, second, strict=True)]
    i, f, g, o = _sigmoid(before[0]), _sigmoid(before[1]), np.tanh(before[2], before[2]), _sigmoid(before[3])
    new = f * half_to_float32(cell)
    new += i * g
    hidden = np.tanh(new)
    hidden *= o
    outer = (hidden.astype(cell.dtype, copy=False), new.astype(cell.dtype, copy=False))
    return tuple(np.ascontiguousarray(result) for result in (*outer, i, f, g, o))


@quiet
def lstm_gates_backward(
    grad_hidden: Any, grad_cell: Any, cell: Any, new_cell: Any, i: Any, f: Any, g: Any, o: Any
) -> tuple[Any, ...]:
    arriving, squashed = half_to_float32(grad_hidden), np.tanh(half_to_float32(new_cell))
    of_cell = squashed * squashed
    np.subtract(1, of_cell, of_cell)
    of_cell *= o
    of_cell *= arriving
    of_cell += half_to_float32(grad_cell)
    results = (
        of_cell * g * i * (1 - i),
        of_cell * half_to_float32(cell) * f * (1 - f),
        of_cell * i * (1 - g * g),
        arriving * squashed * o * (1 - o),
        of_cell * f,
    )
    return tuple(result.astype(cell.dtype, "C", copy=False) for result in results)


@quiet
def gru_gates(input_gates: Any, hidden_gates: Any, hidden: Any) -> tuple[Any, ...]:
    first, second = np.split(half_to_float32(input_gates), 3, -1), np.split(half_to_float32(hidden_gates), 3, -1)
    r, z = _sigmoid(first[0] + second[0]), _sigmoid(first[1] + second[1])
    n = r * second[2]
    n += first[2]
    np.tanh(n, n)
    new = half_to_float32(hidden) - n
    new *= z
    new += n
    return tuple(np.ascontiguousarray(result) for result in (new.astype(hidden.dtype, copy=False), r, z, n))


@quiet
def gru_gates_backward(grad: Any, hidden: Any, weighted: Any, r: Any, z: Any, n: Any) -> tuple[Any, ...]:
    arriving = half_to_float32(grad)
    of_n = arriving * (1 - z) * (1 - n * n)
    results = (
        of_n * half_to_float32(weighted) * r * (1 - r),
        arriving * (half_to_float32(hidden) - n) * z * (1 - z),
        of_n,
        of_n * r,
        arriving * z,
    )
    return tuple(result.astype(hidden.dtype, "C", copy=False) for result in results)


KERNELS = {
    "lstm_gates": Kernel(lstm_gates),
    "lstm_gates_backward": Kernel(lstm_gates_backward),
    "gru_gates": Kernel(gru_gates),
    "gru_gates_backward": Kernel(gru_gates_backward),
}
