"""Finding, loading and quarantining backends; devices and tensor types.

Invariants: only the names of entry points are read until a device is used; a package that fails to load is quarantined
with its reason and hurts nobody else; api_version is checked before a backend is asked for anything but its info; a
loaded backend stays the same object as long as its package is installed, so that tensor types, which are compared by
identity, stay valid.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

from ..backend.api_version import API_VERSION, check_api_version
from ..backend.capabilities import BackendInfo
from ..backend.families import warn_of_unknown_kernels
from ..backend.interface import Backend, TensorType
from ..base import provided
from ..base.device import Device
from ..base.dtypes import DType
from ..base.locks import RLock
from ..base.state import count_in, state, warn_user
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    BackendError,
    BackendNotFound,
    BackendUnavailable,
    DeviceError,
    UndeclaredDType,
    safe_repr,
)
from .entry_points import (
    BACKEND_GROUP as BACKEND_GROUP,
    PLUGIN_GROUP as PLUGIN_GROUP,
    declared,
    entry_points as entry_points,
    hooks,
    package_of,
    way_out,
)

KNOWN_PACKAGES = {
    "opencl": "polyad[opencl]",
    "cuda": "polyad[cuda12]",
    "rocm": "polyad[opencl]",
    "gpu": "polyad[opencl]",
}
"""Packages to suggest for device types that are not installed; an older polyad may not have had them: upgrade."""

DEVICE_VARIABLE = "POLYAD_DEVICE"
"""The environment variable that names the default device; read when the first tensor without a device is created."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a backend is quarantined. Text, not the exception, which would keep frames alive and grow with each raise.

    Attributes:
        exception: the type to raise.
        details: the traceback of the failure, for listings; empty if core itself refused the backend.
    """

    exception: type[BackendUnavailable]
    message: str
    notes: dict[str, str]
    fix: str
    details: str = ""

    def error(self) -> BackendUnavailable:
        """The exception, new each time."""
        return self.exception(self.message, notes=self.notes, fix=self.fix)


lock = RLock()
"""Held while packages are loaded; the same for backends and plug-ins, since either may need the other."""

provided.device_of_number.fill_later(f"{__package__}.accelerators", "numbered")

_OWN: dict[str, Callable[[], Backend]] = {"meta": provided.abstract_backend}
"""Device types that are part of core: no package brings them, and no listing of packages names them."""

_backends: dict[str, Backend] = {}
_registered: set[str] = set()
_loading: set[str] = set()
_hooks: dict[str, Any] = {}
_infos: dict[str, BackendInfo] = {}
_quarantine: dict[str, Failure] = {}
_listeners: list[Callable[[], None]] = []


def _after_fork() -> None:
    # A thread that was loading stayed in the parent; the next that wants the backend begins anew.
    if not lock._is_owned():
        _loading.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def names() -> list[str]:
    """The device types that are installed or registered, in alphabetical order."""
    return sorted({*declared(BACKEND_GROUP), *_registered})


def _check_type(name: str) -> None:
    if name not in _registered and name not in declared(BACKEND_GROUP):
        raise _not_found(name)


provided.check_device_type.fill(_check_type)

# ------------------------------------------------------------------------------------------------------------ loading


def get(name: str) -> Backend:
    """The backend of device type *name*, loaded on first use.

    Raises BackendNotFound when no package brings it, BackendUnavailable (or its subclass ApiVersionMismatch) when it is
    installed and does not work; an equal error on each later call, without trying again.
    """
    backend = _backends.get(name)
    if backend is not None:
        return backend
    with lock:
        if name in _backends:
            return _backends[name]
        if name in _OWN:
            backend = _backends[name] = _OWN[name]()
            return backend
        if name in _quarantine:
            raise _quarantine[name].error()
        if name not in declared(BACKEND_GROUP):
            raise _not_found(name)
        if name in _loading:
            raise BackendUnavailable(
                f"backend {name!r}: it uses its own device while it is being created",
                fix="make no tensors in polyad_create_backend",
            )
        _loading.add(name)
        try:
            backend = _load(name)
        except (Exception, SystemExit) as error:
            _quarantine[name] = failure = _failure(name, error)
            if isinstance(error, BackendUnavailable):
                raise failure.error() from None
            raise failure.error() from error
        finally:
            _loading.discard(name)
        _backends[name] = backend
        return backend


def _load(name: str) -> Backend:
    info = _read_info(name)
    lacking = info.lacking()
    if lacking:
        raise BackendUnavailable(
            f"backend {name!r}: it needs {' and '.join(lacking)}, which {'is' if len(lacking) == 1 else 'are'} not "
            "installed",
            fix=info.install,
        )
    backend = _hooks[name].polyad_create_backend()
    if not isinstance(backend, Backend):
        given = "None (is the hook marked with @polyad.hookimpl?)" if backend is None else repr(backend)
        raise BackendUnavailable(
            f"backend {name!r}: polyad_create_backend returned {given}, not a Backend",
            fix="its author should return an instance of a class derived from polyad.backend.Backend",
        )
    _give_info(backend, info)
    count_in(type(backend).__module__.partition(".")[0])
    _check_kernels(name, backend)
    return backend


def _check_kernels(name: str, backend: Backend) -> None:
    """Warn of kernels for ops that do not exist. A table that is not there yet is not loaded for that."""
    try:
        table = backend.kernels
    except Exception:  # the listing says it, and so does the first op
        return
    if isinstance(table, dict):
        warn_of_unknown_kernels(f"backend {name!r}", table)


def _read_info(name: str) -> BackendInfo:
    """Import the hook module, ask for the info and check it; nothing else is asked of the package before that."""
    if name in _infos:
        return _infos[name]
    if name not in _hooks:
        _hooks[name] = hooks(BACKEND_GROUP, name)
    info = _hooks[name].polyad_backend_info()
    if not isinstance(info, BackendInfo):
        given = "None (is the hook marked with @polyad.hookimpl?)" if info is None else repr(info)
        raise BackendUnavailable(
            f"backend {name!r}: polyad_backend_info returned {given}, not a BackendInfo",
            fix="its author should return polyad.backend.BackendInfo(...)",
        )
    _check_info(name, info)
    _infos[name] = info
    return info


def _give_info(backend: Backend, info: BackendInfo) -> None:
    """Let *backend* say of itself what its checked *info* says, without features that left the interface."""
    able = info.capabilities
    left = able.left_features(info.api_version)
    if left:
        warn_user(
            f"backend {info.name!r}: it declares features that left the interface: {', '.join(left)}; they are ignored",
            UserWarning,
        )
        info = replace(info, capabilities=able.current(info.api_version))
        told = backend.capabilities
        backend.capabilities = lambda device: told(device).current(info.api_version)  # type: ignore[method-assign]
    backend.info = info


def _check_info(name: str, info: BackendInfo) -> None:
    package = package_of(BACKEND_GROUP, name).partition(" ")[0]
    check_api_version(name, info.api_version, f"pip install --upgrade {package}" if package else info.install)
    if info.name != name:
        raise BackendUnavailable(
            f"backend {name!r}: its info calls it {info.name!r}",
            fix="its author should give the entry point and BackendInfo.name the same name",
        )
    unknown = info.capabilities.unknown_features()
    if unknown:
        raise BackendUnavailable(
            f"backend {name!r}: it declares features that do not exist: {', '.join(unknown)}",
            fix="its author should use the names in polyad.backend.capabilities.FEATURES",
        )


def _failure(name: str, error: BaseException) -> Failure:
    info = _infos.get(name)
    package = package_of(BACKEND_GROUP, name).partition(" ")[0]
    install = (info.install if info is not None else "") or f"pip install --force-reinstall {package or 'its package'}"
    if isinstance(error, BackendUnavailable):
        return Failure(
            type(error) if type(error).__module__ == BackendUnavailable.__module__ else BackendUnavailable,
            error.message,
            dict(error.lines),
            error.fix or install,
        )
    import traceback

    return Failure(
        BackendUnavailable,
        f"backend {name!r}: it is installed but failed to load: {type(error).__name__}: {error}",
        {"package": package} if package else {},
        f"{way_out(str(error), install)}; `python -m polyad.backends --verbose` shows the traceback",
        "".join(traceback.format_exception(error)),
    )


def _not_found(name: str) -> BackendNotFound:
    package = KNOWN_PACKAGES.get(name)
    if package:
        fix = f"pip install --upgrade '{package}'"
    else:
        from difflib import get_close_matches

        close = get_close_matches(name, [*names(), *_OWN, *KNOWN_PACKAGES], 1, 0.75)
        meant = f'did you mean "{close[0]}"? Else ' if close else ""
        fix = f"{meant}install the package that brings it (pip install ...); `python -m polyad.backends` lists them"
    return BackendNotFound(
        f"device {name!r}: no installed backend has this name",
        notes={"installed": ", ".join(names()) or "none"},
        fix=fix,
    )


def info_of(name: str) -> BackendInfo | None:
    """The info of an installed backend that need not be created; None if quarantined. Raises BackendNotFound."""
    with lock:
        if name in _backends:
            return _backends[name].info
        if name in _quarantine:
            return _infos.get(name)
        if name not in declared(BACKEND_GROUP):
            raise _not_found(name)
        try:
            return _read_info(name)
        except (Exception, SystemExit) as error:
            _quarantine[name] = _failure(name, error)
            return None


def failure_of(name: str) -> Failure | None:
    """Why a backend is quarantined; None if it is not."""
    return _quarantine.get(name)


def is_available(name: str) -> bool:
    """Whether tensors can be created on device *name*, such as "cpu", "opencl" or "cuda:1".

    Loads its backend. Raises TypeError for what is no string or device, and nothing else.

    >>> import polyad
    >>> polyad.backends.is_available("cpu"), polyad.backends.is_available("abacus")
    (True, False)
    """
    try:
        resolve_device(name)
    except (BackendError, DeviceError):
        return False
    return True


def is_loaded(name: str) -> bool:
    """Whether the backend has been created."""
    return name in _backends


def is_used(name: str) -> bool:
    """Whether there has been a tensor on a device of the backend: to look for devices is not to use one."""
    return any(device.type == name for _, device, _ in _types)


# ------------------------------------------------------------------------------------------------------- registering


class Registration:
    """A backend registered from Python; as a context manager, it is taken back at the end."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self) -> Registration:
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        unregister(self.name)

    def __repr__(self) -> str:
        return f"<registration of backend {self.name!r}>"


