"""Whatever is printed here is verified first."""

from importlib import import_module

import pytest

from polyad.codegen import printer

from .verified import verify


@pytest.fixture(autouse=True)
def verified(monkeypatch: pytest.MonkeyPatch) -> list:
    """The bodies that were printed, all of them right."""
    printed = []

    def source_of(body, dialect, parameters, scalars, numbers, **given):
        names = [name for _, name in parameters.pointers]
        verify(body, arrays=names, scalars=scalars, numbers=numbers, lanes=given["lanes"])
        printed.append((body, dialect, parameters, scalars, numbers, given))
        return print_source(body, dialect, parameters, scalars, numbers, **given)

    print_source = printer.source_of
    for module in ("elementwise", "reduction", "rowwise", "tables"):
        monkeypatch.setattr(import_module(f"polyad.codegen.{module}"), "source_of", source_of)
    return printed
