"""Steps of recurrent networks, sequence by sequence from the definitions."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float16, float32, float64, int64

from ....sample import REAL_FLOATS, ErrorCase, Sample


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def lstm(x, h, c, w_ih, w_hh, b_ih=0.0, b_hh=0.0):
    """The new hidden state and cell."""
    i, f, g, o = np.split(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    return sigmoid(o) * np.tanh(c), c


def gru(x, h, w_ih, w_hh, b_ih=0.0, b_hh=0.0):
    """The new hidden state."""
    first, second = np.split(x @ w_ih.T + b_ih, 3, -1), np.split(h @ w_hh.T + b_hh, 3, -1)
    r, z = sigmoid(first[0] + second[0]), sigmoid(first[1] + second[1])
    return (1 - z) * np.tanh(first[2] + r * second[2]) + z * h


def elman(function):
    """A step of the network with that nonlinearity."""
    return lambda x, h, w_ih, w_hh, b_ih=0.0, b_hh=0.0: function(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)


def relu(x):
    return np.maximum(x, 0)


TWO = (lambda dtype: dtype,) * 2
CELLS = {
    "lstm_cell": (4, lambda x, hx, *rest: lstm(x, *hx, *rest)),
    "gru_cell": (3, gru),
    "rnn_tanh_cell": (1, elman(np.tanh)),
    "rnn_relu_cell": (1, elman(relu)),
}


def sample(op, name, *, count=3, biases=True, dtypes=REAL_FLOATS):
    gates, reference = CELLS[op]

    def inputs(make):
        states = [make((count, 4), -1, 1), make((count, 4), -1, 1)]
        rows = gates * 4
        given = [make((count, 5)), states if op == "lstm_cell" else states[0]]
        given += [make((rows, 5), -1, 1), make((rows, 4), -1, 1)]
        return (*given, *((make((rows,)), make((rows,))) if biases else ()))

    return Sample(
        op=op,
        name=name,
        inputs=inputs,
        reference=reference,
        dtypes=dtypes,
        result=TWO if op == "lstm_cell" else lambda dtype: dtype,
        gradient=True,
        steps=12,
        length=16,
        magnitude=lambda *given: 8.0,
        expand=False,
    )


def lstm_slopes(of_h, of_c, before, c, i, f, g, o):
    of_c = of_c + of_h * o * (1 - np.tanh(c) ** 2)
    return (
        of_c * g * i * (1 - i),
        of_c * before * f * (1 - f),
        of_c * i * (1 - g * g),
        of_h * np.tanh(c) * o * (1 - o),
        of_c * f,
    )


def gru_slopes(grad, before, weighted, r, z, n):
    of_n = grad * (1 - z) * (1 - n * n)
    return of_n * weighted * r * (1 - r), grad * (before - n) * z * (1 - z), of_n, of_n * r, grad * z


def slopes(op, count, reference):
    """The gradient of a step's gates, from numbers that gates can be."""
    return Sample(
        op=op,
        inputs=lambda make: tuple(make((3, 4), -1, 1) for _ in range(count)),
        reference=reference,
        dtypes=(float32, float64),
        result=(lambda dtype: dtype,) * 5,
        gradient=True,
        steps=12,
        magnitude=lambda *given: 4.0,
    )


SAMPLES = [
    slopes("_lstm_gates_backward", 8, lstm_slopes),
    slopes("_gru_gates_backward", 6, gru_slopes),
    *(sample(op, "a batch") for op in CELLS),
    *(sample(op, "no biases", count=2, biases=False, dtypes=(float32, float64)) for op in CELLS),
]


def refused(op, name, match, raises=RuntimeError, **changed):
    gates = CELLS[op][0] * 4

    def call(function, tensor):
        shapes = {"input": (3, 5), "hx": (3, 4), "w_ih": (gates, 5), "w_hh": (gates, 4), "b_ih": (gates,)} | changed
        made = {key: tensor(*shape) if isinstance(shape, tuple) else shape(tensor) for key, shape in shapes.items()}
        if op == "lstm_cell" and "hx" not in changed:
            made["hx"] = (made["hx"], tensor(3, 4))
        return function(**made)

    return ErrorCase(op=op, name=name, call=call, raises=raises, match=match)


ERRORS = [
    *(
        case
        for op in CELLS
        for case in (
            refused(op, "features", rf"{op}: w_ih .* is not \(\d+, 6\)\n.*input .*\n", input=(3, 6)),
            refused(op, "bias", rf"{op}: b_ih \(5,\) is not", b_ih=(5,)),
            refused(op, "dimensions", rf"{op}: input has 3 dimensions, not 2", input=(2, 3, 5)),
            refused(
                op,
                "dtypes",
                rf"{op}: w_ih is float16 beside input of float32",
                w_ih=lambda tensor: tensor(4, 5, dtype=float16),
            ),
            refused(op, "no batch", rf"{op}: input has 1 dimensions, not 2", IndexError, input=(5,)),
        )
    ),
    *(
        case
        for op in ("lstm_cell", "gru_cell")
        for case in (
            refused(
                op,
                "integers",
                rf"{op}: input is int64, not floating point",
                input=lambda tensor: tensor(3, 5, dtype=int64),
            ),
        )
    ),
    refused("gru_cell", "state", r"gru_cell: hx \(2, 4\) is not \(3, 4\)", hx=(2, 4)),
    refused("lstm_cell", "no pair", "lstm_cell: hx is a .*not the pair", TypeError, hx=(3, 4)),
    refused(
        "lstm_cell",
        "cell",
        r"lstm_cell: cell \(3, 5\) is not \(3, 4\)",
        hx=lambda tensor: (tensor(3, 4), tensor(3, 5)),
    ),
]
