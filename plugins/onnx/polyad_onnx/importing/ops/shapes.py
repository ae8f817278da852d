"""Shape arithmetic: operators on small integers, computed by NumPy on the host.

They are what exporters write between a Shape and the Reshape, Slice or Expand that it is for. The planner uses them
where all inputs are shapes, small constants, or made of such; the same operators for tensors are in the other
families.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ..elements import array_of, element_type
from ..operators import REQUIRED, Compute, Node, host_operator

__all__: list[str] = []


@host_operator("Shape", of_tensor=True)
def shape(node: Node) -> Compute:
    start, end = node.integer("start", 0), node.integer("end", None)
    if start == 0 and end is None:
        return lambda x: np.array(x.shape, np.int64)
    return lambda x: np.array(x.shape[start:end], np.int64)


@host_operator("Size", of_tensor=True)
def size(node: Node) -> Compute:
    return lambda x: np.array(x.numel(), np.int64)


def _quotient(a: np.ndarray, b: np.ndarray) -> Any:
    """Division, which cuts integers towards zero."""
    if a.dtype.kind not in "iu":
        return a / b
    quotient = np.floor_divide(a, b)
    return quotient + ((quotient < 0) & (quotient * b != a))


BINARY: dict[str, Any] = {
    "Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": _quotient, "Equal": np.equal, "Less": np.less,
    "Greater": np.greater, "LessOrEqual": np.less_equal, "GreaterOrEqual": np.greater_equal, "And": np.logical_and,
    "Or": np.logical_or,
}  # fmt: skip
UNARY: dict[str, Any] = {
    "Neg": np.negative, "Abs": np.abs, "Floor": np.floor, "Ceil": np.ceil, "Sqrt": np.sqrt, "Not": np.logical_not,
    "Identity": np.asarray, "Reciprocal": np.reciprocal,
}  # fmt: skip


@host_operator(*BINARY, since=7)
def binary(node: Node) -> Compute:
    return BINARY[node.proto.op_type]


@host_operator(*UNARY)
def unary(node: Node) -> Compute:
    return UNARY[node.proto.op_type]


@host_operator("Max", since=8)
def maximum(node: Node) -> Compute:
    return lambda *xs: np.max(np.broadcast_arrays(*xs), axis=0)


@host_operator("Min", since=8)
def minimum(node: Node) -> Compute:
    return lambda *xs: np.min(np.broadcast_arrays(*xs), axis=0)


@host_operator("Mod", suits=lambda node: node.integer("fmod", 0) == 0)
def remainder(node: Node) -> Compute:
    return np.remainder


@host_operator("Where")
def where(node: Node) -> Compute:
    return np.where


PLAIN = {TensorProto.BOOL, TensorProto.INT32, TensorProto.INT64, TensorProto.FLOAT, TensorProto.DOUBLE}


@host_operator("Cast", since=6, suits=lambda node: node.integer("to", 0) in PLAIN)
def cast(node: Node) -> Compute:
    dtype = np.dtype(element_type(node.integer("to", REQUIRED), "Cast").dtype.name)
    return lambda x: x.astype(dtype)


@host_operator("Gather")
def gather(node: Node) -> Compute:
    axis = node.integer("axis", 0)

    def call(x: np.ndarray, indices: np.ndarray) -> Any:
        return np.take(x, indices, axis=axis)

    return call


@host_operator("Concat", since=4)
def concat(node: Node) -> Compute:
    axis = node.integer("axis", REQUIRED)
    return lambda *xs: np.concatenate(xs, axis=axis)


@host_operator("Unsqueeze", "Squeeze")
def squeeze(node: Node) -> Compute:
    axes = node.integers("axes")
    change: Any = np.expand_dims if node.proto.op_type == "Unsqueeze" else np.squeeze

    def call(x: np.ndarray, given: np.ndarray | None = None) -> Any:
        chosen = axes if given is None else given.tolist()
        return change(x, None if chosen is None else tuple(chosen))

    return call


@host_operator("Slice", since=10)
def slices(node: Node) -> Compute:
    def call(x: np.ndarray, starts: np.ndarray, ends: np.ndarray, axes: Any = None, steps: Any = None) -> Any:
        chosen = [slice(None)] * x.ndim
        first, last = starts.tolist(), ends.tolist()
        along = range(len(first)) if axes is None else axes.tolist()
        by = [1] * len(first) if steps is None else steps.tolist()
        for axis, start, end, step in zip(along, first, last, by, strict=True):
            if end < 0 and step < 0 and end + x.shape[axis] < 0:
                end = None
            chosen[axis] = slice(start, end, step)
        return x[tuple(chosen)]

    return call


@host_operator("Reshape", since=5, suits=lambda node: not node.integer("allowzero", 0))
def reshape(node: Node) -> Compute:
    def call(x: np.ndarray, target: np.ndarray) -> Any:
        sizes = [x.shape[index] if size == 0 else size for index, size in enumerate(target.tolist())]
        return x.reshape(sizes)

    return call


@host_operator("ReduceProd", "ReduceSum", "ReduceMax", "ReduceMin")
def reduce(node: Node) -> Compute:
    function: Any = {"ReduceProd": np.prod, "ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min}[
        node.proto.op_type
    ]
    axes, keep, noop = node.integers("axes"), bool(node.integer("keepdims", 1)), node.integer("noop_with_empty_axes", 0)

    def call(x: np.ndarray, given: np.ndarray | None = None) -> Any:
        chosen = axes if given is None else given.tolist()
        if not chosen and noop:
            return x
        return function(x, axis=tuple(chosen) if chosen else None, keepdims=keep).astype(x.dtype)

    return call


@host_operator("Range")
def ranges(node: Node) -> Compute:
    return lambda start, limit, delta: np.arange(start, limit, delta, dtype=start.dtype)


def _of_integers(node: Node) -> bool:
    value = node.tensor("value")
    return value is not None and element_type(value.data_type, "ConstantOfShape").dtype.name == "int64"


@host_operator("ConstantOfShape", suits=_of_integers)
def constant_of_shape(node: Node) -> Compute:
    fill = array_of(node.tensor("value")).reshape(-1)[0]
    return lambda sizes: np.full(sizes.tolist(), fill)
