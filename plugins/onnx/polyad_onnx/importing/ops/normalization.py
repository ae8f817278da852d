"""Normalisations."""

from __future__ import annotations

from typing import Any

import polyad
import polyad.nn.functional as F
from polyad import Tensor

from ..elements import element_type
from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []


@operator("BatchNormalization", state=(3, 4))
def batch_normalization(node: Node) -> Compute:
    epsilon, momentum = node.number("epsilon", 1e-5), node.number("momentum", 0.9)
    training = node.integer("training_mode", 0) if node.version >= 14 else 0
    if not node.integer("spatial", 1):
        raise node.refused("attribute spatial is 0, statistics of each place", "export it with a newer opset_version")

    def call(x: Tensor, scale: Tensor, bias: Tensor, mean: Tensor, var: Tensor) -> Any:
        if not training:
            made = F.batch_norm(x, mean.to(x.dtype), var.to(x.dtype), scale, bias, False, 0.0, epsilon)
            return made if node.outputs < 2 else (made, mean, var, mean, var)
        dims = [dim for dim in range(x.ndim) if dim != 1]
        found, centre = x.var(dims, correction=0), x.mean(dims)
        made = F.batch_norm(x, None, None, scale, bias, True, 0.0, epsilon)
        return made, mean * momentum + centre * (1 - momentum), var * momentum + found * (1 - momentum)

    return call


@operator("InstanceNormalization")
def instance_normalization(node: Node) -> Compute:
    epsilon = node.number("epsilon", 1e-5)
    return lambda x, scale, bias: F.instance_norm(x, None, None, scale, bias, eps=epsilon)


@operator("GroupNormalization", since=21)
def group_normalization(node: Node) -> Compute:
    epsilon, groups = node.number("epsilon", 1e-5), node.integer("num_groups", REQUIRED)
    return lambda x, scale, bias: F.group_norm(x, groups, scale, bias, epsilon)


@operator("GroupNormalization", since=18)
def group_normalization_by_group(node: Node) -> Compute:
    epsilon, groups = node.number("epsilon", 1e-5), node.integer("num_groups", REQUIRED)

    def call(x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        each = x.shape[1] // groups
        return F.group_norm(x, groups, scale.repeat_interleave(each), bias.repeat_interleave(each), epsilon)

    return call


@operator("LayerNormalization")
def layer_normalization(node: Node) -> Compute:
    axis, epsilon = node.integer("axis", -1), node.number("epsilon", 1e-5)
    stash = element_type(node.integer("stash_type", 1), "LayerNormalization").dtype

    def call(x: Tensor, scale: Tensor, bias: Tensor | None = None) -> Any:
        first = axis % x.ndim
        shape = x.shape[first:]
        if node.outputs == 1 and scale.shape == shape and (bias is None or bias.shape == shape):
            return F.layer_norm(x, shape, scale, bias, epsilon)
        wide = x.to(polyad.promote_types(stash, x.dtype))
        dims = tuple(range(first, x.ndim))
        mean = wide.mean(dims, keepdim=True)
        inverse = (wide.var(dims, correction=0, keepdim=True) + epsilon).rsqrt()
        made = ((wide - mean) * inverse).to(x.dtype) * scale
        return made if bias is None else made + bias, mean.to(stash), inverse.to(stash)

    return lambda *inputs: _outputs(node, call(*inputs))


def _outputs(node: Node, made: Any) -> Any:
    """As many of the results as the node names."""
    if not isinstance(made, tuple):
        return made
    return made[0] if node.outputs == 1 else made[: node.outputs]


@operator("RMSNormalization")
def rms_normalization(node: Node) -> Compute:
    axis, epsilon = node.integer("axis", -1), node.number("epsilon", 1e-5)
    stash = element_type(node.integer("stash_type", 1), "RMSNormalization").dtype

    def call(x: Tensor, scale: Tensor) -> Tensor:
        shape = x.shape[axis % x.ndim :]
        if scale.shape == shape and x.dtype is polyad.float32:
            return F.rms_norm(x, shape, scale, epsilon)
        wide = x.to(polyad.promote_types(stash, x.dtype))
        dims = tuple(range(axis % x.ndim, x.ndim))
        return (wide * (wide.square().mean(dims, keepdim=True) + epsilon).rsqrt()).to(x.dtype) * scale

    return call


@operator("LpNormalization")
def lp_normalization(node: Node) -> Compute:
    axis, power = node.integer("axis", -1), node.integer("p", 2)

    def call(x: Tensor) -> Tensor:
        size = polyad.linalg.vector_norm(x, power, axis, keepdim=True)
        return polyad.where(size == 0, 0.0, x / size).to(x.dtype)

    return call


@operator("LRN")
def local_response(node: Node) -> Compute:
    size, alpha = node.integer("size", REQUIRED), node.number("alpha", 1e-4)
    beta, bias = node.number("beta", 0.75), node.number("bias", 1.0)

    def call(x: Tensor) -> Tensor:
        squares = F.pad((x * x).flatten(2), [0, 0, (size - 1) // 2, size // 2]) if x.ndim > 2 else None
        if squares is None:
            squares = F.pad((x * x).unsqueeze(-1), [0, 0, (size - 1) // 2, size // 2])
        around = squares.unfold(1, size, 1).sum(-1).reshape(x.shape)
        return x / (bias + alpha / size * around) ** beta

    return call


@operator("MeanVarianceNormalization")
def mean_variance(node: Node) -> Compute:
    axes = node.integers("axes", [0, 2, 3])

    def call(x: Tensor) -> Tensor:
        mean = x.mean(axes, keepdim=True)
        spread = ((x * x).mean(axes, keepdim=True) - mean * mean).sqrt()
        return (x - mean) / (spread + 1e-9)

    return call
