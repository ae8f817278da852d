"""What an entry is, and what rules of several families ask."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyad.dispatch.op import PUBLIC

from ..calls import Call, leaves
from ..outcomes import Mismatch, Outcome

Rule = Callable[[Call, Mismatch, Outcome, Outcome], bool]


@dataclass(frozen=True)
class Difference:
    """A deliberate difference.

    Attributes:
        name: what differs, in a few words.
        reason: why.
        applies: ``applies(call, mismatch, ours, theirs)``: whether a mismatch is this one.
        call: a call that shows it.
    """

    name: str
    reason: str
    applies: Rule
    call: Call


def floats(*shape: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def message(error: BaseException | None) -> str:
    return "" if error is None else str(error)


def numbers(call: Call) -> bool:
    return any(isinstance(value, (bool, int, float, complex)) for value in leaves(call.args))


def module(call: Call) -> str:
    return PUBLIC[call.path].module if call.path in PUBLIC else ""
