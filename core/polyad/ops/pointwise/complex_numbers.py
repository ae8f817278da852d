"""Parts of complex numbers: seen as real numbers, and complex numbers from their parts.

`real`, `imag`, `view_as_real` and `view_as_complex` are views: they read complex memory as pairs of real numbers or the
other way round, and a write through either reaches the other.

`conj` computes at once here, where PyTorch puts it off: no tensor has a conjugate or negative bit, so `is_conj` and
`is_neg` are always False and `resolve_conj` and `resolve_neg` return their input.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...backend.interface import Signature
from ...base.dtypes import bool_, float16, float32, float64
from ...base.shapes_and_strides import Layout, Shape, Strides, broadcast_shapes, in_parts, why_not_complex
from ...devices.registry import tensor_type
from ...dispatch.forward import forward, linear_in, symmetric
from ...dispatch.inplace import check_writable
from ...dispatch.op import composite, function, gradient, prop, view
from ...dispatch.promotion import Typing, promoted_float, to_bool
from ...dispatch.structure import Laid, as_operands, pointwise, row_major
from ...dispatch.views import layout_of
from ...dispatch.windows import complex_of_parts
from ...errors import DTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.pending import settle
from ...tensor.tensor import check_tensor
from ..creation.factories import _full, full_like, zeros_like
from ..memory.copying import copy_, fill_
from .arithmetic import conjugate
from .trigonometry import atan2
from .where import _where


def _part_dtype(types: Signature, params: Mapping[str, Any]) -> Typing:
    """The floating dtype of a complex dtype's parts."""
    return Typing((None,), (types[0].dtype.to_real(),))


def _whole(types: Signature, params: Mapping[str, Any]) -> Typing:
    """The complex dtype with such parts."""
    return Typing((None,) * len(types), (types[0].dtype.to_complex(),))


# ---------------------------------------------------------------------------------------------------------- views


@view(dtype=_part_dtype)
def _view_as_real(input: Layout) -> Layout:
    """Real and imaginary parts along a new last dimension."""
    return in_parts(input)


