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
def _spell_linear(call: Call, input: Variable, weight: Any, bias: Any) -> Text:
    return call.torch("linear", input, weight, bias)


@spells("gemm")
def _spell_gemm(call: Call, input: Variable, other: Variable, transpose_input: bool, transpose_other: bool) -> Text:
    left = call.torch("transpose", input, -2, -1) if transpose_input else input
    right = call.torch("transpose", other, -2, -1) if transpose_other else other
    return call.torch("matmul", left, right)


@spells("vector_product")
def _spell_vector_product(call: Call, input: Variable, other: Variable) -> Text:
    return call.torch("matmul", input, other)


@spells("attention")
def _spell_attention(
    call: Call, query: Any, key: Any, value: Any, mask: Any, is_causal: bool, scale: float
) -> list[Text | None]:
    return [call.torch("scaled_dot_product_attention", query, key, value, mask, 0.0, is_causal, scale=scale), None]


# ---------------------------------------------------------------------------------------------------------------- views


@spells("reshape_view")
def _spell_reshape(call: Call, input: Variable, shape: Any) -> Text:
    return call.torch("reshape", input, shape)


@spells("permute")
def _spell_permute(call: Call, input: Variable, dims: Any) -> Text:
    moved = [place for place, dim in enumerate(dims) if place != dim]
    return call.torch("transpose", input, *moved) if len(moved) == 2 else call.torch("permute", input, dims)


@spells("expand")
def _spell_expand(call: Call, input: Variable, shape: Any) -> Text:
    return call.torch("expand", input, shape)


@spells("squeeze")
def _spell_squeeze(call: Call, input: Variable, dims: Any) -> Text:
    return call.torch("squeeze", input, dims[0]) if len(dims) == 1 else call.torch("squeeze", input, dims)


@spells("slice")
def _spell_slice(call: Call, input: Variable, dim: int, start: Any, size: Any, step: int) -> Text:
    if (start, step) == (0, 1) and size == input.sizes[dim]:
        return call.torch("slice", input, dim)
    return call.torch("slice", input, dim, start, start + size * step, step)


@spells("subscript")
def _spell_subscript(call: Call, input: Variable, entries: Sequence[Any]) -> Text:
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
def _spell_view_as_it_is(call: Call, input: Variable, *values: Any) -> Text:
    return call.torch(call.name, input, *values[:3])


@spells("view_dtype")
def _spell_view_dtype(call: Call, input: Variable, dtype: Any, size: int) -> Text:
    return call.torch("view", input, dtype)


@spells("sliding_windows")
def _spell_windows(call: Call, input: Variable, dim: int, size: int, step: int) -> Text:
    return call.torch("unfold", input, dim, size, step)


# --------------------------------------------------------------------------------------------------------------- copies


@spells("cast")
def _spell_cast(call: Call, input: Variable, dtype: Any) -> Text:
    return call.torch("to", input, dtype)


@spells("copy")
def _spell_copy(call: Call, input: Variable) -> Text:
    return call.torch("clone", input, memory_format=0)


@spells("copy_strided")
def _spell_copy_strided(call: Call, input: Variable, strides: Any) -> Text:
    return call.torch("clone", input)


@spells("to_device")
def _spell_to_device(call: Call, input: Variable, device: Any, *rest: Any) -> Text:
    return call.torch("to", input, device)


@spells("detach")
def _spell_detach(call: Call, input: Variable) -> Text:
    return call.torch("detach", input)


@spells("pass_through", "enter")
def _spell_alias(call: Call, input: Any, *rest: Any) -> Text:
    return call.torch("alias", input)


@spells("conj")
def _spell_conj(call: Call, input: Variable) -> Text:
    return call.torch("resolve_conj", call.torch("conj", input))


# ------------------------------------------------------------------------------------------------------------- creation


def options(dtype: Any, device: Any) -> dict[str, Any]:
    """The arguments by name of what makes a tensor."""
    return {"dtype": dtype, "layout": None, "device": device, "pin_memory": False}


@spells("full")
def _spell_full(call: Call, shape: Any, value: Any, dtype: Any, device: Any) -> Text:
    if type(value) is not bool and value in (0, 1):
        return call.torch("ones" if value else "zeros", shape, **options(dtype, device))
    return call.torch("full", shape, value, **options(dtype, device))


@spells("full_strided")
def _spell_full_strided(call: Call, shape: Any, strides: Any, value: Any, dtype: Any, device: Any) -> Spelled:
    return _spell_full(call, shape, value, dtype, device)


