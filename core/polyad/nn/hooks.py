"""Hooks on modules: where they are kept and in which order they run.

A module has no hook objects until the first hook is registered, so that a call without hooks pays one falsy check.
Hooks run in the order in which they were registered, those registered with ``prepend=True`` before the others; a hook
may remove itself while it runs.

`EVERY` holds the hooks of all modules, which run before a module's own; it is on the class (see
`polyad.nn.hook_methods`) once there is a hook.

Backward hooks pass the module's arguments and results through a node of their own (`polyad.autograd.passing`), on
which they hang.

To add another sort of hook, add a table to `ForwardHooks` (it runs in ``__call__``) or `StateHooks` (it runs in
``state_dict`` or ``load_state_dict``) and a ``register_..._hook`` method to `HookMethods` that returns the
handle of `polyad.history.hooks.register`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from ..autograd.passing import pass_through
from ..base.state import state
from ..errors import PolyadError
from ..tensor import Tensor

if TYPE_CHECKING:
    from ..history.node import Node

__all__ = ["ForwardHooks", "HookError", "HookTable", "StateHooks"]


class HookError(PolyadError, RuntimeError):
    """A hook returned something that cannot be used in its place."""


class Called(Protocol):
    """What hooks need to know of a module."""

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the hooks run around."""


class PreHook(NamedTuple):
    """A hook that runs before ``forward`` and may replace its arguments."""

    function: Callable[..., Any]
    with_kwargs: bool


