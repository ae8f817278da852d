"""Attention, query by query from the definition."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, float16, float32, float64, int64

from ...sample import REAL_FLOATS, ErrorCase, Sample


def attention(query, key, value, mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False):
    if enable_gqa:
        key, value = (np.repeat(one, query.shape[-3] // one.shape[-3], -3) for one in (key, value))
    lead = np.broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    query, key, value = (np.broadcast_to(one, lead + one.shape[-2:]) for one in (query, key, value))
    rows, columns = query.shape[-2], key.shape[-2]
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    added = np.zeros((*lead, rows, columns))
    if mask is not None:
        added = np.broadcast_to(np.where(mask, 0.0, -np.inf) if mask.dtype == bool else mask, added.shape)
    out = np.zeros((*lead, rows, value.shape[-1]))
    for place in np.ndindex(*lead, rows):
        head, row = place[:-1], place[-1]
        seen = np.flatnonzero((added[place] > -np.inf) & (not is_causal or np.arange(columns) <= row))
        if len(seen):
            scores = key[head][seen] @ query[place] * scale + added[place][seen]
            shares = np.exp(scores - scores.max())
            out[place] = shares @ value[head][seen] / shares.sum()
    return out


def sample(name, query, key, value, mask=None, gradient=(0, 1, 2), dtypes=REAL_FLOATS, **settings):
    def inputs(make):
        made = (make(query), make(key), make(value))
        return made if mask is None else (*made, mask(make))

    return Sample(
        op="nn.functional.scaled_dot_product_attention",
        name=name,
        inputs=inputs,
        reference=attention,
        magnitude=lambda *given, **kwargs: 16.0,
        kwargs=settings,
        dtypes=dtypes,
        gradient=gradient,
        steps=10,
        length=12,
        expand=False,
    )


def some(make, shape):
    """A mask with a row that attends to nothing."""
    seen = make.mask(shape)
    seen[..., -1, :] = False
    seen[..., 0, 0] = True
    return seen


def heads(x, count):
    """(L, N, E) as (N, heads, L, E / heads)."""
    return np.moveaxis(x.reshape(*x.shape[:2], count, -1), 0, 2)


def additive(mask):
    return np.where(mask, -np.inf, 0.0) if mask.dtype == bool else mask


def several_heads(
    query,
    key,
    value,
    size,
    count,
    in_weight,
    in_bias,
    bias_k,
    bias_v,
    add_zero,
    dropout_p,
    out_weight,
    out_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_weight=None,
    k_weight=None,
    v_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    if query.ndim == 2:
        padding = None if key_padding_mask is None else key_padding_mask[None]
        out, shares = several_heads(
            *(query[:, None], key[:, None], value[:, None], size, count, in_weight, in_bias, bias_k, bias_v),
            *(add_zero, dropout_p, out_weight, out_bias, training, padding, True, attn_mask),
            average_attn_weights=average_attn_weights,
        )
        return out[:, 0], shares[0]
    weights = (q_weight, k_weight, v_weight) if use_separate_proj_weight else np.split(in_weight, 3)
    biases = np.zeros((3, size)) if in_bias is None else in_bias.reshape(3, size)
    q, k, v = (x @ w.T + b for x, w, b in zip((query, key, value), weights, biases, strict=True))
    batch = query.shape[1]
    if bias_k is not None:
        k, v = (np.concatenate([x, np.broadcast_to(b, (1, batch, size))]) for x, b in ((k, bias_k), (v, bias_v)))
    q, k, v = heads(q, count), heads(k, count), heads(v, count)
    if static_k is not None:
        k, v = (x.reshape(batch, count, *x.shape[1:]) for x in (static_k, static_v))
    if add_zero:
        k, v = (np.concatenate([x, np.zeros((*x.shape[:2], 1, x.shape[3]))], 2) for x in (k, v))
    scores = q @ np.swapaxes(k, 2, 3) / np.sqrt(size / count)
    if attn_mask is not None:
        added = additive(attn_mask)
        added = added.reshape(batch, count, *added.shape[1:]) if added.ndim == 3 else added
        scores[..., : added.shape[-1]] += added
    if key_padding_mask is not None:
        scores[..., : key_padding_mask.shape[-1]] += additive(key_padding_mask)[:, None, None]
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    shares /= shares.sum(-1, keepdims=True)
    out = np.moveaxis(shares @ v, 2, 0).reshape(query.shape)
    out = out @ out_weight.T + (0 if out_bias is None else out_bias)
    return (out, shares.mean(1) if average_attn_weights else shares) if need_weights else (out, None)


def forward(name, *, lengths=(3, 4), batch=(2,), gradient=(0, 1, 2, 5, 6, 11, 12), late=None, extra=None, **settings):
    """A sample of multi_head_attention_forward with 4 features and 2 heads; *late* makes the positional arguments after
    out_proj_bias, *extra* replaces some of the others by position.
    """

    def inputs(make):
        given = [
            *(make((lengths[0], *batch, 4)), make((lengths[1], *batch, 4)), make((lengths[1], *batch, 4))),
            *(4, 2, make((12, 4), -1, 1), make((12,)), None, None, False, 0.0, make((4, 4), -1, 1), make((4,))),
        ]
        for place, made in (extra(make) if extra else {}).items():
            given[place] = made
        return (*given, *(late(make) if late else ()))

    return Sample(
        op="nn.functional.multi_head_attention_forward",
        name=name,
        inputs=inputs,
        reference=several_heads,
        magnitude=lambda *given, **kwargs: 32.0,
        kwargs=settings,
        dtypes=(float32, float64),
        result=(lambda dtype: dtype, lambda dtype: dtype),
        gradient=gradient,
        steps=20,
        length=32,
        expand=False,
    )


def first_key(make, shape):
    """A padding mask that leaves the first key of each row."""
    mask = make.mask(shape)
    mask[..., 0] = False
    return mask


SAMPLES = [
    sample("plain", (2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 2)),
    sample("one head", (4, 5), (6, 5), (6, 2), dtypes=(float32, float64)),
    sample("batches broadcast", (2, 3, 4, 5), (3, 6, 5), (2, 1, 6, 2), dtypes=(float64,)),
    sample("bool mask", (2, 2, 4, 5), (2, 2, 3, 5), (2, 2, 3, 2), lambda make: some(make, (4, 3))),
    sample("mask a head", (2, 2, 4, 5), (2, 2, 3, 5), (2, 2, 3, 2), lambda make: some(make, (2, 1, 4, 3))),
    sample("added mask", (2, 2, 4, 5), (2, 2, 3, 5), (2, 2, 3, 2), lambda make: make((2, 4, 3)), gradient=(0, 1, 2, 3)),
    sample("causal, scale", (3, 4, 5), (3, 6, 5), (3, 6, 2), is_causal=True, scale=0.7),
    sample("causal, more queries", (6, 5), (4, 5), (4, 2), is_causal=True, dtypes=(float32,), gradient=False),
    sample("past a block", (2, 600, 3), (2, 501, 3), (2, 501, 2), is_causal=True, dtypes=(float32,), gradient=False),
    sample("grouped", (2, 6, 3, 5), (2, 2, 4, 5), (2, 2, 4, 2), enable_gqa=True, dtypes=(float32, float64)),
    sample("grouped twice", (6, 3, 5), (3, 4, 5), (2, 4, 2), enable_gqa=True, dtypes=(float64,)),
    sample(
        "grouped, mask a head",
        (4, 3, 5),
        (2, 4, 5),
        (2, 4, 2),
        lambda make: some(make, (4, 3, 4)),
        enable_gqa=True,
        dtypes=(float64,),
    ),
    sample("no keys", (2, 3, 5), (2, 0, 5), (2, 0, 2)),
    sample("no queries", (2, 0, 5), (2, 3, 5), (2, 3, 2)),
    Sample(
        op="nn.functional.scaled_dot_product_attention",
        name="every weight dropped",
        inputs=lambda make: (make((3, 4)), make((5, 4)), make((5, 2)), None, 1.0),
        reference=lambda query, key, value, mask, p: np.zeros((3, 2)),
        dtypes=(float32,),
    ),
    forward("other features", extra=lambda make: {11: make((3, 4), -1, 1), 12: make((3,))}),
    forward("plain"),
    forward("no batch, weights a head", batch=(), average_attn_weights=False),
    forward(
        "added mask, no bias",
        extra=lambda make: {6: None, 12: None},
        gradient=(0, 1, 2, 5, 11),
        late=lambda make: (True, None, True, make((3, 4))),
    ),
    forward(
        "masks, further keys",
        extra=lambda make: {7: make((1, 1, 4)), 8: make((1, 1, 4)), 9: True},
        gradient=(0, 1, 2, 5, 6, 7, 8, 11, 12),
        late=lambda make: (True, first_key(make, (2, 4)), True, first_key(make, (4, 3, 4)) & first_key(make, (3, 4))),
    ),
    forward(
        "separate weights",
        extra=lambda make: {1: make((4, 2, 3)), 2: make((4, 2, 5)), 5: None},
        gradient=(0, 1, 2, 6, 11, 12),
        late=lambda make: (
            *(True, None, True, None, True),
            *(make((4, 4), -1, 1), make((4, 3), -1, 1), make((4, 5), -1, 1)),
        ),
    ),
    forward(
        "static keys",
        gradient=(0, 5, 6, 11, 12, 21, 22),
        late=lambda make: (*(True, None, True, None, False, None, None, None), make((4, 5, 2)), make((4, 5, 2))),
    ),
]

OP = "nn.functional.scaled_dot_product_attention"


def refused(name, call, raises, match):
    return ErrorCase(op=OP, name=name, call=call, raises=raises, match=rf"scaled_dot_product_attention: {match}")


def of_heads(name, match, raises=RuntimeError, **changed):
    """An error case of multi_head_attention_forward; *changed* has shapes of tensors, and other arguments."""

    def call(op, tensor):
        given = {
            "query": (3, 2, 4),
            "key": (5, 2, 4),
            "value": (5, 2, 4),
            "embed_dim_to_check": 4,
            "num_heads": 2,
            "in_proj_weight": (12, 4),
            "in_proj_bias": (12,),
            "bias_k": None,
            "bias_v": None,
            "add_zero_attn": False,
            "dropout_p": 0.0,
            "out_proj_weight": (4, 4),
            "out_proj_bias": (4,),
            **changed,
        }
        made = {
            key: tensor(*value, dtype=bool_ if key == "key_padding_mask" else float32)
            if isinstance(value, tuple)
            else value
            for key, value in given.items()
        }
        return op(**made)

    return ErrorCase(
        op="nn.functional.multi_head_attention_forward",
        name=name,
        call=call,
        raises=raises,
        match=rf"multi_head_attention_forward: {match}",
    )


ERRORS = [
    refused(
        "features",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 3), tensor(5, 2)),
        RuntimeError,
        r"query \(3, 4\) and key \(5, 3\) differ.*\n.*query .*\n.*key .*\n.*value",
    ),
    refused(
        "positions",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 4), tensor(6, 2)),
        RuntimeError,
        "key has 5 positions, value 6",
    ),
    refused("vectors", lambda op, tensor: op(tensor(4), tensor(5, 4), tensor(5, 2)), RuntimeError, ".*two dimensions"),
    refused(
        "dtypes",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 4, dtype=float16), tensor(5, 2)),
        RuntimeError,
        "query, key and value differ in dtype",
    ),
    refused(
        "integers",
        lambda op, tensor: op(*[tensor(3, 4, dtype=int64)] * 3),
        RuntimeError,
        "query is int64",
    ),
    refused(
        "batches",
        lambda op, tensor: op(tensor(2, 3, 4), tensor(3, 5, 4), tensor(3, 5, 2)),
        RuntimeError,
        r"batches \(2,\), \(3,\), \(3,\) do not broadcast",
    ),
    refused(
        "mask",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 4), tensor(5, 2), tensor(4, 5)),
        RuntimeError,
        r"attn_mask \(4, 5\) does not broadcast to \(\.\.\., 3, 5\)",
    ),
    refused(
        "mask of integers",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 4), tensor(5, 2), tensor(3, 5, dtype=int64)),
        RuntimeError,
        "attn_mask is int64",
    ),
    refused(
        "mask of another precision",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 4), tensor(5, 2), tensor(3, 5, dtype=float64)),
        RuntimeError,
        "attn_mask is float64",
    ),
    refused(
        "two masks",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 4), tensor(5, 2), tensor(3, 5, dtype=bool_), is_causal=True),
        RuntimeError,
        "attn_mask and is_causal are two masks",
    ),
    refused(
        "dropout",
        lambda op, tensor: op(tensor(3, 4), tensor(5, 4), tensor(5, 2), dropout_p=1.5),
        RuntimeError,
        r"dropout_p 1\.5 is not in \[0, 1\]",
    ),
    refused(
        "groups",
        lambda op, tensor: op(tensor(5, 3, 4), tensor(2, 5, 4), tensor(2, 5, 2), enable_gqa=True),
        RuntimeError,
        "5 heads of query are no multiple of 2 of key and 2 of value",
    ),
    of_heads("projected bias", r"out_proj_bias is not \(3,\)", out_proj_weight=(3, 4)),
    of_heads("no mask to be causal", "is_causal says", is_causal=True),
    of_heads("features", "query has 4 features, not 5", embed_dim_to_check=5),
    of_heads("heads", "4 features cannot be split into 3 heads", num_heads=3),
    of_heads("keys and values", r"key and value do not agree\n.*key .*\n.*value", value=(4, 2, 4)),
    of_heads("dimensions", "query has 4 dimensions, not 2 or 3", query=(1, 3, 2, 4)),
    of_heads("dimensions of key", "query, key and value differ in their numbers", key=(5, 4), value=(5, 4)),
    of_heads("no weights", "in_proj_weight is missing", in_proj_weight=None),
    of_heads("a weight missing", "use_separate_proj_weight needs q_proj_weight", use_separate_proj_weight=True),
    of_heads("one bias", "bias_k and bias_v go together", bias_k=(1, 1, 4)),
    of_heads("mask", r"attn_mask \(4, 4\) is not \(3, 5\)", attn_mask=(4, 4)),
    of_heads("mask a head", r"attn_mask \(2, 3, 5\) is not \(4, 3, 5\)", attn_mask=(2, 3, 5)),
    of_heads("padding", r"key_padding_mask \(2, 4\) is not \(2, 5\)", key_padding_mask=(2, 4)),
    of_heads("dimensions of padding", "key_padding_mask has 1 dimensions, not 2", key_padding_mask=(5,)),
    of_heads("static keys", r"static_k \(3, 5, 2\) is not \(4, S, 2\)", static_k=(3, 5, 2)),
]
