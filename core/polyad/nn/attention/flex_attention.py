"""Attention whose scores and mask are the user's functions, at PyTorch's path ``polyad.nn.attention.flex_attention``.

A *score_mod* takes ``(score, batch, head, query_index, key_index)``, all 0-d tensors, and returns the new score; a
*mask_mod* takes the four indices and returns whether the key counts. `polyad.vmap` applies them to all at once. All
scores are computed, and gradients of all orders with them; blocks that a `BlockMask` leaves out cost what others cost.

The interface is PyTorch's: https://docs.pytorch.org/docs/stable/nn.attention.flex_attention.html
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import polyad

from ...base.dtypes import bool_, float64, int32
from ...compatibility.absent import lacking
from ...errors import ArgumentError, ArgumentTypeError, NotSupported, safe_repr
from ...tensor import Tensor

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

__getattr__ = lacking(__name__)

_DEFAULT_SPARSE_BLOCK_SIZE = 128

Mod = Callable[..., Tensor]


class AuxRequest(NamedTuple):
    """What `flex_attention` is to return beside its result: the logarithm of the sum of exponentials of each row's
    scores, and each row's greatest score.
    """

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What was asked for by an `AuxRequest`, float32 or float64 of shape (B, H, L); None for the rest."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """The mask_mod under which every key counts."""
    return polyad.ones((), dtype=bool_, device=batch.device)


def and_masks(*mask_mods: Mod) -> Mod:
    """The mask_mod under which a key counts that counts under all *mask_mods*.

    >>> import polyad
    >>> from polyad.nn.attention.flex_attention import and_masks, create_mask
    >>> window = and_masks(lambda b, h, q, k: q >= k, lambda b, h, q, k: q - k < 2)
    >>> create_mask(window, None, None, 3, 3, device="cpu").int()
    tensor([[[[1, 0, 0],
              [1, 1, 0],
              [0, 1, 1]]]], dtype=polyad.int32)
    """
    return _mask_of_all("and_masks", mask_mods, polyad.Tensor.logical_and)


def or_masks(*mask_mods: Mod) -> Mod:
    """The mask_mod under which a key counts that counts under one of *mask_mods*, as `and_masks`."""
    return _mask_of_all("or_masks", mask_mods, polyad.Tensor.logical_or)


def _mask_of_all(name: str, mods: tuple[Mod, ...], combine: Callable[[Tensor, Tensor], Tensor]) -> Mod:
    for mod in mods:
        if not callable(mod):
            raise ArgumentTypeError(f"{name}: {safe_repr(mod)} cannot be called", fix="pass functions of four indices")

    def mask(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
        found = mods[0](b, h, q_idx, kv_idx)
        for mod in mods[1:]:
            found = combine(found, mod(b, h, q_idx, kv_idx))
        return found

    return mask if mods else noop_mask


def _over_all(mod: Mod, scores: Tensor | None, shape: tuple[int, ...], device: Any) -> Tensor:
    """*mod* of each (score and) combination of four indices, (B, H, Q, K)."""
    indices = [polyad.arange(size, device=device) for size in shape]
    leading = () if scores is None else (scores,)
    for place in (3, 2, 1, 0):
        dims = [None] * 4
        dims[place] = 0  # type: ignore[call-overload]
        mod = polyad.vmap(mod, in_dims=(*(0 for _ in leading), *dims))
    return mod(*leading, *indices)


def create_mask(mod_fn: Mod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int, device: Any = None) -> Tensor:
    """A mask_mod's value for all indices, bool of shape (B or 1, H or 1, Q_LEN, KV_LEN); of a score_mod, where what it
    makes of a score of 0 is not -inf.

    Raises TypeError for what takes neither four nor five arguments.

    >>> from polyad.nn.attention.flex_attention import create_mask
    >>> create_mask(lambda b, h, q, k: q >= k, None, None, 2, 2, device="cpu")
    tensor([[[[ True, False],
              [ True,  True]]]])
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    device = polyad.get_default_device() if device is None else polyad.device(device)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(mod_fn).parameters.values()
    count = sum(1 for one in parameters if one.kind in kinds and one.default is one.empty)
    if count == 4:
        return _over_all(mod_fn, None, shape, device).to(bool_)
    if count == 5:
        return _over_all(mod_fn, polyad.zeros(shape, device=device), shape, device) != -math.inf
    raise ArgumentTypeError(
        f"create_mask: mod_fn takes {count} arguments",
        fix="pass a mask_mod (b, h, q_idx, kv_idx) or a score_mod (score, b, h, q_idx, kv_idx)",
    )


