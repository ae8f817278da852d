"""Kernels that a package brings for a device it does not own, through the entry-point group ``polyad.plugins``.

All plug-ins are loaded when the first kernel is looked for. One that fails is left out, named in a warning once, and
listed with its reason by ``python -m polyad.backends``; the others work.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ..backend.families import warn_of_unknown_kernels
from ..backend.interface import Backend, Kernel, KernelSupply
from ..base.state import count_in, warn_user
from ..errors import ArgumentTypeError
from . import registry
from .entry_points import PLUGIN_GROUP, declared, hooks

_kernels: dict[tuple[str, str], list[KernelSupply]] | None = None
_loading = False
_supplies: dict[str, list[KernelSupply]] = {}
_broken: dict[str, str] = {}


class BrokenPluginWarning(UserWarning):
    """A plug-in could not be loaded and is left out."""


def _forget() -> None:
    global _kernels
    with registry.lock:
        _kernels = None
        _supplies.clear()
        _broken.clear()


registry.on_forget(_forget)


def _load() -> dict[tuple[str, str], list[KernelSupply]]:
    global _kernels, _loading
    kernels = _kernels
    if kernels is not None:
        return kernels
    with registry.lock:
        kernels = _kernels  # another thread may have loaded them while this one waited
        if kernels is not None:
            return kernels
        if _loading:  # a plug-in that computes while it is loaded does so without plug-ins
            return {}
        _loading = True
        try:
            kernels = _kernels = _load_all()
        finally:
            _loading = False
    for name, reason in _broken.items():
        warn_user(
            f"plug-in {name!r} failed to load and is left out: {reason}; `python -m polyad.backends` lists plug-ins",
            BrokenPluginWarning,
        )
    return kernels


def _load_all() -> dict[tuple[str, str], list[KernelSupply]]:
    by_op: dict[tuple[str, str], list[KernelSupply]] = {}
    for name in sorted(declared(PLUGIN_GROUP)):
        try:
            _supplies[name] = [
                _checked(supply, name) for batch in hooks(PLUGIN_GROUP, name).polyad_kernels() for supply in batch
            ]
        except (Exception, SystemExit) as error:
            _broken[name] = f"{type(error).__name__}: {error}"
            continue
        count_in(declared(PLUGIN_GROUP)[name][0].module.partition(".")[0])
        warn_of_unknown_kernels(f"plug-in {name!r}", {supply.op for supply in _supplies[name]})
        for supply in _supplies[name]:
            by_op.setdefault((supply.device_type, supply.op), []).append(supply)
    for candidates in by_op.values():
        candidates.sort(key=lambda supply: -supply.priority)
    return by_op


def _checked(supply: Any, plugin: str) -> KernelSupply:
    if not isinstance(supply, KernelSupply):
        raise ArgumentTypeError(
            f"polyad_kernels gave {supply!r}, not a KernelSupply", fix="yield polyad.backend.KernelSupply(...)"
        )
    kernel = supply.kernel if isinstance(supply.kernel, Kernel) else Kernel(supply.kernel)
    return replace(supply, kernel=kernel if kernel.origin else replace(kernel, origin=plugin))


def broken_plugins() -> dict[str, str]:
    """Plug-ins that failed to load, with the reason."""
    _load()
    return dict(_broken)


def supplies() -> dict[str, list[KernelSupply]]:
    """What each working plug-in brings."""
    _load()
    return {name: list(brought) for name, brought in _supplies.items()}


def notes_of(name: str) -> list[str]:
    """What a working plug-in says of itself."""
    return [str(note) for batch in hooks(PLUGIN_GROUP, name).polyad_notes() for note in batch]


def candidate_kernels(backend: Backend, op: str) -> list[Kernel]:
    """The kernels for *op*, best first: plug-ins above priority 0, the backend's own, the other plug-ins."""
    ranked = [(supply.priority, supply.kernel) for supply in _load().get((backend.info.name, op), ())]
    own = backend.as_kernel(op)
    if own is not None:
        ranked.insert(0, (0, own if own.origin else replace(own, origin=type(backend).__module__.partition(".")[0])))
    ranked.sort(key=lambda pair: -pair[0])  # stable: at equal priority the backend's own comes first
    return [kernel for _, kernel in ranked]
