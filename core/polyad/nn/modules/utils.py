"""What models take from PyTorch's module of this name: sizes as tuples, and state dicts of wrapped models."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], tuple[Any, ...]]:
    """A function that gives an iterable as a tuple, and anything else *n* times."""

    def parse(x: Any) -> tuple[Any, ...]:
        return tuple(x) if isinstance(x, Iterable) else (x,) * n

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Iterable[Any], n: int) -> tuple[Any, ...]:
    """The items of *t* from the last to the first, each *n* times: from a layer's padding to that of ``F.pad``."""
    return tuple(item for item in reversed(tuple(t)) for _ in range(n))


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Take *prefix* from the keys of *state_dict* that begin with it, in place, and from those of its metadata.

    >>> from collections import OrderedDict
    >>> from polyad.nn.modules.utils import consume_prefix_in_state_dict_if_present
    >>> state = OrderedDict({"module.weight": 1})
    >>> consume_prefix_in_state_dict_if_present(state, "module.")
    >>> list(state)
    ['weight']
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in [key for key in metadata if key]:
            if key == prefix.replace(".", "") or key.startswith(prefix):
                metadata[key[len(prefix) :]] = metadata.pop(key)
