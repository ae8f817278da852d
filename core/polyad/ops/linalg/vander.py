"""Vandermonde matrices: the powers of each element. The signature of ``polyad.linalg`` is in products.py."""

from __future__ import annotations

from ...base.dtypes import FLOATING, int64
from ...base.shapes_and_strides import normalize_shape
from ...dispatch.op import function
from ...tensor import Tensor
from ..creation.factories import _full
from ..declaring.checks import check_least
from ..products.mm import check_rank
from ..reductions.cumulative import _cumprod
from ..shaping.flipping import _flip
from ..shaping.joining import _cat
from ..shaping.reshape import _expand, _unsqueeze


def powers_of(x: Tensor, count: int) -> Tensor:
    """The powers 0 to *count* - 1 of each element, in a new last dimension; integers in int64."""
    shape = x._array.shape
    dtype = x._type.dtype
    first = _full((*shape, min(count, 1)), 1, int64 if dtype.category < FLOATING else dtype, x._type.device)
    if count < 2:
        return first
    last = len(shape)
    return _cat([first, _cumprod(_expand(_unsqueeze(x, last), (*shape, count - 1)), last)], last)


@function(method=False)
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers N - 1 to 0 of each element of a vector, a row for each element; with *increasing*, 0 to N - 1.

    N is the vector's size unless given. Integers and bool become int64. Raises RuntimeError unless x is 1-d and N is 0
    or more.

    >>> import polyad
    >>> polyad.vander(polyad.tensor([2, 3]), 3)
    tensor([[4, 2, 1],
            [9, 3, 1]])
    """
    check_rank("vander", 1, x=x)
    count = x._array.shape[0] if N is None else normalize_shape((N,), "vander")[0]
    check_least("vander", "N", count, 0, operands={"x": x}, fix="choose N of 0 or more")
    powers = powers_of(x, count)
    return powers if increasing else _flip(powers, (1,))
