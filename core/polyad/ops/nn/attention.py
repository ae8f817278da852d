"""Attention: weighted averages of values, with weights from how queries and keys agree (Vaswani et al. 2017).

`_attention` is a single op, so that a backend need not hold the scores of all heads at once; it returns the logarithms
of the sums beside the averages, and from these the gradient computes the weights again. A query that may attend to no
key gets 0, here as in PyTorch.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ...base.dtypes import BOOL, FLOATING, bool_, float32
from ...base.memory_formats import dense_strides_like
from ...base.shapes_and_strides import Shape, broadcast_shapes, contiguous_strides
from ...base.state import warn_user
from ...dispatch.forward import by_body
from ...dispatch.op import composite, function, joint_gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import opaque
from ...dispatch.views import layout_of
from ...errors import DTypeError, IndexOutOfRange, ShapeError, UnsupportedDType, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import ones, zeros
from ..declaring.checks import check_floating
from ..declaring.half_types import HALF_TYPES, half_to_float32
from ..memory.copying import _copy_strided
from ..pointwise.where import _where
from ..products.matmul import matmul
from ..shaping.joining import cat
from ..shaping.reshape import _reshape
from .activation.softmax import softmax
from .dropout import dropout
from .linear import linear

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ...backend.interface import Signature


def _with_sums(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = types[0].dtype
    return Typing((None,) * len(types), (dtype, float32 if dtype in HALF_TYPES else dtype))


def _averages(query: Shape, key: Shape, value: Shape, *rest: Any) -> tuple[Shape, Shape]:
    lead = broadcast_shapes(query[:-2], key[:-2], value[:-2])
    return (*lead, query[-2], value[-1]), (*lead, query[-2])


def _scores(query: Tensor, key: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    """How queries and keys agree (..., L, S); minus infinity where a query may not attend to a key."""
    scores = matmul(half_to_float32(query) * scale, half_to_float32(key).transpose(-2, -1))
    if attn_mask is not None:
        if attn_mask._type.dtype is bool_:
            scores = _where(attn_mask, scores, -math.inf)
        else:
            scores = scores + half_to_float32(attn_mask)
    if is_causal:
        earlier = ones(scores._array.shape[-2:], dtype=bool_, device=scores.device).tril()
        scores = _where(earlier, scores, -math.inf)
    return scores


def _weights(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Softmax of the scores over the keys, 0 where there is none to attend to; and the logarithms of the sums, which
    are infinite there.
    """
    if not scores._array.shape[-1]:
        return scores, scores.new_full(scores._array.shape[:-1], math.inf)
    top = scores.detach().amax(-1, keepdim=True)
    top = _where(top == -math.inf, 0.0, top)
    powers = (scores - top).exp()
    total = powers.sum(-1, keepdim=True)
    none = total == 0
    logarithms = _where(none, math.inf, total.log() + top).squeeze(-1)
    return powers / _where(none, 1.0, total), logarithms


@composite(
    dtype=_with_sums,
    structure=opaque,
    shape=_averages,
    outputs=("out", "sums"),
    method=False,
    grad_name="ScaledDotProductAttentionBackward0",
)
def _attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None, is_causal: bool, scale: float
) -> tuple[Tensor, Tensor]:
    """Averages (..., L, V) of *value* (..., S, V) by softmax of ``scale * query @ key.T``, and log-sums (..., L)."""
    weights, sums = _weights(_scores(query, key, attn_mask, is_causal, scale))
    return matmul(weights, half_to_float32(value)).to(query.dtype), sums


def _like_operands(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None,) * len(types), (types[1].dtype, types[2].dtype, types[3].dtype))


def _gradient_shapes(grad: Shape, query: Shape, key: Shape, value: Shape, *rest: Any) -> tuple[Shape, Shape, Shape]:
    lead = grad[:-2]
    return (*lead, *query[-2:]), (*lead, *key[-2:]), (*lead, *value[-2:])


