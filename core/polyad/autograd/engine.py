"""The backward pass: visits each node once, in falling order of its sequence number.

Every node's sequence number is larger than those of the nodes it points to, so by the time a node is taken from the
heap all gradients that it will ever get have arrived. That replaces counting dependencies, and works unchanged for
nested and concurrent passes, since all state is that of one `Pass`.

Leaves are older than the nodes that use them, so in this order all leaves would wait until the end, and their gradients
with them. Once a leaf is met whose gradient something waits for, the pass looks up which node sends each leaf its last
gradient, and takes the leaf right after that node.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import copy_context
from heapq import heappop, heappush
from operator import itemgetter
from typing import Any

from ..base import provided
from ..base.state import line_at, state
from ..dispatch.modes import twin
from ..dispatch.overriding import dispatching
from ..errors import ArgumentTypeError, AutogradError, DTypeError
from ..history.node import Leaf, Node, Output
from ..ops.memory.copying import _copy
from ..ops.reductions.sums import sum_to
from ..tensor import Tensor
from ..tensor.storage import next_event
from ..tensor.tensor import SET_GRAD
from .accumulation import accumulate, accumulate_early, is_awaited, sum_of
from .anomaly import inspector
from .hooks import run_after, run_before, run_tensor_hooks
from .origin import add_origin, notes_of
from .saved import PackedCalls

DEEPEST = 40
"""So many nested passes share a thread's stack, which Python limits; the next pass gets a thread of its own."""

_target_of = itemgetter(0)
"""Of a node's call (target, formula, saved values); written in C, unlike a comprehension."""


