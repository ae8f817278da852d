"""The slots for functions that tensors call and higher layers bring."""

from __future__ import annotations

import subprocess
import sys

import pytest

from polyad.base.provided import Slot


def test_importing_polyad_fills_every_slot() -> None:
    program = (
        "import polyad.base.provided as provided\n"
        "slots = {name: one for name, one in vars(provided).items() if isinstance(one, provided.Slot)}\n"
        "print(len(slots), [name for name, one in slots.items() if not one.filled])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    count, _, empty = done.stdout.strip().partition(" ")
    assert int(count) > 0
    assert empty == "[]"


def test_a_later_function_is_imported_by_the_first_call() -> None:
    slot: Slot[float] = Slot()
    slot.fill_later("no.such.module", "function")
    with pytest.raises(ModuleNotFoundError):
        slot()
    slot.fill_later("math", "floor")
    assert [slot(2.5), slot(3.5)] == [2, 3]
