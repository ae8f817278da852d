"""Functions: those that a model brings, and the bodies by which ONNX defines operators of its own."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnx.defs
from onnx import numpy_helper

from polyad import Tensor
from polyad.errors import SerializationError, safe_repr

from .elements import ElementType, NoSuchType, array_of, element_type, of_dtype
from .operators import DOMAINS, NotComputed, described

if TYPE_CHECKING:
    from .planning import Planner

__all__ = [
    "Expanded",
    "attributes_of_call",
    "body_of",
    "bound",
    "check_inputs",
    "constant",
    "dense",
    "schema_of",
    "versions_of",
]


def versions_of(imports: Iterable[onnx.OperatorSetIdProto]) -> dict[str, int]:
    """The versions of the operator sets that a model or a function imports."""
    return {DOMAINS.get(each.domain, each.domain): each.version for each in imports}


def schema_of(domain: str, name: str, version: int) -> Any:
    """What the onnx package knows of an operator, or None."""
    try:
        return onnx.defs.get_schema(name, version, domain)
    except onnx.defs.SchemaError:
        return None


def check_inputs(node: onnx.NodeProto, domain: str, version: int, inputs: Sequence[int]) -> None:
    """Refuse a node with more or fewer inputs or outputs than its operator has; an input of 0 is left out."""
    schema = schema_of(domain, node.op_type, version)
    if schema is None:
        return
    trouble = None
    if not schema.min_input <= len(inputs) <= schema.max_input:
        trouble = f"it has {len(inputs)} inputs; the operator takes {schema.min_input} to {schema.max_input}"
    elif len(node.output) > schema.max_output:
        trouble = f"it has {len(node.output)} outputs; the operator has {schema.max_output} at most"
    else:
        single = onnx.defs.OpSchema.FormalParameterOption.Single
        for slot, formal in zip(inputs, schema.inputs, strict=False):
            if slot == 0 and formal.option == single:
                trouble = f"input {formal.name} is left out, which the operator needs"
    if trouble is not None:
        raise SerializationError(
            f"onnx.load: node {described(node)}: {trouble}", fix="the model is damaged or was put together wrongly"
        )


def body_of(schema: Any, version: int) -> onnx.FunctionProto:
    """The body of an operator that has the same one everywhere."""
    found = schema.get_function_with_opset_version(_body_version(schema.function_opset_versions, version))
    return onnx.FunctionProto.FromString(found)


def _body_version(versions: list[int], version: int) -> int:
    return max((each for each in versions if each <= version), default=min(versions))


def attributes_of_call(function: onnx.FunctionProto, node: onnx.NodeProto) -> dict[str, onnx.AttributeProto]:
    """The attributes that a function's body sees, by name."""
    found = {attribute.name: attribute for attribute in function.attribute_proto}
    found.update({attribute.name: attribute for attribute in node.attribute})
    return found


def with_defaults(node: onnx.NodeProto, schema: Any) -> onnx.NodeProto:
    """The node with the attributes that it leaves to their defaults written out, as bodies of operators name them."""
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    given = {attribute.name for attribute in node.attribute}
    for name, attribute in schema.attributes.items():
        if name not in given and attribute.default_value.type:
            copy.attribute.append(attribute.default_value)
    return copy


