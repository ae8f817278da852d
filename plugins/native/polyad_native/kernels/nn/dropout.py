"""Dropout."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature
from polyad.base.dtypes import float32, float64

from ...choosing import Call
from ...engine import Library

_LIBRARY = Library("kernels/nn/dropout", (float32,))
_PACK = struct.Struct("3Qd2Q").pack
_WORD = 0xFFFFFFFFFFFFFFFF


def dropout(types: Signature) -> Call | None:
    """The kernel of `dropout`."""
    dtype = types[0].dtype
    if dtype not in (float32, float64):
        return None
    run, wide = _LIBRARY.module().dropout, dtype is float64

    def call(x: Any, p: float, generator: Any) -> Any:
        if not x.flags.c_contiguous or not 0 <= p < 1:
            raise Declined
        out, kept = np.empty(x.shape, x.dtype), np.empty(x.shape, np.bool_)
        seed, offset = generator.take(x.size)
        run(out, kept, x, _PACK(seed, offset & _WORD, round((1 - p) * 2**32), 1 / (1 - p), x.size, wide))
        return out, kept

    return call
