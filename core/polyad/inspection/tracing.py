"""Which kernel ran, and why: `trace_dispatch` logs what happens, `explain` says what would.

Both answer from the plan that dispatch itself uses, so they cannot disagree with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ..backend.interface import Kernel, TensorType
from ..backend.preparation import flat, prepare
from ..base import provided
from ..base.state import state, user_line
from ..devices import fallback, plugins, registry
from ..dispatch.effects import Effect
from ..dispatch.inplace import _direct
from ..dispatch.modes import Mode
from ..dispatch.op import OPS, PUBLIC, Op
from ..dispatch.plan import Plan, find_plan, fused_unless_gradient, signature_of
from ..errors import ArgumentTypeError, describe, safe_repr
from ..tensor import Tensor

__all__ = ["Explanation", "TraceEntry", "TraceLog", "explain", "trace_dispatch"]


@dataclass(slots=True)
class TraceEntry:
    """One call of an op or effect.

    Attributes:
        op: its name.
        path: "kernel", "decomposition", "fallback", "cast", "view", or "effect" for what is no op.
        origin: who supplied the kernel; empty where none ran.
        operands: the operands as dtype, shape and device, or the numbers themselves.
        line: the user's line.
        depth: 0 for what the program called, more for the calls inside that.
        failed: whether it raised.
    """

    op: str
    path: str
    origin: str
    operands: tuple[str, ...]
    line: str
    depth: int
    failed: bool = False

    def __str__(self) -> str:
        how = f"{self.path} of {self.origin}" if self.origin else self.path
        return f"{'  ' * self.depth}{self.op}({'; '.join(self.operands)})  {'FAILED in ' if self.failed else ''}{how}"


class TraceLog(Mode):
    """What ran while `trace_dispatch` was active; iterates over `TraceEntry` and prints as a listing."""

    def __init__(self) -> None:
        self.entries: list[TraceEntry] = []
        self._depth = 0

    def __len__(self) -> int:
        return len(self.entries)

    def __iter__(self) -> Iterator[TraceEntry]:
        return iter(self.entries)

    def __getitem__(self, position: int) -> TraceEntry:
        return self.entries[position]

    def __str__(self) -> str:
        rows = [(str(entry), entry.line) for entry in self.entries]
        width = max((len(text) for text, _ in rows), default=0)
        return "\n".join(f"{text:<{width}}  {line}".rstrip() for text, line in rows) or "nothing ran"

    def __repr__(self) -> str:
        return f"<trace of {len(self.entries)} calls>"

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Log the call and carry it out, logging the calls inside it."""
        entry = TraceEntry(op.name, "effect", "", _operands(op, args), user_line(), self._depth)
        self.entries.append(entry)
        self._depth += 1
        try:
            return self._carry_out(op, args, entry)
        except BaseException:
            entry.failed = True
            raise
        finally:
            self._depth -= 1

    def _carry_out(self, op: Op | Effect, args: tuple[Any, ...], entry: TraceEntry) -> Any:
        if isinstance(op, Effect):
            plan = _written_directly(op, args)
            if plan is not None:
                entry.path, entry.origin = "kernel", plan.origin
            elif op.body is not None and not state.modes:
                with self:
                    return op.body(*args)
            return op.call(*args)
        if op.kind == "view":
            entry.path = "view"
            return op.call(*args)
        plan = find_plan(op, args)
        entry.path, entry.origin = plan.path, plan.origin
        needs_grad = any(isinstance(value, Tensor) and value._node is not None for value in _tensors(args))
        fused = isinstance(plan.indirect, partial) and plan.indirect.func is fused_unless_gradient
        if fused and needs_grad and state.grad_enabled:
            entry.path, entry.origin = "decomposition", ""
        if plan.indirect is None or state.modes or entry.path in ("kernel", "lowered"):
            # An outer mode is to see the op whole, as it would without this mode.
            return op.call(*args)
        with self:
            return plan.indirect(op, args, needs_grad)


