"""``polyad doctor``: what is installed, what was found, what is wrong with it, and whether each device works."""

from __future__ import annotations

import argparse
import json
from typing import Any

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
List versions, the installed backends, the devices they find and what is wrong; then test each device for about a
second. With --device, only that device, and for ten seconds ops of every family. Exits with 1 if something is wrong.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("doctor", help="show what is installed and whether it works", description=DESCRIPTION)
    parser.set_defaults(run=run)
    parser.add_argument(
        "--device", metavar="DEVICE", help="this device alone, with ops of every family: cuda, opencl:1, ..."
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="N", help="how long ops are tested with --device (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="print it for programs")


def run(arguments: argparse.Namespace) -> int:
    """Print versions, backends and self-tests; 1 if anything is wrong."""
    from ..backends import doctor

    report = doctor(arguments.device, seconds=arguments.seconds)
    if arguments.json:
        print(json.dumps(report.as_dict(), indent=2))
    else:
        report.show()
    return report.exit_status
