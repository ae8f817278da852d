"""Models as people write them, small, for the tests of `polyad.onnx`."""

import math
from typing import Any

import polyad as torch

nn = torch.nn
F = torch.nn.functional


class SelfAttention(nn.Module):
    def __init__(self, width: int, heads: int, block: int, fused: bool) -> None:
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads, self.fused = heads, fused
        self.register_buffer("bias", torch.tril(torch.ones(block, block)).view(1, 1, block, block))

    def forward(self, x: Any) -> Any:
        batch, length, width = x.size()
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.c_attn(x).split(width, dim=2)
        )
        if self.fused:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            scores = scores.masked_fill(self.bias[:, :, :length, :length] == 0, float("-inf"))
            y = F.softmax(scores, dim=-1) @ v
        return self.c_proj(y.transpose(1, 2).contiguous().view(batch, length, width))


class GPT(nn.Module):
    """A language model, as nanoGPT arranges it."""

    def __init__(self, fused: bool, vocabulary: int = 17, width: int = 16, block: int = 16) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(block, width)
        self.attention = nn.ModuleList([SelfAttention(width, 2, block, fused) for _ in range(2)])
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, tokens: Any) -> Any:
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.size(1)))
        for norm, attention in zip(self.norms, self.attention, strict=False):
            x = x + attention(norm(x))
        return self.head(self.norms[-1](x))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(20, 6, padding_idx=0)
        self.lstm = nn.LSTM(6, 5, 2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(10, 3)

    def forward(self, words: Any) -> Any:
        return F.log_softmax(self.out(self.lstm(self.embedding(words))[0]), dim=2)


def twice(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU())


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.bottom, self.joined = twice(3, 4), twice(4, 8), twice(8, 4)
        self.pool, self.up, self.out = nn.MaxPool2d(2), nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(4, 2, 1)

    def forward(self, x: Any) -> Any:
        first = self.down(x)
        y = self.up(self.bottom(self.pool(first)))
        rows, columns = first.size(2) - y.size(2), first.size(3) - y.size(3)
        y = F.pad(y, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return self.out(self.joined(torch.cat([first, y], 1)))


class Translation(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(20, 8), nn.Embedding(20, 8)
        self.transformer = nn.Transformer(8, 2, 1, 1, 16, batch_first=True)
        self.out = nn.Linear(8, 20)

    def forward(self, source: Any, target: Any) -> Any:
        mask = nn.Transformer.generate_square_subsequent_mask(target.size(1))
        return self.out(self.transformer(self.source(source), self.target(target), tgt_mask=mask, tgt_is_causal=True))


class InvertedResidual(nn.Module):
    """A block of MobileNet V3: wider inside, a filter for each channel, and channels weighted by what is in all."""

    def __init__(self, width: int, inside: int) -> None:
        super().__init__()
        self.widen = nn.Sequential(nn.Conv2d(width, inside, 1, bias=False), nn.BatchNorm2d(inside), nn.Hardswish())
        self.filters = nn.Sequential(
            nn.Conv2d(inside, inside, 3, padding=1, groups=inside, bias=False), nn.BatchNorm2d(inside), nn.Hardswish()
        )
        self.weigh = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(inside, 4, 1), nn.ReLU(), nn.Conv2d(4, inside, 1), nn.Hardsigmoid()
        )
        self.narrow = nn.Sequential(nn.Conv2d(inside, width, 1, bias=False), nn.BatchNorm2d(width))

    def forward(self, x: Any) -> Any:
        y = self.filters(self.widen(x))
        return x + self.narrow(self.weigh(y) * y)


class MobileNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        stem = nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(inplace=True)
        self.features = nn.Sequential(*stem, InvertedResidual(8, 16), InvertedResidual(8, 24))
        self.pool, self.out = nn.AdaptiveAvgPool2d(1), nn.Sequential(nn.Dropout(0.2), nn.Linear(8, 5))

    def forward(self, x: Any) -> Any:
        return self.out(torch.flatten(self.pool(self.features(x)), 1))


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 8, stride=8)
        self.first, self.places = nn.Parameter(torch.zeros(1, 1, 8)), nn.Parameter(torch.randn(1, 5, 8))
        layer = nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 1, nn.LayerNorm(8), enable_nested_tensor=False)
        self.out = nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        patches = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.size(0), -1, -1), patches], 1) + self.places
        return self.out(self.encoder(x)[:, 0])
