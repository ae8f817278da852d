"""Kernels of the primitives that compute element by element: each op that has a formula.

Half types are computed in float32 throughout and rounded once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ...backend.interface import Kernel, Signature, TensorType
from ...backend.runtime import Runtime
from ...base.device import Device
from ...base.dtypes import FLOATING, INTEGER, DType, iinfo
from ...errors import DivisionByZero
from ..expression import Expression, Operand, Scalar, apply
from ..formulas import FORMULAS
from ..writer import has_formula
from .pointwise import PointwiseKernel

Build = Callable[..., Expression]
RuntimeOf = Callable[[Device], Runtime]


def value_dtype(types: Signature) -> DType:
    """The dtype in which an op's numbers are read: its last tensor's, which of `where` is not the condition."""
    return [entry.dtype for entry in types if isinstance(entry, TensorType)][-1]


def leaves(types: Signature, dtype: DType) -> list[Expression]:
    """An operand for each tensor of a signature, a scalar of *dtype* for each number."""
    expressions: list[Expression] = []
    operands = scalars = 0
    for entry in types:
        if isinstance(entry, TensorType):
            expressions.append(Operand(operands, entry.dtype))
            operands += 1
        else:
            expressions.append(Scalar(scalars, dtype))
            scalars += 1
    return expressions


def by_expression(runtime_of: RuntimeOf, types: Signature, what: str, build: Build) -> Callable[..., Any]:
    """The callable for a signature of an op of arrays and numbers whose expression *build* makes of its operands'."""
    runtime = runtime_of(next(entry.device for entry in types if isinstance(entry, TensorType)))
    expression = build(*leaves(types, value_dtype(types)))
    names = ", ".join(entry.dtype.name if isinstance(entry, TensorType) else entry.__name__ for entry in types)
    run = PointwiseKernel(runtime, f"{what} of {names}", [expression])
    tensors = [position for position, entry in enumerate(types) if isinstance(entry, TensorType)]
    if len(tensors) == len(types):

        def of_arrays(*arrays: Any, out: Any = None) -> Any:
            if out is None:
                return run(arrays)[0]
            run.into((out,), arrays)
            return out

        return of_arrays
    numbers = [position for position in range(len(types)) if position not in tensors]

    tensors_first = len(tensors) if tensors == [*range(len(tensors))] else 0

    def of_numbers_too(*operands: Any, out: Any = None) -> Any:
        if tensors_first:
            arrays, given = operands[:tensors_first], operands[tensors_first:]
        else:
            arrays = tuple([operands[position] for position in tensors])
            given = tuple([operands[position] for position in numbers])
        if out is None:
            return run(arrays, given)[0]
        run.into((out,), arrays, given)
        return out

    return of_numbers_too


def unspecialized(*operands: Any) -> Any:
    """What stands for the function of a kernel that is written for each signature."""
    raise AssertionError("written for each signature")


def _by_formula(runtime_of: RuntimeOf, op: str) -> Kernel:
    """The kernel of an op with a formula."""

    def specialize(types: Signature) -> Callable[..., Any] | None:
        if any(entry is type(None) for entry in types) or not has_formula(op, value_dtype(types)):
            return None
        return by_expression(runtime_of, types, op, partial(apply, op))

    return Kernel(unspecialized, out=True, specialize=specialize)


# ------------------------------------------------------------------------------------------------ division of integers


def _division(runtime_of: RuntimeOf, op: str) -> Kernel:
    """A quotient or remainder that refuses integers divided by zero; what the formula makes of them is never seen."""

    def specialize(types: Signature) -> Callable[..., Any]:
        run = by_expression(runtime_of, types, op, partial(apply, op))
        if value_dtype(types).category != INTEGER:
            return run
        by_tensor, of_tensor = isinstance(types[1], TensorType), isinstance(types[0], TensorType)

        def by_zero(position: tuple[int, ...], value: int) -> DivisionByZero:
            return DivisionByZero(
                f"{op}: an integer is divided by zero",
                fix="mask the zeros, or convert to a floating dtype, where the result is inf or nan",
            )

        def checked(a: Any, b: Any, out: Any = None) -> Any:
            if not (of_tensor and 0 in a.shape):
                if by_tensor:
                    if 0 not in b.shape:
                        runtime_of(types[1].device).backend.check_all(b, None, by_zero)
                elif int(b) == 0:
                    raise by_zero((), 0)
            return run(a, b, out=out)

        return checked

    return Kernel(unspecialized, out=True, specialize=specialize)


# ------------------------------------------------------------------------------------------------ powers


def _square(x: Expression) -> Expression:
    return x * x


_BY_EXPONENT: dict[float, Build] = {
    1: lambda x: x,
    2: _square,
    3: lambda x: x * x * x,
    4: lambda x: _square(_square(x)),
    0.5: lambda x: apply("sqrt", x),
    -0.5: lambda x: 1 / apply("sqrt", x),
    -1: lambda x: 1 / x,
    -2: lambda x: 1 / _square(x),
}
"""Exponents with something faster and more accurate than a power."""


def _power(runtime_of: RuntimeOf) -> Kernel:
    def specialize(types: Signature) -> Callable[..., Any]:
        general = by_expression(runtime_of, types, "pow", partial(apply, "pow"))
        if isinstance(types[1], TensorType):
            return general
        floating = value_dtype(types).category >= FLOATING
        short: dict[float, Any] = {}

        def power(a: Any, b: Any, out: Any = None) -> Any:
            if not floating and b < 0:
                raise ValueError("integers have no negative integer powers")
            build = None if isinstance(b, complex) else _BY_EXPONENT.get(b)
            if build is None or not (floating or b in (1, 2, 3, 4)):
                return general(a, b, out=out)
            run = short.get(b)
            if run is None:
                run = short[b] = by_expression(runtime_of, types[:1], "pow", build)
            return run(a, out=out)

        return power

    return Kernel(unspecialized, out=True, specialize=specialize)


# ------------------------------------------------------------------------------------------------ choices


def _where(runtime_of: RuntimeOf) -> Kernel:
    """A number that is chosen has to fit the dtype; in arithmetic it wraps as the result does."""

    def specialize(types: Signature) -> Callable[..., Any]:
        run = by_expression(runtime_of, types, "where", partial(apply, "where"))
        dtype = value_dtype(types)
        numbers = [position for position, entry in enumerate(types) if not isinstance(entry, TensorType)]
        if dtype.category != INTEGER or not numbers:
            return run
        limits = iinfo(dtype)

        def checked(*operands: Any, out: Any = None) -> Any:
            for position in numbers:
                if not limits.min <= operands[position] <= limits.max:
                    raise OverflowError(f"Python integer {operands[position]} out of bounds for {dtype.name}")
            return run(*operands, out=out)

        return checked

    return Kernel(unspecialized, out=True, specialize=specialize)


def pointwise_ops(runtime_of: RuntimeOf) -> dict[str, Kernel]:
    """The kernel of every primitive with a formula, by op name."""
    return {
        **{op: _by_formula(runtime_of, op) for op in FORMULAS},
        **{op: _division(runtime_of, op) for op in ("floor_divide", "remainder", "fmod")},
        "where": _where(runtime_of),
        "pow": _power(runtime_of),
    }
