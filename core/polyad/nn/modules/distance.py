"""How near vectors are to each other."""

from __future__ import annotations

from ...tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class CosineSimilarity(Module):
    """The cosine of the angle between two tensors' vectors along *dim*; norms are at least *eps*.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.CosineSimilarity(dim=0)(polyad.tensor([1.0, 0.0]), polyad.tensor([2.0, 0.0])).item()
    1.0
    """

    dim: int
    eps: float

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)


class PairwiseDistance(Module):
    """The p-norm of the difference of two tensors' last dimensions, *eps* being added to it.

    Args:
        p: the norm's exponent.
        eps: added to each element of the difference.
        keepdim: keep the last dimension with size 1.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.PairwiseDistance(eps=0.0)(polyad.zeros(1, 2), polyad.tensor([[3.0, 4.0]])).tolist()
    [5.0]
    """

    norm: float
    eps: float
    keepdim: bool

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)
