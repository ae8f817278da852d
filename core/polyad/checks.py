"""Checks that programs make with PyTorch's names: ``polyad._assert``, ``polyad._check`` and its kin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .dispatch.overriding import answers, ask
from .errors import ArgumentTypeError, safe_repr
from .tensor import Tensor

Message = Callable[[], object] | None


def _assert(condition: Any, message: object) -> None:
    """Raise AssertionError with *message* unless *condition* is true.

    >>> import polyad
    >>> polyad._assert(2 > 1, "two is more")
    """
    if condition.__class__ not in (bool, Tensor) and answers(type(condition)):
        ask(_assert, (condition,), (condition, message), {})
    elif not condition:
        raise AssertionError(message)


def _assert_async(condition: Tensor, message: str = "Expected Tensor with single nonzero value, but got zero") -> None:
    """Raise RuntimeError with *message* if the one element of *condition* is zero. It is read now, on every device.

    >>> import polyad
    >>> polyad._assert_async(polyad.tensor(True), "never")
    """
    if not condition:
        raise RuntimeError(message)


def _check_with(error_type: type[Exception], cond: bool, message: Message) -> None:
    """Raise *error_type* with what *message* returns unless *cond*, a bool, is True; TypeError if it is no bool."""
    if not isinstance(cond, bool):
        raise ArgumentTypeError(
            f"_check: cond is {safe_repr(cond)}, not a bool",
            operands={"cond": cond} if isinstance(cond, Tensor) else {},
            fix="pass a bool; for a tensor, polyad._check_tensor_all(cond)"
            if isinstance(cond, Tensor)
            else "pass a bool",
        )
    if cond:
        return
    if message is None:
        raise error_type("Expected cond to be True, but got False")
    if not callable(message):
        raise ArgumentTypeError(
            f"_check: message is {safe_repr(message)}, not a function",
            fix="pass a function that returns the message: it is called only if the check fails",
        )
    raise error_type(str(message()))


def _check(cond: bool, message: Message = None) -> None:
    """Raise RuntimeError with what *message* returns unless *cond* is True.

    >>> import polyad
    >>> polyad._check(1 < 2, lambda: "one is less")
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: bool, message: Message = None) -> None:
    """As `_check`, with IndexError."""
    _check_with(IndexError, cond, message)


def _check_value(cond: bool, message: Message = None) -> None:
    """As `_check`, with ValueError."""
    _check_with(ValueError, cond, message)


def _check_type(cond: bool, message: Message = None) -> None:
    """As `_check`, with TypeError."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: bool, message: Message = None) -> None:
    """As `_check`, with NotImplementedError."""
    _check_with(NotImplementedError, cond, message)


def _check_tensor_all(cond: Tensor, message: Message = None) -> None:
    """As `_check`, unless all elements of the bool tensor *cond* are True."""
    _check_tensor_all_with(RuntimeError, cond, message)


def _check_tensor_all_with(error_type: type[Exception], cond: Tensor, message: Message = None) -> None:
    """As `_check_tensor_all`, with *error_type*."""
    from .base.dtypes import bool_

    if not isinstance(cond, Tensor) or cond.dtype is not bool_:
        raise ArgumentTypeError(
            "_check_tensor_all: cond must be a tensor of bool", operands={"cond": cond}, fix="pass a comparison"
        )
    _check_with(error_type, bool(cond.all()), message)


def _check_is_size(i: int, message: Message = None, *, max: int | None = None) -> None:
    """As `_check`, unless *i* is 0 or more and at most *max*."""
    _check_with(RuntimeError, i >= 0 and (max is None or i <= max), message)
