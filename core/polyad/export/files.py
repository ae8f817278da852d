"""Exported programs in files: a file of `polyad.save`, with the text of the graph and the tensors by name.

No class of the program's is needed to read one, and nothing in it runs: the text names ops that polyad has. Tensors are
in the safetensors layout, so that they are mapped, and other programs read them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import IO, Any

from ..base.trees import flatten
from ..errors import ArgumentTypeError, InvalidGraph, SerializationError, safe_repr
from ..files import is_remote
from ..graph.graph import Graph
from ..graph.parsing import parse
from ..graph.structure import Ref, replace
from ..random.generator import Generator
from ..serialization import load as load_file, save as save_file
from ..tensor import Tensor
from .calls import SubmoduleCall
from .exported_program import CallSpec, ExportedProgram, State, entry_of, names_of_values, structure_of

__all__ = ["load", "save"]

VERSION = 1
"""The version of the file: raised when something is written that earlier readers do not know."""
_FIELDS = {
    "polyad.export",
    "graph",
    "constants",
    "generators",
    "tensors",
    "same",
    "order",
    "temporary",
    "others",
    "modules",
}


def save(
    ep: ExportedProgram,
    f: str | os.PathLike[str] | IO[bytes],
    *,
    extra_files: Mapping[str, str | bytes] | None = None,
    opset_version: Mapping[str, int] | None = None,
    pickle_protocol: int = 2,
) -> None:
    """Write a program to a file, whole or not at all: the text of its graph, its tensors, and *extra_files* by name.

    *f* is a path or a binary file object. *opset_version* and *pickle_protocol* have no effect. Raises TypeError for
    what is no program, and for a graph with code of the program's own in it, which no file holds.

    >>> import io, polyad as torch
    >>> program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),))
    >>> file = io.BytesIO()
    >>> torch.export.save(program, file, extra_files={"labels.txt": "cat dog"})
    >>> _ = file.seek(0)
    >>> found = {"labels.txt": ""}
    >>> torch.export.load(file, extra_files=found).module()(torch.ones(4, 3)).shape, found
    (polyad.Size([4, 2]), {'labels.txt': 'cat dog'})
    """
    if not isinstance(ep, ExportedProgram):
        raise ArgumentTypeError(
            f"export.save: {safe_repr(ep)} is no exported program",
            fix="pass what export.export gives; polyad.save writes other objects",
        )
    extra = dict(extra_files or {})
    if not all(isinstance(name, str) and isinstance(text, (str, bytes)) for name, text in extra.items()):
        raise ArgumentTypeError(
            "export.save: extra_files has names and texts", fix="pass a dict from str to str or bytes"
        )
    graph, state = ep.graph, ep._state
    text = graph.text
    try:
        parse(text, graph.state)
    except InvalidGraph as error:
        raise ArgumentTypeError(
            f"export.save: no text holds the graph whole: {error.message.partition(': ')[2]}",
            fix="export a model that is made of polyad's ops, with lists, tuples and dicts around tensors",
        ) from error
    same: dict[str, str] = {}
    tensors: dict[str, Tensor] = {}
    for name, tensor in state.tensors.items():
        first = state.name_of(tensor)
        if first == name:
            tensors[name] = tensor
        else:
            same[name] = first
    content = {
        "polyad.export": VERSION,
        "graph": text,
        "constants": {one.value.name: state.name_of(one.tensor) for one in graph.constants},
        "generators": {name: one for name, one in graph.state.items() if isinstance(one, Generator)},
        "tensors": tensors,
        "same": same,
        "order": list(state.tensors),
        "temporary": sorted(state.temporary),
        "others": state.constants,
        "modules": [entry.fqn for entry in ep.module_call_graph],
        "calls": {one.fqn: _call_by_names(one.call, graph) for one in ep.module_call_graph if one.call is not None},
    }
    save_file({**content, "examples": ep.example_inputs, "extra_files": extra}, f, format="polyad")


def load(
    f: str | os.PathLike[str] | IO[bytes],
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: Mapping[str, int] | None = None,
) -> ExportedProgram:
    """Read a program from a file of `save`. Its tensors are mapped from a path on this machine, and not read before
    they are used.

    *extra_files* gets the texts of the names that it has. *expected_opset_version* has no effect. Raises RuntimeError
    (SerializationError) for a file that is damaged, hostile or no program, and what `polyad.load` raises. No file can
    run code.
    """
    path = os.fspath(f) if isinstance(f, (str, os.PathLike)) else None
    content = load_file(f, mmap=path is not None and not is_remote(path))
    where = path or "the file"
    if not isinstance(content, dict) or "polyad.export" not in content:
        raise SerializationError(
            f"{where} holds no exported program",
            fix="use a file of polyad.export.save; polyad.load reads other files",
        )
    if type(content["polyad.export"]) is not int or content["polyad.export"] > VERSION:
        raise SerializationError(
            f"{where} is of version {safe_repr(content['polyad.export'])}, and this polyad reads up to {VERSION}",
            fix="update polyad, or save it with this version",
        )
    try:
        _check_fields(content)
        program = _program_of_file(content)
    except _Wrong as error:
        raise SerializationError(f"{where} is damaged: {error}", fix="use another copy of the file") from None
    except InvalidGraph as error:
        raise SerializationError(f"{where} holds a graph that is none: {error.message}", fix=error.fix) from error
    saved = content.get("extra_files")
    for name in extra_files or ():
        if isinstance(saved, dict) and isinstance(saved.get(name), (str, bytes)):
            extra_files[name] = saved[name]  # type: ignore[index]
    return program


def _call_by_names(call: SubmoduleCall, graph: Graph) -> Any:
    """A call as data, with ``{"value": name}`` for a value."""
    names = names_of_values(graph)
    return replace(tuple(call), Ref, lambda ref: {"value": names[ref.number]})


def _call_of(data: Any, numbers: Mapping[str, int]) -> SubmoduleCall:
    """The call that `_call_by_names` wrote. Raises `_Wrong` for what is none."""

    def of(item: Any) -> Any:
        if isinstance(item, dict):
            if item.keys() == {"value"}:
                if not isinstance(item["value"], str) or item["value"] not in numbers:
                    raise _Wrong("a call of a submodule names no value of the graph")
                return Ref(numbers[item["value"]])
            return {key: of(part) for key, part in item.items()}
        return type(item)(map(of, item)) if type(item) in (list, tuple) else item

    if not (isinstance(data, tuple) and len(data) == 3 and isinstance(data[0], tuple) and isinstance(data[1], dict)):
        raise _Wrong("a call of a submodule is not described as one")
    return SubmoduleCall(*of(data))


class _Wrong(Exception):
    """What is wrong with the content of a file, in words."""


def _check_fields(content: Mapping[str, Any]) -> None:
    missing = _FIELDS - content.keys()
    if missing:
        raise _Wrong(f"{min(missing)} is missing")
    kinds = {"constants": str, "generators": Generator, "tensors": Tensor, "same": str, "others": Tensor}
    for name, kind in kinds.items():
        entries = content[name]
        if not isinstance(entries, dict) or not all(
            isinstance(key, str) and isinstance(entry, kind) for key, entry in entries.items()
        ):
            raise _Wrong(f"{name} is no dict of {kind.__name__} by name")
    for name in ("order", "temporary", "modules"):
        if not isinstance(content[name], list) or not all(isinstance(entry, str) for entry in content[name]):
            raise _Wrong(f"{name} is no list of names")
    if not isinstance(content["graph"], str):
        raise _Wrong("graph is no text")


def _program_of_file(content: Mapping[str, Any]) -> ExportedProgram:
    tensors: dict[str, Tensor] = dict(content["tensors"])
    for name, first in content["same"].items():
        if first not in content["tensors"] or name in tensors:
            raise _Wrong(f"{name} is the same as {first}, which is not there")
        tensors[name] = tensors[first]
    if sorted(content["order"]) != sorted(tensors):
        raise _Wrong("order does not have each tensor once")
    tensors = {name: tensors[name] for name in content["order"]}
    for name in tensors:
        parts = name.split(".")
        if not all(parts) or any(".".join(parts[:end]) in tensors for end in range(1, len(parts))):
            raise _Wrong(f"{name!r} cannot be the name of a tensor of a module")
    known = {**content["others"], **tensors}
    missing = set(content["constants"].values()) - known.keys()
    if missing or not set(content["temporary"]) <= tensors.keys():
        raise _Wrong(f"the tensor {min(missing or set(content['temporary']) - tensors.keys())} is missing")
    named = {name: known[first] for name, first in content["constants"].items()}
    graph = parse(content["graph"], {**named, **content["generators"]})
    _check_constants(graph)
    used = {id(constant.tensor) for constant in graph.constants}
    others = {name: tensor for name, tensor in content["others"].items() if id(tensor) in used}
    calls, numbers = content.get("calls"), {name: number for number, name in enumerate(names_of_values(graph))}
    known_calls = {} if not isinstance(calls, dict) else {path: _call_of(data, numbers) for path, data in calls.items()}
    entries = [entry_of(path, known_calls.get(path), graph) for path in content["modules"]]
    specs = CallSpec(flatten(structure_of(graph.arguments))[1], flatten(structure_of(graph.outputs))[1])
    state = State(tensors, set(content["temporary"]), others)
    examples = content.get("examples")
    example = None
    if isinstance(examples, tuple) and len(examples) == 2:
        args, kwargs = examples
        example = (args, kwargs) if isinstance(args, tuple) and isinstance(kwargs, dict) else None
    return ExportedProgram(graph, state, specs, entries, example)


def _check_constants(graph: Graph) -> None:
    """Raise for tensors that are not what the graph says of them."""
    for constant in graph.constants:
        value, tensor = constant.value, constant.tensor
        if constant.fixed and (tuple(tensor.shape), tensor.dtype) != (value.shape, value.dtype):
            raise _Wrong(f"the tensor {value.name} is {tensor.dtype.name} {tuple(tensor.shape)}, and not {value}")
