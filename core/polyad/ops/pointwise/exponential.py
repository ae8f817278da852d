"""Exponentials, logarithms and the logistic function.

Integers become the default floating dtype; complex tensors are taken unless a function says otherwise.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from ...dispatch.forward import symmetric
from ...dispatch.op import alias, composite, function, gradient, primitive
from ...dispatch.promotion import floating_only, not_complex, promoted_float
from ...dispatch.structure import Pointwise, pointwise
from ...errors import ArgumentTypeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.half_types import in_float32
from .arithmetic import _add, _div, _mul, _sub, conjugate
from .clamp import clamp
from .maximum import maximum
from .where import _where

if TYPE_CHECKING:
    Number = bool | int | float | complex

LN2, LN10 = math.log(2), math.log(10)


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def exp(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """e to the power of each element.

    >>> import polyad
    >>> polyad.exp(polyad.tensor([0.0, 1.0]))
    tensor([1.0000, 2.7183])
    """


gradient(exp, input=lambda g, out: _mul(g, conjugate(out)))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``exp(input) - 1``, accurate near 0.

    >>> import polyad
    >>> polyad.expm1(polyad.tensor([0.0, 1e-10], dtype=polyad.float64)).tolist()
    [0.0, 1.00000000005e-10]
    """


gradient(expm1, input=lambda g, out: _mul(g, conjugate(_add(out, 1))))


@composite(dtype=promoted_float, structure=pointwise, inplace=True)
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element.

    >>> import polyad
    >>> polyad.exp2(polyad.tensor([0.0, 3.0]))
    tensor([1., 8.])
    """
    return exp(_mul(input, LN2))


gradient(exp2, input=lambda g, out: _mul(g, conjugate(_mul(out, LN2))))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True)
def log(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The natural logarithm: -inf for 0, nan for negative real elements.

    >>> import polyad
    >>> polyad.log(polyad.tensor([1.0, 10.0]))
    tensor([0.0000, 2.3026])
    """


gradient(log, input=lambda g, input: _div(g, conjugate(input)))


@primitive(dtype=promoted_float, structure=pointwise, inplace=True, grad_name="Log1PBackward0")
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + input)``, accurate near 0.

    >>> import polyad
    >>> polyad.log1p(polyad.tensor([0.0, 1e-10], dtype=polyad.float64)).tolist()
    [0.0, 9.999999999500001e-11]
    """


gradient(log1p, input=lambda g, input: _div(g, conjugate(_add(input, 1))))


@composite(dtype=promoted_float, structure=pointwise, inplace=True)
def log2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 2.

    >>> import polyad
    >>> polyad.log2(polyad.tensor([1.0, 8.0]))
    tensor([0., 3.])
    """
    return _div(log(input), LN2)


gradient(log2, input=lambda g, input: _div(g, conjugate(_mul(input, LN2))))


