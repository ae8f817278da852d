"""From a call to what is wrong with it: mismatches that are neither undefined nor deliberate."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .accuracy import Bound
from .calls import Call
from .crashes import Crash
from .differences import deliberate
from .libraries import POLYAD, TORCH
from .outcomes import Mismatch, compare, observe
from .undefined import undefined

TALLY: Counter[str] = Counter()
"""How many calls were compared, and how many mismatches each deliberate or undefined rule explained."""


def disagreements(call: Call, bound: Bound) -> list[Mismatch]:
    """What polyad does wrong in *call*."""
    theirs = observe(TORCH, call)
    if isinstance(theirs.error, Crash):
        return []
    ours = observe(POLYAD, call)
    TALLY["calls"] += 1
    found = []
    for mismatch in compare(call, ours, theirs, bound):
        reason = undefined(call, mismatch, ours, theirs)
        if reason:
            TALLY[f"undefined: {reason}"] += 1
            continue
        entry = deliberate(call, mismatch, ours, theirs)
        if entry is not None:
            TALLY[f"deliberate: {entry.name}"] += 1
            continue
        found.append(mismatch)
    return found


def report(found: Iterable[tuple[Call, Mismatch]], limit: int = 6) -> str:
    """The mismatches, one of each kind first, with the calls that showed them."""
    found = list(found)
    kinds: dict[str, list[tuple[Call, Mismatch]]] = {}
    for call, mismatch in found:
        kinds.setdefault(mismatch.kind, []).append((call, mismatch))
    lines = [f"{len(found)} disagreements with PyTorch: " + ", ".join(f"{len(v)} {k}" for k, v in kinds.items())]
    for group in kinds.values():
        for call, mismatch in sorted(group, key=lambda pair: len(repr(pair[0])))[: max(1, limit // len(kinds))]:
            lines += [f"  {call!r}", f"      {mismatch}"]
    return "\n".join(lines)
