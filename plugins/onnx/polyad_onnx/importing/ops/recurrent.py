"""RNN, GRU and LSTM.

What PyTorch's layers compute goes to polyad's own recurrent ops, with the gates in their order. Everything else that
ONNX has (other activations, peepholes, clipping, sequences of several lengths) is a loop over the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor

from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []

DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
Activation = Callable[[Tensor], Tensor]


def _activation(node: Node, name: str, alpha: float | None, beta: float | None) -> Activation:
    def a(default: float) -> float:
        return default if alpha is None else alpha

    def b(default: float) -> float:
        return default if beta is None else beta

    table: dict[str, Activation] = {
        "relu": F.relu,
        "tanh": polyad.tanh,
        "sigmoid": polyad.sigmoid,
        "softsign": F.softsign,
        "softplus": F.softplus,
        "affine": lambda x: a(1.0) * x + b(0.0),
        "leakyrelu": lambda x: F.leaky_relu(x, a(0.01)),
        "thresholdedrelu": lambda x: F.threshold(x, a(1.0), 0.0),
        "scaledtanh": lambda x: a(1.0) * polyad.tanh(b(1.0) * x),
        "hardsigmoid": lambda x: (a(0.2) * x + b(0.5)).clamp(0, 1),
        "elu": lambda x: F.elu(x, a(1.0)),
    }
    if name.lower() not in table:
        raise node.refused(f"activation {name} is unknown", "use " + ", ".join(sorted(table)))
    return table[name.lower()]


class Recurrence:
    """What the three operators share: attributes, directions, the loop over steps."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.kind = node.proto.op_type
        self.hidden = node.integer("hidden_size", REQUIRED)
        self.direction = node.choice("direction", "forward", "forward", "reverse", "bidirectional")
        self.directions = 2 if self.direction == "bidirectional" else 1
        self.batch_first = bool(node.integer("layout", 0))
        self.clip = node.number("clip", None)
        self.before_reset = bool(node.integer("linear_before_reset", 0))
        self.coupled = bool(node.integer("input_forget", 0))
        default = DEFAULTS[self.kind] * self.directions
        names = node.texts("activations", None) or default
        alphas, betas = iter(node.numbers("activation_alpha", [])), iter(node.numbers("activation_beta", []))
        with_alpha = {"affine", "leakyrelu", "thresholdedrelu", "scaledtanh", "hardsigmoid", "elu"}
        with_beta = {"affine", "scaledtanh", "hardsigmoid"}
        made = []
        for name in names:
            alpha = next(alphas, None) if name.lower() in with_alpha else None
            beta = next(betas, None) if name.lower() in with_beta else None
            made.append(_activation(node, name, alpha, beta))
        count = len(DEFAULTS[self.kind])
        if len(made) != count * self.directions:
            raise node.wrong(f"attribute activations has {len(made)} names, not {count} for each direction")
        self.activations = [made[index * count : (index + 1) * count] for index in range(self.directions)]
        usual = [name.lower() for name in names] == [name.lower() for name in default]
        self.fused = usual and self.clip is None and not self.coupled and (self.kind != "GRU" or self.before_reset)

    def __call__(
        self,
        x: Tensor,
        weight: Tensor,
        recurrent: Tensor,
        bias: Tensor | None = None,
        lengths: Any = None,
        hidden: Tensor | None = None,
        cell: Tensor | None = None,
        peephole: Tensor | None = None,
    ) -> Any:
        """All outputs that the node names."""
        if self.batch_first:
            x = x.transpose(0, 1)
            hidden = None if hidden is None else hidden.transpose(0, 1)
            cell = None if cell is None else cell.transpose(0, 1)
        steps, batch = x.shape[:2]
        if hidden is None:
            hidden = polyad.zeros(self.directions, batch, self.hidden, dtype=x.dtype, device=x.device)
        if cell is None:
            cell = hidden if self.kind != "LSTM" else polyad.zeros_like(hidden)
        if lengths is not None and all(length == steps for length in lengths):
            lengths = None
        if self.fused and lengths is None and peephole is None and self.direction != "reverse" and steps:
            y, h, c = self.at_once(x, weight, recurrent, bias, hidden, cell)
        else:
            y, h, c = self.by_steps(x, weight, recurrent, bias, lengths, hidden, cell, peephole)
        if self.batch_first:
            y, h, c = y.permute(2, 0, 1, 3), h.transpose(0, 1), c.transpose(0, 1)
        outputs = (y, h, c)[: self.node.outputs]
        return outputs[0] if self.node.outputs == 1 else outputs

    def at_once(
        self, x: Tensor, weight: Tensor, recurrent: Tensor, bias: Tensor | None, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        """By the op that PyTorch's layers use."""
        params = []
        for index in range(self.directions):
            params += [self.reordered(weight[index]), self.reordered(recurrent[index])]
            if bias is not None:
                half = GATES[self.kind] * self.hidden
                params += [self.reordered(bias[index][:half]), self.reordered(bias[index][half:])]
        both = self.directions == 2
        rest = (params, bias is not None, 1, 0.0, False, both, False)
        if self.kind == "LSTM":
            y, h, c = polyad.lstm(x, (hidden, cell), *rest)
        else:
            y, h = (polyad.gru if self.kind == "GRU" else polyad.rnn_tanh)(x, hidden, *rest)
            c = h
        y = y.reshape(*y.shape[:2], self.directions, self.hidden).transpose(1, 2)
        return y, h, c

    def reordered(self, each: Tensor) -> Tensor:
        """The gates in PyTorch's order: input, forget, cell, output; reset, update, new."""
        if self.kind == "RNN":
            return each
        parts = each.split(self.hidden)
        order = (0, 2, 3, 1) if self.kind == "LSTM" else (1, 0, 2)
        return polyad.cat([parts[index] for index in order])

    def by_steps(
        self, x: Tensor, weight: Tensor, recurrent: Tensor, bias: Tensor | None, lengths: Any, hidden: Tensor, cell:
        Tensor, peephole: Tensor | None,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """Step by step, direction by direction."""
        steps, batch = x.shape[:2]
        size = None if lengths is None else polyad.tensor(lengths, device=x.device)[:, None]
        ys, hs, cs = [], [], []
        for index in range(self.directions):
            backwards = self.direction == "reverse" or index == 1
            step = self.cell(index, weight, recurrent, bias, peephole)
            h, c = hidden[index], cell[index]
            made = [polyad.zeros_like(h)] * steps
            for time in range(steps - 1, -1, -1) if backwards else range(steps):
                new_h, new_c = step(x[time], h, c)
                if size is not None:
                    live = size > time
                    made[time] = polyad.where(live, new_h, 0.0)
                    new_h, new_c = polyad.where(live, new_h, h), polyad.where(live, new_c, c)
                else:
                    made[time] = new_h
                h, c = new_h, new_c
            empty = polyad.zeros(0, batch, self.hidden, dtype=x.dtype, device=x.device)
            ys.append(polyad.stack(made) if made else empty)
            hs.append(h)
            cs.append(c)
        return polyad.stack(ys, 1), polyad.stack(hs), polyad.stack(cs)

    def cell(self, index: int, weight: Tensor, recurrent: Tensor, bias: Tensor | None, peephole: Tensor | None) -> Any:
        """What computes one step of one direction."""
        w, r = weight[index].t(), recurrent[index].t()
        half = GATES[self.kind] * self.hidden
        wb, rb = (0, 0) if bias is None else (bias[index][:half], bias[index][half:])
        functions = [self.clipped(each) for each in self.activations[index]]
        if self.kind == "RNN":
            return lambda x, h, c: (functions[0](x @ w + wb + h @ r + rb),) * 2
        if self.kind == "GRU":
            return lambda x, h, c: self.gru_step(x @ w + wb, h, r, rb, functions)
        p = None if peephole is None else peephole[index].split(self.hidden)
        return lambda x, h, c: self.lstm_step(x @ w + wb + h @ r + rb, c, p, functions)

    def clipped(self, function: Activation) -> Activation:
        """An activation whose input is brought into the range that the node says."""
        bound = self.clip
        return function if bound is None else lambda x: function(x.clamp(-bound, bound))

    def gru_step(
        self, gates: Tensor, h: Tensor, r: Tensor, rb: Any, functions: list[Activation]
    ) -> tuple[Tensor, Tensor]:
        f, g = functions
        n = self.hidden
        of_update, of_reset, of_new = gates.split(n, -1)
        bias = rb if isinstance(rb, Tensor) else polyad.zeros(3 * n, dtype=h.dtype, device=h.device)
        update = f(of_update + h @ r[:, :n] + bias[:n])
        reset = f(of_reset + h @ r[:, n : 2 * n] + bias[n : 2 * n])
        if self.before_reset:
            new = g(of_new + reset * (h @ r[:, 2 * n :] + bias[2 * n :]))
        else:
            new = g(of_new + (reset * h) @ r[:, 2 * n :] + bias[2 * n :])
        made = (1 - update) * new + update * h
        return made, made

    def lstm_step(self, gates: Tensor, c: Tensor, p: Any, functions: list[Activation]) -> tuple[Tensor, Tensor]:
        f, g, h = functions
        of_input, of_output, of_forget, of_cell = gates.split(self.hidden, -1)
        if p is not None:
            of_input, of_forget = of_input + p[0] * c, of_forget + p[2] * c
        taken = f(of_input)
        remembered = 1 - taken if self.coupled else f(of_forget)
        new = remembered * c + taken * g(of_cell)
        if p is not None:
            of_output = of_output + p[1] * new
        return f(of_output) * h(new), new


@operator("RNN", "GRU", "LSTM", host=(4,))
def recurrence(node: Node) -> Compute:
    return Recurrence(node)
