"""Where an op is computed: its declaration, its body, and the code that a device runs for a call of it, with reasons.

What decides is the plan that dispatch itself makes for an example call, so this cannot disagree with it. Generated code
is written out and not compiled.
"""

from __future__ import annotations

import dis
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from functools import partial
from types import CodeType
from typing import Any

from ...amp.autocast_policies import POLICIES
from ...backend.addresses import KernelAddress, RecordingRuntime, address_of_function, addresses_of
from ...backend.interface import Backend
from ...backend.preparation import prepare
from ...base.device import Device
from ...base.dtypes import DType
from ...devices import plugins, registry
from ...dispatch.catalogue import ATTRIBUTES, OPS, PUBLIC
from ...dispatch.declared import Function, Op
from ...dispatch.plan import array_of, find_plan, signature_of
from ...errors import ArgumentError, PolyadError, describe
from ...lowering.kernels import lowered_kernel
from ...tensor import Tensor
from ...transforms.batching.rules import find
from ..tracing import explanation_of
from .ops_call import Shapes, example_call

TIERS = {
    "kernel": "primitive kernel",
    "override": "override of the body",
    "lowered": "generated from the body",
    "decomposition": "composed of other ops",
    "fallback": "host fallback",
    "view": "view: no kernel runs",
    "functions": "a function that calls other ops",
}
"""How a call is carried out, in words."""


@dataclass(frozen=True, slots=True)
class SourceText:
    """A piece of Python: its file, the line where it begins, and the text."""

    file: str
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class OpLocation:
    """Where an op is declared and computed. Prints as a text.

    Attributes:
        name: as it was asked for, without "polyad.".
        op: the op behind it; empty for a function that calls several.
        device: where.
        call: the example call that was looked at; empty where none could be made up.
        path: "kernel", "override", "lowered", "decomposition", "fallback", "view" or "functions".
        origin: who supplied the kernel.
        reasons: why, one a line.
        kernels: the code that computes such calls, with conditions; `KernelAddress.serves` marks what this call uses.
        tables: "file:line" where tables of kernels of the packages that have some for the device name the op.
        declaration: the declaration; of a composite its body, of a function its definition.
        form: "primitive", "composite", "view" or "function".
        gradients: by operand, the formula's source.
        batching: how `vmap` carries it out.
        autocast: its policy under `polyad.autocast` on the device.
        uses: the ops and functions that the body or the function names.
    """

    name: str
    op: str
    device: str
    call: str
    path: str
    origin: str
    reasons: tuple[str, ...]
    kernels: tuple[KernelAddress, ...]
    tables: tuple[str, ...]
    declaration: SourceText
    form: str
    gradients: dict[str, SourceText]
    batching: str
    autocast: str
    uses: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers: what ``--json`` prints."""
        return asdict(self)

    def __str__(self) -> str:
        from .ops_text import text_of_location

        return text_of_location(self)


def locate_op(
    name: str, device: Any = "cpu", *, dtype: DType | None = None, shape: Sequence[Any] | None = None
) -> OpLocation:
    """Where the op or public function *name* is declared, and what computes it on *device*, and why.

    *name* is that of an op, of a public function, or of a method: "softmax", "nn.functional.gelu", ``Tensor.add_``. The
    answer is for one call. *dtype* is that of its operands, *shape* the shape of all, or a list of shapes, one for each
    operand; what is not given is found by trying. Raises ValueError, with the nearest names, for an unknown name and
    for a shape that the op does not take, and what using that device raises.

    >>> import polyad
    >>> found = polyad.backends.locate_op("softmax", "meta", shape=(2, 3))
    >>> found.path, found.declaration.file.endswith("activation/softmax.py")
    ('decomposition', True)
    """
    where = registry.resolve_device(device)
    backend = registry.get(where.type)
    named, op, function = _resolved(name)
    if op is None:
        return _of_function(named, str(where), function)
    declared = _source(op.definition)
    common: dict[str, Any] = {
        "name": named,
        "op": op.name,
        "device": str(where),
        "declaration": declared,
        "form": op.kind,
        "gradients": dict(_gradients(op)),
        "batching": _batching(op),
        "autocast": _autocast(op, where.type, named),
        "uses": _uses(op.definition) if op.body is not None else (),
    }
    if op.kind == "view":
        why = ("the result shows the operand's memory: core computes its shape and strides",)
        return OpLocation(call="", path="view", origin="", reasons=why, kernels=(), tables=(), **common)
    return OpLocation(**_computed(op, backend, where, dtype, _shapes(shape)), **common)


def _shapes(shape: Sequence[Any] | None) -> Shapes:
    if shape is None:
        return ()
    several = bool(shape) and isinstance(shape[0], (tuple, list))
    return tuple(map(tuple, shape)) if several else (tuple(shape),)


# -------------------------------------------------------------------------------------------------------------- names


def _resolved(name: str) -> tuple[str, Op | None, Callable[..., Any]]:
    """What a user's name stands for: the name itself, the op if it is one, and the function."""
    bare = name.removeprefix("polyad.").removeprefix("torch.")
    public = PUBLIC.get(bare) or PUBLIC.get(bare.removeprefix("Tensor."))
    if bare in OPS and not bare.startswith("Tensor."):
        return bare, OPS[bare], OPS[bare].definition
    if public is not None:
        op = public.op or public.fronts or _namesake(public)
        return bare, op, op.definition if op else public.call
    method = bare.removeprefix("Tensor.")
    written = PUBLIC.get(method[:-1]) if method.endswith("_") and not method.endswith("__") else None
    if written is not None and written.inplace:
        op = written.op or written.fronts or _namesake(written)
        return bare, op, op.definition if op else written.call
    held = getattr(Tensor, method, None) if method in ATTRIBUTES else None
    found = getattr(held, "fget", held)
    if callable(found):
        return bare, None, found
    known = {*OPS.names(), *PUBLIC.names(), *(f"Tensor.{each}" for each in ATTRIBUTES.names())}
    close = get_close_matches(bare, known, 3, 0.6)
    near = f"did you mean {' or '.join(close)}? " if close else ""
    raise ArgumentError(f"ops: there is no op or function {name!r}", fix=f"{near}`polyad ops` lists all")


