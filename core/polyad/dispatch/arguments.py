"""What is wrong with the arguments of a call that failed, told from the annotations of the function that was called.

Nothing is checked before a call: Python finds most mistakes by itself, deep inside, in words that say nothing to the
caller ("'str' object has no attribute '_array'"). When such an exception leaves a public function, `explained` compares
each argument with its annotation, names the first that does not fit, or else says which call failed with what.
Exceptions of the user's own code (a callback, an ``__array__``, a warning turned into an error) pass as they are.

What is wrong but would not be noticed is checked before a call, where an annotation is a kind of `polyad.base.kinds` or a
``Literal``: see `explaining`.

To have an annotation understood, add its words to `_UNDERSTOOD`. Unknown annotations fit everything.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from numbers import Complex, Integral, Real
from typing import Any, TypeVar

from ..base import dtypes
from ..base.dtypes import DType
from ..base.kinds import KINDS
from ..base.layout import int_of
from ..base.memory_formats import MemoryFormat
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    IndexOutOfRange,
    InternalError,
    KernelFailure,
    KeyMissing,
    KindError,
    NoData,
    NotSupported,
    OptionError,
    OutOfMemory,
    PolyadError,
    ShapeError,
    safe_repr,
    wrong_type,
)
from ..tensor import Tensor

Fits = Callable[[Any], bool]
F = TypeVar("F", bound=Callable[..., Any])


def _is_number(value: Any) -> bool:
    return isinstance(value, Complex) or (isinstance(value, Tensor) and value.numel() == 1)


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) or (isinstance(value, Tensor) and value.numel() == 1 and not value.is_complex())


def _is_int(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.numel() == 1 and value.dtype.category <= dtypes.INTEGER
    return isinstance(value, bool) or int_of(value) is not None


def _is_bool(value: Any) -> bool:
    return isinstance(value, bool) or type(value).__name__ in ("bool", "bool_") or (type(value) is int)


def _is_none(value: Any) -> bool:
    return value is None


def _of_sequence(fits: Fits) -> Fits:
    return lambda value: (
        isinstance(value, Sequence) and not isinstance(value, (str, bytes)) and all(fits(item) for item in value)
    )


_UNDERSTOOD: dict[str, tuple[str, Fits]] = {
    "Tensor": ("a tensor", lambda value: isinstance(value, Tensor)),
    "Number": ("a number", _is_number),
    "int": ("an int", _is_int),
    "float": ("a number", _is_real),
    "bool": ("a bool", _is_bool),
    "str": ("a string", lambda value: isinstance(value, str)),
    "None": ("None", _is_none),
    "DType": ("a dtype", lambda value: isinstance(value, DType)),
    "MemoryFormat": ("a memory format", lambda value: isinstance(value, MemoryFormat)),
    "Sequence[int]": ("ints", _of_sequence(_is_int)),
    "Sequence[float]": ("numbers", _of_sequence(_is_real)),
    "Sequence[Tensor]": ("a list of tensors", _of_sequence(lambda value: isinstance(value, Tensor))),
    "Sequence[Tensor | None]": (
        "a list of tensors", _of_sequence(lambda value: value is None or isinstance(value, Tensor)),
    ),
}  # fmt: skip
"""What fits an annotation, and its name."""


def _answers(question: Callable[[Any], Any]) -> Fits:
    def fits(value: Any) -> bool:
        try:
            question(value)
        except Exception:
            return False
        return True

    return fits


_GENERIC: dict[str, tuple[str, Fits]] = {
    "Callable": ("a function", callable),
    "Iterable": ("an iterable", _answers(iter)),
    "Sized": ("something of a length", _answers(len)),
    "SupportsFloat": ("a number", _is_real),
    "PathLike": ("a path", lambda value: isinstance(value, (str, os.PathLike))),
    "os.PathLike": ("a path", lambda value: isinstance(value, (str, os.PathLike))),
    "list": ("a list", lambda value: isinstance(value, (list, tuple))),
    "type": ("a class", lambda value: isinstance(value, type)),
    "OrderedDict": ("a dict", lambda value: isinstance(value, Mapping)),
    "Mapping": ("a dict", lambda value: isinstance(value, Mapping)),
    "dict": ("a dict", lambda value: isinstance(value, Mapping)),
    "Sequence": ("a sequence", lambda value: _answers(len)(value) and hasattr(type(value), "__getitem__")),
}
"""The same for annotations with anything in brackets."""

_CLASSES = (
    "BasePruningMethod", "Buffer", "Constraint", "Distribution", "Generator", "LRScheduler", "Metric",
    "MetricCollection", "Module", "Optimizer", "PackedSequence", "Parameter", "Transform",
)  # fmt: skip
"""Classes of higher layers, known by their names."""


def _is_one(name: str) -> Fits:
    return lambda value: any(base.__name__ == name for base in type(value).__mro__)


_UNDERSTOOD.update((name, (f"a {name}", _is_one(name))) for name in _CLASSES)
_UNDERSTOOD.update((name, (kind.words, kind.fits)) for name, kind in KINDS.items())

_ALIASES = {
    "PerAxis": "int | Sequence[int]",
    "Dims": "int | Sequence[int] | None",
    "Lengths": "Tensor | Sequence[int]",
    "tuple[int, ...]": "Sequence[int]",
    "tuple[int, int]": "Sequence[int]",
    "list[int]": "Sequence[int]",
    "polyad.dtype": "DType",
    "polyad.device": "Device",
}
"""Names that families give to annotations, and tuples and lists, which are told by their elements."""


@cache
def _alternatives(annotation: str) -> tuple[tuple[str, Fits], ...]:
    """The alternatives of *annotation*; none if anything may fit it."""
    for alias, meaning in _ALIASES.items():
        annotation = annotation.replace(alias, meaning)
    alternatives = []
    for part in re.split(r" \| (?![^\[]*\])", annotation):
        understood = _UNDERSTOOD.get(part) or _GENERIC.get(part.partition("[")[0]) or _choice(part)
        if understood is None:
            return ()
        if understood not in alternatives:
            alternatives.append(understood)
    return tuple(alternatives)


def _choice(annotation: str) -> tuple[str, Fits] | None:
    """What fits ``Literal['a', 'b']``, and its name."""
    if not annotation.startswith("Literal["):
        return None
    choices = ast.literal_eval(annotation.removeprefix("Literal")).copy()
    words = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}" if len(choices) > 1 else repr(choices[0])
    return words, lambda value: isinstance(value, (str, int, float)) and value in choices


def _checked(signature: inspect.Signature) -> list[tuple[int, str]]:
    """The parameters that are checked before a call, with their places."""
    asked = re.compile(rf"({'|'.join(KINDS)}|Literal)\b")
    return [
        (place, name)
        for place, (name, parameter) in enumerate(signature.parameters.items())
        if asked.match(_text(parameter.annotation))
    ]


def _fits_one(alternatives: tuple[tuple[str, Fits], ...], value: Any) -> bool:
    """Whether *value* fits one of the alternatives; one that cannot be compared does not."""
    try:
        return any(fits(value) for _, fits in alternatives)
    except Exception:
        return False


def _refused(function: str, name: str, annotation: str, value: Any) -> PolyadError | None:
    """The error for a *value* outside the kind or the choices of a parameter, None if it is inside."""
    alternatives = _alternatives(annotation)
    if not alternatives or _fits_one(alternatives, value):
        return None
    wanted = " or ".join(words for words, _ in alternatives)
    kind = KINDS.get(re.split(r"\W", annotation)[0])
    if kind is not None and not kind.is_of_type(value):
        error = wrong_type(function, name, value, kind.type)
        return KindError(error.message, operands={name: value}, fix=f"pass {wanted} as {name}")
    return ArgumentError(
        f"{function}: {name} must be {wanted}, not {safe_repr(value)}",
        operands={name: value},
        fix=f"pass {wanted} as {name}",
    )


def misfit(function: str, signature: inspect.Signature, arguments: Mapping[str, Any]) -> PolyadError | None:
    """The error for the first argument that does not fit its annotation, None if all do."""
    for name, parameter in signature.parameters.items():
        if name not in arguments or parameter.kind is parameter.VAR_KEYWORD:
            continue
        value, alternatives = arguments[name], _alternatives(_text(parameter.annotation))
        values = [(name, value)]
        if parameter.kind is parameter.VAR_POSITIONAL:
            values = [(f"{name}[{place}]", one) for place, one in enumerate(value)]
        for label, one in values:
            if alternatives and one is not parameter.default and not _fits_one(alternatives, one):
                *most, last = (words for words, _ in alternatives)
                return wrong_type(function, label, one, f"{', '.join(most)} or {last}" if most else last)
    return None


def _text(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _as_bool(function: str, name: str, value: Any) -> bool:
    if not _is_bool(value):
        raise wrong_type(function, name, value, "a bool")
    return bool(value)


def _as_int(function: str, name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if not _is_int(value):
        raise wrong_type(function, name, value, "an int")
    return int(value)  # a tensor of bool, too


def _as_float(function: str, name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if not _is_real(value):
        raise wrong_type(function, name, value, "a number")
    try:
        return value.item() if isinstance(value, Tensor) else float(value)
    except OverflowError:
        raise OptionError(
            f"{function}: {name} is too large for a float", operands={name: value}, fix="use a smaller number"
        ) from None


def _as_number(function: str, name: str, value: Any) -> Any:
    if isinstance(value, Tensor) and value.numel() == 1:
        return value.item()
    if isinstance(value, (bool, int, float, complex)):
        return value
    if not isinstance(value, Complex):
        raise wrong_type(function, name, value, "a number")
    return int(value) if isinstance(value, Integral) else float(value) if isinstance(value, Real) else complex(value)


def _as_dtype(function: str, name: str, value: Any) -> DType:
    dtype = dtypes.of_python(value)
    if not isinstance(dtype, DType):
        raise wrong_type(function, name, value, "a dtype such as polyad.float32")
    return dtype


CHECKS: dict[str, Any] = {
    "bool_": _as_bool,
    "int_": _as_int,
    "float_": _as_float,
    "number_": _as_number,
    "dtype_": _as_dtype,
    "DType": DType,
}
"""What generated functions call for a flag, a count, a number or a dtype that is not of Python's own type."""


