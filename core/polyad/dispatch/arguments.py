"""What is wrong with the arguments of a call that failed, told from the annotations of the function that was called.

Nothing is checked before a call: Python finds most mistakes by itself, deep inside, in words that say nothing to the
caller ("'str' object has no attribute '_array'"). When such an exception leaves a public function, `explained` compares
each argument with its annotation, names the first that does not fit, or else says which call failed with what.
Exceptions of the user's own code (a callback, an ``__array__``, a warning turned into an error) pass as they are.

What is wrong but would not be noticed is checked before a call, where an annotation is a kind of `polyad.base.kinds`
or a ``Literal``: see `explaining`. What fits which annotation is in `polyad.dispatch.annotations`.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from numbers import Complex, Integral, Real
from typing import Any, TypeVar

from ..base import dtypes
from ..base.dtypes import DType
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    DataError,
    IndexOutOfRange,
    InternalError,
    KernelFailure,
    KeyMissing,
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
from .annotations import alternatives, is_bool, is_int, is_real, misfit, refusal, signature_of, strict_parameters

F = TypeVar("F", bound=Callable[..., Any])


def _as_bool(function: str, name: str, value: Any) -> bool:
    if not is_bool(value):
        raise wrong_type(function, name, value, "a bool")
    return bool(value)


def _as_int(function: str, name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if not is_int(value):
        raise wrong_type(function, name, value, "an int")
    return int(value)  # a tensor of bool, too


def _as_float(function: str, name: str, value: Any) -> Any:
    if isinstance(value, bool):
        return value
    if not is_real(value):
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

_LENGTH = r"values to unpack|^(tuple|list) index out of range$"
"""Python's words for a sequence that is too short or too long."""

_UNCOUNTABLE = (
    r"^(unsupported operand type|'.+' not supported between|(int|float)\(\) argument must be"
    r"|object of type '\w+' has no len|'\w+' object is not (iterable|callable)"
    r"|The truth value of an array)"
)
"""Python's words for an object that is neither a number, a sequence nor a function."""

_OWN_METHOD = (
    r"iter\(\) returned non-|iteration over a 0-d array"
    r"|__\w+__(\(\))? (returned non-|should return|method not producing)"
)
"""Python's and NumPy's words for an object whose special method breaks its promise."""


_LENGTHS = "a sequence or a shape among the arguments has another length than is needed: {error}"
_COMPARE_LENGTHS = "compare the lengths with help(polyad.{function})"

_OTHER_TYPE = "an argument is not of the type that is needed: {error}"
_COMPARE = "compare the arguments with help(polyad.{function})"

_MEANINGS: tuple[tuple[type[Exception], str, type[PolyadError], str, str], ...] = (
    (ValueError, "maximum supported dimension", ShapeError, "{error}", "use fewer dimensions"),
    *((error, _OWN_METHOD, ArgumentTypeError, "a method of an argument does not give what it should: {error}",
       "mend that method, or pass Python's own numbers and lists") for error in (TypeError, ValueError)),
    (ZeroDivisionError, "", OptionError, "it divides by zero", "pass sizes and numbers that are not 0"),
    (IndexError, _LENGTH, IndexOutOfRange, _LENGTHS, _COMPARE_LENGTHS),
    (ValueError, _LENGTH, OptionError, _LENGTHS, _COMPARE_LENGTHS),
    (TypeError, _UNCOUNTABLE, ArgumentTypeError, _OTHER_TYPE, _COMPARE),
    (ValueError, _UNCOUNTABLE, OptionError, _OTHER_TYPE, _COMPARE),
    (ValueError, "^(cannot convert float|math domain error)", OptionError, "a number is NaN or infinite",
     "use a finite number"),
    (TypeError, "^unhashable type", ArgumentTypeError, "{error}", "pass a str or a number as key"),
    (OverflowError, "", OptionError, "a number is too large: {error}", "use a smaller number"),
)  # fmt: skip
"""What Python's and NumPy's exceptions mean where all arguments fit their annotations: an exception, a pattern of its
words, the error to raise instead, what that says, and its fix.
"""


def explained(function: str, signature: inspect.Signature, arguments: Mapping[str, Any], error: Exception) -> Exception:
    """The error to raise for *error*, which left a call of *function*; *error* itself if it says enough."""
    untold = getattr(error, "untold", None)
    if untold is not None:  # explained by an inner function; the outermost function does so in its own words
        return explained(function, signature, arguments, untold)
    if isinstance(error, NoData):
        return error.told_by(function, _given_arguments(signature, arguments))
    if isinstance(error, PolyadError):
        return _of_polyad(function, signature, arguments, error)
    if not isinstance(error, (*_SPOKEN, *DEFECTS)) or _is_users(error):
        return error
    operands = _given_arguments(signature, arguments)
    if isinstance(error, DEFECTS):
        return defect(function, operands, error)
    found = misfit(function, signature, arguments)
    if found is not None:
        return found
    if isinstance(error, AttributeError) and not _asked_of_unknown(signature, operands, error):
        blame = defect(function, operands, error)
        blame.untold = error  # type: ignore[attr-defined]
        return blame
    return _translated(function, operands, error)


