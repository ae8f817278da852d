"""Calls as the calls that they consist of: a mode that enters bodies of composites and in-place forms.

Who needs a graph of few ops, such as an exporter, has a function captured under it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from ..base.dtypes import DType
from ..dispatch.effects import Effect, Record, exchanged
from ..dispatch.modes import Mode
from ..dispatch.op import Op
from ..dispatch.plan import run_body, signature_of
from ..graph.structure import replace
from ..tensor import Tensor

__all__ = ["Expanding"]


class Expanding(Mode):
    """A mode under which only those composites arrive whole that *keeps* wants, told the op and its arguments.

    In-place forms arrive as what they compute, and a ``write`` of it, calls of a `polyad.autograd.Function` as what its
    ``forward`` does; views and other effects as they are. Functions of control flow are expanded too.

    >>> import polyad
    >>> def f(x):
    ...     with Expanding(lambda op, args: op.name == "exp2"):
    ...         return x.exp2().square_()
    >>> [node.name for node in polyad.jit.capture(f, polyad.ones(2))]
    ['exp2', 'mul', 'write']
    """

    takes_whole = True
    differentiates = False

    def __init__(self, keeps: Callable[[Op | Effect, tuple[Any, ...]], bool]) -> None:
        self.keeps = keeps

    def dispatch(self, op: Op | Effect, args: tuple[Any, ...]) -> Any:
        """Pass the call on, or make the calls inside of it."""
        if isinstance(op, Effect):
            if op.bodies is not None:
                for position in op.bodies.functions:
                    args = exchanged(args, position, self._within(args[position]))
            elif op.body is not None and (op.updates or self._is_function(op, args)):
                with self:
                    return op.body(*args)
            return op.call(*args)
        if op.body is None or op.kind == "view" or self.keeps(op, args):
            return op.call(*args)
        with self:
            return run_body(op, _promoted(op, args))

    def _is_function(self, effect: Effect, args: tuple[Any, ...]) -> bool:
        """Whether it is the call of a `polyad.autograd.Function` that is not wanted whole. Ops of `polyad.library`, in
        whose names is a namespace, are: what their kernels do may be no ops.
        """
        return effect.record is Record.CUSTOM and "::" not in effect.name and not self.keeps(effect, args)

    def _within(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def expanded(*tensors: Any) -> Any:
            with self:
                return function(*tensors)

        expanded.__name__ = getattr(function, "__name__", type(function).__name__)
        return expanded


def _promoted(op: Op, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """*args* with the operands in the dtypes that the op computes in."""
    count = len(op.operands)
    keyed = {name: args[count + op.params.index(name)] for name in op.keyed}
    casts = op.dtype(signature_of(op, args), keyed).casts
    found = list(args)
    for place, dtype in enumerate(casts):
        if dtype is not None:
            found[place] = replace(args[place], Tensor, partial(_in_dtype, dtype=dtype))
    return tuple(found)


def _in_dtype(tensor: Tensor, dtype: DType) -> Any:
    return tensor.to(dtype)
