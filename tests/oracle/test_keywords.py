"""Calls with all arguments by the names that PyTorch gives them: what works there works here, in functions and methods.

The names are those of PyTorch's stubs and Python functions; the values are those of the templates, and PyTorch's own
defaults for what a template leaves out.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from polyad.dispatch.front import SPREAD
from polyad.dispatch.op import PUBLIC

from .calls import Call
from .libraries import POLYAD, TORCH, invoke, twin
from .templates import compared_paths, templates_of

LEFT_OUT = frozenset({"out", "names", "layout", "pin_memory", "generator", "device", "self", "implicit", "_stacklevel"})
"""Parameters that no call here gives: what they take differs between the libraries, or polyad has no use for them."""

REFUSED: dict[str, str] = {
    "tril_indices": "requires_grad: integers never do",
    "triu_indices": "requires_grad: integers never do",
}
"""Functions that have a name of PyTorch's not, with the reason."""


class Parameter(NamedTuple):
    """A parameter of PyTorch's; *default* is an ``ast`` node or a value, None if it has none."""

    name: str
    optional: bool
    default: Any


@cache
def _stubs(file: str, scope: str) -> dict[str, list[list[Parameter]]]:
    tree: Any = ast.parse(Path(torch.__file__).parent.joinpath("_C", file).read_text())
    if scope:
        tree = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == scope)
    found: dict[str, list[list[Parameter]]] = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found.setdefault(node.name, []).append(_of_stub(node.args))
    return found


def _of_stub(args: ast.arguments) -> list[Parameter]:
    positional = [*args.posonlyargs, *args.args]
    defaults = [None] * (len(positional) - len(args.defaults)) + list(args.defaults)
    pairs = [*zip(positional, defaults, strict=True), *zip(args.kwonlyargs, args.kw_defaults, strict=True)]
    found = [Parameter(arg.arg, default is not None, default) for arg, default in pairs]
    return [*found, *([Parameter(args.vararg.arg, False, None)] if args.vararg else [])]


def forms(path: str, method: bool) -> list[list[Parameter]]:
    """The forms in which PyTorch's function for *path* can be called, or its method of that name."""
    name = path.rpartition(".")[2]
    if method:
        return _stubs("__init__.pyi", "TensorBase").get(name, [])
    function = twin(path)
    if inspect.isfunction(function):
        parameters = inspect.signature(function).parameters.values()
        if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
            return []
        return [[Parameter(one.name, one.default is not one.empty, one.default) for one in parameters]]
    if function is getattr(torch, name, None):
        return _stubs("_VariableFunctions.pyi", "").get(name, [])
    return []


def _plain(default: Any) -> tuple[bool, Any]:
    """Whether a default is a plain value, and that value."""
    if isinstance(default, ast.AST):
        try:
            return True, ast.literal_eval(default)
        except ValueError:
            return False, None
    return default is None or isinstance(default, (bool, int, float, str, tuple)), default


def _by_name(path: str, call: Call) -> dict[str, Any] | None:
    """The arguments of a template's call under polyad's names; None if some have none."""
    try:
        bound = inspect.signature(PUBLIC[path].call).bind(*call.args, **call.kwargs)
    except TypeError:
        return None
    found = dict(bound.arguments)
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is parameter.VAR_POSITIONAL and name in found:
            if name not in SPREAD:
                return None if found[name] else {key: value for key, value in found.items() if key != name}
            (found[name],) = found[name] if len(found[name]) == 1 else (found[name],)
    return found


def calls(path: str, method: bool) -> Iterator[Call]:
    """The calls of *path* by PyTorch's names that can be made of its templates."""
    for template in templates_of(path)[:4]:
        call = template.call(template.dtypes[-1] if len(template.dtypes) < 8 else template.dtypes[7])
        found = _by_name(path, call)
        if found is None:
            continue
        first = None
        if method:
            name = next(iter(found), None)
            if name is None or name in SPREAD:
                continue
            first = found.pop(name)
        given = {name: value for name, value in found.items() if name not in LEFT_OUT}
        for form in forms(path, method):
            names = {one.name for one in form}
            required = {one.name for one in form if not one.optional} - {"self"}
            if not set(given) <= names or not required <= set(given):
                continue
            values = dict(given)
            for one in form:
                if one.optional and one.name not in values and one.name not in LEFT_OUT:
                    plain, value = _plain(one.default)
                    if plain:
                        values[one.name] = value
            yield Call(path, () if first is None else (first,), values, form="method" if method else "function")


def _works(library: Any, call: Call) -> Exception | None:
    try:
        tensors = {id(given): library.tensor(given)[0] for given in call.givens()}
        invoke(library, call, tensors)
    except Exception as error:
        return error
    return None


def refused(path: str) -> list[str]:
    """The calls by name that PyTorch takes and polyad does not."""
    found = []
    for method in (False, True):
        if method and not PUBLIC[path].method:
            continue
        for call in calls(path, method):
            if _works(TORCH, call) is None:
                error = _works(POLYAD, call)
                if error is not None:
                    found.append(f"{call}: {type(error).__name__}: {str(error).splitlines()[0]}")
    return found


PATHS = [path for path in compared_paths() if path in PUBLIC]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", [path for path in PATHS if path not in REFUSED])
def test_calls_by_name(path: str) -> None:
    found = refused(path)
    assert not found, f"polyad.{path} refuses\n" + "\n".join(found[:10])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("path", REFUSED)
def test_the_list_is_up_to_date(path: str) -> None:
    assert refused(path), f"delete {path} from REFUSED"


def test_most_functions_are_called() -> None:
    """So that a change of PyTorch's stubs does not leave nothing to compare."""
    called = [path for path in PATHS if any(True for _ in calls(path, False))]
    assert len(called) > len(PATHS) * 2 // 3