def bound(node: onnx.NodeProto, attributes: dict[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function's body with its references to the function's attributes replaced."""
    if not any(attribute.ref_attr_name or attribute.HasField("g") for attribute in node.attribute):
        return node
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    del copy.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            if attribute.ref_attr_name in attributes:
                given = copy.attribute.add()
                given.CopyFrom(attributes[attribute.ref_attr_name])
                given.name = attribute.name
            continue
        given = copy.attribute.add()
        given.CopyFrom(attribute)
        if attribute.HasField("g"):
            nodes = [bound(inner, attributes) for inner in attribute.g.node]
            del given.g.node[:]
            given.g.node.extend(nodes)
    return copy


def constant(node: onnx.NodeProto) -> np.ndarray:
    """The array of a Constant node."""
    for attribute in node.attribute:
        where = f"node {described(node)}"
        match attribute.name:
            case "value":
                return array_of(attribute.t, where)
            case "sparse_value":
                return array_of(dense(attribute.sparse_tensor), where)
            case "value_float":
                return np.asarray(attribute.f, np.float32)
            case "value_floats":
                return np.asarray(attribute.floats, np.float32)
            case "value_int":
                return np.asarray(attribute.i, np.int64)
            case "value_ints":
                return np.asarray(attribute.ints, np.int64)
            case "value_string" | "value_strings":
                raise NoSuchType(
                    f"onnx.load: {where}: tensors of strings have no form in polyad", fix="prepare text outside"
                )
    raise SerializationError(
        f"onnx.load: node {described(node)}: it has no value", fix="the model is damaged: use another copy"
    )


def kind_of_constant(node: onnx.NodeProto, array: np.ndarray) -> ElementType:
    """The type that a Constant node says its elements have."""
    value = next((attribute.t for attribute in node.attribute if attribute.name == "value"), None)
    if value is not None:
        return element_type(value.data_type, f"node {described(node)}")
    code = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
    return element_type(code, f"node {described(node)}")


MOST_DENSE = 1 << 28
"""Elements up to which a sparse tensor of a file is written out."""


def dense(sparse: onnx.SparseTensorProto) -> onnx.TensorProto:
    """A sparse tensor of a file, written out."""
    where = f"sparse tensor {safe_repr(sparse.values.name)}"
    shape = tuple(sparse.dims)
    values, indices = array_of(sparse.values, where).reshape(-1), array_of(sparse.indices, where)
    size = 1
    for each in shape:
        size *= max(each, -1)
    if size < 0 or size > MOST_DENSE:
        raise SerializationError(f"onnx.load: {where}: shape {shape} is too large", fix="store it as a dense tensor")
    if indices.ndim == 2 and indices.shape[1] == len(shape):
        places = tuple(indices.T)
    elif indices.ndim == 1:
        places = np.unravel_index(np.clip(indices, 0, max(size - 1, 0)), shape) if size else ()
    else:
        places = ()
    array = np.zeros(shape, values.dtype)
    try:
        array[places] = values
    except (IndexError, ValueError) as error:
        raise SerializationError(
            f"onnx.load: {where}: its indices do not fit shape {shape}", fix="the model is damaged: use another copy"
        ) from error
    made = numpy_helper.from_array(array, sparse.values.name)
    made.data_type = sparse.values.data_type
    return made


class Expanded:
    """Computes a node whose operator's body depends on the types of the inputs: planned for each that is met."""

    def __init__(self, schema: Any, node: onnx.NodeProto, version: int, planner: Planner) -> None:
        self.schema = schema
        self.node = node
        self.version = version
        self.functions, self.device, self.versions = planner.functions, planner.device, planner.versions
        self.blocks: dict[tuple[Any, ...], Any] = {}
        self.by_shape = False
        """Whether the body depends on sizes too."""

    def __call__(self, *inputs: Tensor | None) -> Any:
        key = tuple(
            None if each is None else (each.dtype, each.shape if self.by_shape else each.ndim) for each in inputs
        )
        if key not in self.blocks:
            self.blocks[key] = self.plan(inputs)
        made = iter(self.blocks[key].run([each for each in inputs if each is not None]))
        outputs = [next(made) if name else None for name in self.node.output]
        return outputs[0] if len(outputs) == 1 else outputs

    def plan(self, inputs: tuple[Tensor | None, ...]) -> Any:
        """The block for inputs of these types."""
        from .planning import Planner

        names = [f"input{index}" if each is not None else "" for index, each in enumerate(inputs)]
        call = onnx.NodeProto()
        call.CopyFrom(self.node)
        del call.input[:], call.output[:]
        call.input.extend(names)
        call.output.extend(f"output{index}" if name else "" for index, name in enumerate(self.node.output))
        types = [_type_of(each, False) for each in inputs]
        function = self.body(call, types)
        if not function.node:
            self.by_shape, types = True, [_type_of(each, True) for each in inputs]
            function = self.body(call, types)
        if not function.node:
            raise NotComputed(f"{self.schema.name}: ONNX defines no body for inputs of these types", fix="use others")
        graph = onnx.GraphProto(name=self.schema.name, node=[call])
        for name, kind in zip(names, types, strict=True):
            if name:
                graph.input.append(onnx.ValueInfoProto(name=name, type=kind))
        graph.output.extend(onnx.ValueInfoProto(name=name) for name in call.output if name)
        domain = DOMAINS.get(self.node.domain, self.node.domain)
        function.domain = domain
        functions = {**self.functions, (domain, self.node.op_type, getattr(self.node, "overload", "")): function}
        return Planner(self.versions, functions, self.device).model(graph)

    def body(self, call: onnx.NodeProto, types: list[onnx.TypeProto]) -> onnx.FunctionProto:
        """What ONNX gives for inputs of these types; empty if it wants to know more of them."""
        version = _body_version(self.schema.context_dependent_function_opset_versions, self.version)
        made = self.schema.get_context_dependent_function_with_opset_version(
            version, call.SerializeToString(), [each.SerializeToString() for each in types]
        )
        return onnx.FunctionProto.FromString(made)


def _type_of(tensor: Tensor | None, sizes: bool) -> onnx.TypeProto:
    """The type of a tensor, with its *sizes* or with their number alone."""
    if tensor is None:
        return onnx.TypeProto()
    shape = list(tensor.shape) if sizes else [None] * tensor.ndim
    return onnx.helper.make_tensor_type_proto(of_dtype(tensor.dtype).code, shape)
