"""Activation functions, and softmax in its two forms.

Each is a composite whose gradient is a composite of its own (``relu_backward``, ``softmax_backward``, ...), so that a
backend can do either in one pass; what their bodies say is what a fused kernel must give. Functions that PyTorch
keeps in ``nn.functional`` alone are no Tensor methods. Where PyTorch has a parameter ``inplace``, it has the same
meaning here: the result is written into *input*.

To add an activation: declare the composite, its ``_backward`` twin and both gradients here; then the layer in
``polyad/nn``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ..dispatch.inplace import inplace as write_over
from ..dispatch.op import composite, function, gradient
from ..dispatch.promotion import floating_only, not_bool, not_complex
from ..dtypes import INTEGER, DType
from ..errors import ArgumentError, ArgumentTypeError
from ..layout import normalize_dim
from ..tensor import Tensor, check_tensor
from .arithmetic import _mul, _sub
from .exponential import exp, expm1, log, log1p, sigmoid
from .selection import _clamp, _where, maximum
from .shape_rules import broadcast, same
from .special import erf
from .trigonometry import tanh

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT_HALF = math.sqrt(0.5)
ROOT_TWO_OVER_PI = math.sqrt(2 / math.pi)
TANH_CUBIC = 0.044715
"""The cubic coefficient of the tanh form of gelu (Hendrycks and Gimpel 2016, section 2)."""

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""The fixed point for zero mean and unit variance (Klambauer et al. 2017, equation 14)."""


def _real(op: str) -> Any:
    return not_complex(op, floating_only(op))


def _ordered(op: str) -> Any:
    return not_bool(op, not_complex(op))


def _number(op: str, name: str, value: Any) -> float:
    if not isinstance(value, (int, float)):
        raise ArgumentTypeError(
            f"{op}: {name} is {type(value).__name__}, not a number", operands={name: value}, fix="pass a float"
        )
    return value


def _finished(name: str, call: Callable[..., Tensor], input: Tensor, inplace: bool, *params: Any) -> Tensor:
    """``call(input, *params)``, written into *input* if *inplace*."""
    return write_over(name + "_", call, None, input, *params) if inplace else call(input, *params)


# -------------------------------------------------------------------------------------------- rectifiers and bounds


@composite(dtype=_ordered("relu"), shape=same, inplace=True)
def relu(input: Tensor) -> Tensor:
    """``max(0, input)``, element by element; nan stays. The gradient at 0 is 0.

    Raises RuntimeError for bool and complex tensors.

    >>> import polyad
    >>> polyad.relu(polyad.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return maximum(input, 0)


@composite(dtype=_ordered("relu_backward"), shape=broadcast, method=False)
def _relu_backward(grad: Tensor, output: Tensor) -> Tensor:
    """grad where *output*, which a `relu` gave, is not 0; there 0, even if grad is infinite."""
    return _where(output != 0, grad, 0)


gradient(relu, input=lambda g, out: _relu_backward(g, out))
gradient(_relu_backward, grad=lambda g, output: _relu_backward(g, output))


@composite(dtype=_ordered("hardtanh"), shape=same, method=False)
def _hardtanh(input: Tensor, min_val: float, max_val: float) -> Tensor:
    """input within [min_val, max_val]."""
    return _clamp(input, min_val, max_val)


@composite(dtype=_ordered("hardtanh_backward"), shape=broadcast, method=False)
def _hardtanh_backward(grad: Tensor, input: Tensor, min_val: float, max_val: float) -> Tensor:
    """grad where input lies strictly between the bounds, 0 elsewhere."""
    return _where((input > min_val) & (input < max_val), grad, 0)


gradient(_hardtanh, input=lambda g, input, min_val, max_val: _hardtanh_backward(g, input, min_val, max_val))
gradient(_hardtanh_backward, grad=lambda g, input, min_val, max_val: _hardtanh_backward(g, input, min_val, max_val))


@function(method=False)
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The elements limited to ``[min_val, max_val]``; the gradient is 0 at the bounds and beyond.

    Integer tensors take the bounds without their fractions. Raises ValueError if min_val > max_val, RuntimeError for
    bool and complex.

    >>> import polyad
    >>> polyad.nn.functional.hardtanh(polyad.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    low, high = _number("hardtanh", "min_val", min_val), _number("hardtanh", "max_val", max_val)
    if low > high:
        raise ArgumentError(f"hardtanh: min_val {low} is larger than max_val {high}", fix="exchange them")
    if check_tensor(input, "hardtanh", "input")._type.dtype.category == INTEGER:
        low, high = int(low), int(high)
    return _finished("hardtanh", _hardtanh, input, inplace, low, high)


@function(method=False)
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(0, input), 6)`` (Krizhevsky 2010).

    >>> import polyad
    >>> polyad.nn.functional.relu6(polyad.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """
    return _finished("relu6", _hardtanh, check_tensor(input, "relu6", "input"), inplace, 0, 6)


