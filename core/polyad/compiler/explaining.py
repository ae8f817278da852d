"""What became of a compiled function, in words."""

from __future__ import annotations

from typing import Any

from ..errors import wrong_type
from .regions import Program, region_of


def explained(function: Any) -> str:
    """What `polyad.compiler.explain` gives."""
    region = region_of(function)
    if region is None:
        raise wrong_type("explain", "function", function, "a function or module that polyad.compile gave")
    lines = [f"{region.name}: {_number_of(len(region.programs), 'kind')} of arguments"]
    for key, program in region.programs.items():
        lines.append(f"  {_in_words(key)}: {_ways_through(program)}")
        if program.plain:
            lines.append(f"    runs op by op now: {program.plain}")
        if program.differed:
            lines.append(f"    calls that differed: {', '.join(program.differed)}")
        if program.last is not None and not program.plain:
            lines += [f"    {end}" for end in program.last.ends]
    return "\n".join(lines)


def _ways_through(program: Program) -> str:
    ways = _number_of(len(program.recordings), "way")
    return f"{ways} recorded, {_number_of(program.runs, 'call')} compared"


def _number_of(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _in_words(key: Any) -> str:
    """The arguments of a call, from what `polyad.compiler.regions` knows of them."""
    _, _, args, kwargs = key
    shown = [_argument(one) for one in args[1:]] + [f"{name}={_argument(one)}" for name, one in kwargs]
    return f"({', '.join(shown)})"


def _argument(one: Any) -> str:
    if isinstance(one, tuple) and len(one) == 3 and hasattr(one[0], "dtype"):
        return f"{one[0].dtype.name} {tuple(one[1])}" + (" requires grad" if one[2] else "")
    if isinstance(one, tuple) and one and isinstance(one[0], type):
        return f"{one[0].__name__} of {len(one) - 1}"
    return getattr(one, "__name__", None) or repr(one)
