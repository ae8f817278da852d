"""Writes what follows from the declarations and is read without them:
``python -m polyad.ops.declaring.stubs [--check]``.

    polyad/ops/declared_names.py  which module declares which name: families are loaded by it
    polyad/functions.pyi          for editors and type checkers, an import line for each public function, so that
                                  ``polyad.exp`` is the def in its family's module
    polyad/linalg.pyi, fft.pyi, special.pyi, nn/functional.pyi   the same for the functions of a namespace
    polyad/tensor/methods.pyi     the methods, in-place forms and operators of Tensor, with their signatures

``--check`` writes nothing and exits with 1 if a file is not what the declarations say; a test does the same.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pathlib
import pkgutil
import re
import sys
from collections.abc import Iterable
from textwrap import fill

from ... import ops
from ...dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC
from ...tensor.methods import TensorMethods
from .attach import IN_PLACE, attach

PACKAGE = pathlib.Path(__file__).resolve().parents[2]

_INDEX_HEADER = '''\
"""Which module of ``polyad.ops`` declares which op, public function and attribute of Tensor.

Written by ``python -m polyad.ops.declaring.stubs``; do not edit.
"""
'''

_FUNCTIONS_HEADER = '''\
"""{what}, one import a name.

Written by ``python -m polyad.ops.declaring.stubs``; do not edit.
"""

'''

NAMESPACES = {
    "": "The public functions of tensors",
    "fft": "Discrete Fourier transforms, under PyTorch's path ``polyad.fft``",
    "linalg": "Linear algebra under PyTorch's path ``polyad.linalg``",
    "nn.functional": "What layers compute, as functions, under PyTorch's path ``polyad.nn.functional``",
    "special": "Special functions under PyTorch's path ``polyad.special``",
}
"""What the generated modules of functions hold."""

ALSO = {"linalg": ("from .errors import LinAlgError as LinAlgError\n",)}
"""Import lines of names in a namespace that are no functions of tensors."""

_METHODS_HEADER = '''\
"""What type checkers see of Tensor's generated methods.

