"""The autograd graph: a `Node` for each op call whose result may need a gradient.

A node holds, for each operand that needs a gradient, where the gradient goes, the formula, and exactly the values the
formula names. Edges point from results to operands, so a graph lives as long as its results do, and it holds no
reference cycle: a formula that needs the op's own result gets an alias of it that has no history.

Invariant: a node's ``seq`` is larger than those of all nodes it points to. Running nodes in falling order of ``seq`` is
therefore a topological order, which is all the engine needs.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from sys import _getframe
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..backend.interface import TensorType
from ..base import provided
from ..base.state import place_from
from ..errors import AutogradError
from ..tensor.pending import settle
from ..tensor.storage import InferenceView, next_event
from . import inference
from .hooks import NodeHooks, RemovableHandle, register

if TYPE_CHECKING:
    from types import CodeType

    from ..base.device import Device
    from ..dispatch.declared import Op


class Recorded(Protocol):
    """A tensor as far as its history goes, which is all that is known of it here."""

    _array: Any
    _type: TensorType
    _node: Node | None
    _grad: Any

    def _alias(self) -> Any: ...


watchers: list[Callable[[Node], None]] = []
"""Called with each node that any thread records; what uses it tells the threads apart. Empty, it costs a truth test."""

Target = Any
"""A Node, or a list of Node | None for an operand that is a list of tensors (or a formula with several results)."""


class Node:
    """One recorded op call.

    Attributes:
        seq: event number; later calls have larger numbers.
        made_by: the op, or a name such as ``CopySlices``.
        calls: (target, formula, saved values) for each gradient to compute; None once released.
        freed: the targets of calls that were released.
        shape, type: of the op's result; an arriving gradient is summed and cast to fit.
        out: the history-free alias of the result, if a formula saved it.
        hooks: what users hung on it; None until there is something.
        code, at: where the user's program was when tensors were saved, for `polyad.base.state.line_at`; else unset.
        retain: weak reference to a non-leaf tensor that keeps its gradient; None until ``retain_grad``.
    """

    __slots__ = (
        "__weakref__",
        "_metadata",
        "at",
        "calls",
        "code",
        "freed",
        "hooks",
        "made_by",
        "out",
        "retain",
        "seq",
        "shape",
        "type",
    )

    count: int | None = None  # how many results the op has, if that is not 1
    seq: int
    made_by: Op | str
    calls: list[tuple[Target, Callable[..., Any], tuple[Any, ...]]] | None
    freed: list[Target]
    shape: tuple[int, ...]
    type: TensorType
    out: Any
    code: CodeType | None
    at: int
    hooks: NodeHooks | None
    retain: weakref.ref[Recorded] | None

    def __repr__(self) -> str:
        return f"<{self.name()} object at {id(self):#x}>"

    def name(self) -> str:
        """The name of what made the node, such as ``MulBackward0``."""
        maker = self.made_by
        return maker if isinstance(maker, str) else maker.grad_name

    @property
    def metadata(self) -> dict[str, Any]:
        """A dict for notes about the node; anomaly mode keeps the forward line there."""
        try:
            return self._metadata
        except AttributeError:
            self._metadata: dict[str, Any] = {}
            return self._metadata

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """(node, output number) of each operand that may have a gradient, (None, 0) for those that need none.

        Empty once the graph is freed.
        """
        return tuple(
            (edge.parent, edge.number) if isinstance(edge, Output) else (edge, 0)
            for slot in self.slots()
            for edge in (slot if isinstance(slot, list) else [slot])
        )

    def __call__(self, *gradients: Any) -> Any:
        """The gradients that this node sends to `next_functions`, from those of its results: a tensor or None, or a
        tuple where they are several. Runs no hooks; the node of a leaf adds to ``.grad`` and gives ().

        Raises TypeError unless there is a gradient or None for each result.

        >>> import polyad
        >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
        >>> (x * x).grad_fn(polyad.ones(2))
        (tensor([1., 2.], grad_fn=<MulBackward0>), tensor([1., 2.], grad_fn=<MulBackward0>))
        """
        return provided.call_node(self, *gradients)

    @property
    def width(self) -> int:
        """How many results gradients arrive for; those behind the last that has a gradient do not count."""
        return 1 if self.count is None else self.count

    def slots(self) -> list[Node | list[Node | None] | None]:
        """Where gradients go, in the order of the op's formulas: a node, None, or a list for an operand of several."""
        calls = list(self.calls or ())
        if isinstance(self.made_by, str):
            return [target for target, _, _ in calls]
        found: list[Node | list[Node | None] | None] = []
        for formula in self.made_by.formulas if calls else ():
            present = bool(calls) and calls[0][1] is formula.function
            found.append(calls.pop(0)[0] if present else None)
        return found

    def register_hook(self, fn: Callable[[tuple[Any, ...], tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``fn(grad_inputs, grad_outputs)`` after the node has computed *grad_inputs*, the gradients that it sends
        to `next_functions`; a tuple that it returns takes their place.

        >>> import polyad
        >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x.exp().sum()
        >>> handle = y.grad_fn.register_hook(lambda grad_inputs, grad_outputs: (grad_inputs[0] * 2,))
        >>> y.backward()
        >>> (x.grad / x.exp()).tolist()
        [2.0, 2.0]
        """
        return register(hooks_of(self).after, fn)

    def register_prehook(self, fn: Callable[[tuple[Any, ...]], Any]) -> RemovableHandle:
        """Call ``fn(grad_outputs)`` before the node computes; a tuple that it returns takes the place of the gradients.

        >>> import polyad
        >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
        >>> y = x.sum()
        >>> handle = y.grad_fn.register_prehook(lambda grad_outputs: (grad_outputs[0] * 3,))
        >>> y.backward()
        >>> x.grad
        tensor([3., 3.])
        """
        return register(hooks_of(self).before, fn)

    def targets(self) -> list[Node]:
        """The nodes that this node sends gradients to; none once the graph is freed."""
        return _flatten([target for target, _, _ in self.calls or ()])

    def edges(self) -> list[Node]:
        """As `targets`, and where the gradients of a freed node went: what has to pass there is refused."""
        return self.targets() if self.calls is not None else _flatten(getattr(self, "freed", ())) or self.targets()


def pass_on(gradient: Any) -> Any:
    """The formula of a node that sends on what arrives, a gradient or a list of them, as it is."""
    return gradient


def _flatten(targets: Sequence[Target]) -> list[Node]:
    found: list[Node] = []
    for target in targets:
        if target.__class__ is list:
            found += [node for node in target if node is not None]
        else:
            found.append(target)
    return found


def hooks_of(node: Node) -> NodeHooks:
    """The node's hooks, created if it has none yet."""
    if node.hooks is None:
        node.hooks = NodeHooks()
    return node.hooks


def add_hook(node: Node, hook: Callable[..., Any]) -> RemovableHandle:
    """Run *hook* on each gradient that arrives at *node*."""
    return register(hooks_of(node).tensor, hook)


class Leaf(Node):
    """Where a gradient ends: the node of a tensor the user marked with requires_grad. Adds to ``tensor.grad``.

    The tensor owns its leaf node and the node refers back weakly, so that neither keeps the other alive.
    """

    __slots__ = ("accumulated_hooks", "tensor")

    def __init__(self, tensor: Recorded) -> None:
        self.seq = next_event()
        self.made_by = "AccumulateGrad"
        self.calls = None
        self.out = self.hooks = self.retain = None
        self.accumulated_hooks: dict[int, Callable[[Any], Any]] | None = None
        self.tensor = weakref.ref(tensor)
        self.shape = tensor._array.shape
        self.type = tensor._type

    @property
    def variable(self) -> Recorded | None:
        """The leaf tensor, or None if it no longer exists."""
        return self.tensor()


Leaf.__name__ = "AccumulateGrad"  # PyTorch's name, for those who look at types


class PendingNode(Node):
    """Stands for the history of a tensor that is not computed yet (`polyad.tensor.pending`): whatever is asked of it
    computes the tensor first.
    """

    __slots__ = ("tensor",)

    tensor: Any

    def __init__(self, tensor: Recorded) -> None:
        object.__setattr__(self, "tensor", weakref.ref(tensor))

    def settled(self) -> Any:
        """The node that takes its place."""
        tensor = self.tensor()
        if tensor is None:
            raise AutogradError(
                "compile: the history of a tensor that is gone was not computed", fix="keep the tensor while it is used"
            )
        settle(tensor)
        return tensor._node

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settled(), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.settled(), name, value)


class MultiNode(Node):
    """The node of an op with several results, *count* of them; their `Output` nodes bring it their gradients."""

    __slots__ = ("count", "differentiable")

    count: int | None
    differentiable: int

    @property
    def width(self) -> int:
        return getattr(self, "differentiable", 1 if self.count is None else self.count)


_CLASSES: dict[str, type[Node]] = {}
_OTHERS: dict[tuple[str, type[Node]], type[Node]] = {}
"""The classes of nodes by name, which tells what made a node, as in PyTorch. Those derived from `Node` itself have a
table of their own, since `record` looks only there."""


def node_class(name: str, base: type[Node] = Node) -> type[Node]:
    """The class of nodes called *name*, created when it is first asked for."""
    found = _CLASSES.get(name) if base is Node else _OTHERS.get((name, base))
    if found is None:
        doc = f"The backward of one `{name.partition('Backward')[0]}`."
        found = type(name, (base,), {"__slots__": (), "__doc__": doc, "__module__": __name__})
        if base is Node:
            _CLASSES[name] = found
        else:
            _OTHERS[name, base] = found
    return found


class Calls(list[Any]):
    """A node's calls that are more than a list, which the engine carries out on a longer path.

    Attributes:
        holds: whether they keep tensors, and go when the graph is freed.
    """

    holds = True


class Output(Node):
    """One of several results of an op: collects that result's gradient for the op's own node, *parent*."""

    __slots__ = ("number", "parent")

    def __init__(self, parent: Node, number: int, shape: tuple[int, ...], type: TensorType) -> None:
        self.seq = next_event()
        self.made_by = parent.made_by
        self.calls = None
        self.out = self.hooks = self.retain = None
        self.parent = parent
        self.number = number
        self.shape = shape
        self.type = type

    def targets(self) -> list[Node]:
        return [self.parent]


class GradientEdge(NamedTuple):
    """Where the gradient of a tensor arrives in a graph: output *output_nr* of *node*.

    `polyad.autograd.grad` and `polyad.autograd.backward` take it in the place of the tensor, which need not live on.
    """

    node: Node
    output_nr: int
    ownership_token: Any = None


def make_node(
    name: str,
    calls: list[tuple[Target, Callable[..., Any], tuple[Any, ...]]],
    shape: tuple[int, ...],
    type: TensorType,
    count: int | None = None,
    base: Any = None,
) -> Node:
    """A node from its parts, for histories that no op declaration describes; *count* is the number of several results.

    *base* is the class that the node's class derives from, if it is neither `Node` nor `MultiNode`.
    """
    if count is None and base is None:
        node = node_class(name)()
    else:
        node = node_class(name, base or MultiNode)()
        node.count = count  # type: ignore[misc]
    node.seq = next_event()
    node.made_by = name
    node.calls = calls
    node.shape, node.type = shape, type
    node.out = node.hooks = node.retain = None
    if watchers:
        _show(node)
    return node


def spent_node(name: str, shape: tuple[int, ...], type: TensorType) -> Node:
    """A node of that name whose graph was freed: a pass that comes there is refused."""
    node = make_node(name, [], shape, type)
    node.calls, node.freed = None, []
    return node


def record(op: Op, values: tuple[Any, ...], out: Recorded) -> None:
    """Give *out*, the result of ``op(*values)``, its history. Called only if an operand needs a gradient."""
    name = op.grad_name
    node = _CLASSES[name]() if name in _CLASSES else node_class(name)()
    node.seq = next_event()
    node.made_by = op
    node.shape = out._array.shape
    node.type = out._type
    node.hooks = node.retain = node.out = None
    if op.saves_out:
        node.out = out._alias()
        values = (*values, node.out)
    node.calls = _calls(op, values)
    if op.saves_tensors:
        node.code, node.at = place_from(_getframe(2))
    out._node = node
    if watchers:
        _show(node)


def record_many(op: Op, values: tuple[Any, ...], outs: Sequence[Recorded], differentiable: Sequence[bool]) -> None:
    """As `record`, for an op with several results; the formula gets a list with a gradient for each result,
    None where none arrived.
    """
    node: Any = node_class(op.grad_name, MultiNode)()
    node.seq = next_event()
    node.made_by = op
    node.count = len(outs)
    node.differentiable = max(number for number, has_gradient in enumerate(differentiable, 1) if has_gradient)
    node.shape, node.type = (), outs[0]._type
    node.hooks = node.retain = node.out = None
    if op.saves_out:
        aliases = tuple(out._alias() for out in outs)
        node.out = aliases
        values = (*values, *aliases)
    node.calls = _calls(op, values)
    if op.saves_tensors:
        node.code, node.at = place_from(_getframe(2))
    if watchers:
        _show(node)
    for number, out in enumerate(outs):
        if differentiable[number]:
            out._node = Output(node, number, out._array.shape, out._type)


def record_copy(input: Recorded, out: Recorded) -> None:
    """Give *out*, which holds the elements of *input* on a device of its own, the history that leads back to *input*.
    Called only if that needs a gradient.
    """
    calls: list[Any] = [(input._node, _moved, (input._type.device,))]
    out._node = make_node("ToCopyBackward0", calls, out._array.shape, out._type)


def _moved(gradient: Any, device: Device) -> Any:
    return gradient.to(device)


def _show(node: Node) -> None:
    for watch in tuple(watchers):
        watch(node)


def _calls(op: Op, values: tuple[Any, ...]) -> list[tuple[Target, Callable[..., Any], tuple[Any, ...]]]:
    calls = op.calls(values)
    if inference.seen:
        check_saved(op.name, [value for _, _, saved in calls for value in saved])
    return calls


def check_saved(name: str, values: Sequence[Any]) -> None:
    """Raise RuntimeError if a tensor among *values*, which the backward of *name* needs, was made in inference_mode."""
    for value in values:
        if value.__class__ in (list, tuple):
            check_saved(name, value)
        elif getattr(value, "_view", None).__class__ is InferenceView:
            raise AutogradError(
                f"{name}: backward would need a tensor that was made in inference_mode",
                operands={"saved": value},
                fix="clone() it outside of inference_mode first",
            )
