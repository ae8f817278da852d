"""Schemas: what a function's annotations say about it as an op.

An argument is a tensor, an optional tensor, a list of tensors, or something that is no tensor; a result is a tensor, a
fixed number of them, a list of them, or nothing. To allow another type, add a row to `_PLAIN`. `parsing` reads schemas
that are written as texts.
"""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..base.device import Device
from ..base.dtypes import DType
from ..errors import ArgumentError, ArgumentTypeError, safe_repr, wrong_type
from ..tensor import Tensor

__all__ = ["Argument", "Schema", "infer_schema", "schema_of"]

_PLAIN: dict[Any, str] = {
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "str",
    DType: "ScalarType",
    Device: "Device",
}
"""The types of arguments that are no tensors, with their names in schemas."""

_SEQUENCES = (list, Sequence, typing.Sequence, typing.List)  # noqa: UP006  people write them


_VALUES: dict[str, Callable[[Any], bool]] = {
    "int": lambda value: hasattr(value, "__index__"),
    "SymInt": lambda value: hasattr(value, "__index__"),
    "float": lambda value: hasattr(value, "__float__"),
    "bool": lambda value: hasattr(value, "__index__") or type(value).__name__ == "bool",  # NumPy's has no __index__
    "complex": lambda value: hasattr(value, "__complex__") or hasattr(value, "__float__"),
    "str": lambda value: isinstance(value, str),
    "Scalar": lambda value: hasattr(value, "__float__") or hasattr(value, "__complex__"),
}
"""Whether a value can be given for a type; for types without a row any can."""


class AliasInfo(NamedTuple):
    """What an argument or result shares memory with: ``Tensor(a!)``.

    Attributes:
        before_set: the names of the memory.
        is_write: whether the op writes into it.
    """

    before_set: frozenset[str]
    is_write: bool


class Argument(NamedTuple):
    """One parameter of an op, or one result.

    Attributes:
        name: as in the function; "" for most results.
        type: as schemas write it: "Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "float[]", ...
        keyword_only: whether it must be given by name.
        written: whether the op writes into it.
        alias: what it aliases, as the schema writes it: "a!"; "" for nothing.
        default: ``inspect.Parameter.empty`` if there is none.
    """

    name: str
    type: str
    keyword_only: bool
    written: bool
    alias: str = ""
    default: Any = inspect.Parameter.empty

    @property
    def kwarg_only(self) -> bool:
        """PyTorch's name of ``keyword_only``."""
        return self.keyword_only

    @property
    def alias_info(self) -> AliasInfo | None:
        """What it shares memory with."""
        return AliasInfo(frozenset(self.alias.rstrip("!").split("|")), self.written) if self.alias else None

    @property
    def default_value(self) -> Any:
        """Its default, None if there is none."""
        return self.default if self.has_default_value() else None

    def has_default_value(self) -> bool:
        """Whether it need not be given."""
        return self.default is not inspect.Parameter.empty

    def __str__(self) -> str:
        type_ = self.type
        if self.alias:
            type_ = re.sub(r"^\w+", lambda word: f"{word[0]}({self.alias.replace('->', ' -> ')})", type_)
        default = f"={self.default!r}" if self.has_default_value() else ""
        return f"{type_} {self.name}{default}" if self.name else type_

    @property
    def is_tensor(self) -> bool:
        """Whether tensors may be given for it."""
        return self.type.startswith("Tensor")

    def check(self, op: str, value: Any) -> None:
        """Raise TypeError unless *value* can be given for it, as far as tensors are concerned."""
        optional = self.type.endswith("?")
        if not self.is_tensor:
            if not self._takes(value):
                raise wrong_type(op, self.name, value, f"of type {self.type}")
        elif self.type.endswith("[]"):
            if not isinstance(value, (list, tuple)):
                raise wrong_type(op, self.name, value, "a list of tensors")
            for position, item in enumerate(value):
                if not (isinstance(item, Tensor) or (item is None and self.type.startswith("Tensor?"))):
                    raise wrong_type(op, f"{self.name}[{position}]", item, "a tensor")
        elif not (isinstance(value, Tensor) or (value is None and optional)):
            raise wrong_type(op, self.name, value, "a tensor or None" if optional else "a tensor")

    def _takes(self, value: Any) -> bool:
        """Whether *value*, which is for no tensor, is of the type."""
        base, bracket, _ = self.type.partition("[")
        if value is None:
            return self.type.endswith("?")
        if isinstance(value, Tensor):
            return False
        fits = _VALUES.get(base.rstrip("?"))
        if fits is None:
            return True
        if not bracket:
            return fits(value)
        if isinstance(value, (list, tuple, Sequence)) and not isinstance(value, str):
            return all(fits(item) or (item is None and base.endswith("?")) for item in value)
        return bracket == "[" and self.length > 0 and fits(value)

    @property
    def length(self) -> int:
        """The length of lists for it that one number may stand for: 2 of "int[2]"; 0 if none may."""
        found = re.search(r"\[(\d+)\]", self.type)
        return int(found[1]) if found else 0


