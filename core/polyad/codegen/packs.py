"""Packs: what an instance on a GPU reads or writes at once, up to 16 bytes of each array.

GPUs have no vectors to compute with, but their memory is fastest at accesses of 16 bytes. A kernel with packs loads one
of each dense operand, computes number by number in a loop that the compiler unrolls, and stores one of each result.

All of an array's packs are aligned if its memory is, which a runtime sees to, and if its offset and its outer strides
are multiples of what a pack holds, which plans look at.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..base.dtypes import DType
from ..base.layout import Strides
from .dialects import Dialect
from .expression import Apply, Expression, Operand, inside, leaves_of
from .hardware import CPU, DeviceDescription
from .writer import Writer

PACK_BYTES = 16
"""The widest access of a GPU."""

_MOST, _COSTLY = 8, 48
"""Numbers in a pack, and ops on an element from which computing takes longer than memory, and packs only registers."""


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
    if any(dtype.is_complex for dtype in found) or _ops(expressions) >= _COSTLY:
        return 1
    return max(1, min(_MOST, PACK_BYTES // min(dtype.itemsize for dtype in found)))


def _ops(expressions: Sequence[Expression]) -> int:
    seen: set[Expression] = set()
    waiting = list(expressions)
    while waiting:
        node = waiting.pop()
        if isinstance(node, Apply) and node not in seen:
            seen.add(node)
            waiting.extend(inside(node))
    return len(seen)


def packs_fit(pack: int, strides: Sequence[Strides], offsets: Sequence[int]) -> bool:
    """Whether arrays with these strides, of which the last are 0 or 1, and offsets begin each row with a whole pack."""
    return not any(
        place % pack
        for step, offset in zip(strides, offsets, strict=True)
        if step[-1]
        for place in (offset, *step[:-1])
    )


class Packs:
    """The statements of a step that takes a pack of each dense array."""

    def __init__(self, writer: Writer, pack: int) -> None:
        self.writer = writer
        self.pack = pack
        self.before: list[str] = []
        self.after: list[str] = []

    def loaded(self, dtype: DType, name: str, place: str) -> str:
        """A pointer to number c of what is read from *place*, into a variable *name*."""
        address = self.writer.dialect.address
        own = self._type(dtype)
        self.before.append(f"const {own} {name} = *(const {address}{own} *)({place});")
        return f"{self._seen(dtype, 'const ')}{name}.v"

    def stored(self, dtype: DType, name: str, place: str) -> str:
        """A pointer to number c of what is written to *place* in the end, from a variable *name*."""
        own = self._type(dtype)
        self.before.append(f"{own} {name};")
        self.after.append(f"*({self.writer.dialect.address}{own} *)({place}) = {name};")
        return f"{self._seen(dtype)}{name}.v"

    def around(self, lines: Sequence[str]) -> list[str]:
        """The step, of which *lines* take element c."""
        head = [self.writer.dialect.unroll, f"for (int c = 0; c < {self.pack}; ++c) {{"]
        return [*self.before, *filter(None, head), *lines, "}", *self.after]

    def _seen(self, dtype: DType, how: str = "") -> str:
        kept, memory = self.writer.variable(dtype), self.writer.dialect.types[dtype]
        return "" if kept == memory else f"({how}{memory} *)"

    def _type(self, dtype: DType) -> str:
        kept = self.writer.variable(dtype)
        name = f"Pack{self.pack}_{kept.replace(' ', '_')}"
        size = min(PACK_BYTES, self.pack * dtype.itemsize)
        self.writer.functions.setdefault(
            name, self.writer.dialect.pack.format(type=kept, n=self.pack, bytes=size, name=name)
        )
        return name
