"""Showing a `Listing` and a `DoctorReport`: plain text anywhere, tables on a terminal, for which rich is imported."""

from __future__ import annotations

import sys
import textwrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .doctor import DoctorReport
    from .listing import BackendReport, DeviceReport, Listing, PluginReport

WIDTH = 110
COLOURS = {"loaded": "green", "quarantined": "red", "not loaded": "dim", "not installed": "dim"}


def _version(pair: tuple[int, int] | None) -> str:
    return "?" if pair is None else f"{pair[0]}.{pair[1]}"


def _field(label: str, text: str) -> str:
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


def _backend_fields(backend: BackendReport, verbose: bool) -> list[tuple[str, str]]:
    fields = [("is", backend.description)] if backend.description else []
    for device in backend.devices:
        fields += _device_fields(device)
    if backend.status == "loaded":
        fields.append(("kernels", _kernels(backend)))
        if backend.missing:
            shown = backend.missing if verbose else backend.missing[:12]
            more = len(backend.missing) - len(shown)
            fields.append(
                ("no kernel", ", ".join(shown) + (f" and {more} more (--verbose lists them)" if more else ""))
            )
        if verbose and backend.overrides:
            fields.append(("fused", ", ".join(backend.overrides)))
    return fields + _trouble(backend)


def _plugin_fields(plugin: PluginReport) -> list[tuple[str, str]]:
    by_device: dict[str, list[str]] = {}
    for device, op, priority in plugin.kernels:
        by_device.setdefault(device, []).append(f"{op} (priority {priority})")
    return [(device, ", ".join(sorted(ops))) for device, ops in sorted(by_device.items())] + _trouble(plugin)


def _trouble(report: BackendReport | PluginReport) -> list[tuple[str, str]]:
    return ([("problem", report.problem)] if report.problem else []) + ([("fix", report.fix)] if report.fix else [])


def text_of_listing(listing: Listing, verbose: bool = False) -> str:
    """The listing as plain text."""
    parts = [f"backends (interface {_version(listing.api_version)})"]
    for backend in listing.backends:
        origin = backend.package + (f", interface {_version(backend.api_version)}" if backend.api_version else "")
        parts.append(
            "\n".join(
                [
                    f"{backend.name}: {backend.status} ({origin})",
                    *(_field(*pair) for pair in _backend_fields(backend, verbose)),
                ]
            )
        )
        if verbose and backend.traceback:
            parts.append(textwrap.indent(backend.traceback.rstrip(), "    | "))
    if not listing.backends:
        parts.append("none is installed\n" + _field("fix", "pip install --force-reinstall polyad"))
    for plugin in listing.plugins:
        status = "broken" if plugin.problem and not plugin.kernels else "loaded"
        parts.append(
            "\n".join(
                [
                    f"plug-in {plugin.name}: {status} ({plugin.package})",
                    *(_field(*pair) for pair in _plugin_fields(plugin)),
                ]
            )
        )
    return "\n\n".join(parts)


def text_of_doctor(report: DoctorReport) -> str:
    """The doctor's report as plain text."""
    tests = []
    for test in report.tests:
        tests.append(_field(test.device, f"ok in {test.seconds:.2f} s" if test.ok else f"FAILED: {test.problem}"))
        if test.fix:
            tests.append(_field("fix", test.fix))
    parts = [
        "\n".join(["versions", *(_field(name, version) for name, version in report.versions.items())]),
        text_of_listing(report.listing),
        f"default device: {report.default_device or report.default_problem}",
        "\n".join(["self-test (matrix product, backward, copies)", *tests]),
        report.verdict,
    ]
    return "\n\n".join(parts)


def show_listing(listing: Listing, verbose: bool = False) -> None:
    """Print the listing: a table on a terminal, plain text otherwise."""
    console = _console()
    if console is None:
        sys.stdout.write(text_of_listing(listing, verbose) + "\n")
    else:
        _show_tables(console, listing, verbose)


def show_doctor(report: DoctorReport) -> None:
    """Print the doctor's report: tables on a terminal, plain text otherwise."""
    console = _console()
    if console is None:
        sys.stdout.write(text_of_doctor(report) + "\n")
        return
    from rich.table import Table
    from rich.text import Text

    versions = Table("", "version", title="Versions", title_justify="left")
    for name, version in report.versions.items():
        versions.add_row(name, Text(version))
    console.print(versions)
    _show_tables(console, report.listing, verbose=False)
    tests = Table(
        "device",
        "self-test",
        "seconds",
        "problem and fix",
        title="Self-test: matrix product, backward, copies",
        title_justify="left",
    )
    for test in report.tests:
        tests.add_row(
            test.device,
            Text("ok", "green") if test.ok else Text("FAILED", "bold red"),
            f"{test.seconds:.2f}",
            Text("\n".join(filter(None, (test.problem, test.fix)))),
        )
    console.print(tests)
    console.print(Text(f"default device: {report.default_device or report.default_problem}"))
    console.print(Text(report.verdict, "green" if report.exit_status == 0 else "bold red"))


def _console() -> Any:
    """A rich console if the output is a terminal, else None."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(highlight=False)


def _show_tables(console: Any, listing: Listing, verbose: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=f"Backends (interface {_version(listing.api_version)})", title_justify="left", show_lines=True)
    for heading in ("device type", "status", "interface", "package", "what it says"):
        table.add_column(heading, overflow="fold")
    for backend in listing.backends:
        fields = Text("\n").join(
            Text.assemble((f"{label.strip()}  ", "bold red" if label == "problem" else "bold" if label else ""), text)
            for label, text in _backend_fields(backend, verbose)
        )
        table.add_row(
            Text(backend.name, "bold"),
            Text(backend.status, COLOURS[backend.status]),
            _version(backend.api_version),
            Text(backend.package),
            fields,
        )
    console.print(table)
    if listing.plugins:
        table = Table("plug-in", "package", "kernels", title="Plug-ins", title_justify="left", show_lines=True)
        for plugin in listing.plugins:
            fields = Text("\n").join(
                Text.assemble((f"{label}  ", "bold red" if label == "problem" else "bold"), text)
                for label, text in _plugin_fields(plugin)
            )
            table.add_row(Text(plugin.name, "bold"), Text(plugin.package), fields)
        console.print(table)
    if verbose:
        for backend in listing.backends:
            if backend.traceback:
                console.print(Text(f"\n{backend.name}\n{backend.traceback}", "dim"))
