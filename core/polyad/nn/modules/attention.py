"""Attention of several heads as a layer (Vaswani et al. 2017); PyTorch's path to it is activation.py."""

from __future__ import annotations

from ...base.device import Device
from ...base.dtypes import DType
from ...base.kinds import Positive
from ...errors import ConditionError, FeatureError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .linear import NonDynamicallyQuantizableLinear
from .module import Module

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Queries attend to keys in several heads, each in a part of the features.

    Called as ``layer(query, key, value, key_padding_mask, need_weights, attn_mask, average_attn_weights, is_causal)``;
    returns the result, and the attention's weights or None.

    Shapes: query and the result (L, N, embed_dim), key (S, N, kdim), value (S, N, vdim), with *batch_first* N comes
    first, or all without N; key_padding_mask (N, S), attn_mask (L, S) or (N * num_heads, L, S), each bool with True
    where there is no attention, or floating point, and added to the scores. The weights are (N, L, S), or without
    average_attn_weights (N, num_heads, L, S). ``is_causal`` says that attn_mask hides all that is later. Without
    ``need_weights`` the weights are never held at once, which is faster.

    Parameters: in_proj_weight (3 * embed_dim, embed_dim), or with another *kdim* or *vdim* q_proj_weight, k_proj_weight
    and v_proj_weight, start by `init.xavier_uniform_`; in_proj_bias (3 * embed_dim,) and out_proj.bias as 0; bias_k and
    bias_v (1, 1, embed_dim) by `init.xavier_normal_`.

    Args:
        embed_dim: features of query and result.
        num_heads: how many heads; a divisor of embed_dim.
        dropout: with what probability weights are dropped, in training.
        bias: whether the projections have biases.
        add_bias_kv: whether there are a further key and value that are learnt.
        add_zero_attn: whether there are a further key and value of zeros.
        kdim: features of key, by default embed_dim.
        vdim: features of value, by default embed_dim.
        batch_first: whether the batch comes before the steps.

    Raises:
        ValueError: sizes that are not positive, heads that are no divisor.
        RuntimeError: shapes and dtypes that do not fit.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.MultiheadAttention(8, 2, batch_first=True)
    >>> x = polyad.zeros(3, 5, 8)
    >>> out, weights = layer(x, x, x)
    >>> out.shape, weights.shape
    (polyad.Size([3, 5, 8]), polyad.Size([3, 5, 5]))
    """

    embed_dim: int
    num_heads: int
    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    def __init__(
        self,
        embed_dim: Positive,
        num_heads: Positive,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ConditionError(
                f"MultiheadAttention: embed_dim {embed_dim} cannot be split into {num_heads} heads",
                fix="choose num_heads among its divisors",
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim == self.vdim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        same = self._qkv_same_embed_dim
        shapes: dict[str, tuple[int, ...] | None] = {
            "in_proj_weight": (3 * embed_dim, embed_dim) if same else None,
            "q_proj_weight": None if same else (embed_dim, embed_dim),
            "k_proj_weight": None if same else (embed_dim, self.kdim),
            "v_proj_weight": None if same else (embed_dim, self.vdim),
            "in_proj_bias": (3 * embed_dim,) if bias else None,
            "bias_k": (1, 1, embed_dim) if add_bias_kv else None,
            "bias_v": (1, 1, embed_dim) if add_bias_kv else None,
        }
        for name, shape in shapes.items():
            if name == "bias_k":
                self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias, device, dtype)
            self.register_parameter(name, None if shape is None else uninitialized(shape, device, dtype))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None and self.out_proj.bias is not None:
            init.zeros_(self.in_proj_bias)
            init.zeros_(self.out_proj.bias)
        for further in (self.bias_k, self.bias_v):
            if further is not None:
                init.xavier_normal_(further)

    def forward(
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
        """The result, and the weights or None; see the layer."""
        self._check_features(query=query, key=key, value=value)
        swapped = self.batch_first and query.ndim == 3
        if swapped:
            alike, paired = query is key and key is value, key is value
            query = query.transpose(0, 1)
            key = query if alike else key.transpose(0, 1)
            value = key if paired else value.transpose(0, 1)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (out.transpose(0, 1) if swapped else out), weights

    def _check_features(self, **given: Tensor) -> None:
        wanted = {"query": self.embed_dim, "key": self.kdim, "value": self.vdim}
        setting = {"query": "embed_dim", "key": "kdim", "value": "vdim"}
        for name, tensor in given.items():
            check_tensor(tensor, "MultiheadAttention", name)
            if tensor.ndim not in (2, 3) or tensor.shape[-1] != wanted[name]:
                raise FeatureError(
                    f"MultiheadAttention: {name} {tuple(tensor.shape)} does not end in the {wanted[name]} features of "
                    f"{setting[name]}",
                    operands=given,
                    fix=f"make it {'(N, L' if self.batch_first else '(L, N'}, {wanted[name]}), or (L, {wanted[name]}) "
                    "without a batch",
                )
            if tensor.ndim != given["query"].ndim:
                raise FeatureError(
                    f"MultiheadAttention: query and {name} differ in their numbers of dimensions",
                    operands=given,
                    fix="give all three a batch, or none",
                )

    def _describe(self) -> str:
        return f"{self._get_name()} {self.embed_dim}, {self.num_heads} heads"
