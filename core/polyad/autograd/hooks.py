"""Running hooks: what users hung on the nodes of a graph (`polyad.history.hooks`), and what it may return.

At a node the order is: hooks of its tensor (``Tensor.register_hook``), ``retain_grad`` and what ``autograd.grad``
captures, hooks before the node (``Node.register_prehook``), the node's own work, for a leaf its hooks after
accumulation, hooks after the node (``Node.register_hook``).

To let hooks run at another point, add a table to `polyad.history.hooks.NodeHooks` and run its hooks in
`polyad.autograd.engine`.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from ..compatibility.moved import missing
from ..errors import ArgumentTypeError, AutogradError, DeviceError, DTypeError, PolyadError, ShapeError
from ..history.node import Node

if TYPE_CHECKING:
    from ..tensor import Tensor


def run_tensor_hooks(node: Node, gradient: Any) -> Any:
    """The gradient after the hooks of the node's tensor."""
    for hook in tuple(node.hooks.tensor.values()):  # type: ignore[union-attr]
        replacement = hook(gradient)
        if replacement is not None:
            check_replacement(node, hook, gradient, replacement)
            gradient = replacement
    return gradient


def run_before(node: Node, gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """The arriving gradients after the hooks before the node."""
    for hook in tuple(node.hooks.before.values()):  # type: ignore[union-attr]
        gradients = _replaced(node, hook, gradients, hook(gradients))
    return gradients


def run_after(node: Node, computed: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...]:
    """The computed gradients after the hooks after the node."""
    for hook in tuple(node.hooks.after.values()):  # type: ignore[union-attr]
        computed = _replaced(node, hook, computed, hook(computed, gradients))
    return computed


def _replaced(node: Node, hook: Any, present: tuple[Any, ...], returned: Any) -> tuple[Any, ...]:
    if returned is None:
        return present
    if not isinstance(returned, tuple):
        raise ArgumentTypeError(
            f"{hook_name(hook)} of {node.name()}: it returned {type(returned).__name__}, not a tuple",
            fix="return a tuple with a gradient (or None) for each place, or None to change nothing",
        )
    if len(returned) != len(present):
        raise AutogradError(
            f"{hook_name(hook)} of {node.name()}: it returned {len(returned)} gradients in the place of {len(present)}",
            fix="return a tuple with a gradient (or None) for each place",
        )
    for position, (old, new) in enumerate(zip(present, returned, strict=True)):
        if new is None:
            continue
        if old is None:
            raise AutogradError(
                f"{hook_name(hook)} of {node.name()}: it returned a gradient at {position}, where there was none",
                operands={"returned": new},
                fix="return None there",
            )
        check_replacement(node, hook, old, new)
    return returned


def check_replacement(node: Node, hook: Any, gradient: Tensor, returned: Any) -> None:
    """Raise, naming the hook, unless *returned* can take the place of *gradient*."""
    if returned is gradient:
        return
    said = f"{hook_name(hook)} of {node.name()}"
    if getattr(returned, "_type", None) is None:
        raise ArgumentTypeError(
            f"{said}: it returned {type(returned).__name__}, not a tensor",
            operands={"gradient": gradient, "returned": returned},
            fix="return a tensor like the gradient, or None to change nothing",
        )
    error: type[PolyadError]
    for error, what, differs in (
        (ShapeError, "shape", returned._array.shape != gradient._array.shape),
        (DTypeError, "dtype", returned._type.dtype is not gradient._type.dtype),
        (DeviceError, "device", returned._type.device != gradient._type.device),
    ):
        if differs:
            raise error(
                f"{said}: its result has another {what}",
                operands={"gradient": gradient, "returned": returned},
                fix=f"return a tensor of the gradient's {what}",
            )


def hook_name(hook: Any) -> str:
    """``hook scale (train.py:12)``: how errors speak of a hook."""
    return f"hook {getattr(hook, '__name__', None) or type(hook).__name__}{place_of(hook)}"


def place_of(function: Any) -> str:
    """`` (train.py:12)``, where *function* is written; empty if that is not known."""
    function = inspect.unwrap(function)
    code = getattr(function, "__code__", None) or getattr(getattr(function, "__func__", None), "__code__", None)
    return f" ({code.co_filename.rpartition('/')[2]}:{code.co_firstlineno})" if code is not None else ""


if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise missing(__name__, name)
