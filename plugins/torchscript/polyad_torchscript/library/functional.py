"""Functions of `polyad.nn.functional` as programs: scripted when a program calls them, and never run as Python.

A function that is not here, and no operator, is called as it is (``ops.polyad.nn_functional_...`` in text).
"""

from __future__ import annotations

import polyad as torch
from polyad import Tensor, dtype as dtype_

__all__ = ["FUNCTIONS"]


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.relu_(input) if inplace else torch.relu(input)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.hardtanh_(input, 0.0, 6.0) if inplace else torch.hardtanh(input, 0.0, 6.0)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.hardtanh_(input, min_val, max_val) if inplace else torch.hardtanh(input, min_val, max_val)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    return torch.leaky_relu_(input, negative_slope) if inplace else torch.leaky_relu(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.elu_(input, alpha) if inplace else torch.elu(input, alpha)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    return torch.celu_(input, alpha) if inplace else torch.celu(input, alpha)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    return torch.selu_(input) if inplace else torch.selu(input)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    return input.copy_(torch.silu(input)) if inplace else torch.silu(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    return input.copy_(torch.mish(input)) if inplace else torch.mish(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    return input.copy_(torch.hardswish(input)) if inplace else torch.hardswish(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    return input.copy_(torch.hardsigmoid(input)) if inplace else torch.hardsigmoid(input)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    return torch.threshold_(input, threshold, value) if inplace else torch.threshold(input, threshold, value)


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    return torch.rrelu_(input, lower, upper, training) if inplace else torch.rrelu(input, lower, upper, training)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    return torch.glu(input, dim)


def tanhshrink(input: Tensor) -> Tensor:
    return input - torch.tanh(input)


def softsign(input: Tensor) -> Tensor:
    return input / (torch.abs(input) + 1)


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype_ | None = None) -> Tensor:
    return torch.softmax(input, usual_dim(input) if dim is None else dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype_ | None = None) -> Tensor:
    return torch.log_softmax(input, usual_dim(input) if dim is None else dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: dtype_ | None = None) -> Tensor:
    return torch.softmax(-input, usual_dim(input) if dim is None else dim, dtype)


def usual_dim(input: Tensor) -> int:
    return 0 if input.dim() in (0, 1, 3) else 1


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.dropout_(input, p, training) if inplace else torch.dropout(input, p, training)


def feature_dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
    return torch.feature_dropout_(input, p, training) if inplace else torch.feature_dropout(input, p, training)


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    return torch.alpha_dropout_(input, p, training) if inplace else torch.alpha_dropout(input, p, training)


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5
) -> Tensor:
    return torch.group_norm(input, num_groups, weight, bias, eps, True)


def layer_norm(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)


def normalize(input: Tensor, p: float = 2.0, dim: int = 1, eps: float = 1e-12) -> Tensor:
    return input / torch.norm(input, p, [dim], True).clamp_min(eps).expand_as(input)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    row = -1
    if padding_idx is not None:
        row = padding_idx if padding_idx >= 0 else weight.size(0) + padding_idx
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight, input.contiguous(), max_norm, norm_type)
    return torch.embedding(weight, input, row, scale_grad_by_freq, sparse)


def embedding_bag(
    input: Tensor,
    weight: Tensor,
    offsets: Tensor | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Tensor:
    index = input
    if input.dim() == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is a batch of bags")
        offsets = torch.arange(0, input.numel(), input.size(1), dtype=input.dtype, device=input.device)
        index = input.reshape(-1)
        if per_sample_weights is not None:
            per_sample_weights = per_sample_weights.reshape(-1)
    if offsets is None:
        raise ValueError("offsets has to be a 1D Tensor but got None")
    if max_norm is not None:
        with torch.no_grad():
            torch.embedding_renorm_(weight, index.contiguous(), max_norm, norm_type)
    number = 2
    if mode == "sum":
        number = 0
    if mode == "mean":
        number = 1
    found, _, _, _ = torch.embedding_bag(
        weight, index, offsets, scale_grad_by_freq, number, sparse, per_sample_weights, include_last_offset,
        padding_idx,
    )  # fmt: skip
    return found


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    if input.dim() != 2 and input.dim() != 3:
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input")
    if input.dim() == 3:
        return feature_dropout(input, p, training, inplace)
    if inplace:
        input.copy_(feature_dropout(input.unsqueeze(0), p, training).squeeze(0))
        return input
    return feature_dropout(input.unsqueeze(0), p, training).squeeze(0)


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    if inplace:
        return torch.feature_alpha_dropout_(input, p, training)
    return torch.feature_alpha_dropout(input, p, training)


def gumbel_softmax(logits: Tensor, tau: float = 1.0, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    noise = -torch.empty_like(logits).exponential_().log()
    soft = torch.softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = torch.zeros_like(logits).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    if input.dim() < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {input.dim()} dimensions)")
    channels = input.size(1)
    squares = input * input
    below = torch.narrow(squares, 1, 0, 1) * 0
    padded = squares
    for _ in range(size // 2):
        padded = torch.cat([below, padded], 1)
    for _ in range((size - 1) // 2):
        padded = torch.cat([padded, below], 1)
    total = torch.narrow(padded, 1, 0, channels)
    for step in range(1, size):
        total = total + torch.narrow(padded, 1, step, channels)
    return input / (total * (alpha / size) + k) ** beta


def rms_norm(
    input: Tensor, normalized_shape: list[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    return torch.rms_norm(input, normalized_shape, weight, eps)


FUNCTIONS = (
    relu, relu6, hardtanh, leaky_relu, elu, celu, selu, silu, mish, hardswish, hardsigmoid, threshold, rrelu, glu,
    tanhshrink, softsign, softmax, log_softmax, softmin, dropout, dropout1d, alpha_dropout, feature_alpha_dropout,
    batch_norm, instance_norm, group_norm, layer_norm, normalize, embedding, embedding_bag, gumbel_softmax,
    local_response_norm, rms_norm,
)  # fmt: skip
"""The functions."""
