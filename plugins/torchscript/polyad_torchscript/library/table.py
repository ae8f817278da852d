"""Which function of polyad's is which program of this package."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import polyad

from . import attention, functional, images, losses, tensors

__all__ = ["FUNCTIONS", "program_for", "with_indices"]

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{
        f"nn.functional.{one.__name__}": one
        for one in (*functional.FUNCTIONS, *images.FUNCTIONS, *losses.FUNCTIONS, *attention.FUNCTIONS)
    },
    "nn.functional.dropout2d": functional.feature_dropout,
    "nn.functional.dropout3d": functional.feature_dropout,
    **{one.__name__: one for one in tensors.FUNCTIONS},
}
"""The programs by the name of polyad's function."""


@cache
def _programs() -> dict[int, Callable[..., Any]]:
    return {id(operator.attrgetter(name)(polyad)): one for name, one in FUNCTIONS.items()}


def program_for(function: Any) -> Callable[..., Any] | None:
    """The program that is *function*, None if there is none."""
    return _programs().get(id(function))


def with_indices(program: Any) -> Callable[..., Any] | None:
    """The program that gives indices, too, None if *program* never does."""
    return images.WITH_INDICES.get(program)
