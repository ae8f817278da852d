"""The level that lowers a body: its tensors carry expressions, and what is computed with them builds expressions.

What is computed element by element has an expression: ops with a formula in `polyad.codegen`, and composites of such
ops. Where the operands' layouts are known, a body may also reduce, and take views: what it reduces is computed by a
step of its own, and so is what is seen through a view that no expression of the operands' elements is. Whatever else a
body does stops the lowering with `NotLowered`, which says what and where.
"""

from __future__ import annotations

import math
import operator
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn

from ..backend.interface import Signature, TensorType
from ..base.device import Device
from ..base.dtypes import INTEGER, DType, iinfo
from ..base.layout import (
    Layout,
    Shape,
    Strides,
    broadcast_shapes,
    broadcast_strides,
    contiguous_strides,
    element_strides,
    reduced_shape,
    result_strides,
)
from ..base.state import state
from ..codegen import Apply, Expression, Literal, Operand, Scalar, apply, cast, has_formula
from ..codegen.expression import leaves_of, substituted
from ..codegen.formulas import OPS as FORMULAS, is_cheap
from ..codegen.kernels.reduction_ops import REDUCERS, reduced_dtype
from ..codegen.writer import letter_of
from ..devices.registry import tensor_type
from ..dispatch.effects import Effect
from ..dispatch.half_numbers import rounded, to_round
from ..dispatch.plan import NUMBERS, Plan, signature_of
from ..dispatch.promotion import first
from ..dispatch.structure import Laid
from ..tensor import Tensor
from ..transforms.levels import Level
from ..transforms.wrapped import Handle, Wrapped
from .numbers import DeferredNumber, Guards, Read as ReadNumber, fixed
from .steps import Read, Step, Steps

if TYPE_CHECKING:
    from ..dispatch.declared import Op

_ANY_SHAPE = (3, 4)
"""Stands for any shape: what is computed element by element is the same for all."""

_REFUSING = {"floor_divide", "remainder", "fmod", "pow"}
"""Ops that refuse some integers, which a kernel cannot."""

_OF_ALL = {"max_all": "amax", "min_all": "amin"}

_MUCH = 16
"""How many times more elements than a costly operand a result has for the operand to be computed by itself before."""


class NotLowered(Exception):
    """A body that does more than a few kernels do, with the op and the line that did it."""


MOST_RESULTS = 2000
"""How many results of ops an expression is made of at most: it is compiled as a whole."""


class ExpressionTensor(Wrapped):
    """A tensor of a body that is being lowered: its elements are an expression of the operands' elements.

    Attributes:
        expression: of the reads, broadcast to this tensor's shape.
        root: the tensor whose memory this is a view of; None if it is no view.
    """

    __slots__ = ("expression", "root")

    expression: Expression
    root: ExpressionTensor | None
    _level: Lowering

    def _like(self, inner: Any) -> ExpressionTensor:
        return self._level.tensor(self.expression, self._array.shape, self.steps)

    @property
    def steps(self) -> Strides:
        """The strides, in elements."""
        return element_strides(self._array.shape, self._array.strides, self._type.dtype.itemsize)


