"""Products of vectors and matrices under the names that say their shapes: mm, bmm, mv, dot, outer, kron, ...

Unlike `matmul` and the elementwise ops these do not promote: operands of two dtypes are refused, as PyTorch does,
except where the product is elementwise (outer, kron). What all of them come down to is the primitive ``gemm``
(`polyad.ops.products.matmul`); mm, bmm, mv and dot are ops of their own only so that a small product costs one kernel.

To add a product of fixed ranks, declare a composite with `same_dtype` and a shape rule that also checks the ranks; its
body calls the rule first, since ``gemm`` broadcasts where the product may not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...backend.interface import Signature
from ...dispatch.forward import multilinear
from ...dispatch.op import alias, composite, function, gradient
from ...dispatch.promotion import Rule, Typing
from ...dispatch.structure import contraction
from ...dispatch.views import owned
from ...dtypes import BOOL
from ...errors import DTypeError, ShapeError, UnsupportedDType
from ...layout import Shape, broadcast_shapes, normalize_dim
from ...tensor import Tensor, check_tensor
from ..indexing.slicing import _diagonal, _slice
from ..pointwise.arithmetic import _mul, _sub, conjugate
from ..reductions.sums import _sum
from ..shaping.reshape import _permute, _reshape, _squeeze, _unsqueeze
from .matmul import _gemm


def same_dtype(op: str) -> Rule:
    """The rule of products: all operands have one dtype, which is the result's; bool has no sums, so no products."""

    def rule(types: Signature, params: Mapping[str, Any]) -> Typing:
        dtype = types[0].dtype
        for entry in types:
            if entry.dtype is not dtype:
                raise DTypeError(
                    f"{op}: the operands are {' and '.join(one.dtype.name for one in types)}, not of the same dtype",
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


def _dot_shape(input: Shape, tensor: Shape, op: str = "dot", name: str = "tensor") -> Shape:
    names = ("input", name)
    _expect(op, names, (input, tensor), (1, 1))
    _inner(op, names, (input, tensor), (input[0], tensor[0]))
    return ()


def _vdot_shape(input: Shape, other: Shape) -> Shape:
    return _dot_shape(input, other, "vdot", "other")


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
    """The inner product of two vectors: `dot` with the first one conjugated.

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
    rows, columns = (one if one.ndim == 2 else _reshape(one, _flat(one)) for one in (input, other))
    product = mm(rows, _permute(columns, (1, 0)))
    return product if len(left) == len(right) == 2 else _reshape(product, (*left[:-1], *right[:-1]))


def _flat(tensor: Tensor) -> Shape:
    """The shape of *tensor* with all but the last dimension as one."""
    shape = tensor._array.shape
    count = 1
    for size in shape[:-1]:
        count *= size
    return (count, shape[-1])


@function()
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of each element of one vector with each of another: (n,) and (m,) give (n, m).

    Dtypes promote. Raises RuntimeError unless both are 1-d.

    >>> import polyad
    >>> polyad.outer(polyad.tensor([1, 2]), polyad.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    try:
        vectors = len(input._array.shape) == len(vec2._array.shape) == 1
    except AttributeError:
        vectors = False
    if not vectors:
        check_rank("outer", 1, input=input, vec2=vec2)
    return _mul(_unsqueeze(input, 1), vec2)


ger = alias("ger", outer)


@function()
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of *input* times the whole of *other*, as blocks.

    Sizes multiply, dimension by dimension counted from the last; dtypes promote.

    >>> import polyad
    >>> polyad.kron(polyad.tensor([1, 10]), polyad.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    left = check_tensor(input, "kron", "input")._array.shape
    right = check_tensor(other, "kron", "other")._array.shape
    ndim = max(len(left), len(right))
    left, right = (1,) * (ndim - len(left)) + left, (1,) * (ndim - len(right)) + right
    spaced = _reshape(input, tuple([size for one in left for size in (one, 1)]))
    blocks = _reshape(other, tuple([size for one in right for size in (1, one)]))
    return owned(_reshape(_mul(spaced, blocks), tuple([a * b for a, b in zip(left, right, strict=True)])))


@function()
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal; integers add up in int64. Raises RuntimeError unless *input* is a matrix.

    >>> import polyad
    >>> polyad.trace(polyad.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    check_rank("trace", 2, input=input)
    return _sum(_diagonal(input, 0, 0, 1), (0,), False)


@function(method=False, namespace="nn.functional")
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[k] @ input2 + bias[k]`` for each k: input1 (*, n), input2 (*, m), weight (out, n, m), bias
    (out,); the result is (*, out).

    Raises RuntimeError when sizes or dtypes do not agree.

    >>> import polyad
    >>> polyad.nn.functional.bilinear(polyad.ones(1, 2), polyad.ones(1, 3), polyad.ones(1, 2, 3))
    tensor([[6.]])
    """
    from .einsum import einsum

    operands = {"input1": input1, "input2": input2, "weight": weight} | ({} if bias is None else {"bias": bias})
    for name, tensor in operands.items():
        check_tensor(tensor, "bilinear", name)
    check_same_dtype("bilinear", **operands)
    first, second, shape = input1._array.shape, input2._array.shape, weight._array.shape
    if (
        not first
        or len(shape) != 3
        or first[:-1] != second[:-1]
        or len(first) != len(second)
        or (first[-1], second[-1]) != shape[1:]
        or (bias is not None and bias._array.shape != shape[:1])
    ):
        raise ShapeError(
            f"bilinear: input1 {first}, input2 {second} and weight {shape} do not agree",
            operands=operands,
            fix="shapes are (*, n), (*, m), (out, n, m) and, for bias, (out,)",
        )
    result: Tensor = einsum("...n,knm,...m->...k", input1, weight, input2)
    return result if bias is None else result + bias


# ---------------------------------------------------------------------------------------------------- cross products


def _cross_shape(input: Shape, other: Shape, dim: int) -> Shape:
    return broadcast_shapes(input, other)


@composite(
    dtype=same_dtype("cross"), structure=contraction, shape=_cross_shape, grad_name="LinalgCrossBackward0", method=False
)
def _cross(input: Tensor, other: Tensor, dim: int) -> Tensor:
    """The cross products of the vectors along *dim*, which has size 3 in both; the others broadcast."""
    from ..shaping.joining import _cat

    a, b = ([_slice(one, dim, at, 1, 1) for at in range(3)] for one in (input, other))
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
