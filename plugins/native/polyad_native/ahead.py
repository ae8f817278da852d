"""Kernels that were compiled before the plug-in was installed, and came with it.

A wheel for a platform may bring them in the folder ``ahead``: ``LEVEL/KEY.so``, where the level says which processors
run them, and the key is that of a source and the flags that it would be compiled with here, whatever the compiler. A
source that is not there is compiled, where there is a compiler. ``tools/compile_ahead.py`` makes the folder.

The environment variable ``POLYAD_NATIVE_LEVEL`` caps the level, for what comes compiled and what is compiled: so tests
run what another processor would. A level below those of `LEVELS`, such as x86-64-v2, is any processor's.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("ahead")
CAP = "POLYAD_NATIVE_LEVEL"
NATIVE = "-march=native"
TRIAL, FLAGS = "trial.so", "flags"
"""Of each level: a library that loads where all others do, and a text with the flags by which it has vector math."""

_BASE = {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"}
_WIDE = {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}
LEVELS: dict[str, dict[str, set[str]]] = {
    "x86_64": {"x86-64-v4": _BASE | _WIDE, "x86-64-v3": _BASE},
    "aarch64": {"armv8-a": set()},
}
"""For each machine, the names that compilers have for levels of processors, and what a processor must have; best first.

Source: the x86-64 psABI, section 3.1.1; features by Linux's names.
"""


def key(source: str, flags: Sequence[str]) -> str:
    """The name of what *source* becomes with *flags*, under a cap as without one."""
    flags = [NATIVE if flag == f"-march={cap()}" else flag for flag in flags]
    return hashlib.sha256("\0".join((source, *flags)).encode()).hexdigest()


def lacking(level: str) -> list[str]:
    """What this processor lacks for *level*."""
    return sorted(LEVELS.get(platform.machine(), {}).get(level, set()) - _features())


def cap() -> str:
    """The level that kernels are for at most; empty where it is the processor's own."""
    named = os.environ.get(CAP, "")
    return "" if lacking(named) else named


def levels() -> list[str]:
    """The levels that kernels which came compiled may have, best first: not above the processor's, nor the cap."""
    names = list(LEVELS.get(platform.machine(), {}))
    first = (names.index(cap()) if cap() in names else len(names)) if cap() else 0
    return [name for name in names[first:] if not lacking(name)]


@cache
def level() -> str:
    """The best of `levels` in the folder that this system loads; empty if none is."""
    if sys.platform == "linux" and FOLDER.is_dir():
        for name in levels():
            if _loads(FOLDER / name / TRIAL):
                return name
    return ""


def vector_math() -> tuple[str, ...]:
    """The flags for math functions of vectors that the kernels of this processor's level were compiled with."""
    return tuple((FOLDER / level() / FLAGS).read_text(encoding="utf-8").split())


def find(source: str, flags: Sequence[str]) -> bytes | None:
    """The library of *source*; None if it did not come with the plug-in."""
    if not level():
        return None
    try:
        return (FOLDER / level() / f"{key(source, flags)}.so").read_bytes()
    except OSError:
        return None


def count() -> int:
    """How many libraries there are for this processor."""
    return len(list((FOLDER / level()).glob("*.so"))) - 1 if level() else 0


def _loads(library: Path) -> bool:
    """Whether the system has what compiled kernels need: a C library of this kind, not older."""
    try:
        ctypes.CDLL(str(library))
    except OSError:
        return False
    return True


@cache
def _features() -> set[str]:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name.strip() in ("flags", "Features"):
                return set(value.split())
    return set()
