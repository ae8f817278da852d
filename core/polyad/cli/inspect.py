"""``polyad inspect``: what is in the file of an exported program."""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections import Counter
from typing import Any

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Say what is in a file of polyad.export.save: inputs and outputs with their sizes, what a call changes, which ops are
called and how often, the number and bytes of parameters and buffers. --graph prints all calls, --picture draws them.
"""


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("inspect", help="say what is in an exported program", description=DESCRIPTION)
    parser.set_defaults(run=run)
    parser.add_argument("file", metavar="FILE", help="a program of polyad.export.save")
    parser.add_argument("--graph", action="store_true", help="print the graph")
    parser.add_argument("--picture", metavar="PATH", help="draw the graph, as .svg")
    parser.add_argument("--json", action="store_true", help="print it for programs")


def run(arguments: argparse.Namespace) -> int:
    """Print what there is."""
    from .. import export
    from ..errors import PolyadError

    try:
        program = export.load(arguments.file)
        found = described(program)
        if arguments.picture:
            from ..files import replacing
            from ..inspection import viz

            with replacing(arguments.picture, "inspect") as file:
                file.write(viz.graph(program.graph).svg().encode())
    except PolyadError as error:
        print(f"polyad {error}", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(found, indent=2))
    else:
        print("\n".join(_lines(found)))
    if arguments.graph:
        print(program.graph)
    return 0


def described(program: Any) -> dict[str, Any]:
    """What is in a program, as data."""
    from ..graph.graph import nodes_within

    graph, signature = program.graph, program.graph_signature
    tensors = {"parameters": [*program.parameters()], "buffers": [*program.buffers()]}
    return {
        "name": graph.name,
        "inputs": {value.name: _value_in_words(value) for value in graph.inputs},
        "outputs": {value.name: _value_in_words(value) for value in graph.results},
        "sizes": {str(name): str(range_) for name, range_ in program.range_constraints.items()},
        "changes": sorted({*signature.buffers_to_mutate.values(), *signature.parameters_to_mutate.values()}),
        "ops": dict(Counter(node.name for node in nodes_within(graph)).most_common()),
        **{
            kind: {
                "tensors": len(found),
                "elements": sum(math.prod(one.shape) for one in found),
                "bytes": sum(one.nbytes for one in found),
            }
            for kind, found in tensors.items()
        },
    }


def _value_in_words(value: Any) -> str:
    return f"{value.dtype.name} {value.sizes}"


def _lines(found: dict[str, Any]) -> list[str]:
    lines = [found["name"]]
    for kind in ("inputs", "outputs", "sizes"):
        if found[kind]:
            lines += ["", kind, *[f"    {name:<24}  {text}" for name, text in found[kind].items()]]
    if found["changes"]:
        lines += ["", "changes", *[f"    {name}" for name in found["changes"]]]
    lines += ["", "ops", *[f"    {name:<24}  {count}" for name, count in found["ops"].items()], ""]
    for kind in ("parameters", "buffers"):
        numbers = found[kind]
        lines.append(
            f"{kind:<12}  {numbers['tensors']} tensors, {numbers['elements']:,} elements, {numbers['bytes']:,} bytes"
        )
    return lines
