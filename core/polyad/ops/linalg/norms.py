"""Norms of vectors and matrices, and slices scaled down to a norm (`renorm`)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...base.dtypes import FLOATING, DType, float32, promote_types
from ...base.shapes_and_strides import normalize_dim, normalize_dims
from ...dispatch.forward import reduction
from ...dispatch.op import PUBLIC, composite, function, gradient
from ...dispatch.promotion import Typing, first, floating_only
from ...dispatch.structure import Reduction
from ...errors import (
    ArgumentTypeError,
    DTypeError,
    IndexOutOfRange,
    OptionError,
    ShapeError,
    safe_repr,
    wrong_type,
)
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_least, check_ndim, check_number
from ..pointwise.arithmetic import _add, _div, _mul
from ..pointwise.where import _where
from ..reductions.max_min import _amax, _amin
from ..reductions.sums import _sum, keep_dims
from .operands import matrices
from .svd import _linalg_svdvals

if TYPE_CHECKING:
    Dims = int | tuple[int, ...] | list[int] | None


def _norm_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    typing = floating_only("vector_norm", first)(types, params)
    return Typing(typing.casts, (typing.outputs[0].to_real(),))


@composite(dtype=_norm_dtype, structure=Reduction("dims"), grad_name="LinalgVectorNormBackward0", method=False)
def _norm2(input: Tensor, ord: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The Euclidean norm over *dims*; *ord* is 2."""
    return _norm(input, ord, dims, keepdim)


