"""Diagnosis of NaN and infinity: anomaly mode for backward as PyTorch has it, `detect_nonfinite` for both directions.

While one of them is on, nodes note where they were recorded (`polyad.autograd.origin`), and the engine shows each
gradient that a node computes to an inspector. Off, they cost nothing: the engine asks once a pass.

Anomaly mode is the process's, as in PyTorch; `detect_nonfinite` is its thread's, a mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from ..base.dtypes import FLOATING
from ..base.state import state, user_line
from ..dispatch.effects import Effect
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..errors import AutogradError, NonFiniteError, describe, wrong_type
from ..history.node import Node
from ..tensor import Tensor
from ..transforms.wrapped import innermost
from . import origin

__all__ = [
    "detect_anomaly", "detect_nonfinite", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "set_detect_anomaly",
]  # fmt: skip

Inspector = Callable[[Node, int, Any, Tensor, tuple[Any, ...]], None]
"""Called with a node, the number of a gradient among those it computed, what had arrived, that gradient, and what was
saved."""


class _Anomaly:
    """Whether anomaly mode is on, and whether it looks for NaN."""

    enabled = False
    check_nan = True

    def set(self, enabled: bool, check_nan: bool) -> None:
        if enabled != self.enabled:
            (origin.watch if enabled else origin.unwatch)()
        self.enabled, self.check_nan = enabled, check_nan


_anomaly = _Anomaly()


def inspector() -> Inspector | None:
    """What is called with each gradient of a backward pass that begins now; None for nothing."""
    if state.inspect is not None:
        return state.inspect  # type: ignore[no-any-return]
    return _refuse_nan if _anomaly.enabled and _anomaly.check_nan else None


class set_detect_anomaly:
    """Set anomaly mode at once; as a context manager, put it back at the end. See `detect_anomaly`.

    >>> import polyad
    >>> with polyad.autograd.set_detect_anomaly(True):
    ...     polyad.is_anomaly_enabled()
    True
    >>> polyad.is_anomaly_enabled()
    False
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        for name, value in (("mode", mode), ("check_nan", check_nan)):
            if not isinstance(value, bool):
                raise wrong_type("set_detect_anomaly", name, value, "a bool")
        self._before = (_anomaly.enabled, _anomaly.check_nan)
        _anomaly.set(mode, check_nan)

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _anomaly.set(*self._before)


class detect_anomaly:
    """Anomaly mode: an error in backward names the forward line it belongs to, and a NaN gradient is an error.

    Run the forward pass inside, too: that is when lines are noted. Each op costs some microseconds more, each gradient
    a search for NaN if *check_nan*. Raises RuntimeError in backward when a node computes NaN.

    >>> import polyad
    >>> x = polyad.tensor([0.0, 4.0], requires_grad=True)
    >>> with polyad.autograd.detect_anomaly():
    ...     y = (x.sqrt() * 0.0).sum()
    ...     y.backward()  # 0 / 0
    Traceback (most recent call last):
        ...
    polyad.errors.NonFiniteError: backward: Function 'SqrtBackward0' returned nan values in its 0th output
        arrived  float32 (2,) on cpu: min 0, max 0, mean 0
        saved    float32 (2,) on cpu: min 0, max 2, mean 1
        gave     float32 (2,) on cpu: 1 nan; of the others min 0, max 0, mean 0
        ...
    """

    def __init__(self, check_nan: bool = True) -> None:
        self._check_nan = check_nan
        self._before: list[tuple[bool, bool]] = []

    def __enter__(self) -> None:
        self._before.append((_anomaly.enabled, _anomaly.check_nan))
        _anomaly.set(True, self._check_nan)

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        _anomaly.set(*self._before.pop())


def set_anomaly_enabled(mode: bool, check_nan: bool = True) -> None:
    """Set anomaly mode, see `detect_anomaly`.

    >>> import polyad
    >>> polyad.set_anomaly_enabled(False)
    """
    set_detect_anomaly(mode, check_nan)


def is_anomaly_enabled() -> bool:
    """Whether anomaly mode is on.

    >>> import polyad
    >>> polyad.is_anomaly_enabled()
    False
    """
    return _anomaly.enabled


def is_anomaly_check_nan_enabled() -> bool:
    """Whether anomaly mode, when it is on, looks for NaN.

    >>> import polyad
    >>> polyad.is_anomaly_check_nan_enabled()
    True
    """
    return _anomaly.check_nan


def _refuse_nan(node: Node, number: int, arrived: Any, gradient: Tensor, saved: tuple[Any, ...]) -> None:
    with _unseen():
        if not bool(innermost(gradient).isnan().any()):
            return
        raise NonFiniteError(
            f"backward: Function '{node.name()}' returned nan values in its {number}th output",
            notes={**_statistics_notes(arrived=arrived, saved=saved, gave=gradient), **origin.notes_of(node)},
            fix=_fix(node),
        )


def _fix(node: Node) -> str:
    if origin.origin_of(node) is None:
        return "run the forward pass in anomaly mode too, to see its line"
    return "keep the operand away from where the function has no derivative, or clamp it"


@contextmanager
def _unseen() -> Iterator[None]:
    """Look at values with no mode active and without recording."""
    before, state.modes, recording, state.grad_enabled = state.modes, (), state.grad_enabled, False
    try:
        yield
    finally:
        state.modes, state.grad_enabled = before, recording


# ----------------------------------------------------------------------------------------------------------- statistics


