"""What differs from PyTorch on purpose; docs/compatibility.md tells users.

Invariant: every entry is needed. Its `call` shows the difference, and a test makes that call: an entry whose call no
longer differs, or is claimed by an entry above it, fails.

To add a difference, add it to `DIFFERENCES` with the reason why PyTorch's way was not taken. A rule should claim as
little as it can: the function, the kind of mismatch and what tells the case from others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyad import errors

from .calls import Call, contiguous
from .outcomes import Mismatch, Outcome

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


def _floats(*shape: int) -> np.ndarray:
    return np.linspace(0.5, 1.5, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def _message(error: BaseException | None) -> str:
    return "" if error is None else str(error)


def _no_kernel(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    error = theirs.error or theirs.gradient_error
    words = ("not implemented for", "not supported for", "does not support", "not support")
    return "accepted" in str(mismatch) and any(word in _message(error) for word in words)


def _no_derivative(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    text = _message(theirs.error) + _message(theirs.gradient_error)
    words = ("not differentiable", "derivative", "not support automatic differentiation")
    return "accepted" in str(mismatch) and any(word in text for word in words)


def _invalid_gradient(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and "returned an invalid gradient" in _message(theirs.gradient_error)


def _dtype_refused(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "exception"
        and isinstance(ours.error, errors.DTypeError)
        and isinstance(theirs.error, (NotImplementedError, TypeError, ValueError))
    )


def _out_of_a_wider_dtype(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "accepted"
        and call.form == "out"
        and isinstance(theirs.error, (RuntimeError, TypeError))
        and any(word in _message(theirs.error).lower() for word in ("dtype", "type", "out="))
    )


DIFFERENCES = [
    Difference(
        "more dtypes",
        "PyTorch's CPU has no kernel for some dtypes; polyad computes where the result is defined",
        _no_kernel,
        Call("fmod", (contiguous(np.ones(2, np.complex64)), contiguous(np.ones(2, np.complex64)))),
    ),
    Difference(
        "more gradients",
        "PyTorch has no derivative for some arguments; polyad has, since gradients are made of ops",
        _no_derivative,
        Call("floor_divide", (contiguous(_floats(2)), contiguous(_floats(2)))).with_gradients(),
    ),
    Difference(
        "out= of a wider dtype",
        "PyTorch asks for the result's very dtype in some functions and takes a wider one in others; polyad always does",
        _out_of_a_wider_dtype,
        Call("floor", (contiguous(_floats(2)),), {"out": contiguous(np.zeros(2))}, "out"),
    ),
    Difference(
        "gradients of a larger source",
        "scatter of part of a source: the gradient of the rest is 0; PyTorch returns one of the wrong shape and fails",
        _invalid_gradient,
        Call(
            "scatter", (contiguous(_floats(2, 3)), 0, contiguous(np.zeros((1, 3), np.int64)), contiguous(_floats(2, 3)))
        ).with_gradients(),
    ),
    Difference(
        "dtypes an op does not take",
        "always a RuntimeError that names the dtypes, where PyTorch raises by chance of the layer that notices",
        _dtype_refused,
        Call("bitwise_not", (contiguous(_floats(2)),)),
    ),
]
"""In order: the first that applies claims a mismatch."""


def deliberate(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> Difference | None:
    """The entry that claims *mismatch*."""
    return next((entry for entry in DIFFERENCES if entry.applies(call, mismatch, ours, theirs)), None)
