"""The steps of a recurrent layer in one direction, as one op a mode; the layer's product with its inputs comes before.

Sequences are packed: the rows of *gates* are those of the first step, then those of the second, and ``batch_sizes``
says how many sequences a step has. Longer sequences come first, so a step is of the first sequences. States have a row
for each sequence; where a sequence has no step, its row stays as it is. This holds in both directions: with *reverse*
the steps are taken from the last to the first, and a sequence's row waits until its last step is reached.

Beside the hidden states, the ops return what their backward ops compute from. Where a backward op may itself be
differentiated, it computes that again, since it depends on the operands. Half types are computed in float32.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.shapes_and_strides import Shape
from ....dispatch.forward import by_body
from ....dispatch.modes import may_be_differentiated
from ....dispatch.op import composite, joint_gradient
from ....dispatch.promotion import Typing
from ....dispatch.structure import opaque, row_major
from ....tensor import Tensor
from ...declaring.half_types import half_to_float32
from ...products.mm import mm
from ...shaping.joining import cat
from .cells import (
    _gru_gates,
    _gru_gates_backward,
    _lstm_gates,
    _lstm_gates_backward,
    gru_step,
    lstm_step,
    results,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....backend.interface import Signature

Sizes = tuple[int, ...]


def steps_of(batch_sizes: Sizes, reverse: bool) -> list[tuple[int, int]]:
    """The first row and the number of rows of each step, in the order in which the steps are taken."""
    steps, start = [], 0
    for count in batch_sizes:
        steps.append((start, count))
        start += count
    return steps[::-1] if reverse else steps


def _narrowed(state: Tensor, count: int) -> Tensor:
    return state if state._array.shape[0] == count else state.narrow(0, 0, count)


def _renewed(state: Tensor, rows: Tensor) -> Tensor:
    """*state* with *rows* in the place of its first rows."""
    count, whole = rows._array.shape[0], state._array.shape[0]
    return rows if count == whole else cat([rows, state.narrow(0, count, whole - count)])


def _joined(parts: list[Tensor], reverse: bool) -> Tensor:
    """What the steps gave, in the order of the rows."""
    return cat(parts[::-1] if reverse else parts)


def _before(state: Tensor, after: Tensor, steps: list[tuple[int, int]]) -> list[Tensor]:
    """The rows of a state that each step begins with; *after* are those it ends with, of all steps."""
    parts = []
    for start, count in steps:
        parts.append(_narrowed(state, count))
        state = _renewed(state, after.narrow(0, start, count))
    return parts


def _arriving(grad: Tensor | None, like: Tensor) -> Tensor:
    return like.new_zeros(like._array.shape) if grad is None else half_to_float32(grad)


def _gradients(place: int, count: int) -> Any:
    """A dtype rule: *count* gradients in the dtype of the operand at *place*."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        return Typing((None,) * len(types), (types[place].dtype,) * count)

    return rule


# --------------------------------------------------------------------------------------------------------------- LSTM


def _lstm_shapes(gates: Shape, weight: Shape, projection: Shape | None, hidden: Shape, cell: Shape, *rest: Any) -> Any:
    rows = gates[0]
    return (rows, hidden[1]), hidden, cell, gates, (rows, cell[1])


