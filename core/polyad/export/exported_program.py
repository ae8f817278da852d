"""What `polyad.export.export` gives: a graph, the tensors that it is about, and what a call has to look like."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace as exchanged
from typing import Any, NamedTuple, NoReturn

from ..base.trees import Tree, flatten, plain
from ..errors import NotSupported, ShapeError
from ..graph.expressions import Expression, SizeRef
from ..graph.graph import Graph
from ..graph.sizes import symbols_of_inputs
from ..graph.structure import NumberRef, Ref, leaves, replace
from ..nn.modules.module import Module
from ..nn.parameter import Parameter
from ..tensor import Tensor
from .calls import SubmoduleCall
from .dynamic_shapes import parameter_names
from .graph_signature import (
    ConstantArgument,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)

__all__ = ["CallSpec", "ExportedModule", "ExportedProgram", "ModuleCallEntry", "ModuleCallSignature", "ValueRanges"]


class ValueRanges(NamedTuple):
    """What a symbol may be; the upper end is infinity if there is none."""

    lower: int
    upper: float

    def __repr__(self) -> str:
        return f"VR[{self.lower}, {'int_oo' if self.upper == math.inf else int(self.upper)}]"


class CallSpec(NamedTuple):
    """How the arguments, (args, kwargs), and the result of a call are nested."""

    in_spec: Tree
    out_spec: Tree


@dataclass
class ModuleCallSignature:
    """How a submodule was called: its arguments and results by the names of values, and how they are nested."""

    inputs: list[Any]
    outputs: list[Any]
    in_spec: Tree
    out_spec: Tree
    forward_arg_names: list[str] | None = None


@dataclass
class ModuleCallEntry:
    """A module of the exported model by its path; the signature if it was to be preserved.

    Attributes:
        call: the call of which the signature tells.
    """

    fqn: str
    signature: ModuleCallSignature | None = None
    call: SubmoduleCall | None = field(default=None, repr=False)


def entry_of(path: str, call: SubmoduleCall | None, graph: Graph) -> ModuleCallEntry:
    """The entry of a submodule, with the call that is to be preserved."""
    if call is None:
        return ModuleCallEntry(path)
    names = names_of_values(graph)
    inputs, in_spec = flatten(_stand_ins((call.args, call.kwargs)))
    outputs, out_spec = flatten(_stand_ins(call.result))
    given, returned = [
        [_argument(_ref_of_stand_in(leaf), names, "") for leaf in leaves] for leaves in (inputs, outputs)
    ]
    return ModuleCallEntry(path, ModuleCallSignature(given, returned, in_spec, out_spec), call)


class _StandIn:
    """A leaf for what is a tuple to others."""

    def __init__(self, ref: Ref) -> None:
        self.ref = ref


def _stand_ins(structure: Any) -> Any:
    return replace(structure, Ref, _StandIn)


def _ref_of_stand_in(leaf: Any) -> Any:
    return leaf.ref if isinstance(leaf, _StandIn) else leaf


def structure_of(structure: Any) -> Any:
    """*structure* of a graph with numbers in place of what stands for tensors and numbers."""
    return replace(structure, (Ref, NumberRef, Expression), lambda leaf: 0)


@dataclass
class State:
    """The tensors of a module, by its names.

    Attributes:
        tensors: parameters and buffers; a tensor that the module has under two names has both.
        temporary: names of the buffers that ``state_dict`` has not.
        constants: other tensors that the graph uses.
    """

    tensors: dict[str, Tensor]
    temporary: set[str] = field(default_factory=set)
    constants: dict[str, Tensor] = field(default_factory=dict)

    def name_of(self, tensor: Tensor) -> str:
        """The first name of a tensor."""
        return next(name for name, one in (*self.tensors.items(), *self.constants.items()) if one is tensor)


class ExportedProgram:
    """A model as a graph, which holds for all sizes that were asked for. `polyad.export.export` makes one.

    Attributes:
        graph: the calls, as a `polyad.graph.Graph`.
        graph_signature: what goes in and comes out.
        call_spec: how arguments and results are nested.
        module_call_graph: the modules that the model had.
        example_inputs: (args, kwargs) of the example; None for a program that was read from a file without.

    >>> import polyad as torch
    >>> batch = torch.export.Dim("batch", max=64)
    >>> program = torch.export.export(torch.nn.Linear(3, 2), (torch.ones(4, 3),), dynamic_shapes=({0: batch},))
    >>> program.module()(torch.ones(7, 3)).shape
    polyad.Size([7, 2])
    >>> program.range_constraints
    {batch: VR[0, 64]}
    """

    def __init__(
        self,
        graph: Graph,
        state: State,
        call_spec: CallSpec,
        module_call_graph: list[ModuleCallEntry],
        example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None,
    ) -> None:
        self.graph, self._state, self.call_spec = graph, state, call_spec
        self.module_call_graph, self.example_inputs = module_call_graph, example_inputs
        self.graph_signature = _signature(graph, state)

    # --------------------------------------------------------------------------------------------------------- tensors

    @property
    def state_dict(self) -> dict[str, Tensor]:
        """Parameters and persistent buffers by name: the tensors themselves."""
        return {name: one for name, one in self._state.tensors.items() if name not in self._state.temporary}

    @property
    def constants(self) -> dict[str, Tensor]:
        """The other tensors that the program uses by name: those that no name of the module's has, and buffers that
        are not persistent.
        """
        temporary = {name: self._state.tensors[name] for name in self._state.tensors if name in self._state.temporary}
        return {**self._state.constants, **temporary}

    tensor_constants = constants

    def named_parameters(self) -> Iterator[tuple[str, Parameter]]:
        """Parameters with their names."""
        yield from [(name, one) for name, one in self._state.tensors.items() if isinstance(one, Parameter)]

    def parameters(self) -> Iterator[Parameter]:
        """The parameters."""
        yield from (one for _, one in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Buffers with their names."""
        yield from [(name, one) for name, one in self._state.tensors.items() if not isinstance(one, Parameter)]

    def buffers(self) -> Iterator[Tensor]:
        """The buffers."""
        yield from (one for _, one in self.named_buffers())

    @property
    def range_constraints(self) -> dict[SizeRef, ValueRanges]:
        """What the symbols may be."""
        return {
            SizeRef(one.name): ValueRanges(one.least, math.inf if one.most is None else one.most)
            for one in symbols_of_inputs(self.graph)
        }

    @property
    def dynamic_shapes(self) -> dict[str, dict[int, Any]]:
        """By the names of tensors, which dimensions may have any size: names, and expressions of these."""
        free = {value.name: enumerate(value.sizes) for value in self.graph.inputs if value.general is not None}
        return {
            name: {dim: item for dim, item in sizes if isinstance(item, Expression)} for name, sizes in free.items()
        }

    @property
    def dialect(self) -> str:
        """The word TRAINING: writes are calls, as in the program."""
        return "TRAINING"

    @property
    def graph_module(self) -> NoReturn:
        """Raises NotImplementedError: ``graph`` is a `polyad.graph.Graph`."""
        raise NotSupported(
            "ExportedProgram: it has no module of polyad.fx", fix="read graph, or call what module() gives"
        )

    # ----------------------------------------------------------------------------------------------------------- calls

    def module(self, check_guards: bool = True) -> ExportedModule:
        """The program as a module with the same parameters and buffers, by their names: it trains as the model does.

        A call is checked: RuntimeError for a tensor of another dtype or of sizes that the program does not hold for,
        named by symbol, tensor and dimension. *check_guards* has no effect.
        """
        return ExportedModule(self.graph, self._state, self.built_spec)

    @property
    def built_spec(self) -> Tree | None:
        """The structure of results, if objects of registered classes are to be built; None if there are none."""
        wanted = self.call_spec.out_spec
        return None if flatten(structure_of(self.graph.outputs))[1] == wanted else wanted

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises RuntimeError: what is called is `module`."""
        raise ShapeError("ExportedProgram: it cannot be called", fix="call what module() gives")

    def run_decompositions(
        self, decomp_table: Mapping[Any, Callable[..., Any]] | None = None, decompose_custom_triton_ops: bool = False
    ) -> ExportedProgram:
        """The program with the calls of composites replaced by what their bodies call.

        *decomp_table* says of which, by PyTorch's overloads, and may have other bodies; None means
        `default_decompositions`, which leaves the ops that are primitives. *decompose_custom_triton_ops* has no effect.
        """
        from .decompositions import decomposed

        return decomposed(self, decomp_table)

    def validate(self) -> None:
        """Raise RuntimeError if the graph does not hold together."""
        from ..graph.verify import verify

        verify(self.graph)

    def __str__(self) -> str:
        text = str(self.graph).replace("\n", "\n    ")
        signature = str(self.graph_signature).replace("\n", "\n    ")
        return (
            f"ExportedProgram:\n    {text}\nGraph signature:\n    {signature}\n"
            f"Range constraints: {self.range_constraints}"
        )


def _signature(graph: Graph, state: State) -> ExportGraphSignature:
    labels = names_of_values(graph)
    names = {id(constant.tensor): labels[constant.value.number] for constant in graph.constants}
    inputs = []
    for name, tensor in state.tensors.items():
        parameter = isinstance(tensor, Parameter)
        kind = InputKind.PARAMETER if parameter else InputKind.BUFFER
        persistent = None if parameter else name not in state.temporary
        inputs.append(InputSpec(kind, TensorArgument(names.get(id(tensor), name)), name, persistent))
    for name, tensor in state.constants.items():
        inputs.append(InputSpec(InputKind.CONSTANT_TENSOR, TensorArgument(names[id(tensor)]), name))
    given = [leaf for path, leaf in leaves(graph.arguments) if path not in ("[0]", "[1]")]
    inputs += [InputSpec(InputKind.USER_INPUT, _argument(leaf, labels, "")) for leaf in given]
    return ExportGraphSignature(inputs, [*_mutations(graph, state, labels), *_outputs(graph, labels)])


def names_of_values(graph: Graph) -> list[str]:
    """What each value is called: its tensor's name, and which of the tensor's values it is, if not the first."""
    counts: list[int] = []
    for value in graph.values:
        counts.append(0 if value.earlier is None else counts[value.earlier] + 1)
    return [f"{value.name}@{count}" if count else value.name for value, count in zip(graph.values, counts, strict=True)]


def _outputs(graph: Graph, labels: list[str]) -> list[OutputSpec]:
    found = [leaf for _, leaf in leaves(graph.outputs)]
    return [
        OutputSpec(OutputKind.USER_OUTPUT, _argument(leaf, labels, f"output_{at}")) for at, leaf in enumerate(found)
    ]


def _argument(leaf: Any, labels: list[str], name: str) -> Any:
    if isinstance(leaf, Ref):
        return TensorArgument(labels[leaf.number])
    return SymIntArgument(str(leaf)) if isinstance(leaf, Expression) else ConstantArgument(name, leaf)


def _mutations(graph: Graph, state: State, labels: list[str]) -> list[OutputSpec]:
    last: dict[int, int] = {}  # by a tensor's first value its last
    for value in graph.values:
        first = value.number
        while (earlier := graph.values[first].earlier) is not None:
            first = earlier
        last[first] = value.number
    found = []
    for constant in graph.constants:
        if constant.value.storage.number in graph.after:
            name = state.name_of(constant.tensor)
            parameter = isinstance(constant.tensor, Parameter)
            kind = OutputKind.PARAMETER_MUTATION if parameter else OutputKind.BUFFER_MUTATION
            found.append(OutputSpec(kind, TensorArgument(labels[last[constant.value.number]]), name))
    for value in graph.inputs:
        if value.storage.number in graph.after:
            found.append(
                OutputSpec(OutputKind.USER_INPUT_MUTATION, TensorArgument(labels[last[value.number]]), value.name)
            )
    return found


class ExportedModule(Module):
    """A module that replays a graph, with parameters and buffers where the exported model had them."""

    def __init__(self, graph: Graph, state: State, out_spec: Tree | None = None) -> None:
        super().__init__()
        self._graph, self._exported, self._out_spec = graph, state, out_spec
        self.parameter_names = parameter_names(graph)
        for name, tensor in state.tensors.items():
            *path, last = name.split(".")
            owner: Module = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, Module())
                owner = owner._modules[part]
            if isinstance(tensor, Parameter):
                owner.register_parameter(last, tensor)
            else:
                owner.register_buffer(last, tensor, persistent=name not in state.temporary)
        self._places = [state.name_of(constant.tensor) for constant in graph.constants]

    @property
    def graph(self) -> Graph:
        """The graph, which uses the module's present parameters and buffers."""
        found = dict(self.named_parameters(remove_duplicate=False)) | dict(self.named_buffers(remove_duplicate=False))
        tensors = {**self._exported.constants, **found}
        pairs = [(one, tensors[name]) for one, name in zip(self._graph.constants, self._places, strict=True)]
        if any(constant.tensor is not tensor for constant, tensor in pairs):
            constants = [exchanged(constant, tensor=tensor) for constant, tensor in pairs]
            self._graph = exchanged(self._graph, constants=constants, _asked=[], _fixed={})
        return self._graph

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Replay the graph."""
        args, kwargs = plain((args, kwargs))
        result = self.graph(*args, **kwargs)
        return result if self._out_spec is None else self._out_spec.build(flatten(result)[0])

    def train(self, mode: bool = True) -> NoReturn:
        """Raises NotImplementedError: what depends on the mode, as dropout, is in the graph as it was exported."""
        raise NotSupported(
            f"{'train' if mode else 'eval'}: an exported program is of one mode",
            fix=f"call {'train' if mode else 'eval'}() of the model, and export it again",
        )

    def eval(self) -> NoReturn:
        """Raises NotImplementedError, as `train` does."""
        self.train(False)

    def __deepcopy__(self, memo: dict[int, Any]) -> ExportedModule:
        import copy

        graph = self.graph
        found = dict(self.named_parameters(remove_duplicate=False)) | dict(self.named_buffers(remove_duplicate=False))
        tensors = copy.deepcopy(found, memo)
        constants = {name: one.detach().clone() for name, one in self._exported.constants.items()}
        new = {**tensors, **constants}
        bound = [exchanged(one, tensor=new[name]) for one, name in zip(graph.constants, self._places, strict=True)]
        other = exchanged(graph, constants=bound, _asked=[], _fixed={})
        return ExportedModule(other, State(tensors, set(self._exported.temporary), constants), self._out_spec)
