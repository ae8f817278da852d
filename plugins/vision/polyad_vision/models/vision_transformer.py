"""Vision Transformer: https://arxiv.org/abs/2010.11929."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any

import polyad
from polyad import Tensor, nn
from polyad.arguments import check_divisible
from polyad.errors import ShapeError

from .layers import zero_bias
from .weights import Weights, with_weights

__all__ = ["EncoderBlock", "VisionTransformer", "vit_b_16", "vit_b_32", "vit_h_14", "vit_l_16", "vit_l_32"]

Norm = Callable[[int], nn.Module]


class MLPBlock(nn.Sequential):
    """Two linear layers with a GELU between."""

    def __init__(self, in_dim: int, mlp_dim: int, dropout: float) -> None:
        super().__init__(
            nn.Linear(in_dim, mlp_dim), nn.GELU(), nn.Dropout(dropout), nn.Linear(mlp_dim, in_dim), nn.Dropout(dropout)
        )
        for linear in (self[0], self[3]):
            nn.init.xavier_uniform_(linear.weight)
            nn.init.normal_(linear.bias, std=1e-6)


class EncoderBlock(nn.Module):
    """Attention and two linear layers, each behind a normalisation and added to what came in: (n, tokens, dim)."""

    def __init__(
        self,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float,
        attention_dropout: float,
        norm_layer: Norm,
    ) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = norm_layer(hidden_dim)
        self.self_attention = nn.MultiheadAttention(hidden_dim, num_heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm_layer(hidden_dim)
        self.mlp = MLPBlock(hidden_dim, mlp_dim, dropout)

    def forward(self, input: Tensor) -> Tensor:
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Positions added to the tokens, then the blocks."""

    def __init__(self, seq_length: int, num_layers: int, block: Callable[[], EncoderBlock], dim: int, dropout: float,
                 norm_layer: Norm) -> None:  # fmt: skip
        super().__init__()
        self.pos_embedding = nn.Parameter(polyad.empty(1, seq_length, dim).normal_(std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(OrderedDict((f"encoder_layer_{n}", block()) for n in range(num_layers)))
        self.ln = norm_layer(dim)

    def forward(self, input: Tensor) -> Tensor:
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """Pictures (n, 3, image_size, image_size) to scores (n, num_classes).

    Args:
        representation_size: width of a layer with tanh before the last; None for none.

    Raises:
        ValueError: *image_size* is no multiple of *patch_size*.
        RuntimeError (ShapeError): on a call, pictures of another size.

    >>> import polyad as torch
    >>> from polyad.vision.models import VisionTransformer
    >>> model = VisionTransformer(32, 8, num_layers=2, num_heads=2, hidden_dim=16, mlp_dim=32, num_classes=10)
    >>> model.eval()(torch.zeros(1, 3, 32, 32)).shape
    polyad.Size([1, 10])
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: Norm = partial(nn.LayerNorm, eps=1e-6),  # noqa: B008  # nothing of it changes
    ) -> None:
        super().__init__()
        check_divisible("VisionTransformer", "image_size", image_size, "patch_size", patch_size)
        self.image_size, self.patch_size, self.hidden_dim = image_size, patch_size, hidden_dim
        self.mlp_dim, self.attention_dropout, self.dropout = mlp_dim, attention_dropout, dropout
        self.num_classes, self.representation_size, self.norm_layer = num_classes, representation_size, norm_layer
        self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, stride=patch_size)
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.class_token = nn.Parameter(polyad.zeros(1, 1, hidden_dim))
        block = partial(EncoderBlock, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer)
        self.encoder = Encoder(self.seq_length, num_layers, block, hidden_dim, dropout, norm_layer)
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            layers["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            layers["act"] = nn.Tanh()
        layers["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(layers)
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / (3 * patch_size**2)))
        zero_bias(self.conv_proj)
        if representation_size is not None:
            nn.init.trunc_normal_(layers["pre_logits"].weight, std=math.sqrt(1 / hidden_dim))
            nn.init.zeros_(layers["pre_logits"].bias)
        nn.init.zeros_(layers["head"].weight)
        nn.init.zeros_(layers["head"].bias)

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() != 4 or tuple(x.shape[2:]) != (self.image_size, self.image_size):
            raise ShapeError(
                f"VisionTransformer: input has shape {tuple(x.shape)}; it takes (n, 3, {self.image_size}, "
                f"{self.image_size})",
                fix=f"resize the pictures to {self.image_size} x {self.image_size}, or pass image_size",
            )
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = polyad.cat([self.class_token.expand(len(x), -1, -1), x], 1)
        return self.heads(self.encoder(x)[:, 0])


def _vit(name: str, sizes: tuple[int, ...], weights: Weights, kwargs: dict[str, Any]) -> VisionTransformer:
    patch_size, num_layers, num_heads, hidden_dim, mlp_dim = sizes
    image_size = kwargs.pop("image_size", 224)
    model = VisionTransformer(image_size, patch_size, num_layers, num_heads, hidden_dim, mlp_dim, **kwargs)
    return with_weights(model, weights, name)


def vit_b_16(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VisionTransformer:
    """Vision Transformer, base, in patches of 16."""
    return _vit("vit_b_16", (16, 12, 12, 768, 3072), weights, kwargs)


def vit_b_32(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VisionTransformer:
    """Vision Transformer, base, in patches of 32."""
    return _vit("vit_b_32", (32, 12, 12, 768, 3072), weights, kwargs)


def vit_l_16(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VisionTransformer:
    """Vision Transformer, large, in patches of 16."""
    return _vit("vit_l_16", (16, 24, 16, 1024, 4096), weights, kwargs)


def vit_l_32(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VisionTransformer:
    """Vision Transformer, large, in patches of 32."""
    return _vit("vit_l_32", (32, 24, 16, 1024, 4096), weights, kwargs)


def vit_h_14(*, weights: Weights = None, progress: bool = True, **kwargs: Any) -> VisionTransformer:
    """Vision Transformer, huge, in patches of 14."""
    return _vit("vit_h_14", (14, 32, 16, 1280, 5120), weights, kwargs)
