"""The level that lowers a body: its tensors carry expressions, and what is computed with them builds expressions.

What is computed element by element has an expression: ops with a formula in `polyad.codegen`, and composites of such
ops. Where the operands' layouts are known, a body may also reduce, and take views: what it reduces is computed by a
loop of its own; so is what a view shows of a computed tensor, unless the same expression of views of the operands gives
it. Whatever else a body does stops the lowering with `NotLowered`, which says what and where.
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
from ..base.shapes_and_strides import (
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
from ..codegen.expression import leaves_of, nodes_of, substituted
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
from .loops import Load, Loop, Loops
from .numbers import DeferredNumber, Guards, Read as ReadNumber, fixed

if TYPE_CHECKING:
    from ..dispatch.declared import Op

_ANY_SHAPE = (3, 4)
"""The shape of the operands where a body is lowered for any layout: what is computed element by element is then the
same for all shapes, and what depends on the shape stops the lowering.
"""

_RAISING = {"floor_divide", "remainder", "fmod", "pow"}
"""Ops that raise for some integers (0 as a divisor, a negative exponent), which a kernel cannot."""

_OVER_ALL = {"max_all": "amax", "min_all": "amin"}

_REPEATS = 16
"""How often a costly operand's element may be computed anew, where the operand is broadcast: from so many repeats on a
loop of its own computes the operand first.
"""


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
        return self._level.tensor(self.expression, self._array.shape, self.element_strides)

    @property
    def element_strides(self) -> Strides:
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
        self.loads: list[Load] = []
        self.loops: list[Loop] = []
        self.slots = 0
        self.operands = 0
        self._positions: dict[Load, int] = {}
        self._known: dict[tuple[int, DType], tuple[DeferredNumber, Scalar]] = {}
        self._count = 0

    def tensor(self, expression: Expression, shape: Shape, order: Strides | None = None) -> ExpressionTensor:
        """A tensor of this level with these elements; *order* are its strides, in elements, by default row-major."""
        self._count += 1
        if self._count > MOST_RESULTS:
            raise NotLowered(f"a body of more than {MOST_RESULTS} ops")
        dtype = expression.dtype
        order = contiguous_strides(shape) if order is None else order
        strides = tuple([stride * dtype.itemsize for stride in order])
        nothing: Any = None  # there is no tensor behind it
        type_ = tensor_type(dtype, self.device, not shape)
        out: ExpressionTensor = ExpressionTensor._over(self, nothing, Handle(shape, strides, self), type_)
        out.expression = expression
        out.root = None
        return out

    def operand(self, dtype: DType, layout: Layout) -> ExpressionTensor:
        """The tensor of the body's next operand."""
        self.slots += 1
        return self._reading(Load(self.slots - 1, layout), dtype)

    def _reading(self, load: Load, dtype: DType) -> ExpressionTensor:
        position = self._positions.get(load)
        if position is None:
            position = self._positions[load] = len(self.loads)
            self.loads.append(load)
        return self.tensor(Operand(position, dtype), load.layout.shape, load.layout.strides)

    def read_of(self, tensor: ExpressionTensor) -> Load | None:
        """What *tensor* shows of memory as it is; None if it is computed."""
        expression = tensor.expression
        if not isinstance(expression, Operand):
            return None
        load = self.loads[expression.position]
        return load if load.layout.shape == tensor._array.shape else None

    def materialize(self, tensor: ExpressionTensor) -> Load:
        """What *tensor* shows of memory, to which a loop of its own writes it if it is computed."""
        load = self.read_of(tensor)
        if load is None:
            layout = Layout(tensor._array.shape, tensor.element_strides, 0)
            self.loops.append(Loop(layout.shape, (tensor.expression,), ((self.slots, tensor._type.dtype, layout),)))
            load = Load(self.slots, layout)
            self.slots += 1
            tensor.expression = self._reading(load, tensor._type.dtype).expression
        return load

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
        if op.name in REDUCERS or op.name in _OVER_ALL or op.name == "mean":
            return self._reduce(op, values)
        if op.name in FORMULAS or op.name == "copy":
            return self._apply_formula(op, values, plan)
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

    def _apply_formula(self, op: Op, values: tuple[Any, ...], plan: Plan) -> ExpressionTensor:
        operands = values[: len(op.operands)]
        tensors = [value for value in operands if isinstance(value, ExpressionTensor)]
        shape = broadcast_shapes(*[tensor._array.shape for tensor in tensors])
        for tensor in tensors:
            self._materialize_costly(tensor, shape)
        if op.name == "copy":
            return self.tensor(tensors[0].expression, shape)
        order = result_strides(
            shape, [broadcast_strides(tensor._array.shape, tensor.element_strides, shape) for tensor in tensors]
        )
        if op.name == "cast":
            return self.tensor(cast(tensors[0].expression, values[1]), shape, order)
        dtype = plan.nd.dtype if op.name == "where" else tensors[-1].dtype
        if op.name != "where" and not has_formula(op.name, dtype):
            raise NotLowered(f"{op.name} has no formula for {dtype.name}")
        if dtype.category <= INTEGER and op.name in _RAISING:
            raise NotLowered(f"{op.name} refuses some elements of {dtype.name}")
        operands = tuple(self._round_numbers(op, operands))
        late = all(self._reads_results_only(tensor.expression) for tensor in tensors)
        arguments = [self._argument(op, value, dtype, late) for value in operands]
        return self.tensor(apply(op.name, *arguments), shape, order)

    def _materialize_costly(self, tensor: ExpressionTensor, shape: Shape) -> None:
        """Have a loop of its own compute *tensor* if an expression of *shape* would often repeat its cost."""
        if self.any_layout or math.prod(shape) < _REPEATS * math.prod(tensor._array.shape):
            return
        if _is_costly(tensor.expression):
            self.materialize(tensor)

    def _reads_results_only(self, expression: Expression) -> bool:
        """Whether *expression* depends on what loops have computed, and not on operands' elements."""
        found = [leaf for leaf in leaves_of(expression) if isinstance(leaf, Operand)]
        return bool(found) and all(self.loads[leaf.position].slot >= self.operands for leaf in found)

    def _reduce(self, op: Op, values: tuple[Any, ...]) -> ExpressionTensor:
        if self.any_layout:
            raise NotLowered(f"{op.name} reduces")
        tensor: ExpressionTensor = values[0]
        shape = tensor._array.shape
        reducer = _OVER_ALL.get(op.name, "sum" if op.name == "mean" else op.name)
        if op.name in _OVER_ALL:
            dims: tuple[int, ...] = tuple(range(len(shape)))
            keepdim = False
        else:
            dims = tuple([operator.index(dim) for dim in values[1]])
            keepdim = bool(values[2])
        expression = REDUCERS[reducer](tensor.expression)
        layout = Layout(reduced_shape(shape, dims, keepdim), contiguous_strides(reduced_shape(shape, dims, keepdim)), 0)
        dtype = reduced_dtype(reducer, tensor._type.dtype)
        # Half types add up in float32, and stay there until something is stored.
        computed = expression.dtype if reducer in ("sum", "prod") else dtype
        self.loops.append(Loop(shape, (expression,), ((self.slots, computed, layout),), reducer, dims))
        load = Load(self.slots, layout)
        self.slots += 1
        found = self._reading(load, computed).expression
        if op.name == "mean":
            dtype = tensor._type.dtype
            found = found / self._constant(math.prod([shape[dim] for dim in dims]), computed)
        return self.tensor(cast(found, dtype), layout.shape)

    def _constant(self, number: Any, dtype: DType) -> Scalar:
        """A number that follows from the layouts: the kernel gets it as an argument, so that it serves others too."""
        self.scalars.append(lambda args: number)
        return Scalar(len(self.scalars) - 1, dtype)

    def _round_numbers(self, op: Op, operands: tuple[Any, ...]) -> Sequence[Any]:
        """The operands with the numbers among them rounded as a call of *op* rounds them."""
        types = signature_of(op, operands)
        places = to_round(types, op.dtype(types, {}).casts)
        deferred = {place: rounding for place, rounding in places if type(operands[place]) is DeferredNumber}
        plain = tuple((place, rounding) for place, rounding in places if place not in deferred)
        found = rounded(operands, plain)
        for place, rounding in deferred.items():
            found[place] = found[place].through(rounding)
        return found

    def _argument(self, op: Op, value: Any, dtype: DType, late: bool) -> Expression:
        if isinstance(value, ExpressionTensor):
            return value.expression
        if type(value) is DeferredNumber:
            return self._scalar(op, value, dtype)
        if type(value) in NUMBERS:
            # A number that meets what a reduction left may be how many elements it reduced, and change with the shape.
            # As an argument of the kernel it asks for no other kernel then.
            return self._constant(value, dtype) if late and type(value) is not bool else Literal(value, dtype)
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
        out = None if self.read_of(root) is not None else self._view_expression(root, layout)
        if out is None:
            load = self.materialize(root)
            base = load.layout.offset
            out = self._reading(
                Load(load.slot, Layout(layout.shape, layout.strides, base + layout.offset)), root._type.dtype
            )
        out.root = root
        return out

    def _view_expression(self, root: ExpressionTensor, layout: Layout) -> ExpressionTensor | None:
        """The view *layout* of what *root* computes, as root's expression of views of what it reads: so nothing has to
        be written to memory first. None where that does not hold.

        It holds where each dimension of the view is one of root's, from some index on, or repeats an element.
        """
        shape = root._array.shape
        dim_of = {stride: dim for dim, (size, stride) in enumerate(zip(shape, root.element_strides)) if size > 1}
        if len(dim_of) < sum(size > 1 for size in shape):
            return None
        rest, starts = layout.offset, dict.fromkeys(range(len(shape)), 0)
        for stride, dim in sorted(dim_of.items(), reverse=True):
            starts[dim], rest = divmod(rest, stride)
        if rest:
            return None
        dims: list[int | None] = []  # of the view's dimensions, which of root's they are; None: repeated
        for size, stride in zip(layout.shape, layout.strides, strict=True):
            own = dim_of.get(stride) if size > 1 and stride else None
            if size > 1 and stride and (own is None or own in dims or starts[own] + size > shape[own]):
                return None
            dims.append(own)
        moved: dict[Expression, Expression] = {}
        for leaf in leaves_of(root.expression):
            if isinstance(leaf, Operand):
                load = self.loads[leaf.position]
                strides = broadcast_strides(load.layout.shape, load.layout.strides, shape)
                offset = load.layout.offset + sum(starts[dim] * strides[dim] for dim in range(len(shape)))
                view = Layout(layout.shape, tuple([0 if dim is None else strides[dim] for dim in dims]), offset)
                moved[leaf] = self._reading(Load(load.slot, view), leaf.dtype).expression
        (expression,) = substituted([root.expression], moved)
        return self.tensor(expression, layout.shape, layout.strides)

    def read(self, effect: Effect, position: int, args: tuple[Any, ...]) -> NoReturn:
        raise NotLowered(f"{effect.name}() reads data")

    def into_constant(self, name: str, target: Tensor, args: tuple[Any, ...]) -> NoReturn:
        raise NotLowered(f"{name} writes")


