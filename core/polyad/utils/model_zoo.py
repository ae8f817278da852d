"""The older path to `polyad.hub.load_state_dict_from_url`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


class _NoBar:
    """What stands in for a progress bar of tqdm's where that package is not installed: it shows nothing."""

    def __init__(self, iterable: Iterable[Any] = (), *args: Any, **kwargs: Any) -> None:
        self.iterable, self.n = iterable, 0

    def __iter__(self) -> Iterator[Any]:
        return iter(self.iterable)

    def __enter__(self) -> _NoBar:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def update(self, n: int = 1) -> None:
        """Count *n* more."""
        self.n += n

    def close(self) -> None:
        """There is nothing to close."""

    def set_description(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is shown."""


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # the progress bar of that package, which is asked for here by tradition
        from importlib import import_module

        try:
            return import_module("tqdm").tqdm
        except ModuleNotFoundError:
            return _NoBar
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
