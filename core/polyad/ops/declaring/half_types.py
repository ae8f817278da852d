"""Decompositions whose steps half types are too short for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from ...base.dtypes import bfloat16, float16, float32
from ...tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])


def in_float32(body: F) -> F:
    """The decomposition *body* with float16 and bfloat16 operands computed in float32 and rounded once."""

    @functools.wraps(body)
    def widened(*values: Any) -> Any:
        half = next((value._type.dtype for value in values if _is_half(value)), None)
        if half is None:
            return body(*values)
        result = body(*[value.to(float32) if _is_half(value) else value for value in values])
        return result.to(half)

    widened.__kwdefaults__ = body.__kwdefaults__  # type: ignore[attr-defined]  # the public function's are read off it
    return widened  # type: ignore[return-value]


def _is_half(value: Any) -> bool:
    return isinstance(value, Tensor) and value._type.dtype in (float16, bfloat16)