@view(dtype=_whole)
def _view_as_complex(input: Layout) -> Layout:
    """The pairs along the last dimension as complex numbers."""
    reason = why_not_complex(input)
    if reason:
        raise ShapeError(f"view_as_complex: {reason}", fix="reshape to (..., 2) and clone(), or use complex")
    return Layout(input.shape[:-1], tuple([stride // 2 for stride in input.strides[:-1]]), input.offset // 2)


@view(dtype=_part_dtype)
def _real(input: Layout) -> Layout:
    """The real parts."""
    return Layout(input.shape, tuple([2 * stride for stride in input.strides]), 2 * input.offset)


@view(dtype=_part_dtype)
def _imag(input: Layout) -> Layout:
    """The imaginary parts."""
    return Layout(input.shape, tuple([2 * stride for stride in input.strides]), 2 * input.offset + 1)


gradient(_view_as_real, input=lambda g: complex_of_parts(g))
gradient(_view_as_complex, input=lambda g: _view_as_real(g))
forward(_view_as_complex, lambda input_t: complex_of_parts(input_t))
gradient(_real, input=lambda g: _complex(g, _zero_like(g)))
gradient(_imag, input=lambda g: _complex(_zero_like(g), g))


def _zero_like(like: Tensor) -> Tensor:
    type_ = like._type
    return _full((), 0, type_.dtype, type_.device)


@function(method=False)
def real(input: Tensor) -> Tensor:
    """The real parts of complex elements, as a view; a real tensor itself. The property is ``input.real``.

    >>> import polyad
    >>> z = polyad.tensor([1 + 2j])
    >>> polyad.real(z).fill_(5)
    tensor([5.])
    >>> z
    tensor([5.+2.j])
    """
    return _real(input) if check_tensor(input, "real", "input")._type.dtype.is_complex else input


@function(method=False)
def imag(input: Tensor) -> Tensor:
    """The imaginary parts, as a view. The property is ``input.imag``. Raises RuntimeError for a real tensor.

    >>> import polyad
    >>> polyad.imag(polyad.tensor([1 + 2j]))
    tensor([2.])
    """
    if not check_tensor(input, "imag", "input")._type.dtype.is_complex:
        raise DTypeError(
            "imag: a real tensor has no imaginary parts", operands={"input": input}, fix="use zeros_like(input)"
        )
    return _imag(input)


@function(method=False)
def view_as_real(input: Tensor) -> Tensor:
    """A view of a complex tensor with the real and imaginary parts along a new last dimension of size 2.

    Raises RuntimeError for a real tensor.

    >>> import polyad
    >>> polyad.view_as_real(polyad.tensor([1 + 2j, 3j]))
    tensor([[1., 2.],
            [0., 3.]])
    """
    if not check_tensor(input, "view_as_real", "input")._type.dtype.is_complex:
        raise DTypeError("view_as_real: input is real already", operands={"input": input}, fix="use input itself")
    return _view_as_real(input)


@function(method=False)
def view_as_complex(input: Tensor) -> Tensor:
    """A view of pairs of floats as complex numbers: the last dimension, of size 2 and stride 1, goes.

    Raises RuntimeError for another dtype than float32 and float64, and where the pairs do not lie in memory as complex
    numbers do.

    >>> import polyad
    >>> polyad.view_as_complex(polyad.tensor([[1.0, 2.0], [0.0, 3.0]]))
    tensor([1.+2.j, 0.+3.j])
    """
    if check_tensor(input, "view_as_complex", "input")._type.dtype not in (float32, float64):
        raise DTypeError(
            f"view_as_complex: elements of {input.dtype.name} are no parts of complex numbers",
            operands={"input": input},
            fix="convert to float32 or float64 first",
        )
    return _view_as_complex(input)


# ---------------------------------------------------------------------------------------------------- from parts


@composite(dtype=_whole, structure=pointwise, strides=as_operands, method=False)
def _complex(real: Tensor, imag: Tensor) -> Tensor:
    """real + imag i: tier 0's allocate and two copies, which broadcast."""
    shape = broadcast_shapes(real._array.shape, imag._array.shape)
    part = real._type
    type_ = tensor_type(part.dtype.to_complex(), part.device, not shape)
    array = type_.backend.empty(shape, type_.dtype, type_.device)
    result = Tensor._of(array, type_)
    layout, root = layout_of(result), type_.backend.root(array)
    strides = tuple([2 * stride for stride in layout.strides])
    for place, values in enumerate((real, imag) if 0 not in shape else ()):
        type_.backend.copy(type_.backend.as_strided(root, part.dtype, shape, strides, place), values._array)
    return result


gradient(_complex, real=lambda g: _real(g), imag=lambda g: _imag(g))
linear_in(_complex, "real", "imag")


def _check_parts(op: str, **parts: Tensor) -> None:
    (name, part), (other_name, other) = parts.items()
    check_tensor(part, op, name)
    check_tensor(other, op, other_name)
    if part._type.dtype is not other._type.dtype:
        raise DTypeError(f"{op}: {name} and {other_name} differ in dtype", operands=parts, fix="convert one of them")
    if part._type.dtype not in (float32, float64):
        half = part._type.dtype is float16
        raise DTypeError(
            f"{op}: there are no complex numbers with parts of {part.dtype.name}",
            operands=parts,
            fix="convert to float32 or float64" + (", for there is no complex32" if half else ""),
        )


@function(method=False)
def complex(real: Tensor, imag: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers with the given real and imaginary parts, which broadcast.

    Raises RuntimeError unless both are float32 or both float64.

    >>> import polyad
    >>> polyad.complex(polyad.tensor([1.0, 2.0]), polyad.tensor([3.0, 4.0]))
    tensor([1.+3.j, 2.+4.j])
    """
    _check_parts("complex", real=real, imag=imag)
    return _complex(real, imag)


@composite(dtype=_whole, structure=pointwise, strides=as_operands, method=False)
def _polar(abs: Tensor, angle: Tensor) -> Tensor:
    """abs * exp(i angle)."""
    return _complex(abs * angle.cos(), abs * angle.sin())


gradient(
    _polar,
    abs=lambda g, angle: _real(g) * angle.cos() + _imag(g) * angle.sin(),
    angle=lambda g, abs, angle: abs * (_imag(g) * angle.cos() - _real(g) * angle.sin()),
)


@function(method=False)
def polar(abs: Tensor, angle: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex numbers with magnitude *abs* and *angle* in radians, which broadcast.

    Raises RuntimeError unless both are float32 or both float64.

    >>> import polyad
    >>> polyad.polar(polyad.tensor([2.0]), polyad.tensor([0.0]))
    tensor([2.+0.j])
    """
    _check_parts("polar", abs=abs, angle=angle)
    return _polar(abs, angle)


def _angle(types: Signature, params: Mapping[str, Any]) -> Typing:
    dtype = promoted_float(types, params).outputs[0]
    return Typing((dtype,), (dtype.to_real(),))


def _angle_strides(shape: Shape, operands: Sequence[Laid]) -> Strides:
    return (row_major if operands[0].dtype.is_complex else as_operands)(shape, operands)


@composite(dtype=_angle, structure=pointwise, strides=_angle_strides)
def angle(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The angle of each element in the complex plane, in radians: 0 or pi for a real number, nan for nan.

    >>> import polyad
    >>> polyad.angle(polyad.tensor([1j, -1 + 0j]))
    tensor([1.5708, 3.1416])
    """
    if input._type.dtype.is_complex:
        return atan2(_imag(input), _real(input))
    return _where(input < 0, math.pi, _where(input == input, 0.0, input))


def _angle_grad(g: Tensor, input: Tensor) -> Tensor:
    if not input._type.dtype.is_complex:
        return zeros_like(g)
    zero = input == 0
    square = _where(zero, 1.0, (input * conjugate(input)).real)
    return _where(zero, 0.0, g * (input * 1j / square))


gradient(angle, input=_angle_grad)
symmetric(angle)


@composite(dtype=to_bool, structure=pointwise)
def isreal(input: Tensor) -> Tensor:
    """Whether each element has no imaginary part; all of a real tensor have none.

    >>> import polyad
    >>> polyad.isreal(polyad.tensor([1 + 0j, 2j]))
    tensor([ True, False])
    """
    return _imag(input) == 0 if input._type.dtype.is_complex else full_like(input, True, dtype=bool_)


# ------------------------------------------------------------------------------------------------------ conjugation


@function(inplace=True)
def conj_physical(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The complex conjugate, element by element; a real tensor itself.

    >>> import polyad
    >>> polyad.conj_physical(polyad.tensor([1 + 2j]))
    tensor([1.-2.j])
    """
    return conjugate(check_tensor(input, "conj_physical", "input"))


@function()
def resolve_conj(input: Tensor) -> Tensor:
    """*input* itself: conjugates are computed at once here (see `is_conj`); a copy, which may be written to, of what
    `polyad.conj` gave.

    >>> import polyad
    >>> polyad.resolve_conj(polyad.tensor([1 + 2j]).conj())
    tensor([1.-2.j])
    """
    settle(check_tensor(input, "resolve_conj", "input"))
    storage = input._storage
    return input if storage is None or storage.conjugate_of is None else input.clone()


@function()
def resolve_neg(input: Tensor) -> Tensor:
    """*input* itself: no tensor is negated later here (see `is_neg`).

    >>> import polyad
    >>> polyad.resolve_neg(polyad.tensor([1.0]))
    tensor([1.])
    """
    return check_tensor(input, "resolve_neg", "input")


@function()
def is_conj(input: Tensor) -> bool:
    """Whether the tensor is to be conjugated when it is read: never, since `polyad.conj` computes at once.

    >>> import polyad
    >>> polyad.is_conj(polyad.tensor([1j]).conj())
    False
    """
    check_tensor(input, "is_conj", "input")
    return False


@function()
def is_neg(input: Tensor) -> bool:
    """Whether the tensor is to be negated when it is read: never here.

    >>> import polyad
    >>> polyad.is_neg(polyad.tensor([1j]).conj().imag)
    False
    """
    check_tensor(input, "is_neg", "input")
    return False


# ------------------------------------------------------------------------------------------------------ properties


def _set_real(self: Tensor, value: Any) -> None:
    _assign(real(self), value)


def _set_imag(self: Tensor, value: Any) -> None:
    _assign(imag(self), value)


def _assign(target: Tensor, value: Any) -> None:
    check_writable("real, imag", target)
    (copy_ if isinstance(value, Tensor) else fill_)(target, value)


prop("real", _set_real)(real)
prop("imag", _set_imag)(imag)
