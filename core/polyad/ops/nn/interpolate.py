"""Resampling: images, sequences and volumes brought to another size.

Every mode but "area" goes dimension by dimension: each element of the result is a weighted sum of a few neighbours. The
taps, places and weights, follow from the sizes alone; `_resample` adds up, and its gradient spreads.

Positions are those of pixel centres: with ``align_corners`` the first and last centres of input and result coincide,
else the edges of the first and last pixels do, so that position i of the result is (i + 1/2) * scale - 1/2 of the
input.

Sources: Keys, "Cubic convolution interpolation for digital image processing", 1981, for bicubic with a = -3/4 (-1/2
with antialias); the antialiased filters are those of Pillow: the interpolation's kernel, stretched by the scale where
the result is smaller.
"""

from __future__ import annotations

import math
from functools import lru_cache
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from ...base.dtypes import DType, float32, float64, int64, uint8
from ...base.kinds import as_ints
from ...base.shapes_and_strides import Shape
from ...base.state import NO_MODES, state, warn_user
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, function, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import contraction, indexing
from ...errors import ArgumentError, ArgumentTypeError, DTypeError, NotSupported, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import arange, ones, zeros
from ..declaring.windows import arranged
from ..pointwise.trigonometry import sinc
from ..pointwise.where import _where
from ..shaping.joining import stack
from .pooling import adaptive

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from ...backend.interface import Signature
    from ...base.device import Device


def _resampled_shape(input: Shape, weights: Shape, places: Shape, dim: int) -> Shape:
    return (*input[:dim], weights[1], *input[dim + 1 :])


def _spread_shape(grad: Shape, weights: Shape, places: Shape, size: int, dim: int) -> Shape:
    return (*grad[:dim], size, *grad[dim + 1 :])


def _like_first(types: Signature, params: Mapping[str, Any]) -> Typing:
    return Typing((None, types[0].dtype, None), (types[0].dtype,))


@composite(dtype=_like_first, structure=contraction, shape=_resampled_shape, method=False)
def _resample(input: Tensor, weights: Tensor, places: Tensor, dim: int) -> Tensor:
    """Element i along *dim*: the sum over taps k of weights[k, i] * input[places[k, i]]; both are (taps, count)."""
    total = None
    for weight, place in zip(weights.unbind(0), places.unbind(0), strict=True):
        part = input.index_select(dim, place).mul_(_column_along(weight, dim, input.ndim))
        total = part if total is None else total.add_(part)
    assert total is not None
    return total


@composite(dtype=_like_first, structure=contraction, shape=_spread_shape, method=False)
def _resample_backward(grad: Tensor, weights: Tensor, places: Tensor, size: int, dim: int) -> Tensor:
    """The transpose of `_resample`, for an input with *size* elements along *dim*."""
    shape = _spread_shape(grad._array.shape, weights._array.shape, places._array.shape, size, dim)
    out = zeros(*shape, dtype=grad.dtype, device=grad.device)
    for weight, place in zip(weights.unbind(0), places.unbind(0), strict=True):
        out = out.index_add(dim, place, grad * _column_along(weight, dim, grad.ndim))
    return out


gradient(
    _resample,
    input=lambda g, weights, places, input_shape, dim: _resample_backward(g, weights, places, input_shape[dim], dim),
)
linear_in(_resample, "input")
gradient(_resample_backward, grad=lambda g, weights, places, dim: _resample(g, weights, places, dim))
linear_in(_resample_backward, "grad")


def _picked_shape(input: Shape, places: Shape, dim: int) -> Shape:
    return (*input[:dim], *places, *input[dim + 1 :])


@composite(structure=indexing, shape=_picked_shape, method=False)
def _pick(input: Tensor, places: Tensor, dim: int) -> Tensor:
    """The elements at *places* along *dim*: `index_select`, with a gradient for places that rise."""
    return input.index_select(dim, places)


def _put(g: Tensor, places: Tensor, size: int, dim: int) -> Tensor:
    weights = ones(1, places._array.shape[0], dtype=g.dtype, device=g.device)
    return _resample_backward(g, weights, places.unsqueeze(0), size, dim)


