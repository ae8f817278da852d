"""What happens to saved tensors: `saved_tensors_hooks` keep them elsewhere, or smaller, until backward needs them.

While hooks are on, a node's calls are `PackedCalls`, whose saved tensors are `Packed`; the engine opens them when it
runs the node. A program without hooks does not pay for this: hooks watch nodes as they are recorded
(`polyad.history.node.watchers`).

Invariants: only what the pack hook returned holds the packed tensor; its place in the graph is kept apart, so that
second derivatives go through it. Writes to it after packing are not noticed: what was packed may be a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from ..base.device import Device
from ..base.state import state
from ..errors import ArgumentTypeError, AutogradError, ShapeError
from ..history.node import Calls, Node, Output, watchers
from ..tensor import Tensor
from .hooks import hook_name

__all__ = ["allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks", "save_on_cpu", "saved_tensors_hooks"]

Pack = Callable[[Tensor], Any]
Unpack = Callable[[Any], Tensor]


class Packed:
    """A saved tensor in the hands of a pair of hooks; *output* is its number if it is a result of its own node."""

    __slots__ = ("content", "history", "output", "shape", "tangents", "unpack")

    def __init__(self, tensor: Tensor, hooks: tuple[Pack, Unpack], output: int | None = None) -> None:
        pack, self.unpack = hooks
        version, before = tensor._version, state.grad_enabled
        state.grad_enabled = False
        try:
            self.content = pack(tensor)
        finally:
            state.grad_enabled = before
        if tensor._version != version:
            raise AutogradError(
                f"pack {hook_name(pack)}: it changed the saved tensor in place",
                operands={"saved": tensor},
                fix="change a clone() of it and return that",
            )
        self.shape = tensor._array.shape
        self.history = tensor._node
        self.output = output
        self.tangents: list[tuple[Any, Tensor]] = []
        """The levels of forward mode at which it has a tangent, which no hook is asked about."""

    def open(self, node: Node | None = None) -> Tensor:
        """The tensor that the unpack hook gives; connected to the graph if gradients are being recorded."""
        before = state.grad_enabled
        state.grad_enabled = False
        try:
            tensor = self.unpack(self.content)
        finally:
            state.grad_enabled = before
        if not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"unpack {hook_name(self.unpack)}: it returned {type(tensor).__name__}, not a tensor",
                operands={"returned": tensor},
                fix="return the tensor that pack was given, or a tensor with its values",
            )
        if tensor._array.shape != self.shape:
            raise ShapeError(
                f"unpack {hook_name(self.unpack)}: it returned another shape than pack was given",
                operands={"returned": tensor},
                notes={"packed": str(tuple(self.shape))},
                fix="return a tensor of the packed tensor's shape",
            )
        tensor = tensor._alias()
        for level, tangent in self.tangents:
            if level in state.modes:
                level.set(tensor, tangent)
        if before:
            tensor._node = self.history
            if self.output is not None and node is not None:
                whole = node.count is None
                tensor._node = node if whole else Output(node, self.output, tensor._array.shape, tensor._type)
        return tensor


class PackedCalls(Calls):
    """A node's calls with `Packed` in the place of saved tensors."""

    def open(self, node: Node) -> list[Any]:
        """The calls with the tensors back in their places; each is unpacked once."""
        opened: dict[int, Tensor] = {}

        def tensor_of(value: Any) -> Any:
            if value.__class__ is Packed:
                if id(value) not in opened:
                    opened[id(value)] = value.open(node)
                return opened[id(value)]
            return value

        return [(target, formula, _mapped(tensor_of, saved)) for target, formula, saved in self]


def _mapped(function: Callable[[Any], Any], value: Any) -> Any:
    """*value* with *function* applied within its lists and tuples. A function that called itself by its own name would
    be a reference cycle, and keep saved tensors until the collector comes.
    """
    if value.__class__ is list or value.__class__ is tuple:
        return value.__class__([_mapped(function, item) for item in value])
    return function(value)


