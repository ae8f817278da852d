"""Matrix products added to a tensor: ``beta * input + alpha * (a @ b)``, with the names of PyTorch and the BLAS.

A beta or alpha of 0 drops its term, so that nan and infinity in it do not count. *input* broadcasts to the product's
shape, never the other way round. Half floats are rounded once, at the end, by backends with a kernel of their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.dtypes import BOOL, FLOATING, INTEGER, DType
from ...base.shapes_and_strides import Shape, broadcast_shapes
from ...dispatch.forward import forward
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import common_dtype
from ...dispatch.structure import contraction, row_major
from ...errors import ArgumentTypeError, DTypeError, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..declaring.whole_numbers import whole
from ..memory.copying import element
from ..pointwise.arithmetic import _add, _mul, conjugate
from ..shaping.reshape import _permute, _reshape, _unsqueeze
from .matmul import _gemm
from .mm import bmm, bmm_shape, check_rank, mm, mm_shape, mv, mv_shape, same_dtype

if TYPE_CHECKING:
    Number = bool | int | float | complex


def _onto(op: str, input: Shape, product: Shape) -> Shape:
    """The product's shape; raises ShapeError unless *input* broadcasts to it."""
    try:
        fits = broadcast_shapes(input, product) == product
    except ShapeError:
        fits = False
    if not fits:
        raise ShapeError(
            f"{op}: input {input} does not broadcast to the product {product}",
            fix="give input the shape of the product, or a shape that expands to it",
        )
    return product


def _addmm_shape(input: Shape, mat1: Shape, mat2: Shape, beta: Number, alpha: Number) -> Shape:
    return _onto("addmm", input, mm_shape(mat1, mat2, "addmm", ("mat1", "mat2")))


def _baddbmm_shape(input: Shape, batch1: Shape, batch2: Shape, beta: Number, alpha: Number) -> Shape:
    return _onto("baddbmm", input, bmm_shape(batch1, batch2, "baddbmm", ("batch1", "batch2")))


def _addmv_shape(input: Shape, mat: Shape, vec: Shape, beta: Number, alpha: Number) -> Shape:
    return _onto("addmv", input, mv_shape(mat, vec, "addmv", ("mat", "vec")))


def _sum_of(input: Tensor, product: Callable[[], Tensor], shape: Shape, beta: Number, alpha: Number) -> Tensor:
    """beta * input + alpha * product(), *shape*; a term whose factor is 0 is left out."""
    type_ = input._type
    if alpha:
        result = product()
        if alpha != 1:
            result = _mul(result, alpha)
        if not beta:
            return result
    else:
        result = _full(shape, 0, type_.dtype, type_.device)
    return _add(input if beta == 1 else _mul(input, beta), result) if beta else result


def _scale_gradient(g: Tensor, by: Number) -> Tensor:
    return g if by == 1 else _mul(g, conjugate(by))


@composite(dtype=same_dtype("addmm"), structure=contraction, strides=row_major, shape=_addmm_shape, method=False)
def _addmm(input: Tensor, mat1: Tensor, mat2: Tensor, beta: Number, alpha: Number) -> Tensor:
    """beta * input + alpha * mat1 @ mat2."""
    shape = _addmm_shape(input._array.shape, mat1._array.shape, mat2._array.shape, beta, alpha)
    return _sum_of(input, lambda: mm(mat1, mat2), shape, beta, alpha)


@composite(dtype=same_dtype("baddbmm"), structure=contraction, strides=row_major, shape=_baddbmm_shape, method=False)
def _baddbmm(input: Tensor, batch1: Tensor, batch2: Tensor, beta: Number, alpha: Number) -> Tensor:
    """beta * input + alpha * batch1 @ batch2."""
    shape = _baddbmm_shape(input._array.shape, batch1._array.shape, batch2._array.shape, beta, alpha)
    return _sum_of(input, lambda: bmm(batch1, batch2), shape, beta, alpha)


@composite(dtype=same_dtype("addmv"), structure=contraction, shape=_addmv_shape, method=False)
def _addmv(input: Tensor, mat: Tensor, vec: Tensor, beta: Number, alpha: Number) -> Tensor:
    """beta * input + alpha * mat @ vec."""
    shape = _addmv_shape(input._array.shape, mat._array.shape, vec._array.shape, beta, alpha)
    return _sum_of(input, lambda: mv(mat, vec), shape, beta, alpha)


