"""Collective operations with a gradient, at PyTorch's path ``polyad.distributed.nn``: they need a group, too."""

from __future__ import annotations

from . import _needs_group

__all__ = ["all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "scatter"]

all_gather = _needs_group("all_gather")
all_reduce = _needs_group("all_reduce")
all_to_all = _needs_group("all_to_all")
all_to_all_single = _needs_group("all_to_all_single")
broadcast = _needs_group("broadcast")
gather = _needs_group("gather")
reduce = _needs_group("reduce")
scatter = _needs_group("scatter")
