"""PyTorch's ops of layers and losses whose arguments are not those of the functions in `polyad.nn.functional`:
reductions are numbers (none, mean, sum), and some have a switch for a library of their own, which is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..dispatch.catalogue import OPS, PUBLIC
from ..ops.nn.main_namespace import BY_NUMBER, name_of_number
from ..tensor import Tensor
from .calls import carries_out

_PADS = {"reflection": "reflect", "replication": "replicate"}


def _functional(name: str) -> Callable[..., Any]:
    """A function of `polyad.nn.functional`, looked up when it is called."""
    return lambda *args, **kwargs: PUBLIC[f"nn.functional.{name}"].call(*args, **kwargs)


# --------------------------------------------------------------------------------------------------------------- losses


def _loss(name: str, given: tuple[Any, ...], reduction: int, **named: Any) -> Any:
    return _functional(name)(*given, reduction=name_of_number(name, "reduction", BY_NUMBER, reduction), **named)


def _plain_loss(name: str) -> Callable[..., Any]:
    def call(self: Tensor, target: Tensor, reduction: int = 1) -> Any:
        return _loss(name, (self, target), reduction)

    return call


for _name in ("l1_loss", "mse_loss", "soft_margin_loss", "multilabel_margin_loss"):
    carries_out(_name)(_plain_loss(_name))


@carries_out("smooth_l1_loss")
def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = 1, beta: float = 1.0) -> Any:
    """Huber's loss over *beta*."""
    return _loss("smooth_l1_loss", (self, target), reduction, beta=beta)


@carries_out("huber_loss")
def huber_loss(self: Tensor, target: Tensor, reduction: int = 1, delta: float = 1.0) -> Any:
    """Huber's loss."""
    return _loss("huber_loss", (self, target), reduction, delta=delta)


@carries_out("binary_cross_entropy")
def binary_cross_entropy(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1) -> Any:
    """Of probabilities."""
    return _loss("binary_cross_entropy", (self, target, weight), reduction)


@carries_out("binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    self: Tensor, target: Tensor, weight: Any = None, pos_weight: Any = None, reduction: int = 1
) -> Any:
    """Of scores."""
    return _loss("binary_cross_entropy_with_logits", (self, target, weight), reduction, pos_weight=pos_weight)


@carries_out("kl_div")
def kl_div(self: Tensor, target: Tensor, reduction: int = 1, *, log_target: bool = False) -> Any:
    """The divergence of distributions."""
    return _loss("kl_div", (self, target), reduction, log_target=log_target)


@carries_out("nll_loss")
@carries_out("nll_loss_nd")
@carries_out("nll_loss2d")
def nll_loss(self: Tensor, target: Tensor, weight: Any = None, reduction: int = 1, ignore_index: int = -100) -> Any:
    """Of the logarithms of probabilities."""
    return _loss("nll_loss", (self, target, weight), reduction, ignore_index=ignore_index)


@carries_out("multi_margin_loss")
def multi_margin_loss(
    self: Tensor, target: Tensor, p: int = 1, margin: float = 1, weight: Any = None, reduction: int = 1
) -> Any:
    """A hinge for each class."""
    return _loss("multi_margin_loss", (self, target, p, margin, weight), reduction)


@carries_out("cosine_embedding_loss")
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1
) -> Any:
    """The loss of angles between pairs of vectors."""
    return _loss("cosine_embedding_loss", (input1, input2, target, margin), reduction)


@carries_out("hinge_embedding_loss")
def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 1) -> Any:
    """The loss of distances."""
    return _loss("hinge_embedding_loss", (self, target, margin), reduction)


@carries_out("margin_ranking_loss")
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 1) -> Any:
    """The loss of pairs in the wrong order."""
    return _loss("margin_ranking_loss", (input1, input2, target, margin), reduction)


@carries_out("triplet_margin_loss")
def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-6,
    swap: bool = False,
    reduction: int = 1,
) -> Any:
    """The loss of distances to a like and an unlike vector."""
    return _loss("triplet_margin_loss", (anchor, positive, negative, margin, p, eps, swap), reduction)


@carries_out("ctc_loss")
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = 1,
    zero_infinity: bool = False,
) -> Any:
    """The loss of sequences that are not aligned."""
    given = (log_probs, targets, input_lengths, target_lengths, blank)
    return _loss("ctc_loss", given, reduction, zero_infinity=zero_infinity)


# -------------------------------------------------------------------------------------------------------------- pooling


def _adaptive_max_pool(name: str) -> Callable[..., Any]:
    return lambda self, output_size: _functional(name)(self, output_size, return_indices=True)