def _is_costly(expression: Expression) -> bool:
    """Whether *expression* calls a function for each element."""
    applied = [node for node in nodes_of(expression) if isinstance(node, Apply)]
    return any(node.op not in _QUICK and not is_cheap(node.op, letter_of(node.dtype)) for node in applied)


_QUICK = {"cast", "where", "div", "sqrt"}


@dataclass(frozen=True)
class Lowered:
    """What a body computes, and for which calls.

    Attributes:
        loops: for operands of the layouts given, without those that are numbers.
        scalars: what computes the kernels' numbers from a call's operands and parameters.
        guards: what must hold of these.
    """

    loops: Loops
    scalars: tuple[ReadNumber, ...]
    guards: Guards

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """The results of a body that was lowered for any layouts, of operands in order."""
        return self.loops.loops[-1].expressions


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
    if all(isinstance(each.expression, Operand) for each in results) and not level.loops:
        raise NotLowered("a result that is an operand: nothing is computed")
    orders = [_result_order(op, types, values, layouts, each) for each in results]
    loops = _schedule(level, results, orders)
    load = set(leaves_of(*[expression for loop in loops.loops for expression in loop.expressions]))
    if layouts is None and sum(isinstance(leaf, Operand) for leaf in load) != level.operands:
        raise NotLowered("an operand whose elements are not read")
    # A body may compute what it then leaves out; the kernels get the numbers that are read.
    used = sorted((leaf for leaf in load if isinstance(leaf, Scalar)), key=lambda scalar: scalar.position)
    moved: dict[Expression, Expression] = {old: Scalar(at, old.dtype) for at, old in enumerate(used)}
    renumbered = [replace(loop, expressions=tuple(substituted(loop.expressions, moved))) for loop in loops.loops]
    scalars = tuple([level.scalars[scalar.position] for scalar in used])
    return Lowered(replace(loops, loops=tuple(renumbered)), scalars, level.guards)


