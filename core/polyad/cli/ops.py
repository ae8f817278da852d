"""``polyad ops``: what ops there are, what a kernel of one has to do, and where one is computed."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
List the ops: their tier (1: a complete backend has a kernel; 2: a kernel is optional), their structure, and the
devices that have kernels. With a NAME, say all that a kernel's author needs to know of that op: operands and
parameters, dtypes, shapes, meaning, random numbers, decomposition. With --device, say where it is declared and computed
there, and why: a file and a line of what is written by hand, the text of what is generated.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("ops", help="list ops, or say what a kernel of one has to do", description=DESCRIPTION)
    parser.set_defaults(run=run)
    parser.add_argument("names", nargs="*", metavar="NAME", help="an op, such as gemm; may be repeated")
    parser.add_argument("--tier", type=int, choices=(1, 2), help="only ops whose kernels are of this tier")
    parser.add_argument("--family", metavar="F", help="only this family, such as linalg or pointwise.rounding")
    parser.add_argument("--missing", metavar="DEVICE", help="only ops for which this device type has no kernel")
    parser.add_argument("--device", metavar="D", help="where NAME is computed on this device, and why")
    parser.add_argument("--dtype", metavar="T", help="with --device: the dtype of its operands, such as bfloat16")
    parser.add_argument(
        "--shape", action="append", metavar="S", type=_shape, help="with --device: 64,64; repeat it for each operand"
    )
    parser.add_argument("--json", action="store_true", help="print it for programs")


def run(arguments: argparse.Namespace) -> int:
    """Print the list, or each op that is named."""
    from ..errors import ArgumentError, PolyadError
    from ..inspection.diagnosis.ops import describe_op, list_ops
    from ..inspection.diagnosis.ops_text import show_ops, text_of_ops
    from ..inspection.diagnosis.screen import console

    ops: tuple[Any, ...]
    try:
        if arguments.names and arguments.device:
            ops = tuple(_location(name, arguments) for name in arguments.names)
        elif arguments.device or arguments.dtype or arguments.shape:
            raise ArgumentError(
                "ops: --device, --dtype and --shape say for which call a named op is looked at",
                fix="polyad ops NAME --device cpu; --missing DEVICE lists what a device has no kernels for",
            )
        elif arguments.names:
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


def _location(name: str, arguments: argparse.Namespace) -> Any:
    """Where *name* is computed on the device, for the dtype and shapes that were asked for."""
    from ..base.dtypes import ALL
    from ..errors import ArgumentError
    from ..inspection.diagnosis.ops_address import locate_op

    dtypes = {dtype.name: dtype for dtype in ALL}
    if arguments.dtype is not None and arguments.dtype not in dtypes:
        raise ArgumentError(f"ops: there is no dtype {arguments.dtype!r}", fix=f"one of {', '.join(dtypes)}")
    shapes = arguments.shape
    shape = shapes[0] if shapes and len(shapes) == 1 else shapes
    return locate_op(name, arguments.device, dtype=dtypes.get(arguments.dtype), shape=shape)


def _shape(text: str) -> tuple[int, ...]:
    """``64,64``, ``64x64`` or, for no dimensions, nothing."""
    sizes = tuple(int(size) for size in text.replace("x", ",").split(",") if size)
    if min(sizes, default=0) < 0:
        raise ValueError
    return sizes
