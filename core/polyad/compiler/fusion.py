"""Chains of ops that compute element by element, as one generated kernel each.

A group is carried out where its last op is, so nothing between its ops may need what they give, and nothing in between
may write. Its kernel comes from `polyad.lowering`, as that of a composite whose body is the group. Only ops join whose
bits are those of exact arithmetic, rounded, and that the device would compute by generated code alone, too, for as many
elements: so the bits stay the same.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

from ..backend.interface import TensorType
from ..backend.runtime import Runtime
from ..base import provided
from ..base.dtypes import float32, float64
from ..base.shapes_and_strides import Shape, is_contiguous
from ..codegen.formulas import formula
from ..devices import plugins, registry
from ..dispatch.declared import Op
from ..dispatch.effects import Effect, Result
from ..dispatch.plan import body_kernel
from ..dispatch.structure import Pointwise
from ..graph.graph import Node
from ..graph.structure import Ref, leaves_of, replace
from ..lowering.kernels import lowered_kernel
from ..tensor import Tensor

_EXACT = {"fabs", "floor", "ceil", "trunc", "rint", "copysign", "sqrt"}
"""The functions of C whose results IEEE 754 says bit by bit."""

MOST_OPS = 32
"""So many ops are one kernel at most."""

_PLAIN_ARGUMENTS = (bool, int, float, str, type(None))


class Group:
    """Ops that are one kernel.

    Attributes:
        nodes: their nodes.
        aliases: nodes that show a member's result as it is, carried out after the kernel, with what each shows.
        inputs, outputs: values that it reads, and that others read of it.
    """

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.nodes: list[tuple[Node, int]] = []
        self.aliases: list[tuple[Node, int]] = []
        self.shown: dict[int, int] = {}
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.made: set[int] = set()
        self.read: set[int] = set()

    def resolved(self, root: int) -> int:
        """The value that *root*, a value or an alias in the group, is."""
        return self.shown.get(root, root)


class Values:
    """What fusion asks about the values of a stretch.

    Attributes:
        root: the value that a value was before it was written to.
        seen: shape, dtype and strides of each.
        kind: their type.
    """

    def __init__(self, root: Callable[[int], int], seen: Sequence[Any], kind: Callable[[int], TensorType]) -> None:
        self.root, self.seen, self.kind = root, seen, kind

    def fits(self, value: int, out: int) -> bool:
        """Whether a value lies row-major, and has the dtype of *out*, and not more dimensions."""
        seen, other = self.seen[value], self.seen[out]
        shape, strides, _ = seen.layout
        return seen.dtype is other.dtype and is_contiguous(shape, strides) and len(shape) <= len(other.layout.shape)


def grouped(
    nodes: Sequence[tuple[Node, int]], values: Values, left: set[int], varies: Callable[[Node, int], bool]
) -> list[tuple[Node, int] | Group]:
    """*nodes* with chains of them as groups. *left* are the values that are wanted afterwards; *varies* tells whether a
    call has numbers of the run's own.
    """
    found: list[tuple[Node, int] | Group] = []
    group: Group | None = None

    def close() -> None:
        nonlocal group
        if group is not None:
            found.extend([group] if len(group.nodes) > 1 else group.nodes)
            found.extend(group.aliases)
            group = None

    for node, at in nodes:
        roots = {values.root(ref.number) for ref in leaves_of(node.args, Ref)}
        shape = None if varies(node, at) else _shape_of_member(node, values)
        if shape is not None:
            if group is None or not _joins(group, shape, roots):
                close()
                group = Group(shape)
            group.nodes.append((node, at))
            group.made.add(values.root(node.outputs.number))
            group.read |= roots
            continue
        shows = _shows(node, values)
        if group is not None and shows is not None and group.resolved(shows[1]) in group.made:
            group.aliases.append((node, at))
            group.shown[shows[0]] = group.resolved(shows[1])
            continue
        # An effect may write, also into a gradient that a member reads.
        if group is not None and (isinstance(node.op, Effect) or roots & (group.made | group.shown.keys())):
            close()
        found.append((node, at))
    close()
    _note_ends(found, values, left)
    return found


def _joins(group: Group, shape: Shape, roots: set[int]) -> bool:
    if shape != group.shape or len(group.nodes) >= MOST_OPS:
        return False
    return not group.made.isdisjoint(map(group.resolved, roots)) or not group.read.isdisjoint(roots)


def _is_exact(op: Op) -> bool:
    """Whether IEEE 754 says each bit of a result: the bits of other functions, such as sin, depend on what a compiler
    makes of the loop around them, and on how a kernel treats a number, such as an exponent.
    """
    text = formula(op.name, "f") if op.body is None and op.name != "pow" else None
    return op.name == "where" or (text is not None and _EXACT.issuperset(re.findall(r"[$@](\w+)", text)))


def _shows(node: Node, values: Values) -> tuple[int, int] | None:
    """The alias that *node* makes of a whole tensor, and of which."""
    op = node.op
    if not isinstance(op, Effect) or op.result not in (Result.ALIAS, Result.DETACHED) or op.rebinds is not None:
        return None
    source = node.args[op.of]
    if not isinstance(source, Ref) or not isinstance(node.outputs, Ref):
        return None
    if values.seen[source.number].layout != values.seen[node.outputs.number].layout:
        return None
    return values.root(node.outputs.number), values.root(source.number)


def _shape_of_member(node: Node, values: Values) -> Shape | None:
    """The shape of what *node* computes element by element; None for a node that joins no group."""
    op = node.op
    if not isinstance(op, Op) or not isinstance(op.structure, Pointwise) or op.outputs or op.keyed or op.kind == "view":
        return None
    if not _is_exact(op):
        return None
    number = node.outputs.number
    shape: Shape = values.seen[number].layout.shape
    if values.seen[number].dtype not in (float32, float64) or not shape or 0 in shape:
        return None
    if not all(isinstance(arg, (Ref, *_PLAIN_ARGUMENTS)) for arg in node.args):
        return None
    operands = [arg.number for arg in node.args if isinstance(arg, Ref)]
    if not all(values.fits(one, number) for one in (number, *operands)):
        return None
    if not any(values.seen[one].layout.shape == shape for one in operands):
        return None
    types = tuple([values.kind(arg.number) if isinstance(arg, Ref) else type(arg) for arg in node.args])
    least = _generated_from(op, types[: len(op.operands)], values.kind(number))
    return shape if least is not None and math.prod(shape) >= least else None


def _runtime(kind: TensorType) -> tuple[Runtime | None, bool]:
    """What runs generated kernels on a device, and whether a plug-in offers it beside other kernels."""
    own = registry.get(kind.device.type).runtime(kind.device)
    if own is not None:
        return own, False
    offered = plugins.runtime_for(kind.device)
    return (None, False) if offered is None else (offered[1], True)


def _generated_from(op: Op, types: tuple[Any, ...], kind: TensorType) -> int | None:
    """From how many elements on the device computes *op* by generated code; None for never."""
    runtime, offered = _runtime(kind)
    if runtime is None:
        return None
    return runtime.pays_from(op.name, provided.generated_kind(op.name), types) if offered else 1


def _note_ends(found: list[Any], values: Values, left: set[int]) -> None:
    """Note what groups read, and what is read of them."""
    wanted = set(left)
    for item in reversed(found):
        if isinstance(item, Group):
            inside: dict[int, None] = {}
            for node, _ in item.nodes:
                for ref in leaves_of(node.args, Ref):
                    root = item.resolved(values.root(ref.number))
                    if root not in item.made:
                        inside.setdefault(root)
            item.inputs = list(inside)
            item.outputs = [root for node, _ in item.nodes if (root := values.root(node.outputs.number)) in wanted]
            wanted |= set(inside)
        else:
            wanted |= {values.root(ref.number) for ref in leaves_of(item[0].args, Ref)}


def kernel_of(group: Group, values: Values) -> Callable[..., Any] | None:
    """The kernel of a group, from its inputs to its outputs; None if it cannot be one."""
    names = [f"x{number}" for number in range(len(group.inputs))]
    scope: dict[str, Any] = {"body": lambda *tensors: _carry_out(group, values, tensors), "Tensor": Tensor}
    given = ", ".join(f"{name}: Tensor" for name in names)
    exec(f"def fused({given}):\n    'A chain of ops.'\n    return body({', '.join(names)})\n", scope)
    outputs = tuple(f"y{number}" for number in range(len(group.outputs))) if len(group.outputs) > 1 else ()
    op = Op(scope["fused"], "composite", lambda types, keyed: None, Pointwise(), None, outputs, (), None)  # type: ignore[arg-type,return-value]
    types = tuple([values.kind(root) for root in group.inputs])
    runtime, offered = _runtime(types[0])
    if runtime is None:
        return None
    kernel = lowered_kernel(op, types, [None] * len(types), runtime)
    if kernel is None or not offered:
        return kernel
    places = [place for place, kind in enumerate(types) if not kind.zero_dim]
    other = body_kernel(op, types, runtime.backend)
    return runtime.choice(lambda: kernel, 0, places, other, other)


def _carry_out(group: Group, values: Values, tensors: Sequence[Any]) -> Any:
    known: dict[int, Any] = dict(zip(group.inputs, tensors, strict=True))
    for node, _ in group.nodes:
        args = replace(node.args, Ref, lambda ref: known[group.resolved(values.root(ref.number))])
        known[values.root(node.outputs.number)] = node.op.call(*args)
    results = [known[root] for root in group.outputs]
    return results[0] if len(results) == 1 else tuple(results)