@composite(dtype=_real("leaky_relu"), shape=same, method=False)
def _leaky_relu(input: Tensor, negative_slope: float) -> Tensor:
    """input where positive, negative_slope * input elsewhere."""
    return _where(input > 0, input, _mul(input, negative_slope))


@composite(dtype=_real("leaky_relu_backward"), shape=broadcast, method=False)
def _leaky_relu_backward(grad: Tensor, input: Tensor, negative_slope: float) -> Tensor:
    """grad where input is positive, negative_slope * grad elsewhere."""
    return _where(input > 0, grad, _mul(grad, negative_slope))


gradient(_leaky_relu, input=lambda g, input, negative_slope: _leaky_relu_backward(g, input, negative_slope))
gradient(_leaky_relu_backward, grad=lambda g, input, negative_slope: _leaky_relu_backward(g, input, negative_slope))


@function(method=False)
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The element where it is positive, *negative_slope* times it elsewhere (Maas et al. 2013). Raises RuntimeError
    unless floating.

    >>> import polyad
    >>> polyad.nn.functional.leaky_relu(polyad.tensor([-2.0, 3.0]), 0.1)
    tensor([-0.2000,  3.0000])
    """
    return _finished("leaky_relu", _leaky_relu, input, inplace, _number("leaky_relu", "negative_slope", negative_slope))


@composite(dtype=_real("elu"), shape=same, method=False)
def _elu(input: Tensor, alpha: float, scale: float) -> Tensor:
    """scale * input where positive, scale * alpha * expm1(input) elsewhere."""
    return _where(input > 0, _mul(input, scale), _mul(expm1(input), alpha * scale))


@composite(dtype=_real("elu_backward"), shape=broadcast, method=False)
def _elu_backward(grad: Tensor, input: Tensor, alpha: float, scale: float) -> Tensor:
    """scale * grad where input is positive, scale * alpha * exp(input) * grad elsewhere."""
    return _where(input > 0, _mul(grad, scale), _mul(grad, _mul(exp(input), alpha * scale)))


gradient(_elu, input=lambda g, input, alpha, scale: _elu_backward(g, input, alpha, scale))
gradient(
    _elu_backward,
    grad=lambda g, input, alpha, scale: _elu_backward(g, input, alpha, scale),
    input=lambda g, grad, input, alpha, scale: _where(
        input > 0, 0, _mul(_mul(g, grad), _mul(exp(input), alpha * scale))
    ),
)


@function(method=False)
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The element where it is positive, ``alpha * (exp(input) - 1)`` elsewhere (Clevert et al. 2016). Raises
    RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.elu(polyad.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return _finished("elu", _elu, input, inplace, _number("elu", "alpha", alpha), 1.0)


@function(method=False)
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` scaled so that activations keep zero mean and unit variance (Klambauer et al. 2017). Raises RuntimeError
    unless floating.

    >>> import polyad
    >>> polyad.selu(polyad.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return _finished("selu", _elu, input, inplace, SELU_ALPHA, SELU_SCALE)


# -------------------------------------------------------------------------------------------- smooth activations


def _gelu_inner(input: Tensor) -> Tensor:
    return _mul(_mul(input, _mul(_mul(input, input), TANH_CUBIC) + 1), ROOT_TWO_OVER_PI)


@composite(dtype=_real("gelu"), shape=same, method=False)
def _gelu(input: Tensor, approximate: str) -> Tensor:
    """input times the normal distribution function of input, exactly ("none") or by its tanh form ("tanh")."""
    if approximate == "tanh":
        return _mul(_mul(input, 0.5), tanh(_gelu_inner(input)) + 1)
    return _mul(_mul(input, 0.5), erf(_mul(input, ROOT_HALF)) + 1)


@composite(dtype=_real("gelu_backward"), shape=broadcast, method=False)
def _gelu_backward(grad: Tensor, input: Tensor, approximate: str) -> Tensor:
    """grad times the derivative of gelu at input."""
    if approximate == "tanh":
        inner = tanh(_gelu_inner(input))
        slope = _mul(_mul(_mul(input, input), 3 * TANH_CUBIC) + 1, ROOT_TWO_OVER_PI)
        return _mul(grad, _mul(inner + 1 + _mul(_mul(input, slope), _sub(1, _mul(inner, inner))), 0.5))
    density = _mul(exp(_mul(_mul(input, input), -0.5)), ROOT_TWO_OVER_PI * 0.5)
    return _mul(grad, _mul(erf(_mul(input, ROOT_HALF)) + 1, 0.5) + _mul(input, density))


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


@function(method=False)
def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """The element times the normal distribution function at it, exactly or ("tanh") by an approximation (Hendrycks
    and Gimpel 2016).

    Raises RuntimeError unless floating, ValueError for another *approximate*.

    >>> import polyad
    >>> polyad.nn.functional.gelu(polyad.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.1587,  0.0000,  0.8413])
    """
    if approximate not in ("none", "tanh"):
        raise ArgumentError(
            f"gelu: approximate is {approximate!r}", operands={"input": input}, fix='use "none" or "tanh"'
        )
    return _gelu(input, approximate)


@composite(dtype=_real("silu"), shape=same, method=False)
def _silu(input: Tensor) -> Tensor:
    """input * sigmoid(input)."""
    return _mul(input, sigmoid(input))


@composite(dtype=_real("silu_backward"), shape=broadcast, method=False)
def _silu_backward(grad: Tensor, input: Tensor) -> Tensor:
    """grad times the derivative of silu at input."""
    gate = sigmoid(input)
    return _mul(grad, _mul(gate, _mul(input, _sub(1, gate)) + 1))


def _silu_second(g: Tensor, grad: Tensor, input: Tensor) -> Tensor:
    gate = sigmoid(input)
    slope = _mul(gate, _sub(1, gate))
    return _mul(_mul(g, grad), _mul(slope, _mul(input, _sub(1, _mul(gate, 2))) + 2))


gradient(_silu, input=lambda g, input: _silu_backward(g, input))
gradient(_silu_backward, grad=lambda g, input: _silu_backward(g, input), input=_silu_second)


@function(method=False)
def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)`` (Elfwing et al. 2018), also known as swish. Raises RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.silu(polyad.tensor([-1.0, 0.0, 1.0]))
    tensor([-0.2689,  0.0000,  0.7311])
    """
    return _finished("silu", _silu, input, inplace)


