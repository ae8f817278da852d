"""Activations made of straight lines (hardswish: of a parabola too): bounds, shrinkage, cheap approximations."""

from __future__ import annotations

from ....base.dtypes import INTEGER, finfo
from ....dispatch.forward import symmetric
from ....dispatch.op import alias, composite, function, gradient, in_place
from ....dispatch.structure import Pointwise, pointwise
from ....errors import ArgumentError, ShapeError
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...declaring.half_types import in_float32
from ...declaring.whole_numbers import whole
from ...pointwise.arithmetic import _add, _mul, _sub
from ...pointwise.clamp import _check_bounds, _clamp
from ...pointwise.where import _where
from .arguments import finished, number, ordered, real

# -------------------------------------------------------------------------------------------- bounds


@composite(dtype=ordered("hardtanh"), structure=pointwise, method=False)
def _hardtanh(input: Tensor, min_val: float, max_val: float) -> Tensor:
    """input within [min_val, max_val]."""
    _check_bounds("hardtanh", input, min_val, max_val)
    return _clamp(input, min_val, max_val)


@composite(dtype=ordered("hardtanh_backward"), structure=Pointwise(broadcasts=False), method=False)
def _hardtanh_backward(grad: Tensor, input: Tensor, min_val: float, max_val: float) -> Tensor:
    """0 where input is at a bound or beyond, else grad."""
    return _where((input <= min_val) | (input >= max_val), 0, grad)


gradient(_hardtanh, input=lambda g, input, min_val, max_val: _hardtanh_backward(g, input, min_val, max_val))
gradient(_hardtanh_backward, grad=lambda g, input, min_val, max_val: _hardtanh_backward(g, input, min_val, max_val))


@function(namespace="nn.functional")
def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The elements limited to ``[min_val, max_val]``; the gradient is 0 at the bounds and beyond.

    Integer tensors take the bounds without their fractions. Raises ValueError if min_val > max_val, RuntimeError for
    bool and complex.

    >>> import polyad
    >>> polyad.nn.functional.hardtanh(polyad.tensor([-2.0, 0.5, 2.0]))
    tensor([-1.0000,  0.5000,  1.0000])
    """
    low, high = number("hardtanh", "min_val", min_val), number("hardtanh", "max_val", max_val)
    if low > high:
        raise ArgumentError(f"hardtanh: min_val {low} is larger than max_val {high}", fix="exchange them")
    if check_tensor(input, "hardtanh", "input")._type.dtype.category == INTEGER:
        low, high = whole("hardtanh", "min_val", low), whole("hardtanh", "max_val", high)
    return finished("hardtanh", _hardtanh, input, inplace, low, high)


hardtanh_ = in_place(hardtanh)


@function(namespace="nn.functional")
def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(0, input), 6)`` (Krizhevsky 2010).

    >>> import polyad
    >>> polyad.nn.functional.relu6(polyad.tensor([-1.0, 3.0, 9.0]))
    tensor([0., 3., 6.])
    """
    return finished("relu6", _hardtanh, check_tensor(input, "relu6", "input"), inplace, 0, 6)


# -------------------------------------------------------------------------------------------- stand-ins


@composite(dtype=real("hardsigmoid"), structure=pointwise, method=False)
def _hardsigmoid(input: Tensor) -> Tensor:
    """input / 6 + 1 / 2 within [0, 1]."""
    return _mul(_clamp(_add(input, 3), 0, 6), 1 / 6)


@composite(dtype=real("hardsigmoid_backward"), structure=Pointwise(broadcasts=False), method=False)
def _hardsigmoid_backward(grad: Tensor, input: Tensor) -> Tensor:
    """grad / 6 where input is strictly between -3 and 3, elsewhere 0."""
    return _where((input > -3) & (input < 3), _mul(grad, 1 / 6), 0)


gradient(_hardsigmoid, input=lambda g, input: _hardsigmoid_backward(g, input))
gradient(_hardsigmoid_backward, grad=lambda g, input: _hardsigmoid_backward(g, input))


