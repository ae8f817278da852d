"""`FlopCounterMode`: how many multiplications and additions the matrix products and convolutions of a program take.

Counted are the ops in `flop_registry`, as in PyTorch: nothing else, neither what is computed element by element nor
products with vectors. How many a call takes is what the op's structure says (`polyad.dispatch.structure`), two for each
product. An op that is made of others is looked into, by carrying out its body without data.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable
from types import TracebackType
from typing import Any

from ..base.device import Device
from ..base.state import state
from ..base.trees import flatten, map_leaves
from ..dispatch.declared import Op
from ..dispatch.effects import Effect
from ..dispatch.modes import Mode
from ..dispatch.op import OPS
from ..dispatch.structure import Contraction, Opaque
from ..errors import ArgumentTypeError, NoData
from ..functions import empty
from ..history.grad_mode import no_grad
from ..nn.modules.module import Module
from ..tensor import Tensor

__all__ = ["FlopCounterMode", "flop_registry", "register_flop_formula"]

Formula = Callable[..., int]

flop_registry: dict[str, Formula | None] = dict.fromkeys(
    ("gemm", "convolution", "convolution_transposed", "convolution_weight_grad", "linear_weight_grad")
)
"""What is counted: an op's name, with a formula of its own or None."""

META = Device("meta")
_NOT_COUNTED = frozenset({"mv", "dot", "vdot", "vector_product", "addmv"})


def register_flop_formula(targets: str | Iterable[str], get_raw: bool = False) -> Callable[[Formula], Formula]:
    """A decorator for a formula that counts a call of the ops called *targets*: from its arguments, with shapes in the
    place of tensors, and ``out_shape``; with *get_raw* from the arguments themselves, and ``out_val``.

    >>> import polyad
    >>> from polyad.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula
    >>> @register_flop_formula("exp")
    ... def exp_flops(input_shape, *, out_shape):
    ...     return 10 * input_shape.numel()
    >>> with FlopCounterMode(display=False) as counter:
    ...     _ = polyad.ones(2, 3).exp()
    >>> counter.get_total_flops(), flop_registry.pop("exp") is not None
    (60, True)
    """
    names = [targets] if isinstance(targets, str) else list(targets)
    for name in names:
        if not isinstance(name, str) or name not in OPS:
            raise ArgumentTypeError(f"register_flop_formula: there is no op {name!r}", fix="see `polyad ops`")

    def register(formula: Formula) -> Formula:
        def counted(*args: Any, out_val: Any) -> int:
            if get_raw:
                return formula(*args, out_val=out_val)
            shown, out = map_leaves(lambda one: one.shape if isinstance(one, Tensor) else one, [list(args), out_val])
            return formula(*shown, out_shape=out)

        for name in names:
            flop_registry[name] = counted
        return formula

    return register


