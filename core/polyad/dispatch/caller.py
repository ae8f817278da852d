"""The function behind each op, generated from its declaration: signature lookup, kernel, wrap, record.

Generated source, one function an op, because this is the path that every call takes: a general ``*args`` loop would
cost more than a small op's arithmetic. What is generated for ``mul`` can be read with
``inspect.getsource(polyad.mul)``. Everything rare (first call of a signature, casts, decomposition, errors) is in
`polyad.dispatch.plan`.
"""

from __future__ import annotations

import functools
import inspect
import linecache
from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any

from ..base.state import NO_MODES, state
from ..history.node import record, record_many
from ..tensor import Tensor
from ..tensor.storage import INFERENCE
from .arguments import CHECKS, explained
from .autocast import cast_call, checks, needs_no_cast, without_casts
from .modes import through_modes
from .names import ASKED, MISSING, renamed
from .out import write_out, wrote_directly
from .overriding import again, check, reported_for, stands_in, watching
from .plan import find_plan, instead
from .views import apply_view

if TYPE_CHECKING:
    from .declared import Op

_HEADER = """\
def {name}({signature}):
{asked}{plain}{casts}{out}    modes_ = state.modes
    if modes_:
        return through_modes(op, ({values}))
"""

_OUT = """\
    if out is not None:
        return out if wrote_directly(op, out, ({values})) else write_out(out, op.call({values}))
"""

_CASTS = """\
    autocast_ = state.autocast
    if autocast_ is not None{unless}:
{writes}        return cast_call(op.call, {cast_name!r}, {values})
"""

_WRITES = """\
        if out is not None:
            return without_casts(op.call)({values} out=out)
"""

_TENSOR = """\
    try:
{unpack}        plan = plans[{key}]
    except (AttributeError, KeyError, TypeError):
        if stands_in(({values})):
            return again(op.call, op.signature, dict(zip(op.names, ({values}))))
        plan = find_plan(op, ({values}))
    if plan.indirect is not None:
        return plan.indirect(op, ({values}), {needs})
    try:
        array = plan.kernel({arguments})
    except Exception as error:
        array = instead(op, ({values}), error)
"""

_ONE = """\
    out_ = new(Tensor)
    out_._array = array
    out_._type = plan.nd if array.ndim else plan.zd
    out_._node = out_._storage = out_._grad = out_._view = None
    if modes_ is not NO_MODES:
        out_._view = INFERENCE
    if plan.differentiable and ({needs}) and state.grad_enabled:
        record(op, ({values}), out_)
    return out_
"""

_MANY = """\
    outs_ = plan.wrap(array)
    if plan.differentiable and ({needs}) and state.grad_enabled:
        record_many(op, ({values}), outs_, plan.differentiable_outputs)
    return outs_
"""


def make_caller(op: Op, definition: Callable[..., Any]) -> Callable[..., Any]:
    """The function that carries out calls of *op*; it has the definition's signature, name and docstring.

    Its code is generated and compiled by its first call: a program uses few of all ops, and should not wait for the
    others when it imports polyad.
    """
    if op.kind == "view":
        return _view_caller(op, definition)
    filename = f"polyad-op:{op.name}"
    scope: dict[str, Any] = {
        "NO_MODES": NO_MODES, "INFERENCE": INFERENCE,
        "op": op, "plans": op.plans, "state": state, "Tensor": Tensor, "new": object.__new__, "record": record,
        "record_many": record_many, "through_modes": through_modes, "find_plan": find_plan,
        "instead": instead, "write_out": write_out, "wrote_directly": wrote_directly, **CHECKS,
        "cast_call": cast_call, "needs_no_cast": needs_no_cast, "without_casts": without_casts,
        "__name__": __name__, "stands_in": stands_in, "again": again,
    }  # fmt: skip
    if not op.other_names:
        return generated(definition, op.signature, filename, scope, lambda: _source(op, definition, scope))
    parameters = op.signature.parameters.values()
    positional = [MISSING if one.default is one.empty else one.default for one in parameters if one.name != "out"]
    defaults = (tuple(positional), {"out": None} if op.takes_out else {})
    caller: Any = generated(definition, op.signature, filename, scope, lambda: _source(op, definition, scope), defaults)
    scope |= {
        "call_": caller, "signature_": op.signature, "names_": op.other_names, "missing_": MISSING, "renamed_": renamed,
    }  # fmt: skip
    caller.__other_names__ = frozenset(other for other, _ in op.other_names)
    return caller  # type: ignore[no-any-return]


