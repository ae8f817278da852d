"""The discrete Fourier transforms of `polyad.fft`.

A function checks and normalises (sizes, dims, norm), pads with zeros or cuts to the sizes asked for, and calls one of
the ops of dft.py. Real input of a complex transform stays real until there: its kernel knows how to use that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.layout import normalize_dim, normalize_shape
from ...dispatch.op import function
from ...errors import ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..indexing.slicing import _slice
from ..nn.padding import _pad_constant
from ..pointwise.arithmetic import conjugate
from .dft import SWAPPED, _fft_c2c, _fft_c2r, _fft_r2c

if TYPE_CHECKING:
    from collections.abc import Sequence


# ------------------------------------------------------------------------------------------------------- arguments


def _norm(norm: Any, op: str) -> str:
    if norm is None:
        return "backward"
    if norm not in SWAPPED:
        raise ShapeError(f"{op}: norm is {safe_repr(norm)}", fix="use 'backward', 'forward', 'ortho' or None")
    return str(norm)


def _along_dim(input: Tensor, n: int | None, dim: int, op: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dims and sizes of a transform along one dimension."""
    ndim = check_tensor(input, op, "input").ndim
    at = normalize_dim(dim, ndim, op)
    if not ndim:
        raise IndexOutOfRange(f"{op}: a 0-d tensor has no dimension", operands={"input": input}, fix="unsqueeze it")
    return (at,), (input._array.shape[at] if n is None else normalize_shape((n,), op)[0],)


