"""The functions of neural networks, from activations to attention."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from scipy import special

from polyad.nn import functional as F

from .arrays import SIDE, Arrays, Case


def _activations(arrays: Arrays) -> Iterator[Case]:
    x = arrays.x
    yield Case("sigmoid", lambda a: a.sigmoid(), lambda a: 1 / (1 + np.exp(-a)), (x,))
    yield Case("relu", F.relu, lambda a: np.maximum(a, 0), (x,))
    yield Case("relu_", lambda a: F.relu(a, inplace=True), lambda a: np.maximum(a, 0, out=a), (x.copy(),))
    yield Case("relu6", F.relu6, lambda a: np.clip(a, 0, 6), (x,))
    yield Case("gelu", F.gelu, lambda a: a * special.ndtr(a), (x,))
    yield Case("gelu tanh", lambda a: F.gelu(a, approximate="tanh"), _gelu_tanh, (x,))
    yield Case("silu", F.silu, lambda a: a / (1 + np.exp(-a)), (x,))
    yield Case("softplus", F.softplus, lambda a: np.logaddexp(a, 0), (x,))
    yield Case("logsigmoid", F.logsigmoid, lambda a: -np.logaddexp(-a, 0), (x,))
    yield Case("elu", F.elu, lambda a: np.where(a > 0, a, np.expm1(a)), (x,))
    yield Case("celu", F.celu, lambda a: np.where(a > 0, a, np.expm1(a)), (x,))
    yield Case("selu", F.selu, lambda a: np.float32(1.05) * np.where(a > 0, a, np.float32(1.67) * np.expm1(a)), (x,))
    yield Case("hardtanh", F.hardtanh, lambda a: np.clip(a, -1, 1), (x,))
    yield Case("hardsigmoid", F.hardsigmoid, lambda a: np.clip(a / 6 + 0.5, 0, 1), (x,))
    yield Case("hardswish", F.hardswish, lambda a: a * np.clip(a + 3, 0, 6) / 6, (x,))
    yield Case("hardshrink", F.hardshrink, lambda a: np.where(np.abs(a) > 0.5, a, 0), (x,))
    yield Case("softshrink", F.softshrink, lambda a: np.sign(a) * np.maximum(np.abs(a) - 0.5, 0), (x,))
    yield Case("leaky_relu", F.leaky_relu, lambda a: np.where(a > 0, a, 0.01 * a), (x,))
    yield Case("prelu", F.prelu, lambda a, w: np.where(a > 0, a, w * a), (x, x[0]))
    yield Case("threshold", lambda a: F.threshold(a, 0.1, 2), lambda a: np.where(a > 0.1, a, 2), (x,))
    yield Case("mish", F.mish, lambda a: a * np.tanh(np.logaddexp(a, 0)), (x,))
    yield Case("softsign", F.softsign, lambda a: a / (1 + np.abs(a)), (x,))
    yield Case("tanhshrink", F.tanhshrink, lambda a: a - np.tanh(a), (x,))
    yield Case("glu", F.glu, lambda a: a[:, :512] / (1 + np.exp(-a[:, 512:])), (x,))
    yield Case("softmax", lambda a: F.softmax(a, -1), _softmax, (x,))
    yield Case("softmax dim 0", lambda a: F.softmax(a, 0), lambda a: _softmax(a, 0), (x,))
    yield Case("softmin", lambda a: F.softmin(a, -1), lambda a: _softmax(-a), (x,))
    yield Case("log_softmax", lambda a: F.log_softmax(a, -1), _log_softmax, (x,))
    yield Case("log_softmax dim 0", lambda a: F.log_softmax(a, 0), lambda a: _log_softmax(a, 0), (x,))


def _gelu_tanh(a: np.ndarray) -> np.ndarray:
    return 0.5 * a * (1 + np.tanh(np.float32(0.7978845608) * (a + np.float32(0.044715) * a * a * a)))


def _softmax(a: np.ndarray, axis: int = -1) -> np.ndarray:
    e = np.exp(a - a.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


def _log_softmax(a: np.ndarray, axis: int = -1) -> np.ndarray:
    a = a - a.max(axis, keepdims=True)
    return a - np.log(np.exp(a).sum(axis, keepdims=True))


def _normalizations(arrays: Arrays) -> Iterator[Case]:
    x, image = arrays.x, arrays.image
    weight, bias = x[0].copy(), x[1].copy()
    yield Case("layer_norm", lambda a: F.layer_norm(a, (SIDE,)), lambda a: _normalized(a, (1,)), (x,))
    yield Case(
        "layer_norm affine",
        lambda a, w, b: F.layer_norm(a, (SIDE,), w, b),
        lambda a, w, b: _normalized(a, (1,)) * w + b,
        (x, weight, bias),
    )
    yield Case(
        "rms_norm", lambda a: F.rms_norm(a, (SIDE,)), lambda a: a / np.sqrt((a * a).mean(1, keepdims=True)), (x,)
    )
    yield Case(
        "batch_norm",
        lambda a, m, v: F.batch_norm(a, m, v, training=True),
        lambda a, m, v: _normalized(a, (0, 2, 3)),
        (image, np.zeros(16, np.float32), np.ones(16, np.float32)),
    )
    yield Case(
        "batch_norm eval",
        F.batch_norm,
        lambda a, m, v: (a - m[:, None, None]) / np.sqrt(v[:, None, None] + 1e-5),
        (image, np.zeros(16, np.float32), np.ones(16, np.float32)),
    )
    yield Case(
        "batch_norm rows",
        lambda a, m, v: F.batch_norm(a, m, v, training=True),
        lambda a, m, v: _normalized(a, (0,)),
        (x, np.zeros(SIDE, np.float32), np.ones(SIDE, np.float32)),
    )
    yield Case("instance_norm", F.instance_norm, lambda a: _normalized(a, (2, 3)), (image,))
    yield Case(
        "group_norm",
        lambda a: F.group_norm(a, 4),
        lambda a: _normalized(a.reshape(16, 4, 4, 64, 64), (2, 3, 4)).reshape(a.shape),
        (image,),
    )
    yield Case("local_response_norm", lambda a: F.local_response_norm(a, 5), _local_response, (image,))
    yield Case("normalize", F.normalize, lambda a: a / np.maximum(np.sqrt((a * a).sum(1, keepdims=True)), 1e-12), (x,))
    yield Case("cosine_similarity", F.cosine_similarity, _cosine, (x, arrays.y))
    yield Case(
        "pairwise_distance", F.pairwise_distance, lambda a, b: np.sqrt(((a - b + 1e-6) ** 2).sum(1)), (x, arrays.y)
    )


def _normalized(a: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    mean = a.mean(axes, keepdims=True)
    return (a - mean) / np.sqrt(a.var(axes, keepdims=True) + 1e-5)


def _local_response(a: np.ndarray) -> np.ndarray:
    squares = np.pad(a * a, ((0, 0), (2, 2), (0, 0), (0, 0)))
    total = sum(squares[:, i : i + 16] for i in range(5))
    return a / (1 + 1e-4 / 5 * total) ** 0.75


def _cosine(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))


def _losses(arrays: Arrays) -> Iterator[Case]:
    x, y, unit = arrays.x, arrays.y, arrays.unit
    truth, signs = arrays.mask.astype(np.float32), np.sign(x)
    target = arrays.integers[:, 0].copy()
    yield Case("mse_loss", F.mse_loss, lambda a, b: ((a - b) ** 2).mean(), (x, y))
    yield Case("l1_loss", F.l1_loss, lambda a, b: np.abs(a - b).mean(), (x, y))
    yield Case("smooth_l1_loss", F.smooth_l1_loss, _smooth_l1, (x, y))
    yield Case("huber_loss", F.huber_loss, _smooth_l1, (x, y))
    yield Case(
        "kl_div",
        lambda a, b: F.kl_div(a, b, reduction="batchmean"),
        lambda a, b: (special.xlogy(b, b) - b * a).sum() / len(a),
        (x, unit),
    )
    yield Case("poisson_nll_loss", F.poisson_nll_loss, lambda a, b: (np.exp(a) - b * a).mean(), (x, unit))
    yield Case(
        "gaussian_nll_loss",
        F.gaussian_nll_loss,
        lambda a, b, v: 0.5 * (np.log(v) + (a - b) ** 2 / v).mean(),
        (x, y, unit),
    )
    yield Case(
        "binary_cross_entropy",
        F.binary_cross_entropy,
        lambda a, b: -(b * np.log(a) + (1 - b) * np.log(1 - a)).mean(),
        (unit, truth),
    )
    yield Case(
        "binary_cross_entropy_with_logits",
        F.binary_cross_entropy_with_logits,
        lambda a, b: (np.maximum(a, 0) - a * b + np.log1p(np.exp(-np.abs(a)))).mean(),
        (x, truth),
    )
    yield Case("soft_margin_loss", F.soft_margin_loss, lambda a, b: np.log1p(np.exp(-a * b)).mean(), (x, signs))
    yield Case(
        "multilabel_soft_margin_loss",
        F.multilabel_soft_margin_loss,
        lambda a, b: (b * np.logaddexp(0, -a) + (1 - b) * np.logaddexp(0, a)).mean(),
        (x, truth),
    )
    yield Case(
        "margin_ranking_loss", F.margin_ranking_loss, lambda a, b, s: np.maximum(0, -s * (a - b)).mean(), (x, y, signs)
    )
    yield Case(
        "hinge_embedding_loss",
        F.hinge_embedding_loss,
        lambda a, s: np.where(s > 0, a, np.maximum(0, 1 - a)).mean(),
        (x, signs),
    )
    yield Case(
        "cosine_embedding_loss",
        F.cosine_embedding_loss,
        lambda a, b, s: np.where(s > 0, 1 - _cosine(a, b), np.maximum(0, _cosine(a, b))).mean(),
        (x, y, signs[0]),
    )
    yield Case("triplet_margin_loss", F.triplet_margin_loss, _triplet, (x, y, unit))
    yield Case("multi_margin_loss", F.multi_margin_loss, _multi_margin, (x, target))
    yield Case("cross_entropy", F.cross_entropy, _cross_entropy, (x, target))
    yield Case(
        "cross_entropy probabilities",
        F.cross_entropy,
        lambda a, p: -(p * _log_softmax(a)).sum(1).mean(),
        (x, _softmax(y)),
    )
    yield Case("nll_loss", F.nll_loss, lambda a, t: -a[np.arange(len(a)), t].mean(), (x, target))
    yield Case(
        "cross_entropy image",
        F.cross_entropy,
        _cross_entropy_image,
        (arrays.image, arrays.integers[:64].reshape(16, 64, 64) % 16),
    )


def _smooth_l1(a: np.ndarray, b: np.ndarray) -> Any:
    d = np.abs(a - b)
    return np.where(d < 1, 0.5 * d * d, d - 0.5).mean()


def _triplet(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> Any:
    near, far = np.sqrt(((a - b + 1e-6) ** 2).sum(1)), np.sqrt(((a - c + 1e-6) ** 2).sum(1))
    return np.maximum(near - far + 1, 0).mean()


def _multi_margin(a: np.ndarray, target: np.ndarray) -> Any:
    margins = np.maximum(0, 1 - a[np.arange(len(a)), target][:, None] + a)
    margins[np.arange(len(a)), target] = 0
    return margins.sum(1).mean() / a.shape[1]


def _cross_entropy(a: np.ndarray, target: np.ndarray) -> Any:
    a = a - a.max(1, keepdims=True)
    return (np.log(np.exp(a).sum(1)) - a[np.arange(len(a)), target]).mean()


def _cross_entropy_image(a: np.ndarray, target: np.ndarray) -> Any:
    return -np.take_along_axis(_log_softmax(a, 1), target[:, None], 1).mean()


def _pooling(arrays: Arrays) -> Iterator[Case]:
    image, x = arrays.image, arrays.x
    signal = x.reshape(16, 16, 4096)
    volume = x.reshape(4, 16, 16, 32, 32)
    yield Case("avg_pool2d", lambda a: F.avg_pool2d(a, 2), lambda a: _tiles(a).mean((3, 5)), (image,))
    yield Case("max_pool2d", lambda a: F.max_pool2d(a, 2), lambda a: _tiles(a).max((3, 5)), (image,))
    yield Case("avg_pool2d 3x3", lambda a: F.avg_pool2d(a, 3, 2), lambda a: _windows(a).mean((4, 5)), (image,))
    yield Case("max_pool2d 3x3", lambda a: F.max_pool2d(a, 3, 2), lambda a: _windows(a).max((4, 5)), (image,))
    yield Case("avg_pool1d", lambda a: F.avg_pool1d(a, 2), lambda a: a.reshape(16, 16, -1, 2).mean(3), (signal,))
    yield Case("max_pool1d", lambda a: F.max_pool1d(a, 2), lambda a: a.reshape(16, 16, -1, 2).max(3), (signal,))
    yield Case("avg_pool3d", lambda a: F.avg_pool3d(a, 2), lambda a: _blocks(a).mean((3, 5, 7)), (volume,))
    yield Case("max_pool3d", lambda a: F.max_pool3d(a, 2), lambda a: _blocks(a).max((3, 5, 7)), (volume,))
    yield Case("lp_pool2d", lambda a: F.lp_pool2d(a, 2, 2), lambda a: np.sqrt((_tiles(a) ** 2).sum((3, 5))), (image,))
    yield Case(
        "adaptive_avg_pool2d", lambda a: F.adaptive_avg_pool2d(a, 1), lambda a: a.mean((2, 3), keepdims=True), (image,)
    )
    yield Case(
        "adaptive_avg_pool2d 8",
        lambda a: F.adaptive_avg_pool2d(a, 8),
        lambda a: a.reshape(16, 16, 8, 8, 8, 8).mean((3, 5)),
        (image,),
    )
    yield Case(
        "adaptive_max_pool2d",
        lambda a: F.adaptive_max_pool2d(a, 8),
        lambda a: a.reshape(16, 16, 8, 8, 8, 8).max((3, 5)),
        (image,),
    )
    yield Case("adaptive_avg_pool2d 7", lambda a: F.adaptive_avg_pool2d(a, 7), _adaptive, (image,))
    yield Case("unfold", lambda a: F.unfold(a, 3, padding=1), _unfold, (image,))
    yield Case("fold", lambda a: F.fold(a, (64, 64), 2, stride=2), _fold, (x.reshape(16, 64, 1024),))


def _tiles(a: np.ndarray) -> np.ndarray:
    n, c, h, w = a.shape
    return a.reshape(n, c, h // 2, 2, w // 2, 2)


def _blocks(a: np.ndarray) -> np.ndarray:
    n, c, d, h, w = a.shape
    return a.reshape(n, c, d // 2, 2, h // 2, 2, w // 2, 2)


def _windows(a: np.ndarray) -> np.ndarray:
    return sliding_window_view(a, (3, 3), (2, 3))[:, :, ::2, ::2]


def _adaptive(a: np.ndarray) -> np.ndarray:
    made = np.empty((16, 16, 7, 7), a.dtype)
    for i in range(7):
        for j in range(7):
            rows, columns = slice(i * 64 // 7, -(-(i + 1) * 64 // 7)), slice(j * 64 // 7, -(-(j + 1) * 64 // 7))
            made[:, :, i, j] = a[:, :, rows, columns].mean((2, 3))
    return made


def _unfold(a: np.ndarray) -> np.ndarray:
    padded = np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return sliding_window_view(padded, (3, 3), (2, 3)).transpose(0, 1, 4, 5, 2, 3).reshape(16, 144, 4096)


def _fold(a: np.ndarray) -> np.ndarray:
    return a.reshape(16, 16, 2, 2, 32, 32).transpose(0, 1, 4, 2, 5, 3).reshape(16, 16, 64, 64)


def _layers(arrays: Arrays) -> Iterator[Case]:
    x, image = arrays.x, arrays.image
    kernel = arrays.y[:, :9].reshape(-1)[: 16 * 16 * 9].reshape(16, 16, 3, 3).copy()
    yield Case("conv2d", lambda a, w: F.conv2d(a, w), _conv2d, (image, kernel))
    yield Case(
        "conv2d 1x1",
        lambda a, w: F.conv2d(a, w),
        lambda a, w: (w.reshape(16, 16) @ a.reshape(16, 16, -1)).reshape(a.shape),
        (image, kernel[:, :, :1, :1].copy()),
    )
    yield Case("conv2d depthwise", lambda a, w: F.conv2d(a, w, groups=16), _depthwise, (image, kernel[:, :1].copy()))
    yield Case("conv1d", lambda a, w: F.conv1d(a, w), _conv1d, (x.reshape(16, 16, 4096), kernel[:, :, 0].copy()))
    yield Case(
        "conv_transpose2d",
        lambda a, w: F.conv_transpose2d(a, w, stride=2),
        _transposed,
        (image[:4].copy(), kernel[:, :, :2, :2].copy()),
    )
    yield Case(
        "interpolate nearest",
        lambda a: F.interpolate(a, scale_factor=2),
        lambda a: a.repeat(2, 2).repeat(2, 3),
        (image[:4].copy(),),
    )
    yield Case(
        "interpolate bilinear",
        lambda a: F.interpolate(a, scale_factor=2, mode="bilinear"),
        _bilinear,
        (image[:4].copy(),),
    )
    yield Case(
        "interpolate area",
        lambda a: F.interpolate(a, scale_factor=0.5, mode="area"),
        lambda a: _tiles(a).mean((3, 5)),
        (image,),
    )
    yield Case("pixel_shuffle", lambda a: F.pixel_shuffle(a, 2), _shuffled, (image,))
    yield Case(
        "pixel_unshuffle",
        lambda a: F.pixel_unshuffle(a, 2),
        lambda a: _tiles(a).transpose(0, 1, 3, 5, 2, 4).copy(),
        (image,),
    )
    yield Case(
        "channel_shuffle",
        lambda a: F.channel_shuffle(a, 4),
        lambda a: a.reshape(16, 4, 4, 64, 64).swapaxes(1, 2).reshape(a.shape),
        (image,),
    )
    yield Case(
        "grid_sample",
        lambda a, g: F.grid_sample(a, g, align_corners=True),
        _grid_sample,
        (image[:4].copy(), (arrays.unit[:32].reshape(4, 64, 64, 2) * 2 - 1)),
    )
    heads = x.reshape(8, 8, 256, 64)
    yield Case(
        "attention",
        F.scaled_dot_product_attention,
        lambda q, k, v: _softmax(q @ k.swapaxes(2, 3) / 8) @ v,
        (heads, heads, heads),
    )
    yield Case(
        "attention causal",
        lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True),
        _causal,
        (heads, heads, heads),
    )
    yield Case(
        "embedding_bag",
        lambda i, w: F.embedding_bag(i, w, mode="sum"),
        lambda i, w: w[i].sum(1),
        (arrays.integers[:256, :4].copy(), x),
    )


def _conv2d(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    columns = sliding_window_view(a, (3, 3), (2, 3)).transpose(0, 1, 4, 5, 2, 3).reshape(16, 144, -1)
    return (w.reshape(16, -1) @ columns).reshape(16, 16, 62, 62)


def _depthwise(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    made = 0
    for i in range(3):
        for j in range(3):
            made = made + a[:, :, i : i + 62, j : j + 62] * w[:, 0, i, j, None, None]
    return made


def _conv1d(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    columns = sliding_window_view(a, 3, 2).transpose(0, 1, 3, 2).reshape(16, 48, -1)
    return w.reshape(16, -1) @ columns


def _transposed(a: np.ndarray, w: np.ndarray) -> np.ndarray:
    n, c, height, width = a.shape
    columns = (w.reshape(16, -1).T @ a.reshape(n, c, -1)).reshape(n, 16, 2, 2, height, width)
    return columns.transpose(0, 1, 4, 2, 5, 3).reshape(n, 16, 2 * height, 2 * width)


def _bilinear(a: np.ndarray) -> np.ndarray:
    at = np.maximum((np.arange(128) + 0.5) / 2 - 0.5, 0)
    low = at.astype(np.int64)
    high, share = np.minimum(low + 1, 63), (at - low).astype(np.float32)
    rows = a[:, :, low] * (1 - share)[:, None] + a[:, :, high] * share[:, None]
    return rows[..., low] * (1 - share) + rows[..., high] * share


def _shuffled(a: np.ndarray) -> np.ndarray:
    n, c, h, w = a.shape
    return a.reshape(n, c // 4, 2, 2, h, w).transpose(0, 1, 4, 2, 5, 3).reshape(n, c // 4, 2 * h, 2 * w)


def _grid_sample(a: np.ndarray, grid: np.ndarray) -> np.ndarray:
    x, y = (grid[..., 0] + 1) * 31.5, (grid[..., 1] + 1) * 31.5
    left, top = np.clip(x.astype(np.int64), 0, 62), np.clip(y.astype(np.int64), 0, 62)
    n = np.arange(len(a))[:, None, None]
    a = a.transpose(0, 2, 3, 1)
    right, low = (x - left)[..., None], (y - top)[..., None]
    upper = a[n, top, left] * (1 - right) + a[n, top, left + 1] * right
    lower = a[n, top + 1, left] * (1 - right) + a[n, top + 1, left + 1] * right
    return np.ascontiguousarray((upper * (1 - low) + lower * low).transpose(0, 3, 1, 2))


def _causal(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    scores = q @ k.swapaxes(2, 3) / 8
    return _softmax(np.where(np.tri(256, dtype=bool), scores, -np.inf)) @ v


def cases(arrays: Arrays) -> Iterator[Case]:
    yield from _activations(arrays)
    yield from _normalizations(arrays)
    yield from _losses(arrays)
    yield from _pooling(arrays)
    yield from _layers(arrays)
