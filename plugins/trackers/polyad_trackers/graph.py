"""What a model consists of, as text and as the nodes of a picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polyad

__all__ = ["listed", "nodes_of"]


def captured(model: Any, inputs: Any) -> Any:
    """The ops of a call of *model*; its mode and the generators are as they were."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    modes = {part: part.training for part in model.modules()}
    random = polyad.get_rng_state()
    model.eval()  # so that normalizations count no batch
    try:
        with polyad.no_grad():
            return polyad.jit.capture(model, *given)
    finally:
        polyad.set_rng_state(random)
        for part, mode in modes.items():
            part.training = mode


def listed(model: Any, inputs: Any = None) -> str:
    """The listing of a call with *inputs*, else of the modules."""
    return repr(model) if inputs is None else str(captured(model, inputs))


def nodes_of(model: Any, inputs: Any = None) -> Iterator[tuple[str, str, list[str], str]]:
    """Name, type, the names of what it takes, and a remark, of each op, parameter and input; without *inputs* of each
    module, which take nothing: which module follows which is not known. A name has its modules' names in front.
    """
    if inputs is None:
        for name, part in model.named_modules():
            if not list(part.children()):
                path = "/".join(filter(None, (type(model).__name__, name.replace(".", "/"))))
                yield path, type(part).__name__, [], part.extra_repr()
        return
    graph = captured(model, inputs)
    names: dict[int, str] = {}
    for value in graph.inputs:
        names[value.number] = f"input/{value.name}"
        yield names[value.number], "Placeholder", [], str(value)
    for constant in graph.constants:
        value = constant.value
        names[value.number] = "/".join((type(model).__name__, *value.name.split(".")))
        yield names[value.number], "Parameter", [], str(value)
    for number, node in enumerate(graph):
        modules = node.modules[-1].path.split(".") if node.modules else []
        name = "/".join((type(model).__name__, *modules, f"{node.name}_{number}"))
        outputs = list(_numbers(node.outputs))
        yield name, node.name, [names[n] for n in _numbers(node.args)], str(graph.values[outputs[0]]) if outputs else ""
        names.update(dict.fromkeys(outputs, name))


def _numbers(structure: Any) -> Iterator[int]:
    """The numbers of the values in a nesting, in order."""
    if isinstance(structure, dict):
        structure = structure.values()
    elif hasattr(structure, "number"):
        yield structure.number
        return
    elif not isinstance(structure, list | tuple):
        return
    for item in structure:
        yield from _numbers(item)
