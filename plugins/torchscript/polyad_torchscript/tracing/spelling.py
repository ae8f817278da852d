"""How calls in a captured graph are written as TorchScript.

`RULES` has, by the name of an op or effect, a function of the call and its values that gives a text for the result, or
for several results a list of texts, with None for a result that TorchScript has no text for. What has no rule is
written as the operator of PyTorch's that `polyad.aten` says it is; what is none of these, as ``ops.polyad.name(...)``,
which only polyad reads.

To add an op, write a rule and decorate it with the op's name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from .text import Text, Variable

if TYPE_CHECKING:
    from .body import Call

Spelled: TypeAlias = "Text | list[Text | None]"
Rule: TypeAlias = "Callable[..., Spelled]"

RULES: dict[str, Rule] = {}
REDUCTIONS = ("none", "mean", "sum")


def spells(*names: str) -> Callable[[Rule], Rule]:
    """A decorator: the function is the rule of the ops of these names."""

    def note(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return note


# ------------------------------------------------------------------------------------------------------------- products


@spells("linear")
def _linear(call: Call, input: Variable, weight: Any, bias: Any) -> Text:
    return call.torch("linear", input, weight, bias)


@spells("gemm")
def _gemm(call: Call, input: Variable, other: Variable, transpose_input: bool, transpose_other: bool) -> Text:
    left = call.torch("transpose", input, -2, -1) if transpose_input else input
    right = call.torch("transpose", other, -2, -1) if transpose_other else other
    return call.torch("matmul", left, right)


@spells("vector_product")
def _vector_product(call: Call, input: Variable, other: Variable) -> Text:
    return call.torch("matmul", input, other)


@spells("attention")
def _attention(
    call: Call, query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> list[Text | None]:
    return [call.torch("scaled_dot_product_attention", query, key, value, mask, 0.0, is_causal, scale=scale), None]


# ---------------------------------------------------------------------------------------------------------------- views


@spells("reshape_view")
def _reshape(call: Call, input: Variable, shape: Any) -> Text:
    return call.torch("reshape", input, shape)


@spells("permute")
def _permute(call: Call, input: Variable, dims: Any) -> Text:
    moved = [place for place, dim in enumerate(dims) if place != dim]
    return call.torch("transpose", input, *moved) if len(moved) == 2 else call.torch("permute", input, dims)


@spells("expand")
def _expand(call: Call, input: Variable, shape: Any) -> Text:
    return call.torch("expand", input, shape)


@spells("squeeze")
def _squeeze(call: Call, input: Variable, dims: Any) -> Text:
    return call.torch("squeeze", input, dims[0]) if len(dims) == 1 else call.torch("squeeze", input, dims)


@spells("slice")
def _slice(call: Call, input: Variable, dim: int, start: Any, size: Any, step: int) -> Text:
    if (start, step) == (0, 1) and size == input.sizes[dim]:
        return call.torch("slice", input, dim)
    return call.torch("slice", input, dim, start, start + size * step, step)


@spells("subscript")
def _subscript(call: Call, input: Variable, entries: Sequence[Any]) -> Text:
    made: Text = input
    dim = place = 0
    for entry in entries:
        if entry is None:
            made, dim = call.torch("unsqueeze", made, dim), dim + 1
            continue
        if isinstance(entry, tuple):
            start, size, step = entry
            if (start, step) != (0, 1) or size != input.sizes[place]:
                made = call.torch("slice", made, dim, start, start + size * step, step)
            dim += 1
        else:
            made = call.torch("select", made, dim, entry)
        place += 1
    return made if made is not input else call.torch("slice", input, 0)


@spells("diagonal", "as_strided", "real", "imag", "view_as_real", "view_as_complex", "select", "unsqueeze")
def _view_as_it_is(call: Call, input: Variable, *values: Any) -> Text:
    return call.torch(call.name, input, *values[:3])


@spells("view_dtype")
def _view_dtype(call: Call, input: Variable, dtype: Any, size: int) -> Text:
    return call.torch("view", input, dtype)


@spells("sliding_windows")
def _windows(call: Call, input: Variable, dim: int, size: int, step: int) -> Text:
    return call.torch("unfold", input, dim, size, step)


# --------------------------------------------------------------------------------------------------------------- copies


@spells("cast")
def _cast(call: Call, input: Variable, dtype: Any) -> Text:
    return call.torch("to", input, dtype)


@spells("copy")
def _copy(call: Call, input: Variable) -> Text:
    return call.torch("clone", input, memory_format=0)


@spells("copy_strided")
def _copy_strided(call: Call, input: Variable, strides: Any) -> Text:
    return call.torch("clone", input)


@spells("to_device")
def _to_device(call: Call, input: Variable, device: Any, *rest: Any) -> Text:
    return call.torch("to", input, device)


@spells("detach")
def _detach(call: Call, input: Variable) -> Text:
    return call.torch("detach", input)


@spells("pass_through", "enter")
def _alias(call: Call, input: Any, *rest: Any) -> Text:
    return call.torch("alias", input)


@spells("conj")
def _conj(call: Call, input: Variable) -> Text:
    return call.torch("resolve_conj", call.torch("conj", input))


# ------------------------------------------------------------------------------------------------------------- creation


def _options(dtype: Any, device: Any) -> dict[str, Any]:
    return {"dtype": dtype, "layout": None, "device": device, "pin_memory": False}


@spells("full")
def _full(call: Call, shape: Any, value: Any, dtype: Any, device: Any) -> Text:
    if type(value) is not bool and value in (0, 1):
        return call.torch("ones" if value else "zeros", shape, **_options(dtype, device))
    return call.torch("full", shape, value, **_options(dtype, device))


@spells("full_strided")
def _full_strided(call: Call, shape: Any, strides: Any, value: Any, dtype: Any, device: Any) -> Text:
    return _full(call, shape, value, dtype, device)


@spells("empty")
def _empty(call: Call, shape: Any, strides: Any, dtype: Any, device: Any, pinned: bool) -> Text:
    return call.torch("empty", shape, **_options(dtype, device))


@spells("arange")
def _arange(call: Call, start: Any, step: Any, count: Any, dtype: Any, device: Any) -> Text:
    if (start, step) == (0, 1):
        return call.torch("arange", count, **_options(dtype, device))
    if isinstance(start, int) and isinstance(step, int):
        return call.torch("arange", start, start + step * count, step, **_options(dtype, device))
    steps = call.torch("arange", count, **_options(dtype, device))
    return call.torch("add", call.torch("mul", steps, step), start)


@spells("eye")
def _eye(call: Call, rows: Any, columns: Any, dtype: Any, device: Any) -> Text:
    return call.torch("eye", rows, columns, **_options(dtype, device))


@spells("linspace")
def _linspace(call: Call, start: Any, end: Any, steps: Any, dtype: Any, device: Any) -> Text:
    return call.torch("linspace", start, end, steps, **_options(dtype, device))


@spells("tensor")
def _tensor(call: Call, *values: Any) -> Text:
    return call.data()


# -------------------------------------------------------------------------------------------------------------- drawing


@spells("normal")
def _normal(call: Call, shape: Any, mean: float, std: float, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    if (mean, std) == (0, 1):
        return call.torch("randn", shape, **_options(dtype, device))
    return call.torch("normal", float(mean), float(std), shape, generator=None, **_options(dtype, device))


@spells("uniform")
def _uniform(call: Call, shape: Any, low: float, high: float, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    drawn = call.torch("rand", shape, **_options(dtype, device))
    if (low, high) == (0, 1):
        return drawn
    return call.torch("add", call.torch("mul", drawn, high - low), low)


@spells("integers")
def _integers(call: Call, shape: Any, low: int, high: int, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    return call.torch("randint", low, high, shape, **_options(dtype, device))


@spells("permutation")
def _permutation(call: Call, n: Any, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    return call.torch("randperm", n, **_options(dtype, device))


@spells("dropout")
def _dropout(call: Call, input: Variable, p: float, generator: Any) -> Spelled:
    call.needs_default(generator)
    return (
        call.torch("native_dropout", input, p, True) if call.used[1] else [call.torch("dropout", input, p, True), None]
    )


@spells("rrelu")
def _rrelu(call: Call, input: Variable, lower: float, upper: float, generator: Any) -> list[Text | None]:
    call.needs_default(generator)
    return [call.torch("rrelu", input, lower, upper, True), None]


# ------------------------------------------------------------------------------------------------- convolution, pooling


@spells("convolution")
def _convolution(
    call: Call, input: Variable, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any, groups: int
) -> Text:
    return call.torch(f"conv{len(stride)}d", input, weight, bias, stride, padding, dilation, groups)


@spells("convolution_transposed")
def _convolution_transposed(
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
def _avg_pool(
    call: Call, input: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool, include: bool, divisor: int | None
) -> Text:
    rest = () if len(kernel) == 1 else (divisor,)
    return call.torch(f"avg_pool{len(kernel)}d", input, kernel, stride, padding, ceil_mode, include, *rest)


@spells("max_pool")
def _max_pool(call: Call, input: Any, kernel: Any, *values: Any) -> Text:
    return call.torch(f"max_pool{len(kernel)}d", input, kernel, *values)


@spells("max_pool_with_indices")
def _max_pool_with_indices(call: Call, input: Any, kernel: Any, *values: Any) -> Spelled:
    if not call.used[1]:
        return [call.torch(f"max_pool{len(kernel)}d", input, kernel, *values), None]
    return call.torch(f"max_pool{len(kernel)}d_with_indices", input, kernel, *values)


@spells("adaptive_max_pool")
def _adaptive_max_pool(call: Call, input: Any, size: Any) -> Text:
    return call.torch(f"adaptive_max_pool{len(size)}d", input, size)


@spells("range_sum")
def _range_sum(call: Call, input: Variable, starts: Any, ends: Any, dim: int) -> Text:
    parts = [
        call.torch("sum", call.torch("slice", input, dim, start, end), [dim], True)
        for start, end in zip(starts, ends, strict=True)
    ]
    return call.torch("cat", parts, dim)


@spells("im2col", "col2im")
def _columns(call: Call, input: Any, *values: Any) -> Text:
    return call.torch(call.name, input, *values)


@spells("pad_constant")
def _pad_constant(call: Call, input: Any, pads: Sequence[Any], value: float) -> Text:
    pairs = [(pads[at], pads[at + 1]) for at in range(0, len(pads), 2)]
    return call.torch("constant_pad_nd", input, [size for pair in pairs[::-1] for size in pair], value)


@spells("pad_repeated")
def _pad_repeated(call: Call, input: Variable, dim: int, before: int, after: int, mode: str) -> Spelled:
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
def _resample(call: Call, input: Variable, weights: Variable, places: Variable, dim: int) -> Text:
    column = [-1, *[1] * (input.ndim - dim - 1)]
    total: Text | None = None
    for tap in range(weights.value.shape[0]):
        part = call.torch("index_select", input, dim, call.torch("select", places, 0, tap))
        part = call.torch("mul", part, call.torch("reshape", call.torch("select", weights, 0, tap), column))
        total = part if total is None else call.torch("add", total, part)
    assert total is not None
    return total


@spells("pick")
def _pick(call: Call, input: Variable, places: Variable, dim: int) -> Text:
    return call.torch("index_select", input, dim, places)


@spells("weighted_rows")
def _weighted_rows(call: Call, rows: Variable, weights: Variable, index: Variable) -> Text:
    found = call.torch("embedding", rows, index)
    return call.torch("sum", call.torch("mul", found, call.torch("unsqueeze", weights, -1)), [1])


@spells("bag_sum")
def _bag_sum(
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
    zeros = call.torch("zeros", [bags + spare, weight.sizes[1]], **_options(value.dtype, value.device))
    sums = call.torch("index_add", zeros, 0, bag, rows)
    return call.torch("slice", sums, 0, 0, bags) if spare else sums


# -------------------------------------------------------------------------------------------------------- normalisation


@spells("softmax", "log_softmax")
def _softmax(call: Call, input: Any, dim: int) -> Text:
    return call.torch(call.name, input, dim)


@spells("layer_norm")
def _layer_norm(call: Call, input: Variable, weight: Any, bias: Any, count: int, eps: float) -> list[Text | None]:
    return [call.torch("layer_norm", input, input.sizes[-count:], weight, bias, eps), None, None]


@spells("rms_norm")
def _rms_norm(call: Call, input: Variable, weight: Any, count: int, eps: float) -> list[Text | None]:
    return [call.torch("rms_norm", input, input.sizes[-count:], weight, eps), None]


@spells("batch_norm")
def _batch_norm(call: Call, input: Variable, weight: Any, bias: Any, eps: float) -> list[Text | None]:
    dims = [0, *range(2, input.ndim)]
    out = call.torch("batch_norm", input, weight, bias, None, None, True, 0.0, eps, True)
    return [out, call.torch("mean", input, dims), call.torch("var", input, dims, correction=0, keepdim=False)]


@spells("batch_norm_by")
def _batch_norm_by(call: Call, input: Any, mean: Any, var: Any, weight: Any, bias: Any, eps: float) -> Text:
    return call.torch("batch_norm", input, weight, bias, mean, var, False, 0.0, eps, True)


# ---------------------------------------------------------------------------------------------------------- activations


@spells("gelu")
def _gelu(call: Call, input: Any, approximate: str) -> Text:
    return call.torch("gelu", input, approximate=approximate)


@spells("glu")
def _glu(call: Call, input: Any, gate: Any) -> Text:
    return call.torch("mul", input, call.torch("sigmoid", gate))


@spells("prelu")
def _prelu(call: Call, input: Any, weight: Any) -> Text:
    return call.torch("where", call.torch("gt", input, 0), input, call.torch("mul", input, weight))


@spells(
    "log_sigmoid", "elu", "softplus", "softshrink", "hardshrink", "threshold", "leaky_relu", "hardtanh", "hardsigmoid",
    "hardswish", "silu", "mish",
)  # fmt: skip
def _activation(call: Call, input: Any, *values: Any) -> Text:
    return call.torch(call.name, input, *values)


# --------------------------------------------------------------------------------------------------------------- losses


@spells("huber")
def _huber(call: Call, input: Any, target: Any, delta: float, scale: float) -> Text:
    loss = call.torch("huber_loss", input, target, 0, delta)
    return loss if scale == 1 else call.torch("mul", loss, scale)


@spells("binary_cross_entropy")
def _binary_cross_entropy(call: Call, input: Any, target: Any) -> Text:
    return call.torch("binary_cross_entropy", input, target, None, 0)


@spells("cross_entropy")
def _cross_entropy(
    call: Call, input: Any, target: Any, weight: Any, reduction: str, ignored: int, smoothing: float
) -> Text:
    by = REDUCTIONS.index(reduction)
    return call.torch("cross_entropy_loss", input, target, weight, by, ignored, smoothing)


@spells("nll_loss")
def _nll_loss(
    call: Call, input: Any, target: Any, weight: Any, reduction: str, ignored: int, smoothing: float
) -> Spelled:
    if smoothing:
        return [None]
    return call.torch("nll_loss_nd", input, target, weight, REDUCTIONS.index(reduction), ignored)


# ----------------------------------------------------------------------------------------------------------- reductions


@spells("prod")
def _prod(call: Call, input: Variable, dims: Any, keepdim: bool) -> Text:
    if len(dims) == input.ndim and not keepdim:
        return call.torch("prod", input)
    made: Text = input
    for dim in sorted(dims, reverse=True):
        made = call.torch("prod", made, dim, keepdim)
    return made


@spells("norm", "norm2")
def _norm(call: Call, input: Any, order: float, dims: Any, keepdim: bool) -> Text:
    return call.torch("linalg_vector_norm", input, order, dims, keepdim)


@spells("any", "all")
def _truth(call: Call, input: Variable, dims: Any, keepdim: bool) -> Text:
    if len(dims) == input.ndim and not keepdim:
        return call.torch(call.name, input)
    return call.torch(call.name, input, dims[0] if len(dims) == 1 else dims, keepdim)


@spells("var", "std")
def _spread(call: Call, input: Any, dims: Any, correction: float, keepdim: bool) -> Text:
    return call.torch(call.name, input, dims, correction=correction, keepdim=keepdim)


@spells("median", "nanmedian", "count_nonzero", "cummax", "cummin", "logcumsumexp", "kthvalue", "mode", "isin", "roll")
def _as_it_is(call: Call, *values: Any) -> Text:
    return call.torch(call.name, *values)


@spells("median_dim", "nanmedian_dim")
def _median_dim(call: Call, input: Any, dim: int, keepdim: bool) -> Text:
    return call.torch(call.name.removesuffix("_dim"), input, dim, keepdim)


@spells("sorted")
def _sorted(call: Call, input: Any, dim: int, descending: bool) -> Text:
    return call.element(call.torch("sort", input, dim, descending), 0)


@spells("sort")
def _sort(call: Call, input: Any, dim: int, descending: bool) -> Text:
    return call.torch("sort", input, stable=True, dim=dim, descending=descending)


# ------------------------------------------------------------------------------------------------------------- indexing


@spells("embedding")
def _embedding(call: Call, weight: Any, input: Any, padding: int, by_frequency: bool) -> Text:
    return call.torch("embedding", weight, input, padding, by_frequency, False)


@spells("index")
def _index(call: Call, input: Any, indices: Any) -> Text:
    return call.torch("index", input, call.tensors_or_none(indices))


@spells("index_put")
def _index_put(call: Call, input: Any, indices: Any, values: Any, accumulate: bool) -> Text:
    return call.torch("index_put", input, call.tensors_or_none(indices), call.as_tensor(values, input), accumulate)


@spells("__setitem__")
def _setitem(call: Call, target: Any, rest: Any, named: Any) -> Text:
    indices, values, accumulate = rest
    return call.torch("index_put_", target, call.tensors_or_none(indices), call.as_tensor(values, target), accumulate)


@spells("gather", "index_add", "index_copy", "scatter", "scatter_add")
def _along(call: Call, input: Any, *values: Any) -> Text:
    *operands, dim = values
    return call.torch(call.name, input, dim, *operands)


@spells("index_select")
def _index_select(call: Call, input: Any, index: Any, dim: int) -> Text:
    return call.torch("index_select", input, dim, index)


@spells("scatter_reduce")
def _scatter_reduce(call: Call, input: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool) -> Text:
    return call.torch("scatter_reduce", input, dim, index, src, reduce, include_self=include_self)


@spells("searchsorted")
def _searchsorted(call: Call, sequence: Any, values: Any, right: bool) -> Text:
    return call.torch("searchsorted", sequence, values, out_int32=False, right=right)


@spells("distinct")
def _distinct(call: Call, input: Any) -> Text:
    return call.element(call.torch("_unique2", input), 0)


@spells("repeat", "repeat_interleave", "nonzero", "masked_scatter", "cdist", "complex", "polar", "bincount")
def _plain(call: Call, *values: Any) -> Text:
    return call.torch(call.name, *values)


@spells("euclidean_cdist")
def _euclidean(call: Call, x1: Any, x2: Any) -> Text:
    return call.torch("cdist", x1, x2, 2.0)


@spells("trunc_divide")
def _trunc_divide(call: Call, input: Any, other: Any) -> Text:
    return call.torch("div", input, other, rounding_mode="trunc")


@spells("addcmul", "addcdiv")
def _addc(call: Call, input: Any, tensor1: Any, tensor2: Any, value: Any) -> Text:
    return call.torch(call.name, input, tensor1, tensor2, value=value)


# ----------------------------------------------------------------------------------------------------------- transforms

_BY = {"backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}
"""PyTorch's numbers for how a transform is scaled: not at all, by the root of the count, by the count."""