_SPOKEN = (
    TypeError, ValueError, AttributeError, LookupError, ArithmeticError, MemoryError, RecursionError,
    NotImplementedError,
)  # fmt: skip
"""The exceptions that Python and NumPy raise for arguments that do not fit."""

DEFECTS = (NameError, ImportError, AssertionError)
"""The exceptions that no arguments bring about."""


_ARITY = re.compile(
    r"required positional argument|positional arguments? but|unexpected keyword|takes .*\d .*arguments?$"
    r"|expected (at (most|least) )?\d+ arguments?, got|takes (no|exactly|at most|at least)"
)
"""Python's words for a function of the user's that does not take what it is called with."""

_LENGTH = re.compile(r"values to unpack|^(tuple|list) index out of range$")
"""Python's words for a sequence that is too short or too long."""

_OWN_METHOD = re.compile(
    r"iter\(\) returned non-|iteration over a 0-d array"
    r"|__\w+__(\(\))? (returned non-|should return|method not producing)"
)
"""Python's and NumPy's words for an object whose special method breaks its promise."""


def explained(function: str, signature: inspect.Signature, arguments: Mapping[str, Any], error: Exception) -> Exception:
    """The error to raise for *error*, which left a call of *function*; *error* itself if it says enough."""
    untold = getattr(error, "untold", None)
    if untold is not None:  # explained by an inner function; the outermost function does so in its own words
        return explained(function, signature, arguments, untold)
    if isinstance(error, NoData):
        return error.told_by(function, _shown(signature, arguments))
    if isinstance(error, PolyadError):
        kernel = getattr(error, "failed_kernel", None)
        if kernel is not None:  # which serves functions, and the user called the outermost
            op, said = kernel
            if op != function:
                error.message = f"{function}: the kernel of {op} failed: {said}"
            return misfit(function, signature, arguments) or error
        if not isinstance(error, (ArgumentTypeError, KernelFailure)) or isinstance(error, DataError):
            return error
        if not {*function.split("."), "out"}.isdisjoint(error.message.partition(":")[0].split(".")):
            return error  # told by this very call
        return misfit(function, signature, arguments) or error
    if not isinstance(error, (*_SPOKEN, *DEFECTS)) or _is_users(error):
        return error
    operands = _shown(signature, arguments)
    if isinstance(error, DEFECTS):
        return defect(function, operands, error)
    found = misfit(function, signature, arguments)
    if found is not None:
        return found
    if isinstance(error, NotImplementedError):
        what = str(error) or "it is not defined for this class"
        return NotSupported(f"{function}: {what}", operands=operands, fix="define it in a subclass, or do without")
    if isinstance(error, KeyError):
        key = error.args[0] if error.args else None
        return KeyMissing(f"{function}: there is no {safe_repr(key)}", operands=operands, fix="ask what keys there are")
    if isinstance(error, AttributeError) and not _asked_of_unknown(signature, operands, error):
        blame = defect(function, operands, error)
        blame.untold = error  # type: ignore[attr-defined]
        return blame
    if is_out_of_memory(error):
        return OutOfMemory(
            f"{function}: the device has not enough memory",
            operands=operands,
            notes={"device said": str(error)},
            fix="use smaller tensors or free some",
        )
    if isinstance(error, ValueError) and "maximum supported dimension" in str(error):
        return ShapeError(f"{function}: {error}", operands=operands, fix="use fewer dimensions")
    if isinstance(error, RecursionError):
        return nested_too_deep(function, operands)
    if isinstance(error, (TypeError, ValueError)) and _OWN_METHOD.search(str(error)):
        return ArgumentTypeError(
            f"{function}: a method of an argument does not give what it should: {error}",
            operands=operands,
            fix="mend that method, or pass Python's own numbers and lists",
        )
    if isinstance(error, ZeroDivisionError):
        return OptionError(
            f"{function}: it divides by zero", operands=operands, fix="pass sizes and numbers that are not 0"
        )
    if isinstance(error, (ValueError, IndexError)) and _LENGTH.search(str(error)):
        length_error = IndexOutOfRange if isinstance(error, IndexError) else OptionError
        return length_error(
            f"{function}: a sequence or a shape among the arguments has another length than is needed: {error}",
            operands=operands,
            fix=f"compare the lengths with help(polyad.{function})",
        )
    if isinstance(error, TypeError) and re.match("unsupported operand type|'.+' not supported between", str(error)):
        return ArgumentTypeError(
            f"{function}: an argument is not what can be computed with: {error}",
            operands=operands,
            fix="pass Python's own numbers, or tensors",
        )
    if isinstance(error, ValueError) and str(error).startswith("cannot convert float"):
        return OptionError(f"{function}: a number is NaN or infinite", operands=operands, fix="use a finite number")
    if isinstance(error, TypeError) and str(error).startswith("unhashable type"):
        return ArgumentTypeError(f"{function}: {error}", operands=operands, fix="pass a str or a number as key")
    if isinstance(error, OverflowError):
        return OptionError(f"{function}: a number is too large: {error}", operands=operands, fix="use a smaller number")
    told = f"{function}: the arguments do not fit together: {type(error).__name__}: {error}"
    fix = f"compare the call with help(polyad.{function})"
    if not _ARITY.search(str(error)):
        fix += "; if it is right, report a defect of polyad"
    error_class: type[PolyadError] = OptionError
    if isinstance(error, IndexError):
        error_class = IndexOutOfRange
    elif isinstance(error, (TypeError, AttributeError)):
        error_class = ArgumentTypeError
    problem = error_class(told, operands=operands, fix=fix)
    problem.untold = error  # type: ignore[attr-defined]
    return problem


