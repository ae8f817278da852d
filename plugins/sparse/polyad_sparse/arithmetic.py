"""Elementwise functions: sums and products with sparse and dense tensors, and functions that keep zero."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import NotSupported, ShapeError

from .conversion import _looked_up, coalesce, merged, to_dense, to_sparse
from .patterns import Coordinates, check_same_shape
from .shaping import broadcast_to
from .tensor import SparseTensor, answers, coordinates, pack, rebind, same_places, unpack, values_at

NUMBERS = (bool, int, float, complex)


def is_number(value: Any) -> bool:
    """Whether it is a number, or a dense tensor that holds one."""
    return isinstance(value, NUMBERS) or (isinstance(value, Tensor) and value.dim() == 0 and not is_sparse(value))


def is_sparse(value: Any) -> bool:
    """Whether it is a sparse tensor."""
    return isinstance(value, SparseTensor)


# ---------------------------------------------------------------------------------------------------------------- sums


@answers("add", "__add__", "__radd__")
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The sum: sparse of two sparse tensors, dense of a sparse and a dense one."""
    if is_number(input) or is_number(other):
        raise NotSupported(
            "add: a sparse tensor and a number would give a dense tensor",
            operands={"input": input, "other": other},
            fix="convert it: tensor.to_dense() + number",
        )
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        return NotImplemented
    if is_sparse(input) and is_sparse(other):
        check_same_shape("add", input, other)
        return _sum_of_sparse(input, other, alpha)
    if is_sparse(input):
        return polyad.add(to_dense(input), other, alpha=alpha)
    return _into_dense(input, other, alpha)


def _sum_of_sparse(one: Any, other: Any, alpha: Any) -> SparseTensor:
    a, b = unpack(one), unpack(other)
    if one._pattern is other._pattern or (one._pattern.nnz and same_places(one._pattern, other._pattern)):
        return pack(polyad.add(a, b, alpha=alpha), one._pattern)
    for empty, full, factor in ((one, other, alpha), (other, one, 1)):
        if not empty._pattern.nnz:
            dtype = polyad.promote_types(one.dtype, other.dtype)
            return pack(_times(unpack(full), factor).to(dtype), full._pattern)
    if one._pattern.sparse_dim != other._pattern.sparse_dim:
        raise ShapeError(
            f"add: one tensor has {one._pattern.sparse_dim} sparse dimensions, the other {other._pattern.sparse_dim}",
            operands={"input": one, "other": other},
            fix="make them alike: tensor.to_dense().to_sparse(sparse_dim)",
        )
    (pattern, a), (behind, b) = coordinates(one), coordinates(other)
    dtype = polyad.promote_types(a.dtype, b.dtype)
    values = polyad.cat([a.to(dtype), _times(b.to(dtype), alpha)])
    places = polyad.cat([pattern.indices, behind.indices], 1)
    both = Coordinates(places, pattern.shape, False)
    whole = merged(values, both) if one._pattern.coalesced and other._pattern.coalesced else pack(values, both)
    if one.layout is polyad.sparse_coo:
        return whole
    block = one._pattern.block if one.layout in (polyad.sparse_bsr, polyad.sparse_bsc) else None
    return to_sparse(whole, layout=one.layout, blocksize=block)


def _times(values: Tensor, alpha: Any) -> Tensor:
    return values if isinstance(alpha, NUMBERS) and alpha == 1 else values * alpha


def _into_dense(dense: Tensor, sparse: Any, alpha: Any) -> Tensor:
    """``dense + alpha * sparse``, where a value is added at its place."""
    check_same_shape("add", dense, sparse)
    pattern, values = coordinates(sparse)
    dtype = polyad.promote_types(dense.dtype, values.dtype)
    if not pattern.sparse_dim:
        return dense.to(dtype) + (_times(values, alpha)).sum(0).to(dtype)
    flat = dense.to(dtype).reshape(math.prod(pattern.sparse_shape), *pattern.dense_shape)
    return flat.index_add(0, pattern.keys, _times(values.to(dtype), alpha)).reshape(dense.shape)


