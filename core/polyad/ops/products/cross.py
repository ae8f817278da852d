"""Cross products of vectors with three elements."""

from __future__ import annotations

from ...base.shapes_and_strides import Shape, broadcast_shapes, normalize_dim
from ...dispatch.forward import multilinear
from ...dispatch.op import composite, function, gradient
from ...dispatch.structure import contraction
from ...errors import ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..indexing.slicing import _slice
from ..pointwise.arithmetic import _mul, _sub, conjugate
from ..shaping.joining import _cat
from .mm import same_dtype


def _cross_shape(input: Shape, other: Shape, dim: int) -> Shape:
    return broadcast_shapes(input, other)


@composite(
    dtype=same_dtype("cross"), structure=contraction, shape=_cross_shape, grad_name="LinalgCrossBackward0", method=False
)
def _cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    """The cross products of the vectors along *dim*, which has size 3 in both; the others broadcast."""
    a, b = ([_slice(operand, dim, at, 1, 1) for at in range(3)] for operand in (input, other))
    return _cat([_sub(_mul(a[i], b[j]), _mul(a[j], b[i])) for i, j in ((1, 2), (2, 0), (0, 1))], dim)


gradient(
    _cross,
    input=lambda g, other, dim: _cross(conjugate(other), g, dim),
    other=lambda g, input, dim: _cross(g, conjugate(input), dim),
)
multilinear(_cross, "input", "other")


def cross_along(op: str, input: Tensor, other: Tensor, dim: int) -> Tensor:
    """`_cross` after checking its operands."""
    operands = {"input": input, "other": other}
    left, right = (check_tensor(tensor, op, name)._array.shape for name, tensor in operands.items())
    if len(left) != len(right):
        raise ShapeError(
            f"{op}: input has {len(left)} dimensions and other {len(right)}",
            operands=operands,
            fix="give them as many dimensions; sizes of 1 broadcast",
        )
    at = normalize_dim(dim, len(left), op)
    if not left or left[at] != 3 or right[at] != 3:
        raise ShapeError(
            f"{op}: dimension {at} of both must have size 3",
            operands=operands,
            fix="name the dimension along which the vectors lie",
        )
    return _cross(input, other, at)


@function()
def cross(input: Tensor, other: Tensor, dim: int | None = None, *, out: Tensor | None = None) -> Tensor:
    """The cross products of vectors along *dim*, whose size is 3; without a dim, along the first dimension of size 3.

    The other dimensions broadcast. Raises RuntimeError for other sizes, numbers of dimensions that differ or two
    dtypes.

    >>> import polyad
    >>> polyad.cross(polyad.tensor([1, 0, 0]), polyad.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if dim is None:
        shape = check_tensor(input, "cross", "input")._array.shape
        if 3 not in shape:
            raise ShapeError("cross: input has no dimension of size 3", operands={"input": input}, fix="reshape it")
        dim = shape.index(3)
    return cross_along("cross", input, other, dim)