class BlockMask:
    """Which blocks of keys each block of queries attends to, and within these the mask_mod.

    Attributes:
        seq_lengths: (Q, K).
        kv_num_blocks: int32 (B, H, query blocks): how many blocks of keys count in part; kv_indices (B, H, query
            blocks, key blocks): which, first in each row.
        full_kv_num_blocks, full_kv_indices: the same of blocks of which every key counts, without asking mask_mod.
        q_num_blocks, q_indices, full_q_num_blocks, full_q_indices: the same by blocks of keys.
        BLOCK_SIZE: (queries, keys) of a block.
        mask_mod: what counts within a block.
    """

    def __init__(
        self,
        seq_lengths: tuple[int, int],
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None,
        full_kv_indices: Tensor | None,
        q_num_blocks: Tensor | None,
        q_indices: Tensor | None,
        full_q_num_blocks: Tensor | None,
        full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int],
        mask_mod: Mod,
    ) -> None:
        if kv_indices.dim() < 2:
            raise ArgumentError(
                "BlockMask: kv_indices has no rows",
                operands={"kv_indices": kv_indices},
                fix="give (..., rows, columns)",
            )
        self.seq_lengths, self.BLOCK_SIZE, self.mask_mod = seq_lengths, BLOCK_SIZE, mask_mod
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices

    @classmethod
    def from_kv_blocks(
        cls,
        kv_num_blocks: Tensor,
        kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None,
        BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
        mask_mod: Mod | None = None,
        seq_lengths: tuple[int, int] | None = None,
        compute_q_blocks: bool = True,
    ) -> BlockMask:
        """A mask from the blocks of keys of each block of queries; the blocks of queries follow."""
        size = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
        if seq_lengths is None:
            seq_lengths = (kv_indices.shape[-2] * size[0], kv_indices.shape[-1] * size[1])
        partly = full = (None, None)
        if compute_q_blocks:
            partly = _columns_first(_dense(kv_num_blocks, kv_indices).mT)  # type: ignore[assignment]
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                full = _columns_first(_dense(full_kv_num_blocks, full_kv_indices).mT)  # type: ignore[assignment]
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *partly, *full, size,
            mask_mod or noop_mask,
        )  # fmt: skip

    def _tensors(self) -> Iterator[Tensor | None]:
        yield from (self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices)
        yield from (self.q_num_blocks, self.q_indices, self.full_q_num_blocks, self.full_q_indices)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, H, Q, K)."""
        return (*self.kv_indices.shape[:-2], *self.seq_lengths)

    def to_dense(self) -> Tensor:
        """Which blocks count, in part or wholly: int32 1 or 0 of shape (B, H, query blocks, key blocks)."""
        partly = _dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is None or self.full_kv_indices is None:
            return partly
        return partly | _dense(self.full_kv_num_blocks, self.full_kv_indices)

    def mask(self, device: Any) -> Tensor:
        """Which keys count: bool (B, H, Q, K)."""
        heads = self.kv_indices.shape[:-2]
        inside = _over_all(self.mask_mod, None, (*heads, *self.seq_lengths), device).to(bool_)
        allowed = inside & self._elements(_dense(self.kv_num_blocks, self.kv_indices))
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            allowed = allowed | self._elements(_dense(self.full_kv_num_blocks, self.full_kv_indices))
        return allowed

    def _elements(self, blocks: Tensor) -> Tensor:
        (queries, keys), (rows, columns) = self.seq_lengths, self.BLOCK_SIZE
        whole = blocks.repeat_interleave(rows, -2).repeat_interleave(columns, -1)
        return whole[..., :queries, :keys].to(bool_)

    def numel(self) -> int:
        """How many scores there are."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many percent of the scores lie in blocks that do not count."""
        counted = int(self.to_dense().sum()) * math.prod(self.BLOCK_SIZE)
        return 100 * (1 - counted / self.numel())

    def to(self, device: Any) -> BlockMask:
        """The mask with its tensors on another device."""
        moved: list[Any] = [None if one is None else one.to(device) for one in self._tensors()]
        arguments: tuple[Any, ...] = (self.seq_lengths, *moved, self.BLOCK_SIZE, self.mask_mod)
        return BlockMask(*arguments)

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The constructor's arguments; with *flatten*, lengths and sizes are not nested."""
        ends = (self.seq_lengths, self.BLOCK_SIZE)
        first, last = ends if flatten else ((self.seq_lengths,), (self.BLOCK_SIZE,))
        return (*first, *self._tensors(), *last, self.mask_mod)

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads or blocks of queries; its mask_mod, which knows whole masks, is lost."""
        index = index if isinstance(index, tuple) else (index,)
        kept = tuple(slice(i, i + 1) if isinstance(i, int) and i != -1 else slice(-1, None) if i == -1 else i
                     for i in index)  # fmt: skip
        partly = (self.kv_num_blocks[kept], self.kv_indices[kept])
        full = (None, None)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            full = (self.full_kv_num_blocks[kept], self.full_kv_indices[kept])  # type: ignore[assignment]
        queries = min(self.seq_lengths[0], partly[1].shape[-2] * self.BLOCK_SIZE[0])
        return BlockMask.from_kv_blocks(
            *partly, *full, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=_sliced, seq_lengths=(queries, self.seq_lengths[1]),
            compute_q_blocks=self.q_indices is not None,
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, BLOCK_SIZE={self.BLOCK_SIZE})"


def _sliced(b: Tensor, h: Tensor, q_idx: Tensor, kv_idx: Tensor) -> Tensor:
    raise NotSupported(
        "flex_attention: block_mask is a part of another, whose mask_mod knows the whole",
        fix="set block_mask.mask_mod to a function of the part's indices",
    )


def _dense(num_blocks: Tensor, indices: Tensor) -> Tensor:
    """int32 (..., rows, columns), 1 where a row lists a column."""
    columns = indices.shape[-1]
    listed = polyad.arange(columns, device=indices.device) < num_blocks[..., None]
    return polyad.zeros_like(indices, dtype=int32).scatter_add(-1, indices.long(), listed.to(int32))


def _columns_first(blocks: Tensor) -> tuple[Tensor, Tensor]:
    """How many columns each row of ones and zeros has, and which, first in the row."""
    order = polyad.argsort(blocks, dim=-1, descending=True, stable=True)
    return blocks.sum(-1).to(int32), order.to(int32).contiguous()


def create_block_mask(
    mask_mod: Mod,
    B: int | None,
    H: int | None,
    Q_LEN: int,
    KV_LEN: int,
    device: Any = None,
    BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False,
    separate_full_blocks: bool = True,
) -> BlockMask:
    """The blocks of a mask_mod for so many batches, heads (None: the same for all), queries and keys.

    With *separate_full_blocks*, blocks of which every key counts are listed apart. *_compile* has no effect.

    >>> from polyad.nn.attention.flex_attention import create_block_mask
    >>> mask = create_block_mask(lambda b, h, q, k: q >= k, None, None, 8, 8, device="cpu", BLOCK_SIZE=4)
    >>> mask
    BlockMask(shape=(1, 1, 8, 8), sparsity=25.00%, BLOCK_SIZE=(4, 4))
    >>> mask.to_dense()
    tensor([[[[1, 0],
              [1, 1]]]], dtype=polyad.int32)
    """
    rows, columns = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    mask = create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device)
    padded = polyad.nn.functional.pad(mask, (0, -KV_LEN % columns, 0, -Q_LEN % rows))
    *heads, queries, keys = padded.shape
    counts = padded.reshape(*heads, queries // rows, rows, keys // columns, columns).sum((-3, -1))
    full = (counts == rows * columns) if separate_full_blocks else polyad.zeros_like(counts, dtype=bool_)
    partly = (counts > 0) & ~full
    full_numbers, full_indices = _columns_first(full.to(int32)) if separate_full_blocks else (None, None)
    numbers, indices = _columns_first(partly.to(int32))
    return BlockMask.from_kv_blocks(
        numbers, indices, full_numbers, full_indices, (rows, columns), mask_mod, (Q_LEN, KV_LEN)
    )


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: Mod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: Any = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention of queries to keys: the softmax of ``score_mod(scale * query @ key.mT)`` over the keys that count, by
    the values. A query for which no key counts gets 0.

    Shapes: query (B, H, L, E), key (B, H, S, E), value (B, H, S, Ev) -> (B, H, L, Ev), in the query's dtype; half types
    are computed in float32. With *enable_gqa*, keys and values may have fewer heads, each for as many of the queries'.
    *scale* is 1 / sqrt(E) if None. With *return_lse* or *return_aux* a pair: the result, and what was asked for.
    *kernel_options* have no effect.

    Raises ValueError for operands that do not fit, NotImplementedError for operands of other than 4 dimensions.

    >>> import polyad
    >>> from polyad.nn.attention.flex_attention import flex_attention
    >>> x = polyad.eye(2).reshape(1, 1, 2, 2)
    >>> far = lambda score, b, h, q, k: score - 200.0 * (q - k).abs()
    >>> flex_attention(x, x, x, score_mod=far)
    tensor([[[[1., 0.],
              [0., 1.]]]])
    """
    _check_attention(query, key, value, enable_gqa)
    given, heads = query.dtype, query.shape[1]
    if key.shape[1] != heads:
        key, value = (one.repeat_interleave(heads // one.shape[1], 1) for one in (key, value))
    if given is not float64:
        query, key, value = query.float(), key.float(), value.float()
    scores = query @ key.mT * (query.shape[-1] ** -0.5 if scale is None else scale)
    dtype, shape = scores.dtype, tuple(scores.shape)
    if score_mod is not None:
        scores = _over_all(score_mod, scores, shape, scores.device).to(dtype)
    if block_mask is not None:
        scores = scores.masked_fill(~_mask_for(block_mask, shape, scores.device), -math.inf)
    empty = (scores == -math.inf).all(-1, keepdim=True)
    weights = polyad.softmax(scores.masked_fill(empty, 0.0), -1).masked_fill(empty, 0.0)
    out = (weights @ value).to(given)
    if return_aux is not None:
        return out, AuxOutput(
            polyad.logsumexp(scores, -1) if return_aux.lse else None,
            scores.amax(-1) if return_aux.max_scores else None,
        )
    return (out, polyad.logsumexp(scores, -1)) if return_lse else out


def _check_attention(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> None:
    operands = {"query": query, "key": key, "value": value}
    if any(one.dim() != 4 for one in operands.values()):
        raise NotSupported(
            "flex_attention: operands have other than 4 dimensions", operands=operands, fix="give (B, H, length, size)"
        )
    problem = ""
    if len({one.dtype for one in operands.values()}) > 1 or not query.is_floating_point():
        problem, fix = "operands are not of one floating point dtype", "convert them with .to(dtype)"
    elif key.shape[1] != query.shape[1] and not enable_gqa:
        problem, fix = "query and key have other numbers of heads", "pass enable_gqa=True to share keys among queries"
    elif query.shape[1] % max(key.shape[1], 1):
        problem, fix = "the query's heads are no multiple of the key's", "give each key as many queries"
    elif key.shape[:3] != value.shape[:3]:
        problem, fix = "key and value have other shapes", "give a value for each key"
    elif query.shape[-1] != key.shape[-1] or key.shape[0] not in (1, query.shape[0]):
        problem, fix = "query and key do not fit", "give the same number of batches, and vectors of one size"
    if problem:
        raise ArgumentError(f"flex_attention: {problem}", operands=operands, fix=fix)


def _mask_for(block_mask: BlockMask, shape: tuple[int, ...], device: Any) -> Tensor:
    if not isinstance(block_mask, BlockMask):
        raise ArgumentTypeError(
            f"flex_attention: block_mask is {safe_repr(block_mask)}, not a BlockMask",
            fix="make it by create_block_mask",
        )
    fits = all(own in (1, wanted) for own, wanted in zip(block_mask.shape[:2], shape))
    if not fits or block_mask.seq_lengths != shape[2:]:
        raise ArgumentError(
            f"flex_attention: block_mask was made for {block_mask.shape}, scores are {shape}",
            fix="make it by create_block_mask for these batches, heads, queries and keys",
        )
    return block_mask.mask(device)
