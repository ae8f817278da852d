"""Backward passes that begin outside of a compiled function, as in ``loss_of(model(x), y).backward()``.

A recorded run leaves a node in front of what it returns. The first pass that comes there is recorded, too, with the
gradients that it brings. From then on a tape of the function leaves one `History` node for all that it has computed:
which keeps what that pass reads, and carries it out as a tape. A pass of another kind (second derivatives, gradients of
other results, or that lie in memory in another way) calls the function's ops anew, with history, and goes through that.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from ..autograd.engine import freed, stale
from ..autograd.function import FunctionNode
from ..autograd.gradients import BACKWARD, GRAD, grad
from ..base.state import NO_MODES, UNDER_INFERENCE, state
from ..graph.structure import leaves_of
from ..history.node import Calls, GradientEdge, Leaf, Node as History, Output, make_node, pass_on
from ..jit.backward import _reached
from ..optim.update import UPDATE
from ..random.generator import Generator
from ..tensor import Tensor
from ..tensor.storage import next_event
from ..tensor.tensor import SET_GRAD
from .recording import Recorder
from .records import Call, Kind, Outside, Passing, Recording, Slot, Source, Way, mapped

if TYPE_CHECKING:
    from .matching import Run

MOST_COPIED = 1 << 20
"""So many bytes of buffers that a run writes to are copied, in case that its ops are called anew."""


def way_of(gradients: Sequence[Any]) -> Way:
    """How *gradients* arrive; None stands for one that does not."""
    places = tuple([place for place, one in enumerate(gradients) if one is not None])
    return Way(places, tuple([(one.__class__, one._type, one._array.strides) for one in gradients if one is not None]))


def watch(recorder: Recorder, result: Any) -> None:
    """Have the first pass that comes to *result*, what a run returned, recorded."""
    recording = recorder.recording
    outside = (BACKWARD, GRAD, SET_GRAD, UPDATE)
    if any(call.kind is Kind.BARRIER or call.op in outside for call in recording.calls):
        return
    roots = [
        one for one in dict.fromkeys(leaves_of(result, Tensor)) if recorder.has_made(one) and one._node is not None
    ]
    if not roots or any(root._view is not None for root in roots):
        return
    watcher = _Watcher(recorder, roots)
    recording.watched, recording.passable = watcher.begin(roots), True


class _Watcher:
    """Records a pass through a run's history, once.

    A root that a node of the run's has saved is not watched: what it returned would hold itself. But all that arrives
    at roots has arrived when the pass comes to the first.
    """

    def __init__(self, recorder: Recorder, roots: list[Tensor]) -> None:
        self._recorder: Recorder | None = recorder
        self._roots = tuple([recorder.number_of(root) for root in roots])
        self._nodes: list[weakref.ref[History]] = [weakref.ref(root._node) for root in roots]  # type: ignore[arg-type]

    def begin(self, roots: list[Tensor]) -> Callable[[], Any]:
        """Watch *roots*; gives a weak reference to a node that waits."""
        reached = _reached([root._node for root in roots])
        saved = {id(one) for node in reached for one in leaves_of([call[2] for call in node.calls or ()], Tensor)}
        found: Callable[[], Any] = _nothing
        for place, root in enumerate(roots):
            old = root._node
            if id(root) not in saved and old is not None and self._recorder is not None:
                self._recorder.let_go(root)
                call = (old, partial(self._pass_on, place), ())
                root._node = node = make_node(old.name(), [call], root._array.shape, root._type)
                self._nodes[place] = found = weakref.ref(node)
        return found

    def _pass_on(self, place: int, gradient: Tensor) -> Tensor:
        """What a pass does here: it goes on."""
        recorder, self._recorder = self._recorder, None
        if recorder is not None:
            recording = recorder.recording
            if is_plain() and state.backward is not None:
                waiting = [None if node() is None else state.backward.arrived_at(node()) for node in self._nodes]
                waiting[place] = gradient
                recording.passing = self._recorded(recorder, waiting)
            recording.passable = recording.passing is not None
            recording.tapes.clear()
        return gradient

    def _recorded(self, recorder: Recorder, gradients: list[Any]) -> Passing | None:
        roots = [recorder.history_of(number) for number in self._roots]
        begins = [(node, one) for node, one in zip(roots, gradients, strict=True) if one is not None]
        reached_by = [_reached([node]) for node in roots]
        reached = set[History]().union(*reached_by)
        ends = sorted([node for node in reached if node.__class__ is Leaf], key=lambda node: node.seq)
        tensors: list[Any] = [node.tensor() for node in ends if isinstance(node, Leaf)]
        known = all(one is not None and recorder.is_outside(one) for one in tensors)
        watched = any(isinstance(node, FunctionNode) or is_watched(node) for node in reached)
        seeds = [one for _, one in begins]
        if not tensors or not known or watched or not recorder.are_new(seeds):
            return None
        edges = [GradientEdge(node, 0, node) for node, _ in begins]
        try:
            found, nodes = recorder.record_pass(edges, tensors, seeds)
        except Exception:
            return None  # the pass itself says what is wrong
        if found is None:
            return None
        return Passing(
            self._roots,
            way_of(gradients),
            tuple([recorder.ref(one).number for one in seeds]),
            tuple([recorder.number_of(one) for one in tensors]),
            tuple([None if one is None else recorder.ref(one).number for one in found]),
            nodes,
            _overlaps(reached_by),
        )


def written_by(run: Run, recording: Recording) -> set[int]:
    """Numbers of the tensors from outside that the calls write to."""
    written = {number for call in recording.calls for number in call.writes}
    return {number for number in written if isinstance(run._known[number], Tensor)}


def _nothing() -> None:
    """Stands for a node that is gone."""


def _overlaps(reached: list[set[History]]) -> tuple[frozenset[int], ...]:
    """For each root those that need tensors which a pass from it frees."""
    holding = [{node for node in some if leaves_of([call[2] for call in node.calls or ()], Tensor)} for some in reached]
    return tuple([frozenset([place for place, two in enumerate(holding) if one & two]) for one in holding])


def is_plain() -> bool:
    """Whether what this thread computes is computed as it is, and without history."""
    return (
        not state.grad_enabled
        and state.modes is NO_MODES
        and state.no_modes is NO_MODES
        and state.autocast is None
        and state.inspect is None
    )


def is_watched(node: History) -> bool:
    """Whether somebody looks at the gradients that arrive at *node*, or when they do."""
    return node.hooks is not None or node.retain is not None or bool(getattr(node, "accumulated_hooks", None))


class Memory:
    """What a run leaves for passes through its history.

    Attributes:
        values: what the pass that was recorded reads; None once it is freed.
        checked: tensors that may not be written to before a pass.
        freed: at which roots passes began that freed what they read.
        unfolded: the nodes of the roots, if the calls were made anew.
    """

    checked: list[Tensor]
    node: weakref.ref[History]

    def __init__(self, run: Run, recording: Recording) -> None:
        self.values: list[Any] | None = None
        self.freed: set[int] = set()
        self.unfolded: list[Any] | None = None
        self._recording = recording
        self._known = {number: one for number, one in enumerate(run._known) if isinstance(one, Tensor)}
        self._casts = dict(run._casts)
        self._args = {at: mapped(args, _copied_generator) for at, args in run._args.items()}
        self._copies = {number: self._known[number].detach().clone() for number in written_by(run, recording)}

    def unfold(self, passing: Passing) -> list[Any]:
        """The nodes of all roots, by calls that are made anew, where the history of the run would be."""
        if self.unfolded is None:
            node = self.node()
            self.check([*self.checked, *[one for number, one in self._known.items() if number not in self._copies]])
            begin, made = next_event(), {**self._known, **self._copies}
            before = state.grad_enabled, state.modes, state.no_modes, state.autocast, state.backward
            try:
                for at, call in enumerate(self._recording.calls):
                    if call.kind is Kind.PROMISED:
                        args = mapped(self._args.get(at, call.args), lambda leaf: _operand_of(leaf, made))
                        state.autocast = self._casts.get(at)
                        self._carry_out(call, args, made)
            finally:
                state.grad_enabled, state.modes, state.no_modes, state.autocast, state.backward = before
            self.unfolded = [made[number]._node for number in passing.roots]
            _put_before(node, begin, self.unfolded)
        return self.unfolded

    def check(self, tensors: Iterable[Tensor]) -> None:
        """Raise RuntimeError if one of *tensors* was written to since."""
        node = self.node()
        for tensor in tensors:
            storage = tensor._storage
            if node is not None and storage is not None and storage.written > node.seq:
                raise stale(node, tensor, storage)

    def begin(self, places: Sequence[int], passing: Passing) -> bool:
        """Begin a pass at *places*; whether it leaves the graph for others. Raises RuntimeError if it was freed."""
        node, keeps = self.node(), state.backward is None or state.backward.keeps_graph
        for place in places:
            if node is not None and not self.freed.isdisjoint(passing.overlaps[place]):
                raise freed(node)
        if not keeps:
            self.freed.update(places)
        return keeps

    def is_spent(self, passing: Passing) -> bool:
        """Whether passes have freed what a pass from any root needs."""
        return not any(self.freed.isdisjoint(needed) for needed in passing.overlaps)

    def release(self) -> None:
        """Let go of what calls are made anew with."""
        self._known, self._args, self._copies, self.checked = {}, {}, {}, []

    def _carry_out(self, call: Call, args: tuple[Any, ...], made: dict[int, Any]) -> None:
        state.grad_enabled, state.backward = call.flags[0], None
        state.no_modes = UNDER_INFERENCE if call.flags[1] else NO_MODES
        state.modes = state.no_modes
        note_results(call.result, call.op.call(*args), made)


def _put_before(node: Any, begin: int, roots: list[Any]) -> None:
    """Number the nodes from *roots* on that are younger than *begin*, and the writes to what they saved, in their order
    so that they come right before *node*.
    """
    new = [one for one in _reached(roots) if one.seq > begin]
    saved = leaves_of([call[2] for one in new for call in one.calls or ()], Tensor)
    storages = {id(one._storage): one._storage for one in saved if one._storage is not None}
    per_event = 1 / (next_event() - begin)
    for one in new:
        one.seq = node.seq - 1 + (one.seq - begin) * per_event
    for storage in storages.values():
        if storage.written > begin:
            storage.written = node.seq - 1 + (storage.written - begin) * per_event


def note_results(known: Any, result: Any, made: dict[int, Any]) -> None:
    """Note the tensors that a call gave by their numbers."""
    if isinstance(known, (tuple, list)) and not hasattr(known, "_fields"):
        for one, other in zip(known, result, strict=True):
            note_results(one, other, made)
    elif isinstance(result, Tensor):
        made.setdefault(known.number, result)


def _operand_of(leaf: Any, made: dict[int, Any]) -> Any:
    if isinstance(leaf, (Slot, Outside)):
        return made[leaf.number]
    if isinstance(leaf, Generator):
        return _copied_generator(leaf)
    return leaf.generator if isinstance(leaf, Source) else leaf


def _copied_generator(leaf: Any) -> Any:
    if not isinstance(leaf, Generator):
        return leaf
    own = Generator(leaf.device)
    own.move(*leaf.drawn.advance(0))
    return own


class Passage:
    """What passes through the history of a tape do.

    Args:
        passing: the pass that was recorded.
        names: of what made the roots that are shown.

    Attributes:
        function: carries it out, from what it reads and the gradients that arrive to those of the leaves.
    """

    function: Callable[..., Any]

    def __init__(self, recording: Recording, passing: Passing, names: dict[int, str]) -> None:
        self.recording, self.passing, self.names = recording, passing, names

    def refuses(self, run: Run) -> str:
        """Why the run cannot leave its history in this form; empty if it can."""
        for number in self.passing.leaves:
            node = run._known[number]._node
            if node.__class__ is not Leaf or is_watched(node):
                return "a tensor that gets a gradient has hooks"
        sizes = [run._known[number].nbytes for number in written_by(run, self.recording)]
        return "large buffers are written to" if sum(sizes) > MOST_COPIED else ""

    def leave(self, run: Run, memory: Memory, checked: list[Tensor], values: list[Any]) -> None:
        """Give what the run returned its history, which reads *values*. *checked* may not be written to before."""
        memory.values, memory.checked = values, checked
        targets = [run._known[number]._node for number in self.passing.leaves]
        roots = [(place, number, run._tensor(number)) for place, number in enumerate(self.passing.roots)]
        calls = _Calls([(targets, self._computed, (memory, targets))])
        name = next(iter(self.names.values()))
        if len(roots) == 1:
            ((_, _, root),) = roots
            root._node = node = make_node(name, calls, root._array.shape, root._type)
        else:
            shown = [(place, root, self.names[number]) for place, number, root in roots if number in self.names]
            node = make_node(name, calls, (), shown[0][1]._type, len(roots))
            for place, root, name in shown:
                output = Output(node, place, root._array.shape, root._type)
                root._node = make_node(name, [(output, pass_on, ())], root._array.shape, root._type)
        memory.node = weakref.ref(node)

    def _computed(self, gradient: Any, memory: Memory, targets: list[Any]) -> list[Tensor | None]:
        gradients = gradient if gradient.__class__ is list else [gradient]
        way, values = way_of(gradients), memory.values
        keeps = memory.begin(way.places, self.passing)
        given = [one for one in gradients if one is not None]
        if not keeps:
            memory.values = None
        if values is not None and memory.unfolded is None and is_plain() and way == self.passing.way:
            memory.check(memory.checked)
            if memory.is_spent(self.passing):
                memory.release()
            return self.function([*values] if keeps else values, given)  # type: ignore[no-any-return]
        self.recording.missed = self.recording.missed or not state.grad_enabled
        self.recording.unfolded += 1
        nodes = memory.unfold(self.passing)
        if memory.is_spent(self.passing):
            memory.release()
        begins = [(nodes[place], one) for place, one in zip(way.places, given, strict=True)]
        if state.backward is None:  # the node itself was called
            edges = [GradientEdge(node, 0, node) for node, _ in begins]
            leaves = [GradientEdge(node, 0, node) for node in targets]
            return [*grad(edges, leaves, given, None, state.grad_enabled, allow_unused=True)]
        state.backward.go_on(begins)
        return [None] * len(targets)


class _Calls(Calls):
    """The call of a node that frees nothing by itself: of several results others may still want their passes."""

    holds = False
