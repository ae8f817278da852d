"""``forward`` of layers as programs, where a layer's own uses more of Python than programs can."""

from __future__ import annotations

from typing import Any

import polyad as torch
from polyad import Tensor, nn

from . import attention, functional as F

__all__ = ["program_of"]


def conv1d(self, input: Tensor) -> Tensor:
    return torch.conv1d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


def conv2d(self, input: Tensor) -> Tensor:
    return torch.conv2d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


def conv3d(self, input: Tensor) -> Tensor:
    return torch.conv3d(input, self.weight, self.bias, self.stride, self.padding, self.dilation, self.groups)


def conv_transpose1d(self, input: Tensor) -> Tensor:
    return torch.conv_transpose1d(
        input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
    )


def conv_transpose2d(self, input: Tensor) -> Tensor:
    return torch.conv_transpose2d(
        input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
    )


def conv_transpose3d(self, input: Tensor) -> Tensor:
    return torch.conv_transpose3d(
        input, self.weight, self.bias, self.stride, self.padding, self.output_padding, self.groups, self.dilation
    )


def batch_norm(self, input: Tensor) -> Tensor:
    tracked = not self.training or self.track_running_stats
    mean = self.running_mean if tracked else None
    var = self.running_var if tracked else None
    momentum = 0.0 if self.momentum is None else self.momentum
    count = self.num_batches_tracked
    if self.training and self.track_running_stats and count is not None and self.momentum is None:
        momentum = 1.0 / (float(count) + 1.0)
    use_batch = self.training or (self.running_mean is None and self.running_var is None)
    result = torch.batch_norm(input, self.weight, self.bias, mean, var, use_batch, momentum, self.eps, True)
    if self.training and self.track_running_stats and count is not None:
        count.add_(1)
    return result


def instance_norm(self, input: Tensor) -> Tensor:
    momentum = 0.0 if self.momentum is None else self.momentum
    use_input = self.training or not self.track_running_stats
    return torch.instance_norm(
        input, self.weight, self.bias, self.running_mean, self.running_var, use_input, momentum, self.eps, True
    )


def dropout(self, input: Tensor) -> Tensor:
    return F.dropout(input, self.p, self.training, self.inplace)


def threshold(self, input: Tensor) -> Tensor:
    return F.threshold(input, self.threshold, self.value, self.inplace)


def softmax2d(self, input: Tensor) -> Tensor:
    return torch.softmax(input, -3)


def max_pool1d(self, input: Tensor) -> Tensor:
    return torch.max_pool1d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


def max_pool2d(self, input: Tensor) -> Tensor:
    return torch.max_pool2d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


def max_pool3d(self, input: Tensor) -> Tensor:
    return torch.max_pool3d(input, self.kernel_size, self.stride, self.padding, self.dilation, self.ceil_mode)


def avg_pool1d(self, input: Tensor) -> Tensor:
    return torch.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


def avg_pool2d(self, input: Tensor) -> Tensor:
    return torch.avg_pool2d(
        input,
        self.kernel_size,
        self.stride,
        self.padding,
        self.ceil_mode,
        self.count_include_pad,
        self.divisor_override,
    )


def avg_pool3d(self, input: Tensor) -> Tensor:
    return torch.avg_pool3d(
        input,
        self.kernel_size,
        self.stride,
        self.padding,
        self.ceil_mode,
        self.count_include_pad,
        self.divisor_override,
    )


def adaptive_avg_pool1d(self, input: Tensor) -> Tensor:
    return torch.adaptive_avg_pool1d(input, self.output_size)


def adaptive_avg_pool2d(self, input: Tensor) -> Tensor:
    return torch.adaptive_avg_pool2d(input, self.output_size)


def adaptive_avg_pool3d(self, input: Tensor) -> Tensor:
    return torch.adaptive_avg_pool3d(input, self.output_size)


def adaptive_max_pool1d(self, input: Tensor) -> Tensor:
    return torch.adaptive_max_pool1d(input, self.output_size)[0]


def adaptive_max_pool2d(self, input: Tensor) -> Tensor:
    return torch.adaptive_max_pool2d(input, self.output_size)[0]


def adaptive_max_pool3d(self, input: Tensor) -> Tensor:
    return torch.adaptive_max_pool3d(input, self.output_size)[0]


def flatten(self, input: Tensor) -> Tensor:
    return torch.flatten(input, self.start_dim, self.end_dim)


def unflatten(self, input: Tensor) -> Tensor:
    return torch.unflatten(input, self.dim, self.unflattened_size)


def reflection_pad(self, input: Tensor) -> Tensor:
    return torch.pad(input, self.padding, "reflect")


def replication_pad(self, input: Tensor) -> Tensor:
    return torch.pad(input, self.padding, "replicate")


def sequential(self, input):
    for module in self:
        input = module(input)
    return input


def zero_state(input: Tensor, layers: int, batch: int, size: int) -> Tensor:
    return torch.zeros([layers, batch, size], dtype=input.dtype, device=input.device)


