"""A lint session: what it sees of a program, and how it reports.

A session is a mode, which sees ops and backward passes, and a watcher (`polyad.base.state.ThreadState.watchers`), which is
told of module calls and of optimizers' steps. It passes everything on unchanged: a program computes the same with and
without. What it saw it hands to its rules.

Invariants: a rule holds what it sees weakly; it never keeps a tensor, a graph or a module alive. Nothing that a rule
computes is seen by modes. A mistake is reported once for each thing (an optimizer, a model) that makes it.

To add a rule, derive from `Rule`, override the events it needs, and list it in `polyad.inspection.linting.RULES`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ...base.state import state, warn_user
from ...dispatch.effects import Effect, Record, Result
from ...dispatch.modes import Mode
from ...tensor import Tensor
from .codes import CODES

if TYPE_CHECKING:
    from ...dispatch.op import Op
    from ...history.node import Node
    from ...nn.modules.module import Module
    from ...optim.optimizer import Optimizer

__all__ = ["Rule", "Session", "nodes_above", "tensors_in"]


class Rule:
    """What looks for a mistake. Events come in the order in which they happen; override those that are needed."""

    code = ""
    ops: Mapping[str, Callable[..., None]] = {}
    """Ops it wants to see, by name, with ``handler(operands, result)``; filled by subclasses in ``__init__``."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def before_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        """A backward pass from *roots* begins; *accumulates* is False for ``autograd.grad``."""

    def after_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        """The pass is over."""

    def backward_failed(self, roots: list[Tensor], error: Exception) -> None:
        """The pass raised *error*, which may be added to."""

    def model_called(self, model: Module, result: Any) -> None:
        """A module that no other module called has returned *result*."""

    def after_step(self, optimizer: Optimizer) -> None:
        """An optimizer has taken a step."""

    def finish(self) -> None:
        """The session ends."""


class Session(Mode):
    """One stretch of a program under lint; `polyad.lint` makes it.

    Attributes:
        found: the warnings reported, as (code, text).
        patience: steps after which "never" is said of a parameter without a gradient.
    """

    def __init__(self, rules: Iterable[type[Rule]], patience: int) -> None:
        self.found: list[tuple[str, str]] = []
        self.patience = patience
        self.models: weakref.WeakSet[Module] = weakref.WeakSet()
        self._rules = [rule(self) for rule in rules]
        self._handlers: dict[str, list[Callable[..., None]]] = {}
        for rule in self._rules:
            for name, handler in rule.ops.items():
                self._handlers.setdefault(name, []).append(handler)
        self._depth = 0
        self._running = False
        self._reported: set[tuple[str, int]] = set()

    # ------------------------------------------------------------------------------------------------------ on and off

    def start(self) -> Session:
        """Begin to watch this thread; does nothing if it is watched already."""
        if not self._running:
            self._running = True
            super().__enter__()
            state.watchers = (*state.watchers, self)
        return self

    def stop(self) -> None:
        """End; what came before goes on, such as an outer session."""
        if self._running:
            self._running = False
            super().__exit__(None, None, None)
            state.watchers = tuple(watcher for watcher in state.watchers if watcher is not self)
            for rule in self._rules:
                rule.finish()

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(self, *error: Any) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<lint {'on' if self._running else 'off'}, {len(self.found)} found>"

    # --------------------------------------------------------------------------------------------------------- events

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Pass the call on, and look at it if a rule wants to."""
        if isinstance(op, Effect) and op.record is Record.FOLLOWED:
            return self._backward(op, args) if state.watchers and state.watchers[-1] is self else op.call(*args)
        result = op.call(*args)
        handlers = self._handlers.get(op.name)
        if handlers is not None and state.watchers and state.watchers[-1] is self:
            with unseen():
                for handler in handlers:
                    handler(args, result)
        return result

    def _backward(self, op: Effect, args: tuple[Any, ...]) -> Any:
        given = args[0]
        roots = [given] if isinstance(given, Tensor) else list(tensors_in(given))
        accumulates = op.result is Result.NOTHING
        with unseen():
            for rule in self._rules:
                rule.before_backward(roots, accumulates)
        # What backward calls, hooks and checkpointed modules, is no step of the program's own.
        watchers, state.watchers = state.watchers, ()
        try:
            result = op.call(*args)
        except Exception as error:
            for rule in self._rules:
                rule.backward_failed(roots, error)
            raise
        finally:
            state.watchers = watchers
        with unseen():
            for rule in self._rules:
                rule.after_backward(roots, accumulates)
        return result

    def call_module(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a module, and note it if no other module is at work."""
        self._depth += 1
        try:
            result = module._call(args, kwargs)
        finally:
            self._depth -= 1
        if self._depth == 0:
            self.models.add(module)
            with unseen():
                for rule in self._rules:
                    rule.model_called(module, result)
        return result

    def stepped(self, optimizer: Optimizer) -> None:
        """Note that an optimizer has taken a step."""
        with unseen():
            for rule in self._rules:
                rule.after_step(optimizer)

    # -------------------------------------------------------------------------------------------------------- reports

    def report(self, code: str, what: str, fix: str, subject: Any = None, **notes: str) -> None:
        """Warn of a mistake, once a *subject*."""
        key = (code, id(subject))
        if key in self._reported:
            return
        self._reported.add(key)
        lines = {**notes, "fix": fix, "more": f"docs/lint.md#{code.lower()}; silence: polyad.lint(ignore=[{code!r}])"}
        width = max(map(len, lines))
        text = "\n".join([f"{code}: {what}", *(f"    {name:<{width}}  {line}" for name, line in lines.items())])
        self.found.append((code, text))
        warn_user(text, CODES[code])

    def name_of(self, parameter: Tensor) -> str:
        """The parameter's path in a model that was called, or its shape."""
        for model in self.models:
            for name, candidate in model.named_parameters():
                if candidate is parameter:
                    return name
        return f"a parameter of shape {tuple(parameter.shape)}"

    def names_of(self, parameters: list[Tensor]) -> str:
        """The names of some parameters, the first few of many."""
        names = [self.name_of(parameter) for parameter in parameters[:4]]
        return ", ".join(names) + (f" and {len(parameters) - 4} more" if len(parameters) > 4 else "")


@contextmanager
def unseen() -> Iterator[None]:
    """Work that no mode and no watcher sees."""
    modes, watchers, state.modes, state.watchers = state.modes, state.watchers, (), ()
    try:
        yield
    finally:
        state.modes, state.watchers = modes, watchers


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors_in(part)


def nodes_above(roots: list[Tensor], oldest: int = 0) -> Iterator[Node]:
    """The nodes that *roots* were computed by, without those older than event number *oldest*."""
    stack = [root._node for root in roots if root._node is not None]
    seen: set[Node] = set(stack)
    while stack:
        node = stack.pop()
        yield node
        for target in node.targets():
            if target not in seen and target.seq >= oldest:
                seen.add(target)
                stack.append(target)
