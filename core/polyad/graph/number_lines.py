"""The line of a number that replays read: ``$lr  float  # 0.1 from "SGD.param_groups[0]['lr']", if not gt 1.0``."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .values import COMPARISONS, Condition, Number

if TYPE_CHECKING:
    from .parsing import _Line


def written_number(number: Number) -> str:
    """What stands behind the number's name and type."""
    text = f"# {number.captured!r} from {json.dumps(number.source)}"
    for condition in number.conditions:
        words = ["if" if condition.outcome else "if not", condition.name, *map(repr, condition.args)]
        text += f", {' '.join(words)}"
    return text


def read_number(line: _Line, literal: Callable[[_Line], Any]) -> Number:
    """The number that the rest of *line* says, from its name on. Raises ValueError for what is none."""
    name = line.step()
    for token in ("float", "#"):
        line.take(token)
    captured = literal(line)
    line.take("from")
    source, conditions = json.loads(line.of_kind("string", "a source")), []
    while line.skip(","):
        line.take("if")
        outcome, found = not line.skip("not"), line.of_kind("name", "a comparison")
        if found not in COMPARISONS:
            raise ValueError(f"{found[:20]} is no comparison")
        conditions.append(Condition(found, () if found == "true" else (literal(line),), outcome))
    if any(type(value) is not float for value in (captured, *(arg for one in conditions for arg in one.args))):
        raise ValueError(f"${name[:40]} is no number of type float")
    return Number(name, source, captured, tuple(conditions))
