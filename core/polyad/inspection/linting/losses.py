"""Mistakes in losses: an input normalised twice (PL008), a column against a row (PL009)."""

from __future__ import annotations

import sys
import weakref
from types import FrameType
from typing import Any

from ...base.state import user_line
from ...tensor import Tensor
from .session import Rule, Session, nodes_above

__all__ = ["ColumnAndRow", "NormalisedTwice"]

_SHAPES_ONLY = frozenset(
    {
        "ViewBackward0",
        "ReshapeBackward0",
        "PermuteBackward0",
        "TransposeBackward0",
        "SqueezeBackward0",
        "UnsqueezeBackward0",
        "ToCopyBackward0",
        "CloneBackward0",
    }
)
"""Nodes behind which the numbers are the same."""


class NormalisedTwice(Rule):
    """PL008. The input of ``cross_entropy`` is a softmax's result, or that of ``binary_cross_entropy_with_logits`` a
    sigmoid's. A log_softmax before cross_entropy changes nothing, and is not reported.
    """

    code = "PL008"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.ops = {"cross_entropy": self._cross_entropy, "log_sigmoid": self._log_sigmoid}

    def _cross_entropy(self, args: tuple[Any, ...], result: Any) -> None:
        if _made_by(args[0]) == "SoftmaxBackward0":
            self.session.report(
                self.code,
                "cross_entropy got the result of softmax, and takes the softmax itself: gradients become very small",
                "give it the scores as they are; use softmax only to show probabilities",
            )

    def _log_sigmoid(self, args: tuple[Any, ...], result: Any) -> None:
        if _made_by(args[0]) == "SigmoidBackward0" and _called_from("binary_cross_entropy_with_logits"):
            self.session.report(
                self.code,
                "binary_cross_entropy_with_logits got the result of sigmoid, and takes the sigmoid itself",
                "give it the scores as they are, or use binary_cross_entropy",
                "sigmoid",
            )


def _made_by(value: Any) -> str:
    """The name of the node that computed a tensor's numbers."""
    node = value._node if isinstance(value, Tensor) else None
    while node is not None and node.name() in _SHAPES_ONLY:
        targets = node.targets()
        node = targets[0] if len(targets) == 1 else None
    return "" if node is None else node.name()


def _called_from(name: str) -> bool:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == name:
            return True
        frame = frame.f_back
    return False


class ColumnAndRow(Rule):
    """PL009. A backward pass runs through a difference of (N, 1) and (N,), of which one has a history and the other is
    data, and from a single number.

    The column is meant where the program itself reshaped a vector, ``x[:, None] - y``; and where both have a history,
    as in ranking losses.
    """

    code = "PL009"

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.ops = {"sub": self._sub}
        self._pending: list[tuple[weakref.ref[Any], str, str]] = []

    def _sub(self, args: tuple[Any, ...], result: Any) -> None:
        left, right = args[0], args[1]
        if not isinstance(left, Tensor) or not isinstance(right, Tensor) or result._node is None:
            return
        if (left._node is None) == (right._node is None):
            return
        column, row = (left, right) if len(left._array.shape) == 2 else (right, left)
        shape = tuple(column._array.shape)
        if len(shape) != 2 or shape[1] != 1 or shape[0] < 2 or tuple(row._array.shape) != shape[:1]:
            return
        if _is_a_column_on_purpose(column):
            return
        shapes = f"{tuple(left._array.shape)} minus {tuple(right._array.shape)}"
        self._pending.append((weakref.ref(result._node), shapes, user_line()))

    def before_backward(self, roots: list[Tensor], accumulates: bool) -> None:
        pending = {node: about for ref, *about in self._pending if (node := ref()) is not None}
        self._pending.clear()
        if not pending or any(root.numel() != 1 for root in roots):
            return
        for node in nodes_above(roots, min(difference.seq for difference in pending)):
            if node in pending:
                shapes, line = pending[node]
                size = node.shape
                self.session.report(
                    self.code,
                    f"{shapes} is {tuple(size)}: every prediction is compared with every target",
                    "give both one shape: prediction.squeeze(1), or target.unsqueeze(1); the losses of nn check it",
                    at=line,
                )
                return


def _is_a_column_on_purpose(column: Tensor) -> bool:
    base = None if column._view is None else column._view.base
    return base is not None and (len(base._array.shape) != 2 or base._array.shape[1] != 1)