def _result_order(
    op: Op, types: Signature, values: Sequence[Any], layouts: Sequence[Layout] | None, result: ExpressionTensor
) -> Strides:
    """The strides of a new array for *result*: as the op declares them, else as its body's would be."""
    shape = result._array.shape
    if layouts is None or not op.ordered:
        return result.element_strides if result.root is None else contiguous_strides(shape)
    tensors = [entry for entry in types if isinstance(entry, TensorType)]
    laid = [
        Laid(layout.shape, tuple([stride * entry.dtype.itemsize for stride in layout.strides]), entry.dtype)
        for entry, layout in zip(tensors, layouts, strict=True)
    ]
    return op.strides(shape, laid, *values[len(types) :])


def _schedule(level: Lowering, results: Sequence[ExpressionTensor], orders: Sequence[Strides]) -> Loops:
    """The loops that compute the results, each in new memory of its order; what none of them needs is left out."""
    unwritten: dict[Shape, list[int]] = {}
    found: dict[int, Load] = {}
    for position, each in enumerate(results):
        load = level.read_of(each)
        alone = load is not None and all(other.slot != load.slot for other in found.values())
        if load is not None and load.slot >= level.operands and alone:
            found[position] = load
        else:
            unwritten.setdefault(each._array.shape, []).append(position)
    for shape, positions in unwritten.items():
        made = []
        for position in positions:
            each = results[position]
            layout = Layout(shape, orders[position], 0)
            found[position] = Load(level.slots, layout)
            made.append((level.slots, each._type.dtype, layout))
            level.slots += 1
        level.loops.append(Loop(shape, tuple([results[position].expression for position in positions]), tuple(made)))
    needed = {load.slot for load in found.values()}
    scheduled: list[Loop] = []
    for loop in reversed(level.loops):
        if any(slot in needed for slot, _, _ in loop.results):
            scheduled.append(loop)
            for leaf in leaves_of(*loop.expressions):
                if isinstance(leaf, Operand):
                    needed.add(level.loads[leaf.position].slot)
    return Loops(
        tuple(level.loads),
        tuple(reversed(scheduled)),
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
