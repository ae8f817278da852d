"""Which backends are installed, what they found, and what runs where: the user's side of `polyad.backend`.

    python -m polyad.backends       lists every installed backend and plug-in, and what is wrong with it
    polyad doctor                   the same, with versions and a short self-test of each device

`list_backends`, `is_available` and `doctor` answer the same questions in a program. `set_fallback`, `fallback` and
`fallback_report` decide and tell what happens to ops for which a device has no kernel. `register` adds a backend
without a package, for notebooks and tests.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from ..backend import fallback as _fallback, registry as _registry
from ..backend.fallback import FallbackRecord, FallbackReport, FallbackWarning, Policy
from ..backend.plugins import BrokenPluginWarning
from ..backend.registry import Registration, register, unregister
from ..diagnosis.doctor import DoctorReport, SelfTest, doctor
from ..diagnosis.listing import BackendReport, DeviceReport, Listing, PluginReport, list_backends

__all__ = [
    "BackendReport",
    "BrokenPluginWarning",
    "DeviceReport",
    "DoctorReport",
    "FallbackRecord",
    "FallbackReport",
    "FallbackWarning",
    "Listing",
    "PluginReport",
    "Registration",
    "SelfTest",
    "doctor",
    "fallback",
    "fallback_report",
    "get_fallback",
    "is_available",
    "list_backends",
    "refresh",
    "register",
    "reset_fallback_report",
    "set_fallback",
    "unregister",
]


def is_available(name: str) -> bool:
    """Whether tensors can be made on device *name*, such as "cpu", "opencl" or "cuda:1".

    Loads its backend. Raises TypeError for what is no string or device, and nothing else.

    >>> import polyad
    >>> polyad.backends.is_available("cpu"), polyad.backends.is_available("abacus")
    (True, False)
    """
    from ..errors import BackendError, DeviceError

    try:
        _registry.resolve_device(name)
    except (BackendError, DeviceError):
        return False
    return True


def refresh() -> None:
    """Look at the installed packages anew, after one was installed or mended while the program runs.

    What was quarantined gets another try. Backends that work stay loaded.
    """
    _registry.forget()


def set_fallback(policy: Policy) -> None:
    """Set what happens when a device has no kernel for an op, in every thread.

    "error" (the default) raises MissingKernel, "warn" runs the op on the host and warns once a line, "allow" runs it on
    the host. Every such call is counted in `fallback_report`. Raises ValueError for any other policy.

    >>> import polyad
    >>> polyad.backends.set_fallback("error")
    """
    _fallback.set_policy(policy)


def get_fallback() -> Policy:
    """The policy in force in this thread; see `set_fallback`.

    >>> import polyad
    >>> with polyad.backends.fallback("allow"):
    ...     polyad.backends.get_fallback()
    'allow'
    """
    return _fallback.get_policy()


def fallback(policy: Policy) -> AbstractContextManager[None]:
    """Work under another policy in this thread; see `set_fallback`. Raises ValueError for an unknown policy.

    >>> import polyad
    >>> with polyad.backends.fallback("warn"):
    ...     _ = polyad.ones(2) + 1
    """
    _fallback.check_policy(policy)
    return _fallback.using_policy(policy)


def fallback_report() -> FallbackReport:
    """What ran on the host for want of a kernel: op, device, calls, bytes moved, the line of your program.

    >>> import polyad
    >>> polyad.backends.reset_fallback_report()
    >>> polyad.backends.fallback_report()
    fallback report: no op ran on the host for want of a kernel
    """
    return _fallback.report()


def reset_fallback_report() -> None:
    """Start counting anew."""
    _fallback.reset_report()
