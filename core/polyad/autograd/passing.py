"""A node of its own that tensors pass through unchanged, so that hooks can see all their gradients at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..base.state import state
from ..dispatch.effects import Effect, Result, declare
from ..history.node import Node, Output, make_node
from ..tensor import Tensor
from ..tensor.storage import UnrecordedViewOf


def pass_through(tensors: tuple[Tensor, ...], install: Callable[[Node], object]) -> tuple[Tensor, ...]:
    """Aliases of *tensors* whose gradients meet at one node, which *install* is given; at least one needs a gradient.

    While a tensor lives, a recorded write to its alias is refused, since the tensor would miss it.
    """
    if state.modes:
        return PASS_THROUGH.through_modes(tensors, install)  # type: ignore[no-any-return]
    targets = [tensor._node for tensor in tensors]
    node = make_node("BackwardHookFunctionBackward", [(targets, _each, ())], (), tensors[0]._type, count=len(tensors))
    passed = []
    for number, tensor in enumerate(tensors):
        if targets[number] is None:
            passed.append(tensor)
            continue
        alias = tensor._alias()
        alias._node = Output(node, number, tensor._array.shape, tensor._type)
        base = None if tensor._view is None else tensor._view.base
        alias._view = UnrecordedViewOf(tensor if base is None else base, tensor.storage_offset())
        passed.append(alias)
    install(node)
    return tuple(passed)


def _each(gradients: list[Any]) -> list[Any]:
    return gradients


PASS_THROUGH = declare(Effect("pass_through", pass_through, result=Result.ALIAS))
