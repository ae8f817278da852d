"""Set functions: what a tensor holds, each once."""

from __future__ import annotations

from typing import Any, NamedTuple

from .. import functions
from ..tensor import Tensor


class UniqueAll(NamedTuple):
    """The distinct elements, where each stands first, which of them each element is, and how often each occurs."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """The distinct elements, and how often each occurs."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """The distinct elements, and which of them each element is."""

    values: Tensor
    inverse_indices: Tensor


def _unique(x: Tensor, **options: bool) -> Any:
    """`polyad.unique`, of complex numbers too: they are sorted by their real part, then by the imaginary."""
    if not x.dtype.is_complex:
        return functions.unique(x, **options)
    pairs = functions.view_as_real(x.flatten()) + 0.0  # so that -0 is 0: rows are compared by their parts
    found = functions.unique(pairs, dim=0, **options)
    if not options:
        return functions.view_as_complex(found)
    return functions.view_as_complex(found[0]), *found[1:]


def unique_all(x: Tensor, /) -> UniqueAll:
    """The distinct elements with everything about them.

    >>> from polyad import array_api as xp
    >>> xp.unique_all(xp.asarray([3, 1, 3])).indices
    tensor([1, 0])
    """
    values, inverse, counts = _unique(x, return_inverse=True, return_counts=True)
    order = functions.argsort(inverse.flatten(), stable=True)
    first = order[functions.cumsum(counts, 0) - counts]
    return UniqueAll(values, first, inverse.reshape(x.shape), counts)


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """The distinct elements, and how often each occurs."""
    values, counts = _unique(x, return_counts=True)
    return UniqueCounts(values, counts)


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """The distinct elements, and which of them each element is."""
    values, inverse = _unique(x, return_inverse=True)
    return UniqueInverse(values, inverse.reshape(x.shape))


def unique_values(x: Tensor, /) -> Tensor:
    """The distinct elements."""
    values: Tensor = _unique(x)
    return values


def isin(x1: Tensor | int | float, x2: Tensor | int | float, /, *, invert: bool = False) -> Tensor:
    """Which elements of *x1* are among those of *x2*; which are not, with *invert*."""
    return functions.isin(x1, x2, invert=invert)
