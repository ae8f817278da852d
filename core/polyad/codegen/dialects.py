"""What differs between the C-family languages that kernels are written in: type names, function names,
how a kernel begins.

Signed integers must wrap: compile C with ``-fwrapv`` (OpenCL and CUDA devices wrap by themselves). No fast-math, which
loses NaN.

To add a language: a `Dialect` with its spellings. What the generator writes between them is plain C99.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .. import dtypes
from ..dtypes import DType

_C_TYPES = {
    dtypes.bool_: "unsigned char",
    dtypes.uint8: "unsigned char",
    dtypes.int8: "signed char",
    dtypes.int16: "short",
    dtypes.int32: "int",
    dtypes.int64: "long long",
    dtypes.float32: "float",
    dtypes.float64: "double",
}

_SUFFIXED = {dtypes.float32: "f", dtypes.float64: ""}
"""C and CUDA C name a math function by its type: expf, exp."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """One language.

    Attributes:
        name: as in messages.
        prologue: text before the kernel.
        types: the scalar type of each dtype it has.
        qualifier: before a kernel's ``void``; address: before a pointer's type.
        index: the type of sizes and strides.
        rows: how a kernel gets the range of rows that one call works on, from the parameter ``rows``.
        suffixes: what is appended to a math function's name by dtype, empty for overloaded functions.
        parallel: whether the launch runs many instances, each on its own rows; if not, one call walks all rows.
    """

    name: str
    prologue: str
    types: Mapping[DType, str]
    qualifier: str
    address: str
    index: str
    rows: str
    suffixes: Mapping[DType, str]
    parallel: bool


C = Dialect(
    name="C",
    prologue="#include <math.h>\n#include <stddef.h>\n",
    types=_C_TYPES,
    qualifier="",
    address="",
    index="ptrdiff_t",
    rows="for (ptrdiff_t row = 0; row < rows; ++row)",
    suffixes=_SUFFIXED,
    parallel=False,
)

OPENCL_C = Dialect(
    name="OpenCL C",
    prologue="",
    types={**_C_TYPES, dtypes.bool_: "uchar", dtypes.uint8: "uchar", dtypes.int8: "char", dtypes.int64: "long"},
    qualifier="__kernel ",
    address="__global ",
    index="long",
    rows="for (long row = (long)get_global_id(0); row < rows; row += (long)get_global_size(0))",
    suffixes={},
    parallel=True,
)

CUDA_C = Dialect(
    name="CUDA C",
    prologue="",
    types=_C_TYPES,
    qualifier='extern "C" __global__ ',
    address="",
    index="long long",
    rows=(
        "for (long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x; row < rows; "
        "row += (long long)gridDim.x * blockDim.x)"
    ),
    suffixes=_SUFFIXED,
    parallel=True,
)

DIALECTS = {dialect.name: dialect for dialect in (C, OPENCL_C, CUDA_C)}