def generated(
    definition: Callable[..., Any],
    signature: inspect.Signature,
    filename: str,
    scope: dict[str, Any],
    source: Callable[[], str],
    defaults: tuple[tuple[Any, ...], dict[str, Any]] | None = None,
) -> Callable[..., Any]:
    """A function whose code is *source*, run with the globals *scope*; name and docstring are *definition*'s, and so
    are the defaults unless others are given.

    It is compiled by its first call. *filename* is what tracebacks show and `inspect.getsource` reads.
    """

    def compile_caller() -> Callable[..., Any]:
        exec(compile(source(), filename, "exec"), scope)
        watched = reported_for(caller)
        # Defaults first: another thread that calls in between still finds the code that takes any arguments.
        caller.__defaults__, caller.__kwdefaults__ = defaults or (definition.__defaults__, definition.__kwdefaults__)
        caller.__code__ = scope[definition.__name__].__code__
        if watched or (watching and not definition.__name__.startswith("_")):
            check(caller, watched)
        return caller

    scope["compile_caller"] = compile_caller
    # Tracebacks and inspect.getsource ask linecache, which asks for the source when it is wanted.
    linecache.cache[filename] = (source,)
    code = _first_call.__code__.replace(co_filename=filename, co_firstlineno=1, co_name=definition.__name__)
    caller = FunctionType(code, scope, definition.__name__)
    caller.__doc__ = definition.__doc__
    caller.__module__ = definition.__module__
    caller.__qualname__ = definition.__qualname__
    caller.__annotations__ = definition.__annotations__
    caller.__signature__ = signature  # type: ignore[attr-defined]
    return caller


def _first_call(*args: Any, **kwargs: Any) -> Any:
    # The code of every caller until its first call, run with that caller's globals.
    return compile_caller()(*args, **kwargs)  # type: ignore[name-defined]  # noqa: F821


def _source(op: Op, definition: Callable[..., Any], scope: dict[str, Any]) -> str:
    """The source of *op*'s caller."""
    unpack, keys, arguments, needs = "", [], [], []
    for name, given in op.operands.items():
        if given == "tensor":
            keys.append(f"{name}._type")
            arguments.append(f"{name}._array")
            needs.append(f"{name}._node is not None")
            continue
        # The names end in an underscore so that no parameter of an op can be the same.
        t, a, n = f"t_{name}_", f"a_{name}_", f"n_{name}_"
        keys.append(t)
        arguments.append(a)
        if given != "list":
            unpack += (
                f"        if isinstance({name}, Tensor):\n"
                f"            {t} = {name}._type; {a} = {name}._array; {n} = {name}._node\n"
                f"        else:\n"
                f"            {t} = {name}.__class__; {a} = {name}; {n} = None\n"
            )
            needs.append(f"{n} is not None")
        else:
            unpack += (
                f"        {t} = tuple([x.__class__ if x is None else x._type for x in {name}])\n"
                f"        {a} = [x if x is None else x._array for x in {name}]\n"
                f"        {n} = any([x is not None and x._node is not None for x in {name}])\n"
            )
            needs.append(n)
    keys += op.keyed
    names = ", ".join(op.names) + ","
    template = _HEADER + _TENSOR + (_MANY if op.outputs else _ONE)
    parts = [_bare(parameter, bool(op.other_names)) for parameter in _with_marks(op.signature)]
    source = template.format(
        name=definition.__name__,
        signature=", ".join([*parts, "**others_"] if op.other_names else parts),
        asked=_asked(op) if op.other_names else "",
        plain="" if definition.__name__.startswith("_") else plain_values(definition.__name__, op.signature),
        out=_OUT.format(values=names) if op.takes_out else "",
        casts=_CASTS.format(
            cast_name=op.name,
            values=names,
            writes=_WRITES.format(values=names) if op.takes_out else "",
            # A primitive calls no function that could look in its turn.
            unless=f" and not needs_no_cast(autocast_, {op.name!r}, {names})" if op.kind == "primitive" else "",
        )
        if checks(op.name, scope["compile_caller"])
        else "",
        values=names,
        unpack=unpack,
        key=", ".join(keys) if len(keys) == 1 else "(" + ", ".join(keys) + ")",
        needs=" or ".join(needs) or "False",
        arguments=", ".join([*arguments, *op.params]),
    )
    if op.signature.parameters:
        source = source.replace("(,)", "()")
    return source


