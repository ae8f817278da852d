"""``polyad export``: a saved model in another format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

__all__ = ["add_parser", "run"]

DESCRIPTION = """\
Write a saved model in another format: ONNX (onnx), polyad's own (polyad), TorchScript (torchscript). FILE is one of
polyad.export.save, which has its example inputs, or a TorchScript archive, with --example for each input. Sizes that
the program takes any of stay so in ONNX.
"""
ENDINGS = {"onnx": ".onnx", "polyad": ".pt2", "torchscript": ".pt"}


def add_parser(commands: Any) -> None:
    """Add the command to the parser's commands."""
    parser = commands.add_parser("export", help="write a saved model in another format", description=DESCRIPTION)
    parser.set_defaults(run=run)
    parser.add_argument("file", metavar="FILE", help="a program of polyad.export.save, or a TorchScript archive")
    parser.add_argument("--to", choices=tuple(ENDINGS), required=True, help="the format to write")
    parser.add_argument("--output", "-o", metavar="PATH", help="where to (default: beside FILE, with another ending)")
    parser.add_argument(
        "--example", action="append", metavar="S", default=[], help="an input: 1,3,224,224 or 1,16:int64; repeat it"
    )


def run(arguments: argparse.Namespace) -> int:
    """Write the file and say where it is."""
    from ..errors import PolyadError

    try:
        path = _write_program(arguments)
    except PolyadError as error:
        print(f"polyad {error}", file=sys.stderr)
        return 1
    print(path)
    return 0


def _write_program(arguments: argparse.Namespace) -> Path:
    from .. import export
    from ..errors import OptionError

    source = Path(arguments.file)
    target = Path(arguments.output) if arguments.output else source.with_suffix(ENDINGS[arguments.to])
    if target.resolve() == source.resolve():
        raise OptionError(f"export: {target} is the file itself", fix="say another path with --output")
    program = _program(source, arguments.example)
    if arguments.to == "polyad":
        export.save(program, target)
        return target
    if program.example_inputs is None:
        raise OptionError(f"export: {source} has no example inputs", fix="export the model anew with polyad.export")
    args, kwargs = program.example_inputs
    if arguments.to == "torchscript":
        from .. import jit

        jit.save(jit.trace(program.module(), args, example_kwarg_inputs=kwargs or None), target)
        return target
    from .. import onnx
    from ..export.dynamic_shapes import shapes_of

    # The module takes any arguments: those by position have no names of their own.
    shapes = list(shapes_of(program.graph).items())
    named = {f"input{at}" if at < len(args) else name: spec for at, (name, spec) in enumerate(shapes)}
    names = [value.name for value in program.graph.inputs]
    onnx.export(program.module(), args, target, kwargs=kwargs, input_names=names, dynamic_shapes=named)
    return target


def _program(source: Path, examples: list[str]) -> Any:
    """The program in a file, or what a TorchScript archive's is for these examples."""
    from .. import export, jit

    with source.open("rb") as file:
        archive = file.read(2) == b"PK"
    if not archive:
        return export.load(source)
    from ..errors import OptionError

    if not examples:
        raise OptionError(
            f"export: {source} is a TorchScript archive, which has no example inputs",
            fix="say the shape of each with --example 1,3,224,224",
        )
    return export.export(jit.load(source), tuple([_example(text) for text in examples]))


def _example(text: str) -> Any:
    from .. import functions
    from ..base import dtypes
    from ..errors import OptionError

    sizes, _, name = text.partition(":")
    dtype = dtypes.BY_NAME.get(name or "float32")
    if dtype is None or not all(size.isdigit() for size in sizes.split(",") if size):
        raise OptionError(f"export: --example {text} is no input", fix="write sizes and a dtype: 1,16:int64")
    return functions.zeros(*[int(size) for size in sizes.split(",") if size], dtype=dtype)
