"""The backward pass: visits each node once, in falling order of its sequence number.

Every node's sequence number is larger than those of the nodes it points to, so by the time a node is taken from the
heap all gradients that it will ever get have arrived. That replaces counting dependencies, and works unchanged for
nested and concurrent passes, since all state is local to one call of `run`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heappop, heappush
from typing import Any

from ..errors import AutogradError, DTypeError, ShapeError
from ..ops.arithmetic import _add as add
from ..ops.reduction import sum_to
from ..state import state
from ..tensor import Tensor
from .node import Leaf, MultiNode, Node, Output


def run(
    roots: Sequence[tuple[Node, Tensor]],
    *,
    keep_graph: bool,
    create_graph: bool,
    capture: Mapping[Node, int] | None = None,
    accumulate: bool = True,
) -> list[Tensor | None]:
    """Send gradients from *roots* through the graph.

    Args:
        keep_graph: keep saved values, so that the graph can be run again.
        create_graph: record the backward computation itself.
        capture: nodes whose arriving gradients are wanted, with their positions in the returned list.
        accumulate: add to ``.grad`` of the leaves; with *capture*, only of captured ones' ancestors that lead nowhere
            else (see `grad`).
    """
    captured: list[Tensor | None] = [None] * (len(capture) if capture else 0)
    needed = _leading_to(capture, [node for node, _ in roots]) if capture is not None and not accumulate else None
    arrived: dict[Node, Any] = {}
    heap: list[tuple[int, Node]] = []
    # Gradients that something else may hold: a leaf that gets one of these must copy it.
    shared: set[int] = {id(gradient) for _, gradient in roots}
    keep = [gradient for _, gradient in roots]
    for node, given in roots:
        if node in arrived:
            arrived[node] = add(arrived[node], given)
        else:
            arrived[node] = given
            heappush(heap, (-node.seq, node))
    before = state.grad_enabled
    state.grad_enabled = create_graph
    try:
        while heap:
            node = heappop(heap)[1]
            gradient: Any = arrived.pop(node)
            if node.hooks:
                gradient = _run_hooks(node, gradient)
            if node.retain is not None:
                _retain(node, gradient)
                shared.add(id(gradient))
                keep.append(gradient)
            if capture is not None and node in capture:
                captured[capture[node]] = gradient
                shared.add(id(gradient))
            kind = node.__class__
            if kind is Leaf:
                if accumulate:
                    _accumulate(node, gradient, create_graph, shared)  # type: ignore[arg-type]
                continue
            if kind is Output:
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
            calls = node.calls
            if calls is None:
                raise AutogradError(
                    f"backward: the graph was freed: {node.name} has already been run backward",
                    fix="pass retain_graph=True to the first backward, or compute the result anew",
                )
            if kind is MultiNode:
                gradient = [gradient.get(number) for number in range(node.count)]  # type: ignore[attr-defined]
            seq = node.seq
            holds = False
            for target, formula, saved in calls:
                if needed is not None and not _any_needed(target, needed):
                    holds = holds or bool(saved)
                    continue
                for value in saved:
                    if isinstance(value, Tensor):
                        holds = True
                        storage = value._storage
                        if storage is not None and storage.written > seq:
                            raise _stale(node, value, storage)
                    elif value.__class__ is list:
                        holds = holds or any([isinstance(one, Tensor) for one in value])
                if create_graph and node.out is not None:
                    saved = _with_history(node, saved)
                result = formula(gradient, *saved)
                for one, part in zip(target, result, strict=True) if target.__class__ is list else ((target, result),):
                    if one is None or part is None:
                        continue
                    if part._array.shape != one.shape or part._type.dtype is not one.type.dtype:
                        part = _fit(node, one, part)
                    if one in arrived:
                        arrived[one] = add(arrived[one], part)
                    else:
                        arrived[one] = part
                        if one.__class__ is Leaf and part is gradient:
                            shared.add(id(part))
                            keep.append(part)
                        heappush(heap, (-one.seq, one))
            if holds and not keep_graph:  # what holds no tensors can be run again, as PyTorch lets it
                node.calls = None
                node.out = None
    finally:
        state.grad_enabled = before
    return captured


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
    present = tensor._grad
    if present is None:
        # A fresh gradient that nothing else holds is taken as it is; views and shared ones are copied.
        if (
            gradient._storage is None
            and id(gradient) not in shared
            and gradient._array.strides == tensor._array.strides
        ):
            tensor._grad = gradient
            shared.add(id(gradient))
        else:
            tensor._grad = gradient.clone()
    elif create_graph or present._node is not None:
        tensor._grad = present + gradient
    else:
        present.add_(gradient)
    if leaf.accumulated_hooks:
        for hook in list(leaf.accumulated_hooks.values()):
            hook(tensor)


def _run_hooks(node: Node, gradient: Any) -> Any:
    for hook in list((node.hooks or {}).values()):
        replacement = hook(gradient)
        if replacement is not None:
            if not isinstance(replacement, Tensor):
                raise AutogradError(
                    f"hook of {node.name}: it returned {type(replacement).__name__}",
                    fix="return a tensor of the gradient's shape, or None",
                )
            if replacement._array.shape != gradient._array.shape:
                raise ShapeError(
                    f"hook of {node.name}: its result has another shape",
                    operands={"gradient": gradient, "result": replacement},
                    fix="return a tensor of the gradient's shape",
                )
            gradient = replacement
    return gradient


def _retain(node: Node, gradient: Tensor) -> None:
    tensor = node.retain() if node.retain is not None else None
    if tensor is not None:
        tensor._grad = gradient if tensor._grad is None else tensor._grad + gradient


def _with_history(node: Node, saved: tuple[Any, ...]) -> tuple[Any, ...]:
    """The saved values, the result's alias replaced by one that is connected to the graph, for second derivatives."""
    outs = node.out if isinstance(node.out, tuple) else (node.out,)

    def connected(value: Any) -> Any:
        for number, out in enumerate(outs):
            if value is out and value.dtype.category >= 2:
                live: Tensor = value._alias()
                live._node = node if node.out is out else Output(node, number, live._array.shape, live._type)
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
                f"backward: {node.name} gave a gradient that is neither floating nor complex",
                operands={"gradient": gradient},
                fix="return a floating point tensor",
            )
        gradient = gradient.to(wanted)
    return gradient


def _stale(node: Node, value: Tensor, storage: Any) -> AutogradError:
    op, line = storage.writer
    return AutogradError(
        f"backward: a tensor that {node.name} needs was changed in place",
        operands={"saved": value},
        notes={"changed": f"by {op}" + (f" ({line})" if line else "") + f"; it is at version {storage.version}"},
        fix="use the out-of-place form there, or clone() the tensor before changing it",
    )


def _any_needed(target: Any, needed: set[Node]) -> bool:
    if target.__class__ is list:
        return any(node in needed for node in target)
    return target in needed


def _leading_to(capture: Mapping[Node, int], roots: Sequence[Node]) -> set[Node]:
    """The nodes on a path from *roots* to a captured node, captured ones included."""
    seen: set[Node] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            stack += node.targets()
    needed: set[Node] = set()
    for node in sorted(seen, key=lambda one: one.seq):
        if node in capture or any(target in needed for target in node.targets()):
            needed.add(node)
    return needed
