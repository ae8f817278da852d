"""One call, made and judged: it answers, or says in polyad's words what is wrong and how to mend it.

What is a finding, by sort:

    internal           InternalError, or a message that asks to report a defect
    kernel's words     what a kernel or NumPy said, passed on: no rule of polyad's explains the call
    raw                an exception that is not polyad's. Allowed are what an argument itself raised, and the TypeError
                       with which Python refuses a wrong number or name of arguments
    no way out         an error of polyad's without a line "fix"
    warning            a warning that is not polyad's advice (UserWarning, FutureWarning), such as NumPy's of an invalid
                       value
    leaked state       a failed call left a switch of the thread or the process in another position
    input changed      a failed call changed an argument
    wrong result       a result whose memory has not the dtype or shape that it declares
    memory             a call that took a gigabyte which is neither its arguments' nor its result's

The process that makes the calls adds "crash" and "hang".
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import polyad
from polyad import Tensor, settings
from polyad.base.state import ThreadState, state
from polyad.devices import fallback
from polyad.errors import InternalError, PolyadError
from polyad.interop import printing
from polyad.interop.numpy import numpy_dtype
from polyad.transforms.wrapped import Wrapped

from .values import UsersError

GIGABYTE = 1 << 30
LARGEST_CHECKED = 1 << 20
"""Results of more elements are not looked at: that would take the memory that the call is accused of."""

_ARITY = re.compile(
    r"missing \d+ required|required positional argument|unexpected keyword argument|multiple values for"
    r"|takes (exactly|from|no|at (most|least)|\d)|takes .*positional argument|passed as keyword"
    r"|expected (at (most|least) )?\d+ arguments?, got"
)
_BLAMES_POLYAD = ("report a defect", "this is a bug", "polyad or a backend is wrong")
_KERNELS_WORDS = ("the kernel failed:", "report the backend", "the arguments do not fit together:")


@dataclass(frozen=True)
class Finding:
    """What is wrong with how a call ended: the sort, and the words that show it."""

    sort: str
    words: str

    def is_like(self, other: Finding) -> bool:
        """Whether both are of a sort and, where there is an exception, of a type."""
        if self.sort != other.sort or self.sort in ("crash", "hang", "memory"):
            return self.sort == other.sort
        return self.pattern.partition(": ")[0] == other.pattern.partition(": ")[0]

    @property
    def pattern(self) -> str:
        """The words without what differs from call to call."""
        first = self.words.partition("\n")[0]
        return re.sub(r"0x[0-9a-f]+|-?\d[\d.e+-]*", "#", first)[:150]


def tensors_of(*values: Any) -> list[Tensor]:
    """The tensors among *values*."""
    found: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple)) and len(value) < 100:
            found += [one for one in value if isinstance(one, Tensor)]
    return found


def state_of(tensor: Tensor) -> Any:
    """Everything that a refused call must leave as it was."""
    seen = 0 < tensor.numel() <= LARGEST_CHECKED and not isinstance(tensor, Wrapped)
    try:
        return tensor.shape, tensor.dtype, tensor._version, seen and tensor.numpy(force=True).tobytes()
    except Exception as error:  # a device that computes later says now what it could not do
        return tensor.shape, tensor.dtype, type(error)


def _bytes(*values: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(*values))


@contextmanager
def little_memory(more: int = 4 * GIGABYTE) -> Iterator[None]:
    """So that a size that nobody means ends in an error, not in the machine's memory."""
    if sys.platform != "linux":
        yield
        return
    import resource

    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + more, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


WRAPPERS = ("built", "stepped", "applied", "forwarded", "invoked")
"""What makes several calls: of those before the one that fails, the results stay."""

ON_TENSORS = ("Tensor.", "getattr", "setattr", "operator.")
"""What is called on a tensor: its first argument is always one."""

SWITCHES = tuple(name for name in vars(ThreadState) if not name.startswith("_"))


class Switches:
    """The switches of the thread and the process, as they were."""

    def __init__(self) -> None:
        self.thread = {name: getattr(state, name) for name in SWITCHES}
        self.settings = dict(vars(settings._settings))
        self.dtype, self.policy = polyad.get_default_dtype(), fallback.get_policy()
        self.errors = np.geterr()

    def changed(self) -> list[str]:
        """The names of those that differ now."""
        found = [name for name, value in self.thread.items() if getattr(state, name) is not value]
        found += [name for name, value in self.settings.items() if getattr(settings._settings, name) != value]
        if polyad.get_default_dtype() is not self.dtype:
            found.append("default dtype")
        if fallback.get_policy() != self.policy:
            found.append("fallback policy")
        if np.geterr() != self.errors:
            found.append("NumPy's errstate")
        return found

    def restore(self) -> None:
        """Put all of them back."""
        for name, value in self.thread.items():
            setattr(state, name, value)
        vars(settings._settings).update(self.settings)
        if polyad.get_default_dtype() is not self.dtype:
            polyad.set_default_dtype(self.dtype)
        if fallback.get_policy() != self.policy:
            fallback.set_policy(self.policy)
        np.seterr(**self.errors)


def _modules(error: BaseException) -> list[str]:
    """The modules whose code *error* came through, the innermost last."""
    frame, found = error.__traceback__, []
    while frame is not None:
        found.append(frame.tb_frame.f_globals.get("__name__", ""))
        frame = frame.tb_next
    return found


