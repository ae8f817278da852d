"""Forward-mode differentiation by hand: tensors with tangents inside a level.

>>> import polyad
>>> from polyad.autograd import forward_ad
>>> x, direction = polyad.tensor([1.0, 2.0]), polyad.tensor([1.0, 0.0])
>>> with forward_ad.dual_level():
...     dual = forward_ad.make_dual(x, direction)
...     slope = forward_ad.unpack_dual(dual**3).tangent
>>> slope
tensor([3., 0.])

Levels nest: a level inside another differentiates what the other computes, tangents included. `polyad.func.jvp` is the
same for a function. How it works is in forward_level.py.
"""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from types import TracebackType
from typing import NamedTuple

from ..base.dtypes import FLOATING
from ..dispatch.arguments import explaining
from ..errors import ArgumentError, AutogradError
from ..tensor import Tensor
from ..tensor.tensor import check_tensor
from .forward_level import ForwardLevel

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _Levels(threading.local):
    def __init__(self) -> None:
        self.entered: list[ForwardLevel] = []


_levels = _Levels()


class UnpackedDualTensor(NamedTuple):
    """What `unpack_dual` gives: the value, and the tangent or None."""

    primal: Tensor
    tangent: Tensor | None


def enter_dual_level() -> int:
    """Begin a level of tangents in this thread, and return its number; end it with `exit_dual_level`.

    >>> from polyad.autograd import forward_ad
    >>> forward_ad.enter_dual_level()
    0
    >>> forward_ad.exit_dual_level()
    """
    level = ForwardLevel()
    level.__enter__()
    _levels.entered.append(level)
    return len(_levels.entered) - 1


@explaining
def exit_dual_level(*, level: int | None = None) -> None:
    """End the innermost level; its tangents are gone. Raises RuntimeError if *level* is another or there is none."""
    last = len(_levels.entered) - 1
    if last < 0:
        raise AutogradError("exit_dual_level: no level was entered", fix="call enter_dual_level() first")
    if level is not None and level != last:
        raise AutogradError(
            f"exit_dual_level: level {level} is not the one that was entered last, which is {last}",
            fix="leave levels in the opposite order, or use dual_level()",
        )
    ended = _levels.entered.pop()
    ended.__exit__(None, None, None)
    ended.clear()


class dual_level(ContextDecorator):
    """A level of tangents, as a context manager or decorator; gives the level's number.

    >>> import polyad
    >>> from polyad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(polyad.tensor(2.0), polyad.tensor(1.0))
    ...     forward_ad.unpack_dual(dual * dual)
    UnpackedDualTensor(primal=tensor(4.), tangent=tensor(4.))
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(
        self,
        exception_type: type[BaseException] | None,
        exception: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        exit_dual_level()


def _level(op: str, number: int | None) -> ForwardLevel:
    entered = _levels.entered
    if not entered:
        raise AutogradError(
            f"{op}: no level was entered in this thread", fix="call it inside `with forward_ad.dual_level():`"
        )
    if number is None:
        return entered[-1]
    if not 0 <= number < len(entered):
        raise AutogradError(
            f"{op}: there is no level {number}", notes={"levels": f"0 to {len(entered) - 1}"}, fix="leave level out"
        )
    return entered[number]


@explaining
def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """An alias of *tensor* that has *tangent*, of its shape and device and cast to its dtype, at the innermost level
    or *level*.

    What is computed from it has tangents too; `unpack_dual` gives them. Both arguments keep their history, so values
    and tangents can be differentiated backward. Raises RuntimeError outside of a level, for a tangent that does not
    fit, and for a tensor that has a tangent there already; ValueError for what is neither floating nor complex.

    >>> import polyad
    >>> from polyad.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(polyad.ones(2), polyad.tensor([1.0, 10.0]))
    ...     forward_ad.unpack_dual(dual.sum()).tangent
    tensor(11.)
    """
    chosen = _level("make_dual", level)
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if check_tensor(value, "make_dual", name).dtype.category < FLOATING:
            raise ArgumentError(
                f"make_dual: {name} is neither floating point nor complex",
                operands={name: value},
                fix="convert it with .to(polyad.float32)",
            )
    return chosen.dual("make_dual", tensor, tangent)


@explaining
def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The value of *tensor* without its tangent, and its tangent; None where that is zero, and outside of all levels.

    >>> import polyad
    >>> from polyad.autograd import forward_ad
    >>> forward_ad.unpack_dual(polyad.tensor(1.0))
    UnpackedDualTensor(primal=tensor(1.), tangent=None)
    """
    check_tensor(tensor, "unpack_dual", "tensor")
    if not _levels.entered and level is None:
        return UnpackedDualTensor(tensor, None)
    chosen = _level("unpack_dual", level)
    return UnpackedDualTensor(chosen.primal(tensor), chosen.tangent(tensor))
