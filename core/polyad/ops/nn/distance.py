"""Distances and similarities of vectors."""

from __future__ import annotations

import math
from typing import Any

from ...base.dtypes import FLOATING, DType, float32
from ...base.shapes_and_strides import Shape, broadcast_shapes, normalize_dim
from ...dispatch.op import alias, composite, function, gradient
from ...dispatch.promotion import common_dtype
from ...dispatch.structure import opaque
from ...errors import ArgumentError, DTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..indexing.index_select import _index_add, _index_select
from ..indexing.operands import _zeros_like
from ..linalg.norms import _norm_grad, _order, norm_over
from ..pointwise.arithmetic import _add, _div, _mul, _sub
from ..pointwise.clamp import _clamp
from ..pointwise.where import _where
from ..products.matmul import _gemm
from ..products.mm import check_rank, common_shape, same_dtype
from ..reductions.sums import _sum
from ..shaping.combinatorics import _list_positions
from ..shaping.reshape import _expand, _unsqueeze


def _not_negative(op: str, p: Any) -> float:
    order = _order(op, p)
    if not order >= 0:
        raise DTypeError(f"{op}: p is {p}, below 0", fix="choose a p of 0 or more, or inf")
    return order


# ---------------------------------------------------------------------------------------------------- all pairs


def _cdist_shape(x1: Shape, x2: Shape, *rest: Any) -> Shape:
    if x1[-1] != x2[-1]:
        raise ShapeError(
            f"cdist: x1 {x1} and x2 {x2} have vectors of different sizes: {x1[-1]} != {x2[-1]}",
            fix="make the last dimensions equal",
        )
    return (*broadcast_shapes(x1[:-2], x2[:-2]), x1[-2], x2[-2])


@composite(dtype=same_dtype("cdist"), structure=opaque, shape=_cdist_shape, method=False)
def _cdist(x1: Tensor, x2: Tensor, p: float) -> Tensor:
    """The *p*-norms of the differences of all pairs of rows."""
    difference = _difference(x1, x2)
    return norm_over(difference, p, (difference.ndim - 1,), False)


def _difference(x1: Tensor, x2: Tensor) -> Tensor:
    return _sub(_unsqueeze(x1, x1.ndim - 1), _unsqueeze(x2, x2.ndim - 2))


def _cdist_slope(g: Tensor, x1: Tensor, x2: Tensor, p: float, out: Tensor) -> Tensor:
    difference = _difference(x1, x2)
    return _norm_grad(g, difference, p, (difference.ndim - 1,), False, out)


gradient(
    _cdist,
    x1=lambda g, x1, x2, p, out: _sum(_cdist_slope(g, x1, x2, p, out), (max(x1.ndim, x2.ndim) - 1,), False),
    x2=lambda g, x1, x2, p, out: _sum(-_cdist_slope(g, x1, x2, p, out), (max(x1.ndim, x2.ndim) - 2,), False),
)


@composite(dtype=same_dtype("cdist"), structure=opaque, shape=_cdist_shape, method=False)
def _euclidean_cdist(x1: Tensor, x2: Tensor) -> Tensor:
    """The Euclidean distances of all pairs of rows, as a product of matrices: |a|**2 + |b|**2 - 2 a.b.

    Fast, but as inexact as the squares are large against the distance.
    """
    left, right = _sum(_mul(x1, x1), (x1.ndim - 1,), True), _sum(_mul(x2, x2), (x2.ndim - 1,), True)
    product = _gemm(_mul(x1, -2), x2, False, True)
    squares = _add(_add(product, left), right.transpose(-2, -1))
    return _clamp(squares, 0, None).sqrt()


def _euclidean_slope(g: Tensor, out: Tensor) -> Tensor:
    zero = out == 0
    return _where(zero, 0, _div(g, _where(zero, 1, out)))


def _euclidean_grad_x1(g: Tensor, x1: Tensor, x2: Tensor, out: Tensor) -> Tensor:
    share = _euclidean_slope(g, out)
    return _sub(_mul(x1, _sum(share, (share.ndim - 1,), True)), _gemm(share, x2, False, False))