def _is_arguments_own(error: BaseException) -> bool:
    """Whether an argument's own code raised *error*, called back by polyad."""
    seen = False
    for name in _modules(error):
        top = name.partition(".")[0]
        if top in ("polyad", "polyad_numpy", "polyad_opencl"):
            seen = True
        elif seen and (name == "the call" or name.endswith("fuzz.values")):
            return True
    return False


def of_error(error: BaseException) -> Finding | None:
    """What is wrong with an exception, None if nothing is."""
    try:
        text = str(error)
    except UsersError as users:
        text, error = str(users), users
    if isinstance(error, UsersError):
        return Finding("raw", f"an error's words need repr(): {text}") if text.startswith("__repr__") else None
    if isinstance(error, PolyadError):
        if isinstance(error, InternalError) or any(words in text for words in _BLAMES_POLYAD):
            return Finding("internal", f"{type(error).__name__}: {text}")
        later = "\n    noticed " in text  # what a device finds after the call, its driver says
        if any(words in text for words in _KERNELS_WORDS) and not (later or _ARITY.search(text)):
            return Finding("kernel's words", f"{type(error).__name__}: {text}")
        return None if "\n    fix " in text else Finding("no way out", f"{type(error).__name__}: {text}")
    if isinstance(error, AssertionError) and "polyad.testing" in _modules(error):
        return None
    if isinstance(error, ValueError) and text.startswith("Invalid format specifier"):
        return None  # Python's own of the number
    if _is_arguments_own(error) or (type(error) is TypeError and _ARITY.search(text)):
        return None
    if isinstance(error, (TypeError, AttributeError)) and _modules(error)[-1:] == [__name__]:
        return None  # Python's own, before anything of polyad's ran
    if isinstance(error, AttributeError) and re.search(r"has no setter$|has no attribute '__\w+__'$", text):
        return None  # Python's own, of an attribute that is looked for
    return Finding("raw", f"{type(error).__name__}: {text}")


def _of_warnings(seen: list[Any]) -> Finding | None:
    for one in seen:
        ours = issubclass(one.category, (UserWarning, FutureWarning))
        if not ours and not str(one.message).startswith("NotImplemented should not be used"):  # an argument of the call
            return Finding("warning", f"{one.category.__name__}: {one.message}")
    return None


def _of_result(result: Any) -> Finding | None:
    for tensor in tensors_of(result):
        if isinstance(tensor, Wrapped) or tensor.numel() > LARGEST_CHECKED:
            continue
        if tensor.ndim > 64 or math.prod(size or 1 for size in tensor.shape) > 2**40:
            continue  # NumPy has no such arrays, though empty
        host = tensor._type.backend.to_host(tensor._array)
        if host.dtype != numpy_dtype(tensor.dtype) or tuple(host.shape) != tuple(tensor.shape):
            return Finding(
                "wrong result", f"declares {tensor.dtype} {tuple(tensor.shape)}, is {host.dtype} {host.shape}"
            )
    return None


def _peak() -> int:
    """The most memory that the process has held since `_reset_peak`."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) * 1024


def _reset_peak() -> int:
    if sys.platform != "linux":
        return 0
    Path("/proc/self/clear_refs").write_text("5")
    return _peak()


@dataclass
class Made:
    """What became of a call: whether its arguments could be made, the finding, the exception."""

    ran: bool
    finding: Finding | None = None
    error: str = ""


def judged(target: str, args: Any, kwargs: dict[str, str], names: dict[str, Any]) -> Made:
    """Make the call of these sources, and judge how it ends."""
    switches = Switches()
    scope = {**names, "__name__": "the call"}
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("ignore")
        try:
            function = eval(target, scope)
            values = [eval(source, scope) for source in args]
            named = {name: eval(source, scope) for name, source in kwargs.items()}
        except Exception:
            switches.restore()
            return Made(ran=False)
        if target.startswith(ON_TENSORS) and not isinstance(values[0] if values else None, Tensor):
            return Made(ran=False)
        given = tensors_of(*values, *named.values())
        before = [state_of(tensor) for tensor in given]
        at_first = _reset_peak()
        warnings.simplefilter("always")
        finding, error, returned = None, None, False
        printing.set_printoptions(profile="default")
        try:
            result = function(*values, **named)
            returned = True
            finding = _of_result(result)
            for tensor in tensors_of(result):
                if tensor.requires_grad and not tensor.is_leaf and tensor.numel() < LARGEST_CHECKED:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        (tensor.real if tensor.is_complex() else tensor).sum().backward()
                    break
        except Exception as raised:
            error, result = raised, None
            finding = of_error(raised)
        held = _bytes(result, given)
        grown = _peak() - at_first if at_first else 0
        warnings.simplefilter("ignore")
    if finding is None:
        finding = _of_warnings(seen)
    if finding is None and grown > GIGABYTE and grown > 4 * held:
        finding = Finding("memory", f"{grown / GIGABYTE:.1f} GB")
    if finding is None and error is not None:
        functions = any(callable(value) for value in values) or target in WRAPPERS
        # What raised after the call returned is its backward pass, which may find fault with what the call wrote.
        if not (functions or returned) and [state_of(tensor) for tensor in given] != before:
            finding = Finding("input changed", f"by a call that raised {type(error).__name__}: {error}")
        if switches.changed():
            finding = Finding("leaked state", f"{', '.join(switches.changed())}, by a call that raised {error}")
    switches.restore()
    return Made(ran=True, finding=finding, error=type(error).__name__ if error else "")
