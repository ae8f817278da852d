"""The error for an index that lies outside of what it indexes, the same from every backend.

A kernel of an indexing op (index_select, gather, scatter, index, embedding, ...) raises what `out_of_range` returns, or
whatever it can while it runs and this at the next synchronisation.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import IndexOutOfRange


class ElementOutOfRange(IndexOutOfRange, RuntimeError):
    """An element of an index tensor out of range: PyTorch says IndexError or RuntimeError, by op, dtype and layout."""


def out_of_range(
    op: str, name: str, position: Sequence[int], value: int, size: int, *, wraps: bool = False, dim: int | None = None
) -> ElementOutOfRange:
    """The error for the element of operand *name* at *position*, whose *value* does not index *size* elements.

    Args:
        op: the op's name.
        name: the index operand's name, with its number if it is in a list.
        position: where in that operand.
        value: what it says.
        size: how many elements it may choose among.
        wraps: whether negative values count from the end.
        dim: the indexed dimension, if the operand's name does not tell.

    >>> out_of_range("embedding", "input", (3, 7), 30522, 30522).message
    'embedding: input[3, 7] = 30522 is not in [0, 30522)'
    """
    where = f"[{', '.join(map(str, position))}]" if position else ""
    of = "" if dim is None else f" of dimension {dim}"
    low = -size if wraps else 0
    fix = "count from 0" if value < 0 and not wraps and value >= -size else f"use indices in [{low}, {size})"
    if not size:
        fix = "the indexed dimension is empty; check the tensor that is indexed"
    return ElementOutOfRange(f"{op}: {name}{where} = {value} is not in [{low}, {size}){of}", fix=fix)
