"""Where the elements are that are not zero. How many there are only the data can tell, so shapes follow from it."""

from __future__ import annotations

from typing import Any

from ...dispatch.op import function, primitive
from ...dispatch.promotion import to_int64
from ...dispatch.structure import opaque
from ...errors import ShapeError
from ...layout import Shape
from ...tensor import Tensor, check_tensor
from ..nn.padding import pad


def _places(shape: Shape) -> Shape:
    return (-1, len(shape))  # how many there are, only the data can tell


@primitive(dtype=to_int64, structure=opaque, shape=_places, method=False)
def _nonzero(input: Tensor) -> Tensor:
    """The indices of all elements that are not zero, a row an element, in row-major order."""


@function()
def nonzero(input: Tensor, *, as_tuple: bool = False, out: Tensor | None = None) -> Any:
    """The indices of all elements that are not zero: int64 (n, ndim), or with *as_tuple* a vector for each dimension.

    >>> import polyad
    >>> polyad.nonzero(polyad.tensor([[0, 1], [2, 0]]))
    tensor([[0, 1],
            [1, 0]])
    """
    check_tensor(input, "nonzero", "input")
    if not as_tuple:
        return _nonzero(input)
    return _nonzero(input if input.ndim else input.reshape(1)).unbind(1)


@function()
def argwhere(input: Tensor) -> Tensor:
    """The indices of all elements that are not zero; see `nonzero`.

    >>> import polyad
    >>> polyad.argwhere(polyad.tensor([0, 3]))
    tensor([[1]])
    """
    return _nonzero(check_tensor(input, "argwhere", "input"))


@function()
def nonzero_static(input: Tensor, *, size: int, fill_value: int = -1, out: Tensor | None = None) -> Tensor:
    """The indices of the first *size* elements that are not zero, (size, ndim); rows that are left over are filled.

    Raises RuntimeError for a negative size.

    >>> import polyad
    >>> polyad.nonzero_static(polyad.tensor([0, 3, 0]), size=2)
    tensor([[ 1],
            [-1]])
    """
    if size < 0:
        raise ShapeError(f"nonzero_static: size {size} is negative", fix="pass 0 or more")
    found = _nonzero(check_tensor(input, "nonzero_static", "input"))[:size]
    return pad(found, (0, 0, 0, size - found.shape[0]), value=fill_value)
