"""The backward pass: visits each node once, in falling order of its sequence number.

Every node's sequence number is larger than those of the nodes it points to, so by the time a node is taken from the
heap all gradients that it will ever get have arrived. That replaces counting dependencies, and works unchanged for
nested and concurrent passes, since all state is local to one call of `run`.

Leaves are older than the nodes that use them, so in this order all leaves would wait until the end, and their gradients
with them. Once a leaf is met whose gradient something waits for, the pass looks up which node sends each leaf its last
gradient, and takes the leaf right after that node.
"""

from __future__ import annotations

import linecache
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from contextvars import copy_context
from functools import partial
from heapq import heappop, heappush
from typing import Any

from ..base.layout import contiguous_strides, is_contiguous, is_dense
from ..base.locks import RLock
from ..base.state import line_at, state
from ..dispatch.modes import twin
from ..dispatch.op import op_of
from ..dispatch.views import layout_of
from ..errors import ArgumentTypeError, AutogradError, DTypeError
from ..history.node import Leaf, Node, Output
from ..ops.memory.copying import _copy, _copy_strided
from ..ops.pointwise.arithmetic import _add as add
from ..ops.reductions.sums import sum_to
from ..tensor import Tensor
from ..tensor.storage import next_event
from .anomaly import inspector
from .hooks import hook_name, run_after, run_before, run_tensor_hooks
from .origin import add_origin, notes_of
from .saved import PackedCalls

DEEPEST = 40
"""So many nested passes share a thread's stack, which Python limits; the next pass gets a thread of its own."""


class Pass:
    """One backward pass, for hooks that ask about it: ``state.backward`` while it runs.

    Attributes:
        at_end: called when all gradients are computed, in the order in which they were added.
        notes: for hooks that need to remember something until the pass is over.
        depth: how many passes of this thread it runs inside of.
    """

    __slots__ = ("_heap", "_needed", "_reached", "at_end", "depth", "notes")

    def __init__(self, heap: list[tuple[int, Node]], needed: set[Node] | None, depth: int) -> None:
        self._heap, self._needed, self.depth = heap, needed, depth
        self._reached: set[Node] | None = None
        self.at_end: list[Callable[[], None]] = []
        self.notes: dict[Any, Any] = {}

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


