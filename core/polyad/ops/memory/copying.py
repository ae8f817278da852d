"""Copies, and writing into a tensor: clone, contiguous, copy_, fill_, zero_; and `detach`, which copies nothing."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

from ...base import dtypes
from ...base.dtypes import DType
from ...base.memory_formats import (
    MemoryFormat,
    check_format,
    contiguous_format,
    copy_strides,
    is_contiguous_in,
    preserve_format,
)
from ...base.shapes_and_strides import Shape, Strides, contiguous_strides, is_contiguous
from ...base.state import state
from ...dispatch.effects import Effect, Result, declare
from ...dispatch.forward import symmetric
from ...dispatch.inplace import check_writable, take_history, write, wrote
from ...dispatch.op import composite, function, gradient, method, primitive
from ...dispatch.overlap import must_wait, share
from ...dispatch.structure import Laid, pointwise_stored, row_major
from ...dispatch.views import layout_of
from ...errors import DTypeError, ShapeError, wrong_type
from ...history.node import make_node
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ...transforms.wrapped import Wrapped
from ..shaping.reshape import _expand
from ..shaping.strided import strided_array
from .conversion import Number, _cast, to_device


@primitive(structure=pointwise_stored, strides=row_major, grad_name="CloneBackward0")
def _copy(input: Tensor) -> Tensor:
    """A row-major copy."""


gradient(_copy, input=lambda g: g)


def _given_strides(shape: Shape, operands: Sequence[Laid], strides: Strides) -> Strides:
    return strides


@composite(structure=pointwise_stored, strides=_given_strides, grad_name="CloneBackward0", method=False)
def _copy_strided(input: Tensor, strides: Strides) -> Tensor:
    """A copy that lies in dense memory with *strides*."""
    type_ = input._type
    array = strided_array(type_, input._array.shape, strides)
    type_.backend.copy(array, input._array)
    return Tensor._of(array, type_)


gradient(_copy_strided, input=lambda g: g)
symmetric(_copy, _copy_strided)


@function()
def clone(input: Tensor, *, memory_format: MemoryFormat = preserve_format) -> Tensor:
    """A copy with its own memory; gradients flow through it. Unless another memory format is given, dimensions lie in
    memory in the same order.

    Raises RuntimeError for a format that is not for that many dimensions.

    >>> import polyad
    >>> x = polyad.tensor([1, 2])
    >>> y = polyad.clone(x)
    >>> _ = y.zero_()
    >>> x
    tensor([1, 2])
    """
    layout = layout_of(check_tensor(input, "clone", "input"))
    row_major = contiguous_strides(layout.shape)
    strides = layout.strides
    if memory_format is not preserve_format or strides != row_major:
        strides = copy_strides(layout.shape, strides, check_format(memory_format, "clone"), "clone")
    return _copy(input) if strides == row_major else _copy_strided(input, strides)


@function()
def contiguous(input: Tensor, *, memory_format: MemoryFormat = contiguous_format) -> Tensor:
    """The tensor itself if it lies in memory without gaps and in a format's order, row-major unless another is given,
    else a copy that does.

    Raises RuntimeError for a format that is not for that many dimensions.

    >>> import polyad
    >>> polyad.zeros(2, 3).T.contiguous().stride()
    (2, 1)
    >>> polyad.zeros(2, 3, 4, 5).contiguous(memory_format=polyad.channels_last).stride()
    (60, 1, 15, 3)
    """
    shape, strides, _ = layout_of(check_tensor(input, "contiguous", "input"))
    if memory_format is contiguous_format:
        return input if is_contiguous(shape, strides) else _copy(input)
    if is_contiguous_in(shape, strides, check_format(memory_format, "contiguous", contiguous_format)):
        return input
    if memory_format is preserve_format:
        raise ShapeError(
            "contiguous: preserve_format says nothing of order", operands={"input": input}, fix="use contiguous_format"
        )
    return clone(input, memory_format=memory_format)


@function(method=False)
def detach(input: Tensor) -> Tensor:
    """The same memory in a tensor without history; ``input.detach()``.

    >>> import polyad
    >>> polyad.detach(polyad.ones(2, requires_grad=True)).requires_grad
    False
    """
    return check_tensor(input, "detach", "input").detach()


@method()
def copy_(self: Tensor, src: Tensor | Number, non_blocking: bool = False) -> Tensor:
    """Write *src* into this tensor: it broadcasts, and is converted to this tensor's dtype and device;
    gradients flow to it.

    With *non_blocking* a *src* in pinned memory (`Tensor.pin_memory`) may be read after the call: wait for the stream
    before you change it. Raises RuntimeError if its shape does not broadcast to this tensor's.
    """
    if state.modes:
        return COPY.through_modes(self, src)  # type: ignore[no-any-return]
    return _copy_into(self, src, non_blocking)


def _copy_into(self: Tensor, src: Any, non_blocking: bool = False) -> Tensor:
    check_writable("copy_", self)
    if src.__class__ is not Tensor:
        if isinstance(src, numbers.Complex):
            from ..creation.factories import tensor

            src = tensor(src, device=self._type.device)
        check_tensor(src, "copy_", "src")
    if src._type is not self._type and src._type.device != self._type.device:
        # Into the host's memory the values are written here, so that they have to have arrived.
        later = non_blocking and "shared_host_memory" not in self._type.backend.capabilities(self._type.device).features
        src = to_device(src, self._type.device, later)
    storage = self._storage
    # A single element is read before anything is written.
    if (
        storage is not None
        and src._storage is not None
        and share(storage, (src,))
        and must_wait("copy_", self, (src,), True, src.ndim > 0)
    ):
        src = _copy(src)
    # What holds no floating point numbers has no gradient, whatever is written to it.
    differentiable = state.grad_enabled and self._type.dtype.category >= dtypes.FLOATING
    recorded = differentiable and (src._node is not None or self._node is not None)
    if recorded or isinstance(self, Wrapped):
        result = src if src._type.dtype is self._type.dtype else _cast(src, self._type.dtype)
        if result._array.shape != self._array.shape:
            result = _expand(result, self._array.shape)
        # What is written gets a node of its own: hooks on src are not hooks on the copy. What was there before gets a
        # gradient of zeros.
        calls = [
            (node, formula, ())
            for node, formula in ((result._node, _pass_gradient), (self._node, _zero_gradient))
            if node is not None
        ]
        if result is src:
            result = src._alias()
        if recorded:
            result._node = make_node("CopyBackwards", calls, result._array.shape, result._type)
        return write("copy_", self, result)
    if src._array.shape != self._array.shape:
        src = _expand(src, self._array.shape)
    self._type.backend.copy(self._array, src._array)
    wrote("copy_", self)
    return self


@method()
def fill_(self: Tensor, value: Any) -> Tensor:
    """Write a number (or a 0-d tensor's value) into every element."""
    if state.modes:
        return FILL.through_modes(self, value)  # type: ignore[no-any-return]
    return _fill(self, value)


def _fill(self: Tensor, value: Any) -> Tensor:
    check_writable("fill_", self, one_value=True)
    if isinstance(value, Tensor):
        if value._array.shape:
            raise ShapeError(
                "fill_: value has dimensions",
                operands={"self": self, "value": value},
                fix="pass a 0-d tensor or a number",
            )
        return copy_(self, value)
    if not isinstance(value, (bool, int, float, complex)):
        raise wrong_type("fill_", "value", value, "a number")
    value = element("fill_", value, self._type.dtype)
    if isinstance(self, Wrapped):
        self._store_number("fill_", value)
    else:
        self._type.backend.fill(self._array, value)
    wrote("fill_", self)
    if state.grad_enabled and self._node is not None:
        take_history(self, None)
    return self


def element(op: str, value: Any, dtype: DType) -> Any:
    """The number *value* as backends write it to an array of *dtype*; raises what `check_fits` does.

    A negative int wraps in an unsigned dtype, as PyTorch's does: -1 is the number of all ones.
    """
    if dtype is dtypes.uint8 and value.__class__ is int and -256 < value < 0:
        return value + 256
    check_fits(op, value, dtype)
    return float(value) if value.__class__ is int and value.bit_length() > 63 else value


_FLOAT32_MOST = dtypes.finfo(dtypes.float32).max


def check_fits(op: str, value: Any, dtype: DType) -> None:
    """Raise DTypeError unless the number *value* can be an element of *dtype*:
    an integer's range, a complex number's parts.
    """
    if not isinstance(value, (int, float, complex)) and hasattr(value, "item"):
        value = value.item()  # a NumPy number would bring the dtype's limits into its own
    if dtype.category == dtypes.INTEGER and not isinstance(value, (bool, complex)):
        limits = dtypes.iinfo(dtype)
        if not limits.min <= value < limits.max + 1:
            raise DTypeError(
                f"{op}: {value} is not in [{limits.min}, {limits.max}], the range of {dtype.name}",
                fix="use a number that the dtype can hold, or another dtype",
            )
    elif dtype in (dtypes.float32, dtypes.complex64) and not isinstance(value, bool):
        # Half types take numbers out of their range as infinities.
        limit = _FLOAT32_MOST
        if limit < abs(value.real) < math.inf or limit < abs(value.imag) < math.inf:
            raise DTypeError(
                f"{op}: {value} is out of the range of {dtype.name}",
                fix="use infinity if that is meant, or another dtype",
            )
    elif isinstance(value, int) and abs(value) >= 2**1023:
        raise DTypeError(
            f"{op}: the number has {value.bit_length()} bits, more than any floating point number",
            fix="use infinity if that is meant",
        )
    if value.__class__ is float or value.__class__ is int:
        return  # as nearly all are; what asks abstract classes takes longer than all before
    imaginary = isinstance(value, numbers.Complex) and not isinstance(value, numbers.Real)
    if imaginary and dtype.category in (dtypes.INTEGER, dtypes.FLOATING):
        raise DTypeError(f"{op}: a complex number does not fit into {dtype.name}", fix="use a complex dtype")


def check_element_fits(op: str, value: Tensor, dtype: DType) -> None:
    """As `check_fits`, for the only element of a tensor; it is read only if its dtype holds what *dtype* does not."""
    of = value._type.dtype
    if of is not dtype and of.category >= dtype.category == dtypes.INTEGER:
        element(op, value.item(), dtype)


@method()
def zero_(self: Tensor) -> Tensor:
    """Write zeros."""
    return fill_(self, 0)


COPY = declare(Effect("copy_", copy_, _copy_into, reads=(1,), writes=0, result=Result.TARGET))
FILL = declare(Effect("fill_", fill_, _fill, reads=(1,), writes=0, result=Result.TARGET))


def _pass_gradient(gradient: Tensor) -> Tensor:
    return gradient


def _zero_gradient(gradient: Tensor) -> Tensor:
    from ..creation.factories import zeros_like

    return zeros_like(gradient)


@function(method=False)
def fill(input: Tensor, value: Tensor | Number) -> Tensor:
    """A tensor like *input* filled with *value*, a number or a 0-d tensor; the gradient goes to *value*.

    Raises RuntimeError for a tensor with dimensions, and for a number that the dtype cannot hold.

    >>> import polyad
    >>> polyad.fill(polyad.zeros(2), 3)
    tensor([3., 3.])
    """
    result = clone(check_tensor(input, "fill", "input"))
    return (value._made_like(result) if isinstance(value, Wrapped) else result).fill_(value)