@composite(dtype=_norm_dtype, structure=Reduction("dims"), grad_name="LinalgVectorNormBackward0", method=False)
def _norm(input: Tensor, ord: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """(sum of abs(input) ** ord) ** (1 / ord) over *dims*, with the limits of it at 0 and the infinities."""
    real = input._type.dtype.to_real()
    size = input.abs()
    if real.itemsize == 2:
        size = size.to(float32)
    if ord == math.inf:
        result = _amax(size, dims, keepdim)
    elif ord == -math.inf:
        result = _amin(size, dims, keepdim)
    elif ord == 0:
        result = _sum(size != 0, dims, keepdim)
    elif ord == 1:
        result = _sum(size, dims, keepdim)
    elif ord == 2:
        result = _sum(size * size, dims, keepdim).sqrt()
    else:
        result = _sum(size**ord, dims, keepdim) ** (1.0 / ord)
    return result.to(real)


def _norm_grad(g: Tensor, input: Tensor, ord: float, dims: tuple[int, ...], keepdim: bool, out: Tensor) -> Tensor:
    """The subgradient 0 at 0, as PyTorch's."""
    shape = input._array.shape
    g, out = keep_dims(g, shape, dims, keepdim), keep_dims(out, shape, dims, keepdim)
    if ord == 0:
        zeros: Tensor = PUBLIC["zeros_like"].call(input)
        return zeros
    if ord == 2:
        zero = out == 0
        return input * _where(zero, 0.0, g / _where(zero, 1.0, out))
    size, direction = input.abs(), input.sgn()
    if ord == 1:
        return direction * g
    if math.isinf(ord):
        chosen = size == out
        return direction * chosen * (g / _sum(chosen, dims, True))
    # Where a power would have no derivative stands a 1, which the factor direction = 0 takes out again.
    share = _where(size == 0, 1.0, size) / _where(out == 0, 1.0, out)
    slope = direction * share ** (ord - 1) * g
    # A negative order is 0 where any element is, whatever the others are.
    return slope if ord > 0 else _where(out == 0, 0.0, slope)


gradient(_norm, input=_norm_grad)
reduction(_norm)
gradient(_norm2, input=_norm_grad)
reduction(_norm2)


def _converted(op: str, x: Tensor, dtype: DType | None) -> Tensor:
    """*x* in the dtype that the user wants computed in, which must be of x's category and not narrower."""
    if dtype is None:
        return x
    if not isinstance(dtype, DType):
        raise wrong_type(op, "dtype", dtype, "a dtype such as polyad.float64")
    if dtype.category != x.dtype.category or dtype.category < FLOATING or promote_types(x.dtype, dtype) is not dtype:
        raise DTypeError(
            f"{op}: dtype is {dtype.name}, which is no wider dtype of the category of {x.dtype.name}",
            operands={"input": x},
            fix="pass a dtype of the same category that has no fewer digits",
        )
    return x.to(dtype)


@function(namespace="linalg", also={"input": "x"})
def vector_norm(
    x: Tensor,
    ord: float = 2,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """The *ord*-norm of all elements, or over *dim*: (sum of abs(x) ** ord) ** (1 / ord); inf and -inf take the
    extremes.

    ``ord=0`` counts the elements that are not 0. Of complex x it is real. *dtype*, which must be wider and of x's
    category, is converted to first. Raises RuntimeError for integers and bool, and for no elements if ord is inf or
    negative.

    >>> import polyad
    >>> from polyad.linalg import vector_norm
    >>> vector_norm(polyad.tensor([3.0, 4.0]))
    tensor(5.)
    """
    check_tensor(x, "vector_norm", "x")
    check_number("vector_norm", "ord", ord, fix="pass a number, inf or -inf")
    if dtype is not None:
        x = _converted("vector_norm", x, dtype)
    dims = normalize_dims(dim, x.ndim, "vector_norm")
    if (ord < 0 or ord == math.inf) and 0 in x._array.shape and not all(x._array.shape[dim] for dim in dims):
        raise ShapeError(
            f"vector_norm: x {tuple(x.shape)} has no elements, whose norm of order {ord} does not exist",
            operands={"x": x},
            fix="take another order, or a dim that has elements",
        )
    return norm_over(x, ord, dims, keepdim)


# --------------------------------------------------------------------------------------------------- of matrices


def check_order(op: str, name: str, order: Any) -> None:
    """Raise RuntimeError unless *order* is that of a matrix norm."""
    if isinstance(order, str):
        known = order in ("fro", "nuc")
    else:
        if isinstance(order, bool) or not isinstance(order, (int, float)):
            raise ArgumentTypeError(
                f"{op}: {name} is {safe_repr(order)}, not a number or a str", fix=f"leave {name} out"
            )
        known = abs(order) in (1, 2, math.inf)
    if not known:
        raise OptionError(
            f"{op}: {name} is {safe_repr(order)}, the order of no matrix norm",
            fix='choose "fro", "nuc", 1, -1, 2, -2, inf or -inf',
        )


@function(namespace="linalg", also={"input": "A"})
def matrix_norm(
    A: Tensor,
    ord: Any = "fro",
    dim: tuple[int, int] | list[int] = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: DType | None = None,
    out: Tensor | None = None,
) -> Tensor:
    """A norm of the matrices in the two dimensions *dim* of A: real, of A's precision.

    *ord* is "fro" (the root of the sum of squares), "nuc" (the sum of the singular values), 2 and -2 (the largest and
    the smallest of them), 1 and -1 (the largest and the smallest column sum of magnitudes), inf and -inf (of row sums).
    *dtype* is converted to first. Raises RuntimeError for another order, dims that are equal, integers and bool, and
    for 16-bit floats where singular values are needed; IndexError for a dim out of range.

    >>> import polyad
    >>> A = polyad.tensor([[1.0, -2.0], [3.0, 4.0]])
    >>> polyad.linalg.matrix_norm(A, 1), polyad.linalg.matrix_norm(A, float("inf"))
    (tensor(6.), tensor(7.))
    """
    return _matrix_norm("matrix_norm", "A", A, ord, dim, keepdim, dtype)


def _matrix_norm(op: str, name: str, A: Any, ord: Any, dim: Any, keepdim: bool, dtype: DType | None) -> Tensor:
    check_order(op, "ord", ord)
    by_values = ord == "nuc" or ord in (2, -2)
    check_tensor(A, op, name)
    if dtype is not None:
        A = _converted(op, A, dtype)
    matrices(op, A, name, half=not by_values)
    if not isinstance(dim, (tuple, list)) or len(dim) != 2:
        error = ShapeError if isinstance(dim, (tuple, list)) else ArgumentTypeError
        raise error(f"{op}: dim is {safe_repr(dim)}, not a pair", operands={name: A}, fix="pass two dimensions")
    rows, columns = (normalize_dim(axis, A.ndim, op) for axis in dim)
    if rows == columns:
        raise ShapeError(f"{op}: dim {tuple(dim)} names a dimension twice", operands={name: A}, fix="name two")
    both = (rows, columns) if rows < columns else (columns, rows)
    if ord == "fro":
        return vector_norm(A, 2.0, both, keepdim)
    if by_values:
        values = _linalg_svdvals(A.movedim((rows, columns), (-2, -1)))
        last = (values.ndim - 1,)
        result = _sum(values, last, False) if ord == "nuc" else _extreme(op, name, A, values, last[0], ord > 0)
    else:
        summed, compared = (rows, columns) if abs(ord) == 1 else (columns, rows)
        sums = _sum(A.abs(), (summed,), True)
        result = _extreme(op, name, A, sums, compared, ord > 0).squeeze(summed if summed < compared else summed - 1)
    return result.unsqueeze(both[0]).unsqueeze(both[1]) if keepdim else result


def _extreme(op: str, name: str, A: Tensor, values: Tensor, dim: int, largest: bool) -> Tensor:
    if not values._array.shape[dim]:
        if not largest:
            raise IndexOutOfRange(
                f"{op}: {name} {tuple(A.shape)} has no elements, of which there is no smallest",
                operands={name: A},
                fix="take another order: the others are 0",
            )
        return _sum(values, (dim,), False)
    return _amax(values, (dim,), False) if largest else _amin(values, (dim,), False)


@function(namespace="linalg", also={"input": "A"})
def norm(
    A: Tensor,
    ord: Any = None,
    dim: Dims = None,
    keepdim: bool = False,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:
    """A norm of vectors or matrices, whichever *ord* and *dim* say.

    A pair of dims with an order, or an order alone for a 2-d A, is `polyad.linalg.matrix_norm`; everything else is
    `polyad.linalg.vector_norm` (of order 2 if there is none). Raises RuntimeError if *ord* is given without *dim* and A
    is neither 1-d nor 2-d, for a *dim* of more than two dimensions or of none, and what these two raise.

    >>> import polyad
    >>> A = polyad.tensor([[3.0, 0.0], [0.0, -4.0]])
    >>> polyad.linalg.norm(A), polyad.linalg.norm(A, 2), polyad.linalg.norm(A, 2, dim=1)
    (tensor(5.), tensor(4.), tensor([3., 4.]))
    """
    check_tensor(A, "norm", "A")
    if isinstance(dim, (tuple, list)) and len(dim) not in (1, 2):
        raise ShapeError(
            f"norm: dim is {safe_repr(dim)}, neither one dimension, for vectors, nor two, for matrices",
            operands={"A": A},
            fix="use polyad.linalg.vector_norm, which takes any number of them",
        )
    if ord is not None:
        if dim is None and A.ndim not in (1, 2):
            raise ShapeError(
                f"norm: with ord and without dim, A must be 1-d or 2-d, it is {A.ndim}-d",
                operands={"A": A},
                fix="say which dimensions: dim=-1 for vectors, dim=(-2, -1) for matrices",
            )
        pair = dim if dim is not None else tuple(range(A.ndim))
        if not isinstance(pair, (tuple, list)):
            pair = (pair,)
        if len(pair) == 2 or isinstance(ord, str):
            if len(pair) != 2:
                raise ShapeError(
                    f"norm: ord is {safe_repr(ord)}, which is of matrices, and dim is {safe_repr(dim)}",
                    operands={"A": A},
                    fix="give two dims, or another ord",
                )
            return _matrix_norm("norm", "A", A, ord, pair, keepdim, dtype)
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype)


def norm_over(input: Tensor, p: float, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """The *p*-norm over *dims*; of one element its magnitude, of which a power might overflow."""
    if p != 0 and all(input._array.shape[dim] == 1 for dim in dims):
        p = 1
    return _norm2(input, 2.0, dims, keepdim) if p == 2 else _norm(input, float(p), dims, keepdim)


def _order(op: str, p: Any) -> float:
    check_number(op, "p", p, fix="pass a number or inf")
    return float(p)


@function(inplace=True)
def renorm(input: Tensor, p: float, dim: int, maxnorm: float, *, out: Tensor | None = None) -> Tensor:
    """The slices along *dim* whose *p*-norm is above *maxnorm* scaled down to it, the others as they are.

    Raises RuntimeError for integers and bool, fewer than two dimensions, a p not above 0 or a negative maxnorm,
    IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.renorm(polyad.tensor([[3.0, 4.0], [0.1, 0.0]]), 2, 0, 1)
    tensor([[0.6000, 0.8000],
            [0.1000, 0.0000]])
    """
    check_tensor(input, "renorm", "input")
    order, operands = _order("renorm", p), {"input": input}
    if not order > 0:
        raise ShapeError(f"renorm: p is {p}, not positive", operands=operands, fix="choose a p above 0")
    check_least("renorm", "maxnorm", maxnorm, 0, operands=operands, fix="choose 0 or more")
    check_ndim("renorm", "input", input, 2, None, operands=operands, fix="unsqueeze it")
    at = normalize_dim(dim, input.ndim, "renorm")
    length = norm_over(input, order, tuple([other for other in range(input.ndim) if other != at]), True)
    # PyTorch's guard against division by zero, which also keeps a result from exceeding maxnorm by rounding.
    factor = _where(length > maxnorm, _div(maxnorm, _add(length, 1e-7)), 1.0)
    return _mul(input, factor).contiguous()