def register(name: str, backend: Backend) -> Registration:
    """Make *backend* serve device type *name* in this process, without a package: for notebooks and tests.

    Its ``info`` may be missing. Raises TypeError if it is no Backend, ValueError if the name is in use or is no
    identifier, and ApiVersionMismatch as for an installed backend.
    """
    if not isinstance(backend, Backend):
        raise ArgumentTypeError(
            f"register: {safe_repr(backend)} is not a Backend",
            fix="pass an instance of a class derived from polyad.backend.Backend",
        )
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise ArgumentError(
            f"register: {safe_repr(name)} is no device type", fix='use letters, digits and underscores, such as "fake"'
        )
    if getattr(backend, "info", None) is None:
        backend.info = BackendInfo(name=name, api_version=API_VERSION, description=type(backend).__name__)
    _check_info(name, backend.info)
    _give_info(backend, backend.info)
    with lock:
        if name in _OWN or name in names():
            raise ArgumentError(
                f"register: the device type {name!r} is in use",
                fix="choose another name, or unregister the other backend first",
            )
        _registered.add(name)
        _backends[name] = backend
    _check_kernels(name, backend)
    return Registration(name)


def unregister(name: str) -> None:
    """Take a registered backend back; its tensors are of no use then. Raises ValueError if it was not registered."""
    with lock:
        if name not in _registered:
            raise ArgumentError(
                f"unregister: {name!r} was not registered", fix="only backends given to register() can be taken back"
            )
        _registered.discard(name)
        _drop(name)
        _notify()


