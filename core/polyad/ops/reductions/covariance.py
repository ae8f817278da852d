"""Covariances and correlations of variables, which are rows, over observations, which are columns."""

from __future__ import annotations

from typing import Any

from ...base.dtypes import BOOL, FLOATING
from ...base.state import warn_user
from ...dispatch.op import function
from ...dispatch.windows import complex_of_parts
from ...errors import DTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import _div, _mul, _sub, conjugate
from ..pointwise.complex_numbers import imag, real
from ..products.matmul import _gemm
from ..shaping.diagonals import _diagonal
from ..shaping.joining import _stack
from ..shaping.reshape import _reshape, _unsqueeze
from .any_all import anywhere, check_all
from .sums import _sum


def _weights(name: str, weights: Tensor | None, input: Tensor, count: int) -> Tensor | None:
    if weights is None:
        return None
    operands: dict[str, Any] = {"input": input, name: check_tensor(weights, "cov", name)}
    if weights.ndim > 1:
        raise ShapeError(f"cov: {name} has {weights.ndim} dimensions, not one", operands=operands, fix="flatten it")
    category = weights._type.dtype.category
    if (name == "fweights") != (BOOL < category < FLOATING) or category > FLOATING or category == BOOL:
        wanted = "an integer" if name == "fweights" else "a floating point"
        raise DTypeError(f"cov: {name} is {weights.dtype.name}", operands=operands, fix=f"give it {wanted} dtype")
    if weights.numel() != count:
        raise ShapeError(
            f"cov: {name} has {weights.numel()} elements for {count} observations",
            operands=operands,
            fix="give a weight for each observation",
        )
    check_all(
        weights >= 0,
        lambda position, value: ShapeError(f"cov: {name} has negative elements", fix="give weights of 0 or more"),
        **operands,
    )
    return weights


@function()
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariances of variables (rows) over observations (columns): (n, m) gives (n, n), a vector its variance.

    Sums are divided by m - *correction*. *fweights* says how often each observation occurred, *aweights* how much it
    counts. Integers give the default dtype. Raises RuntimeError for bool, more than two dimensions, and weights of
    another number or dtype (integer, floating) or below 0.

    >>> import polyad
    >>> polyad.cov(polyad.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    operands = {"input": check_tensor(input, "cov", "input")}
    if input.ndim > 2:
        raise ShapeError(f"cov: input has {input.ndim} dimensions, more than two", operands=operands, fix="reshape it")
    if input._type.dtype.category == BOOL:
        raise DTypeError("cov: input is bool", operands=operands, fix="convert it to a floating point dtype")
    x = input if input.ndim == 2 else _reshape(input, (1, input.numel()))
    count = x._array.shape[1]
    often = _weights("fweights", fweights, input, count)
    much = _weights("aweights", aweights, input, count)
    weights = often if much is None else much if often is None else _mul(often, much)
    total: Any = count
    if weights is not None:
        total = _sum(weights, tuple(range(weights.ndim)), False)
        if count:
            check_all(
                total != 0,
                lambda position, value: ShapeError("cov: the weights sum to zero", fix="give a positive weight"),
                **operands,
            )
        centre = _div(_sum(_mul(x, weights), (1,), False), total)
    else:
        centre = _div(_sum(x, (1,), False), count)
    if weights is not None and much is not None and correction:
        excess = _div(_sum(_mul(weights, much), (0,) if weights.ndim else (), False), total)
        freedom: Any = _sub(total, _mul(excess, correction))
    else:
        freedom = total - correction
    if anywhere(freedom <= 0) if isinstance(freedom, Tensor) else freedom <= 0:
        warn_user("cov: there are no degrees of freedom left; the result is infinite or nan", UserWarning)
        freedom = freedom.clamp(min=0) if isinstance(freedom, Tensor) else 0
    deviation = _sub(x, _unsqueeze(centre, 1))
    weighted = deviation if weights is None else _mul(deviation, weights)
    products = _gemm(deviation, conjugate(weighted), False, True)
    return _div(products, freedom).squeeze()


@function()
def corrcoef(input: Tensor) -> Tensor:
    """The correlation matrix of variables (rows) over observations (columns): covariances divided by the standard
    deviations of both variables; a vector gives 1. Limited to [-1, 1], in both parts if complex.

    Integers give the default dtype. Raises RuntimeError for bool or more than two dimensions.

    >>> import polyad
    >>> polyad.corrcoef(polyad.tensor([[1.0, 2.0, 3.0], [3.0, 2.0, 1.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    ndim = check_tensor(input, "corrcoef", "input").ndim
    if ndim > 2:
        raise ShapeError(
            f"corrcoef: input has {ndim} dimensions, more than two", operands={"input": input}, fix="reshape it"
        )
    if input._type.dtype.category == BOOL:
        raise DTypeError("corrcoef: input is bool", operands={"input": input}, fix="convert it to a float dtype")
    products = cov(input)
    if not products.ndim:
        return _div(products, products)
    variances = _diagonal(products, 0, 0, 1)
    spread = (real(variances) if variances._type.dtype.is_complex else variances).sqrt()
    result = _div(_div(products, _unsqueeze(spread, 1)), spread)
    if not result._type.dtype.is_complex:
        return result.clamp(-1, 1)
    return complex_of_parts(_stack([real(result).clamp(-1, 1), imag(result).clamp(-1, 1)], 2))
