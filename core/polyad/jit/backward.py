"""The backward passes of a captured function: which are entered, and which history nobody needs once they are over.

A pass is entered if all the history that it may go through was made by the function. It frees that history in the
captured call, so a replay, which finds the pass's ops in the graph, would record it for nothing and hold what it saves:
calls whose history is spent are replayed without.

Invariant: history from which something may still be differentiated after the call is recorded on each replay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from ..dispatch.effects import Effect, Record
from ..dispatch.inplace import InPlace, check_writable, write
from ..dispatch.op import Op
from ..dispatch.plan import find_plan
from ..graph.graph import Node, numbers
from ..graph.structure import leaves_of
from ..history.node import GradientEdge, Leaf, Node as History
from ..tensor import Tensor
from ..tensor.storage import next_event


class Passes:
    """The passes of a function that is being captured.

    Attributes:
        histories: where each of the graph's values comes from, by the value's number.
        opaque: whether some pass is one node.
    """

    def __init__(self) -> None:
        self.histories: list[History | None] = []
        self._begin = next_event()
        self._depth = 0
        self._entered: set[History] = set()
        self._hooked = False
        self._saved: set[int] = set()
        self.opaque = False

    def enters(self, roots: Any) -> bool:
        """Whether a pass from *roots*, tensors or edges, concerns the function's own history alone."""
        several = roots if isinstance(roots, (list, tuple)) and not isinstance(roots, GradientEdge) else [roots]
        reached = _reached(map(_begin_of, several))
        own = all(node.seq > self._begin for node in reached if node.__class__ is not Leaf)
        if own:
            self._entered |= reached
            self._hooked = self._hooked or any(node.hooks is not None or _awaited(node) for node in reached)
            for node in reached:
                kept = node.calls if node.calls.__class__ is list else ()
                for tensor in leaves_of([saved for _, _, saved in kept], Tensor):
                    self._saved |= {id(tensor), id(tensor._array)}
        else:
            self.opaque = True
        return own

    @contextmanager
    def inside(self) -> Iterator[None]:
        """While it is entered, calls are those of a pass."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    def misses(self, tensor: Tensor) -> bool:
        """Whether *tensor*, which nothing is known of, may be one that the function made where no mode saw it."""
        if not self._depth or tensor._node.__class__ is Leaf:
            return False
        saved = id(tensor) in self._saved or id(tensor._array) in self._saved
        return saved or not self._hooked or tensor._node is not None

    def without_spent(self, nodes: list[Node], roots: list[Tensor]) -> list[Node]:
        """*nodes*, those without history whose history nobody needs who has one of *roots* after the call."""
        if self.opaque or not self._entered:
            return nodes
        needed: set[History] = set()
        for root in (*roots, *[root._grad for root in roots if root._grad is not None]):
            reached = _reached([root._node])
            if not any(hasattr(node, "freed") for node in reached):
                needed |= reached
        for node in nodes:
            # What has no gradient of its own computes in parts where there is history, which may round otherwise.
            if node.grad is not False and isinstance(node.op, Op) and _by_parts(node.op):
                needed |= _reached([self.histories[number] for number in node.makes])
        spent = {node for node in self._entered - needed if node.__class__ is not Leaf}
        found = []
        for node in nodes:
            made = [history for number in node.makes if (history := self.histories[number]) is not None]
            if made and node.grad is not False and spent.issuperset(made):
                found.append(dataclasses.replace(node, grad=False))
            elif not self._concerns(node, spent):
                found.append(node)
        return found

    def _concerns(self, node: Node, spent: set[History]) -> bool:
        """Whether a call is about spent history alone: it hung up a hook, which has run."""
        if not isinstance(node.op, Effect) or node.op.record is not Record.CHANGED or node.makes:
            return False
        return spent.issuperset([self.histories[number] for number in numbers(node.args[node.op.of])])


def takes_apart(op: Op | Effect, args: tuple[Any, ...]) -> bool:
    """Whether a pass may use what is computed inside of *op*, so that the calls there are to be seen."""
    if all(tensor._node is None for tensor in leaves_of(args, Tensor)):
        return False
    if isinstance(op, Op):
        return _by_parts(op) and find_plan(op, args).indirect is not None
    if not isinstance(op, InPlace):
        return False
    target, rest, kwargs = args
    if op.op is None or kwargs or _by_parts(op.op):
        return True
    values = (target, *rest)
    inside = "v[0]", f"v[{len(op.op.names)}]"  # the target as it was, and the result before it is written
    return any(
        any(place in formula.saved for place in inside)
        and any(tensor._node is not None for tensor in leaves_of([values[formula.position]], Tensor))
        for formula in op.op.formulas
    )


def taken_apart(op: Any, args: tuple[Any, ...]) -> Any:
    """The result of *op*, by the calls that it consists of where gradients are recorded."""
    if not isinstance(op, InPlace):
        return find_plan(op, args).indirect(op, args, True)  # type: ignore[misc]
    target, rest, kwargs = args
    check_writable(op.name, target)
    # What a node saves of the target is to survive the write.
    survives = op.op is not None and op.op.formulas and not any("v[0]" in one.saved for one in op.op.formulas)
    before = target if survives and not kwargs else target.clone()
    rest = [before if arg is target else arg for arg in rest]
    return write(op.name, target, op.function(before, *rest, **kwargs))  # type: ignore[misc]


def _by_parts(op: Op) -> bool:
    return op.kind == "composite" and not op.formulas


def _awaited(node: History) -> bool:
    return isinstance(node, Leaf) and bool(node.accumulated_hooks)


def _begin_of(root: Any) -> History | None:
    if isinstance(root, GradientEdge):
        return root.node
    return root._node if isinstance(root, Tensor) else None  # what is no root is refused by the pass


def _reached(roots: Iterable[History | None]) -> set[History]:
    """The history at *roots* and before."""
    reached: set[History] = set()
    stack = [node for node in roots if node is not None]
    while stack:
        node = stack.pop()
        if node not in reached:
            reached.add(node)
            stack += node.edges()
    return reached
