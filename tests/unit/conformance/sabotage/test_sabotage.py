"""Each sabotage is caught by the check that has to catch it. Run with ``-s`` to see what the checks say.

The honest backends, wrong in no way, pass the same checks on the same samples: otherwise nothing here would mean
anything.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

import polyad
from polyad.backend import Backend
from polyad.devices import registry
from polyad_conformance.calls import Target
from polyad_conformance.checks import devices

from . import numbers
from .catching import caught
from .saboteur import NAME, SABOTAGES, QueueingSaboteur, Sabotage, Saboteur

ASKED_FOR = 120
"""How many distinct ways to be wrong there are at least."""


@pytest.mark.parametrize(
    ("backend", "check", "ops"),
    sorted({(one.backend, one.check, one.ops) for one in SABOTAGES}, key=str),
    ids=lambda value: (
        value.__name__ if isinstance(value, type) else value if isinstance(value, str) else "+".join(value)
    ),
)
def test_honest_backends_pass(backend: type[Backend], check: str, ops: tuple[str, ...]) -> None:
    with registry.register(NAME, backend()):
        assert caught(check, ops) == ""


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda sabotage: f"{sabotage.name}-{sabotage.check}")
def test_sabotage_is_caught(sabotage: Sabotage, monkeypatch: pytest.MonkeyPatch) -> None:
    backend = sabotage.backend()
    with registry.register(NAME, backend):
        sabotage.spoil(backend, monkeypatch)
        words = caught(sabotage.check, sabotage.ops)
        monkeypatch.undo()
    on = f" of {', '.join(sabotage.ops)}" if sabotage.ops else ""
    print(f"{sabotage.name}: {sabotage.check}{on} says: {words.splitlines()[0] if words else 'nothing'}")
    assert words, f"{sabotage.name} ({sabotage.description}) was not caught by {sabotage.check}{on}"


def test_there_are_enough_sabotages_and_each_says_what_it_does() -> None:
    assert len({sabotage.spoil for sabotage in SABOTAGES}) >= ASKED_FOR
    assert [sabotage.name for sabotage in SABOTAGES if not sabotage.description.endswith(".")] == []


@pytest.mark.parametrize("backend", [Saboteur, QueueingSaboteur])
@pytest.mark.parametrize("check", [devices.check_mixed_devices, devices.check_transfer])
def test_checks_of_two_devices_pass_where_there_are_two(check: Any, backend: Any) -> None:
    with registry.register(NAME, backend()):
        check(Target(NAME))


def test_a_transfer_that_loses_strides_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Saboteur.from_host
    forget = lambda data: np.ascontiguousarray(np.asarray(data).T).reshape(data.shape)  # noqa: E731
    with registry.register(NAME, Saboteur()):
        monkeypatch.setattr(
            Saboteur, "from_host", lambda self, data, dtype, device: honest(self, forget(data), dtype, device)
        )
        with pytest.raises(AssertionError, match="transposed"):
            devices.check_transfer(Target(NAME))


def test_a_sabotaged_backend_is_taken_back() -> None:
    assert NAME not in registry.names()
    with pytest.raises(polyad.errors.BackendNotFound):
        polyad.ones(2, device=NAME)


def test_a_device_may_declare_that_its_division_is_approximate(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = Saboteur()
    capabilities = dataclasses.replace(backend.info.capabilities, features=frozenset({"approximate_division"}))
    backend.info = dataclasses.replace(backend.info, capabilities=capabilities)
    numbers.multiplies_by_the_reciprocal(backend, monkeypatch)
    with registry.register(NAME, backend):
        assert caught("check_arithmetic", ()) == ""
    numbers.cuts_products_of_bfloat16(backend, monkeypatch)
    with registry.register(NAME, backend):
        assert "mul of bfloat16 is rounded wrongly" in caught("check_arithmetic", ())
