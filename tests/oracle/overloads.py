"""PyTorch's functions and methods overload by overload, and calls of each that PyTorch takes.

The overloads are the schemas of PyTorch's compiled functions, and the signatures of those written in Python. A call is
drawn: each parameter gets values of its type in turn, until PyTorch takes them.
"""

from __future__ import annotations

import inspect
import random
import zlib
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import torch

import polyad
from polyad.dispatch.op import PUBLIC

from .calls import Call, Given, contiguous
from .crashes import crashes
from .libraries import TORCH, invoke, twin

PREFIXES = {"linalg": "linalg_", "fft": "fft_", "special": "special_", "nn.functional": ""}

LEFT_OUT = frozenset(
    {"out", "out0", "out1", "out2", "layout", "pin_memory", "generator", "device", "names", "implicit"}
)
"""Parameters that no call here gives: what they take differs between the libraries, or polyad has no use for them."""

TRIES = 400
"""Draws for one form of an overload; most are taken within ten."""

WANTED = 3
"""Calls of one form of an overload."""


class Parameter(NamedTuple):
    """A parameter of an overload; *type* is the schema's, "" where only Python knows it."""

    name: str
    type: str
    optional: bool
    by_name_alone: bool


@cache
def _schemas() -> dict[str, list[list[Parameter]]]:
    """The overloads of PyTorch's compiled functions, by name."""
    found: dict[str, list[list[Parameter]]] = {}
    for schema in torch._C._jit_get_all_schemas():
        space, _, name = schema.name.partition("::")
        text = str(schema)
        if space != "aten" or "Dimname" in text or "Tensor" not in text.replace("Tensor[]", ""):
            continue
        parameters = [
            Parameter(one.name, _plain(str(one.real_type)), one.has_default_value(), one.kwarg_only)
            for one in schema.arguments
            if not one.is_out and one.name not in LEFT_OUT
        ]
        known = found.setdefault(name, [])
        if parameters not in known:
            known.append(parameters)
    return found


def _plain(type_: str) -> str:
    """A schema's or an annotation's name of a type, in the schemas' words."""
    type_ = type_.replace("typing.", "").replace("torch.", "").replace("SymInt", "int").replace("int | float", "number")
    choices = [one for one in type_.split(" | ") if one not in ("None", "NoneType")]
    if choices and len(choices) < len(type_.split(" | ")):
        return f"Optional[{_plain(choices[0])}]"
    return choices[0].replace("list[", "List[") if choices else ""


def _of_python(function: Any) -> list[list[Parameter]]:
    parameters = inspect.signature(function).parameters.values()
    if any(one.kind in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in parameters):
        return []
    return [
        [
            Parameter(one.name, _annotated(one), one.default is not one.empty, one.kind is one.KEYWORD_ONLY)
            for one in parameters
            if one.name not in LEFT_OUT and not one.name.startswith("_")
        ]
    ]


def _annotated(parameter: inspect.Parameter) -> str:
    if parameter.annotation is parameter.empty:
        return "Tensor" if parameter.name in ("self", "input", "tensor") else ""
    told = str(parameter.annotation)
    return _plain(told if "|" in told or "[" in told else getattr(parameter.annotation, "__name__", told))


def overloads(path: str) -> list[list[Parameter]]:
    """The overloads of PyTorch's function for polyad's at *path*, or of its method at ``Tensor.<name>``."""
    space, _, name = path.rpartition(".")
    if space == "Tensor":
        function = getattr(torch.Tensor, name, None)
        if inspect.isfunction(function):
            return _of_python(function)
        return [form for form in _schemas().get(name, []) if form and form[0][:2] == ("self", "Tensor")]
    function = twin(path)
    if inspect.isfunction(function):
        return _of_python(function)
    forms = _schemas().get(PREFIXES.get(space, "") + name, [])
    # A tensor called self is called input in functions.
    return [
        [Parameter("input", *one[1:]) if one[:2] == ("self", "Tensor") else one for one in parameters]
        for parameters in forms
    ]


def paths() -> list[str]:
    """Every public function and every method that both libraries have and PyTorch tells overloads of."""
    functions = [path for path in PUBLIC if not path.startswith("Tensor.") and twin(path) is not None]
    methods = [
        f"Tensor.{name}"
        for name in dir(torch.Tensor)
        if not name.startswith("_") and callable(getattr(torch.Tensor, name)) and hasattr(polyad.Tensor, name)
    ]
    return [path for path in (*functions, *methods) if overloads(path)]


# ------------------------------------------------------------------------------------------------------ values


def _floats(*shape: int) -> Given:
    return contiguous(np.random.default_rng(sum(shape)).uniform(0.25, 0.75, shape))


def _integers(*shape: int) -> Given:
    return contiguous((np.arange(int(np.prod(shape)), dtype=np.int64) % 2).reshape(shape))


def _bools(*shape: int) -> Given:
    return contiguous((np.arange(int(np.prod(shape))) % 2 == 0).reshape(shape))


SQUARE = np.array([[2.0, 0.5], [0.5, 1.0]])

