"""A captured graph as ONNX's: values, constants, nodes.

ONNX has neither memory nor views: a value is computed once. So a view is the value that it shows then, and a write is a
new value of the tensor that owns the memory, put together from what it held and what is written through the view; what
shows that memory afterwards is taken from there anew. `Translator.write` is the one place that does this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import polyad as torch
from polyad.devices import registry as devices
from polyad.graph import Graph, ModuleCall, Node, Value
from polyad.graph.expressions import Expression
from polyad.graph.structure import Ref, leaves_of

from ..errors import SymbolicValueError, UnsupportedOperatorError
from .element_types import array_of, element_type, onnx_ir
from .registry import PUTS, VIEWS, Table
from .sizing import Sizes

_BOOLS = {"Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Not", "And", "Or", "Xor", "IsNaN", "IsInf"}
_COUNTS = {"Shape", "Size", "ArgMax", "ArgMin", "NonZero"}


class Translator:
    """Writes the nodes of one graph; a body of control flow has a translator within its `outer` one.

    Attributes:
        graph: what is translated.
        table: the translations.
        opset: the version of ONNX's operators.
        place_before: the path of the module in which a body is used.
        calls: for each node the calls of modules that it is part of, which `chain` has at present.
        folding: whether weights may be rewritten, where one op alone uses them: `rearranged`.
        counted: values whose sizes follow from data, in a graph that has them as they were in the example.
        tensors: the constants by number. makers: the calls that make values; uses: how often these are used.
        domains: those of the operators that are not ONNX's own.
        node: the call that is being translated.
        nodes: what was written.
        initializers: constants by name.
        known: ONNX's values by the numbers of the graph's.
    """

    def __init__(self, graph: Graph, table: Table, outer: Translator | None = None, folding: bool = False) -> None:
        self.ir, self.graph, self.table, self.outer = onnx_ir(), graph, table, outer
        self.opset, self.place_before = table.opset, ""
        self.calls: dict[Any, tuple[ModuleCall, ...]] = {}
        self.chain: tuple[ModuleCall, ...] = ()
        self.domains: set[str] = set() if outer is None else outer.domains
        self.node: Node | None = None
        self.nodes: list[Any] = []
        self.known: dict[int, Any] = {}
        self.initializers: dict[str, Any] = {} if outer is None else outer.initializers
        self._constants: dict[Any, Any] = {} if outer is None else outer._constants
        self._taken: set[str] = set() if outer is None else outer._taken
        self.lengths = Sizes(self)
        self.folding = folding
        self.tensors = {one.value.number: one.tensor for one in graph.constants}
        self.counted: set[int] = set()
        self.makers = {number: node for node in graph.nodes for number in node.results}
        self.uses = Counter(number for node in graph.nodes for number in node.uses)
        self.uses.update(ref.number for ref in leaves_of(graph.outputs, Ref))
        self._shown: dict[int, tuple[int, Node]] = {}  # of a view: the tensor that it is of, and the call
        self._now: dict[int, Any] = {}  # what tensors hold, by the numbers of their first values

    # ------------------------------------------------------------------------------------------------ values

    def free_name(self, wanted: str) -> str:
        """*wanted*, with a number behind it if it is taken."""
        name, count = wanted, 0
        while name in self._taken:
            count += 1
            name = f"{wanted}_{count}"
        self._taken.add(name)
        return name

    def bind(self, number: int, value: Any) -> None:
        """Let *value* be ONNX's for the graph's value *number*."""
        seen = self.graph.values[number]
        if self.node is not None and not self.counted.isdisjoint(self.node.uses):
            self.counted.add(number)
        if value.producer() is not None:
            self.describe(value, seen.dtype, [None] * len(seen.shape) if number in self.counted else seen.sizes)
        self.known[number] = self._now[self._first(number)] = value

    def value(self, ref: Ref) -> Any:
        """ONNX's value for one of the graph's. Raises RuntimeError for what only a backward pass asks of a call."""
        found = self.known.get(ref.number)
        if found is None:
            raise unsupported(self.graph.name, self.opset, [self.makers[ref.number]])
        return found

    def follows_data(self) -> None:
        """Note that the sizes of the present call's first result follow from data."""
        if not isinstance(self.result.general, tuple):
            self.counted.add(self.result.number)

    def describe(self, value: Any, dtype: Any, shape: Sequence[Any]) -> None:
        """Say of what type *value* is."""
        value.type = self.ir.TensorType(element_type(dtype))
        value.shape = self.ir.Shape([size if size is None or isinstance(size, int) else str(size) for size in shape])

    def add_input(self, seen: Value, name: str | None = None) -> Any:
        """A new input of the graph, under the name that it has there unless another is given."""
        value = self.ir.Value(name=name or self.free_name(seen.name))
        self.describe(value, seen.dtype, seen.sizes)
        self.bind(seen.number, value)
        return value

    def add_initializer(self, name: str, tensor: Any, given: str | None = None) -> Any:
        """A value that is part of the model, under a free name unless one is *given*."""
        name = given or self.free_name(name)
        held = self.ir.Tensor(array_of(tensor), element_type(tensor.dtype), name=name)
        value = self.ir.Value(
            name=name, type=self.ir.TensorType(held.dtype), shape=self.ir.Shape(held.shape), const_value=held
        )
        self.initializers[name] = value
        return value

    def is_weight(self, *refs: Any) -> bool:
        """Whether all that is there of *refs* are constants that the present call alone uses, and may be rewritten."""
        given = [ref.number for ref in refs if ref is not None]
        return self.folding and all(number in self.tensors and self.uses[number] == 1 for number in given)

    def rearranged(self, ref: Ref, suffix: str, change: Callable[[Any], Any]) -> Any:
        """A weight as *change* makes it of the one that is there; None if that is no weight."""
        if not self.is_weight(ref):
            return None
        with torch.no_grad():
            tensor = change(self.tensors[ref.number].detach())
        return self.add_initializer(f"{self.graph.values[ref.number].name}{suffix}", tensor)

    def replaced_weight(self, ref: Ref, tensor: Any) -> Any:
        """Another tensor under the name of a weight that nothing uses any more."""
        name = self.known[ref.number].name
        del self.initializers[name]
        return self.add_initializer(name, tensor, given=name)

    def constant(self, data: Any, dtype: Any) -> Any:
        """A number, or nested numbers, as a value."""
        tensor = data if isinstance(data, torch.Tensor) else torch.tensor(data, dtype=dtype)
        key = (tensor.dtype, tuple(tensor.shape), array_of(tensor).tobytes())
        if key not in self._constants:
            self._constants[key] = self.add_initializer("constant", tensor)
        return self._constants[key]

    def ints(self, *numbers: int) -> Any:
        """A list of int64, such as a shape or axes."""
        return self.constant(list(numbers), torch.int64)

    def size(self, size: Any) -> Any:
        """A size as a value of no dimension."""
        return self.lengths.number(size, torch.int64)

    def number(self, number: Any, dtype: Any) -> Any:
        """A number that may follow from sizes, as a value of no dimension."""
        return self.lengths.number(number, dtype)

    def sizes(self, sizes: Sequence[Any]) -> Any:
        """A shape as a value, a list of int64."""
        return self.lengths.list(sizes)

    # ------------------------------------------------------------------------------------------------ nodes

    @property
    def place(self) -> str:
        """The path of the module whose call is being translated."""
        if self.node is not None and self.node.modules:
            return self.node.modules[-1].path
        return self.place_before

    def op(
        self, op_type: str, *inputs: Any, count: int = 1, dtype: Any = None, domain: str = "", **attributes: Any
    ) -> Any:
        """The result of a new node, or a tuple of *count* results. Results have the first input's dtype unless the
        operator or *dtype* says otherwise. An attribute that is None is left out; ``dtype_`` is the attribute dtype.
        """
        operands = self._without_absent(inputs)
        given = {key.rstrip("_"): value for key, value in attributes.items() if value is not None}
        for name, value in given.items():  # the package asks each item what it is, by its protocols
            if type(value) in (list, tuple) and value and all(type(item) is int for item in value):
                given[name] = self.ir.AttrInt64s(name, value)
        base = self.free_name(f"{self.place}/{op_type}" if self.place else op_type)
        node = self.ir.node(op_type, operands, given, domain=domain, num_outputs=count, name=base)
        self.nodes.append(node)
        self.calls[node] = self.chain
        if domain:
            self.domains.add(domain)
        for position, value in enumerate(node.outputs):
            value.name = self.free_name(f"{base}_output_{position}" if count > 1 else f"{base}_output")
            value.type = self._result_type(op_type, operands, dtype)
        return node.outputs[0] if count == 1 else tuple(node.outputs)

    @staticmethod
    def _without_absent(inputs: tuple[Any, ...]) -> list[Any]:
        found = list(inputs)
        while found and found[-1] is None:
            found.pop()
        return found

    def _result_type(self, op_type: str, inputs: Sequence[Any], dtype: Any) -> Any:
        if dtype is None:
            dtype = torch.bool if op_type in _BOOLS else torch.int64 if op_type in _COUNTS else None
        if dtype is not None:
            return self.ir.TensorType(element_type(dtype))
        given = next((value.type for value in inputs if value is not None and value.type is not None), None)
        return None if given is None else self.ir.TensorType(given.dtype)

    def cast(self, value: Any, dtype: Any) -> Any:
        """*value* in another dtype; itself if it has that."""
        wanted = element_type(dtype)
        if value.type is not None and value.type.dtype == wanted:
            return value
        result = self.op("Cast", value, to=int(wanted), dtype=dtype)
        result.shape = value.shape
        return result

    # ------------------------------------------------------------------------------------------------ calls

    def run(self) -> None:
        """Translate all calls. Raises RuntimeError that names every op which has no form in ONNX."""
        lacking = list(untranslatable(self.graph, self.table))
        if lacking:
            raise unsupported(self.graph.name, self.opset, lacking)
        for node in self.graph.nodes:
            self.node, self.chain = node, node.modules
            self._call(node)
        self.node = None

    def _call(self, node: Node) -> None:
        if node.name in VIEWS:
            return self._view(node)
        function = self.table.found(node.name, _values_of(self.graph, node))
        assert function is not None
        result = function(self, *self._given(node))
        if result is None:
            return None
        numbers = node.results
        values = result if isinstance(result, (tuple, list)) else (result,)
        for number, value in zip(numbers, values, strict=True):
            if value is not None:
                self.bind(number, value)

    def _given(self, node: Node) -> list[Any]:
        """What a translation is called with."""
        op: Any = node.op
        operands = node.operands
        if op.kind == "effect":
            return list(node.args)
        values = [_with_values(arg, self.graph.values) for arg in operands]
        types = tuple([_type_of(value, self.lengths) for value in values])
        keyed = {name: node.params[name] for name in op.keyed}
        casts = op.dtype(types, keyed).casts
        like = next((value.dtype for value in values if isinstance(value, Value)), None)
        found = [
            self._operand(arg, cast or like) if not isinstance(arg, (list, tuple)) or isinstance(arg, Ref) else
            [None if one is None else self._operand(one, cast) for one in arg]
            for arg, cast in zip(operands, casts, strict=True)
        ]  # fmt: skip
        for place, (arg, cast) in enumerate(zip(operands, casts, strict=True)):
            if isinstance(arg, Ref) and cast is None:
                found[place] = self.value(arg)
        return [*found, *node.params.values()]

    def _operand(self, arg: Any, dtype: Any) -> Any:
        if arg is None:
            return None
        if not isinstance(arg, Ref):
            return self.number(arg, dtype)
        value = self.value(arg)
        return value if dtype is None else self.cast(value, dtype)

    # ------------------------------------------------------------------------------------------------ memory

    def _first(self, number: int) -> int:
        """The number of the first value of the tensor of which this is a value."""
        while (earlier := self.graph.values[number].earlier) is not None:
            number = earlier
        return number

    def _view(self, node: Node) -> None:
        """Translate a view; its result shows the memory of another tensor."""
        (number,) = node.results
        source = self.source(node)
        self._shown[self._first(number)] = source, node
        self.bind(number, self._shows(node, self._held(source)))

    def source(self, node: Node) -> int:
        """The tensor of which a view is; of a layout over the whole memory, that which owns it."""
        source = self._first(node.args[0].number)
        while node.name == "as_strided" and source in self._shown:
            source = self._shown[source][0]
        return source

    def write(self, target: Ref, content: Any) -> None:
        """Let the tensor *target* hold *content* from here on, and all that shows its memory what follows from that."""
        assert self.node is not None
        tensor, held = self._first(target.number), {}
        while tensor in self._shown:
            held[tensor] = content
            source, call = self._shown[tensor]
            content = self._puts(call, self._held(source), content)
            tensor = source
        seen = self.graph.values[tensor]
        if content.producer() is not None:
            self.describe(content, seen.dtype, seen.sizes)
        held[tensor] = content
        place = self.graph.values[target.number].storage.number
        others = [number for number in self._now if self.graph.values[number].storage.number == place]
        for number in others:
            if number != tensor and number not in self._shown:
                raise unsupported(self.graph.name, self.opset, [self.node])
            del self._now[number]
        self._now.update(held)
        for number in self.node.makes:
            self.known[number] = self._held(self._first(number))

    def _held(self, tensor: int) -> Any:
        """What a tensor holds now."""
        if tensor not in self._now:
            source, call = self._shown[tensor]
            self._now[tensor] = self._shows(call, self._held(source))
        return self._now[tensor]

    def _shows(self, call: Node, source: Any) -> Any:
        """What a view shows of *source*."""
        before, self.node = self.node, call
        try:
            value = VIEWS[call.name](self, source, *call.args[1:])
        finally:
            self.node = before
        if value.producer() is not None:
            seen = self.graph.values[call.results[0]]
            self.describe(value, seen.dtype, seen.sizes)
        return value

    def _puts(self, call: Node, source: Any, content: Any) -> Any:
        """*source* with *content* where a view shows it."""
        before, self.node = self.node, call
        try:
            value = PUTS[call.name](self, source, content, *call.args[1:])
        finally:
            self.node = before
        seen = self.graph.values[self.source(call)]
        self.describe(value, seen.dtype, seen.sizes)
        return value

    def sizes_of(self, ref: Ref) -> tuple[Any, ...]:
        """The sizes of a tensor of the graph."""
        return self.graph.values[ref.number].sizes

    @property
    def result(self) -> Value:
        """The first result of the call that is being translated."""
        assert self.node is not None
        return self.graph.values[self.node.results[0]]


