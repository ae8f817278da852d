"""Mistakes between backward and the optimizer: gradients left over (PL001), parameters left out (PL003), parameters
that nothing reaches (PL007).
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

from ...history.node import Leaf
from ...nn.parameter import Parameter
from ...optim.optimizer import Optimizer
from ...tensor import Tensor
from .session import Rule, Session, nodes_above

__all__ = ["AlwaysNone", "NotCleared", "NotHeld"]


class _Gradient:
    """The gradient of a parameter since the last step that used it."""

    __slots__ = ("gradient", "grown", "owner", "version")

    def __init__(self, owner: weakref.ref[Tensor], gradient: Tensor) -> None:
        self.owner = owner
        self.grown = False
        self.see(gradient)

    def see(self, gradient: Tensor) -> None:
        self.gradient = weakref.ref(gradient)
        self.version = gradient._version

    def is_as_seen(self, gradient: Tensor | None) -> bool:
        """Whether nobody has replaced it or written to it since."""
        return gradient is not None and self.gradient() is gradient and gradient._version == self.version


class NotCleared(Rule):
    """PL001. A backward added to a gradient that a step had used already, and the next step used the sum.

    Several backwards before a step are accumulation, and are none of it; nor is a gradient that the program has written
    to since the step, were it to zero it, to scale it, or to put another in its place.
    """

    code = "PL001"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._used: dict[int, _Gradient] = {}
        self._intact: list[tuple[Tensor, _Gradient]] = []

    def before_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        self._intact = []
        for key, used in list(self._used.items()):
            owner = used.owner()
            if owner is None or not used.is_as_seen(owner._grad):
                del self._used[key]
            elif accumulates:
                self._intact.append((owner, used))

    def after_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        for owner, used in self._intact:
            gradient = owner._grad
            if gradient is not None and not used.is_as_seen(gradient):
                used.grown = True
                used.see(gradient)
        self._intact = []

    def after_step(self, optimizer: Optimizer) -> None:
        held: list[Tensor] = [
            param for group in optimizer.param_groups for param in group["params"] if param._grad is not None
        ]
        grown = [
            param
            for param in held
            if (used := self._used.get(id(param))) is not None
            and used.owner() is param
            and used.grown
            and used.gradient() is param._grad
        ]
        for param in held:
            if param._grad is not None:
                self._used[id(param)] = _Gradient(weakref.ref(param), param._grad)
        if grown:
            self.session.report(
                self.code,
                f"{type(optimizer).__name__}.step() used gradients that still contain those of an earlier step",
                "call optimizer.zero_grad() once a step, before backward",
                optimizer,
                of=self.session.names_of(grown),
            )


class NotHeld(Rule):
    """PL003. A parameter has a gradient at two steps of an optimizer that holds others of the same model, has not been
    changed by anybody in between, and no optimizer in the program holds it.

    Frozen parameters have no gradients; parameters of another optimizer, whenever it steps, are held.
    """

    code = "PL003"

    WALKS = 3
    """Graphs that are searched for parameters which no module has registered."""

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._reached: dict[int, weakref.ref[Tensor]] = {}
        self._walks = 0
        self._seen: dict[int, tuple[weakref.ref[Tensor], int, Any]] = {}
        self._settled: set[int] = set()

    def before_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        if not accumulates or self._walks >= self.WALKS:
            return
        self._walks += 1
        for node in nodes_above(roots):
            if isinstance(node, Leaf):
                tensor = node.tensor()
                if isinstance(tensor, Parameter):
                    self._reached[id(tensor)] = weakref.ref(tensor)

    def after_step(self, optimizer: Optimizer) -> None:
        own = {id(param) for group in optimizer.param_groups for param in group["params"]}
        related: dict[int, Tensor] = {}
        for model in list(self.session.models):
            params = list(model.parameters())
            if any(id(param) in own for param in params):
                related.update((id(param), param) for param in params)
        reached = [tensor for ref in self._reached.values() if (tensor := ref()) is not None]
        if any(id(tensor) in own for tensor in reached):
            related.update((id(tensor), tensor) for tensor in reached)
        left_out = []
        for key, param in related.items():
            if key in own or key in self._settled or param._grad is None or not param.requires_grad:
                continue
            now = (param._version, _fingerprint(param))
            seen = self._seen.get(key)
            if seen is None or seen[0]() is not param:
                self._seen[key] = (weakref.ref(param), *now)
            elif seen[1:] == now:
                left_out.append(param)
            else:
                self._settled.add(key)  # the program itself updates it
        if not left_out:
            return
        self._settled |= {id(param) for param in left_out}
        held = _held_by_any_optimizer()
        forgotten = [param for param in left_out if id(param) not in held]
        if forgotten:
            self.session.report(
                self.code,
                f"no optimizer holds {len(forgotten)} of the parameters that backward computes gradients for",
                "give them to the optimizer (one made before a parameter was replaced holds the old one; layers in a "
                "plain list are in no model.parameters(), in an nn.ModuleList they are), or freeze them: "
                "requires_grad_(False)",
                optimizer,
                left_out=self.session.names_of(forgotten),
            )


def _fingerprint(param: Tensor) -> Any:
    """A number that a change of the values changes, also a change through ``.data``."""
    return repr(param.detach().sum().item())


def _held_by_any_optimizer() -> set[int]:
    """Ids of the parameters of all optimizers there are. Slow; asked only when a warning depends on it."""
    return {
        id(param)
        for tracked in gc.get_objects()
        if isinstance(tracked, Optimizer)
        for group in getattr(tracked, "param_groups", ())
        for param in group["params"]
    }


class AlwaysNone(Rule):
    """PL007. A parameter that an optimizer holds, and that requires a gradient, had none at any of its first steps."""

    code = "PL007"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._counts: weakref.WeakKeyDictionary[Optimizer, list[Any]] = weakref.WeakKeyDictionary()

    def after_step(self, optimizer: Optimizer) -> None:
        entry = self._counts.setdefault(optimizer, [0, set()])
        params = [param for group in optimizer.param_groups for param in group["params"]]
        with_grad = {id(param) for param in params if param._grad is not None}
        if not with_grad or entry[0] >= self.session.patience:
            return
        entry[0] += 1
        entry[1] |= with_grad
        if entry[0] < self.session.patience:
            return
        never = [param for param in params if id(param) not in entry[1] and param.requires_grad]
        if never:
            self.session.report(
                self.code,
                f"{len(never)} parameters of {type(optimizer).__name__} had no gradient in {entry[0]} steps",
                "is the layer used in forward, and is there no detach() or no_grad() between it and the loss? "
                "Freeze what is not to be trained: requires_grad_(False)",
                optimizer,
                never=self.session.names_of(never),
            )