@composite(dtype=_real("softplus"), shape=same, method=False)
def _softplus(input: Tensor, beta: float, threshold: float) -> Tensor:
    """log1p(exp(beta * input)) / beta; input itself where beta * input > threshold."""
    scaled = _mul(input, beta)
    return _where(scaled > threshold, input, _mul(log1p(exp(scaled)), 1 / beta))


@composite(dtype=_real("softplus_backward"), shape=broadcast, method=False)
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


@function(method=False)
def softplus(input: Tensor, beta: float = 1.0, threshold: float = 20.0) -> Tensor:
    """``log(1 + exp(beta * input)) / beta``, a smooth `relu`; the element itself where ``beta * input > threshold``.

    Raises RuntimeError unless floating, ValueError for beta 0.

    >>> import polyad
    >>> polyad.nn.functional.softplus(polyad.tensor([-1.0, 0.0, 30.0]))
    tensor([ 0.3133,  0.6931, 30.0000])
    """
    if _number("softplus", "beta", beta) == 0:
        raise ArgumentError("softplus: beta is 0", fix="give a beta that is not 0")
    return _softplus(input, beta, _number("softplus", "threshold", threshold))


@function(method=False)
def logsigmoid(input: Tensor) -> Tensor:
    """``log(sigmoid(input))`` without overflow. Raises RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.logsigmoid(polyad.tensor([-100.0, 0.0]))
    tensor([-100.0000,   -0.6931])
    """
    # Beyond 40 the difference from the element itself is below float64's resolution.
    return -_softplus(-check_tensor(input, "logsigmoid", "input"), 1.0, 40.0)