class Lowering(Level):
    """Runs a body on tensors that carry expressions, for calls on *device*.

    With *any_layout* the operands' shapes stand for any others, and nothing is lowered that depends on them.
    """

    name = "lowering"
    differentiates = False

    def __init__(self, op: Op, device: Device, any_layout: bool) -> None:
        super().__init__(op.title)
        self.device = device
        self.any_layout = any_layout
        self.guards = Guards()
        self.scalars: list[ReadNumber] = []
        self.reads: list[Read] = []
        self.steps: list[Step] = []
        self.slots = 0
        self.operands = 0
        self._positions: dict[Read, int] = {}
        self._known: dict[tuple[int, DType], tuple[DeferredNumber, Scalar]] = {}
        self._made = 0

    def tensor(self, expression: Expression, shape: Shape, steps: Strides | None = None) -> ExpressionTensor:
        """A tensor of this level with these elements, by default row-major."""
        self._made += 1
        if self._made > MOST_RESULTS:
            raise NotLowered(f"a body of more than {MOST_RESULTS} steps")
        dtype = expression.dtype
        steps = contiguous_strides(shape) if steps is None else steps
        strides = tuple([step * dtype.itemsize for step in steps])
        nothing: Any = None  # there is no tensor behind it
        type_ = tensor_type(dtype, self.device, not shape)
        out: ExpressionTensor = ExpressionTensor._over(self, nothing, Handle(shape, strides, self), type_)
        out.expression = expression
        out.root = None
        return out

    def operand(self, dtype: DType, layout: Layout) -> ExpressionTensor:
        """The tensor of the body's next operand."""
        self.slots += 1
        return self._reading(Read(self.slots - 1, layout), dtype)

    def _reading(self, read: Read, dtype: DType) -> ExpressionTensor:
        position = self._positions.get(read)
        if position is None:
            position = self._positions[read] = len(self.reads)
            self.reads.append(read)
        return self.tensor(Operand(position, dtype), read.layout.shape, read.layout.strides)

    def read_of(self, tensor: ExpressionTensor) -> Read | None:
        """What *tensor* shows of memory as it is; None if it is computed."""
        expression = tensor.expression
        if not isinstance(expression, Operand):
            return None
        read = self.reads[expression.position]
        return read if read.layout.shape == tensor._array.shape else None

    def store(self, tensor: ExpressionTensor) -> Read:
        """What *tensor* shows of memory, computed by a step of its own if it is computed."""
        read = self.read_of(tensor)
        if read is None:
            layout = Layout(tensor._array.shape, tensor.steps, 0)
            self.steps.append(Step(layout.shape, (tensor.expression,), ((self.slots, tensor._type.dtype, layout),)))
            read = Read(self.slots, layout)
            self.slots += 1
            tensor.expression = self._reading(read, tensor._type.dtype).expression
        return read

    # ------------------------------------------------------------------------------------------------ what a level does

    def lift(self, tensor: Tensor) -> ExpressionTensor:
        first = tensor.flatten()[0]
        if not bool((tensor == first).all()):
            raise NotLowered("a tensor of constants that differ")
        return self.tensor(Literal(first.item(), tensor.dtype), tuple(tensor.shape))

    def untouched(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        return super().untouched(op, fixed(args))

    def _view(self, op: Op, input: Any, params: tuple[Any, ...]) -> Tensor:
        return super()._view(op, input, fixed(params))

    def compute(self, op: Op, values: tuple[Any, ...], plan: Plan) -> Any:
        if op.name in REDUCERS or op.name in _OF_ALL or op.name == "mean":
            return self._reduced(op, values)
        if op.name in FORMULAS or op.name == "copy":
            return self._formula(op, values, plan)
        if op.body is None:
            raise NotLowered(f"{op.name} has no formula")
        with self:
            result = op.body(*values)
        if not op.outputs:
            return self._new(result)
        return tuple(self._new(each) for each in result)

    def _new(self, result: Any) -> ExpressionTensor:
        if not isinstance(result, ExpressionTensor):
            raise NotLowered(f"a result that is no expression but {type(result).__name__}")
        return result._like(None)

    def _formula(self, op: Op, values: tuple[Any, ...], plan: Plan) -> ExpressionTensor:
        operands = values[: len(op.operands)]
        tensors = [value for value in operands if isinstance(value, ExpressionTensor)]
        shape = broadcast_shapes(*[tensor._array.shape for tensor in tensors])
        for tensor in tensors:
            self._beforehand(tensor, shape)
        if op.name == "copy":
            return self.tensor(tensors[0].expression, shape)
        steps = result_strides(
            shape, [broadcast_strides(tensor._array.shape, tensor.steps, shape) for tensor in tensors]
        )
        if op.name == "cast":
            return self.tensor(cast(tensors[0].expression, values[1]), shape, steps)
        dtype = plan.nd.dtype if op.name == "where" else tensors[-1].dtype
        if op.name != "where" and not has_formula(op.name, dtype):
            raise NotLowered(f"{op.name} has no formula for {dtype.name}")
        if dtype.category <= INTEGER and op.name in _REFUSING:
            raise NotLowered(f"{op.name} refuses some elements of {dtype.name}")
        operands = tuple(self._rounded(op, operands))
        of_few = all(self._is_of_few(tensor.expression) for tensor in tensors)
        arguments = [self._argument(op, value, dtype, of_few) for value in operands]
        return self.tensor(apply(op.name, *arguments), shape, steps)

    def _beforehand(self, tensor: ExpressionTensor, shape: Shape) -> None:
        """Have *tensor* computed by a step of its own if an expression of *shape* would often repeat its cost."""
        if self.any_layout or math.prod(shape) < _MUCH * math.prod(tensor._array.shape):
            return
        if _is_costly(tensor.expression):
            self.store(tensor)

    def _is_of_few(self, expression: Expression) -> bool:
        """Whether *expression* depends on what steps have computed, and not on operands' elements."""
        found = [leaf for leaf in leaves_of(expression) if isinstance(leaf, Operand)]
        return bool(found) and all(self.reads[leaf.position].slot >= self.operands for leaf in found)

    def _reduced(self, op: Op, values: tuple[Any, ...]) -> ExpressionTensor:
        if self.any_layout:
            raise NotLowered(f"{op.name} reduces")
        tensor: ExpressionTensor = values[0]
        shape = tensor._array.shape
        reducer = _OF_ALL.get(op.name, "sum" if op.name == "mean" else op.name)
        if op.name in _OF_ALL:
            dims: tuple[int, ...] = tuple(range(len(shape)))
            keepdim = False
        else:
            dims = tuple([operator.index(dim) for dim in values[1]])
            keepdim = bool(values[2])
        expression = REDUCERS[reducer](tensor.expression)
        layout = Layout(reduced_shape(shape, dims, keepdim), contiguous_strides(reduced_shape(shape, dims, keepdim)), 0)
        dtype = reduced_dtype(reducer, tensor._type.dtype)
        # Half types add up in float32, and stay there until something is stored.
        wide = expression.dtype if reducer in ("sum", "prod") else dtype
        self.steps.append(Step(shape, (expression,), ((self.slots, wide, layout),), reducer, dims))
        read = Read(self.slots, layout)
        self.slots += 1
        found = self._reading(read, wide).expression
        if op.name == "mean":
            dtype = tensor._type.dtype
            found = found / self._constant(math.prod([shape[dim] for dim in dims]), wide)
        return self.tensor(cast(found, dtype), layout.shape)

    def _constant(self, number: Any, dtype: DType) -> Scalar:
        """A number that follows from the layouts: the kernel gets it as an argument, so that it serves others too."""
        self.scalars.append(lambda args: number)
        return Scalar(len(self.scalars) - 1, dtype)

    def _rounded(self, op: Op, operands: tuple[Any, ...]) -> Sequence[Any]:
        """The operands with the numbers among them rounded as a call of *op* rounds them."""
        types = signature_of(op, operands)
        places = to_round(types, op.dtype(types, {}).casts)
        deferred = {place: rounding for place, rounding in places if type(operands[place]) is DeferredNumber}
        plain = tuple((place, rounding) for place, rounding in places if place not in deferred)
        found = rounded(operands, plain)
        for place, rounding in deferred.items():
            found[place] = found[place].through(rounding)
        return found

    def _argument(self, op: Op, value: Any, dtype: DType, of_few: bool) -> Expression:
        if isinstance(value, ExpressionTensor):
            return value.expression
        if type(value) is DeferredNumber:
            return self._scalar(op, value, dtype)
        if type(value) in NUMBERS:
            # Beside the few elements that are left of many it may be their number, which changes with the shape.
            return self._constant(value, dtype) if of_few and type(value) is not bool else Literal(value, dtype)
        raise NotLowered(f"{op.name} gets {type(value).__name__}")

    def _scalar(self, op: Op, number: DeferredNumber, dtype: DType) -> Scalar:
        if op.name == "where" and dtype.category == INTEGER:
            # What is chosen has to fit the dtype; the body itself says what is wrong with another number.
            limits = iinfo(dtype)
            fits: Any = number
            if fits < limits.min or fits > limits.max:
                raise NotLowered(f"a number outside of {dtype.name}")
        known = self._known.get((id(number), dtype))
        if known is None:
            known = self._known[id(number), dtype] = (number, Scalar(len(self.scalars), dtype))
            self.scalars.append(number.read)
        return known[1]

    def inner_view(self, op: Op, input: Any, params: tuple[Any, ...], layout: Layout) -> ExpressionTensor:
        if self.any_layout or op.dtype is not first:
            raise NotLowered(f"the view {op.name}")
        root: ExpressionTensor = input.root or input
        out = None if self.read_of(root) is not None else self._seen(root, layout)
        if out is None:
            read = self.store(root)
            base = read.layout.offset
            out = self._reading(
                Read(read.slot, Layout(layout.shape, layout.strides, base + layout.offset)), root._type.dtype
            )
        out.root = root
        return out

    def _seen(self, root: ExpressionTensor, layout: Layout) -> ExpressionTensor | None:
        """The view *layout* of what *root* computes, as an expression of views; None if there is none.

        There is one if each of its dimensions is one of root's, from some place on, or repeats.
        """
        shape, steps = root._array.shape, root.steps
        inner = {step: dim for dim, (size, step) in enumerate(zip(shape, steps, strict=True)) if size > 1}
        if len(inner) < sum(size > 1 for size in shape):
            return None
        rest, starts = layout.offset, dict.fromkeys(range(len(shape)), 0)
        for step, dim in sorted(inner.items(), reverse=True):
            starts[dim], rest = divmod(rest, step)
        if rest:
            return None
        taken: list[int | None] = []
        for size, step in zip(layout.shape, layout.strides, strict=True):
            own = inner.get(step) if size > 1 and step else None
            if size > 1 and step and (own is None or own in taken or starts[own] + size > shape[own]):
                return None
            taken.append(own)
        moved: dict[Expression, Expression] = {}
        for leaf in leaves_of(root.expression):
            if isinstance(leaf, Operand):
                read = self.reads[leaf.position]
                spread = broadcast_strides(read.layout.shape, read.layout.strides, shape)
                offset = read.layout.offset + sum(starts[dim] * spread[dim] for dim in range(len(shape)))
                seen = Layout(layout.shape, tuple([0 if dim is None else spread[dim] for dim in taken]), offset)
                moved[leaf] = self._reading(Read(read.slot, seen), leaf.dtype).expression
        (expression,) = substituted([root.expression], moved)
        return self.tensor(expression, layout.shape, layout.strides)

    def read(self, effect: Effect, position: int, args: tuple[Any, ...]) -> NoReturn:
        raise NotLowered(f"{effect.name}() reads data")

    def into_constant(self, name: str, target: Tensor, args: tuple[Any, ...]) -> NoReturn:
        raise NotLowered(f"{name} writes")


def _is_costly(expression: Expression) -> bool:
    """Whether *expression* calls a function for each element."""
    waiting: list[Expression] = [expression]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Apply):
            if node.op not in _QUICK and not is_cheap(node.op, letter_of(node.dtype)):
                return True
            waiting += node.arguments
    return False