def statistics(tensor: Tensor) -> str:
    """One line about the numbers of a tensor: how many are NaN or infinite, and the range and mean of the others.

    >>> import polyad
    >>> from polyad.autograd.anomaly import statistics
    >>> statistics(polyad.tensor([1.0, 2.0, float("inf")]))
    'float32 (3,) on cpu: 1 inf; of the others min 1, max 2, mean 1.5'
    """
    with _unseen():
        head = describe(tensor)
        if tensor.numel() == 0:
            return f"{head}: empty"
        values = innermost(tensor).detach()
        if values.dtype.category < FLOATING:
            values = values.double()
        elif values.is_complex():
            values = values.abs()
            head += " (absolute values)"
        values = values.flatten()
        nan, inf = int(values.isnan().sum()), int(values.isinf().sum())
        finite = values[values.isfinite()].double() if values.device.type == "cpu" else values[values.isfinite()]
        odd = ", ".join(f"{count} {name}" for count, name in ((nan, "nan"), (inf, "inf")) if count)
        if finite.numel() == 0:
            return f"{head}: {odd}"
        numbers = f"min {finite.min().item():.4g}, max {finite.max().item():.4g}, mean {finite.mean().item():.4g}"
        return f"{head}: {odd}; of the others {numbers}" if odd else f"{head}: {numbers}"


def _statistics_notes(**named: Any) -> dict[str, str]:
    """`statistics` of the tensors among *named*, which may be sequences of them."""
    notes = {}
    for name, value in named.items():
        several = [
            tensor for tensor in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(tensor, Tensor)
        ]
        for number, tensor in enumerate(several[:4]):
            notes[name if len(several) == 1 else f"{name}[{number}]"] = statistics(tensor)
    return notes


# ----------------------------------------------------------------------------------------------------- detect_nonfinite


def _oddness(values: Any) -> tuple[bool, bool]:
    """Whether there is a NaN, and whether there is an infinity, among the floating point tensors and numbers."""
    nan = inf = False
    for value in values if isinstance(values, (list, tuple)) else (values,):
        if isinstance(value, Tensor):
            value = innermost(value)
            if value.dtype.category >= FLOATING and not bool(value.isfinite().all()):
                nan = nan or bool(value.isnan().any())
                inf = inf or bool(value.isinf().any())
        elif isinstance(value, (list, tuple)):
            more = _oddness(value)
            nan, inf = nan or more[0], inf or more[1]
        elif isinstance(value, float):
            nan, inf = nan or math.isnan(value), inf or math.isinf(value)
    return nan, inf


class detect_nonfinite(Mode):
    """Raise where a NaN or an infinity first appears, in forward or backward.

    An op is to blame if it makes a NaN of numbers, or an infinity of finite numbers; what a program gives itself
    (``full(..., -inf)``, a mask filled with ``-inf``) is not reported, nor what follows from it without a NaN. The
    error names the op or node, the line, the module, and says how the operands' values are distributed. Slow: it waits
    for each result. Raises NonFiniteError, a RuntimeError and a FloatingPointError.

    >>> import polyad
    >>> with polyad.detect_nonfinite():
    ...     polyad.tensor([1.0, 0.0]).log()
    Traceback (most recent call last):
        ...
    polyad.errors.NonFiniteError: log: it made an infinity
        input   float32 (2,) on cpu: min 0, max 1, mean 0.5
        result  float32 (2,) on cpu: 1 inf; of the others min 0, max 0, mean 0
        ...
    """

    def __init__(self) -> None:
        self._outer: list[Any] = []

    def __enter__(self) -> detect_nonfinite:
        self._outer.append(state.inspect)
        state.inspect = self._inspect
        origin.watch()
        return super().__enter__()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        super().__exit__(exception_type, exception, traceback)
        origin.unwatch()
        state.inspect = self._outer.pop()

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Carry the call out and look at its result."""
        updates = False
        if isinstance(op, Effect):
            updates = op.updates
            if not updates:
                return op.call(*args)  # it moves what is there, or gives memory that holds anything
            with _unseen():
                (target, *others), named = op.arguments(args)
                others += named.values()
                before = _oddness((target, others))
                described = _statistics_notes(self=target, others=others)
        result = op.call(*args)
        with _unseen():
            nan, inf = _oddness(result)
            if nan or inf:
                if not updates:
                    before = _oddness(args)
                    described = self._operands(op, args)
                if (nan and not before[0]) or (inf and not any(before)):
                    raise self._error(op, described, result, nan and not before[0])
        return result

    @staticmethod
    def _operands(op: Op | Effect, args: tuple[Any, ...]) -> dict[str, str]:
        notes: dict[str, str] = {}
        for name, value in zip(getattr(op, "names", ()), args, strict=False):
            notes.update(_statistics_notes(**{name: value}))
        return notes

    @staticmethod
    def _error(op: Op | Effect, described: dict[str, str], result: Any, nan: bool) -> AutogradError:
        return NonFiniteError(
            f"{op.name}: it made {'a NaN' if nan else 'an infinity'}",
            notes={**described, **_statistics_notes(result=result), "line": user_line()},
            fix="look at the operands: a logarithm or a division of zero, an overflow, a step that was too long",
        )

    @staticmethod
    def _inspect(node: Node, number: int, arrived: Any, gradient: Tensor, saved: tuple[Any, ...]) -> None:
        with _unseen():
            nan, inf = _oddness(gradient)
            if not (nan or inf):
                return
            before = _oddness(arrived)
            if (nan and not before[0]) or (inf and not any(before)):
                raise NonFiniteError(
                    f"backward: {node.name()} made {'a NaN' if nan and not before[0] else 'an infinity'}, "
                    f"in gradient {number}",
                    notes={**_statistics_notes(arrived=arrived, saved=saved, gave=gradient), **origin.notes_of(node)},
                    fix=_fix(node),
                )
