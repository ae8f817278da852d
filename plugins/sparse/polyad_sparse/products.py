"""Products of matrices of which some are sparse."""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor
from polyad.arguments import check_type
from polyad.errors import NotSupported, ShapeError

from .arithmetic import add, mul
from .conversion import merged, summed, to_compressed, to_dense, to_sparse
from .patterns import Coordinates
from .shaping import transpose
from .tensor import SparseTensor, answers, coordinates, pack, unpack


def _check(op: str, one: Tensor, other: Tensor, ndim: int = 2) -> None:
    check_type(op, "input", one, Tensor, "a tensor")
    check_type(op, "mat2", other, Tensor, "a tensor")
    if one.dim() != ndim or other.dim() != ndim:
        what = "matrices" if ndim == 2 else "batches of matrices"
        raise ShapeError(
            f"{op}: it multiplies {what}, not {one.dim()} and {other.dim()} dimensions",
            operands={"input": one, "mat2": other},
            fix=f"give two tensors of {ndim} dimensions",
        )
    if one.shape[-1] != other.shape[-2] or one.shape[:-2] != other.shape[:-2]:
        raise ShapeError(
            f"{op}: input {tuple(one.shape)} and mat2 {tuple(other.shape)} do not agree: "
            f"{one.shape[-1]} != {other.shape[-2]}",
            operands={"input": one, "mat2": other},
            fix="the columns of input are the rows of mat2",
        )
    for tensor in (one, other):
        if isinstance(tensor, SparseTensor) and tensor._pattern.dense_shape:
            raise NotSupported(
                f"{op}: a tensor with dense dimensions is not multiplied",
                operands={"input": one, "mat2": other},
                fix="make all dimensions sparse: tensor.to_dense().to_sparse()",
            )


@answers("mm", "dsmm", "_sparse_mm")
def mm(input: Tensor, mat2: Tensor, reduce: str = "sum") -> Any:
    """The product of two matrices. It is sparse if both are, and else dense."""
    _check("mm", input, mat2)
    if reduce != "sum":
        return _mm_reduced(input, mat2, reduce)
    if not isinstance(input, SparseTensor):
        product: Any = mm(transpose(mat2, 0, 1), input.t())
        return product.t()
    if isinstance(mat2, SparseTensor):
        return _of_sparse(input, mat2)
    pattern, values = coordinates(input)
    rows, columns = pattern.indices
    return summed(values.unsqueeze(1) * mat2.index_select(0, columns), rows, pattern.shape[0])


def _mm_reduced(input: Any, mat2: Tensor, reduce: str) -> Tensor:
    """As `mm`, but of the products in a row the mean, the largest or the smallest is taken; 0 of an empty row."""
    names = {"mean": "mean", "amax": "amax", "amin": "amin", "max": "amax", "min": "amin"}
    if reduce not in names or not isinstance(input, SparseTensor) or isinstance(mat2, SparseTensor):
        raise NotSupported(
            f"mm: reduce={reduce!r} of these tensors",
            operands={"input": input, "mat2": mat2},
            fix='use "sum", "mean", "amax" or "amin" of a sparse and a dense matrix',
        )
    pattern, values = coordinates(input)
    rows, columns = pattern.indices
    terms = values.unsqueeze(1) * mat2.index_select(0, columns)
    zeros = terms.new_zeros((pattern.shape[0], mat2.shape[1]))
    return zeros.scatter_reduce(0, rows.unsqueeze(1).expand_as(terms), terms, names[reduce], include_self=False)


def _of_sparse(one: SparseTensor, other: SparseTensor) -> SparseTensor:
    """Each value of *one* meets the row of *other* that its column names."""
    left, a = coordinates(one)
    right = to_compressed("mm", other, polyad.sparse_csr)
    pattern: Any = right._pattern
    rows, columns = left.indices
    counts = pattern.starts.diff().long()[columns]
    meets = polyad.repeat_interleave(polyad.arange(counts.shape[0], device=counts.device), counts)
    ahead = counts.cumsum(0) - counts
    place = polyad.arange(meets.shape[0], device=meets.device) - ahead[meets] + pattern.starts.long()[columns][meets]
    values = a.index_select(0, meets) * unpack(right).index_select(0, place)
    found = polyad.stack([rows[meets], pattern.others.long()[place]])
    product = merged(values, Coordinates(found, (one.shape[0], other.shape[1]), False))
    return product if one.layout is polyad.sparse_coo else to_sparse(product, layout=polyad.sparse_csr)


@answers("matmul", "__matmul__")
def matmul(input: Tensor, other: Tensor) -> Any:
    """``input @ other`` of matrices, a matrix and a vector, or batches of matrices."""
    if input.dim() == 2 and other.dim() == 2:
        return mm(input, other)
    if input.dim() == 2 and other.dim() == 1:
        return mv(input, other)
    if input.dim() == 1 and other.dim() == 2:
        return mv(transpose(other, 0, 1) if isinstance(other, SparseTensor) else other.t(), input)
    if input.dim() == 3 and other.dim() == 3:
        return bmm(input, other)
    raise NotSupported(
        f"matmul: of {input.dim()} and {other.dim()} dimensions, of which one tensor is sparse",
        operands={"input": input, "other": other},
        fix="multiply matrices, or convert to dense tensors",
    )


