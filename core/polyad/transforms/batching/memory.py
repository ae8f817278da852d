"""Batching rules of ops on windows of memory: each sample has its own stretch of it, one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.shapes_and_strides import Shape, Strides, reach
from ...dispatch.op import Op
from ...ops.shaping.strided import _window_clear, _window_put, _window_take, _window_write
from ...tensor import Tensor
from .rules import Rule

if TYPE_CHECKING:
    from .vmap_level import VmapLevel


def _stretch(*layouts: tuple[Shape, Strides, int]) -> int:
    """How long a sample's stretch must be to hold these."""
    ends = [offset + reach(shape, strides) for shape, strides, offset in layouts]
    return max(*ends, 1) - min(0, *[offset for _, _, offset in layouts])


def _take(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, base_strides, shape, strides, offset = values
    inner = input._inner
    own = _stretch((input._array.shape, base_strides, 0), (shape, strides, offset))
    return _window_take(inner, (own, *base_strides), (level.size, *shape), (own, *strides), offset)


def _put(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, base_shape, base_strides, strides, offset = values
    own = _stretch((base_shape, base_strides, 0), (input._array.shape, strides, offset))
    return _window_put(input._inner, (level.size, *base_shape), (own, *base_strides), (own, *strides), offset)


def _clear(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, base_strides, shape, strides, offset = values
    own = _stretch((input._array.shape, base_strides, 0), (shape, strides, offset))
    return _window_clear(input._inner, (own, *base_strides), (level.size, *shape), (own, *strides), offset)


def _write(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, src, base_strides, strides, offset = values
    own = _stretch((input._array.shape, base_strides, 0), (src._array.shape, strides, offset))
    return _window_write(level.spread(input), level.spread(src), (own, *base_strides), (own, *strides), offset)


def _copy(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Tensor:
    input, strides = values
    return op.call(input._inner, (_stretch((input._array.shape, strides, 0)), *strides))  # type: ignore[no-any-return]


MEMORY: dict[str, Rule] = {
    "copy_strided": _copy,
    "window_take": _take,
    "window_put": _put,
    "window_clear": _clear,
    "window_write": _write,
}