gradient(_pick, input=lambda g, input_shape, places, dim: _put(g, places, input_shape[dim], dim))
linear_in(_pick, "input")


def _column_along(vector: Tensor, dim: int, ndim: int) -> Tensor:
    return vector.reshape(-1, *[1] * (ndim - dim - 1))


# ------------------------------------------------------------------------------------------------ taps


class _Axis(NamedTuple):
    """One dimension to bring from *size* to *want* elements, each of which stands for *scale* of the input."""

    size: int
    want: int
    scale: float
    align_corners: bool
    dtype: DType
    device: Device

    def positions(self, offset: float = 0.0) -> Tensor:
        """0, 1, 2, ... of the result, plus *offset*."""
        places = arange(self.want, dtype=self.dtype, device=self.device)
        return places + offset if offset else places

    def sources(self) -> Tensor:
        """Where the result's elements lie in the input."""
        if self.align_corners:
            return self.positions() * self.scale
        return self.positions(0.5) * self.scale - 0.5


def _nearest(axis: _Axis, exact: bool) -> Tensor:
    """The place that each element of the result is copied from."""
    return (axis.positions(0.5 if exact else 0.0) * axis.scale).float().floor().to(int64).clamp(max=axis.size - 1)


def _linear_taps(axis: _Axis) -> tuple[Tensor, Tensor]:
    source = axis.sources().clamp(min=0)
    before = source.floor().clamp(max=axis.size - 1)
    after = (before + 1).clamp(max=axis.size - 1)
    share = (source - before).clamp(0, 1)
    return stack([1 - share, share]), stack([before, after]).to(int64)


def _cubic(distance: Tensor, a: float) -> tuple[Tensor, Tensor]:
    """Keys' kernel for distances in [0, 1] and in [1, 2]."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1
    far = ((distance - 5) * distance + 8) * distance * a - 4 * a
    return near, far


def cubic_weights(share: Tensor) -> list[Tensor]:
    """Keys' weights with a = -3/4 of the four neighbours of a position that lies *share* behind the second."""
    return [
        _cubic(share + 1, -0.75)[1],
        _cubic(share, -0.75)[0],
        _cubic(1 - share, -0.75)[0],
        _cubic(2 - share, -0.75)[1],
    ]


def _cubic_taps(axis: _Axis) -> tuple[Tensor, Tensor]:
    source = axis.sources()
    before = source.floor().clamp(max=axis.size - 1)
    share = (source - before).clamp(0, 1)
    places = stack([before - 1, before, before + 1, before + 2]).clamp(0, axis.size - 1)
    return stack(cubic_weights(share)), places.to(int64)


def _triangle(distance: Tensor) -> Tensor:
    return (1 - distance).clamp(min=0)


def _cubic_filter(distance: Tensor) -> Tensor:
    near, far = _cubic(distance, -0.5)
    return _where(distance < 1, near, _where(distance < 2, far, 0))


def _lanczos_filter(distance: Tensor) -> Tensor:
    return _where(distance < 3, sinc(distance) * sinc(distance * (1 / 3)), 0)


def _filter_taps(axis: _Axis, reach: int, kernel: Callable[[Tensor], Tensor]) -> tuple[Tensor, Tensor]:
    """Taps of a filter that reaches over *reach* elements to each side, of the input or, shrinking, of the result."""
    stretch = max(axis.scale, 1.0)
    support = reach * stretch
    center = axis.positions(0.5) * axis.scale
    first = (center - support + 0.5).to(int64).clamp(min=0)
    end = (center + support + 0.5).to(int64).clamp(max=axis.size)
    most = min(int(support * 2) + 2, axis.size)
    tap = arange(most, device=axis.device).unsqueeze(1)
    places = first + tap
    distance = ((places - center + 0.5) * (1 / stretch)).abs()
    weights = kernel(distance).masked_fill(places >= end, 0)
    return weights / weights.sum(0), places.clamp(max=axis.size - 1)


