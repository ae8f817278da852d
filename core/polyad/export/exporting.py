"""From a model to an exported program."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from ..base.trees import plain
from ..errors import ArgumentError, ArgumentTypeError, BakedSize, NoData, NotSupported, describe
from ..graph.expressions import Expression, SizeRef
from ..graph.graph import Graph, nodes_within
from ..graph.sizes import captures_of
from ..graph.structure import leaves_of
from ..graph.values import Scalar
from ..graph.verify import without_data
from ..jit.capture import BakedValueWarning
from ..jit.general import generalise
from ..jit.restoring import Restored
from ..nn.modules.module import Module
from ..tensor import Tensor
from .calls import Rebuilding, SubmoduleCall, recording
from .dynamic_shapes import Shapes, resolved
from .exported_program import CallSpec, ExportedProgram, State, entry_of

__all__ = ["draft_export", "export"]


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """*mod* as a graph that holds for all sizes that *dynamic_shapes* names, from a call with example arguments.

    Args:
        args, kwargs: the example: tensors in nested lists, tuples and dicts. What is no tensor has to be the same in
            each call of the program.
        dynamic_shapes: for each argument, by name or in order, a dict from dimensions to `Dim`, or a tuple with an
            entry for each dimension; nested as the argument. What it does not name is fixed.
        preserve_module_call_signature: paths of submodules that can be replaced in what `unflatten` gives.
        strict, prefer_deferred_runtime_asserts_over_guards: no effect: the model is called, with the example and with
            what is made of it, and its Python may be any.

    The model is as before afterwards: its buffers, and the random numbers that it draws.

    Raises ValueError if *mod* is no module or *dynamic_shapes* does not fit the arguments, RuntimeError, with the line
    of the program, for what is not so for all sizes, and for what the program decides by data.

    >>> import polyad as torch
    >>> class Rows(torch.nn.Module):
    ...     def forward(self, x):
    ...         return x.view(x.shape[0], -1).mean(1)
    >>> batch = torch.export.Dim("batch")
    >>> program = torch.export.export(Rows(), (torch.ones(4, 2, 3),), dynamic_shapes={"x": {0: batch}})
    >>> print(str(program).partition("  # sum")[0].splitlines()[1])
        graph 3 of "Rows" (%x)
    >>> program.module()(torch.ones(9, 2, 3)).shape
    polyad.Size([9])
    """
    if not isinstance(mod, Module):
        raise ArgumentError(
            f"export: mod is {describe(mod)}, no module",
            fix="pass a polyad.nn.Module; polyad.jit.capture and polyad.jit.generalise take functions",
        )
    if not isinstance(args, tuple):
        raise ArgumentTypeError(f"export: args is {describe(args)}, no tuple", fix="pass (x,) for one argument x")
    named = dict(kwargs or {})
    shapes = resolved(mod, args, named, dynamic_shapes)
    function, given = Rebuilding(mod, args, named), plain((args, named))
    with Restored(mod), recording(mod, preserve_module_call_signature) as calls:
        graph = _graph_of(function, given[0], given[1], shapes)
    return _program(function, args, named, graph, calls())


def draft_export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    preserve_module_call_signature: tuple[str, ...] = (),
    strict: bool = False,
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """As `export`, and where the model does not hold for all sizes that were asked for, for those for which it does: a
    warning says which dimensions are fixed, and what the first of them kept `export` from.
    """
    named = dict(kwargs or {})
    given = {"preserve_module_call_signature": preserve_module_call_signature}
    try:
        return export(mod, args, named, dynamic_shapes=dynamic_shapes, **given)  # type: ignore[arg-type]
    except BakedSize as error:
        shapes = resolved(mod, args, named, dynamic_shapes)
        shapes.dims = {name: dict.fromkeys(sizes, ...) for name, sizes in shapes.dims.items()}
        shapes.must, shapes.ranges = [], {}
        function, given = Rebuilding(mod, args, named), plain((args, named))
        with Restored(mod), recording(mod, preserve_module_call_signature) as calls:
            graph = _graph_of(function, given[0], given[1], shapes)
        fixed = [
            f"dim {dim} of {value.name}"
            for value in graph.inputs
            for dim in shapes.dims.get(value.name, ())
            if not isinstance(value.sizes[dim], Expression)
        ]
        warnings.warn(f"draft_export: fixed are {', '.join(fixed)}: {error}", UserWarning, stacklevel=2)
    return _program(function, args, named, graph, calls())


def _program(
    function: Rebuilding,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    graph: Graph,
    calls: Mapping[str, SubmoduleCall],
) -> ExportedProgram:
    _check_reads(graph)
    mod = function.__self__
    entries = [entry_of(path, calls.get(path), graph) for path, _ in mod.named_modules()]
    specs = CallSpec(function.given, function.structure)
    return ExportedProgram(graph, _state_of(mod, graph), specs, entries, (args, kwargs))


def _graph_of(mod: Rebuilding, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Shapes) -> Graph:
    if not leaves_of((args, kwargs), Tensor):
        raise ArgumentTypeError("export: no example is a tensor", fix="pass example tensors")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BakedValueWarning)  # reads are refused, see _check_reads
        graph = generalise(mod, args, kwargs, dims=shapes.dims, ranges=shapes.ranges)
    inputs = {value.name: value for value in graph.inputs}
    for name, dim in shapes.must:
        if not isinstance(inputs[name].sizes[dim], Expression):
            # This says what keeps it from being free.
            symbol = SizeRef("size")
            generalise(mod, args, kwargs, dims={name: {dim: symbol}})
            raise BakedSize(
                f"export: dim {dim} of {name} is DYNAMIC, and is not free together with others",
                fix="use Dim.AUTO, or a Dim by name for sizes that are the same",
            )
    return graph


def _check_reads(graph: Graph) -> None:
    """Raise if the program decided by data, or may have: the other side is not in the graph."""
    read = {symbol.value for symbol in graph.symbols if symbol.dim < 0}
    for node in nodes_within(graph):
        if isinstance(node.outputs, Scalar) and not (node.name == "item" and node.uses[0] in read):
            raise NotSupported(
                f"export: {node.outputs.source}() reads data, by which the program may decide",
                notes={"line": node.line} if node.line else {},
                fix="compute with tensors, or decide with polyad.cond",
            )
    if any(symbol.data for symbol in graph.symbols):
        return
    example = captures_of(graph)[0]
    for node in example:
        try:
            without_data(example, node)
        except NoData as error:
            raise NotSupported(
                f"export: the sizes of {node.name} follow from data, and the model cannot be called without data",
                notes={"line": node.line} if node.line else {},
                fix="make the same calls whatever the data: no loop over what is selected, no decision by its size",
            ) from error


def _state_of(mod: Module, graph: Graph) -> State:
    """The module's tensors, and the others that the graph uses, by the names of attributes where there are some."""
    parameters = dict(mod.named_parameters(remove_duplicate=False))
    buffers = dict(mod.named_buffers(remove_duplicate=False))
    persistent = mod.state_dict(keep_vars=True).keys()
    tensors: dict[str, Tensor] = {**parameters, **buffers}
    known = {id(tensor) for tensor in tensors.values()}
    attributes = {
        id(value): f"{path}.{name}" if path else name
        for path, module in mod.named_modules()
        for name, value in vars(module).items()
        if isinstance(value, Tensor)
    }
    constants = {}
    for constant in graph.constants:
        if id(constant.tensor) not in known:
            constants[attributes.get(id(constant.tensor), constant.value.name)] = constant.tensor
    return State(tensors, buffers.keys() - persistent, constants)