def _pack(node: Node) -> None:
    """Hand what *node* saves to this thread's innermost hooks."""
    hooks = state.saved_hooks
    if not hooks or not node.calls:
        return
    outs = node.out if isinstance(node.out, tuple) else (node.out,)
    by_id: dict[int, Packed] = {}
    alive: list[Tensor] = []

    def packed(value: Any) -> Any:
        if isinstance(value, Tensor):
            if id(value) not in by_id:
                alive.append(value)
                number = next((number for number, out in enumerate(outs) if out is value), None)
                by_id[id(value)] = Packed(value, hooks[-1], number)
            return by_id[id(value)]
        return value

    calls = PackedCalls((target, formula, _mapped(packed, saved)) for target, formula, saved in node.calls)
    if by_id:
        node.calls = calls
        node.out = None


class saved_tensors_hooks:
    """Have *pack_hook* keep the tensors that recorded ops save for backward, and *unpack_hook* bring them back.

    ``pack_hook(tensor)`` may return anything; ``unpack_hook`` gets it when backward needs the tensor, and returns a
    tensor of its values. Of nested pairs the innermost counts. A tensor that an op saves twice is packed once. Raises
    RuntimeError where the hooks are disabled, and in backward if unpack gives something else than such a tensor.

    To keep them in files:

    >>> import os, polyad, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> def pack(tensor):
    ...     path = os.path.join(folder.name, f"{len(os.listdir(folder.name))}.pt")
    ...     polyad.save(tensor.detach(), path)
    ...     return path
    >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
    >>> with polyad.autograd.graph.saved_tensors_hooks(pack, polyad.load):
    ...     y = (x * x).sum()
    >>> os.listdir(folder.name)
    ['0.pt']
    >>> y.backward()
    >>> x.grad
    tensor([2., 4.])
    >>> folder.cleanup()
    """

    def __init__(self, pack_hook: Pack, unpack_hook: Unpack) -> None:
        self.pack_hook, self.unpack_hook = pack_hook, unpack_hook

    def __enter__(self) -> None:
        if state.saved_hooks_disabled is not None:
            raise AutogradError(
                state.saved_hooks_disabled, fix="leave disable_saved_tensors_hooks before hooks are used"
            )
        state.saved_hooks = (*state.saved_hooks, (self.pack_hook, self.unpack_hook))
        watchers.append(_pack)

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.saved_hooks = state.saved_hooks[:-1]
        watchers.remove(_pack)


class allow_mutation_on_saved_tensors(saved_tensors_hooks):
    """Let what ops save for backward be written to afterwards: a copy of each saved tensor is kept.

    PyTorch copies a tensor when it is written to, polyad when it is saved.

    >>> import polyad
    >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
    >>> with polyad.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 1
    ...     z = (y * y).sum()
    ...     _ = y.zero_()
    ...     z.backward()
    >>> x.grad
    tensor([2., 4.])
    """

    def __init__(self) -> None:
        super().__init__(lambda tensor: tensor.detach().clone(), lambda copied: copied)


class save_on_cpu(saved_tensors_hooks):
    """Keep saved tensors in the host's memory until backward needs them on their device.

    Args:
        pin_memory: keep them in memory from which the device copies while the program goes on, if it does that.
        device_type: has no effect; each tensor goes back to the device that it was on.

    >>> import polyad
    >>> x = polyad.tensor([1.0, 2.0], requires_grad=True)
    >>> with polyad.autograd.graph.save_on_cpu():
    ...     y = x.exp().sum()
    >>> y.backward()
    >>> bool((x.grad == x.exp()).all())
    True
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Tensor) -> tuple[Device, Tensor]:
            kept = tensor.detach().to("cpu")
            return tensor.device, kept.pin_memory(tensor.device) if pin_memory else kept

        super().__init__(pack, lambda content: content[1].to(content[0], non_blocking=pin_memory))


class disable_saved_tensors_hooks:
    """Refuse `saved_tensors_hooks` inside, with *error_message*; raises RuntimeError if some are on already.

    >>> import polyad
    >>> with polyad.autograd.graph.disable_saved_tensors_hooks("not here"):
    ...     with polyad.autograd.graph.save_on_cpu():
    ...         pass
    Traceback (most recent call last):
        ...
    polyad.errors.AutogradError: not here
        fix  leave disable_saved_tensors_hooks before hooks are used
    """

    def __init__(self, error_message: str) -> None:
        self._message = error_message
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        if state.saved_hooks:
            raise AutogradError(self._message, fix="leave saved_tensors_hooks first")
        self._before.append(state.saved_hooks_disabled)
        state.saved_hooks_disabled = self._message

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.saved_hooks_disabled = self._before.pop()
