"""``polyad doctor``: what is installed, what was found, what is wrong with it, and whether each device works."""

from __future__ import annotations

import argparse
from typing import Any

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
List the installed backends and the devices they find, with versions and what is wrong; then test each device for
about a second. Exits with 1 if something is wrong.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("doctor", help="show what is installed and whether it works", description=DESCRIPTION)
    # Looked up when called, so that importing this module stays cheap.
    parser.set_defaults(run=lambda arguments: run(arguments))


def run(arguments: argparse.Namespace) -> int:
    """Print versions, backends and self-tests; 1 if anything is wrong."""
    raise SystemExit("not yet")
