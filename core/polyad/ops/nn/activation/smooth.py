"""Smooth activations: gelu, silu, mish, softplus and what is made of them."""

from __future__ import annotations

import math

from ....base.shapes_and_strides import normalize_dim
from ....dispatch.forward import symmetric
from ....dispatch.op import composite, function, gradient
from ....dispatch.promotion import floating_only
from ....dispatch.structure import Pointwise, pointwise
from ....errors import OptionError, ShapeError, safe_repr
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...pointwise.arithmetic import _add, _div, _mul, _sub, conjugate
from ...pointwise.exponential import exp, log1p, sigmoid
from ...pointwise.maximum import minimum
from ...pointwise.trigonometry import tanh
from ...pointwise.where import _where
from ...special.error_functions import erfc
from .arguments import call_or_write, number, real

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
TANH_CUBIC = 0.044715
"""The cubic coefficient of the tanh form of gelu (Hendrycks and Gimpel 2016, section 2)."""


def _gelu_inner(input: Tensor) -> Tensor:
    return _mul(_mul(input, _mul(_mul(input, input), TANH_CUBIC) + 1), ROOT_TWO_OVER_PI)


@composite(dtype=real("gelu"), structure=pointwise, method=False)
def _gelu(input: Tensor, approximate: str) -> Tensor:
    """input times the normal distribution function of input, exactly ("none") or by its tanh form ("tanh")."""
    if approximate == "tanh":
        return _mul(_mul(input, 0.5), tanh(_gelu_inner(input)) + 1)
    return _mul(_mul(input, 0.5), erfc(_mul(input, -ROOT_HALF)))  # erf + 1 would be 0 far below zero


@composite(dtype=real("gelu_backward"), structure=Pointwise(broadcasts=False), method=False)
def _gelu_backward(grad: Tensor, input: Tensor, approximate: str) -> Tensor:
    """grad times the derivative of gelu at input."""
    if approximate == "tanh":
        inner = tanh(_gelu_inner(input))
        slope = _mul(_mul(_mul(input, input), 3 * TANH_CUBIC) + 1, ROOT_TWO_OVER_PI)
        return _mul(grad, _mul(inner + 1 + _mul(_mul(input, slope), _sub(1, _mul(inner, inner))), 0.5))
    density = _mul(exp(_mul(_mul(input, input), -0.5)), ROOT_TWO_OVER_PI * 0.5)
    return _mul(grad, _mul(erfc(_mul(input, -ROOT_HALF)), 0.5) + _mul(input, density))


def _gelu_second(g: Tensor, grad: Tensor, input: Tensor, approximate: str) -> Tensor:
    square = _mul(input, input)
    if approximate == "tanh":
        inner = tanh(_gelu_inner(input))
        sech = _sub(1, _mul(inner, inner))
        slope = _mul(_mul(square, 3 * TANH_CUBIC) + 1, ROOT_TWO_OVER_PI)
        bend = _mul(_mul(input, sech), 3 * TANH_CUBIC * ROOT_TWO_OVER_PI)
        second = _mul(slope, sech) + _mul(input, bend) - _mul(_mul(input, _mul(slope, slope)), _mul(inner, sech))
    else:
        second = _mul(_mul(exp(_mul(square, -0.5)), ROOT_TWO_OVER_PI * 0.5), _sub(2, square))
    return _mul(_mul(g, grad), second)


gradient(_gelu, input=lambda g, input, approximate: _gelu_backward(g, input, approximate))
gradient(_gelu_backward, grad=lambda g, input, approximate: _gelu_backward(g, input, approximate), input=_gelu_second)