def _several(input: Tensor, s: Any, dim: Any, op: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The dims and sizes of a transform along several dimensions; a size of -1 is input's own."""
    shape = check_tensor(input, op, "input")._array.shape
    given = None if s is None else normalize_shape((s,), op)
    if given is not None and len(given) > len(shape):
        raise ShapeError(
            f"{op}: s {given} has more sizes than there are dimensions",
            operands={"input": input},
            fix="give a size for each transformed dimension",
        )
    if dim is None:
        dims = tuple(range(len(shape) - len(given), len(shape))) if given is not None else tuple(range(len(shape)))
    else:
        dims = tuple([normalize_dim(named, len(shape), op) for named in normalize_shape((dim,), op)])
        if len(set(dims)) != len(dims):
            raise ShapeError(
                f"{op}: dim {dim} names a dimension twice", operands={"input": input}, fix="name each dimension once"
            )
        if given is not None and len(given) != len(dims):
            raise ShapeError(
                f"{op}: s {given} and dim {dim} differ in length", operands={"input": input}, fix="give a size a dim"
            )
    sizes = tuple([shape[at] for at in dims])
    if given is not None:
        sizes = tuple([have if size == -1 else size for size, have in zip(given, sizes, strict=True)])
    return dims, sizes


def _fitted(input: Tensor, dims: tuple[int, ...], sizes: tuple[int, ...], op: str) -> Tensor:
    """*input* cut, or padded with zeros at the end, to *sizes* along *dims*."""
    for dim, size in zip(dims, sizes, strict=True):
        _check_points(size, dim, input, op)
    pads = [0] * (2 * input.ndim)
    for dim, size in zip(dims, sizes, strict=True):
        have = input._array.shape[dim]
        if size < have:
            input = _slice(input, dim, 0, size, 1)
        pads[2 * dim + 1] = max(0, size - have)
    return _pad_constant(input, tuple(pads), 0) if any(pads) else input


def _check_points(size: int, dim: int, input: Tensor, op: str) -> None:
    if size < 1:
        raise ShapeError(
            f"{op}: {size} points along dimension {dim}", operands={"input": input}, fix="ask for 1 or more"
        )


def _check_real(input: Tensor, op: str) -> Tensor:
    if input._type.dtype.is_complex:
        raise DTypeError(
            f"{op}: input is complex, this is a transform of real numbers",
            operands={"input": input},
            fix=f"use {op.replace('ihfft', 'ifft').replace('rfft', 'fft')}",
        )
    return input


def _check_some(dims: tuple[int, ...], input: Tensor, op: str) -> None:
    if not dims:
        raise ShapeError(
            f"{op}: no dimension is named", operands={"input": input}, fix="name a dimension or more in dim"
        )


def _c2c(op: str, input: Tensor, where: Any, norm: Any, forward: bool) -> Tensor:
    dims, sizes = where
    return _fft_c2c(_fitted(input, dims, sizes, op), dims, _norm(norm, op), forward)


def _r2c(op: str, input: Tensor, where: Any, norm: Any, forward: bool) -> Tensor:
    dims, sizes = where
    _check_some(dims, input, op)
    scaling = _norm(norm, op)
    fitted = _fitted(_check_real(input, op), dims, sizes, op)
    return _fft_r2c(fitted, dims, scaling) if forward else conjugate(_fft_r2c(fitted, dims, SWAPPED[scaling]))


def _c2r(op: str, input: Tensor, where: Any, given: bool, norm: Any, forward: bool) -> Tensor:
    """*given* says whether the last size is the result's; else it is that of half a spectrum with an even whole."""
    dims, sizes = where
    _check_some(dims, input, op)
    scaling, last = _norm(norm, op), sizes[-1] if given else 2 * (sizes[-1] - 1)
    _check_points(last, dims[-1], input, op)
    fitted = _fitted(input, dims, (*sizes[:-1], last // 2 + 1), op)
    if forward:
        return _fft_c2r(conjugate(fitted), dims, SWAPPED[scaling], last)
    return _fft_c2r(fitted, dims, scaling, last)


def _last_given(s: Any) -> bool:
    """Whether the last of the sizes *s* is given; -1 stands for "as it is"."""
    return bool(s is not None and len(s) and s[-1] != -1)


def _sizes(s: Any, op: str) -> Any:
    if s is None or isinstance(s, (tuple, list)):
        return s
    if isinstance(s, int):
        return (s,)
    raise ArgumentTypeError(
        f"{op}: s is {safe_repr(s)}, no list of sizes", fix="give a size for each transformed dimension"
    )


# --------------------------------------------------------------------------------------------------- one dimension


@function(namespace="fft")
def fft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The discrete Fourier transform along one dimension: sum over j of ``input[j] exp(-2 pi i j k / n)``.

    The result is complex. *n* points: input is cut or padded with zeros to that. norm "backward" (None) divides
    nothing, "ortho" by sqrt(n), "forward" by n. Raises RuntimeError for n below 1, an unknown norm or float16.

    >>> import polyad
    >>> polyad.fft.fft(polyad.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """
    return _c2c("fft", input, _along_dim(input, n, dim, "fft"), norm, True)


@function(namespace="fft")
def ifft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `fft`: norm "backward" (None) divides by n, "ortho" by sqrt(n), "forward" nothing.

    >>> import polyad
    >>> polyad.fft.ifft(polyad.tensor([10 + 0j, -2 + 2j, -2 + 0j, -2 - 2j]))
    tensor([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j])
    """
    return _c2c("ifft", input, _along_dim(input, n, dim, "ifft"), norm, False)


@function(namespace="fft")
def rfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The first n // 2 + 1 points of the `fft` of a real tensor; the others are their conjugates.

    Raises RuntimeError for a complex tensor, and as `fft`.

    >>> import polyad
    >>> polyad.fft.rfft(polyad.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    return _r2c("rfft", input, _along_dim(input, n, dim, "rfft"), norm, True)


@function(namespace="fft")
def irfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `rfft`: *n* real points, by default an even number, from the first half of their spectrum.

    Raises RuntimeError as `fft`.

    >>> import polyad
    >>> polyad.fft.irfft(polyad.tensor([10 + 0j, -2 + 2j, -2 + 0j]))
    tensor([1., 2., 3., 4.])
    """
    return _c2r("irfft", input, _along_dim(input, n, dim, "irfft"), n is not None, norm, False)


@function(namespace="fft")
def hfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The real `fft` of a signal whose second half is the conjugate of the first, which is given.

    *n* points, by default an even number. Raises RuntimeError as `fft`.

    >>> import polyad
    >>> polyad.fft.hfft(polyad.tensor([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """
    return _c2r("hfft", input, _along_dim(input, n, dim, "hfft"), n is not None, norm, True)


@function(namespace="fft")
def ihfft(
    input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
) -> Tensor:
    """The inverse of `hfft`: the first n // 2 + 1 points of the `ifft` of a real tensor.

    Raises RuntimeError for a complex tensor, and as `fft`.

    >>> import polyad
    >>> polyad.fft.ihfft(polyad.tensor([8.0, -2.0, 0.0, -2.0]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j])
    """
    return _r2c("ihfft", input, _along_dim(input, n, dim, "ihfft"), norm, False)


# ---------------------------------------------------------------------------------------------- several dimensions


@function(namespace="fft")
def fftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The discrete Fourier transform along several dimensions: *dim*, or as many last ones as *s* has sizes, or all.

    *s* are the points along each; -1 is input's own size. See `fft` for norm, which counts all points together. Raises
    RuntimeError if s and dim differ in length, a dimension is named twice, or a size is below 1.

    >>> import polyad
    >>> polyad.fft.fftn(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return _c2c("fftn", input, _several(input, _sizes(s, "fftn"), dim, "fftn"), norm, True)


@function(namespace="fft")
def ifftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `fftn`.

    >>> import polyad
    >>> polyad.fft.ifftn(polyad.tensor([[10.0, -2.0], [-4.0, 0.0]]))
    tensor([[1.+0.j, 2.+0.j],
            [3.+0.j, 4.+0.j]])
    """
    return _c2c("ifftn", input, _several(input, _sizes(s, "ifftn"), dim, "ifftn"), norm, False)


@function(namespace="fft")
def rfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The `fftn` of a real tensor; of the last transformed dimension only the first half.

    Raises RuntimeError for a complex tensor or no dimension, and as `fftn`.

    >>> import polyad
    >>> polyad.fft.rfftn(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """
    return _r2c("rfftn", input, _several(input, _sizes(s, "rfftn"), dim, "rfftn"), norm, True)


@function(namespace="fft")
def irfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `rfftn`; the last transformed dimension has by default an even number of points.

    >>> import polyad
    >>> polyad.fft.irfftn(polyad.fft.rfftn(polyad.ones(2, 4)))
    tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]])
    """
    where = _several(input, _sizes(s, "irfftn"), dim, "irfftn")
    return _c2r("irfftn", input, where, _last_given(_sizes(s, "irfftn")), norm, False)


@function(namespace="fft")
def hfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The real `fftn` of a signal that is Hermitian along the last transformed dimension, of which the first half is
    given.

    >>> import polyad
    >>> polyad.fft.hfftn(polyad.ones(2, 3)).shape
    polyad.Size([2, 4])
    """
    where = _several(input, _sizes(s, "hfftn"), dim, "hfftn")
    return _c2r("hfftn", input, where, _last_given(_sizes(s, "hfftn")), norm, True)


@function(namespace="fft")
def ihfftn(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] | None = None,
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """The inverse of `hfftn`: the `ifftn` of a real tensor; of the last transformed dimension only the first half.

    Raises RuntimeError for a complex tensor or no dimension, and as `fftn`.

    >>> import polyad
    >>> polyad.fft.ihfftn(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """
    return _r2c("ihfftn", input, _several(input, _sizes(s, "ihfftn"), dim, "ihfftn"), norm, False)


# --------------------------------------------------------------------------------------------------- two dimensions


@function(namespace="fft")
def fft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`fftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.fft2(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """
    return _c2c("fft2", input, _several(input, _sizes(s, "fft2"), dim, "fft2"), norm, True)


@function(namespace="fft")
def ifft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`ifftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.ifft2(polyad.tensor([[10.0, -2.0], [-4.0, 0.0]]))
    tensor([[1.+0.j, 2.+0.j],
            [3.+0.j, 4.+0.j]])
    """
    return _c2c("ifft2", input, _several(input, _sizes(s, "ifft2"), dim, "ifft2"), norm, False)


@function(namespace="fft")
def rfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`rfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.rfft2(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """
    return _r2c("rfft2", input, _several(input, _sizes(s, "rfft2"), dim, "rfft2"), norm, True)


@function(namespace="fft")
def irfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`irfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.irfft2(polyad.fft.rfft2(polyad.ones(1, 3)), s=(1, 3))
    tensor([[1., 1., 1.]])
    """
    where = _several(input, _sizes(s, "irfft2"), dim, "irfft2")
    return _c2r("irfft2", input, where, _last_given(_sizes(s, "irfft2")), norm, False)


@function(namespace="fft")
def hfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`hfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.hfft2(polyad.ones(2, 3)).shape
    polyad.Size([2, 4])
    """
    where = _several(input, _sizes(s, "hfft2"), dim, "hfft2")
    return _c2r("hfft2", input, where, _last_given(_sizes(s, "hfft2")), norm, True)


@function(namespace="fft")
def ihfft2(
    input: Tensor,
    s: Sequence[int] | None = None,
    dim: int | Sequence[int] = (-2, -1),
    norm: str | None = None,
    *,
    out: Tensor | None = None,
) -> Tensor:
    """`ihfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.ihfft2(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """
    return _r2c("ihfft2", input, _several(input, _sizes(s, "ihfft2"), dim, "ihfft2"), norm, False)