class FlopCounterMode(Mode):
    """Counts, while it is entered, forward and backward, in all and by module; at the end it prints a table.

    Args:
        mods: taken and not needed: modules are seen when they are called.
        depth: how many levels of modules the table shows.
        display: whether to print it.
        custom_mapping: formulas by an op's name, as `register_flop_formula` registers them with ``get_raw``.

    >>> import polyad
    >>> from polyad import nn
    >>> model = nn.Sequential(nn.Linear(4, 5), nn.ReLU(), nn.Linear(5, 2))
    >>> with polyad.utils.flop_counter.FlopCounterMode(display=False) as counter:
    ...     model(polyad.ones(3, 4)).sum().backward()
    >>> counter.get_total_flops()
    420
    >>> {name: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    {'Global': 420, 'Sequential': 420, 'Sequential.0': 240, 'Sequential.2': 180}
    """

    def __init__(
        self,
        mods: Module | list[Module] | None = None,
        depth: int = 2,
        display: bool = True,
        custom_mapping: dict[str, Formula] | None = None,
    ) -> None:
        self.depth, self.display = depth, display
        self.formulas = {**flop_registry, **(custom_mapping or {})}
        self.flop_counts: dict[str, Counter[str]] = {"Global": Counter()}
        self._path: tuple[str, ...] = ()
        self._modules: list[Module] = []
        self._handles: list[Any] = []
        self._inside: dict[Any, Counter[str]] = {}

    # ------------------------------------------------------------------------------------------------------- results

    def get_total_flops(self) -> int:
        """All that was counted."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        """By module, and for "Global" altogether, the operations of each op by its name."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The table, down to *depth* levels of modules."""
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        rows = [("module", "FLOP", "of all")]
        for name, counts in self.flop_counts.items():
            if name.count(".") < depth and (name != "Global" or len(self.flop_counts) == 1):
                lines = [(name, sum(counts.values())), *((f" - {op}", count) for op, count in counts.items())]
                rows += [(text, f"{count:,}", f"{count / max(total, 1):.1%}") for text, count in lines]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows)

    # ------------------------------------------------------------------------------------------------------ counting

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts = {"Global": Counter()}
        self._path = ()
        state.watchers = (*state.watchers, self)
        return super().__enter__()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(exception_type, exception, traceback)
        state.watchers = tuple(watcher for watcher in state.watchers if watcher is not self)
        while self._handles:
            self._handles.pop().remove()
        if self.display:
            sys.stdout.write(self.get_table() + "\n")

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Count the call; of a backward pass and other effects, the ops inside it."""
        if isinstance(op, Effect) and op.body is not None:
            path, before = self._path, state.modes
            state.modes = (*before, self)
            try:
                return op.body(*args)
            finally:
                self._path, state.modes = path, before
        if isinstance(op, Effect):
            return op.call(*args)
        result = op.call(*args)
        found = self.count_of(op, args, result)
        for end in range(len(self._path) + 1) if found else ():
            name = ".".join(self._path[:end]) or "Global"
            self.flop_counts.setdefault(name, Counter()).update(found)
        return result

    def count_of(self, op: Op, args: tuple[Any, ...], result: Any) -> Counter[str]:
        """The operations of a call by op."""
        if op.name in self.formulas:
            formula = self.formulas[op.name]
            if formula is not None:
                return Counter({op.name: formula(*args, out_val=result)})
            shapes = [one.shape if isinstance(one, Tensor) else None for one in args[: len(op.operands)]]
            return Counter({op.name: op.structure.operations([result.shape], shapes, args[len(op.operands) :])})
        if not _is_made_of_others(op):
            return Counter()
        key = (op.name, *map(_told, flatten(list(args))[0]))
        if key not in self._inside:
            self._inside[key] = _Inside(self).counted(op, args)
        return self._inside[key]

    # ------------------------------------------------------------------------------------------------------- modules

    def call_module(self, module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a module, and note that what it calls, and the backward pass through it, is its."""
        above = state.watchers[: state.watchers.index(self)]
        before = self._path
        self._path = path = (*before, *self._name_of(module))
        self._modules.append(module)
        try:
            self._watch((args, kwargs), lambda gradient: self._left(path))
            result = above[-1].call_module(module, args, kwargs) if above else module._call(args, kwargs)
            self._watch(result, lambda gradient: self._entered(path))
            return result
        finally:
            self._modules.pop()
            self._path = before

    def stepped(self, optimizer: Any) -> None:
        """An optimizer's step is passed on to whoever watches outside."""
        for watcher in state.watchers[: state.watchers.index(self)][-1:]:
            watcher.stepped(optimizer)

    def _name_of(self, module: Module) -> list[str]:
        if self._modules:
            for name, inner in self._modules[-1].named_modules():
                if inner is module and name:
                    return name.split(".")
        return [type(module).__name__]

    def _watch(self, values: Any, hook: Callable[[Tensor], None]) -> None:
        for value in flatten(values)[0]:
            if isinstance(value, Tensor) and value.requires_grad and state.grad_enabled:
                self._handles.append(value.register_hook(hook))

    # Where a backward pass is: the gradient of a module's result begins the module, the gradient of what it was given
    # ends it. Where one tensor is the result of several modules, one in the other, the innermost is told first.

    def _entered(self, path: tuple[str, ...]) -> None:
        if self._path[: len(path)] != path:
            self._path = path

    def _left(self, path: tuple[str, ...]) -> None:
        if self._path[: len(path)] == path:
            self._path = path[:-1]


class _Inside(Mode):
    """Counts what the body of an op calls, which it carries out on tensors without data."""

    def __init__(self, counter: FlopCounterMode) -> None:
        self.counter = counter
        self.found: Counter[str] = Counter()

    def counted(self, op: Op, args: tuple[Any, ...]) -> Counter[str]:
        """The operations of a call."""
        shown = map_leaves(
            lambda one: empty(one.shape, dtype=one.dtype, device=META) if isinstance(one, Tensor) else one, list(args)
        )
        before, state.modes = state.modes, (self,)
        try:
            with no_grad():
                self._enter(op, tuple(shown))
        except (NoData, NotImplementedError):
            pass  # how much it computes depends on the elements
        finally:
            state.modes = before
        return self.found

    def _enter(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        before, state.modes = state.modes, (self,)
        try:
            return op.body(*args)  # type: ignore[misc]
        finally:
            state.modes = before

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Count the call, or enter it."""
        if isinstance(op, Effect):
            return op.call(*args) if op.body is None else self._enter(op, args)
        if op.name not in self.counter.formulas and _is_made_of_others(op):
            return self._enter(op, args)
        result = op.call(*args)
        self.found.update(self.counter.count_of(op, args, result))
        return result


def _is_made_of_others(op: Op) -> bool:
    return op.kind == "composite" and op.name not in _NOT_COUNTED and isinstance(op.structure, (Contraction, Opaque))


def _told(value: Any) -> Any:
    """What a count depends on."""
    return (tuple(value.shape), value.dtype) if isinstance(value, Tensor) else repr(value)