def _change(
    product: Callable[[Tensor, Tensor], Tensor],
    of_input: Tensor | None,
    left: Tensor,
    of_left: Tensor | None,
    right: Tensor,
    of_right: Tensor | None,
    beta: Number,
    alpha: Number,
) -> Tensor | None:
    """The tangent of beta * input + alpha * product(left, right)."""
    total = None if of_input is None or not beta else _mul(of_input, beta)
    for first, second in ((of_left, right), (left, of_right)) if alpha else ():
        if first is not None and second is not None:
            part = _mul(product(first, second), alpha)
            total = part if total is None else _add(total, part)
    return total


gradient(
    _addmm,
    input=lambda g, beta: _scale_gradient(g, beta),
    mat1=lambda g, mat2, alpha: _scale_gradient(_gemm(g, conjugate(mat2), False, True), alpha),
    mat2=lambda g, mat1, alpha: _scale_gradient(_gemm(conjugate(mat1), g, True, False), alpha),
)
forward(
    _addmm,
    lambda input_t, mat1, mat1_t, mat2, mat2_t, beta, alpha: _change(
        mm, input_t, mat1, mat1_t, mat2, mat2_t, beta, alpha
    ),
)
gradient(
    _baddbmm,
    input=lambda g, beta: _scale_gradient(g, beta),
    batch1=lambda g, batch2, alpha: _scale_gradient(_gemm(g, conjugate(batch2), False, True), alpha),
    batch2=lambda g, batch1, alpha: _scale_gradient(_gemm(conjugate(batch1), g, True, False), alpha),
)
forward(
    _baddbmm,
    lambda input_t, batch1, batch1_t, batch2, batch2_t, beta, alpha: _change(
        bmm, input_t, batch1, batch1_t, batch2, batch2_t, beta, alpha
    ),
)
gradient(
    _addmv,
    input=lambda g, beta: _scale_gradient(g, beta),
    mat=lambda g, vec, alpha: _scale_gradient(_mul(_unsqueeze(g, 1), conjugate(vec)), alpha),
    vec=lambda g, mat, alpha: _scale_gradient(mv(_permute(conjugate(mat), (1, 0)), g), alpha),
)
forward(
    _addmv,
    lambda input_t, mat, mat_t, vec, vec_t, beta, alpha: _change(mv, input_t, mat, mat_t, vec, vec_t, beta, alpha),
)


def _factor(op: str, name: str, value: Any, dtype: DType, *, exact: bool = False) -> Number:
    """beta or alpha as a number that *dtype* can hold. For integers the fraction is dropped, or refused if *exact*, as
    are bools for numbers.
    """
    if isinstance(value, Tensor) and not value.ndim:
        value = value.item()
    if not isinstance(value, (bool, int, float, complex)):
        raise ArgumentTypeError(f"{op}: {name} is {safe_repr(value)}, not a number", fix="pass a number")
    if exact and isinstance(value, bool) and dtype.category != BOOL:
        raise DTypeError(f"{op}: {name} is a bool, the tensors are {dtype.name}", fix="pass a number")
    if isinstance(value, complex) and not dtype.is_complex:
        raise DTypeError(f"{op}: {name} is complex, the tensors are {dtype.name}", fix="pass a real number")
    if dtype.category == BOOL:
        return bool(value)
    if isinstance(value, float) and dtype.category < FLOATING:
        if exact:
            raise DTypeError(
                f"{op}: {name} is a float, the tensors are {dtype.name}", fix="pass an int, or convert the tensors"
            )
        value = whole(op, name, value)
    if dtype.category == INTEGER:
        value = element(op, value, dtype)
    return value  # type: ignore[no-any-return]


def _factors(op: str, input: Tensor, beta: Any, alpha: Any) -> tuple[Number, Number]:
    dtype = check_tensor(input, op, "input")._type.dtype
    return _factor(op, "beta", beta, dtype), _factor(op, "alpha", alpha, dtype)


