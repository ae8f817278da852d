"""What there is to know of ops before writing a kernel: all of it is read from their declarations."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from difflib import get_close_matches
from itertools import product
from typing import Any

from ...backend.families import family_of
from ...backend.interface import Signature, TensorType
from ...backend.preparation import flat
from ...base.device import Device
from ...base.dtypes import ALL, DType, bool_, float32, float64, int32, int64
from ...base.shapes_and_strides import window_count
from ...devices import plugins, registry
from ...dispatch.catalogue import OPS, PUBLIC
from ...dispatch.declared import Op
from ...dispatch.promotion import Typing
from ...dispatch.structure import Creation, Last, Pointwise, Random, Reduction, Structure
from ...errors import ArgumentError, BackendError, PolyadError
from ...random import philox

HOST = Device("cpu")

TIERS = {"primitive": 1, "composite": 2, "view": None}
"""The tier of a kernel for an op of each form; nobody writes kernels for views."""

GIVEN = {
    "tensor": "a tensor",
    "number": "a tensor or a number",
    "optional": "a tensor or None",
    "flexible": "a tensor, a number or None",
    "list": "a list of tensors",
}
"""How an operand may be given, in words."""


@dataclass(frozen=True, slots=True)
class DTypeRow:
    """What the dtype rule makes of a call: the operands' dtypes, those that they are cast to, the results'.

    A number is called by its Python type, an absent operand "None", a tensor without dimensions "0-d float64".
    """

    given: tuple[str, ...]
    computed: tuple[str, ...]
    results: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpReport:
    """An op as the author of a backend sees it. Prints as a text.

    Attributes:
        name: the key of a table of kernels.
        form: "primitive", "composite" or "view".
        tier: of a kernel for it: 1 for a primitive, 2 for a composite, None for a view, which needs none.
        family: the module of `polyad.ops` that declares it; kernels and samples lie at the same path.
        structure: which elements of the operands an element of the result is computed from.
        kernels: by device type, who brings kernels for it.
        functions: the public functions that are this op.
        signature: ``kernel(...)`` as a backend writes it.
        operands: how each may be given.
        params: the others, in order, with their types; they have been normalised and checked.
        outputs: names of the results if there are several.
        differentiable: the operands that have a gradient formula.
        meaning: the docstring.
        dtypes: what the dtype rule says where all operands have the same dtype, as far as the op takes it.
        refused: the dtypes that it does not take.
        promoted: what the rule says of calls with several dtypes or with numbers.
        shape: the shape rule: in words, or its source and that of what it calls.
        random: the contract of random numbers, for an op that draws some.
        declaration: the source of its declaration: for a composite the decomposition, for a view the layout's
            arithmetic.
    """

    name: str
    form: str
    tier: int | None
    family: str
    structure: str
    kernels: dict[str, tuple[str, ...]]
    functions: tuple[str, ...] = ()
    signature: str = ""
    operands: dict[str, str] = field(default_factory=dict)
    params: dict[str, str] = field(default_factory=dict)
    outputs: tuple[str, ...] = ()
    differentiable: tuple[str, ...] = ()
    meaning: str = ""
    dtypes: tuple[DTypeRow, ...] = ()
    refused: tuple[str, ...] = ()
    promoted: tuple[DTypeRow, ...] = ()
    shape: str = ""
    random: str = ""
    declaration: str = ""

    def as_dict(self) -> dict[str, Any]:
        """The same as dicts, lists, strings and numbers: what ``--json`` prints."""
        return asdict(self)

    def __str__(self) -> str:
        from .ops_text import text_of_op

        return text_of_op(self)


def list_ops(*, tier: int | None = None, family: str | None = None, missing: str | None = None) -> tuple[OpReport, ...]:
    """Every op, by family: form, tier, structure, and for which devices there are kernels.

    *tier* and *family* ("linalg", "linalg.norms" or "norms") choose among them, *missing* those for which a device type
    has no kernel, views apart. Loads the installed backends. Raises ValueError for a family that there is not, and what
    using that device raises.

    >>> import polyad
    >>> [op.name for op in polyad.backends.list_ops(family="rounding", tier=1)]
    ['ceil', 'floor', 'round', 'trunc']
    """
    ops = list(OPS.values())
    if family is not None:
        ops = _of_family(ops, family)
    if missing is not None:
        registry.get(missing)
    supplied = Supplied()
    reports = [_row(op, supplied) for op in sorted(ops, key=lambda op: (_home(op), op.name))]
    return tuple(
        report
        for report in reports
        if tier in (None, report.tier) and (missing is None or (report.tier and missing not in report.kernels))
    )


def describe_op(name: str) -> OpReport:
    """What a kernel of the op *name* is called with and has to give.

    *name* may be that of a public function that is an op. Raises ValueError, with the nearest names, if there is no
    such op.

    >>> import polyad
    >>> op = polyad.backends.describe_op("sum")
    >>> op.signature, op.dtypes[0].given, op.dtypes[0].results
    ('sum(input, dims, keepdim)', ('bool',), ('int64',))
    """
    found = _named(name)
    row = _row(found, Supplied())
    tables = tuple(_same_dtypes(found))
    taken = {given for table in tables for given in table.given}
    return OpReport(
        **{name: getattr(row, name) for name in ("name", "form", "tier", "family", "structure", "kernels")},
        functions=tuple(sorted(public.path for public in PUBLIC.loaded() if public.op is found)),
        signature=f"{found.name}({', '.join(found.names)})",
        operands={name: GIVEN[given] for name, given in found.operands.items()},
        params={name: _annotation(found, name) for name in found.params},
        outputs=found.outputs,
        differentiable=tuple(_differentiable(found)),
        meaning=found.doc,
        dtypes=tables,
        refused=tuple(dtype.name for dtype in ALL if dtype.name not in taken) if found.operands else (),
        promoted=tuple(_mixed_dtypes(found)),
        shape=_shape_rule(found),
        random=inspect.cleandoc(philox.__doc__ or "").partition("\n\n")[2] if _draws(found) else "",
        declaration=textwrap.dedent(inspect.getsource(found.definition)),
    )


def _named(name: str) -> Op:
    if name in OPS:
        return OPS[name]
    public = PUBLIC.get(name)
    behind = public and (public.op or public.fronts)
    if behind:
        return behind
    close = get_close_matches(name, OPS.names(), 3, 0.6)
    what = f"{name} is a function that calls several ops" if public else f"there is no op {name!r}"
    near = f"did you mean {' or '.join(close)}? " if close else ""
    raise ArgumentError(f"ops: {what}", fix=f"{near}`polyad ops` lists all")


def _of_family(ops: list[Op], family: str) -> list[Op]:
    chosen = [op for op in ops if f"{_home(op)}.".startswith(f"{family}.")]
    chosen = chosen or [op for op in ops if _home(op).rpartition(".")[2] == family]
    if not chosen:
        parts = {part for op in ops for part in (_home(op), *_home(op).split("."))}
        close = get_close_matches(family, parts, 3, 0.6)
        near = f"did you mean {' or '.join(close)}? " if close else ""
        raise ArgumentError(f"ops: no family is called {family!r}", fix=f"{near}`polyad ops` shows the families")
    return chosen


# ------------------------------------------------------------------------------------------------------------ kernels


class Supplied:
    """Who brings kernels for an op, by device type."""

    def __init__(self) -> None:
        self.backends = {}
        for name in registry.names():
            try:
                self.backends[name] = registry.get(name)
            except BackendError:
                continue  # `polyad doctor` says why

    def __call__(self, op: str) -> dict[str, tuple[str, ...]]:
        """The origins of the kernels for *op*, best first."""
        found = {
            name: tuple(kernel.origin for kernel in plugins.candidate_kernels(backend, op))
            for name, backend in self.backends.items()
        }
        return {name: origins for name, origins in found.items() if origins}


def _home(op: Op) -> str:
    return family_of(op.name) or op.module


def _row(op: Op, supplied: Supplied) -> OpReport:
    kernels = supplied(op.name) if op.kind != "view" else {}
    return OpReport(op.name, op.kind, TIERS[op.kind], _home(op), structure_in_words(op.structure), kernels)


def structure_in_words(structure: Structure) -> str:
    """A structure in a word or two: "reduction (sum) over dims"."""
    words = type(structure).__name__.lower()
    if isinstance(structure, Reduction) and structure.combine:
        words += f" ({structure.combine})"
    dims = structure.dims
    if isinstance(dims, Last):
        counted = isinstance(structure, (Pointwise, Creation, Random))
        return words if counted else f"{words} over the last {dims.count}"
    return words if dims is None else f"{words} over {'all' if dims == '*' else dims}"


def _differentiable(op: Op) -> Iterator[str]:
    names = list(op.operands)
    for formula in op.formulas:
        at = formula.position
        yield from names[at] if isinstance(at, slice) else [names[at]]


def _draws(op: Op) -> bool:
    return isinstance(op.structure, Random) or not {"seed", "generator"}.isdisjoint(op.params)


# ------------------------------------------------------------------------------------------------------------- dtypes


def _type(dtype: DType, zero_dim: bool = False) -> TensorType:
    return registry.tensor_type(dtype, HOST, zero_dim)


def _typing(op: Op, types: Signature, dtype: DType) -> Typing | None:
    """What the op's rule says; None if it refuses."""
    known: Mapping[str, Any] = {"dtype": dtype, "device": HOST, "reduce": "sum"}
    try:
        return op.dtype(types, {name: known.get(name) for name in (*op.keyed, *op.params)})
    except PolyadError:
        return None


