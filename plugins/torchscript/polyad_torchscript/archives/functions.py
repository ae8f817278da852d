"""Functions that polyad puts into programs for readers that lack its ops, and that are these ops where polyad reads
them.

The ops trust their callers, so what a program gives them is checked before.
"""

from __future__ import annotations

from typing import Any

from polyad.errors import ShapeError
from polyad.ops.nn.recurrent.sequences import _gru_sequence, _lstm_sequence, _rnn_sequence
from polyad.tensor import Tensor

from ..language import tree
from ..language.source import Place
from ..operators.schemas import Argument
from ..types import types as t

__all__ = ["NATIVE", "NativeFunction"]

_INTS, _MAYBE = t.ListType(t.INT), t.optional(t.TENSOR)


class NativeFunction:
    """A function of a program that is one of polyad's.

    Attributes:
        run: what carries it out.
    """

    is_inner = False

    def __init__(self, qualified: str, arguments: list[Argument], results: int, run: Any) -> None:
        self.name, self.qualified, self.run = qualified.rpartition(".")[2], qualified, run
        self.signature = tree.Signature(self.name, arguments, t.TupleType((t.TENSOR,) * results))

    def signature_for(self, checker: Any, place: Place) -> tree.Signature:
        """What it takes and gives."""
        return self.signature


def _check(gates: Tensor, weight: Tensor, gate_count: int, states: list[Tensor], batch_sizes: list[int]) -> None:
    """Raise unless the tensors of a recurrent layer fit together."""
    width = states[0].shape[-1] if states[0].dim() else 0
    inner = states[-1].shape[-1] if states[-1].dim() else 0
    falls = all(size > 0 for size in batch_sizes) and batch_sizes == sorted(batch_sizes, reverse=True)
    if not (
        gates.dim() == 2
        and all(one.dim() == 2 and one.shape[0] == states[0].shape[0] and one.dtype is gates.dtype for one in states)
        and tuple(weight.shape) == (gate_count * inner, width)
        and weight.dtype is gates.dtype
        and gates.shape[1] == gate_count * inner
        and batch_sizes
        and falls
        and sum(batch_sizes) == gates.shape[0]
        and batch_sizes[0] == states[0].shape[0]
    ):
        raise ShapeError(
            "recurrent layer: what a program gives it does not fit together",
            operands={"gates": gates, "weight": weight, "state": states[0]},
            notes={"batch sizes": str(batch_sizes[:10])},
            fix="give gates (rows, gates), weight (gates, hidden) and states (batch, hidden)",
        )


def _lstm(gates: Any, weight: Any, projection: Any, hidden: Any, cell: Any, batch_sizes: Any, reverse: bool) -> Any:
    _check(gates, weight, 4, [hidden, cell], batch_sizes)
    if projection is not None and tuple(projection.shape) != (hidden.shape[1], cell.shape[1]):
        raise ShapeError("lstm: projection has another shape than the states", operands={"projection": projection})
    return _lstm_sequence(gates, weight, projection, hidden, cell, tuple(batch_sizes), reverse)[:3]


def _gru(gates: Any, weight: Any, bias: Any, hidden: Any, batch_sizes: Any, reverse: bool) -> Any:
    _check(gates, weight, 3, [hidden], batch_sizes)
    if bias is not None and tuple(bias.shape) != (weight.shape[0],):
        raise ShapeError("gru: bias has another shape than the weight's rows", operands={"bias": bias})
    return _gru_sequence(gates, weight, bias, hidden, tuple(batch_sizes), reverse)[:2]


def _rnn(gates: Any, weight: Any, hidden: Any, batch_sizes: Any, reverse: bool, relu: bool) -> Any:
    _check(gates, weight, 1, [hidden], batch_sizes)
    return _rnn_sequence(gates, weight, hidden, tuple(batch_sizes), reverse, relu)


def _declared_arguments(**types: t.Type) -> list[Argument]:
    return [Argument(name, type) for name, type in types.items()]


_HOME = "__torch__.polyad.recurrent"
NATIVE: dict[str, Any] = {
    function.qualified: function
    for function in (
        NativeFunction(
            f"{_HOME}.lstm_sequence",
            _declared_arguments(gates=t.TENSOR, weight=t.TENSOR, projection=_MAYBE, hidden=t.TENSOR, cell=t.TENSOR,
                       batch_sizes=_INTS, reverse=t.BOOL), 3, _lstm,
        ),
        NativeFunction(
            f"{_HOME}.gru_sequence",
            _declared_arguments(gates=t.TENSOR, weight=t.TENSOR, bias=_MAYBE, hidden=t.TENSOR, batch_sizes=_INTS,
                       reverse=t.BOOL), 2, _gru,
        ),
        NativeFunction(
            f"{_HOME}.rnn_sequence",
            _declared_arguments(gates=t.TENSOR, weight=t.TENSOR, hidden=t.TENSOR, batch_sizes=_INTS, reverse=t.BOOL,
                       relu=t.BOOL), 2, _rnn,
        ),
    )
}  # fmt: skip
"""By the name in programs."""