@composite(
    dtype=_like_operands,
    structure=opaque,
    shape=_gradient_shapes,
    outputs=("grad_query", "grad_key", "grad_value"),
    method=False,
)
def _attention_backward(
    grad: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None,
    averages: Tensor,
    sums: Tensor,
    is_causal: bool,
    scale: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of `attention`, with all dimensions of batches; *averages* and *sums* are what it gave."""
    wide = half_to_float32(grad)
    weights, _ = _weights(_scores(query, key, attn_mask, is_causal, scale))
    of_weights = matmul(wide, half_to_float32(value).transpose(-2, -1))
    weighted = weights * of_weights
    of_scores = (weighted - weights * weighted.sum(-1, keepdim=True)) * scale
    return (
        matmul(of_scores, half_to_float32(key)).to(query.dtype),
        matmul(of_scores.transpose(-2, -1), half_to_float32(query)).to(key.dtype),
        matmul(weights.transpose(-2, -1), wide).to(value.dtype),
    )


joint_gradient(
    _attention,
    "query",
    "value",
    lambda grads, query, key, value, attn_mask, out, sums, is_causal, scale: _attention_backward(
        grads[0], query, key, value, attn_mask, out.detach(), sums.detach(), is_causal, scale
    ),
)
by_body(_attention)


def _check_operands(op: str, query: Tensor, key: Tensor, value: Tensor) -> dict[str, Any]:
    operands = {"query": query, "key": key, "value": value}
    for name, tensor in operands.items():
        check_tensor(tensor, op, name)
    dtype = query._type.dtype
    if not dtype == key._type.dtype == value._type.dtype:
        raise DTypeError(
            f"{op}: query, key and value differ in dtype", operands=operands, fix="convert them to the same dtype"
        )
    check_floating(op, "query", dtype, UnsupportedDType, operands=operands, fix="convert it: query.float()")
    shapes = [query._array.shape, key._array.shape, value._array.shape]
    if min(map(len, shapes)) < 2:
        raise ShapeError(
            f"{op}: query, key and value need at least two dimensions", operands=operands, fix="give (..., L, E)"
        )
    if shapes[0][-1] != shapes[1][-1]:
        raise ShapeError(
            f"{op}: query {tuple(shapes[0])} and key {tuple(shapes[1])} differ in their last dimension",
            operands=operands,
            fix="give query (..., L, E) and key (..., S, E)",
        )
    if shapes[1][-2] != shapes[2][-2]:
        raise ShapeError(
            f"{op}: key has {shapes[1][-2]} positions, value {shapes[2][-2]}",
            operands=operands,
            fix="give key (..., S, E) and value (..., S, V)",
        )
    return operands


@function(namespace="nn.functional")
def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Averages of *value* with the weights ``softmax(scale * query @ key.T)`` (Vaswani et al. 2017).

    Shapes: query (..., L, E), key (..., S, E), value (..., S, V): the result is (..., L, V); batches broadcast. With
    *enable_gqa*, query (..., H, L, E) may have a multiple of the heads of key and value. attn_mask broadcasts to
    (..., L, S): bool, True where a query attends to a key, or floating point, which is added to the scores. With
    *is_causal* query i attends to keys up to i. *scale* is 1 / sqrt(E) by default. Weights are dropped with probability
    *dropout_p*. Floating point; half types are computed in float32. A query that attends to no key gets 0.

    Raises RuntimeError for shapes and dtypes that do not fit, or a mask beside is_causal.

    >>> import polyad
    >>> query, key = polyad.tensor([[1.0, 0.0]]), polyad.tensor([[9.0, 0.0], [0.0, 9.0]])
    >>> polyad.nn.functional.scaled_dot_product_attention(query, key, polyad.tensor([[1.0], [2.0]]))
    tensor([[1.0017]])
    """
    op = "scaled_dot_product_attention"
    operands = _check_operands(op, query, key, value)
    if attn_mask is not None:
        if is_causal:
            raise ShapeError(
                f"{op}: attn_mask and is_causal are two masks", operands=operands, fix="put both into attn_mask"
            )
        _check_mask(op, query, key, attn_mask, operands)
    if not isinstance(dropout_p, (int, float)) or not 0 <= dropout_p <= 1:
        raise ShapeError(
            f"{op}: dropout_p {safe_repr(dropout_p)} is not in [0, 1]", operands=operands, fix="0 turns it off"
        )
    grouped = enable_gqa and not query._array.shape[-3:-2] == key._array.shape[-3:-2] == value._array.shape[-3:-2]
    given, heads = query, query._array.shape[-3:-1]
    batches = max(query.ndim, key.ndim, value.ndim) - 3
    if grouped:
        query, key, value, attn_mask = _in_groups(op, query, key, value, attn_mask, is_causal, operands)
    lead = (query._array.shape[:-2], key._array.shape[:-2], value._array.shape[:-2])
    try:
        broadcast_shapes(*lead)
    except ShapeError as error:
        raise ShapeError(
            f"{op}: batches {', '.join(str(tuple(batch)) for batch in lead)} do not broadcast",
            operands=operands,
            fix="make them agree, or use enable_gqa=True for fewer heads in key and value",
        ) from error
    size = query._array.shape[-1]
    factor = float(scale) if scale is not None else 1 / math.sqrt(size) if size else 1.0
    if dropout_p or (attn_mask is not None and attn_mask.requires_grad):
        weights, _ = _weights(_scores(query, key, attn_mask, is_causal, factor))
        result = matmul(dropout(weights, dropout_p), half_to_float32(value)).to(query.dtype).contiguous()
    else:
        result = _attention(query, key, value, attn_mask, bool(is_causal), factor)[0]
    found = result._array.shape
    if grouped:
        result = _reshape(result, (*found[:batches], *heads, found[-1]))
    return result if dropout_p else _ordered_as(given, result)


def _ordered_as(query: Tensor, result: Tensor) -> Tensor:
    """The result of images of heads in the order in memory of *query*: heads that were split off the features and
    transposed can be put together again by ``result.transpose(1, 2).view(...)``.
    """
    shape, strides = layout_of(query)[:2]
    if len(shape) != 4 or result._array.shape != shape or strides[-1] != 1 or strides == contiguous_strides(shape):
        return result
    ordered = dense_strides_like(shape, strides)
    return result if ordered == contiguous_strides(shape) else _copy_strided(result, ordered)


def _check_mask(op: str, query: Tensor, key: Tensor, mask: Tensor, operands: dict[str, Any]) -> None:
    dtype = check_tensor(mask, op, "attn_mask")._type.dtype
    operands = {**operands, "attn_mask": mask}
    if dtype.category != BOOL and dtype is not query._type.dtype and dtype is not float32:
        raise DTypeError(
            f"{op}: attn_mask is {dtype.name}, neither bool nor query's {query._type.dtype.name}",
            operands=operands,
            fix="compare it: attn_mask != 0, or convert it to query's dtype",
        )
    wanted = (query._array.shape[-2], key._array.shape[-2])
    shape = mask._array.shape
    fits = bool(shape) and all(size in (1, want) for size, want in zip(shape[-2:], wanted[-len(shape) :], strict=True))
    if not fits or len(shape) > max(query.ndim, key.ndim):
        raise ShapeError(
            f"{op}: attn_mask {tuple(shape)} does not broadcast to (..., {wanted[0]}, {wanted[1]})",
            operands=operands,
            fix="give a row for each query and a column for each key",
        )


def _in_groups(
    op: str, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, causal: bool, operands: dict[str, Any]
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Queries (..., heads of keys, group, L, E) beside keys and values (..., heads, 1, S, E); where all queries attend
    to all keys, (..., heads of keys, group * L, E) beside (..., heads, S, E).
    """
    if min(query.ndim, key.ndim, value.ndim) < 3:
        raise IndexOutOfRange(
            f"{op}: enable_gqa needs a dimension of heads", operands=operands, fix="give (..., heads, L, E)"
        )
    heads, of_keys, of_values = (tensor._array.shape[-3] for tensor in (query, key, value))
    if not of_keys or not of_values or heads % of_keys or heads % of_values:
        raise ShapeError(
            f"{op}: {heads} heads of query are no multiple of {of_keys} of key and {of_values} of value",
            operands=operands,
            fix="give key and value heads that divide those of query",
        )
    if of_keys != of_values:
        most = math.lcm(of_keys, of_values)
        key = key.repeat_interleave(most // of_keys, -3)
        value = value.repeat_interleave(most // of_values, -3)
        of_keys = most
    group = heads // of_keys
    if mask is not None and mask.ndim > 2:
        many = mask._array.shape[-3]
        mask = mask.unflatten(-3, (of_keys, group)) if many == heads and many > 1 else mask.unsqueeze(-3)
    *batch, _, steps, features = query._array.shape
    if mask is None and not causal:
        return _reshape(query, (*batch, of_keys, group * steps, features)), key, value, None
    query = _reshape(query, (*batch, of_keys, group, steps, features))
    return query, key.unsqueeze(-3), value.unsqueeze(-3), mask


# ------------------------------------------------------------------------------------------------ several heads


def _refused(what: str, fix: str, **operands: Any) -> ShapeError:
    return ShapeError(
        f"multi_head_attention_forward: {what}",
        operands={name: value for name, value in operands.items() if value is not None},
        fix=fix,
    )


def _mask_to_add(name: str, mask: Tensor | None, query: Tensor, beside: Tensor | None) -> Tensor | None:
    """A mask of bool (True: do not attend) or numbers as numbers to add to the scores."""
    if mask is None:
        return None
    dtype = check_tensor(mask, "multi_head_attention_forward", name)._type.dtype
    if dtype is not bool_ and dtype.category != FLOATING:
        raise DTypeError(
            f"multi_head_attention_forward: {name} is {dtype.name}, neither bool nor floating point",
            operands={name: mask},
            fix=f"compare it: {name} != 0",
        )
    if beside is not None and beside._type.dtype is not dtype:
        warn_user(
            f"multi_head_attention_forward: {name} and the other mask differ in dtype, which is deprecated", UserWarning
        )
    if dtype is not bool_:
        return mask
    return zeros(mask._array.shape, dtype=query.dtype, device=query.device).masked_fill(mask, -math.inf)


def _check_inputs(
    query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, mask: Tensor | None, is_causal: bool
) -> None:
    """Raise for numbers of dimensions that do not go together, and for an *is_causal* without a mask."""
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        check_tensor(tensor, "multi_head_attention_forward", name)
    given = {"query": query, "key": key, "value": value}
    if query.ndim not in (2, 3):
        raise _refused(f"query has {query.ndim} dimensions, not 2 or 3", "give (L, N, E) or (L, E)", query=query)
    if not query.ndim == key.ndim == value.ndim:
        raise _refused("query, key and value differ in their numbers of dimensions", "give all (L, N, E)", **given)
    if padding is not None and padding.ndim != query.ndim - 1:
        raise _refused(
            f"key_padding_mask has {padding.ndim} dimensions, not {query.ndim - 1}",
            "give (N, S), or (S,) beside inputs without a batch",
            key_padding_mask=padding,
            **given,
        )
    if mask is not None and mask.ndim not in (2, 3):
        raise _refused(f"attn_mask has {mask.ndim} dimensions, not 2 or 3", "give (L, S)", attn_mask=mask, **given)
    if is_causal and mask is None:
        raise _refused("is_causal says what attn_mask is, and there is none", "pass attn_mask", query=query)


def _projected(
    query: Tensor, key: Tensor, value: Tensor, weights: tuple[Tensor, ...], bias: Tensor | None, size: int
) -> tuple[Tensor, Tensor, Tensor]:
    """The three inputs times the weights: a single weight for all three, or a weight for each."""
    if len(weights) == 1 and query is key and key is value:
        # In the order of memory, so that nothing is copied.
        together = (
            linear(query.transpose(0, 1), weights[0], bias).transpose(0, 1)
            if _is_turned(query)
            else linear(query, weights[0], bias)
        )
        first, second, third = together.chunk(3, -1)
        return first, second, third
    parts = weights[0].split(size) if len(weights) == 1 else weights
    biases = (None,) * 3 if bias is None else bias.split(size)
    first, second, third = (
        linear(tensor, part, shift) for tensor, part, shift in zip((query, key, value), parts, biases, strict=True)
    )
    return first, second, third


def _heads(query: Tensor, embed_dim: int, num_heads: int) -> tuple[int, int]:
    """How many heads there are, and the features of each."""
    size = query._array.shape[2]
    if size != embed_dim:
        raise _refused(f"query has {size} features, not {embed_dim}", "give query (L, N, E)", query=query)
    if num_heads < 1:
        raise _refused(f"num_heads is {num_heads}", "give 1 or more heads", query=query)
    if size % num_heads:
        raise _refused(f"{size} features cannot be split into {num_heads} heads", "choose a divisor", query=query)
    return num_heads, size // num_heads


def _projections(
    query: Tensor, key: Tensor, value: Tensor, together: Tensor | None, separate: tuple[Tensor | None, ...] | None
) -> tuple[Tensor, ...]:
    """The weight that projects all three inputs, or where they are *separate* the weight of each."""
    same = slice(0, 3 if separate is None else 2)
    if key._array.shape[same] != value._array.shape[same]:
        raise _refused("key and value do not agree", "give both as (S, N, E)", key=key, value=value)
    if separate is None:
        if together is None:
            raise _refused("in_proj_weight is missing", "pass it, or use_separate_proj_weight=True", query=query)
        return (together,)
    for name, weight in zip("qkv", separate, strict=True):
        if weight is None:
            raise _refused(f"use_separate_proj_weight needs {name}_proj_weight", "pass it", query=query)
    return separate  # type: ignore[return-value]  # none is missing


def _check_projections(
    query: Tensor, weights: tuple[Tensor, ...], bias: Tensor | None, out_weight: Tensor, out_bias: Tensor | None
) -> None:
    size = query._array.shape[2]
    check_tensor(out_weight, "multi_head_attention_forward", "out_proj_weight")
    given = {
        "in_proj_weight": (weights[0] if len(weights) == 1 else None, (3 * size, size)),
        "in_proj_bias": (bias, (3 * size,)),
        "out_proj_weight": (out_weight, (*out_weight._array.shape[:1], size)),
        "out_proj_bias": (out_bias, out_weight._array.shape[:1]),
    }
    for name, (tensor, shape) in given.items():
        if tensor is not None and tensor._array.shape != shape:
            raise _refused(f"{name} is not {shape}", f"query has {size} features", query=query, **{name: tensor})


def _by_heads(
    mask: Tensor | None, added: Tensor | None, pairs: tuple[int, int], each: tuple[int, int]
) -> Tensor | None:
    """*added*, which *mask* became, with dimensions of samples and of heads, if it has a row for *each* of these;
    *pairs* are the numbers of queries and keys.
    """
    if mask is None:
        return added
    wanted = pairs if mask.ndim == 2 else (each[0] * each[1], *pairs)
    if mask._array.shape != wanted:
        raise _refused(f"attn_mask {tuple(mask.shape)} is not {wanted}", "expand it", attn_mask=mask)
    return added.unflatten(0, each) if added is not None and added.ndim == 3 else added


def _with_bias(
    k: Tensor, v: Tensor, bias_k: Tensor | None, bias_v: Tensor | None, static: bool
) -> tuple[Tensor, Tensor]:
    """The projected keys and values, and one more of each if there are biases."""
    if (bias_k is None) != (bias_v is None):
        raise _refused("bias_k and bias_v go together", "pass both or none", bias_k=bias_k, bias_v=bias_v)
    if bias_k is None or bias_v is None:
        return k, v
    if static:
        raise _refused("bias_k and bias_v do not go with static keys", "leave them out", bias_k=bias_k)
    shape = (1, *k._array.shape[1:])
    return cat([k, bias_k.expand(shape)]), cat([v, bias_v.expand(shape)])


def _with_padding(added: Tensor | None, padding: Tensor | None, keys: tuple[int, int], further: int) -> Tensor | None:
    """All that is added to the scores, of *keys* (N, S): of these the *further* ones are not masked."""
    if padding is not None:
        wanted = (keys[0], keys[1] - further)
        if padding._array.shape != wanted:
            raise _refused(
                f"key_padding_mask {tuple(padding.shape)} is not {wanted}",
                "give a number for each key",
                key_padding_mask=padding,
            )
        padding = padding.unsqueeze(1).unsqueeze(1)
        added = padding if added is None else added + padding
    if further and added is not None:
        beyond = zeros((*added._array.shape[:-1], further), dtype=added.dtype, device=added.device)
        added = cat([added, beyond], -1)
    return added


def _attend(
    q: Tensor, k: Tensor, v: Tensor, added: Tensor | None, dropout_p: float, causal: bool, need_weights: bool
) -> tuple[Tensor, Tensor | None]:
    """What all heads give (N, heads, L, width) and, with *need_weights*, the weights."""
    check_floating(
        "multi_head_attention_forward",
        "query",
        q._type.dtype,
        UnsupportedDType,
        operands={"query": q},
        fix="convert it: query.float()",
        complex=True,
    )
    if not need_weights:
        return scaled_dot_product_attention(q, k, v, added, dropout_p, causal), None
    scores = matmul(q * math.sqrt(1 / q._array.shape[-1]), k.transpose(-2, -1))
    shares = softmax(scores if added is None else scores + added, -1)
    if dropout_p:
        shares = dropout(shares, dropout_p)
    return matmul(shares, v), shares


def _join_heads(out: Tensor, turned: bool, weight: Tensor, bias: Tensor | None) -> Tensor:
    """The heads projected together, (L, N, F); *turned* in memory as (N, L, F)."""
    if turned:
        return linear(out.transpose(1, 2).flatten(2), weight, bias).transpose(0, 1)
    return linear(out.permute(2, 0, 1, 3).flatten(2), weight, bias)


@function(namespace="nn.functional")
def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention of several heads (Vaswani et al. 2017, section 3.2.2): inputs are projected, attended to head by head,
    and the heads projected together. Returns the result and, with *need_weights*, the weights.

    Shapes: query (L, N, E), key and value (S, N, *), or all without N; the result is (L, N, F). in_proj_weight (3 E, E)
    holds the projections of query, key and value, or with *use_separate_proj_weight* q_proj_weight (E, E),
    k_proj_weight (E, *) and v_proj_weight (E, *) do; in_proj_bias (3 E,), out_proj_weight (F, E), out_proj_bias (F,).
    bias_k and bias_v (1, 1, E) are a further key and value, and *add_zero_attn* adds another of zeros. static_k and
    static_v (N * heads, S, E / heads) replace the projected key and value. attn_mask (L, S) or (N * heads, L, S) and
    key_padding_mask (N, S) are True, or minus infinity, where there is no attention. The weights are (N, L, S), or
    without *average_attn_weights* (N, heads, L, S). *is_causal* says that attn_mask is causal.

    Raises RuntimeError for shapes and dtypes that do not fit, and for is_causal without an attn_mask.

    >>> import polyad
    >>> x, eye = polyad.tensor([[[1.0, 0.0]], [[0.0, 1.0]]]), polyad.eye(2)
    >>> out, weights = polyad.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, polyad.cat([eye, eye, eye]), None, None, None, False, 0.0, eye, None
    ... )
    >>> weights
    tensor([[[0.6698, 0.3302],
             [0.3302, 0.6698]]])
    """
    _check_inputs(query, key, value, key_padding_mask, attn_mask, is_causal)
    batched = query.ndim == 3
    if not batched:
        alike = query is key and key is value
        query = query.unsqueeze(1)
        key, value = (query, query) if alike else (key.unsqueeze(1), value.unsqueeze(1))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    heads = _heads(query, embed_dim_to_check, num_heads)
    count, size = query._array.shape[1:]
    separate = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights = _projections(query, key, value, in_proj_weight, separate if use_separate_proj_weight else None)
    _check_projections(query, weights, in_proj_bias, out_proj_weight, out_proj_bias)
    padding = _mask_to_add("key_padding_mask", key_padding_mask, query, attn_mask)
    only_causal = is_causal and padding is None and not need_weights
    added = None if only_causal else _mask_to_add("attn_mask", attn_mask, query, None)

    q, k, v = _projected(query, key, value, weights, in_proj_bias, size)
    added = _by_heads(attn_mask, added, (query._array.shape[0], key._array.shape[0]), (count, num_heads))
    k, v = _with_bias(k, v, bias_k, bias_v, static_k is not None or static_v is not None)
    q = q.unflatten(-1, heads).permute(1, 2, 0, 3)
    k = _static("static_k", static_k, k, count, heads)
    v = _static("static_v", static_v, v, count, heads)
    if add_zero_attn:
        nothing = zeros((count, num_heads, 1, heads[1]), dtype=k.dtype, device=k.device)
        k, v = cat([k, nothing], 2), cat([v, nothing], 2)
    further = int(bias_k is not None) + bool(add_zero_attn)
    added = _with_padding(added, padding, (count, k._array.shape[2]), further)
    out, shares = _attend(q, k, v, added, dropout_p if training else 0.0, only_causal, need_weights)
    out = _join_heads(out, _is_turned(query), out_proj_weight, out_proj_bias)
    if shares is not None and average_attn_weights:
        shares = shares.mean(1)
    return (out, shares) if batched else (out.squeeze(1), None if shares is None else shares.squeeze(0))


def _is_turned(input: Tensor) -> bool:
    """Whether (L, N, E) lies in memory as (N, L, E), as it does where batches come first."""
    return not input.is_contiguous() and input.transpose(0, 1).is_contiguous()


def _static(name: str, static: Tensor | None, projected: Tensor, count: int, heads: tuple[int, int]) -> Tensor:
    """Keys or values (N, heads, S, width): those projected from (S, N, E), unless others are given."""
    if static is None:
        return projected.unflatten(-1, heads).permute(1, 2, 0, 3)
    shape = check_tensor(static, "multi_head_attention_forward", name)._array.shape
    number, width = heads
    if len(shape) != 3 or (shape[0], shape[2]) != (count * number, width):
        raise _refused(f"{name} {tuple(shape)} is not ({count * number}, S, {width})", "reshape it", **{name: static})
    return static.unflatten(0, (count, number))
