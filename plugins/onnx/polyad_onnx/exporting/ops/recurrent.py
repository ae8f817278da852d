"""Recurrent layers as one operator each.

The ops are given the products with the inputs; ONNX's operators make these themselves. So the linear op that made the
products is looked up, and its weight and bias become the operator's; if another op did, the products are the input, and
the unit matrix is its weight. PyTorch's order of the gates is another than ONNX's: i, f, g, o is i, o, f, g there, and
r, z, n is z, r, n.
"""

from __future__ import annotations

from typing import Any

import polyad as torch
from polyad.graph.expressions import Repeat

from ..registry import translates
from .products import linear_behind


def _is_one_batch(batch_sizes: Any) -> bool:
    """Whether all steps have as many sequences: of a packed batch of several lengths they have not."""
    return isinstance(batch_sizes, Repeat) or len(set(batch_sizes)) == 1


class Inputs:
    """What an operator is given, of the gates (rows, count H).

    Attributes:
        sequence: (time, batch, features).
        weight: (1, count H, features).
        bias: (1, 2 count H), that of the inputs and that of the states; None if there is none.
    """

    def __init__(self, to: Any, gates: Any, order: tuple[int, ...], hidden: Any, states_bias: Any = None) -> None:
        self.to, self.order = to, order
        batch, features = to.sizes_of(hidden)
        self.width = len(order) * features
        weight, bias = None, None
        source = linear_behind(to, gates)
        if source is None:
            rows, weight = to.known[gates.number], to.constant(torch.eye(self.width, dtype=to.result.dtype), None)
            size: Any = self.width
        else:
            rows, weight = to.known[source[0].number], to.known[source[1].number]
            bias = None if source[2] is None else to.known[source[2].number]
            size = to.sizes_of(source[1])[1]
        self.sequence = to.op("Reshape", rows, to.sizes([-1, batch, size]))
        self.weight = self.arranged(weight)
        self.bias = None
        if bias is not None or states_bias is not None:
            zeros = to.constant(torch.zeros(self.width, dtype=to.result.dtype), None)
            parts = [self._ordered(zeros if one is None else one) for one in (bias, states_bias)]
            self.bias = to.op("Unsqueeze", to.op("Concat", *parts, axis=0), to.ints(0))

    def arranged(self, weight: Any) -> Any:
        """A weight with its gates in ONNX's order, and a dimension for the direction."""
        return self.to.op("Unsqueeze", self._ordered(weight), self.to.ints(0))

    def _ordered(self, weight: Any) -> Any:
        to, step = self.to, self.width // len(self.order)
        if self.order == (0,):
            return weight
        parts = [to.op("Slice", weight, to.ints(at * step), to.ints((at + 1) * step), to.ints(0)) for at in self.order]
        return to.op("Concat", *parts, axis=0)

    def first(self, state: Any) -> Any:
        """A state with a dimension for the direction."""
        return self.to.op("Unsqueeze", state, self.to.ints(0))


def _rows(to: Any, steps: Any, hidden: Any) -> Any:
    """The states of all steps, one row for each step and sequence."""
    return to.op("Reshape", steps, to.sizes([-1, to.sizes_of(hidden)[1]]))


def _last(to: Any, state: Any) -> Any:
    return to.op("Squeeze", state, to.ints(0))


@translates(
    "lstm_sequence",
    when=lambda gates, weight, projection, hidden, cell, batch_sizes, reverse: projection is None
    and _is_one_batch(batch_sizes),
)  # fmt: skip
def lstm(
    to: Any, gates: Any, weight: Any, projection: Any, hidden: Any, cell: Any, batch_sizes: Any, reverse: bool
) -> tuple[Any, ...]:
    """The states after each step, the last state and the last cell; not what only a backward pass asks for."""
    gates_ref, _, _, hidden_ref = to.node.args[:4]
    given = Inputs(to, gates_ref, (0, 3, 1, 2), hidden_ref)
    states, last, last_cell = to.op(
        "LSTM", given.sequence, given.weight, given.arranged(weight), given.bias, None, given.first(hidden),
        given.first(cell), count=3, hidden_size=to.sizes_of(hidden_ref)[1],
        direction="reverse" if reverse else "forward",
    )  # fmt: skip
    return _rows(to, states, hidden_ref), _last(to, last), _last(to, last_cell), None, None


@translates(
    "gru_sequence",
    when=lambda gates, weight, bias, hidden, batch_sizes, reverse: _is_one_batch(batch_sizes),
)  # fmt: skip
def gru(to: Any, gates: Any, weight: Any, bias: Any, hidden: Any, batch_sizes: Any, reverse: bool) -> tuple[Any, ...]:
    """The states after each step, and the last."""
    gates_ref, _, _, hidden_ref = to.node.args[:4]
    given = Inputs(to, gates_ref, (1, 0, 2), hidden_ref, bias)
    states, last = to.op(
        "GRU", given.sequence, given.weight, given.arranged(weight), given.bias, None, given.first(hidden), count=2,
        hidden_size=to.sizes_of(hidden_ref)[1], direction="reverse" if reverse else "forward", linear_before_reset=1,
    )  # fmt: skip
    return _rows(to, states, hidden_ref), _last(to, last), None


@translates(
    "rnn_sequence",
    when=lambda gates, weight, hidden, batch_sizes, reverse, relu: _is_one_batch(batch_sizes),
)  # fmt: skip
def rnn(to: Any, gates: Any, weight: Any, hidden: Any, batch_sizes: Any, reverse: bool, relu: bool) -> tuple[Any, ...]:
    """The states after each step, and the last."""
    gates_ref, _, hidden_ref = to.node.args[:3]
    given = Inputs(to, gates_ref, (0,), hidden_ref)
    states, last = to.op(
        "RNN", given.sequence, given.weight, given.arranged(weight), given.bias, None, given.first(hidden), count=2,
        hidden_size=to.sizes_of(hidden_ref)[1], direction="reverse" if reverse else "forward",
        activations=["Relu" if relu else "Tanh"],
    )  # fmt: skip
    return _rows(to, states, hidden_ref), _last(to, last)
