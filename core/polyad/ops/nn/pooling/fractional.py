"""Fractional max pooling: windows whose steps vary at random, so that sizes shrink by a factor that is no integer.

Source: Graham, "Fractional Max-Pooling", 2014, with pseudorandom overlapping regions: with a random number u in
[0, 1) for each image, channel and dimension, and alpha = (L - k) / (n - 1), window i begins at
floor((i + u) * alpha) - floor(u * alpha), the last window at L - k.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from ....base.dtypes import int64
from ....base.shapes_and_strides import Shape
from ....dispatch.forward import forward
from ....dispatch.op import composite, function, gradient
from ....dispatch.promotion import Typing
from ....dispatch.structure import opaque
from ....errors import ArgumentError, ShapeError, safe_repr
from ....tensor import Tensor
from ....tensor.tensor import check_tensor
from ...creation.factories import arange, full
from ...declaring.windows import AXES, Sizes, batched, per_axis, unbatched
from ...pointwise.where import _where
from ...random.sampling import rand
from ...shaping.joining import cat
from .geometry import check_real
from .maximum import place_maxima, take_maxima

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ....backend.interface import Signature

    PerAxis = int | Sequence[int]


def _shapes(input: Shape, samples: Shape, kernel: Sizes, size: Sizes) -> tuple[Shape, Shape]:
    return (*input[:2], *size), (*input[:2], *size)


def _with_indices(types: Signature, params: Mapping[str, Any]) -> Typing:
    check_real("fractional_max_pool", types[0].dtype, floating=True)
    return Typing((None, types[0].dtype), (types[0].dtype, int64))


def _starts(samples: Tensor, have: int, extent: int, count: int) -> Tensor:
    """Where the *count* windows along a dimension begin, for samples (N, C): (N, C, count)."""
    last = full((*samples._array.shape, 1), have - extent, dtype=int64, device=samples.device)
    if count == 1:
        return last
    at = samples.unsqueeze(-1)
    alpha = (have - extent) / (count - 1)
    steps = (arange(count - 1, device=samples.device) + at) * alpha
    return cat([steps.to(int64) - (at * alpha).to(int64), last], -1)


@composite(dtype=_with_indices, structure=opaque, shape=_shapes, outputs=("out", "indices"), method=False)
def _fractional_max_pool(input: Tensor, samples: Tensor, kernel: Sizes, size: Sizes) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its place in the flattened image; samples are (N, C, dimensions)."""
    have, dims = input._array.shape[2:], len(kernel)
    origin: Any = 0
    pitch = 1
    pitches: list[int] = []
    for axis in range(dims - 1, -1, -1):
        # PyTorch lists the samples of images last dimension first, those of volumes first dimension first.
        number = axis if dims == 3 else dims - 1 - axis
        starts = _starts(samples.select(2, number), have[axis], kernel[axis], size[axis]) * pitch
        around = [size[axis] if at == axis else 1 for at in range(dims)]
        origin = starts.reshape(*starts._array.shape[:2], *around) + origin
        pitches.insert(0, pitch)
        pitch *= have[axis]
    flat, origin = input.flatten(2), origin.flatten(2)
    best = at = None
    for position in itertools.product(*map(range, kernel)):
        place = origin + sum([tap * step for tap, step in zip(position, pitches, strict=True)])
        value = flat.gather(2, place)
        if best is None or at is None:
            best, at = value, place
            continue
        better = (value > best).logical_or(value.isnan())
        best, at = _where(better, value, best), _where(better, place, at)
    assert best is not None
    assert at is not None
    shape = (*input._array.shape[:2], *size)
    return best.reshape(shape), at.reshape(shape)


gradient(_fractional_max_pool, input=lambda grads, indices, input_shape: place_maxima(grads[0], indices, input_shape))
forward(_fractional_max_pool, lambda input_t, indices: (take_maxima(input_t, indices), None))


def _pool_fractions(
    op: str,
    count: int,
    input: Tensor,
    kernel_size: Any,
    output_size: Any,
    output_ratio: Any,
    return_indices: Any,
    samples: Any,
) -> Any:
    check_tensor(input, op, "input")
    operands = {"input": input}
    if (output_size is None) == (output_ratio is None):
        raise ArgumentError(
            f"{op}: {'neither' if output_size is None else 'both'} of output_size and output_ratio given",
            operands=operands,
            fix="give output_size or output_ratio",
        )
    check_real(op, input._type.dtype, floating=True)
    kernel = per_axis(kernel_size, op, "kernel_size", count, 1)
    batch = batched(input, op, count)
    images, channels, *have = batch._array.shape
    size = _fractional_size(op, kernel, have, output_size, output_ratio, operands)
    if samples is None:
        samples = rand(images, channels, count, dtype=batch.dtype, device=batch.device)
    else:
        samples = _check_random_samples(op, samples, batch, count, operands)
    found = _fractional_max_pool(batch, samples.detach(), kernel, size)
    out, indices = unbatched(found[0], input.ndim, count), unbatched(found[1], input.ndim, count)
    return (out, indices) if return_indices else out


