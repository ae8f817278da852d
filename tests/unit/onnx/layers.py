"""Layers, losses and activations of ``polyad.nn`` with inputs, for the tests of `polyad.onnx`."""

from collections.abc import Callable
from typing import Any, NamedTuple

import polyad as torch

nn = torch.nn


class Layer(NamedTuple):
    """What makes a layer, and what makes its inputs for a batch of a size."""

    make: Callable[[], Any]
    inputs: Callable[[int], tuple[Any, ...]]


def rows(*shape: int) -> Callable[[int], tuple[Any, ...]]:
    return lambda batch: (torch.randn(batch, *shape),)


def pair(*shape: int) -> Callable[[int], tuple[Any, ...]]:
    return lambda batch: (torch.randn(batch, *shape), torch.randn(batch, *shape))


def probabilities(batch: int) -> tuple[Any, ...]:
    return torch.rand(batch, 4), torch.rand(batch, 4)


def classes(batch: int) -> tuple[Any, ...]:
    return torch.randn(batch, 4), torch.randint(0, 4, (batch,))


def signs(batch: int) -> tuple[Any, ...]:
    return torch.randn(batch, 4), torch.randint(0, 2, (batch, 4)) * 2.0 - 1


def triple(batch: int) -> tuple[Any, ...]:
    return torch.randn(batch, 4), torch.randn(batch, 4), torch.randn(batch, 4)


ACTIVATIONS = {
    name: Layer(getattr(nn, name), rows(4, 6))
    for name in (
        "CELU", "ELU", "GELU", "Hardshrink", "Hardsigmoid", "Hardswish", "Hardtanh", "LeakyReLU", "LogSigmoid", "Mish",
        "PReLU", "RReLU", "ReLU", "ReLU6", "SELU", "SiLU", "Sigmoid", "Softplus", "Softshrink", "Softsign", "Tanh",
        "Tanhshrink", "Identity",
    )
} | {
    "GELU tanh": Layer(lambda: nn.GELU("tanh"), rows(4)),
    "GLU": Layer(nn.GLU, rows(4)),
    "Softmax": Layer(lambda: nn.Softmax(-1), rows(4)),
    "Softmax2d": Layer(nn.Softmax2d, rows(3, 4, 5)),
    "Softmin": Layer(lambda: nn.Softmin(1), rows(4)),
    "LogSoftmax": Layer(lambda: nn.LogSoftmax(1), rows(4)),
    "Threshold": Layer(lambda: nn.Threshold(0.1, 2.0), rows(4)),
    "Softplus 2": Layer(lambda: nn.Softplus(2.0, 10.0), rows(4)),
    "CELU 2": Layer(lambda: nn.CELU(2.0), rows(4)),
    "PReLU channels": Layer(lambda: nn.PReLU(3), rows(3, 4)),
}  # fmt: skip