class Pass:
    """One backward pass. While it runs it is ``state.backward``, for hooks that ask about it.

    Args:
        roots: where it begins, with the gradients that it sends from there.
        keep_graph: keep saved values, so that the graph can be run again.
        create_graph: record the backward computation itself.
        only: the nodes at which gradients are wanted: nothing is done that does not lead to one of them.
        capture: nodes whose arriving gradients are wanted, with their positions in the list that `run` returns.
        accumulate: add to ``.grad`` of the leaves.

    Attributes:
        at_end: called when all gradients are computed, in the order in which they were added.
        notes: for hooks that need to remember something until the pass is over.
        depth: how many passes of this thread it runs inside of.
    """

    __slots__ = (
        "_accumulate", "_arrived", "_begun", "_capture", "_captured", "_create_graph", "_ends", "_heap", "_held",
        "_keep_graph", "_needed", "_reached", "_shared", "_went_on", "at_end", "depth", "notes",
    )  # fmt: skip

    def __init__(
        self,
        roots: Sequence[tuple[Node, Tensor]],
        *,
        keep_graph: bool,
        create_graph: bool,
        only: Collection[Node] | None = None,
        capture: Mapping[Node, int] | None = None,
        accumulate: bool = True,
    ) -> None:
        self._keep_graph, self._create_graph, self._accumulate = keep_graph, create_graph, accumulate
        self._capture = capture
        self._captured: list[Tensor | None] = [None] * len(capture or ())
        needed = self._needed = None if only is None else _leading_to(only, [node for node, _ in roots])
        # Wanted nodes that lead to no other: what is wanted has arrived there, and the node itself has no work.
        self._ends = {node for node in only or () if needed is not None and not _any_needed(node.targets(), needed)}
        self._arrived: dict[Node, Any] = {}  # the sum of what has arrived at a node; for one of several results, a dict
        self._heap: list[tuple[int, Node]] = []  # the nodes that something has arrived at, the youngest first
        # The ids of gradients that something else may hold, which a leaf must copy, and what keeps these ids in use.
        self._shared = {id(gradient) for _, gradient in roots}
        self._held: list[Any] = [gradient for _, gradient in roots]
        self._begun: set[Leaf] = set()  # leaves whose gradient, or its first part, was added before their turn
        self._reached: set[Node] | None = None
        self._went_on = False
        self.at_end: list[Callable[[], None]] = []
        self.notes: dict[Any, Any] = {}
        self.depth = 0
        for node, given in roots:
            self._send(node, given)

    def run(self) -> list[Tensor | None]:
        """Send the gradients through the graph; returns what arrived at the nodes to *capture*.

        Small tensors spend their backward pass in this loop. So what every node needs is written out here, however long
        that is, and what few nodes need is a call.
        """
        outer, before, functions, modes = state.backward, state.grad_enabled, state.functions_off, state.modes
        self.depth = 0 if outer is None else outer.depth + 1
        if self.depth > DEEPEST:
            return _in_another_thread(self.run)
        create_graph, needed, heap, arrived = self._create_graph, self._needed, self._heap, self._arrived
        state.grad_enabled, state.backward, inspect = create_graph, self, inspector()
        state.functions_off = functions or 1  # formulas compute with what tensors are, whatever their class
        if dispatching and provided.class_dispatch() not in modes:
            state.modes = (provided.class_dispatch(), *modes)
        # A mode may record the pass, to be done again where leaves have gradients or have none: then each gets its sum.
        early = self._accumulate and not (create_graph or state.modes) and needed is None and self._capture is None
        last_users: dict[Node, list[Leaf]] | None = None
        node: Any = None
        freeing: Node | None = None  # the node whose turn it is, if this pass frees it
        try:
            while heap:
                node = heappop(heap)[1]
                gradient: Any = arrived.pop(node, None)
                if gradient is None:
                    continue  # a leaf that was taken out of turn, see `_take_next`
                hooks, node_class = node.hooks, node.__class__
                if hooks is not None or node.retain is not None or self._capture is not None:
                    gradient = self._show(node, gradient)
                if needed is not None and node_class is not Leaf and node in self._ends:
                    continue
                if node_class is Output:
                    self._gather(node, gradient)
                    continue
                if node.count is not None:
                    gradient = [gradient.get(number) for number in range(node.count)]
                if hooks is not None and hooks.before and (self._accumulate or node_class is not Leaf):
                    gradient = self._run_before(node, gradient)
                    if gradient is None:
                        continue
                if node_class is Leaf:
                    if self._accumulate:
                        accumulate(node, gradient, create_graph, self._shared)
                        if hooks is not None and hooks.after:
                            run_after(node, (), (gradient,))
                    continue
                calls = node.calls
                if _holds_tensors(node, calls, needed) and not self._keep_graph:
                    if _freeing.setdefault(node, self) is self:
                        freeing = node
                    if freeing is None or node.calls is not calls:  # another thread's pass frees the node, or just did
                        raise freed(node)
                if inspect is not None or calls.__class__ is not list or (hooks is not None and hooks.after):
                    calls = self._compute(node, calls, gradient, inspect)
                for target, formula, saved in calls:
                    if needed is not None and not _any_needed(target, needed):
                        continue
                    if create_graph and node.out is not None:
                        saved = _with_history(node, saved)
                    result = formula(gradient, *saved)
                    for receiver, part in (
                        zip(target, result, strict=True) if target.__class__ is list else ((target, result),)
                    ):
                        if receiver is None or part is None or (needed is not None and receiver not in needed):
                            continue
                        if part._array.shape != receiver.shape or part._type.dtype is not receiver.type.dtype:
                            part = _fit(node, receiver, part)
                        if receiver in arrived:
                            arrived[receiver] = sum_of(arrived[receiver], part)
                            continue
                        if receiver.__class__ is Leaf:
                            if part is gradient:
                                self._share(part)
                            if early and accumulate_early(receiver, part, self._shared, self._begun):
                                continue
                            if (last_users is None or self._went_on) and self._accumulate and is_awaited(receiver):
                                last_users, self._went_on = self.last_users(node), False
                        arrived[receiver] = part
                        heappush(heap, (-receiver.seq, receiver))
                if freeing is not None:
                    node.freed = [*map(_target_of, calls)]
                    node.calls = node.out = freeing = None
                    del _freeing[node]
                if last_users is not None and node in last_users and not self._went_on:
                    self._take_next(last_users[node])
                # The next formula may need the memory: let go of what this node saved, and of gradients that were sent.
                saved, calls, result, part = (), None, None, None
            for call in self.at_end:
                call()
        except Exception as error:
            if node is not None:
                add_origin(error, node)
            raise
        finally:
            if freeing is not None:  # its formula failed: another pass may try again
                del _freeing[freeing]
            state.grad_enabled, state.backward, state.functions_off, state.modes = before, outer, functions, modes
        return self._captured

    def _send(self, node: Node, gradient: Any) -> None:
        """Let *gradient* arrive at *node*."""
        if node in self._arrived:
            self._arrived[node] = sum_of(self._arrived[node], gradient)
        else:
            self._arrived[node] = gradient
            heappush(self._heap, (-node.seq, node))

    def _share(self, gradient: Tensor) -> None:
        """Remember that something else may hold *gradient*, so that no leaf makes it its own without a copy."""
        self._shared.add(id(gradient))
        self._held.append(gradient)

    def _show(self, node: Node, gradient: Any) -> Any:
        """*gradient*, which arrived at *node*, after those who look at it: hooks, ``retain_grad``, *capture*."""
        if node.hooks is not None and node.hooks.tensor:
            # Hooks may hold what they saw. It is not held here: an id that is used again costs a leaf a copy, no more.
            self._shared.add(id(gradient))
            gradient = run_tensor_hooks(node, gradient)
            self._shared.add(id(gradient))
        if node.retain is not None:
            _retain(node, gradient)
            self._share(gradient)
        if self._capture is not None and node in self._capture:
            self._captured[self._capture[node]] = gradient
            self._shared.add(id(gradient))
        return gradient

    def _gather(self, output: Any, gradient: Tensor) -> None:
        """Add *gradient*, that of one of several results of an op, to those that wait at the op's node."""
        parent, number = output.parent, output.number
        if self._needed is not None and parent not in self._needed:
            return
        if parent not in self._arrived:
            self._send(parent, {})
        parts = self._arrived[parent]
        # A result that the op's own formula uses has a second Output there, so something may have arrived already.
        parts[number] = sum_of(parts[number], gradient) if number in parts else gradient

    def _run_before(self, node: Node, gradient: Any) -> Any:
        """What the hooks before *node* make of what arrived there; None if they leave nothing."""
        several = run_before(node, _seen_by_hooks(node, gradient))
        self._shared.update(map(id, several))
        if all(arriving is None for arriving in several):
            return None
        return _in_full(several, node.count) if node.count is not None else several[0]

    def _compute(self, node: Node, calls: list[Any], gradient: Any, inspect: Any) -> list[Any]:
        """The calls of *node* carried out, as calls that give what was computed: the way of nodes that somebody watches
        or whose saved tensors are packed.
        """
        done = _carried_out(node, calls, gradient, self._needed, self._create_graph, inspect)
        if node.hooks is not None and node.hooks.after:
            self._shared.update(id(part) for parts in done for part in parts)
            done = _after(node, done, gradient)
            self._shared.update(id(part) for parts in done for part in parts)
            self._shared.update(map(id, gradient if isinstance(gradient, list) else (gradient,)))
        return [(call[0], _giver(call[0], parts), ()) for call, parts in zip(calls, done, strict=True)]

    def arrived_at(self, node: Node) -> Any:
        """What has arrived at *node* by now, whose turn is still to come."""
        return self._arrived.get(node)

    def go_on(self, at: Sequence[tuple[Node, Tensor]]) -> None:
        """Go on at other nodes than those to which the node sends gradients whose turn it is."""
        if self._needed is not None:
            self._needed |= _leading_to(self._needed, [node for node, _ in at])
        for node, gradient in at:
            self._share(gradient)
            if node.__class__ is Output:
                self._gather(node, gradient)
            else:
                self._send(node, gradient)
        self._went_on = True

    def _take_next(self, leaves: list[Leaf]) -> None:
        """Put *leaves*, whose gradients are complete now, before all other nodes; their own turn finds nothing."""
        for leaf in leaves:
            if leaf in self._arrived:
                heappush(self._heap, (-next_event(), leaf))

    @property
    def keeps_graph(self) -> bool:
        """Whether saved values are kept, so that the graph can be run again."""
        return self._keep_graph

    @property
    def to_all_leaves(self) -> bool:
        """Whether it is a ``backward()`` without *inputs*: not all of the graph's leaves get gradients otherwise."""
        return self._needed is None

    def last_users(self, now: Node) -> dict[Node, list[Leaf]]:
        """The leaves that a gradient may still arrive at while the pass is at the node *now*, by the node that sends
        their last gradient.
        """
        last: dict[Leaf, Node] = {}
        seen: set[Node] = set()
        stack = [now, *(waiting for _, waiting in self._heap)]
        while stack:
            node = stack.pop()
            if node in seen or (self._needed is not None and node not in self._needed):
                continue
            seen.add(node)
            for target in node.targets():
                if target.__class__ is not Leaf:
                    stack.append(target)
                elif target not in last or node.seq < last[target].seq:
                    last[target] = node
        users: dict[Node, list[Leaf]] = {}
        for leaf, user in last.items():
            users.setdefault(user, []).append(leaf)
        return users

    def reaches(self, node: Node, now: Node) -> bool:
        """Whether a gradient may still arrive at *node*, while the pass is at the node *now*."""
        if self._reached is None:
            reached = self._reached = set()
            stack = [now, *(waiting for _, waiting in self._heap)]
            while stack:
                current = stack.pop()
                if current not in reached and (self._needed is None or current in self._needed):
                    reached.add(current)
                    stack += current.targets()
        return node in self._reached