_TAPS: dict[tuple[str, bool], Callable[[_Axis], tuple[Tensor, Tensor]]] = {
    ("linear", False): _linear_taps,
    ("bilinear", False): _linear_taps,
    ("trilinear", False): _linear_taps,
    ("bicubic", False): _cubic_taps,
    ("bilinear", True): lambda axis: _filter_taps(axis, 1, _triangle),
    ("bicubic", True): lambda axis: _filter_taps(axis, 2, _cubic_filter),
    ("lanczos", True): lambda axis: _filter_taps(axis, 3, _lanczos_filter),
}
"""(weights, places) of each mode, without and with antialias."""


def _scale(size: int, count: int, align_corners: bool, factor: float | None) -> float:
    if align_corners:
        return (size - 1) / (count - 1) if count > 1 else 0.0
    return 1 / factor if factor is not None and factor > 0 else size / count


def _taps(mode: str, antialias: bool, axis: _Axis) -> tuple[Tensor, Tensor]:
    """The taps of *axis*, kept for the next call where nothing but their values counts: on the host, whose work is done
    when a call returns, and under no mode, which would see how they are made.
    """
    plain = axis.device.type == "cpu" and not state.modes and state.no_modes is NO_MODES
    return _taps_memoized(mode, antialias, axis) if plain else _TAPS[mode, antialias](axis)


@lru_cache(64)
def _taps_memoized(mode: str, antialias: bool, axis: _Axis) -> tuple[Tensor, Tensor]:
    return _TAPS[mode, antialias](axis)


def _interpolated(input: Tensor, size: Shape, factors: list[Any], mode: str, corners: bool, antialias: bool) -> Tensor:
    dtype = input._type.dtype
    wide = input if dtype in (float32, float64) else input.float()
    linear = _TAPS[mode, antialias] is _linear_taps
    for dim in range(input.ndim - 1, 1, -1):
        have, want = wide._array.shape[dim], size[dim - 2]
        scale = _scale(have, want, corners, factors[dim - 2])
        if have == want and (scale == 1 or antialias or linear):
            continue
        axis = _Axis(have, want, scale, corners, wide._type.dtype, input.device)
        weights, places = _taps(mode, antialias, axis)
        if dtype is uint8:
            weights = _fixed_point(weights)
        wide = _resample(wide, weights, places, dim)
        if dtype is uint8:
            wide = (wide + 0.5).floor().clamp(0, 255)
    return wide.clone() if wide is input else wide.to(dtype)


def _fixed_point(weights: Tensor) -> Tensor:
    """The weights as the multiples of a power of 2 that PyTorch computes with for uint8: the finest with which all are
    16-bit integers.
    """
    largest, bits = float(weights.max()), 0
    while bits < 22 and int(0.5 + largest * 2 ** (bits + 1)) < 2**15:
        bits += 1
    step = 2.0**bits
    scaled = weights.double() * step
    return ((scaled.abs() + 0.5).floor() * scaled.sign() / step).to(weights.dtype)


def _copy_nearest(input: Tensor, size: Shape, factors: list[Any], exact: bool) -> Tensor:
    """The nearest element at each place of the result."""
    result = input
    shape = input._array.shape
    for dim in range(input.ndim - 1, 1, -1):
        have, want = shape[dim], size[dim - 2]
        scale = _scale(have, want, False, factors[dim - 2])
        # Images that keep a size are not moved by a scale factor near 1, as in PyTorch.
        if have != want or (scale != 1 and input.ndim != 4):
            dtype = input._type.dtype if input._type.dtype is float64 else float32
            places = _nearest(_Axis(have, want, scale, False, dtype, input.device), exact)
            result = _pick(result, places, dim)
    return result.clone() if result is input else result


# ------------------------------------------------------------------------------------------------ the public function

_NEEDS = {"linear": 3, "bilinear": 4, "bicubic": 4, "lanczos": 4, "trilinear": 5}
"""How many dimensions the input of a mode has; the other modes take 3 to 5."""