def trace_dispatch() -> TraceLog:
    """Log every op that runs inside: which kernel of whom, decomposed or on the host, with operands and your line.

    The calls inside an op are indented under it. Slows ops down; results are the same.

    >>> import polyad
    >>> with polyad.trace_dispatch() as log:
    ...     _ = polyad.ones(2).sort()
    >>> [(entry.op, entry.path, entry.origin) for entry in log]
    [('full', 'decomposition', ''), ('sort', 'kernel', 'polyad_numpy')]
    """
    return TraceLog()


def _tensors(args: tuple[Any, ...]) -> Iterator[Any]:
    for arg in args:
        if isinstance(arg, (list, tuple)):
            yield from _tensors(tuple(arg))
        else:
            yield arg


def _operands(op: Op | Effect, args: tuple[Any, ...]) -> tuple[str, ...]:
    if isinstance(op, Op):
        args = args[: len(op.operands)]
    return tuple(
        describe(arg) if isinstance(arg, Tensor) else str(arg)
        for arg in _tensors(args)
        if arg is not None and arg != {}
    )


def _written_directly(effect: Effect, args: tuple[Any, ...]) -> Plan | None:
    """The plan of an in-place form whose kernel writes into its target, as `polyad.dispatch.inplace` decides it."""
    if effect.op is None or state.modes:
        return None
    operands, named = effect.arguments(args)
    if named:
        return None
    if state.grad_enabled and any(isinstance(operand, Tensor) and operand._node is not None for operand in operands):
        return None
    if _direct(effect.op, operands[0], operands[1:]) is None:
        return None
    return find_plan(effect.op, operands)


# ------------------------------------------------------------------------------------------------------------ explain


@dataclass(slots=True)
class Explanation:
    """How a call would be carried out; prints as a text.

    Attributes:
        op: the op that the call comes down to.
        path, origin: as in `TraceEntry`.
        device: where it would run.
        lines: the reasons, one a line.
    """

    op: str
    path: str
    origin: str
    device: str
    lines: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        how = f"{self.path} of {self.origin}" if self.origin else self.path
        return "\n".join([f"{self.op} on {self.device}: {how}", *(f"    {line}" for line in self.lines)])

    __repr__ = __str__


class _Explained(BaseException):
    """Carries the explanation out of the call before anything has run."""

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation


class _Explain(Mode):
    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        if isinstance(op, Effect):
            operands, named = op.arguments(args)
            if op.op is not None and not named:
                raise _Explained(explanation_of(op.op, operands))
            if op.updates and op.body is not None:
                with self:  # the function comes before the write, and nothing comes after its first op
                    return op.body(*args)
            raise _Explained(
                Explanation(op.name, "effect", "", _device_of(args), ["not an op: it has no kernel of its own"])
            )
        if op.kind == "view":
            return op.call(*args)  # arithmetic on shape and strides; the op behind it is what matters
        raise _Explained(explanation_of(op, args))


def explain(op: str | Callable[..., Any], *args: Any, **kwargs: Any) -> Explanation:
    """Say which kernel a call would run and why, without running it.

    *op* is an op's name, or a function such as ``polyad.add``; of a function that calls several ops, the first that is
    no view is explained. Raises TypeError for an unknown op, and what the call itself would raise for wrong operands.

    >>> import polyad
    >>> print(polyad.explain("sort", polyad.ones(2)))  # doctest: +ELLIPSIS
    sort on cpu: kernel of polyad_numpy
        takes   float32
        ...
    """
    call = _callable(op)
    name = op if isinstance(op, str) else getattr(op, "__name__", repr(op))
    # Outer modes are set aside: nothing happens that they should see.
    outer, state.modes = state.modes, ()
    try:
        with _Explain():
            call(*args, **kwargs)
    except _Explained as found:
        return found.explanation
    finally:
        state.modes = outer
    device = _device_of(args)
    return Explanation(
        name, "view", "", device, ["only shape and strides change: no kernel runs and no memory is touched"]
    )


