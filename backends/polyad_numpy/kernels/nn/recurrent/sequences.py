"""The steps of a recurrent layer over arrays that are there before the first step.

A step is a product with its state and a few passes over its own rows. What does not depend on the steps after it is
computed for all rows at once: backward, the factors by which each gate's gradient is the arriving one's multiple, and
the weights' gradients, which are one product. While steps are taken BLAS has one thread: their products are too small
to be worth waking another.

A sigmoid is computed as ``tanh(x / 2) / 2 + 1 / 2``, so that all gates of a step are one pass.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from polyad.backend import Kernel

from ....half_types import half_to_float32, narrow
from ....quiet import quiet, thread
from ....workers import one_thread, spread

_tanh, _dot, _add, _multiply, _subtract = np.tanh, np.dot, np.add, np.multiply, np.subtract


def _row_ranges(batch_sizes: tuple[int, ...], reverse: bool) -> list[tuple[int, int]]:
    """The first row and the one after the last of each step, in the order in which they are taken."""
    steps, start = [], 0
    for count in batch_sizes:
        steps.append((start, start + count))
        start += count
    return steps[::-1] if reverse else steps


def _before(state: Any, after: Any, steps: list[tuple[int, int]]) -> Any:
    """The rows of a state that each step begins with, where *after* has those it ends with."""
    before, state = np.empty(after.shape, after.dtype), state.copy()
    for start, end in steps:
        before[start:end] = state[: end - start]
        state[: end - start] = after[start:end]
    return before


def _arriving(grad: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    return np.zeros(shape, dtype) if grad is None else np.array(grad, dtype, order="C")


def _halves(size: int, places: tuple[slice, ...], dtype: Any) -> tuple[Any, Any]:
    """By what gates are multiplied before and after tanh, and what is then added: a half in *places*."""
    scale, shift = np.ones(size, dtype), np.zeros(size, dtype)
    for place in places:
        scale[place] = shift[place] = 0.5
    return scale, shift


# --------------------------------------------------------------------------------------------------------------- LSTM


def lstm_sequence(
    gates: Any, weight: Any, projection: Any, hidden: Any, cell: Any, batch_sizes: tuple[int, ...], reverse: bool
) -> tuple[Any, ...]:
    given = gates.dtype
    gates, weight, projection, hidden, cell = map(half_to_float32, (gates, weight, projection, hidden, cell))
    dtype, rows, size = gates.dtype, len(gates), cell.shape[1]
    scale, shift = _halves(4 * size, (slice(0, 2 * size), slice(3 * size, None)), dtype)
    inner = np.ascontiguousarray((weight * scale[:, None]).T)
    outer = None if projection is None else np.ascontiguousarray(projection.T)
    out, cells = np.empty((rows, hidden.shape[1]), dtype), np.empty((rows, size), dtype)
    activated = np.empty((rows, 4 * size), dtype)
    count = len(hidden)
    product, spare = np.empty((count, 4 * size), dtype), np.empty((count, size), dtype)
    # As rows for all sequences: a row that broadcasts takes NumPy twice as long.
    scale, shift = np.tile(scale, (count, 1)), np.tile(shift, (count, 1))
    last, last_cell = hidden.copy(), cell.copy()
    whole = batch_sizes[0] == batch_sizes[-1]

    def run() -> None:
        state, memory = last, last_cell
        for start, end in _row_ranges(batch_sizes, reverse):
            now, new, result, many = activated[start:end], cells[start:end], out[start:end], end - start
            added, inside, factor = product[:many], spare[:many], scale[:many]
            _multiply(gates[start:end], factor, now)
            _dot(state[:many], inner, added)
            _add(now, added, now)
            _tanh(now, now)
            _multiply(now, factor, now)
            _add(now, shift[:many], now)
            _multiply(now[:, size : 2 * size], memory[:many], new)
            _multiply(now[:, :size], now[:, 2 * size : 3 * size], inside)
            _add(new, inside, new)
            _tanh(new, inside)
            if outer is None:
                _multiply(inside, now[:, 3 * size :], result)
            else:
                _multiply(inside, now[:, 3 * size :], inside)
                _dot(inside, outer, result)
            if whole:
                state, memory = result, new
            else:
                last[:many], last_cell[:many] = result, new
        if whole:
            last[:], last_cell[:] = state, memory

    with one_thread():
        thread.run(run)
    return narrow(out, given), narrow(last, given), narrow(last_cell, given), activated, cells


def _lstm_factors(
    gates: Any, cells: Any, before_cells: Any, factors: Any, squashed: Any, through: Any, first: int, end: int
) -> None:
    """Of rows *first* to *end*: the gates' factors, tanh of the cells, and the output's derivative by the cell."""
    for start in range(first, end, 64):  # so few rows stay in the cache from one pass to the next
        here = slice(start, min(start + 64, end))
        gate, factor, bent, way = gates[here], factors[here], squashed[here], through[here]
        _tanh(cells[here], bent)
        _subtract(1, gate, factor)
        _multiply(factor, gate, factor)
        _multiply(factor[:, 0], gate[:, 2], factor[:, 0])
        _multiply(factor[:, 1], before_cells[here], factor[:, 1])
        _multiply(gate[:, 2], gate[:, 2], factor[:, 2])
        _subtract(1, factor[:, 2], factor[:, 2])
        _multiply(factor[:, 2], gate[:, 0], factor[:, 2])
        _multiply(factor[:, 3], bent, factor[:, 3])
        _multiply(bent, bent, way)
        _subtract(1, way, way)
        _multiply(way, gate[:, 3], way)


def lstm_sequence_backward(
    grad_out: Any,
    grad_new_hidden: Any,
    grad_new_cell: Any,
    gates: Any,
    weight: Any,
    projection: Any,
    hidden: Any,
    cell: Any,
    states: Any,
    activated: Any,
    cells: Any,
    batch_sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, ...]:
    given = gates.dtype
    grad_out, weight, projection, hidden, cell, states = map(
        half_to_float32, (grad_out, weight, projection, hidden, cell, states)
    )
    dtype, rows, size = cells.dtype, len(cells), cell.shape[1]
    steps = _row_ranges(batch_sizes, reverse)
    before_cells = _before(cell, cells, steps)
    # of_gates begins as the factors: those of i, f and g by the cell's gradient, that of o by the hidden state's.
    of_gates = np.empty((rows, 4, size), dtype)
    through, squashed = np.empty((rows, size), dtype), np.empty((rows, size), dtype)
    parts = activated.reshape(rows, 4, size)
    factors = partial(_lstm_factors, parts, cells, before_cells, of_gates, squashed, through)
    spread(factors, rows, cost=8 * of_gates.size)
    of_hidden = _arriving(grad_new_hidden, hidden.shape, dtype)
    of_cell = _arriving(grad_new_cell, cell.shape, dtype)
    flat = of_gates.reshape(rows, 4 * size)
    projected = None if projection is None else np.empty((rows, hidden.shape[1]), dtype)
    spare = np.empty((len(hidden), size), dtype)
    inside = spare if projection is not None else None
    spare = np.empty_like(spare)

    def run() -> None:
        for start, end in reversed(steps):
            many = end - start
            grad, memory, way, now = of_hidden[:many], of_cell[:many], spare[:many], of_gates[start:end]
            if grad_out is not None:
                _add(grad, grad_out[start:end], grad)
            if projected is None:
                arriving = grad
            else:
                projected[start:end] = grad
                arriving = inside[:many]  # type: ignore[index]
                _dot(grad, projection, arriving)
            _multiply(arriving, through[start:end], way)
            _add(memory, way, memory)
            _multiply(now[:, 3], arriving, now[:, 3])
            _multiply(now[:, :3], memory[:, None], now[:, :3])
            _multiply(memory, parts[start:end, 1], memory)
            _dot(flat[start:end], weight, grad)

    with one_thread():
        thread.run(run)
    of_weight = _product(flat, _before(hidden, states, steps))
    outputs = None if projection is None else _multiply(squashed, parts[:, 3], squashed)
    of_projection = np.empty((0, 0), given) if outputs is None else _product(projected, outputs)
    return tuple(narrow(array, given) for array in (flat, of_weight, of_projection, of_hidden, of_cell))


@quiet
def _product(first: Any, second: Any) -> Any:
    return _dot(first.T, second)


# ---------------------------------------------------------------------------------------------------------------- GRU


def gru_sequence(
    gates: Any, weight: Any, bias: Any, hidden: Any, batch_sizes: tuple[int, ...], reverse: bool
) -> tuple[Any, ...]:
    given = gates.dtype
    gates, weight, bias, hidden = map(half_to_float32, (gates, weight, bias, hidden))
    dtype, rows, size = gates.dtype, len(gates), hidden.shape[1]
    scale, _ = _halves(3 * size, (slice(0, 2 * size),), dtype)
    half = dtype.type(0.5)
    inner = np.ascontiguousarray((weight * scale[:, None]).T)
    shift = None if bias is None else bias * scale
    out, activated = np.empty((rows, size), dtype), np.empty((rows, 4 * size), dtype)
    count = len(hidden)
    product = np.empty((count, 3 * size), dtype)
    last = hidden.copy()
    whole = batch_sizes[0] == batch_sizes[-1]

    def run() -> None:
        state = last
        for start, end in _row_ranges(batch_sizes, reverse):
            many = end - start
            now, before, added, new = activated[start:end], gates[start:end], product[:many], out[start:end]
            both, own, weighted = now[:, : 2 * size], now[:, 2 * size : 3 * size], now[:, 3 * size :]
            _dot(state[:many], inner, added)
            if shift is not None:
                _add(added, shift, added)
            _multiply(before[:, : 2 * size], half, both)
            _add(both, added[:, : 2 * size], both)
            _tanh(both, both)
            _multiply(both, half, both)
            _add(both, half, both)
            weighted[...] = added[:, 2 * size :]
            _multiply(now[:, :size], weighted, own)
            _add(own, before[:, 2 * size :], own)
            _tanh(own, own)
            _subtract(state[:many], own, new)
            _multiply(new, now[:, size : 2 * size], new)
            _add(new, own, new)
            if whole:
                state = new
            else:
                last[:many] = new
        if whole:
            last[:] = state

    with one_thread():
        thread.run(run)
    return narrow(out, given), narrow(last, given), activated


def gru_sequence_backward(
    grad_out: Any,
    grad_new_hidden: Any,
    gates: Any,
    weight: Any,
    bias: Any,
    hidden: Any,
    states: Any,
    activated: Any,
    batch_sizes: tuple[int, ...],
    reverse: bool,
) -> tuple[Any, ...]:
    given = gates.dtype
    grad_out, weight, hidden, states = map(half_to_float32, (grad_out, weight, hidden, states))
    dtype, rows, size = activated.dtype, len(activated), hidden.shape[1]
    steps = _row_ranges(batch_sizes, reverse)
    before = _before(hidden, states, steps)
    parts = activated.reshape(rows, 4, size)
    # Both begin as factors of the arriving gradient, which is multiplied in step by step.
    of_products, of_own = np.empty((rows, 3, size), dtype), np.empty((rows, size), dtype)

    def factors(first: int, end: int) -> None:
        for start in range(first, end, 64):
            here = slice(start, min(start + 64, end))
            gate, factor, own = parts[here], of_products[here], of_own[here]
            r, n, weighted = gate[:, 0], gate[:, 2], gate[:, 3]
            _subtract(1, gate[:, :2], factor[:, :2])
            _multiply(n, n, own)
            _subtract(1, own, own)
            _multiply(own, factor[:, 1], own)
            _multiply(own, r, factor[:, 2])
            _multiply(factor[:, :2], gate[:, :2], factor[:, :2])
            _multiply(factor[:, 0], weighted, factor[:, 0])
            _multiply(factor[:, 0], own, factor[:, 0])
            _multiply(factor[:, 1], before[here] - n, factor[:, 1])

    spread(factors, rows, cost=8 * of_products.size)
    of_hidden = _arriving(grad_new_hidden, hidden.shape, dtype)
    flat = of_products.reshape(rows, 3 * size)
    spare = np.empty(hidden.shape, dtype)

    def run() -> None:
        for start, end in reversed(steps):
            many = end - start
            grad, now, added = of_hidden[:many], of_products[start:end], spare[:many]
            if grad_out is not None:
                _add(grad, grad_out[start:end], grad)
            _multiply(now, grad[:, None], now)
            _multiply(of_own[start:end], grad, of_own[start:end])
            _dot(flat[start:end], weight, added)
            _multiply(grad, parts[start:end, 1], grad)
            _add(grad, added, grad)

    with one_thread():
        thread.run(run)
    of_gates = of_products.copy()
    of_gates[:, 2] = of_own
    of_weight, of_bias = _product(flat, before), np.add.reduce(flat, axis=0)
    return tuple(narrow(array, given) for array in (of_gates.reshape(rows, 3 * size), of_weight, of_bias, of_hidden))


# ---------------------------------------------------------------------------------------------------------------- RNN


def rnn_sequence(
    gates: Any, weight: Any, hidden: Any, batch_sizes: tuple[int, ...], reverse: bool, relu: bool
) -> tuple[Any, Any]:
    given = gates.dtype
    gates, weight, hidden = map(half_to_float32, (gates, weight, hidden))
    inner = np.ascontiguousarray(weight.T)
    out, last = np.empty(gates.shape, gates.dtype), hidden.copy()
    whole = batch_sizes[0] == batch_sizes[-1]

    def run() -> None:
        state = last
        for start, end in _row_ranges(batch_sizes, reverse):
            now = out[start:end]
            _dot(state[: end - start], inner, now)
            _add(now, gates[start:end], now)
            if relu:
                np.maximum(now, 0, out=now)
            else:
                _tanh(now, now)
            if whole:
                state = now
            else:
                last[: end - start] = now
        if whole:
            last[:] = state

    with one_thread():
        thread.run(run)
    return narrow(out, given), narrow(last, given)


def rnn_sequence_backward(
    grad_out: Any,
    grad_new_hidden: Any,
    gates: Any,
    weight: Any,
    hidden: Any,
    states: Any,
    batch_sizes: tuple[int, ...],
    reverse: bool,
    relu: bool,
) -> tuple[Any, ...]:
    given = gates.dtype
    grad_out, weight, hidden, states = map(half_to_float32, (grad_out, weight, hidden, states))
    dtype, steps = states.dtype, _row_ranges(batch_sizes, reverse)
    if relu:
        of_gates = (states > 0).astype(dtype)
    else:
        of_gates = 1 - states * states
    of_hidden = _arriving(grad_new_hidden, hidden.shape, dtype)

    def run() -> None:
        for start, end in reversed(steps):
            grad, now = of_hidden[: end - start], of_gates[start:end]
            if grad_out is not None:
                _add(grad, grad_out[start:end], grad)
            _multiply(now, grad, now)
            _dot(now, weight, grad)

    with one_thread():
        thread.run(run)
    of_weight = _product(of_gates, _before(hidden, states, steps))
    return tuple(narrow(array, given) for array in (of_gates, of_weight, of_hidden))


KERNELS = {
    "lstm_sequence": Kernel(lstm_sequence),
    "lstm_sequence_backward": Kernel(lstm_sequence_backward),
    "gru_sequence": Kernel(gru_sequence),
    "gru_sequence_backward": Kernel(gru_sequence_backward),
    "rnn_sequence": Kernel(rnn_sequence),
    "rnn_sequence_backward": Kernel(rnn_sequence_backward),
}
