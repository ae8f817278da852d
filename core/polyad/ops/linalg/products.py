"""Products and views of matrices under the signatures of ``polyad.linalg``: cross, vecdot, diagonal, ..."""

from __future__ import annotations

from collections.abc import Sequence

from ...base.dtypes import BOOL, FLOATING
from ...base.shapes_and_strides import normalize_dim
from ...dispatch.op import function
from ...errors import ArgumentTypeError, DTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_least
from ..pointwise.arithmetic import _mul, conjugate
from ..products.cross import cross_along
from ..products.matmul import _gemm
from ..products.mm import check_chain, check_same_dtype, common_shape, product_of_chain
from ..shaping import diagonals
from ..shaping.reshape import _expand, _permute, _reshape, _unsqueeze
from .vander import powers_of


@function(namespace="linalg")
def cross(input: Tensor, other: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The cross products of vectors along *dim*, whose size is 3; the other dimensions broadcast.

    Raises RuntimeError for other sizes, numbers of dimensions that differ or two dtypes.

    >>> import polyad
    >>> polyad.linalg.cross(polyad.tensor([1.0, 0, 0]), polyad.tensor([0, 1.0, 0]))
    tensor([0., 0., 1.])
    """
    return cross_along("cross", input, other, dim)


@function(namespace="linalg")
def vecdot(x: Tensor, y: Tensor, *, dim: int = -1, out: Tensor | None = None) -> Tensor:
    """The inner products of vectors along *dim*, those of *x* conjugated; the other dimensions broadcast.

    Raises RuntimeError for integers and bool, two dtypes, or shapes that do not broadcast, IndexError for a dim out of
    range.

    >>> import polyad
    >>> polyad.linalg.vecdot(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), polyad.tensor([1.0, 10.0]))
    tensor([21., 43.])
    """
    operands = {"x": check_tensor(x, "vecdot", "x"), "y": check_tensor(y, "vecdot", "y")}
    check_same_dtype("vecdot", **operands)
    if x._type.dtype.category < FLOATING:
        raise DTypeError(
            f"vecdot: the operands are {x.dtype.name}", operands=operands, fix="convert them to a floating point dtype"
        )
    shape = common_shape("vecdot", **operands)
    at = normalize_dim(dim, len(shape), "vecdot")
    if not shape:
        return _mul(conjugate(x), y)
    left, right = (_last(_expand(operand, shape), at) for operand in (conjugate(x), y))
    result = _gemm(_unsqueeze(left, left.ndim - 1), _unsqueeze(right, right.ndim), False, False)
    return _reshape(result, (*shape[:at], *shape[at + 1 :]))


def _last(tensor: Tensor, dim: int) -> Tensor:
    """*tensor* with *dim* as its last dimension."""
    last = tensor.ndim - 1
    return tensor if dim == last else _permute(tensor, (*range(dim), *range(dim + 1, last + 1), dim))


@function(namespace="linalg")
def diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """A view of the diagonals of matrices, by default those of the last two dimensions; see ``polyad.diagonal``.

    Raises RuntimeError if the two dimensions are the same, IndexError if either is out of range.

    >>> import polyad
    >>> polyad.linalg.diagonal(polyad.arange(8).reshape(2, 2, 2))
    tensor([[0, 3],
            [4, 7]])
    """
    return diagonals.diagonal(check_tensor(A, "diagonal", "A"), offset, dim1, dim2)


@function(namespace="linalg")
def vander(x: Tensor, *, N: int | None = None) -> Tensor:
    """The powers 0 to N - 1 of each element, in a new last dimension; N is the size of x's last dimension unless given.

    A 0-d x counts as a single element. Integers become int64. Raises RuntimeError for a bool tensor or an N below 2.

    >>> import polyad
    >>> polyad.linalg.vander(polyad.tensor([2, 3]), N=3)
    tensor([[1, 2, 4],
            [1, 3, 9]])
    """
    if check_tensor(x, "vander", "x")._type.dtype.category == BOOL:
        raise DTypeError("vander: x is bool", operands={"x": x}, fix="convert it to an integer dtype")
    count = N if N is not None else x._array.shape[-1] if x.ndim else 1
    check_least("vander", "N", count, 2, operands={"x": x}, fix="give an N above 1")
    return powers_of(x if x.ndim else x.reshape(1), int(count))


@function(namespace="linalg")
def multi_dot(tensors: Sequence[Tensor], *, out: Tensor | None = None) -> Tensor:
    """The product of two or more matrices, multiplied in the cheapest order; the first and last may be vectors.

    Raises RuntimeError for fewer than two tensors, or when sizes or dtypes do not agree.

    >>> import polyad
    >>> polyad.linalg.multi_dot([polyad.ones(3), polyad.ones(3, 4), polyad.ones(4)])
    tensor(12.)
    """
    if not isinstance(tensors, (tuple, list)):
        raise ArgumentTypeError(f"multi_dot: tensors is {type(tensors).__name__}, not a list", fix="pass a list")
    if len(tensors) < 2:
        raise ShapeError(f"multi_dot: there are {len(tensors)} tensors, not two or more", fix="give at least two")
    operands = {f"tensors[{place}]": tensor for place, tensor in enumerate(tensors)}
    last = len(tensors) - 1
    for place, tensor in enumerate(tensors):
        ndim = check_tensor(tensor, "multi_dot", f"tensors[{place}]").ndim
        if ndim != 2 and not (ndim == 1 and place in (0, last)):
            raise ShapeError(
                f"multi_dot: tensor {place} has {ndim} dimensions",
                operands=operands,
                fix="give matrices; only the first and the last may be vectors",
            )
    shape = (*tensors[0]._array.shape[:-1], *tensors[-1]._array.shape[1:])
    matrices = [
        tensor if tensor.ndim == 2 else _unsqueeze(tensor, 0 if place == 0 else 1)
        for place, tensor in enumerate(tensors)
    ]
    check_chain("multi_dot", matrices)
    result = product_of_chain(matrices)
    return result if result._array.shape == shape else _reshape(result, shape)
