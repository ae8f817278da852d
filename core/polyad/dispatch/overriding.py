"""Calls that objects with ``__torch_function__`` answer, of classes derived from Tensor and of others.

Plain tensors pay nothing for it. Until the program has made an object of such a class, or entered a mode of functions
(`polyad.overrides.TorchFunctionMode`), public functions run the code that was generated for them. From then on
(`watch`) each of them runs `_TEMPLATE` first, which looks at the classes of the arguments. The function object stays,
so tables by function stay good, and it gets a call's arguments as they were given.

    SEEN      the classes that it stops at: those that answer, and lists and tuples, in which they may be
    answered  what is made of a call: by the innermost mode, by the arguments, or by the function itself

What is looked up on an object itself (``x.shape``, ``len(x)``) is seen by its class (`polyad.tensor.subclasses`).

Invariant: `state.functions_off` is 0 while objects and modes are asked, 1 while modes alone are, 2 while nobody is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import CodeType, FrameType, FunctionType, TracebackType
from typing import Any
from weakref import WeakSet

from ..backend import memory
from ..base import provided
from ..base.state import state
from ..errors import ArgumentTypeError

SEEN: set[type] = {list, tuple}
DISPATCHED: set[type] = set()
"""The classes derived from Tensor whose ``__torch_dispatch__`` is asked for ops (`polyad.aten.dispatching`)."""

_objects: WeakSet[Any] = WeakSet()
dispatching: set[Any] = _objects.data  # type: ignore[attr-defined]
"""Weak references to the objects of these classes that there are."""

MODES: list[Any] = []
"""The modes of functions that any thread is in."""

watching: list[Callable[[], Iterable[tuple[Any, Any]]]] = []
"""What gives the functions to watch, each with the function that is reported for it; empty while nothing is watched."""

sources: list[Callable[[], Iterable[tuple[Any, Any]]]] = []
"""What `watching` becomes: filled by those who have functions."""


class functions_off:
    """While it is entered, no object (1), or neither object nor mode (2), is asked for ``__torch_function__``."""

    level = 1

    def __enter__(self) -> None:
        self._before = state.functions_off
        state.functions_off = max(self.level, self._before)

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.functions_off = self._before


class _Disabled:
    """PyTorch's ``torch._C._disabled_torch_function_impl``: a class with it for ``__torch_function__`` is not asked,
    and what is computed from its objects is plain tensors.
    """

    def __call__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with functions_off():
            return func(*args, **kwargs or {})

    def __repr__(self) -> str:
        return "<_disabled_torch_function_impl>"


disabled = _Disabled()


def answers(cls: type) -> bool:
    """Whether objects of *cls* are asked; Tensor itself is not added to `SEEN`, and so is not."""
    return getattr(cls, "__torch_function__", disabled) is not disabled


class _DispatchDisabled:
    """What Tensor itself has for ``__torch_dispatch__``: the op is carried out."""

    def __call__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with dispatch_off():
            return func(*args, **kwargs or {})

    def __repr__(self) -> str:
        return "<_disabled_torch_dispatch_impl>"


dispatch_disabled = _DispatchDisabled()


class dispatch_off:
    """While it is entered, no class is asked for ``__torch_dispatch__``."""

    def __enter__(self) -> None:
        self._before, state.dispatch_off = state.dispatch_off, True

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.dispatch_off = self._before


def made(tensor: Any) -> None:
    """Called with each object of a class derived from Tensor."""
    cls = tensor.__class__
    if cls in SEEN:
        watch()
        if cls in DISPATCHED:
            _objects.add(tensor)


def watch() -> None:
    """From now on, look at the arguments of public functions."""
    if not watching:
        watching.extend(sources)
        for source in sources:
            for function, reported in source():
                check(function, reported)


_TEMPLATE = """\
def outer():
    {free}
    def checked({signature}):
        seen, modes, answered, inner, reported = {parts!r}
{tests}        return inner({passed})
        {used}
    return checked
checked = outer()
"""
_ANY = """\
        if modes:
            return answered(reported, inner, args, kwargs)
        for value in args:
            if value.__class__ in seen:
                return answered(reported, inner, args, kwargs)
        if kwargs:
            for value in kwargs.values():
                if value.__class__ in seen:
                    return answered(reported, inner, args, kwargs)
            return inner(*args, **kwargs)
"""
_PAIR = """\
        if self.__class__ in seen or other.__class__ in seen or modes:
            return answered(reported, inner, (self, other), {})
