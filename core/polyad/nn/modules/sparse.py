"""Lookup tables of vectors."""

from __future__ import annotations

from ...device import Device
from ...dtypes import DType
from ...errors import ArgumentError, NotSupported, ShapeError
from ...tensor import Tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["Embedding"]


class Embedding(Module):
    """A learnt vector for each of a number of symbols.

    Shapes: input (*) of integers in [0, num_embeddings) -> (*, embedding_dim); weight (num_embeddings, embedding_dim).

    Args:
        num_embeddings: how many symbols there are.
        embedding_dim: size of a vector.
        padding_idx: a symbol whose vector starts at zero and is not trained; negative numbers count from the end.

    Raises:
        ValueError: *padding_idx* is no symbol.
        NotImplementedError: max_norm, scale_grad_by_freq or sparse is asked for.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Embedding(10, 3)(polyad.tensor([[1, 2], [4, 5]])).shape
    polyad.Size([2, 2, 3])
    """

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__()
        for name, value in (("max_norm", max_norm), ("scale_grad_by_freq", scale_grad_by_freq), ("sparse", sparse)):
            if value:
                raise NotSupported(f"Embedding: {name} is not supported", operands={name: value}, fix="leave it out")
        if padding_idx is not None and not -num_embeddings <= padding_idx < num_embeddings:
            raise ArgumentError(
                f"Embedding: padding_idx must be in [-{num_embeddings}, {num_embeddings})",
                operands={"padding_idx": padding_idx},
                fix="name a row of the weight, or None",
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            self.weight = uninitialized((num_embeddings, embedding_dim), device, dtype)
            self.weight.requires_grad_(not _freeze)
            self.reset_parameters()
        else:
            if tuple(_weight.shape) != (num_embeddings, embedding_dim):
                raise ShapeError(
                    f"Embedding: weight must be ({num_embeddings}, {embedding_dim})",
                    operands={"weight": _weight},
                    fix="reshape it, or give its own sizes",
                )
            self.weight = Parameter(_weight, requires_grad=not _freeze)

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """An embedding of the given vectors (num_embeddings, embedding_dim), not trained unless *freeze* is False."""
        if embeddings.ndim != 2:
            raise ShapeError(
                "Embedding.from_pretrained: embeddings must be 2-d",
                operands={"embeddings": embeddings},
                fix="pass a matrix with a row for each entry",
            )
        rows, columns = embeddings.shape
        return cls(
            rows,
            columns,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def reset_parameters(self) -> None:
        """Draw the vectors anew from the standard normal distribution; the padding's is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    def forward(self, input: Tensor) -> Tensor:
        """Look up the vectors of *input*."""
        return F.embedding(input, self.weight, self.padding_idx)

    def extra_repr(self) -> str:
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"