@answers("add_", "__iadd__")
def add_(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Any:
    """Add in place: sparse to sparse, or sparse to dense."""
    if is_sparse(self):
        if not is_sparse(other):
            raise NotSupported(
                "add_: a sparse tensor cannot become dense in place",
                operands={"self": self, "other": other},
                fix="use the sum: dense + sparse",
            )
        return rebind(self, add(self, other, alpha=alpha).to(self.dtype), "add_")
    check_same_shape("add_", self, other)
    pattern, values = coordinates(other)
    values = _times(values.to(self.dtype), alpha)
    if pattern.sparse_dim == 1:
        return self.index_add_(0, pattern.indices[0], values)
    return (
        self.index_put_(tuple(pattern.indices), values, accumulate=True)
        if pattern.sparse_dim
        else self.add_(values.sum(0))
    )


@answers("sub", "subtract", "__sub__")
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """The difference, as `add`."""
    if is_sparse(other) and not is_sparse(input):
        return add(input, other, alpha=-alpha)
    return add(input, other, alpha=-alpha)


@answers("__rsub__", "rsub")
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """``other - input``."""
    return add(other, neg(input)) if alpha == 1 else add(other, input, alpha=-alpha)


@answers("sub_", "subtract_", "__isub__")
def sub_(self: Tensor, other: Tensor, *, alpha: Any = 1) -> Any:
    """Subtract in place, as `add_`."""
    return add_(self, other, alpha=-alpha)


# ------------------------------------------------------------------------------------------------------------ products


@answers("mul", "multiply", "__mul__", "__rmul__")
def mul(input: Any, other: Any) -> Any:
    """The product, which is sparse."""
    if not is_sparse(input):
        input, other = other, input
    if is_number(other):
        return pack(unpack(input) * other, input._pattern)
    if not isinstance(other, Tensor):
        return NotImplemented
    if is_sparse(other):
        return _product_of_sparse(input, other)
    return _with_dense(polyad.mul, input, other)


def _with_dense(function: Callable[[Tensor, Tensor], Tensor], sparse: SparseTensor, dense: Tensor) -> Any:
    """*function* of the specified values and the elements of *dense* at their places; either broadcasts."""
    shape = polyad.broadcast_shapes(sparse.shape, dense.shape)
    if shape != sparse.shape:
        sparse = broadcast_to(sparse, shape)
    whole = dense.expand(shape)
    return pack(function(unpack(sparse), values_at(whole, sparse._pattern)), sparse._pattern)


def _product_of_sparse(one: SparseTensor, other: Any) -> SparseTensor:
    """The product of two sparse tensors: where both have values."""
    if 0 in (one.dim(), other.dim()):
        single, whole = (one, other) if one.dim() == 0 else (other, one)
        return pack(unpack(whole) * to_dense(single), whole._pattern)
    if one.shape != other.shape:
        shape = polyad.broadcast_shapes(one.shape, other.shape)
        one, other = (broadcast_to(to_sparse(tensor), shape) for tensor in (one, other))
    if one._pattern.coalesced and (one._pattern is other._pattern or same_places(one._pattern, other._pattern)):
        return pack(unpack(one) * unpack(other), one._pattern)
    if one._pattern.sparse_dim != other._pattern.sparse_dim:
        raise ShapeError(
            "mul: the tensors have different numbers of sparse dimensions",
            operands={"input": one, "other": other},
            fix="make them alike: tensor.to_dense().to_sparse(sparse_dim)",
        )
    a, b = (coalesce(to_sparse(tensor)) for tensor in (one, other))
    have = polyad.isin(a._pattern.keys, b._pattern.keys).nonzero().reshape(-1)
    pattern = Coordinates(a._pattern.indices[:, have], a._pattern.shape, True)
    both = pack(unpack(a).index_select(0, have) * _looked_up(b, pattern), pattern)
    return both if one.layout is polyad.sparse_coo else to_sparse(both, layout=one.layout)


@answers("mul_", "multiply_", "__imul__")
def mul_(self: Any, other: Any) -> Any:
    """Multiply in place; a sparse factor makes a dense tensor zero where it has no values."""
    if not is_sparse(self):
        return self.mul_(to_dense(other))
    return rebind(self, mul(self, other).to(self.dtype), "mul_")


def _quotient(name: str) -> Any:
    dense = getattr(polyad, name)

    def quotient(input: Any, other: Any, **kwargs: Any) -> Any:
        if not is_sparse(input) or not is_number(other):
            raise NotSupported(
                f"{name}: sparse tensors are divided by numbers and by dense tensors that hold one",
                operands={"input": input, "other": other},
                fix="multiply by the reciprocal, or convert to dense tensors",
            )
        linear = name in ("div", "true_divide", "divide") and kwargs.get("rounding_mode") is None
        source = input if linear or not input.is_sparse else coalesce(input)
        return pack(dense(unpack(source), other, **kwargs), source._pattern)

    quotient.__name__ = name
    return quotient


div = answers("div", "divide", "true_divide", "__truediv__")(_quotient("div"))
floor_divide = answers("floor_divide", "__floordiv__")(_quotient("floor_divide"))


@answers("div_", "divide_", "true_divide_", "__itruediv__")
def div_(self: SparseTensor, other: Any, **kwargs: Any) -> SparseTensor:
    """Divide in place."""
    return rebind(self, div(self, other, **kwargs).to(self.dtype), "div_")


@answers("floor_divide_", "__ifloordiv__")
def floor_divide_(self: SparseTensor, other: Any) -> SparseTensor:
    """Divide in place, rounded down."""
    return rebind(self, floor_divide(self, other).to(self.dtype), "floor_divide_")


@answers("__rtruediv__", "__rfloordiv__", "__rpow__")
def _divided_by(self: SparseTensor, other: Any) -> Any:
    raise NotSupported(
        "div: a sparse divisor has zeros wherever it has no values",
        operands={"input": other, "other": self},
        fix="convert it: tensor.to_dense()",
    )


@answers("pow", "__pow__")
def pow(input: Any, exponent: Any) -> SparseTensor:
    """The power, of which zero is kept by exponents above zero alone."""
    if not is_sparse(input) or not isinstance(exponent, NUMBERS) or isinstance(exponent, complex) or exponent <= 0:
        raise NotSupported(
            "pow: a sparse tensor is raised to a number above 0, which keeps zero",
            operands={"input": input, "exponent": exponent},
            fix="convert it: tensor.to_dense()",
        )
    source = _with_unique(input)
    return pack(unpack(source) ** exponent, source._pattern)


def _with_unique(tensor: Any) -> SparseTensor:
    found: SparseTensor = coalesce(tensor) if tensor.is_sparse else tensor
    return found


# ----------------------------------------------------------------------------------------------- functions that keep 0


LINEAR = ("conj", "conj_physical", "deg2rad", "neg", "negative", "positive", "rad2deg", "real", "imag")
"""Functions of each value apart, where a place that is repeated makes no difference."""

KEEP_ZERO = (
    "abs", "absolute", "angle", "arcsin", "arcsinh", "arctan", "arctanh", "asin", "asinh", "atan", "atanh", "ceil",
    "erf", "erfinv", "expm1", "fix", "floor", "frac", "isinf", "isnan", "isneginf", "isposinf", "log1p", "nan_to_num",
    "relu", "round", "sgn", "sign", "signbit", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc",
)  # fmt: skip
"""Functions that are 0 at 0, of the sum of the values at a place."""


def _elementwise(name: str, linear: bool) -> None:
    dense = getattr(polyad, name)

    def elementwise(input: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        source = input if linear else _with_unique(input)
        return pack(dense(unpack(source), *args, **kwargs), source._pattern)

    def in_place(self: SparseTensor, *args: Any, **kwargs: Any) -> Any:
        return rebind(self, elementwise(self, *args, **kwargs).to(self.dtype), f"{name}_")

    elementwise.__name__, in_place.__name__ = name, f"{name}_"
    answers(name)(elementwise)
    if hasattr(Tensor, f"{name}_"):
        answers(f"{name}_")(in_place)


for _name in LINEAR:
    _elementwise(_name, True)
for _name in KEEP_ZERO:
    _elementwise(_name, False)


@answers("__neg__")
def neg(input: SparseTensor) -> SparseTensor:
    """The negative."""
    return pack(-unpack(input), input._pattern)


@answers("__pos__")
def pos(input: SparseTensor) -> SparseTensor:
    """The tensor itself."""
    return input


@answers("__abs__")
def absolute(input: SparseTensor) -> SparseTensor:
    """The absolute values."""
    source = _with_unique(input)
    return pack(unpack(source).abs(), source._pattern)


@answers("dropout", "feature_dropout")
def dropout(input: SparseTensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> SparseTensor:
    """Zero some of the specified values, and enlarge the others."""
    source = _with_unique(input)
    return pack(polyad.nn.functional.dropout(unpack(source), p, training), source._pattern)


@answers("equal")
def equal(input: Tensor, other: Tensor) -> bool:
    """Whether two sparse tensors of one layout have the same elements."""
    if not (is_sparse(input) and is_sparse(other)) or input.shape != other.shape or input.layout is not other.layout:
        return False
    a, b = (_with_unique(tensor) for tensor in (input, other))
    return same_places(a._pattern, b._pattern) and polyad.equal(a._held, b._held)


@answers("allclose")
def allclose(input: Tensor, other: Tensor, **kwargs: Any) -> bool:
    """Whether the elements are close to each other, zeros included."""
    a, b = (to_dense(one) if is_sparse(one) else one for one in (input, other))
    return polyad.allclose(a, b, **kwargs)
