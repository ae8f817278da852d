"""How a graph prints: a line a storage, an input, a constant and a call, results at the right, remarks behind a ``#``.

    graph 1 of "scaled" (%x, by=2)
        %x                    float32 (2,) on cpu in s0             # input
        %0 = mul(%x, 2)       float32 (2,) on cpu in s1             # model.py:12
        %0@1 = add_(%0, 1)    float32 (2,) on cpu in s1@1           # model.py:13
        return %0@1

The functions of control flow, ``%2 = cond(%p, body(0), body(1), (%x,))``, are graphs, written below the call and deeper
by two steps.

``%0@1`` is tensor 0 after its first change, ``s1@1`` storage 1 after the first write to it. ``by (1, 2)`` are strides
that are not row-major, ``from 4`` is an offset. ``%a@1; %b@1 = add_(...)``: the call also changes what %b shows. Memory
that is larger than what is shown of it has a line, ``s0  96 bytes``, and so has each call of a submodule, which nodes
then name, and each number that a replay reads: ``$lr  float  # 0.1 from "SGD.param_groups[0]['lr']"``. A call that
``draws 2 from 5`` gets two blocks of four random words, the first of them five blocks behind where the generator stood
when the whole call began; ``default_generator  ends at 7`` says where it stands afterwards. A graph for all sizes has
a line for each symbol, ``batch  size  # dim 0 of %x, captured 4, 5, 9, from 2 to 64``, and expressions such as
``2*batch`` in shapes and arguments; strides and offsets are those of the sizes that were captured first.

Invariant: `polyad.graph.parse` reads what is written in full as an equal graph, whose text is the same. What has no
text, such as a function of the program's, is written in angle brackets, which is refused by name.
"""

from __future__ import annotations

import base64
import importlib
import json
import math
import re
from collections.abc import Callable, Mapping
from enum import IntEnum
from typing import Any

from ..base.device import Device
from ..base.dtypes import DType
from ..base.memory_formats import MemoryFormat, MemoryLayout
from ..base.shapes_and_strides import contiguous_strides
from ..dispatch.effects import EFFECTS, Effect, Result
from ..dispatch.inplace import InPlace, inplace_effect
from ..dispatch.op import ATTRIBUTES, OPS, PUBLIC, Op
from ..random.generator import Generator
from .building import ends_of
from .expressions import Expression, names_of
from .graph import Graph, Node
from .number_lines import written_draws, written_end, written_number
from .size_lines import written_symbol
from .structure import NumberRef, Ref
from .values import Refusal, Scalar, Value

VERSION = 4
"""The version of the text: raised when something is written that earlier readers do not know. A graph is written in the
earliest that says it: since 2 calls have bodies, and there are numbers; since 3 there are symbols, since 4 some that
follow from data.
"""
BODY = " " * 8
"""What the lines of a call's bodies begin with."""

PLAIN_NAME = re.compile(r"[A-Za-z_0-9][\w.]*(?:\[\d+\])*", re.ASCII)
PLAIN_LINE = re.compile(r"[^\s,\"]+:\d+")
WIDEST = 60
FEW = 16
"""Numbers that are written one by one; more are written as bytes."""

FRIENDS = {"anywhere": "any", "check_all": "any", "to_device": "to", "scan": "cond", "map": "cond"}
"""Names of the catalogue that modules declare beside effects of other names."""


def written(graph: Graph, exact: bool) -> str:
    """The text of a graph; unless *exact*, long data is cut."""
    return _Writer(graph, exact).text()


def general(graph: Graph) -> bool:
    """Whether there are expressions of sizes in it."""
    return (
        bool(graph.symbols)
        or any(value.general for value in graph.values)
        or bool(names_of([node.args for node in graph]))
    )


def labels_of(values: list[Value]) -> list[str]:
    """What each value is called: its tensor's name, and which of the tensor's values it is, if not the first."""
    counts: list[int] = []
    labels = []
    for value in values:
        counts.append(0 if value.earlier is None else counts[value.earlier] + 1)
        name = value.name if PLAIN_NAME.fullmatch(value.name) else json.dumps(value.name)
        labels.append(f"%{name}@{counts[-1]}" if counts[-1] else f"%{name}")
    return labels


