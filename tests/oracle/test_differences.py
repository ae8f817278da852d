"""The table of deliberate differences is right: each entry is needed, and claims its own example."""

from __future__ import annotations

import pytest

from .differences import DIFFERENCES, Difference, deliberate
from .libraries import POLYAD, TORCH
from .outcomes import compare, observe
from .templates import bound_of


@pytest.mark.parametrize("entry", DIFFERENCES, ids=lambda entry: entry.name)
def test_difference_is_alive(entry: Difference) -> None:
    ours, theirs = observe(POLYAD, entry.call), observe(TORCH, entry.call)
    found = compare(entry.call, ours, theirs, bound_of(entry.call.path))
    claims = [deliberate(entry.call, mismatch, ours, theirs) for mismatch in found]
    assert entry in claims, f"{entry.call!r} shows {[str(one) for one in found]}; delete the entry or mend its rule"


def test_names_are_unique() -> None:
    names = [entry.name for entry in DIFFERENCES]
    assert len(names) == len(set(names))
