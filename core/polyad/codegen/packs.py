"""Packs: what a work item on a GPU reads or writes at once, up to 16 bytes of each array.

GPUs have no vectors to compute with, but their memory is fastest at accesses of 16 bytes. A kernel with packs loads one
of each dense operand, computes number by number in a loop that the compiler unrolls, and stores one of each result.

All of an array's packs are aligned if its memory is, which a runtime sees to, and if its offset and its outer strides
are multiples of what a pack holds, which plans look at.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.shapes_and_strides import Strides
from .dialects import Dialect
from .expression import Apply, Expression, Operand, leaves_of, nodes_of
from .hardware import CPU, DeviceDescription

PACK_BYTES = 16
"""The widest access of a GPU."""

_MOST = 8
"""Numbers in a pack."""

_COSTLY = 48
"""Ops on an element from which computing takes longer than memory: then packs would only take registers."""


def pack_for(expressions: Sequence[Expression], dialect: Dialect, device: DeviceDescription) -> int:
    """How many elements the packs of a kernel hold that computes *expressions*; 1: it had better have none.

    >>> import polyad
    >>> from .dialects import CUDA_C
    >>> from .hardware import GPU
    >>> x, y = Operand(0, polyad.float32), Operand(0, polyad.bfloat16)
    >>> pack_for([x + x], CUDA_C, DeviceDescription(GPU, 8)), pack_for([y + y], CUDA_C, DeviceDescription(GPU, 8))
    (4, 8)
    """
    if device.kind == CPU or not dialect.pack:
        return 1
    found = [each.dtype for each in expressions]
    found += [leaf.dtype for leaf in leaves_of(*expressions) if isinstance(leaf, Operand)]
    ops = sum(isinstance(node, Apply) for node in nodes_of(*expressions))
    if any(dtype.is_complex for dtype in found) or ops >= _COSTLY:
        return 1
    return max(1, min(_MOST, PACK_BYTES // min(dtype.itemsize for dtype in found)))


def packs_fit(pack: int, strides: Sequence[Strides], offsets: Sequence[int]) -> bool:
    """Whether arrays with these strides, of which the last are 0 or 1, and offsets begin each row with a whole pack."""
    return not any(
        place % pack
        for step, offset in zip(strides, offsets, strict=True)
        if step[-1]
        for place in (offset, *step[:-1])
    )
