"""`export`: a program called once, its graph as ONNX's, and whether that gives the same numbers."""

from __future__ import annotations

import inspect
import threading
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polyad as torch
from polyad.errors import ArgumentTypeError
from polyad.graph import Graph, apply
from polyad.graph.passes import drop_views, fold_constants, merge_common, remove_dead
from polyad.graph.structure import Ref, leaves, replace
from polyad.jit.capture import names_of_inputs
from polyad.jit.expanding import Expanding

from . import registry
from .dynamic import Dynamic, Named, at_other_sizes, of_axes, of_shapes
from .element_types import onnx_ir
from .program import ONNXProgram
from .translating import Translator
from .verifying import check, compare

__all__ = ["export", "is_in_onnx_export"]

_here = threading.local()


def is_in_onnx_export() -> bool:
    """Whether this thread is in a call of `export`: models may ask it in ``forward``.

    >>> import polyad
    >>> polyad.onnx.is_in_onnx_export()
    False
    """
    return getattr(_here, "exporting", False)


def export(
    model: Callable[..., Any],
    args: tuple[Any, ...] | Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    verify: bool = True,
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    do_constant_folding: bool = True,
) -> ONNXProgram | None:
    """Call *model* once and write what it computes as an ONNX model.

    >>> import polyad as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> program = torch.onnx.export(model, (torch.randn(3, 4),), input_names=["x"], output_names=["y"])
    >>> [node.name for node in program.model.graph]
    ['0/Gemm', '1/Relu', '2/Gemm']
    """
    opset = opset_of(opset_version)
    given = distinct(args if isinstance(args, tuple) else (args,), kwargs or {})
    _here.exporting = True
    try:
        source = Program(model, given, opset)
        dynamic = _dynamic(source, dynamic_axes, dynamic_shapes, list(input_names or ()), list(output_names or ()))
        graph = source.graph(dynamic, do_constant_folding)
        program = ONNXProgram(translated(graph, opset, input_names, output_names), graph)
        if verify:
            check(program)
            compare(program, *given, source.results(given), "the example")
            others = at_other_sizes(given, graph, source.names)
            if others is not None:
                compare(program, *others, source.results(others), "other sizes than the example's")
    finally:
        _here.exporting = False
    if f is not None:
        program.save(
            f,
            include_initializers=export_params,
            keep_initializers_as_inputs=keep_initializers_as_inputs,
            external_data=False,
        )
    return program if dynamo else None


def opset_of(wanted: int | None) -> int:
    """The opset to write. Raises ValueError for one that is too old, or that onnx does not know."""
    import onnx

    newest = onnx.defs.onnx_opset_version()
    opset = registry.RECOMMENDED if wanted is None else wanted
    if not registry.OLDEST <= opset <= newest:
        raise ArgumentTypeError(
            f"onnx.export: opset_version is {opset}; {registry.OLDEST} to {newest} can be written",
            fix="pass one of these, or install a newer onnx",
        )
    return opset


def _dynamic(source: Program, axes: Any, shapes: Any, input_names: list[str], output_names: list[str]) -> Dynamic:
    named = source.named(input_names)
    if shapes is not None:
        return of_shapes(shapes, named, [one.name for one in source.parameters])
    return of_axes(axes, named, output_names) if axes else Dynamic({}, {})


