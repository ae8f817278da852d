"""The gradient of embedding."""

from __future__ import annotations

from typing import Any

import numpy as np

from polyad.backend.choosing import Declined
from polyad.backend.interface import Signature

from ...choosing import Call
from ..indexing.gather_scatter import add_at, added


def embedding_backward(types: Signature) -> Call | None:
    """The kernel of `embedding_backward`."""
    add = add_at(types)

    def call(gradient: Any, index: Any, rows: int, padding_idx: int, by_frequency: bool) -> Any:
        if by_frequency or not index.size or not gradient.size:
            raise Declined
        size = gradient.shape[-1]
        out = np.empty((rows, size), gradient.dtype)
        return added(add, out, gradient, index, 1, rows, size, index.size, skipped=padding_idx, zeroed=True)

    return None if add is None else call