def _drop(name: str) -> None:
    _backends.pop(name, None)
    _types_with_a_current_device.discard(name)
    state.current_devices = {known: index for known, index in state.current_devices.items() if known != name}
    for key in [key for key in _types if key[1].type == name]:
        del _types[key]
    for named in [named for named, device in _devices.items() if device.type == name]:
        del _devices[named]


def forget() -> None:
    """Look at the installed packages anew, after one was installed or mended while the program runs.

    Quarantined backends get another try and plug-ins are loaded again. Backends that work stay loaded, so that existing
    tensors stay valid; a backend whose package is gone is dropped.
    """
    global _environment_default
    with lock:
        declared.cache_clear()
        for known in (_hooks, _infos, _quarantine):
            known.clear()
        _environment_default = None
        for name in list(_backends):
            if name not in _OWN and name not in names():
                _drop(name)
        _notify()


def on_forget(listener: Callable[[], None]) -> None:
    """Call *listener* when what is known of backends or plug-ins changes: cached plans must go too."""
    _listeners.append(listener)


def _notify() -> None:
    for listener in _listeners:
        listener()


# ------------------------------------------------------------------------------------------------------------ devices

_devices: dict[str | Device, Device] = {}
_types_with_a_current_device: set[str] = set()
"""Device types of which some thread has chosen a device: what their name alone means, each thread asks anew."""
_environment_default: Device | None = None


def resolve_device(device: Any) -> Device:
    """The full name of a device (index filled in), checked to exist; None means the current default device, a number
    that of the current accelerator's devices.

    Raises TypeError for anything else, BackendNotFound, BackendUnavailable if the device type has no such device, and
    DeviceError for a text that cannot be read.
    """
    if device is None:
        device = state.default_device
        if device is None:
            return _environment_default or _read_environment()
    elif not isinstance(device, (str, Device)):
        if isinstance(device, int) and not isinstance(device, bool):
            return provided.device_of_number(device)  # type: ignore[no-any-return]
        raise ArgumentTypeError(
            f"device: {safe_repr(device)} is no device", fix='pass a string such as "cpu" or a polyad.device'
        )
    found = _devices.get(device)
    if found is None:
        named = Device(device)
        found = _check_device(named)
        with lock:
            if named.index is not None or named.type not in _types_with_a_current_device:
                _devices[device] = found
    return found