_freeing: dict[Node, Pass] = {}
"""The nodes that passes are freeing. Of several threads one may: ``setdefault`` cannot be interrupted."""


def _holds_tensors(node: Node, calls: Any, needed: set[Node] | None) -> bool:
    """Whether *node* saved tensors, and is freed therefore; what saved none can be run again, as PyTorch lets it.

    Raises RuntimeError if the node is freed already, or one of the tensors was written to since.
    """
    holds = False
    if calls.__class__ is not list:
        if calls is None:
            raise freed(node)
        if calls.__class__ is PackedCalls:
            return True  # writes to what was packed are not noticed
        holds = calls.holds
    seq = node.seq
    for target, _, saved in calls:
        if needed is not None and not _any_needed(target, needed):
            holds = holds or bool(saved)
            continue
        for value in saved:
            if isinstance(value, Tensor):
                holds = True
                storage = value._storage
                if storage is not None and storage.written > seq:
                    raise stale(node, value, storage)
            elif value.__class__ is list:
                for item in value:
                    if isinstance(item, Tensor):
                        holds = True
                        if item._storage is not None and item._storage.written > seq:
                            raise stale(node, item, item._storage)
    return holds


def _in_another_thread(work: Callable[[], list[Tensor | None]]) -> list[Tensor | None]:
    """The result of *work*, done in a new thread with this thread's switches, while this thread waits."""
    mine = dict(vars(state))
    found: list[list[Tensor | None]] = []
    errors: list[BaseException] = []

    def begin() -> None:
        vars(state).update(mine, backward=None)
        try:
            found.append(work())
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=copy_context().run, args=(begin,), name="polyad backward")
    thread.start()
    thread.join()
    if errors:
        raise errors.pop()
    return found[0]


