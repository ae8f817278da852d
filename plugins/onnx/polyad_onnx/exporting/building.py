"""A graph as onnx-ir's model: inputs, weights, nodes that are needed, outputs, and functions for layers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import polyad as torch
from polyad.errors import ArgumentError
from polyad.graph import Graph
from polyad.graph.structure import Ref, leaves

from .element_types import onnx_ir
from .functions import Functions
from .registry import Table
from .translating import Translator


def model_of(
    graph: Graph,
    table: Table,
    input_names: Sequence[str] = (),
    output_names: Sequence[str] = (),
    opsets: Mapping[str, int] | None = None,
    functions: bool | Collection[type] = False,
    folding: bool = False,
) -> Any:
    """The model. *opsets* are versions of others' domains; layers of the classes *functions* become functions; with
    *folding* weights are rewritten where that saves nodes.
    """
    ir, to = onnx_ir(), Translator(graph, table, folding=folding)
    if len(set(input_names)) < len(input_names) or len(set(output_names)) < len(output_names):
        raise ArgumentError(
            "onnx.export: input_names or output_names has a name twice",
            operands={"input_names": list(input_names), "output_names": list(output_names)},
            fix="give each input and output a name of its own",
        )
    to._taken.update(input_names, output_names)
    inputs = [
        to.add_input(value, input_names[place] if place < len(input_names) else None)
        for place, value in enumerate(graph.inputs)
    ]
    more = list(input_names[len(inputs) :])  # those of weights, in order
    for place, constant in enumerate(graph.constants):
        given = more[place] if place < len(more) else None
        to.bind(constant.value.number, to.add_initializer(constant.value.name, constant.tensor, given))
    to.run()
    outputs = _outputs(to, graph, output_names)
    used = _needed_for(to.nodes, outputs)
    nodes = [node for node in to.nodes if not used.isdisjoint(node.outputs)]
    initializers = [value for value in to.initializers.values() if value in used]
    domains = {"": table.opset, **{name: (opsets or {}).get(name, 1) for name in sorted(to.domains)}}
    made: list[Any] = []
    if functions:
        layers = Functions(to, domains, functions, outputs)
        nodes, made = layers.collapsed(nodes), list(layers.made.values())
        domains |= dict.fromkeys(sorted({one.domain for one in made}), 1)
    held = ir.Graph(inputs, outputs, nodes=nodes, initializers=initializers, opset_imports=domains, name=graph.name)
    return ir.Model(
        held, ir_version=_ir_version(table.opset), producer_name="polyad", producer_version=torch.__version__,
        functions=made,
    )  # fmt: skip


def _outputs(to: Translator, graph: Graph, names: Sequence[str]) -> list[Any]:
    refs = [leaf for _, leaf in leaves(graph.outputs) if isinstance(leaf, Ref)]
    found: list[Any] = []
    for place, ref in enumerate(refs):
        value = to.value(ref)
        if value.producer() is None or value in found:
            seen, value = graph.values[ref.number], to.op("Identity", value)
            to.describe(value, seen.dtype, seen.sizes)
        default = "output" if len(refs) == 1 else f"output_{place}"
        value.name = names[place] if place < len(names) else to.free_name(default)
        found.append(value)
    return found


def _needed_for(nodes: Sequence[Any], outputs: Sequence[Any]) -> set[Any]:
    """The values on which outputs depend."""
    used = set(outputs)
    for node in reversed(nodes):
        if not used.isdisjoint(node.outputs):
            used.update(inputs_of(node))
    return used


def inputs_of(node: Any) -> Iterator[Any]:
    """The values that a node uses, those that graphs within it use among them."""
    yield from (value for value in node.inputs if value is not None)
    for attribute in node.attributes.values():
        if attribute.type.name == "GRAPH":
            for inner in attribute.value:
                yield from inputs_of(inner)
            yield from attribute.value.outputs


def _ir_version(opset: int) -> int:
    """The oldest version of the format that knows an opset, so that old readers take the file."""
    import onnx

    known = [row[1] for row in onnx.helper.VERSION_TABLE if row[2] >= opset]
    return max(known[0] if known else onnx.IR_VERSION, 8)
