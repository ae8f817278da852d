"""Adaptive pooling: windows chosen so that the result has a given size; window i of n covers [i * L // n,
ceil((i + 1) * L / n)) of a dimension of L elements.

Where the sizes divide, that is ordinary pooling. Else windows are ranges of varying length along each dimension:
`range_sum` adds them up, and its gradient is a `range_sum` again, over the windows that an element is in.
"""

from __future__ import annotations

import bisect
import math
from typing import TYPE_CHECKING, Any

from ....base.dtypes import int64
from ....base.kinds import as_ints
from ....base.shapes_and_strides import Shape
from ....dispatch.forward import forward, linear_in
from ....dispatch.op import alias, composite, function, gradient
from ....dispatch.promotion import Typing, first
from ....dispatch.structure import Contraction, opaque
from ....errors import ArgumentTypeError, DTypeError, ShapeError, safe_repr
from ....tensor import Tensor
from ....tensor.tensor import check_room, check_tensor
from ...creation.factories import tensor, zeros
from ...declaring.half_types import half_to_float32
from ...declaring.windows import Sizes, batched
from ...pointwise.where import _where
from ...shaping.joining import cat
from .average import _avg_pool
from .geometry import check_real, without_added_batch
from .maximum import _max_pool_with_indices, place_maxima, take_maxima

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ....backend.interface import Signature

MOST = 1 << 24
"""The windows along a dimension are listed, so there are no more of them."""