_COPIES = ("nearest", "nearest-exact", "area")


def _result_size(input: Tensor, mode: str, size: Any, scale_factor: Any, recompute: Any) -> tuple[Shape, list[Any]]:
    """(size of the result, scale factors to compute with or None) for each spatial dimension."""
    operands, count = {"input": input}, input.ndim - 2
    if (size is None) == (scale_factor is None):
        raise ArgumentError(
            f"interpolate: {'neither size nor' if size is None else 'both size and'} scale_factor given",
            operands=operands,
            fix="give size or scale_factor",
        )
    name, given = ("size", size) if size is not None else ("scale_factor", scale_factor)
    values = list(given) if isinstance(given, (tuple, list)) else [given] * count
    if len(values) != count:
        raise ArgumentError(
            f"interpolate: {name} {safe_repr(given)} has {len(values)} numbers for {count} spatial dimensions",
            operands=operands,
            fix="give a number, or a number for each spatial dimension",
        )
    factors: list[float | None] = [None] * count
    read: list[Any] | tuple[int, ...] | None
    if size is None:
        read = values if all(isinstance(one, Real) and not isinstance(one, bool) for one in values) else None
    else:
        read = as_ints(values)
    if read is None:
        raise ArgumentTypeError(
            f"interpolate: {name} is {safe_repr(given)}, not numbers", operands=operands, fix=f"write {name}=2"
        )
    shape = input._array.shape[2:]
    if size is not None:
        if recompute:
            raise ArgumentError(
                "interpolate: recompute_scale_factor has no meaning with an explicit size",
                operands=operands,
                fix="leave it out",
            )
        wanted = tuple(read)
    else:
        if not all(map(math.isfinite, values)):
            raise ArgumentError(
                f"interpolate: scale_factor {safe_repr(given)} is not finite",
                operands=operands,
                fix="give finite numbers",
            )
        wanted = tuple([int(have * factor) for have, factor in zip(shape, values, strict=True)])
        if not recompute:
            factors = [float(factor) for factor in values]
    if min(wanted) < int(mode != "area") or min(shape) < 1 or input._array.shape[1] < 1:
        raise ShapeError(
            f"interpolate: {tuple(input.shape)} cannot be brought to {wanted}",
            operands=operands,
            fix="all sizes, and the number of channels, must be at least 1",
        )
    return wanted, factors


