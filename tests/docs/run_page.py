"""Run the Python examples of one Markdown page, in order and in one namespace, as a reader who types them would.

    python tests/docs/run_page.py docs/quickstart.md
    python tests/docs/run_page.py --shell docs/backends.md     # its ```sh blocks instead, in the current folder

A block marked ```python is executed, or, if it has prompts (>>>), run by doctest and its output compared. Line
numbers in errors are those of the page. A block that cannot run by itself (a fragment, a file of somebody's package)
is announced by a comment on the line above it, which has to say why:

    <!-- not run: it needs a second machine -->

Each page runs in a process of its own, because examples may change defaults and register things.
"""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>`{3,})(?P<language>[\w{}-]*)")
NOT_RUN = re.compile(r"^\s*<!-- not run: \S.*-->\s*$")
PYTHON = {"python", "py", "python3", "pycon"}


class Block(NamedTuple):
    """A fenced block; `line` is the number of its first line of code, counted from 1."""

    line: int
    language: str
    code: str
    runs: bool


def blocks(text: str) -> Iterator[Block]:
    """Yield every fenced block of a page."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = FENCE.match(lines[number])
        if not fence:
            number += 1
            continue
        closing = re.compile(rf"^\s*{fence['ticks']}`*\s*$")
        end = next((i for i in range(number + 1, len(lines)) if closing.match(lines[i])), None)
        if end is None:
            raise SyntaxError(f"line {number + 1}: this block is never closed")
        before = next((line for line in reversed(lines[:number]) if line.strip()), "")
        body = [line.removeprefix(fence["indent"]) for line in lines[number + 1 : end]]
        yield Block(number + 2, fence["language"], "\n".join(body) + "\n", runs=not NOT_RUN.match(before))
        number = end + 1


def run(path: Path) -> tuple[int, int]:
    """Run the page at `path`; return how many blocks ran and how many examples in them failed."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    ran = failed = 0
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.language not in PYTHON or not block.runs:
            continue
        ran += 1
        if ">>>" in block.code:
            test = doctest.DocTestParser().get_doctest(block.code, namespace, path.name, str(path), block.line - 1)
            failed += runner.run(test, clear_globs=False).failed
            namespace.update(test.globs)
        else:
            exec(compile("\n" * (block.line - 1) + block.code, str(path), "exec"), namespace)
    return ran, failed


def run_shell(path: Path) -> tuple[int, int]:
    """Run the commands of the page at `path`, with this Python's environment, as one script that ends at a failure."""
    environment = os.environ | {"PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])}
    found = [block.code for block in blocks(path.read_text(encoding="utf-8")) if block.language == "sh" and block.runs]
    done = subprocess.run(["bash", "-euxo", "pipefail", "-c", "".join(found)], env=environment, check=False)
    return len(found), int(done.returncode != 0)


if __name__ == "__main__":
    page = Path(sys.argv[-1])
    ran, failed = run_shell(page) if "--shell" in sys.argv[1:-1] else run(page)
    print(f"{page.name}: {ran} blocks, {failed} failures")
    sys.exit(failed > 0)
