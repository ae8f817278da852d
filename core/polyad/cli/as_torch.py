"""``polyad as-torch``: a program that imports torch, run on polyad; see :mod:`polyad.as_torch`."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "as-torch",
        help="run a program that imports torch on polyad",
        add_help=False,
        prefix_chars="\0",  # options are the program's
    )
    parser.add_argument("program", nargs="*", help="a script, or -m and a module, and its arguments")
    parser.set_defaults(run=run, passes_on="the program")


def run(arguments: argparse.Namespace) -> int:
    """Run the program; the command's exit code."""
    from ..as_torch.__main__ import main

    rest = ["--", *arguments.after_dashes] if arguments.after_dashes else []
    return main([*arguments.program, *rest])