def _called(entry: Any) -> str:
    """An operand's type as a table shows it."""
    if isinstance(entry, tuple):
        return _called(entry[0])
    if isinstance(entry, TensorType):
        return f"0-d {entry.dtype.name}" if entry.zero_dim else entry.dtype.name
    return "None" if entry is type(None) else str(entry.__name__)


def _row_of(op: Op, types: Signature, dtype: DType) -> DTypeRow | None:
    typing = _typing(op, types, dtype)
    if typing is None:
        return None
    computed = [
        "None" if entry is type(None) else cast.name if cast is not None else _called(entry).removeprefix("0-d ")
        for entry, cast in zip(types, typing.casts, strict=True)
    ]
    return DTypeRow(tuple(map(_called, types)), tuple(computed), tuple(one.name for one in typing.outputs))


def _same_dtypes(op: Op) -> Iterator[DTypeRow]:
    """A row for each dtype that operands may have, the other operands having it too if that is allowed."""
    if not op.operands:
        for dtype in ALL if "dtype" in op.keyed else (float32,):
            row = _row_of(op, (), dtype)
            if row is not None:
                yield row
        return
    for dtype in ALL:
        wanted = [
            [(_type(one), _type(one)) if given == "list" else _type(one) for one in (dtype, int64, bool_, float32)]
            for given in op.operands.values()
        ]
        for types in product(*wanted):
            if not any(entry.dtype is dtype for entry in flat(types)):
                continue
            row = _row_of(op, types, dtype)
            if row is not None:
                yield row
                break


