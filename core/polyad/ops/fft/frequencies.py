"""The frequencies that a transform's points stand for, and moving frequency 0 to the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.dtypes import DType, get_default_dtype
from ...base.memory_formats import check_layout
from ...base.shapes_and_strides import normalize_dim, normalize_shape
from ...devices import registry
from ...dispatch.op import function
from ...errors import DTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _arange, with_options
from ..shaping.flipping import _roll
from ..shaping.joining import _cat

if TYPE_CHECKING:
    from collections.abc import Sequence


def _spacing(op: str, n: Any, d: float, dtype: DType | None, layout: Any, device: Any) -> tuple[int, float, DType, Any]:
    check_layout(layout, op)
    (count,) = normalize_shape((n,), op)
    if count < 0:
        raise ShapeError(f"{op}: n is {count}, negative", fix="give the number of points of the transform")
    dtype = dtype or get_default_dtype()
    if not dtype.is_floating_point:
        raise DTypeError(f"{op}: frequencies are floating point numbers, not {dtype.name}", fix="use a float dtype")
    span = count * d
    return count, 1 / span if span else float("inf") if count else float("nan"), dtype, registry.resolve_device(device)


@function(method=False, namespace="fft", sequence=True)
def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """The frequencies of the *n* points of `fft` of samples *d* apart: 0, 1, ..., then the negative ones, over n d.

    Raises RuntimeError for a negative n or a dtype that is not floating point.

    >>> import polyad
    >>> polyad.fft.fftfreq(5)
    tensor([ 0.0000,  0.2000,  0.4000, -0.4000, -0.2000])
    """
    count, step, dtype, where = _spacing("fftfreq", n, d, dtype, layout, device)
    below = (count + 1) // 2
    frequencies = (
        _cat([_arange(0, 1, below, dtype, where), _arange(below - count, 1, count - below, dtype, where)], 0) * step
    )
    return with_options(frequencies, requires_grad, pin_memory)


@function(method=False, namespace="fft", sequence=True)
def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    out: Tensor | None = None,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
) -> Tensor:
    """The frequencies of the n // 2 + 1 points of `rfft` of *n* samples *d* apart.

    Raises RuntimeError for a negative n or a dtype that is not floating point.

    >>> import polyad
    >>> polyad.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    count, step, dtype, where = _spacing("rfftfreq", n, d, dtype, layout, device)
    frequencies = _arange(0, 1, count // 2 + 1, dtype, where) * step
    return with_options(frequencies, requires_grad, pin_memory)


def _shifted(op: str, input: Tensor, dim: Any, sign: int) -> Tensor:
    shape = check_tensor(input, op, "input")._array.shape
    named = range(len(shape)) if dim is None else normalize_shape((dim,), op)
    dims = tuple([normalize_dim(at, len(shape), op) for at in named])  # a dimension named twice is moved twice
    if not shape:
        return input.clone()
    return _roll(input, tuple([shape[at] // 2 if sign > 0 else (shape[at] + 1) // 2 for at in dims]), dims)


@function(method=False, namespace="fft")
def fftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The zero frequency moved to the middle of each of *dim*, all dimensions unless given.

    >>> import polyad
    >>> polyad.fft.fftshift(polyad.fft.fftfreq(5))
    tensor([-0.4000, -0.2000,  0.0000,  0.2000,  0.4000])
    """
    return _shifted("fftshift", input, dim, 1)


@function(method=False, namespace="fft")
def ifftshift(input: Tensor, dim: int | Sequence[int] | None = None) -> Tensor:
    """The inverse of `fftshift`: the middle moved to the beginning.

    >>> import polyad
    >>> polyad.fft.ifftshift(polyad.tensor([-2, -1, 0, 1, 2]))
    tensor([ 0,  1,  2, -2, -1])
    """
    return _shifted("ifftshift", input, dim, -1)