@answers("__rmatmul__")
def rmatmul(self: Tensor, other: Tensor) -> Any:
    """``other @ self``."""
    return matmul(other, self)


@answers("mv")
def mv(input: Tensor, vec: Tensor) -> Tensor:
    """The product of a matrix and a vector."""
    if vec.dim() != 1:
        raise ShapeError("mv: vec is no vector", operands={"input": input, "vec": vec}, fix="give one dimension")
    product: Tensor = mm(input, vec.unsqueeze(1))
    return (to_dense(product) if isinstance(product, SparseTensor) else product).squeeze(1)


@answers("bmm")
def bmm(input: Tensor, mat2: Tensor) -> Tensor:
    """The products of the matrices of a batch, of which one side is a sparse tensor of three dimensions."""
    _check("bmm", input, mat2, 3)
    if isinstance(input, SparseTensor) and isinstance(mat2, SparseTensor):
        raise NotSupported("bmm: both are sparse", operands={"input": input, "mat2": mat2}, fix="make one dense")
    if not isinstance(input, SparseTensor):
        return bmm(transpose(mat2, 1, 2), input.transpose(1, 2)).transpose(1, 2)
    batch, height, width = input.shape
    pattern, values = coordinates(input)
    which, rows, columns = pattern.indices
    across = Coordinates(
        polyad.stack([which * height + rows, which * width + columns]), (batch * height, batch * width), False
    )
    product: Tensor = mm(pack(values, across), mat2.reshape(batch * width, mat2.shape[2]))
    return product.reshape(batch, height, mat2.shape[2])


@answers("addmm")
def addmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """``beta * input + alpha * mat1 @ mat2``."""
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if not isinstance(product, SparseTensor) and not isinstance(input, SparseTensor):
        return product + (input if beta == 1 else input * beta)
    return add(input if beta == 1 else mul(input, beta), product)


def saddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Any:
    """`addmm` under an older name."""
    return addmm(input, mat1, mat2, beta=beta, alpha=alpha)


@answers("smm")
def smm(input: Tensor, mat: Tensor) -> SparseTensor:
    """The product of a sparse and a dense matrix as a sparse one, whose rows are those that *input* has values in."""
    return to_sparse(mm(input, mat))


@answers("hspmm", "hsmm")
def hspmm(mat1: Tensor, mat2: Tensor) -> SparseTensor:
    """The product of a sparse and a dense matrix, of which rows are sparse and columns are dense."""
    return to_sparse(mm(mat1, mat2), 1)


@answers("sspaddmm")
def sspaddmm(input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> SparseTensor:
    """``beta * input + alpha * mat1 @ mat2`` as a sparse tensor, where *input* and *mat1* are sparse."""
    for name, value in (("input", input), ("mat1", mat1), ("mat2", mat2)):
        check_type("sspaddmm", name, value, Tensor, "a tensor")
    if not isinstance(input, SparseTensor) or not isinstance(mat1, SparseTensor):
        raise NotSupported(
            "sspaddmm: input and mat1 are not both sparse",
            operands={"input": input, "mat1": mat1, "mat2": mat2},
            fix="convert them with to_sparse(), or use addmm",
        )
    return add(mul(input, beta), mul(to_sparse(mm(mat1, mat2)), alpha))


@answers("sampled_addmm")
def sampled_addmm(
    input: SparseTensor, mat1: Tensor, mat2: Tensor, *, beta: Any = 1.0, alpha: Any = 1.0
) -> SparseTensor:
    """``beta * input + alpha * mat1 @ mat2`` at the places of the sparse matrix *input*."""
    _check("sampled_addmm", mat1, mat2)
    if (mat1.shape[0], mat2.shape[1]) != tuple(input.shape):
        raise ShapeError(
            f"sampled_addmm: the product is {(mat1.shape[0], mat2.shape[1])}, input {tuple(input.shape)}",
            operands={"input": input, "mat1": mat1, "mat2": mat2},
            fix="give an input of the product's shape",
        )
    pattern, _ = coordinates(input)
    rows, columns = pattern.indices
    products = (mat1.index_select(0, rows) * mat2.t().index_select(0, columns)).sum(1)
    return pack(unpack(input) * beta + products.reshape(input._held.shape) * alpha, input._pattern)


@answers("linear")
def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Any:
    """``input @ weight.T + bias``."""
    turned = transpose(weight, 0, 1) if isinstance(weight, SparseTensor) else weight.t()
    if input.dim() == 1:
        return linear(input.unsqueeze(0), weight, bias).squeeze(0)
    if input.dim() > 2 and not isinstance(input, SparseTensor):
        return linear(input.reshape(-1, input.shape[-1]), weight, bias).reshape(*input.shape[:-1], weight.shape[0])
    product = mm(input, turned)
    if bias is None:
        return product
    return (to_dense(product) if isinstance(product, SparseTensor) else product) + bias
