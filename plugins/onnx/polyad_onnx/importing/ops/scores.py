"""What classifiers of ai.onnx.ml share: scores as probabilities, and labels."""

from __future__ import annotations

import polyad
import polyad.nn.functional as F
from polyad import Tensor

from ..operators import Node

__all__ = ["labelled", "transformed"]


def transformed(scores: Tensor, how: str) -> Tensor:
    """Scores after attribute post_transform."""
    match how:
        case "SOFTMAX":
            return F.softmax(scores, -1)
        case "LOGISTIC":
            return scores.sigmoid()
        case "SOFTMAX_ZERO":
            # Zeros stay zeros, the others share.
            some = scores != 0
            powers = polyad.where(some, (scores - scores.amax(-1, keepdim=True)).exp(), 0.0)
            return powers / powers.sum(-1, keepdim=True)
        case "PROBIT":
            return polyad.erfinv(2 * scores - 1) * 2**0.5
    return scores


def labelled(node: Node, integers: str, strings: str) -> list[int]:
    """The labels of a classifier; refuses those that are strings."""
    labels = node.integers(integers, None)
    if labels is None:
        if node.texts(strings, None):
            raise node.refused(
                f"attribute {strings}: labels that are strings have no form in polyad", "export with integer labels"
            )
        raise node.wrong(f"attribute {integers} is missing")
    return list(labels)
