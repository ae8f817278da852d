"""Tier 1: what is computed on the device. An op that is missing here runs on the host, if the user allows it.

``polyad ops`` lists the ops, ``polyad ops NAME`` says what a kernel of one gets and gives. A kernel is
``kernel(*operands, *params)``; `cast_by_rule` below makes NumPy arrays of the operands and a Buffer of the result, in
the dtypes that the op's rule says, so that most kernels are NumPy's own functions.
"""

import numpy as np

from polyad.backend import Kernel, cast_by_rule
from polyad.base.dtypes import float32
from polyad.interop.numpy import numpy_dtype

from .memory import Buffer


def load(operand, dtype):
    """What a function gets for an operand: its elements, or a number in the dtype that the op computes in."""
    return operand.values() if isinstance(operand, Buffer) else np.asarray(operand, numpy_dtype(dtype))


def quiet(function):
    """NaN and infinity are values, not reasons to warn."""
    return np.errstate(all="ignore")(lambda *operands: function(*operands))


def reduction(function):
    """A kernel that reduces the dimensions *dims*."""
    return lambda array, dims, keepdim: function(array, axis=dims, keepdims=keepdim)


def gemm(a, b, transpose_a, transpose_b):
    """A batch of matrix products; either side may come transposed."""
    left = a.swapaxes(-1, -2) if transpose_a else a
    right = b.swapaxes(-1, -2) if transpose_b else b
    return left @ right


NUMPY_S = "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor log log1p round sin sinh sqrt tan tanh"
NUMPY_S += " trunc add atan2 maximum minimum bitwise_and bitwise_or bitwise_xor logical_not where"

FUNCTIONS = {
    **{name: quiet(getattr(np, name)) for name in NUMPY_S.split()},
    "neg": np.negative,
    "sub": quiet(np.subtract),
    "mul": quiet(np.multiply),
    "div": quiet(np.divide),
    # A bare function takes all dtypes that the backend declares; a Kernel can say more.
    "pow": Kernel(quiet(np.power), dtypes=frozenset({float32})),
    "bitwise_not": np.invert,
    "eq": np.equal,
    "le": np.less_equal,
    "lt": np.less,
    "copy": lambda array: array,
    "cast": lambda array, dtype: array,
    "amax": reduction(np.max),
    "amin": reduction(np.min),
    "sum": reduction(np.sum),
    "any": reduction(np.any),
    "all": reduction(np.all),
    "gemm": gemm,
    "cat": lambda arrays, dim: np.concatenate(arrays, axis=dim),
    "flip": np.flip,
}

KERNELS = cast_by_rule(FUNCTIONS, load=load, store=quiet(Buffer.of))
