"""The adaptive softmax: classes in clusters, rare ones with fewer features (Grave et al. 2017)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...base.device import Device
from ...base.dtypes import DType
from ...errors import ArgumentError, OptionError, ShapeError
from ...functions import cat, where
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["ASMoutput", "AdaptiveLogSoftmaxWithLoss"]


class ASMoutput(NamedTuple):
    """The log-probability of each target, and minus their mean."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-probabilities of many classes, sorted by how frequent they are, at less cost for the rare ones.

    The classes below the first cutoff are in the head, with a class for each cluster of the others; a cluster is
    reached through ``in_features // div_value ** number`` features.

    Shapes: input (N, in_features) or (in_features,), target (N,) or () of class numbers -> output (N,) or (), loss ().

    Args:
        in_features: size of the input.
        n_classes: how many classes there are.
        cutoffs: where the clusters begin: rising numbers between 1 and n_classes - 1.
        div_value: how much fewer features each further cluster has.
        head_bias: whether the head has a bias.

    Raises:
        ValueError: the cutoffs are none such numbers.
        RuntimeError: by forward: shapes that do not fit, or a target that is no class.

    >>> import polyad
    >>> from polyad import nn
    >>> layer = nn.AdaptiveLogSoftmaxWithLoss(8, 20, cutoffs=[4, 10])
    >>> layer(polyad.zeros(3, 8), polyad.tensor([0, 5, 19])).output.shape
    polyad.Size([3])
    """

    in_features: int
    n_classes: int
    cutoffs: list[int]
    div_value: float
    head_bias: bool
    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        begins = list(cutoffs)
        rising = all(before < after for before, after in zip([0, *begins], [*begins, n_classes]))
        if not begins or not rising or any(int(begin) != begin for begin in begins):
            raise ArgumentError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs must be rising numbers between 1 and n_classes - 1",
                operands={"cutoffs": begins, "n_classes": n_classes},
                fix="name where each cluster of classes begins",
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*begins, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = begins[0]
        self.n_clusters = len(begins)
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, head_bias, device, dtype)
        self.tail = ModuleList()
        for number, (begin, end) in enumerate(zip(self.cutoffs, self.cutoffs[1:]), 1):
            hidden = int(in_features // div_value**number)
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, False, device, dtype),
                    Linear(hidden, end - begin, False, device, dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """The log-probabilities of the targets, and the loss."""
        self._check(input_, target_)
        input, target = (input_, target_) if target_.ndim else (input_.unsqueeze(0), target_.unsqueeze(0))
        number, within = self._clusters(target)
        head = F.log_softmax(self.head(input), 1)
        output = head.gather(1, where(number == 0, target, self.shortlist_size + number - 1).unsqueeze(1)).squeeze(1)
        for cluster, tail in enumerate(self.tail, 1):
            rows = (number == cluster).nonzero().squeeze(1)
            if rows.shape[0]:
                scores = F.log_softmax(tail(input.index_select(0, rows)), 1)
                own = scores.gather(1, within.index_select(0, rows).unsqueeze(1)).squeeze(1)
                output = output.index_add(0, rows, own.to(output.dtype))
        loss = -output.mean()
        return ASMoutput(output if target_.ndim else output.squeeze(0), loss)

    def _clusters(self, target: Tensor) -> tuple[Tensor, Tensor]:
        """The cluster of each target (0 for the head), and its place there."""
        if ((target < 0) | (target >= self.n_classes)).any():
            raise OptionError(
                f"AdaptiveLogSoftmaxWithLoss: targets must be in [0, {self.n_classes - 1}], these are between "
                f"{target.min().item()} and {target.max().item()}",
                operands={"target": target},
                fix="make the layer with more classes",
            )
        number, begin = target * 0, target * 0
        for cutoff in self.cutoffs[:-1]:
            beyond = target >= cutoff
            number = number + beyond
            begin = where(beyond, cutoff, begin)
        return number, target - begin

    def _check(self, input: Tensor, target: Tensor) -> None:
        check_tensor(input, "AdaptiveLogSoftmaxWithLoss", "input_")
        check_tensor(target, "AdaptiveLogSoftmaxWithLoss", "target_")
        if target.ndim > 1 or input.ndim != target.ndim + 1 or (target.ndim and input.shape[0] != target.shape[0]):
            raise ShapeError(
                "AdaptiveLogSoftmaxWithLoss: takes input (N, in_features) with target (N,), or (in_features,) with ()",
                operands={"input": input, "target": target},
                fix="give a class number for each row of input",
            )

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: (N, n_classes) for an input (N, in_features)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            at = self.shortlist_size + number
            parts.append(F.log_softmax(tail(input), 1) + head[:, at : at + 1])
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The class with the highest probability for each row of the input: (N,). Clusters are computed only for the
        rows of which the head does not decide it.
        """
        scores = self.head(input)
        best: Tensor = scores.argmax(1)
        rows = (best >= self.shortlist_size).nonzero().squeeze(1)
        if not rows.shape[0]:
            return best
        return best.index_copy(0, rows, self.log_prob(input.index_select(0, rows)).argmax(1))
