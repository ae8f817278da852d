"""Attention of several heads, and ``forward`` of the transformer and its layers, as programs."""

from __future__ import annotations

import polyad as torch
from polyad import Tensor, nn

__all__ = ["FUNCTIONS", "LAYERS"]


def mask_to_add(mask: Tensor, query: Tensor) -> Tensor:
    if mask.dtype != torch.bool:
        return mask
    return torch.zeros_like(mask, dtype=query.dtype).masked_fill_(mask, float("-inf"))


def widened(mask: Tensor, further: int) -> Tensor:
    return torch.constant_pad_nd(mask, [0, further]) if further > 0 else mask


def projected(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    together: Tensor | None,
    bias: Tensor | None,
    separate: bool,
    q_weight: Tensor | None,
    k_weight: Tensor | None,
    v_weight: Tensor | None,
) -> tuple[Tensor, Tensor, Tensor]:
    b_q: Tensor | None = None
    b_k: Tensor | None = None
    b_v: Tensor | None = None
    if bias is not None:
        b_q, b_k, b_v = torch.chunk(bias, 3)
    if separate:
        assert q_weight is not None, "use_separate_proj_weight is True but q_proj_weight is None"
        assert k_weight is not None, "use_separate_proj_weight is True but k_proj_weight is None"
        assert v_weight is not None, "use_separate_proj_weight is True but v_proj_weight is None"
        return torch.linear(query, q_weight, b_q), torch.linear(key, k_weight, b_k), torch.linear(value, v_weight, b_v)
    assert together is not None, "use_separate_proj_weight is False but in_proj_weight is None"
    w_q, w_k, w_v = torch.chunk(together, 3)
    return torch.linear(query, w_q, b_q), torch.linear(key, w_k, b_k), torch.linear(value, w_v, b_v)


def added_mask(
    query: Tensor, attn_mask: Tensor | None, padding: Tensor | None, count: int, heads: int, further: int
) -> Tensor | None:
    found: Tensor | None = None
    if attn_mask is not None:
        found = widened(mask_to_add(attn_mask, query), further)
        if found.dim() == 3:
            found = found.view(count, heads, found.size(1), found.size(2))
    if padding is not None:
        hidden = widened(mask_to_add(padding, query), further)
        hidden = hidden.view(count, 1, 1, hidden.size(1))
        found = hidden if found is None else found + hidden
    return found


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
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    batched = query.dim() == 3
    padding = key_padding_mask
    if not batched:
        query, key, value = query.unsqueeze(1), key.unsqueeze(1), value.unsqueeze(1)
        if key_padding_mask is not None:
            padding = key_padding_mask.unsqueeze(0)
    length, count, size = query.size(0), query.size(1), query.size(2)
    if size != embed_dim_to_check:
        raise RuntimeError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {size}")
    width = size // num_heads
    q, k, v = projected(
        query, key, value, in_proj_weight, in_proj_bias, use_separate_proj_weight, q_proj_weight, k_proj_weight,
        v_proj_weight,
    )  # fmt: skip
    further = 0
    if bias_k is not None and bias_v is not None:
        k = torch.cat([k, bias_k.repeat(1, count, 1)])
        v = torch.cat([v, bias_v.repeat(1, count, 1)])
        further = 1
    q = q.reshape(length, count, num_heads, width).permute(1, 2, 0, 3)
    k = k.reshape(-1, count, num_heads, width).permute(1, 2, 0, 3)
    v = v.reshape(-1, count, num_heads, width).permute(1, 2, 0, 3)
    if static_k is not None:
        k = static_k.view(count, num_heads, -1, width)
    if static_v is not None:
        v = static_v.view(count, num_heads, -1, width)
    if add_zero_attn:
        nothing = torch.zeros([count, num_heads, 1, width], dtype=k.dtype, device=k.device)
        k, v = torch.cat([k, nothing], 2), torch.cat([v, nothing], 2)
        further += 1
    only_causal = is_causal and padding is None and not need_weights
    added = added_mask(query, None if only_causal else attn_mask, padding, count, num_heads, further)
    p = dropout_p if training else 0.0
    shares: Tensor | None = None
    if need_weights:
        scores = torch.matmul(q * (1.0 / float(width)) ** 0.5, k.transpose(-2, -1))
        weights = torch.softmax(scores if added is None else scores + added, -1)
        if p > 0.0:
            weights = torch.dropout(weights, p, True)
        out = torch.matmul(weights, v)
        shares = weights.mean(1) if average_attn_weights else weights
    else:
        out = torch.scaled_dot_product_attention(q, k, v, added, p, only_causal)
    out = torch.linear(out.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    if batched:
        return out, shares
    return out.squeeze(1), None if shares is None else shares.squeeze(0)


def multihead_attention(
    self,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    swapped = self.batch_first and query.dim() == 3
    if swapped:
        query, key, value = query.transpose(0, 1), key.transpose(0, 1), value.transpose(0, 1)
    out, weights = multi_head_attention_forward(
        query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
        self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
        key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight,
        self.k_proj_weight, self.v_proj_weight, None, None, average_attn_weights, is_causal,
    )  # fmt: skip
    return (out.transpose(0, 1) if swapped else out), weights


def encoder_layer(
    self,
    src: Tensor,
    src_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool = False,
) -> Tensor:
    if self.norm_first:
        src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
        return src + self._ff_block(self.norm2(src))
    src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal))
    return self.norm2(src + self._ff_block(src))


