"""The transformer and its layers (Vaswani et al. 2017).

Encoder and decoder stack copies of a layer. With ``norm_first`` a layer normalises what goes into each block (Xiong et
al. 2020), without, what comes out of it and around it.

Masks: an attention mask is (T, S), or (N * heads, T, S); a padding mask (N, S) belongs to keys. Both are bool, with
True where there is no attention, or floating point, and added to the scores. ``is_causal`` says that a mask hides all
that is later: it must be true of the mask, which may then be left unread.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from ...base.device import Device
from ...base.dtypes import DType, bool_
from ...base.kinds import Copies
from ...base.state import state, warn_user
from ...compatibility.absent import lacking
from ...errors import FeatureError, OptionError, ShapeError, safe_repr
from ...ops.creation.factories import full
from ...tensor import Tensor
from ...tensor.tensor import check_tensor, has_data
from .. import functional as F, init
from .activation import MultiheadAttention
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module, require_module
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


__getattr__ = lacking(__name__)


def activation_named(activation: Activation, where: str = "_get_activation_fn") -> Callable[[Tensor], Tensor]:
    """The function that is called "relu" or "gelu", or is given itself. Raises RuntimeError for other names."""
    if activation == "relu":
        return F.relu
    if activation == "gelu":
        return F.gelu
    if not callable(activation):
        raise OptionError(
            f"{where}: unknown activation {safe_repr(activation)}", fix='use "relu", "gelu", or a function of a tensor'
        )
    return activation


def _copies(layer: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _causal_mask(size: int, device: Any, dtype: DType | None) -> Tensor:
    return full((size, size), float("-inf"), device=device, dtype=dtype).triu(1)


def _is_causal(mask: Tensor | None, given: bool | None, size: int) -> bool:
    """Whether *mask* is causal: what was said of it, or what it is."""
    if given is not None or mask is None:
        return bool(given)
    if tuple(mask.shape) != (size, size) or mask.dtype is bool_ or not has_data(mask):
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


def _steps(input: Tensor, batch_first: bool) -> int:
    return int(input.shape[1 if batch_first and input.ndim == 3 else 0])


def _check_features(layer: Module, name: str, input: Any, size: int) -> None:
    """Raise unless *input* is (T, N, size) or (T, size)."""
    cls = layer._get_name()
    check_tensor(input, cls, name)
    if input.ndim not in (2, 3) or input.shape[-1] != size:
        raise FeatureError(
            f"{cls}: {name} {tuple(input.shape)} does not end in the {size} features of d_model",
            operands={name: input},
            fix=f"make it (T, N, {size}), with batch_first=True (N, T, {size}), or (T, {size}) without a batch",
        )


class _Layer(Module):
    """What encoder and decoder layers have in common."""

    self_attn: MultiheadAttention
    activation: Callable[[Tensor], Tensor]

    def _feed_forward(
        self, d_model: int, dim_feedforward: int, dropout: float, bias: bool, device: Any, dtype: DType | None
    ) -> None:
        self.linear1 = Linear(d_model, dim_feedforward, bias, device, dtype)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias, device, dtype)

    @property
    def activation_relu_or_gelu(self) -> int:
        """1 if the activation is relu, 2 if it is gelu, else 0."""
        return 1 if self.activation is F.relu else 2 if self.activation is F.gelu else 0

    def _describe(self) -> str:
        return f"{self._get_name()} {self.self_attn.embed_dim}, {self.self_attn.num_heads} heads"


class TransformerEncoderLayer(_Layer):
    """Self-attention and a feed-forward network, each added to what goes into it and normalised.

    Called as ``layer(src, src_mask, src_key_padding_mask, is_causal)``. Shapes: src and the result (T, N, d_model),
    with *batch_first* (N, T, d_model), or (T, d_model) without a batch; src_mask (T, T) or (N * nhead, T, T),
    src_key_padding_mask (N, T), or (T,) without a batch.

    Args:
        d_model: features of input and result.
        nhead: heads of the attention; a divisor of d_model.
        dim_feedforward: features inside of the feed-forward network.
        dropout: with what probability the blocks' results, attention weights and inner features are dropped in
        training. activation: ``"relu"``, ``"gelu"``, or a function of a tensor, inside of the feed-forward network.
        layer_norm_eps: ``eps`` of the normalisations.
        batch_first: whether the batch comes before the steps.
        norm_first: whether to normalise before the blocks, instead of after.
        bias: whether linear layers and normalisations have biases.

    Raises:
        RuntimeError: shapes that do not fit, an unknown activation.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.TransformerEncoderLayer(8, 2, dim_feedforward=16)(polyad.zeros(5, 3, 8)).shape
    polyad.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self._feed_forward(d_model, dim_feedforward, dropout, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = activation_named(activation, self._get_name())

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The result of both blocks; see the layer."""
        _check_features(self, "src", src, self.self_attn.embed_dim)
        if self.norm_first:
            src = src + self._sa_block(self.norm1(src), src_mask, src_key_padding_mask, is_causal)
            return src + self._ff_block(self.norm2(src))
        src = self.norm1(src + self._sa_block(src, src_mask, src_key_padding_mask, is_causal))
        result: Tensor = self.norm2(src + self._ff_block(src))
        return result

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        out = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )[0]
        return self.dropout1(out)  # type: ignore[no-any-return]

    def _ff_block(self, x: Tensor) -> Tensor:
        inner = self.dropout(self.activation(self.linear1(x)))
        return self.dropout2(self.linear2(inner))  # type: ignore[no-any-return]


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's result, and a feed-forward network.

    Called as ``layer(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask, tgt_is_causal,
    memory_is_causal)``. Shapes: tgt and the result (T, N, d_model), memory (S, N, d_model), with *batch_first* (N, T,
    d_model) and (N, S, d_model), or both without N; tgt_mask (T, T), memory_mask (T, S), tgt_key_padding_mask (N, T),
    memory_key_padding_mask (N, S). Arguments and errors as in `TransformerEncoderLayer`.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.TransformerDecoderLayer(8, 2, dim_feedforward=16)
    >>> layer(polyad.zeros(5, 3, 8), polyad.zeros(7, 3, 8)).shape
    polyad.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout, bias, batch_first=batch_first, device=device, dtype=dtype
        )
        self._feed_forward(d_model, dim_feedforward, dropout, bias, device, dtype)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm2 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.norm3 = LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = activation_named(activation, self._get_name())

    def forward(
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
        """The result of the three blocks; see the layer."""
        for name, input in (("tgt", tgt), ("memory", memory)):
            _check_features(self, name, input, self.self_attn.embed_dim)
        of_tgt = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        of_memory = (memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            tgt = tgt + self._sa_block(self.norm1(tgt), *of_tgt)
            tgt = tgt + self._mha_block(self.norm2(tgt), memory, *of_memory)
            return tgt + self._ff_block(self.norm3(tgt))
        tgt = self.norm1(tgt + self._sa_block(tgt, *of_tgt))
        tgt = self.norm2(tgt + self._mha_block(tgt, memory, *of_memory))
        result: Tensor = self.norm3(tgt + self._ff_block(tgt))
        return result

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        out = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )[0]
        return self.dropout1(out)  # type: ignore[no-any-return]

    def _mha_block(
        self,
        x: Tensor,
        mem: Tensor,
        attn_mask: Tensor | None,
        key_padding_mask: Tensor | None,
        is_causal: bool = False,
    ) -> Tensor:
        out = self.multihead_attn(
            x, mem, mem, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False,
            is_causal=is_causal,
        )[0]  # fmt: skip
        return self.dropout2(out)  # type: ignore[no-any-return]

    def _ff_block(self, x: Tensor) -> Tensor:
        inner = self.dropout(self.activation(self.linear1(x)))
        return self.dropout3(self.linear2(inner))  # type: ignore[no-any-return]


def _check_norm(op: str, norm: Any) -> None:
    if norm is not None and not callable(norm):
        require_module(op, norm)


def _not_nested(layer: Module) -> str:
    """Why PyTorch would not use nested tensors with *layer*; empty if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer is no TransformerEncoderLayer"
    attention = layer.self_attn
    reasons = {
        "norm_first is True": layer.norm_first,
        "batch_first is not True": not attention.batch_first,
        "there are no biases": attention.in_proj_bias is None,
        "activation is neither relu nor gelu": not layer.activation_relu_or_gelu,
        "the normalisations differ in eps": layer.norm1.eps != layer.norm2.eps,
        "the number of heads is odd": attention.num_heads % 2 == 1,
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


class TransformerEncoder(Module):
    """*num_layers* copies of an encoder layer, and a normalisation.

    Called as ``encoder(src, mask, src_key_padding_mask, is_causal)``, with shapes as in `TransformerEncoderLayer`. With
    *is_causal* None the mask is looked at.

    Nested tensors do not exist here; *enable_nested_tensor* stands for what PyTorch's results show of them: in
    evaluation and without gradients, beside a src_key_padding_mask that hides the ends of sequences and no mask, the
    layers' results are 0 where there is padding.

    Args:
        encoder_layer: the layer, which is copied.
        num_layers: how many copies.
        norm: a layer for the result.
        enable_nested_tensor: see above; a warning says where it has no effect.
        mask_check: whether to look that the padding mask hides ends alone.

    >>> import polyad
    >>> from polyad import nn
    >>> encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), num_layers=2)
    >>> encoder(polyad.zeros(3, 5, 8)).shape
    polyad.Size([3, 5, 8])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: Copies,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        _check_norm(type(self).__name__, norm)
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check
        reason = _not_nested(encoder_layer)
        self.use_nested_tensor = enable_nested_tensor and not reason
        if enable_nested_tensor and reason:
            warn_user(
                f"TransformerEncoder: enable_nested_tensor has no effect, since {reason}; pass False to say so",
                UserWarning,
            )

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The result of all layers; see the layer."""
        check_tensor(src, "TransformerEncoder", "src")
        attention = getattr(self.layers[0], "self_attn", None) if len(self.layers) else None
        causal = _is_causal(mask, is_causal, _steps(src, getattr(attention, "batch_first", False)))
        out = src
        for layer in self.layers:
            out = layer(out, src_mask=mask, is_causal=causal, src_key_padding_mask=src_key_padding_mask)
        if src_key_padding_mask is not None and mask is None and self._cuts(src, src_key_padding_mask):
            hidden = src_key_padding_mask if src_key_padding_mask.dtype is bool_ else src_key_padding_mask != 0
            out = out.masked_fill(hidden.unsqueeze(-1), 0)
        return self.norm(out) if self.norm is not None else out

    def _cuts(self, src: Tensor, padding: Tensor) -> bool:
        """Whether PyTorch's result, by way of nested tensors, would be 0 where *padding* hides."""
        first = self.layers[0]
        if not self.use_nested_tensor or first.training or src.ndim != 3 or state.autocast is not None:
            return False
        if state.grad_enabled and (src.requires_grad or any(one.requires_grad for one in first.parameters())):
            return False
        if not self.mask_check:
            return True
        hidden = padding if padding.dtype is bool_ else padding != 0
        return has_data(hidden) and not (hidden[:, :-1] & hidden[:, 1:].logical_not()).any().item()


class TransformerDecoder(Module):
    """*num_layers* copies of a decoder layer, and a normalisation.

    Called as ``decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask, memory_key_padding_mask,
    tgt_is_causal, memory_is_causal)``, with shapes as in `TransformerDecoderLayer`. With *tgt_is_causal* None tgt_mask
    is looked at.

    Args:
        decoder_layer: the layer, which is copied.
        num_layers: how many copies.
        norm: a layer for the result.

    >>> import polyad
    >>> from polyad import nn
    >>> decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), num_layers=2)
    >>> decoder(polyad.zeros(5, 3, 8), polyad.zeros(7, 3, 8)).shape
    polyad.Size([5, 3, 8])
    """

    def __init__(self, decoder_layer: Module, num_layers: Copies, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        _check_norm(type(self).__name__, norm)
        self.norm = norm

    def forward(
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
        """The result of all layers; see the layer."""
        check_tensor(tgt, "TransformerDecoder", "tgt")
        attention = getattr(self.layers[0], "self_attn", None) if len(self.layers) else None
        causal = _is_causal(tgt_mask, tgt_is_causal, _steps(tgt, getattr(attention, "batch_first", False)))
        out = tgt
        for layer in self.layers:
            out = layer(
                out,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=causal,
                memory_is_causal=memory_is_causal,
            )
        return self.norm(out) if self.norm is not None else out


class Transformer(Module):
    """An encoder, and a decoder that attends to its result (Vaswani et al. 2017).

    Called as ``model(src, tgt, src_mask, tgt_mask, memory_mask, src_key_padding_mask, tgt_key_padding_mask,
    memory_key_padding_mask, src_is_causal, tgt_is_causal, memory_is_causal)``. Shapes: src (S, N, d_model), tgt and the
    result (T, N, d_model), with *batch_first* N first, or all without N; masks as in `TransformerEncoderLayer` and
    `TransformerDecoderLayer`.

    Parameters with more than one dimension start by `init.xavier_uniform_`.

    Args:
        num_encoder_layers: layers of the encoder.
        num_decoder_layers: layers of the decoder.
        custom_encoder: what encodes, in the place of a `TransformerEncoder`.
        custom_decoder: what decodes, in the place of a `TransformerDecoder`.

    Other arguments as in `TransformerEncoderLayer`.

    Raises:
        RuntimeError: shapes that do not fit.

    >>> import polyad
    >>> from polyad import nn
    >>> model = nn.Transformer(8, 2, num_encoder_layers=1, num_decoder_layers=1, dim_feedforward=16, batch_first=True)
    >>> model(polyad.zeros(3, 7, 8), polyad.zeros(3, 5, 8)).shape
    polyad.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: Copies = 6,
        num_decoder_layers: Copies = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Any | None = None,
        custom_decoder: Any | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        settings: Any = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
            dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*settings),
            num_encoder_layers,
            norm(),
            enable_nested_tensor=batch_first and not norm_first and bias and nhead % 2 == 0,
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*settings), num_decoder_layers, norm()
        )
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Device | str | None = None, dtype: DType | None = None
    ) -> Tensor:
        """A mask (sz, sz) that hides all that is later: minus infinity above the diagonal, else 0.

        >>> from polyad import nn
        >>> nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def forward(
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
        """The decoder's result; see the model."""
        for name, input in (("src", src), ("tgt", tgt)):
            _check_features(self, name, input, self.d_model)
        place = 0 if self.batch_first else 1
        if src.ndim != tgt.ndim or (src.ndim == 3 and src.shape[place] != tgt.shape[place]):
            raise ShapeError(
                f"Transformer: src {tuple(src.shape)} and tgt {tuple(tgt.shape)} are not of the same batch",
                operands={"src": src, "tgt": tgt},
                fix=f"make dimension {place} of both the batch",
            )
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(  # type: ignore[no-any-return]
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