for _ndim in (1, 2, 3):
    carries_out(f"adaptive_max_pool{_ndim}d")(_adaptive_max_pool(f"adaptive_max_pool{_ndim}d"))


def _fractional_max_pool(name: str) -> Callable[..., Any]:
    def call(self: Tensor, kernel_size: Any, output_size: Any, random_samples: Tensor) -> Any:
        pool = _functional(name)
        return pool(self, kernel_size, output_size, return_indices=True, _random_samples=random_samples)

    return call


for _ndim in (2, 3):
    carries_out(f"fractional_max_pool{_ndim}d")(_fractional_max_pool(f"fractional_max_pool{_ndim}d"))


@carries_out("max_unpool2d")
def max_unpool2d(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Any:
    """The elements at their *indices* in planes of *output_size*."""
    return _unpooled(self, indices, output_size)


@carries_out("max_unpool3d")
def max_unpool3d(
    self: Tensor, indices: Tensor, output_size: Sequence[int], stride: Sequence[int], padding: Sequence[int]
) -> Any:
    """The elements at their *indices* in volumes of *output_size*, which *stride* and *padding* do not change."""
    return _unpooled(self, indices, output_size)


def _unpooled(self: Tensor, indices: Tensor, output_size: Sequence[int]) -> Any:
    leading = tuple(self.shape[: self.dim() - len(output_size)])
    planes = self.new_zeros((*leading, math.prod(output_size)))
    found = planes.scatter(-1, indices.flatten(len(leading)), self.flatten(len(leading)))
    return found.reshape((*leading, *output_size))


# -------------------------------------------------------------------------------------------------------- normalisation


@carries_out("layer_norm")
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Any:
    """Over the last dimensions."""
    return _functional("layer_norm")(input, normalized_shape, weight, bias, eps)


@carries_out("group_norm")
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Any:
    """Over groups of channels."""
    return _functional("group_norm")(input, num_groups, weight, bias, eps)


@carries_out("native_dropout")
def native_dropout(input: Tensor, p: float, train: bool | None) -> Any:
    """The result, and what was kept."""
    if not train:
        return input.clone(), PUBLIC["ones_like"].call(input, dtype=PUBLIC["gt"].call(input, 0).dtype)
    from ..random.generator import default_generator

    return OPS["dropout"].call(input, p, default_generator)


# ---------------------------------------------------------------------------------------------------------- convolution


@carries_out("convolution")
@carries_out("_convolution")
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    *switches: bool,
) -> Any:
    """In as many dimensions as *weight* has beside channels; a number stands for all of them."""
    ndim = weight.dim() - 2
    name = f"conv{'_transpose' if transposed else ''}{ndim}d"
    sizes = [list(size) * ndim if len(size) == 1 else size for size in (stride, padding, dilation, output_padding)]
    stride, padding, dilation, output_padding = sizes
    more = (output_padding, groups, dilation) if transposed else (dilation, groups)
    return _functional(name)(input, weight, bias, stride, padding, *more)


