"""Finding, loading and quarantining backends and plug-ins.

Invariants: only the names of entry points are read until a device is used; a package that fails to load is quarantined with its
reason and hurts nobody else; api_version is checked before a backend is asked for anything but its info.
"""

from __future__ import annotations

import os
import threading
from functools import cache
from importlib import metadata
from typing import Any

from ..device import Device
from ..dtypes import DType
from ..errors import ApiVersionMismatch, ArgumentTypeError, BackendNotFound, BackendUnavailable, DeviceError, DTypeError
from ..state import state
from .capabilities import BackendInfo
from .hookspecs import API_VERSION
from .interface import Backend, Kernel, KernelSupply, TensorType

BACKEND_GROUP = "polyad.backends"
PLUGIN_GROUP = "polyad.plugins"

KNOWN_PACKAGES = {"opencl": "polyad[opencl]", "cuda": "polyad[cuda12]  (or polyad[cuda13], by your driver)"}
"""Packages to suggest for device types that are not installed."""

_lock = threading.RLock()
_backends: dict[str, Backend] = {}
_infos: dict[str, BackendInfo] = {}
_quarantine: dict[str, BackendUnavailable] = {}
_plugin_kernels: dict[tuple[str, str], list[KernelSupply]] | None = None
_broken_plugins: dict[str, str] = {}


@cache
def entry_points(group: str) -> dict[str, metadata.EntryPoint]:
    """The entry points of *group* by name, read once, nothing imported."""
    return {point.name: point for point in metadata.entry_points(group=group)}


def forget() -> None:
    """Drop everything learned about packages, so that the next use looks again (after an installation, in tests)."""
    global _plugin_kernels
    with _lock:
        entry_points.cache_clear()
        for known in (_backends, _infos, _quarantine, _types, _devices, _broken_plugins):
            known.clear()
        _plugin_kernels = None
        for listener in _listeners:
            listener()


_listeners: list[Any] = []


def on_forget(listener: Any) -> None:
    """Call *listener* when `forget` drops the loaded backends: cached plans must go too."""
    _listeners.append(listener)


@cache
def _manager() -> Any:
    import pluggy

    from . import hookspecs

    manager = pluggy.PluginManager("polyad")
    manager.add_hookspecs(hookspecs)
    return manager


def _register(group: str, name: str) -> Any:
    """Import an entry point's module and give it to pluggy; returns a hook caller that reaches only it."""
    manager, plugin_name = _manager(), f"{group}:{name}"
    if manager.has_plugin(plugin_name):
        manager.unregister(name=plugin_name)
    module = entry_points(group)[name].load()
    manager.register(module, name=plugin_name)

    def call(hook: str) -> Any:
        others = [plugin for plugin in manager.get_plugins() if plugin is not module]
        return manager.subset_hook_caller(hook, remove_plugins=others)()

    return call


def check_api_version(info: BackendInfo) -> None:
    """Raise ApiVersionMismatch unless a backend of this api_version works with this polyad."""
    major, minor = info.api_version
    if major == API_VERSION[0] and minor <= API_VERSION[1]:
        return
    newer = (major, minor) > API_VERSION
    raise ApiVersionMismatch(
        f"backend {info.name!r}: it was written for backend interface {major}.{minor}, this polyad has {API_VERSION[0]}.{API_VERSION[1]}",
        fix="pip install --upgrade polyad" if newer else info.install or f"pip install --upgrade the package of {info.name!r}",
    )


def _load(name: str) -> Backend:
    call = _register(BACKEND_GROUP, name)
    info = call("polyad_backend_info")
    if not isinstance(info, BackendInfo):
        raise BackendUnavailable(f"backend {name!r}: polyad_backend_info returned {info!r}, not a BackendInfo", fix="return polyad.backend.BackendInfo(...)")
    _infos[name] = info
    check_api_version(info)
    if info.name != name:
        raise BackendUnavailable(f"backend {name!r}: its info calls it {info.name!r}", fix="give the entry point and BackendInfo.name the same name")
    backend = call("polyad_create_backend")
    if not isinstance(backend, Backend):
        raise BackendUnavailable(f"backend {name!r}: polyad_create_backend returned {backend!r}, not a Backend", fix="return an instance of a class derived from polyad.backend.Backend")
    backend.info = info
    return backend


def get(name: str) -> Backend:
    """The backend of device type *name*, loaded on first use.

    Raises BackendNotFound when no package brings it, BackendUnavailable (or its subclass ApiVersionMismatch) when it is
    installed and does not work; the same error again on each later call, without trying again.
    """
    backend = _backends.get(name)
    if backend is not None:
        return backend
    with _lock:
        if name in _backends:
            return _backends[name]
        if name in _quarantine:
            raise _quarantine[name]
        if name not in entry_points(BACKEND_GROUP):
            listed = ", ".join(sorted(entry_points(BACKEND_GROUP))) or "none"
            package = KNOWN_PACKAGES.get(name)
            raise BackendNotFound(
                f"device {name!r}: no installed backend has this name",
                notes={"installed": listed},
                fix=f"pip install '{package}'" if package else "use an installed device type, or install the package that brings it; `python -m polyad.backends` lists them",
            )
        try:
            backend = _load(name)
        except BackendUnavailable as error:
            _quarantine[name] = error
            raise
        except Exception as error:
            info = _infos.get(name)
            _quarantine[name] = BackendUnavailable(
                f"backend {name!r}: it is installed but failed to load: {type(error).__name__}: {error}",
                fix=(info.install if info and info.install else "reinstall its package") + "; `python -m polyad.backends` shows more",
            )
            raise _quarantine[name] from error
        _backends[name] = backend
        return backend


