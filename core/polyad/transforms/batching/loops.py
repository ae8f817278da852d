"""Ops that vmap carries out sample by sample, because nothing better is known: counted, and each warned of once.

`report` (`polyad.func.loop_report`) lists them, as `polyad.backends.fallback_report` lists what ran on the host.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...base.locks import Lock
from ...base.state import user_line, warn_user
from ...dispatch.op import Op
from ...ops.creation.factories import zeros
from ...ops.shaping.joining import stack
from ...tensor import Tensor

if TYPE_CHECKING:
    from .vmap_level import VmapLevel


class LoopWarning(UserWarning):
    """vmap carried out an op sample by sample."""


@dataclass(slots=True)
class LoopRecord:
    """An op that vmap looped over.

    Attributes:
        op: its name.
        line: the user's line.
        calls: how often it was called; samples: how many samples it was carried out for, in all.
    """

    op: str
    line: str
    calls: int = 0
    samples: int = 0


_records: dict[tuple[str, str], LoopRecord] = {}
_lock = Lock()


def report() -> tuple[LoopRecord, ...]:
    """What vmap carried out sample by sample since the start, or since `reset_report`; the most samples first.

    >>> from polyad.func import loop_report, reset_loop_report
    >>> reset_loop_report()
    >>> loop_report()
    ()
    """
    with _lock:
        return tuple(sorted(_records.values(), key=lambda record: -record.samples))


def reset_report() -> None:
    """Forget what `report` has counted."""
    with _lock:
        _records.clear()


def note(op: str, samples: int) -> None:
    """Count an op that was called once for each of *samples*."""
    line = user_line()
    with _lock:
        record = _records.setdefault((op, line), LoopRecord(op, line))
        record.calls += 1
        record.samples += samples
        first = record.calls == 1
    if first:
        warn_user(
            f"vmap: {op} has no batching rule and is carried out sample by sample; polyad.func.loop_report() counts it",
            LoopWarning,
        )


def one_by_one(level: VmapLevel, op: Op, values: tuple[Any, ...]) -> Any:
    """The results of *op* for each sample, stacked."""
    note(op.name, level.size)
    samples = [op.call(*[_sample(value, number) for value in values]) for number in range(level.size)]
    if not samples:
        like = op.call(*[_of_none(value) for value in values])
        results = [
            zeros(0, *result.shape, dtype=result.dtype, device=result.device)
            for result in (like if op.outputs else (like,))
        ]
    elif op.outputs:
        results = [stack(parts) for parts in zip(*samples, strict=True)]
    else:
        results = [stack(samples)]
    wrapped = tuple([level.wrap(result) for result in results])
    return wrapped if op.outputs else wrapped[0]


def _sample(value: Any, number: int) -> Any:
    if isinstance(value, list):
        return [_sample(item, number) for item in value]
    if not isinstance(value, Tensor):
        return value
    inner: Tensor = value._inner  # type: ignore[attr-defined]
    return inner.select(0, number) if value._batched else inner  # type: ignore[attr-defined]


def _of_none(value: Any) -> Any:
    """An operand to learn the results' shapes from when there are no samples."""
    if isinstance(value, list):
        return [_of_none(item) for item in value]
    if not isinstance(value, Tensor):
        return value
    return zeros(value.shape, dtype=value.dtype, device=value.device)
