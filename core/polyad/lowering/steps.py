"""What a lowered body does with a device's memory: a few kernels, one after the other.

A *read* is a view of an array: of an operand, or of what an earlier step computed. Expressions name reads by number.
A step computes expressions at each place of its shape, or reduces one along some of its dimensions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ..base.dtypes import DType
from ..base.layout import Layout, Shape
from ..codegen import Expression


class Read(NamedTuple):
    """A view of the array in a slot: an operand's, or what a step computed."""

    slot: int
    layout: Layout


@dataclass(frozen=True)
class Step:
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
class Steps:
    """A lowered body for operands of known layouts.

    Attributes:
        reads: the views that the expressions name.
        steps: in order.
        results: the read that each result is.
        dtypes: theirs.
    """

    reads: tuple[Read, ...]
    steps: tuple[Step, ...]
    results: tuple[Read, ...]
    dtypes: tuple[DType, ...]
