"""Showing a `Listing`: plain text anywhere, tables on a terminal, for which rich is imported."""

from __future__ import annotations

import sys
from typing import Any

from .listing import Listing, backend_fields, plugin_fields, shown_version, text_of_listing

COLOURS = {"loaded": "green", "quarantined": "red", "not loaded": "dim", "not installed": "dim"}


def show_listing(listing: Listing, verbose: bool = False) -> None:
    """Print the listing: a table on a terminal, plain text otherwise."""
    terminal = console()
    if terminal is None:
        sys.stdout.write(text_of_listing(listing, verbose) + "\n")
    else:
        show_tables(terminal, listing, verbose)


def console() -> Any:
    """A rich console if the output is a terminal, else None."""
    if not sys.stdout.isatty():
        return None
    from rich.console import Console

    return Console(highlight=False)


def show_tables(terminal: Any, listing: Listing, verbose: bool) -> None:
    """Print the listing on what `console` gave."""
    from rich.table import Table
    from rich.text import Text

    title = f"Backends (interface {shown_version(listing.api_version)})"
    table = Table(title=title, title_justify="left", show_lines=True)
    for heading in ("device type", "status", "interface", "package", "what it says"):
        table.add_column(heading, overflow="fold")
    for backend in listing.backends:
        fields = Text("\n").join(
            Text.assemble((f"{label.strip()}  ", "bold red" if label == "problem" else "bold" if label else ""), text)
            for label, text in backend_fields(backend, verbose)
        )
        table.add_row(
            Text(backend.name, "bold"),
            Text(backend.status, COLOURS[backend.status]),
            shown_version(backend.api_version),
            Text(backend.package),
            fields,
        )
    terminal.print(table)
    if listing.plugins:
        table = Table("plug-in", "package", "kernels", title="Plug-ins", title_justify="left", show_lines=True)
        for plugin in listing.plugins:
            fields = Text("\n").join(
                Text.assemble((f"{label}  ", "bold red" if label == "problem" else "bold"), text)
                for label, text in plugin_fields(plugin, verbose)
            )
            table.add_row(Text(plugin.name, "bold"), Text(plugin.package), fields)
        terminal.print(table)
    if verbose:
        for backend in listing.backends:
            if backend.traceback:
                terminal.print(Text(f"\n{backend.name}\n{backend.traceback}", "dim"))
