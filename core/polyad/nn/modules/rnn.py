"""Recurrent layers and their cells.

`RNNBase` keeps the parameters of all layers and directions and brings input, states and packed sequences into the form
that the functions take (`polyad.lstm`, `polyad.gru`, `polyad.rnn_tanh`, `polyad.rnn_relu`); `RNNCellBase` does it for a
single step.
"""

from __future__ import annotations

import math
from typing import Any

from ... import functions
from ...base.device import Device
from ...base.dtypes import DType
from ...base.kinds import Layers, Nonlinearity, Positive, Probability
from ...base.state import state, warn_user
from ...errors import ArgumentError, ArgumentTypeError, OptionError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import init
from ..parameter import Parameter, uninitialized
from ..utils.rnn import PackedSequence
from .module import Module

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


def _draw(module: Module, hidden_size: int) -> None:
    bound = 1 / math.sqrt(hidden_size) if hidden_size > 0 else 0.0
    for parameter in module.parameters():
        init.uniform_(parameter, -bound, bound)


class RNNBase(Module):
    """What the recurrent layers have in common.

    For each layer ``k`` the parameters weight_ih_l{k} (G, I), weight_hh_l{k} (G, P), bias_ih_l{k} and bias_hh_l{k}
    (G,), and with a projection weight_hr_l{k} (P, H); those of the other direction end in ``_reverse``. G is H times
    the number of gates; I is the input's size, or for further layers P times the number of directions; P is H without a
    projection.

    Args:
        mode: ``"LSTM"``, ``"GRU"``, ``"RNN_TANH"`` or ``"RNN_RELU"``; other arguments as in `LSTM`.
    """

    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: Positive,
        hidden_size: Positive,
        num_layers: Layers = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._check_settings(dropout)
        self.dropout = float(dropout)
        gates = _GATES[mode] * hidden_size
        state_size = proj_size or hidden_size
        self._all_weights: list[list[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions]:
                features = state_size * self._directions if layer else input_size
                shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, features), "weight_hh": (gates, state_size)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size:
                    shapes["weight_hr"] = (proj_size, hidden_size)
                names = {f"{name}_l{layer}{suffix}": shape for name, shape in shapes.items()}
                for name, shape in names.items():
                    setattr(self, name, uninitialized(shape, device, dtype))
                self._all_weights.append(list(names))
        self.reset_parameters()

    def _check_settings(self, dropout: Any) -> None:
        name = self._get_name()
        if self.mode not in _GATES:
            raise ArgumentError(f"{name}: unknown mode {safe_repr(self.mode)}", fix=f"use one of {', '.join(_GATES)}")
        for flag in ("bias", "batch_first"):
            if not isinstance(getattr(self, flag), bool):
                raise ArgumentTypeError(
                    f"{name}: {flag} is {safe_repr(getattr(self, flag))}, not a bool", fix="pass True or False"
                )
        if not 0 <= self.proj_size < self.hidden_size:
            raise ArgumentError(
                f"{name}: proj_size {self.proj_size} is not in [0, {self.hidden_size})",
                fix="a projection is smaller than hidden_size; 0 turns it off",
            )
        if self.proj_size and self.mode != "LSTM":
            raise ArgumentError(f"{name}: proj_size is for LSTM alone", fix="leave it out")
        if dropout and self.num_layers == 1:
            warn_user(
                f"{name}: dropout {dropout} has no effect with num_layers=1, since it is between layers", UserWarning
            )

    @property
    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def flatten_parameters(self) -> None:
        """Do nothing: on no device must the weights be neighbours in memory."""

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniform in +-1/sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def check_input(self, input: Tensor, batch_sizes: Tensor | None) -> None:
        """Raise unless *input* (T, N, I), or packed (rows, I), fits."""
        name = self._get_name()
        weight: Tensor = getattr(self, self._all_weights[0][0])
        if input.dtype is not weight.dtype and state.autocast is None:
            raise ArgumentError(
                f"{name}: input is {input.dtype.name}, the parameters are {weight.dtype.name}",
                operands={"input": input},
                fix=f"convert the input: input.to({weight.dtype!r}), or the layer",
            )
        wanted = 3 if batch_sizes is None else 2
        if input.ndim != wanted:
            raise ShapeError(
                f"{name}: input must have {wanted} dimensions, not {input.ndim}",
                operands={"input": input},
                fix="give (T, N, input_size), or a PackedSequence",
            )
        if input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{name}: input {tuple(input.shape)} has {input.shape[-1]} features, not the {self.input_size} of "
                "input_size",
                operands={"input": input},
                fix=f"make its last dimension {self.input_size}, or make the layer with input_size={input.shape[-1]}",
            )

    def get_expected_hidden_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of h_0 beside *input*."""
        if batch_sizes is None and input.ndim < 2:
            raise ArgumentError(
                f"{self._get_name()}: input has no batch", operands={"input": input}, fix="unsqueeze it"
            )
        count = input.shape[0 if self.batch_first else 1] if batch_sizes is None else int(batch_sizes[0])
        return (self.num_layers * self._directions, count, self.proj_size or self.hidden_size)

    def get_expected_cell_size(self, input: Tensor, batch_sizes: Tensor | None) -> tuple[int, int, int]:
        """The shape of c_0 beside *input*."""
        return (*self.get_expected_hidden_size(input, batch_sizes)[:2], self.hidden_size)

    def check_hidden_size(
        self, hx: Tensor, expected_hidden_size: tuple[int, int, int], msg: str = "Expected hidden size {}, got {}"
    ) -> None:
        """Raise unless *hx* has that shape."""
        self._check_state("hx", hx, expected_hidden_size, 3)

    def _check_state(self, name: str, hx: Any, wanted: tuple[int, ...], ndim: int) -> None:
        cls = self._get_name()
        check_tensor(hx, cls, name)
        shape = wanted if ndim == 3 else (wanted[0], wanted[2])
        if tuple(hx.shape) != shape:
            layers = f"{self.num_layers} layers in {self._directions} direction{'s' * (self._directions > 1)}"
            raise ShapeError(
                f"{cls}: {name} {tuple(hx.shape)} is not {shape}, for {layers}",
                operands={name: hx},
                fix=f"make it {shape}, which is (layers * directions, "
                + ("N, size)" if ndim == 3 else "size) beside an input without a batch"),
            )

    def check_forward_args(self, input: Tensor, hidden: Any, batch_sizes: Tensor | None) -> None:
        """Raise unless input and states (T, N, I) and (layers * directions, N, size) fit."""
        self.check_input(input, batch_sizes)
        wanted = (
            self.get_expected_hidden_size(input, batch_sizes),
            self.get_expected_cell_size(input, batch_sizes),
        )
        states = hidden if isinstance(hidden, tuple) else (hidden,)
        for name, hx, shape in zip(self._state_names, states, wanted, strict=False):
            self._check_state(name, hx, shape, 3)

    @property
    def _state_names(self) -> tuple[str, ...]:
        return ("h_0", "c_0") if self.mode == "LSTM" else ("hx",)

    def permute_hidden(self, hx: Any, permutation: Tensor | None) -> Any:
        """States with the batch in the order of *permutation*."""
        if permutation is None:
            return hx
        if isinstance(hx, tuple):
            return tuple(one.index_select(1, permutation) for one in hx)
        return hx.index_select(1, permutation)

    def _states(self, input: Tensor, batch_sizes: Tensor | None, hx: Any, batched: bool) -> list[Tensor]:
        """h_0 (and c_0) with a batch, checked, or zeros."""
        shapes = [self.get_expected_hidden_size(input, batch_sizes), self.get_expected_cell_size(input, batch_sizes)]
        names = self._state_names
        if hx is None:
            return [input.new_zeros(shape) for shape in shapes[: len(names)]]
        if self.mode == "LSTM":
            if not isinstance(hx, (tuple, list)) or len(hx) != 2:
                raise ArgumentTypeError(
                    f"LSTM: hx is a {type(hx).__name__}, not the pair of h_0 and c_0",
                    operands={"input": input, "hx": hx},
                    fix="pass (h_0, c_0)",
                )
            given = list(hx)
        else:
            given = [hx]
        for name, one, shape in zip(names, given, shapes, strict=False):
            self._check_state(name, one, shape, 3 if batched else 2)
        return given if batched else [one.unsqueeze(1) for one in given]

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The results of all steps, and the last states; see the layer."""
        if isinstance(input, PackedSequence):
            return self._packed(input, hx)
        name = self._get_name()
        check_tensor(input, name, "input")
        if input.ndim not in (2, 3):
            raise ArgumentError(
                f"{name}: input must be 2-d or 3-d, not {input.ndim}-d",
                operands={"input": input},
                fix="give (T, N, input_size), or (T, input_size) without a batch",
            )
        batched = input.ndim == 3
        place = 0 if self.batch_first else 1
        if not batched:
            input = input.unsqueeze(place)
        self.check_input(input, None)
        states = self._states(input, None, hx, batched)
        out, *last = self._computed(input, states, None)
        if not batched:
            out, last = out.squeeze(place), [one.squeeze(1) for one in last]
        return out, (tuple(last) if len(last) > 1 else last[0])

    def _packed(self, input: PackedSequence, hx: Any) -> tuple[Any, Any]:
        data, batch_sizes, sorted_indices, unsorted_indices = input
        self.check_input(data, batch_sizes)
        states = self._states(data, batch_sizes, hx, True)
        if hx is not None:
            states = [self.permute_hidden(one, sorted_indices) for one in states]
        out, *last = self._computed(data, states, batch_sizes)
        last = [self.permute_hidden(one, unsorted_indices) for one in last]
        result = PackedSequence(out, batch_sizes, sorted_indices, unsorted_indices)
        return result, (tuple(last) if len(last) > 1 else last[0])

    def _computed(self, input: Tensor, states: list[Tensor], batch_sizes: Tensor | None) -> Any:
        function = getattr(functions, self.mode.lower())
        hx: Any = tuple(states) if self.mode == "LSTM" else states[0]
        settings = (self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional)
        if batch_sizes is None:
            return function(input, hx, *settings, self.batch_first)
        return function(input, batch_sizes, hx, *settings)

    def extra_repr(self) -> str:
        defaults = {
            "proj_size": 0,
            "num_layers": 1,
            "bias": True,
            "batch_first": False,
            "dropout": 0.0,
            "bidirectional": False,
        }
        changed = [f"{key}={getattr(self, key)}" for key, usual in defaults.items() if getattr(self, key) != usual]
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *changed])

    def _describe(self) -> str:
        return f"{self._get_name()} {self.input_size} -> {self.hidden_size}"


