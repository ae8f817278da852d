"""Which overload a call means: arguments matched to a signature, with the conversions that TorchScript makes.

Overloads are tried in order, first as the arguments are, then with conversions: a tensor is read where a number is
wanted, a string becomes a device. A tuple may stand for a list, one element for a list of fixed length, and the last
positional arguments for a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ..language import tree
from ..language.source import CompileError, Place
from ..operators.schemas import NO_DEFAULT, Argument, Schema, schemas_of
from ..types import types as t
from ..types.types import Type

__all__ = ["Matched", "bind", "convert", "match_operator", "matched", "parts_of"]

Bindings = dict[str, Type]


@dataclass
class Matched:
    """A call that fits: an expression for each argument, None where the default is meant."""

    schema: Schema
    arguments: list[tree.Expression | None]
    bindings: Bindings


class _Misfit(Exception):
    """Why a signature does not fit."""


def match_operator(
    name: str, arguments: Sequence[tree.Expression], named: dict[str, tree.Expression], place: Place
) -> tree.Operator:
    """The call of the operator *name*, for example ``aten::add``.

    ``out=None`` says nothing; the result of an operator of tensors may be written into *out*.

    Raises CompileError if no overload fits, with what each says.
    """
    named = dict(named)
    out = named.pop("out") if "out" in named and named["out"].type in (t.NONE, t.TENSOR) else None
    names = [name] if isinstance(name, str) else list(name)
    schemas = [schema for one in names for schema in schemas_of(one)]
    reasons: list[str] = []
    for conversions in (False, True):
        reasons.clear()
        for schema in schemas:
            try:
                found = _match(schema, arguments, named, conversions)
                if out is not None and out.type == t.TENSOR:
                    found = _with_out(found, out)
            except _Misfit as reason:
                reasons.append(f"{schema}: {reason}")
                continue
            return operator(found, place)
    shown = names[0].partition("::")[2]
    if not schemas:
        raise CompileError(f"script: unknown builtin op: {names[0]}", place, fix="use an operator that polyad has")
    given = ", ".join([str(one.type) for one in arguments] + [f"{key}={one.type}" for key, one in named.items()])
    if len(reasons) == 1:
        raise CompileError(f"script: {shown}({given}): {reasons[0]}", place, fix="pass what the signature says")
    notes = {f"{position + 1}": reason for position, reason in enumerate(reasons[:6])}
    raise CompileError(
        f"script: {shown}({given}): Arguments for call are not valid: no overload of {shown} takes these",
        place,
        notes=notes,
        fix="pass what one of the signatures says",
    )


def _with_out(found: Matched, out: tree.Expression) -> Matched:
    """The call with the tensor *out*, which the result is written into, as an argument by name."""
    if found.schema.result != t.TENSOR or found.schema.name.endswith("_"):
        raise _Misfit("Unknown keyword argument 'out'")
    argument = Argument("out", t.TENSOR, keyword_only=True)
    schema = replace(found.schema, overload="out", arguments=(*found.schema.arguments, argument))
    return replace(found, schema=schema, arguments=[*found.arguments, out])


def operator(found: Matched, place: Place) -> tree.Operator:
    """The expression of a call that fits."""
    return tree.Operator(_bound(found.schema.result, found.bindings), place, found.schema, found.arguments)


def matched(
    name: str, arguments: Sequence[tree.Expression], named: dict[str, tree.Expression], place: Place
) -> tree.Operator | None:
    """As `match_operator`; None if nothing fits."""
    try:
        return match_operator(name, arguments, named, place)
    except CompileError:
        return None


def _match(
    schema: Schema, given: Sequence[tree.Expression], named: dict[str, tree.Expression], conversions: bool
) -> Matched:
    bindings: Bindings = {}
    found, used = _assign(schema.arguments, given, named, conversions, bindings, schema.variadic)
    rest = list(given[used:])
    if rest and not schema.variadic:
        raise _Misfit(f"Expected at most {used} positional arguments but found {len(given)}")
    return Matched(schema, [*found, *rest], bindings)


def _assign(
    arguments: Sequence[Argument],
    given: Sequence[tree.Expression],
    named: dict[str, tree.Expression],
    conversions: bool,
    bindings: Bindings,
    variadic: bool,
) -> tuple[list[tree.Expression | None], int]:
    left = dict(named)
    found: list[tree.Expression | None] = []
    used = 0
    for index, argument in enumerate(arguments):
        if argument.name in left:
            if used < len(given) and not argument.keyword_only and index < len(given):
                raise _Misfit(f"argument '{argument.name}' specified twice")
            value = left.pop(argument.name)
        elif argument.name == "self" and "input" in left and used >= len(given):
            value = left.pop("input")
        elif used < len(given) and not argument.keyword_only:
            if _takes_rest(arguments, index) and t.ListType not in [type(_without_none(given[used].type))]:
                listed = _rest_as_list(given[used:], argument, conversions)
                if listed is not None:
                    found.append(listed)
                    used = len(given)
                    continue
            value = given[used]
            used += 1
        elif argument.default is not NO_DEFAULT:
            found.append(None)
            continue
        else:
            raise _Misfit(f"Argument {argument.name} not provided")
        found.append(_fitted(value, argument, conversions, bindings))
    if left:
        raise _Misfit(f"Unknown keyword argument '{next(iter(left))}'")
    return found, used


def _without_none(type: Type) -> Type:
    return t.without_none(type)


def _takes_rest(arguments: Sequence[Argument], index: int) -> bool:
    """Whether positional arguments from here on may stand for a list."""
    argument = arguments[index]
    last = index + 1 == len(arguments) or arguments[index + 1].keyword_only
    return (
        last and not argument.broadcasts and isinstance(argument.type, t.ListType)
        and not isinstance(argument.type.element, t.Variable)
    )  # fmt: skip


def _rest_as_list(rest: Sequence[tree.Expression], argument: Argument, conversions: bool) -> tree.Expression | None:
    element = argument.type.element  # type: ignore[attr-defined]
    converted = [convert(one, element, conversions) for one in rest]
    if None in converted or isinstance(rest[0].type, t.TupleType):
        return None
    return tree.ListLiteral(argument.type, rest[0].place, converted)  # type: ignore[arg-type]


def _fitted(value: tree.Expression, argument: Argument, conversions: bool, bindings: Bindings) -> tree.Expression:
    if argument.broadcasts and isinstance(_without_none(argument.type), t.ListType):
        element = convert(value, _without_none(argument.type).element, conversions)  # type: ignore[attr-defined]
        if element is not None:
            return _repeated(element, argument)
    wanted = argument.type
    if _is_open(wanted):
        if isinstance(value, (tree.ListLiteral, tree.DictLiteral)) and not tree_elements(value):
            known = _bound(wanted, bindings)
            if not _is_open(known):
                return retyped(value, known)
        if not _bind_open(wanted, value.type, bindings):
            raise _Misfit(
                f"Could not match type {value.type} to {_bound(wanted, bindings)} in argument '{argument.name}'"
            )
        wanted = _bound(wanted, bindings)
    converted = convert(value, wanted, conversions)
    if converted is None:
        raise _Misfit(
            f"Expected a value of type '{wanted}' for argument '{argument.name}' but instead found type '{value.type}'"
        )
    return converted


def _repeated(value: tree.Expression, argument: Argument) -> tree.Expression:
    """A list of as many of *value* as the argument broadcasts to."""
    length = argument.broadcasts
    first, again = _for_several(value) if length > 1 else (value, value)
    return tree.ListLiteral(_without_none(argument.type), value.place, [first, *[again] * (length - 1)])


def tree_elements(value: tree.Expression) -> list[tree.Expression]:
    """What a literal of a list or a dict holds."""
    return value.keys if isinstance(value, tree.DictLiteral) else value.elements  # type: ignore[attr-defined]


def retyped(value: tree.Expression, type: Type) -> tree.Expression:
    """An empty literal of another type."""
    made = (
        tree.DictLiteral(type, value.place, [], [])
        if isinstance(value, tree.DictLiteral)
        else tree.ListLiteral(type, value.place, [])
    )
    return made


# ------------------------------------------------------------------------------------------------------ conversions

_READS = {t.FLOAT: "aten::FloatImplicit", t.INT: "aten::IntImplicit", t.NUMBER: "aten::ScalarImplicit",
          t.COMPLEX: "aten::ComplexImplicit"}  # fmt: skip


def convert(value: tree.Expression, wanted: Type, conversions: bool) -> tree.Expression | None:
    """*value* as a value of the type *wanted*, None if it is none; *conversions* allows those that read or make."""
    has = value.type
    if t.is_subtype(has, wanted):
        return value
    plain = t.without_none(wanted)
    if plain in (t.DTYPE, t.LAYOUT, t.MEMORY_FORMAT) and has in (t.INT, t.optional(t.INT)):
        # Numbers stand for them in the texts of files.
        return value if has == t.INT or plain != wanted else None
    if isinstance(wanted, t.UnionType):
        if isinstance(plain, t.UnionType):
            for member in plain.members:
                found = convert(value, member, conversions)
                if found is not None:
                    return found
            return None
        return None if has == t.NONE or isinstance(has, t.UnionType) else convert(value, plain, conversions)
    is_empty = isinstance(value, (tree.ListLiteral, tree.DictLiteral)) and not tree_elements(value)
    if is_empty and isinstance(wanted, (t.ListType, t.DictType)) and type(wanted) is type(has):
        return retyped(value, wanted)
    if isinstance(value, tree.ListLiteral) and isinstance(wanted, t.ListType):
        parts = [convert(one, wanted.element, conversions) for one in value.elements]
        if None not in parts:
            return tree.ListLiteral(wanted, value.place, parts)  # type: ignore[arg-type]
    if isinstance(has, t.TupleType):
        return _tuple_as(value, has, wanted, conversions)
    if conversions and has == t.TENSOR and wanted in _READS:
        return match_operator(_READS[wanted], [value], {}, value.place)
    if conversions and has == t.STR and wanted == t.DEVICE:
        return match_operator("aten::device", [value], {}, value.place)
    return None


def _tuple_as(value: tree.Expression, has: t.TupleType, wanted: Type, conversions: bool) -> tree.Expression | None:
    """A tuple as a list, or as a tuple of other types."""
    elements = parts_of(value)
    if isinstance(wanted, t.ListType) and not isinstance(value, tree.TupleLiteral):
        same = all(t.is_subtype(one, wanted.element) for one in has.elements)
        return tree.ListOf(wanted, value.place, value) if same else None
    if isinstance(wanted, t.ListType):
        parts = [convert(one, wanted.element, conversions) for one in elements]
        return None if None in parts else tree.ListLiteral(wanted, value.place, parts)  # type: ignore[arg-type]
    if isinstance(wanted, t.TupleType) and wanted.name is None and len(wanted.elements) == len(elements):
        parts = [convert(one, type, conversions) for one, type in zip(elements, wanted.elements)]
        return None if None in parts else tree.TupleLiteral(wanted, value.place, parts)  # type: ignore[arg-type]
    return None


_bound_names = count()


def parts_of(value: tree.Expression, chosen: list[int] | None = None) -> list[tree.Expression]:
    """The elements of a tuple, or those at the positions *chosen*, which are evaluated in this order."""
    has = value.type
    assert isinstance(has, t.TupleType)
    positions = list(range(len(has.elements))) if chosen is None else chosen
    if isinstance(value, tree.TupleLiteral):
        return [value.elements[position] for position in positions]
    first, again = _for_several(value) if len(positions) > 1 else (value, value)
    return [
        tree.Element(has.elements[position], value.place, again if k else first, position)
        for k, position in enumerate(positions)
    ]


def _for_several(value: tree.Expression) -> tuple[tree.Expression, tree.Expression]:
    """*value* for its first use, which is evaluated once, and for those after it."""
    if isinstance(value, (tree.Local, tree.Constant, tree.Attribute)):
        return value, value
    name = f"_tuple{next(_bound_names)}"
    return tree.Bind(value.type, value.place, name, value), tree.Local(value.type, value.place, name)


def _is_open(type: Type) -> bool:
    return isinstance(type, t.Variable) or any(map(_is_open, type.parts()))


def _bind_open(wanted: Type, has: Type, bindings: Bindings) -> bool:
    """Whether *has* fits the open type *wanted*, which sets its variables."""
    if isinstance(wanted, t.Variable):
        known = bindings.get(wanted.name)
        if known is None:
            bindings[wanted.name] = has
            return True
        if t.is_subtype(has, known):
            return True
        both = t.unify(known, has)
        return both is not None and both == known
    if isinstance(wanted, t.UnionType) and t.NONE in wanted.members:
        return has == t.NONE or _bind_open(t.without_none(wanted), t.without_none(has), bindings)
    if not _is_open(wanted):
        return True  # checked by convert
    if isinstance(has, t.TupleType) and isinstance(wanted, t.ListType):
        return bool(has.elements) and all(_bind_open(wanted.element, one, bindings) for one in has.elements)
    if type(wanted) is not type(has) or len(wanted.parts()) != len(has.parts()):
        return False
    return all(_bind_open(a, b, bindings) if _is_open(a) else t.is_subtype(b, a) and t.is_subtype(a, b)
        for a, b in zip(wanted.parts(), has.parts()))  # fmt: skip


def _bound(type: Type, bindings: Bindings) -> Type:
    """*type* with its variables replaced."""
    if isinstance(type, t.Variable):
        return bindings.get(type.name, type)
    if isinstance(type, t.ListType):
        return t.ListType(_bound(type.element, bindings))
    if isinstance(type, t.DictType):
        return t.DictType(_bound(type.key, bindings), _bound(type.value, bindings))
    if isinstance(type, t.TupleType):
        return t.TupleType(tuple([_bound(one, bindings) for one in type.elements]), type.name, type.fields, type.python)
    if isinstance(type, t.UnionType):
        return t.union([_bound(one, bindings) for one in type.members])
    if isinstance(type, t.FutureType):
        return t.FutureType(_bound(type.value, bindings))
    return type


def bind(
    signature: tree.Signature,
    given: Sequence[tree.Expression],
    named: dict[str, tree.Expression],
    place: Place,
    make_default: Any,
) -> list[tree.Expression]:
    """The arguments of a call of a function, each there: *make_default* gives an expression of a default.

    Raises CompileError if they do not fit.
    """
    for conversions in (False, True):
        try:
            found, used = _assign(signature.arguments, given, named, conversions, {}, False)
            if used < len(given):
                raise _Misfit(f"Expected at most {used} arguments but found {len(given)} positional arguments")
        except _Misfit as reason:
            failure = str(reason)
            continue
        return [
            make_default(argument, place) if value is None else value
            for argument, value in zip(signature.arguments, found)
        ]
    raise CompileError(f"script: {signature}: {failure}", place, fix="pass what the signature says")
