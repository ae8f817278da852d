"""Windows: what a piece of a signal is multiplied with before its transform, so that its ends do not show.

A *periodic* window is a symmetric window of one more point without its last: it repeats smoothly. Values are computed
in float32 for the half dtypes. Formulas as in https://en.wikipedia.org/wiki/Window_function.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...base.dtypes import DType, float32, get_default_dtype
from ...base.memory_formats import check_layout
from ...base.shapes_and_strides import normalize_shape
from ...devices import registry
from ...dispatch.op import function
from ...errors import DTypeError
from ..creation.factories import _arange, _full, with_options
from ..declaring.checks import check_least
from ..special.bessel import i0

if TYPE_CHECKING:
    from ...tensor import Tensor


def _window(
    op: str,
    window_length: int,
    periodic: bool,
    formula: Callable[[Tensor, int], Tensor],
    options: tuple[DType | None, Any, Any, bool | None, bool | None],
) -> Tensor:
    """The window whose points are ``formula(0, 1, ..., last)``, last being the place of the end."""
    given, layout, device, pin_memory, requires_grad = options
    check_layout(layout, op)
    (length,) = normalize_shape((window_length,), op)
    check_least(op, "window_length", length, 0, fix="give 0 or more")
    dtype = given or get_default_dtype()
    if not dtype.is_floating_point:
        raise DTypeError(f"{op}: windows are floating point numbers, not {dtype.name}", fix="use a float dtype")
    where = registry.resolve_device(device)
    if length <= 1:
        window = _full((length,), 1.0, dtype, where)
    else:
        wide = float32 if dtype.itemsize == 2 else dtype
        window = formula(_arange(0, 1, length, wide, where), length if periodic else length - 1).to(dtype)
    return with_options(window, requires_grad, pin_memory)


def _cosines(*weights: float) -> Callable[[Tensor, int], Tensor]:
    """weights[0] - weights[1] cos(t) + weights[2] cos(2 t) ..., t going once around."""

    def formula(place: Tensor, last: int) -> Tensor:
        total: Any = weights[0]
        for order, weight in enumerate(weights[1:], 1):
            wave = (place * (2 * math.pi * order / last)).cos_()
            total = wave.mul_(-weight if order % 2 else weight).add_(total)
        window: Tensor = total
        return window

    return formula


@function(method=False)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Hann's window, a raised cosine: (1 - cos(2 pi n / N)) / 2.

    Raises RuntimeError for a negative length or a dtype that is not floating point.

    >>> import polyad
    >>> polyad.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = (dtype, layout, device, pin_memory, requires_grad)
    return _window("hann_window", window_length, periodic, _cosines(0.5, 0.5), options)


@function(method=False)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Hamming's window: alpha - beta cos(2 pi n / N).

    Raises RuntimeError for a negative length or a dtype that is not floating point.

    >>> import polyad
    >>> polyad.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """
    options = (dtype, layout, device, pin_memory, requires_grad)
    return _window("hamming_window", window_length, periodic, _cosines(alpha, beta), options)


@function(method=False)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Blackman's window: 0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N).

    Raises RuntimeError for a negative length or a dtype that is not floating point.

    >>> import polyad
    >>> polyad.blackman_window(4)[1:]
    tensor([0.3400, 1.0000, 0.3400])
    """
    options = (dtype, layout, device, pin_memory, requires_grad)
    return _window("blackman_window", window_length, periodic, _cosines(0.42, 0.5, 0.08), options)


@function(method=False)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Bartlett's window, a triangle: 1 - ``|2 n / N - 1|``.

    Raises RuntimeError for a negative length or a dtype that is not floating point.

    >>> import polyad
    >>> polyad.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = (dtype, layout, device, pin_memory, requires_grad)

    def formula(place: Tensor, last: int) -> Tensor:
        return (place * (2 / last)).sub_(1).abs_().mul_(-1).add_(1)

    return _window("bartlett_window", window_length, periodic, formula, options)


@function(method=False)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool | None = False,
    requires_grad: bool | None = False,
) -> Tensor:
    """Kaiser's window: I0(beta sqrt(1 - (2 n / N - 1)**2)) / I0(beta), I0 being a modified Bessel function.

    Raises RuntimeError for a negative length or a dtype that is not floating point.

    >>> import polyad
    >>> polyad.kaiser_window(5, periodic=False, beta=8.0)
    tensor([0.0023, 0.3690, 1.0000, 0.3690, 0.0023])
    """
    options = (dtype, layout, device, pin_memory, requires_grad)

    def formula(place: Tensor, last: int) -> Tensor:
        ratio = place * (2 / last) - 1
        inside = (1 - ratio * ratio).clamp(min=0).sqrt() * beta
        return bessel_i0(inside) / bessel_i0(_full((), beta, place._type.dtype, place._type.device))

    return _window("kaiser_window", window_length, periodic, formula, options)


def bessel_i0(x: Tensor) -> Tensor:
    """The modified Bessel function of the first kind and order 0, from `polyad.special`."""
    return i0(x)
