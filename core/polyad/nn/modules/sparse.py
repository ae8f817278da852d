"""Lookup tables of vectors, whose gradients are dense, or with ``sparse=True`` sparse tensors."""

from __future__ import annotations

from ...arguments import check_dims, check_shape, check_within
from ...base.device import Device
from ...base.dtypes import DType
from ...errors import ConditionError, FeatureError
from ...tensor import Tensor
from .. import functional as F, init
from ..parameter import Parameter, uninitialized
from .module import Module

__all__ = ["Embedding", "EmbeddingBag"]


class _Table(Module):
    """What the lookup tables have in common."""

    num_embeddings: int
    embedding_dim: int
    padding_idx: int | None
    max_norm: float | None
    norm_type: float
    scale_grad_by_freq: bool
    sparse: bool
    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        weight: Tensor | None,
        freeze: bool,
        device: Device | str | None,
        dtype: DType | None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if padding_idx is not None:
            check_within(name, "padding_idx", padding_idx, -num_embeddings, num_embeddings, ConditionError, "a row")
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        self.padding_idx = None if padding_idx is None else padding_idx % num_embeddings
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if weight is None:
            self.weight = uninitialized((num_embeddings, embedding_dim), device, dtype)
            self.weight.requires_grad_(not freeze)
            self.reset_parameters()
        else:
            check_shape(name, "weight", weight, (num_embeddings, embedding_dim), FeatureError)
            self.weight = Parameter(weight, requires_grad=not freeze)

    def reset_parameters(self) -> None:
        """Draw the vectors anew from the standard normal distribution; the padding's is zero."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            init.zeros_(self.weight.detach()[self.padding_idx])

    def _shown(self, **others: tuple[object, object]) -> str:
        """The sizes, and those of *others* (value, default) that are not the default."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        return text + "".join(f", {name}={value!r}" for name, (value, default) in others.items() if value != default)


def _sizes(name: str, embeddings: Tensor) -> tuple[int, int]:
    check_dims(f"{name}.from_pretrained", "embeddings", embeddings, (2,), "pass a matrix", FeatureError)
    rows, columns = embeddings.shape
    return rows, columns


class Embedding(_Table):
    """A learnt vector for each of a number of symbols.

    Shapes: input (*) of integers in [0, num_embeddings) -> (*, embedding_dim); weight (num_embeddings, embedding_dim).

    Args:
        num_embeddings: how many symbols there are.
        embedding_dim: size of a vector.
        padding_idx: a symbol whose vector starts at zero and is not trained; negative numbers count from the end.
        max_norm: vectors that are looked up and are longer are shortened to it first, in the weight itself.
        norm_type: the norm's exponent.
        scale_grad_by_freq: divide a vector's gradient by how often it is looked up.
        sparse: give *weight* sparse gradients, which hold the rows that were looked up (`polyad.sparse`); for
            `SparseAdam`, `SGD` and `Adagrad`.

    Raises:
        ValueError: *padding_idx* is no symbol.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.Embedding(10, 3)(polyad.tensor([[1, 2], [4, 5]])).shape
    polyad.Size([2, 2, 3])
    """

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
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            _freeze,
            device,
            dtype,
        )

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
        return cls(
            *_sizes("Embedding", embeddings),
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight=embeddings,
            _freeze=freeze,
        )

    def forward(self, input: Tensor) -> Tensor:
        """Look up the vectors of *input*."""
        return F.embedding(
            input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )

    def extra_repr(self) -> str:
        return self._shown(
            padding_idx=(self.padding_idx, None),
            max_norm=(self.max_norm, None),
            norm_type=(self.norm_type, 2),
            scale_grad_by_freq=(self.scale_grad_by_freq, False),
            sparse=(self.sparse, False),
        )


class EmbeddingBag(_Table):
    """The sum, mean or maximum of the learnt vectors of each bag of symbols.

    Shapes: input (B, N), B bags of N symbols, or (N) with *offsets* (B), where the bags begin -> (B, embedding_dim);
    weight (num_embeddings, embedding_dim).

    Args:
        num_embeddings: how many symbols there are.
        embedding_dim: size of a vector.
        max_norm, norm_type, scale_grad_by_freq, sparse: as in `Embedding`.
        mode: ``"sum"``, ``"mean"`` or ``"max"``.
        include_last_offset: whether *offsets* ends with the input's length.
        padding_idx: a symbol that counts nothing; its vector starts at zero and is not trained.

    ``forward`` takes *per_sample_weights* besides, a factor for each symbol, with ``mode="sum"``.

    Raises:
        ValueError: *padding_idx* is no symbol.

    >>> import polyad
    >>> from polyad import nn
    >>> nn.EmbeddingBag(10, 3)(polyad.tensor([1, 2, 4, 5]), polyad.tensor([0, 3])).shape
    polyad.Size([2, 3])
    """

    mode: str
    include_last_offset: bool

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Device | str | None = None,
        dtype: DType | None = None,
    ) -> None:
        super().__init__(
            num_embeddings,
            embedding_dim,
            padding_idx,
            max_norm,
            norm_type,
            scale_grad_by_freq,
            sparse,
            _weight,
            False,
            device,
            dtype,
        )
        self.mode = mode
        self.include_last_offset = include_last_offset

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
    ) -> EmbeddingBag:
        """Bags of the given vectors (num_embeddings, embedding_dim), not trained unless *freeze* is False."""
        bag = cls(
            *_sizes("EmbeddingBag", embeddings),
            max_norm,
            norm_type,
            scale_grad_by_freq,
            mode,
            sparse,
            embeddings,
            include_last_offset,
            padding_idx,
        )
        bag.weight.requires_grad_(not freeze)
        return bag

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """Look up the bags of *input*."""
        return F.embedding_bag(
            input,
            self.weight,
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )

    def extra_repr(self) -> str:
        return self._shown(
            max_norm=(self.max_norm, None),
            norm_type=(self.norm_type, 2),
            scale_grad_by_freq=(self.scale_grad_by_freq, False),
            mode=(self.mode, object()),
            padding_idx=(self.padding_idx, None),
        )
