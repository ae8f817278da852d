"""Arguments under other names than their parameters': what a generated function does when it is asked for one.

A function that understands other names has ``**others_``, and `MISSING` for the default of its required parameters.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Any

from ..errors import ArgumentTypeError

MISSING: Any = object()
"""Stands for an argument that was not given; it may have come under another name."""

ASKED = """\
    if {asked}:
        return renamed_(call_, signature_, names_, {given}, others_)
"""
"""The lines of a generated function that call it again with all arguments under their parameters' names."""


def pairs(also: Mapping[str, str | tuple[str, ...]] | None) -> tuple[tuple[str, str], ...]:
    """Each other name with the parameter that it means; where it may mean several, with each of them in turn."""
    return tuple(
        (other, name)
        for other, meant in (also or {}).items()
        for name in ((meant,) if isinstance(meant, str) else meant)
    )


def renamed(
    call: Any,
    signature: inspect.Signature,
    names: tuple[tuple[str, str], ...],
    given: Mapping[str, Any],
    others: dict[str, Any],
) -> Any:
    """Call again with arguments under their parameters' names that came under other *names*; raises TypeError if some
    came under no known name, or not at all.
    """
    function, parameters = call.__name__, signature.parameters
    arguments = dict(given)
    for other, name in names:
        if other in others and name in parameters and _is_untouched(arguments[name], parameters[name]):
            arguments[name] = others.pop(other)
    for name in others:
        close = difflib.get_close_matches(name, parameters, 1)
        raise ArgumentTypeError(
            f"{function}: got an unexpected keyword argument {name!r}",
            fix=f"did you mean {close[0]}?"
            if close and close[0] != name
            else f"its parameters are {', '.join(parameters)}",
        )
    absent = [name for name, value in arguments.items() if value is MISSING]
    if absent:
        raise ArgumentTypeError(
            f"{function}: missing required argument {absent[0]!r}", fix=f"its parameters are {', '.join(parameters)}"
        )
    rest = next((name for name, parameter in parameters.items() if parameter.kind is parameter.VAR_POSITIONAL), None)
    if rest is None:
        return call(**arguments)
    first = list(parameters)[: list(parameters).index(rest)]
    return call(*(arguments.pop(name) for name in first), *arguments.pop(rest), **arguments)


def _is_untouched(value: Any, parameter: inspect.Parameter) -> bool:
    return value is MISSING or value is parameter.default
