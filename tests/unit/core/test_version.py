"""Versions: what a program that takes polyad for PyTorch does with ``__version__``."""

from __future__ import annotations

import importlib.metadata

import pytest
from packaging.version import Version, parse

import polyad
from polyad.torch_version import TorchVersion, _key

ORDERED = [
    "0", "0.1.dev1", "0.1a0.dev2", "0.1a0", "0.1a1", "0.1b2.post1.dev3", "0.1b2.post1", "0.1rc1", "0.1", "0.1+a",
    "0.1+b.2", "0.1+2", "0.1+2.1", "0.1.post1.dev1", "0.1.post1", "0.1.1", "1.9.1", "1.10.0a0", "1.10", "2.13.0",
    "2.13.0+cpu", "1!0.1",
]  # fmt: skip


def test_it_tells_both_versions() -> None:
    assert str(polyad.__version__) == f"{polyad.torch_api_version}+polyad.{polyad.version.polyad}"
    assert importlib.metadata.version("polyad") == polyad.version.polyad
    assert polyad.version.__version__ is polyad.__version__
    assert (polyad.version.cuda, polyad.version.hip, polyad.version.xpu) == (None, None, None)


@pytest.mark.parametrize(
    "gate",
    [
        lambda version: version >= "2.0",
        lambda version: version > "1.9.1",
        lambda version: version >= (1, 13),
        lambda version: "2.9" < version,  # noqa: SIM300 - the other operand's comparison
        lambda version: parse(version) >= Version("2.0.0"),
        lambda version: version >= Version("2.0") and Version("2.0") <= version,
        lambda version: tuple(int(part) for part in version.split(".")[:2]) >= (2, 2),
        lambda version: int(version.split(".")[0]) >= 2 and version[0] >= "2",
        lambda version: version.split("+")[0] == polyad.torch_api_version,
        lambda version: version.startswith("2."),
        lambda version: not version < "2.0" and not version <= "1.13.1",
        lambda version: version != "1.13" and version == str(version),
        lambda version: {version: 1}[str(version)] == 1,
    ],
)
def test_gates_of_scripts_are_met(gate) -> None:
    assert gate(polyad.__version__)


@pytest.mark.parametrize("one", ORDERED)
def test_order_is_that_of_pep_440(one) -> None:
    for other in ORDERED:
        ours, theirs = TorchVersion(one), Version(other)
        expected = (Version(one) > theirs) - (Version(one) < theirs)
        assert ((ours > other) - (ours < other), ours == other) == (expected, expected == 0)
        assert (ours >= other, ours <= other, ours != other) == (expected >= 0, expected <= 0, expected != 0)
        assert (ours > theirs) == (expected > 0)
    assert _key(f" v{one.upper()}") == _key(one)


def test_what_is_no_version_is_compared_as_text() -> None:
    version = TorchVersion("2.13.0")
    assert version < "parrot"
    assert version != "parrot"
    assert version != 3
    assert version is not None
    with pytest.raises(TypeError):
        version > 3  # noqa: B015
