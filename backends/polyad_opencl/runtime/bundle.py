"""Sources of kernels that many programs need, which are compiled as one program: a `Bundle`.

PoCL compiles a program at a time and spends a tenth of a second on each, however small it is; in one program, a kernel
of these takes a fifth of that. The first that a process has to compile are compiled alone, for who needs no more; at
the next, the bundle is. A kernel is the same text in the bundle as alone, but for its names, so it computes the same
bits.

``tools/opencl_sources.py`` writes the file. A kernel whose text is not in it, since the generator writes another by now
or for another kind of device, is compiled alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

PATH = Path(__file__).with_name("common_kernels.json")
ALONE = 2
"""How many kernels of the bundle are compiled alone before the bundle is."""

_NAMED = re.compile(r"^(?:typedef .*?(?<=\W)(\w+);$|(?:inline static|__kernel)[^;{(]*?(\w+)\()", re.MULTILINE)


class Bundle:
    """Sources that are compiled together.

    Attributes:
        text: the program, each source with a number behind the names that it defines.
        missed: how many of them had to be compiled so far.
        failed: whether the bundle did not compile.
    """

    def __init__(self, sources: Sequence[str] | None = None) -> None:
        self._places = {source: at for at, source in enumerate(_read() if sources is None else sources)}
        self.text = "".join([_renamed(source, f"_{at}") for source, at in self._places.items()])
        self.missed, self.failed = 0, False

    def __len__(self) -> int:
        return len(self._places)

    def suffix(self, source: str) -> str | None:
        """What stands behind the names of the kernels of *source* in `text`; None if it is not there."""
        at = self._places.get(source)
        return None if at is None else f"_{at}"


def written(sources: Sequence[str]) -> str:
    """The file's text for *sources*, a line each."""
    lines = ",\n".join(map(json.dumps, sources))
    return f"[\n{lines}\n]\n"


def _read() -> list[str]:
    found: list[str] = json.loads(PATH.read_text(encoding="utf-8"))
    return found


def _renamed(source: str, suffix: str) -> str:
    names = dict.fromkeys(first or second for first, second in _NAMED.findall(source))
    define = "".join([f"#define {name} {name}{suffix}\n" for name in names])
    return define + source + "".join([f"#undef {name}\n" for name in names])