def _namesake(public: Function) -> Op | None:
    """The op of a function's own name that the function calls itself, when it has seen to the arguments."""
    names = {public.name, f"{public.namespace.rpartition('.')[2]}_{public.name}"}
    return next((OPS[name] for name in _uses(public.call, by_others=False) if name in names and name in OPS), None)


def _of_function(name: str, device: str, function: Callable[..., Any]) -> OpLocation:
    declared = _source(function)
    uses = _uses(function)
    return OpLocation(
        name, "", device, "", "functions", "", ("it has no kernel: ask for the ops that it calls",), (), (), declared,
        "function", {}, "that of the ops it calls", _autocast(None, device.partition(":")[0], name), uses,
    )  # fmt: skip


def _uses(function: Callable[..., Any], by_others: bool = True) -> tuple[str, ...]:
    """The ops and public functions that a function's code names, or that of the functions that it calls: with
    *by_others* the public ones too.
    """
    pending, seen, found = [inspect.unwrap(function)], set[Any](), dict[str, None]()
    while pending:
        function = pending.pop(0)
        if function in seen:
            continue
        seen.add(function)
        for name, is_global in _names_in(getattr(function, "__code__", None)):
            called = function.__globals__.get(name) if is_global else None
            known = next((each for each in (name, name.lstrip("_")) if each in OPS or each in PUBLIC), "")
            if known and (not is_global or _named(called) in _calls_of(known)):
                found[known] = None
            elif inspect.isfunction(called) and called.__module__.startswith("polyad.ops."):
                # The caller of a public function is generated at its first call: only its definition has lasting code.
                definition = inspect.unwrap(called)
                if by_others or definition is called:
                    pending.append(definition)
    return tuple(found)


def _calls_of(name: str) -> list[tuple[str, str]]:
    return [_named(table[name].call) for table in (OPS, PUBLIC) if name in table]


def _named(function: Any) -> tuple[str, str]:
    """A function by name: callers are generated again when something begins to watch calls."""
    return getattr(function, "__module__", ""), getattr(function, "__qualname__", "")


def _names_in(code: CodeType | None) -> Iterator[tuple[str, bool]]:
    """The globals (True) and attributes (False) in a function's code, and in functions in it."""
    pending = [] if code is None else [code]
    while pending:
        code = pending.pop()
        for each in dis.get_instructions(code):
            if each.opname in ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD"):
                yield each.argval, each.opname == "LOAD_GLOBAL"
        pending += [each for each in code.co_consts if inspect.iscode(each)]


def _source(function: Any) -> SourceText:
    """The source of a function; of one that is generated, of what it is generated from."""
    function = inspect.unwrap(function)
    try:
        lines, line = inspect.getsourcelines(function)
        return SourceText(inspect.getsourcefile(function) or "", max(line, 1), textwrap.dedent("".join(lines)))
    except (OSError, TypeError):
        found = address_of_function(function)
        module = sys.modules.get(getattr(function, "__module__", ""), None)
        return SourceText(getattr(module, "__file__", None) or found.file, found.line, "")


# -------------------------------------------------------------------------------------------------------------- facts


def _gradients(op: Op) -> Iterator[tuple[str, SourceText]]:
    names = list(op.operands)
    for formula in op.formulas:
        at = formula.position
        label = ", ".join(names[at]) if isinstance(at, slice) else names[at]
        yield label, _source(formula.function)


_BATCHED = {
    "structure": "by its structure: the batch is one more dimension",
    "decomposition": "by its body, run on the batch",
    "loop": "sample by sample, counted",
}


def _batching(op: Op) -> str:
    rule, origin = find(op)
    if origin != "own":
        return _BATCHED[origin]
    found = address_of_function(rule)
    return f"by a rule of its own, {found.file}:{found.line}"


def _autocast(op: Op | None, device_type: str, name: str) -> str:
    policies = POLICIES.get(device_type, POLICIES[""])
    last = name.rpartition(".")[2].removesuffix("_")
    return policies.get(op.name if op is not None else last) or policies.get(last) or "as given"