def _fractional_size(
    op: str, kernel: Sizes, have: list[int], output_size: Any, output_ratio: Any, operands: dict[str, Any]
) -> Sizes:
    """How many windows there are along each dimension; raises if they are none, or the kernel is too large."""
    count = len(kernel)
    if output_size is not None:
        size = per_axis(output_size, op, "output_size", count, 1)
    else:
        ratios = tuple(output_ratio) if isinstance(output_ratio, (tuple, list)) else (output_ratio,) * count
        if len(ratios) != count or not all(isinstance(ratio, (int, float)) and 0 < ratio < 1 for ratio in ratios):
            raise ShapeError(
                f"{op}: output_ratio {safe_repr(output_ratio)} must be {count} numbers between 0 and 1",
                operands=operands,
                fix="for example 0.5",
            )
        size = tuple([int(length * ratio) for length, ratio in zip(have, ratios, strict=True)])
    for name, length, extent, wanted in zip(AXES[count], have, kernel, size, strict=True):
        if wanted < 1 or wanted + extent - 1 > length:
            raise ShapeError(
                f"{op}: {wanted} windows of {extent} do not fit a {name} of {length}",
                operands=operands,
                fix="use a smaller kernel_size or output_size",
            )
    return size


def _check_random_samples(op: str, samples: Any, batch: Tensor, count: int, operands: dict[str, Any]) -> Tensor:
    """Those of *samples* that are of images. Raises unless they are *count* numbers for each channel, or more."""
    images, channels = batch._array.shape[:2]
    operands = {**operands, "_random_samples": check_tensor(samples, op, "_random_samples")}
    shape = samples._array.shape
    if samples._type.dtype is not batch._type.dtype or len(shape) != 3 or shape[1:] != (channels, count):
        raise ShapeError(
            f"{op}: _random_samples must be ({images}, {channels}, {count}) of the input's dtype",
            operands=operands,
            fix="leave them out",
        )
    if shape[0] < images:
        raise ShapeError(
            f"{op}: _random_samples has {shape[0]} images, fewer than {images}",
            operands=operands,
            fix="leave them out",
        )
    result: Tensor = samples.narrow(0, 0, images)
    return result


@function(method=False, namespace="nn.functional")
def fractional_max_pool2d(
    input: Tensor,
    kernel_size: PerAxis,
    output_size: PerAxis | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows at random places, of which there are *output_size*, or *output_ratio* times the
    input's size.

    Shapes: input (N, C, H, W) or (C, H, W), floating point -> the same with OH and OW. With *return_indices* the result
    is (maxima, int64 places in the flattened image). *_random_samples* (N, C, 2), of the input's dtype in [0, 1), are
    the random numbers, the width's first.

    Raises RuntimeError for windows and ratios that do not fit, ValueError unless exactly one of output_size and
    output_ratio is given.

    >>> import polyad
    >>> out = polyad.nn.functional.fractional_max_pool2d(polyad.arange(16.0).reshape(1, 4, 4), 2, output_size=3)
    >>> out.shape, float(out[0, 2, 2])
    (polyad.Size([1, 3, 3]), 15.0)
    """
    return _pool_fractions(
        "fractional_max_pool2d", 2, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )


@function(method=False, namespace="nn.functional")
def fractional_max_pool3d(
    input: Tensor,
    kernel_size: PerAxis,
    output_size: PerAxis | None = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:
    """The largest elements of windows of volumes at random places; see `fractional_max_pool2d`.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with OD, OH and OW; *_random_samples* (N, C, 3),
    the depth's first.

    >>> import polyad
    >>> polyad.nn.functional.fractional_max_pool3d(polyad.zeros(1, 4, 4, 4), 2, output_ratio=0.5).shape
    polyad.Size([1, 2, 2, 2])
    """
    return _pool_fractions(
        "fractional_max_pool3d", 3, input, kernel_size, output_size, output_ratio, return_indices, _random_samples
    )
