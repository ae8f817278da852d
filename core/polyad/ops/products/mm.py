"""Products of matrices under the names that say their shapes: mm, bmm, mv; and of chains of matrices.

Unlike `matmul` and the elementwise ops these do not promote: operands of two dtypes are refused, as PyTorch does. What
all of them come down to is the primitive ``gemm`` (`polyad.ops.products.matmul`); mm, bmm and mv, like dot in dot.py,
are ops of their own only so that a small product costs one kernel.

To add a product of fixed ranks, declare a composite with `same_dtype` and a shape rule that also checks the ranks; its
body calls the rule first, since ``gemm`` broadcasts where the product may not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...backend.interface import Signature
from ...base.dtypes import BOOL
from ...base.shapes_and_strides import Shape, broadcast_shapes
from ...dispatch.forward import multilinear
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Rule, Typing
from ...dispatch.structure import contraction
from ...errors import DTypeError, ShapeError, UnsupportedDType
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import _mul, conjugate
from ..shaping.reshape import _permute, _squeeze, _unsqueeze
from .matmul import _gemm


def same_dtype(op: str) -> Rule:
    """The rule of products: all operands have one dtype, which is the result's; bool has no sums, so no products."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        dtype = types[0].dtype
        for entry in types:
            if entry.dtype is not dtype:
                names = " and ".join(operand.dtype.name for operand in types)
                raise DTypeError(
                    f"{op}: the operands are {names}, not of the same dtype",
                    fix="convert them to one dtype, or use matmul, which promotes",
                )
        if dtype.category == BOOL:
            raise UnsupportedDType(f"{op}: bool tensors have no such product", fix="convert them to an integer dtype")
        return Typing((None,) * len(types), (dtype,))

    return rule


def check_same_dtype(op: str, **operands: Tensor) -> None:
    """Raise DTypeError unless all tensors have one dtype."""
    found = {tensor._type.dtype for tensor in operands.values()}
    if len(found) > 1:
        raise DTypeError(
            f"{op}: the operands are {' and '.join(tensor.dtype.name for tensor in operands.values())}, "
            "not of the same dtype",
            operands=operands,
            fix="convert them to one dtype",
        )


def common_shape(op: str, **operands: Tensor) -> Shape:
    """The shape that all operands broadcast to; raises ShapeError in the name of *op*."""
    try:
        return broadcast_shapes(*[tensor._array.shape for tensor in operands.values()])
    except ShapeError as error:
        error.message = error.message.replace("broadcast:", f"{op}:", 1)
        error.add_operands(operands)
        raise


def check_rank(op: str, ndim: int, **operands: Tensor) -> None:
    """Raise TypeError for an operand that is no tensor, RuntimeError unless each has *ndim* dimensions."""
    for name, tensor in operands.items():
        if check_tensor(tensor, op, name).ndim != ndim:
            raise ShapeError(
                f"{op}: {name} has {tensor.ndim} dimensions, not {ndim}",
                operands=operands,
                fix="reshape it" if ndim == 1 else "use matmul for other numbers of dimensions",
            )


def _expect(op: str, names: tuple[str, str], shapes: tuple[Shape, Shape], ranks: tuple[int, int]) -> None:
    for name, shape, rank in zip(names, shapes, ranks, strict=True):
        if len(shape) != rank:
            what = {1: "a vector", 2: "a matrix", 3: "a batch of matrices"}[rank]
            raise ShapeError(
                f"{op}: {name} {shape} is not {what} but has {len(shape)} dimensions",
                fix="use matmul for other numbers of dimensions",
            )


def _inner(op: str, names: tuple[str, str], shapes: tuple[Shape, Shape], sizes: tuple[int, int]) -> None:
    if sizes[0] != sizes[1]:
        raise ShapeError(
            f"{op}: {names[0]} {shapes[0]} and {names[1]} {shapes[1]} do not agree: {sizes[0]} != {sizes[1]}",
            fix="make the summed sizes equal, or transpose one of them",
        )


def mm_shape(input: Shape, mat2: Shape, op: str = "mm", names: tuple[str, str] = ("input", "mat2")) -> Shape:
    """(n, m) and (m, p) give (n, p)."""
    _expect(op, names, (input, mat2), (2, 2))
    _inner(op, names, (input, mat2), (input[1], mat2[0]))
    return (input[0], mat2[1])


def bmm_shape(input: Shape, mat2: Shape, op: str = "bmm", names: tuple[str, str] = ("input", "mat2")) -> Shape:
    """(b, n, m) and (b, m, p) give (b, n, p)."""
    _expect(op, names, (input, mat2), (3, 3))
    if input[0] != mat2[0]:
        raise ShapeError(
            f"{op}: {names[0]} {input} and {names[1]} {mat2} have different numbers of matrices: "
            f"{input[0]} != {mat2[0]}",
            fix="expand one of them, or use matmul, which broadcasts",
        )
    _inner(op, names, (input, mat2), (input[2], mat2[1]))
    return (input[0], input[1], mat2[2])


def mv_shape(input: Shape, vec: Shape, op: str = "mv", names: tuple[str, str] = ("input", "vec")) -> Shape:
    """(n, m) and (m,) give (n,)."""
    _expect(op, names, (input, vec), (2, 1))
    _inner(op, names, (input, vec), (input[1], vec[0]))
    return (input[0],)


