"""Mixed dtypes: tensors with tensors, with 0-d tensors and with Python numbers, against PyTorch's documented rules.

The table is written out here, apart from the lattice that polyad computes with.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import DType, named
from polyad.interop.numpy import numpy_dtype

from ..calls import Target
from ..layouts import to_host

_SHORT = {
    "b": "bool", "u1": "uint8", "i1": "int8", "i2": "int16", "i4": "int32", "i8": "int64",
    "f2": "float16", "bf": "bfloat16", "f4": "float32", "f8": "float64", "c8": "complex64", "c16": "complex128",
}  # fmt: skip

# https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc,
# rows and columns in the order of the first column.
_TABLE = """
b    b   u1  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
u1   u1  u1  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i1   i1  i2  i1  i2  i4  i8  f2  bf  f4  f8  c8  c16
i2   i2  i2  i2  i2  i4  i8  f2  bf  f4  f8  c8  c16
i4   i4  i4  i4  i4  i4  i8  f2  bf  f4  f8  c8  c16
i8   i8  i8  i8  i8  i8  i8  f2  bf  f4  f8  c8  c16
f2   f2  f2  f2  f2  f2  f2  f2  f4  f4  f8  c8  c16
bf   bf  bf  bf  bf  bf  bf  f4  bf  f4  f8  c8  c16
f4   f4  f4  f4  f4  f4  f4  f4  f4  f4  f8  c8  c16
f8   f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
c8   c8  c8  c8  c8  c8  c8  c8  c8  c8  c16 c8  c16
c16  c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""

OPS = ("add", "mul")


def table() -> dict[tuple[DType, DType], DType]:
    """The dtype of the result for two tensors that both have dimensions."""
    rows = [line.split() for line in _TABLE.strip().splitlines()]
    order = [named(_SHORT[row[0]]) for row in rows]
    return {(left, right): named(_SHORT[cell]) for left, row in zip(order, rows) for right, cell in zip(order, row[1:])}


def with_zero_dim(left: DType, zero_dim: DType) -> DType | None:
    """For a tensor with dimensions and a 0-d one: the 0-d one counts only if it is of a higher category.

    None: no such dtype.
    """
    if zero_dim.category <= left.category:
        return left
    if left.is_floating_point:
        return {"float32": named("complex64"), "float64": named("complex128")}.get(left.name)
    return zero_dim


def with_number(left: DType, number: type) -> DType | None:
    """For a tensor and a Python number, whose own dtypes are bool, int64, float32 and complex64."""
    return with_zero_dim(left, named({bool: "bool", int: "int64", float: "float32", complex: "complex64"}[number]))


def _assert(op: str, got: Any, expected: DType, value: complex, what: str) -> None:
    assert got.dtype is expected, f"{what} is {got.dtype}, expected {expected}"
    host = to_host(got)
    assert host.dtype == numpy_dtype(expected), f"{what} has memory of dtype {host.dtype}, expected {expected}"
    if expected.name != "bool":
        wrong = host.astype(np.complex128) != value
        assert not wrong.any(), f"{what} has the values {host.tolist()}, expected {value}"


def check_promotion(op: str, target: Target) -> None:
    """*op* over all pairs of dtypes that the device declares, all 0-d ones, and all kinds of numbers,
    on either side.
    """
    function = getattr(polyad, op)
    combine = {"add": lambda a, b: a + b, "mul": lambda a, b: a * b}[op]
    computing = [dtype for dtype in target.dtypes if dtype.computes]
    dtypes = sorted(computing, key=lambda dtype: (dtype.category, dtype.itemsize, dtype.name))
    for (left, right), expected in table().items():
        if not {left, right, expected} <= target.dtypes:
            continue
        a = polyad.full((2, 3), 1, dtype=left, device=target.device)
        b = polyad.full((3,), 1, dtype=right, device=target.device)
        with target.watching():
            _assert(op, function(a, b), expected, combine(1, 1), f"{op}({left.name} (2, 3), {right.name} (3,))")
    for left in dtypes:
        a = polyad.full((2, 3), 1, dtype=left, device=target.device)
        for right in dtypes:
            expected_here = with_zero_dim(left, right)
            if expected_here not in target.dtypes:
                continue
            b = polyad.full((), 1, dtype=right, device=target.device)
            what = f"{left.name} (2, 3), {right.name} ()"
            with target.watching():
                _assert(op, function(a, b), expected_here, combine(1, 1), f"{op}({what})")
                _assert(op, function(b, a), expected_here, combine(1, 1), f"{op}(reversed: {what})")
        for number in (True, 1, 1.0, 1 + 0j):
            expected_here = with_number(left, type(number))
            if expected_here not in target.dtypes:
                continue
            what = f"{left.name} (2, 3), {number!r}"
            with target.watching():
                _assert(op, function(a, number), expected_here, combine(1, 1), f"{op}({what})")
                _assert(op, function(number, a), expected_here, combine(1, 1), f"{op}(reversed: {what})")
