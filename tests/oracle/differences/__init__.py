"""What differs from PyTorch on purpose; docs/compatibility.md tells users.

Invariant: every entry is needed. Its `call` shows the difference, and a test makes that call: an entry whose call no
longer differs, or is claimed by an entry above it, fails.

To add a difference, add it to `DIFFERENCES` in the file of its family, or in everywhere.py for a rule of several, with
the reason why PyTorch's way was not taken. A rule should claim as little as it can: the function, the sort of mismatch
and what tells the case from others.
"""

from __future__ import annotations

from ..calls import Call
from ..outcomes import Mismatch, Outcome
from . import everywhere, linalg, nn, pointwise, shaping
from .difference import Difference

__all__ = ["DIFFERENCES", "Difference", "deliberate"]

DIFFERENCES = [
    *nn.DIFFERENCES,
    *linalg.DIFFERENCES,
    *pointwise.DIFFERENCES,
    *shaping.DIFFERENCES,
    *everywhere.DIFFERENCES,
]


def deliberate(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> Difference | None:
    """The entry that claims *mismatch*."""
    return next((entry for entry in DIFFERENCES if entry.applies(call, mismatch, ours, theirs)), None)