def _euclidean_grad_x2(g: Tensor, x1: Tensor, x2: Tensor, out: Tensor) -> Tensor:
    share = _euclidean_slope(g, out)
    return _sub(
        _mul(x2, _unsqueeze(_sum(share, (share.ndim - 2,), False), share.ndim - 1)), _gemm(share, x1, True, False)
    )


gradient(_euclidean_cdist, x1=_euclidean_grad_x1, x2=_euclidean_grad_x2)

_MODES = {
    "use_mm_for_euclid_dist_if_necessary": 25,
    "use_mm_for_euclid_dist": 0,
    "donot_use_mm_for_euclid_dist": math.inf,
}
"""By compute mode: above how many rows Euclidean distances are computed by a product of matrices."""


@function(method=False)
def cdist(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The *p*-norms of the differences of all pairs of rows: x1 (*, n, m) and x2 (*, r, m) give (*, n, r).

    Euclidean distances of more than 25 rows are computed by a product of matrices, which is fast but inexact where a
    distance is small against the vectors; ``compute_mode="donot_use_mm_for_euclid_dist"`` is exact, and
    ``"use_mm_for_euclid_dist"`` always uses it. Batches broadcast. Raises RuntimeError for vectors of two sizes, a
    negative p, and other than floating dtypes.

    >>> import polyad
    >>> polyad.cdist(polyad.tensor([[0.0, 0.0]]), polyad.tensor([[3.0, 4.0], [1.0, 0.0]]))
    tensor([[5., 1.]])
    """
    operands = {"x1": x1, "x2": x2}
    for name, tensor in operands.items():
        if check_tensor(tensor, "cdist", name).ndim < 2:
            raise ShapeError(f"cdist: {name} has fewer than two dimensions", operands=operands, fix="unsqueeze it")
        if tensor._type.dtype.category != FLOATING:
            raise DTypeError(f"cdist: {name} is {tensor.dtype.name}", operands=operands, fix="convert it: x.float()")
    order = _not_negative("cdist", p)
    if compute_mode is None:
        compute_mode = "use_mm_for_euclid_dist_if_necessary"
    if compute_mode not in _MODES:
        raise ArgumentError(f"cdist: compute_mode is {safe_repr(compute_mode)}", fix="use one of " + ", ".join(_MODES))
    try:
        _cdist_shape(x1._array.shape, x2._array.shape)
    except ShapeError as error:
        error.message = error.message.replace("broadcast:", "cdist:", 1)
        error.add_operands(operands)
        raise
    if order == 2 and max(x1._array.shape[-2], x2._array.shape[-2]) > _MODES[compute_mode]:
        return _euclidean_cdist(x1, x2)
    return _cdist(x1, x2, order)


def _upper(input: Shape, p: float) -> Shape:
    return (input[0] * (input[0] - 1) // 2,)


@composite(dtype=same_dtype("pdist"), structure=opaque, shape=_upper, method=False)
def _pdist(input: Tensor, p: float) -> Tensor:
    """The *p*-norms of the differences of all pairs of rows, each pair once."""
    pairs = _list_positions(input._array.shape[0], 2, False, input._type.device)
    difference = _sub(_index_select(input, pairs[:, 0], 0), _index_select(input, pairs[:, 1], 0))
    return norm_over(difference, p, (1,), False)


def _pdist_grad(g: Tensor, input: Tensor, p: float, out: Tensor) -> Tensor:
    pairs = _list_positions(input._array.shape[0], 2, False, input._type.device)
    first, second = pairs[:, 0], pairs[:, 1]
    difference = _sub(_index_select(input, first, 0), _index_select(input, second, 0))
    slope = _norm_grad(g, difference, p, (1,), False, out)
    return _index_add(_index_add(_zeros_like(g, input._array.shape), first, slope, 0), second, -slope, 0)


gradient(_pdist, input=_pdist_grad)


@function(method=False, namespace="nn.functional")
def pdist(input: Tensor, p: float = 2) -> Tensor:
    """The *p*-norms of the differences of all pairs of rows of a matrix, each pair once: (n, m) gives (n(n - 1)/2,).

    They are in the order of the upper triangle of ``cdist(input, input)``. Raises RuntimeError unless *input* is a
    floating point matrix, and for a negative p.

    >>> import polyad
    >>> polyad.nn.functional.pdist(polyad.tensor([[0.0], [1.0], [3.0]]))
    tensor([1., 3., 2.])
    """
    check_rank("pdist", 2, input=input)
    if input._type.dtype.category != FLOATING:
        raise DTypeError(f"pdist: input is {input.dtype.name}", operands={"input": input}, fix="convert it: x.float()")
    return _pdist(input, _not_negative("pdist", p))


# ---------------------------------------------------------------------------------------------------- one pair each


@function()
def dist(input: Tensor, other: Tensor, p: float = 2) -> Tensor:
    """The *p*-norm of ``input - other``, over all elements.

    Shapes broadcast; dtypes promote. Raises RuntimeError for integers and bool.

    >>> import polyad
    >>> polyad.dist(polyad.tensor([1.0, 2.0]), polyad.tensor([4.0, 6.0]))
    tensor(5.)
    """
    difference = _sub(check_tensor(input, "dist", "input"), check_tensor(other, "dist", "other"))
    return norm_over(difference, _order("dist", p), tuple(range(difference.ndim)), False)


@function(method=False, namespace="nn.functional")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The *p*-norm of ``x1 - x2 + eps`` over the last dimension.

    Shapes broadcast; dtypes promote, integers to the default dtype. Raises RuntimeError when shapes do not broadcast.

    >>> import polyad
    >>> polyad.nn.functional.pairwise_distance(polyad.tensor([[1.0, 2.0]]), polyad.tensor([[4.0, 6.0]]), eps=0)
    tensor([5.])
    """
    x1, x2 = check_tensor(x1, "pairwise_distance", "x1"), check_tensor(x2, "pairwise_distance", "x2")
    difference = _add(_sub(x1, x2), float(eps))
    dims = (difference.ndim - 1,) if difference.ndim else ()
    return norm_over(difference, _order("pairwise_distance", p), dims, keepdim)


@function(method=False)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """The cosines of the angles between vectors along *dim*: ``x1 . x2`` of vectors scaled to norm 1.

    Norms below *eps* count as eps. Shapes broadcast; dtypes promote. Raises RuntimeError for integers, bool and complex
    tensors, IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.cosine_similarity(polyad.tensor([[1.0, 0.0]]), polyad.tensor([[1.0, 1.0]]))
    tensor([0.7071])
    """
    operands = {
        "x1": check_tensor(x1, "cosine_similarity", "x1"),
        "x2": check_tensor(x2, "cosine_similarity", "x2"),
    }
    dtype = common_dtype((x1._type, x2._type))
    if dtype.category != FLOATING:
        raise DTypeError(
            f"cosine_similarity: the operands are {dtype.name}", operands=operands, fix="convert them: x.float()"
        )
    shape = common_shape("cosine_similarity", **operands)
    at = normalize_dim(dim, len(shape), "cosine_similarity")
    dims = (at,) if shape else ()
    wide = float32 if dtype.itemsize == 2 else dtype
    left, right = (_as(x if x._array.shape == shape else _expand(x, shape), wide) for x in (x1, x2))
    lengths = [_clamp(norm_over(x, 2, dims, False), eps, None) for x in (left, right)]
    return _as(_div(_sum(_mul(left, right), dims, False), _mul(*lengths)), dtype)


cosine_similarity = alias("cosine_similarity", cosine_similarity, namespace="nn.functional")


def _as(tensor: Tensor, dtype: DType) -> Tensor:
    return tensor if tensor._type.dtype is dtype else tensor.to(dtype)


# PyTorch shows these in its main namespace, too.
alias("pairwise_distance", pairwise_distance, namespace="")
alias("pdist", pdist, namespace="")
