"""Attention of several heads, and the transformer's layers."""

from __future__ import annotations

import numpy as np

from . import ModuleSample

CAUSAL = np.where(np.triu(np.ones((5, 5)), 1) > 0, -np.inf, 0.0)
PADDING = np.array([[False] * 5, [False] * 3 + [True] * 2, [False] * 4 + [True]])


def attention(name="", *, call=None, functional=None, wrong=(), random="", **settings):
    """Queries (4, 2, 8) and keys (6, 2, 8), or the batch first."""
    key, value = settings.get("kdim", 8), settings.get("vdim", 8)
    swap = (lambda shape: (shape[1], shape[0], shape[2])) if settings.get("batch_first") else (lambda shape: shape)
    return ModuleSample(
        layer="MultiheadAttention",
        name=name,
        build=lambda torch: torch.nn.MultiheadAttention(8, 2, **settings),
        inputs=lambda make: (make(swap((4, 2, 8))), make(swap((6, 2, key))), make(swap((6, 2, value)))),
        call=call,
        functional=functional,
        wrong=wrong,
        random=random,
        steps=128,
    )


def by_function(F, layer, query, key, value):
    return F.multi_head_attention_forward(
        query, key, value, 8, 2, layer.in_proj_weight, layer.in_proj_bias, None, None, False, 0.0,
        layer.out_proj.weight, layer.out_proj.bias, training=layer.training,
    )  # fmt: skip


def stacked(layer, name="", *, build, shapes, call=None, wrong=(), random="", functional=None):
    return ModuleSample(
        layer=layer,
        name=name,
        build=build,
        inputs=lambda make: tuple(make(shape) for shape in shapes),
        call=call,
        functional=functional,
        wrong=wrong,
        random=random,
        steps=512,
    )


def encoder_by_functions(F, layer, x):
    """The encoder's layer that normalises behind the blocks, without dropout."""
    attention = layer.self_attn
    out, _ = F.multi_head_attention_forward(
        x, x, x, 8, 2, attention.in_proj_weight, attention.in_proj_bias, None, None, False, 0.0,
        attention.out_proj.weight, attention.out_proj.bias, need_weights=False,
    )  # fmt: skip
    x = F.layer_norm(x + out, (8,), layer.norm1.weight, layer.norm1.bias)
    inner = F.linear(F.relu(F.linear(x, layer.linear1.weight, layer.linear1.bias)), layer.linear2.weight)
    return F.layer_norm(x + inner + layer.linear2.bias, (8,), layer.norm2.weight, layer.norm2.bias)


SAMPLES = [
    attention(
        functional=by_function,
        wrong=[
            lambda make: (make((4, 2, 7)), make((6, 2, 8)), make((6, 2, 8))),
            lambda make: (make((4, 2, 8)), make((6, 2, 8)), make((5, 2, 8))),
            lambda make: (make((4, 2, 8)), make((6, 8)), make((6, 8))),
            lambda make: (make((8,)), make((6, 8)), make((6, 8))),
        ],
    ),
    attention("other sizes, no biases", kdim=3, vdim=5, bias=False),
    attention("further keys, the batch first", add_bias_kv=True, add_zero_attn=True, batch_first=True),
    attention("dropout", dropout=0.5, random="training"),
    attention(
        "masks",
        call=lambda torch, layer, query, key, value: layer(
            query,
            key,
            value,
            key_padding_mask=torch.tensor([[False] * 6, [False] * 4 + [True] * 2], device=query.device),
            attn_mask=torch.tensor(np.eye(4, 6, 2) > 0, device=query.device),
            average_attn_weights=False,
        ),
    ),
    attention(
        "a mask, no weights",
        call=lambda torch, layer, query, key, value: layer(
            query,
            key,
            value,
            need_weights=False,
            attn_mask=torch.tensor(np.linspace(-1, 1, 24).reshape(4, 6), dtype=query.dtype, device=query.device),
        ),
    ),
    ModuleSample(
        layer="MultiheadAttention",
        name="no batch",
        build=lambda torch: torch.nn.MultiheadAttention(8, 2),
        inputs=lambda make: (make((4, 8)), make((6, 8)), make((6, 8))),
        steps=128,
    ),
    stacked(
        "TransformerEncoderLayer",
        build=lambda torch: torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0),
        shapes=[(5, 3, 8)],
        functional=encoder_by_functions,
        wrong=[lambda make: (make((5, 3, 7)),), lambda make: (make((8,)),)],
    ),
    stacked(
        "TransformerEncoderLayer",
        "normalised first, masks",
        build=lambda torch: torch.nn.TransformerEncoderLayer(
            8, 2, 12, dropout=0.0, activation="gelu", norm_first=True, batch_first=True, bias=False
        ),
        shapes=[(3, 5, 8)],
        call=lambda torch, layer, x: layer(
            x,
            torch.tensor(CAUSAL < 0, device=x.device),
            torch.tensor(PADDING, device=x.device),
            is_causal=True,
        ),
    ),
    stacked(
        "TransformerEncoderLayer",
        "dropout",
        build=lambda torch: torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.3),
        shapes=[(5, 3, 8)],
        random="training",
    ),
    stacked(
        "TransformerEncoder",
        "causal, with a norm",
        build=lambda torch: torch.nn.TransformerEncoder(
            torch.nn.TransformerEncoderLayer(8, 2, 12, dropout=0.0, batch_first=True), 2, torch.nn.LayerNorm(8)
        ),
        shapes=[(3, 5, 8)],
        call=lambda torch, layer, x: layer(x, mask=torch.tensor(CAUSAL, dtype=x.dtype, device=x.device)),
        wrong=[lambda make: (make((3, 5, 7)),), lambda make: (make((3, 4, 8)),)],
    ),
    stacked(
        "TransformerDecoderLayer",
        build=lambda torch: torch.nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0),
        shapes=[(5, 3, 8), (4, 3, 8)],
        wrong=[
            lambda make: (make((5, 3, 8)), make((4, 3, 7))),
            lambda make: (make((5, 3, 7)), make((4, 3, 8))),
        ],
    ),
    stacked(
        "TransformerDecoder",
        "causal",
        build=lambda torch: torch.nn.TransformerDecoder(
            torch.nn.TransformerDecoderLayer(8, 2, 12, dropout=0.0, norm_first=True), 2
        ),
        shapes=[(5, 3, 8), (4, 3, 8)],
        call=lambda torch, layer, x, memory: layer(
            x, memory, tgt_mask=torch.tensor(CAUSAL, dtype=x.dtype, device=x.device), tgt_is_causal=True
        ),
        wrong=[lambda make: (make((5, 3, 8)), make((4, 3, 7)))],
    ),
    stacked(
        "Transformer",
        build=lambda torch: torch.nn.Transformer(8, 2, 1, 1, 12, dropout=0.0, batch_first=True),
        shapes=[(3, 4, 8), (3, 5, 8)],
        wrong=[
            lambda make: (make((3, 4, 8)), make((2, 5, 8))),
            lambda make: (make((3, 4, 7)), make((3, 5, 8))),
        ],
    ),
]
