"""Creation functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import functions
from ..base.device import Device
from ..base.dtypes import DType, get_default_dtype
from ..errors import ArgumentError
from ..functions import (
    empty_like as empty_like,
    full_like as full_like,
    ones_like as ones_like,
    zeros_like as zeros_like,
)
from ..tensor import Tensor

Number = bool | int | float | complex


def asarray(
    obj: Any, /, *, dtype: DType | None = None, device: Device | None = None, copy: bool | None = None
) -> Tensor:
    """A tensor of *obj*: a tensor, numbers, nested sequences, or an object that shares memory; *copy* False forbids it.

    Raises ValueError where *copy* is False and a copy is needed.

    >>> from polyad import array_api as xp
    >>> xp.asarray([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    if copy is False and not (hasattr(obj, "__dlpack__") or hasattr(obj, "__array__")):
        raise ArgumentError(
            f"asarray: {type(obj).__name__} can only be copied, but copy=False", fix="allow the copy: copy=None"
        )
    if copy is False and isinstance(obj, Tensor) and dtype not in (None, obj.dtype):
        raise ArgumentError(
            "asarray: another dtype needs a copy, but copy=False",
            operands={"obj": obj},
            fix="allow the copy: copy=None",
        )
    return functions.asarray(obj, dtype=dtype, device=device, copy=copy)


def from_dlpack(x: Any, /, *, device: Device | None = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array; see `polyad.from_dlpack`."""
    from ..interop import dlpack

    return dlpack.from_dlpack(x, device=device, copy=copy)


def arange(
    start: float,
    /,
    stop: float | None = None,
    step: float = 1,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """start, start + step, ... below *stop*; nothing if *step* leads away from it.

    >>> from polyad import array_api as xp
    >>> xp.arange(3, 0)
    tensor([], dtype=polyad.int64)
    """
    if stop is None:
        start, stop = 0, start
    if step and (stop - start) * step < 0:
        # An empty range, which polyad.arange takes for a mistake; its dtype follows from the numbers all the same.
        start = stop = float(start) if isinstance(stop, float) else start
    return functions.arange(start, stop, step, dtype=dtype, device=device)


def linspace(
    start: complex,
    stop: complex,
    /,
    num: int,
    *,
    dtype: DType | None = None,
    device: Device | None = None,
    endpoint: bool = True,
) -> Tensor:
    """*num* numbers from *start* to *stop*, which is the last number unless *endpoint* is False.

    >>> from polyad import array_api as xp
    >>> xp.linspace(0, 1, 4, endpoint=False)
    tensor([0.0000, 0.2500, 0.5000, 0.7500])
    """
    if endpoint:
        return functions.linspace(start, stop, num, dtype=dtype, device=device)
    return functions.linspace(start, stop, num + 1, dtype=dtype, device=device)[:-1]


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DType | None = None,
    device: Device | None = None,
) -> Tensor:
    """Ones on the *k*-th diagonal, zeros elsewhere.

    >>> from polyad import array_api as xp
    >>> xp.eye(2, 3, k=1)
    tensor([[0., 1., 0.],
            [0., 0., 1.]])
    """
    cols = n_rows if n_cols is None else n_cols
    rows = functions.arange(n_rows, device=device).unsqueeze(1)
    ones = functions.arange(cols, device=device) == rows + k
    return ones.to(dtype or get_default_dtype())


def full(
    shape: int | Sequence[int], fill_value: Number, *, dtype: DType | None = None, device: Device | None = None
) -> Tensor:
    """A tensor filled with *fill_value*."""
    return functions.full(_shape(shape), fill_value, dtype=dtype, device=device)


def empty(shape: int | Sequence[int], *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor whose elements are not set."""
    return functions.empty(_shape(shape), dtype=dtype, device=device)


def ones(shape: int | Sequence[int], *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of ones."""
    return functions.ones(_shape(shape), dtype=dtype, device=device)


def zeros(shape: int | Sequence[int], *, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """A tensor of zeros."""
    return functions.zeros(_shape(shape), dtype=dtype, device=device)


def _shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    return (shape,) if isinstance(shape, int) else tuple(shape)


def meshgrid(*arrays: Tensor, indexing: str = "xy") -> list[Tensor]:
    """Coordinate tensors, of one-dimensional tensors.

    Raises RuntimeError for an *indexing* other than "xy" and "ij".
    """
    return list(functions.meshgrid(*arrays, indexing=indexing))


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and below the *k*-th diagonal, zeros above."""
    return functions.tril(x, k)


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """The elements on and above the *k*-th diagonal, zeros below."""
    return functions.triu(x, k)
