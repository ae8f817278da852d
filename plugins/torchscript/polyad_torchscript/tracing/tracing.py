"""`trace`: a call of a function or a module as a program.

The call is captured as a graph, for all sizes of inputs for which it does the same (`polyad.jit.generalise`); the graph
is written as TorchScript (program.py), and that is checked and compiled as any program. So what `trace` gives is what a
file of it gives when it is loaded.

Known limits, PyTorch's too: Python's decisions are as in the example, those that depend on data with a warning; modes
that modules have, such as ``training``, are as they were.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from polyad.base.state import warn_user
from polyad.errors import (
    ArgumentError,
    ArgumentTypeError,
    PolyadError,
    safe_repr,
)
from polyad.graph import Graph
from polyad.graph.passes.dead import remove_dead
from polyad.graph.structure import Ref, leaves_of, replace
from polyad.history.grad_mode import no_grad
from polyad.jit.capture import BakedValueWarning, capture
from polyad.jit.general import generalise
from polyad.nn import Module
from polyad.random.generator import Generator, fork_rng
from polyad.tensor import Tensor
from polyad.testing import assert_close

from ..archives.building import build, checked_unit
from ..modules.functions import ScriptFunction
from ..modules.recursive import RecursiveScriptModule
from .fixed import Fixed, fixed_dims
from .program import function_program, program_of

__all__ = ["Checks", "TopLevelTracedModule", "TracingCheckError", "trace_function", "trace_methods"]


class TracingCheckError(PolyadError, RuntimeError):
    """What was traced does something else when it is called again."""


class TopLevelTracedModule(RecursiveScriptModule):
    """A module that `polyad.jit.trace` gives: it shares parameters and buffers with the module that was traced."""


def trace_function(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any], strict: bool, checks: Checks
) -> ScriptFunction:
    """The program of a call of *function*."""
    graph = _captured(function, args, kwargs, strict)
    name = _name_of(function)
    made = _function(name, graph, ())
    fixed = fixed_dims(function, made, (args, kwargs), graph, partial(_undone, None))
    if fixed:
        _warn_of(fixed, graph)
        made = _function(name, graph, fixed)
    checks.run(function, made, args, kwargs, graph)
    return made


def _function(name: str, graph: Graph, fixed: Sequence[Fixed]) -> ScriptFunction:
    unit = checked_unit(function_program(name, graph, fixed))
    made = unit.function(f"__torch__.{name}")
    assert made is not None
    made.__dict__["_unit"] = unit
    return made


def trace_methods(
    module: Module, inputs: Mapping[str, tuple[tuple[Any, ...], Mapping[str, Any]]], strict: bool, checks: Checks
) -> TopLevelTracedModule:
    """The module of calls of methods of *module*, each with its arguments."""
    graphs = {name: _captured(_method(module, name), args, kwargs, strict) for name, (args, kwargs) in inputs.items()}
    made = _module(module, graphs, {})
    fixed = {
        name: fixed_dims(_method(module, name), _method(made, name), given, graphs[name], partial(_undone, module))
        for name, given in inputs.items()
    }
    if any(fixed.values()):
        for name, found in fixed.items():
            _warn_of(found, graphs[name])
        made = _module(module, graphs, fixed)
    for name, (args, kwargs) in inputs.items():
        checks.run(_method(module, name), _method(made, name), args, kwargs, graphs[name], module)
    return made


def _module(module: Module, graphs: Mapping[str, Graph], fixed: Mapping[str, Sequence[Fixed]]) -> TopLevelTracedModule:
    program = program_of(module, graphs, fixed)
    made = build(checked_unit(program), program.root, program.name, TopLevelTracedModule)
    assert isinstance(made, TopLevelTracedModule)
    return made


def _warn_of(fixed: Sequence[Fixed], graph: Graph) -> None:
    if fixed:
        named = ", ".join(f"dim {one.dim} of {graph.values[one.number].name} ({one.size})" for one in fixed)
        warn_user(
            f"trace: the program raises for other sizes of {named}: it would not do what the function does",
            BakedValueWarning,
        )


def _method(module: Module, name: str) -> Any:
    return module if name == "forward" else getattr(module, name)


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    return "_lambda" if name == "<lambda>" else name if name.isidentifier() else "traced"


def _captured(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], strict: bool) -> Graph:
    for value in (*args, *kwargs.values()):
        _check_input(value)
    if not leaves_of((args, dict(kwargs)), Tensor):
        raise ArgumentTypeError("trace: no example input is a tensor", fix="pass example tensors")
    # A tensor that is given twice is two arguments.
    graph = _general(function, _own_copies(args), _own_copies(dict(kwargs)))
    _check_result(graph.outputs, strict)
    return remove_dead(graph)


def _general(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Graph:
    """The graph for as many sizes of inputs as it holds for."""
    try:
        return generalise(function, args, kwargs, dims="auto")
    except PolyadError:  # the function does something else for other sizes
        return capture(function, *args, **kwargs)


def _check_result(structure: Any, strict: bool, inside: bool = False) -> None:
    """Raise RuntimeError for a result that no program has; a list or a dict needs ``strict=False``."""
    if isinstance(structure, Ref):
        return
    if not inside and (structure is None or structure == ()):
        raise TracedValueError(
            "trace: the traced function didn't return any values! Side-effects are not captured in traces, so it "
            "would be a no-op",
            fix="return a tensor",
        )
    if isinstance(structure, list) and strict:
        warn_user(_CONTAINER.format("list") + _INSTEAD, BakedValueWarning)
    elif isinstance(structure, dict) and strict:
        raise TracedValueError(_CONTAINER.format("dict"), fix=_INSTEAD)
    elif not isinstance(structure, (list, tuple, dict)) or structure == ():
        raise TracedValueError(
            "trace: only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced "
            "functions",
            notes={"found": safe_repr(structure)},
            fix="return tensors; a number as a tensor: torch.tensor(x)",
        )
    for item in structure.values() if isinstance(structure, dict) else structure:
        _check_result(item, strict, inside=True)


_CONTAINER = (
    "trace: encountering a {} at the output of the tracer might cause the trace to be incorrect: this is only valid if "
    "the container structure does not change based on the module's inputs"
)
_INSTEAD = "return a tuple or a NamedTuple, or pass strict=False"


def _check_input(value: Any) -> None:
    """Raise RuntimeError unless *value* is a tensor, or nested lists, dicts and tuples of tensors."""
    if isinstance(value, Tensor):
        return
    if isinstance(value, (list, tuple)) and value:
        for item in value:
            _check_input(item)
        return
    if isinstance(value, dict) and value and all(isinstance(key, str) for key in value):
        for item in value.values():
            _check_input(item)
        return
    raise TracedValueError(
        f"trace: type {type(value).__name__} cannot be traced: {safe_repr(value)}. Only Tensors and (possibly nested) "
        "Lists, Dicts, and Tuples of Tensors can be traced",
        fix="pass a tensor, or set it in a function that has none such: trace(lambda x: model(x, 2), (x,))",
    )


class TracedValueError(ArgumentError, RuntimeError):
    """An input or a result that no traced program has."""


class Checks:
    """What is compared once a trace is made: its results with those of the function, called again.

    Args:
        inputs: further inputs to compare with.
        tolerance: relative and absolute, of floating-point results.
    """

    def __init__(self, wanted: bool, inputs: Sequence[Any] | None, tolerance: float) -> None:
        self.wanted, self.inputs, self.tolerance = wanted, list(inputs or ()), tolerance

    def run(
        self,
        function: Any,
        traced: Any,
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        graph: Graph,
        module: Module | None = None,
    ) -> None:
        """Warn (`TracerWarning`) where they differ; what the calls change of *module* and of generators is undone."""
        if not self.wanted:
            return
        if any(leaves_of(node.args, Generator) for node in graph):
            warn_user(
                "trace: the traced function draws random numbers: did you forget to call .eval() on your model? Its "
                "results are not compared. To leave checks out, pass check_trace=False",
                BakedValueWarning,
            )
            return
        for given in [args, *[one if isinstance(one, tuple) else (one,) for one in self.inputs]]:
            self._compare(function, traced, given, kwargs if given is args else {}, module)

    def _compare(
        self, function: Any, traced: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any], module: Module | None
    ) -> None:
        with _undone(module), warnings.catch_warnings():
            warnings.simplefilter("ignore", BakedValueWarning)
            wanted = leaves_of(function(*_own_copies(args), **_own_copies(dict(kwargs))), Tensor)
        with _undone(module):
            try:
                found = leaves_of(traced(*_own_copies(args), **_own_copies(dict(kwargs))), Tensor)
            except (PolyadError, RuntimeError) as error:
                raise TracingCheckError(
                    f"trace: the traced program cannot be called as the function can: {error}",
                    fix="trace with such inputs, or pass check_trace=False",
                ) from error
        for place, (one, other) in enumerate(zip(wanted, found, strict=False), 1):
            try:
                assert_close(other.detach(), one.detach(), rtol=self.tolerance, atol=self.tolerance, equal_nan=True)
            except AssertionError as error:
                warn_user(
                    f"trace: output nr {place} of the traced function does not match the corresponding output of the "
                    f"Python function. Detailed error: {error}",
                    BakedValueWarning,
                )


def _own_copies(structure: Any) -> Any:
    return replace(structure, Tensor, lambda tensor: tensor.detach().clone().requires_grad_(tensor.requires_grad))


@contextmanager
def _undone(module: Module | None) -> Iterator[None]:
    """A block after which buffers, and the default generator, are what they were."""
    before = [] if module is None else [(buffer, buffer.detach().clone()) for buffer in module.buffers()]
    with fork_rng(devices=[]):
        try:
            yield
        finally:
            with no_grad():
                for buffer, copy in before:
                    buffer.copy_(copy)