@composite(
    dtype=results(3, 2),
    structure=opaque,
    strides=row_major,
    shape=_lstm_shapes,
    outputs=("out", "new_hidden", "new_cell", "activated", "cells"),
    method=False,
    grad_name="LstmBackward0",
)
def _lstm_sequence(
    gates: Tensor,
    weight: Tensor,
    projection: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The hidden states after each step, the last hidden state and cell, and of each step the gates and the cell.

    gates (rows, 4 H) is the product with the inputs, weight (4 H, P) and projection (P, H) are weight_hh and weight_hr,
    hidden (N, P), cell (N, H).
    """
    out, new, new_cell, activated, cells = _lstm_run(
        _lstm_gates, gates, weight, projection, hidden, cell, batch_sizes, reverse
    )
    dtype = gates.dtype
    return out.to(dtype), new.to(dtype), new_cell.to(dtype), activated, cells


def _lstm_run(
    step: Any,
    gates: Tensor,
    weight: Tensor,
    projection: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    gates, hidden, cell = map(half_to_float32, (gates, hidden, cell))
    inner = half_to_float32(weight).t()
    outer = None if projection is None else half_to_float32(projection).t()
    outs, activated, cells = [], [], []
    for start, count in steps_of(batch_sizes, reverse):
        product = mm(_narrowed(hidden, count), inner)
        now, now_cell, *now_gates = step(gates.narrow(0, start, count), product, _narrowed(cell, count))
        if outer is not None:
            now = mm(now, outer)
        outs.append(now)
        activated.append(cat(now_gates, 1))
        cells.append(now_cell)
        hidden, cell = _renewed(hidden, now), _renewed(cell, now_cell)
    return _joined(outs, reverse), hidden, cell, _joined(activated, reverse), _joined(cells, reverse)


def _lstm_gradient_shapes(
    out: Any, new_hidden: Any, new_cell: Any, gates: Shape, weight: Shape, projection: Shape | None, hidden: Shape,
    cell: Shape, *rest: Any,
) -> Any:  # fmt: skip
    return gates, weight, projection or (0, 0), hidden, cell


@composite(
    dtype=_gradients(3, 5),
    structure=opaque,
    strides=row_major,
    shape=_lstm_gradient_shapes,
    outputs=("grad_gates", "grad_weight", "grad_projection", "grad_hidden", "grad_cell"),
    method=False,
)
def _lstm_sequence_backward(
    grad_out: Tensor | None,
    grad_new_hidden: Tensor | None,
    grad_new_cell: Tensor | None,
    gates: Tensor,
    weight: Tensor,
    projection: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    states: Tensor,
    activated: Tensor,
    cells: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The gradients of `lstm_sequence`; that of an absent projection has no elements."""
    dtype = gates.dtype
    hidden, cell, weight, states = map(half_to_float32, (hidden, cell, weight, states))
    if may_be_differentiated():
        states, _, _, activated, cells = _lstm_run(
            lstm_step, gates, weight, projection, hidden, cell, batch_sizes, reverse
        )
    outer = None if projection is None else half_to_float32(projection)
    of_hidden, of_cell = _arriving(grad_new_hidden, hidden), _arriving(grad_new_cell, cell)
    arriving = _arriving(grad_out, states)
    steps = steps_of(batch_sizes, reverse)
    before, before_cells = _before(hidden, states, steps), _before(cell, cells, steps)
    parts, projected = [], []
    for place in reversed(range(len(steps))):
        start, count = steps[place]
        grad = _narrowed(of_hidden, count) + arriving.narrow(0, start, count)
        if outer is not None:
            projected.append(grad)
            grad = mm(grad, outer)
        now = cells.narrow(0, start, count)
        *each, before_cell = _lstm_gates_backward(
            grad,
            _narrowed(of_cell, count),
            before_cells[place],
            now,
            *activated.narrow(0, start, count).chunk(4, 1),
        )
        of_gates = cat(each, 1)
        parts.append(of_gates)
        of_hidden, of_cell = _renewed(of_hidden, mm(of_gates, weight)), _renewed(of_cell, before_cell)
    whole = _joined(parts, not reverse)
    of_weight = mm(whole.t(), _joined(before, reverse))
    if outer is None:
        of_projection = gates.new_empty((0, 0))
    else:
        inner = activated.narrow(1, 3 * cell._array.shape[1], cell._array.shape[1]) * cells.tanh()
        of_projection = mm(_joined(projected, not reverse).t(), inner).to(dtype)
    return whole.to(dtype), of_weight.to(dtype), of_projection, of_hidden.to(dtype), of_cell.to(dtype)


def _of_lstm(
    grads: list[Any],
    gates: Tensor,
    weight: Tensor,
    projection: Tensor | None,
    hidden: Tensor,
    cell: Tensor,
    out: Tensor,
    activated: Tensor,
    cells: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
) -> tuple[Tensor | None, ...]:
    of_out, of_new, of_cell, *_ = grads
    first, second, third, fourth, fifth = _lstm_sequence_backward(
        of_out, of_new, of_cell, gates, weight, projection, hidden, cell, out.detach(), activated.detach(),
        cells.detach(), batch_sizes, reverse,
    )  # fmt: skip
    return first, second, None if projection is None else third, fourth, fifth


joint_gradient(_lstm_sequence, "gates", "cell", _of_lstm)
by_body(_lstm_sequence)


# ---------------------------------------------------------------------------------------------------------------- GRU


def _gru_shapes(gates: Shape, weight: Shape, bias: Shape | None, hidden: Shape, *rest: Any) -> Any:
    return (gates[0], hidden[1]), hidden, (gates[0], 4 * hidden[1])


@composite(
    dtype=results(2, 1),
    structure=opaque,
    strides=row_major,
    shape=_gru_shapes,
    outputs=("out", "new_hidden", "activated"),
    method=False,
    grad_name="GruBackward0",
)
def _gru_sequence(
    gates: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, batch_sizes: Sizes, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """The hidden states after each step, the last hidden state, and of each step the gates (rows, 4 H).

    gates (rows, 3 H) is the product with the inputs, weight (3 H, H) and bias (3 H,) are weight_hh and bias_hh, hidden
    (N, H).
    """
    out, new, activated = _gru_run(_gru_gates, gates, weight, bias, hidden, batch_sizes, reverse)
    return out.to(gates.dtype), new.to(gates.dtype), activated


def _gru_run(
    step: Any, gates: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, batch_sizes: Sizes, reverse: bool
) -> tuple[Tensor, Tensor, Tensor]:
    gates, hidden, inner = half_to_float32(gates), half_to_float32(hidden), half_to_float32(weight).t()
    outs, activated = [], []
    for start, count in steps_of(batch_sizes, reverse):
        state = _narrowed(hidden, count)
        product = mm(state, inner)
        if bias is not None:
            product = product + half_to_float32(bias)
        now, *now_gates = step(gates.narrow(0, start, count), product, state)
        outs.append(now)
        activated.append(cat([*now_gates, product.chunk(3, 1)[2]], 1))
        hidden = _renewed(hidden, now)
    return _joined(outs, reverse), hidden, _joined(activated, reverse)


def _gru_gradient_shapes(
    out: Any, new: Any, gates: Shape, weight: Shape, bias: Shape | None, hidden: Shape, *rest: Any
) -> Any:
    return gates, weight, weight[:1], hidden


@composite(
    dtype=_gradients(2, 4),
    structure=opaque,
    strides=row_major,
    shape=_gru_gradient_shapes,
    outputs=("grad_gates", "grad_weight", "grad_bias", "grad_hidden"),
    method=False,
)
def _gru_sequence_backward(
    grad_out: Tensor | None,
    grad_new_hidden: Tensor | None,
    gates: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    hidden: Tensor,
    states: Tensor,
    activated: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """The gradients of `gru_sequence`, of the bias also where it is absent."""
    dtype = gates.dtype
    hidden, weight, states = half_to_float32(hidden), half_to_float32(weight), half_to_float32(states)
    if may_be_differentiated():
        states, _, activated = _gru_run(gru_step, gates, weight, bias, hidden, batch_sizes, reverse)
    of_hidden, arriving = _arriving(grad_new_hidden, hidden), _arriving(grad_out, states)
    steps = steps_of(batch_sizes, reverse)
    before = _before(hidden, states, steps)
    parts, products = [], []
    for place in reversed(range(len(steps))):
        start, count = steps[place]
        grad = _narrowed(of_hidden, count) + arriving.narrow(0, start, count)
        r, z, n, weighted = activated.narrow(0, start, count).chunk(4, 1)
        of_r, of_z, of_n, of_weighted, past = _gru_gates_backward(grad, before[place], weighted, r, z, n)
        of_product = cat([of_r, of_z, of_weighted], 1)
        parts.append(cat([of_r, of_z, of_n], 1))
        products.append(of_product)
        of_hidden = _renewed(of_hidden, past + mm(of_product, weight))
    of_products = _joined(products, not reverse)
    of_weight = mm(of_products.t(), _joined(before, reverse))
    return (
        _joined(parts, not reverse).to(dtype),
        of_weight.to(dtype),
        of_products.sum(0).to(dtype),
        of_hidden.to(dtype),
    )


def _of_gru(
    grads: list[Any],
    gates: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    hidden: Tensor,
    out: Tensor,
    activated: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
) -> tuple[Tensor | None, ...]:
    of_out, of_new, *_ = grads
    first, second, third, fourth = _gru_sequence_backward(
        of_out, of_new, gates, weight, bias, hidden, out.detach(), activated.detach(), batch_sizes, reverse
    )
    return first, second, None if bias is None else third, fourth


joint_gradient(_gru_sequence, "gates", "hidden", _of_gru)
by_body(_gru_sequence)


# ---------------------------------------------------------------------------------------------------------------- RNN


def _rnn_shapes(gates: Shape, weight: Shape, hidden: Shape, *rest: Any) -> Any:
    return gates, hidden


@composite(
    dtype=results(2, 0),
    structure=opaque,
    strides=row_major,
    shape=_rnn_shapes,
    outputs=("out", "new_hidden"),
    method=False,
    grad_name="RnnBackward0",
)
def _rnn_sequence(
    gates: Tensor, weight: Tensor, hidden: Tensor, batch_sizes: Sizes, reverse: bool, relu: bool
) -> tuple[Tensor, Tensor]:
    """The hidden states after each step, and the last; gates (rows, H) is the product with the inputs, weight (H, H) is
    weight_hh, hidden (N, H). The nonlinearity is tanh, or relu.
    """
    out, new = _rnn_run(gates, weight, hidden, batch_sizes, reverse, relu)
    return out.to(gates.dtype), new.to(gates.dtype)


def _rnn_run(
    gates: Tensor, weight: Tensor, hidden: Tensor, batch_sizes: Sizes, reverse: bool, relu: bool
) -> tuple[Tensor, Tensor]:
    gates, hidden, inner = half_to_float32(gates), half_to_float32(hidden), half_to_float32(weight).t()
    outs = []
    for start, count in steps_of(batch_sizes, reverse):
        now = gates.narrow(0, start, count) + mm(_narrowed(hidden, count), inner)
        now = now.relu() if relu else now.tanh()
        outs.append(now)
        hidden = _renewed(hidden, now)
    return _joined(outs, reverse), hidden


def _rnn_gradient_shapes(out: Any, new: Any, gates: Shape, weight: Shape, hidden: Shape, *rest: Any) -> Any:
    return gates, weight, hidden


@composite(
    dtype=_gradients(2, 3),
    structure=opaque,
    strides=row_major,
    shape=_rnn_gradient_shapes,
    outputs=("grad_gates", "grad_weight", "grad_hidden"),
    method=False,
)
def _rnn_sequence_backward(
    grad_out: Tensor | None,
    grad_new_hidden: Tensor | None,
    gates: Tensor,
    weight: Tensor,
    hidden: Tensor,
    states: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
    relu: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `rnn_sequence`."""
    dtype = gates.dtype
    hidden, weight, states = half_to_float32(hidden), half_to_float32(weight), half_to_float32(states)
    if may_be_differentiated():
        states, _ = _rnn_run(gates, weight, hidden, batch_sizes, reverse, relu)
    slope = (states > 0).to(states.dtype) if relu else 1 - states * states
    of_hidden, arriving = _arriving(grad_new_hidden, hidden), _arriving(grad_out, states)
    steps = steps_of(batch_sizes, reverse)
    parts = []
    for start, count in reversed(steps):
        grad = (_narrowed(of_hidden, count) + arriving.narrow(0, start, count)) * slope.narrow(0, start, count)
        parts.append(grad)
        of_hidden = _renewed(of_hidden, mm(grad, weight))
    whole = _joined(parts, not reverse)
    of_weight = mm(whole.t(), _joined(_before(hidden, states, steps), reverse))
    return whole.to(dtype), of_weight.to(dtype), of_hidden.to(dtype)


def _of_rnn(
    grads: list[Any],
    gates: Tensor,
    weight: Tensor,
    hidden: Tensor,
    out: Tensor,
    batch_sizes: Sizes,
    reverse: bool,
    relu: bool,
) -> tuple[Tensor, ...]:
    of_out, of_new, *_ = grads
    return _rnn_sequence_backward(of_out, of_new, gates, weight, hidden, out.detach(), batch_sizes, reverse, relu)


joint_gradient(_rnn_sequence, "gates", "hidden", _of_rnn)
by_body(_rnn_sequence)
