"""What a package brings for a device it does not own, through the entry-point group ``polyad.plugins``: kernels, and a
runtime that generated kernels run on.

All plug-ins are loaded when the first kernel is looked for. One that fails is left out, named in a warning once, and
listed with its reason by ``python -m polyad.backends``; the others work.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..backend.addresses import KernelAddress, generated_addresses
from ..backend.choosing import Declined, addresses_by_size
from ..backend.families import warn_of_unknown_kernels
from ..backend.interface import Backend, Kernel, KernelSupply, Signature, TensorType
from ..backend.preparation import flat, unspecialized
from ..backend.runtime import Runtime
from ..base import dtypes, provided
from ..base.device import Device
from ..base.state import count_in, warn_user
from ..errors import ArgumentTypeError, CompilerFailure, DeviceError
from . import registry
from .entry_points import PLUGIN_GROUP, declared, hooks

_kernels: dict[tuple[str, str], list[KernelSupply]] | None = None
_loading = False
_supplies: dict[str, list[KernelSupply]] = {}
_broken: dict[str, str] = {}
_offering: dict[str, Any] = {}
"""The hooks of plug-ins that may offer runtimes."""
_offers: dict[Device, tuple[str, Runtime] | None] = {}
"""Of each device that was asked about, who offers the runtime that is used, and which it is."""


class BrokenPluginWarning(UserWarning):
    """A plug-in could not be loaded and is left out."""


def _forget() -> None:
    global _kernels
    with registry.lock:
        _kernels = None
        for known in (_supplies, _broken, _offering, _offers):
            known.clear()


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
    for name in _broken:
        _warn(name, "failed to load")
    return kernels


def _warn(name: str, what: str) -> None:
    warn_user(
        f"plug-in {name!r} {what} and is left out: {_broken[name]}; `python -m polyad.backends` lists plug-ins",
        BrokenPluginWarning,
    )


def _load_all() -> dict[tuple[str, str], list[KernelSupply]]:
    by_op: dict[tuple[str, str], list[KernelSupply]] = {}
    for name in sorted(declared(PLUGIN_GROUP)):
        try:
            found = hooks(PLUGIN_GROUP, name)
            _supplies[name] = [_check_supply(supply, name) for batch in found.polyad_kernels() for supply in batch]
        except (Exception, SystemExit) as error:
            _broken[name] = f"{type(error).__name__}: {error}"
            continue
        if found.polyad_runtime.get_hookimpls():
            _offering[name] = found
        count_in(declared(PLUGIN_GROUP)[name][0].module.partition(".")[0])
        warn_of_unknown_kernels(f"plug-in {name!r}", {supply.op for supply in _supplies[name]})
        for supply in _supplies[name]:
            by_op.setdefault((supply.device_type, supply.op), []).append(supply)
    for candidates in by_op.values():
        candidates.sort(key=lambda supply: -supply.priority)
    return by_op


def _check_supply(supply: Any, plugin: str) -> KernelSupply:
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


_COMPUTING = frozenset(dtypes.ALL)


def candidate_kernels(backend: Backend, op: str) -> list[Kernel]:
    """The kernels for *op*, best first: plug-ins above priority 0, the backend's own, the other plug-ins."""
    ranked = [(supply.priority, supply.kernel) for supply in _load().get((backend.info.name, op), ())]
    own = backend.as_kernel(op)
    if own is not None:
        ranked.insert(0, (0, own if own.origin else replace(own, origin=type(backend).__module__.partition(".")[0])))
    ranked.sort(key=lambda pair: -pair[0])  # stable: at equal priority the backend's own comes first
    generated = _generated_kernel(backend, op) if _offering else None
    if generated is not None:
        ranked.insert(sum([priority > 0 for priority, _ in ranked]), (0, generated))
    kernels: list[Kernel] = []
    for _, kernel in reversed(ranked):
        if kernel.dtypes is None and (own is None or kernel.function is not own.function):
            kernel = replace(kernel, dtypes=_COMPUTING)  # a plug-in does not know which others a backend stores
        if kernel.over is not None:
            kernel = replace(
                kernel, outranked=tuple(kernels), partial=not kernels or any(other.partial for other in kernels),
                many=kernel.many or next((other.many for other in kernels if other.many is not None), None),
            )  # fmt: skip
        kernels.insert(0, kernel)
    return kernels


# ----------------------------------------------------------------------------------------------------------- runtimes