_QUICK = {"cast", "where", "div", "sqrt"}


@dataclass(frozen=True)
class Lowered:
    """What a body computes, and for which calls.

    Attributes:
        steps: for operands of the layouts given, without those that are numbers.
        scalars: what computes the kernels' numbers from a call's operands and parameters.
        guards: what must hold of these.
    """

    steps: Steps
    scalars: tuple[ReadNumber, ...]
    guards: Guards

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The results of a body that was lowered for any layouts, of operands in order."""
        return self.steps.steps[-1].expressions


def lower(op: Op, types: Signature, values: Sequence[Any], layouts: Sequence[Layout] | None = None) -> Lowered:
    """The expressions of a composite's results for calls of the signature *types*.

    *values* are a call's operands and parameters; only the numbers among them are looked at. *layouts* are those of the
    tensors among them, in elements; without them the body is lowered for any. Raises `NotLowered`.
    """
    device = next(entry.device for entry in types if isinstance(entry, TensorType))
    if layouts is not None and any(0 in layout.shape for layout in layouts):
        raise NotLowered("an operand without elements")
    level = Lowering(op, device, layouts is None)
    level.operands = sum(isinstance(entry, TensorType) for entry in types)
    arguments: list[Any] = []
    for position, value in enumerate(values):
        entry = types[position] if position < len(types) else type(value)
        if isinstance(entry, TensorType):
            if layouts is None:
                shape = () if entry.zero_dim else _ANY_SHAPE
                layout = Layout(shape, contiguous_strides(shape), 0)
            else:
                layout = layouts[level.slots]
            arguments.append(level.operand(entry.dtype, layout))
        elif isinstance(entry, tuple):
            raise NotLowered("a list of tensors")
        elif entry in NUMBERS and entry is not bool:
            arguments.append(DeferredNumber(value, operator.itemgetter(position), level.guards))
        else:
            arguments.append(value)
    modes, recording = state.modes, state.grad_enabled
    state.modes, state.grad_enabled = (level,), False
    try:
        result = op.body(*arguments)  # type: ignore[misc]
        results = list(result) if op.outputs else [result]
    except Exception as error:
        raise NotLowered(f"{_reason(error)}{_line(error)}") from error
    finally:
        state.modes, state.grad_enabled = modes, recording
        level.end()
    if not all(isinstance(each, ExpressionTensor) for each in results):
        raise NotLowered("a result that is not computed from the operands' elements")
    if layouts is None:
        wanted = () if all(entry.zero_dim for entry in types if isinstance(entry, TensorType)) else _ANY_SHAPE
        if any(each._array.shape != wanted for each in results):
            raise NotLowered("a result that is not computed from the operands' elements alone")
    if all(isinstance(each.expression, Operand) for each in results) and not level.steps:
        raise NotLowered("a result that is an operand: nothing is computed")
    orders = [_declared_order(op, types, values, layouts, each) for each in results]
    steps = _finished(level, results, orders)
    read = set(leaves_of(*[expression for step in steps.steps for expression in step.expressions]))
    if layouts is None and sum(isinstance(leaf, Operand) for leaf in read) != level.operands:
        raise NotLowered("an operand whose elements are not read")
    # A body may compute what it then leaves out; the kernels get the numbers that are read.
    used = sorted((leaf for leaf in read if isinstance(leaf, Scalar)), key=lambda scalar: scalar.position)
    moved: dict[Expression, Expression] = {old: Scalar(at, old.dtype) for at, old in enumerate(used)}
    renumbered = [replace(step, expressions=tuple(substituted(step.expressions, moved))) for step in steps.steps]
    scalars = tuple([level.scalars[scalar.position] for scalar in used])
    return Lowered(replace(steps, steps=tuple(renumbered)), scalars, level.guards)


def _declared_order(
    op: Op, types: Signature, values: Sequence[Any], layouts: Sequence[Layout] | None, result: ExpressionTensor
) -> Strides:
    """The strides of a new array for *result*: as the op declares them, else as its body's would be."""
    shape = result._array.shape
    if layouts is None or not op.ordered:
        return result.steps if result.root is None else contiguous_strides(shape)
    tensors = [entry for entry in types if isinstance(entry, TensorType)]
    laid = [
        Laid(layout.shape, tuple([step * entry.dtype.itemsize for step in layout.strides]), entry.dtype)
        for entry, layout in zip(tensors, layouts, strict=True)
    ]
    return op.strides(shape, laid, *values[len(types) :])


