"""How PyTorch's `LinearCrossEntropyLoss` trades memory for time; taken here, and of no effect on results."""

from __future__ import annotations

from dataclasses import dataclass

from ...base.dtypes import DType

__all__ = ["LinearCrossEntropyOptions"]


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """The options of `LinearCrossEntropyLoss`. They say how PyTorch computes it piece by piece; polyad looks at none.

    >>> from polyad import nn
    >>> loss = nn.LinearCrossEntropyLoss(5, 10, options=nn.LinearCrossEntropyOptions(batch_chunk_size=2))
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: DType | None = None
