"""An op's kernel of two: what it outranks for small tensors, C for others.

Which of them computes follows from the operands' sizes, so a program gets the same bits in every run. A kernel that
cannot be compiled is warned of once, and what it outranks serves from then on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from polyad.backend import Kernel, KernelAddress, TensorType
from polyad.backend.choosing import addresses_by_size, or_other, warn_of
from polyad.backend.interface import Signature
from polyad.backend.preparation import unspecialized
from polyad.base.dtypes import DType, float32
from polyad.errors import CompilerFailure
from polyad.interop.numpy import numpy_dtype

from .addresses import c_function, in_c
from .engine import Library, engine

Call = Callable[..., Any]
Make = Callable[[Signature], Call | None]

LEAST = "POLYAD_NATIVE_LEAST"
"""The environment variable that says from how many elements on native kernels run, for tests of the kernels."""


@cache
def least(usual: int) -> int:
    """From how many elements on a native kernel runs that is faster from *usual* on."""
    wanted = os.environ.get(LEAST, "")
    return int(wanted) if wanted.isdigit() else usual


@dataclass(frozen=True)
class Direct:
    """The kernel ``direct_name`` of a library, which computes common calls of all sizes without a frame of Python."""

    library: Library
    name: str

    def function(self, dtype: DType) -> Any:
        """What makes the kernel for a dtype; None if there is none."""
        return available(self.library, f"direct_{self.name}", dtype)

    def call(self, types: Signature, other: Call) -> Call:
        """The kernel for a signature, which hands uncommon calls to *other*."""
        dtypes = {entry.dtype for entry in types if isinstance(entry, TensorType)}
        dtype = dtypes.pop()
        make = None if dtypes else self.function(dtype)
        call: Call = other if make is None else make(np.empty, numpy_dtype(dtype), other)
        return call

    def address(self, dtype: DType) -> list[KernelAddress]:
        """Where the kernel for a dtype is, if there is one."""
        found = c_function(self.library, f"direct_{self.name}")
        if found is None or self.function(dtype) is None:
            return []
        return [replace(found, when="for common calls of all sizes")]


def choice(make: Make, from_elements: int, *, direct: Direct | None = None, only: tuple[DType, ...] = ()) -> Kernel:
    """The kernel that calls ``make(types)`` where an operand has *from_elements* or more.

    *make* is called once a signature, when a tensor is large enough; it may return None, and what it returned may
    raise `Declined` before anything is written. *direct*: what computes the common calls. *only*: the dtypes that it is
    for, if not all.
    """
    limit = least(from_elements)

    def over(types: Signature, other: Call, into: Call) -> Call | None:
        places = sized(types, only)
        if not places:
            return None

        call = chooser(or_other(lambda: make(types), into, out=False), limit, places, other, into, [])
        return call if direct is None else direct.call(types, call)

    def addresses(
        types: Signature, args: Sequence[Any] | None, others: Sequence[KernelAddress]
    ) -> Sequence[KernelAddress]:
        first = [] if direct is None else direct.address(types[0].dtype if types else float32)
        return addresses_by_size(limit, lambda: in_c(make, types, args), others, args, first)

    return Kernel(unspecialized, out=True, over=over, addresses=addresses)


def before(direct: Direct) -> Kernel:
    """The kernel that computes common calls of all sizes by *direct*, and hands on all others."""

    def over(types: Signature, other: Call, into: Call) -> Call | None:
        return direct.call(types, into) if sized(types) else None

    def addresses(
        types: Signature, args: Sequence[Any] | None, others: Sequence[KernelAddress]
    ) -> Sequence[KernelAddress]:
        first = direct.address(types[0].dtype if types else float32)
        return [*first, *(replace(each, serves=each.serves and not first) for each in others)]

    return Kernel(unspecialized, out=True, over=over, addresses=addresses)


def sized(types: Signature, only: tuple[DType, ...] = ()) -> list[int]:
    """The operands of a signature whose elements count; none for what is left to others."""
    entries = [entry for entry in types if isinstance(entry, TensorType)]
    # Complex numbers are NumPy's: its functions are right where parts of them overflow.
    if any(entry.dtype.is_complex or (only and entry.dtype not in only) for entry in entries) or _engine() is None:
        return []
    return [place for place, entry in enumerate(types) if isinstance(entry, TensorType) and not entry.zero_dim]


def chooser(native: Call, limit: int, places: Sequence[int], other: Call, into: Call, records: list[Any]) -> Call:
    """*native* where an operand at one of *places* has *limit* elements or more, unless a call is one of *records*,
    which the engine replays; *other* elsewhere, which with ``out`` is *into*.
    """
    call: Call = engine().chooser(into, native, limit, sum([1 << place for place in places]), other, records)
    return call


@cache
def _engine() -> Any:
    """The engine; None where it cannot be had, of which is warned."""
    try:
        return engine()
    except CompilerFailure as failure:
        warn_of(failure)
        return None


@cache
def available(library: Library, name: str, dtype: DType) -> Any:
    """As `Library.function`, and None as well where the library cannot be had, of which is warned."""
    try:
        return library.function(name, dtype)
    except CompilerFailure as failure:
        warn_of(failure)
        return None
