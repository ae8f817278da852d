"""The function that users call for each `@function`: its definition, and what all of them have in common.

    plain values   flags, counts, numbers and dtypes are checked, and brought to Python's own types: 0-d tensors and
                   NumPy numbers stand for numbers, Python types for dtypes, as in PyTorch
    errors         what Python or NumPy raises for arguments that do not fit is told in polyad's words
    size=(2, 3)    sizes and dims that may be given one by one can be given by name, too, as one sequence
    add(x, 2, y)   numbers come first in older calls, of functions that say what these numbers are
    axis=0         NumPy's names of parameters are understood, where there is a ``dim`` or an ``out``; and other names
                   that PyTorch has for one parameter
    out=           is written to

It is generated with the definition's own signature, since the ops that it fronts are called millions of times;
``inspect.getsource(polyad.sum)`` shows the definition.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..base.state import state
from ..errors import ArgumentTypeError
from ..tensor import Tensor
from .arguments import CHECKS, explained
from .autocast import cast_call, checks, without_casts
from .caller import generated, plain_values
from .factors import OLDER, factors_first
from .names import ASKED, MISSING, renamed
from .out import agreed_dtype, write_created, write_out, write_sequence, wrote_directly
from .overriding import again, stands_in

if TYPE_CHECKING:
    from .declared import Op

_BODY = """\
def {name}({signature}):
{older}{spread}{names}{casts}{values}{dtype}    try:
{call}
    except Exception as error_:
        if stands_in_({given}.values()):
            return again_(call_, signature_, {given})
        problem_ = explained_({name!r}, signature_, {given}, error_)
        if problem_ is error_:
            raise
        raise problem_ from error_
"""

_CASTS = """\
    if state_.autocast is not None:
{writes}        return cast_call_(call_, {name!r}, {arguments})
"""

_WRITES = """\
        if out is not None:
            return without_casts_(call_)({arguments}, out=out)
"""

_SPREAD = """\
    if {name} is missing_:
        {name} = {name}_
    else:
        {name} = spread_(call_, {name!r}, {name}_, {name})
"""

_DTYPE_OF_OUT = """\
    if isinstance(out, Tensor_):
        dtype = agreed_dtype_(dtype, out)
"""

_OUT = """\
{direct}        result_ = definition_({arguments})
        return result_ if out is None else write_out_(out, result_)\
"""

_DIRECT = """\
        if out is not None and {alone}wrote_directly_(op_, out, ({operands},)):
            return out
