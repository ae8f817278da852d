"""Recurrent layers: all steps of a layer in one direction, forward and backward."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature
from polyad.base.dtypes import bfloat16, float16, float32

from ....choosing import Call
from ....engine import Library
from ....gemm import GEMM

SEQUENCES = Library("kernels/nn/recurrent/sequences")

_LSTM, _GRU, _TANH, _RELU = range(4)


def _of(types: Signature, place: int) -> tuple[Any, Any] | None:
    """The kernel for the dtype of the operand at *place*, and the function for products; half types are widened."""
    dtype = types[place].dtype
    dtype = float32 if dtype in (float16, bfloat16) else dtype
    run = SEQUENCES.function("run", dtype)
    return None if run is None else (run, GEMM.function("product", dtype))


def _ready(array: Any) -> Any:
    """*array* as the kernels read it: row-major, of float32 at least."""
    if array is None:
        return None
    return np.ascontiguousarray(array.astype(np.float32) if array.itemsize == 2 else array)


def _narrow(array: Any, dtype: Any) -> Any:
    return array.astype(dtype, copy=False)


@cache
def _sizes(batch_sizes: tuple[int, ...]) -> Any:
    return np.array(batch_sizes, np.int64)


def _summed(product: Any, first: Any, second: Any) -> Any:
    """``first.T @ second``."""
    out = np.empty((first.shape[1], second.shape[1]), first.dtype)
    product(out, first.T, second, None)
    return out


def _forward(
    run: Any, mode: int, gates: Any, weight: Any, projection: Any, bias: Any, hidden: Any, cell: Any,
    batch_sizes: tuple[int, ...], reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The hidden states, the last one and the last cell, and of each step the gates and the cell."""
    given = gates.dtype
    if not (gates.size and weight.size and hidden.size):
        raise Declined
    gates, weight, projection, bias, hidden, cell = map(_ready, (gates, weight, projection, bias, hidden, cell))
    dtype, rows = gates.dtype, len(gates)
    out, new = np.empty((rows, hidden.shape[1]), dtype), np.empty_like(hidden)
    new_cell = cells = activated = None
    if mode == _LSTM:
        new_cell, cells = np.empty_like(cell), np.empty((rows, cell.shape[1]), dtype)
        activated = np.empty(gates.shape, dtype)
    elif mode == _GRU:
        activated = np.empty((rows, 4 * hidden.shape[1]), dtype)
    arrays = (gates, bias, out, new, new_cell, activated, cells)
    run(mode, reverse, _sizes(batch_sizes), weight, projection, hidden, cell, 0, arrays)
    if mode == _LSTM:
        return _narrow(out, given), _narrow(new, given), _narrow(new_cell, given), activated, cells
    return (_narrow(out, given), _narrow(new, given), activated)[: 3 if mode == _GRU else 2]


def _backward(
    both: tuple[Any, Any], mode: int, grads: tuple[Any, ...], gates: Any, weight: Any, projection: Any, hidden: Any,
    cell: Any, states: Any, activated: Any, cells: Any, batch_sizes: tuple[int, ...], reverse: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """The gradients of the gates, the weight, the projection, the hidden state and the cell; those of the products."""
    run, product = both
    given = gates.dtype
    if not (gates.size and weight.size and hidden.size):
        raise Declined
    weight, projection, hidden, cell, states, activated, cells = map(
        _ready, (weight, projection, hidden, cell, states, activated, cells)
    )
    dtype, rows = states.dtype, len(states)
    of_gates, of_hidden, before = np.empty(gates.shape, dtype), np.empty_like(hidden), np.empty_like(states)
    of_products = np.empty_like(of_gates) if mode == _GRU else None
    of_cell = None if cell is None else np.empty_like(cell)
    projected = inside = None
    if projection is not None:
        projected, inside = np.empty_like(states), np.empty((rows, cell.shape[1]), dtype)
    written = (of_gates, of_products, before, projected, inside, of_hidden, of_cell)
    arrays = (*map(_ready, grads), states, activated, cells, *written)
    run(mode, reverse, _sizes(batch_sizes), weight, projection, hidden, cell, 1, arrays)
    of_weight = _summed(product, of_gates if of_products is None else of_products, before)
    of_projection = np.empty((0, 0), given) if projection is None else _summed(product, projected, inside)
    found = (of_gates, of_weight, of_projection, of_hidden)
    return (
        *(_narrow(array, given) for array in found),
        of_cell if of_cell is None else _narrow(of_cell, given),
        of_products,
    )


def lstm_sequence(types: Signature) -> Call | None:
    """The kernel of `lstm_sequence`."""
    both = _of(types, 0)

    def call(gates: Any, weight: Any, projection: Any, hidden: Any, cell: Any, sizes: Any, reverse: bool) -> Any:
        return _forward(both[0], _LSTM, gates, weight, projection, None, hidden, cell, sizes, reverse)  # type: ignore[index]

    return both and call


def lstm_sequence_backward(types: Signature) -> Call | None:
    """The kernel of `lstm_sequence_backward`."""
    both = _of(types, 3)

    def call(grad_out: Any, grad_hidden: Any, grad_cell: Any, gates: Any, weight: Any, *rest: Any) -> Any:
        assert both
        return _backward(both, _LSTM, (grad_out, grad_hidden, grad_cell), gates, weight, *rest)[:5]

    return both and call


def gru_sequence(types: Signature) -> Call | None:
    """The kernel of `gru_sequence`."""
    both = _of(types, 0)

    def call(gates: Any, weight: Any, bias: Any, hidden: Any, sizes: Any, reverse: bool) -> Any:
        return _forward(both[0], _GRU, gates, weight, None, bias, hidden, None, sizes, reverse)  # type: ignore[index]

    return both and call


def gru_sequence_backward(types: Signature) -> Call | None:
    """The kernel of `gru_sequence_backward`."""
    both = _of(types, 2)

    def call(
        grad_out: Any, grad_hidden: Any, gates: Any, weight: Any, bias: Any, hidden: Any, states: Any, activated: Any,
        sizes: Any, reverse: bool,
    ) -> Any:  # fmt: skip
        assert both
        of_gates, of_weight, _, of_hidden, _, of_products = _backward(
            both, _GRU, (grad_out, grad_hidden, None), gates, weight, None, hidden, None, states, activated, None,
            sizes, reverse,
        )  # fmt: skip
        return of_gates, of_weight, _narrow(np.add.reduce(of_products, axis=0), gates.dtype), of_hidden

    return both and call


def rnn_sequence(types: Signature) -> Call | None:
    """The kernel of `rnn_sequence`."""
    both = _of(types, 0)

    def call(gates: Any, weight: Any, hidden: Any, sizes: Any, reverse: bool, relu: bool) -> Any:
        assert both
        return _forward(both[0], _RELU if relu else _TANH, gates, weight, None, None, hidden, None, sizes, reverse)

    return both and call


def rnn_sequence_backward(types: Signature) -> Call | None:
    """The kernel of `rnn_sequence_backward`."""
    both = _of(types, 2)

    def call(
        grad_out: Any, grad_hidden: Any, gates: Any, weight: Any, hidden: Any, states: Any, sizes: Any, reverse: bool,
        relu: bool,
    ) -> Any:  # fmt: skip
        assert both
        of_gates, of_weight, _, of_hidden, *_ = _backward(
            both, _RELU if relu else _TANH, (grad_out, grad_hidden, None), gates, weight, None, hidden, None, states,
            None, None, sizes, reverse,
        )  # fmt: skip
        return of_gates, of_weight, of_hidden

    return both and call
