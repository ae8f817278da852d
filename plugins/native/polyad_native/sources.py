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


@cache
def _digest(path: str) -> str:
    files: dict[Path, bytes] = {}
    _read(FOLDER / f"{path}.c", files)
    return hashlib.sha256(b"\0".join(files.values())).hexdigest()


def _read(path: Path, files: dict[Path, bytes]) -> None:
    """Read *path* into *files*, and what it includes that is not there yet."""
    content = path.read_text(encoding="utf-8")
    files[path] = content.encode()
    for other in _INCLUDED.findall(content):
        place = (path.parent / other).resolve()
        if place not in files:
            _read(place, files)
