"""Elementwise kernels: a table from ops to expressions, and what makes kernels of it.

An op that has a formula in `polyad.codegen` has a kernel by that; for others `kernel` is told how to express them. Half
types are computed in float32 throughout and rounded once.

To add an op: its formula there, or a row ``"op": kernel("op", expression)`` in the table of its family.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from polyad.backend import Kernel, TensorType
from polyad.backend.interface import Signature
from polyad.codegen import FORMULAS, Expression, Operand, Scalar, apply, has_formula
from polyad.dtypes import FLOATING, INTEGER, DType, iinfo
from polyad.errors import DivisionByZero

from ...array import Array
from ...runtime.device import opened
from ...source.generated import Fused, packer

Build = Callable[..., Expression]


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


def fused(types: Signature, what: str, build: Build, dtype: DType | None = None) -> Callable[..., Any]:
    """The callable for a signature of an elementwise op that *build* expresses."""
    device = opened(next(entry.device for entry in types if isinstance(entry, TensorType)))
    own = value_dtype(types) if dtype is None else dtype
    expression = build(*leaves(types, own))
    names = ", ".join(entry.dtype.name if isinstance(entry, TensorType) else entry.__name__ for entry in types)
    run = Fused(device, f"{what} of {names}", [expression])
    pack = packer(own)
    tensors = [position for position, entry in enumerate(types) if isinstance(entry, TensorType)]
    if len(tensors) == len(types):

        def of_arrays(*arrays: Array, out: Array | None = None) -> Array:
            if out is None:
                return run(arrays)[0]
            run.into((out,), arrays)
            return out

        return of_arrays
    numbers = [position for position in range(len(types)) if position not in tensors]

    def of_numbers_too(*operands: Any, out: Array | None = None) -> Array:
        arrays = [operands[position] for position in tensors]
        packed = [number for position in numbers for number in pack(operands[position])]
        if out is None:
            return run(arrays, packed)[0]
        run.into((out,), arrays, packed)
        return out

    return of_numbers_too


def kernel(op: str, build: Build | None = None, accepts: Callable[[DType], bool] = lambda dtype: True) -> Kernel:
    """The kernel of an elementwise op; *build* makes its expression of its operands', by default its own formula."""
    expression_of = build or (lambda *arguments: apply(op, *arguments))

    def specialize(types: Signature) -> Callable[..., Any] | None:
        if any(entry is type(None) for entry in types) or not accepts(value_dtype(types)):
            return None
        return fused(types, op, expression_of)

    return Kernel(unspecialized, out=True, specialize=specialize)


def is_floating(dtype: DType) -> bool:
    """For composites whose fused form is for floating point alone; others decompose."""
    return dtype.category == FLOATING


# ------------------------------------------------------------------------------------------------ division of integers


def _division(op: str) -> Kernel:
    """A quotient or remainder that refuses integers divided by zero."""

    def specialize(types: Signature) -> Callable[..., Any]:
        run = fused(types, op, lambda a, b: apply(op, a, b))
        if value_dtype(types).category != INTEGER:
            return run

        def checked(a: Any, b: Any, out: Any = None) -> Any:
            if _has_zero(b) and not (isinstance(a, Array) and 0 in a.shape):
                raise DivisionByZero(
                    f"{op}: an integer is divided by zero",
                    fix="mask the zeros, or convert to a floating dtype, where the result is inf or nan",
                )
            return run(a, b, out=out)

        return checked

    return Kernel(unspecialized, out=True, specialize=specialize)


def unspecialized(*operands: Any) -> Any:
    raise AssertionError("written for each signature")


def _has_zero(divisor: Any) -> bool:
    """Whether an integer divisor is 0 somewhere: the host waits for the answer."""
    if not isinstance(divisor, Array):
        return int(divisor) == 0
    if 0 in divisor.shape:
        return False
    from ..reductions.sums import all_true

    return not all_true(divisor)


# ------------------------------------------------------------------------------------------------ powers


def _square(x: Expression) -> Expression:
    return x * x


def _cube(x: Expression) -> Expression:
    return x * x * x


_BY_EXPONENT: dict[float, Build] = {
    1: lambda x: x,
    2: _square,
    3: _cube,
    4: lambda x: _square(_square(x)),
    0.5: lambda x: apply("sqrt", x),
    -0.5: lambda x: 1 / apply("sqrt", x),
    -1: lambda x: 1 / x,
    -2: lambda x: 1 / _square(x),
}
"""Exponents with something faster and more accurate than a power."""


def _power(types: Signature) -> Callable[..., Any]:
    general = fused(types, "pow", lambda a, b: apply("pow", a, b))
    if isinstance(types[1], TensorType):
        return general
    floating = value_dtype(types).category >= FLOATING
    short: dict[float, Any] = {}

    def power(a: Array, b: Any, out: Array | None = None) -> Array:
        if not floating and b < 0:
            raise ValueError("integers have no negative integer powers")
        build = None if isinstance(b, complex) else _BY_EXPONENT.get(b)
        if build is None or not (floating or b in (1, 2, 3, 4)):
            return general(a, b, out=out)
        run = short.get(b)
        if run is None:
            run = short[b] = fused(types[:1], "pow", build)
        return run(a, out=out)

    return power


def _periodic(op: str) -> Build:
    """PoCL's vectors of float32 lose digits in all lanes where one is infinite: that becomes the nan it leads to."""
    return lambda x: apply(op, x if x.dtype.is_complex else x + x * 0)


def _where(types: Signature) -> Callable[..., Any]:
    """A number that is chosen has to fit the dtype; in arithmetic it wraps as the result does."""
    run = fused(types, "where", lambda *arguments: apply("where", *arguments))
    dtype = value_dtype(types)
    if dtype.category != INTEGER or all(isinstance(entry, TensorType) for entry in types):
        return run
    limits = iinfo(dtype)

    def checked(condition: Array, *chosen: Any, out: Array | None = None) -> Array:
        for value in chosen:
            if not isinstance(value, Array) and not limits.min <= value <= limits.max:
                raise OverflowError(f"Python integer {value} out of bounds for {dtype.name}")
        return run(condition, *chosen, out=out)

    return checked


KERNELS = {
    **{op: kernel(op, accepts=partial(has_formula, op)) for op in FORMULAS},
    **{op: _division(op) for op in ("floor_divide", "remainder", "fmod")},
    **{op: kernel(op, _periodic(op)) for op in ("sin", "cos", "tan")},
    "where": Kernel(unspecialized, out=True, specialize=_where),
    "pow": Kernel(unspecialized, out=True, specialize=_power),
}