def run(
    roots: Sequence[tuple[Node, Tensor]],
    *,
    keep_graph: bool,
    create_graph: bool,
    only: Collection[Node] | None = None,
    capture: Mapping[Node, int] | None = None,
    accumulate: bool = True,
) -> list[Tensor | None]:
    """Send gradients from *roots* through the graph.

    Args:
        keep_graph: keep saved values, so that the graph can be run again.
        create_graph: record the backward computation itself.
        only: the nodes at which gradients are wanted: nothing is done that does not lead to one of them.
        capture: nodes whose arriving gradients are wanted, with their positions in the returned list.
        accumulate: add to ``.grad`` of the leaves.
    """
    depth = 0 if state.backward is None else state.backward.depth + 1
    if depth > DEEPEST:
        again = partial(run, roots, keep_graph=keep_graph, create_graph=create_graph, only=only)
        return _in_another_thread(partial(again, capture=capture, accumulate=accumulate))
    captured: list[Tensor | None] = [None] * (len(capture) if capture else 0)
    needed = None if only is None else _leading_to(only, [node for node, _ in roots])
    # Wanted nodes that lead to no other: what is wanted has arrived there, and the node itself has no work.
    ends = {node for node in only or () if needed is not None and not _any_needed(node.targets(), needed)}
    arrived: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    # Gradients that something else may hold: a leaf that gets such a gradient must copy it.
    shared: set[int] = {id(gradient) for _, gradient in roots}
    keep: list[Any] = [gradient for _, gradient in roots]
    for node, given in roots:
        if node in arrived:
            arrived[node] = add(arrived[node], given)
        else:
            arrived[node] = given
            heappush(heap, (-node.seq, node))
    before, outer, this = state.grad_enabled, state.backward, Pass(heap, needed, depth)
    state.grad_enabled, state.backward = create_graph, this
    inspect = inspector()
    last_users: dict[Node, list[Leaf]] | None = None
    freeing: Node | None = None  # the node whose turn it is, if this pass frees it
    at_once = accumulate and not create_graph and needed is None and not captured
    begun: set[Leaf] = set()  # leaves that got their gradient, or its first part, at once
    try:
        while heap:
            node = heappop(heap)[1]
            gradient: Any = arrived.pop(node, None)
            if gradient is None:
                continue  # a leaf that had all its gradients before its turn came
            hooks = node.hooks
            if hooks is not None and hooks.tensor:
                # Hooks may hold what they saw. An id that is used again costs a leaf a copy, no more.
                shared.add(id(gradient))
                gradient = run_tensor_hooks(node, gradient)
                shared.add(id(gradient))
            if node.retain is not None:
                _retain(node, gradient)
                shared.add(id(gradient))
                keep.append(gradient)
            if capture is not None and node in capture:
                captured[capture[node]] = gradient
                shared.add(id(gradient))
            node_class = node.__class__
            if needed is not None and node_class is not Leaf and node in ends:
                continue
            if node_class is Output:
                parent = node.parent  # type: ignore[attr-defined]
                if needed is not None and parent not in needed:
                    continue
                if parent not in arrived:
                    arrived[parent] = {}
                    heappush(heap, (-parent.seq, parent))
                number = node.number  # type: ignore[attr-defined]
                # A formula that uses a result of its own node has another Output for it.
                parts = arrived[parent]
                parts[number] = add(parts[number], gradient) if number in parts else gradient
                continue
            count = node.count
            if count is not None:
                gradient = [gradient.get(number) for number in range(count)]
            if hooks is not None and hooks.before and (accumulate or node_class is not Leaf):  # whose work is to add
                several = run_before(node, _seen_by_hooks(node, gradient))
                shared.update(map(id, several))
                if all(arriving is None for arriving in several):
                    continue
                gradient = _in_full(several, count) if count is not None else several[0]
            if node_class is Leaf:
                if accumulate:
                    _accumulate(node, gradient, create_graph, shared)  # type: ignore[arg-type]
                    if hooks is not None and hooks.after:
                        run_after(node, (), (gradient,))
                continue
            calls = node.calls
            if calls is None:
                raise freed(node)
            seq = node.seq
            holds = calls.__class__ is not list and calls.holds  # type: ignore[attr-defined]
            for target, _, saved in calls if calls.__class__ is not PackedCalls else ():
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
            if holds and not keep_graph:  # what holds no tensors can be run again, as PyTorch lets it
                if _freeing.setdefault(node, this) is not this:  # another thread's pass is at it
                    raise freed(node)
                freeing = node
                if node.calls is not calls:  # or was, a moment ago
                    raise freed(node)
            if inspect is not None or (hooks is not None and hooks.after) or calls.__class__ is not list:
                calls = _computed(node, calls, gradient, needed, create_graph, inspect, shared)
            for target, formula, saved in calls:
                if needed is not None and not _any_needed(target, needed):
                    continue
                if create_graph and node.out is not None:
                    saved = _with_history(node, saved)
                result = formula(gradient, *saved)
                for receiver, part in (
                    zip(target, result, strict=True) if target.__class__ is list else ((target, result),)
                ):
                    if receiver is None or part is None:
                        continue
                    if part._array.shape != receiver.shape or part._type.dtype is not receiver.type.dtype:
                        part = _fit(node, receiver, part)
                    if receiver.__class__ is Leaf and receiver not in arrived:
                        if part is gradient:
                            shared.add(id(part))
                            keep.append(part)
                        if at_once and _taken_at_once(receiver, part, shared, begun):
                            continue
                        if last_users is None and accumulate and _is_awaited(receiver):
                            last_users = this.last_users(node)
                    if receiver in arrived:
                        arrived[receiver] = add(arrived[receiver], part)
                    else:
                        arrived[receiver] = part
                        heappush(heap, (-receiver.seq, receiver))
            if freeing is not None:
                node.freed = [call[0] for call in calls]
                node.calls = node.out = freeing = None
                del _freeing[node]
            if last_users is not None and node in last_users:
                for leaf in last_users[node]:
                    if leaf in arrived:
                        heappush(heap, (-next_event(), leaf))  # before all others
            saved, calls, result, part = (), None, None, None  # nothing that was saved or sent on outlives its turn
        for call in this.at_end:
            call()
    except Exception as error:
        if roots:
            add_origin(error, node)
        raise
    finally:
        if freeing is not None:  # its formula failed: another pass may try again
            del _freeing[freeing]
        state.grad_enabled, state.backward = before, outer
    return captured


_freeing: dict[Node, Pass] = {}
"""The nodes that a pass is freeing: of several threads, the first to enter a node, which is one step, may."""


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


def _taken_at_once(leaf: Leaf, part: Tensor, shared: set[int], begun: set[Leaf]) -> bool:
    """Add *part* to ``.grad`` of *leaf* now, if the pass began that gradient or nobody waits for it to be complete."""
    tensor = leaf.tensor()
    if tensor is None or tensor._node is not leaf:
        return False
    if leaf in begun:
        with _locks[leaf.seq % len(_locks)]:
            present = tensor._grad
            if present is not None:  # not in place: what began the gradient may still wait elsewhere
                tensor._grad = add(present, part)
                return True
    elif _is_awaited(leaf):
        return False
    begun.add(leaf)
    _accumulate(leaf, part, False, shared)
    return True


def _is_awaited(leaf: Any) -> bool:
    """Whether somebody gains if the gradient of *leaf* is added to ``.grad`` as soon as it is complete: there is a
    gradient to add it to, so that it need not be kept, or a hook that wants it.
    """
    tensor = leaf.tensor()
    return tensor is not None and (
        tensor._grad is not None or leaf.accumulated_hooks is not None or leaf.hooks is not None
    )