def _callable(op: str | Callable[..., Any]) -> Callable[..., Any]:
    if isinstance(op, str):
        found = PUBLIC[op].call if op in PUBLIC else OPS[op].call if op in OPS else getattr(Tensor, op, None)
        if found is None:
            from difflib import get_close_matches

            close = get_close_matches(op, {*PUBLIC, *OPS}, 3)
            raise ArgumentTypeError(
                f"explain: there is no op {safe_repr(op)}",
                fix=f"did you mean {', '.join(close)}?" if close else "pass a name from polyad.*",
            )
        return found
    if not callable(op):
        raise ArgumentTypeError(
            f"explain: {safe_repr(op)} is no op", fix='pass a name such as "add" or a function such as polyad.add'
        )
    return op


def _device_of(args: tuple[Any, ...]) -> str:
    return next(
        (str(arg.device) for arg in _tensors(args) if isinstance(arg, Tensor)), str(registry.get_default_device())
    )


def explanation_of(op: Op, args: tuple[Any, ...]) -> Explanation:
    """How a call of *op* would be carried out, without running it."""
    types = signature_of(op, args)
    plan = find_plan(op, args)
    device = str(plan.types[0].device) if plan.types else _device_of(args)
    explained = Explanation(op.name, plan.path, plan.origin, device)
    lines = explained.lines
    names = [
        entry.dtype.name if isinstance(entry, TensorType) else entry.__name__
        for entry in flat(types)
        if entry is not type(None)
    ]
    lines.append(f"takes   {', '.join(names) or 'no operands'}")
    lines.append(f"gives   {', '.join(type_.dtype.name for type_ in plan.types)}")
    if plan.path == "cast":
        casts = [
            f"{name} to {dtype.name}"
            for name, dtype, type_ in zip(op.operands, plan.casts, types, strict=True)
            if dtype is not None
            and any(isinstance(part, TensorType) and part.dtype is not dtype for part in flat((type_,)))
        ]
        lines.append(
            f"first   operands are brought to one dtype: {', '.join(casts)}; then {op.name} is looked up again"
        )
        return explained
    backend = registry.get(device.partition(":")[0])
    taken = False
    for kernel in plugins.candidate_kernels(backend, op.name):
        lines.append(
            f"kernel  {kernel.origin}: {'not needed, an earlier one was taken' if taken else _verdict(kernel, types)}"
        )
        taken = taken or prepare(kernel, types) is not None
    if op.body is not None and taken and not op.formulas:
        lines.append(
            "but     where a gradient is needed its decomposition runs, since the op has no gradient of its own"
        )
    if plan.path == "lowered":
        lines.append(f"so      {plan.origin} runs a kernel that is generated from the op's body")
    elif plan.path == "decomposition":
        why = "none takes this call" if len(lines) > 2 else f"{device} has no kernel for it"
        lines.append(f"so      {why}: it is carried out in other ops (a composite)")
        reason = provided.why_composed(op, types)
        if reason:
            lines.append(f"        no kernel is generated from its body: {reason}")
    elif plan.path == "fallback":
        lines.append(f"so      no kernel takes this call: the host stands in, by the policy {fallback.get_policy()!r}")
        if fallback.get_policy() == "error":
            lines.append(
                '        the call would raise MissingKernel; polyad.backends.set_fallback("warn") or "allow" permits it'
            )
    return explained


def _verdict(kernel: Kernel, types: tuple[Any, ...]) -> str:
    if kernel.dtypes is not None:
        refused = sorted(
            {t.dtype.name for t in flat(types) if isinstance(t, TensorType) and t.dtype not in kernel.dtypes}
        )
        if refused:
            taken = sorted(dtype.name for dtype in kernel.dtypes)
            return f"does not take {', '.join(refused)}; it takes {', '.join(taken)}"
    if prepare(kernel, types) is None:
        return "has no form for this signature"
    extra = ["made for this signature"] * (kernel.specialize is not None) + [
        "copies operands that are not row-major"
    ] * kernel.contiguous
    return "taken" + (f" ({', '.join(extra)})" if extra else "")
