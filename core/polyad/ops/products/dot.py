"""Inner products of vectors: dot, vdot, inner. Operands of two dtypes are refused, see mm.py."""

from __future__ import annotations

from ...base.shapes_and_strides import Shape
from ...dispatch.forward import multilinear
from ...dispatch.op import composite, function, gradient
from ...dispatch.structure import contraction
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import _mul, conjugate
from ..shaping.reshape import _permute, _reshape, _unsqueeze
from .matmul import _gemm
from .mm import _expect, _inner, check_same_dtype, mm, mv, same_dtype


def _dot_shape(input: Shape, tensor: Shape, op: str = "dot", name: str = "tensor") -> Shape:
    names = ("input", name)
    _expect(op, names, (input, tensor), (1, 1))
    _inner(op, names, (input, tensor), (input[0], tensor[0]))
    return ()


def _vdot_shape(input: Shape, other: Shape) -> Shape:
    return _dot_shape(input, other, "vdot", "other")


@composite(dtype=same_dtype("dot"), structure=contraction, shape=_dot_shape)
def dot(input: Tensor, tensor: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The sum of the products of two vectors' elements; nothing is conjugated (see `vdot`).

    Raises RuntimeError unless both are 1-d, of one length and one dtype.

    >>> import polyad
    >>> polyad.dot(polyad.tensor([1, 2]), polyad.tensor([3, 4]))
    tensor(11)
    """
    _dot_shape(input._array.shape, tensor._array.shape)
    return _reshape(_gemm(_unsqueeze(input, 0), _unsqueeze(tensor, 1), False, False), ())


gradient(
    dot,
    input=lambda g, tensor: _mul(g, conjugate(tensor)),
    tensor=lambda g, input: _mul(g, conjugate(input)),
)
multilinear(dot, "input", "tensor")


@composite(dtype=same_dtype("vdot"), structure=contraction, shape=_vdot_shape)
def vdot(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The inner product of two vectors: `dot` with the first vector conjugated.

    Raises RuntimeError unless both are 1-d, of one length and one dtype.

    >>> import polyad
    >>> polyad.vdot(polyad.tensor([1j]), polyad.tensor([1j]))
    tensor(1.+0.j)
    """
    _vdot_shape(input._array.shape, other._array.shape)
    return dot(conjugate(input), other)


@function()
def inner(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """Sums of products over the last dimensions: ``(*a, n)`` and ``(*b, n)`` give ``(*a, *b)``; 0-d multiplies.

    Raises RuntimeError when the last sizes differ, or the dtypes do (and neither is 0-d).

    >>> import polyad
    >>> polyad.inner(polyad.tensor([[1, 2], [3, 4]]), polyad.tensor([1, 10]))
    tensor([21, 43])
    """
    left = check_tensor(input, "inner", "input")._array.shape
    right = check_tensor(other, "inner", "other")._array.shape
    if not left or not right:
        return _mul(input, other)
    check_same_dtype("inner", input=input, other=other)
    if left[-1] != right[-1]:
        raise ShapeError(
            f"inner: the last sizes of input {left} and other {right} differ: {left[-1]} != {right[-1]}",
            operands={"input": input, "other": other},
            fix="make the last dimensions equal",
        )
    if len(left) == len(right) == 1:
        return dot(input, other)
    if len(right) == 1 and len(left) == 2:
        return mv(input, other)
    rows, columns = (tensor if tensor.ndim == 2 else _reshape(tensor, _rows_shape(tensor)) for tensor in (input, other))
    product = mm(rows, _permute(columns, (1, 0)))
    return product if len(left) == len(right) == 2 else _reshape(product, (*left[:-1], *right[:-1]))


def _rows_shape(tensor: Tensor) -> Shape:
    """The shape of *tensor* with all but the last dimension joined."""
    shape = tensor._array.shape
    count = 1
    for size in shape[:-1]:
        count *= size
    return (count, shape[-1])