class _Writer:
    def __init__(self, graph: Graph, exact: bool, generators: dict[int, str] | None = None) -> None:
        self.graph, self.exact, self.checks = graph, exact, False
        self.labels = labels_of(graph.values)
        self.bodies: list[Graph] = []
        own = {id(one): name for name, one in graph.state.items() if isinstance(one, Generator)}
        self.generators = own if generators is None else generators

    def text(self) -> str:
        graph = self.graph
        ends = ends_of(graph.values)
        larger = [one for one in graph.storages if one.nbytes != ends[one.number]]
        rows = [(one.name, "size", written_symbol(one, self.labels[one.value])) for one in graph.symbols]
        rows += [(f"s{one.number}", f"{one.nbytes} bytes", "") for one in larger]
        rows += [(self.labels[value.number], self.described(value), "# input") for value in graph.inputs]
        for constant in graph.constants:
            remark = "# constant, by reference" + ("" if constant.fixed else ", resized")
            rows.append((self.labels[constant.value.number], self.described(constant.value), remark))
        rows += [(f"${one.name}", "float", written_number(one)) for one in graph.numbers]
        rows += [(self.literal(one), written_end(place), "") for one, place in graph.ends]
        rows += [(f"call {one.number}", f"{one.class_name} {json.dumps(one.path)}", "") for one in self.calls()]
        first = len(rows)
        rows += [self.row(node) for node in graph.nodes]
        widths = [min(WIDEST, max((len(row[column]) for row in rows), default=0)) for column in (0, 1)]
        lines = [f"    {left:<{widths[0]}}  {right:<{widths[1]}}  {remark}".rstrip() for left, right, remark in rows]
        for at in reversed(range(len(graph.nodes))):
            lines[first + at + 1 : first + at + 1] = self.below(graph.nodes[at])
        args, kwargs = graph.arguments
        by_data = any(one.data for one in graph.symbols)
        since_2 = bool(graph.numbers) or any(node.bodies for node in graph.nodes)
        version = 4 if by_data else 3 if general(graph) else 1 + since_2
        head = f"graph {version} of {json.dumps(graph.name)} ({self.given(args, kwargs)})"
        return "\n".join([head, *lines, f"    return {self.literal(graph.outputs)}"])

    def below(self, node: Node) -> list[str]:
        """The lines of a call's bodies."""
        texts = [_Writer(body, self.exact, self.generators).text() for body in node.bodies]
        return [BODY + line for text in texts for line in text.split("\n")]

    def calls(self) -> Any:
        found = {call.number: call for node in self.graph.nodes for call in node.modules}
        return [found[number] for number in sorted(found)]

    def row(self, node: Node) -> tuple[str, str, str]:
        results = [self.graph.values[number] for number in node.results]
        left = ""
        if isinstance(node.outputs, Scalar):
            left = "$"
        elif node.results:
            left = self.literal(node.outputs)
            if type(node.outputs) is tuple and len(node.outputs) > 1 and isinstance(node.outputs[0], Ref):
                left = left[1:-1]
        left += "".join(f"; {self.labels[number]}" for number in node.renewed)
        right = "; ".join(self.described(value) for value in results)
        if isinstance(node.outputs, Scalar):
            right = node.outputs.type_name
        return f"{left} = {self.called(node)}" if left else self.called(node), right, self.remarks(node)

    def described(self, value: Value) -> str:
        shape, strides, offset = value.layout
        text = f"{value} in s{value.storage.number}" + (f"@{value.version}" if value.version else "")
        if strides != contiguous_strides(shape):
            text += f" by {strides}"
        if offset:
            text += f" from {offset}"
        return text + (", requires grad" if value.requires_grad else "")

    def remarks(self, node: Node) -> str:
        parts = ["" if node.grad is None else "enable_grad" if node.grad else "no_grad"]
        if isinstance(node.outputs, Scalar):
            parts.append(f"baked in: {self.name(node.outputs.baked)}")
        if node.draws is not None:
            parts.append(written_draws(node.draws))
        if node.modules:
            parts.append("in call " + " ".join(str(call.number) for call in node.modules))
        if node.line:
            parts.append(node.line if PLAIN_LINE.fullmatch(node.line) else json.dumps(node.line))
        text = ", ".join(filter(None, parts))
        return f"# {text}" if text else ""

    def called(self, node: Node) -> str:
        self.bodies.clear()
        self.checks = isinstance(node.op, Effect) and node.op.result is Result.CHECK
        if isinstance(node.op, Effect):
            args, kwargs = node.op.arguments(node.args)
        else:
            count = len(node.op.operands)
            args, kwargs = node.args[:count], dict(zip(node.op.params, node.args[count:], strict=True))
        return f"{name_of(node.op) or f'<{node.name}>'}({self.given(args, kwargs)})"

    def given(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        named = (f"{self.name(key)}={self.literal(value)}" for key, value in kwargs.items())
        return ", ".join([*map(self.literal, args), *named])

    @staticmethod
    def name(text: str) -> str:
        return text if re.fullmatch(r"[A-Za-z_]\w*", text, re.ASCII) else json.dumps(text)

    def literal(self, item: Any) -> str:
        if isinstance(item, Ref):
            return self.labels[item.number]
        if isinstance(item, NumberRef):
            return f"${item.name}"
        if isinstance(item, Expression):
            return str(item)
        if isinstance(item, (list, tuple)):
            return self.sequence(item)
        if isinstance(item, dict):
            return "{" + ", ".join(f"{self.literal(key)}: {self.literal(item[key])}" for key in item) + "}"
        if isinstance(item, IntEnum):
            item = int(item)
        plain = PLAIN.get(type(item))
        if plain is not None:
            return plain(item)
        if isinstance(item, Graph):
            self.bodies.append(item)
            return f"body({len(self.bodies) - 1})"
        if isinstance(item, Generator):
            name = self.generators.get(id(item))
            return "default_generator" if name is None else f"generator({name.rpartition(' ')[2]})"
        if hasattr(item, "shape") and hasattr(item, "tolist") and hasattr(item, "tobytes"):
            return self.data(item)
        if isinstance(item, Refusal) or (callable(item) and self.checks):
            refusal = item if isinstance(item, Refusal) else Refusal.from_example(item)
            return f"refusal({json.dumps(refusal.kind.__name__)}, {json.dumps(refusal.title)})"
        text = repr(getattr(item, "__qualname__", item))
        return f"<{text if len(text) <= WIDEST else text[: WIDEST - 3] + '...'}>"

    def sequence(self, item: Any) -> str:
        fields = getattr(item, "_fields", None)
        if fields:
            inner = ", ".join(f"{name}={self.literal(part)}" for name, part in zip(fields, item, strict=True))
            return f"{type(item).__name__}({inner})"
        inner = ", ".join(map(self.literal, item))
        return f"[{inner}]" if isinstance(item, list) else f"({inner}{',' if len(item) == 1 else ''})"

    def data(self, item: Any) -> str:
        """Data of the host's, which a call brings in."""
        from ..interop.numpy import polyad_dtype

        dtype, shape = polyad_dtype(item.dtype).name, tuple(item.shape)
        if 0 < math.prod(shape) <= FEW:
            return f"data({dtype}, {self.literal(item.tolist())})"
        if not self.exact:
            return f"<data of shape {shape}>"
        return f"data({dtype}, {shape}, {json.dumps(base64.b64encode(item.tobytes()).decode())})"


PLAIN: dict[type, Callable[[Any], str]] = {
    type(None): repr,
    bool: repr,
    int: repr,
    float: repr,
    complex: lambda number: f"complex({number.real!r}, {number.imag!r})",
    str: json.dumps,
    slice: lambda cut: f"slice({cut.start!r}, {cut.stop!r}, {cut.step!r})",
    type(...): lambda _: "...",
    DType: lambda dtype: dtype.name,
    Device: lambda device: f"device({json.dumps(str(device))})",
    MemoryFormat: lambda layout: layout.name,
    MemoryLayout: lambda layout: layout.name,
}
"""The text of what has one everywhere, by exact type."""


def name_of(op: Op | Effect) -> str | None:
    """What *op* is called in the text; None for a function of the program's own, and what became of it as an op.

    The in-place form of what is no public function says whose result it writes: ``selu_:elu``.
    """
    name = op.name
    if isinstance(op, InPlace) and named(name) is None:
        computes = getattr(op.function, "__polyad_op__", None)
        name = f"{name}:{computes.name}" if computes is not None else name
    found = named(name)
    if isinstance(op, InPlace) and isinstance(found, InPlace):
        return name if op.function in (found.function, getattr(found.op, "call", None)) else None
    return name if found is op else None


LATE = ("polyad.autograd.function", "polyad.autograd.gradients", "polyad.optim.update")
"""Modules that declare effects and no names of the catalogue."""


def named(name: str) -> Op | Effect | None:
    """The op or effect that is called *name* in the text; None if there is none."""
    if name in OPS:
        return OPS[name]
    name, writes, computes = name.partition(":")
    if writes:
        op = OPS.get(computes)
        return None if op is None else inplace_effect(name, op.call, op)
    for catalogue in (PUBLIC, ATTRIBUTES):  # this loads the module that declares the effect
        catalogue.get(FRIENDS.get(name, name))
    for module in LATE if name not in EFFECTS else ():
        importlib.import_module(module)
    if name in EFFECTS:
        return EFFECTS[name]
    for path in (name[:-1], f"Tensor.{name[:-1]}"):
        public = PUBLIC.get(path) if name.endswith("_") else None
        if public is not None and public.inplace:
            return inplace_effect(name, public.call, public.op or public.fronts)
    return None
