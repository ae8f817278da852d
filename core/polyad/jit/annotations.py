"""Types for annotations, where older models import them from: they are Python's."""

from typing import Any, Dict, Final, List, NamedTuple, Optional, Tuple, Union  # noqa: UP035 - the names are the point

__all__ = [
    "Any",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Final",
    "List",
    "NamedTuple",
    "Optional",
    "Tuple",
    "Union",
]


class BroadcastingList:
    """An annotation ``BroadcastingList2[int]``: a list, or one number for all its items. Python takes any of both."""

    def __class_getitem__(cls, item: Any) -> Any:
        return Union[item, list[item]]  # noqa: UP007 - the item is a value here


BroadcastingList2 = BroadcastingList3 = BroadcastingList
