"""The ``polyad`` command: ``polyad demo``, ``doctor``, ``ops``, ``export``, ``inspect``, ``port``, ``run``,
``conformance``, ``as-torch``, ``--version``.

Exit codes: 0 success; 1 the command ran and found something wrong; 2 an option that cannot be followed, with a
message of one screen; 130 Ctrl-C. A traceback means a defect of polyad.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from .._version import __version__
from . import as_torch, conformance, demo, doctor, export, inspect, ops, port, run

__all__ = ["main"]

COMMANDS = (demo, doctor, ops, export, inspect, port, run, conformance, as_torch)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that *argv* (``sys.argv[1:]`` if None) names; return its exit code.

    >>> main(["--version"])
    Traceback (most recent call last):
    SystemExit: 0
    """
    own, after_dashes = _split(sys.argv[1:] if argv is None else argv)
    parser = _parser()
    arguments = parser.parse_args(own)
    if arguments.run is None:
        parser.print_help(sys.stderr)
        parser.exit(2, "polyad: name one of these commands\n")
    if after_dashes and not arguments.passes_on:
        parser.error(f"unrecognized arguments: -- {' '.join(after_dashes)}")
    arguments.after_dashes = after_dashes
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader (head, less) has gone: nobody is left to tell. Python flushes stdout at exit; let that go nowhere.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    return code


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    """Arguments before and after ``--``: what follows it belongs to the program that a command starts."""
    position = list(argv).index("--") if "--" in argv else len(argv)
    return list(argv[:position]), list(argv[position + 1 :])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="polyad", description="A PyTorch-compatible tensor library for deep learning whose hardware is a plug-in."
    )
    parser.add_argument("--version", action="version", version=f"polyad {__version__}")
    parser.set_defaults(passes_on=None, run=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    return parser
