"""Switching gradient recording on and off, per thread: ``no_grad``, ``enable_grad``, ``set_grad_enabled``,
``inference_mode``.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Any, TypeVar

from ..base.state import NO_MODES, UNDER_INFERENCE, state
from ..errors import ArgumentTypeError, safe_repr
from . import inference

F = TypeVar("F", bound=Callable[..., Any])


class _GradMode:
    """A context manager and decorator that sets the switch and puts it back; usable again and nested.

    *no_modes* is what `polyad.base.state` says of inference_mode inside; None leaves that as it is.
    """

    def __init__(self, enabled: bool, no_modes: tuple[Any, ...] | None = None) -> None:
        self._enabled = enabled
        self._no_modes = no_modes
        self._before: list[tuple[bool, tuple[Any, ...]]] = []

    def __enter__(self) -> None:
        self._before.append((state.grad_enabled, state.no_modes))
        state.grad_enabled = self._enabled
        if self._no_modes is not None:
            _set_no_modes(self._no_modes)

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.grad_enabled, no_modes = self._before.pop()
        if self._no_modes is not None:
            _set_no_modes(no_modes)

    def __call__(self, function: F) -> F:
        mode = functools.partial(_GradMode, self._enabled, self._no_modes)
        if inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def generate(*args: Any, **kwargs: Any) -> Any:
                return (yield from _steps(function(*args, **kwargs), mode))

            return generate  # type: ignore[return-value]

        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run(*args: Any, **kwargs: Any) -> Any:
                return await _awaited(function(*args, **kwargs), mode)

            return run  # type: ignore[return-value]

        if inspect.isasyncgenfunction(function):

            @functools.wraps(function)
            async def produce(*args: Any, **kwargs: Any) -> Any:
                generator = function(*args, **kwargs)
                step = generator.asend(None)
                try:
                    while True:
                        try:
                            value = await _awaited(step, mode)
                        except StopAsyncIteration:
                            return
                        try:
                            step = generator.asend((yield value))
                        except Exception as error:
                            step = generator.athrow(error)
                finally:
                    await _awaited(generator.aclose(), mode)

            return produce  # type: ignore[return-value]

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with mode():
                return function(*args, **kwargs)

        return call  # type: ignore[return-value]


def _set_no_modes(no_modes: tuple[Any, ...]) -> None:
    if not state.modes:
        state.modes = no_modes
    state.no_modes = no_modes


def _steps(generator: Any, mode: Callable[[], _GradMode]) -> Any:
    """Run a generator, or a coroutine, with the switch set while its own code runs and not between its yields."""
    step: Callable[[], Any] = functools.partial(generator.send, None)
    while True:
        try:
            with mode():
                value = step()
        except StopIteration as stop:
            return stop.value
        try:
            sent = yield value
            step = functools.partial(generator.send, sent)
        except GeneratorExit:
            with mode():
                generator.close()
            raise
        except BaseException as error:
            step = functools.partial(generator.throw, error)


_awaited: Callable[[Any, Callable[[], _GradMode]], Awaitable[Any]] = types.coroutine(_steps)
"""So that other tasks of the thread, which run while a coroutine waits, do not find the switch set."""


class _Switch(_GradMode):
    """A mode without arguments, which as a decorator may do without its parentheses: ``@no_grad``."""

    def __new__(cls, function: Any = None) -> Any:
        return object.__new__(cls) if function is None else cls()(function)


class no_grad(_Switch):
    """Work without recording gradients; a context manager, or a decorator with or without parentheses.

    >>> import polyad
    >>> x = polyad.ones(2, requires_grad=True)
    >>> with polyad.no_grad():
    ...     (x * 2).requires_grad
    False
    """

    def __init__(self) -> None:
        super().__init__(False)


class enable_grad(_Switch):
    """Record gradients again inside `no_grad`; a context manager, or a decorator with or without parentheses.

    >>> import polyad
    >>> x = polyad.ones(2, requires_grad=True)
    >>> with polyad.no_grad(), polyad.enable_grad():
    ...     (x * 2).requires_grad
    True
    """

    def __init__(self) -> None:
        super().__init__(True)


class set_grad_enabled(_GradMode):
    """Set recording to *mode* at once; as a context manager, put it back at the end.

    Raises TypeError if mode is no bool.

    >>> import polyad
    >>> with polyad.set_grad_enabled(False):
    ...     polyad.is_grad_enabled()
    False
    """

    def __init__(self, mode: bool) -> None:
        if not isinstance(mode, bool):
            raise ArgumentTypeError(
                f"set_grad_enabled: mode is {safe_repr(mode)}, not a bool", fix="pass True or False"
            )
        super().__init__(mode)
        self._previous = state.grad_enabled
        state.grad_enabled = mode

    def __enter__(self) -> None:
        self._before.append((self._previous, state.no_modes))
        state.grad_enabled = self._enabled

    def __call__(self, function: F) -> F:
        state.grad_enabled = self._previous
        return super().__call__(function)


class inference_mode(_GradMode):
    """Work whose results never take part in recorded work: nothing is recorded, as in `no_grad`, and afterwards a
    tensor that was made here can neither be saved for backward nor written to; a ``clone()`` of it can.

    ``inference_mode(False)`` records, and makes ordinary tensors. Raises TypeError if mode is no bool.

    >>> import polyad
    >>> x = polyad.ones(2, requires_grad=True)
    >>> with polyad.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad, y.is_inference(), y.clone().is_inference()
    (False, True, False)
    """

    def __new__(cls, mode: Any = True) -> Any:
        return cls()(mode) if callable(mode) else object.__new__(cls)

    def __init__(self, mode: bool = True) -> None:
        if not isinstance(mode, bool):
            raise ArgumentTypeError(f"inference_mode: mode is {safe_repr(mode)}, not a bool", fix="pass True or False")
        super().__init__(not mode, UNDER_INFERENCE if mode else NO_MODES)
        inference.seen = inference.seen or mode


def is_inference_mode_enabled() -> bool:
    """Whether this thread is in `inference_mode`.

    >>> import polyad
    >>> polyad.is_inference_mode_enabled()
    False
    """
    return state.no_modes is UNDER_INFERENCE


def is_grad_enabled() -> bool:
    """Whether ops of this thread record gradients.

    >>> import polyad
    >>> polyad.is_grad_enabled()
    True
    """
    return state.grad_enabled