@function(namespace="nn.functional")
def gelu(input: Tensor, approximate: str = "none", *, out: Tensor | None = None) -> Tensor:
    """The element times the normal distribution function at it, exactly or ("tanh") by an approximation (Hendrycks
    and Gimpel 2016).

    Raises RuntimeError unless floating, and for another *approximate*.

    >>> import polyad
    >>> polyad.nn.functional.gelu(polyad.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise OptionError(
            f"gelu: approximate is {safe_repr(approximate)}", operands={"input": input}, fix='use "none" or "tanh"'
        )
    return _gelu(input, approximate)


@composite(dtype=floating_only("silu"), structure=pointwise, method=False)
def _silu(input: Tensor) -> Tensor:
    """input * sigmoid(input)."""
    return _mul(input, sigmoid(input))


@composite(dtype=floating_only("silu_backward"), structure=Pointwise(broadcasts=False), method=False)
def _silu_backward(grad: Tensor, input: Tensor) -> Tensor:
    """grad times the derivative of silu at input."""
    gate = sigmoid(input)
    return _mul(grad, conjugate(_mul(gate, _mul(input, _sub(1, gate)) + 1)))


def _silu_second(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    gate = sigmoid(input)
    slope = _mul(gate, _sub(1, gate))
    return _mul(_mul(conjugate(g), grad), conjugate(_mul(slope, _mul(input, _sub(1, _mul(gate, 2))) + 2)))


gradient(_silu, input=lambda g, input: _silu_backward(g, input))
gradient(
    _silu_backward,
    grad=lambda g, input: conjugate(_silu_backward(conjugate(g), input)),
    input=_silu_second,
)


@function(namespace="nn.functional")
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)`` (Elfwing et al. 2018), also known as swish. Raises RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.silu(polyad.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return call_or_write("silu", _silu, input, inplace)


@composite(dtype=real("softplus"), structure=pointwise, method=False)
def _softplus(input: Tensor, beta: float, threshold: float) -> Tensor:
    """log1p(exp(beta * input)) / beta; input itself where beta * input > threshold."""
    scaled = _mul(input, beta)
    return _where(scaled > threshold, input, _mul(log1p(exp(scaled)), 1 / beta if beta else math.inf))


@composite(dtype=real("softplus_backward"), structure=Pointwise(broadcasts=False), method=False)
def _softplus_backward(grad: Tensor, input: Tensor, beta: float, threshold: float) -> Tensor:
    """grad times the derivative of softplus at input."""
    scaled = _mul(input, beta)
    return _where(scaled > threshold, grad, _mul(grad, sigmoid(scaled)))


def _softplus_second(g: Tensor, grad: Tensor, input: Tensor, beta: float, threshold: float) -> Tensor:
    scaled = _mul(input, beta)
    gate = sigmoid(scaled)
    return _where(scaled > threshold, 0, _mul(_mul(g, grad), _mul(_mul(gate, _sub(1, gate)), beta)))


gradient(_softplus, input=lambda g, input, beta, threshold: _softplus_backward(g, input, beta, threshold))
gradient(
    _softplus_backward,
    grad=lambda g, input, beta, threshold: _softplus_backward(g, input, beta, threshold),
    input=_softplus_second,
)


@function(namespace="nn.functional")
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0, *, out: Tensor | None = None) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, a smooth `relu`; the element itself where ``beta * input > threshold``.

    Raises RuntimeError unless floating. A beta of 0 gives inf.

    >>> import polyad
    >>> polyad.nn.functional.softplus(polyad.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    return _softplus(input, number("softplus", "beta", beta), number("softplus", "threshold", threshold))


@composite(dtype=real("log_sigmoid"), structure=pointwise, method=False)
def _log_sigmoid(input: Tensor) -> Tensor:
    """min(input, 0) - log1p(exp(-abs(input)))."""
    return _sub(minimum(input, 0), log1p(exp(-input.abs())))


gradient(_log_sigmoid, input=lambda g, input: _mul(g, sigmoid(-input)))


@function(namespace="nn.functional")
def logsigmoid(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """``log(sigmoid(input))`` without overflow. Raises RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.logsigmoid(polyad.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """
    return _log_sigmoid(check_tensor(input, "logsigmoid", "input").contiguous())


@composite(dtype=real("mish"), structure=pointwise, method=False)
def _mish(input: Tensor) -> Tensor:
    """input * tanh(log1p(exp(input)))."""
    return _mul(input, tanh(log1p(exp(input))))


@composite(dtype=real("mish_backward"), structure=Pointwise(broadcasts=False), method=False)
def _mish_backward(grad: Tensor, input: Tensor) -> Tensor:
    """grad times the derivative of mish at input."""
    inner = tanh(log1p(exp(input)))
    slope = _mul(_mul(input, sigmoid(input)), _sub(1, _mul(inner, inner)))
    return _mul(grad, _add(inner, slope))


def _mish_second(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    gate, inner = sigmoid(input), tanh(log1p(exp(input)))
    bend = _add(_sub(2, _mul(_mul(_mul(input, gate), inner), 2)), _mul(input, _sub(1, gate)))
    return _mul(_mul(g, grad), _mul(_mul(_sub(1, _mul(inner, inner)), gate), bend))


gradient(_mish, input=lambda g, input: _mish_backward(g, input))
gradient(_mish_backward, grad=lambda g, input: _mish_backward(g, input), input=_mish_second)


@function(namespace="nn.functional")
def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))`` (Misra 2019). Raises RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.mish(polyad.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.3034,  0.0000,  0.8651])
    """
    return call_or_write("mish", _mish, input, inplace)


@function(namespace="nn.functional")
def softsign(input: Tensor) -> Tensor:
    """``input / (1 + |input|)``. Integers become the default floating dtype; raises RuntimeError for bool.

    >>> import polyad
    >>> polyad.nn.functional.softsign(polyad.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.5000,  0.0000,  0.7500])
    """
    return _div(input, _add(check_tensor(input, "softsign", "input").abs(), 1))


@function(namespace="nn.functional")
def tanhshrink(input: Tensor) -> Tensor:
    """``input - tanh(input)``. Integers become the default floating dtype; raises RuntimeError for bool.

    >>> import polyad
    >>> polyad.nn.functional.tanhshrink(polyad.tensor([-1.0, 0.0, 3.0]))
    tensor([-0.2384,  0.0000,  2.0049])
    """
    return _sub(input, check_tensor(input, "tanhshrink", "input").tanh())


@composite(dtype=real("glu"), structure=pointwise, method=False)
def _glu(input: Tensor, gate: Tensor) -> Tensor:
    """input * sigmoid(gate)."""
    return _mul(input, sigmoid(gate))


gradient(
    _glu,
    input=lambda g, gate: _mul(g, sigmoid(gate)),
    gate=lambda g, input, gate: _mul(_mul(_mul(g, input), sigmoid(gate)), sigmoid(-gate)),
)
symmetric(_gelu, _gelu_backward, _silu, _softplus, _softplus_backward, _log_sigmoid, _mish, _mish_backward, _glu)
symmetric(_silu_backward, holomorphic=False)


@function(namespace="nn.functional")
def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of *input* along *dim* times the sigmoid of the second half (Dauphin et al. 2016).

    Raises RuntimeError unless floating, or if the size along *dim* is odd; IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.nn.functional.glu(polyad.tensor([4.0, -2.0, 0.0, 100.0]))
    tensor([ 2., -2.])
    """
    check_tensor(input, "glu", "input")
    dim = normalize_dim(dim, input.ndim, "glu")
    size = input._array.shape[dim] if input.ndim else 1
    if size % 2:
        raise ShapeError(
            f"glu: dimension {dim} of size {size} has no halves",
            operands={"input": input},
            fix="make its size even, or choose another dim",
        )
    return _glu(input.narrow(dim, 0, size // 2), input.narrow(dim, size // 2, size // 2))
