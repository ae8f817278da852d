"""Types for annotations, where older models import them from: they are Python's."""

from typing import (  # noqa: UP035 - the names are the point
    Annotated,
    Any,
    Dict,
    Final,
    List,
    NamedTuple,
    Optional,
    Tuple,
    Union,
)


class _BroadcastingList:
    """``BroadcastingList2[int]`` is a list of two, for which a call may give one element that stands for both."""

    def __init__(self, length: int) -> None:
        self._length = length

    def __getitem__(self, element: Any) -> Any:
        return Annotated[list[element], self._length]


BroadcastingList1, BroadcastingList2, BroadcastingList3 = map(_BroadcastingList, (1, 2, 3))

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