@function(namespace="nn.functional")
def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(0, input + 3), 6) / 6``: the sigmoid in straight lines (Courbariaux et al. 2015). Raises RuntimeError
    unless floating.

    >>> import polyad
    >>> polyad.nn.functional.hardsigmoid(polyad.tensor([-4.0, 0.0, 1.5]))
    tensor([0.0000, 0.5000, 0.7500])
    """
    return finished("hardsigmoid", _hardsigmoid, input, inplace)


@composite(dtype=real("hardswish"), structure=pointwise, method=False)
def _hardswish(input: Tensor) -> Tensor:
    """input * hardsigmoid(input)."""
    return _mul(input, _hardsigmoid(input))


@composite(dtype=real("hardswish_backward"), structure=Pointwise(broadcasts=False), method=False)
def _hardswish_backward(grad: Tensor, input: Tensor) -> Tensor:
    """grad times the slope: 0 up to -3, 1 from 3 on, input / 3 + 1 / 2 between."""
    return _where(input <= -3, 0, _where(input < 3, _mul(grad, _add(_mul(input, 1 / 3), 0.5)), grad))


gradient(_hardswish, input=lambda g, input: _hardswish_backward(g, input))
gradient(
    _hardswish_backward,
    grad=lambda g, input: _hardswish_backward(g, input),
    input=lambda g, grad, input: _where((input > -3) & (input < 3), _mul(_mul(g, grad), 1 / 3), 0),
)


@function(namespace="nn.functional")
def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * hardsigmoid(input)`` (Howard et al. 2019). Raises RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.hardswish(polyad.tensor([-4.0, 1.0, 4.0]))
    tensor([-0.0000,  0.6667,  4.0000])
    """
    return finished("hardswish", _hardswish, input, inplace)


# -------------------------------------------------------------------------------------------- shrinkage


@composite(dtype=real("hardshrink"), structure=pointwise, method=False)
def _hardshrink(input: Tensor, lambd: float) -> Tensor:
    """0 where input is within [-lambd, lambd], else input."""
    return _where((input >= -lambd) & (input <= lambd), 0, input)


@composite(dtype=real("hardshrink_backward"), structure=Pointwise(broadcasts=False), method=False)
def _hardshrink_backward(grad: Tensor, input: Tensor, lambd: float) -> Tensor:
    """0 where input is within [-lambd, lambd], else grad."""
    return _where((input >= -lambd) & (input <= lambd), 0, grad)


gradient(_hardshrink, input=lambda g, input, lambd: _hardshrink_backward(g, input, lambd))
gradient(_hardshrink_backward, grad=lambda g, input, lambd: _hardshrink_backward(g, input, lambd))


@function()
def hardshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """0 where the element is within ``[-lambd, lambd]``, else the element. Raises RuntimeError unless floating.

    >>> import polyad
    >>> polyad.nn.functional.hardshrink(polyad.tensor([-1.0, 0.25, 2.0]))
    tensor([-1.,  0.,  2.])
    """
    return _hardshrink(input, number("hardshrink", "lambd", lambd))


alias("hardshrink", hardshrink, namespace="nn.functional")


@composite(dtype=real("softshrink"), structure=pointwise, method=False)
@in_float32
def _softshrink(input: Tensor, lambd: float) -> Tensor:
    """input moved towards 0 by lambd, and 0 where it is nearer."""
    return _where(input > lambd, _sub(input, lambd), _where(input < -lambd, _add(input, lambd), _mul(input, 0)))


gradient(_softshrink, input=lambda g, input, lambd: _hardshrink_backward(g, input, lambd))
symmetric(
    _hardtanh,
    _hardtanh_backward,
    _hardsigmoid,
    _hardsigmoid_backward,
    _hardswish,
    _hardswish_backward,
    _hardshrink,
    _hardshrink_backward,
    _softshrink,
)


@function(namespace="nn.functional")
def softshrink(input: Tensor, lambd: float = 0.5, *, out: Tensor | None = None) -> Tensor:
    """The element moved towards 0 by *lambd*, and 0 where it is nearer than that.

    Raises RuntimeError unless floating, and for a lambd that is negative or more than the dtype holds.

    >>> import polyad
    >>> polyad.nn.functional.softshrink(polyad.tensor([-1.0, 0.25, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """
    number("softshrink", "lambd", lambd)
    dtype = check_tensor(input, "softshrink", "input")._type.dtype
    if dtype.is_floating_point and not 0 <= lambd <= finfo(dtype).max:
        raise ShapeError(
            f"softshrink: lambd {lambd} is not in [0, {finfo(dtype).max}]",
            operands={"input": input},
            fix="give 0 or more",
        )
    return _softshrink(input, lambd)