def _mixed_dtypes(op: Op) -> Iterator[DTypeRow]:
    """Calls that show how dtypes promote, of an op whose rule casts."""
    given = list(op.operands.values())
    if len(given) < 2 or given[0] == "list":
        return
    pairs = [(int32, int64), (int64, float32), (float32, float64)]
    calls: list[tuple[Any, Any]] = [(_type(one), _type(other)) for one, other in pairs]
    calls += [(_type(float32), _type(float64, zero_dim=True))]
    if given[1] in ("number", "flexible"):
        calls += [(_type(one), number) for one, number in ((int64, float), (float32, float), (float32, complex))]
    absent = tuple(_type(float32) if one in ("tensor", "number", "flexible") else type(None) for one in given[2:])
    for pair in calls:
        row = _row_of(op, (*pair, *absent), float32)
        if row is not None and len(set(row.computed) - {"float", "complex"}) == 1:
            yield row


# ------------------------------------------------------------------------------------------------------------- shapes


def _shape_rule(op: Op) -> str:
    """The shape rule: in words where it follows from the structure, else its source."""
    if op.shape is None:
        return "as the layout says" if op.kind == "view" else "as the decomposition gives"
    if op.shape.__module__ == "polyad.dispatch.structure":
        if isinstance(op.structure, Reduction):
            keep = "stay as 1 with keepdim" if "keepdim" in op.params else "go"
            dims = op.structure.dims
            which = f"the last {dims.count} dimensions" if isinstance(dims, Last) else f"the dimensions {dims}"
            return f"input's; {'all dimensions' if dims == '*' else which} {keep}"
        return "input's" if len(op.operands) == 1 else "the operands' shapes, broadcast"
    sources = [textwrap.dedent(inspect.getsource(one)) for one in _with_what_it_calls(op.shape, [])]
    shown = [source.rstrip() for source in sources if source.startswith("def ")]
    return "\n\n".join(shown) or "shape= in the declaration"


def _with_what_it_calls(rule: Any, found: list[Any]) -> list[Any]:
    """*rule* and the functions that it calls of `polyad.ops` and of shapes' arithmetic, each once."""
    if rule not in found:
        found.append(rule)
        for name in rule.__code__.co_names:
            called = rule.__globals__.get(name)
            if inspect.isfunction(called) and (
                called.__module__.startswith("polyad.ops.") or called.__module__ == window_count.__module__
            ):
                _with_what_it_calls(called, found)
    return found


ALIASES = {"Sizes": "tuple[int, ...]", "Shape": "tuple[int, ...]"}
"""What declarations call some types of parameters."""


def _annotation(op: Op, name: str) -> str:
    annotation = op.signature.parameters[name].annotation
    text = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))
    return ALIASES.get(text, text)