def _carried_out(
    node: Node, calls: list[Any], gradient: Any, needed: set[Node] | None, create_graph: bool, inspect: Any
) -> list[list[Any]]:
    """For each of *calls* the gradients that it gives, one for each of its targets."""
    packed = isinstance(calls, PackedCalls)
    if isinstance(calls, PackedCalls):
        calls = calls.open(node)
    done: list[list[Any]] = []
    for target, formula, saved in calls:
        targets = target if target.__class__ is list else [target]
        if needed is not None and not _any_needed(target, needed):
            done.append([None] * len(targets))
            continue
        if not packed:
            for value in saved:
                for item in value if value.__class__ is list else (value,):
                    if isinstance(item, Tensor) and item._storage is not None and item._storage.written > node.seq:
                        raise stale(node, item, item._storage)
            if create_graph and node.out is not None:
                saved = _with_history(node, saved)
        result = formula(gradient, *saved)
        parts = [
            None if receiver is None or part is None else _fit(node, receiver, part)
            for receiver, part in zip(targets, result if target.__class__ is list else [result], strict=True)
        ]
        if inspect is not None:
            for number, part in enumerate(parts, sum(map(len, done))):
                if part is not None:
                    inspect(node, number, gradient, part, saved)
        done.append(parts)
    return done


def call_node(node: Node, *gradients: Any) -> Any:
    """``node(*gradients)``; see `polyad.history.node.Node.__call__`."""
    if len(gradients) != node.width or not all(given is None or isinstance(given, Tensor) for given in gradients):
        raise ArgumentTypeError(
            f"{node.name()}: it takes {node.width} gradients, tensors or None",
            operands={str(number): given for number, given in enumerate(gradients)},
            fix="give a gradient for each result of the op, None where there is none",
        )
    if isinstance(node, Leaf):
        if gradients[0] is not None:
            accumulate(node, gradients[0], state.grad_enabled, {id(gradients[0])})
        return ()
    if node.calls is None:
        raise freed(node)
    calls, done = node.calls, []
    if any(given is not None for given in gradients):
        gradient = gradients[0] if node.count is None else _in_full(gradients, node.count)
        done = _carried_out(node, calls, gradient, None, state.grad_enabled, None)
    places = _by_next_function(node, done or [[None] * len(_listed(call[0])) for call in calls])
    return places[0] if len(places) == 1 else places


def freed(node: Node) -> AutogradError:
    """The error for *node*, whose saved tensors are gone."""
    return AutogradError(
        f"backward: the graph was freed: {node.name()} has already been run backward",
        fix="pass retain_graph=True to the first backward, or compute the result anew",
    )


def _listed(target: Any) -> list[Any]:
    return target if target.__class__ is list else [target]