def _of_polyad(
    function: str, signature: inspect.Signature, arguments: Mapping[str, Any], error: PolyadError
) -> PolyadError:
    """*error*, which polyad raised, unless an argument does not fit and the error is not about this call."""
    kernel = getattr(error, "failed_kernel", None)
    if kernel is not None:  # which serves functions, and the user called the outermost
        op, said = kernel
        if op != function:
            error.message = f"{function}: the kernel of {op} failed: {said}"
        return misfit(function, signature, arguments) or error
    if not isinstance(error, (ArgumentTypeError, KernelFailure)) or isinstance(error, DataError):
        return error
    if not {*function.split("."), "out"}.isdisjoint(error.message.partition(":")[0].split(".")):
        return error  # raised in the name of this very call
    return misfit(function, signature, arguments) or error


def _translated(function: str, operands: Mapping[str, Any], error: Exception) -> PolyadError:
    """The error that says what *error*, an exception of Python's or NumPy's, means for a call of *function*."""
    if isinstance(error, NotImplementedError):
        what = str(error) or "it is not defined for this class"
        return NotSupported(f"{function}: {what}", operands=operands, fix="define it in a subclass, or do without")
    if isinstance(error, KeyError):
        key = error.args[0] if error.args else None
        return KeyMissing(f"{function}: there is no {safe_repr(key)}", operands=operands, fix="ask what keys there are")
    if is_out_of_memory(error):
        return OutOfMemory(
            f"{function}: the device has not enough memory",
            operands=operands,
            notes={"device said": str(error)},
            fix="use smaller tensors or free some",
        )
    if isinstance(error, RecursionError):
        return nested_too_deep(function, operands)
    if isinstance(error, AttributeError) and error.name is not None:
        named = next((name for name, value in operands.items() if value is error.obj), "an argument")
        return ArgumentTypeError(
            f"{function}: {named} is {type(error.obj).__name__}, which has no {error.name}",
            operands=operands,
            fix=f"compare the arguments with help(polyad.{function})",
        )
    for exception, words, meant, says, fix in _MEANINGS:
        if isinstance(error, exception) and re.search(words, str(error)):
            return meant(
                f"{function}: {says.format(error=error)}", operands=operands, fix=fix.format(function=function)
            )
    fix = f"compare the call with help(polyad.{function})"
    if not _ARITY.search(str(error)):
        fix += "; if it is right, report a defect of polyad"
    error_class: type[PolyadError] = OptionError
    if isinstance(error, IndexError):
        error_class = IndexOutOfRange
    elif isinstance(error, (TypeError, AttributeError)):
        error_class = ArgumentTypeError
    says = f"{function}: the arguments do not fit together: {type(error).__name__}: {error}"
    problem = error_class(says, operands=operands, fix=fix)
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
    passes as it is. Arguments whose annotations begin with a kind or ``Literal[`` are checked before.
    """
    described: tuple[inspect.Signature, list[tuple[int, str]]] | None = None  # by the first call: imports need it not

    def describe() -> tuple[inspect.Signature, list[tuple[int, str]]]:
        nonlocal described
        signature = signature_of(function)
        described = signature, strict_parameters(signature)
        return described

    def raised(args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
        signature, _ = described or describe()
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
        signature, strict = described or describe()
        for place, name in strict:
            if place < len(args) or name in kwargs:
                value = args[place] if place < len(args) else kwargs[name]
                refused = refusal(_called(function, signature, args), signature.parameters[name], value)
                if refused is not None:
                    raise refused
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
        holds(value) for name, value in arguments.items() if not alternatives(signature.parameters[name])
    )


def is_out_of_memory(error: Exception) -> bool:
    """Whether *error* says that there is not enough memory: NumPy raises ValueError for what no memory could hold."""
    return isinstance(error, MemoryError) or (
        isinstance(error, (ValueError, OverflowError))
        and "int too large" not in str(error)
        and any(words in str(error) for words in ("array is too big", "Maximum allowed", "dimension size", "too large"))
    )


def _given_arguments(signature: inspect.Signature, arguments: Mapping[str, Any]) -> dict[str, Any]:
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