@spells("empty")
def _spell_empty(call: Call, shape: Any, strides: Any, dtype: Any, device: Any, pinned: bool) -> Text:
    return call.torch("empty", shape, **options(dtype, device))


@spells("arange")
def _spell_arange(call: Call, start: Any, step: Any, count: Any, dtype: Any, device: Any) -> Text:
    if (start, step) == (0, 1):
        return call.torch("arange", count, **options(dtype, device))
    if isinstance(start, int) and isinstance(step, int):
        return call.torch("arange", start, start + step * count, step, **options(dtype, device))
    steps = call.torch("arange", count, **options(dtype, device))
    return call.torch("add", call.torch("mul", steps, step), start)


@spells("eye")
def _spell_eye(call: Call, rows: Any, columns: Any, dtype: Any, device: Any) -> Text:
    return call.torch("eye", rows, columns, **options(dtype, device))


@spells("linspace")
def _spell_linspace(call: Call, start: Any, end: Any, steps: Any, dtype: Any, device: Any) -> Text:
    return call.torch("linspace", start, end, steps, **options(dtype, device))


@spells("tensor")
def _spell_tensor(call: Call, *values: Any) -> Text:
    return call.data()


# -------------------------------------------------------------------------------------------------------------- drawing


@spells("normal")
def _spell_normal(call: Call, shape: Any, mean: float, std: float, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    if (mean, std) == (0, 1):
        return call.torch("randn", shape, **options(dtype, device))
    return call.torch("normal", float(mean), float(std), shape, generator=None, **options(dtype, device))


@spells("uniform")
def _spell_uniform(call: Call, shape: Any, low: float, high: float, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    drawn = call.torch("rand", shape, **options(dtype, device))
    if (low, high) == (0, 1):
        return drawn
    return call.torch("add", call.torch("mul", drawn, high - low), low)


@spells("integers")
def _spell_integers(call: Call, shape: Any, low: int, high: int, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    return call.torch("randint", low, high, shape, **options(dtype, device))


@spells("permutation")
def _spell_permutation(call: Call, n: Any, generator: Any, dtype: Any, device: Any) -> Text:
    call.needs_default(generator)
    return call.torch("randperm", n, **options(dtype, device))


@spells("dropout")
def _spell_dropout(call: Call, input: Variable, p: float, generator: Any) -> Spelled:
    call.needs_default(generator)
    return (
        call.torch("native_dropout", input, p, True) if call.used[1] else [call.torch("dropout", input, p, True), None]
    )


@spells("rrelu")
def _spell_rrelu(call: Call, input: Variable, lower: float, upper: float, generator: Any) -> list[Text | None]:
    call.needs_default(generator)
    return [call.torch("rrelu", input, lower, upper, True), None]


# ----------------------------------------------------------------------------------------------------------- reductions


@spells("prod")
def _spell_prod(call: Call, input: Variable, dims: Any, keepdim: bool) -> Text:
    if len(dims) == input.ndim and not keepdim:
        return call.torch("prod", input)
    made: Text = input
    for dim in sorted(dims, reverse=True):
        made = call.torch("prod", made, dim, keepdim)
    return made


@spells("norm", "norm2")
def _spell_norm(call: Call, input: Any, order: float, dims: Any, keepdim: bool) -> Text:
    return call.torch("linalg_vector_norm", input, order, dims, keepdim)


@spells("any", "all")
def _spell_truth(call: Call, input: Variable, dims: Any, keepdim: bool) -> Text:
    if len(dims) == input.ndim and not keepdim:
        return call.torch(call.name, input)
    return call.torch(call.name, input, dims[0] if len(dims) == 1 else dims, keepdim)


@spells("var", "std")
def _spell_spread(call: Call, input: Any, dims: Any, correction: float, keepdim: bool) -> Text:
    return call.torch(call.name, input, dims, correction=correction, keepdim=keepdim)


@spells("median", "nanmedian", "count_nonzero", "cummax", "cummin", "logcumsumexp", "kthvalue", "mode", "isin", "roll")
def _spell_as_it_is(call: Call, *values: Any) -> Text:
    return call.torch(call.name, *values)


@spells("median_dim", "nanmedian_dim")
def _spell_median_dim(call: Call, input: Any, dim: int, keepdim: bool) -> Text:
    return call.torch(call.name.removesuffix("_dim"), input, dim, keepdim)


@spells("sorted")
def _spell_sorted(call: Call, input: Any, dim: int, descending: bool) -> Text:
    return call.element(call.torch("sort", input, dim, descending), 0)


@spells("sort")
def _spell_sort(call: Call, input: Any, dim: int, descending: bool) -> Text:
    return call.torch("sort", input, stable=True, dim=dim, descending=descending)


# ------------------------------------------------------------------------------------------------------------- indexing


@spells("embedding")
def _spell_embedding(call: Call, weight: Any, input: Any, padding: int, by_frequency: bool) -> Text:
    return call.torch("embedding", weight, input, padding, by_frequency, False)


@spells("index")
def _spell_index(call: Call, input: Any, indices: Any) -> Text:
    return call.torch("index", input, call.tensors_or_none(indices))


@spells("index_put")
def _spell_index_put(call: Call, input: Any, indices: Any, values: Any, accumulate: bool) -> Text:
    return call.torch("index_put", input, call.tensors_or_none(indices), call.as_tensor(values, input), accumulate)


@spells("__setitem__")
def _spell_setitem(call: Call, target: Any, rest: Any, named: Any) -> Text:
    indices, values, accumulate = rest
    return call.torch("index_put_", target, call.tensors_or_none(indices), call.as_tensor(values, target), accumulate)


@spells("gather", "index_add", "index_copy", "scatter", "scatter_add")
def _spell_along(call: Call, input: Any, *values: Any) -> Text:
    *operands, dim = values
    return call.torch(call.name, input, dim, *operands)


@spells("index_select")
def _spell_index_select(call: Call, input: Any, index: Any, dim: int) -> Text:
    return call.torch("index_select", input, dim, index)


@spells("scatter_reduce")
def _spell_scatter_reduce(
    call: Call, input: Any, index: Any, src: Any, dim: int, reduce: str, include_self: bool
) -> Text:
    return call.torch("scatter_reduce", input, dim, index, src, reduce, include_self=include_self)


@spells("searchsorted")
def _spell_searchsorted(call: Call, sequence: Any, values: Any, right: bool) -> Text:
    return call.torch("searchsorted", sequence, values, out_int32=False, right=right)


@spells("distinct")
def _spell_distinct(call: Call, input: Any) -> Text:
    return call.element(call.torch("_unique2", input), 0)


@spells("repeat", "repeat_interleave", "nonzero", "masked_scatter", "cdist", "complex", "polar", "bincount")
def _spell_plain(call: Call, *values: Any) -> Text:
    return call.torch(call.name, *values)


@spells("euclidean_cdist")
def _spell_euclidean(call: Call, x1: Any, x2: Any) -> Text:
    return call.torch("cdist", x1, x2, 2.0)


@spells("trunc_divide")
def _spell_trunc_divide(call: Call, input: Any, other: Any) -> Text:
    return call.torch("div", input, other, rounding_mode="trunc")


@spells("addcmul", "addcdiv")
def _spell_addc(call: Call, input: Any, tensor1: Any, tensor2: Any, value: Any) -> Text:
    return call.torch(call.name, input, tensor1, tensor2, value=value)


# ----------------------------------------------------------------------------------------------------------- transforms

_BY = {"backward": (0, 2), "ortho": (1, 1), "forward": (2, 0)}
"""PyTorch's numbers for how a transform is scaled: not at all, by the root of the count, by the count."""


@spells("fft_r2c")
def _spell_fft_r2c(call: Call, input: Any, dims: Any, norm: str) -> Text:
    return call.torch("_fft_r2c", input, dims, _BY[norm][0], True)


@spells("fft_c2c")
def _spell_fft_c2c(call: Call, input: Any, dims: Any, norm: str, forward: bool) -> Text:
    return call.torch("_fft_c2c", input, dims, _BY[norm][0 if forward else 1], forward)


@spells("fft_c2r")
def _spell_fft_c2r(call: Call, input: Any, dims: Any, norm: str, size: int) -> Text:
    return call.torch("_fft_c2r", input, dims, _BY[norm][1], size)


# -------------------------------------------------------------------------------------------------------------- writing


@spells("copy_")
def _spell_copy_into(call: Call, target: Any, source: Any, *rest: Any) -> Text:
    return call.torch("copy_", target, source)


@spells("write")
def _spell_write(call: Call, caller: Any, target: Any, source: Any) -> Text:
    return call.torch("copy_", target, source)


@spells("fill_")
def _spell_fill(call: Call, target: Any, value: Any) -> Text:
    return call.torch("fill_", target, value)