def decoder_layer(
    self,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool = False,
    memory_is_causal: bool = False,
) -> Tensor:
    if self.norm_first:
        tgt = tgt + self._sa_block(self.norm1(tgt), tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        seen = self._mha_block(self.norm2(tgt), memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        tgt = tgt + seen
        return tgt + self._ff_block(self.norm3(tgt))
    tgt = self.norm1(tgt + self._sa_block(tgt, tgt_mask, tgt_key_padding_mask, tgt_is_causal))
    seen = self._mha_block(tgt, memory, memory_mask, memory_key_padding_mask, memory_is_causal)
    tgt = self.norm2(tgt + seen)
    return self.norm3(tgt + self._ff_block(tgt))


def is_causal_mask(mask: Tensor | None, given: bool | None, size: int) -> bool:
    if given is not None or mask is None:
        return given is not None and given
    if mask.dim() != 2 or mask.size(0) != size or mask.size(1) != size or mask.dtype == torch.bool:
        return False
    causal = torch.full([size, size], float("-inf"), dtype=mask.dtype, device=mask.device).triu(1)
    return bool((mask == causal).all())


def hides_ends_alone(hidden: Tensor) -> bool:
    return not bool((hidden[:, :-1] & hidden[:, 1:].logical_not()).any())


def encoder(
    self,
    src: Tensor,
    mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    is_causal: bool | None = None,
) -> Tensor:
    first = self.layers[0]
    causal = is_causal_mask(mask, is_causal, src.size(1 if first.self_attn.batch_first and src.dim() == 3 else 0))
    out = src
    for layer in self.layers:
        out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
    if self.use_nested_tensor:  # noqa: SIM102 - known when it is scripted: what follows is of one kind of layers
        if src_key_padding_mask is not None and mask is None and not first.training and src.dim() == 3:
            hidden = src_key_padding_mask
            if hidden.dtype != torch.bool:
                hidden = hidden != 0
            records = torch.is_grad_enabled() and (src.requires_grad or first.linear1.weight.requires_grad)
            if not records and not torch.is_autocast_enabled() and (not self.mask_check or hides_ends_alone(hidden)):
                out = out.masked_fill(hidden.unsqueeze(-1), 0.0)
    return self.norm(out) if self.norm is not None else out


def decoder(
    self,
    tgt: Tensor,
    memory: Tensor,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    tgt_is_causal: bool | None = None,
    memory_is_causal: bool = False,
) -> Tensor:
    first = self.layers[0]
    causal = is_causal_mask(
        tgt_mask, tgt_is_causal, tgt.size(1 if first.self_attn.batch_first and tgt.dim() == 3 else 0)
    )
    out = tgt
    for layer in self.layers:
        out = layer(
            out, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, causal, memory_is_causal
        )
    return self.norm(out) if self.norm is not None else out


def transformer(
    self,
    src: Tensor,
    tgt: Tensor,
    src_mask: Tensor | None = None,
    tgt_mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
    src_key_padding_mask: Tensor | None = None,
    tgt_key_padding_mask: Tensor | None = None,
    memory_key_padding_mask: Tensor | None = None,
    src_is_causal: bool | None = None,
    tgt_is_causal: bool | None = None,
    memory_is_causal: bool = False,
) -> Tensor:
    if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
        raise RuntimeError("the feature number of src and tgt must be equal to d_model")
    memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
    return self.decoder(
        tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
        memory_is_causal,
    )  # fmt: skip


FUNCTIONS = (multi_head_attention_forward,)
"""The functions."""

LAYERS = {
    nn.MultiheadAttention: multihead_attention, nn.TransformerEncoderLayer: encoder_layer,
    nn.TransformerDecoderLayer: decoder_layer, nn.TransformerEncoder: encoder, nn.TransformerDecoder: decoder,
    nn.Transformer: transformer,
}  # fmt: skip
"""``forward`` of the layers."""