# ------------------------------------------------------------------------------------------------------------ computed


def _computed(op: Op, backend: Backend, device: Device, dtype: DType | None, shapes: Shapes) -> dict[str, Any]:
    """What an example call of *op* uses: the fields of `OpLocation` that depend on the device."""
    example = example_call(op, dtype, shapes)
    if example is None:
        if shapes or dtype is not None:
            asked = " and ".join(filter(None, [str(dtype or ""), " ".join(map(str, shapes))]))
            raise ArgumentError(
                f"ops: no call of {op.name} with {asked} was found", fix="pass a shape for each operand, or neither"
            )
        return _without_call(op, backend)
    values = example.values(op, device)
    reasons: list[str] = []
    found = explanation_of(op, values)
    while found.path == "cast":
        reasons += [line for line in found.lines if line.startswith("first")]
        casts = find_plan(op, values).casts
        values = (*_cast_text(values[: len(op.operands)], casts), *values[len(op.operands) :])
        found = explanation_of(op, values)
    reasons += [line for line in found.lines if not line.startswith(("takes", "gives"))]
    types, arrays = signature_of(op, values), _arrays(op, values)
    kernels: tuple[KernelAddress, ...] = ()
    path = found.path
    if path == "kernel":
        kernel = next((one for one in plugins.candidate_kernels(backend, op.name) if prepare(one, types)), None)
        path = "override" if op.body is not None else "kernel"
        if kernel is not None:
            kernels = _tried(lambda: addresses_of(kernel, types, arrays), reasons)
    elif path == "lowered":
        kernels = _tried(lambda: _lowered(op, types, values, arrays, backend, device), reasons)
    elif path == "fallback" and device.type != "cpu":
        on_host = _computed(op, registry.get("cpu"), Device("cpu"), dtype, shapes)
        kernels = on_host["kernels"]
    shown = [_shown(value) for value in values]
    return {
        "call": f"{op.name}({', '.join(shown)})",
        "path": path,
        "origin": found.origin,
        "reasons": tuple(" ".join(line.split()) for line in reasons),
        "kernels": kernels,
        "tables": _tables(op.name, backend),
    }


def _without_call(op: Op, backend: Backend) -> dict[str, Any]:
    """What is known of an op of which no example call was found: the kernels that there are."""
    kernels = plugins.candidate_kernels(backend, op.name)
    path = ("override" if op.body is not None else "kernel") if kernels else (
        "decomposition" if op.body is not None else "fallback"
    )  # fmt: skip
    found: tuple[KernelAddress, ...] = ()
    reasons: list[str] = []
    for kernel in kernels:
        found += _tried(partial(addresses_of, kernel, ()), reasons)
    why = "no call of it could be made up, so shapes and dtypes that would decide are not known"
    origin = kernels[0].origin if kernels else ""
    return {
        "call": "", "path": path, "origin": origin, "reasons": (why, *reasons), "kernels": found,
        "tables": _tables(op.name, backend),
    }  # fmt: skip


def _tried(find: Callable[[], Sequence[KernelAddress]], reasons: list[str]) -> tuple[KernelAddress, ...]:
    """What *find* gives; where it fails the failure is a reason, since a diagnosis must not break."""
    try:
        return tuple(find())
    except Exception as error:
        said = error.message if isinstance(error, PolyadError) else f"{type(error).__name__}: {error}"
        reasons.append(f"its code could not be written out: {said}")
        return ()


def _arrays(op: Op, values: Sequence[Any]) -> list[Any]:
    count = len(op.operands)
    return [*map(array_of, values[:count]), *values[count:]]


def _lowered(
    op: Op, types: Any, values: Sequence[Any], arrays: Sequence[Any], backend: Backend, device: Device
) -> Sequence[KernelAddress]:
    runtime = backend.runtime(device)
    assert runtime is not None
    recording = RecordingRuntime(runtime)
    kernel = lowered_kernel(op, types, values, recording)
    assert kernel is not None
    kernel(*arrays)
    return recording.addresses


def _cast_text(operands: Sequence[Any], casts: Sequence[DType | None]) -> list[Any]:
    return [
        value
        if dtype is None or value is None
        else [each.to(dtype) for each in value]
        if isinstance(value, list)
        else value.to(dtype)
        if isinstance(value, Tensor)
        else value
        for value, dtype in zip(operands, casts, strict=True)
    ]


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return describe(value).partition(" on ")[0] if isinstance(value, Tensor) else str(value)


def _tables(op: str, backend: Backend) -> tuple[str, ...]:
    """Where the tables of packages that have kernels for *op* name it."""
    origins = {kernel.origin for kernel in plugins.candidate_kernels(backend, op)}
    key = re.compile(rf'^.*"{re.escape(op)}"', re.MULTILINE)
    found = []
    for name, module in sorted(sys.modules.items()):
        table = getattr(module, "KERNELS", None) if name.partition(".")[0] in origins else None
        if isinstance(table, dict) and op in table:
            text = _source(module).text
            start = key.search(text)
            if start is not None:
                found.append(f"{module.__file__}:{text.count(chr(10), 0, start.start()) + 1}")
    return tuple(found)
