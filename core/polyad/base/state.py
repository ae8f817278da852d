"""What each thread has switched on: gradient recording, modes, watchers, the current default device.

One thread-local object, so that the op path asks one place. Class attributes are the values that a new thread starts
with.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from ..random.captured import CapturedDraws
    from .device import Device


class ActiveMode(Protocol):
    """A mode as the thread keeps it; what it does is said by `polyad.dispatch.modes.Mode`."""

    alters: bool
    differentiates: bool
    takes_whole: bool

    def dispatch(self, op: Any, args: tuple[Any, ...]) -> Any: ...

    def twin(self, original: Any, copy: Any) -> None: ...

    def option(self, setting: Any, value: Any) -> Any: ...

    def tangent(self, tensor: Any) -> Any: ...

    def shares_memory(self) -> None: ...


class NoModes(tuple[ActiveMode, ...]):
    """No modes at all, in a thread that is in ``inference_mode``."""


NO_MODES: tuple[ActiveMode, ...] = ()
UNDER_INFERENCE = NoModes()
"""What `ThreadState.modes` is while no mode is active, outside and inside of ``inference_mode``: so an op learns both
in one look.
"""


class ThreadState(threading.local):
    """The thread's switches; read on every op, so keep it flat.

    Attributes:
        no_modes: what ``modes`` is while there are none: `NO_MODES` or `UNDER_INFERENCE`.
        watchers: who is told of module calls (``call_module``) and of optimizers' steps (``stepped``), the innermost
            last; `polyad.lint` is one.
        saved_hooks: pairs that pack and unpack saved tensors, the innermost last.
        saved_hooks_disabled: why there may be none, if there may be none.
        backward: the backward pass at work.
        autocast: what `polyad.autocast` does on each device type, if it is on.
        autocast_cache: whether it keeps casts of parameters.
        current_devices: for device types, which of their devices the thread has chosen to be meant without a number.
        capturing: what the thread's work draws that is captured into a graph of the driver, if some is: see
            `polyad.cuda.CUDAGraph`.
        functions_off, function_modes: whom `polyad.dispatch.overriding` does not ask, and the modes that it asks first.
        dispatch_off: whether classes are not asked for ``__torch_dispatch__`` either.
        below_autograd: whether kernels for "Autograd" of custom ops are passed over; see `polyad.library.Library.impl`.
        inspect: called with each gradient that a node computes; see `polyad.autograd.anomaly`.
    """

    grad_enabled: bool = True
    below_autograd: bool = False
    current_devices: Mapping[str, int] = MappingProxyType({})
    modes: tuple[ActiveMode, ...] = NO_MODES
    no_modes: tuple[ActiveMode, ...] = NO_MODES
    watchers: tuple[Any, ...] = ()
    default_device: Device | None = None
    outer_devices: tuple[Device | None, ...] = ()
    saved_hooks: tuple[tuple[Any, Any], ...] = ()
    saved_hooks_disabled: str | None = None
    backward: Any = None
    autocast: Any = None
    autocast_cache: bool = True
    capturing: CapturedDraws | None = None
    functions_off: int = 0
    function_modes: tuple[Any, ...] = ()
    dispatch_off: bool = False
    inspect: Any = None


state = ThreadState()

_packages = {__name__.partition(".")[0]}


class _Ours(dict[str, bool]):
    """Whether a module is polyad's, by name; filled as frames are met, since every write in place asks for its line."""

    def __missing__(self, name: str) -> bool:
        ours = self[name] = name.partition(".")[0] in _packages
        return ours


_ours = _Ours()


def count_in(package: str) -> None:
    """Take frames of *package*, which plugs in, for polyad's: a warning there names the line of its user."""
    _packages.add(package)
    _ours.clear()


def is_ours(module: str) -> bool:
    """Whether the module of that name is polyad's."""
    return _ours[module]


def _user_frame() -> FrameType | None:
    """The innermost frame that is outside polyad."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _ours[frame.f_globals.get("__name__", "")]:
        frame = frame.f_back
    return frame


def user_line() -> str:
    """``model.py:12``: the innermost line that is outside polyad; the empty string if there is none."""
    frame = _user_frame()
    return "" if frame is None else f"{frame.f_code.co_filename.rpartition('/')[2]}:{frame.f_lineno}"


Place: TypeAlias = "tuple[CodeType | None, int]"
"""Code, and the instruction of it that ran; no code where none was found."""

_our_code: dict[int, CodeType] = {}
_users_code: dict[int, CodeType] = {}
"""Code met on the stack, polyad's and other, by its id: nothing tells faster whose a frame is."""


def place_from(frame: FrameType | None) -> Place:
    """Where the user's program is, from *frame* outwards: which `line_at` turns into a line when somebody asks."""
    while frame is not None:
        code = frame.f_code
        key = id(code)
        if key in _our_code:  # most are: where a model of polyad's is trained by the trainer, fifteen of sixteen
            frame = frame.f_back
            continue
        if key not in _users_code:
            known = _our_code if _ours[frame.f_globals.get("__name__", "")] else _users_code
            if len(known) >= 4096:  # a program that compiles code as it runs
                known.clear()
            known[key] = code
            continue
        return code, frame.f_lasti
    return None, 0


def line_of(code: CodeType | None, at: int) -> str:
    """``model.py:12``: the line of a place that `place_from` gave; the empty string if that found none."""
    if code is None:
        return ""
    file, line = line_at(code, at)
    return f"{file.rpartition('/')[2]}:{line}"


def line_at(code: CodeType, at: int) -> tuple[str, int]:
    """The file and the line of instruction *at* of *code*."""
    for start, end, line in code.co_lines():
        if start <= at < end and line is not None:
            return code.co_filename, line
    return code.co_filename, code.co_firstlineno


_warned: set[tuple[str, str]] = set()
warn_always = False
"""Whether `warn_once` says it each time; see `polyad.set_warn_always`."""


def warn_once(subject: str, about: str, message: str, category: type[Warning]) -> None:
    """`warn_user`, once in a process for what *subject* has to say *about* something; each time, if the user wants."""
    if warn_always or (subject, about) not in _warned:
        _warned.add((subject, about))
        warn_user(message, category)


def warn_user(message: str, category: type[Warning]) -> None:
    """A warning that names the innermost line outside polyad, however deep polyad's own stack is."""
    import warnings

    frame = _user_frame()
    if frame is None:
        warnings.warn(message, category, stacklevel=2)
    else:
        registry = frame.f_globals.setdefault("__warningregistry__", {})
        warnings.warn_explicit(
            message, category, frame.f_code.co_filename, frame.f_lineno, frame.f_globals.get("__name__"), registry
        )
