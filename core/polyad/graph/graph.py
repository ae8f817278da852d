"""The graph: what comes in, the calls in their order, what comes out.

A graph is a straight line of calls. It holds no data but the constants, which are the tensors themselves that the
function used and did not make: parameters, buffers, tables. A graph is not changed; a pass makes another.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..dispatch.effects import Effect, Record, Result, declare
from ..dispatch.op import OPS, Op
from ..random.generator import Generator, default_generator
from ..tensor import Tensor
from .structure import Ref, leaves_of
from .values import Constant, Draw, ModuleCall, Number, Scalar, Storage, Symbol, Value

if TYPE_CHECKING:
    from ..dispatch.modes import Setting
    from .whole import Compiled


def _grad_of(tensor: Tensor) -> Tensor | None:
    return tensor.grad


GRAD_OF = declare(Effect("grad_of", _grad_of, record=Record.GRADIENT, result=Result.GRADIENT))
"""What a program that reads ``.grad`` does: no mode is told, so a tracer adds it where the gradient turns up."""


@dataclass(frozen=True, slots=True)
class Node:
    """One call of an op or effect.

    Attributes:
        op: what is called.
        args: operands, then params, with a `Ref` in each tensor's place.
        outputs: the result, likewise; a `Scalar` for what is read on the host.
        renewed: values of other tensors over memory that this call writes to, as they are afterwards: those that are
            used later.
        grad: False for a call inside of ``no_grad``, True inside of ``enable_grad``; None: as whoever replays has it.
        line: the user's line that computed it.
        modules: the calls of submodules that it is part of, the outermost first.
        frees: numbers of the values that are not used after this node.
        draws: the random numbers that it gets, if its place in the generator's sequence is known.
    """

    op: Op | Effect
    args: tuple[Any, ...]
    outputs: Any
    renewed: tuple[int, ...] = ()
    grad: bool | None = None
    line: str = ""
    modules: tuple[ModuleCall, ...] = ()
    frees: tuple[int, ...] = ()
    draws: Draw | None = None

    @property
    def name(self) -> str:
        """The op's name."""
        return self.op.name

    @property
    def operands(self) -> tuple[Any, ...]:
        """The arguments that may be tensors: of an op its operands, of an effect all."""
        return self.args if isinstance(self.op, Effect) else self.args[: len(self.op.operands)]

    @property
    def params(self) -> Mapping[str, Any]:
        """The other arguments of an op by name."""
        return {} if isinstance(self.op, Effect) else dict(zip(self.op.params, self.args[len(self.op.operands) :]))

    @property
    def bodies(self) -> tuple[Graph, ...]:
        """The graphs among the arguments: the functions of control flow (`polyad.cond` and others)."""
        return tuple(leaves_of(self.args, Graph)) if isinstance(self.op, Effect) and self.op.bodies else ()

    @property
    def results(self) -> tuple[int, ...]:
        """The numbers of the values that come back."""
        return tuple(numbers(self.outputs))

    @property
    def makes(self) -> tuple[int, ...]:
        """The numbers of the values that there are from here on."""
        return (*self.results, *self.renewed)

    @property
    def uses(self) -> tuple[int, ...]:
        """The numbers of the values that it is given, each once."""
        return tuple(dict.fromkeys(numbers(self.args)))


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """A captured call. Call it with new inputs to replay it; print it to read it.

    Attributes:
        name: of the function.
        storages: all memory, by number.
        values: every value, by number.
        constants: tensors used by reference.
        nodes: the calls in order.
        arguments: (args, kwargs) of the example call with a `Ref` in each tensor's place.
        outputs: the result, likewise.
        numbers: what each replay reads of the program's numbers.
        ends: where the generators stand after the call, so that all draws can be reserved at once.
        settings: what else the function read of settings and decided by, with what it was; a replay compares it.
        symbols: the sizes that each replay reads off tensors; there are none in the graph of one example.
    """

    name: str
    storages: list[Storage]
    values: list[Value]
    constants: list[Constant]
    nodes: list[Node]
    arguments: tuple[tuple[Any, ...], dict[str, Any]]
    outputs: Any
    numbers: list[Number] = field(default_factory=list)
    settings: list[tuple[Setting, Any]] = field(default_factory=list, repr=False)
    ends: list[tuple[Generator, Draw]] = field(default_factory=list)
    symbols: list[Symbol] = field(default_factory=list)
    _asked: list[Compiled | None] = field(default_factory=list, repr=False)
    _fixed: dict[tuple[int, ...], Graph] = field(default_factory=dict, repr=False)

    @property
    def compiled(self) -> bool:
        """Whether the device has compiled the graph as a whole; it is asked at the first replay."""
        return self._asked not in ([], [None])

    @property
    def inputs(self) -> list[Value]:
        """The values that replay is given, in order."""
        return [self.values[number] for number in dict.fromkeys(numbers(self.arguments))]

    @property
    def results(self) -> list[Value]:
        """The values that are returned, each once."""
        return [self.values[number] for number in dict.fromkeys(numbers(self.outputs))]

    @property
    def scalars(self) -> list[Scalar]:
        """What is read on the host, in order."""
        return [node.outputs for node in self.nodes if isinstance(node.outputs, Scalar)]

    @property
    def after(self) -> dict[int, int]:
        """How often memory from outside (an input's or a constant's) is written: numbers of storages to counts."""
        last = {value.storage.number: value.version for value in sorted(self.values, key=lambda value: value.version)}
        outside = [storage.number for storage in self.storages if storage.role in ("input", "state")]
        return {number: last[number] for number in outside if last.get(number)}

    @property
    def depends_on_strides(self) -> bool:
        """Whether there is a view or a write: whether a program takes a view or copies follows from strides."""
        views = any(isinstance(node.op, Op) and node.op.kind == "view" for node in nodes_within(self))
        return views or any(value.version for value in self.values)

    @property
    def adds_gradients(self) -> bool:
        """Whether a backward pass is part of it: which tensors get gradients follows from which require them."""
        return any(isinstance(node.op, Effect) and node.op.result is Result.GRADIENT and node.op.reads for node in self)

    @property
    def state(self) -> dict[str, Tensor | Generator]:
        """The tensors and generators that the graph holds on to, by name: what its text leaves out."""
        drawn = leaves_of([[node.args for node in nodes_within(self)], [one for one, _ in self.ends]], Generator)
        own = [one for one in dict.fromkeys(drawn) if one is not default_generator]
        tensors = {constant.value.name: constant.tensor for constant in self.constants}
        return {**tensors, **{f"generator {number}": one for number, one in enumerate(own)}}

    def __len__(self) -> int:
        return len(self.nodes)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.nodes)

    def __str__(self) -> str:
        from .text import written

        return written(self, exact=False)

    @property
    def text(self) -> str:
        """As ``str(graph)``, with data in full: what `polyad.graph.parse` reads."""
        from .text import written

        return written(self, exact=True)

    def __repr__(self) -> str:
        sizes = f"{len(self.inputs)} inputs, {len(self.constants)} constants, {len(self.nodes)} nodes"
        return f"<graph of {self.name}: {sizes}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Replay with other inputs; returns what the function would, in the same nesting.

        A graph that the device has compiled as a whole runs so where no gradient is recorded and no mode is active.

        The graph's `numbers` may be given by name; those that are not are read from where the program has them.

        Raises, before anything runs, RuntimeError for a tensor of another shape, dtype or device than the example's,
        TypeError for a missing, superfluous or wrongly nested argument, ValueError for another value of an argument
        that is no tensor.
        """
        from .replay import replay

        return replay(self, args, kwargs)


def nodes_within(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph, each followed by those of its bodies."""
    for node in graph.nodes:
        yield node
        for body in node.bodies:
            yield from nodes_within(body)