# -------------------------------------------------------------------------------------------- softmax


@composite(dtype=_real("softmax"), shape=same, method=False)
def _softmax(input: Tensor, dim: int) -> Tensor:
    """exp(input) over its sum along *dim*, shifted by the largest element so that nothing overflows."""
    powers = exp(_sub(input, input.amax(dim, True)))
    return powers / powers.sum(dim, True)


@composite(dtype=_real("softmax_backward"), shape=broadcast, method=False)
def _softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor:
    """output * (grad - the sum of grad * output along dim)."""
    weighted = _mul(grad, output)
    return _sub(weighted, _mul(output, weighted.sum(dim, True)))


gradient(_softmax, input=lambda g, out, dim: _softmax_backward(g, out, dim))
gradient(
    _softmax_backward,
    grad=lambda g, output, dim: _softmax_backward(g, output, dim),
    output=lambda g, grad, output, dim: _sub(
        _mul(g, _sub(grad, _mul(grad, output).sum(dim, True))), _mul(grad, _mul(g, output).sum(dim, True))
    ),
)


@composite(dtype=_real("log_softmax"), shape=same, method=False)
def _log_softmax(input: Tensor, dim: int) -> Tensor:
    """input minus the logarithm of the sum of exp(input) along dim."""
    shifted = _sub(input, input.amax(dim, True))
    return _sub(shifted, log(exp(shifted).sum(dim, True)))


@composite(dtype=_real("log_softmax_backward"), shape=broadcast, method=False)
def _log_softmax_backward(grad: Tensor, output: Tensor, dim: int) -> Tensor:
    """grad - exp(output) * the sum of grad along dim."""
    return _sub(grad, _mul(exp(output), grad.sum(dim, True)))


gradient(_log_softmax, input=lambda g, out, dim: _log_softmax_backward(g, out, dim))
gradient(
    _log_softmax_backward,
    grad=lambda g, output, dim: _sub(g, _mul(g, exp(output)).sum(dim, True)),
    output=lambda g, grad, output, dim: _mul(_mul(g, exp(output)), grad.sum(dim, True)) * -1,
)


def _along(op: str, call: Callable[[Tensor, int], Tensor], input: Tensor, dim: int, dtype: DType | None) -> Tensor:
    check_tensor(input, op, "input")
    if dtype is not None:
        input = input.to(dtype)
    dim = normalize_dim(dim, input.ndim, op)
    return call(input, dim) if input.ndim else call(input.reshape(1), dim).reshape(())


@function()
def softmax(input: Tensor, dim: int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """``exp(input)`` divided by its sum along *dim*; *dtype* converts the elements first.

    Raises IndexError for a dim out of range, RuntimeError unless floating.

    >>> import polyad
    >>> polyad.softmax(polyad.tensor([[0.0, 1.0], [2.0, 2.0]]), dim=1)
    tensor([[0.2689, 0.7311],
            [0.5000, 0.5000]])
    """
    return _along("softmax", _softmax, input, dim, dtype)


@function()
def log_softmax(input: Tensor, dim: int, dtype: DType | None = None, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of `softmax`, computed without it; *dtype* converts the elements first.

    Raises IndexError for a dim out of range, RuntimeError unless floating.

    >>> import polyad
    >>> polyad.log_softmax(polyad.tensor([[0.0, 1.0]]), dim=1)
    tensor([[-1.3133, -0.3133]])
    """
    return _along("log_softmax", _log_softmax, input, dim, dtype)


@function(method=False)
def softmin(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """`softmax` of ``-input``.

    >>> import polyad
    >>> polyad.nn.functional.softmin(polyad.tensor([0.0, 1.0]), dim=0)
    tensor([0.7311, 0.2689])
    """
    return _along("softmin", _softmax, -check_tensor(input, "softmin", "input"), dim, dtype)
