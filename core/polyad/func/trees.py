"""Nested dicts, lists and tuples, flattened to their leaves and built again.

A leaf is everything that is no dict, list or tuple (OrderedDict, defaultdict and named tuples count as these; another
subclass, such as a `polyad.Size`, is a leaf). Two structures are equal if they nest alike with the same keys.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ..errors import ArgumentError


class Tree:
    """The structure of a nested value without its leaves.

    Attributes:
        container: its type, such as dict; None for a leaf.
        keys: of a dict, in its order; else empty.
        children: the structures within.
    """

    __slots__ = ("children", "container", "count", "factory", "keys")

    def __init__(self, container: Any, keys: tuple[Any, ...], children: tuple[Tree, ...], factory: Any = None) -> None:
        self.container, self.keys, self.children, self.factory = container, keys, children, factory
        self.count: int = 1 if container is None else sum(child.count for child in children)

    def build(self, leaves: Iterable[Any]) -> Any:
        """The structure with *leaves* in their places."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.container is None:
            return next(leaves)
        items = [child._build(leaves) for child in self.children]
        if self.container is defaultdict:
            return defaultdict(self.factory, zip(self.keys, items, strict=True))
        if self.container in (dict, OrderedDict):
            return self.container(zip(self.keys, items, strict=True))
        return self.container(*items) if hasattr(self.container, "_fields") else self.container(items)

    def __eq__(self, other: object) -> bool:
        if (
            not isinstance(other, Tree)
            or self.container is not other.container
            or len(self.children) != len(other.children)
        ):
            return False
        if self.container in (dict, OrderedDict, defaultdict):
            theirs = dict(zip(other.keys, other.children, strict=True))
            return all(theirs.get(key) == child for key, child in zip(self.keys, self.children, strict=True))
        return self.children == other.children

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        return str(self.build([_STAR] * self.count))


class _Star:
    def __repr__(self) -> str:
        return "*"


_STAR = _Star()
LEAF = Tree(None, (), ())


def flatten(value: Any) -> tuple[list[Any], Tree]:
    """The leaves of *value* in order, and its structure.

    >>> from polyad.func.trees import flatten
    >>> leaves, tree = flatten({"a": 1, "b": (2, [3])})
    >>> leaves, str(tree)
    ([1, 2, 3], "{'a': *, 'b': (*, [*])}")
    >>> tree.build([4, 5, 6])
    {'a': 4, 'b': (5, [6])}
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten(value, leaves)
    except RecursionError:
        raise ArgumentError(
            "func: an argument or a result is nested too deeply, or contains itself",
            fix="nest tensors in a few dicts, lists and tuples",
        ) from None


def _flatten(value: Any, leaves: list[Any]) -> Tree:
    container = type(value)
    if container in (dict, OrderedDict, defaultdict):
        factory = value.default_factory if container is defaultdict else None
        return Tree(container, tuple(value), tuple([_flatten(item, leaves) for item in value.values()]), factory)
    if container in (list, tuple) or (isinstance(value, tuple) and hasattr(container, "_fields")):
        return Tree(container, (), tuple([_flatten(item, leaves) for item in value]))
    leaves.append(value)
    return LEAF


def same_order(value: Any, tree: Tree) -> list[Any]:
    """The leaves of *value*, whose structure equals *tree*, in tree's order: a dict may have its keys in another."""
    if tree.container is None:
        return [value]
    items = [value[key] for key in tree.keys] if tree.keys else list(value) if not isinstance(value, dict) else []
    return [leaf for item, child in zip(items, tree.children, strict=True) for leaf in same_order(item, child)]


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """*value* with ``function(leaf)`` in place of each leaf."""
    leaves, tree = flatten(value)
    return tree.build([function(leaf) for leaf in leaves])
