"""PyTorch's list of classes that a file may name, at its path ``polyad.serialization``.

A program may keep it as it does there. `polyad.load` does not read it: no file chooses a class, listed or not, and one
that names a class is refused with that name. What comes back as an object are dataclasses, by `register_dataclass`.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Any

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

_listed: list[Any] = []


def add_safe_globals(safe_globals: Iterable[Any]) -> None:
    """Put classes on the list, which `polyad.load` does not read."""
    _listed.extend(one for one in safe_globals if one not in _listed)


def get_safe_globals() -> list[Any]:
    """What is on the list.

    >>> import polyad
    >>> with polyad.serialization.safe_globals([dict]):
    ...     polyad.serialization.get_safe_globals()
    [<class 'dict'>]
    """
    return list(_listed)


def clear_safe_globals() -> None:
    """Empty the list."""
    _listed.clear()


class safe_globals:
    """A context in which further classes are on the list, which `polyad.load` does not read."""

    def __init__(self, safe_globals: Iterable[Any]) -> None:
        self._added = list(safe_globals)

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self._added)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _listed[:] = self._before
