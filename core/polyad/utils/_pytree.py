"""PyTorch's names for what `polyad.base.trees` does: nested containers as their leaves and a structure."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, MutableMapping
from typing import Any, NamedTuple

from polyad.arguments import explain

from ..base.trees import (
    CONTAINERS,
    LEAF,
    IsLeaf,
    Tree,
    flatten,
    register,
    registered,
    registered_classes,
    same_order,
    unregister,
)
from ..errors import ArgumentError, ArgumentTypeError, safe_repr

__all__ = [
    "GetAttrKey",
    "KeyPath",
    "LeafSpec",
    "MappingKey",
    "NodeDef",
    "PyTree",
    "SUPPORTED_NODES",
    "SequenceKey",
    "TreeSpec",
    "key_get",
    "keystr",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Context = Any
TreeSpec = PyTreeSpec = Tree


class MappingKey(NamedTuple):
    """The place of an item in a dict."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        """The item of *mapping*."""
        return mapping[self.key]


class SequenceKey(NamedTuple):
    """The place of an item in a list, tuple or deque."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        """The item of *sequence*."""
        return sequence[self.idx]


class GetAttrKey(NamedTuple):
    """The place of an item that is an attribute, as in a named tuple."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        """The attribute of *obj*."""
        return getattr(obj, self.name)


KeyEntry = MappingKey | SequenceKey | GetAttrKey
KeyPath = tuple[KeyEntry, ...]


def LeafSpec() -> Tree:
    """The structure of a leaf."""
    return LEAF


def register_pytree_node(
    cls: type,
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]],
    unflatten_fn: Callable[..., Any],
    *,
    flatten_with_keys_fn: Callable[[Any], tuple[Iterable[tuple[KeyEntry, Any]], Any]] | None = None,
    **names: Any,
) -> None:
    """Let values of the very class *cls* be structures, here and in `polyad.func`.

    *flatten_fn* takes a value apart into items and a context; ``unflatten_fn(items, context)`` builds it again.
    *flatten_with_keys_fn* gives each item beside its key, for `tree_flatten_with_path`. Other arguments have no effect:
    structures are not written to files. Raises ValueError if the class is registered.
    """
    register(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)


_register_pytree_node = register_pytree_node


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    """Values and keys of a dict: what libraries register for classes that derive from dict."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


def _dict_flatten_with_keys(d: dict[Any, Any]) -> tuple[list[tuple[KeyEntry, Any]], Context]:
    return [(MappingKey(key), value) for key, value in d.items()], list(d)


class NodeDef(NamedTuple):
    """How values of a type are taken apart and built again."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]]
    unflatten_fn: Callable[[Any, Any], Any]


class _Nodes(MutableMapping[Any, NodeDef]):
    """What is taken apart, by its type: containers of Python's, and registered classes, which may leave and return."""

    def __getitem__(self, type: Any) -> NodeDef:
        found = registered(type)
        if found is not None:
            return NodeDef(type, found.flatten, found.unflatten)
        if type not in CONTAINERS and type is not namedtuple:
            raise KeyError(type)
        return NodeDef(type, _taken_apart, lambda items, context: _put_together(type, items, context))

    def __setitem__(self, type: Any, node: NodeDef) -> None:
        register(type, node.flatten_fn, node.unflatten_fn)

    def __delitem__(self, type: Any) -> None:
        unregister(type)

    def __iter__(self) -> Iterator[Any]:
        return iter((*CONTAINERS, namedtuple, *registered_classes()))

    def __len__(self) -> int:
        return len(list(iter(self)))


SUPPORTED_NODES = _Nodes()


def _taken_apart(value: Any) -> tuple[list[Any], Context]:
    items, tree = flatten(value, lambda inner: inner is not value)
    return items, tree.container if tree.type is namedtuple else tree.context


def _put_together(type: Any, items: Iterable[Any], context: Context) -> Any:
    items = list(items)
    return Tree(type, context, [LEAF] * len(items)).build(items)


def _get_node_type(tree: Any) -> Any:
    """The type of *tree*, for `SUPPORTED_NODES`: ``namedtuple`` of all named tuples.

    >>> from polyad.utils._pytree import SUPPORTED_NODES, _get_node_type
    >>> SUPPORTED_NODES[_get_node_type({"a": 1})].flatten_fn({"a": 1})
    ([1], ['a'])
    """
    return namedtuple if isinstance(tree, tuple) and hasattr(tree, "_fields") else type(tree)


def tree_flatten(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[Any], Tree]:
    """The leaves of *tree* in order, and its structure.

    >>> from polyad.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": (2, [3])})
    >>> leaves, tree_unflatten([4, 5, 6], spec)
    ([1, 2, 3], {'a': 4, 'b': (5, [6])})
    """
    return flatten(tree, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: Tree) -> Any:
    """*treespec* with *leaves* in their places. Raises ValueError if there are fewer or more than it has."""
    if not isinstance(treespec, Tree):
        raise ArgumentTypeError(
            f"tree_unflatten: treespec is {safe_repr(treespec)}", fix="pass the second result of tree_flatten"
        )
    leaves = list(leaves)
    if len(leaves) != treespec.count:
        raise ArgumentError(
            f"tree_unflatten: {len(leaves)} leaves for a structure with {treespec.count}",
            fix="pass a leaf for each that tree_flatten gave",
        )
    return treespec.build(leaves)