def untranslatable(graph: Graph, table: Table) -> Iterator[Node]:
    """The calls in a graph and in the functions of control flow in it that have no translation."""
    for node in graph.nodes:
        known = node.name in VIEWS or table.found(node.name, _values_of(graph, node)) is not None
        if not known or any(graph.values[number].dtype.is_complex for number in (*node.uses, *node.makes)):
            yield node  # runtimes have no complex numbers
        for body in node.bodies:
            yield from untranslatable(body, table)


def _values_of(graph: Graph, node: Node) -> tuple[Any, ...]:
    """The arguments of *node*, with the graph's values in their places."""
    return tuple([_with_values(arg, graph.values) for arg in node.args])


def _with_values(arg: Any, values: Sequence[Value]) -> Any:
    if isinstance(arg, Ref):
        return values[arg.number]
    if isinstance(arg, (list, tuple)) and leaves_of(arg, Ref):
        return [_with_values(one, values) for one in arg]
    return arg


def _type_of(value: Any, lengths: Sizes) -> Any:
    """An operand's entry in a call's signature."""
    if isinstance(value, Value):
        return devices.tensor_type(value.dtype, value.device, not value.shape)
    if isinstance(value, Expression):
        return float if lengths.has_fractions(value) else int
    return tuple([_type_of(one, lengths) for one in value]) if isinstance(value, (list, tuple)) else type(value)


def unsizable(what: str, node: Node) -> SymbolicValueError:
    """The error for a call that has a form for fixed sizes alone."""
    path = {"in": node.modules[-1].path} if node.modules else {}
    return SymbolicValueError(
        f"onnx.export: {what} can be written for fixed sizes alone",
        notes={"op": node.name, **path, **({"line": node.line} if node.line else {})},
        fix="leave these dimensions out of dynamic_shapes, or write it in other ops",
    )


def unsupported(name: str, opset: int, nodes: Sequence[Node]) -> UnsupportedOperatorError:
    """The error for calls that cannot be written."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        path = ".".join([node.modules[-1].path]) if node.modules else name
        place = f"{path} ({node.line})" if node.line else path
        if place not in found.setdefault(node.name, []):
            found[node.name].append(place)
    count = len(found)
    return UnsupportedOperatorError(
        f"onnx.export: {count} op{'s have' if count > 1 else ' has'} no form in ONNX's opset {opset}: "
        + ", ".join(sorted(found)),
        notes={
            op: "in " + "; ".join(places[:4]) + ("; ..." if len(places) > 4 else "") for op, places in found.items()
        },
        fix="pass custom_translation_table={op: function}, or compute this outside of the exported model",
    )