"""
_PARTS = "parts"  # five letters for five things, which each function's copy of the code has as a constant


@cache
def _template(free: tuple[str, ...], pair: bool) -> CodeType:
    """The code of a watched function with these free variables, which a function's code cannot do without."""
    source = _TEMPLATE.format(
        free=" = ".join([*free, "None"]),
        used="; ".join(free),
        signature="self, other" if pair else "*args, **kwargs",
        parts=_PARTS,
        tests=_PAIR if pair else _ANY,
        passed="self, other" if pair else "*args",
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    return scope["checked"].__code__  # type: ignore[no-any-return]


def check(function: FunctionType, reported: Any = None) -> None:
    """Let *function* look at its arguments from now on; *reported* is what ``__torch_function__`` gets as ``func``."""
    code = function.__code__
    if _CHECKED in code.co_consts:
        return
    if not hasattr(function, "__signature__") and not hasattr(function, "__wrapped__"):
        function.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
    inner = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    inner.__kwdefaults__ = function.__kwdefaults__
    parts = SEEN, MODES, answered, inner, function if reported is None else reported
    pair = code.co_argcount == 2 and function.__name__.startswith("__") and not function.__defaults__
    template = _template(code.co_freevars, pair)
    function.__code__ = template.replace(
        co_consts=(*(parts if const == _PARTS else const for const in template.co_consts), _CHECKED),
        co_name=code.co_name,
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )


_CHECKED = "polyad: looks at its arguments"


def _parts(function: FunctionType) -> Any:
    consts = function.__code__.co_consts
    return (
        next(const for const in consts if const.__class__ is tuple and len(const) == 5) if _CHECKED in consts else None
    )


def reported_for(function: FunctionType) -> Any:
    """What is reported for calls of *function*, None if it is not watched."""
    parts = _parts(function)
    return parts and parts[4]


def uncheck(function: FunctionType) -> None:
    """Undo `check`."""
    parts = _parts(function)
    if parts is not None:
        function.__code__ = parts[3].__code__


def answered(
    reported: Any, inner: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], relevant: Any = None
) -> Any:
    """What becomes of the call ``reported(*args, **kwargs)``, which *inner* carries out where nobody else does; the
    *relevant* values are asked, or all.
    """
    off = state.functions_off
    if relevant is None:
        if getattr(inner, "__name__", "") in UNASKED and not state.function_modes:
            with functions_off():
                return inner(*args, **kwargs)
        relevant = (*args, *kwargs.values())
    if off < 2 and state.function_modes:
        asked = () if off else overloaded(relevant)
        modes = state.function_modes
        state.function_modes = modes[:-1]
        try:
            result = modes[-1].__torch_function__(reported, tuple([type(one) for one in asked]), args, kwargs)
        finally:
            state.function_modes = modes
        if result is not NotImplemented:
            return result
        return ask(reported, asked, args, kwargs)
    if not off:
        asked = overloaded(relevant)
        if asked:
            return ask(reported, asked, args, kwargs)
    if dispatching and any(value.__class__ in DISPATCHED for value in _flat((*args, *kwargs.values()))):
        if getattr(inner, "__name__", "") in LIKE and not state.dispatch_off:
            return provided.class_dispatch().tell(inner.__name__, args, kwargs)
        with class_dispatch():
            return inner(*args, **kwargs)
    return inner(*args, **kwargs)


LIKE = frozenset({
    "empty_like", "full_like", "ones_like", "rand_like", "randn_like", "zeros_like",
    "new_empty", "new_full", "new_ones", "new_zeros",
})  # fmt: skip
"""Functions whose ops do not see the tensor that the result is to be like."""


class class_dispatch:
    """While it is entered, ops on objects of the classes in `DISPATCHED` are given to these."""

    def __enter__(self) -> None:
        self._before = before = state.modes
        mode = provided.class_dispatch()
        if mode not in before and not state.dispatch_off:
            state.modes = (mode, *before)

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        state.modes = self._before


UNASKED = frozenset({"as_subclass", "as_tensor", "asarray", "is_tensor", "tensor"})
"""Functions that modes see, and objects are not asked for."""


def overloaded(values: Iterable[Any]) -> tuple[Any, ...]:
    """The first of each class that is asked, in the order in which they are: from left to right, derived classes before
    their bases. Lists and tuples are looked into.
    """
    found: list[Any] = []
    for value in _flat(values):
        cls = type(value)
        if answers(cls) and all(cls is not type(other) for other in found):
            at = next((n for n, other in enumerate(found) if issubclass(cls, type(other))), len(found))
            found.insert(at, value)
    return tuple(found)


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        cls = value.__class__
        if cls in SEEN:
            if cls is list or cls is tuple:
                for item in value:
                    if item.__class__ in SEEN and item.__class__ not in (list, tuple):
                        yield item
            else:
                yield value


def ask(reported: Any, asked: Iterable[Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What the first of the *asked* objects that knows *reported* makes of the call. Raises TypeError if none does."""
    types = tuple([type(one) for one in asked])
    for one in asked:
        result = one.__torch_function__(reported, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = getattr(reported, "__name__", repr(reported))
    if name in ("__get__", "__set__"):
        name = getattr(getattr(reported, "__self__", None), "fget", reported).__name__
    raise ArgumentTypeError(
        f"{name}: no __torch_function__ of {', '.join(kind.__name__ for kind in types) or 'the mode'} knows it",
        fix="pass tensors, or let one of these classes answer",
    )


# ------------------------------------------------------------------------------------------------- objects of no Tensor


def stands_in(values: Iterable[Any], depth: int = 1) -> bool:
    """Whether a call that failed is to be made again, since an object among its arguments is no tensor and answers for
    one. Such classes are not known before: from now on they are seen. A call inside another function's leaves it to
    that one; *depth* is how far up the stack the failed one is.
    """
    tensors = tuple(memory.tensor_classes)
    new = False
    for value in values:
        for one in value if isinstance(value, (list, tuple)) else (value,):
            cls = type(one)
            if cls is not type and not issubclass(cls, tensors) and answers(cls):
                SEEN.add(cls)
                new = True
    if not new or state.functions_off:
        return False
    watch()
    frame: FrameType | None = sys._getframe(depth)
    own = frame.f_code.co_filename  # type: ignore[union-attr]  # a first call has two frames there
    while frame is not None:
        file = frame.f_code.co_filename
        if file.startswith(GENERATED) and file != own:
            return False
        frame = frame.f_back
    return True


GENERATED = "polyad-"
"""How the file names of generated functions begin."""


def again(call: Callable[..., Any], signature: inspect.Signature, given: Mapping[str, Any]) -> Any:
    """Make the call again whose parameters have the values *given*; defaults are left out."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    by_name = False
    for name, parameter in signature.parameters.items():
        value = given.get(name, parameter.default)
        if parameter.kind is parameter.VAR_POSITIONAL:
            args += value
        elif value is parameter.default:
            by_name = True
        elif by_name or parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[name] = value
        else:
            args.append(value)
    return call(*args, **kwargs)
