"""What linear algebra asks of its operands, how it reports matrices it cannot work with, and products in short.

Functions check here, once, before they call an op; the ops themselves trust them. An op that can fail on the values of
a matrix gives an ``info`` besides its results: int32, a number for each matrix, 0 for success, as LAPACK does.
`check_info` raises what it says.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...backend.interface import Signature
from ...base.dtypes import FLOATING, int32
from ...base.shapes_and_strides import Shape, broadcast_shapes, coordinates
from ...dispatch.promotion import Typing
from ...errors import ArgumentTypeError, DTypeError, LinAlgError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ...transforms.wrapped import innermost
from ..pointwise.arithmetic import conjugate
from ..products.matmul import _gemm
from ..reductions.any_all import anywhere


def matrices(op: str, A: Any, name: str = "A", *, square: bool = False, half: bool = False) -> Tensor:
    """*A* itself if it is a batch of matrices of a dtype that LAPACK has (or, with *half*, of 16-bit floats).

    Raises TypeError if it is no tensor, RuntimeError for another rank, shape or dtype.
    """
    if not isinstance(A, Tensor):
        return check_tensor(A, op, name)  # which raises
    shape = A._array.shape
    if len(shape) < 2:
        raise ShapeError(
            f"{op}: {name} {tuple(shape)} is no matrix: it has fewer than two dimensions",
            operands={name: A},
            fix="give a matrix (m, n), or a batch of matrices (*, m, n)",
        )
    if square and shape[-1] != shape[-2]:
        raise ShapeError(
            f"{op}: {name} must be square, its matrices are {shape[-2]} by {shape[-1]}",
            operands={name: A},
            fix=f"make the last two dimensions of {name} equal",
        )
    lapack_dtype(op, A, name, half=half)
    return A


def lapack_dtype(op: str, A: Tensor, name: str, *, half: bool = False) -> None:
    """Raise RuntimeError unless *A* is float32, float64 or complex (or, with *half*, a 16-bit float)."""
    dtype = A._type.dtype
    if dtype.category < FLOATING or (dtype.itemsize == 2 and not half):
        raise DTypeError(
            f"{op}: {name} is {dtype.name}; matrices of float32, float64, complex64 and complex128 have this",
            operands={name: A},
            fix=f"convert it first: {name}.float()",
        )


def same_dtype(op: str, **operands: Tensor) -> None:
    """Raise RuntimeError unless all *operands* have the same dtype, as PyTorch's linear algebra wants."""
    first = next(iter(operands.values()))._type.dtype
    for name, tensor in operands.items():
        if tensor._type.dtype is not first:
            raise DTypeError(
                f"{op}: {', '.join(operands)} must have one dtype, {name} is {tensor._type.dtype.name}",
                operands=operands,
                fix=f"convert it: {name}.to({first})",
            )


def is_flag(op: str, name: str, value: Any) -> bool:
    """*value* if it is a bool, else TypeError."""
    if not isinstance(value, bool):
        raise ArgumentTypeError(
            f"{op}: {name} is {safe_repr(value)}, not a bool", fix=f"pass {name}=True or {name}=False"
        )
    return value


def check_info(op: str, info: Tensor, message: str, fix: str, **operands: Any) -> None:
    """Raise LinAlgError for the first matrix whose *info* is not 0; ``{order}`` in *message* stands for that number."""
    if not anywhere(info != 0):
        return
    whole = innermost(info)
    host = whole._type.backend.to_host(whole._array)
    failed = host.reshape(-1) != 0
    number = int(failed.argmax())
    raise LinAlgError(
        f"{op}: {batch_element(number, host.shape)}{message.format(order=int(host.reshape(-1)[number]))}",
        operands=operands,
        fix=fix,
    )


def batch_element(number: int, batch: Shape) -> str:
    """How a message names matrix *number* of a batch, with a colon; empty if there is no batch."""
    place = coordinates(number, batch)
    return "" if not place else f"batch element {place[0] if len(place) == 1 else place}: "


# ------------------------------------------------------------------------------------------- rules for declarations


def with_info(types: Signature, params: Mapping[str, Any]) -> Typing:
    """The result has the first operand's dtype, the info beside it is int32."""
    return Typing((None,) * len(types), (types[0].dtype, int32))


def real_and_vectors(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Real values, and vectors of the operand's dtype."""
    dtype = types[0].dtype
    return Typing((None,), (dtype.to_real(), dtype))


def real(types: Signature, params: Mapping[str, Any]) -> Typing:
    """The real dtype of the first operand's."""
    return Typing((None,) * len(types), (types[0].dtype.to_real(),))


def product_shape(A: Shape, B: Shape) -> Shape:
    """Of the solution of A X = B, batches broadcast; raises ShapeError if the rows differ."""
    if A[-2] != B[-2]:
        raise ShapeError(
            f"solve: A {tuple(A)} and B {tuple(B)} do not agree: {A[-2]} != {B[-2]} rows",
            fix=f"make B (*, {A[-2]}, k)",
        )
    return (*broadcast_shapes(A[:-2], B[:-2]), A[-1], B[-1])


# ------------------------------------------------------------------------------------------- products in short


def adjoint_times(a: Tensor, b: Tensor) -> Tensor:
    """a^H b, for matrices."""
    return _gemm(conjugate(a), b, True, False)


def times_adjoint(a: Tensor, b: Tensor) -> Tensor:
    """a b^H, for matrices."""
    return _gemm(a, conjugate(b), False, True)


def times(a: Tensor, b: Tensor) -> Tensor:
    """a b, for matrices."""
    return _gemm(a, b, False, False)


def adjoint(a: Tensor) -> Tensor:
    """a^H, for matrices."""
    return conjugate(a).mT


def diagonal_of(a: Tensor) -> Tensor:
    """The diagonals, (*, n, n) to (*, n)."""
    return a.diagonal(0, -2, -1)


def real_part(a: Tensor) -> Tensor:
    """The real part; of a real tensor itself."""
    return a.real if a._type.dtype.is_complex else a
