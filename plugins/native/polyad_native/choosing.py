"""An op's kernel of two: what it outranks for small tensors, C for others.

Which of them computes follows from the operands' sizes, so a program gets the same bits in every run. A kernel that
cannot be compiled is warned of once, and what it outranks serves from then on.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any

import numpy as np

from polyad.backend import Kernel, KernelAddress, TensorType
from polyad.backend.addresses import addresses_of
from polyad.backend.c_compiler import NoCompiler
from polyad.backend.interface import Signature
from polyad.backend.preparation import prepare
from polyad.base.dtypes import DType, float32
from polyad.base.state import warn_user
from polyad.devices.registry import get
from polyad.errors import CompilerFailure, CompilerWarning
from polyad.interop.numpy import numpy_dtype

from .addresses import c_function, in_c
from .engine import Library, engine
from .replay import Replays

Call = Callable[..., Any]
Make = Callable[[Signature], Call | None]
Addresses = Callable[[Signature, Sequence[Any] | None], Sequence[KernelAddress]]

LEAST = "POLYAD_NATIVE_LEAST"
"""The environment variable that says from how many elements on native kernels run, for tests of the kernels."""


@cache
def least(usual: int) -> int:
    """From how many elements on a native kernel runs that is faster from *usual* on."""
    wanted = os.environ.get(LEAST, "")
    return int(wanted) if wanted.isdigit() else usual


class NotNative(Exception):
    """A call that is left to the kernel outranked; *always*: like all others of its signature."""

    def __init__(self, always: bool = False) -> None:
        self.always = always


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


def choice(
    op: str,
    make: Make,
    from_elements: int,
    *,
    out: bool = True,
    direct: Direct | None = None,
    only: tuple[DType, ...] = (),
    launches: bool = False,
    addresses: Addresses | None = None,
) -> Kernel:
    """The kernel of *op* that calls ``make(types)`` where an operand has *from_elements* or more.

    *make* is called once a signature, when a tensor is large enough; it may return None, and what it returned may
    raise `NotNative` before anything is written. *out*: whether that takes ``out``. *direct*: what computes the common
    calls. *only*: the dtypes that it is for, if not all. *launches*: whether the kernel does no more than to launch
    generated kernels, so that the engine may replay its calls. ``addresses(types, args)`` says where the code is; if
    not given, it is the C functions that *make* names.
    """
    limit = least(from_elements)

    def specialize(types: Signature) -> Call | None:
        own = get("cpu").as_kernel(op)
        outranked = None if own is None else prepare(own, types)
        if own is None or outranked is None:
            return None
        entries = [entry for entry in types if isinstance(entry, TensorType)]
        # Complex numbers are NumPy's: its functions are right where parts of them overflow.
        if any(entry.dtype.is_complex or (only and entry.dtype not in only) for entry in entries) or _engine() is None:
            return None
        tensors = [place for place, entry in enumerate(types) if isinstance(entry, TensorType) and not entry.zero_dim]
        if not tensors:
            return None
        taking_out = _taking_out(outranked, own.out)
        replays = Replays()
        call: Call = engine().chooser(
            taking_out,
            _native(types, make, taking_out, out, replays if launches else None),
            limit,
            sum(1 << place for place in tensors),  # a bit for each operand whose elements count
            outranked,
            replays.calls,
        )
        return call if direct is None else direct.call(types, call)

    where = partial(_addresses, op, limit, addresses or partial(in_c, make), direct)
    return Kernel(unspecialized, out=True, specialize=specialize, addresses=where)


def _addresses(
    op: str, limit: int, native: Addresses, direct: Direct | None, types: Signature, args: Sequence[Any] | None
) -> list[KernelAddress]:
    """Of C, direct or from *limit* elements on, and of what it outranks."""
    first = [] if direct is None else direct.address(types[0].dtype if types else float32)
    own = get("cpu").as_kernel(op)
    large = args is None or limit <= 1 or any(isinstance(each, np.ndarray) and each.size >= limit for each in args)
    try:
        found = native(types, args)
        left = ""
    except (NotNative, CompilerFailure) as reason:
        found, left = (), "for what the native kernel leaves" if isinstance(reason, NotNative) else str(reason)
    since = f"from {limit:,} elements on" if limit > 1 else ""
    rest = [replace(each, when=since, serves=large and not first) for each in found]
    if own is not None and (since or left or not found):
        below = left or (f"below {limit:,} elements" if found else "")
        plain = not (first or (large and found))
        rest += [replace(each, when=below, serves=plain) for each in addresses_of(own, types, args)]
    return [*first, *rest]


def _native(types: Signature, make: Make, outranked: Call, out: bool, replays: Replays | None) -> Call:
    """What calls ``make(types)``, and *outranked* for what that leaves to it. *out*: whether it takes ``out``."""
    made: list[Call | None] = []

    def call(*args: Any, **given: Any) -> Any:
        try:
            if not made:
                made.append(make(types))
            kernel = made[0]
            if kernel is not None and (out or not given):
                return kernel(*args, **given) if replays is None else replays.call(kernel, args, **given)
        except NotNative as reason:
            if reason.always:
                made[:] = [None]
        except CompilerFailure as failure:
            made[:] = [None]
            _warn(failure)
        return outranked(*args, **given)

    return call


@cache
def _engine() -> Any:
    """The engine; None where it cannot be had, of which is warned."""
    try:
        return engine()
    except CompilerFailure as failure:
        _warn(failure)
        return None


@cache
def available(library: Library, name: str, dtype: DType) -> Any:
    """As `Library.function`, and None as well where the library cannot be had, of which is warned."""
    try:
        return library.function(name, dtype)
    except CompilerFailure as failure:
        _warn(failure)
        return None


_warned: set[str] = set()


def _warn(failure: CompilerFailure) -> None:
    if isinstance(failure, NoCompiler):  # known, and what came compiled is used
        return
    words = failure.message.partition(": ")[2]
    if words not in _warned:
        _warned.add(words)
        warn_user(f"{failure}\nNumPy's kernels compute in its place", CompilerWarning)


def _taking_out(kernel: Call, takes: bool) -> Call:
    if takes:
        return kernel

    def copying(*args: Any, out: Any = None) -> Any:
        result = kernel(*args)
        if out is None:
            return result
        backend = get("cpu")
        for target, array in zip(out, result) if isinstance(out, tuple) else ((out, result),):
            backend.copy(target, array)
        return out

    return copying


def unspecialized(*operands: Any) -> Any:
    """In place of a kernel that there is for a signature only."""
    raise AssertionError("written for each signature")