def nested_too_deep(function: str, operands: Mapping[str, Any]) -> ArgumentError:
    """The error for arguments that Python's stack is not deep enough for."""
    return ArgumentError(
        f"{function}: an argument is nested too deep, or contains itself",
        operands=operands,
        fix="give lists, tuples and dicts that are nested less deep",
    )


def explaining(function: F) -> F:
    """*function*, a public function that is no op, such that errors say what is wrong with its arguments.

    A method is called by its class in the message. Calls of functions that a user passed may be inside: what they raise
    passes as it is. Arguments whose annotations begin with a kind (`polyad.base.kinds`) or ``Literal[`` are checked before.
    """
    signature = inspect.signature(function)
    checked = _checked(signature)

    def raised(args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
        name = _called(function, signature, args)
        try:
            arguments = signature.bind(*args, **kwargs).arguments
        except TypeError as mistake:
            if "." not in function.__qualname__:
                return error  # Python has said it, and by the name that was called
            own = signature.parameters.values()
            takes = ", ".join(str(one.replace(annotation=one.empty)) for one in own if one.name != "self")
            return ArgumentTypeError(f"{name}: {mistake}", fix=f"it takes {takes or 'no arguments'}")
        return explained(name, signature, arguments, error)

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for place, name in checked:
            if place < len(args) or name in kwargs:
                value = args[place] if place < len(args) else kwargs[name]
                annotation = _text(signature.parameters[name].annotation)
                refusal = _refused(_called(function, signature, args), name, annotation, value)
                if refusal is not None:
                    raise refusal
        try:
            return function(*args, **kwargs)
        except Exception as error:
            problem = raised(args, kwargs, error)
            if problem is error:
                raise
            raise problem from error

    call.__explains__ = True  # type: ignore[attr-defined]
    return call  # type: ignore[return-value]


def _called(function: Callable[..., Any], signature: inspect.Signature, args: tuple[Any, ...]) -> str:
    """The name of *function* in a message: a method is called by the class of its object, however private its own."""
    first = next(iter(signature.parameters), "")
    if first not in ("self", "cls") or not args:
        return function.__qualname__
    kind = (args[0] if first == "cls" else type(args[0])).__name__
    return kind if function.__name__ in ("__init__", "__call__", "forward") else f"{kind}.{function.__name__}"


def defect(function: str, operands: Mapping[str, Any], error: Exception) -> InternalError:
    """The error to raise for *error*, for which polyad or a backend is to blame."""
    return InternalError(
        f"{function}: polyad or a backend is wrong: {type(error).__name__}: {error}",
        operands=operands,
        fix="report a defect, with the traceback; other arguments may go another way",
    )


def _asked_of_unknown(signature: inspect.Signature, arguments: Mapping[str, Any], error: AttributeError) -> bool:
    """Whether *error* is about something among those *arguments* of which no annotation says what they should be."""

    def holds(value: Any) -> bool:
        if value is error.obj:
            return True
        if isinstance(value, dict):
            return any(map(holds, value.values()))
        return isinstance(value, (list, tuple)) and any(map(holds, value))

    return error.name is None or any(
        holds(value)
        for name, value in arguments.items()
        if not _alternatives(_text(signature.parameters[name].annotation))
    )


def is_out_of_memory(error: Exception) -> bool:
    """Whether *error* says that there is not enough memory: NumPy raises ValueError for what no memory could hold."""
    return isinstance(error, MemoryError) or (
        isinstance(error, (ValueError, OverflowError))
        and "int too large" not in str(error)
        and any(words in str(error) for words in ("array is too big", "Maximum allowed", "dimension size", "too large"))
    )


def _shown(signature: inspect.Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments that were given, without those left at their defaults."""
    return {
        name: arguments[name]
        for name, parameter in signature.parameters.items()
        if name in arguments and arguments[name] is not parameter.default
        if name not in ("self", "cls") or isinstance(arguments[name], Tensor)
    }


def _is_users(error: BaseException) -> bool:
    """Whether code outside polyad raised *error*: it was called back, or turned a warning into an exception."""
    if isinstance(error, Warning):
        return True
    frame, names = error.__traceback__, []
    while frame is not None:
        names.append(frame.tb_frame.f_globals.get("__name__", "").partition(".")[0])
        frame = frame.tb_next
    inside = next((position for position, name in enumerate(names) if name == "polyad"), len(names))
    return any(
        not name.startswith(("polyad", "numpy", "scipy", "ml_dtypes", "PIL")) and name not in sys.stdlib_module_names
        for name in names[inside:]
    )
