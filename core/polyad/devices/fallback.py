"""What happens to an op for which a device has no kernel: the policy, running it on the host, and the account of it.

Nothing falls back silently. The policy is "error" (the default), "warn" or "allow"; every op run on the host is counted
with the bytes that travelled and the user's line. The policy is the process's, so that it holds in worker threads too;
`using_policy` sets another policy for the thread that entered it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from ..backend.interface import Backend, Signature, TensorType
from ..backend.preparation import flat, prepare
from ..base.device import Device
from ..base.dtypes import DType
from ..base.locks import Lock
from ..base.memory_formats import dense_strides_like
from ..base.shapes_and_strides import contiguous_strides
from ..base.state import user_line, warn_user
from ..errors import ArgumentError, MissingKernel, safe_repr
from . import plugins, registry

if TYPE_CHECKING:
    from ..dispatch.declared import Op
    from ..dispatch.promotion import Typing

Policy = Literal["error", "warn", "allow"]

HOST = "cpu"
"""The device type whose kernels run where a device has none."""

_lock = Lock()
_policy: Policy = "error"


class _ThreadPolicy(threading.local):
    override: Policy | None = None


_thread = _ThreadPolicy()


class FallbackWarning(UserWarning):
    """An op ran on the host because its device has no kernel for it."""


@dataclass(slots=True)
class FallbackRecord:
    """How often an op ran on the host from a line of the user's program, and the bytes moved both ways."""

    op: str
    device: str
    call_site: str
    calls: int = 0
    bytes: int = 0


class FallbackReport(tuple[FallbackRecord, ...]):
    """What ran on the host: a `FallbackRecord` for each op, device and line, most calls first. Prints as a table."""

    __slots__ = ()

    @property
    def calls(self) -> int:
        """All calls together."""
        return sum(record.calls for record in self)

    @property
    def bytes(self) -> int:
        """All bytes moved, both ways."""
        return sum(record.bytes for record in self)

    def __repr__(self) -> str:
        if not self:
            return "fallback report: no op ran on the host for want of a kernel"
        rows = [
            ("op", "device", "calls", "bytes", "line"),
            *((r.op, r.device, str(r.calls), str(r.bytes), r.call_site or "?") for r in self),
        ]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            f"{op:<{widths[0]}}  {device:<{widths[1]}}  {calls:>{widths[2]}}  {moved:>{widths[3]}}  {line}"
            for op, device, calls, moved, line in rows
        ]
        return "\n".join([f"fallback report: {self.calls} calls, {self.bytes} bytes moved", *lines])


_records: dict[tuple[str, str, str], FallbackRecord] = {}


def get_policy() -> Policy:
    """The policy in force in this thread; see `polyad.backends.set_fallback`.

    >>> import polyad
    >>> with polyad.backends.fallback("allow"):
    ...     polyad.backends.get_fallback()
    'allow'
    """
    return _thread.override or _policy


def check_policy(policy: Any) -> Policy:
    """*policy* if there is one of that name; raises ValueError otherwise."""
    if policy not in get_args(Policy):
        raise ArgumentError(f"fallback: policy {safe_repr(policy)} is not known", fix='use "error", "warn" or "allow"')
    return policy  # type: ignore[no-any-return]


def set_policy(policy: Policy) -> None:
    """Set what happens when a device has no kernel for an op, in every thread.

    "error" (the default) raises MissingKernel, "warn" runs the op on the host and warns once a line, "allow" runs it on
    the host. Every such call is counted in `polyad.backends.fallback_report`. Raises ValueError for any other policy.

    >>> import polyad
    >>> polyad.backends.set_fallback("error")
    """
    global _policy
    _policy = check_policy(policy)


def using_policy(policy: Policy) -> AbstractContextManager[None]:
    """Work under another policy in this thread; see `polyad.backends.set_fallback`. Raises ValueError for an unknown
    policy.

    >>> import polyad
    >>> with polyad.backends.fallback("warn"):
    ...     _ = polyad.ones(2) + 1
    """
    return _using(check_policy(policy))


@contextmanager
def _using(policy: Policy) -> Iterator[None]:
    before = _thread.override
    _thread.override = policy
    try:
        yield
    finally:
        _thread.override = before


def report() -> FallbackReport:
    """What ran on the host for want of a kernel: op, device, calls, bytes moved, the line of your program; most calls
    first.

    >>> import polyad
    >>> polyad.backends.reset_fallback_report()
    >>> polyad.backends.fallback_report()
    fallback report: no op ran on the host for want of a kernel
    """
    with _lock:
        return FallbackReport(replace(record) for record in sorted(_records.values(), key=lambda record: -record.calls))