def _by_next_function(node: Node, done: list[list[Any]]) -> tuple[Any, ...]:
    """What was computed, in the order of ``next_functions``: None for operands that need no gradient, too."""
    rest, places = list(done), list[Any]()
    for slot in node.slots():
        places += [None] if slot is None else rest.pop(0)
    return tuple(places)


def _seen_by_hooks(node: Node, gradient: Any) -> tuple[Any, ...]:
    return tuple(gradient[: node.width]) if isinstance(gradient, list) else (gradient,)


def _in_full(gradients: Sequence[Any], count: int) -> list[Any]:
    """*gradients*, and None for results behind them."""
    return [*gradients, *[None] * (count - len(gradients))]


def _giver(target: Any, parts: list[Any]) -> Callable[[Any], Any]:
    return (lambda _: parts) if target.__class__ is list else lambda _: parts[0]


def _after(node: Node, done: list[list[Any]], gradient: Any) -> list[list[Any]]:
    """What was computed after the hooks after the node; they see None for operands that need no gradient too."""
    places: list[Any] = []  # of each gradient that hooks see: its part of done, and where it is there
    number = 0
    for slot in node.slots():
        if slot is None:
            places.append(None)
        else:
            places += [(number, position) for position in range(len(done[number]))]
            number += 1
    seen = tuple(None if place is None else done[place[0]][place[1]] for place in places)
    replaced = run_after(node, seen, _seen_by_hooks(node, gradient))
    changed = [list(parts) for parts in done]
    for place, part in zip(places, replaced, strict=True):
        if place is not None:
            changed[place[0]][place[1]] = part
    return changed


def _retain(node: Node, gradient: Tensor) -> None:
    tensor = node.retain() if node.retain is not None else None
    if tensor is not None:
        kept = _copy(gradient) if tensor._grad is None else tensor._grad + gradient
        if state.modes:
            SET_GRAD.through_modes(tensor, kept)
        else:
            tensor._grad = kept


def _with_history(node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values, the result's alias replaced by an alias connected to the graph, for second derivatives."""
    outs = node.out if isinstance(node.out, tuple) else (node.out,)

    def connected(value: Any) -> Any:
        for number, out in enumerate(outs):
            if value is out and value.dtype.category >= 2:
                live: Tensor = value._alias()
                live._node = node if node.out is out else Output(node, number, live._array.shape, live._type)
                twin(value, live)
                return live
        return value

    return tuple(connected(value) for value in saved)


def _fit(node: Node, target: Node, gradient: Tensor) -> Tensor:
    """The gradient in the shape and dtype of what it belongs to."""
    if gradient._array.shape != target.shape:
        gradient = sum_to(gradient, target.shape)
    wanted = target.type.dtype
    if gradient._type.dtype is not wanted:
        if gradient.dtype.category < 2:
            raise DTypeError(
                f"backward: {node.name()} gave a gradient that is neither floating nor complex",
                operands={"gradient": gradient},
                fix="return a floating point tensor",
            )
        gradient = gradient.to(wanted)
    return gradient


def stale(node: Node, value: Tensor, storage: Any) -> AutogradError:
    """The error for *value*, which *node* saved and somebody wrote to since."""
    op, line = storage.writer
    notes = notes_of(node)
    where = notes.pop("forward", "") or _saved_at(node)
    saved = {"saved by": f"{node.name()} ({where})"} if where else {}
    return AutogradError(
        f"backward: a tensor that {node.name()} needs was changed in place",
        operands={"saved": value},
        notes={
            "changed": f"by {op}" + (f" ({line})" if line else "") + f"; it is at version {storage.version}",
            **saved,
            **notes,
        },
        fix="use the out-of-place form there, or clone() the tensor before changing it",
    )


def _saved_at(node: Node) -> str:
    """The file, line and text of the user's line at which *node* saved tensors; empty if it is not known."""
    code = getattr(node, "code", None)
    if code is None:
        return ""
    file, line = line_at(code, node.at)
    text = linecache.getline(file, line).strip()
    return f"{file.rpartition('/')[2]}:{line}" + (f": {text}" if text else "")


def _any_needed(target: Any, needed: set[Node]) -> bool:
    if target.__class__ is list:
        return any(node in needed for node in target)
    return target in needed


def _leading_to(wanted: Collection[Node], roots: Sequence[Node]) -> set[Node]:
    """The nodes on a path from *roots* to a wanted node, wanted nodes included."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += node.edges()
    needed: set[Node] = set()
    for node in sorted(seen, key=lambda node: node.seq):
        if node in wanted or any(target in needed for target in node.edges()):
            needed.add(node)
    return needed