@carries_out("im2col")
def im2col(self: Tensor, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Windows as columns."""
    return _functional("unfold")(self, kernel_size, dilation, padding, stride)


@carries_out("col2im")
def col2im(self: Tensor, output_size: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    """Columns added up where their windows were."""
    return _functional("fold")(self, output_size, kernel_size, dilation, padding, stride)


def _padding(mode: str) -> Callable[..., Any]:
    return lambda self, padding: _functional("pad")(self, padding, mode)


for _kind, _mode in _PADS.items():
    for _ndim in (1, 2, 3):
        carries_out(f"{_kind}_pad{_ndim}d")(_padding(_mode))


def _resizing(mode: str, aligns: bool, antialias: bool = False) -> Callable[..., Any]:
    def call(self: Tensor, output_size: Any = None, *rest: Any, **named: Any) -> Any:
        align, *factors = rest if aligns else (None, *rest)
        factor = factors[0] if factors and isinstance(factors[0], (list, tuple)) else None
        size = None if output_size is None or factor is not None else list(output_size)
        return _functional("interpolate")(self, size, factor, mode, align, antialias=antialias)

    return call


for _ndim, _smooth in ((1, "linear"), (2, "bilinear"), (3, "trilinear")):
    carries_out(f"upsample_nearest{_ndim}d")(_resizing("nearest", False))
    carries_out(f"_upsample_nearest_exact{_ndim}d")(_resizing("nearest-exact", False))
    carries_out(f"upsample_{_smooth}{_ndim}d")(_resizing(_smooth, True))
carries_out("upsample_bicubic2d")(_resizing("bicubic", True))
carries_out("_upsample_bilinear2d_aa")(_resizing("bilinear", True, antialias=True))
carries_out("_upsample_lanczos2d_aa")(_resizing("lanczos", True, antialias=True))
carries_out("_upsample_bicubic2d_aa")(_resizing("bicubic", True, antialias=True))


# ----------------------------------------------------------------------------------------------- activations, attention


@carries_out("log_sigmoid")
def log_sigmoid(self: Tensor) -> Any:
    """The logarithm of the logistic function."""
    return _functional("logsigmoid")(self)


def _activation_in_place(name: str) -> Callable[..., Any]:
    return lambda self: _functional(name)(self, inplace=True)


for _name in ("silu", "mish", "hardswish", "hardsigmoid", "relu6"):
    carries_out(f"{_name}_")(_activation_in_place(_name))


@carries_out("elu_")
def elu_(self: Tensor, alpha: float = 1, scale: float = 1, input_scale: float = 1) -> Any:
    """With the factors that make celu and selu of it, in place."""
    return self.copy_(OPS["elu"].call(self, alpha, scale, input_scale))


@carries_out("rrelu_")
def rrelu_(
    self: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """With slopes that are drawn in training, in place."""
    return _functional("rrelu")(self, lower, upper, training, True)


@carries_out("rrelu")
def rrelu(
    self: Tensor, lower: float = 0.125, upper: float = 1 / 3, training: bool = False, generator: Any = None
) -> Any:
    """With slopes that are drawn in training."""
    return _functional("rrelu")(self, lower, upper, training)


@carries_out("_weight_norm")
def weight_norm(v: Tensor, g: Tensor, dim: int = 0) -> Any:
    """*v* with the norms *g*, over all dimensions but *dim*."""
    dims = [one for one in range(v.dim()) if one != dim % v.dim()]
    return v * (g / PUBLIC["linalg.vector_norm"].call(v, 2, dims, keepdim=True))


@carries_out("_native_multi_head_attention")
def native_multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_head: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    mask: Tensor | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    """Attention in heads, of batches first; *mask_type* 0 is a mask of pairs, 1 one of keys."""
    given = [one.transpose(0, 1) for one in (query, key, value)]
    out, weights = _functional("multi_head_attention_forward")(
        *given, embed_dim, num_head, qkv_weight, qkv_bias, None, None, False, 0.0, proj_weight, proj_bias,
        training=False, key_padding_mask=mask if mask_type == 1 else None, need_weights=need_weights,
        attn_mask=mask if mask_type != 1 else None, average_attn_weights=average_attn_weights,
    )  # fmt: skip
    return out.transpose(0, 1), out.new_empty((0,)) if weights is None else weights


@carries_out("_transformer_encoder_layer_fwd")
def transformer_encoder_layer(
    src: Tensor,
    embed_dim: int,
    num_heads: int,
    qkv_weight: Tensor,
    qkv_bias: Tensor,
    proj_weight: Tensor,
    proj_bias: Tensor,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Tensor,
    norm_bias_1: Tensor,
    norm_weight_2: Tensor,
    norm_bias_2: Tensor,
    ffn_weight_1: Tensor,
    ffn_bias_1: Tensor,
    ffn_weight_2: Tensor,
    ffn_bias_2: Tensor,
    mask: Tensor | None = None,
    mask_type: int | None = None,
) -> Any:
    """A layer of an encoder as it is in evaluation: attention and two linear layers, each added to what it is given."""

    def attended(x: Tensor) -> Any:
        weights = (qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
        return native_multi_head_attention(x, x, x, embed_dim, num_heads, *weights)[0]

    def fed(x: Tensor) -> Any:
        hidden = _functional("linear")(x, ffn_weight_1, ffn_bias_1)
        hidden = _functional("gelu" if use_gelu else "relu")(hidden)
        return _functional("linear")(hidden, ffn_weight_2, ffn_bias_2)

    def normed(x: Tensor, weight: Tensor, bias: Tensor) -> Any:
        return _functional("layer_norm")(x, (embed_dim,), weight, bias, eps)

    if norm_first:
        x = src + attended(normed(src, norm_weight_1, norm_bias_1))
        return x + fed(normed(x, norm_weight_2, norm_bias_2))
    x = normed(src + attended(src), norm_weight_1, norm_bias_1)
    return normed(x + fed(x), norm_weight_2, norm_bias_2)
