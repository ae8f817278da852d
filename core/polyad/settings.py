"""Switches of the process: host threads, precision of matrix products, determinism.

Ops are deterministic and matrix products as precise as their dtype, whatever these switches say: what they can ask for
beyond PyTorch's defaults holds already. They are kept so that a program that sets them reads back what it set.

To add a switch, put its value in `_Settings` and a pair of functions below.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from .base import state
from .devices import registry
from .errors import ArgumentTypeError, SettingError, safe_repr, wrong_type

ATTENTION = ("math", "flash", "mem_efficient", "cudnn", "overrideable")
"""PyTorch's ways to compute attention; see `allowed_attention`."""


@dataclass
class _Settings:
    deterministic: bool = False
    warn_only: bool = False
    matmul_precision: str = "highest"
    interop_threads: int = 1
    attention: dict[str, bool] = field(default_factory=lambda: dict.fromkeys(ATTENTION, True))


_settings = _Settings()

PRECISIONS = ("highest", "high", "medium")
"""What `set_float32_matmul_precision` takes."""


def _threads(op: str, number: int) -> int:
    if not isinstance(number, int) or isinstance(number, bool):
        raise ArgumentTypeError(f"{op}: {safe_repr(number)} is not an int", fix="pass a number of threads, 1 or more")
    if number < 1:
        raise SettingError(f"{op}: {number} threads are too few", fix="pass 1 or more")
    return number


def get_num_threads() -> int:
    """How many threads an op may use on the cpu.

    >>> import polyad
    >>> polyad.get_num_threads() >= 1
    True
    """
    return registry.get("cpu").num_threads()


def set_num_threads(num: int, /) -> None:
    """Let an op use at most *num* threads on the cpu: those of the kernels and those of the BLAS library.

    The environment variable ``POLYAD_NUM_THREADS`` does the same from the start. Results do not depend on it. Raises
    RuntimeError for a number below 1 and TypeError for anything but an int.

    >>> import polyad
    >>> before = polyad.get_num_threads()
    >>> polyad.set_num_threads(1)
    >>> polyad.get_num_threads()
    1
    >>> polyad.set_num_threads(before)
    """
    registry.get("cpu").set_num_threads(_threads("set_num_threads", num))


def get_num_interop_threads() -> int:
    """How many threads run independent ops side by side: what `set_num_interop_threads` was told, 1 at first.

    >>> import polyad
    >>> polyad.get_num_interop_threads()
    1
    """
    return _settings.interop_threads


def set_num_interop_threads(num: int, /) -> None:
    """Accepted for programs written for PyTorch: ops of a program thread run one after the other here.

    Raises RuntimeError for a number below 1 and TypeError for anything but an int.

    >>> import polyad
    >>> polyad.set_num_interop_threads(1)
    """
    _settings.interop_threads = _threads("set_num_interop_threads", num)


def get_float32_matmul_precision() -> str:
    """What `set_float32_matmul_precision` was told.

    >>> import polyad
    >>> polyad.get_float32_matmul_precision()
    'highest'
    """
    return _settings.matmul_precision


def set_float32_matmul_precision(precision: str) -> None:
    """Allow float32 matrix products to be computed less precisely: "highest" (the default), "high" or "medium".

    A permission, not an order: device "cuda" then multiplies in TF32, where cuBLASLt has been proved to do it right;
    cpu and OpenCL compute in float32 whatever is allowed. Raises RuntimeError for any other word.

    >>> import polyad
    >>> polyad.set_float32_matmul_precision("high")
    >>> polyad.get_float32_matmul_precision()
    'high'
    >>> polyad.set_float32_matmul_precision("highest")
    """
    if not isinstance(precision, str) or precision not in PRECISIONS:
        raise SettingError(
            f"set_float32_matmul_precision: {safe_repr(precision)} is no precision",
            fix=f"pass one of {', '.join(PRECISIONS)}",
        )
    _settings.matmul_precision = precision


def use_deterministic_algorithms(mode: bool, *, warn_only: bool = False) -> None:
    """Ask for results that are the same in every run.

    They are so without asking: no op of polyad adds up in an order that depends on timing. Raises TypeError if *mode*
    is no bool.

    >>> import polyad
    >>> polyad.use_deterministic_algorithms(True)
    >>> polyad.are_deterministic_algorithms_enabled()
    True
    >>> polyad.use_deterministic_algorithms(False)
    """
    if not isinstance(mode, bool):
        raise wrong_type("use_deterministic_algorithms", "mode", mode, "a bool")
    if not isinstance(warn_only, (bool, int)):
        raise wrong_type("use_deterministic_algorithms", "warn_only", warn_only, "a bool")
    _settings.deterministic, _settings.warn_only = mode, bool(warn_only)


def are_deterministic_algorithms_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked for.

    >>> import polyad
    >>> polyad.are_deterministic_algorithms_enabled()
    False
    """
    return _settings.deterministic


def is_deterministic_algorithms_warn_only_enabled() -> bool:
    """Whether `use_deterministic_algorithms` was asked for with ``warn_only=True``.

    >>> import polyad
    >>> polyad.is_deterministic_algorithms_warn_only_enabled()
    False
    """
    return _settings.warn_only


def get_deterministic_debug_mode() -> int:
    """0, 1 or 2 for "default", "warn" or "error": what `use_deterministic_algorithms` was asked for.

    >>> import polyad
    >>> polyad.get_deterministic_debug_mode()
    0
    """
    return 0 if not _settings.deterministic else 1 if _settings.warn_only else 2


def set_deterministic_debug_mode(debug_mode: int | str) -> None:
    """`use_deterministic_algorithms` by a number or a word: "default", "warn" or "error". Raises RuntimeError, or
    TypeError, for any other.

    >>> import polyad
    >>> polyad.set_deterministic_debug_mode("default")
    """
    words = ("default", "warn", "error")
    if not isinstance(debug_mode, (int, str)):
        raise wrong_type("set_deterministic_debug_mode", "debug_mode", debug_mode, "an int or a string")
    if debug_mode not in (*words, 0, 1, 2):
        raise SettingError(
            f"set_deterministic_debug_mode: {safe_repr(debug_mode)} is no mode",
            fix=f"pass one of {', '.join(words)}, or 0, 1, 2",
        )
    level = words.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    use_deterministic_algorithms(level > 0, warn_only=level == 1)


def is_warn_always_enabled() -> bool:
    """What `set_warn_always` was told.

    >>> import polyad
    >>> polyad.is_warn_always_enabled()
    False
    """
    return state.warn_always


def set_warn_always(b: bool, /) -> None:
    """Whether what polyad says once in a process, such as that a form of a call is deprecated, is said each time; how
    often it is shown, Python's module `warnings` decides. Raises TypeError for anything but a bool.

    >>> import polyad
    >>> polyad.set_warn_always(False)
    """
    if not isinstance(b, bool):
        raise wrong_type("set_warn_always", "b", b, "a bool")
    state.warn_always = b


def set_flush_denormal(mode: bool, /) -> bool:
    """False, as PyTorch says where that is not possible: the smallest numbers stay what they are, and exact.

    >>> import polyad
    >>> polyad.set_flush_denormal(True)
    False
    """
    return False


def allowed_attention() -> dict[str, bool]:
    """Which of PyTorch's ways to compute attention the program allows, by name: the switches themselves.

    polyad has a single definition of attention, whose kernels each backend chooses and which all give the same results.
    Device "cuda" uses cuDNN's only where "cudnn" is allowed, and its own kernels that hold no scores only where
    "mem_efficient" is; nothing reads the others.
    """
    return _settings.attention
