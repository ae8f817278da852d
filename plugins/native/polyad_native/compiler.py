"""Whether kernels are compiled here, and with which flags; `polyad.backend.c_compiler` does it.

The environment variable ``POLYAD_NATIVE=0`` turns the plug-in off.
"""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from collections.abc import Callable, Iterable
from functools import cache

from polyad.backend.c_compiler import NONE, Libraries, Wanted, command
from polyad.codegen.dialects import VECTOR_LIBRARY, VECTOR_MATH, C
from polyad.errors import CompilerFailure
from polyad.files.compiled import CompiledFolder

from . import ahead
from .sources import FOLDER

SWITCH = "POLYAD_NATIVE"
SYSTEMS = ("linux", "darwin")
SANITIZER = "POLYAD_NATIVE_SANITIZE"
"""An environment variable with what goes after ``-fsanitize=``, for tests."""


def usable() -> bool:
    """Whether kernels can be compiled here, or came with the plug-in, and can be loaded."""
    return not why_not()


@cache
def why_not() -> str:
    """Why there are no native kernels; empty if there are."""
    if os.environ.get(SWITCH) == "0":
        return f"the environment variable {SWITCH} is 0"
    if sys.platform not in SYSTEMS or sys.implementation.name != "cpython":
        return f"native kernels are for CPython on {' and '.join(SYSTEMS)}, not {sys.platform}"
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "native kernels are not for free-threaded Python yet"
    if command() is None and not ahead.level():
        return NONE
    return ""


def _targets() -> list[tuple[str, ...]]:
    """What makes compilers write code for this processor, and for its widest vectors: the first that is taken is used.
    Under a cap, code for that level and no other.
    """
    processor = f"-march={ahead.cap()}" if ahead.cap() else ahead.NATIVE
    wide = [(processor, "-mprefer-vector-width=512")] if platform.machine() in ("x86_64", "AMD64") else []
    return [*wide, (processor,), *([] if ahead.cap() else [("-mcpu=native",), ()])]


@cache
def libraries() -> Libraries:
    """What the plug-in has compiled."""
    sanitized = os.environ.get(SANITIZER)
    extra = (f"-fsanitize={sanitized}", "-fno-omit-frame-pointer", "-g") if sanitized else ()
    fast = tuple(flag for flag in C.fast if flag != ahead.NATIVE)
    folder, without = CompiledFolder("cpu"), f"{SWITCH}=0 to do without"
    first, *others = (
        Libraries(folder, (*C.flags, *fast, *target, *extra), without, ahead.find, FOLDER) for target in _targets()
    )
    if command() is None:
        return first
    for found in (first, *others):
        try:
            found.compiled("int defined;", "a test of flags")
        except CompilerFailure:
            if found.hung:
                return found
        else:
            return found
    return first


VECTOR_TEST = f"""{C.prologue}
void f(float *x)
{{
#ifdef POLYAD_VECTOR_MATH
    for (int i = 0; i < 64; ++i) x[i] = tanhf(x[i]) + erff(x[i]);
#else
    for (int i = 0; i < 64; ++i) x[i] = sinf(x[i]);
#endif
}}
"""
"""A source that needs math functions of vectors."""


@cache
def vector_math() -> tuple[str, ...]:
    """Flags for math functions of vectors, where the compiler and the library have them: GCC's, else clang's."""
    if command() is None:
        return ahead.vector_math()
    for flags in (VECTOR_MATH, VECTOR_LIBRARY):
        what = "a test for math functions of vectors"
        try:
            library = compiled(VECTOR_TEST, what, flags)
            libraries().loaded(library, what)  # that it has no function that nobody has
        except CompilerFailure:
            continue
        if b"_ZGV" in library:  # as names of such functions begin
            return flags
    return ()


def compiled(
    source: str, what: str, extra: tuple[str, ...] = (), soon: Callable[[], Iterable[Wanted]] = tuple
) -> bytes:
    """As `Libraries.compiled`."""
    return libraries().compiled(source, what, extra, soon)