"""

NUMPY_NAMES = (
    ("axis", "dim"), ("keepdims", "keepdim"), ("x", "input"), ("a", "input"), ("x1", "input"), ("x2", "other"),
)  # fmt: skip

SPREAD = frozenset({"size", "shape", "dims", "repeats"})
"""The names of ints that are given as ``f(2, 3)``, ``f((2, 3))`` or ``f(size=(2, 3))``."""


def front(
    definition: Callable[..., Any],
    *,
    other_names: tuple[tuple[str, str], ...] = (),
    dtype_of_out: bool = False,
    sequence: bool = False,
    fronts: Op | None = None,
    factors: tuple[str, ...] = (),
) -> Any:
    """*definition* with all that this module's docstring lists; see `polyad.dispatch.op.function`. *other_names* are
    pairs of a name that is understood and the parameter that it means; *factors* are the parameters, given by name
    alone, that numbers mean which come first.
    """
    signature = inspect.signature(definition)
    parameters = signature.parameters
    spread = next((name for name, one in parameters.items() if _is_spread(one)), None)
    scope: dict[str, Any] = {
        "definition_": definition, "signature_": signature, "explained_": explained, "renamed_": renamed,
        "spread_": spread_out, "names_": other_names,
        "write_out_": write_sequence if sequence else write_out if _has_operands(parameters) else write_created,
        "wrote_directly_": wrote_directly, "agreed_dtype_": agreed_dtype, "op_": fronts, "missing_": MISSING,
        "defaults_": {name: parameter.default for name, parameter in parameters.items()}, "Tensor_": Tensor, **CHECKS,
        "state_": state, "cast_call_": cast_call, "without_casts_": without_casts,
        "factors_first_": factors_first, "factors_": factors, "stands_in_": stands_in, "again_": again,
        "__name__": __name__,
    }  # fmt: skip

    def source() -> str:
        given = "{" + ", ".join(f"{name!r}: {name}" for name in parameters) + "}"
        arguments = ", ".join(_arguments(parameters))
        required = [name for name, parameter in parameters.items() if _is_required(parameter)]
        asked = " or ".join(["others_", *(f"{name} is missing_" for name in required)])
        return _BODY.format(
            name=definition.__name__,
            signature=", ".join(_parts(signature, bool(other_names), bool(factors))),
            older=_older(parameters) if factors else "",
            spread=_SPREAD.format(name=spread) if spread else "",
            names=ASKED.format(asked=asked, given=given) if other_names else "",
            casts=_CASTS.format(
                name=definition.__name__,
                writes=_WRITES.format(arguments=arguments) if "out" in parameters else "",
                arguments=arguments,
            )
            if checks(definition.__name__, scope["compile_caller"])
            else "",
            values=plain_values(definition.__name__, signature),
            dtype=_DTYPE_OF_OUT if dtype_of_out else "",
            call=(_OUT if "out" in parameters else "        return definition_({arguments})").format(
                arguments=arguments, direct="" if fronts is None else _direct(parameters, len(fronts.names))
            ),
            given=given,
        )

    filename = f"polyad-front:{definition.__module__}.{definition.__name__}"
    defaults = _defaults(signature, bool(other_names))
    call: Any = generated(definition, signature, filename, scope, source, defaults)
    scope["call_"] = call
    call.__wrapped__ = definition
    call.__other_names__ = frozenset(other for other, name in other_names if name in parameters)
    return call


def _direct(parameters: Mapping[str, inspect.Parameter], count: int) -> str:
    """The lines that let the op, which takes the first *count* parameters, write to ``out`` where the others are left
    at their defaults.
    """
    operands, others = list(parameters)[:count], [name for name in list(parameters)[count:] if name != "out"]
    alone = "".join(f"{name} is defaults_[{name!r}] and " for name in others)
    return _DIRECT.format(alone=alone, operands=", ".join(operands))


def _has_operands(parameters: Mapping[str, inspect.Parameter]) -> bool:
    return any("Tensor" in str(given.annotation) for name, given in parameters.items() if name != "out")


def _is_required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty and parameter.kind not in (
        parameter.VAR_POSITIONAL,
        parameter.VAR_KEYWORD,
    )


def _is_spread(parameter: inspect.Parameter) -> bool:
    return parameter.kind is parameter.VAR_POSITIONAL and parameter.name in SPREAD


def _older(parameters: Mapping[str, inspect.Parameter]) -> str:
    """The lines that look for numbers among the operands."""
    named = [name for name, one in parameters.items() if one.kind is one.KEYWORD_ONLY]
    return OLDER.format(
        operands=", ".join(name for name in parameters if name not in named),
        keywords=", ".join(f"{name!r}: {name}" for name in named),
    )


def _parts(signature: inspect.Signature, others: bool, older: bool = False) -> list[str]:
    """The parameters as they stand in a def. Defaults are set afterwards; where *others* than their names are
    understood, required parameters get a default, too; *older* calls give more by position.
    """
    parts, starred = [], False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            starred = True
        elif parameter.kind is parameter.KEYWORD_ONLY and not starred:
            parts.append("*older_" if older else "*")
            starred = True
        star = (
            "*"
            if parameter.kind is parameter.VAR_POSITIONAL
            else "**"
            if parameter.kind is parameter.VAR_KEYWORD
            else ""
        )
        optional = not star and (others or parameter.default is not parameter.empty)
        if _is_spread(parameter):
            parts += [f"*{parameter.name}_", f"{parameter.name}=None"]
        else:
            parts.append(f"{star}{parameter.name}{'=None' if optional else ''}")
    return [*parts, "**others_"] if others else parts


def _defaults(signature: inspect.Signature, others: bool) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Defaults of positional and of keyword parameters; where *others* than their names are understood, MISSING for
    required parameters.
    """
    positional, keywords = [], {}
    for parameter in signature.parameters.values():
        if _is_spread(parameter):
            keywords[parameter.name] = MISSING
            continue
        if parameter.default is parameter.empty and not others:
            continue
        default = MISSING if parameter.default is parameter.empty else parameter.default
        if parameter.kind is parameter.KEYWORD_ONLY:
            keywords[parameter.name] = default
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            positional.append(default)
    return tuple(positional), keywords


def _arguments(parameters: Mapping[str, inspect.Parameter]) -> list[str]:
    """How the definition gets its arguments, which are all but ``out``: by name what may come after it."""
    passed, skipped = [], False
    for name, parameter in parameters.items():
        if name == "out":
            skipped = True
        else:
            by_name = skipped and parameter.kind is parameter.POSITIONAL_OR_KEYWORD
            passed.append(f"{name}={name}" if by_name else _passed(parameter))
    return passed


def _passed(parameter: inspect.Parameter) -> str:
    if parameter.kind is parameter.VAR_POSITIONAL:
        return f"*{parameter.name}"
    if parameter.kind is parameter.VAR_KEYWORD:
        return f"**{parameter.name}"
    return f"{parameter.name}={parameter.name}" if parameter.kind is parameter.KEYWORD_ONLY else parameter.name


def spread_out(call: Any, name: str, one_by_one: tuple[Any, ...], value: Any) -> tuple[Any, ...]:
    """What ``*name`` is where *value* was given by name. Raises TypeError if it was given one by one as well."""
    if one_by_one:
        raise ArgumentTypeError(f"{call.__name__}: {name} was given twice", fix="give it by position or by name")
    return (value,)
