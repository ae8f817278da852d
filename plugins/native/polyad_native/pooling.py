"""The gradient of the largest element of windows, by the engine's threads."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from polyad.backend.interface import Signature

from .choosing import Call, NotNative
from .engine import elements, function

_MOST = 1 << 31
Sizes = tuple[int, ...]
_PACK = struct.Struct("13q").pack


def _two(sizes: Sizes, lacking: int) -> tuple[int, ...]:
    return sizes if len(sizes) == 2 else (lacking, *sizes)


def max_pool_backward(types: Signature) -> Call | None:
    """The kernel of `max_pool_backward`."""
    run = function(elements, "max_pool_backward", types[0].dtype)
    if run is None:
        return None

    def call(
        g: Any, x: Any, out: Any, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, ceil_mode: bool
    ) -> Any:
        if x.ndim not in (3, 4) or g.shape != out.shape or not g.size or math.prod(x.shape[2:]) >= _MOST:
            raise NotNative
        if g.dtype != x.dtype or out.dtype != x.dtype:
            raise NotNative
        g, x, out = map(np.ascontiguousarray, (g, x, out))
        result = np.empty(x.shape, x.dtype)
        windows = _PACK(
            math.prod(x.shape[:2]), *_two(x.shape[2:], 1), *_two(kernel, 1), *_two(g.shape[2:], 1), *_two(stride, 1),
            *_two(padding, 0), *_two(dilation, 1),
        )  # fmt: skip
        run(result, g, x, out, windows)
        return result

    return call
