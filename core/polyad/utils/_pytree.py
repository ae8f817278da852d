"""PyTorch's names for what `polyad.base.trees` does: nested containers as their leaves and a structure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from polyad.arguments import explain

from ..base.trees import LEAF, IsLeaf, Tree, flatten, register, same_order
from ..errors import ArgumentError, ArgumentTypeError, safe_repr

__all__ = [
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_any",
    "tree_flatten",
    "tree_is_leaf",
    "tree_iter",
    "tree_leaves",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Context = Any
TreeSpec = PyTreeSpec = Tree


def LeafSpec() -> Tree:
    """The structure of a leaf."""
    return LEAF


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]], unflatten_fn: Callable[..., Any], **names: Any
) -> None:
    """Let values of the very class *cls* be structures, here and in `polyad.func`.

    *flatten_fn* takes a value apart into items and a context; ``unflatten_fn(items, context)`` builds it again. Other
    arguments have no effect: structures are not written to files. Raises ValueError if the class is registered.
    """
    register(cls, flatten_fn, unflatten_fn)


_register_pytree_node = register_pytree_node


def _dict_flatten(d: dict[Any, Any]) -> tuple[list[Any], Context]:
    """Values and keys of a dict: what libraries register for classes that derive from dict."""
    return list(d.values()), list(d)


def _dict_unflatten(values: Iterable[Any], context: Context) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


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
    leaves, structure = flatten(tree, is_leaf)
    columns = [leaves]
    for rest in rests:
        if flatten(rest, is_leaf)[1] != structure:
            raise ArgumentError(
                f"tree_map: a further tree is {flatten(rest, is_leaf)[1]}, and the first {structure}",
                fix="pass trees that nest alike",
            )
        columns.append(same_order(rest, structure))
    return structure.build([func(*row) for row in zip(*columns, strict=True)])


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


explain(globals())
