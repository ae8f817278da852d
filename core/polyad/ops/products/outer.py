"""Products of each element of the first operand with each of the second: outer, kron. These promote dtypes."""

from __future__ import annotations

from ...dispatch.op import alias, function
from ...dispatch.views import owned
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..pointwise.arithmetic import _mul
from ..shaping.reshape import _reshape, _unsqueeze
from .mm import check_rank


@function()
def outer(input: Tensor, vec2: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The products of each element of a vector with each of another: (n,) and (m,) give (n, m).

    Dtypes promote. Raises RuntimeError unless both are 1-d.

    >>> import polyad
    >>> polyad.outer(polyad.tensor([1, 2]), polyad.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    try:
        vectors = len(input._array.shape) == len(vec2._array.shape) == 1
    except AttributeError:
        vectors = False
    if not vectors:
        check_rank("outer", 1, input=input, vec2=vec2)
    return _mul(_unsqueeze(input, 1), vec2)


ger = alias("ger", outer)


@function()
def kron(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Kronecker product: each element of *input* times the whole of *other*, as blocks.

    Sizes multiply, dimension by dimension counted from the last; dtypes promote.

    >>> import polyad
    >>> polyad.kron(polyad.tensor([1, 10]), polyad.tensor([1, 2]))
    tensor([ 1,  2, 10, 20])
    """
    left = check_tensor(input, "kron", "input")._array.shape
    right = check_tensor(other, "kron", "other")._array.shape
    ndim = max(len(left), len(right))
    left, right = (1,) * (ndim - len(left)) + left, (1,) * (ndim - len(right)) + right
    spaced = _reshape(input, tuple([part for size in left for part in (size, 1)]))
    if len(input._array.shape) < len(other._array.shape):
        other = other.contiguous()  # no dimension of input says in which order the blocks lie
    blocks = _reshape(other, tuple([part for size in right for part in (1, size)]))
    return owned(_reshape(_mul(spaced, blocks), tuple([a * b for a, b in zip(left, right, strict=True)])))
