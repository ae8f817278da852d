"""Nested dicts, lists and tuples, flattened to their leaves and built again.

A leaf is everything that is no dict, list, tuple or deque (OrderedDict, defaultdict and named tuples count as these;
another subclass, such as a `polyad.Size`, is a leaf), and of no class that `register` was told of. Two structures are
equal if they nest alike with the same keys.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from ..errors import ArgumentError

IsLeaf = Callable[[Any], bool] | None


class Registered(NamedTuple):
    """How values of a class are taken apart, into items and what else it takes to build them again.

    Attributes:
        keyed: the same with each item beside its key, where the class was registered with it.
    """

    flatten: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten: Callable[[list[Any], Any], Any]
    keyed: Callable[[Any], tuple[Iterable[tuple[Any, Any]], Any]] | None = None


_registered: dict[type, Registered] = {}


def register(container: type, flatten: Any, unflatten: Any, keyed: Any = None) -> None:
    """Let values of the very class *container* be structures. Raises ValueError if they are already."""
    if container in _registered or container in CONTAINERS:
        raise ArgumentError(
            f"register_pytree_node: {container.__name__} is registered already", fix="register a class once"
        )
    _registered[container] = Registered(flatten, unflatten, keyed)


def unregister(container: type) -> None:
    """Take `register` back; KeyError if nothing was registered."""
    del _registered[container]


def registered_classes() -> tuple[type, ...]:
    """What `register` was told of."""
    return tuple(_registered)


def registered(container: type) -> Registered | None:
    """How values of *container* are taken apart, if `register` was told."""
    return _registered.get(container)


def plain(value: Any) -> Any:
    """*value* with a list of its items in place of each value of a registered class."""
    kind = type(value)
    if kind in _registered:
        return [plain(item) for item in _registered[kind].flatten(value)[0]]
    if kind in (list, tuple):
        return kind(map(plain, value))
    if kind in (dict, OrderedDict):
        return kind((key, plain(item)) for key, item in value.items())
    return value


class Tree:
    """The structure of a nested value without its leaves.

    Attributes:
        container: its type, such as dict; None for a leaf.
        context: what else it takes to build it, as PyTorch has it: the keys of a dict, the factory and the keys of a
            defaultdict, the length of a deque, what a registered class gave.
        children: the structures within.
        keys: of a dict, in its order; else empty.
        count: how many leaves it has.
    """

    __slots__ = ("children", "container", "context", "count", "keys")

    def __init__(self, type: Any, context: Any, children_specs: Iterable[Tree]) -> None:
        if type is namedtuple:  # what PyTorch has for the type of all of them
            type, context = context, None
        self.container, self.context, self.children = type, context, tuple(children_specs)
        self.keys = tuple(context) if type in (dict, OrderedDict) else tuple(context[1]) if type is defaultdict else ()
        self.count: int = 1 if type is None else sum(child.count for child in self.children)

    def build(self, leaves: Iterable[Any]) -> Any:
        """The structure with *leaves* in their places."""
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.container is None:
            return next(leaves)
        items = [child._build(leaves) for child in self.children]
        if self.container is defaultdict:
            return defaultdict(self.context[0], zip(self.keys, items, strict=True))
        if self.container in (dict, OrderedDict):
            return self.container(zip(self.keys, items, strict=True))
        if self.container is deque:
            return deque(items, self.context)
        if self.container in _registered:
            return _registered[self.container].unflatten(items, self.context)
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
        if self.container in _registered and self.context != other.context:
            return False
        return self.children == other.children

    __hash__ = None  # type: ignore[assignment]

    @property
    def num_leaves(self) -> int:
        """How many leaves it has, by PyTorch's name."""
        return self.count

    @property
    def type(self) -> Any:
        """Its type, by PyTorch's name."""
        return namedtuple if hasattr(self.container, "_fields") else self.container

    @property
    def children_specs(self) -> list[Tree]:
        """The structures within, by PyTorch's name."""
        return list(self.children)

    def is_leaf(self) -> bool:
        """Whether it stands for a leaf."""
        return self.container is None

    def __repr__(self) -> str:
        return f"TreeSpec({self})"

    def __str__(self) -> str:
        return str(self.build([_STAR] * self.count))


class _Star:
    def __repr__(self) -> str:
        return "*"


_STAR = _Star()
LEAF = Tree(None, None, ())
CONTAINERS = (dict, OrderedDict, defaultdict, list, tuple, deque)


def flatten(value: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Tree]:
    """The leaves of *value* in order, and its structure; what *is_leaf* is true of is not looked into.

    >>> from polyad.base.trees import flatten
    >>> leaves, tree = flatten({"a": 1, "b": (2, [3])})
    >>> leaves, str(tree)
    ([1, 2, 3], "{'a': *, 'b': (*, [*])}")
    >>> tree.build([4, 5, 6])
    {'a': 4, 'b': (5, [6])}
    """
    leaves: list[Any] = []
    try:
        return leaves, _flatten(value, leaves, is_leaf)
    except RecursionError:
        raise ArgumentError(
            "func: an argument or a result is nested too deeply, or contains itself",
            fix="nest tensors in a few dicts, lists and tuples",
        ) from None


def _flatten(value: Any, leaves: list[Any], is_leaf: IsLeaf) -> Tree:
    container = type(value)
    if is_leaf is not None and is_leaf(value):
        leaves.append(value)
        return LEAF
    if container in (dict, OrderedDict, defaultdict):
        keys = list(value)
        context = [value.default_factory, keys] if container is defaultdict else keys
        return Tree(container, context, [_flatten(item, leaves, is_leaf) for item in value.values()])
    if container in (list, tuple) or (isinstance(value, tuple) and hasattr(container, "_fields")):
        return Tree(container, None, [_flatten(item, leaves, is_leaf) for item in value])
    if container is deque:
        return Tree(container, value.maxlen, [_flatten(item, leaves, is_leaf) for item in value])
    if container in _registered:
        items, context = _registered[container].flatten(value)
        return Tree(container, context, [_flatten(item, leaves, is_leaf) for item in items])
    leaves.append(value)
    return LEAF


def same_order(value: Any, tree: Tree) -> list[Any]:
    """The leaves of *value*, whose structure equals *tree*, in tree's order: a dict may have its keys in another."""
    if tree.container is None:
        return [value]
    if tree.container in _registered:
        items = list(_registered[tree.container].flatten(value)[0])
    else:
        items = [value[key] for key in tree.keys] if isinstance(value, dict) else list(value)
    return [leaf for item, child in zip(items, tree.children, strict=True) for leaf in same_order(item, child)]


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """*value* with ``function(leaf)`` in place of each leaf."""
    leaves, tree = flatten(value)
    return tree.build([function(leaf) for leaf in leaves])
