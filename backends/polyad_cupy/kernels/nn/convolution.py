"""Convolution over one to three dimensions: by cuDNN where that is proved (`cudnn_convolution`), else as matrices of
patches and products.

The latter is the path that needs nothing but copies and `cupy.matmul`. The columns of patches are a copy of a strided
view of the padded input. For the gradient with respect to the input a kernel adds up, for each of its elements, what
the columns of products hold for it, in a fixed order. Half types are computed in float32. The batch is taken in parts,
so that the columns of one have at most `_MOST` bytes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from polyad.backend import Kernel
from polyad.base.dtypes import ALL, DType, bfloat16, bool_, float16, float32
from polyad.base.shapes_and_strides import contiguous_strides
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying
from polyad_kernels.memo import memoize
from polyad_kernels.source.elements import text
from polyad_kernels.source.walking import Walk, closing, cut, letters, local_size, opening, parameters

from ..pointwise.arithmetic import add_to
from ..products.matmul import multiply
from . import cudnn_convolution as by_cudnn

Sizes = tuple[int, ...]

_MOST = 1 << 29
_DIMS = 3


def _used(dtype: DType) -> DType:
    return float32 if dtype in (float16, bfloat16) else dtype


def _as(x: Array, dtype: DType) -> Array:
    """*x* in *dtype*, dense."""
    if x.dtype is dtype and x.is_dense:
        return x
    made = new(x.device, x.shape, dtype)
    copying.copy(made, x)
    return made


def _view(x: Array, shape: Sizes, steps: Sizes, offset: int = 0) -> Array:
    return Array(x.block, x.dtype, shape, steps, x.offset + offset)


def _reshaped(x: Array, *shape: int) -> Array:
    return _view(x, shape, contiguous_strides(shape))


def _parts(count: int, each: int) -> Iterator[tuple[int, int]]:
    """Ranges of a batch of *count* whose columns have *each* bytes an image."""
    size = max(1, _MOST // max(1, each))
    for first in range(0, count, size):
        yield first, min(first + size, count)


def _images(x: Array, first: int, end: int) -> Array:
    return _view(x, (end - first, *x.shape[1:]), x.steps, first * x.steps[0])


def _padded(x: Array, padding: Sizes) -> Array:
    if not any(padding):
        return x
    wide = new(x.device, (*x.shape[:2], *[size + 2 * more for size, more in zip(x.shape[2:], padding)]), x.dtype)
    copying.fill(wide, 0)
    inside = sum([more * step for more, step in zip(padding, wide.steps[2:])])
    copying.copy(_view(wide, x.shape, wide.steps, inside), x)
    return wide


def _windows(
    x: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, outs: Sizes, groups: int
) -> Array:
    """*x* as (images, groups, channels, kernel.., outs..), where patches lie over each other."""
    x = _padded(x, padding)
    images, channels = x.shape[:2]
    each = channels // groups
    shape = (images, groups, each, *kernel, *outs)
    taps = [apart * step for apart, step in zip(dilation, x.steps[2:])]
    moves = [apart * step for apart, step in zip(stride, x.steps[2:])]
    return _view(x, shape, (x.steps[0], each * x.steps[1], x.steps[1], *taps, *moves))


def _outs(size: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> Sizes:
    settings = zip(size, kernel, stride, padding, dilation, strict=True)
    return tuple([(have + 2 * more - apart * (taps - 1) - 1) // step + 1 for have, taps, step, more, apart in settings])


def _with_bias(out: Array, bias: Array | None) -> Array:
    if bias is not None:
        add_to(out, _view(_as(bias, out.dtype), out.shape, (0, 1, *[0] * (out.ndim - 2))))
    return out


def convolved(
    input: Array, weight: Array, bias: Array | None, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    kernel, used = weight.shape[2:], _used(input.dtype)
    outs = _outs(input.shape[2:], kernel, stride, padding, dilation)
    images, places = input.shape[0], math.prod(outs)
    wide = new(input.device, (images, weight.shape[0], *outs), used)
    if wide.size:
        rows, inner = weight.shape[0] // groups, math.prod(weight.shape[1:])
        matrix = _reshaped(_as(weight, used), 1, groups, rows, inner)
        if not inner:
            copying.fill(wide, 0)
        for first, end in _parts(images, groups * inner * places * used.itemsize) if inner else ():
            view = _windows(_images(input, first, end), kernel, stride, padding, dilation, outs, groups)
            columns = _reshaped(_as(view, used), end - first, groups, inner, places)
            spread = _view(matrix, (end - first, groups, rows, inner), (0, *matrix.steps[1:]))
            multiply(_reshaped(_images(wide, first, end), end - first, groups, rows, places), spread, columns)
        _with_bias(wide, bias)
    return _as(wide, input.dtype)


def transposed(
    input: Array, weight: Array, bias: Array | None, size: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int,
) -> Array:  # fmt: skip
    kernel, used, each = weight.shape[2:], _used(input.dtype), weight.shape[1]
    images, given, places = input.shape[0], input.shape[2:], math.prod(input.shape[2:])
    out = new(input.device, (images, groups * each, *size), input.dtype)
    if not out.size:
        return out
    rows, inner = weight.shape[0] // groups, each * math.prod(kernel)
    if not rows or not inner or not places:
        copying.fill(out, 0)
        return _with_bias(out, bias)
    matrix = _reshaped(_as(weight, used), 1, groups, rows, inner)
    for first, end in _parts(images, groups * inner * places * used.itemsize):
        columns = new(out.device, (end - first, groups, inner, places), used)
        turned = _view(matrix, (end - first, groups, inner, rows), (0, matrix.steps[1], 1, matrix.steps[2]))
        multiply(columns, turned, _reshaped(_as(_images(input, first, end), used), end - first, groups, rows, places))
        _add_columns(_images(out, first, end), columns, given, kernel, stride, padding, dilation)
    return _with_bias(out, bias)


def weight_grad(
    grad: Array, input: Array, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Array:
    used, outs, images = _used(input.dtype), grad.shape[2:], input.shape[0]
    each, rows, places = input.shape[1] // groups, grad.shape[1] // groups, math.prod(grad.shape[2:])
    inner = each * math.prod(kernel)
    out = new(input.device, (groups, rows, inner), used)
    if out.size and not (images * places):
        copying.fill(out, 0)
    elif out.size:
        for first, end in _parts(images, groups * inner * places * used.itemsize):
            count = end - first
            view = _windows(_images(input, first, end), kernel, stride, padding, dilation, outs, groups)
            columns = _reshaped(_as(_images_last(view, 2 + len(kernel)), used), groups, inner, count * places)
            part = _images(grad, first, end)
            shape = (count, groups, rows, *outs)
            split = _view(part, shape, (part.steps[0], rows * part.steps[1], *part.steps[1:]))
            left = _reshaped(_as(_images_last(split, 2), used), groups, rows, count * places)
            right = _view(columns, (groups, count * places, inner), (columns.steps[0], 1, columns.steps[1]))
            if first:
                more = new(out.device, out.shape, used)
                multiply(more, left, right)
                add_to(out, more)
            else:
                multiply(out, left, right)
    return _as(_reshaped(out, groups * rows, each, *kernel), input.dtype)


def _images_last(x: Array, count: int) -> Array:
    """*x* with its first dimension behind the *count* next ones."""
    order = (*range(1, count + 1), 0, *range(count + 1, x.ndim))
    return _view(x, tuple([x.shape[at] for at in order]), tuple([x.steps[at] for at in order]))


_NUMBERS = ["kernel", "outs", "stride", "padding", "dilation"]


@memoize
def _adding(device: Any, dtype: DType, rank: int) -> Any:
    listed = ", ".join([f"long {name}{axis}" for name in _NUMBERS for axis in range(_DIMS)])
    taps = "\n".join(
        [
            f"""for (long k{axis} = 0; k{axis} < kernel{axis}; ++k{axis}) {{
            const long far{axis} = {f"c{rank - _DIMS + axis}" if axis < 2 else f"c{rank - 1} + i"} + padding{axis}
                - k{axis} * dilation{axis};
            const long w{axis} = far{axis} / stride{axis};
            if (far{axis} < 0 || w{axis} * stride{axis} != far{axis} || w{axis} >= outs{axis}) continue;"""
            for axis in range(_DIMS)
        ]
    )
    source = f"""{text(dtype)}
__kernel void adding(__global T *restrict out, __global const C *restrict columns, {listed}, {parameters(rank, "oa")})
{{
    {opening(rank, "oa")}
    for (long i = 0; i < run; ++i) {{
        C sum = 0;
        {taps}
            const long tap = (k0 * kernel1 + k1) * kernel2 + k2, place = (w0 * outs1 + w1) * outs2 + w2;
            sum += columns[a + tap * outs0 * outs1 * outs2 + place];
        }} }} }}
        STORE(out, o + i * O, sum);
    }}
    {closing(rank, "oa")}
}}
"""
    signature = "pp" + "q" * _DIMS * len(_NUMBERS) + letters(rank, "oa")
    what = f"convolution_transposed {dtype.name}"
    return device.kernel(source, "adding", signature, what=what, local=local_size(device))


def _three(values: Sizes, missing: int) -> Sizes:
    return (missing,) * (_DIMS - len(values)) + tuple(values)


def _add_columns(
    out: Array, columns: Array, outs: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> None:
    """Write to each element of *out* the sum of what *columns* hold for it."""
    device, images, channels = out.device, *out.shape[:2]
    area = math.prod(kernel) * math.prod(outs)
    walk = Walk(
        (images, channels, *_three(out.shape[2:], 1)),
        (out.offset, (*out.steps[:2], *_three(out.steps[2:], 0))),
        (columns.offset, (channels * area, area, 0, 0, 0)),
        apart=2,
    )
    items, chunk = cut(device, walk.count, 256)
    settings = zip((kernel, outs, stride, padding, dilation), (1, 1, 1, 0, 1))
    numbers = [number for values, missing in settings for number in _three(tuple(values), missing)]
    _adding(device, out.dtype, walk.rank)(items, out.buffer, columns.buffer, *numbers, *walk.arguments(chunk))


def _first_of(fast: Callable[..., Array | None], safe: Callable[..., Array]) -> Callable[..., Array]:
    def convolve(*arguments: Any) -> Array:
        done = fast(*arguments)
        return safe(*arguments) if done is None else done

    return convolve


_COMPUTED = frozenset(ALL) - {bool_}

KERNELS = {
    "convolution": Kernel(_first_of(by_cudnn.convolved, convolved), dtypes=_COMPUTED),
    "convolution_transposed": Kernel(_first_of(by_cudnn.transposed, transposed), dtypes=_COMPUTED),
    "convolution_weight_grad": Kernel(_first_of(by_cudnn.weight_grad, weight_grad), dtypes=_COMPUTED),
}
