"""Rectifiers: the element itself above 0, something small below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....base.dtypes import INTEGER
from ....dispatch.forward import forward, symmetric
from ....dispatch.inplace import check_writable, write
from ....dispatch.op import alias, composite, function, gradient, in_place
from ....dispatch.promotion import Typing
from ....dispatch.structure import Pointwise, pointwise, random, row_major
from ....errors import DTypeError, ShapeError
from ....random.generator import Generator, default_generator
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...declaring.half_types import in_float32
from ...declaring.whole_numbers import whole
from ...pointwise.arithmetic import _mul
from ...pointwise.exponential import exp, expm1
from ...pointwise.maximum import maximum
from ...pointwise.where import _where
from ...random.sampling import _uniform
from .arguments import finished, number, ordered, real

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....backend.interface import Signature

SELU_ALPHA, SELU_SCALE = 1.6732632423543772, 1.0507009873554805
"""The fixed point for zero mean and unit variance (Klambauer et al. 2017, equation 14)."""


@composite(dtype=ordered("relu"), structure=pointwise, inplace=True)
def relu(input: Tensor) -> Tensor:
    """``max(0, input)``, element by element; nan stays. The gradient at 0 is 0.

    Raises RuntimeError for bool and complex tensors.

    >>> import polyad
    >>> polyad.relu(polyad.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """
    return maximum(input, 0)


@composite(dtype=ordered("relu_backward"), structure=Pointwise(broadcasts=False), method=False)
def _relu_backward(grad: Tensor, output: Tensor) -> Tensor:
    """grad where *output*, which a `relu` gave, is not 0; there 0, even if grad is infinite."""
    return _where(output != 0, grad, 0)


gradient(relu, input=lambda g, out: _relu_backward(g, out))
gradient(_relu_backward, grad=lambda g, output: _relu_backward(g, output))


@composite(dtype=ordered("threshold"), structure=pointwise, method=False)
@in_float32
def _threshold(input: Tensor, threshold: float, value: float) -> Tensor:
    """value where input is at most threshold, else input."""
    return _where(input <= threshold, value, input)


@composite(dtype=ordered("threshold_backward"), structure=Pointwise(broadcasts=False), method=False)
@in_float32
def _threshold_backward(grad: Tensor, input: Tensor, threshold: float) -> Tensor:
    """0 where input is at most threshold, else grad."""
    return _where(input <= threshold, 0, grad)


gradient(_threshold, input=lambda g, input, threshold: _threshold_backward(g, input, threshold))
gradient(_threshold_backward, grad=lambda g, input, threshold: _threshold_backward(g, input, threshold))


@function(namespace="nn.functional")
def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """The element where it is above *threshold*, else *value*; nan stays. The gradient at the threshold is 0.

    Integer tensors take both numbers without their fractions. Raises RuntimeError for bool and complex tensors,
    TypeError for what is no number.

    >>> import polyad
    >>> polyad.nn.functional.threshold(polyad.tensor([0.1, 0.5, 2.0]), 0.5, -1.0)
    tensor([-1., -1.,  2.])
    """
    limit, low = number("threshold", "threshold", threshold), number("threshold", "value", value)
    if check_tensor(input, "threshold", "input")._type.dtype.category == INTEGER:
        limit, low = whole("threshold", "threshold", limit), whole("threshold", "value", low)
    return finished("threshold", _threshold, input, inplace, limit, low)


threshold_ = in_place(threshold)


@composite(dtype=real("leaky_relu"), structure=pointwise, method=False)
def _leaky_relu(input: Tensor, negative_slope: float) -> Tensor:
    """input where positive, negative_slope * input elsewhere."""
    return _where(input > 0, input, _mul(input, negative_slope))


@composite(dtype=real("leaky_relu_backward"), structure=Pointwise(broadcasts=False), method=False)
def _leaky_relu_backward(grad: Tensor, input: Tensor, negative_slope: float) -> Tensor:
    """grad where input is positive, negative_slope * grad elsewhere."""
    return _where(input > 0, grad, _mul(grad, negative_slope))


gradient(_leaky_relu, input=lambda g, input, negative_slope: _leaky_relu_backward(g, input, negative_slope))
gradient(_leaky_relu_backward, grad=lambda g, input, negative_slope: _leaky_relu_backward(g, input, negative_slope))


@function(namespace="nn.functional")
def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """The element where it is positive, *negative_slope* times it elsewhere (Maas et al. 2013). Raises RuntimeError
    unless floating.

    >>> import polyad
    >>> polyad.nn.functional.leaky_relu(polyad.tensor([-2.0, 3.0]), 0.1)
    tensor([-0.2000,  3.0000])
    """
    return finished("leaky_relu", _leaky_relu, input, inplace, number("leaky_relu", "negative_slope", negative_slope))


leaky_relu_ = in_place(leaky_relu)


@composite(dtype=real("prelu"), structure=pointwise, method=False)
def _prelu(input: Tensor, weight: Tensor) -> Tensor:
    """input where positive, weight * input elsewhere."""
    return _where(input > 0, input, _mul(input, weight))


gradient(
    _prelu,
    input=lambda g, input, weight: _where(input > 0, g, _mul(g, weight)),
    weight=lambda g, input: _where(input > 0, 0, _mul(g, input)),
)


@function()
def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """The element where it is positive, *weight* times it elsewhere, with a learned weight (He et al. 2015).

    Shapes: input (N, C, ...), (C,) counting as a single channel; weight () or (1,) for all channels, or (C,).

    Raises RuntimeError for a weight of another shape or dtype, and unless floating.

    >>> import polyad
    >>> polyad.nn.functional.prelu(polyad.tensor([[-1.0, -2.0], [3.0, -4.0]]), polyad.tensor([0.5, 0.25]))
    tensor([[-0.5000, -0.5000],
            [ 3.0000, -1.0000]])
    """
    check_tensor(input, "prelu", "input")
    check_tensor(weight, "prelu", "weight")
    operands = {"input": input, "weight": weight}
    if input._type.dtype is not weight._type.dtype:
        raise DTypeError(
            "prelu: input and weight differ in dtype", operands=operands, fix="convert the weight to the dtype of input"
        )
    shape, sizes = input._array.shape, weight._array.shape
    if len(sizes) > 1:
        raise ShapeError(
            f"prelu: weight has {len(sizes)} dimensions, not 1", operands=operands, fix="flatten() the weight"
        )
    if sizes and sizes[0] != 1:
        channels = shape[1] if len(shape) > 1 else 1
        if sizes[0] != channels or not shape:
            raise ShapeError(
                f"prelu: {sizes[0]} weights do not fit input {tuple(shape)} with {channels} channels",
                operands=operands,
                fix=f"give 1 weight, or {channels}",
            )
        weight = weight.reshape((-1,) + (1,) * (len(shape) - 2))
    elif sizes:
        weight = weight.reshape(())
    return _prelu(input, weight)


alias("prelu", prelu, namespace="nn.functional")


# -------------------------------------------------------------------------------------------- random slopes


def _with_noise(types: Signature, params: Mapping[str, Any]) -> Typing:
    real("rrelu")(types, params)
    return Typing((None,), (types[0].dtype, types[0].dtype))


@composite(
    dtype=_with_noise,
    structure=random,
    strides=row_major,
    outputs=("out", "noise"),
    method=False,
    grad_name="RreluWithNoiseBackward0",
)
def _rrelu(input: Tensor, lower: float, upper: float, generator: Generator) -> tuple[Tensor, Tensor]:
    """input times noise, which is 1 where input is positive, elsewhere drawn from [lower, upper)."""
    type_ = input._type
    slopes = _uniform(tuple(input._array.shape), lower, upper, generator, type_.dtype, type_.device)
    noise = _where(input > 0, 1, slopes)
    return _mul(input, noise), noise


def _rrelu_gradient(grads: Any, noise: Tensor) -> Tensor:
    # The noise is drawn, not computed: it has no gradient, and passes none on.
    noise = noise.detach()
    return _mul(noise, 0) if grads[0] is None else _mul(grads[0], noise)


gradient(_rrelu, input=_rrelu_gradient)
forward(_rrelu, lambda input_t, noise: (_mul(input_t, noise.detach()), None))


@function(namespace="nn.functional")
def rrelu(
    input: Tensor,
    lower: float = 1.0 / 8,
    upper: float = 1.0 / 3,
    training: bool = False,
    inplace: bool = False,
) -> Tensor:
    """`leaky_relu` whose slope is drawn from [lower, upper) for each element in *training*, and else is their mean
    (Xu et al. 2015).

    Raises RuntimeError unless floating, or if *lower* is above *upper*.

    >>> import polyad
    >>> polyad.nn.functional.rrelu(polyad.tensor([-1.0, 2.0]), 0.25, 0.75)
    tensor([-0.5000,  2.0000])
    """
    check_tensor(input, "rrelu", "input")
    low, high = number("rrelu", "lower", lower), number("rrelu", "upper", upper)
    if not low <= high:
        raise ShapeError(f"rrelu: lower {low} is above upper {high}", operands={"input": input}, fix="exchange them")
    real("rrelu")((input._type,), {})
    if not training:
        # As PyTorch's, the result is row-major, whatever the input is.
        given = input if inplace else input.contiguous()
        return finished("rrelu", _leaky_relu, given, inplace, (low + high) / 2)
    if inplace:
        check_writable("rrelu_", input)
    result = _rrelu(input.contiguous(), low, high, default_generator)[0]
    return write("rrelu_", input, result) if inplace else result


rrelu_ = in_place(rrelu)


# -------------------------------------------------------------------------------------------- exponential below 0


@composite(dtype=real("elu"), structure=pointwise, method=False)
def _elu(input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """scale * alpha * expm1(input_scale * input) where negative, scale * input elsewhere."""
    below = _mul(expm1(_mul(input, input_scale)), alpha * scale)
    return _where(input < 0, below, _mul(input, scale))


@composite(dtype=real("elu_backward"), structure=Pointwise(broadcasts=False), method=False)
def _elu_backward(grad: Tensor, input: Tensor, alpha: float, scale: float, input_scale: float) -> Tensor:
    """scale * grad where input is positive, scale * alpha * input_scale * exp(input_scale * input) * grad elsewhere."""
    below = _mul(grad, _mul(exp(_mul(input, input_scale)), alpha * scale * input_scale))
    return _where(input <= 0, below, _mul(grad, scale))


gradient(
    _elu,
    input=lambda g, input, alpha, scale, input_scale: _elu_backward(g, input, alpha, scale, input_scale),
)
gradient(
    _elu_backward,
    grad=lambda g, input, alpha, scale, input_scale: _elu_backward(g, input, alpha, scale, input_scale),
    input=lambda g, grad, input, alpha, scale, input_scale: _where(
        input <= 0, _mul(_mul(g, grad), _mul(exp(_mul(input, input_scale)), alpha * scale * input_scale**2)), 0
    ),
)
symmetric(
    relu,
    _relu_backward,
    _threshold,
    _threshold_backward,
    _leaky_relu,
    _leaky_relu_backward,
    _prelu,
    _elu,
    _elu_backward,
)


@function(namespace="nn.functional")
def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The element where it is positive, ``alpha * (exp(input) - 1)`` elsewhere (Clevert et al. 2016). Raises
    RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.elu(polyad.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return finished("elu", _elu, input, inplace, number("elu", "alpha", alpha), 1.0, 1.0)


elu_ = in_place(elu)


@function(namespace="nn.functional")
def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """The element where it is positive, ``alpha * (exp(input / alpha) - 1)`` elsewhere (Barron 2017): `elu` with a
    continuous slope.

    Raises RuntimeError unless floating, or for alpha 0.

    >>> import polyad
    >>> polyad.nn.functional.celu(polyad.tensor([-1.0, 2.0]), 2.0)
    tensor([-0.7869,  2.0000])
    """
    if not number("celu", "alpha", alpha):
        raise ShapeError("celu: alpha is 0", operands={"input": input}, fix="give an alpha that is not 0")
    return finished("celu", _elu, input, inplace, alpha, 1.0, 1 / alpha)


celu_ = in_place(celu)


@function(namespace="nn.functional")
def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """`elu` scaled so that activations keep zero mean and unit variance (Klambauer et al. 2017). Raises RuntimeError
    unless floating.

    >>> import polyad
    >>> polyad.nn.functional.selu(polyad.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return finished("selu", _elu, input, inplace, SELU_ALPHA, SELU_SCALE, 1.0)


selu_ = in_place(selu)

# PyTorch shows these in its main namespace, too.
alias("celu", celu, namespace="")
alias("celu_", celu_, namespace="")
alias("selu", selu, namespace="")
alias("selu_", selu_, namespace="")
alias("threshold", threshold, namespace="")
alias("threshold_", threshold_, namespace="")
alias("rrelu", rrelu, namespace="")
alias("rrelu_", rrelu_, namespace="")
