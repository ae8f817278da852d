"""What a lowered body does with a device's memory: a few kernels, one after the other.

A loop computes expressions at each index of its shape, or reduces one along some of its dimensions. A *load* is a view
of what it reads: of an operand, or of what an earlier loop computed. The arrays of a body are numbered: an operand's
number, or that of a result, is its *slot*. In expressions, `Operand` number n is load number n.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..base.dtypes import DType
from ..base.shapes_and_strides import Layout, Shape
from ..codegen import Expression


class Load(NamedTuple):
    """A view of the array in a slot: an operand's, or what a loop computed."""

    slot: int
    layout: Layout


@dataclass(frozen=True)
class Loop:
    """One kernel's work.

    Attributes:
        expressions: what it computes at each place of *shape*; for a reduction there is one.
        results: slot, dtype and layout of each result.
        reducer, dims: how, and along which dimensions, a reduction reduces; None for what is computed at each place.
    """

    shape: Shape
    expressions: tuple[Expression, ...]
    results: tuple[tuple[int, DType, Layout], ...]
    reducer: str | None = None
    dims: tuple[int, ...] = ()


@dataclass(frozen=True)
class Loops:
    """A lowered body for operands of known layouts.

    Attributes:
        reads: the views that the expressions name.
        loops: in order.
        results: the read that each result is.
        dtypes: theirs.
    """

    loads: tuple[Load, ...]
    loops: tuple[Loop, ...]
    results: tuple[Load, ...]
    dtypes: tuple[DType, ...]
