"""Types for annotations, where older models import them from: they are Python's."""

from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035 - the names are the point


class _BroadcastingList:
    """``BroadcastingList2[int]`` is a list, as annotations of layers' options have it."""

    def __getitem__(self, element: Any) -> Any:
        return list[element]


BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = _BroadcastingList()

__all__ = [
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Any",
    "Dict",
    "Final",
    "List",
    "NamedTuple",
    "Optional",
    "Tuple",
    "Union",
]