class PostHook(NamedTuple):
    """A hook that runs after ``forward`` and may replace its result; with *always_call* it runs after an error, too."""

    function: Callable[..., Any]
    with_kwargs: bool
    always_call: bool

    def __call__(self, module: Called, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        new = self.function(module, args, kwargs, result) if self.with_kwargs else self.function(module, args, result)
        return result if new is None else new


class LegacyBackwardHook(PostHook):
    """What ``register_backward_hook`` registers: it hangs *function* on the node of the first result."""

    __slots__ = ()

    def __call__(self, module: Called, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        first = result
        while isinstance(first, (list, tuple, dict)) and first:
            first = next(iter(first.values() if isinstance(first, dict) else first))
        node = first.grad_fn if isinstance(first, Tensor) else None
        if node is not None:
            node.register_hook(lambda computed, arrived: self.function(module, computed, arrived))
        return result


class ForwardHooks:
    """The hooks around a module's ``forward`` and its backward. False while there are none."""

    __slots__ = ("backward", "backward_pre", "post", "pre")

    def __init__(self) -> None:
        self.pre: dict[int, PreHook] = {}
        self.post: dict[int, PostHook] = {}
        self.backward: dict[int, Callable[..., Any]] = {}
        self.backward_pre: dict[int, Callable[..., Any]] = {}

    def __bool__(self) -> bool:
        if self.pre or self.post or self.backward or self.backward_pre:
            return True
        return self is not EVERY and bool(EVERY)

    def run(self, module: Called, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call ``module.forward`` with its hooks around it."""
        result: Any = None
        called: set[int] = set()
        tables = (self,) if self is EVERY else (EVERY, self)
        posts = {key: post for table in tables for key, post in table.post.items()}
        try:
            for pre in [pre for table in tables for pre in table.pre.values()]:
                args, kwargs = _apply_pre_hook(pre, module, args, kwargs)
            after = [hook for table in tables for hook in table.backward.values()]
            before = [hook for table in tables for hook in table.backward_pre.values()]
            backward = BackwardHooks(module, before, after) if before or after else None
            if backward is not None:
                args = backward.enter(args)
            result = module.forward(*args, **kwargs)
            for key, post in posts.items():
                called.add(key)
                result = post(module, args, kwargs, result)
            return result if backward is None else backward.leave(result)
        except Exception:
            for key, post in posts.items():
                if post.always_call and key not in called:
                    try:
                        result = post(module, args, kwargs, result)
                    except Exception as second:
                        warnings.warn(
                            f"a forward hook with always_call=True failed after forward had failed; its error is not "
                            f"raised: {type(second).__name__}: {second}",
                            stacklevel=3,
                        )
            raise


EVERY = ForwardHooks()
"""The hooks of all modules."""


class BackwardHooks:
    """The backward hooks of a call of a module: what they need to remember between its results and its arguments."""

    def __init__(self, module: Called, before: list[Callable[..., Any]], after: list[Callable[..., Any]]) -> None:
        self._module, self._before, self._after = module, before, after
        self._inputs: list[int] | None = None
        self._count = 0
        self._grad_outputs: tuple[Any, ...] | None = None

    def enter(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, those that need a gradient seen through the hooks' node."""
        self._count = len(args)
        args, self._inputs = self._through(args, lambda node: node.register_hook(self._arguments_done))
        return args

    def leave(self, result: Any) -> Any:
        """The results likewise."""
        several = result if isinstance(result, tuple) else (result,)
        positions: list[int] = []
        count = len(several)

        def results_ready(_: tuple[Any, ...], gradients: tuple[Any, ...]) -> tuple[Any, ...] | None:
            return self._results_ready(positions, count, gradients)

        passed, found = self._through(several, lambda node: node.register_hook(results_ready))
        positions += found or []
        if not isinstance(result, tuple):
            return passed[0]
        return type(result)(*passed) if hasattr(result, "_fields") else passed

    @staticmethod
    def _through(
        values: tuple[Any, ...], install: Callable[[Node], object]
    ) -> tuple[tuple[Any, ...], list[int] | None]:
        positions = [position for position, value in enumerate(values) if isinstance(value, Tensor)]
        tensors = tuple(values[position] for position in positions)
        if not state.grad_enabled or not any(tensor.requires_grad for tensor in tensors):
            return values, None
        passed = list(values)
        for position, tensor in zip(positions, pass_through(tensors, install), strict=True):
            passed[position] = tensor
        return tuple(passed), positions

    def _results_ready(self, positions: list[int], count: int, gradients: tuple[Any, ...]) -> tuple[Any, ...] | None:
        outputs = _placed(positions, gradients, count)
        for hook in self._before:
            outputs = self._replaced("backward pre-hook", "grad_output", hook(self._module, outputs), outputs)
        self._grad_outputs = outputs
        if self._inputs is None:
            # No argument needs a gradient: nothing else will call the hooks.
            for hook in self._after:
                new = hook(self._module, (None,) * self._count, outputs)
                if new is not None and not (isinstance(new, tuple) and all(gradient is None for gradient in new)):
                    raise HookError(
                        f"{type(self._module).__name__}: no argument needs a gradient, a backward hook gave one",
                        operands={"returned": new},
                        fix="return None, or call requires_grad_() on the module's input",
                    )
            self._grad_outputs = None
        return tuple(outputs[position] for position in positions)

    def _arguments_done(self, computed: tuple[Any, ...], _: tuple[Any, ...]) -> tuple[Any, ...] | None:
        if self._grad_outputs is None:
            return None  # the gradient came another way than through the module's results
        assert self._inputs is not None
        inputs = _placed(self._inputs, computed, self._count)
        for hook in self._after:
            new = hook(self._module, inputs, self._grad_outputs)
            inputs = self._replaced("backward hook", "grad_input", new, inputs)
        self._grad_outputs = None
        return tuple(inputs[position] for position in self._inputs)

    def _replaced(self, what: str, name: str, new: Any, old: tuple[Any, ...]) -> tuple[Any, ...]:
        if new is None:
            return old
        if not isinstance(new, (tuple, list)) or len(new) != len(old):
            got = f"{len(new)} values" if isinstance(new, (tuple, list)) else type(new).__name__
            raise HookError(
                f"{type(self._module).__name__}: a {what} returned {got} in the place of {len(old)} of {name}",
                operands={"returned": new},
                fix=f"return a tuple with a gradient (or None) for each of {name}, or None to change nothing",
            )
        return tuple(new)


def _placed(positions: list[int], gradients: tuple[Any, ...], count: int) -> tuple[Any, ...]:
    found: list[Any] = [None] * count
    for position, gradient in zip(positions, gradients, strict=True):
        found[position] = gradient
    return tuple(found)


def _apply_pre_hook(
    hook: PreHook, module: Called, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if hook.with_kwargs:
        new = hook.function(module, args, kwargs)
        if new is None:
            return args, kwargs
        if not (isinstance(new, tuple) and len(new) == 2):
            raise HookError(
                f"{type(module).__name__}: a forward pre-hook with kwargs must return None or (args, kwargs)",
                operands={"returned": new},
                fix="return None to keep the arguments, or a tuple of new args and new kwargs",
            )
        return new
    new = hook.function(module, args)
    if new is None:
        return args, kwargs
    return (new if isinstance(new, tuple) else (new,)), kwargs


class HookTable(MutableMapping[int, Any]):
    """A table of hooks as code for PyTorch sees it: the functions that were registered, by the ids of their handles.

    It is a view, through which hooks can be taken away and put in.

    Args:
        hooks: the table.
        wrap: makes an entry of a function, where entries are more than functions.
        shows: whether an entry belongs to this view.
    """

    __slots__ = ("_hooks", "_shows", "_wrap")

    def __init__(
        self,
        hooks: dict[int, Any],
        wrap: Callable[[Any], Any] | None = None,
        shows: Callable[[Any], bool] = lambda entry: True,
    ) -> None:
        self._hooks, self._wrap, self._shows = hooks, wrap, shows

    def __getitem__(self, key: int) -> Any:
        entry = self._hooks[key]
        if not self._shows(entry):
            raise KeyError(key)
        return entry if self._wrap is None else entry.function

    def __setitem__(self, key: int, function: Any) -> None:
        self._hooks[key] = function if self._wrap is None else self._wrap(function)

    def __delitem__(self, key: int) -> None:
        self[key]  # raises KeyError for what the view does not show
        del self._hooks[key]

    def __iter__(self) -> Iterator[int]:
        return iter([key for key, entry in self._hooks.items() if self._shows(entry)])

    def __len__(self) -> int:
        return sum(map(self._shows, self._hooks.values()))

    def __repr__(self) -> str:
        return repr(dict(self))


class StateHooks:
    """The hooks around a module's ``state_dict`` and ``load_state_dict``."""

    __slots__ = ("load_post", "load_pre", "save_post", "save_pre")

    def __init__(self) -> None:
        self.save_pre: dict[int, Callable[..., Any]] = {}
        self.save_post: dict[int, Callable[..., Any]] = {}
        self.load_pre: dict[int, Callable[..., Any]] = {}
        self.load_post: dict[int, Callable[..., Any]] = {}
