"""Recurrent networks of several layers and directions, over inputs that are padded or packed.

All four functions are the same walk: for each layer and direction the product with the inputs, then the steps
(`polyad.ops.nn.recurrent.sequences`); the directions' results joined, and dropped out between layers.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from ....base.dtypes import INTEGER
from ....dispatch.op import function
from ....errors import ArgumentTypeError, ShapeError, safe_repr
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...shaping.joining import cat, stack
from ..dropout import dropout as drop
from ..linear import linear
from .cells import check_operands, check_shapes
from .sequences import _gru_sequence, _lstm_sequence, _rnn_sequence

if TYPE_CHECKING:
    pass


class _Mode(NamedTuple):
    op: str
    gates: int
    states: tuple[str, ...]


_LSTM = _Mode("lstm", 4, ("h_0", "c_0"))
_GRU = _Mode("gru", 3, ("h_0",))
_RNN_TANH = _Mode("rnn_tanh", 1, ("h_0",))
_RNN_RELU = _Mode("rnn_relu", 1, ("h_0",))


class _Weights(NamedTuple):
    """The parameters of a layer in one direction."""

    ih: Tensor
    hh: Tensor
    bias_ih: Tensor | None
    bias_hh: Tensor | None
    projection: Tensor | None


def _steps(mode: _Mode, input: Tensor, weights: _Weights, states: list[Tensor], sizes: Any, reverse: bool) -> Any:
    """The results of all steps, and the new states."""
    ih, hh, bias, bias_hh, projection = weights
    if mode is _GRU:
        return _gru_sequence(linear(input, ih, bias), hh, bias_hh, states[0], sizes, reverse)[:2]
    gates = linear(input, ih, None if bias is None or bias_hh is None else bias + bias_hh)
    if mode is _LSTM:
        return _lstm_sequence(gates, hh, projection, states[0], states[1], sizes, reverse)[:3]
    return _rnn_sequence(gates, hh, states[0], sizes, reverse, mode is _RNN_RELU)


def _sizes(op: str, batch_sizes: Tensor, rows: int) -> tuple[int, ...]:
    if batch_sizes.ndim != 1 or batch_sizes._type.dtype.category != INTEGER or batch_sizes.device.type != "cpu":
        raise ShapeError(
            f"{op}: batch_sizes must be a vector of integers on the cpu",
            operands={"batch_sizes": batch_sizes},
            fix="use polyad.nn.utils.rnn.pack_padded_sequence",
        )
    sizes = tuple(batch_sizes.tolist())
    falling = all(first >= second for first, second in pairwise(sizes))
    if not sizes or sizes[-1] < 1 or not falling or sum(sizes) != rows:
        raise ShapeError(
            f"{op}: batch_sizes must be positive, fall, and add up to the {rows} rows of data; they are "
            f"{safe_repr(list(sizes))}",
            operands={"batch_sizes": batch_sizes},
            fix="use polyad.nn.utils.rnn.pack_padded_sequence",
        )
    return sizes


def _not_a(op: str, name: str, value: Any, wanted: str) -> ArgumentTypeError:
    return ArgumentTypeError(
        f"{op}: {name} is {safe_repr(value)}, not {wanted}",
        operands={name: value},
        fix="the order is hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first",
    )


def _network(
    mode: _Mode,
    input: Tensor,
    batch_sizes: Tensor | None,
    hx: Any,
    params: Any,
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    op = mode.op
    states = list(hx) if mode is _LSTM and isinstance(hx, (list, tuple)) else [hx]
    if len(states) != len(mode.states):
        raise ArgumentTypeError(
            f"{op}: hx is a {type(hx).__name__}, not the pair of hidden state and cell",
            operands={"hx": hx},
            fix="pass (h_0, c_0)",
        )
    if not isinstance(params, (list, tuple)):
        raise ArgumentTypeError(f"{op}: params is {type(params).__name__}, no list of tensors", fix="pass a list")
    for name, flag in (
        ("has_biases", has_biases), ("train", train), ("bidirectional", bidirectional), ("batch_first", batch_first),
    ):  # fmt: skip
        if not isinstance(flag, bool):
            raise _not_a(op, name, flag, "a bool")
    if isinstance(num_layers, bool) or not isinstance(num_layers, int):
        raise _not_a(op, "num_layers", num_layers, "an int")
    if isinstance(dropout, bool) or not isinstance(dropout, (int, float)):
        raise _not_a(op, "dropout", dropout, "a number")
    layers = _layers(mode, list(params), has_biases, num_layers, bidirectional)
    for name, state in zip(mode.states, states, strict=True):
        check_tensor(state, op, name)
    given = check_operands(op, {"input": input, **dict(zip(mode.states, states, strict=True))})
    wanted = 3 if batch_sizes is None else 2
    if input.ndim != wanted:
        raise ShapeError(
            f"{op}: input has {input.ndim} dimensions, not {wanted}",
            operands=given,
            fix="give (T, N, I), or packed rows (rows, I) beside batch_sizes",
        )
    if batch_sizes is None:
        if batch_first:
            input = input.transpose(0, 1)
        steps, count, features = input._array.shape
        if not steps:
            raise ShapeError(f"{op}: input has no steps", operands=given, fix="give sequences of at least one step")
        sizes: tuple[int, ...] = (count,) * steps
        rows = input.reshape(steps * count, features)
    else:
        rows, sizes = input, _sizes(op, batch_sizes, input._array.shape[0])
        count = sizes[0]
    directions = 2 if bidirectional else 1
    many = num_layers * directions
    first = layers[0]
    outer = first.hh if first.projection is None else first.projection
    hidden_size = outer._array.shape[-1] if outer.ndim else 0
    out_size = hidden_size if first.projection is None else outer._array.shape[0]
    widths = {"h_0": out_size, "c_0": hidden_size}
    check_shapes(op, given, {name: (many, count, widths[name]) for name in mode.states})

    last: list[list[Tensor]] = [[] for _ in states]
    for layer in range(num_layers):
        outs = []
        for direction in range(directions):
            place = layer * directions + direction
            weights = layers[place]
            _check_weights(mode, place, input if not layer else rows, weights, hidden_size, out_size)
            out, *news = _steps(mode, rows, weights, [state.select(0, place) for state in states], sizes, direction > 0)
            outs.append(out)
            for states_of, new in zip(last, news, strict=True):
                states_of.append(new)
        rows = outs[0] if directions == 1 else cat(outs, 1)
        if dropout and train and layer < num_layers - 1:
            rows = drop(rows, dropout)
    result = rows
    if batch_sizes is None:
        result = rows.reshape(len(sizes), count, directions * out_size)
        if batch_first:
            result = result.transpose(0, 1)
    return (result, *(stack(states_of) for states_of in last))


def _layers(
    mode: _Mode, params: list[Tensor], has_biases: bool, num_layers: int, bidirectional: bool
) -> list[_Weights]:
    many = num_layers * (2 if bidirectional else 1)
    each = 4 if has_biases else 2
    projected = mode is _LSTM and len(params) == many * (each + 1)
    if num_layers < 1 or (len(params) != many * each and not projected):
        raise ShapeError(
            f"{mode.op}: {len(params)} params for {num_layers} layers in {2 if bidirectional else 1} directions, "
            f"not {many * each}",
            fix="give w_ih, w_hh, and with has_biases b_ih and b_hh, of each layer and direction",
        )
    each += projected
    layers = []
    for place in range(many):
        of_layer: list[Tensor | None] = [check_tensor(one, mode.op, "params") for one in params[place * each :][:each]]
        projection = of_layer.pop() if projected else None
        if not has_biases:
            of_layer += [None, None]
        layers.append(_Weights(*of_layer, projection))  # type: ignore[call-arg, arg-type]
    return layers


def _check_weights(mode: _Mode, place: int, input: Tensor, weights: _Weights, size: int, out_size: int) -> None:
    ih, hh, bias_ih, bias_hh, projection = weights
    named = {"w_ih": ih, "w_hh": hh, "b_ih": bias_ih, "b_hh": bias_hh, "w_hr": projection}
    op = f"{mode.op}: params of layer {place}" if place else mode.op
    given = check_operands(op, {"input": input, **named})
    rows = mode.gates * size
    check_shapes(
        op,
        given,
        {
            "w_hh": (rows, out_size),
            "w_ih": (rows, input._array.shape[-1]),
            "b_ih": (rows,),
            "b_hh": (rows,),
            "w_hr": (out_size, size),
        },
    )


@function(method=False, also={"data": "input"})
def lstm(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, Tensor, Tensor]:
    """A network of LSTM layers (Hochreiter and Schmidhuber 1997); see `nn.LSTM`, whose arithmetic this is. Returns the
    results of all steps, the last hidden states and the last cells.

    Shapes: input (T, N, I), or (N, T, I) with *batch_first*; *hx* is (h_0, c_0), each (layers * directions, N, H),
    where a projection makes it P for h_0. *params* are w_ih, w_hh, with *has_biases* b_ih and b_hh, and w_hr for a
    projection, of each layer and direction in turn. *dropout* is between layers, and while *train* is true. A second
    form takes packed sequences: ``lstm(data, batch_sizes, hx, params, has_biases, num_layers, dropout, train,
    bidirectional)``.

    Raises RuntimeError for shapes and dtypes that do not fit, TypeError for what is no tensor.

    >>> import polyad
    >>> x, zero = polyad.ones(2, 1, 3), polyad.zeros(1, 1, 1)
    >>> params = [polyad.ones(4, 3), polyad.ones(4, 1)]
    >>> out, h, c = polyad.lstm(x, (zero, zero), params, False, 1, 0.0, False, False, False)
    >>> out.flatten()
    tensor([0.7038, 0.9332])
    """
    if isinstance(hx, Tensor):  # the packed form: every argument is one place further on
        batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first = (
            hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first, False,
        )  # fmt: skip
    else:
        batch_sizes = None
    return _network(  # type: ignore[return-value]
        _LSTM, input, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first
    )


def _one_state(mode: _Mode, input: Tensor, given: tuple[Any, ...]) -> Any:
    """A network with one state; if two tensors follow the input, the first of them is batch_sizes."""
    if isinstance(given[1], Tensor):
        batch_sizes, *rest = given
        return _network(mode, input, batch_sizes, *rest, False)  # type: ignore[call-arg]
    return _network(mode, input, None, *given)


@function(method=False, also={"data": "input"})
def gru(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, Tensor]:
    """A network of GRU layers (Cho et al. 2014); see `nn.GRU`, whose arithmetic this is. Returns the results of all
    steps and the last hidden states.

    Arguments and errors as those of `lstm`, with *hx* h_0 (layers * directions, N, H). The packed form is ``gru(data,
    batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional)``.

    >>> import polyad
    >>> params = [polyad.ones(3, 3), polyad.ones(3, 1)]
    >>> out, h = polyad.gru(polyad.ones(2, 1, 3), polyad.ones(1, 1, 1), params, False, 1, 0.0, False, False, False)
    >>> out.flatten()
    tensor([1.0000, 1.0000])
    """
    return _one_state(  # type: ignore[no-any-return]
        _GRU, input, (hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    )


@function(method=False, also={"data": "input"})
def rnn_tanh(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, Tensor]:
    """A network of layers of `rnn_tanh_cell` (Elman 1990); see `nn.RNN`. Arguments, results and errors as those of
    `gru`.

    >>> import polyad
    >>> params = [polyad.ones(1, 3), polyad.ones(1, 1)]
    >>> x, zero = polyad.ones(2, 1, 3), polyad.zeros(1, 1, 1)
    >>> out, h = polyad.rnn_tanh(x, zero, params, False, 1, 0.0, False, False, False)
    >>> out.flatten()
    tensor([0.9951, 0.9993])
    """
    return _one_state(  # type: ignore[no-any-return]
        _RNN_TANH, input, (hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    )


@function(method=False, also={"data": "input"})
def rnn_relu(
    input: Tensor,
    hx: Any,
    params: Any,
    has_biases: Any,
    num_layers: Any,
    dropout: Any,
    train: Any,
    bidirectional: Any,
    batch_first: Any,
) -> tuple[Tensor, Tensor]:
    """A network of layers of `rnn_relu_cell`; see `nn.RNN`. Arguments, results and errors as those of `gru`.

    >>> import polyad
    >>> params = [polyad.ones(1, 3), polyad.ones(1, 1)]
    >>> x, zero = polyad.ones(2, 1, 3), polyad.zeros(1, 1, 1)
    >>> out, h = polyad.rnn_relu(x, zero, params, False, 1, 0.0, False, False, False)
    >>> out.flatten()
    tensor([3., 6.])
    """
    return _one_state(  # type: ignore[no-any-return]
        _RNN_RELU, input, (hx, params, has_biases, num_layers, dropout, train, bidirectional, batch_first)
    )
