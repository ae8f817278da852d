"""The exceptions polyad raises, and the one style in which they speak.

Every error says what failed, lists the operands it concerns by argument name with dtype, shape and device, and says how
to mend it. Each class is also the builtin type that a PyTorch user catches (RuntimeError, IndexError, TypeError,
ValueError, NotImplementedError), so ``except`` clauses written for PyTorch keep working.

    ShapeError: matmul: input (2, 3072) and other (784, 10) do not agree: 3072 != 784
        input  float32 (2, 3072) on opencl:0
        other  float32 (784, 10) on opencl:0
        in     model.1 (Linear 784 -> 10)
        fix    make the last dimension of input 784, or use Linear(3072, 10)

To add an exception type, derive it from PolyadError and from the builtin type that PyTorch raises in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = [
    "ApiVersionMismatch",
    "ArgumentError",
    "ArgumentTypeError",
    "AutogradError",
    "BackendError",
    "BackendNotFound",
    "BackendUnavailable",
    "ConditionError",
    "DataError",
    "DTypeError",
    "DeviceError",
    "DivisionByZero",
    "ExportError",
    "FeatureError",
    "IndexOutOfRange",
    "InternalError",
    "KernelFailure",
    "LinAlgError",
    "MissingKernel",
    "NoData",
    "NonFiniteError",
    "NotSupported",
    "OptionError",
    "OutOfMemory",
    "PolyadError",
    "SerializationError",
    "SettingError",
    "ShapeError",
    "TransformError",
    "UndeclaredDType",
    "UnsupportedDType",
    "describe",
]


def describe(value: Any) -> str:
    """One line about an argument: ``float32 (2, 3) on cpu`` for a tensor, ``float 2.5`` for anything else.

    >>> describe(2.5)
    'float 2.5'
    """
    if value is None:
        return "None"
    try:
        # A class has the attributes of its instances, a module those of its members.
        dtype, device, shape = [getattr(value, name, None) for name in ("dtype", "device", "shape")]
        if dtype is not None and device is not None and isinstance(shape, tuple):
            return f"{str(dtype).removeprefix('polyad.')} {tuple(shape)} on {device}"
    except Exception:
        pass  # an object that refuses to be asked is shown as any other
    return f"{type(value).__name__} {safe_repr(value)}"


def safe_repr(value: Any) -> str:
    """The value as it would be written, cut to 60 characters; whatever it is, this raises nothing.

    >>> safe_repr([1, 2])
    '[1, 2]'
    """
    try:
        text = re.sub(r"\s*\n\s*", " ", repr(value))
    except Exception as error:
        return f"(its repr() fails: {type(error).__name__})"
    return text if len(text) <= 60 else text[:57] + "..."


class PolyadError(Exception):
    """Base of all errors raised on purpose by polyad.

    Args:
        message: ``"<op>: <what failed>: <the rule that was broken>"``, one line.
        operands: the arguments concerned, by name; each is shown by `describe`.
        fix: what the user can do.
        notes: further labelled lines, such as ``{"found": "..."}``.
    """

    def __init__(
        self,
        message: str,
        *,
        operands: Mapping[str, Any] | None = None,
        fix: str | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        # Described now, not when printed: an error must not keep tensors alive.
        self.lines: dict[str, str] = {name: describe(value) for name, value in (operands or {}).items()}
        self.lines.update(notes or {})
        self.fix = fix
        self.module_path: list[str] = []
        self.module_description = ""

    def add_operands(self, operands: Mapping[str, Any]) -> None:
        """Name the operands of an error that was raised where they were not known;
        changes nothing if it has lines already.
        """
        if not self.lines:
            self.lines = {name: describe(value) for name, value in operands.items()}

    def add_module(self, name: str, description: str) -> None:
        """Note that the error passed out of a submodule called *name*; called innermost first while it propagates.

        Only the innermost *description* (such as ``Linear 784 -> 10``) is kept.
        """
        if not self.module_path and not self.module_description:
            self.module_description = description
        if name:
            self.module_path.insert(0, name)

    def __str__(self) -> str:
        lines = dict(self.lines)
        if self.module_path or self.module_description:
            # The outermost module has no name of its own; "model" is what most programs call it.
            where = ".".join(["model", *self.module_path])
            lines["in"] = f"{where} ({self.module_description})" if self.module_description else where
        if self.fix:
            lines["fix"] = self.fix
        width = max((len(name) for name in lines), default=0)
        return "\n".join([self.message, *(f"    {name:<{width}}  {text}" for name, text in lines.items())])


class ShapeError(PolyadError, RuntimeError):
    """Shapes that do not fit together or do not fit the operation."""


class DTypeError(PolyadError, RuntimeError):
    """A dtype that the operation, the result or the device does not take."""


class UndeclaredDType(DTypeError):
    """A dtype that a device does not declare.

    Attributes:
        device, dtype: which; the conformance suite asks whether the declaration says so.
    """

    def __init__(self, message: str, *, device: Any, dtype: Any, notes: Mapping[str, str], fix: str) -> None:
        super().__init__(message, notes=notes, fix=fix)
        self.device, self.dtype = device, dtype


class UnsupportedDType(DTypeError, NotImplementedError):
    """A dtype that an operation has no meaning for, where PyTorch says NotImplementedError."""


class DivisionByZero(PolyadError, RuntimeError, ZeroDivisionError):
    """Integers divided by zero; floating point numbers give inf or nan instead."""


class DeviceError(PolyadError, RuntimeError):
    """Tensors on different devices, or a device description that cannot be read."""


class ArgumentTypeError(PolyadError, TypeError):
    """An argument of the wrong Python type."""


def wrong_type(function: str, name: str, value: Any, wanted: str) -> ArgumentTypeError:
    """The error for an argument that is not *wanted* ("an int").

    >>> print(wrong_type("sum", "dim", "a", "an int"))
    sum: dim is str, not an int
        dim  str 'a'
        fix  pass an int as dim
    """
    fix = f"pass {wanted} as {name}"
    if "a tensor" in wanted and isinstance(value, (bool, int, float, complex)):
        fix = "wrap it in polyad.tensor(...)"
    return ArgumentTypeError(
        f"{function}: {name} is {type(value).__name__}, not {wanted}", operands={name: value}, fix=fix
    )


class ArgumentError(PolyadError, ValueError):
    """An argument of the right type with a value outside what is allowed."""


class KindError(ArgumentTypeError, ArgumentError):
    """An argument that is not even of the type of its kind: PyTorch raises TypeError or ValueError, by the layer."""


class KeyMissing(PolyadError, KeyError):
    """A key that a mapping has not."""

    __str__ = PolyadError.__str__  # KeyError's shows a repr


class ConditionError(ArgumentError, AssertionError):
    """Arguments that do not fit together, where PyTorch asserts that they do."""


class FeatureError(ShapeError, AssertionError):
    """A shape that a layer was not built for, where PyTorch asserts that it was."""


class DataError(ArgumentTypeError, ArgumentError, RuntimeError):
    """Data that cannot become a tensor: PyTorch raises TypeError, ValueError or RuntimeError, by what it meets."""


class OptionError(ArgumentError, RuntimeError):
    """An option with a value that is none of its choices, where PyTorch raises RuntimeError."""


class LinAlgError(PolyadError, RuntimeError):
    """A matrix that cannot be factored, inverted or decomposed: singular, not positive-definite, no convergence."""


class IndexOutOfRange(PolyadError, IndexError):
    """A dimension or an index outside its range."""


class ExportError(PolyadError, BufferError):
    """Memory that cannot be shared with another library."""


class SettingError(PolyadError, RuntimeError):
    """A value that a switch of the process does not take."""


class NotSupported(PolyadError, NotImplementedError):
    """Something PyTorch has and polyad has not; the fix says what to use instead."""


class NoData(PolyadError, NotImplementedError):
    """What only the elements of a tensor can tell, asked of a tensor that has none (device "meta").

    Args:
        why: what elements are needed for.
        fix: what the user can do.
    """

    def __init__(self, why: str, *, fix: str) -> None:
        super().__init__(why, fix=fix)
        self.why = why

    def told_by(self, function: str, operands: Mapping[str, Any]) -> NoData:
        """The same error in the words of *function*, which the user called."""
        self.message, self.lines = f"{function}: {self.why}", {}
        self.add_operands(operands)
        return self


class AutogradError(PolyadError, RuntimeError):
    """A gradient that cannot be computed: a freed graph, a changed saved tensor, a leaf written in place."""


class TransformError(PolyadError, RuntimeError):
    """What a transform of functions (`polyad.func.vmap`, ...) cannot do with the function that it was given."""


class NonFiniteError(AutogradError, FloatingPointError):
    """A NaN or an infinity that appeared where a diagnosis forbids it."""


class OutOfMemory(PolyadError, RuntimeError, MemoryError):
    """A device could not supply the memory asked for."""


class SerializationError(PolyadError, RuntimeError):
    """A file that is not what it should be, or an object that cannot be saved."""


class InvalidGraph(PolyadError, RuntimeError):
    """A graph, or the text of one, that no capture writes: its nodes and values do not fit together."""


class BakedSize(PolyadError, RuntimeError):
    """A function does something else for inputs of other sizes, so that no graph is true for all."""


class PackageMissing(PolyadError, ImportError):
    """A package that an extra brings is not installed."""


class BackendError(PolyadError, RuntimeError):
    """Base of everything wrong with a backend."""


class BackendNotFound(BackendError):
    """No installed package brings this device type."""


class BackendUnavailable(BackendError):
    """The package is installed but gives no device: missing driver, broken import, no such index."""


class ApiVersionMismatch(BackendUnavailable):
    """The backend was written for another version of the backend interface."""


class KernelFailure(BackendError):
    """A kernel failed for a reason that core cannot explain."""


class CompilerFailure(KernelFailure):
    """A device's compiler does not compile a generated kernel; core does without that kernel, and says so once."""


class CompilerWarning(UserWarning):
    """A generated kernel could not be compiled, and something slower runs in its place."""


class InternalError(PolyadError, RuntimeError):
    """A mistake in polyad or in a backend, which no arguments should bring to light."""


class MissingKernel(BackendError, NotImplementedError):
    """A device has no kernel for an op, and the fallback policy forbids running it elsewhere."""
