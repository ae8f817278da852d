"""From a graph of ONNX to a list of calls.

What the model's functions and the bodies of ONNX's own operators hold is planned in place; graphs that nodes hold
(branches, bodies of loops) are blocks of their own, which are handed the values that they take from outside.

A plan holds for one device. Everything that is decided by the file alone is decided here: attributes, shapes that are
written in the file, operators that there are none of. The latter are named all at once.

Arithmetic of shapes is done on the host: a value that is made of shapes and small constants alone is an array of
NumPy's, and becomes a tensor of the device where a node wants one (`ops/shapes.py` lists the operators for which this
is so).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import onnx

from polyad.errors import PolyadError, SerializationError, safe_repr

from . import bodies
from .blocks import Block, Step
from .elements import ElementType, array_of, element_type, from_array
from .fusing import fuse
from .operators import DOMAINS, Node, NotComputed, Operator, described, find, find_on_host

__all__ = ["Planner"]

MOST_NODES = 500_000
"""How many nodes a plan may have: functions that call functions can double their number with each line of a file."""

SMALL = 1024
"""Elements up to which a constant counts as part of shape arithmetic."""

Array = Callable[[], np.ndarray]


class _Scope:
    """The names that are seen from a place in a file, and what is known of their values."""

    def __init__(self, block: Block, parent: _Scope | None = None, captures: list[int] | None = None) -> None:
        self.block = block
        self.parent = parent
        self.captures = captures if captures is not None else []
        """Values of the parent's block that the node which holds this graph is handed."""
        self.slots: dict[str, int] = {}
        self.declared: dict[str, ElementType] = {}
        self.kinds: dict[int, ElementType] = {}
        self.constants: dict[int, Array] = {}
        self.small: set[int] = set()
        """Which constants may take part in the arithmetic of shapes."""
        self.single: set[int] = set()
        """Which constants have one element."""
        self.hosts: set[int] = set()
        """Which values are arrays on the host."""
        self.converted: dict[tuple[str, int], int] = {}
        """The numbers of values in another form: as tensors, as Python's numbers."""

    def of_function(self) -> _Scope:
        """The scope of a function's body, which is computed in the same block and sees no names from outside."""
        scope = _Scope(self.block)
        scope.kinds, scope.constants, scope.small = self.kinds, self.constants, self.small
        scope.single, scope.hosts, scope.converted = self.single, self.hosts, self.converted
        return scope

    def define(self, name: str) -> int:
        slot = len(self.block.template)
        self.block.template.append(None)
        if name:
            self.slots[name] = slot
            if name in self.declared:
                self.kinds[slot] = self.declared[name]
        return slot

    def find(self, name: str) -> int | None:
        """The number of a value, which is taken from outside if it is made there."""
        if name in self.slots:
            return self.slots[name]
        outside = self.parent.find(name) if self.parent is not None else None
        if outside is None:
            return None
        assert self.parent is not None
        slot = self.define(name)
        if outside not in self.captures:
            self.captures.append(outside)
        self.block.outer.append((self.captures.index(outside), slot))
        for known in ("kinds", "constants"):
            if outside in getattr(self.parent, known):
                getattr(self, known)[slot] = getattr(self.parent, known)[outside]
        for known in ("small", "single", "hosts"):
            if outside in getattr(self.parent, known):
                getattr(self, known).add(slot)
        return slot


