"""What the steps of all optimizers share: their dtype and shape rules, weight decay, bias corrections."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ...backend.interface import Signature
from ...base.dtypes import FLOATING
from ...dispatch.op import composite
from ...dispatch.promotion import Rule, Typing, widest
from ...dispatch.structure import Pointwise, Structure
from ...errors import DTypeError, ShapeError
from ...tensor import Tensor

F = TypeVar("F", bound=Callable[..., Any])
Shape = tuple[int, ...]

elementwise = Pointwise(broadcasts=False)


def written_over(op: str, *positions: int) -> Rule:
    """Operands as they are; each result has the dtype of the operand over which it is written."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        if types[0].dtype.category < FLOATING:
            raise DTypeError(
                f"{op}: param is {types[0].dtype.name}; only floating point and complex tensors can be trained",
                fix="give the optimizer floating point parameters",
            )
        return Typing((None,) * len(types), tuple([types[position].dtype for position in positions]))

    return rule


def in_widest_dtype(count: Tensor) -> Tensor:
    """*count* in the widest dtype: ``beta ** step`` close to 1 has few digits left in float32."""
    return count.to(widest(count._type))


def check_shapes(op: str, param: Shape, **others: Shape) -> None:
    """Raise unless all shapes are that of the parameter."""
    for name, shape in others.items():
        if tuple(shape) != tuple(param):
            raise ShapeError(
                f"{op}: param {tuple(param)} and {name} {tuple(shape)} must have one shape",
                fix="make a new optimizer if the parameter was given another shape",
            )


def step(*written: str, scalars: tuple[str, ...] = (), structure: Structure = elementwise) -> Callable[[F], F]:
    """Declare a step by its body: a composite whose results are written over the operands *written*.

    All operands have the parameter's shape but for *scalars*, which are 0-d.
    """

    def wrap(definition: F) -> F:
        name = definition.__name__.removeprefix("_")
        operands = _operands(definition)
        arrays = [operand for operand in operands[1:] if operand not in scalars]
        places = [operands.index(operand) for operand in arrays]
        over = [operands.index(operand) for operand in written]

        def shape(*given: Any) -> Any:
            check_shapes(name, given[0], **{operand: given[place] for operand, place in zip(arrays, places)})
            return given[over[0]] if len(over) == 1 else tuple([given[at] for at in over])

        @functools.wraps(definition)
        def checked(*args: Any) -> Any:
            shape(*[args[place]._array.shape for place in range(len(operands))])  # not broadcast
            results = definition(*args)
            if len(over) == 1:
                return _of_dtype(results, args[over[0]])
            return tuple([_of_dtype(result, args[at]) for result, at in zip(results, over, strict=True)])

        return composite(
            dtype=written_over(name, *over),
            structure=structure,
            shape=shape,
            outputs=tuple([f"new_{operand}" for operand in written]) if len(written) > 1 else (),
            method=False,
        )(checked)  # type: ignore[return-value]

    return wrap


def rates(*written: str, gives: tuple[str, ...]) -> Callable[[F], F]:
    """Declare an op of 0-d tensors: first results that are written over the operands *written*, then those that it
    *gives*, in the widest dtype that the device computes in.
    """

    def wrap(definition: F) -> F:
        operands = _operands(definition)
        count = len(written) + len(gives)

        def dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
            over = [types[operands.index(operand)].dtype for operand in written]
            return Typing((None,) * len(types), (*over, *[widest(types[0])] * len(gives)))

        return composite(
            dtype=dtype,
            structure=elementwise,
            shape=lambda shape, *given: shape if count == 1 else (shape,) * count,
            outputs=(*[f"new_{operand}" for operand in written], *gives) if count > 1 else (),
            method=False,
        )(definition)

    return wrap


def _of_dtype(result: Tensor, operand: Tensor) -> Tensor:
    # A 0-d parameter of a half type takes the dtype of rates, which are 0-d too.
    dtype = operand._type.dtype
    return result if result._type.dtype is dtype else result.to(dtype)


def _operands(definition: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(definition).parameters.values()
    return [parameter.name for parameter in parameters if parameter.annotation == "Tensor"]


def direction(param: Tensor, grad: Tensor, weight_decay: float, maximize: bool) -> Tensor:
    """The gradient of what is minimised: uphill turned downhill, plus the penalty's gradient."""
    if maximize:
        grad = -grad
    return grad + param * weight_decay if weight_decay else grad


def decay(
    param: Tensor, grad: Tensor, lr: float, weight_decay: float, decoupled: bool, maximize: bool
) -> tuple[Tensor, Tensor]:
    """Weight decay: on the parameter itself if *decoupled*, else as a part of the gradient."""
    if decoupled and weight_decay:
        param, weight_decay = param * (1 - lr * weight_decay), 0.0
    return param, direction(param, grad, weight_decay, maximize)


def moments(grad: Tensor, exp_avg: Tensor, exp_avg_sq: Tensor, beta1: float, beta2: float) -> tuple[Tensor, Tensor]:
    """The moving averages of the gradient and of its square."""
    return exp_avg + (grad - exp_avg) * (1 - beta1), exp_avg_sq * beta2 + grad * grad * (1 - beta2)


def bias_correction(beta: float, count: Tensor) -> Tensor:
    """``1 - beta ** count`` without the cancellation that costs float32 four digits when beta is 0.999."""
    return -(count * (math.log(beta) if beta else -math.inf)).expm1()
