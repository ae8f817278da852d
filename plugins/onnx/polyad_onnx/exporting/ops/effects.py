"""Effects: what brings data in, writes, or is nothing in a file."""

from __future__ import annotations

from typing import Any

import polyad as torch

from ..registry import translates


@translates("check_all", "item", "tolist", "numpy", "__array__", "anywhere", "retain_grad")
def nothing(to: Any, *args: Any) -> None:
    """What looks at elements, which a file cannot: what the program did by it is part of the graph."""


@translates("to_device")
def to_device(to: Any, source: Any, *args: Any) -> Any:
    """The same elements."""
    return to.known[source.number]


@translates("tensor")
def tensor(to: Any, data: Any, dtype: Any, device: Any) -> Any:
    """Data of the program's."""
    found = torch.tensor(data, dtype=dtype)
    return to.constant(found, None)


@translates("empty")
def empty(to: Any, *args: Any) -> Any:
    """Memory of which nothing is known: zeros."""
    return filled(to, to.result.sizes, 0, to.result.dtype)


def filled(to: Any, shape: tuple[Any, ...], number: Any, dtype: Any) -> Any:
    """A number in each place of *shape*."""
    value = to.number(number, dtype)
    return to.op("Expand", value, to.sizes(shape)) if shape else value


@translates("write")
def write(to: Any, name: str, target: Any, source: Any) -> None:
    """What an in-place form computed, in the place of its target."""
    to.write(target, fitted(to, target, source))


@translates("copy_", "fill_")
def copy(to: Any, target: Any, source: Any, *args: Any) -> None:
    """A source that broadcasts, converted to the target's dtype."""
    to.write(target, fitted(to, target, source))


def fitted(to: Any, target: Any, source: Any) -> Any:
    """*source*, a value of the graph or a number, in the shape and dtype of *target*."""
    into = to.graph.values[target.number]
    if not hasattr(source, "number"):
        return filled(to, into.sizes, source, into.dtype)
    value = to.cast(to.known[source.number], into.dtype)
    if to.sizes_of(source) != into.sizes:
        value = to.op("Expand", value, to.sizes(into.sizes))
    return value
