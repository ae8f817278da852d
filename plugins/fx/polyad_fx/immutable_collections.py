"""Lists and dicts that cannot be changed: the arguments of a node, so that the graph always knows who uses what.

Both are pytrees, as list and dict are, can be hashed where their items can, and can be pickled.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, NoReturn, TypeVar

from polyad.errors import NotSupported
from polyad.utils._pytree import register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def _refuse(name: str) -> Callable[..., NoReturn]:
    def refused(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
        kind = type(self).__name__
        raise NotSupported(
            f"{kind}.{name}: '{kind}' object does not support mutation",
            fix="make another and give it to the node: new_args = [*node.args]; ...; node.args = tuple(new_args)",
        )

    refused.__name__ = name
    return refused


class immutable_list(list[T]):
    """A list that refuses to be changed."""

    append = _refuse("append")
    clear = _refuse("clear")
    extend = _refuse("extend")
    insert = _refuse("insert")
    pop = _refuse("pop")
    remove = _refuse("remove")
    reverse = _refuse("reverse")
    sort = _refuse("sort")
    __delitem__ = _refuse("__delitem__")
    __iadd__ = _refuse("__iadd__")
    __imul__ = _refuse("__imul__")
    __setitem__ = _refuse("__setitem__")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return immutable_list, (tuple(self),)


class immutable_dict(dict[K, V]):
    """A dict that refuses to be changed."""

    clear = _refuse("clear")
    pop = _refuse("pop")
    popitem = _refuse("popitem")
    setdefault = _refuse("setdefault")
    update = _refuse("update")
    __delitem__ = _refuse("__delitem__")
    __ior__ = _refuse("__ior__")
    __setitem__ = _refuse("__setitem__")

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return immutable_dict, (tuple(self.items()),)


register_pytree_node(immutable_list, lambda items: (list(items), None), lambda items, context: immutable_list(items))
register_pytree_node(
    immutable_dict,
    lambda items: (list(items.values()), tuple(items)),
    lambda items, context: immutable_dict(zip(context, items, strict=True)),
)