Written by ``python -m polyad.ops.declaring.stubs``; do not edit.
"""

import builtins
from collections.abc import Sequence
from typing import Any

from ..base.device import Device
from ..base.dtypes import DType
from ..base.shapes_and_strides import Shape, Size, Strides
from .tensor import Tensor

Number = bool | int | float | complex
Dims = int | tuple[int, ...] | list[int] | None

class TensorMethods:
'''

_BUILTIN = re.compile(r"\b(bool|complex|float|int)\b")
_KNOWN = {
    "Any", "builtins", "Device", "DType", "Dims", "Number", "Sequence", "Shape", "Size", "Strides", "Tensor", "None",
    "bool", "bytes", "complex", "dict", "float", "int", "list", "object", "str", "tuple", "type",
}  # fmt: skip


def _annotation(text: object) -> str:
    """An annotation as the stub can say it: names that it does not import become Any."""
    if not isinstance(text, str):
        return "Any"
    # Tensor has methods called bool, float and int, which would hide the builtin types inside the class.
    text = _BUILTIN.sub(r"builtins.\1", text)
    names = {node.id for node in ast.walk(ast.parse(text, mode="eval")) if isinstance(node, ast.Name)}
    return text if names <= _KNOWN else "Any"


def _parameter(parameter: inspect.Parameter) -> str:
    prefix = (
        "*" if parameter.kind is parameter.VAR_POSITIONAL else "**" if parameter.kind is parameter.VAR_KEYWORD else ""
    )
    text = f"{prefix}{parameter.name}: {_annotation(parameter.annotation)}"
    if parameter.default is not parameter.empty:
        simple = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
        text += f" = {parameter.default!r}" if simple else " = ..."
    return text


def _method(name: str, signature: inspect.Signature, returns: str) -> str:
    parts = ["self"]
    parameters = list(signature.parameters.values())[1:]
    for parameter in parameters:
        if (
            parameter.kind is parameter.KEYWORD_ONLY
            and "*" not in parts
            and not any(part.startswith("*") for part in parts)
        ):
            parts.append("*")
        parts.append(_parameter(parameter))
    return f"    def {name}({', '.join(parts)}) -> {returns}: ...\n"


def load_all() -> None:
    """Load every module of ``polyad.ops``, whether the index knows of it or not."""
    for found in pkgutil.walk_packages(ops.__path__, f"{ops.__name__}."):
        if found.name != __name__:
            importlib.import_module(found.name)
    attach(ATTRIBUTES)
    for name in vars(TensorMethods).copy():
        getattr(TensorMethods, name)


def index_source() -> str:
    """The text of polyad/ops/declared_names.py."""
    text = _INDEX_HEADER
    for table, catalogue in (("OPS", OPS), ("FUNCTIONS", PUBLIC), ("ATTRIBUTES", ATTRIBUTES)):
        modules: dict[str, list[str]] = {}
        for name, entry in catalogue.items():
            if entry.module.startswith(f"{ops.__name__}."):
                modules.setdefault(entry.module.removeprefix(f"{ops.__name__}."), []).append(name)
        rows = "".join(
            f'    "{module}": """\n{fill(" ".join(sorted(names)), 118, break_long_words=False)}\n""",\n'
            for module, names in sorted(modules.items())
        )
        text += f"\n{table} = {{\n{rows}}}\n"
    return text


def functions_source(namespace: str) -> str:
    """The text of polyad/functions.pyi, or of the module of a namespace."""
    by_module: dict[str, list[str]] = {}
    for public in PUBLIC.values():
        if public.namespace == namespace:
            by_module.setdefault(public.module.removeprefix("polyad."), []).append(public.name)
    here = "." * (1 + namespace.count("."))
    lines = [
        f"from {here}{module} import {name} as {name}\n"
        for module in sorted(by_module)
        for name in sorted(by_module[module])
    ]
    if not namespace:
        lines += [
            "from .tensor import Tensor as _Tensor\n\n",
            *(f"{name} = _Tensor.{name}\n" for name in sorted(IN_PLACE)),
        ]
    return _FUNCTIONS_HEADER.format(what=NAMESPACES[namespace]) + "".join([*ALSO.get(namespace, ()), *lines])


def methods_source() -> str:
    """The text of polyad/tensor/methods.pyi."""
    lines = []
    for name in sorted(vars(TensorMethods)):
        value = vars(TensorMethods)[name]
        if name in ("__slots__", "__module__", "__doc__", "__hash__"):
            continue
        if isinstance(value, property):
            returns = _annotation(inspect.signature(value.fget).return_annotation) if value.fget else "Any"
            lines.append(f"    @property\n    def {name}(self) -> {returns}: ...\n")
            if value.fset:
                lines.append(f"    @{name}.setter\n    def {name}(self, value: Any) -> None: ...\n")
        elif callable(value):
            signature = inspect.signature(value)
            returns = (
                "Tensor"
                if name.startswith("__") and name != "__contains__"
                else _annotation(signature.return_annotation)
            )
            if name in ("__setitem__", "__delitem__"):
                returns = "None"
            ignore = name in ("__eq__", "__ne__")
            line = _method(name, signature, returns)
            lines.append(line.rstrip("\n") + "  # type: ignore[override]\n" if ignore else line)
    return _METHODS_HEADER + "".join(lines)


def main(arguments: Iterable[str]) -> int:
    """Write or check the files; returns the exit status."""
    stale = []
    load_all()
    sources = {f"{space.replace('.', '/') or 'functions'}.pyi": functions_source(space) for space in NAMESPACES}
    sources |= {"ops/declared_names.py": index_source(), "tensor/methods.pyi": methods_source()}
    for name, source in sources.items():
        path = PACKAGE / name
        if path.exists() and path.read_text() == source:
            continue
        stale.append(name)
        if "--check" not in arguments:
            path.write_text(source)
            print(f"wrote {path}")
    if stale and "--check" in arguments:
        print(f"stale: {', '.join(stale)}; run python -m polyad.ops.declaring.stubs")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