@composite(dtype=promoted_float, structure=pointwise, inplace=True)
def log10(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm to base 10.

    >>> import polyad
    >>> polyad.log10(polyad.tensor([1.0, 50.0]))
    tensor([0.0000, 1.6990])
    """
    return _div(log(input), LN10)


gradient(log10, input=lambda g, input: _div(g, conjugate(_mul(input, LN10))))


@composite(dtype=promoted_float, structure=pointwise, inplace=True)
def sigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logistic function ``1 / (1 + exp(-input))``.

    >>> import polyad
    >>> polyad.sigmoid(polyad.tensor([-2.0, 0.0, 2.0]))
    tensor([0.1192, 0.5000, 0.8808])
    """
    return 1 / _add(exp(-input), 1)


@composite(dtype=floating_only("sigmoid_backward"), structure=Pointwise(broadcasts=False), method=False)
def _sigmoid_backward(grad: Tensor, output: Tensor) -> Tensor:
    """grad * output * (1 - output): the gradient of `sigmoid` from its result."""
    return _mul(grad, conjugate(_mul(output, _sub(1, output))))


gradient(
    _sigmoid_backward,
    grad=lambda g, output: _mul(g, _mul(output, _sub(1, output))),
    output=lambda g, grad, output: _mul(_mul(conjugate(g), grad), conjugate(_sub(1, _mul(output, 2)))),
)
gradient(sigmoid, input=lambda g, out: _sigmoid_backward(g, out))


@function(inplace=True)
def logit(input: Tensor, eps: float | None = None, *, out: Tensor | None = None) -> Tensor:
    """``log(input / (1 - input))``, the inverse of `sigmoid`; *eps* first limits the elements to ``[eps, 1 - eps]``.

    Outside [0, 1] the result is nan. Raises RuntimeError for complex tensors.

    >>> import polyad
    >>> polyad.logit(polyad.tensor([0.5, 0.9]))
    tensor([0.0000, 2.1972])
    """
    check_tensor(input, "logit", "input")
    if eps is not None and not isinstance(eps, (int, float)):
        raise ArgumentTypeError(f"logit: eps is {type(eps).__name__}, not a number", fix="pass a float or None")
    return _logit(input if eps is None else clamp(input, eps, 1 - eps))


@composite(dtype=not_complex("logit", promoted_float), structure=pointwise)
def _logit(input: Tensor) -> Tensor:
    """log(input / (1 - input))."""
    return log(_div(input, _sub(1, input)))


gradient(
    _logit,
    input=lambda g, input: _where((input >= 0) & (input <= 1), _div(g, _mul(input, _sub(1, input))), math.nan),
)


@composite(dtype=floating_only("logaddexp"), structure=pointwise)
@in_float32
def logaddexp(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(exp(input) + exp(other))`` without overflow.

    Shapes broadcast; dtypes promote. Raises NotImplementedError for integer operands.

    >>> import polyad
    >>> polyad.logaddexp(polyad.tensor([1000.0]), polyad.tensor([1000.0]))
    tensor([1000.6932])
    """
    if input._type.dtype.is_complex:
        swapped = input.real < other.real
        larger, smaller = _where(swapped, other, input), _where(swapped, input, other)
        both_infinite = (larger.real == smaller.real) & (abs(larger.real) == math.inf)
        return _where(both_infinite, larger, _add(larger, log1p(exp(_sub(smaller, larger)))))
    larger = maximum(input, other)
    gap = abs(_sub(input, other))
    # inf - inf is nan, but of two equal infinities the result is that infinity.
    return _where(gap == gap, _add(larger, log1p(exp(-gap))), larger)


def _share(g: Tensor, input: Tensor, other: Tensor) -> Tensor:
    """g * exp(input) / (exp(input) + exp(other))."""
    gap = _sub(other, input)
    if not input._type.dtype.is_complex:
        return _div(g, _add(exp(gap), 1))
    # An infinite complex exponential has parts that are nan.
    grows = gap.real > 0
    smaller = exp(_where(grows, -gap, gap))
    return _mul(g, conjugate(_div(_where(grows, smaller, 1.0), _add(smaller, 1))))


gradient(
    logaddexp,
    input=lambda g, input, other: _share(g, input, other),
    other=lambda g, input, other: _share(g, other, input),
)


@composite(dtype=not_complex("logaddexp2", floating_only("logaddexp2")), structure=pointwise)
@in_float32
def logaddexp2(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log2(2 ** input + 2 ** other)`` without overflow.

    Shapes broadcast; dtypes promote. Raises NotImplementedError for integer and complex operands.

    >>> import polyad
    >>> polyad.logaddexp2(polyad.tensor([1000.0]), polyad.tensor([1000.0]))
    tensor([1001.])
    """
    larger = maximum(input, other)
    gap = abs(_sub(input, other))
    return _where(gap == gap, _add(larger, _div(log1p(exp2(-gap)), LN2)), larger)


gradient(
    logaddexp2,
    input=lambda g, input, other: _div(g, _add(exp2(_sub(other, input)), 1)),
    other=lambda g, input, other: _div(g, _add(exp2(_sub(input, other)), 1)),
)


@composite(dtype=not_complex("xlogy", promoted_float), structure=pointwise, inplace=True, also={"self": "input"})
def xlogy(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """``input * log(other)``, and 0 where input is 0, unless other is nan.

    Shapes broadcast; dtypes promote. Raises RuntimeError for complex operands.

    >>> import polyad
    >>> polyad.xlogy(polyad.tensor([0.0, 2.0]), polyad.tensor([0.0, 1.0]))
    tensor([0., 0.])
    """
    if isinstance(other, Tensor):
        return _where((input == 0) & (other == other), 0.0, _mul(input, log(other)))
    # The dtype rule has refused complex numbers, and dispatch has turned the first of two numbers into a tensor.
    assert isinstance(input, Tensor)
    assert not isinstance(other, complex)
    product = _mul(input, math.log(other) if other > 0 else -math.inf if other == 0 else math.nan)
    return product if other != other else _where(input == 0, 0.0, product)


def _xlogy_grad_input(g: Tensor, input: Tensor, other: Tensor | Number) -> Tensor:
    # A gradient of 0 stays 0 where the logarithm is infinite or nan.
    return _where((input == 0) & (other <= 0), 0.0, xlogy(g, other))  # type: ignore[operator]


gradient(xlogy, input=_xlogy_grad_input, other=lambda g, input, other: _div(_mul(g, input), other))
symmetric(exp, expm1, exp2, log, log1p, log2, log10, sigmoid, _logit, logaddexp, logaddexp2, xlogy)
symmetric(_sigmoid_backward, holomorphic=False)

expit = alias("expit", sigmoid, namespace="special")
alias("sigmoid", sigmoid, namespace="nn.functional")
for _function in (exp2, expm1, log1p, logit, xlogy):
    alias(_function.__name__, _function, namespace="special")
