"""Two kernels of an op: one that is quicker for large tensors, or for most calls, and one that takes the others.

Which of them computes follows from the operands' sizes and from what the first can do, so a program gets the same bits
in every run. A kernel that cannot be compiled is warned of once, and the other serves from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.state import warn_once
from ..errors import CompilerFailure, CompilerWarning

if TYPE_CHECKING:
    from .addresses import KernelAddress

Call = Callable[..., Any]


class Declined(Exception):
    """Raised by a kernel, before anything is written, for a call that is left to the kernel outranked; *always*: like
    all others of its signature.
    """

    def __init__(self, always: bool = False) -> None:
        self.always = always


def or_other(make: Callable[[], Call | None], other: Call, out: bool = True) -> Call:
    """What *make* gives when it is first needed, and *other* for the calls that it declines, for all of them if there
    is none or if it cannot be compiled. *out*: whether what it gives takes ``out``.
    """
    made: list[Call | None] = []

    def call(*args: Any, **given: Any) -> Any:
        try:
            if not made:
                made.append(make())
            kernel = made[0]
            if kernel is not None and (out or not given):
                return kernel(*args, **given)
        except Declined as reason:
            if reason.always:
                made[:] = [None]
        except CompilerFailure as failure:
            made[:] = [None]
            warn_of(failure)
        return other(*args, **given)

    return call


def warn_of(failure: CompilerFailure) -> None:
    """Say once what a compiler said of kernels that have others to stand in for them."""
    from .c_compiler import NoCompiler

    if isinstance(failure, NoCompiler):  # known, and what came compiled is used
        return
    words = failure.message.partition(": ")[2]
    warn_once("compiler", words, f"{failure}\nThe kernels that it would outrank compute in its place", CompilerWarning)


def addresses_by_size(
    limit: int,
    find: Callable[[], Sequence[KernelAddress]],
    others: Sequence[KernelAddress],
    args: Sequence[Any] | None,
    direct: Sequence[KernelAddress] = (),
) -> list[KernelAddress]:
    """Where the code of a choice is: *direct* for common calls, what *find* gives from *limit* elements on, *others*
    below it.
    """
    sizes = [_size(each) for each in args or () if hasattr(each, "shape")]
    large = args is None or limit <= 1 or any(size >= limit for size in sizes)
    left = ""
    found: Sequence[KernelAddress] = ()
    try:
        found = find()
    except Declined:
        left = "for what the native kernel leaves"
    except CompilerFailure as failure:
        left = str(failure)
    since = f"from {limit:,} elements on" if limit > 1 else ""
    rest = [replace(each, when=since, serves=large and not direct) for each in found]
    if since or left or not found:
        below = left or (f"below {limit:,} elements" if found else "")
        plain = not (direct or (large and found))
        rest += [replace(each, when=each.when or below, serves=each.serves and plain) for each in others]
    return [*direct, *rest]


def _size(array: Any) -> int:
    size = 1
    for extent in array.shape:
        size *= extent
    return size
