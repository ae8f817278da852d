"""The discrete Fourier transforms of `polyad.fft`.

A function checks and normalises (sizes, dims, norm), pads with zeros or cuts to the sizes asked for, and calls one of
the ops of dft.py. Real input of a complex transform stays real until there: its kernel knows how to use that.

The functions are a table: name, which of three kinds of transform (`_c2c`, `_r2c`, `_c2r`), whether it is a forward
one, docstring. `_along_one` and `_along_several` give them their parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ...base.shapes_and_strides import normalize_dim, normalize_shape
from ...dispatch.op import function
from ...errors import ArgumentTypeError, DTypeError, IndexOutOfRange, ShapeError, safe_repr
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..declaring.checks import check_choice, check_distinct
from ..declaring.named import named
from ..indexing.slicing import _slice
from ..nn.padding import _pad_constant
from ..pointwise.arithmetic import conjugate
from .dft import SWAPPED, _fft_c2c, _fft_c2r, _fft_r2c

Where = tuple[tuple[int, ...], tuple[int, ...]]
"""The dims of a transform, and the points along each."""

Transform = Callable[[str, Tensor, Where, bool, Any, bool], Tensor]
"""``transform(op, input, where, given, norm, forward)``; *given* says whether the user gave the last size."""


# ------------------------------------------------------------------------------------------------------- arguments


def _norm(norm: Any, op: str) -> str:
    if norm is None:
        return "backward"
    check_choice(op, "norm", norm, SWAPPED, ShapeError, fix="use 'backward', 'forward', 'ortho' or None")
    return str(norm)


def _along_dim(input: Tensor, n: int | None, dim: int, op: str) -> Where:
    """The dims and sizes of a transform along one dimension."""
    ndim = check_tensor(input, op, "input").ndim
    at = normalize_dim(dim, ndim, op)
    if not ndim:
        raise IndexOutOfRange(f"{op}: a 0-d tensor has no dimension", operands={"input": input}, fix="unsqueeze it")
    return (at,), (input._array.shape[at] if n is None else normalize_shape((n,), op)[0],)


def _several(input: Tensor, s: Any, dim: Any, op: str) -> Where:
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
        check_distinct(op, dims, dim, {"input": input})
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


def _c2c(op: str, input: Tensor, where: Where, given: bool, norm: Any, forward: bool) -> Tensor:
    dims, sizes = where
    return _fft_c2c(_fitted(input, dims, sizes, op), dims, _norm(norm, op), forward)


def _r2c(op: str, input: Tensor, where: Where, given: bool, norm: Any, forward: bool) -> Tensor:
    dims, sizes = where
    _check_some(dims, input, op)
    scaling = _norm(norm, op)
    fitted = _fitted(_check_real(input, op), dims, sizes, op)
    return _fft_r2c(fitted, dims, scaling) if forward else conjugate(_fft_r2c(fitted, dims, SWAPPED[scaling]))


def _c2r(op: str, input: Tensor, where: Where, given: bool, norm: Any, forward: bool) -> Tensor:
    """*given* says whether the last size is the result's; else it is that of half a spectrum with an even whole."""
    dims, sizes = where
    _check_some(dims, input, op)
    scaling, last = _norm(norm, op), sizes[-1] if given else 2 * (sizes[-1] - 1)
    _check_points(last, dims[-1], input, op)
    fitted = _fitted(input, dims, (*sizes[:-1], last // 2 + 1), op)
    if forward:
        return _fft_c2r(conjugate(fitted), dims, SWAPPED[scaling], last)
    return _fft_c2r(fitted, dims, scaling, last)


def _read_sizes(s: Any, op: str) -> Any:
    if s is None or isinstance(s, (tuple, list)):
        return s
    if isinstance(s, int):
        return (s,)
    raise ArgumentTypeError(
        f"{op}: s is {safe_repr(s)}, no list of sizes", fix="give a size for each transformed dimension"
    )


# ------------------------------------------------------------------------------------------------------ parameters


class AlongOne(Protocol):
    """A transform along one dimension."""

    def __call__(
        self, input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor: ...


class AlongSeveral(Protocol):
    """A transform along several dimensions."""

    def __call__(
        self,
        input: Tensor,
        s: Sequence[int] | None = None,
        dim: int | Sequence[int] | None = ...,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor: ...


def _along_one(name: str, transform: Transform, forward: bool, doc: str) -> AlongOne:
    def definition(
        input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None, *, out: Tensor | None = None
    ) -> Tensor:
        return transform(name, input, _along_dim(input, n, dim, name), n is not None, norm, forward)

    return function(namespace="fft")(named(definition, name, doc))


def _along_several(
    name: str, transform: Transform, forward: bool, doc: str, dims: tuple[int, ...] | None = None
) -> AlongSeveral:
    """*dims* are those that are transformed if the user names none."""

    def definition(
        input: Tensor,
        s: Sequence[int] | None = None,
        dim: int | Sequence[int] | None = dims,
        norm: str | None = None,
        *,
        out: Tensor | None = None,
    ) -> Tensor:
        sizes = _read_sizes(s, name)
        given = sizes is not None and len(sizes) > 0 and sizes[-1] != -1  # -1 stands for "as it is"
        return transform(name, input, _several(input, sizes, dim, name), given, norm, forward)

    if dims is not None:
        definition.__annotations__["dim"] = "int | Sequence[int]"
    return function(namespace="fft")(named(definition, name, doc))


# --------------------------------------------------------------------------------------------------- one dimension

fft = _along_one(
    "fft", _c2c, True,
    """The discrete Fourier transform along one dimension: sum over j of ``input[j] exp(-2 pi i j k / n)``.

    The result is complex. *n* points: input is cut or padded with zeros to that. norm "backward" (None) divides
    nothing, "ortho" by sqrt(n), "forward" by n. Raises RuntimeError for n below 1, an unknown norm or float16.

    >>> import polyad
    >>> polyad.fft.fft(polyad.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j, -2.-2.j])
    """,
)  # fmt: skip
ifft = _along_one(
    "ifft", _c2c, False,
    """The inverse of `fft`: norm "backward" (None) divides by n, "ortho" by sqrt(n), "forward" nothing.

    >>> import polyad
    >>> polyad.fft.ifft(polyad.tensor([10 + 0j, -2 + 2j, -2 + 0j, -2 - 2j]))
    tensor([1.+0.j, 2.+0.j, 3.+0.j, 4.+0.j])
    """,
)  # fmt: skip
rfft = _along_one(
    "rfft", _r2c, True,
    """The first n // 2 + 1 points of the `fft` of a real tensor; the others are their conjugates.

    Raises RuntimeError for a complex tensor, and as `fft`.

    >>> import polyad
    >>> polyad.fft.rfft(polyad.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """,
)  # fmt: skip
irfft = _along_one(
    "irfft", _c2r, False,
    """The inverse of `rfft`: *n* real points, by default an even number, from the first half of their spectrum.

    Raises RuntimeError as `fft`.

    >>> import polyad
    >>> polyad.fft.irfft(polyad.tensor([10 + 0j, -2 + 2j, -2 + 0j]))
    tensor([1., 2., 3., 4.])
    """,
)  # fmt: skip
hfft = _along_one(
    "hfft", _c2r, True,
    """The real `fft` of a signal whose second half is the conjugate of the first, which is given.

    *n* points, by default an even number. Raises RuntimeError as `fft`.

    >>> import polyad
    >>> polyad.fft.hfft(polyad.tensor([1.0, 2.0, 3.0]))
    tensor([ 8., -2.,  0., -2.])
    """,
)  # fmt: skip
ihfft = _along_one(
    "ihfft", _r2c, False,
    """The inverse of `hfft`: the first n // 2 + 1 points of the `ifft` of a real tensor.

    Raises RuntimeError for a complex tensor, and as `fft`.

    >>> import polyad
    >>> polyad.fft.ihfft(polyad.tensor([8.0, -2.0, 0.0, -2.0]))
    tensor([1.-0.j, 2.-0.j, 3.-0.j])
    """,
)  # fmt: skip

# ---------------------------------------------------------------------------------------------- several dimensions

fftn = _along_several(
    "fftn", _c2c, True,
    """The discrete Fourier transform along several dimensions: *dim*, or as many last ones as *s* has sizes, or all.

    *s* are the points along each; -1 is input's own size. See `fft` for norm, which counts all points together. Raises
    RuntimeError if s and dim differ in length, a dimension is named twice, or a size is below 1.

    >>> import polyad
    >>> polyad.fft.fftn(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """,
)  # fmt: skip
ifftn = _along_several(
    "ifftn", _c2c, False,
    """The inverse of `fftn`.

    >>> import polyad
    >>> polyad.fft.ifftn(polyad.tensor([[10.0, -2.0], [-4.0, 0.0]]))
    tensor([[1.+0.j, 2.+0.j],
            [3.+0.j, 4.+0.j]])
    """,
)  # fmt: skip
rfftn = _along_several(
    "rfftn", _r2c, True,
    """The `fftn` of a real tensor; of the last transformed dimension only the first half.

    Raises RuntimeError for a complex tensor or no dimension, and as `fftn`.

    >>> import polyad
    >>> polyad.fft.rfftn(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """,
)  # fmt: skip
irfftn = _along_several(
    "irfftn", _c2r, False,
    """The inverse of `rfftn`; the last transformed dimension has by default an even number of points.

    >>> import polyad
    >>> polyad.fft.irfftn(polyad.fft.rfftn(polyad.ones(2, 4)))
    tensor([[1., 1., 1., 1.],
            [1., 1., 1., 1.]])
    """,
)  # fmt: skip
hfftn = _along_several(
    "hfftn", _c2r, True,
    """The real `fftn` of a signal that is Hermitian along the last transformed dimension, of which the first half is
    given.

    >>> import polyad
    >>> polyad.fft.hfftn(polyad.ones(2, 3)).shape
    polyad.Size([2, 4])
    """,
)  # fmt: skip
ihfftn = _along_several(
    "ihfftn", _r2c, False,
    """The inverse of `hfftn`: the `ifftn` of a real tensor; of the last transformed dimension only the first half.

    Raises RuntimeError for a complex tensor or no dimension, and as `fftn`.

    >>> import polyad
    >>> polyad.fft.ihfftn(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """,
)  # fmt: skip

# --------------------------------------------------------------------------------------------------- two dimensions

fft2 = _along_several(
    "fft2", _c2c, True,
    """`fftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.fft2(polyad.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[10.+0.j, -2.+0.j],
            [-4.+0.j,  0.+0.j]])
    """,
    (-2, -1),
)  # fmt: skip
ifft2 = _along_several(
    "ifft2", _c2c, False,
    """`ifftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.ifft2(polyad.tensor([[10.0, -2.0], [-4.0, 0.0]]))
    tensor([[1.+0.j, 2.+0.j],
            [3.+0.j, 4.+0.j]])
    """,
    (-2, -1),
)  # fmt: skip
rfft2 = _along_several(
    "rfft2", _r2c, True,
    """`rfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.rfft2(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """,
    (-2, -1),
)  # fmt: skip
irfft2 = _along_several(
    "irfft2", _c2r, False,
    """`irfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.irfft2(polyad.fft.rfft2(polyad.ones(1, 3)), s=(1, 3))
    tensor([[1., 1., 1.]])
    """,
    (-2, -1),
)  # fmt: skip
hfft2 = _along_several(
    "hfft2", _c2r, True,
    """`hfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.hfft2(polyad.ones(2, 3)).shape
    polyad.Size([2, 4])
    """,
    (-2, -1),
)  # fmt: skip
ihfft2 = _along_several(
    "ihfft2", _r2c, False,
    """`ihfftn` along the last two dimensions.

    >>> import polyad
    >>> polyad.fft.ihfft2(polyad.ones(2, 4)).shape
    polyad.Size([2, 3])
    """,
    (-2, -1),
)  # fmt: skip
