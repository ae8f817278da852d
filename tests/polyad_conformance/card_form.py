"""The form of a score card's JSON, so that a file that is none is refused when it is read, not where it is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["check"]

Rule = Callable[[Any], bool]


def _text(value: Any) -> bool:
    try:
        return isinstance(value, str) and value.encode() is not None
    except UnicodeEncodeError:  # half of a surrogate pair, which no terminal shows
        return False


def _whole(value: Any) -> bool:
    return type(value) is int and abs(value) < 2**63


def _count(value: Any) -> bool:
    return _whole(value) and value >= 0


def _number(value: Any) -> bool:
    return (type(value) is float or _whole(value)) and 0 <= value < 1e12


def _list(rule: Rule) -> Rule:
    return lambda value: isinstance(value, list) and all(map(rule, value))


def _by_name(rule: Rule) -> Rule:
    return lambda value: isinstance(value, dict) and all(map(_text, value)) and all(map(rule, value.values()))


def _record(**rules: Rule) -> Rule:
    return lambda value: (
        isinstance(value, dict) and all(name in value and rule(value[name]) for name, rule in rules.items())
    )


def _rows(columns: tuple[str, ...]) -> Rule:
    return _list(_record(tier=_count, family=_text, **dict.fromkeys(columns, _count)))


_RULES: dict[str, Rule] = {
    "device": _text,
    "description": _text,
    "api_version": lambda value: value is None or _list(_count)(value),
    "polyad": _text,
    "seed": _count,
    "families": _list(_text),
    "tiers": _list(_count),
    "expression": _text,
    "allow_fallback": lambda value: isinstance(value, bool),
    "shards": lambda value: _list(_text)(value) and bool(value),
    "ops": _by_name(_by_name(_count)),
    "failures": _list(_record(test=_text, message=_text)),
    "known_bugs": _list(_text),
    "unsupported": _by_name(_count),
    "seconds": _number,
    "not_run": _count,
}


def check(card: Mapping[str, Any], columns: tuple[str, ...]) -> None:
    """Raise ValueError if *card* is not what `ScoreCard.as_dict` gives, with these columns."""
    for name, rule in {**_RULES, "rows": _rows(columns)}.items():
        if name not in card or not rule(card[name]):
            raise ValueError(f"{name} is {'not as in a card' if name in card else 'missing'}")
    if "stopped" in card and not _text(card["stopped"]):
        raise ValueError("stopped is not as in a card")
