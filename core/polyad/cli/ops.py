"""``polyad ops``: what ops there are, and what a kernel of one has to do."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
List the ops: their tier (1: a complete backend has a kernel; 2: a kernel is optional), their structure, and the
devices that have kernels. With a NAME, say all that a kernel's author needs to know of that op: operands and
parameters, dtypes, shapes, meaning, random numbers, decomposition.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("ops", help="list ops, or say what a kernel of one has to do", description=DESCRIPTION)
    parser.set_defaults(run=run)
    parser.add_argument("names", nargs="*", metavar="NAME", help="an op, such as gemm; may be repeated")
    parser.add_argument("--tier", type=int, choices=(1, 2), help="only ops whose kernels are of this tier")
    parser.add_argument("--family", metavar="F", help="only this family, such as linalg or pointwise.rounding")
    parser.add_argument("--missing", metavar="DEVICE", help="only ops for which this device type has no kernel")
    parser.add_argument("--json", action="store_true", help="print it for programs")


def run(arguments: argparse.Namespace) -> int:
    """Print the list, or each op that is named."""
    from ..errors import PolyadError
    from ..inspection.diagnosis.ops import describe_op, list_ops
    from ..inspection.diagnosis.ops_text import show_ops, text_of_ops
    from ..inspection.diagnosis.screen import console

    try:
        if arguments.names:
            ops = tuple(map(describe_op, arguments.names))
        else:
            ops = list_ops(tier=arguments.tier, family=arguments.family, missing=arguments.missing)
    except PolyadError as error:
        print(f"polyad {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps([op.as_dict() for op in ops], indent=2))
    elif arguments.names:
        print("\n\n".join(map(str, ops)))
    elif (terminal := console()) is not None:
        show_ops(terminal, ops)
    else:
        print(text_of_ops(ops))
    return 0
