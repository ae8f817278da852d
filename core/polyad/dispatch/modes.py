"""The mode stack: objects that see every op and every effect of a thread before it happens.

Capture, profiling and dispatch tracing are modes. While modes are active, a call goes to the innermost mode;
what that mode calls goes to the next mode out, and finally to the kernel. With no mode active the op path pays
one falsy check.

To add a mode, derive from `Mode` and override ``dispatch``.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..base.state import state

if TYPE_CHECKING:
    from ..history.node import Recorded
    from .declared import Op
    from .effects import Effect

M = TypeVar("M", bound="Mode")


class Setting(NamedTuple):
    """A number, flag or name that an object of polyad's works with, such as an optimizer's learning rate.

    Attributes:
        owner, path: whose it is, and where it is in that.
        again: gives what it is then.
    """

    owner: Any
    path: str
    again: Callable[[], Any]

    def __str__(self) -> str:
        return f"{type(self.owner).__name__}.{self.path}"


class Mode:
    """Base of all modes: a context manager, active in its thread while entered. Modes nest, also with themselves.

    Attributes:
        alters: whether it changes results, as vmap does; what is computed again later
            (`polyad.utils.checkpoint`) is computed under such modes again.
        differentiates: whether what is computed under it may be differentiated, now or later.
        takes_whole: whether it is shown control flow (`polyad.dispatch.effects.Bodies`) and an optimizer's step of many
            parameters as one call each; others see the calls that these make.
    """

    alters = False
    differentiates = True
    takes_whole = False

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Do what the mode does for a call of *op*; ``op.call(*args)`` passes it on.

        Composites and effects (`polyad.dispatch.effects`) arrive whole, before decomposition.
        """
        return op.call(*args)

    def twin(self, original: Recorded, copy: Recorded) -> None:
        """Told that *copy*, which is no call's result, holds what *original* holds."""

    def option(self, setting: Setting, value: Any) -> Any:
        """What a program gets that reads *value*, a setting of a library object that may be another later."""
        return value

    def shares_memory(self) -> None:
        """Told that the program has made a tensor over memory that others may write to, such as a NumPy array's."""

    def tangent(self, tensor: Recorded) -> Recorded | None:
        """The direction in which *tensor* moves, if the mode differentiates forward what is computed from it."""
        return None

    def __enter__(self: M) -> M:
        state.modes = (*state.modes, self)
        return self

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        remaining = list(state.modes)
        # The innermost entry of this mode; modes left out of order are left by identity.
        for position in range(len(remaining) - 1, -1, -1):
            if remaining[position] is self:
                del remaining[position]
                break
        state.modes = tuple(remaining) or state.no_modes


def through_modes(op: Op | Effect, args: tuple[Any, ...]) -> Any:
    """Give a call to the innermost mode, with that mode set aside while it works."""
    modes = state.modes
    state.modes = modes[:-1] or state.no_modes
    try:
        return modes[-1].dispatch(op, args)
    finally:
        state.modes = modes


def may_be_differentiated() -> bool:
    """Whether somebody may want to know how what is computed now depends on its operands."""
    return state.grad_enabled or any(mode.differentiates for mode in state.modes)


def twin(original: Recorded, copy: Recorded) -> None:
    """Tell the active modes that *copy* holds what *original* holds: an alias or a copy that is no call's result."""
    for mode in state.modes:
        mode.twin(original, copy)


def differentiated(*tensors: Recorded) -> bool:
    """Whether what is computed from *tensors* now is going to be differentiated: recorded, or by an active mode.

    For formulas that are fast where they are not differentiated, and right where they are.
    """
    return (state.grad_enabled and any(tensor._node is not None for tensor in tensors)) or any(
        mode.tangent(tensor) is not None for mode in state.modes for tensor in tensors
    )


class outside:
    """While it is entered, *mode* and the modes inside of it are set aside, so that calls happen outside of them."""

    __slots__ = ("_before", "_mode")

    def __init__(self, mode: Mode) -> None:
        self._mode = mode

    def __enter__(self) -> None:
        self._before = before = state.modes
        if self._mode in before:
            state.modes = before[: before.index(self._mode)] or state.no_modes

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.modes = self._before
