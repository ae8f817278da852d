"""Gradients of views and writes where either the base or the window is complex, and the other shows real parts.

A window is a strided layout laid over a tensor. The ops ``window_take``, ``window_put`` and ``window_clear``
(`polyad.ops.shaping.strided`) read, write and clear a window; here the layouts count real parts.
"""

from __future__ import annotations

from ..base.shapes_and_strides import Shape, Strides, why_not_complex
from ..tensor import Tensor
from .catalogue import OPS
from .views import layout_of


def complex_of_parts(parts: Tensor) -> Tensor:
    """The complex numbers whose parts lie along the last dimension; copies only where memory does not allow a view."""
    if why_not_complex(layout_of(parts)):
        parts = OPS["copy"].call(parts)
    numbers: Tensor = OPS["view_as_complex"].call(parts)
    return numbers


def _parts_of(gradient: Tensor) -> Tensor:
    parts: Tensor = OPS["view_as_real"].call(gradient) if gradient._type.dtype.is_complex else gradient
    return parts


def take_parts(gradient: Tensor, base_strides: Strides, shape: Shape, strides: Strides, offset: int) -> Tensor:
    """The window's elements, where *gradient* lies in memory with *base_strides*."""
    taken: Tensor = OPS["window_take"].call(_parts_of(gradient), base_strides, shape, strides, offset)
    return taken if gradient._type.dtype.is_complex else complex_of_parts(taken)


def put_parts(gradient: Tensor, base_shape: Shape, base_strides: Strides, strides: Strides, offset: int) -> Tensor:
    """Zeros of *base_shape* with *gradient* at the window."""
    put: Tensor = OPS["window_put"].call(_parts_of(gradient), base_shape, base_strides, strides, offset)
    return put if gradient._type.dtype.is_complex else complex_of_parts(put)


def clear_parts(gradient: Tensor, base_strides: Strides, shape: Shape, strides: Strides, offset: int) -> Tensor:
    """*gradient* with zeros at the window."""
    cleared: Tensor = OPS["window_clear"].call(_parts_of(gradient), base_strides, shape, strides, offset)
    return complex_of_parts(cleared) if gradient._type.dtype.is_complex else cleared
