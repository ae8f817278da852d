"""Joining arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from polyad.backend import Kernel
from polyad.backend.interface import Signature
from polyad.backend.preparation import prepare, unspecialized
from polyad.base.dtypes import float32
from polyad.devices.registry import get

from ...addresses import in_c
from ...choosing import Call, available, least
from ...engine import Library

_LIBRARY = Library("kernels/shaping/joining", (float32,))


def cat() -> Kernel:
    """The kernel of `cat`, which chooses by the sizes of the arrays in its list."""

    def specialize(types: Signature) -> Call | None:
        own = get("cpu").as_kernel("cat")
        outranked: Call | None = None if own is None else prepare(own, types)
        run = available(_LIBRARY, "join", float32)
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

    return Kernel(unspecialized, specialize=specialize, addresses=partial(in_c, specialize))
