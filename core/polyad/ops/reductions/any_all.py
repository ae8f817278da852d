"""Whether elements are zero: any, all, how many. nan is not zero.

The functions have the names of Python's own, which this module therefore cannot use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ...backend.interface import Signature
from ...base.dtypes import bool_, uint8
from ...base.shapes_and_strides import normalize_dims
from ...base.state import state
from ...dispatch.effects import Effect, Result, declare
from ...dispatch.op import composite, function, primitive
from ...dispatch.promotion import Typing, to_int64
from ...dispatch.structure import Reduction
from ...errors import PolyadError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor, has_data
from ...transforms.wrapped import innermost
from .sums import _sum

if TYPE_CHECKING:
    Dims = int | tuple[int, ...] | list[int] | None

Error = Callable[[tuple[int, ...], int], PolyadError]


def _truth(types: Signature, params: Mapping[str, Any]) -> Typing:
    """bool, but uint8 stays uint8 (with 0 and 1), as PyTorch's does."""
    return Typing((None,), (uint8 if types[0].dtype is uint8 else bool_,))


@primitive(dtype=_truth, structure=Reduction("dims", "any", stored=True), method=False)
def _any(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Whether an element is not zero; nan is not."""


@primitive(dtype=_truth, structure=Reduction("dims", "all", stored=True), method=False)
def _all(input: Tensor, dims: tuple[int, ...], keepdim: bool) -> Tensor:
    """Whether no element is zero."""


@function()
def any(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether any element is not zero (nan is not), of all or over *dim* (of each by itself if that is empty); bool,
    of uint8 uint8.

    Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.any(polyad.tensor([[False, True], [False, False]]), 1)
    tensor([ True, False])
    """
    check_tensor(input, "any", "input")
    return _any(input, _named_dims(dim, input.ndim, "any"), keepdim)


def _named_dims(dim: Any, ndim: int, op: str) -> tuple[int, ...]:
    """As `normalize_dims`, but ``()`` means no dimension: any and all then tell of each element by itself."""
    return () if isinstance(dim, (tuple, list)) and not dim else normalize_dims(dim, ndim, op)


@function()
def all(input: Tensor, dim: Dims = None, keepdim: bool = False, *, out: Tensor | None = None) -> Tensor:
    """Whether no element is zero, of all or over *dim* (of each by itself if that is empty); bool, of uint8 uint8.

    Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.all(polyad.tensor([[False, True], [True, True]]), 1)
    tensor([False,  True])
    """
    check_tensor(input, "all", "input")
    return _all(input, _named_dims(dim, input.ndim, "all"), keepdim)


@composite(dtype=to_int64, structure=Reduction("dims"), method=False)
def _count_nonzero(input: Tensor, dims: tuple[int, ...]) -> Tensor:
    """How many elements are not zero, over *dims*."""
    return _sum(input != 0, dims, False)


@function()
def count_nonzero(input: Tensor, dim: Dims = None) -> Tensor:
    """How many elements are not zero, of all or over *dim*; int64. Raises IndexError for a dim out of range.

    >>> import polyad
    >>> polyad.count_nonzero(polyad.tensor([[0, 1], [2, 3]]), 0)
    tensor([1, 2])
    """
    check_tensor(input, "count_nonzero", "input")
    return _count_nonzero(input, normalize_dims(dim, input.ndim, "count_nonzero"))


def anywhere(condition: Tensor) -> bool:
    """Whether *condition* (bool) holds anywhere, also in other samples of a batch that `polyad.func.vmap` maps over.

    For checks of arguments, and for loops that go on while an element needs it: what is decided by it must be right for
    elements of which the condition does not hold, too. It holds nowhere in a tensor without elements (device "meta").
    """
    if state.modes:
        return ANYWHERE.through_modes(condition)  # type: ignore[no-any-return]
    if not has_data(condition):
        return False
    return bool(_any(condition, tuple(range(condition.ndim)), False).item())


ANYWHERE = declare(Effect("anywhere", anywhere, reads=(0,), result=Result.COMMON))


class _Outline(NamedTuple):
    """What a message says of a tensor."""

    dtype: Any
    device: Any
    shape: tuple[int, ...]


def check_all(good: Tensor, error: Error, value: Tensor | None = None, /, **operands: Any) -> None:
    """Raise ``error(position, value there)`` for the first element of *good* (bool or integers) that is zero.

    For checks of arguments by which nothing is decided. It does not wait: where the device computes while the program
    goes on, the next call that waits raises. So what follows must be safe with wrong elements, if not right.
    *error* may be called late, and should keep no tensor, whose memory would be kept as well: *operands* are described
    in its place. *value* (int64, of good's shape) is for the message; without it 0 is passed. Nothing is wrong in a
    tensor without elements (device "meta").
    """
    if good._type.backend.holds_data:
        outlines = [
            (name, given._type, given._array.shape) if isinstance(given, Tensor) else (name, None, given)
            for name, given in operands.items()
        ]

        def described(position: tuple[int, ...], value: int) -> PolyadError:
            found = error(position, value)
            found.add_operands(
                {
                    name: given if type_ is None else _Outline(type_.dtype, type_.device, tuple(given))
                    for name, type_, given in outlines
                }
            )
            return found

        _check_all(good, described, value)


def _check_all(good: Tensor, error: Error, value: Tensor | None) -> None:
    if state.modes:
        CHECK_ALL.through_modes(good, error, value)
        return
    good = innermost(good)
    good._type.backend.check_all(good._array, None if value is None else innermost(value)._array, error)


CHECK_ALL = declare(Effect("check_all", _check_all, reads=(0,), result=Result.CHECK))


@function()
def is_nonzero(input: Tensor) -> bool:
    """Whether the only element of *input* is not zero: ``bool(input)``.

    Raises RuntimeError unless there is exactly one element.

    >>> import polyad
    >>> polyad.is_nonzero(polyad.tensor([2.0]))
    True
    """
    return bool(check_tensor(input, "is_nonzero", "input"))