@composite(dtype=same_dtype("mm"), structure=contraction, shape=mm_shape)
def mm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of two matrices: (n, m) and (m, p) give (n, p).

    Raises RuntimeError unless both are matrices of one dtype whose inner sizes agree; `matmul` is more lenient.

    >>> import polyad
    >>> polyad.mm(polyad.tensor([[1, 2]]), polyad.tensor([[3], [4]]))
    tensor([[11]])
    """
    mm_shape(input._array.shape, mat2._array.shape)
    return _gemm(input, mat2, False, False)


gradient(
    mm,
    input=lambda g, mat2: _gemm(g, conjugate(mat2), False, True),
    mat2=lambda g, input: _gemm(conjugate(input), g, True, False),
)
multilinear(mm, "input", "mat2")


@function(method=False)
def spmm(input: Tensor, mat2: Tensor) -> Tensor:
    """`mm` under the name that it has in PyTorch where *input* may be sparse; here all tensors are dense.

    Raises RuntimeError as `mm` does.

    >>> import polyad
    >>> polyad.spmm(polyad.eye(2), polyad.ones(2, 1)).tolist()
    [[1.0], [1.0]]
    """
    return mm(input, mat2)


@composite(dtype=same_dtype("bmm"), structure=contraction, shape=bmm_shape)
def bmm(input: Tensor, mat2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of as many pairs of matrices: (b, n, m) and (b, m, p) give (b, n, p).

    Raises RuntimeError unless both are 3-d, of one dtype, and their sizes agree; `matmul` also broadcasts.

    >>> import polyad
    >>> polyad.bmm(polyad.ones(2, 1, 3), polyad.ones(2, 3, 1)).shape
    polyad.Size([2, 1, 1])
    """
    bmm_shape(input._array.shape, mat2._array.shape)
    return _gemm(input, mat2, False, False)


gradient(
    bmm,
    input=lambda g, mat2: _gemm(g, conjugate(mat2), False, True),
    mat2=lambda g, input: _gemm(conjugate(input), g, True, False),
)
multilinear(bmm, "input", "mat2")


@composite(dtype=same_dtype("mv"), structure=contraction, shape=mv_shape)
def mv(input: Tensor, vec: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The product of a matrix (n, m) and a vector (m,), a vector (n,).

    Raises RuntimeError for other numbers of dimensions, sizes that do not agree or two dtypes.

    >>> import polyad
    >>> polyad.mv(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]), polyad.tensor([1.0, 1.0]))
    tensor([3., 7.])
    """
    mv_shape(input._array.shape, vec._array.shape)
    return _squeeze(_gemm(input, _unsqueeze(vec, 1), False, False), (1,))


gradient(
    mv,
    input=lambda g, vec: _mul(_unsqueeze(g, 1), conjugate(vec)),
    vec=lambda g, input: mv(_permute(conjugate(input), (1, 0)), g),
)
multilinear(mv, "input", "vec")


def product_of_chain(matrices: Sequence[Tensor]) -> Tensor:
    """The product of matrices in the order with the fewest multiplications.

    Dynamic programming over intervals: Cormen, Leiserson, Rivest, Stein, "Introduction to Algorithms", 15.2.
    """
    count = len(matrices)
    sizes = [matrices[0]._array.shape[0], *[matrix._array.shape[1] for matrix in matrices]]
    cost = [[0] * count for _ in range(count)]
    cut = [[0] * count for _ in range(count)]
    for length in range(1, count):
        for first in range(count - length):
            last = first + length
            cost[first][last], cut[first][last] = min(
                (cost[first][at] + cost[at + 1][last] + sizes[first] * sizes[at + 1] * sizes[last + 1], at)
                for at in range(first, last)
            )

    def product(first: int, last: int) -> Tensor:
        if first == last:
            return matrices[first]
        at = cut[first][last]
        return mm(product(first, at), product(at + 1, last))

    return product(0, count - 1)


def check_chain(op: str, tensors: Sequence[Tensor]) -> None:
    """Raise unless neighbouring matrices can be multiplied and all have one dtype."""
    operands = {f"tensors[{place}]": tensor for place, tensor in enumerate(tensors)}
    check_same_dtype(op, **operands)
    for place in range(len(tensors) - 1):
        columns, rows = tensors[place]._array.shape[1], tensors[place + 1]._array.shape[0]
        if columns != rows:
            raise ShapeError(
                f"{op}: tensors {place} and {place + 1} do not agree: {columns} != {rows}",
                operands=operands,
                fix="give matrices whose neighbouring sizes are equal",
            )


@function(method=False)
def chain_matmul(*matrices: Any, out: Tensor | None = None) -> Tensor:
    """The product of matrices, multiplied in the cheapest order; newer programs say ``linalg.multi_dot``.

    Raises RuntimeError without a matrix, or when sizes or dtypes do not agree.

    >>> import polyad
    >>> polyad.chain_matmul(polyad.ones(2, 3), polyad.ones(3, 4), polyad.ones(4, 1))
    tensor([[12.],
            [12.]])
    """
    if not matrices:
        raise ShapeError("chain_matmul: there is no matrix", fix="give at least one")
    check_rank("chain_matmul", 2, **{f"matrices[{place}]": matrix for place, matrix in enumerate(matrices)})
    check_chain("chain_matmul", matrices)
    return matrices[0].clone() if len(matrices) == 1 else product_of_chain(matrices)
