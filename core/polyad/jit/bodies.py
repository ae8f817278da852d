"""The functions of control flow as graphs: what a capture does when it meets `polyad.cond` and its like.

Each function is traced once, on copies of what it will be given, and what it does is forgotten but for its graph: so
nothing that the user holds changes, and generators stay where they are. Tensors that it uses and was not given become
operands of the call. Then the call is made with graphs in the functions' places. Inside of a trace there is nothing to
decide by, so a branch within a branch is traced on both sides, and a loop within one makes a single trip.

Invariant: a body has no constants, and writes to no memory but what it made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..base.dtypes import bool_
from ..base.memory_formats import contiguous_format
from ..base.state import user_line
from ..dispatch.effects import Effect, Record, Result, exchanged
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..errors import NotSupported
from ..graph.graph import Graph
from ..graph.replay import as_function
from ..graph.structure import Ref, leaves_of, replace
from ..history.grad_mode import no_grad
from ..ops.control_flow import write_refused
from ..ops.creation.factories import empty
from ..random.generator import Generator, drawing_from
from ..tensor import Tensor
from .capture import Capture


def hold_bodies(outer: Capture, effect: Effect, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments of a call of *effect* as a node has them, and as it is called: with graphs, and what runs these."""
    bodies = effect.bodies
    assert bodies is not None
    given = [
        (tensor, tensor.select(0, 0) if position == bodies.slices else tensor)
        for position in bodies.operands
        for tensor in leaves_of(args[position], Tensor)
    ]
    traces = {position: BodyCapture(outer, effect, args[position]) for position in bodies.functions}
    for trace in traces.values():
        trace.run(given)
    if bodies.decides is not None:
        # What no run of this call may come to: whether branches agree, and the first trip of a loop.
        results = {position: lambda *_, found=trace.found: found for position, trace in traces.items()}
        with no_grad():
            effect.body(*_undecided(effect, tuple([results.get(k, arg) for k, arg in enumerate(args)])))  # type: ignore[misc]
    used = {id(tensor): (tensor, name) for trace in traces.values() for tensor, name in trace.used}
    recorded, called = list(args), list(args)
    for position, trace in traces.items():
        recorded[position] = graph = trace.body(used.values())
        called[position] = as_function(graph)
    recorded[-1] = called[-1] = (*args[-1], *[tensor for tensor, _ in used.values()])
    return tuple(recorded), tuple(called)


def _undecided(effect: Effect, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arguments of a call in which nothing is known that decides."""
    if effect.bodies is None or effect.bodies.decides is None:
        return args
    position = effect.bodies.decides
    unknown = empty((), dtype=bool_, device="meta")
    return exchanged(args, position, unknown if isinstance(args[position], Tensor) else lambda *given: [unknown])


class Undecided(Mode):
    """A mode in which no control flow is decided by data, however deep: each call ends, whatever it is given."""

    takes_whole = True

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Make the call, of control flow as without data."""
        if not isinstance(op, Effect) or op.bodies is None:
            return op.call(*args)
        with self:
            return op.body(*_undecided(op, args))  # type: ignore[misc]


class BodyCapture(Capture):
    """The capture of a function in a call of *effect*, which the capture *outer* records."""

    def __init__(self, outer: Capture, effect: Effect, function: Callable[..., Any]) -> None:
        super().__init__(outer.names, outer.opens, outer.twins)
        self.outer, self.effect, self.function = outer, effect, function
        self.title: str = getattr(function, "__name__", "") or type(function).__name__
        self.watcher: Capture = outer.watcher if isinstance(outer, BodyCapture) else outer
        self.inputs: list[Ref] = []
        self.outputs: list[Ref] = []
        self._drawn: dict[int, Generator] = {}

    @property
    def used(self) -> list[tuple[Tensor, str]]:
        """The tensors that the function used and was not given, with their names."""
        return [(tensor, self._draft.seen[number].name) for number, tensor, _ in self._draft.constants]

    def run(self, given: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Trace the function, for tensors of the outer capture with what it is given of each."""
        copies = []
        for tensor, part in given:
            with no_grad():
                copy = part.clone(memory_format=contiguous_format)
            copies.append(copy.requires_grad_(tensor.requires_grad) if tensor.requires_grad else copy)
            self.inputs.append(self.add_input(copies[-1], self._name_outside(tensor)))
        with self, drawing_from(Generator()):
            self.found: list[Tensor] = self.function(*copies)
        self.outputs = [self._ref(tensor) for tensor in self.found]

    def body(self, used: Iterable[tuple[Tensor, str]]) -> Graph:
        """The graph, which is given *used* after the rest."""
        first = {id(tensor): Ref(number) for number, tensor, _ in self._draft.constants}
        for tensor, name in used:
            self.inputs.append(first.get(id(tensor)) or self.add_input(tensor, name))
        self._draft.constants.clear()
        self._alive.clear()
        return self._draft.finish(self.title, (tuple(self.inputs), {}), self.outputs)

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        if isinstance(op, Effect) and op.record is Record.FOLLOWED and op.result is Result.NOTHING:
            raise NotSupported(
                f"{self.effect.name}: {self.title} calls {op.name}(), which adds to .grad",
                notes={"line": user_line()},
                fix="use autograd.grad() there, or call backward() on the result",
            )
        self._modules = self.watcher._modules
        result = super().dispatch(op, args)
        for number in self._outside():
            if self._draft.memories[self._draft.seen[number].memory].version:
                raise self._refused(op.name, args)
        return result

    def line(self) -> str:
        return self.watcher.line()

    def carry_out(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Make the call if it leaves what is outside alone, without deciding by data and without drawing numbers that
        the program would draw.
        """
        if isinstance(op, Effect):
            self._check_outside(op, args)
            if op.bodies is not None:
                with Undecided():
                    return op.call(*args)
        return op.call(*replace(args, Generator, self._drawn_instead))

    def _drawn_instead(self, generator: Generator) -> Generator:
        return self._drawn.setdefault(id(generator), Generator())

    def _name_outside(self, tensor: Tensor) -> str:
        """A name for a tensor of the outer capture: the same, but for those that it numbers."""
        number = self.outer._numbers.get(id(tensor))
        name = self.name_of(tensor) if number is None else self.outer._draft.seen[number].name
        return f"v{name}" if name.isdigit() else name

    def _find(self, tensor: Tensor) -> int:
        name = self._name_outside(tensor)
        if name:
            self.names[id(tensor)] = name
        return super()._find(tensor)

    def _outside(self) -> set[int]:
        """The values that the function did not make."""
        return {ref.number for ref in self.inputs} | {number for number, _, _ in self._draft.constants}

    def _check_outside(self, effect: Effect, args: tuple[Any, ...]) -> None:
        """Raise for a call that changes a tensor from outside."""
        outside = self._outside()
        if effect.writes is not None:
            memories = {self._draft.seen[number].memory for number in outside}
            found = any(self._memory_of(tensor) in memories for tensor in leaves_of(args[effect.writes], Tensor))
        else:
            itself = effect.of if effect.record in (Record.CHANGED, Record.GRADIENT) else effect.rebinds
            targets = [] if itself is None else leaves_of(args[itself], Tensor)
            found = any(self._numbers[id(tensor)] in outside for tensor in targets)
        if found:
            raise self._refused(effect.called(args), args)

    def _refused(self, writer: str, args: tuple[Any, ...]) -> Exception:
        target = leaves_of(args, Tensor)[0]
        error = write_refused(self.effect.name, self.title, "a tensor that it did not make", target)
        error.lines["by"] = f"{writer} ({user_line()})"
        return error
