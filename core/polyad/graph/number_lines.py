"""The line of a number that replays read: ``$lr  float  # 0.1 from "SGD.param_groups[0]['lr']", if not gt 1.0``.

And what is said of random numbers: ``# draws 2 from 5`` behind a call, ``default_generator  ends at 7`` on a line.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .values import COMPARISONS, Condition, Draw, Number

if TYPE_CHECKING:
    from .parsing import _Line


DRAWS = r"draws \d{1,19} from \d{1,20}(?: of seed \d{1,20})?"
"""The remark of a call that draws."""


def written_draws(draw: Draw) -> str:
    """The remark of a call."""
    return f"draws {draw.blocks} from {_words_of_place(draw)}"


def read_draws(text: str) -> Draw:
    """What a remark says, which `DRAWS` matches."""
    blocks, offset, seed = re.findall(r"\d+", text) if " of " in text else (*re.findall(r"\d+", text), None)
    return Draw(int(offset), int(blocks), None if seed is None else int(seed))


def written_end(draw: Draw) -> str:
    """What stands behind a generator's name."""
    return f"ends at {_words_of_place(draw)}"


def read_end(line: _Line) -> Draw:
    """What the rest of *line* says. Raises ValueError for what is none."""
    line.take("ends")
    line.take("at")
    text = f"draws 0 from {line.token} {line.rest()}".rstrip()
    if not re.fullmatch(DRAWS, text, re.ASCII):
        raise ValueError(f"{text[13:40]!r} is no place of a generator")
    return read_draws(text)


def _words_of_place(draw: Draw) -> str:
    return f"{draw.offset}" + ("" if draw.seed is None else f" of seed {draw.seed}")


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