TENSORS = (
    lambda: _floats(2, 2), lambda: _floats(2), lambda: contiguous(SQUARE), lambda: _integers(2, 2),
    lambda: _integers(2), lambda: _floats(), lambda: _integers(), lambda: _bools(2, 2), lambda: _floats(2, 2, 2),
    lambda: _floats(1, 2, 4, 4), lambda: _floats(1, 2, 4, 4, 4), lambda: _floats(1), lambda: _integers(2, 2, 2),
    lambda: contiguous(SQUARE + 1j * (SQUARE - SQUARE.T)), lambda: _floats(3), lambda: _floats(2, 3),
    lambda: _floats(2, 2, 2, 2), lambda: _floats(2, 2, 2, 2, 2),
)  # fmt: skip

VALUES: dict[str, tuple[Any, ...]] = {
    "number": (2, 1, 0.5, 0),
    "int": (0, 1, 2, 3, -1),
    "float": (0.5, 1.0, 2.0, 0.0),
    "bool": (False, True),
    "str": (
        "mean",
        "none",
        "sum",
        "linear",
        "constant",
        "fro",
        "ij",
        "trunc",
        "floor",
        "same",
        "add",
        "reduced",
        "amax",
    ),
    "ScalarType": (polyad.float64, polyad.float32, polyad.int64),
    "MemoryFormat": (polyad.contiguous_format, polyad.preserve_format),
    "List[int]": ([0], [1], [2, 2], [0, 1], [1, 1], [4], [2], [1, 0], [2, 2, 2], [0, 0], [1, 1, 1, 1]),
    "List[float]": ([0.5], [1.0, 2.0], [0.5, 0.5]),
    "List[bool]": ([True], [False, False], [True, False]),
    "List[number]": ([1.0], [0.5, 2.0]),
    "complex": (1j,),
    "Device": ("cpu",),
}


NAMED: dict[str, str] = {
    "dtype": "ScalarType", "dim": "int", "keepdim": "bool", "reduction": "str", "mode": "str", "size": "List[int]",
    "kernel_size": "int", "stride": "int", "padding": "int", "dilation": "int", "output_size": "int",
    "unbiased": "bool", "get_infos": "bool", "size_average": "bool", "reduce": "bool", "eps": "float", "p": "number",
}  # fmt: skip
"""Types of parameters of Python functions that have no annotation."""


def _drawn(type_: str, draws: random.Random, alike: int | None = None) -> Any:
    """A value of a type; *alike* is the index of the tensor that all of the call's are."""
    if type_.startswith("Optional["):
        return None if draws.random() < 0.2 else _drawn(type_[9:-1], draws, alike)
    if type_ == "":
        return _drawn(
            draws.choice(("Tensor", "Tensor", "number", "int", "bool", "List[int]", "str", "List[Tensor]")), draws
        )
    if type_ == "Tensor":
        return TENSORS[min(int(draws.expovariate(0.4)), len(TENSORS) - 1) if alike is None else alike]()
    if type_.startswith("List[") and "Tensor" in type_:
        one = _drawn("Tensor", draws, alike)
        return [one, contiguous(one.values)][: draws.choice((1, 2, 2))]
    return draws.choice(VALUES.get(type_, VALUES["int"]))


def signature_of(path: str) -> tuple[set[str], bool]:
    """The names under which polyad's function or method takes arguments, and whether some are given in a row."""
    method = path.startswith("Tensor.") and path not in PUBLIC
    function = getattr(polyad.Tensor, path.removeprefix("Tensor.")) if method else PUBLIC[path].call
    others: set[str] = set()
    inner = function
    while inner is not None:
        others |= getattr(inner, "__other_names__", frozenset())
        inner = getattr(inner, "__wrapped__", None)
    parameters = inspect.signature(function).parameters.values()
    names = {one.name for one in parameters} | others | ({"self"} if method else set())
    return names, any(one.kind is one.VAR_POSITIONAL for one in parameters)


def calls(path: str, form: list[Parameter], by_name: bool) -> Iterator[Call]:
    """Up to `WANTED` calls of an overload that PyTorch takes, with all arguments by name, or as few as can be."""
    method = path.startswith("Tensor.")
    draws = random.Random(zlib.crc32(repr((path, form, by_name)).encode()))
    found = 0
    for _ in range(TRIES):
        alike = draws.randrange(len(TENSORS)) if draws.random() < 0.3 else None
        given = {
            one.name: _drawn(one.type or NAMED.get(one.name, ""), draws, alike)
            for one in form
            if not one.optional or draws.random() < 0.5
        }
        call = _call(path, form, given, by_name, method)
        if call is None or crashes(call):
            continue
        try:
            tensors = {id(one): TORCH.tensor(one)[0] for one in call.givens()}
            invoke(TORCH, call, tensors)
        except Exception:
            continue
        yield call
        found += 1
        if found == WANTED:
            return


def _call(path: str, form: list[Parameter], given: dict[str, Any], by_name: bool, method: bool) -> Call | None:
    args: list[Any] = []
    kwargs = dict(given)
    for position, one in enumerate(form):
        if one.by_name_alone or one.name not in given or (by_name and not (method and position == 0)):
            break
        args.append(kwargs.pop(one.name))
    return Call(path, tuple(args), kwargs, form="method" if method else "function")
