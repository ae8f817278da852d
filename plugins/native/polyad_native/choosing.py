"""An op's kernel of two: what it outranks for small tensors, C for others.

Which of them computes follows from the operands' sizes, so a program gets the same bits in every run. A kernel that
cannot be compiled is told once, and what it outranks serves from then on.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.backend.c_compiler import NoCompiler
from polyad.backend.interface import Signature
from polyad.base.dtypes import DType
from polyad.base.state import warn_user
from polyad.devices.preparation import prepare
from polyad.devices.registry import get
from polyad.errors import CompilerFailure
from polyad.interop.numpy import numpy_dtype

from .engine import engine, function, matrices
from .repeating import Known

Call = Callable[..., Any]

LEAST = "POLYAD_NATIVE_LEAST"
"""The environment variable that says from how many elements on native kernels run, for tests of the kernels."""


@cache
def least(usual: int) -> int:
    """From how many elements on a native kernel runs that is faster from *usual* on."""
    told = os.environ.get(LEAST, "")
    return int(told) if told.isdigit() else usual


class NotNative(Exception):
    """A call that is left to the kernel outranked; *always*: like all others of its signature."""

    def __init__(self, always: bool = False) -> None:
        self.always = always


Quick = Callable[[Signature, Call], Call]


def chosen(
    op: str,
    make: Callable[[Signature], Call | None],
    from_elements: int,
    *,
    out: bool = True,
    quick: Quick | None = None,
    only: tuple[DType, ...] = (),
    launches: bool = False,
) -> Kernel:
    """The kernel of *op* that calls ``make(types)`` where an operand has *from_elements* or more.

    *make* is called once a signature, when a tensor is large enough; it may return None, and what it returned may
    raise `NotNative` before anything is written. *out*: whether that takes ``out``. ``quick(types, other)`` may give
    what computes the common calls of all sizes without a frame of Python, and hands others to *other*. *only*: the
    dtypes that it is for, if not all. *launches*: whether the kernel does no more than to launch generated kernels, so
    that the engine may repeat its calls.
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
        call = _either(types, make, tensors, limit, outranked, _taking_out(outranked, own.out), out, launches)
        return call if quick is None else quick(types, call)

    return Kernel(unspecialized, out=True, specialize=specialize)


def quick(name: str) -> Quick:
    """What gives the quick kernel *name* of products' library, see `chosen`."""

    def give(types: Signature, other: Call) -> Call:
        dtypes = {entry.dtype for entry in types if isinstance(entry, TensorType)}
        dtype = dtypes.pop()
        given = None if dtypes else available(matrices, f"quick_{name}", dtype)
        call: Call = other if given is None else given(np.empty, numpy_dtype(dtype), other)
        return call

    return give


def _either(
    types: Signature, make: Callable[[Signature], Call | None], tensors: list[int], limit: int, plain: Call,
    outranked: Call, out: bool, launches: bool,
) -> Call:  # fmt: skip
    native: list[Call | None] = []
    known = Known()

    def large(*args: Any, **given: Any) -> Any:
        try:
            if not native:
                native.append(make(types))
            kernel = native[0]
            if kernel is not None and (out or not given):
                return known.call(kernel, args, **given) if launches else kernel(*args, **given)
        except NotNative as reason:
            if reason.always:
                native[:] = [None]
        except CompilerFailure as failure:
            native[:] = [None]
            _tell(failure)
        return outranked(*args, **given)

    call: Call = engine().chooser(outranked, large, limit, sum(1 << place for place in tensors), plain, known.calls)
    return call


@cache
def _engine() -> Any:
    """The engine; None where it cannot be had, which is told."""
    try:
        return engine()
    except CompilerFailure as failure:
        _tell(failure)
        return None


@cache
def available(library: Callable[[str], Any], name: str, dtype: DType) -> Any:
    """As `function`, and None as well where the library cannot be had, which is told."""
    try:
        return function(library, name, dtype)
    except CompilerFailure as failure:
        _tell(failure)
        return None


_told: set[str] = set()


def _tell(failure: CompilerFailure) -> None:
    from polyad.dispatch.plan import CompilerWarning

    if isinstance(failure, NoCompiler):  # known, and what came compiled is used
        return
    words = failure.message.partition(": ")[2]
    if words not in _told:
        _told.add(words)
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