@spells("fft_r2c")
def _fft_r2c(call: Call, input: Any, dims: Any, norm: str) -> Text:
    return call.torch("_fft_r2c", input, dims, _BY[norm][0], True)


@spells("fft_c2c")
def _fft_c2c(call: Call, input: Any, dims: Any, norm: str, forward: bool) -> Text:
    return call.torch("_fft_c2c", input, dims, _BY[norm][0 if forward else 1], forward)


@spells("fft_c2r")
def _fft_c2r(call: Call, input: Any, dims: Any, norm: str, size: int) -> Text:
    return call.torch("_fft_c2r", input, dims, _BY[norm][1], size)


# -------------------------------------------------------------------------------------------------------------- writing


@spells("copy_")
def _copy_into(call: Call, target: Any, source: Any, *rest: Any) -> Text:
    return call.torch("copy_", target, source)


@spells("write")
def _write(call: Call, caller: Any, target: Any, source: Any) -> Text:
    return call.torch("copy_", target, source)


@spells("fill_")
def _fill(call: Call, target: Any, value: Any) -> Text:
    return call.torch("fill_", target, value)


# ------------------------------------------------------------------------------------------------------------ recurrent


@spells("lstm_gates")
def _lstm_gates(call: Call, input_gates: Any, hidden_gates: Any, cell: Any) -> list[Text | None]:
    hidden, new = call.program("lstm_gates", 2, input_gates, hidden_gates, cell)
    return [hidden, new, None, None, None, None]


@spells("gru_gates")
def _gru_gates(call: Call, input_gates: Any, hidden_gates: Any, hidden: Any) -> list[Text | None]:
    (new,) = call.program("gru_gates", 1, input_gates, hidden_gates, hidden)
    return [new, None, None, None]


@spells("lstm_sequence")
def _lstm_sequence(call: Call, *values: Any) -> list[Text | None]:
    return [*call.program("lstm_sequence", 3, *values), None, None]


@spells("gru_sequence")
def _gru_sequence(call: Call, *values: Any) -> list[Text | None]:
    return [*call.program("gru_sequence", 2, *values), None]


@spells("rnn_sequence")
def _rnn_sequence(call: Call, *values: Any) -> list[Text | None]:
    return [*call.program("rnn_sequence", 2, *values)]
