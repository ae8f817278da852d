"""Recurrent networks, step by step from the definitions."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float16, float32, float64, int64

from ....sample import REAL_FLOATS, ErrorCase, Sample
from .cells import elman, gru, lstm, relu

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
STEPS = {
    "gru": gru,
    "rnn_tanh": elman(np.tanh),
    "rnn_relu": elman(relu),
}


def layer(op, x, states, weights, backwards):
    """The hidden states of all steps (T, N, P), and the last states."""
    *weights, projection = weights if op == "lstm" and len(weights) % 2 else [*weights, None]
    outs = [None] * len(x)
    for step in reversed(range(len(x))) if backwards else range(len(x)):
        if op == "lstm":
            h, c = lstm(x[step], *states, *weights)
            states = [h if projection is None else h @ projection.T, c]
        else:
            states = [STEPS[op](x[step], *states, *weights)]
        outs[step] = states[0]
    return np.stack(outs), states


def network(op):
    def reference(x, hx, params, biases, layers, dropout, train, bidirectional, batch_first):
        states = hx if op == "lstm" else [hx]
        directions = 1 + bidirectional
        each = len(params) // (layers * directions)
        last = []
        x = np.swapaxes(x, 0, 1) if batch_first else x
        for number in range(layers):
            outs = []
            for direction in range(directions):
                place = number * directions + direction
                out, new = layer(
                    op, x, [state[place] for state in states], params[place * each :][:each], bool(direction)
                )
                outs.append(out)
                last.append(new)
            x = np.concatenate(outs, 2)
        result = np.swapaxes(x, 0, 1) if batch_first else x
        return (result, *(np.stack(states_of) for states_of in zip(*last, strict=True)))

    return reference


def parameters(make, op, features, size, projection, biases, layers, directions):
    rows, out = GATES[op] * size, projection or size
    made = []
    for number in range(layers):
        for _ in range(directions):
            made += [make((rows, out * directions if number else features), -1, 1), make((rows, out), -1, 1)]
            if biases:
                made += [make((rows,)), make((rows,))]
            if projection:
                made.append(make((projection, size), -1, 1))
    return made


def sample(
    op, name, *, steps=3, count=2, biases=True, layers=1, bidirectional=False, batch_first=False, projection=0,
    dtypes=REAL_FLOATS,
):  # fmt: skip
    directions = 1 + bidirectional
    many = layers * directions

    def inputs(make):
        x = make((count, steps, 3) if batch_first else (steps, count, 3))
        h, c = make((many, count, projection or 4), -1, 1), make((many, count, 4), -1, 1)
        weights = parameters(make, op, 3, 4, projection, biases, layers, directions)
        return (x, [h, c] if op == "lstm" else h, weights, biases, layers, 0.0, True, bidirectional, batch_first)

    return Sample(
        op=op,
        name=name,
        inputs=inputs,
        reference=network(op),
        dtypes=dtypes,
        result=(lambda dtype: dtype,) * (3 if op == "lstm" else 2),
        gradient=True,
        steps=24,
        length=16,
        magnitude=lambda *given: 32.0 if op == "rnn_relu" else 8.0,
        expand=False,
    )


BOTH = "two layers, both directions"

SAMPLES = [
    *(sample(op, "plain") for op in GATES),
    *(
        sample(
            op,
            "two layers, both directions",
            layers=2,
            bidirectional=True,
            batch_first=True,
            biases=False,
            dtypes=(float32, float64),
        )
        for op in GATES
    ),
    sample("lstm", "projected", projection=2, layers=2, bidirectional=True, dtypes=(float16, float64)),
    sample("lstm", "a single step", steps=1, dtypes=(float32,)),
    sample("gru", "no sequences", count=0, dtypes=(float32,)),
]


def refused(op, name, match, raises=RuntimeError, **changed):
    def call(function, tensor):
        rows = GATES[op] * 4
        given = {"input": (3, 2, 5), "h": (1, 2, 4), "c": (1, 2, 4), "w_ih": (rows, 5), "w_hh": (rows, 4)} | changed
        made = {key: tensor(*value) if isinstance(value, tuple) else value for key, value in given.items()}
        if changed.get("dtype") is not None:
            made["input"] = made["input"].to(changed["dtype"])
        hx = (made["h"], made["c"]) if op == "lstm" else made["h"]
        params = [made["w_ih"], made["w_hh"]][: changed.get("count", 2)]
        return function(
            made["input"], changed.get("hx", hx), params, False, changed.get("layers", 1), 0.0, True, False, False
        )

    return ErrorCase(op=op, name=name, call=call, raises=raises, match=match)


ERRORS = [
    *(
        case
        for op in GATES
        for case in (
            refused(op, "features", rf"{op}: w_ih \(\d+, 5\) is not \(\d+, 6\)\n.*input ", input=(3, 2, 6)),
            refused(op, "state", rf"{op}: h_0 \(1, 3, 4\) is not \(1, 2, 4\)\n", h=(1, 3, 4)),
            refused(op, "layers", rf"{op}: 2 params for 2 layers in 1 directions, not 4", layers=2),
            refused(op, "dimensions", rf"{op}: input has 2 dimensions, not 3", input=(3, 5)),
            refused(op, "no steps", rf"{op}: input has no steps", input=(0, 2, 5)),
            refused(op, "integers", rf"{op}: input is int64, not floating point", dtype=int64),
            refused(op, "dtypes", rf"{op}: .* is float\d\d beside input of float\d\d", dtype=float16),
        )
    ),
    refused("lstm", "cell", r"lstm: c_0 \(1, 2, 5\) is not \(1, 2, 4\)", c=(1, 2, 5)),
    refused("lstm", "no pair", r"lstm: hx is a .*not the pair", TypeError, hx=None),
    refused("gru", "weights of an lstm", r"gru: w_hh \(16, 4\) is not \(12, 4\)", w_hh=(16, 4)),
]
