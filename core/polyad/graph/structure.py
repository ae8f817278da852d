"""Nested lists, tuples and dicts with tensors in them, and the same with a `Ref` in each tensor's place, and a
`NumberRef` in the place of each number that is read at run time.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Ref(NamedTuple):
    """Stands for the value with this number."""

    number: int


@dataclass(frozen=True, slots=True)
class NumberRef:
    """Stands for the `polyad.graph.Number` of this name."""

    name: str


def replace(structure: Any, leaf_type: type | tuple[type, ...], new: Callable[[Any], Any]) -> Any:
    """*structure* with ``new(leaf)`` for every leaf of type *leaf_type*; what holds none is returned as it is."""
    if isinstance(structure, leaf_type):
        return new(structure)
    if isinstance(structure, Ref):  # a tuple, but not a container
        return structure
    if isinstance(structure, (list, tuple)):
        items = [replace(item, leaf_type, new) for item in structure]
        if all(a is b for a, b in zip(items, structure, strict=True)):
            return structure
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return type(structure)(items) if type(structure) in (list, tuple) else _like(structure, items)
    if isinstance(structure, dict):
        replaced = {key: replace(item, leaf_type, new) for key, item in structure.items()}
        same = all(replaced[key] is item for key, item in structure.items())
        return structure if same else replaced if type(structure) is dict else _like(structure, replaced)
    return structure


def _like(structure: Any, items: Any) -> Any:
    """A container of the class of *structure* with other items; of a class that copies in another way, a plain one."""
    if isinstance(structure, tuple):
        return tuple(items)
    other = copy.copy(structure)
    if isinstance(structure, list):
        other[:] = items
    else:
        other.update(items)
    return other


def copied(structure: Any) -> Any:
    """Lists and dicts anew, so that the program's later changes to them do not reach what was recorded."""
    if isinstance(structure, Ref):
        return structure
    if type(structure) is list:
        return [copied(item) for item in structure]
    if type(structure) is tuple:
        return tuple([copied(item) for item in structure])
    if type(structure) is dict:
        return {key: copied(item) for key, item in structure.items()}
    return structure


def leaves(structure: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf with the path to it, such as ``[0].mask`` or ``['x'][1]``; empty containers are leaves too."""
    if isinstance(structure, (list, tuple)) and not isinstance(structure, Ref) and structure:
        fields = getattr(structure, "_fields", None)
        for position, item in enumerate(structure):
            yield from leaves(item, f"{path}.{fields[position]}" if fields else f"{path}[{position}]")
    elif isinstance(structure, dict) and structure:
        for key, item in structure.items():
            yield from leaves(item, f"{path}[{key!r}]")
    else:
        yield path, structure


def leaves_of(structure: Any, leaf_type: type[T]) -> list[T]:
    """Every leaf of type *leaf_type*, in order."""
    if isinstance(structure, leaf_type):
        return [structure]
    if isinstance(structure, dict):
        structure = structure.values()
    elif isinstance(structure, Ref) or not isinstance(structure, (list, tuple)):
        return []
    return [leaf for item in structure for leaf in leaves_of(item, leaf_type)]
