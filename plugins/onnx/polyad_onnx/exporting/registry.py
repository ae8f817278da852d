"""Which function translates which op, by opset.

A translation is called as ``function(to, *operands, *params)``: *to* is the `Translator`, operands are ONNX's values in
the dtypes in which the op computes (numbers among them as constants, absent ones None), params are the op's. It writes
nodes by ``to.op(...)`` and returns a value, or one for each result.

Rules: an op may have several, for opsets *since* some; the latest counts. With *when*, a translation is for calls of
which that holds, told (op, args) with tensors or values that have ``dtype`` and ``shape``; others are taken apart or
refused. What it says about opsets must follow the operators' own documentation. Views have other functions: `shows`
and `puts`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Translation = Callable[..., Any]


class Entry(NamedTuple):
    """A translation, the first opset that it is for, and for which calls."""

    function: Translation
    since: int
    when: Callable[..., bool] | None


_TABLE: dict[str, list[Entry]] = {}

OLDEST, RECOMMENDED = 14, 18
"""The oldest opset that is written, and the one that is written unless another is asked for."""


def translates(
    *names: str, since: int = OLDEST, when: Callable[..., bool] | None = None
) -> Callable[[Translation], Translation]:
    """Declare a translation of the ops *names*."""

    def declare(function: Translation) -> Translation:
        for name in names:
            entries = _TABLE.setdefault(name, [])
            entries.append(Entry(function, since, when))
            entries.sort(key=lambda entry: -entry.since)
        return function

    return declare


VIEWS: dict[str, Callable[..., Any]] = {}
"""What a view shows: ``function(to, source, *params)`` with the value of the tensor that it is of."""

PUTS: dict[str, Callable[..., Any]] = {}
"""A tensor with other content in a view: ``function(to, source, content, *params)``."""


def shows(*names: str) -> Callable[[Translation], Translation]:
    """Declare what the views *names* show."""

    def declare(function: Translation) -> Translation:
        VIEWS.update(dict.fromkeys(names, function))
        return function

    return declare


def puts(*names: str) -> Callable[[Translation], Translation]:
    """Declare what a write through the views *names* leaves in the tensor behind them."""

    def declare(function: Translation) -> Translation:
        PUTS.update(dict.fromkeys(names, function))
        return function

    return declare


class Table:
    """The translations for one export.

    Attributes:
        opset: the version of ONNX's operators.
        own: translations of the user's, by the name of an op, which come first.
    """

    def __init__(self, opset: int, own: Mapping[str, Translation] | None = None) -> None:
        self.opset, self.own = opset, dict(own or {})

    def found(self, name: str, args: tuple[Any, ...]) -> Translation | None:
        """The translation of a call with *args* of the op *name*; None if there is none."""
        if name in self.own:
            return self.own[name]
        for function, since, when in _TABLE.get(name, ()):
            if since <= self.opset and (when is None or when(*args)):
                return function
        return None


def names() -> list[str]:
    """The ops that have a translation."""
    return sorted(_TABLE)
