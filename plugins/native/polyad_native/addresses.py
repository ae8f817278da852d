"""Where functions in C are written: by the names that Python calls them, which libraries' tables of methods list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from types import CodeType
from typing import Any

from polyad.backend import KernelAddress
from polyad.backend.addresses import address_of_function
from polyad.backend.interface import Signature

from .engine import Library
from .sources import files

_PACKAGE = __package__ or ""
_METHODS = re.compile(r'^    \{"(\w+)", (\w+), FASTCALL', re.MULTILINE)


def in_c(make: Callable[..., Any], types: Signature, args: Sequence[Any] | None = None) -> tuple[KernelAddress, ...]:
    """The C functions that *make*, or what it calls of this package, names; then *make* itself, which calls them."""
    found = (c_function(library, name) for library, name in _named(make, set()))
    return (*dict.fromkeys(each for each in found if each is not None), address_of_function(make))


@cache
def c_function(library: Library, name: str) -> KernelAddress | None:
    """The function that Python calls *name* in a library; None if there is none."""
    contents = files(library.path)
    methods = dict(_METHODS.findall("\n".join(contents.values())))
    function = methods.get(name, "")
    starts = re.compile(rf"^static Object \*{function}\(", re.MULTILINE)
    for path, text in contents.items():
        start = starts.search(text) if function else None
        if start is not None:
            line = text.count("\n", 0, start.start()) + 1
            return KernelAddress("handwritten", "C", function, str(path), line)
    return None


def _named(function: Any, seen: set[Any]) -> Iterator[tuple[Library, str]]:
    """Libraries that functions know, and names and texts in these functions' code: of *function*, and of what of this
    package it calls.
    """
    if function in seen:
        return
    seen.add(function)
    libraries = [each for each in function.__globals__.values() if isinstance(each, Library)]
    pending: list[CodeType] = [function.__code__]
    while pending:
        code = pending.pop()
        texts = [constant for constant in code.co_consts if isinstance(constant, str)]
        yield from ((library, name) for library in libraries for name in (*texts, *code.co_names))
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            called = function.__globals__.get(name)
            if (getattr(called, "__module__", None) or "").startswith(_PACKAGE) and hasattr(called, "__code__"):
                yield from _named(called, seen)
