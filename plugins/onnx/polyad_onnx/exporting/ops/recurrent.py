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
from .views import reshape


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

    def __init__(
        self, to: Any, gates: Any, order: tuple[int, ...], hidden: Any, steps: Any, states_bias: Any = None
    ) -> None:
        self.to, self.order = to, order
        time = steps.times if isinstance(steps, Repeat) else len(steps)
        batch, features = to.sizes_of(hidden)
        self.width = len(order) * features
        source = linear_behind(to, gates)
        if source is None:
            rows, size, bias = to.value(gates), self.width, None
            self.weight = self._arranged(to.constant(torch.eye(self.width, dtype=to.result.dtype), None))
        else:
            rows, size, bias = to.value(source[0]), to.sizes_of(source[1])[1], source[2]
            self.weight = self.arranged(source[1])
        self.sequence = reshape(to, rows, (time, batch, size))
        self.bias = None
        if bias is not None or states_bias is not None:
            self.bias = to.op("Concat", self._bias(bias), self._bias(states_bias), axis=1)

    def arranged(self, weight: Any) -> Any:
        """A weight of the graph with its gates in ONNX's order, and a dimension for the direction."""
        found = self.to.rearranged(weight, "", self._ordered)
        return self._arranged(self.to.value(weight)) if found is None else found

    def _bias(self, bias: Any) -> Any:
        if bias is None:
            return self.to.constant(torch.zeros(1, self.width, dtype=self.to.result.dtype), None)
        return self.arranged(bias)

    def _ordered(self, tensor: Any) -> Any:
        parts = tensor.chunk(len(self.order))
        return torch.cat([parts[at] for at in self.order]).unsqueeze(0)

    def _arranged(self, weight: Any) -> Any:
        to, step = self.to, self.width // len(self.order)
        if self.order != (0,):
            ends = [(to.ints(at * step), to.ints((at + 1) * step)) for at in self.order]
            parts = [to.op("Slice", weight, start, end, to.ints(0)) for start, end in ends]
            weight = to.op("Concat", *parts, axis=0)
        return to.op("Unsqueeze", weight, to.ints(0))

    def first(self, state: Any) -> Any:
        """A state with a dimension for the direction."""
        return self.to.op("Unsqueeze", state, self.to.ints(0))


def _rows_of_steps(to: Any, steps: Any) -> Any:
    """The states of all steps, one row for each step and sequence."""
    return reshape(to, steps, to.result.sizes)


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
    gates_ref, weight_ref, _, hidden_ref = to.node.args[:4]
    given = Inputs(to, gates_ref, (0, 3, 1, 2), hidden_ref, batch_sizes)
    states, last, last_cell = to.op(
        "LSTM", given.sequence, given.weight, given.arranged(weight_ref), given.bias, None, given.first(hidden),
        given.first(cell), count=3, hidden_size=to.sizes_of(hidden_ref)[1],
        direction="reverse" if reverse else "forward",
    )  # fmt: skip
    return _rows_of_steps(to, states), _last(to, last), _last(to, last_cell), None, None


@translates(
    "gru_sequence",
    when=lambda gates, weight, bias, hidden, batch_sizes, reverse: _is_one_batch(batch_sizes),
)  # fmt: skip
def gru(to: Any, gates: Any, weight: Any, bias: Any, hidden: Any, batch_sizes: Any, reverse: bool) -> tuple[Any, ...]:
    """The states after each step, and the last."""
    gates_ref, weight_ref, bias_ref, hidden_ref = to.node.args[:4]
    given = Inputs(to, gates_ref, (1, 0, 2), hidden_ref, batch_sizes, bias_ref)
    states, last = to.op(
        "GRU", given.sequence, given.weight, given.arranged(weight_ref), given.bias, None, given.first(hidden), count=2,
        hidden_size=to.sizes_of(hidden_ref)[1], direction="reverse" if reverse else "forward", linear_before_reset=1,
    )  # fmt: skip
    return _rows_of_steps(to, states), _last(to, last), None


@translates(
    "rnn_sequence",
    when=lambda gates, weight, hidden, batch_sizes, reverse, relu: _is_one_batch(batch_sizes),
)  # fmt: skip
def rnn(to: Any, gates: Any, weight: Any, hidden: Any, batch_sizes: Any, reverse: bool, relu: bool) -> tuple[Any, ...]:
    """The states after each step, and the last."""
    gates_ref, weight_ref, hidden_ref = to.node.args[:3]
    given = Inputs(to, gates_ref, (0,), hidden_ref, batch_sizes)
    states, last = to.op(
        "RNN", given.sequence, given.weight, given.arranged(weight_ref), given.bias, None, given.first(hidden), count=2,
        hidden_size=to.sizes_of(hidden_ref)[1], direction="reverse" if reverse else "forward",
        activations=["Relu" if relu else "Tanh"],
    )  # fmt: skip
    return _rows_of_steps(to, states), _last(to, last)