def lstm(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
    batched = input.dim() == 3
    place = 0 if self.batch_first else 1
    x = input if batched else input.unsqueeze(place)
    layers = self.num_layers * (2 if self.bidirectional else 1)
    if hx is None:
        h = zero_state(x, layers, x.size(place), self.hidden_size if self.proj_size == 0 else self.proj_size)
        c = zero_state(x, layers, x.size(place), self.hidden_size)
    else:
        h, c = hx
        if not batched:
            h, c = h.unsqueeze(1), c.unsqueeze(1)
    out, h, c = torch.lstm(
        x, [h, c], self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        self.batch_first,
    )  # fmt: skip
    if not batched:
        return out.squeeze(place), (h.squeeze(1), c.squeeze(1))
    return out, (h, c)


def gru(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
    batched = input.dim() == 3
    place = 0 if self.batch_first else 1
    x = input if batched else input.unsqueeze(place)
    layers = self.num_layers * (2 if self.bidirectional else 1)
    if hx is None:
        h = zero_state(x, layers, x.size(place), self.hidden_size)
    else:
        h = hx if batched else hx.unsqueeze(1)
    out, last = torch.gru(
        x, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
        self.batch_first,
    )  # fmt: skip
    return (out, last) if batched else (out.squeeze(place), last.squeeze(1))


def rnn(self, input: Tensor, hx: Tensor | None = None) -> tuple[Tensor, Tensor]:
    batched = input.dim() == 3
    place = 0 if self.batch_first else 1
    x = input if batched else input.unsqueeze(place)
    layers = self.num_layers * (2 if self.bidirectional else 1)
    if hx is None:
        h = zero_state(x, layers, x.size(place), self.hidden_size)
    else:
        h = hx if batched else hx.unsqueeze(1)
    if self.mode == "RNN_TANH":
        out, last = torch.rnn_tanh(
            x, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first,
        )  # fmt: skip
    else:
        out, last = torch.rnn_relu(
            x, h, self._flat_weights, self.bias, self.num_layers, self.dropout, self.training, self.bidirectional,
            self.batch_first,
        )  # fmt: skip
    return (out, last) if batched else (out.squeeze(place), last.squeeze(1))


def lstm_cell(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
    x = input if input.dim() == 2 else input.unsqueeze(0)
    if hx is None:
        h = torch.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
        c = h
    else:
        h, c = hx
        if input.dim() != 2:
            h, c = h.unsqueeze(0), c.unsqueeze(0)
    h, c = torch.lstm_cell(x, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))


def gru_cell(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
    x = input if input.dim() == 2 else input.unsqueeze(0)
    if hx is None:
        h = torch.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h = hx if input.dim() == 2 else hx.unsqueeze(0)
    found = torch.gru_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return found if input.dim() == 2 else found.squeeze(0)


def rnn_cell(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
    x = input if input.dim() == 2 else input.unsqueeze(0)
    if hx is None:
        h = torch.zeros([x.size(0), self.hidden_size], dtype=x.dtype, device=x.device)
    else:
        h = hx if input.dim() == 2 else hx.unsqueeze(0)
    if self.nonlinearity == "tanh":
        found = torch.rnn_tanh_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    else:
        found = torch.rnn_relu_cell(x, h, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
    return found if input.dim() == 2 else found.squeeze(0)


_PROGRAMS = {
    nn.Conv1d: conv1d, nn.Conv2d: conv2d, nn.Conv3d: conv3d, nn.ConvTranspose1d: conv_transpose1d,
    nn.ConvTranspose2d: conv_transpose2d, nn.ConvTranspose3d: conv_transpose3d, nn.BatchNorm1d: batch_norm,
    nn.BatchNorm2d: batch_norm, nn.BatchNorm3d: batch_norm, nn.InstanceNorm1d: instance_norm,
    nn.InstanceNorm2d: instance_norm, nn.InstanceNorm3d: instance_norm, nn.Dropout: dropout, nn.Threshold: threshold,
    nn.Softmax2d: softmax2d, nn.MaxPool1d: max_pool1d, nn.MaxPool2d: max_pool2d, nn.MaxPool3d: max_pool3d,
    nn.AvgPool1d: avg_pool1d, nn.AvgPool2d: avg_pool2d, nn.AvgPool3d: avg_pool3d,
    nn.AdaptiveAvgPool1d: adaptive_avg_pool1d, nn.AdaptiveAvgPool2d: adaptive_avg_pool2d,
    nn.AdaptiveAvgPool3d: adaptive_avg_pool3d, nn.AdaptiveMaxPool1d: adaptive_max_pool1d,
    nn.AdaptiveMaxPool2d: adaptive_max_pool2d, nn.AdaptiveMaxPool3d: adaptive_max_pool3d, nn.Flatten: flatten,
    nn.Unflatten: unflatten, nn.ReflectionPad1d: reflection_pad, nn.ReflectionPad2d: reflection_pad,
    nn.ReflectionPad3d: reflection_pad, nn.ReplicationPad1d: replication_pad, nn.ReplicationPad2d: replication_pad,
    nn.ReplicationPad3d: replication_pad, nn.Sequential: sequential, nn.LSTM: lstm, nn.GRU: gru, nn.RNN: rnn,
    nn.LSTMCell: lstm_cell, nn.GRUCell: gru_cell, nn.RNNCell: rnn_cell,
    **attention.LAYERS,
}  # fmt: skip


def program_of(cls: Any, constants: dict[str, Any]) -> Any:
    """The program of a layer's ``forward``, None if its own is taken; *constants* are the layer's options."""
    if constants.get("return_indices") or constants.get("padding_mode", "zeros") != "zeros":
        return None
    if None in (
        constants.get("output_size", ()) if isinstance(constants.get("output_size", ()), (tuple, list)) else ()
    ):
        return None
    for base in cls.__mro__:
        if "forward" in vars(base):
            return _PROGRAMS.get(base) or next((_PROGRAMS[one] for one in cls.__mro__ if one in _PROGRAMS), None)
    return None