def _computed(
    node: Node,
    calls: list[Any],
    gradient: Any,
    needed: set[Node] | None,
    create_graph: bool,
    inspect: Any,
    shared: set[int],
) -> list[Any]:
    """The calls of *node* carried out, as calls that give what was computed.

    The long way round, for nodes that somebody watches or whose saved tensors are packed.
    """
    done = _carried_out(node, calls, gradient, needed, create_graph, inspect)
    if node.hooks is not None and node.hooks.after:
        shared.update(id(part) for parts in done for part in parts)
        done = _after(node, done, gradient)
        shared.update(id(part) for parts in done for part in parts)
        shared.update(map(id, gradient if isinstance(gradient, list) else (gradient,)))
    return [(call[0], _giver(call[0], parts), ()) for call, parts in zip(calls, done, strict=True)]


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
            _accumulate(node, gradients[0], state.grad_enabled, {id(gradients[0])})
        return ()
    if node.calls is None:
        raise freed(node)
    calls, done = node.calls, []
    if any(given is not None for given in gradients):
        gradient = gradients[0] if node.count is None else _in_full(gradients, node.count)
        done = _carried_out(node, calls, gradient, None, state.grad_enabled, None)
    places = _places(node, done or [[None] * len(_listed(call[0])) for call in calls])
    return places[0] if len(places) == 1 else places


def freed(node: Node) -> AutogradError:
    """The error for *node*, whose saved tensors are gone."""
    return AutogradError(
        f"backward: the graph was freed: {node.name()} has already been run backward",
        fix="pass retain_graph=True to the first backward, or compute the result anew",
    )


def _listed(target: Any) -> list[Any]:
    return target if target.__class__ is list else [target]


def _places(node: Node, done: list[list[Any]]) -> tuple[Any, ...]:
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


_locks = tuple(RLock() for _ in range(16))
"""So that threads which add to the gradient of the same leaf take turns."""


def _accumulate(leaf: Leaf, gradient: Tensor, create_graph: bool, shared: set[int]) -> None:
    tensor = leaf.tensor()
    if tensor is None or tensor._node is None:
        return  # it is gone, or requires no gradient any more
    if tensor._node.__class__ is not Leaf:
        raise AutogradError(
            "backward: a leaf was changed in place after it was used, and has a history of its own now",
            operands={"leaf": tensor},
            fix="do not write to leaves between forward and backward, or write to a clone()",
        )
    with _locks[leaf.seq % len(_locks)]:
        present = tensor._grad
        if present is None:
            # A fresh gradient that nothing else holds is taken as it is; views and shared gradients are copied.
            wanted = tensor._array.strides
            if gradient._array.strides != wanted and not _same_order(gradient, tensor):
                tensor._grad = _laid_out_as(tensor, gradient)
            elif gradient._storage is None and id(gradient) not in shared:
                tensor._grad = gradient
                shared.add(id(gradient))
            else:
                tensor._grad = gradient.clone()
        elif create_graph or present._node is not None:
            tensor._grad = present + gradient
        else:
            _add_to(present, gradient)
    if leaf.accumulated_hooks:
        for hook in list(leaf.accumulated_hooks.values()):
            returned = hook(tensor)
            if returned is not None and not isinstance(returned, Tensor):
                raise ArgumentTypeError(
                    f"{hook_name(hook)} after accumulation: it returned {type(returned).__name__}",
                    operands={"leaf": tensor},
                    fix="return None: nothing is replaced there; write to leaf.grad, or use register_hook",
                )


def _same_order(gradient: Tensor, tensor: Any) -> bool:
    """Whether *gradient*, whose strides are others than those of the leaf *tensor*, lies as its gradient should."""
    shape, strides, _ = layout_of(tensor)
    ours = layout_of(gradient).strides
    if not is_dense(shape, strides):
        return is_contiguous(shape, ours)
    return all(size == 1 or mine == wanted for size, mine, wanted in zip(shape, ours, strides, strict=True))


def _laid_out_as(tensor: Any, gradient: Tensor) -> Tensor:
    """A copy of *gradient* in the leaf's order in memory, row-major if the leaf has gaps or overlaps."""
    shape, strides, _ = layout_of(tensor)
    return _copy_strided(gradient, strides if is_dense(shape, strides) else contiguous_strides(shape))


_PLANS = op_of(add).plans


def _add_to(present: Tensor, gradient: Tensor) -> None:
    """``present.add_(gradient)``, unrecorded; the short way if there is nothing to look out for."""
    type_, storage = present._type, present._storage
    plan = _PLANS.get((type_, gradient._type)) if type_ is gradient._type and not state.modes else None
    if (
        plan is None
        or plan.out_kernel is None
        or plan.indirect is not None
        or present.__class__ is not Tensor
        or gradient.__class__ is not Tensor
        or present._array.shape != gradient._array.shape
        or 0 in present._array.strides
        or (storage is not None and (storage.read_only or storage.conjugate_of is not None))
    ):
        present.add_(gradient)
        return
    plan.out_kernel(present._array, gradient._array, out=present._array)
    (storage or present._make_storage()).bump("backward, which added to a gradient", "")


def _retain(node: Node, gradient: Tensor) -> None:
    tensor = node.retain() if node.retain is not None else None
    if tensor is not None:
        tensor._grad = _copy(gradient) if tensor._grad is None else tensor._grad + gradient


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
