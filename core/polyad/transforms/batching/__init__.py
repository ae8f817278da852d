"""vmap's machinery: how a function of single samples runs on all of them at once.

batched.py `Batched` tensors; vmap_level.py has the level that they belong to
rules.py   which rule an op gets, and the forms of rules
table.py   the ops with a rule of their own; images.py and memory.py have those of two families
views.py   views of batches
loops.py   what is carried out sample by sample, and counted

`polyad.func.vmap` is the transform that users call.
"""

from __future__ import annotations

from . import table as table
from .batched import Batched, Unbatchable
from .loops import LoopRecord, LoopWarning, report, reset_report
from .rules import register
from .vmap_level import VmapLevel, map_first

__all__ = [
    "Batched", "LoopRecord", "LoopWarning", "Unbatchable", "VmapLevel", "map_first", "register", "report",
    "reset_report",
]  # fmt: skip
