"""Nested values taken apart for the code of a graph: the leaves that a structure found before names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from polyad.base.trees import Tree as TreeSpec
from polyad.errors import ArgumentError
from polyad.utils import _pytree
from polyad.utils._pytree import PyTree, tree_flatten

__all__ = ["PyTree", "TreeSpec", "register_pytree_flatten_spec", "tree_flatten", "tree_flatten_spec"]

FlattenFuncSpec = Callable[[Any, Any], list[Any]]

SUPPORTED_NODES: dict[type, FlattenFuncSpec] = {}
"""How values of a user's classes are taken apart, where `register_pytree_flatten_spec` said it."""


def register_pytree_flatten_spec(
    cls: type, flatten_fn_spec: FlattenFuncSpec, flatten_fn_exact_match_spec: Callable[..., bool] | None = None
) -> None:
    """Let ``flatten_fn_spec(value, spec)`` give the children of a value of *cls*, in the order of *spec*."""
    SUPPORTED_NODES[cls] = flatten_fn_spec


def tree_flatten_spec(pytree: PyTree, spec: TreeSpec, exact_structural_match: bool = False) -> list[Any]:
    """The leaves of *pytree* in the places that *spec* names.

    A dict may have further keys and a list further items, which are left out, unless *exact_structural_match*. Raises
    ValueError where something that *spec* names is missing.

    >>> from polyad.fx._pytree import tree_flatten, tree_flatten_spec
    >>> _, spec = tree_flatten({"a": 0, "b": [0, 0]})
    >>> tree_flatten_spec({"b": [2, 3], "a": 1}, spec)
    [1, 2, 3]
    """
    if spec.is_leaf():
        return [pytree]
    if exact_structural_match and _pytree.tree_structure(pytree) != spec:
        raise ArgumentError(
            f"tree_flatten_spec: the value is {_pytree.tree_structure(pytree)}, and not {spec}",
            fix="pass values that nest as those of the trace",
        )
    try:
        items = _children(pytree, spec)
    except (KeyError, IndexError, TypeError) as error:
        raise ArgumentError(
            f"tree_flatten_spec: the value is no {spec}", operands={"pytree": pytree}, fix="pass what was traced"
        ) from error
    return [
        leaf
        for item, child in zip(items, spec.children, strict=True)
        for leaf in tree_flatten_spec(item, child, exact_structural_match)
    ]


def _children(value: Any, spec: TreeSpec) -> list[Any]:
    if spec.container in SUPPORTED_NODES:
        return SUPPORTED_NODES[spec.container](value, spec)
    if spec.keys:
        return [value[key] for key in spec.keys]
    if spec.container in (list, tuple) or hasattr(spec.container, "_fields"):  # by subscripts, which proxies have too
        return [value[place] for place in range(len(spec.children))]
    return _pytree.tree_leaves(value, is_leaf=lambda part: part is not value)
