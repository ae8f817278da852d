"""Numbers that a captured function reads from settings, followed to the calls that they are given to.

A number that is only handed on is read anew by each replay. What else the function does with it is noticed: comparisons
are conditions that a replay's number must meet, and what it computes with is baked in, so that it must not change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from ..base.state import state
from ..dispatch.modes import Setting
from ..graph.graph import Node
from ..graph.structure import NumberRef, leaves_of
from ..graph.values import COMPARISONS, Condition, Number


class Reading(float):
    """A number that remembers where it was read, and notes what is done with it.

    Attributes:
        setting: where that was.
        name: of the number in the graph.
        conditions: what was decided by it.
    """

    __slots__ = ("conditions", "name", "setting")

    setting: Setting
    name: str
    conditions: dict[Condition, None]

    @classmethod
    def of(cls, setting: Setting, value: float, name: str) -> Reading:
        """A reading of *value*."""
        found = cls(value)
        found.setting, found.name, found.conditions = setting, name, {}
        return found

    __hash__ = float.__hash__

    def note(self, condition: Condition) -> None:
        """Remember what was found, unless it is in work that no mode is told of."""
        if state.modes:
            self.conditions[condition] = None

    @property
    def plain(self) -> float:
        """The number alone."""
        return float.__pos__(self)


def _compares(name: str) -> Callable[..., Any]:
    compare: Callable[..., Any] = getattr(float, f"__{name}__")

    def method(self: Reading, other: Any) -> Any:
        outcome = compare(self, other)
        if type(outcome) is bool:
            self.note(Condition(name, (float(other),), outcome))
        return outcome

    return method


def _computes(name: str) -> Callable[..., Any]:
    compute: Callable[..., Any] = getattr(float, name)

    def method(self: Reading, *args: Any) -> Any:
        self.note(Condition("eq", (self.plain,), True))
        return compute(self, *args)

    return method


def _is_true(self: Reading) -> bool:
    outcome = float.__bool__(self)
    self.note(Condition("true", (), outcome))
    return outcome


for _name in COMPARISONS[1:]:
    setattr(Reading, f"__{_name}__", _compares(_name))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "divmod", "pow"):
    for _full in (f"__{_name}__", f"__r{_name}__"):
        setattr(Reading, _full, _computes(_full))
for _name in ("neg", "pos", "abs", "int", "float", "trunc", "floor", "ceil", "round"):
    setattr(Reading, f"__{_name}__", _computes(f"__{_name}__"))
Reading.__bool__ = _is_true  # type: ignore[assignment, method-assign]


class Readings:
    """What a captured function read."""

    def __init__(self, free_name: Callable[[str], str]) -> None:
        self._free_name = free_name
        self._found: dict[tuple[int, str], tuple[Setting, Any]] = {}

    def __bool__(self) -> bool:
        return bool(self._found)

    def read(self, setting: Setting, value: Any) -> Any:
        """What the function gets: the same where it has read before."""
        key = id(setting.owner), setting.path
        if isinstance(value, float) and key not in self._found:
            # Of param_groups[0]['betas'][1] it is betas_1, of param_groups[1]['lr'] it is param_groups_1_lr.
            words = re.findall(r"\w+", setting.path.removeprefix("param_groups[0]"))
            value = Reading.of(setting, value, self._free_name("_".join(words)))
        return self._found.setdefault(key, (setting, value))[1]

    def knows(self, setting: Setting, value: Any) -> bool:
        """Whether the function read the same there before, or nothing."""
        known = self._found.get((id(setting.owner), setting.path))
        return known is None or (type(value) is type(_without_source(known[1])) and value == _without_source(known[1]))

    def finish(self, nodes: Iterable[Node]) -> tuple[list[Number], list[tuple[Setting, Any]]]:
        """The numbers that *nodes* are given, and what else was decided by."""
        used = {ref.name for node in nodes for ref in leaves_of(node.args, NumberRef)}
        numbers, settings = [], []
        for setting, value in self._found.values():
            if not isinstance(value, Reading):
                settings.append((setting, value))
            elif value.name in used:
                conditions = tuple(value.conditions)
                numbers.append(Number(value.name, str(setting), value.plain, conditions, setting.again))
            elif value.conditions:
                settings.append((setting, value.plain))
        return numbers, settings


def _without_source(value: Any) -> Any:
    return value.plain if isinstance(value, Reading) else value
