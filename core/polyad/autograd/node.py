"""The autograd graph: one `Node` an op call whose result may need a gradient.

A node holds, for each operand that needs a gradient, where the gradient goes, the formula, and exactly the values the
formula names. Edges point from results to operands, so a graph lives as long as its results do, and it holds no
reference cycle: a formula that needs the op's own result gets an alias of it that has no history.

Invariant: a node's ``seq`` is larger than those of all nodes it points to. Running nodes in falling order of ``seq`` is
therefore a topological order, which is all the engine needs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..backend.interface import TensorType
from ..storage import next_event

if TYPE_CHECKING:
    from ..dispatch.op import Op
    from ..tensor import Tensor

Target = Any
"""A Node, or a list of Node | None for an operand that is a list of tensors (or a formula with several results)."""


class Formula(NamedTuple):
    """A gradient formula: for the operand at *position* (or the operands, for a slice),
    ``function(grad, *pick(values))``.

    *given* says how the operand may be given: "tensor" for a tensor, "several" for more than one, anything else for
    what may be absent.
    """

    position: int | slice
    given: str
    function: Callable[..., Any]
    pick: Callable[[tuple[Any, ...]], tuple[Any, ...]]


class Node:
    """One recorded op call.

    Attributes:
        seq: event number; later calls have larger ones.
        name: such as ``MulBackward0``.
        calls: (target, formula, saved values) for each gradient to compute; None once released.
        shape, type: of the op's result; an arriving gradient is made to fit.
        out: the history-free alias of the result, if a formula saved it.
        hooks: functions run on the arriving gradient; None until there is one.
        retain: weak reference to a non-leaf tensor that keeps its gradient; None until ``retain_grad``.
    """

    __slots__ = ("__weakref__", "calls", "hooks", "name", "out", "retain", "seq", "shape", "type")

    seq: int
    name: str
    calls: list[tuple[Target, Callable[..., Any], tuple[Any, ...]]] | None
    shape: tuple[int, ...]
    type: TensorType
    out: Any
    hooks: dict[int, Callable[[Tensor], Tensor | None]] | None
    retain: weakref.ref[Tensor] | None

    def __repr__(self) -> str:
        return f"<{self.name} object at {id(self):#x}>"

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """(node, output number) of each operand that needs a gradient, PyTorch's name for the edges."""
        found: list[tuple[Any, int]] = []
        for target, _, _ in self.calls or ():
            for node in target if isinstance(target, list) else (target,):
                if isinstance(node, Output):
                    found.append((node.parent, node.number))
                else:
                    found.append((node, 0))
        return tuple(found)

    def targets(self) -> list[Node]:
        """The nodes that this node sends gradients to."""
        return [
            node
            for target, _, _ in self.calls or ()
            for node in (target if isinstance(target, list) else (target,))
            if node is not None
        ]


class Leaf(Node):
    """Where a gradient ends: the node of a tensor the user marked with requires_grad. Adds to ``tensor.grad``.

    The tensor owns its leaf node and the node refers back weakly, so that neither keeps the other alive.
    """

    __slots__ = ("accumulated_hooks", "tensor")

    def __init__(self, tensor: Tensor) -> None:
        self.seq = next_event()
        self.name = "AccumulateGrad"
        self.calls = None
        self.out = self.hooks = self.retain = None
        self.accumulated_hooks: dict[int, Callable[[Tensor], None]] | None = None
        self.tensor = weakref.ref(tensor)
        self.shape = tensor._array.shape
        self.type = tensor._type

    @property
    def variable(self) -> Tensor | None:
        """The leaf tensor, or None if it no longer exists."""
        return self.tensor()


class MultiNode(Node):
    """The node of an op with several results, *count* of them; their `Output` nodes bring it their gradients."""

    __slots__ = ("count",)

    count: int


class Output(Node):
    """One of several results of an op: collects that result's gradient for the op's own node, *parent*."""

    __slots__ = ("number", "parent")

    def __init__(self, parent: Node, number: int, shape: tuple[int, ...], type: TensorType) -> None:
        self.seq = next_event()
        self.name = parent.name
        self.calls = None
        self.out = self.hooks = self.retain = None
        self.parent = parent
        self.number = number
        self.shape = shape
        self.type = type

    def targets(self) -> list[Node]:
        return [self.parent]


def make_node(
    name: str,
    calls: list[tuple[Target, Callable[..., Any], tuple[Any, ...]]],
    shape: tuple[int, ...],
    type: TensorType,
    count: int | None = None,
) -> Node:
    """A node from its parts, for histories that no op declaration describes; with a *count*, one of several results."""
    if count is None:
        node = Node()
    else:
        node = MultiNode()
        node.count = count
    node.seq = next_event()
    node.name = name
    node.calls = calls
    node.shape, node.type = shape, type
    node.out = node.hooks = node.retain = None
    return node


def record(op: Op, values: tuple[Any, ...], out: Tensor) -> None:
    """Give *out*, the result of ``op(*values)``, its history. Called only if an operand needs a gradient."""
    node = Node()
    node.seq = next_event()
    node.name = op.grad_name
    node.shape = out._array.shape
    node.type = out._type
    node.hooks = node.retain = node.out = None
    if op.saves_out:
        node.out = out._alias()
        values = (*values, node.out)
    node.calls = _calls(op, values)
    out._node = node


def record_many(op: Op, values: tuple[Any, ...], outs: Sequence[Tensor], differentiable: Sequence[bool]) -> None:
    """As `record`, for an op with several results; the formula gets a list of one gradient a result,
    None where none arrived.
    """
    node = MultiNode()
    node.seq = next_event()
    node.name = op.grad_name
    node.count = len(outs)
    node.shape, node.type = (), outs[0]._type
    node.hooks = node.retain = node.out = None
    if op.saves_out:
        aliases = tuple(out._alias() for out in outs)
        node.out = aliases
        values = (*values, *aliases)
    node.calls = _calls(op, values)
    for number, out in enumerate(outs):
        if differentiable[number]:
            out._node = Output(node, number, out._array.shape, out._type)


def _calls(op: Op, values: tuple[Any, ...]) -> list[tuple[Target, Callable[..., Any], tuple[Any, ...]]]:
    calls: list[tuple[Target, Callable[..., Any], tuple[Any, ...]]] = []
    for position, given, function, pick in op.formulas:
        operand: Any = values[position]
        target: Any
        if given == "tensor":
            target = operand._node
        elif given == "several":
            target = [getattr(tensor, "_node", None) for tensor in operand]
            if not any(node is not None for node in target):
                continue
        else:
            target = getattr(operand, "_node", None)
        if target is not None:
            calls.append((target, function, pick(values)))
    return calls
