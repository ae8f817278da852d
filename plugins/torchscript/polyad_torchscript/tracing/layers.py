"""How what layers compute is written as TorchScript: convolutions, normalisation, activations, losses, recurrence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from .spelling import REDUCTIONS, Spelled, options, spells
from .text import Text, Variable

if TYPE_CHECKING:
    from .body import Call


# ------------------------------------------------------------------------------------------------- convolution, pooling


@spells("convolution")
def _spell_convolution(
    call: Call, input: Variable, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Text:
    return call.torch(f"conv{len(stride)}d", input, weight, bias, stride, padding, dilation, groups)


@spells("convolution_transposed")
def _spell_convolution_transposed(
    call: Call,
    input: Variable,
    weight: Variable,
    bias: Any,
    size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
) -> Text:
    ndim, shape = len(stride), input.value.shape
    given = call.example(size)
    added = [
        given[k]
        - ((shape[k - ndim] - 1) * stride[k] - 2 * padding[k] + dilation[k] * (weight.value.shape[k - ndim] - 1) + 1)
        for k in range(ndim)
    ]
    return call.torch(f"conv_transpose{ndim}d", input, weight, bias, stride, padding, added, groups, dilation)


@spells("avg_pool")
def _spell_avg_pool(
    call: Call, input: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: int | None
) -> Text:
    rest = () if len(kernel) == 1 else (divisor,)
    return call.torch(f"avg_pool{len(kernel)}d", input, kernel, stride, padding, ceil_mode, include, *rest)


@spells("max_pool")
def _spell_max_pool(call: Call, input: Any, kernel: Any, *values: Any) -> Text:
    return call.torch(f"max_pool{len(kernel)}d", input, kernel, *values)


@spells("max_pool_with_indices")
def _spell_max_pool_with_indices(call: Call, input: Any, kernel: Any, *values: Any) -> Spelled:
    if not call.used[1]:
        return [call.torch(f"max_pool{len(kernel)}d", input, kernel, *values), None]
    return call.torch(f"max_pool{len(kernel)}d_with_indices", input, kernel, *values)


@spells("adaptive_max_pool")
def _spell_adaptive_max_pool(call: Call, input: Any, size: Any) -> Text:
    return call.torch(f"adaptive_max_pool{len(size)}d", input, size)


@spells("range_sum")
def _spell_range_sum(call: Call, input: Variable, starts: Any, ends: Any, dim: int) -> Text:
    parts = [
        call.torch("sum", call.torch("slice", input, dim, start, end), [dim], True)
        for start, end in zip(starts, ends, strict=True)
    ]
    return call.torch("cat", parts, dim)


@spells("im2col", "col2im")
def _spell_columns(call: Call, input: Any, *values: Any) -> Text:
    return call.torch(call.name, input, *values)


@spells("pad_constant")
def _spell_pad_constant(call: Call, input: Any, pads: Sequence[Any], value: float) -> Text:
    pairs = [(pads[at], pads[at + 1]) for at in range(0, len(pads), 2)]
    return call.torch("constant_pad_nd", input, [size for pair in pairs[::-1] for size in pair], value)


@spells("pad_repeated")
def _spell_pad_repeated(call: Call, input: Variable, dim: int, before: int, after: int, mode: str) -> Spelled:
    size = input.sizes[dim]
    if before < 0 or after < 0:
        return [None]
    edges = {
        "reflect": ((1, before + 1), (size - 1 - after, size - 1)),
        "circular": ((size - before, size), (0, after)),
        "replicate": ((0, 1), (size - 1, size)),
    }[mode]
    parts: list[Text] = [input]
    for place, ((start, end), count) in enumerate(zip(edges, (before, after), strict=True)):
        if not count:
            continue
        part = call.torch("slice", input, dim, start, end)
        if mode == "reflect":
            part = call.torch("flip", part, [dim])
        elif mode == "replicate":
            part = call.torch("repeat_interleave", part, count, dim)
        parts.insert(0 if place == 0 else len(parts), part)
    return call.torch("cat", parts, dim)


@spells("resample")
def _spell_resample(call: Call, input: Variable, weights: Variable, places: Variable, dim: int) -> Text:
    column = [-1, *[1] * (input.ndim - dim - 1)]
    total: Text | None = None
    for tap in range(weights.value.shape[0]):
        part = call.torch("index_select", input, dim, call.torch("select", places, 0, tap))
        part = call.torch("mul", part, call.torch("reshape", call.torch("select", weights, 0, tap), column))
        total = part if total is None else call.torch("add", total, part)
    assert total is not None
    return total


@spells("pick")
def _spell_pick(call: Call, input: Variable, places: Variable, dim: int) -> Text:
    return call.torch("index_select", input, dim, places)


@spells("weighted_rows")
def _spell_weighted_rows(call: Call, rows: Variable, weights: Variable, index: Variable) -> Text:
    found = call.torch("embedding", rows, index)
    return call.torch("sum", call.torch("mul", found, call.torch("unsqueeze", weights, -1)), [1])


@spells("bag_sum")
def _spell_bag_sum(
    call: Call,
    weight: Variable,
    index: Any,
    bag: Any,
    factors: Any,
    bags: Any,
    by_frequency: bool,
    spare: int,
) -> Text:
    rows = call.torch("embedding", weight, index, -1, by_frequency, False)
    if factors is not None:
        rows = call.torch("mul", rows, call.torch("unsqueeze", factors, 1))
    value = weight.value
    zeros = call.torch("zeros", [bags + spare, weight.sizes[1]], **options(value.dtype, value.device))
    sums = call.torch("index_add", zeros, 0, bag, rows)
    return call.torch("slice", sums, 0, 0, bags) if spare else sums


# -------------------------------------------------------------------------------------------------------- normalisation


@spells("softmax", "log_softmax")
def _spell_softmax(call: Call, input: Any, dim: int) -> Text:
    return call.torch(call.name, input, dim)


@spells("layer_norm")
def _spell_layer_norm(call: Call, input: Variable, weight: Any, bias: Any, count: int, eps: float) -> list[Text | None]:
    return [call.torch("layer_norm", input, input.sizes[-count:], weight, bias, eps), None, None]


@spells("rms_norm")
def _spell_rms_norm(call: Call, input: Variable, weight: Any, count: int, eps: float) -> list[Text | None]:
    return [call.torch("rms_norm", input, input.sizes[-count:], weight, eps), None]


@spells("batch_norm")
def _spell_batch_norm(call: Call, input: Variable, weight: Any, bias: Any, eps: float) -> list[Text | None]:
    dims = [0, *range(2, input.ndim)]
    out = call.torch("batch_norm", input, weight, bias, None, None, True, 0.0, eps, True)
    return [out, call.torch("mean", input, dims), call.torch("var", input, dims, correction=0, keepdim=False)]


@spells("batch_norm_by")
def _spell_batch_norm_by(call: Call, input: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Text:
    return call.torch("batch_norm", input, weight, bias, mean, var, False, 0.0, eps, True)


# ---------------------------------------------------------------------------------------------------------- activations


@spells("gelu")
def _spell_gelu(call: Call, input: Any, approximate: str) -> Text:
    return call.torch("gelu", input, approximate=approximate)


@spells("glu")
def _spell_glu(call: Call, input: Any, gate: Any) -> Text:
    return call.torch("mul", input, call.torch("sigmoid", gate))


@spells("prelu")
def _spell_prelu(call: Call, input: Any, weight: Any) -> Text:
    return call.torch("where", call.torch("gt", input, 0), input, call.torch("mul", input, weight))


@spells(
    "log_sigmoid", "elu", "softplus", "softshrink", "hardshrink", "threshold", "leaky_relu", "hardtanh", "hardsigmoid",
    "hardswish", "silu", "mish",
)  # fmt: skip
def _spell_activation(call: Call, input: Any, *values: Any) -> Text:
    return call.torch(call.name, input, *values)


# --------------------------------------------------------------------------------------------------------------- losses


@spells("huber")
def _spell_huber(call: Call, input: Any, target: Any, delta: float, scale: float) -> Text:
    loss = call.torch("huber_loss", input, target, 0, delta)
    return loss if scale == 1 else call.torch("mul", loss, scale)


@spells("binary_cross_entropy")
def _spell_binary_cross_entropy(call: Call, input: Any, target: Any) -> Text:
    return call.torch("binary_cross_entropy", input, target, None, 0)


@spells("cross_entropy")
def _spell_cross_entropy(
    call: Call, input: Any, target: Any, weight: Any, reduction: str, ignored: int, smoothing: float
) -> Text:
    by = REDUCTIONS.index(reduction)
    return call.torch("cross_entropy_loss", input, target, weight, by, ignored, smoothing)


@spells("nll_loss")
def _spell_nll_loss(
    call: Call, input: Any, target: Any, weight: Any, reduction: str, ignored: int, smoothing: float
) -> Spelled:
    if smoothing:
        return [None]
    return call.torch("nll_loss_nd", input, target, weight, REDUCTIONS.index(reduction), ignored)


# ------------------------------------------------------------------------------------------------------------ recurrent


@spells("lstm_gates")
def _spell_lstm_gates(call: Call, input_gates: Any, hidden_gates: Any, cell: Any) -> list[Text | None]:
    hidden, new = call.program("lstm_gates", 2, input_gates, hidden_gates, cell)
    return [hidden, new, None, None, None, None]


@spells("gru_gates")
def _spell_gru_gates(call: Call, input_gates: Any, hidden_gates: Any, hidden: Any) -> list[Text | None]:
    (new,) = call.program("gru_gates", 1, input_gates, hidden_gates, hidden)
    return [new, None, None, None]


@spells("lstm_sequence")
def _spell_lstm_sequence(call: Call, *values: Any) -> list[Text | None]:
    return [*call.program("lstm_sequence", 3, *values), None, None]


@spells("gru_sequence")
def _spell_gru_sequence(call: Call, *values: Any) -> list[Text | None]:
    return [*call.program("gru_sequence", 2, *values), None]


@spells("rnn_sequence")
def _spell_rnn_sequence(call: Call, *values: Any) -> list[Text | None]:
    return [*call.program("rnn_sequence", 2, *values)]