def ranges(size: int, count: int) -> tuple[Sizes, Sizes]:
    """(starts, ends) of *count* windows over *size* elements; raises RuntimeError for more than `MOST`."""
    if count > MOST:
        raise ShapeError(f"adaptive pooling: an output size of {count} is above {MOST}", fix="ask for a smaller size")
    return (
        tuple([part * size // count for part in range(count)]),
        tuple([-(-(part + 1) * size // count) for part in range(count)]),
    )


def _summed_shape(input: Shape, starts: Sizes, ends: Sizes, dim: int) -> Shape:
    return (*input[:dim], len(starts), *input[dim + 1 :])


@composite(dtype=first, structure=Contraction("dim"), shape=_summed_shape, method=False)
def _range_sum(input: Tensor, starts: Sizes, ends: Sizes, dim: int) -> Tensor:
    """Sums over the ranges [start, end) along *dim*; starts and ends rise, no range is empty."""
    shape = _summed_shape(input._array.shape, starts, ends, dim)
    if not math.prod(shape):  # the ranges may be long all the same
        return input.new_empty(shape)
    lengths = [end - start for start, end in zip(starts, ends, strict=True)]
    longest, shortest = max(lengths), min(lengths)
    if len(starts) <= longest:
        parts = [input.narrow(dim, start, end - start) for start, end in zip(starts, ends, strict=True)]
        return cat([part.sum(dim, keepdim=True) for part in parts], dim)
    total = None
    for tap in range(longest):
        places = [min(start + tap, end - 1) for start, end in zip(starts, ends, strict=True)]
        part = input.index_select(dim, tensor(places, dtype=int64, device=input.device))
        if tap >= shortest:
            beyond = tensor([length <= tap for length in lengths], device=input.device)
            part = part.masked_fill(beyond.reshape(-1, *[1] * (input.ndim - dim - 1)), 0)
        total = part if total is None else total.add_(part)
    assert total is not None
    return total


def _containing(starts: Sizes, ends: Sizes, size: int) -> tuple[Sizes, Sizes]:
    """For each of *size* elements the range of those windows that it is in."""
    return (
        tuple([bisect.bisect_right(ends, place) for place in range(size)]),
        tuple([bisect.bisect_right(starts, place) for place in range(size)]),
    )


gradient(
    _range_sum,
    input=lambda g, input_shape, starts, ends, dim: _range_sum(g, *_containing(starts, ends, input_shape[dim]), dim),
)
linear_in(_range_sum, "input")


def _given_shape(input: Shape, size: Sizes) -> tuple[Shape, Shape]:
    return (*input[:2], *size), (*input[:2], *size)


def _with_indices(types: Signature, params: Mapping[str, Any]) -> Typing:
    check_real("adaptive_max_pool", types[0].dtype, floating=True)
    return Typing((None,), (types[0].dtype, int64))


@composite(dtype=_with_indices, structure=opaque, shape=_given_shape, outputs=("out", "indices"), method=False)
def _adaptive_max_pool(input: Tensor, size: Sizes) -> tuple[Tensor, Tensor]:
    """The largest element of each window and its place in the flattened image."""
    # Dimension by dimension, the last first: the first of equal maxima in row-major order remains.
    shape = (*input._array.shape[:2], *size)
    check_room("adaptive_max_pool", shape, input)
    if not math.prod(shape):  # the windows may be long all the same
        return input.new_empty(shape), input.new_empty(shape, dtype=int64)
    best, places, pitch = input, None, 1
    for dim in range(input.ndim - 1, 1, -1):
        have = input._array.shape[dim]
        starts, ends = ranges(have, size[dim - 2])
        most = at = None
        for tap in range(max([end - start for start, end in zip(starts, ends, strict=True)])):
            rows = tensor(
                [min(start + tap, end - 1) for start, end in zip(starts, ends, strict=True)],
                dtype=int64,
                device=input.device,
            )
            value = best.index_select(dim, rows)
            place = (rows * pitch).reshape(-1, *[1] * (input.ndim - dim - 1))
            if places is not None:
                place = place + places.index_select(dim, rows)
            if most is None or at is None:
                most, at = value, place.expand(value.shape)
                continue
            better = (value > most).logical_or(value.isnan())
            most, at = _where(better, value, most), _where(better, place, at)
        assert most is not None
        assert at is not None
        best, places = most, at
        pitch *= have
    assert places is not None
    return best, places.contiguous()


gradient(_adaptive_max_pool, input=lambda grads, indices, input_shape: place_maxima(grads[0], indices, input_shape))
forward(_adaptive_max_pool, lambda input_t, indices: (take_maxima(input_t, indices), None))


def _read_output_size(op: str, count: int, input: Any, output_size: Any) -> tuple[Tensor, Sizes]:
    """The batch that *input* is, or is in, and the size to pool it to."""
    check_tensor(input, op, "input")
    batch = batched(input, op, count)
    size = batch._array.shape[2:]
    given = tuple(output_size) if isinstance(output_size, (tuple, list)) else (output_size,) * count
    numbers = as_ints([0 if want is None else want for want in given])
    if len(given) != count or numbers is None:
        several = {1: "a tuple of an int", 2: "a pair of ints"}.get(count, f"{count} ints")
        error = ShapeError if len(given) != count else ArgumentTypeError
        raise error(
            f"{op}: output_size is {safe_repr(output_size)}, neither an int nor {several}",
            operands={"input": input},
            fix="write a size, or a size for each spatial dimension; None keeps a size",
        )
    wanted = tuple([have if given[dim] is None else numbers[dim] for dim, have in enumerate(size)])
    if min(wanted) < 0 or min(size) < 1:
        raise ShapeError(
            f"{op}: {tuple(size)} cannot be pooled to {wanted}",
            operands={"input": input},
            fix="give sizes of at least 0, and an input that is not empty",
        )
    return batch, wanted


def _without_elements(batch: Tensor, wanted: Sizes, dtype: Any) -> Tensor:
    return zeros(*batch._array.shape[:2], *wanted, dtype=dtype, device=batch.device)


def _adapt_mean(op: str, count: int, input: Tensor, output_size: Any) -> Tensor:
    batch, wanted = _read_output_size(op, count, input, output_size)
    size, dtype = batch._array.shape[2:], batch._type.dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise DTypeError(
            f"{op}: input is {dtype.name}, not floating point", operands={"input": input}, fix="use input.float()"
        )
    if 0 in wanted:
        return without_added_batch(_without_elements(batch, wanted, dtype), input, count)
    if max(wanted) == 1:
        return without_added_batch(batch.mean(tuple(range(2, count + 2)), keepdim=True), input, count)
    check_real(op, dtype)
    kernel = tuple([have // want if have % want == 0 else 1 for have, want in zip(size, wanted, strict=True)])
    if max(kernel) > 1 or all(have % want == 0 for have, want in zip(size, wanted, strict=True)):
        batch = _avg_pool(batch, kernel, kernel, (0,) * count, False, True, None)
    left = [dim for dim in range(count) if size[dim] % wanted[dim]]
    if left:
        check_room(op, (*batch._array.shape[:2], *wanted), batch)
        means = half_to_float32(batch)
        for dim in left:
            starts, ends = ranges(size[dim], wanted[dim])
            lengths = [end - start for start, end in zip(starts, ends, strict=True)]
            divisors = tensor(lengths, dtype=means.dtype, device=means.device)
            means = _range_sum(means, starts, ends, dim + 2) / divisors.reshape(-1, *[1] * (count - dim - 1))
        batch = means.to(dtype)
    return without_added_batch(batch, input, count)


@function(method=False, namespace="nn.functional")
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows chosen so that the result has *output_size* elements; see `adaptive_avg_pool2d`.

    Shapes: input (N, C, L) or (C, L) -> the same with *output_size* for L.

    >>> import polyad
    >>> polyad.nn.functional.adaptive_avg_pool1d(polyad.tensor([[1.0, 2.0, 6.0]]), 2)
    tensor([[1.5000, 4.0000]])
    """
    return _adapt_mean("adaptive_avg_pool1d", 1, input, output_size)


@function(method=False, namespace="nn.functional")
def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows chosen so that the result has *output_size*.

    Window i of n covers [i * H // n, ceil((i + 1) * H / n)).

    Shapes: input (N, C, H, W) or (C, H, W), floating point -> the same with the sizes (OH, OW) of *output_size*; None
    keeps a size.

    Raises RuntimeError for negative sizes and another number of them, TypeError for sizes that are no ints.

    >>> import polyad
    >>> polyad.nn.functional.adaptive_avg_pool2d(polyad.arange(6.0).reshape(1, 2, 3), (1, 2))
    tensor([[[2., 3.]]])
    """
    return _adapt_mean("adaptive_avg_pool2d", 2, input, output_size)


@function(method=False, namespace="nn.functional")
def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """Means over windows chosen so that the result has *output_size*; see `adaptive_avg_pool2d`.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with the three sizes of *output_size*.

    >>> import polyad
    >>> polyad.nn.functional.adaptive_avg_pool3d(polyad.arange(6.0).reshape(1, 1, 2, 3), (1, 1, 2))
    tensor([[[[2., 3.]]]])
    """
    return _adapt_mean("adaptive_avg_pool3d", 3, input, output_size)


def _adapt_largest(op: str, count: int, input: Tensor, output_size: Any, return_indices: Any) -> Any:
    batch, wanted = _read_output_size(op, count, input, output_size)
    size, dtype = batch._array.shape[2:], batch._type.dtype
    check_real(op, dtype, floating=True)
    if 0 in input._array.shape[1:]:
        raise ShapeError(f"{op}: only the batch may be empty", operands={"input": input}, fix="give an element to pool")
    if 0 in wanted:
        found = _without_elements(batch, wanted, dtype), _without_elements(batch, wanted, int64)
    elif all(have % want == 0 for have, want in zip(size, wanted, strict=True)):
        kernel = tuple([have // want for have, want in zip(size, wanted, strict=True)])
        found = _max_pool_with_indices(batch, kernel, kernel, (0,) * count, (1,) * count, False)
    else:
        found = _adaptive_max_pool(batch, wanted)
    out, indices = [without_added_batch(tensor, input, count) for tensor in found]
    return (out, indices) if return_indices else out


@function(method=False, namespace="nn.functional")
def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows chosen so that the result has *output_size* elements; see `adaptive_max_pool2d`.

    Shapes: input (N, C, L) or (C, L) -> the same with *output_size* for L.

    >>> import polyad
    >>> polyad.nn.functional.adaptive_max_pool1d(polyad.tensor([[1.0, 2.0, 0.0]]), 2)
    tensor([[2., 2.]])
    """
    return _adapt_largest("adaptive_max_pool1d", 1, input, output_size, return_indices)


@function(method=False, namespace="nn.functional")
def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows chosen so that the result has *output_size*.

    Window i of n covers [i * H // n, ceil((i + 1) * H / n)).

    Shapes: input (N, C, H, W) or (C, H, W), floating point -> the same with the sizes (OH, OW) of *output_size*; None
    keeps a size. With *return_indices* the result is (maxima, int64 places in the flattened image).

    Raises RuntimeError for negative sizes, another number of them and other dtypes, TypeError for sizes that are no
    ints.

    >>> import polyad
    >>> polyad.nn.functional.adaptive_max_pool2d(polyad.arange(6.0).reshape(1, 2, 3), (1, 2), return_indices=True)
    (tensor([[[4., 5.]]]), tensor([[[4, 5]]]))
    """
    return _adapt_largest("adaptive_max_pool2d", 2, input, output_size, return_indices)


@function(method=False, namespace="nn.functional")
def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """Maxima over windows chosen so that the result has *output_size*; see `adaptive_max_pool2d`.

    Shapes: input (N, C, D, H, W) or (C, D, H, W) -> the same with the three sizes of *output_size*.

    >>> import polyad
    >>> polyad.nn.functional.adaptive_max_pool3d(polyad.arange(6.0).reshape(1, 1, 2, 3), (1, 1, 2))
    tensor([[[[4., 5.]]]])
    """
    return _adapt_largest("adaptive_max_pool3d", 3, input, output_size, return_indices)


# PyTorch shows these in its main namespace, too.
alias("adaptive_avg_pool1d", adaptive_avg_pool1d, namespace="")
