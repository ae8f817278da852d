"""What happens to an op for which a device has no kernel: the policy, running it on the host, and the account of it.

Nothing falls back silently. The policy is "error" (the default), "warn" or "allow"; every op run on the host is counted with the
bytes that travelled and the user's line.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from ..device import Device
from ..errors import ArgumentError, MissingKernel
from ..state import user_line
from .interface import Signature, TensorType
from .preparation import prepare

if TYPE_CHECKING:
    from ..dispatch.op import Op

Policy = Literal["error", "warn", "allow"]

HOST = "cpu"
"""The device type whose kernels stand in for missing ones."""

_policy: Policy = "error"
_lock = threading.Lock()


class FallbackWarning(UserWarning):
    """An op ran on the host because its device has no kernel for it."""


@dataclass(slots=True)
class FallbackRecord:
    """How often an op of a device ran on the host from one line of the user's program, and the bytes moved both ways."""

    op: str
    device: str
    call_site: str
    calls: int = 0
    bytes: int = 0


_records: dict[tuple[str, str, str], FallbackRecord] = {}


def get_policy() -> Policy:
    """The policy in force."""
    return _policy


def set_policy(policy: Policy) -> None:
    """Set what a missing kernel leads to: "error", "warn" (once a line) or "allow"."""
    global _policy
    if policy not in ("error", "warn", "allow"):
        raise ArgumentError(f"fallback: policy {policy!r} is not known", fix='use "error", "warn" or "allow"')
    _policy = policy


@contextmanager
def using_policy(policy: Policy) -> Iterator[None]:
    """Work under *policy* and return to the one before."""
    before = _policy
    set_policy(policy)
    try:
        yield
    finally:
        set_policy(before)


def report() -> list[FallbackRecord]:
    """Every (op, device, line) that ran on the host so far, most calls first."""
    with _lock:
        return sorted(_records.values(), key=lambda entry: -entry.calls)


def reset_report() -> None:
    """Start counting anew."""
    with _lock:
        _records.clear()


def make_kernel(op: Op, types: Signature, keyed: tuple[Any, ...], outputs: tuple[TensorType, ...], device: Device) -> Callable[..., Any]:
    """A stand-in kernel: copies operands to the host, runs the host's kernel, copies the results back."""
    from . import registry

    host = Device(HOST)
    host_types = tuple(_on(host, entry) for entry in types)
    backend = registry.get(device.type)
    if device.type == HOST:
        return _missing(op, device, types)
    host_backend = registry.get(HOST)
    kernel = None
    for candidate in registry.candidate_kernels(host_backend, op.name):
        kernel = prepare(candidate, host_types)
        if kernel is not None:
            break
    if kernel is None:
        return _missing(op, device, types)
    chosen = kernel
    device_at = [position for position, name in enumerate(op.params) if name == "device"]

    def to_host(array: Any, entry: Any, moved: list[int]) -> Any:
        if isinstance(entry, tuple):
            return [to_host(one, kind, moved) for one, kind in zip(array, entry, strict=True)]
        if not isinstance(entry, TensorType):
            return array
        data = backend.to_host(array)
        moved.append(data.nbytes)
        return host_backend.from_host(data, entry.dtype, host)

    def run(*args: Any) -> Any:
        if _policy == "error":
            raise MissingKernel(
                f"{op.name}: {device} has no kernel for it with {', '.join(map(str, types)) or 'these arguments'}",
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
        for part, kind in zip(result if several else (result,), outputs, strict=True):
            data = host_backend.to_host(part)
            moved.append(data.nbytes)
            back.append(backend.from_host(data, kind.dtype, device))
        _count(op.name, device, sum(moved))
        return tuple(back) if several else back[0]

    return run


def _on(device: Device, entry: Any) -> Any:
    from . import registry

    if isinstance(entry, tuple):
        return tuple(_on(device, one) for one in entry)
    return registry.tensor_type(entry.dtype, device, entry.zero_dim) if isinstance(entry, TensorType) else entry


def _missing(op: Op, device: Device, types: Signature) -> Callable[..., Any]:
    def raise_missing(*args: Any) -> Any:
        raise MissingKernel(f"{op.name}: neither {device} nor the host has a kernel for {', '.join(map(str, types))}", fix="convert to a dtype that the op takes")

    return raise_missing


def _count(op: str, device: Device, moved: int) -> None:
    line = user_line()
    with _lock:
        entry = _records.setdefault((op, str(device), line), FallbackRecord(op, str(device), line))
        entry.calls += 1
        entry.bytes += moved
        first = entry.calls == 1
    if _policy == "warn" and first:
        warnings.warn(f"{op}: ran on the host, {device} has no kernel for it ({line}); polyad.backends.fallback_report() counts such calls", FallbackWarning, stacklevel=3)
