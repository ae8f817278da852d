"""What a model consists of, as the nodes of TensorBoard's picture."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...base import provided
from ...base.extras import needed
from ...history.grad_mode import no_grad
from ...random import get_rng_state, set_rng_state

__all__ = ["captured", "graph_event", "nodes_of"]


def captured(model: Any, inputs: Any) -> Any:
    """The ops of a call of *model*; its mode and the generators are as they were."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    modes = {part: part.training for part in model.modules()}
    random = get_rng_state()
    model.eval()  # so that normalizations count no batch
    try:
        with no_grad():
            return provided.capture(model, *given)
    finally:
        set_rng_state(random)
        for part, mode in modes.items():
            part.training = mode


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
        remark = str(graph.values[node.results[0]]) if node.results else ""
        yield name, node.name, [names[number] for number in node.uses], remark
        names.update(dict.fromkeys(node.makes, name))


def graph_event(model: Any, inputs: Any = None) -> Any:
    """The event of tensorboardX's that shows `nodes_of` a model."""
    graphs, kinds, versions, events, values = (
        needed(f"tensorboardX.proto.{name}_pb2", "tensorboard", "graph_event: graphs are written by tensorboardX")
        for name in ("graph", "node_def", "versions", "event", "attr_value")
    )
    graph = graphs.GraphDef(versions=versions.VersionDef(producer=22))
    for name, kind, taken, remark in nodes_of(model, inputs):
        attributes = {"value": values.AttrValue(s=remark.encode())} if remark else {}
        graph.node.append(kinds.NodeDef(name=name, op=kind, input=taken, attr=attributes))
    return events.Event(graph_def=graph.SerializeToString())
