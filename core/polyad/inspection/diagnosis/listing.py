"""Gathering what is known of every installed backend and plug-in, and saying it in plain text.

Nothing that is wrong with a package stops the listing: it becomes the package's ``problem`` and ``fix``.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from ... import ops as _declared_ops  # declares every op, so that kernels can be counted against them
from ...backend.api_version import API_VERSION
from ...backend.families import listed_unknown, unknown_kernels
from ...backend.interface import Backend
from ...base.device import Device
from ...devices import plugins, registry
from ...devices.entry_points import PLUGIN_GROUP, declared, package_of, way_out
from ...dispatch.op import OPS, primitives
from ...errors import BackendError

assert _declared_ops

WIDTH = 110
"""Of the plain text."""

Status = Literal["loaded", "quarantined", "not loaded", "not installed"]


@dataclass(frozen=True, slots=True)
class DeviceReport:
    """One device: its name, the hardware's own description, and what it can do."""

    name: str
    description: str
    dtypes: tuple[str, ...]
    features: tuple[str, ...]
    limits: dict[str, int]
    quirks: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class BackendReport:
    """What is known of a backend.

    Attributes:
        name: the device type.
        status: "loaded"; "quarantined"; "not loaded" where that was not asked for; "not installed" where modules that
            it requires are missing: no problem, but there is a fix.
        package: the distribution that brings it, empty for a registered backend.
        description: the line in which it describes itself.
        api_version: (major, minor) of the interface it was written for, None if it could not be asked.
        devices: the devices it found.
        primitives: names of the primitives it has kernels for; missing: those it has none for.
        overrides: names of the composites it has kernels for.
        problem, fix: what is wrong and what mends it, empty if nothing is.
        traceback: of the failure, for its author.
    """

    name: str
    status: Status
    package: str = ""
    description: str = ""
    api_version: tuple[int, int] | None = None
    devices: tuple[DeviceReport, ...] = ()
    primitives: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()
    problem: str = ""
    fix: str = ""
    traceback: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class PluginReport:
    """One plug-in: the kernels it brings as (device type, op, priority) and its notes, or what is wrong with it."""

    name: str
    package: str
    kernels: tuple[tuple[str, str, int], ...] = ()
    problem: str = ""
    fix: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Listing:
    """All backends and plug-ins. Iterates over the backends; prints as a text."""

    backends: tuple[BackendReport, ...]
    plugins: tuple[PluginReport, ...]
    api_version: tuple[int, int] = API_VERSION

    def __iter__(self) -> Iterator[BackendReport]:
        return iter(self.backends)

    def __len__(self) -> int:
        return len(self.backends)

    def __getitem__(self, key: int | str) -> BackendReport:
        """A backend by position or by name. Raises KeyError for a name that is not installed."""
        if isinstance(key, int):
            return self.backends[key]
        for backend in self.backends:
            if backend.name == key:
                return backend
        raise KeyError(key)

    def as_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers: what ``--json`` prints."""
        return asdict(self)

    def __str__(self) -> str:
        return text_of_listing(self)


def list_backends(*, load: bool = True) -> Listing:
    """Every backend and plug-in: status, devices, capabilities, kernels, what is wrong and how to mend it.

    With ``load=False`` only what is loaded already is asked for devices, and nothing is imported but hook modules.

    >>> import polyad
    >>> cpu = polyad.backends.list_backends()["cpu"]
    >>> cpu.status, cpu.devices[0].name
    ('loaded', 'cpu')
    """
    return Listing(tuple(_backend(name, load) for name in registry.names()), tuple(_plugins()) if load else ())


def _backend(name: str, load: bool) -> BackendReport:
    package = package_of(registry.BACKEND_GROUP, name) or "registered in this process"
    facts: dict[str, Any] = {"name": name, "package": package}
    info = registry.info_of(name)
    if info is not None:
        facts |= {"description": info.description, "api_version": info.api_version}
    if registry.failure_of(name) is None and (load or registry.is_loaded(name)):
        try:
            return BackendReport(status="loaded", **facts, **_of_loaded(name, registry.get(name)))
        except BackendError:
            assert registry.failure_of(name) is not None
    if info is not None and info.lacking():
        return BackendReport(status="not installed", **facts, fix=info.install)
    failure = registry.failure_of(name)
    if failure is None:
        return BackendReport(status="not loaded", **facts)
    problem = _one_line(failure.error())
    return BackendReport(status="quarantined", **facts, problem=problem, fix=failure.fix, traceback=failure.details)


def _one_line(error: BackendError) -> str:
    notes = "; ".join(f"{name}: {text}" for name, text in error.lines.items())
    return error.message + (f" ({notes})" if notes else "")


def _of_loaded(name: str, backend: Backend) -> dict[str, Any]:
    count, why = registry.count_devices(backend)
    problems: list[str] = []
    fix = ""
    if not count:
        problems.append("it finds no device" + (f": {why}" if why else ""))
        fix = "mend that, and start the program again" if why else backend.info.install
    devices: list[DeviceReport] = []
    for index in range(count):
        device = Device(name, index) if backend.info.indexed else Device(name)
        try:
            devices.append(_device(backend, device))
        except BackendError as error:
            problems.append(f"{device}: {_one_line(error)}")
            fix = fix or error.fix or ""
        except Exception as error:
            problems.append(f"{device}: it cannot be described: {type(error).__name__}: {error}")
            fix = fix or "report it to the backend's author"
    own: set[str] = set()
    try:
        own = set(backend.kernels)
    except Exception as error:
        problems.append(f"its kernels cannot be listed: {type(error).__name__}: {error}")
        fix = fix or "report it to the backend's author"
    unknown = unknown_kernels(own)
    if unknown:
        problems.append(f"it has kernels for ops that do not exist here: {listed_unknown(unknown)}")
        fix = fix or "its author should compare the names with `polyad ops`, or it was written for another polyad"
    required = primitives().keys()
    return {
        "devices": tuple(devices),
        "primitives": tuple(sorted(required & own)),
        "missing": tuple(sorted(required - own)),
        "overrides": tuple(sorted(own & OPS.keys() - required)),
        "problem": "; ".join(problems),
        "fix": fix,
    }


def _device(backend: Backend, device: Device) -> DeviceReport:
    capabilities = backend.capabilities(device)
    return DeviceReport(
        str(device),
        backend.describe_device(device),
        tuple(
            dtype.name
            for dtype in sorted(capabilities.dtypes, key=lambda dtype: (dtype.category, dtype.itemsize, dtype.name))
        ),
        tuple(sorted(capabilities.features)),
        dict(capabilities.limits),
        tuple((quirk.name, quirk.reason, quirk.link) for quirk in capabilities.quirks),
    )


def _plugins() -> Iterator[PluginReport]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", plugins.BrokenPluginWarning)  # the listing itself says it
        broken = plugins.broken_plugins()
    supplies = plugins.supplies()
    for name in sorted(declared(PLUGIN_GROUP)):
        package = package_of(PLUGIN_GROUP, name)
        if name in broken:
            yield PluginReport(
                name,
                package,
                problem=broken[name],
                fix=way_out(
                    broken[name], f"pip install --upgrade {package.partition(' ')[0] or 'its package'}, or uninstall it"
                ),
            )
            continue
        kernels = tuple((supply.device_type, supply.op, supply.priority) for supply in supplies.get(name, ()))
        unknown = unknown_kernels({op for _, op, _ in kernels})
        problem = f"it has kernels for ops that do not exist here: {listed_unknown(unknown)}" if unknown else ""
        fix = "upgrade it, or polyad, so that both know the same ops" if unknown else ""
        yield PluginReport(name, package, kernels, problem, fix, tuple(plugins.notes_of(name)))


# ------------------------------------------------------------------------------------------------------------ as text


def shown_version(pair: tuple[int, int] | None) -> str:
    """A version of the interface as text."""
    return "?" if pair is None else f"{pair[0]}.{pair[1]}"


def labelled(label: str, text: str) -> str:
    """One field of a report in plain text, wrapped."""
    lead = f"    {label:<12}"
    return "\n".join(
        textwrap.wrap(
            text,
            WIDTH,
            initial_indent=lead,
            subsequent_indent=" " * len(lead),
            break_long_words=False,
            break_on_hyphens=False,
        )
    )


def _device_fields(device: DeviceReport) -> list[tuple[str, str]]:
    fields = [(device.name, device.description), ("  dtypes", ", ".join(device.dtypes))]
    if device.features:
        fields.append(("  features", ", ".join(device.features)))
    if device.limits:
        fields.append(("  limits", ", ".join(f"{name} {value:,}" for name, value in device.limits.items())))
    return fields + [
        ("  quirk", f"{name}: {reason}" + (f" ({link})" if link else "")) for name, reason, link in device.quirks
    ]


def _kernels(backend: BackendReport) -> str:
    total = len(backend.primitives) + len(backend.missing)
    return f"{len(backend.primitives)} of {total} primitives; {len(backend.overrides)} composites fused"


def backend_fields(backend: BackendReport, verbose: bool) -> list[tuple[str, str]]:
    """What a report says of a backend, as labels and texts."""
    fields = [("is", backend.description)] if backend.description else []
    for device in backend.devices:
        fields += _device_fields(device)
    if backend.status == "loaded":
        fields.append(("kernels", _kernels(backend)))
        if backend.missing:
            fields.append(("no kernel", _some(backend.missing, verbose)))
        if verbose and backend.overrides:
            fields.append(("fused", ", ".join(backend.overrides)))
    return fields + _trouble(backend)


def plugin_fields(plugin: PluginReport, verbose: bool = False) -> list[tuple[str, str]]:
    """What a report says of a plug-in, as labels and texts."""
    groups: dict[tuple[str, int], list[str]] = {}
    for device, op, priority in plugin.kernels:
        groups.setdefault((device, priority), []).append(op)
    listed = [
        (device, f"{_some(sorted(ops), verbose)} (priority {priority})")
        for (device, priority), ops in sorted(groups.items())
    ]
    return listed + [("note", note) for note in plugin.notes] + _trouble(plugin)


def _some(names: Sequence[str], verbose: bool) -> str:
    """The names, or the first of many."""
    shown = names if verbose else names[:12]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more (--verbose lists them)" if more else "")


def _trouble(report: BackendReport | PluginReport) -> list[tuple[str, str]]:
    return ([("problem", report.problem)] if report.problem else []) + ([("fix", report.fix)] if report.fix else [])


def text_of_listing(listing: Listing, verbose: bool = False) -> str:
    """The listing as plain text."""
    parts = [f"backends (interface {shown_version(listing.api_version)})"]
    for backend in listing.backends:
        origin = backend.package + (f", interface {shown_version(backend.api_version)}" if backend.api_version else "")
        parts.append(
            "\n".join(
                [
                    f"{backend.name}: {backend.status} ({origin})",
                    *(labelled(*pair) for pair in backend_fields(backend, verbose)),
                ]
            )
        )
        if verbose and backend.traceback:
            parts.append(textwrap.indent(backend.traceback.rstrip(), "    | "))
    if not listing.backends:
        parts.append("none is installed\n" + labelled("fix", "pip install --force-reinstall polyad"))
    for plugin in listing.plugins:
        status = "broken" if plugin.problem and not plugin.kernels else "loaded"
        parts.append(
            "\n".join(
                [
                    f"plug-in {plugin.name}: {status} ({plugin.package})",
                    *(labelled(*pair) for pair in plugin_fields(plugin, verbose)),
                ]
            )
        )
    return "\n\n".join(parts)