class Schema:
    """What an op takes and gives.

    Attributes:
        arguments: its parameters in order.
        returns: each result; for a list of results the only one, of type "Tensor[]".
        name, overload_name: the op's, "" if the schema names none.
        several: whether the results come in a tuple.
        signature: the function's.
        defaults: the default of each parameter.
        lists_of_length: the places of parameters that take one number for a list of it.
        required, positional: how many parameters must be given by place or name, and how many may be by place;
            *required* is more if one must be given by name.
    """

    def __init__(
        self,
        arguments: tuple[Argument, ...],
        returns: tuple[Argument, ...],
        several: bool,
        signature: inspect.Signature,
        *,
        name: str = "",
        overload_name: str = "",
    ) -> None:
        self.arguments, self.returns, self.several, self.signature = arguments, returns, several, signature
        self.name, self.overload_name = name, overload_name
        self.defaults = tuple(parameter.default for parameter in signature.parameters.values())
        self.positional = sum(not argument.keyword_only for argument in arguments)
        without = [place for place, default in enumerate(self.defaults) if default is inspect.Parameter.empty]
        self.required = max(without, default=-1) + 1
        self.lists_of_length = [place for place, argument in enumerate(arguments) if argument.length]

    @property
    def written(self) -> tuple[str, ...]:
        """The names of the arguments that the op writes into."""
        return tuple(argument.name for argument in self.arguments if argument.written)

    @property
    def gives_list(self) -> bool:
        """Whether the result is a list of tensors."""
        return len(self.returns) == 1 and not self.several and self.returns[0].type == "Tensor[]"

    @property
    def is_mutable(self) -> bool:
        """Whether it writes into an argument."""
        return bool(self.written)

    @property
    def plain(self) -> bool:
        """Whether results are new tensors, which share no memory with arguments."""
        return all(one.type in ("Tensor", "Tensor[]") and not one.alias for one in self.returns)

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.keyword_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        results = ", ".join(map(str, self.returns))
        return f"{self.name}{'.' if self.overload_name else ''}{self.overload_name}({', '.join(parts)}) -> " + (
            results if len(self.returns) == 1 and not self.several else f"({results})"
        )

    __repr__ = __str__


