"""Tier 1: what is computed on the device. An op that is missing here runs on the host, if the user allows it.

A kernel is ``kernel(*operands, *params) -> Buffer``, in the order of the op's declaration: operands are Buffers, or
numbers where the op takes them. Dtypes are promoted and parameters normalised before it is called; shapes are explained
to the user when it raises. To add one, look at ``polyad.dispatch.op.primitives()`` and put it into the table.
"""

import numpy as np

from polyad.backend import Kernel, TensorType
from polyad.dtypes import bool_, float32, int64

from .memory import Buffer


def elementwise(function, result=None):
    """A kernel of operands that broadcast; its dtype is *result*, or that of the last tensor among them."""

    def kernel(*operands):
        dtype = result or next(one.dtype for one in reversed(operands) if isinstance(one, Buffer))
        with np.errstate(all="ignore"):  # NaN and infinity are values, not reasons to warn
            return Buffer.of(function(*[one.values() if isinstance(one, Buffer) else one for one in operands]), dtype)

    return kernel


def reduction(function, result=None):
    """A kernel that reduces the dimensions *dims*."""

    def kernel(array, dims, keepdim):
        return Buffer.of(function(array.values(), axis=dims, keepdims=keepdim), result or array.dtype)

    return kernel


def add_up(array, dims, keepdim):
    """The sum; integers and bool add up in int64."""
    return reduction(np.sum, float32 if array.dtype is float32 else int64)(array, dims, keepdim)


def gemm(a, b, transpose_a, transpose_b):
    """A batch of matrix products; either side may come transposed."""
    left, right = a.values(), b.values()
    left = left.swapaxes(-1, -2) if transpose_a else left
    right = right.swapaxes(-1, -2) if transpose_b else right
    return Buffer.of(left @ right, a.dtype)


def cast(array, dtype):
    """The elements as another dtype."""
    with np.errstate(all="ignore"):
        return Buffer.of(array.values(), dtype)


def where_of(types):
    """Called once for each combination of operand types; None is "not this one", and the next kernel is asked."""
    return elementwise(np.where) if any(isinstance(one, TensorType) for one in types[1:]) else None


UNARY = "abs acos acosh asin asinh atan atanh ceil cos cosh exp expm1 floor log log1p round sin sinh sqrt tan tanh"

KERNELS = {
    # A bare function takes all dtypes that the backend declares; a Kernel can say more.
    **{name: elementwise(getattr(np, name)) for name in UNARY.split()},
    **{name: elementwise(getattr(np, name)) for name in ("trunc", "add", "atan2", "maximum", "minimum")},
    "neg": elementwise(np.negative),
    "sub": elementwise(np.subtract),
    "mul": elementwise(np.multiply),
    "div": elementwise(np.divide),
    "pow": Kernel(elementwise(np.power), dtypes=frozenset({float32})),
    "bitwise_and": elementwise(np.bitwise_and),
    "bitwise_or": elementwise(np.bitwise_or),
    "bitwise_xor": elementwise(np.bitwise_xor),
    "bitwise_not": elementwise(np.invert),
    "eq": elementwise(np.equal, bool_),
    "le": elementwise(np.less_equal, bool_),
    "lt": elementwise(np.less, bool_),
    "logical_not": elementwise(np.logical_not, bool_),
    "where": Kernel(elementwise(np.where), specialize=where_of),
    "copy": lambda array: cast(array, array.dtype),
    "cast": cast,
    "amax": reduction(np.max),
    "amin": reduction(np.min),
    "sum": add_up,
    "any": reduction(np.any, bool_),
    "all": reduction(np.all, bool_),
    "gemm": gemm,
    "cat": lambda arrays, dim: Buffer.of(np.concatenate([one.values() for one in arrays], axis=dim), arrays[0].dtype),
    "flip": lambda array, dims: Buffer.of(np.flip(array.values(), dims), array.dtype),
}