def runtime_for(device: Device) -> tuple[str, Runtime] | None:
    """The runtime that a plug-in offers for *device*, and the plug-in's name; None if nobody does.

    A plug-in that offers what cannot be used is left out, and named in a warning.
    """
    _load()
    if device not in _offers:
        with registry.lock:
            if device not in _offers:
                _offers[device] = None  # for what a plug-in computes while it is asked
                _offers[device] = _ask_for_runtime(device)
    found = _offers[device]
    return None if found is None or found[0] in _broken else found


def _ask_for_runtime(device: Device) -> tuple[str, Runtime] | None:
    found: tuple[str, Runtime] | None = None
    for name, hook in _offering.items():
        if name in _broken:
            continue
        try:
            offers = [offer for offer in hook.polyad_runtime(device=device) if offer is not None]
            if offers:
                _check_offer(offers[0], device, found)
                found = name, _watched(offers[0], name)
        except (Exception, SystemExit) as error:
            _leave_out(name, error)
    return found


def _check_offer(offer: Any, device: Device, other: tuple[str, Runtime] | None) -> None:
    if isinstance(offer, (list, tuple)):
        raise ArgumentTypeError(f"polyad_runtime gave {len(offer)} runtimes for {device}", fix="return one of them")
    if not isinstance(offer, Runtime):
        raise ArgumentTypeError(
            f"polyad_runtime gave {offer!r}, not a Runtime",
            fix="return an object of a class derived from polyad.backend.runtime.Runtime, or None",
        )
    if other is not None:
        raise DeviceError(f"plug-in {other[0]!r} offers a runtime for {device} already", fix="uninstall one of the two")
    if registry.get(device.type).runtime(device) is not None:
        raise DeviceError(f"the backend of {device} has a runtime of its own", fix="uninstall the plug-in")


def _watched(runtime: Runtime, name: str) -> Runtime:
    """*runtime*, whose plug-in is left out once its compiler fails in a way that is no compiler's."""
    compile = type(runtime).compile.__get__(runtime)

    def watched(source: Any, what: str) -> Any:
        if name not in _broken:
            try:
                return compile(source, what)
            except (CompilerFailure, MemoryError):
                raise
            except Exception as error:
                _leave_out(name, error)
        raise CompilerFailure(
            f"{what}: plug-in {name!r} is left out: {_broken[name]}", fix="upgrade the plug-in, or uninstall it"
        )

    runtime.compile = watched  # type: ignore[method-assign]
    return runtime


def _leave_out(name: str, error: BaseException) -> None:
    """Do without a plug-in that was loaded, from now on."""
    with registry.lock:
        _broken[name] = f"{type(error).__name__}: {error}"
        _supplies.pop(name, None)
        for brought in (_kernels or {}).values():
            brought[:] = [supply for supply in brought if supply.kernel.origin != name]
    _warn(name, "failed")


def _generated_kernel(backend: Backend, op: str) -> Kernel | None:
    """The kernel of *op* that is generated for a plug-in's runtime; None where there is none of either."""
    device_type = backend.info.name
    offered = runtime_for(Device(device_type, None if device_type == "cpu" else 0))
    kind = "" if offered is None else provided.generated_kind(op)
    if offered is None or not kind:
        return None
    return Kernel(
        unspecialized, out=True, origin=offered[0],
        over=partial(_generated_over, op, kind), addresses=partial(_generated_addresses, op, kind),
    )  # fmt: skip


def _generated_over(
    op: str, kind: str, types: Signature, other: Callable[..., Any], into: Callable[..., Any]
) -> Callable[..., Any] | None:
    places = [place for place, entry in enumerate(types) if isinstance(entry, TensorType) and not entry.zero_dim]
    offered = runtime_for(types[places[0]].device) if places else None
    least = None if offered is None else offered[1].pays_from(op, kind, types)
    if offered is None or least is None:
        return None
    runtime = offered[1]
    return runtime.choice(lambda: provided.generated_call(op, types, runtime), least, places, other, into)


def _generated_addresses(
    op: str, kind: str, types: Signature, args: Sequence[Any] | None, others: Sequence[KernelAddress]
) -> Sequence[KernelAddress]:
    def find() -> Sequence[KernelAddress]:
        if args is None:
            return (KernelAddress("generated", runtime.dialect.name, f"{op}, by polyad.codegen"),)

        def call(recording: Runtime) -> None:
            kernel = provided.generated_call(op, types, recording)
            if kernel is None:
                raise Declined
            kernel(*args)

        return generated_addresses(runtime, call)

    devices = [entry.device for entry in flat(types) if isinstance(entry, TensorType)]
    offered = runtime_for(devices[0]) if devices else None
    if offered is None:
        return others
    runtime = offered[1]
    return addresses_by_size(runtime.pays_from(op, kind, types) or 0, find, others, args)
