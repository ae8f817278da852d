"""Copies of arrays whose dimensions lie in another order, joining, words and dropout, by the engine's threads."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.base.dtypes import float32, float64
from polyad.devices.preparation import prepare
from polyad.devices.registry import get
from polyad_numpy.kernels.random.sampling import Words

from . import engine
from .choosing import Call, NotNative, available, least, unspecialized

_PACK = struct.Struct("3Qd2Q").pack
_TWO = struct.Struct("2Q").pack
_WORD = 0xFFFFFFFFFFFFFFFF
_FEW_WORDS = 1 << 16
"""So many random words are NumPy's in each process; they are the same."""


def copy(types: Signature) -> Call | None:
    """Of what NumPy copies element by element; the rest is left to it."""
    size = types[0].dtype.itemsize
    if size > 8:
        return None
    run = engine.moving().copy

    def call(array: Any) -> Any:
        if array.flags.c_contiguous or not array.size:
            raise NotNative
        out = np.empty(array.shape, array.dtype)
        if not run(out, array, size):
            raise NotNative
        return out

    return call


def cat() -> Kernel:
    """The kernel of `cat`, which chooses by the sizes of the arrays in its list."""

    def specialize(types: Signature) -> Call | None:
        own = get("cpu").as_kernel("cat")
        outranked: Call | None = None if own is None else prepare(own, types)
        run = available(engine.moving, "join", float32)
        if outranked is None or run is None:
            return outranked
        few = least(1 << 14)

        def call(arrays: Any, dim: int) -> Any:
            first = arrays[0]
            if sum([array.size for array in arrays]) < few or not all(
                array.flags.c_contiguous and array.dtype == first.dtype for array in arrays
            ):
                return outranked(arrays, dim)
            shape = list(first.shape)
            shape[dim] = sum([array.shape[dim] for array in arrays])
            out = np.empty(shape, first.dtype)
            return out if out.size and run(out, tuple(arrays), dim % out.ndim, out.itemsize) else outranked(arrays, dim)

        return call

    return Kernel(unspecialized, specialize=specialize)


def random_words(plain: Words) -> Words:
    """What computes random words in place of *plain*, once a process has drawn enough to compile something for it."""
    left = _FEW_WORDS

    def words(seed: int, block: int, blocks: int) -> Any:
        nonlocal left
        run = None
        if left > 0:
            left -= 4 * blocks
        else:
            run = available(engine.moving, "words", float32)
        if run is None:
            return plain(seed, block, blocks)
        out = np.empty((blocks, 4), np.uint32)
        run(out, _TWO(seed, block))
        return out

    return words


def dropout(types: Signature) -> Call | None:
    """The kernel of `dropout`."""
    dtype = types[0].dtype
    if dtype not in (float32, float64):
        return None
    run, wide = engine.moving().dropout, dtype is float64

    def call(x: Any, p: float, generator: Any) -> Any:
        if not x.flags.c_contiguous or not 0 <= p < 1:
            raise NotNative
        out, kept = np.empty(x.shape, x.dtype), np.empty(x.shape, np.bool_)
        seed, offset = generator.take(x.size)
        run(out, kept, x, _PACK(seed, offset & _WORD, round((1 - p) * 2**32), 1 / (1 - p), x.size, wide))
        return out, kept

    return call
