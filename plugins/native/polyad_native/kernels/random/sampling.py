"""Random words."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from polyad.base.dtypes import float32
from polyad_numpy.sharing import Words

from ...choosing import available
from ...engine import Library

_LIBRARY = Library("kernels/random/sampling", (float32,))
_TWO = struct.Struct("2Q").pack
_FEW_WORDS = 1 << 16
"""So many random words are NumPy's in each process; they are the same."""


def random_words(plain: Words) -> Words:
    """What computes random words in place of *plain*, once a process has drawn enough to compile something for it."""
    left = _FEW_WORDS

    def words(seed: int, block: int, blocks: int) -> Any:
        nonlocal left
        run = None
        if left > 0:
            left -= 4 * blocks
        else:
            run = available(_LIBRARY, "words", float32)
        if run is None:
            return plain(seed, block, blocks)
        out = np.empty((blocks, 4), np.uint32)
        run(out, _TWO(seed, block))
        return out

    return words
