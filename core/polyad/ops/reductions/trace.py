"""The sum of a matrix's diagonal."""

from __future__ import annotations

from ...dispatch.op import function
from ...tensor import Tensor
from ..products.mm import check_rank
from ..shaping.diagonals import _diagonal
from .sums import _sum


@function()
def trace(input: Tensor) -> Tensor:
    """The sum of a matrix's diagonal; integers add up in int64. Raises RuntimeError unless *input* is a matrix.

    >>> import polyad
    >>> polyad.trace(polyad.tensor([[1, 2], [3, 4]]))
    tensor(5)
    """
    check_rank("trace", 2, input=input)
    return _sum(_diagonal(input, 0, 0, 1), (0,), False)