class RNN(RNNBase):
    """Layers of ``h = tanh(weight_ih @ x + bias_ih + weight_hh @ h + bias_hh)`` over sequences (Elman 1990).

    Called as ``layer(input, hx)``; returns the hidden states of all steps, and the last ones. Shapes and packed
    sequences as in `LSTM`, with hx and the last hidden states (layers * directions, N, H).

    Args:
        nonlinearity: ``"tanh"`` or ``"relu"``; other arguments as in `LSTM`, but for the projection.

    Raises:
        ValueError: a setting that is none, an input of other dimensions or another dtype.
        RuntimeError: other shapes that do not fit.

    >>> import polyad
    >>> from polyad import nn
    >>> out, last = nn.RNN(3, 4)(polyad.zeros(5, 2, 3))
    >>> out.shape, last.shape
    (polyad.Size([5, 2, 4]), polyad.Size([1, 2, 4]))
    """

    nonlinearity: str

    def __init__(
        self,
        input_size: Positive,
        hidden_size: Positive,
        num_layers: Layers = 1,
        nonlinearity: Nonlinearity = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, proj_size, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Layers of long short-term memory over sequences (Hochreiter and Schmidhuber 1997).

    For each step ``i, f, g, o`` are the four parts of ``weight_ih @ x + bias_ih + weight_hh @ h + bias_hh``, through
    sigmoid, for g through tanh; then ``c = f * c + i * g`` and ``h = o * tanh(c)``, with a projection
    ``h = weight_hr @ (o * tanh(c))``.

    Called as ``layer(input, (h_0, c_0))``; returns the hidden states of all steps, and the pair of last hidden states
    and cells. Shapes: input (T, N, input_size), or (N, T, input_size) with *batch_first*, or (T, input_size) without a
    batch; h_0 (layers * directions, N, P), c_0 (layers * directions, N, H), or without N beside an input without a
    batch; both are zeros by default. The result is (T, N, P * directions). A `PackedSequence` gives a `PackedSequence`.

    Parameters start uniform in +-1/sqrt(hidden_size).

    Args:
        input_size: features of the input.
        hidden_size: H.
        num_layers: each further layer is given the results of the one before.
        bias: whether there are the biases.
        batch_first: whether the batch comes before the steps, in input and result; states stay as they are.
        dropout: with what probability results are dropped between layers, in training.
        bidirectional: whether each layer goes over the sequence backwards, too, with parameters of its own.
        proj_size: P; 0 for no projection, and P = H (Sak et al. 2014).

    Raises:
        ValueError: a setting that is none, an input of other dimensions or another dtype.
        RuntimeError: other shapes that do not fit.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.LSTM(3, 4, num_layers=2)
    >>> out, (h, c) = layer(polyad.zeros(5, 2, 3))
    >>> out.shape, h.shape
    (polyad.Size([5, 2, 4]), polyad.Size([2, 2, 4]))
    """

    def __init__(
        self,
        input_size: Positive,
        hidden_size: Positive,
        num_layers: Layers = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )  # fmt: skip


class GRU(RNNBase):
    """Layers of gated recurrent units over sequences (Cho et al. 2014).

    For each step ``r, z = sigmoid(...)`` of the first two parts of ``weight_ih @ x + bias_ih + weight_hh @ h +
    bias_hh``, ``n = tanh(weight_in @ x + bias_in + r * (weight_hn @ h + bias_hn))`` and ``h = (1 - z) * n + z * h``.

    Called as ``layer(input, hx)``; returns the hidden states of all steps, and the last ones. Arguments, shapes, packed
    sequences and errors as in `LSTM`, but for the projection, with hx and the last states (layers * directions, N, H).

    >>> import polyad
    >>> from polyad import nn
    >>> out, last = nn.GRU(3, 4, bidirectional=True)(polyad.zeros(5, 2, 3))
    >>> out.shape, last.shape
    (polyad.Size([5, 2, 8]), polyad.Size([2, 2, 4]))
    """

    def __init__(
        self,
        input_size: Positive,
        hidden_size: Positive,
        num_layers: Layers = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: Probability = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )  # fmt: skip


class RNNCellBase(Module):
    """What the cells have in common: weight_ih (G, input_size), weight_hh (G, H), bias_ih and bias_hh (G,), where G is
    *num_chunks* times H.
    """

    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = uninitialized((rows, input_size), device, dtype)
        self.weight_hh = uninitialized((rows, hidden_size), device, dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, uninitialized((rows,), device, dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw all parameters anew, uniform in +-1/sqrt(hidden_size)."""
        _draw(self, self.hidden_size)

    def _stepped(self, step: Any, input: Tensor, hx: Tensor) -> Tensor:
        """What *step* gives, a function of a batch."""
        single = input.ndim == 1
        if single:
            input, hx = input.unsqueeze(0), hx.unsqueeze(0)
        result: Tensor = step(input, hx, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        return result.squeeze(0) if single else result

    def _states(self, input: Any, **states: Any) -> list[Tensor]:
        """The states, zeros for None. Raises unless they and *input* fit."""
        name = self._get_name()
        check_tensor(input, name, "input")
        if input.ndim not in (1, 2):
            raise ArgumentError(
                f"{name}: input must be 1-d or 2-d, not {input.ndim}-d",
                operands={"input": input},
                fix="give (N, input_size), or (input_size,) without a batch",
            )
        if input.shape[-1] != self.input_size:
            raise ShapeError(
                f"{name}: input {tuple(input.shape)} has {input.shape[-1]} features, not the {self.input_size} of "
                "input_size",
                operands={"input": input},
                fix=f"make its last dimension {self.input_size}, or make the cell with input_size={input.shape[-1]}",
            )
        wanted = (*input.shape[:-1], self.hidden_size)
        made = []
        for key, given in states.items():
            if given is None:
                made.append(input.new_zeros(wanted))
                continue
            check_tensor(given, name, key)
            if given.ndim not in (1, 2):
                raise ArgumentError(
                    f"{name}: {key} must be 1-d or 2-d, not {given.ndim}-d",
                    operands={"input": input, key: given},
                    fix=f"make it {wanted}",
                )
            if tuple(given.shape) != wanted:
                raise ShapeError(
                    f"{name}: {key} {tuple(given.shape)} is not {wanted}",
                    operands={"input": input, key: given},
                    fix=f"make it {wanted}, which is (N, hidden_size)",
                )
            made.append(given)
        return made

    def extra_repr(self) -> str:
        changed = [] if self.bias is True else [f"bias={self.bias}"]
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            changed.append(f"nonlinearity={self.nonlinearity}")
        return ", ".join([f"{self.input_size}, {self.hidden_size}", *changed])

    def _describe(self) -> str:
        return f"{self._get_name()} {self.input_size} -> {self.hidden_size}"


class RNNCell(RNNCellBase):
    """A step of `RNN`: ``hx = cell(input, hx)``.

    Shapes: input (N, input_size) or (input_size,), hx and the result (N, hidden_size) or (hidden_size,); hx is zeros by
    default.

    Args:
        input_size: features of the input.
        hidden_size: features of the state.
        bias: whether there are bias_ih and bias_hh.
        nonlinearity: ``"tanh"`` or ``"relu"``.

    Raises:
        ValueError: an input or state of other dimensions.
        RuntimeError: other shapes that do not fit, another nonlinearity.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.RNNCell(3, 4)(polyad.zeros(2, 3)).shape
    polyad.Size([2, 4])
    """

    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The new hidden state."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise OptionError(
                f"RNNCell: unknown nonlinearity {safe_repr(self.nonlinearity)}", fix='use "tanh" or "relu"'
            )
        (state,) = self._states(input, hx=hx)
        step = functions.rnn_tanh_cell if self.nonlinearity == "tanh" else functions.rnn_relu_cell
        return self._stepped(step, input, state)


class LSTMCell(RNNCellBase):
    """A step of `LSTM`: ``h, c = cell(input, (h, c))``.

    Shapes and errors as in `RNNCell`, with two states of the same shape.

    >>> import polyad
    >>> from polyad import nn
    >>> h, c = nn.LSTMCell(3, 4)(polyad.zeros(2, 3))
    >>> h.shape, c.shape
    (polyad.Size([2, 4]), polyad.Size([2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The new hidden state and cell."""
        if hx is not None and (not isinstance(hx, (tuple, list)) or len(hx) != 2):
            raise ArgumentTypeError(
                f"LSTMCell: hx is a {type(hx).__name__}, not the pair of h and c",
                operands={"hx": hx},
                fix="pass (h, c)",
            )
        hidden, cell = self._states(input, h=hx and hx[0], c=hx and hx[1])
        parameters = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if input.ndim == 2:
            return functions.lstm_cell(input, (hidden, cell), *parameters)
        hidden, cell = functions.lstm_cell(input.unsqueeze(0), (hidden.unsqueeze(0), cell.unsqueeze(0)), *parameters)
        return hidden.squeeze(0), cell.squeeze(0)


class GRUCell(RNNCellBase):
    """A step of `GRU`: ``hx = cell(input, hx)``. Shapes and errors as in `RNNCell`.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.GRUCell(3, 4)(polyad.zeros(2, 3)).shape
    polyad.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The new hidden state."""
        (state,) = self._states(input, hx=hx)
        return self._stepped(functions.gru_cell, input, state)
