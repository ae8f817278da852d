"""``polyad conformance``: run the installed conformance suite against a backend."""

from __future__ import annotations

import argparse
import importlib.util
import subprocess
import sys
from typing import Any

__all__ = ["add_parser"]

DESCRIPTION = """\
Run polyad's conformance suite against a backend: values, dtypes, strides, gradients, aliasing, random bits. It is
the same as  pytest --pyargs polyad_conformance --polyad-backend=BACKEND  and exits as pytest does.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser(
        "conformance",
        help="test a backend with the conformance suite",
        description=DESCRIPTION,
        epilog="Arguments after -- go to pytest:  polyad conformance cpu -- -k conv2d -x",
    )
    parser.set_defaults(run=run, passes_on="pytest")
    parser.add_argument(
        "backend", nargs="?", default="cpu", metavar="BACKEND", help="device type to test (default: cpu)"
    )
    parser.add_argument("--report", metavar="FILE", help="write the score card to FILE as JSON")


def run(arguments: argparse.Namespace) -> int:
    """Run pytest in a process of its own; Ctrl-C reaches it, and its summary is printed."""
    if importlib.util.find_spec("pytest") is None:
        print(
            "polyad conformance: pytest is not installed\n    fix  pip install 'polyad[test]'",
            file=sys.stderr,
        )
        return 2
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--pyargs",
        "polyad_conformance",
        f"--polyad-backend={arguments.backend}",
        *([f"--polyad-report={arguments.report}"] if arguments.report else []),
        *arguments.after_dashes,
    ]
    process = subprocess.Popen(command)
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            continue  # pytest got it too, and is about to end with its summary
