"""Recurrent layers and their cells."""

from __future__ import annotations

from . import ModuleSample


def network(cls, name="", *, batch=(2,), state=True, wrong=(), features=3, **settings):
    """A sample of a layer with 4 hidden features; without *state* it starts at zeros."""
    many = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
    size = settings.get("proj_size") or 4
    lead = lambda steps: (*batch, steps) if settings.get("batch_first") else (steps, *batch)  # noqa: E731

    def inputs(make):
        h = make((many, *batch, size), -1, 1)
        hx = (h, make((many, *batch, 4), -1, 1)) if cls == "LSTM" else h
        return (make((*lead(3), features)), *((hx,) if state else ()))

    def functional(F, layer, x, *hx):
        import polyad

        given = hx[0] if hx else tuple(x.new_zeros((many, *batch, one)) for one in (size, 4))
        states = list(given) if isinstance(given, tuple) else [given]
        if not batch:
            x, states = x.unsqueeze(1), [one.unsqueeze(1) for one in states]
        function = getattr(polyad, layer.mode.lower())
        results = function(
            x,
            states[:2] if cls == "LSTM" else states[0],
            list(layer.parameters()),
            settings.get("bias", True),
            settings.get("num_layers", 1),
            0.0,
            False,
            settings.get("bidirectional", False),
            settings.get("batch_first", False),
        )
        return results if batch else [one.squeeze(1) for one in results]

    return ModuleSample(
        layer=cls,
        name=name,
        build=lambda torch: getattr(torch.nn, cls)(features, 4, **settings),
        inputs=inputs,
        functional=functional,
        wrong=wrong,
        steps=64,
    )


def packed(cls, **settings):
    """Sequences of lengths 2, 4 and 1, in that order."""

    def call(torch, layer, x, h, c):
        rnn = torch.nn.utils.rnn
        given = rnn.pack_padded_sequence(x, [2, 4, 1], enforce_sorted=False)
        out, last = layer(given, (h, c) if cls == "LSTM" else h)
        return rnn.pad_packed_sequence(out)[0], last

    many = settings.get("num_layers", 1) * (2 if settings.get("bidirectional") else 1)
    return ModuleSample(
        layer=cls,
        name="packed",
        build=lambda torch: getattr(torch.nn, cls)(3, 4, **settings),
        inputs=lambda make: (
            make((4, 3, 3)),
            make((many, 3, settings.get("proj_size") or 4), -1, 1),
            make((many, 3, 4), -1, 1),
        ),
        call=call,
        wrong=[
            lambda make: (make((4, 3, 2)), make((many, 3, 4)), make((many, 3, 4))),
            lambda make: (make((4, 3, 3)), make((many, 2, 4)), make((many, 2, 4))),
        ],
        steps=64,
    )


def wrong(cls):
    """Inputs of other features and dimensions, and states of another batch."""
    pair = (lambda one: (one, one)) if cls == "LSTM" else (lambda one: one)
    return [
        lambda make: (make((3, 2, 4)),),
        lambda make: (make((3,)),),
        lambda make: (make((3, 2, 3)), pair(make((1, 3, 4)))),
        lambda make: (make((3, 2, 3)), pair(make((2, 4)))),
    ]


def cell(cls, name="", *, batch=(2,), wrong=(), **settings):
    def inputs(make):
        h = make((*batch, 4), -1, 1)
        return (make((*batch, 3)), (h, make((*batch, 4), -1, 1)) if cls == "LSTMCell" else h)

    def functional(F, layer, x, hx):
        import polyad

        function = {"LSTMCell": polyad.lstm_cell, "GRUCell": polyad.gru_cell, "RNNCell": polyad.rnn_tanh_cell}[cls]
        if settings.get("nonlinearity") == "relu":
            function = polyad.rnn_relu_cell
        if not batch:
            x, hx = x.unsqueeze(0), [one.unsqueeze(0) for one in hx] if cls == "LSTMCell" else hx.unsqueeze(0)
        result = function(x, hx, layer.weight_ih, layer.weight_hh, layer.bias_ih, layer.bias_hh)
        if batch:
            return result
        return [one.squeeze(0) for one in result] if cls == "LSTMCell" else result.squeeze(0)

    return ModuleSample(
        layer=cls,
        name=name,
        build=lambda torch: getattr(torch.nn, cls)(3, 4, **settings),
        inputs=inputs,
        functional=functional,
        wrong=wrong,
        steps=64,
    )


def wrong_cell(cls):
    pair = (lambda one: (one, one)) if cls == "LSTMCell" else (lambda one: one)
    return [
        lambda make: (make((2, 4)),),
        lambda make: (make((1, 2, 3)),),
        lambda make: (make((2, 3)), pair(make((3, 4)))),
        lambda make: (make((2, 3)), pair(make((2, 1, 4)))),
    ]


SAMPLES = [
    *(network(cls, wrong=wrong(cls)) for cls in ("RNN", "LSTM", "GRU")),
    *(
        network(cls, "two layers, both directions", num_layers=2, bidirectional=True, batch_first=True, bias=False)
        for cls in ("RNN", "LSTM", "GRU")
    ),
    *(network(cls, "no batch, from zeros", batch=(), state=False) for cls in ("RNN", "LSTM", "GRU")),
    network("RNN", "relu", nonlinearity="relu"),
    network("LSTM", "projected", proj_size=2, num_layers=2, bidirectional=True),
    packed("RNN", num_layers=2),
    packed("LSTM", bidirectional=True),
    packed("GRU", bidirectional=True, num_layers=2),
    ModuleSample(
        layer="GRU",
        name="dropout",
        build=lambda torch: torch.nn.GRU(3, 4, num_layers=2, dropout=0.5),
        inputs=lambda make: (make((4, 2, 3)),),
        random="training",
        steps=64,
    ),
    *(cell(cls, wrong=wrong_cell(cls)) for cls in ("RNNCell", "LSTMCell", "GRUCell")),
    *(cell(cls, "no batch, no biases", batch=(), bias=False) for cls in ("RNNCell", "LSTMCell", "GRUCell")),
    cell("RNNCell", "relu", nonlinearity="relu"),
]