def schema_of(function: Callable[..., Any], mutates_args: str | Iterable[str], name: str) -> Schema:
    """The schema of *function*, which becomes the op *name*. Raises ValueError for what has no schema."""
    if not callable(function):
        raise ArgumentTypeError(f"{name}: {type(function).__name__} is no function", fix="decorate a function")
    signature = inspect.signature(function)
    try:
        hints = typing.get_type_hints(function)
    except NameError as error:
        raise ArgumentError(
            f"{name}: an annotation cannot be read: {error}",
            fix="annotate with names of the function's module, such as Tensor or polyad.Tensor",
        ) from error
    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            raise ArgumentError(f"{name}: mutates_args is {safe_repr(mutates_args)}", fix="pass a tuple of names")
        written = None
    else:
        written = set(mutates_args)
        unknown = written - signature.parameters.keys()
        if unknown:
            raise ArgumentError(
                f"{name}: mutates_args names {', '.join(sorted(unknown))}, which is no argument",
                fix=f"arguments are {', '.join(signature.parameters)}",
            )
    arguments: list[Argument] = []
    for parameter in signature.parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ArgumentError(f"{name}: an op has no *{parameter.name}", fix="take a list of tensors")
        if parameter.name not in hints:
            raise ArgumentError(
                f"{name}: parameter {parameter.name} has no annotation",
                fix="annotate it: Tensor, Tensor | None, Sequence[Tensor], int, float, bool, str, ...",
            )
        type_ = _type_name(hints[parameter.name])
        if type_ is None:
            raise ArgumentError(
                f"{name}: parameter {parameter.name} is of a type that no op takes: {hints[parameter.name]}",
                fix=f"use Tensor, {', '.join(plain.__name__ for plain in _PLAIN)}, one of them | None, or a Sequence",
            )
        writes = type_.startswith("Tensor") and (written is None or parameter.name in written)
        if written is not None and parameter.name in written and not writes:
            raise ArgumentError(f"{name}: mutates_args names {parameter.name}, which is no tensor", fix="leave it out")
        alias = f"a{len(arguments)}!" if writes else ""
        by_name = parameter.kind is parameter.KEYWORD_ONLY
        arguments.append(Argument(parameter.name, type_, by_name, writes, alias, parameter.default))
    if "return" not in hints:
        raise ArgumentError(f"{name}: the result has no annotation", fix="annotate it: -> Tensor")
    returns, several = _returned(hints["return"], name)
    results = tuple(Argument("", type_, False, False) for type_ in returns)
    return Schema(tuple(arguments), results, several, signature)


def _type_name(hint: Any) -> str | None:
    """How schemas write a type; None if no op takes it."""
    if hint is Tensor:
        return "Tensor"
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        others = [member for member in inner if member is not type(None)]
        if all(member in (bool, int, float, complex) for member in others) and len(others) > 1:
            name: str | None = "Scalar"
        else:
            name = _type_name(others[0]) if len(others) == 1 else None
        return f"{name}?" if name is not None and len(others) < len(inner) else name
    if origin in _SEQUENCES and len(inner) == 1:
        name = _type_name(inner[0])
        return None if name is None or name.endswith("]") else f"{name}[]"
    return None


def _returned(hint: Any, name: str) -> tuple[tuple[str, ...], bool]:
    if hint is None or hint is type(None):
        return (), False
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    several = origin is tuple and inner[-1:] != (Ellipsis,)
    result_types = [_type_name(part) for part in (inner if several else (hint,))]
    allowed = ("Tensor",) if several else ("Tensor", "Tensor[]")
    if not all(type_ in allowed for type_ in result_types):
        raise ArgumentError(
            f"{name}: no op returns {hint}",
            fix="return a Tensor, a tuple of a fixed number of them, or list[Tensor]",
        )
    return tuple(str(type_) for type_ in result_types), several


def infer_schema(prototype_function: Callable[..., Any], /, *, mutates_args: Any, op_name: str | None = None) -> str:
    """The schema of a function as a text. Raises ValueError for annotations that have none.

    >>> import polyad
    >>> def scaled(x: polyad.Tensor, *, factor: float = 1.0) -> polyad.Tensor:
    ...     return x * factor
    >>> polyad.library.infer_schema(scaled, mutates_args=())
    '(Tensor x, *, float factor=1.0) -> Tensor'
    """
    name = getattr(prototype_function, "__name__", "infer_schema")
    return (op_name or "") + str(schema_of(prototype_function, mutates_args, name))
