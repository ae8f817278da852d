"""Tensors made of sizes and numbers, and random ones."""

from __future__ import annotations

import math
from typing import Any

import polyad
from polyad import Tensor

from ..elements import ElementType, element_type, tensor_of
from ..operators import REQUIRED, Compute, Node, described, operator

__all__: list[str] = []


def _kind(node: Node, name: str = "dtype", default: int = 1) -> ElementType:
    return element_type(node.integer(name, default), f"node {described(node.proto)}")


@operator("ConstantOfShape", host=(0,))
def constant_of_shape(node: Node) -> Compute:
    value = node.tensor("value", None)
    fill = tensor_of(value, f"node {described(node.proto)}") if value is not None else polyad.zeros(1)
    if fill.numel() != 1:
        raise node.wrong(f"attribute value has {fill.numel()} elements, not one")
    number, dtype, device = fill.reshape(()), fill.dtype, node.device
    if dtype.computes:
        item = number.item()
        return lambda sizes: polyad.full(sizes, item, dtype=dtype, device=device)
    number = number.to(device)
    return lambda sizes: number.expand(sizes).clone()


@operator("EyeLike")
def eye_like(node: Node) -> Compute:
    shift, dtype = node.integer("k", 0), node.integer("dtype", None)
    given = None if dtype is None else _kind(node).dtype

    def call(x: Tensor) -> Tensor:
        rows, columns = x.shape
        row = polyad.arange(rows, device=x.device)[:, None]
        return (polyad.arange(columns, device=x.device) - row == shift).to(given or x.dtype)

    return call


@operator("Range")
def ranges(node: Node) -> Compute:
    def call(start: Tensor, limit: Tensor, delta: Tensor) -> Tensor:
        first, last, step = start.item(), limit.item(), delta.item()
        count = max(math.ceil((last - first) / step), 0)
        return polyad.arange(count, device=node.device).to(start.dtype) * step + start

    return call


@operator("Trilu", host=(1,))
def trilu(node: Node) -> Compute:
    function: Any = polyad.triu if node.integer("upper", 1) else polyad.tril

    def call(x: Tensor, k: Any = (0,)) -> Tensor:
        return function(x, k[0])

    return call


@operator("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike")
def random(node: Node) -> Compute:
    like, normal = node.proto.op_type.endswith("Like"), "Normal" in node.proto.op_type
    first = node.number("mean", 0.0) if normal else node.number("low", 0.0)
    scale = node.number("scale", 1.0) if normal else node.number("high", 1.0) - first
    chosen = None if like and node.integer("dtype", None) is None else _kind(node).dtype
    shape = None if like else node.integers("shape", REQUIRED)
    draw: Any = polyad.randn if normal else polyad.rand
    generator = _generator(node)

    def call(x: Tensor | None = None) -> Tensor:
        size, dtype = (x.shape, chosen or x.dtype) if x is not None else (shape, chosen)
        return draw(size, dtype=dtype, device=node.device, generator=generator()) * scale + first

    return call


def _generator(node: Node) -> Any:
    """What draws the numbers of a node: its own seed gives the same numbers at every call."""
    seed = node.any_number("seed")
    if seed is None:
        return lambda: None
    whole = int(seed * 65536) if math.isfinite(seed) else 0
    return lambda: polyad.Generator(node.device).manual_seed(abs(whole))


@operator("Bernoulli")
def bernoulli(node: Node) -> Compute:
    chosen = None if node.integer("dtype", None) is None else _kind(node).dtype
    generator = _generator(node)
    return lambda x: polyad.bernoulli(x, generator=generator()).to(chosen or x.dtype)


@operator("Multinomial")
def multinomial(node: Node) -> Compute:
    count, dtype, generator = node.integer("sample_size", 1), _kind(node, default=6).dtype, _generator(node)
    return lambda x: polyad.multinomial(x.softmax(-1), count, True, generator=generator()).to(dtype)


@operator("OneHot", host=(1,))
def one_hot(node: Node) -> Compute:
    axis = node.integer("axis", -1)

    def call(indices: Tensor, depth: Any, values: Tensor) -> Tensor:
        count = int(depth[0])
        dim = axis if axis >= 0 else indices.ndim + 1 + axis
        places = indices.to(polyad.int64)
        places = polyad.where(places < 0, places + count, places).unsqueeze(dim)
        each = polyad.arange(count, device=indices.device).reshape(-1, *[1] * (indices.ndim - dim))
        return polyad.where(places == each, values[1], values[0])

    return call


@operator("Dropout", host=(1, 2))
def dropout(node: Node) -> Compute:
    generator, ratio = _generator(node), [node.number("ratio", 0.5)]
    training = [node.version < 7 and not node.integer("is_test", 0)]

    def call(x: Tensor, chance: Any = None, train: Any = training) -> Any:
        chance = (chance or ratio)[0]
        mask = polyad.ones_like(x, dtype=polyad.bool) if node.wants(1) else None
        made = x
        if train[0] and chance > 0:
            mask = polyad.rand(x.shape, device=x.device, generator=generator()) >= chance
            made = polyad.where(mask, x / (1 - chance), 0.0) if chance < 1 else polyad.zeros_like(x)
        return made if node.outputs < 2 else (made, mask)

    return call