def distinct(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The example's arguments, each tensor an object and memory of its own: each is an input."""
    result: tuple[tuple[Any, ...], dict[str, Any]] = replace(
        (args, kwargs), torch.Tensor, lambda tensor: tensor.detach().clone()
    )
    return result


class Program:
    """A model with example arguments, ready to be captured: under a mode that takes composites apart.

    Attributes:
        given: the example, each tensor an object of its own.
        names: the names of the tensors among it, by id.
    """

    def __init__(self, model: Callable[..., Any], given: Any, opset: int) -> None:
        from . import ops  # noqa: F401  declares the translations

        self.model, self.given, self.opset = model, given, opset
        self.parameters = list(inspect.signature(getattr(model, "forward", model)).parameters.values())
        self.function = types.MethodType(self._runner(), model)
        self.names: dict[int, str] = names_of_inputs(self.function, given)

    def _runner(self) -> Callable[..., Any]:
        """A function that looks to a capture like the model's ``forward``."""
        model, opset = self.model, self.opset

        def run(self: Any, *args: Any, **kwargs: Any) -> Any:
            with Expanding(lambda op, args: registry.found(op.name, opset, args) is not None):
                return model(*args, **kwargs)

        run.__qualname__ = getattr(model, "__qualname__", None) or type(model).__qualname__
        own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        run.__signature__ = inspect.Signature([own, *self.parameters])  # type: ignore[attr-defined]
        return run

    def named(self, input_names: Sequence[str]) -> dict[str, Named]:
        """The inputs in order, by the names that they have in the model."""
        found = [
            Named(self.names[id(leaf)], path, leaf)
            for path, leaf in leaves(self.given)
            if isinstance(leaf, torch.Tensor)
        ]
        return {input_names[place] if place < len(input_names) else one.name: one for place, one in enumerate(found)}

    def graph(self, dynamic: Dynamic, folding: bool) -> Graph:
        """The graph, for all sizes of *dynamic*."""
        args, kwargs = self.given
        with torch.no_grad():
            if dynamic.dims:
                graph = torch.jit.generalise(self.function, args, kwargs, dims=dynamic.dims, ranges=dynamic.ranges)
            else:
                graph = torch.jit.capture(self.function, *args, **kwargs)
            passes = [drop_views, merge_common, remove_dead]
            return apply(graph, [fold_constants, *passes] if folding else passes)

    def results(self, given: Any) -> list[Any]:
        """The tensors that the model gives."""
        with torch.no_grad():
            result = self.model(*given[0], **given[1])
        return [leaf for _, leaf in leaves(result) if isinstance(leaf, torch.Tensor)]


def translated(graph: Graph, opset: int, input_names: Sequence[str] | None, output_names: Sequence[str] | None) -> Any:
    """The graph as onnx-ir's model."""
    ir, to = onnx_ir(), Translator(graph, opset)
    names = list(input_names or ())
    inputs = [
        to.add_input(value, names[place] if place < len(names) else value.name)
        for place, value in enumerate(graph.inputs)
    ]
    for constant in graph.constants:
        to.known[constant.value.number] = to._now[constant.value.number] = to.add_initializer(
            constant.value.name, constant.tensor
        )
    to.run()
    outputs = _outputs(to, graph, list(output_names or ()))
    used = _needed_for(to.nodes, outputs)
    initializers = [value for value in to.initializers.values() if value in used]
    nodes = [node for node in to.nodes if any(value in used for value in node.outputs)]
    held = ir.Graph(inputs, outputs, nodes=nodes, initializers=initializers, opset_imports={"": opset}, name=graph.name)
    return ir.Model(held, ir_version=_ir_version(opset), producer_name="polyad", producer_version=torch.__version__)


def _outputs(to: Translator, graph: Graph, names: list[str]) -> list[Any]:
    refs = [(path, leaf) for path, leaf in leaves(graph.outputs) if isinstance(leaf, Ref)]
    found: list[Any] = []
    for place, (_, ref) in enumerate(refs):
        value = to.known[ref.number]
        name = names[place] if place < len(names) else "output" if len(refs) == 1 else f"output_{place}"
        if value.producer() is None or value in found:
            seen, value = graph.values[ref.number], to.op("Identity", value)
            to.describe(value, seen.dtype, seen.sizes)
        value.name = to.free_name(name)
        found.append(value)
    return found


def _needed_for(nodes: Sequence[Any], outputs: Sequence[Any]) -> set[Any]:
    """The values on which outputs depend."""
    used = set(outputs)
    for node in reversed(nodes):
        if not used.isdisjoint(node.outputs):
            used.update(value for value in node.inputs if value is not None)
    return used


def _ir_version(opset: int) -> int:
    """The oldest version of the format that knows an opset, so that old readers take the file."""
    import onnx

    for row in onnx.helper.VERSION_TABLE:
        if row[2] >= opset:
            return max(row[1], 8)
    return onnx.IR_VERSION