def tree_leaves(tree: Any, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves of *tree* in order."""
    return flatten(tree, is_leaf)[0]


tree_iter = tree_leaves


def tree_structure(tree: Any, is_leaf: IsLeaf = None) -> Tree:
    """The structure of *tree*."""
    return flatten(tree, is_leaf)[1]


def tree_is_leaf(tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether *tree* is a leaf."""
    return flatten(tree, is_leaf)[1] is LEAF


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """*tree* with ``func(leaf, ...)`` in place of each leaf; further arguments are the leaves of *rests* there.

    Raises ValueError if one of *rests* has another structure.

    >>> from polyad.utils._pytree import tree_map
    >>> tree_map(lambda a, b: a + b, [1, {"x": 2}], [3, {"x": 4}])
    [4, {'x': 6}]
    """
    columns, structure = _columns(tree, rests, is_leaf)
    return structure.build([func(*row) for row in zip(*columns, strict=True)])


def _columns(tree: Any, rests: tuple[Any, ...], is_leaf: IsLeaf) -> tuple[list[list[Any]], Tree]:
    """The leaves of *tree* and of each of *rests*, in the order of *tree*'s, and its structure."""
    leaves, structure = flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        if flatten(rest, is_leaf)[1] != structure:
            raise ArgumentError(
                f"tree_map: a further tree is {flatten(rest, is_leaf)[1]}, and the first {structure}",
                fix="pass trees that nest alike",
            )
        columns.append(same_order(rest, structure))
    return columns, structure


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """Call *func* for each leaf as `tree_map` does, and return *tree* itself."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(type_or_types_or_pred: Any, /, func: Callable[[Any], Any], tree: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, for the leaves of some types, or of which a function is true; others stay."""
    kind = type_or_types_or_pred
    chosen = kind if callable(kind) and not isinstance(kind, type) else lambda leaf: isinstance(leaf, kind)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether *pred* is true of all leaves."""
    return all(map(pred, flatten(tree, is_leaf)[0]))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: IsLeaf = None) -> bool:
    """Whether *pred* is true of a leaf."""
    return any(map(pred, flatten(tree, is_leaf)[0]))


def _keyed(value: Any) -> Iterable[tuple[KeyEntry, Any]] | None:
    """The items of a structure with their keys; None for a leaf."""
    container = type(value)
    if container in (dict, OrderedDict, defaultdict):
        return _dict_flatten_with_keys(value)[0]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return zip(map(GetAttrKey, value._fields), value, strict=True)
    if container in (list, tuple, deque):
        return zip(map(SequenceKey, range(len(value))), value, strict=True)
    known = registered(container)
    if known is None:
        return None
    if known.keyed is None:
        raise ArgumentError(
            f"tree_flatten_with_path: {container.__name__} has no keys",
            fix="pass flatten_with_keys_fn to register_pytree_node",
        )
    return known.keyed(value)[0]


def _leaves_with_path(value: Any, is_leaf: IsLeaf, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    items = None if is_leaf is not None and is_leaf(value) else _keyed(value)
    if items is None:
        yield path, value
        return
    for key, item in items:
        yield from _leaves_with_path(item, is_leaf, (*path, key))


def tree_leaves_with_path(tree: Any, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves of *tree* in order, each behind the keys that lead to it.

    Raises ValueError if a class in it was registered without ``flatten_with_keys_fn``.

    >>> from polyad.utils._pytree import keystr, tree_leaves_with_path
    >>> [(keystr(path), leaf) for path, leaf in tree_leaves_with_path({"a": [1, (2, 3)]})]
    [("['a'][0]", 1), ("['a'][1][0]", 2), ("['a'][1][1]", 3)]
    """
    return list(_leaves_with_path(tree, is_leaf))


def tree_flatten_with_path(tree: Any, is_leaf: IsLeaf = None) -> tuple[list[tuple[KeyPath, Any]], Tree]:
    """What `tree_leaves_with_path` gives, and the structure of *tree*."""
    return tree_leaves_with_path(tree, is_leaf), flatten(tree, is_leaf)[1]


def tree_map_with_path(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: IsLeaf = None) -> Any:
    """As `tree_map`, with the keys that lead to a leaf as the first argument of *func*."""
    columns, structure = _columns(tree, rests, is_leaf)
    paths = [path for path, _ in tree_leaves_with_path(tree, is_leaf)]
    return structure.build([func(*row) for row in zip(paths, *columns, strict=True)])


def keystr(kp: KeyPath) -> str:
    """The keys of *kp* as Python writes them behind a name."""
    return "".join(map(str, kp))


def key_get(obj: Any, kp: KeyPath) -> Any:
    """What is found in *obj* by the keys of *kp*."""
    for key in kp:
        obj = key.get(obj)
    return obj


explain(globals())
