"""Exported programs as modules in modules, with the calls of each submodule in a module of its own.

A call of a submodule is a stretch of the graph's nodes. Values that it uses and does not make go in, those that are
used behind it come out. A submodule that was called several times has a module for each call: ``layer``, ``layer@1``,
and so on. A submodule whose signature was preserved is called as it was in the model, and another module may take its
place.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from ..base.trees import Tree, flatten, plain
from ..errors import ArgumentTypeError, NotSupported, safe_repr
from ..graph.graph import Graph, Node
from ..graph.replay import Run, bound
from ..graph.structure import Ref, leaves_of, replace
from ..graph.values import ModuleCall
from ..nn.modules.module import Module
from ..tensor import Tensor
from .calls import SubmoduleCall
from .exported_program import ExportedModule, ExportedProgram

__all__ = ["FlatArgsAdapter", "InterpreterModule", "UnflattenedModule", "unflatten"]


class FlatArgsAdapter(abc.ABC):
    """Takes arguments that are nested in another way than the example's: derive from it, and pass it to `unflatten`."""

    @abc.abstractmethod
    def adapt(
        self,
        target_spec: Tree,
        input_spec: Tree,
        input_args: list[Any],
        metadata: dict[str, Any] | None = None,
        obj: Any | None = None,
    ) -> list[Any]:
        """The leaves for *target_spec*, the structure of (args, kwargs) in the example, from those of another call."""


@dataclass
class Stretch:
    """The nodes of one call of a submodule, or of the whole.

    Attributes:
        name: of the module that makes it: the submodule's path, and which call of it.
        first, end: where in the graph's nodes it begins and ends.
        inner: the calls within.
        uses, makes: numbers of the values that go in and come out.
    """

    name: str
    first: int
    end: int
    inner: list[Stretch] = field(default_factory=list)
    uses: list[int] = field(default_factory=list)
    makes: list[int] = field(default_factory=list)