@function(inplace=True, factors=("beta", "alpha"))
def addmm(
    input: Tensor, mat1: Tensor, mat2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat1 @ mat2)``: mat1 (n, m), mat2 (m, p), input broadcasts to (n, p).

    A factor of 0 drops its term, nan and all. Raises RuntimeError when shapes or dtypes do not agree.

    >>> import polyad
    >>> polyad.addmm(polyad.tensor([1.0, 2.0]), polyad.ones(2, 3), polyad.ones(3, 2))
    tensor([[4., 5.],
            [4., 5.]])
    """
    if beta.__class__ is not int or alpha.__class__ is not int or beta < 0 or alpha < 0:
        beta, alpha = _factors("addmm", input, beta, alpha)
    return _addmm(input, mat1, mat2, beta, alpha)


@function(inplace=True, factors=("beta", "alpha"))
def baddbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2)``: batch1 (b, n, m), batch2 (b, m, p), input broadcasts to (b, n, p).

    A factor of 0 drops its term, nan and all. Raises RuntimeError when shapes or dtypes do not agree.

    >>> import polyad
    >>> polyad.baddbmm(polyad.ones(1), polyad.ones(1, 1, 3), polyad.ones(1, 3, 1), alpha=2)
    tensor([[[7.]]])
    """
    if beta.__class__ is not int or alpha.__class__ is not int or beta < 0 or alpha < 0:
        beta, alpha = _factors("baddbmm", input, beta, alpha)
    return _baddbmm(input, batch1, batch2, beta, alpha)


@function(inplace=True, factors=("beta", "alpha"))
def addmv(
    input: Tensor, mat: Tensor, vec: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (mat @ vec)``: mat (n, m), vec (m,), input broadcasts to (n,).

    A factor of 0 drops its term, nan and all. Raises RuntimeError when shapes or dtypes do not agree.

    >>> import polyad
    >>> polyad.addmv(polyad.tensor([1.0, 2.0]), polyad.ones(2, 3), polyad.ones(3))
    tensor([4., 5.])
    """
    if beta.__class__ is not int or alpha.__class__ is not int or beta < 0 or alpha < 0:
        beta, alpha = _factors("addmv", input, beta, alpha)
    return _addmv(input, mat, vec, beta, alpha)


@function(inplace=True, factors=("beta", "alpha"))
def addbmm(
    input: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * (batch1 @ batch2).sum(0)``: batch1 (b, n, m), batch2 (b, m, p), input broadcasts to
    (n, p).

    A factor of 0 drops its term, nan and all. Raises RuntimeError when shapes or dtypes do not agree.

    >>> import polyad
    >>> polyad.addbmm(polyad.ones(1, 1), polyad.ones(2, 1, 3), polyad.ones(2, 3, 1))
    tensor([[7.]])
    """
    beta, alpha = _factors("addbmm", input, beta, alpha)
    check_rank("addbmm", 3, batch1=batch1, batch2=batch2)
    try:
        count, rows, columns = bmm_shape(batch1._array.shape, batch2._array.shape, "addbmm", ("batch1", "batch2"))
        _onto("addbmm", input._array.shape, (rows, columns))
    except ShapeError as error:
        error.add_operands({"input": input, "batch1": batch1, "batch2": batch2})
        raise
    # The batch becomes a summed dimension too: a single product of matrices.
    inner = count * batch1._array.shape[2]
    wide = _reshape(_permute(batch1, (1, 0, 2)), (rows, inner))
    return _addmm(input, wide, _reshape(batch2, (inner, columns)), beta, alpha)


@function(inplace=True, factors=("beta", "alpha"))
def addr(
    input: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Number = 1, alpha: Number = 1, out: Tensor | None = None
) -> Tensor:
    """``beta * input + alpha * outer(vec1, vec2)``: vec1 (n,), vec2 (m,), input broadcasts to (n, m).

    Dtypes promote. A factor of 0 drops its term, nan and all. Raises RuntimeError when shapes do not agree, or for a
    float factor of integer tensors.

    >>> import polyad
    >>> polyad.addr(polyad.zeros(2, 2), polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 2.0]))
    tensor([[1., 2.],
            [2., 4.]])
    """
    check_tensor(input, "addr", "input")
    check_rank("addr", 1, vec1=vec1, vec2=vec2)
    shape = (*vec1._array.shape, *vec2._array.shape)
    try:
        _onto("addr", input._array.shape, shape)
    except ShapeError as error:
        error.add_operands({"input": input, "vec1": vec1, "vec2": vec2})
        raise
    dtype = common_dtype((input._type, vec1._type, vec2._type))
    vec1, vec2 = vec1.to(dtype), vec2.to(dtype)  # so that the products do not overflow in a smaller dtype
    beta, alpha = (
        _factor("addr", name, value, dtype, exact=True) for name, value in (("beta", beta), ("alpha", alpha))
    )
    result = _sum_of(input, lambda: _mul(_unsqueeze(vec1, 1), vec2), shape, beta, alpha)
    return result if result._type.dtype is dtype else result.to(dtype)
