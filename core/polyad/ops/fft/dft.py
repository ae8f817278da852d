"""Discrete Fourier transforms: the three ops that everything in `polyad.fft` is computed with.

    _fft_c2c   complex to complex (or real to all of its spectrum), in either direction
    _fft_r2c   real to the first half of its spectrum
    _fft_c2r   the first half of a spectrum to the real numbers it belongs to

Each transforms several dimensions at once. *norm* is PyTorch's: "backward" divides the inverse transform by the number
of points, "forward" the forward transform, "ortho" both by its square root. Where one dimension is halved it is the
last of *dims*; sizes are already as wanted.

A backend without an FFT gets its transforms from products with small DFT matrices: a length is split by the
Cooley-Tukey rule (https://doi.org/10.1090/S0025-5718-1965-0178586-1) into factors of up to `DIRECT`; a longer prime
becomes a circular convolution of a power of two (Bluestein's chirp transform,
https://doi.org/10.1109/TAU.1970.1162132).

A DFT matrix is symmetric, so a transform's adjoint is the transform in the other direction with the same factor, which
is what gradients need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ...backend.interface import Signature
from ...base.dtypes import FLOATING, DType, float32, float64, get_default_dtype, int64
from ...base.shapes_and_strides import Shape
from ...dispatch.forward import linear_in
from ...dispatch.op import composite, gradient
from ...dispatch.promotion import Typing
from ...dispatch.structure import Rowwise
from ...errors import DTypeError
from ..creation.factories import _arange, _full
from ..declaring.shape_rules import same
from ..indexing.slicing import _slice
from ..memory.copying import _copy
from ..nn.padding import _pad_constant
from ..pointwise.arithmetic import _conj, _mul
from ..pointwise.complex_numbers import _polar, _real
from ..products.matmul import _gemm
from ..shaping.flipping import _flip
from ..shaping.joining import _cat
from ..shaping.reshape import _permute, _reshape

if TYPE_CHECKING:
    from ...base.device import Device
    from ...tensor import Tensor

DIRECT = 32
"""Up to this length a transform is a single product with its DFT matrix."""

SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}
"""By norm: the norm with which a transform in the other direction divides by the same factor."""


def _check_dtype(dtype: DType) -> DType:
    if dtype.category < FLOATING:
        return get_default_dtype()
    if dtype.itemsize == 2:
        raise DTypeError(f"fft: there is no transform of {dtype.name}", fix="convert to float32 first")
    return dtype


def _to_spectrum(types: Signature, params: Mapping[str, Any]) -> Typing:
    """Integers become the default floating dtype; the result is complex."""
    dtype = _check_dtype(types[0].dtype)
    return Typing((dtype,), (dtype.to_complex(),))


def _to_signal(types: Signature, params: Mapping[str, Any]) -> Typing:
    """The operand becomes complex, the result has the dtype of its parts."""
    dtype = _check_dtype(types[0].dtype).to_complex()
    return Typing((dtype,), (dtype.to_real(),))


def _half_shape(shape: Shape, dims: tuple[int, ...], norm: str) -> Shape:
    last = dims[-1]
    return (*shape[:last], shape[last] // 2 + 1, *shape[last + 1 :])


def _signal_shape(shape: Shape, dims: tuple[int, ...], norm: str, size: int) -> Shape:
    return (*shape[: dims[-1]], size, *shape[dims[-1] + 1 :])


@composite(dtype=_to_spectrum, structure=Rowwise("dims"), shape=same, method=False)
def _fft_c2c(input: Tensor, dims: tuple[int, ...], norm: str, forward: bool) -> Tensor:
    """The transform along *dims*, with negative exponents if *forward*."""
    spectrum = input.to(input._type.dtype.to_complex())
    for dim in dims:
        spectrum = _transform_dim(spectrum, dim, forward)
    return _divided(spectrum, math.prod([input._array.shape[dim] for dim in dims]), norm, forward)


@composite(dtype=_to_spectrum, structure=Rowwise("dims"), shape=_half_shape, method=False)
def _fft_r2c(input: Tensor, dims: tuple[int, ...], norm: str) -> Tensor:
    """The forward transform of a real tensor, whose second half is the conjugate of the first and left out."""
    last = dims[-1]
    half = _slice(_fft_c2c(input, (last,), norm, True), last, 0, input._array.shape[last] // 2 + 1, 1)
    return _fft_c2c(half, dims[:-1], norm, True) if dims[:-1] else _copy(half)


@composite(dtype=_to_signal, structure=Rowwise("dims"), shape=_signal_shape, method=False)
def _fft_c2r(input: Tensor, dims: tuple[int, ...], norm: str, size: int) -> Tensor:
    """The inverse transform to *size* real points along the last of *dims* of the first half of a spectrum."""
    last = dims[-1]
    half = _fft_c2c(input, dims[:-1], norm, False) if dims[:-1] else input
    rest = size - half._array.shape[last]
    if rest:
        half = _cat([half, _flip(_conj(_slice(half, last, 1, rest, 1)), (last,))], last)
    return _copy(_real(_fft_c2c(half, (last,), norm, False)))


gradient(_fft_c2c, input=lambda g, dims, norm, forward: _fft_c2c(g, dims, SWAPPED[norm], not forward))
linear_in(_fft_c2c, "input")
gradient(
    _fft_r2c,
    input=lambda g, input_shape, dims, norm: _fft_c2r(
        _weighted(g, dims[-1], input_shape[dims[-1]], 0.5), dims, SWAPPED[norm], input_shape[dims[-1]]
    ),
)
linear_in(_fft_r2c, "input")
gradient(_fft_c2r, input=lambda g, dims, norm, size: _weighted(_fft_r2c(g, dims, SWAPPED[norm]), dims[-1], size, 2.0))
linear_in(_fft_c2r, "input")


def _weighted(half: Tensor, dim: int, size: int, weight: float) -> Tensor:
    """Half a spectrum of *size* points, with those that stand for two of them times *weight*."""
    dtype, device = half._type.dtype.to_real(), half._type.device
    pairs = (size - 1) // 2
    if not pairs:
        return half
    single = [_full((1,), 1.0, dtype, device)] if size % 2 == 0 else []
    weights = _cat([_full((1,), 1.0, dtype, device), _full((pairs,), weight, dtype, device), *single], 0)
    return _mul(half, _reshape(weights, (weights._array.shape[0], *[1] * (half.ndim - dim - 1))))


# -------------------------------------------------------------------------------------------------- the decomposition


def _divided(spectrum: Tensor, count: int, norm: str, forward: bool) -> Tensor:
    if norm == "ortho":
        return _mul(spectrum, 1 / math.sqrt(count)) if count > 1 else spectrum
    divides = (norm == "forward") == forward
    return _mul(spectrum, 1 / count) if divides and count > 1 else spectrum


def _transform_dim(x: Tensor, dim: int, forward: bool) -> Tensor:
    shape = x._array.shape
    size = shape[dim]
    if size == 1 or 0 in shape:
        return x
    last_first = (*[other for other in range(len(shape)) if other != dim], dim)
    moved = _permute(x, last_first)
    rows = _transform_rows(_reshape(moved, (math.prod(shape) // size, size)), size, forward)
    back = tuple(sorted(range(len(shape)), key=last_first.__getitem__))
    return _copy(_permute(_reshape(rows, moved._array.shape), back))


def _transform_rows(x: Tensor, size: int, forward: bool) -> Tensor:
    """The transform of each row of a matrix with *size* columns."""
    if size <= DIRECT:
        return _gemm(x, _unit_roots(_products(size, size, x._type.device), size, forward, x), False, False)
    factor = _factor(size)
    if factor == size:
        return _chirp_rows(x, size, forward)
    rows, rest = x._array.shape[0], size // factor
    # Element j1 * rest + j2 of the row, frequency k1 + factor * k2.
    parts = _permute(_reshape(x, (rows, factor, rest)), (0, 2, 1))
    parts = _reshape(_transform_rows(_reshape(parts, (rows * rest, factor)), factor, forward), (rows, rest, factor))
    parts = _mul(parts, _unit_roots(_products(rest, factor, x._type.device), size, forward, x))
    parts = _reshape(_permute(parts, (0, 2, 1)), (rows * factor, rest))
    parts = _reshape(_transform_rows(parts, rest, forward), (rows, factor, rest))
    return _reshape(_permute(parts, (0, 2, 1)), (rows, size))


def _factor(size: int) -> int:
    """The largest divisor of *size* up to `DIRECT`, else the smallest: *size* itself if it is prime."""
    for divisor in range(DIRECT, 1, -1):
        if size % divisor == 0:
            return divisor
    divisor = DIRECT + 1
    while divisor * divisor <= size:
        if size % divisor == 0:
            return divisor
        divisor += 1
    return size


def _chirp_rows(x: Tensor, size: int, forward: bool) -> Tensor:
    """A transform of prime length: j k = (j**2 + k**2 - (k - j)**2) / 2 makes it a convolution with a chirp."""
    length = 1 << (2 * size - 2).bit_length()
    device = x._type.device
    place = _arange(0, 1, size, int64, device)
    chirp = _unit_roots((place * place).remainder(2 * size), 2 * size, forward, x)
    answer = _conj(chirp)
    around = _cat([answer, _full((length - 2 * size + 1,), 0, x._type.dtype, device), _flip(answer, (0,))], 0)
    around = _slice(around, 0, 0, length, 1)
    signal = _pad_constant(_mul(x, chirp), (0, 0, 0, length - size), 0)
    product = _mul(_transform_rows(signal, length, True), _transform_rows(_reshape(around, (1, length)), length, True))
    folded = _slice(_transform_rows(product, length, False), 1, 0, size, 1)
    return _mul(folded, _mul(chirp, 1 / length))


def _products(rows: int, columns: int, device: Device) -> Tensor:
    row, column = _arange(0, 1, rows, int64, device), _arange(0, 1, columns, int64, device)
    return _mul(_reshape(row, (rows, 1)), column)


def _unit_roots(numerator: Tensor, denominator: int, forward: bool, like: Tensor) -> Tensor:
    """exp(-+ 2 pi i numerator / denominator) in the dtype of *like*; in float64 on the way, where the device has it."""
    type_ = like._type
    wide = float64 if float64 in type_.backend.capabilities(type_.device).dtypes else float32
    turn = (-2 if forward else 2) * math.pi / denominator
    angle = _mul(numerator.remainder(denominator).to(wide), turn)
    return _polar(_full((), 1.0, wide, type_.device), angle).to(type_.dtype)
