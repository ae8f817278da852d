"""What fits an annotation, and what the words for it are.

Annotations are text. A type is recognized by its name, as far as `_UNDERSTOOD` and `_GENERIC` know it: many names are
imported for type checkers alone. A kind (`polyad.base.kinds`) is recognized by identity: a name is a kind's where it
stands for that kind in the module of the function. Unknown annotations fit everything.

To have an annotation understood, add its words to `_UNDERSTOOD`.
"""

from __future__ import annotations

import ast
import inspect
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from numbers import Complex, Real
from typing import Any, TypeAlias

from ..base import dtypes
from ..base.dtypes import DType
from ..base.kinds import Kind, kind_of
from ..base.memory_formats import MemoryFormat
from ..base.shapes_and_strides import int_of
from ..errors import ArgumentError, KindError, PolyadError, safe_repr, wrong_type
from ..tensor import Tensor

Fits = Callable[[Any], bool]
Parts: TypeAlias = "tuple[str | Kind, ...]"
"""An annotation's alternatives: kinds, and the words of what is no kind."""


def _is_number(value: Any) -> bool:
    return isinstance(value, Complex) or (isinstance(value, Tensor) and value.numel() == 1)


def is_real(value: Any) -> bool:
    """Whether *value* is a real number, or a tensor of one."""
    return isinstance(value, Real) or (isinstance(value, Tensor) and value.numel() == 1 and not value.is_complex())


def is_int(value: Any) -> bool:
    """Whether *value* is an integer or a flag, or a tensor of one."""
    if isinstance(value, Tensor):
        return value.numel() == 1 and value.dtype.category <= dtypes.INTEGER
    return isinstance(value, bool) or int_of(value) is not None


def is_bool(value: Any) -> bool:
    """Whether *value* is a flag, Python's or NumPy's, or an int in its place."""
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
    "int": ("an int", is_int),
    "float": ("a number", is_real),
    "bool": ("a bool", is_bool),
    "str": ("a string", lambda value: isinstance(value, str)),
    "None": ("None", _is_none),
    "DType": ("a dtype", lambda value: isinstance(value, DType)),
    "MemoryFormat": ("a memory format", lambda value: isinstance(value, MemoryFormat)),
    "Sequence[int]": ("ints", _of_sequence(is_int)),
    "Sequence[float]": ("numbers", _of_sequence(is_real)),
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
    "SupportsFloat": ("a number", is_real),
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


def signature_of(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of *function*, with `Parts` for annotations that name a kind."""
    signature = inspect.signature(function)
    scope = getattr(inspect.unwrap(function), "__globals__", {})
    own = []
    for parameter in signature.parameters.values():
        kind = kind_of(parameter.annotation)
        parts = (kind,) if kind else _split_union(_words(parameter.annotation))
        resolved = tuple([(isinstance(part, str) and kind_of(scope.get(part))) or part for part in parts])
        has_kind = any(isinstance(part, Kind) for part in resolved)
        own.append(parameter.replace(annotation=resolved) if has_kind else parameter)
    return signature.replace(parameters=own)


def _words(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) else str(annotation)


def _split_union(words: str) -> Parts:
    for alias, meaning in _ALIASES.items():
        words = words.replace(alias, meaning)
    return tuple(re.split(r" \| (?![^\[]*\])", words))


def alternatives(parameter: inspect.Parameter) -> tuple[tuple[str, Fits], ...]:
    """The alternatives of the parameter's annotation: words, and what fits; none if anything may fit."""
    annotation = parameter.annotation
    return _understood(annotation if isinstance(annotation, tuple) else _words(annotation))


@cache
def _understood(annotation: str | Parts) -> tuple[tuple[str, Fits], ...]:
    found = []
    for part in _split_union(annotation) if isinstance(annotation, str) else annotation:
        if isinstance(part, Kind):
            one: tuple[str, Fits] | None = (part.words, part.fits)
        else:
            one = _UNDERSTOOD.get(part) or _GENERIC.get(part.partition("[")[0]) or _choice(part)
        if one is None:
            return ()
        if one not in found:
            found.append(one)
    return tuple(found)


def _choice(annotation: str) -> tuple[str, Fits] | None:
    """What fits ``Literal['a', 'b']``, and its name."""
    if not annotation.startswith("Literal["):
        return None
    choices = ast.literal_eval(annotation.removeprefix("Literal")).copy()
    words = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}" if len(choices) > 1 else repr(choices[0])
    return words, lambda value: isinstance(value, (str, int, float)) and value in choices


def strict_parameters(signature: inspect.Signature) -> list[tuple[int, str]]:
    """The parameters that are checked before a call, with their places: those of kinds and those of ``Literal``."""
    return [
        (place, name)
        for place, (name, parameter) in enumerate(signature.parameters.items())
        if (isinstance(parameter.annotation, tuple) and isinstance(parameter.annotation[0], Kind))
        or _words(parameter.annotation).startswith("Literal[")
    ]


def _fits_one(options: tuple[tuple[str, Fits], ...], value: Any) -> bool:
    """Whether *value* fits one of the alternatives; one that cannot be compared does not."""
    try:
        return any(fits(value) for _, fits in options)
    except Exception:
        return False


def refusal(function: str, parameter: inspect.Parameter, value: Any) -> PolyadError | None:
    """The error for a *value* outside the kind or the choices of a parameter, None if it is inside."""
    options, name = alternatives(parameter), parameter.name
    if not options or _fits_one(options, value):
        return None
    wanted = " or ".join(words for words, _ in options)
    kind = parameter.annotation[0]
    if isinstance(kind, Kind) and not kind.is_of_type(value):
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
        value, options = arguments[name], alternatives(parameter)
        values = [(name, value)]
        if parameter.kind is parameter.VAR_POSITIONAL:
            values = [(f"{name}[{place}]", one) for place, one in enumerate(value)]
        for label, one in values:
            if options and one is not parameter.default and not _fits_one(options, one):
                *most, last = (words for words, _ in options)
                return wrong_type(function, label, one, f"{', '.join(most)} or {last}" if most else last)
    return None