LAYERS = {
    "Linear": Layer(lambda: nn.Linear(4, 3), rows(4)),
    "Linear without bias": Layer(lambda: nn.Linear(4, 3, bias=False), rows(2, 4)),
    "Bilinear": Layer(lambda: nn.Bilinear(4, 4, 3), pair(4)),
    "Flatten": Layer(nn.Flatten, rows(3, 4)),
    "Unflatten": Layer(lambda: nn.Unflatten(1, (2, 3)), rows(6)),
    "Conv1d": Layer(lambda: nn.Conv1d(4, 6, 3, stride=2, padding=1), rows(4, 9)),
    "Conv2d": Layer(lambda: nn.Conv2d(4, 6, 3, padding=1, groups=2), rows(4, 6, 5)),
    "Conv2d same": Layer(lambda: nn.Conv2d(3, 6, 4, padding="same"), rows(3, 6, 5)),
    "Conv2d reflect": Layer(lambda: nn.Conv2d(3, 6, 3, padding=1, padding_mode="reflect"), rows(3, 6, 5)),
    "Conv2d circular": Layer(lambda: nn.Conv2d(3, 6, 3, padding=1, padding_mode="circular"), rows(3, 6, 5)),
    "Conv3d": Layer(lambda: nn.Conv3d(2, 3, 2, dilation=2), rows(2, 5, 4, 6)),
    "ConvTranspose1d": Layer(lambda: nn.ConvTranspose1d(4, 2, 3, stride=2), rows(4, 5)),
    "ConvTranspose2d": Layer(
        lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, padding=1, output_padding=1, groups=2), rows(4, 5, 4)
    ),
    "ConvTranspose3d": Layer(lambda: nn.ConvTranspose3d(2, 2, 2, stride=2), rows(2, 3, 2, 3)),
    "MaxPool1d": Layer(lambda: nn.MaxPool1d(3, 2, padding=1), rows(2, 9)),
    "MaxPool2d": Layer(lambda: nn.MaxPool2d(3, 2, ceil_mode=True), rows(2, 8, 9)),
    "MaxPool2d indices": Layer(lambda: nn.MaxPool2d(2, return_indices=True), rows(2, 6, 6)),
    "MaxPool3d": Layer(lambda: nn.MaxPool3d(2), rows(2, 4, 4, 4)),
    "AvgPool1d": Layer(lambda: nn.AvgPool1d(3, 2, padding=1), rows(2, 9)),
    "AvgPool2d": Layer(lambda: nn.AvgPool2d(3, 2, padding=1, count_include_pad=False), rows(2, 8, 9)),
    "AvgPool2d ceil": Layer(lambda: nn.AvgPool2d(3, 2, ceil_mode=True), rows(2, 8, 9)),
    "AvgPool2d divisor": Layer(lambda: nn.AvgPool2d(2, divisor_override=3), rows(2, 8, 9)),
    "AvgPool3d": Layer(lambda: nn.AvgPool3d(2), rows(2, 4, 4, 4)),
    "LPPool1d": Layer(lambda: nn.LPPool1d(2, 3), rows(2, 9)),
    "LPPool2d": Layer(lambda: nn.LPPool2d(2, 3), rows(2, 9, 9)),
    "AdaptiveAvgPool1d": Layer(lambda: nn.AdaptiveAvgPool1d(2), rows(2, 7)),
    "AdaptiveAvgPool2d": Layer(lambda: nn.AdaptiveAvgPool2d((2, 3)), rows(2, 7, 6)),
    "AdaptiveAvgPool2d 1": Layer(lambda: nn.AdaptiveAvgPool2d(1), rows(2, 7, 6)),
    "AdaptiveAvgPool3d": Layer(lambda: nn.AdaptiveAvgPool3d(2), rows(2, 4, 4, 4)),
    "AdaptiveMaxPool1d": Layer(lambda: nn.AdaptiveMaxPool1d(2), rows(2, 7)),
    "AdaptiveMaxPool2d": Layer(lambda: nn.AdaptiveMaxPool2d(2), rows(2, 7, 6)),
    "AdaptiveMaxPool3d": Layer(lambda: nn.AdaptiveMaxPool3d(2), rows(2, 4, 5, 4)),
    "MaxUnpool2d": Layer(
        lambda: nn.MaxUnpool2d(2),
        lambda batch: nn.functional.max_pool2d(torch.randn(batch, 2, 4, 4), 2, return_indices=True),
    ),
    "ConstantPad1d": Layer(lambda: nn.ConstantPad1d((1, 2), 3.5), rows(2, 5)),
    "ConstantPad2d": Layer(lambda: nn.ConstantPad2d((1, -1, 0, 2), 3.5), rows(2, 5, 5)),
    "ZeroPad2d": Layer(lambda: nn.ZeroPad2d(1), rows(2, 5, 5)),
    "ReflectionPad1d": Layer(lambda: nn.ReflectionPad1d(2), rows(2, 5)),
    "ReflectionPad2d": Layer(lambda: nn.ReflectionPad2d(2), rows(2, 5, 6)),
    "ReplicationPad2d": Layer(lambda: nn.ReplicationPad2d(1), rows(2, 5, 6)),
    "CircularPad2d": Layer(lambda: nn.CircularPad2d(1), rows(2, 5, 6)),
    "BatchNorm1d": Layer(lambda: nn.BatchNorm1d(4), rows(4)),
    "BatchNorm2d": Layer(lambda: nn.BatchNorm2d(4, affine=False), rows(4, 3, 3)),
    "BatchNorm3d": Layer(lambda: nn.BatchNorm3d(2), rows(2, 3, 3, 2)),
    "InstanceNorm1d": Layer(lambda: nn.InstanceNorm1d(4), rows(4, 6)),
    "InstanceNorm2d": Layer(lambda: nn.InstanceNorm2d(4, affine=True), rows(4, 3, 3)),
    "GroupNorm": Layer(lambda: nn.GroupNorm(2, 4), rows(4, 3, 3)),
    "LayerNorm": Layer(lambda: nn.LayerNorm((3, 4)), rows(2, 3, 4)),
    "LayerNorm plain": Layer(lambda: nn.LayerNorm(4, elementwise_affine=False), rows(3, 4)),
    "RMSNorm": Layer(lambda: nn.RMSNorm(4), rows(3, 4)),
    "LocalResponseNorm": Layer(lambda: nn.LocalResponseNorm(3), rows(4, 5, 5)),
    "Dropout": Layer(nn.Dropout, rows(4)),
    "Dropout2d": Layer(nn.Dropout2d, rows(4, 3, 3)),
    "AlphaDropout": Layer(nn.AlphaDropout, rows(4)),
    "Embedding": Layer(lambda: nn.Embedding(7, 3), lambda batch: (torch.randint(0, 7, (batch, 5)),)),
    "EmbeddingBag": Layer(lambda: nn.EmbeddingBag(7, 3, mode="sum"), lambda batch: (torch.randint(0, 7, (batch, 5)),)),
    "Upsample nearest": Layer(lambda: nn.Upsample(scale_factor=2), rows(2, 3, 4)),
    "Upsample bilinear": Layer(lambda: nn.Upsample(scale_factor=2, mode="bilinear"), rows(2, 3, 4)),
    "Upsample bicubic": Layer(lambda: nn.Upsample(size=(5, 7), mode="bicubic", align_corners=True), rows(2, 3, 4)),
    "PixelShuffle": Layer(lambda: nn.PixelShuffle(2), rows(8, 3, 3)),
    "PixelUnshuffle": Layer(lambda: nn.PixelUnshuffle(2), rows(2, 4, 4)),
    "ChannelShuffle": Layer(lambda: nn.ChannelShuffle(2), rows(4, 3, 3)),
    "Fold": Layer(lambda: nn.Fold((4, 5), 2), rows(12, 12)),
    "Unfold": Layer(lambda: nn.Unfold(2), rows(3, 4, 5)),
    "CosineSimilarity": Layer(nn.CosineSimilarity, pair(4)),
    "PairwiseDistance": Layer(nn.PairwiseDistance, pair(4)),
    "RNN": Layer(lambda: nn.RNN(3, 4, batch_first=True), rows(5, 3)),
    "RNN relu": Layer(lambda: nn.RNN(3, 4, nonlinearity="relu", bidirectional=True, batch_first=True), rows(5, 3)),
    "LSTM": Layer(lambda: nn.LSTM(3, 4, batch_first=True), rows(5, 3)),
    "LSTM two layers": Layer(lambda: nn.LSTM(3, 4, 2, bidirectional=True, batch_first=True, bias=False), rows(5, 3)),
    "LSTM projection": Layer(lambda: nn.LSTM(3, 4, proj_size=2, batch_first=True), rows(5, 3)),
    "GRU": Layer(lambda: nn.GRU(3, 4, batch_first=True), rows(5, 3)),
    "GRU two layers": Layer(lambda: nn.GRU(3, 4, 2, bidirectional=True, batch_first=True), rows(5, 3)),
    "RNNCell": Layer(lambda: nn.RNNCell(3, 4), rows(3)),
    "LSTMCell": Layer(lambda: nn.LSTMCell(3, 4), rows(3)),
    "GRUCell": Layer(lambda: nn.GRUCell(3, 4), rows(3)),
    "MultiheadAttention": Layer(
        lambda: nn.MultiheadAttention(8, 2, batch_first=True), lambda batch: (torch.randn(batch, 5, 8),) * 3
    ),
    "TransformerEncoderLayer": Layer(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), rows(5, 8)),
    "TransformerDecoderLayer": Layer(lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True), pair(5, 8)),
}