def reset_report() -> None:
    """Start counting anew."""
    with _lock:
        _records.clear()


def make_kernel(
    op: Op,
    types: Signature,
    typing: Typing,
    outputs: tuple[TensorType, ...],
    device: Device,
    *,
    by_policy: bool = True,
) -> Callable[..., Any]:
    """A stand-in kernel: copies operands to the host, runs the host's kernel, copies the results back.

    *by_policy* is False where the device has a kernel that does not work now: that is no matter of the user's policy.
    """
    host = Device(HOST)
    host_types = tuple(_on(host, entry) for entry in types)
    backend = registry.get(device.type)
    if device.type == HOST:
        return _missing(op, device, types)
    host_backend = registry.get(HOST)
    kernel = None
    for candidate in plugins.candidate_kernels(host_backend, op.name):
        kernel = prepare(candidate, host_types, typing)
        if kernel is not None:
            break
    if kernel is None:
        return _missing(op, device, types)
    chosen, dtypes = kernel, _dtypes(types)
    device_at = [position for position, name in enumerate(op.params) if name == "device"]

    def to_host(array: Any, entry: Any, moved: list[int]) -> Any:
        if isinstance(entry, tuple):
            return [to_host(part, part_type, moved) for part, part_type in zip(array, entry, strict=True)]
        if not isinstance(entry, TensorType):
            return array
        data = backend.to_host(array)
        moved.append(data.nbytes)
        return _lying_as(array.strides, data, host_backend, entry.dtype, host)

    def run(*args: Any) -> Any:
        if by_policy and get_policy() == "error":
            raise MissingKernel(
                f"{op.title}: {device} has no kernel for it" + (f" with dtypes {dtypes}" if dtypes else ""),
                fix='polyad.backends.set_fallback("allow") or "warn" runs it on the host; or use another device',
            )
        moved: list[int] = []
        count = len(types)
        operands = [to_host(array, entry, moved) for array, entry in zip(args, types, strict=False)]
        params = list(args[count:])
        for position in device_at:
            params[position] = host
        result = chosen(*operands, *params)
        several = isinstance(result, tuple)
        back = []
        for part, type_ in zip(result if several else (result,), outputs, strict=True):
            data = host_backend.to_host(part)
            moved.append(data.nbytes)
            back.append(_lying_as(part.strides, data, backend, type_.dtype, device))
        note(op.name, device, sum(moved))
        return tuple(back) if several else back[0]

    return run


def _lying_as(strides: tuple[int, ...], data: Any, backend: Backend, dtype: DType, device: Device) -> Any:
    """An array of *data*, dense, with its dimensions in memory in the order in which *strides* has them."""
    shape = data.shape
    wanted = dense_strides_like(shape, strides)
    if wanted == contiguous_strides(shape):
        return backend.from_host(data, dtype, device)
    order = sorted(range(len(shape)), key=wanted.__getitem__, reverse=True)
    root = backend.root(backend.from_host(data.transpose(order), dtype, device))
    return backend.as_strided(root, dtype, shape, wanted, 0)


def _on(device: Device, entry: Any) -> Any:
    if isinstance(entry, tuple):
        return tuple(_on(device, part) for part in entry)
    return registry.tensor_type(entry.dtype, device, entry.zero_dim) if isinstance(entry, TensorType) else entry


def _missing(op: Op, device: Device, types: Signature) -> Callable[..., Any]:
    def raise_missing(*args: Any) -> Any:
        who = str(device) if device.type == HOST else f"neither {device} nor the host"
        has = "has no" if device.type == HOST else "has a"
        raise MissingKernel(
            f"{op.title}: {who} {has} kernel for {_dtypes(types) or 'these parameters'}",
            fix="convert to a dtype that the op takes",
        )

    return raise_missing


def _dtypes(types: Signature) -> str:
    """The operands' types as the user knows them: dtype names, and the Python types of numbers."""
    return ", ".join(
        entry.dtype.name if isinstance(entry, TensorType) else entry.__name__
        for entry in flat(types)
        if entry is not type(None)
    )


def note(op: str, device: Device, moved: int) -> None:
    """Count an op that ran on the host for *device*, and the bytes *moved*."""
    line = user_line()
    with _lock:
        record = _records.setdefault((op, str(device), line), FallbackRecord(op, str(device), line))
        record.calls += 1
        record.bytes += moved
        first = record.calls == 1
    if first and get_policy() == "warn":
        warn_user(
            f"{op}: ran on the host, {device} has no kernel for it; polyad.backends.fallback_report() counts it",
            FallbackWarning,
        )
