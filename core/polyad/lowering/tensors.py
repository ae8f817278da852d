"""The level that lowers a body: its tensors carry expressions, and what is computed with them builds expressions.

Only what is computed element by element has an expression: ops with a formula in `polyad.codegen`, and composites of
such ops. Whatever else a body does stops the lowering with `NotLowered`, which says what and where.
"""

from __future__ import annotations

import operator
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from ..backend.interface import Signature, TensorType
from ..backend.registry import tensor_type
from ..codegen import Expression, Literal, Operand, Scalar, apply, cast, has_formula
from ..codegen.expression import leaves_of, substituted
from ..codegen.formulas import OPS as FORMULAS
from ..device import Device
from ..dispatch.effects import Effect
from ..dispatch.half_numbers import rounded, to_round
from ..dispatch.levels import Level
from ..dispatch.plan import NUMBERS, Plan, signature_of
from ..dispatch.wrapped import Handle, Wrapped
from ..dtypes import INTEGER, DType, iinfo
from ..layout import Layout, Shape, broadcast_shapes, contiguous_strides
from ..state import state
from ..tensor import Tensor
from .numbers import DeferredNumber, Guards, Read

if TYPE_CHECKING:
    from ..dispatch.declared import Op

_SHAPE = (3, 4)
"""Stands for any shape: what is computed element by element is the same for all."""

_REFUSING = {"floor_divide", "remainder", "fmod", "pow"}
"""Ops that refuse some integers, which a kernel cannot."""


class NotLowered(Exception):
    """A body that does more than compute elements from elements, with the op and the line that did it."""


MOST_STEPS = 2000
"""How many results of ops an expression is made of at most: it is compiled as a whole."""


class ExpressionTensor(Wrapped):
    """A tensor of a body that is being lowered: its elements are an expression of the operands' elements."""

    __slots__ = ("expression",)

    expression: Expression
    _level: Lowering

    def _like(self, inner: Any) -> ExpressionTensor:
        return self._level.tensor(self.expression, self._array.shape)


class Lowering(Level):
    """Runs a body on tensors that carry expressions, for calls on *device*."""

    name = "lowering"

    def __init__(self, op: Op, device: Device) -> None:
        super().__init__(op.title)
        self.device = device
        self.guards = Guards()
        self.scalars: list[Read] = []
        self._known: dict[tuple[int, DType], tuple[DeferredNumber, Scalar]] = {}
        self._steps = 0

    def tensor(self, expression: Expression, shape: Shape) -> ExpressionTensor:
        """A tensor of this level with these elements."""
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise NotLowered(f"a body of more than {MOST_STEPS} steps")
        dtype = expression.dtype
        strides = tuple(stride * dtype.itemsize for stride in contiguous_strides(shape))
        nothing: Any = None  # there is no tensor behind it
        type_ = tensor_type(dtype, self.device, not shape)
        out: ExpressionTensor = ExpressionTensor._over(self, nothing, Handle(shape, strides, self), type_)
        out.expression = expression
        return out

    # ------------------------------------------------------------------------------------------------ what a level does

    def lift(self, tensor: Tensor) -> ExpressionTensor:
        first = tensor.flatten()[0]
        if not bool((tensor == first).all()):
            raise NotLowered("a tensor of constants that differ")
        return self.tensor(Literal(first.item(), tensor.dtype), tuple(tensor.shape))

    def compute(self, op: Op, values: tuple[Any, ...], plan: Plan) -> Any:
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
        if op.name == "copy":
            return self.tensor(tensors[0].expression, shape)
        if op.name == "cast":
            return self.tensor(cast(tensors[0].expression, values[1]), shape)
        dtype = plan.nd.dtype if op.name == "where" else tensors[-1].dtype
        if op.name != "where" and not has_formula(op.name, dtype):
            raise NotLowered(f"{op.name} has no formula for {dtype.name}")
        if dtype.category <= INTEGER and op.name in _REFUSING:
            raise NotLowered(f"{op.name} refuses some elements of {dtype.name}")
        operands = tuple(self._rounded(op, operands))
        return self.tensor(apply(op.name, *[self._argument(op, value, dtype) for value in operands]), shape)

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

    def _argument(self, op: Op, value: Any, dtype: DType) -> Expression:
        if isinstance(value, ExpressionTensor):
            return value.expression
        if type(value) is DeferredNumber:
            return self._scalar(op, value, dtype)
        if type(value) in NUMBERS:
            return Literal(value, dtype)
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

    def inner_view(self, op: Op, input: Any, params: tuple[Any, ...], layout: Layout) -> NoReturn:
        raise NotLowered(f"the view {op.name}")

    def read(self, effect: Effect, position: int, args: tuple[Any, ...]) -> NoReturn:
        raise NotLowered(f"{effect.name}() reads data")

    def into_constant(self, name: str, target: Tensor, args: tuple[Any, ...]) -> NoReturn:
        raise NotLowered(f"{name} writes")


@dataclass(frozen=True)
class Lowered:
    """What a body computes, and for which calls.

    Attributes:
        expressions: a result each, of operands numbered without those that are numbers.
        scalars: what computes the kernel's numbers from a call's operands and parameters.
        guards: what must hold of these.
    """

    expressions: tuple[Expression, ...]
    scalars: tuple[Read, ...]
    guards: Guards


def lower(op: Op, types: Signature, values: Sequence[Any]) -> Lowered:
    """The expressions of a composite's results for calls of the signature *types*.

    *values* are a call's operands and parameters; only the numbers among them are looked at. Raises `NotLowered`.
    """
    device = next(entry.device for entry in types if isinstance(entry, TensorType))
    level = Lowering(op, device)
    arguments: list[Any] = []
    count = 0
    for position, value in enumerate(values):
        entry = types[position] if position < len(types) else type(value)
        if isinstance(entry, TensorType):
            arguments.append(level.tensor(Operand(count, entry.dtype), () if entry.zero_dim else _SHAPE))
            count += 1
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
    except Exception as error:
        raise NotLowered(f"{_reason(error)}{_line(error)}") from error
    finally:
        state.modes, state.grad_enabled = modes, recording
        level.end()
    expressions: list[Expression] = []
    wanted = () if all(entry.zero_dim for entry in types if isinstance(entry, TensorType)) else _SHAPE
    for each in result if op.outputs else (result,):
        if not isinstance(each, ExpressionTensor) or each._array.shape != wanted:
            raise NotLowered("a result that is not computed from the operands' elements alone")
        expressions.append(each.expression)
    read = set(leaves_of(*expressions))
    if sum(isinstance(leaf, Operand) for leaf in read) != count:
        raise NotLowered("an operand whose elements are not read")
    # A body may compute what it then leaves out; the kernel gets the numbers that are read.
    scalars = sorted((leaf for leaf in read if isinstance(leaf, Scalar)), key=lambda scalar: scalar.position)
    if len(scalars) < len(level.scalars):
        moved: dict[Expression, Expression] = {old: Scalar(at, old.dtype) for at, old in enumerate(scalars)}
        expressions = substituted(expressions, moved)
    return Lowered(tuple(expressions), tuple([level.scalars[scalar.position] for scalar in scalars]), level.guards)


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
