"""PyTorch's decorators for its compiler of Python code, which polyad has not: code runs as Python.

What they mark stays what it is, so programs that call what they decorated get the same results; and what a program asks
(`is_scripting`) is answered truly. A scripted module is the module itself: it has no ``graph``, ``code`` or ``save``.
For a graph of a function, see `polyad.jit.capture`; for files, `polyad.save`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final as Final, TypeVar

from ..base.state import state
from ..compatibility.absent import stand_in
from ..errors import ArgumentTypeError, safe_repr
from ..nn.modules.module import Module
from .capture import Capture

T = TypeVar("T")

__all__ = [
    "Final",
    "ScriptModule",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "load",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "unused",
]


class ScriptModule(Module):
    """A base class of older programs: the same as `polyad.nn.Module`, whose methods run as Python.

    `script` returns no such module, so ``isinstance(model, jit.ScriptModule)`` tells that a model can be pickled and
    copied as usual.
    """


def script(obj: T, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> T:
    """*obj*, a function, class or module, as it is: it runs as Python. The other arguments have no effect.

    Raises TypeError for what is none of these.

    >>> import polyad as torch
    >>> @torch.jit.script
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> double(torch.ones(2)).tolist()
    [2.0, 2.0]
    """
    if not callable(obj):
        raise ArgumentTypeError(
            f"script: {safe_repr(obj)} is no function, class or module", fix="pass what can be called"
        )
    return obj


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator that changes nothing, with and without arguments: no function is compiled.

    >>> import polyad as torch
    >>> @torch.jit.ignore
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """
    return drop if callable(drop) else _as_it_is


def _as_it_is(obj: T) -> T:
    return obj


def unused(fn: T) -> T:
    """A decorator that changes nothing: no function is compiled, and the function can be called."""
    return fn


def _overload(fn: T) -> T:
    """A decorator of a function's signature for one kind of arguments, which the function itself takes the place of."""
    return fn


_overload_method = _overload


def export(fn: T) -> T:
    """A decorator that changes nothing: no function is compiled."""
    return fn


def interface(obj: T) -> T:
    """A decorator of classes that changes nothing: no class is compiled."""
    return obj


def script_method(fn: T) -> T:
    """A decorator of a `ScriptModule`'s methods that changes nothing: no method is compiled."""
    return fn


def script_if_tracing(fn: T) -> T:
    """A decorator that changes nothing: `polyad.jit.trace` records what the function does, as it does of all others."""
    return fn


def annotate(the_type: Any, the_value: T) -> T:
    """*the_value*; the type is for readers.

    >>> import polyad
    >>> polyad.jit.annotate(list[int], [])
    []
    """
    return the_value


def is_scripting() -> bool:
    """False: no code is compiled.

    >>> import polyad
    >>> polyad.jit.is_scripting()
    False
    """
    return False


def is_tracing() -> bool:
    """Whether this thread is in a function that `polyad.jit.capture` or `polyad.jit.trace` records.

    >>> import polyad
    >>> seen = []
    >>> graph = polyad.jit.capture(lambda x: seen.append(polyad.jit.is_tracing()) or x + 1, polyad.ones(2))
    >>> seen, polyad.jit.is_tracing()
    ([True], False)
    """
    return any(isinstance(mode, Capture) for mode in state.modes)


load: Callable[..., Any] = stand_in("jit.load")
save: Callable[..., Any] = stand_in("jit.save")