def _check_device(named: Device) -> Device:
    backend = get(named.type)
    if not backend.info.indexed:
        if named.index not in (None, 0):
            raise DeviceError(
                f"device {named}: {named.type!r} has one device without a number", fix=f'write "{named.type}"'
            )
        return Device(named.type)
    index = state.current_devices.get(named.type, 0) if named.index is None else named.index
    count, why = count_devices(backend)
    if index < count:
        return Device(named.type, index)
    if count:
        listed = (
            f"1 device, {named.type}:0"
            if count == 1
            else f"{count} devices, {named.type}:0 to {named.type}:{count - 1}"
        )
        raise BackendUnavailable(
            f"device {named}: there is no such device; {named.type!r} has {listed}",
            fix="use one of these; `python -m polyad.backends` describes them",
        )
    raise BackendUnavailable(
        f"device {named}: the backend {named.type!r} is installed but finds no device",
        notes={"because": why} if why else {},
        fix="mend that and start the program again, or use another device: `python -m polyad.backends` lists them"
        if why
        else backend.info.install or "`python -m polyad.backends` shows more",
    )


def set_current(device: Device) -> None:
    """In this thread, let *device*, which `resolve_device` gave, be meant by its type without an index."""
    with lock:
        _types_with_a_current_device.add(device.type)
        state.current_devices = {**state.current_devices, device.type: device.index or 0}
        for named in [named for named in _devices if Device(named) == Device(device.type)]:
            del _devices[named]


def count_devices(backend: Backend) -> tuple[int, str]:
    """How many devices a backend finds, and why there are none."""
    try:
        count = backend.device_count()
        return count, "" if count else backend.probe()
    except Exception as error:
        return 0, f"{type(error).__name__}: {error}"


def _read_environment() -> Device:
    global _environment_default
    text = os.environ.get(DEVICE_VARIABLE)
    try:
        found = _check_device(Device(text or "cpu"))
    except (BackendError, DeviceError) as error:
        if text:
            error.lines["asked by"] = f"the environment variable {DEVICE_VARIABLE}={text}"
        raise
    _environment_default = found
    return found


def get_default_device() -> Device:
    """The device that new tensors of this thread get.

    It is that of ``with polyad.device(...)``, else of `set_default_device`, else the environment's POLYAD_DEVICE, else
    "cpu". Raises what `resolve_device` raises if POLYAD_DEVICE names no device.

    >>> import polyad
    >>> polyad.get_default_device()
    device(type='cpu')
    """
    return resolve_device(None)


def set_default_device(device: str | Device | None) -> None:
    """Give new tensors of this thread *device*; None returns to POLYAD_DEVICE, else "cpu".

    Raises what `resolve_device` raises for a device that does not exist, and changes nothing then.

    >>> import polyad
    >>> polyad.set_default_device("cpu")
    >>> polyad.zeros(1).device
    device(type='cpu')
    >>> polyad.set_default_device(None)
    """
    state.default_device = None if device is None else resolve_device(device)


of_older_types: Device | None = None
"""The device that `polyad.set_default_tensor_type` chose, which is not the cpu."""


def device_of_older_types() -> Device:
    """Where ``polyad.Tensor(...)`` makes tensors: neither ``with device`` nor `set_default_device` has a say in it."""
    return of_older_types or _environment_default or _read_environment()


# ------------------------------------------------------------------------------------------------------- tensor types

_types: dict[tuple[DType, Device, bool], TensorType] = {}


def tensor_type(dtype: DType, device: Device, zero_dim: bool) -> TensorType:
    """The interned TensorType of a device from `resolve_device`. Raises UndeclaredDType for a dtype that it lacks."""
    key = (dtype, device, zero_dim)
    found = _types.get(key)
    if found is not None:
        return found
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(f"dtype: {safe_repr(dtype)} is no dtype", fix="pass a dtype such as polyad.float32")
    backend = get(device.type)
    supported = backend.capabilities(device).dtypes
    if dtype not in supported:
        raise UndeclaredDType(
            f"dtype: {device} has no {dtype.name}",
            device=device,
            dtype=dtype,
            notes={"has": ", ".join(d.name for d in sorted(supported, key=lambda d: (d.category, d.itemsize, d.name)))},
            fix="use one of these dtypes, or another device",
        )
    with lock:
        if key not in _types:
            nd, zd = TensorType(), TensorType()
            for type_, flag in ((nd, False), (zd, True)):
                type_.dtype, type_.device, type_.zero_dim, type_.backend, type_.nd, type_.zd = (
                    dtype,
                    device,
                    flag,
                    backend,
                    nd,
                    zd,
                )
            _types[dtype, device, False], _types[dtype, device, True] = nd, zd
        return _types[key]