def _finished(level: Lowering, results: Sequence[ExpressionTensor], orders: Sequence[Strides]) -> Steps:
    """The steps that compute the results, each in new memory of its order; what is needed by none is left out."""
    last: dict[Shape, list[int]] = {}
    found: dict[int, Read] = {}
    for position, each in enumerate(results):
        read = level.read_of(each)
        taken = read is not None and any(other.slot == read.slot for other in found.values())
        if read is not None and read.slot >= level.operands and not taken:
            found[position] = read
        else:
            last.setdefault(each._array.shape, []).append(position)
    for shape, positions in last.items():
        made = []
        for position in positions:
            each = results[position]
            layout = Layout(shape, orders[position], 0)
            found[position] = Read(level.slots, layout)
            made.append((level.slots, each._type.dtype, layout))
            level.slots += 1
        level.steps.append(Step(shape, tuple([results[position].expression for position in positions]), tuple(made)))
    needed = {read.slot for read in found.values()}
    kept: list[Step] = []
    for step in reversed(level.steps):
        if any(slot in needed for slot, _, _ in step.results):
            kept.append(step)
            for leaf in leaves_of(*step.expressions):
                if isinstance(leaf, Operand):
                    needed.add(level.reads[leaf.position].slot)
    return Steps(
        tuple(level.reads),
        tuple(reversed(kept)),
        tuple([found[position] for position in range(len(results))]),
        tuple([each._type.dtype for each in results]),
    )


def _reason(error: Exception) -> str:
    text = str(error).partition("\n")[0]
    return text if isinstance(error, NotLowered) else f"{type(error).__name__}: {text}"


def _line(error: Exception) -> str:
    """Where among the declarations of ops it happened."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        where = frame.filename.replace("\\", "/").rpartition("/polyad/ops/")
        if where[1]:
            return f" (ops/{where[2]}:{frame.lineno}: {frame.line})"
    return ""
