"""The older path to `polyad.hub.load_state_dict_from_url`."""

from __future__ import annotations

from typing import Any

from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]


def __getattr__(name: str) -> Any:
    if name == "tqdm":  # the progress bar of that package, which is asked for here by tradition
        from importlib import import_module

        return import_module("tqdm").tqdm
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
