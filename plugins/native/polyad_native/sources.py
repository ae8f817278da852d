"""Where functions in C are written: by the names that Python calls them, which libraries' tables of methods list."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from polyad.backend import KernelAddress
from polyad.backend.addresses import address_of_function
from polyad.backend.interface import Signature

from .engine import PARTS, text


def in_c(make: Callable[..., Any], types: Signature, args: Sequence[Any] | None = None) -> tuple[KernelAddress, ...]:
    """The C functions that *make*, or what it calls in its module, names; then *make* itself, which calls them."""
    return (*c_functions(_names(make, set())), address_of_function(make))


def c_functions(names: Iterable[str]) -> list[KernelAddress]:
    """The functions in C among what Python calls by *names*."""
    return [_written()[name] for name in dict.fromkeys(names) if name in _written()]


def _names(function: Any, seen: set[Any]) -> Iterator[str]:
    """Names of attributes and texts in the code of a function, and in that of the functions of its module it calls."""
    if function in seen:
        return
    seen.add(function)
    pending: list[CodeType] = [function.__code__]
    while pending:
        code = pending.pop()
        yield from [constant for constant in code.co_consts if isinstance(constant, str)]
        yield from code.co_names
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        for name in code.co_names:
            called = function.__globals__.get(name)
            if getattr(called, "__module__", None) == function.__module__ and hasattr(called, "__code__"):
                yield from _names(called, seen)


@cache
def _written() -> dict[str, KernelAddress]:
    """Every function in C that Python calls."""
    methods = re.compile(r'^    \{"(\w+)", (?:NAME\()?(\w+)\)?, FASTCALL', re.MULTILINE)
    found = {}
    for library, parts in PARTS.items():
        if library == "engine":
            continue
        for name, function in methods.findall(text(library)):
            starts = re.compile(rf"^static Object \*(?:NAME\({function}\)|{function})\(", re.MULTILINE)
            for part in (library, *parts):
                start = starts.search(text(part))
                if start is not None:
                    line = text(part).count("\n", 0, start.start()) + 1
                    path = str(Path(__file__).with_name(f"{part}.c"))
                    found[name] = KernelAddress("handwritten", "C", function, path, line)
    return found