LOSSES = {
    name: Layer(getattr(nn, name), pair(4))
    for name in ("L1Loss", "MSELoss", "SmoothL1Loss", "HuberLoss", "SoftMarginLoss")
} | {
    "CrossEntropyLoss": Layer(nn.CrossEntropyLoss, classes),
    "CrossEntropyLoss smooth": Layer(lambda: nn.CrossEntropyLoss(label_smoothing=0.1, reduction="none"), classes),
    "CrossEntropyLoss weighted": Layer(lambda: nn.CrossEntropyLoss(torch.rand(4), ignore_index=1), classes),
    "CrossEntropyLoss soft": Layer(nn.CrossEntropyLoss, probabilities),
    "NLLLoss": Layer(nn.NLLLoss, classes),
    "BCELoss": Layer(nn.BCELoss, probabilities),
    "BCEWithLogitsLoss": Layer(nn.BCEWithLogitsLoss, probabilities),
    "KLDivLoss": Layer(lambda: nn.KLDivLoss(reduction="batchmean"), probabilities),
    "PoissonNLLLoss": Layer(nn.PoissonNLLLoss, probabilities),
    "GaussianNLLLoss": Layer(nn.GaussianNLLLoss, lambda batch: (*probabilities(batch), torch.rand(batch, 4) + 0.1)),
    "HingeEmbeddingLoss": Layer(nn.HingeEmbeddingLoss, signs),
    "CosineEmbeddingLoss": Layer(
        nn.CosineEmbeddingLoss, lambda batch: (torch.randn(batch, 4), torch.randn(batch, 4), torch.ones(batch))
    ),
    "MarginRankingLoss": Layer(
        nn.MarginRankingLoss, lambda batch: (torch.randn(batch), torch.randn(batch), torch.ones(batch))
    ),
    "MultiLabelMarginLoss": Layer(
        nn.MultiLabelMarginLoss, lambda batch: (torch.randn(batch, 4), torch.tensor([[1, 3, -1, 0]] * batch))
    ),
    "MultiLabelSoftMarginLoss": Layer(nn.MultiLabelSoftMarginLoss, probabilities),
    "MultiMarginLoss": Layer(nn.MultiMarginLoss, classes),
    "TripletMarginLoss": Layer(nn.TripletMarginLoss, triple),
    "TripletMarginWithDistanceLoss": Layer(nn.TripletMarginWithDistanceLoss, triple),
    "CTCLoss": Layer(
        nn.CTCLoss,
        lambda batch: (
            torch.randn(6, batch, 4).log_softmax(2), torch.randint(1, 4, (batch, 2)),
            torch.full((batch,), 6), torch.full((batch,), 2),
        ),
    ),
}  # fmt: skip

ALL = ACTIVATIONS | LAYERS | LOSSES