@function(method=False, namespace="nn.functional")
def interpolate(
    input: Tensor,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """*input* brought to another *size*, or to *scale_factor* times its size, rounded down.

    Shapes: input (N, C, L), (N, C, H, W) or (N, C, D, H, W) -> the same with other spatial sizes. *size* and
    *scale_factor* are a number, or a number for each spatial dimension. *mode*:

        "nearest"         the element at floor(i * scale), as older programs have it
        "nearest-exact"   the element whose centre is nearest
        "linear", "bilinear", "trilinear"   between the 2, 4 or 8 neighbours, of 3, 4 and 5 dimensions
        "bicubic"         between the 16 neighbours, which may overshoot; 4 dimensions
        "lanczos"         Lanczos' filter over 6 neighbours in each dimension, with antialias alone; 4 dimensions
        "area"            means, as `adaptive_avg_pool2d`

    *align_corners* (not for the modes that copy or average) says whether the corners' centres or their outer edges
    coincide. A given scale_factor is also the scale computed with, unless *recompute_scale_factor*. *antialias* widens
    the filters of "bilinear", "bicubic" and "lanczos" where the result is smaller. Floating point, and uint8 in the
    modes nearest, bilinear and bicubic; float16 and bfloat16 are added up in float32.

    Raises ValueError for settings that do not go together, NotImplementedError for a mode that does not suit the
    number of dimensions, RuntimeError for other sizes and dtypes.

    >>> import polyad
    >>> x = polyad.tensor([[[1.0, 3.0]]])
    >>> polyad.nn.functional.interpolate(x, scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    >>> polyad.nn.functional.interpolate(x, size=3, mode="linear", align_corners=True)
    tensor([[[1., 2., 3.]]])
    """
    check_tensor(input, "interpolate", "input")
    operands = {"input": input}
    if mode in _COPIES:
        if align_corners is not None:
            raise ArgumentError(
                f"interpolate: mode {safe_repr(mode)} takes no align_corners",
                operands=operands,
                fix="leave it out, or use mode='bilinear' or another that interpolates",
            )
    elif mode not in _NEEDS:
        raise NotSupported(
            f"interpolate: mode {safe_repr(mode)} is unknown",
            operands=operands,
            fix=f"use one of {', '.join(_COPIES)}, {', '.join(_NEEDS)}",
        )
    if not 3 <= input.ndim <= 5 or input.ndim != _NEEDS.get(mode, input.ndim):
        raise NotSupported(
            f"interpolate: mode {safe_repr(mode)} takes {_NEEDS.get(mode, '3 to 5')} dimensions, not {input.ndim}",
            operands=operands,
            fix="give (N, C, L), (N, C, H, W) or (N, C, D, H, W), and a mode for it",
        )
    if mode == "lanczos" and (align_corners or not antialias):
        raise ArgumentError(
            "interpolate: mode 'lanczos' is there with antialias=True and without align_corners alone",
            operands=operands,
            fix="pass antialias=True, or use 'bicubic'",
        )
    if antialias and mode not in ("bilinear", "bicubic", "lanczos"):
        raise ArgumentError(
            f"interpolate: mode {safe_repr(mode)} has no antialias",
            operands=operands,
            fix="use 'bilinear', 'bicubic' or 'lanczos'",
        )
    wanted, factors = _result_size(input, mode, size, scale_factor, recompute_scale_factor)
    dtype = input._type.dtype
    if not dtype.is_floating_point and not (dtype is uint8 and mode not in ("area", "linear", "trilinear")):
        raise DTypeError(
            f"interpolate: input is {dtype.name}; mode {safe_repr(mode)} takes floating point",
            operands=operands,
            fix="convert it first: input.float()",
        )
    if mode == "area":
        pool = {3: adaptive.adaptive_avg_pool1d, 4: adaptive.adaptive_avg_pool2d, 5: adaptive.adaptive_avg_pool3d}
        return pool[input.ndim](input, wanted)
    if mode in _COPIES:
        result = _copy_nearest(input, wanted, factors, mode == "nearest-exact")
    else:
        result = _interpolated(input, wanted, factors, mode, bool(align_corners), bool(antialias))
    return arranged(result, input) if input.ndim > 3 else result


@function(method=False, namespace="nn.functional")
def upsample(
    input: Tensor, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: bool | None = None
) -> Tensor:
    """An older name of `interpolate`; warns.

    >>> import polyad
    >>> polyad.nn.functional.upsample(polyad.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warn_user("upsample: an older name; use interpolate", UserWarning)
    return interpolate(input, size, scale_factor, mode, align_corners)


@function(method=False, namespace="nn.functional")
def upsample_nearest(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """An older form of `interpolate` with mode "nearest"; warns.

    >>> import polyad
    >>> polyad.nn.functional.upsample_nearest(polyad.tensor([[[1.0, 3.0]]]), scale_factor=2)
    tensor([[[1., 1., 3., 3.]]])
    """
    warn_user("upsample_nearest: an older form; use interpolate", UserWarning)
    return interpolate(input, size, scale_factor)


@function(method=False, namespace="nn.functional")
def upsample_bilinear(input: Tensor, size: Any = None, scale_factor: Any = None) -> Tensor:
    """An older form of `interpolate` with mode "bilinear" and corners that coincide; warns.

    >>> import polyad
    >>> polyad.nn.functional.upsample_bilinear(polyad.tensor([[[[1.0, 3.0]]]]), size=(1, 3))
    tensor([[[[1., 2., 3.]]]])
    """
    warn_user("upsample_bilinear: an older form; use interpolate", UserWarning)
    return interpolate(input, size, scale_factor, "bilinear", True)
