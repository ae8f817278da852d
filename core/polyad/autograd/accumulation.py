"""Adding gradients to ``.grad`` of leaves: which become the leaf's own, which are copied, how they lie in memory."""

from __future__ import annotations

from typing import Any

from ..base.locks import RLock
from ..base.shapes_and_strides import contiguous_strides, is_contiguous, is_dense
from ..base.state import state
from ..dispatch.effects import Effect, Record, Result, declare
from ..dispatch.op import op_of
from ..dispatch.views import layout_of
from ..errors import ArgumentTypeError, AutogradError
from ..history.node import Leaf
from ..ops.memory.copying import _copy_strided
from ..ops.pointwise.arithmetic import _add as add
from ..tensor import Tensor
from .hooks import hook_name

_locks = tuple(RLock() for _ in range(16))
"""So that threads which add to the gradient of the same leaf take turns."""


def accumulate(leaf: Leaf, gradient: Tensor, create_graph: bool, shared: set[int]) -> None:
    """Add *gradient* to ``.grad`` of *leaf*, which makes it its own unless its id is in *shared*; then run the hooks
    that wait for this.
    """
    tensor: Any = leaf.tensor()
    if tensor is None or tensor._node is None:
        return  # it is gone, or requires no gradient any more
    if tensor._node.__class__ is not Leaf:
        raise AutogradError(
            "backward: a leaf was changed in place after it was used, and has a history of its own now",
            operands={"leaf": tensor},
            fix="do not write to leaves between forward and backward, or write to a clone()",
        )
    with _locks[leaf.seq % len(_locks)]:
        accumulated = ACCUMULATE_GRAD.through_modes if state.modes else _accumulate
        if accumulated(tensor, gradient, create_graph, id(gradient) in shared) is gradient:
            shared.add(id(gradient))
    if leaf.accumulated_hooks:
        for hook in list(leaf.accumulated_hooks.values()):
            returned = hook(tensor)
            if returned is not None and not isinstance(returned, Tensor):
                raise ArgumentTypeError(
                    f"{hook_name(hook)} after accumulation: it returned {type(returned).__name__}",
                    operands={"leaf": tensor},
                    fix="return None: nothing is replaced there; write to leaf.grad, or use register_hook",
                )


def _accumulate_grad(tensor: Tensor, gradient: Tensor, create_graph: bool, shared: bool) -> Tensor | None:
    if state.modes:
        return ACCUMULATE_GRAD.through_modes(tensor, gradient, create_graph, shared)  # type: ignore[no-any-return]
    return _accumulate(tensor, gradient, create_graph, shared)


def _accumulate(tensor: Tensor, gradient: Tensor, create_graph: bool, shared: bool) -> Tensor | None:
    """Add *gradient* to ``.grad``, and return that; it is taken as it is if it is fresh and nothing else holds it."""
    if tensor._node.__class__ is not Leaf:  # in a recorded step that is done again
        if tensor._node is None:
            return tensor._grad
        raise AutogradError(
            "accumulate_grad: the tensor was a leaf when the step was recorded, and has a history now",
            operands={"tensor": tensor},
            fix="give the step a leaf, or record it with such a tensor",
        )
    present = tensor._grad
    if present is None:
        wanted = tensor._array.strides
        if gradient._array.strides != wanted and not _same_order(gradient, tensor):
            tensor._grad = _laid_out_as(tensor, gradient)
        elif gradient._storage is None and not shared:
            tensor._grad = gradient
        else:
            tensor._grad = gradient.clone()
    elif create_graph or present._node is not None or present.layout is not gradient.layout:
        tensor._grad = present + gradient
    else:
        _add_to(present, gradient)
    return tensor._grad


ACCUMULATE_GRAD = declare(
    Effect("accumulate_grad", _accumulate_grad, _accumulate, reads=(1,), record=Record.GRADIENT, result=Result.GRADIENT)
)


def sum_of(one: Tensor, other: Tensor) -> Tensor:
    """The sum of two gradients. Classes derived from Tensor, such as sparse tensors, have operators of their own."""
    total: Tensor = add(one, other) if one.__class__ is Tensor is other.__class__ else one + other
    return total


def accumulate_early(leaf: Leaf, part: Tensor, shared: set[int], begun: set[Leaf]) -> bool:
    """Add *part* to ``.grad`` of *leaf* before all of its gradient is known; False if that has to wait.

    It may be added if the pass *begun* that gradient, or if nobody waits for the gradient to be complete.
    """
    tensor = leaf.tensor()
    if tensor is None or tensor._node is not leaf:
        return False
    if leaf in begun:
        with _locks[leaf.seq % len(_locks)]:
            present = tensor._grad
            if present is not None:  # not in place: the first part may be on its way to another node, too
                tensor._grad = sum_of(present, part)
                return True
    elif is_awaited(leaf):
        return False
    begun.add(leaf)
    accumulate(leaf, part, False, shared)
    return True


def is_awaited(leaf: Any) -> bool:
    """Whether somebody gains if the gradient of *leaf* is added to ``.grad`` as soon as it is complete: there is a
    gradient to add it to, so that it need not be held until the end, or a hook that wants it.
    """
    tensor = leaf.tensor()
    return tensor is not None and (
        tensor._grad is not None or leaf.accumulated_hooks is not None or leaf.hooks is not None
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
