"""Functions that a table declares: a factory makes the definition, the row says how it is called and what it does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

F = TypeVar("F", bound=Callable[..., Any])


def named(definition: F, name: str, doc: str) -> F:
    """*definition*, which a factory made, under the *name* and with the docstring of a row."""
    definition.__name__ = definition.__qualname__ = name
    definition.__doc__ = doc
    return definition