_PLAIN = {
    "bool": "{n} is not True and {n} is not False: {n} = bool_",
    "bool | None": "{n} is not True and {n} is not False and {n} is not None: {n} = bool_",
    "int": "{n}.__class__ is not int: {n} = int_",
    "int | None": "{n}.__class__ is not int and {n} is not None: {n} = int_",
    "float": "{n}.__class__ is not float and {n}.__class__ is not int: {n} = float_",
    "float | None": "{n}.__class__ is not float and {n}.__class__ is not int and {n} is not None: {n} = float_",
    "Number": "{n}.__class__ is not int and {n}.__class__ is not float: {n} = number_",
    "Number | None": "{n}.__class__ is not int and {n}.__class__ is not float and {n} is not None: {n} = number_",
    "DType": "{n}.__class__ is not DType: {n} = dtype_",
    "DType | None": "{n}.__class__ is not DType and {n} is not None: {n} = dtype_",
}
"""By annotation: the test that a value is not of Python's own type, and the function that converts it or raises."""


def plain_values(function: str, signature: inspect.Signature) -> str:
    """The lines that check the flags, counts, numbers and dtypes among the parameters of *function*."""
    lines = ""
    for name, parameter in signature.parameters.items():
        check = _PLAIN.get(str(parameter.annotation))
        if check and parameter.kind is not parameter.VAR_POSITIONAL:
            lines += f"    if {check.format(n=name)}({function!r}, {name!r}, {name})\n"
    return lines


def _with_marks(signature: inspect.Signature) -> list[inspect.Parameter | str]:
    parts: list[inspect.Parameter | str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        parts.append(parameter)
    return parts


def _bare(parameter: inspect.Parameter | str, optional: bool) -> str:
    if isinstance(parameter, str):
        return parameter
    return f"{parameter.name}=None" if optional or parameter.default is not parameter.empty else parameter.name


def _asked(op: Op) -> str:
    """The lines that take operands under other names."""
    parameters = op.signature.parameters.values()
    needed = [one.name for one in parameters if one.default is one.empty]
    given = "{" + ", ".join(f"{one.name!r}: {one.name}" for one in parameters) + "}"
    return ASKED.format(asked=" or ".join(["others_", *(f"{name} is missing_" for name in needed)]), given=given)


def _view_caller(op: Op, definition: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(definition)
    def caller(input: Tensor, *params: Any) -> Any:
        if state.modes:
            return through_modes(op, (input, *params))
        try:
            return apply_view(op, input, params)
        except Exception as error:
            arguments = dict(zip(op.names, (input, *params), strict=False))
            if stands_in((input, *params)):
                return again(caller, op.signature, arguments)
            problem = explained(op.name, op.signature, arguments, error)
            if problem is error:
                raise
            raise problem from error

    return caller
