"""``polyad run``: a program in several processes; see :mod:`polyad.distributed.run`."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_parser"]


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "run",
        help="run a program in several processes, with torchrun's options",
        add_help=False,
        prefix_chars="\0",  # options are the launcher's
    )
    parser.add_argument("program", nargs="*", help="options of polyad.distributed.run, a script, and its arguments")
    parser.set_defaults(run=run, passes_on="the program")


def run(arguments: argparse.Namespace) -> int:
    """Start the processes; the command's exit code."""
    from ..distributed.run import launch, parser

    rest = ["--", *arguments.after_dashes] if arguments.after_dashes else []
    return launch(parser("polyad run").parse_args([*arguments.program, *rest]))
