"""PyTorch's compiler of Python code: `script` checks a function, a class or a module by TorchScript's rules.

The language is ``polyad.torchscript``, a package of its own; here are PyTorch's names for it, and the decorators that
mark what is to be compiled. What is marked stays what it is.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final as Final, NamedTuple, TypeVar

from ..base.state import state
from ..errors import ArgumentTypeError, safe_repr
from ..nn.modules.module import Module
from .capture import Capture

T = TypeVar("T")

__all__ = [
    "Attribute",
    "Final",
    "annotate",
    "export",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "script",
    "script_if_tracing",
    "script_method",
    "unused",
]

_MARK = "_torchscript_modifier"


def _language() -> Any:
    """The package of the language."""
    return import_module("polyad.torchscript")


class Attribute(NamedTuple):
    """A value of a module with the type that a program gives to it.

    >>> import polyad
    >>> polyad.jit.Attribute(0.1, float).value
    0.1
    """

    value: Any
    type: Any


def script(obj: Any, optimize: None = None, _frames_up: int = 0, _rcb: Any = None, example_inputs: Any = None) -> Any:
    """*obj*, a function, class or module, checked by TorchScript's rules, as what runs its program.

    Of a function it is a ``ScriptFunction``, of a module a ``RecursiveScriptModule`` that shares its parameters; a
    class stays what it is, and can be used in scripted functions. Both have ``code`` and ``graph``.

    Args:
        obj: what to script; dicts and lists are given back as they are.
        optimize: has no effect.
        example_inputs: has no effect: types are those of annotations.

    Raises RuntimeError (`polyad.torchscript.CompileError`) for a program that breaks the rules, with the source line,
    and TypeError for what is none of these.

    >>> import polyad as torch
    >>> @torch.jit.script
    ... def double(x: torch.Tensor, times: int = 1) -> torch.Tensor:
    ...     for _ in range(times):
    ...         x = x * 2
    ...     return x
    >>> double(torch.ones(2), 3).tolist()
    [8.0, 8.0]
    """
    if isinstance(obj, (dict, list)):
        return obj
    if not callable(obj):
        raise ArgumentTypeError(
            f"script: {safe_repr(obj)} is no function, class or module", fix="pass what can be called"
        )
    language = _language()
    if isinstance(obj, Module):
        return language.script_module(obj)
    names = _frame_names(_frames_up + 2)
    if isinstance(obj, type):
        if issubclass(obj, Module):
            raise ArgumentTypeError(f"script: {obj.__name__} is a class of modules", fix="script an instance of it")
        language.script_class(language.PROGRAM, obj, names)
        return obj
    if inspect.ismethod(obj):
        return functools.partial(language.PROGRAM.function(obj.__func__, names), obj.__self__)
    return language.PROGRAM.function(obj, names)


def _frame_names(up: int) -> dict[str, Any]:
    """The names of the function that calls, *up* frames above."""
    frame = sys._getframe(up)
    return dict(frame.f_locals)


def ignore(drop: Any = False, **kwargs: Any) -> Any:
    """A decorator: programs call the function as Python, with the types of its annotations.

    With ``drop=True`` it is as `unused`.

    >>> import polyad as torch
    >>> @torch.jit.ignore
    ... def double(x):
    ...     return 2 * x
    >>> double(2)
    4
    """
    if callable(drop):
        return _marked(drop, "ignore")
    return functools.partial(_marked, mark="unused" if drop else "ignore")


def _marked(fn: T, mark: str) -> T:
    target = fn.fget if isinstance(fn, property) else fn
    setattr(target, _MARK, mark)
    return fn


def unused(fn: T) -> T:
    """A decorator: the function is not compiled, and a program that comes to call it raises.

    Python calls it as before.
    """
    return _marked(fn, "unused")


def _overload(fn: T) -> T:
    """A decorator of a function's signature for one kind of arguments, which the function itself takes the place of."""
    return fn


_overload_method = _overload


def export(fn: T) -> T:
    """A decorator of a module's method: it is compiled although ``forward`` does not call it."""
    return _marked(fn, "export")


def interface(obj: T) -> T:
    """A decorator of a class: it says which methods a class or module must have, and is a type in programs.

    >>> import polyad as torch
    >>> @torch.jit.interface
    ... class Scorer:
    ...     def score(self, x: torch.Tensor) -> float:
    ...         pass
    """
    language = _language()
    language.script_interface(language.PROGRAM, obj, _frame_names(2))
    return obj


def script_method(fn: T) -> T:
    """A decorator of a `ScriptModule`'s methods: they are compiled when the module is scripted."""
    return _marked(fn, "export")


def script_if_tracing(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function is scripted when it is first called within a capture or a trace, so that its control
    flow is recorded; otherwise it runs as Python.

    >>> import polyad as torch
    >>> @torch.jit.script_if_tracing
    ... def double(x: torch.Tensor) -> torch.Tensor:
    ...     return x * 2
    >>> double(torch.ones(1)).tolist()
    [2.0]
    """

    @functools.wraps(fn)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return (_language().PROGRAM.function(fn) if is_tracing() else fn)(*args, **kwargs)

    wrapper.__original_fn = fn  # type: ignore[attr-defined]
    wrapper.__script_if_tracing_wrapper = True  # type: ignore[attr-defined]
    return wrapper


def annotate(the_type: Any, the_value: T) -> T:
    """*the_value*; in a program it is of *the_type*.

    >>> import polyad
    >>> polyad.jit.annotate(list[int], [])
    []
    """
    return the_value


def _unwrap_optional(x: T | None) -> T:
    """*x*, which must not be None; in a program it is no ``Optional`` then. PyTorch's older name for an assertion."""
    assert x is not None, "Unwrapping null optional"
    return x


def isinstance_(obj: Any, target_type: Any) -> bool:
    """Whether *obj* is of *target_type*, whose parts count: ``isinstance(x, list[int])``. Programs refine by it.

    >>> import polyad
    >>> polyad.jit.isinstance([1, 2], list[int]), polyad.jit.isinstance([1, "a"], list[int])
    (True, False)
    """
    return _language().is_instance(obj, target_type)  # type: ignore[no-any-return]


def is_scripting() -> bool:
    """False: Python runs this. In a program it is True.

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
