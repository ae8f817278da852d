"""The graph as users see it: `Node`, edges, hooks on several tensors, and hooks on what is saved for backward."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal

from ..base.locks import Lock
from ..base.state import state, user_line
from ..dispatch.arguments import explaining
from ..errors import AutogradError, wrong_type
from ..history.hooks import RemovableHandle
from ..history.node import GradientEdge, Node, Output, add_hook
from ..tensor import Tensor
from ..tensor.tensor import check_tensor
from .saved import (
    allow_mutation_on_saved_tensors,
    disable_saved_tensors_hooks,
    save_on_cpu,
    saved_tensors_hooks,
)

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


@explaining
def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of *tensor* arrives. Raises RuntimeError if it requires none.

    >>> import polyad
    >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * 3
    >>> edge = polyad.autograd.graph.get_gradient_edge(y)
    >>> edge.node.name(), edge.output_nr
    ('MulBackward0', 0)
    >>> polyad.autograd.grad(y.sum(), edge)
    (tensor([1., 1.]),)
    """
    node = check_tensor(tensor, "get_gradient_edge", "tensor")._node
    if node is None:
        raise AutogradError(
            "get_gradient_edge: the tensor requires no gradient",
            operands={"tensor": tensor},
            fix="call requires_grad_() before computing with it",
        )
    return GradientEdge(node.parent, node.number, node) if isinstance(node, Output) else GradientEdge(node, 0, node)


@explaining
def increment_version(tensor: Tensor | Sequence[Tensor]) -> None:
    """Say that the memory of a tensor, or of several, was written to in a way that polyad cannot see.

    Backward then refuses to use a saved tensor in that memory, as after any other write.

    >>> import polyad
    >>> x = polyad.ones(2)
    >>> polyad.autograd.graph.increment_version(x)
    >>> x._version
    1
    """
    if not isinstance(tensor, Iterable):
        raise wrong_type("increment_version", "tensor", tensor, "a tensor or a sequence of tensors")
    several = [tensor] if isinstance(tensor, Tensor) else list(tensor)
    for value in several:
        check_tensor(value, "increment_version", "tensor")
    for value in several:
        (value._storage or value._make_storage()).bump("increment_version", user_line())


class MultiGradHandle:
    """Removes a hook on several tensors, as `polyad.history.hooks.RemovableHandle` does for a single tensor."""

    def __init__(self, handles: Sequence[RemovableHandle]) -> None:
        self._handles = tuple(handles)

    def remove(self) -> None:
        """Remove the hook from all tensors; does nothing if it is gone already."""
        for handle in self._handles:
            handle.remove()

    def __enter__(self) -> MultiGradHandle:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.remove()


@explaining
def register_multi_grad_hook(
    tensors: Sequence[Tensor], fn: Callable[..., None], *, mode: Literal["all", "any"] = "all"
) -> MultiGradHandle:
    """Call *fn* in each backward pass in which gradients of *tensors* are computed.

    Args:
        tensors: tensors that require a gradient.
        fn: with mode "all" it is called once all their gradients of a pass are there, with a list of them in which None
            stands for those that the pass does not reach; with "any", with the first gradient.

    Raises RuntimeError if a tensor requires no gradient, ValueError for another mode.

    >>> import polyad
    >>> x, y = polyad.ones(2, requires_grad=True), polyad.ones((), requires_grad=True)
    >>> handle = polyad.autograd.graph.register_multi_grad_hook([x, y], print)
    >>> (x * 2).sum().backward()
    [tensor([2., 2.]), None]
    >>> handle.remove()
    """
    tensors = tuple(tensors)
    for position, tensor in enumerate(tensors):
        if not check_tensor(tensor, "register_multi_grad_hook", f"tensors[{position}]").requires_grad:
            raise AutogradError(
                f"register_multi_grad_hook: tensors[{position}] requires no gradient",
                operands={f"tensors[{position}]": tensor},
                fix="leave it out, or call requires_grad_() before computing with it",
            )
    from ..dispatch.inplace import node_of_its_own

    nodes = [node_of_its_own(tensor) or tensor._node for tensor in tensors]
    key, lock = object(), Lock()

    def gather(position: int) -> Callable[[Tensor], None]:
        def hook(gradient: Tensor) -> None:
            this = state.backward
            with lock:
                pending = this.notes.get(key)
                if pending is None:
                    here: Any = nodes[position]
                    expected = {number for number, node in enumerate(nodes) if this.reaches(node, here)}
                    pending = this.notes[key] = _Pending(len(tensors), expected)
                    this.at_end.append(lambda: finish(pending))
            pending.gradients[position] = gradient
            pending.expected.discard(position)
            if not pending.expected:
                finish(pending)

        return hook

    def finish(pending: _Pending) -> None:
        # At the end of the pass for gradients that were expected and did not come, since a formula gave none.
        if not pending.done:
            pending.done = True
            fn(pending.gradients)

    def first(gradient: Tensor) -> None:
        notes = state.backward.notes
        if key not in notes:
            notes[key] = True
            fn(gradient)

    return MultiGradHandle(
        [
            add_hook(node, gather(position) if mode == "all" else first)  # type: ignore[arg-type]
            for position, node in enumerate(nodes)
        ]
    )


class _Pending:
    """The gradients of one pass that a hook on several tensors waits for."""

    __slots__ = ("done", "expected", "gradients")

    def __init__(self, count: int, expected: set[int]) -> None:
        self.gradients: list[Tensor | None] = [None] * count
        self.expected = expected
        self.done = False
