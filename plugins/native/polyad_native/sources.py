"""The C files of the package, and what the compiler is given of them.

Each file is ordinary C, which includes others by their place. What is compiled is three lines that name a dtype and
include a file. Libraries are kept by what was compiled, so the first line has the hash of all files that are read.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
_INCLUDED = re.compile(r'^#include "(.+)"$', re.MULTILINE)


def source(path: str, dtype: str) -> str:
    """What is compiled for the library of the file *path*, without ``.c``, in a dtype's name in C."""
    return f'/* {_digest(path)} */\n#define DTYPE_{dtype}\n#include "{path}.c"\n'


def text(path: str) -> str:
    """The file *path*."""
    return (FOLDER / path).read_text(encoding="utf-8")


def files(path: str) -> dict[Path, str]:
    """The file *path*, without ``.c``, and all that it includes."""
    found: dict[Path, str] = {}
    _read(FOLDER / f"{path}.c", found)
    return found


@cache
def _digest(path: str) -> str:
    return hashlib.sha256("\0".join(files(path).values()).encode()).hexdigest()


def _read(path: Path, found: dict[Path, str]) -> None:
    """Read *path* into *found*, and what it includes that is not there yet."""
    found[path] = content = path.read_text(encoding="utf-8")
    for other in _INCLUDED.findall(content):
        place = (path.parent / other).resolve()
        if place not in found:
            _read(place, found)
