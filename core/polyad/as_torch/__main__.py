"""``python -m polyad.as_torch script.py args``, ``-m module args``, ``--enable``, ``--disable``."""

from __future__ import annotations

import os
import runpy
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from . import install

VARIABLE = "POLYAD_AS_TORCH"
USAGE = """\
usage: python -m polyad.as_torch script.py [its arguments]
       python -m polyad.as_torch -m module [its arguments]
       python -m polyad.as_torch --enable | --disable

Runs a program that imports torch on polyad. --enable lets every Python of this environment do so that is started
with POLYAD_AS_TORCH=1, and --disable ends that."""

_STARTUP = Path(__file__).with_name("startup")
_LINE = f"import os; os.environ.get({VARIABLE!r}) == '1' and __import__('polyad.as_torch').as_torch.install()\n"


def main(argv: Sequence[str]) -> int:
    """Do what *argv* says; the exit code."""
    if argv and argv[0] in ("--enable", "--disable"):
        return _switch(argv[0] == "--enable")
    is_module = argv[:1] == ["-m"]
    program = argv[1:] if is_module else argv
    if not program or program[0].startswith("-"):
        asked = bool(argv) and argv[0] in ("-h", "--help")
        print(USAGE, file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    if not is_module and not Path(program[0]).exists():
        print(f"polyad.as_torch: there is no file {program[0]}", file=sys.stderr)
        return 2
    install()
    # Workers and launchers start Pythons of their own, which find startup/sitecustomize.py first.
    os.environ[VARIABLE] = "1"
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != str(_STARTUP)]
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_STARTUP), *paths])
    sys.argv = list(program)
    if is_module:
        sys.path[0] = os.getcwd()
        runpy.run_module(program[0], run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program[0]).resolve().parent)
        runpy.run_path(program[0], run_name="__main__")
    return 0


def _switch(on: bool) -> int:
    path = Path(sysconfig.get_path("purelib")) / "polyad_as_torch.pth"
    try:
        if on:
            path.write_text(_LINE, encoding="utf-8")
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        print(f"polyad.as_torch: {error}", file=sys.stderr)
        return 1
    print(f"{'wrote' if on else 'removed'} {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