def unflatten(module: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> UnflattenedModule:
    """A program as a module with the submodules that the model had, parameters and buffers in their places.

    Raises TypeError for what is no program.

    >>> import polyad as torch
    >>> model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    >>> program = torch.export.export(model, (torch.ones(1, 3),), preserve_module_call_signature=("1",))
    >>> modules = torch.export.unflatten(program)
    >>> modules.set_submodule("1", torch.nn.Tanh())
    >>> modules(torch.zeros(1, 3)).shape, list(dict(modules.named_parameters()))
    (polyad.Size([1, 2]), ['0.weight', '0.bias', '2.weight', '2.bias'])
    """
    if not isinstance(module, ExportedProgram):
        raise ArgumentTypeError(
            f"unflatten: {safe_repr(module)} is no exported program", fix="pass what export.export gives"
        )
    return UnflattenedModule(module, flat_args_adapter)


class InterpreterModule(Module):
    """A call of a submodule: it carries out the nodes of its stretch, and those within by their modules.

    It is called by the `UnflattenedModule` that it is in: without arguments, since what goes in and out is known from
    the graph, or, if its signature was preserved, as the submodule was.
    """

    def __init__(self, stretch: Stretch, call: SubmoduleCall | None) -> None:
        super().__init__()
        self._stretch, self._preserved = stretch, call

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Carry out the nodes. Raises NotImplementedError outside of a call of the whole."""
        run = _CALLS.get()
        if run is None:
            raise NotSupported(
                f"{self._stretch.name}: a part of a program is called by the whole",
                fix="call the module that unflatten gave",
            )
        if self._preserved is not None:
            wanted = leaves_of((self._preserved.args, self._preserved.kwargs), Ref)
            for ref, tensor in zip(wanted, leaves_of((args, kwargs), Tensor), strict=True):
                run.found[ref.number] = tensor
        run.stretch(self._stretch)
        return None if self._preserved is None else run.given(self._preserved.result)


_CALLS: ContextVar[_Calls | None] = ContextVar("calls", default=None)


class UnflattenedModule(Module):
    """What `unflatten` gives."""

    def __init__(self, program: ExportedProgram, flat_args_adapter: FlatArgsAdapter | None = None) -> None:
        super().__init__()
        self._program, self._adapter = program, flat_args_adapter
        base = ExportedModule(program.graph, program._state)
        self._places = base._places
        signatures = {entry.fqn: entry.call for entry in program.module_call_graph}
        for name, parameter in base.named_parameters(remove_duplicate=False):
            _owner(self, name).register_parameter(name.rpartition(".")[2], parameter)
        for name, buffer in base.named_buffers(remove_duplicate=False):
            kept = name not in program._state.temporary
            _owner(self, name).register_buffer(name.rpartition(".")[2], buffer, persistent=kept)
        self._whole = _stretches(program.graph)
        for stretch in _within(self._whole):
            self._place(stretch, signatures.get(stretch.name))

    def _place(self, stretch: Stretch, call: SubmoduleCall | None) -> None:
        """Put a module for a stretch where the submodule was, with what is there already."""
        new = InterpreterModule(stretch, call)
        owner, _, name = stretch.name.rpartition(".")
        parent = self._made(owner)
        old = parent._modules.get(name)
        if old is not None:
            for key, parameter in old._parameters.items():
                new.register_parameter(key, parameter)
            for key, buffer in old._buffers.items():
                new.register_buffer(key, buffer, persistent=key not in old._non_persistent_buffers_set)
            for key, module in old._modules.items():
                new.add_module(key, module)
        parent._modules[name] = new

    def _made(self, path: str) -> Module:
        return _owner(self, f"{path}.") if path else self

    def _replaced(self, stretch: Stretch) -> list[str]:
        """The names of the submodules that others have taken the place of."""
        found = []
        for inner in stretch.inner:
            own = isinstance(self.get_submodule(inner.name), InterpreterModule)
            found += self._replaced(inner) if own else [inner.name]
        return found

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Carry out the program with the present submodules and tensors."""
        args, kwargs = plain((args, kwargs))
        if self._adapter is not None:
            flat, spec = flatten((args, kwargs))
            target = self._program.call_spec.in_spec
            if spec != target:
                args, kwargs = target.build(self._adapter.adapt(target, spec, flat))
        named = dict(self.named_parameters(remove_duplicate=False)) | dict(self.named_buffers(remove_duplicate=False))
        state = self._program._state
        others = tuple([f"{name}." for name in self._replaced(self._whole)])
        kept = {name: one for name, one in named.items() if not name.startswith(others)}
        tensors = {**state.constants, **state.tensors, **kept}
        graph = self._program.graph
        held = {one.value.number: tensors[name] for one, name in zip(graph.constants, self._places, strict=True)}
        run = _Calls(self, bound(graph, args, kwargs, held))
        calls = [entry.call for entry in self._program.module_call_graph if entry.call is not None]
        run.run.kept = frozenset(ref.number for ref in leaves_of(calls, Ref))
        token = _CALLS.set(run)
        try:
            run.stretch(self._whole)
        finally:
            _CALLS.reset(token)
        run.run.places.end()
        result, built = run.given(run.run.graph.outputs), self._program.built_spec
        return result if built is None else built.build(flatten(result)[0])


class _Calls:
    """One call of an unflattened program."""

    def __init__(self, module: UnflattenedModule, run: Run) -> None:
        self.module, self.run, self.found = module, run, run.found

    def given(self, structure: Any) -> Any:
        """*structure* with tensors for what stands for them."""
        return replace(structure, Ref, lambda ref: self.found[ref.number])

    def stretch(self, stretch: Stretch) -> None:
        """Carry out a stretch, the calls within by their modules."""
        nodes, at = self.run.graph.nodes, stretch.first
        for inner in stretch.inner:
            self.run.nodes(nodes[at : inner.first])
            self.call(inner)
            at = inner.end
        self.run.nodes(nodes[at : stretch.end])

    def call(self, stretch: Stretch) -> None:
        """Call the module of a stretch."""
        module = self.module.get_submodule(stretch.name)
        entry = next((one for one in self.module._program.module_call_graph if one.fqn == stretch.name), None)
        call = None if entry is None else entry.call
        if isinstance(module, InterpreterModule) and call is None:
            module()
            return
        if call is None:
            raise NotSupported(
                f"{stretch.name}: another module is in its place, and how to call it is not known",
                fix=f"export with preserve_module_call_signature=({stretch.name!r},)",
            )
        args, kwargs = self.given((call.args, call.kwargs))
        result = module(*args, **kwargs)
        wanted, got = leaves_of(call.result, Ref), leaves_of(result, Tensor)
        if len(wanted) != len(got) or not set(stretch.makes) <= {ref.number for ref in wanted} | self.found.keys():
            raise NotSupported(
                f"{stretch.name}: the module in its place returns {len(got)} tensors, and the submodule {len(wanted)}",
                fix="return what the submodule returned",
            )
        self.found.update({ref.number: tensor for ref, tensor in zip(wanted, got, strict=True)})


def _owner(root: Module, name: str) -> Module:
    """The module that has the member *name*, made if it is not there."""
    owner = root
    for part in name.split(".")[:-1]:
        if part not in owner._modules:
            owner._modules[part] = Module()
        found = owner._modules[part]
        assert found is not None
        owner = found
    return owner


def _within(stretch: Stretch) -> list[Stretch]:
    """The stretches within, the outer ones first."""
    return [one for inner in stretch.inner for one in (inner, *_within(inner))]


def _stretches(graph: Graph) -> Stretch:
    """The calls of submodules of a graph."""
    counts: dict[str, int] = {}
    whole = _divided(graph.nodes, Stretch("", 0, len(graph.nodes)), 0, counts)
    for stretch in _within(whole):
        inside = graph.nodes[stretch.first : stretch.end]
        made = {number for node in inside for number in node.makes}
        used = {number for node in inside for number in node.uses}
        after = {number for node in graph.nodes[stretch.end :] for number in node.uses}
        after |= {ref.number for ref in leaves_of(graph.outputs, Ref)}
        constants = {constant.value.number for constant in graph.constants}
        stretch.uses = sorted(used - made - constants)
        stretch.makes = sorted(made & after)
    return whole


def _divided(nodes: Sequence[Node], stretch: Stretch, depth: int, counts: dict[str, int]) -> Stretch:
    """*stretch* with the calls within, which its nodes name at *depth*. A node that a tracer has added in between
    belongs to the call in which it stands.
    """
    places: dict[int, tuple[ModuleCall, list[int]]] = {}
    for at in range(stretch.first, stretch.end):
        if len(nodes[at].modules) > depth:
            call = nodes[at].modules[depth]
            places.setdefault(call.number, (call, []))[1].append(at)
    for call, found in places.values():
        count = counts[call.path] = counts.get(call.path, -1) + 1
        name = f"{call.path}@{count}" if count else call.path
        inner = Stretch(name, found[0], found[-1] + 1)
        stretch.inner.append(_divided(nodes, inner, depth + 1, counts))
    return stretch