def drawn_within(bodies: Iterable[Graph]) -> list[Generator]:
    """The generators from which the functions of control flow draw, each once."""
    return list(dict.fromkeys(leaves_of([node.args for body in bodies for node in nodes_within(body)], Generator)))


def numbers(structure: Any) -> list[int]:
    """The numbers of the values that a structure names."""
    return [ref.number for ref in leaves_of(structure, Ref)]


def with_frees(nodes: Sequence[Node], values: Sequence[Value], outputs: Any) -> list[Node]:
    """*nodes*, each with what it frees: values that neither a later node nor *outputs* names."""
    kept = set(numbers(outputs))
    found = []
    for node in reversed(nodes):
        earlier = [before for number in node.renewed if (before := values[number].earlier) is not None]
        used = {*node.uses, *node.makes, *earlier}
        frees = tuple(sorted(used - kept))
        found.append(dataclasses.replace(node, frees=frees))
        kept |= used
    return found[::-1]


def computes(graph: Graph) -> bool:
    """Whether all that a replay does is to compute new tensors: it calls declared ops, draws no random numbers, and
    what it returns is memory of its own.
    """
    if any(not isinstance(node.op, Op) or OPS.get(node.op.name) is not node.op for node in graph.nodes):
        return False
    if bool(graph.numbers) or leaves_of([node.args for node in graph.nodes], Generator):
        return False
    viewed = {number for node in graph.nodes if node.op.kind == "view" for number in node.results}
    results = graph.results
    return bool(results) and all(value.storage.role == "output" and value.number not in viewed for value in results)
