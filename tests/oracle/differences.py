"""What differs from PyTorch on purpose; docs/compatibility.md tells users.

Invariant: every entry is needed. Its `call` shows the difference, and a test makes that call: an entry whose call no
longer differs, or is claimed by an entry above it, fails.

To add a difference, add it to `DIFFERENCES` with the reason why PyTorch's way was not taken. A rule should claim as
little as it can: the function, the kind of mismatch and what tells the case from others.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from polyad import errors

from .calls import Call, contiguous, expanded, leaves, transposed
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


def _numbers(call: Call) -> bool:
    return any(isinstance(value, (bool, int, float, complex)) for value in leaves(call.args))


def _no_kernel(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = ("not implemented for", "not supported for", "does not support", "not support", "Unsupported dtype")
    return mismatch.kind == "accepted" and any(word in _message(theirs.error) for word in words)


def _no_derivative(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = ("not differentiable", "derivative", "not support automatic differentiation")
    return mismatch.kind == "accepted" and any(word in _message(theirs.error) for word in words)


def _failed_backward(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and ours.gradient_error is None and theirs.gradient_error is not None


def _out_of_a_wider_dtype(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "accepted"
        and call.form == "out"
        and isinstance(theirs.error, (RuntimeError, TypeError))
        and any(word in _message(theirs.error).lower() for word in ("dtype", "type", "out="))
    )


def _resized_out(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "strides" and call.form == "out" and any(given.shape == (0,) for given in call.givens())


def _mixed_dtypes(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    dtypes = {given.dtype for given in call.givens()}
    words = ("dtype", "scalar type", "same type", "scalar_type")
    return (
        mismatch.kind == "accepted" and len(dtypes) > 1 and any(word in _message(theirs.error) for word in words)
    )


def _number_for_a_tensor(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind in ("accepted", "exception")
        and isinstance(theirs.error, (TypeError, AttributeError))
        and _numbers(call)
        and re.search(r"must be Tensor, not |invalid combination of arguments|object has no attribute", str(theirs.error))
        is not None
    )


def _int_for_ints(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("accepted", "exception") and "must be tuple of ints, not int" in _message(theirs.error)


def _wrong_type(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "exception"
        and isinstance(ours.error, TypeError)
        and isinstance(theirs.error, (AttributeError, RuntimeError))
    )


def _outside_the_dtype(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "refused"
        and isinstance(ours.error, errors.DTypeError)
        and re.search(r"is not in \[.*, the range of |outside the range of", str(ours.error)) is not None
    )


def _expanded_target(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "refused" and "several elements of an expanded tensor" in _message(ours.error)


def _nothing_to_compute(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    checked = (errors.DTypeError, errors.IndexOutOfRange, errors.ArgumentError)
    return (
        mismatch.kind == "refused"
        and isinstance(ours.error, checked)
        and any(0 in given.shape for given in call.givens())
    )


def _dtype_refused(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return (
        mismatch.kind == "exception"
        and isinstance(ours.error, errors.DTypeError)
        and isinstance(theirs.error, (NotImplementedError, TypeError, ValueError))
    )


def _conjugate_copy(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("sharing", "strides") and call.name in ("conj", "H", "mH", "adjoint", "conj_physical")


def _no_complex32(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind in ("dtype", "accepted", "refused", "gradient") and (
        "complex32" in str(mismatch)
        or "ComplexHalf" in str(mismatch)
        or "complex32" in str([getattr(one, "dtype", "") for one in theirs.results])
    )


DIFFERENCES = [
    Difference(
        "more dtypes",
        "PyTorch's CPU has no kernel for some dtypes; polyad computes where the result is defined",
        _no_kernel,
        Call("special.modified_bessel_i1", (contiguous(np.ones(2, np.float16)),)),
    ),
    Difference(
        "more gradients",
        "PyTorch has no derivative for some arguments; polyad has, since gradients are made of ops",
        _no_derivative,
        Call(
            "nn.functional.binary_cross_entropy",
            (contiguous(_floats(2) / 2), contiguous(_floats(2) / 2), contiguous(_floats(2))),
        ).with_gradients(),
    ),
    Difference(
        "gradients where PyTorch's backward pass fails",
        "what has a value has a gradient; finite differences check it in the conformance suite",
        _failed_backward,
        Call(
            "scatter", (contiguous(_floats(2, 3)), 0, contiguous(np.zeros((1, 3), np.int64)), contiguous(_floats(2, 3)))
        ).with_gradients(),
    ),
    Difference(
        "out= of a wider dtype",
        "PyTorch asks for the result's very dtype in some functions and takes a wider one in others; polyad always does",
        _out_of_a_wider_dtype,
        Call("floor", (contiguous(_floats(2)),), {"out": contiguous(np.zeros(2))}, "out"),
    ),
    Difference(
        "out= that is resized",
        "it becomes row-major, whatever order the result would have had",
        _resized_out,
        Call("add", (transposed(_floats(2, 3)), 1), {"out": contiguous(np.zeros(0, np.float32))}, "out"),
    ),
    Difference(
        "operands of several dtypes",
        "they promote in every function; PyTorch refuses them in some",
        _mixed_dtypes,
        Call("matmul", (contiguous(_floats(2, 2)), contiguous(np.ones((2, 2))))),
    ),
    Difference(
        "numbers for tensors",
        "an elementwise function takes a number for either operand, and for both",
        _number_for_a_tensor,
        Call("maximum", (contiguous(_floats(2)), 1.0)),
    ),
    Difference(
        "an int for a tuple of ints",
        "it is taken as one of length 1 wherever it can mean nothing else",
        _int_for_ints,
        Call("flip", (contiguous(_floats(2)), 0)),
    ),
    Difference(
        "arguments of a wrong type",
        "always a TypeError that names the argument, where PyTorch fails on its way",
        _wrong_type,
        Call("nn.functional.dropout1d", ("text",)),
    ),
    Difference(
        "dtypes an op does not take",
        "always a RuntimeError that names the dtypes, where PyTorch raises by chance of the layer that notices",
        _dtype_refused,
        Call("Tensor.__int__", (contiguous(np.ones(1, np.complex64)),), form="method"),
    ),
    Difference(
        "a number outside the dtype",
        "raises, where PyTorch wraps it around or saturates, by op",
        _outside_the_dtype,
        Call("full_like", (contiguous(np.zeros(2, np.uint8)), -1)),
    ),
    Difference(
        "writing to an expanded tensor",
        "raises in every function that would write several values to one place; PyTorch lets some through",
        _expanded_target,
        Call("nan_to_num", (expanded(np.zeros(3, np.int64)),), form="in place"),
    ),
    Difference(
        "wrong arguments for an empty tensor",
        "are refused as for any other; PyTorch often returns before it looks at them",
        _nothing_to_compute,
        Call("roll", (contiguous(np.zeros(0)), 1, -3)),
    ),
    Difference(
        "conj",
        "a copy, where PyTorch makes a view that conjugates later",
        _conjugate_copy,
        Call("conj", (contiguous(np.ones(2, np.complex64)),)),
    ),
    Difference(
        "no complex32",
        "float16 with a complex operand gives complex64",
        _no_complex32,
        Call("mul", (contiguous(np.ones(2, np.float16)), 1j)),
    ),
]
"""In order: the first that applies claims a mismatch."""


def deliberate(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> Difference | None:
    """The entry that claims *mismatch*."""
    return next((entry for entry in DIFFERENCES if entry.applies(call, mismatch, ours, theirs)), None)