def info_of(name: str) -> BackendInfo | None:
    """The info of an installed backend if it could be had, without creating the backend."""
    if name not in _infos and name not in _quarantine:
        with _lock:
            try:
                info = _register(BACKEND_GROUP, name)("polyad_backend_info")
            except Exception as error:
                _quarantine[name] = BackendUnavailable(f"backend {name!r}: its hook module failed to load: {type(error).__name__}: {error}", fix="reinstall its package")
            else:
                if isinstance(info, BackendInfo):
                    _infos[name] = info
    return _infos.get(name)


_devices: dict[Any, Device] = {}


def resolve_device(device: Any) -> Device:
    """The full name of a device (index filled in), checked to exist; None means the current default device."""
    if device is None:
        device = default_device()
    found = _devices.get(device) if isinstance(device, (str, Device)) else None
    if found is not None:
        return found
    if not isinstance(device, (str, Device)):
        raise ArgumentTypeError(f"device: {device!r} is no device", fix='pass a string such as "cpu" or a polyad.device')
    named = Device(device)
    backend = get(named.type)
    if not backend.info.indexed:
        if named.index not in (None, 0):
            raise DeviceError(f"device {named}: {named.type!r} has one device without a number", fix=f'write "{named.type}"')
        result = Device(named.type)
    else:
        index = named.index or 0
        count = backend.device_count()
        if index >= count:
            raise BackendUnavailable(
                f"device {named}: {named.type!r} is installed and has {count} device{'' if count == 1 else 's'}" + (f", numbered 0 to {count - 1}" if count else ""),
                fix=backend.info.install if count == 0 and backend.info.install else "`python -m polyad.backends` lists the devices",
            )
        result = Device(named.type, index)
    _devices[device] = result
    return result


def default_device() -> Device:
    """The device that new tensors get: `set_default_device`, else the environment's POLYAD_DEVICE, else "cpu"."""
    if state.default_device is None:
        return Device(os.environ.get("POLYAD_DEVICE") or "cpu")
    return state.default_device


_types: dict[tuple[DType, Device, bool], TensorType] = {}


def tensor_type(dtype: DType, device: Device, zero_dim: bool) -> TensorType:
    """The interned TensorType; *device* must come from `resolve_device`. Raises DTypeError for a dtype the device lacks."""
    key = (dtype, device, zero_dim)
    found = _types.get(key)
    if found is None:
        backend = get(device.type)
        supported = backend.capabilities(device).dtypes
        if dtype not in supported:
            raise DTypeError(
                f"dtype: {device} has no {dtype.name}",
                notes={"has": ", ".join(d.name for d in sorted(supported, key=lambda d: (d.category, d.itemsize)))},
                fix="use one of these dtypes, or another device",
            )
        with _lock:
            if key in _types:
                return _types[key]
            nd, zd = TensorType(), TensorType()
            for made, flag in ((nd, False), (zd, True)):
                made.dtype, made.device, made.zero_dim, made.backend, made.nd, made.zd = dtype, device, flag, backend, nd, zd
            _types[dtype, device, False], _types[dtype, device, True] = nd, zd
        found = _types[key]
    return found


def _load_plugins() -> dict[tuple[str, str], list[KernelSupply]]:
    global _plugin_kernels
    with _lock:
        if _plugin_kernels is None:
            kernels: dict[tuple[str, str], list[KernelSupply]] = {}
            for name in sorted(entry_points(PLUGIN_GROUP)):
                try:
                    supplies = [supply for batch in _register(PLUGIN_GROUP, name)("polyad_kernels") for supply in batch]
                except Exception as error:
                    _broken_plugins[name] = f"{type(error).__name__}: {error}"
                    continue
                for supply in supplies:
                    kernels.setdefault((supply.device_type, supply.op), []).append(supply)
            for candidates in kernels.values():
                candidates.sort(key=lambda supply: -supply.priority)
            _plugin_kernels = kernels
        return _plugin_kernels


def broken_plugins() -> dict[str, str]:
    """Plug-ins that failed to load, with the reason."""
    _load_plugins()
    return dict(_broken_plugins)


def candidate_kernels(backend: Backend, op: str) -> list[Kernel]:
    """The kernels for *op* on this backend's devices, best first: plug-ins above priority 0, the backend's, the others."""
    supplies = _load_plugins().get((backend.info.name, op), [])
    own = backend.as_kernel(op)
    ranked = [(supply.priority, supply.kernel) for supply in supplies]
    if own is not None:
        ranked.append((0, own))
    ranked.sort(key=lambda pair: -pair[0])
    return [kernel for _, kernel in ranked]
