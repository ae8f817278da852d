"""The template of a backend is what its README says; `nox -s template` installs it and runs it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from polyad.dispatch.op import primitives

TEMPLATE = Path(__file__).parents[3] / "plugins" / "template"


@pytest.fixture
def kernels(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    monkeypatch.syspath_prepend(str(TEMPLATE / "src"))
    from polyad_template.kernels import KERNELS

    return set(KERNELS)


def test_it_is_as_small_as_its_readme_says() -> None:
    readme = (TEMPLATE / "README.md").read_text()
    lines = [line for path in TEMPLATE.glob("src/**/*.py") for line in path.read_text().splitlines() if line.strip()]
    assert len(lines) <= int(re.search(r"in (\d+) lines", readme)[1])


def test_its_readme_counts_its_kernels(kernels: set[str]) -> None:
    readme = " ".join((TEMPLATE / "README.md").read_text().split())
    assert kernels <= primitives().keys()
    assert f"Of polyad's {len(primitives())} primitives, {len(kernels)} have kernels" in readme