class Planner:
    """Plans one model for one device."""

    def __init__(
        self, versions: Mapping[str, int], functions: Mapping[tuple[str, str, str], onnx.FunctionProto], device: Any
    ) -> None:
        self.versions = dict(versions)
        self.functions = functions
        self.device = device
        self.missing: dict[str, None] = {}
        self.planned = 0
        self.active: list[str] = []
        self.state: dict[str, tuple[int, onnx.TensorProto]] = {}
        """The tensors of the file: where in the plan each is put before it is computed."""
        self.structural: set[str] = set()
        """Those of them that are part of the plan, since their numbers are shapes or the like."""
        self.statistics: set[str] = set()
        """Those that are no parameters: statistics, scales of quantised numbers."""
        self.paths: dict[Array, str] = {}

    # ------------------------------------------------------------------------------------------------ graphs
    def model(self, graph: onnx.GraphProto) -> Block:
        """The block of a model's own graph. Raises one error for all operators that there are none of."""
        self.root = _Scope(Block())
        block = self.graph(graph, self.root, "")
        if self.missing:
            names = list(self.missing)
            notes = {str(index): name for index, name in enumerate(names[:50], 1)}
            raise NotComputed(
                f"onnx.load: {len(names)} node(s) of the model have operators that polyad does not compute",
                notes=notes,
                fix="export the model without these operators, or with another opset_version",
            )
        shapes = {slot: tuple(tensor.dims) for slot, tensor in self.state.values()}
        fuse(block, shapes, lambda slot: read() if (read := self.scalar(slot, self.root)) else None)
        for path in self.structural:
            slot, tensor = self.state.pop(path)
            block.template[slot] = from_array(array_of(tensor)).to(self.device)
        block.free_early()
        return block

    def graph(self, graph: onnx.GraphProto, scope: _Scope, path: str) -> Block:
        """Plan *graph* into the scope's block; *path* begins the names of its tensors."""
        block = scope.block
        for value in (*graph.input, *graph.value_info, *graph.output):
            self.declare(value, scope)
        held = {tensor.name for tensor in graph.initializer} | {each.values.name for each in graph.sparse_initializer}
        for value in graph.input:
            if path or value.name not in held:
                self.distinct(value.name, scope, "input")
                block.inputs.append(scope.define(value.name))
        for tensor in (*graph.initializer, *(bodies.dense(each) for each in graph.sparse_initializer)):
            self.distinct(tensor.name, scope, "initializer")
            self.initial(tensor, scope, path + tensor.name)
        for index, node in enumerate(graph.node):
            self.node(node, scope, f"{path}{node.name or index}/")
        for value in graph.output:
            slot = self.slot(value.name, scope, f"output {safe_repr(value.name)}")
            block.outputs.append(self.as_tensor(slot, scope, onnx.NodeProto(op_type="output", name=value.name)))
        if scope is not self.root:
            block.free_early()
        return block

    def distinct(self, name: str, scope: _Scope, what: str) -> None:
        """Refuse a name that another value of the graph has."""
        if name in scope.slots:
            raise SerializationError(
                f"onnx.load: {what} {safe_repr(name)}: another value of the graph has this name",
                fix="the model is damaged: use another copy, or export it again",
            )

    def declare(self, value: onnx.ValueInfoProto, scope: _Scope) -> None:
        """Note what the file says of the elements of a value."""
        if value.type.WhichOneof("value") == "tensor_type" and value.type.tensor_type.elem_type:
            code = value.type.tensor_type.elem_type
            scope.declared[value.name] = element_type(code, f"value {safe_repr(value.name)}")

    def initial(self, tensor: onnx.TensorProto, scope: _Scope, path: str) -> None:
        """A tensor of the file. It belongs to the model; graphs inside are handed it."""
        kind = element_type(tensor.data_type, f"initializer {safe_repr(tensor.name)}")
        name = tensor.name if scope is self.root else f"\0{path}"
        top = self.root.define(name)
        self.root.kinds[top] = kind
        self.state[path] = top, tensor
        read: Array = lambda: array_of(tensor, "initializer")  # noqa: E731
        self.paths[read] = path
        self.root.constants[top] = read
        if _few(tensor) and not kind.dtype.is_floating_point:
            self.root.small.add(top)
        if all(size == 1 for size in tensor.dims):
            self.root.single.add(top)
        if scope is not self.root:
            found = scope.find(name)
            assert found is not None
            scope.slots[tensor.name] = found

    def slot(self, name: str, scope: _Scope, who: str) -> int:
        """The number of the value *name*, which must have been made."""
        found = scope.find(name)
        if found is None:
            raise SerializationError(
                f"onnx.load: {who}: value {safe_repr(name)} is made by no node before it",
                fix="nodes must be in the order in which they are computed, without cycles; the model is damaged or "
                "was put together wrongly",
            )
        return found

    def step(self, scope: _Scope, call: Any, inputs: list[int], node: onnx.NodeProto, outputs: list[int]) -> None:
        """Append a call to the scope's block."""
        scope.block.steps.append(Step(call, tuple(inputs), tuple(outputs), node))

    # ------------------------------------------------------------------------------------------------ forms of values
    def constant(self, slot: int, scope: _Scope) -> np.ndarray:
        """The numbers of a constant, which becomes part of the plan thereby."""
        read = scope.constants[slot]
        if read in self.paths:
            self.structural.add(self.paths[read])
        return read()

    def converted(self, form: str, slot: int, scope: _Scope, node: onnx.NodeProto, call: Any) -> int:
        """The number of a value in another form, into which a step brings it once."""
        key = form, slot
        if key not in scope.converted:
            scope.converted[key] = new = scope.define("")
            self.step(scope, call, [slot], node, [new])
        return scope.converted[key]

    def as_tensor(self, slot: int, scope: _Scope, node: onnx.NodeProto) -> int:
        """The number of a value as a tensor of the device."""
        if slot not in scope.hosts:
            return slot
        if slot in scope.constants:
            return self.fixed(slot, scope, "tensor", lambda array: from_array(array).to(self.device))
        device = self.device
        return self.converted("tensor", slot, scope, node, lambda array: from_array(np.asarray(array)).to(device))

    def as_array(self, slot: int, scope: _Scope) -> int:
        """The number of a value of the host, or of a constant, as an array."""
        if slot in scope.hosts:
            return slot
        return self.fixed(slot, scope, "array", lambda array: array)

    def as_numbers(self, slot: int, scope: _Scope, node: onnx.NodeProto) -> int:
        """The number of a value as Python's numbers: what is wanted of shapes and axes."""
        if slot == 0:
            return 0
        if slot in scope.constants:
            return self.fixed(slot, scope, "numbers", _numbers)
        return self.converted("numbers", slot, scope, node, _numbers)

    def fixed(self, slot: int, scope: _Scope, form: str, change: Callable[[np.ndarray], Any]) -> int:
        """The number of a constant in another form."""
        key = form, slot
        if key not in scope.converted:
            scope.converted[key] = new = scope.define("")
            scope.block.template[new] = change(self.constant(slot, scope))
        return scope.converted[key]

    # ------------------------------------------------------------------------------------------------ nodes
    def node(self, proto: onnx.NodeProto, scope: _Scope, path: str) -> None:
        """Plan one node. What nobody foresaw of a damaged file is said of the node that it is in."""
        try:
            self.plan(proto, scope, path)
        except (LookupError, TypeError, ValueError, ArithmeticError, RecursionError) as error:
            if isinstance(error, PolyadError):
                raise
            raise SerializationError(
                f"onnx.load: node {described(proto)}: its inputs, outputs and attributes do not fit together",
                notes={"found": f"{type(error).__name__}: {error}"},
                fix="the model is damaged or was put together wrongly: use another copy, or export it again",
            ) from error

    def plan(self, proto: onnx.NodeProto, scope: _Scope, path: str) -> None:
        """Plan one node: by a function of the model, on the host, by an entry of the table, or by ONNX's body."""
        self.planned += 1
        if self.planned > MOST_NODES:
            raise SerializationError(
                f"onnx.load: the model has more than {MOST_NODES} nodes when its functions are written out",
                fix="the model is damaged, or made to exhaust memory",
            )
        domain = DOMAINS.get(proto.domain, proto.domain)
        names = list(proto.input)
        while names and not names[-1]:
            names.pop()
        inputs = [self.slot(name, scope, f"node {described(proto)}") if name else 0 for name in names]
        for name in proto.output:
            if name:
                self.distinct(name, scope, f"node {described(proto)}: output")
        function = self.functions.get((domain, proto.op_type, getattr(proto, "overload", "")))
        if function is not None:
            self.function(function, proto, inputs, scope, path)
            return
        version = self.versions.get(domain)
        if version is None:
            raise SerializationError(
                f"onnx.load: node {described(proto)}: the model does not import the operator set "
                f"{safe_repr(domain or 'ai.onnx')}",
                fix="the model is damaged: opset_import must name every domain that nodes use",
            )
        bodies.check_inputs(proto, domain, version, inputs)
        if domain == "" and proto.op_type == "Constant":
            self.constant_node(proto, scope)
            return
        if self.on_host(proto, inputs, scope, version):
            return
        entry = find(domain, proto.op_type, version)
        if entry is None:
            self.by_body(proto, domain, version, inputs, scope, path)
            return
        self.call(entry, proto, version, inputs, scope, path)

    def outputs(self, proto: onnx.NodeProto, scope: _Scope) -> list[int]:
        """Numbers for the outputs of a node."""
        return [scope.define(name) for name in proto.output]

    def constant_node(self, proto: onnx.NodeProto, scope: _Scope) -> None:
        array = bodies.constant(proto)
        slot = scope.define(proto.output[0] if proto.output else "")
        scope.constants[slot] = lambda: array
        if (array.size <= SMALL and array.dtype.kind in "iub") or array.size == 1:
            scope.small.add(slot)
        if array.size == 1:
            scope.single.add(slot)
        scope.kinds.setdefault(slot, bodies.kind_of_constant(proto, array))
        scope.block.template[slot] = from_array(array).to(self.device)

    def on_host(self, proto: onnx.NodeProto, inputs: list[int], scope: _Scope, version: int) -> bool:
        """Plan the node as arithmetic of shapes, if it is some; otherwise say so."""
        entry = find_on_host(proto.op_type, version) if DOMAINS.get(proto.domain, proto.domain) == "" else None
        if entry is None:
            return False
        node = Node(proto, version, self.device, tuple(map(scope.kinds.get, inputs)))
        if entry.of_tensor:
            if not inputs or inputs[0] in scope.hosts or inputs[0] in scope.small:
                return False
            slot = scope.define(proto.output[0])
            scope.hosts.add(slot)
            self.step(scope, entry.build(node), inputs, proto, [slot])
            return True
        if not all(slot == 0 or slot in scope.hosts or slot in scope.small for slot in inputs):
            return False
        if entry.suits is not None and not entry.suits(node):
            return False
        fixed = all(slot == 0 or slot in scope.constants for slot in inputs)
        call = entry.build(node)
        if fixed:
            return self.fold(call, proto, inputs, scope)
        slots = [0 if slot == 0 else self.as_array(slot, scope) for slot in inputs]
        made = self.outputs(proto, scope)
        scope.hosts.update(made)
        self.step(scope, call, slots, proto, made)
        return True

    def fold(self, call: Any, proto: onnx.NodeProto, inputs: list[int], scope: _Scope) -> bool:
        """Compute a node of constants now, if its result is small; otherwise say that it is not."""
        try:
            found = call(*[None if slot == 0 else self.constant(slot, scope) for slot in inputs])
        except Exception:
            return False  # it fails where it is computed, with the error that belongs there
        results = found if isinstance(found, (tuple, list)) else (found,)
        if len(results) != len(proto.output) or any(np.size(result) > SMALL for result in results):
            return False
        for name, result in zip(proto.output, results, strict=True):
            array = np.asarray(result)
            slot = scope.define(name)
            scope.constants[slot] = partial(np.asarray, array)
            scope.small.add(slot)
            if array.size == 1:
                scope.single.add(slot)
            scope.hosts.add(slot)
            scope.block.template[slot] = array
        return True

    def call(
        self, entry: Operator, proto: onnx.NodeProto, version: int, inputs: list[int], scope: _Scope, path: str
    ) -> None:
        """Plan a node whose operator has an entry."""
        captures: list[int] = []

        def block(graph: onnx.GraphProto) -> Block:
            inner = _Scope(Block(), scope, captures)
            return self.graph(graph, inner, path)

        kinds = tuple(map(scope.kinds.get, inputs))
        scalars = [self.scalar(slot, scope) for slot in inputs]
        node = Node(proto, version, self.device, kinds, scalars, block)
        try:
            call = entry.build(node)
        except NotComputed as error:
            self.missing[error.message.removeprefix("onnx.load: ")] = None
            self.outputs(proto, scope)
            return
        slots = []
        for index, slot in enumerate(inputs):
            if entry.on_host(index):
                slots.append(self.as_numbers(slot, scope, proto))
            else:
                if index in entry.state and scope.constants.get(slot) in self.paths:
                    self.statistics.add(self.paths[scope.constants[slot]])
                slots.append(self.as_tensor(slot, scope, proto))
        slots += captures  # as they are: the graph inside knows which of them are arrays
        made = self.outputs(proto, scope)
        for slot in made:
            if slot not in scope.kinds and node.result is not None:
                scope.kinds[slot] = node.result
        self.step(scope, call, slots, proto, made)
        scope.block.steps[-1].operator = "" if entry.domain else entry.name

    def scalar(self, slot: int, scope: _Scope) -> Callable[[], Any] | None:
        """What reads the value if it is a constant of one element."""
        if slot not in scope.single:
            return None
        return lambda: self.constant(slot, scope).item()

    # ------------------------------------------------------------------------------------------------ functions
    def function(
        self, function: onnx.FunctionProto, proto: onnx.NodeProto, inputs: list[int], scope: _Scope, path: str
    ) -> None:
        """Plan the body of a function in place of the node that calls it."""
        name = f"{function.domain}.{function.name}"
        if name in self.active or len(self.active) > 100:
            raise SerializationError(
                f"onnx.load: node {described(proto)}: function {safe_repr(name)} calls itself",
                notes={"by way of": " -> ".join(self.active[-5:])},
                fix="the model is damaged: functions of ONNX may not be recursive",
            )
        if len(inputs) > len(function.input) or len(proto.output) > len(function.output):
            raise SerializationError(
                f"onnx.load: node {described(proto)}: it has {len(inputs)} inputs and {len(proto.output)} outputs, "
                f"function {safe_repr(name)} has {len(function.input)} and {len(function.output)}",
                fix="the model is damaged: use another copy, or export it again",
            )
        inner = scope.of_function()
        for value in function.value_info:
            self.declare(value, inner)
        inner.slots.update(zip(function.input, [*inputs, *[0] * len(function.input)], strict=False))
        attributes = bodies.attributes_of_call(function, proto)
        outside = self.versions
        self.versions = {**outside, **bodies.versions_of(function.opset_import)}
        self.active.append(name)
        try:
            for index, node in enumerate(function.node):
                self.node(bodies.bound(node, attributes), inner, f"{path}{node.name or index}/")
        finally:
            self.active.pop()
            self.versions = outside
        for name, made in zip(function.output, proto.output, strict=False):
            if made:
                scope.slots[made] = self.slot(name, inner, f"function {safe_repr(function.name)}")

    def by_body(
        self, proto: onnx.NodeProto, domain: str, version: int, inputs: list[int], scope: _Scope, path: str
    ) -> None:
        """Plan a node whose operator ONNX defines by a body of other operators."""
        schema = bodies.schema_of(domain, proto.op_type, version)
        if schema is None or not (schema.has_function or schema.has_context_dependent_function):
            what = "" if schema is not None else f": version {version} of {domain or 'ai.onnx'} has no such operator"
            self.missing[f"node {described(proto)}{what}"] = None
            self.outputs(proto, scope)
            return
        if schema.has_function:
            self.function(bodies.body_of(schema, version), bodies.with_defaults(proto, schema), inputs, scope, path)
            return
        call = bodies.Expanded(schema, proto, version, self)
        slots = [self.as_tensor(slot, scope, proto) for slot in inputs]
        self.step(scope, call, slots, proto, self.outputs(proto, scope))


def _numbers(value: Any) -> list[Any]:
    """Python's numbers of an array or a tensor; a list in any case."""
    found = value.tolist()
    return found if isinstance(found, list) else [found]


def _few(tensor: onnx.TensorProto) -> bool:
    count = 1
    for size in tensor.dims:
        count *= size
    return 0 <= count <= SMALL
