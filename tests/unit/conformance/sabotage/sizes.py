"""Kernels that are right for the small and wrong for the large: tails, second passes, tiles, narrow positions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .saboteur import Saboteur, caught_by, outcome

if TYPE_CHECKING:
    import pytest

BLOCK = 1024
WARP = 32


def _reduced(make: Callable[[Any, Any, tuple[int, ...], bool], Any]) -> Callable[..., Any]:
    """A kernel of a reduction that goes over *make(honest, array, dims, keepdim)* where a row has more than a block."""

    def wrap(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, keepdim: bool) -> Any:
            named = tuple(range(a.ndim)) if dims is None else (dims,) if isinstance(dims, int) else tuple(dims)
            if not a.ndim or not named or a.shape[named[-1]] <= BLOCK:
                return honest(a, dims, keepdim)
            return make(honest, a, dims, keepdim, named[-1])

        return kernel

    return wrap


def _first(a: Any, dim: int, size: int) -> Any:
    return a[(slice(None),) * dim + (slice(0, size),)]


def _rest(a: Any, dim: int, size: int) -> Any:
    return a[(slice(None),) * dim + (slice(size, None),)]


@caught_by("test_lengths", "amin")
def takes_the_minimum_of_one_block(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """amin looks at the first 1,024 elements of a row."""
    backend.replace("amin", _reduced(lambda honest, a, dims, keep, dim: honest(_first(a, dim, BLOCK), dims, keep)))


@caught_by("test_lengths", "prod")
def multiplies_whole_blocks(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A product leaves out what is no whole block of 1,024."""
    backend.replace(
        "prod",
        _reduced(lambda honest, a, dims, keep, dim: honest(_first(a, dim, a.shape[dim] // BLOCK * BLOCK), dims, keep)),
    )


@caught_by("test_lengths", "argmin")
def takes_the_last_of_equal_blocks(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Of blocks with equal minima, argmin takes the one that ends last."""

    def later(honest: Any, a: Any, dims: Any, keep: bool, dim: int) -> Any:
        if dims is None:
            return honest(a, dims, keep)
        last = (a.shape[dim] - 1) // BLOCK * BLOCK
        tail = _rest(a, dim, last)
        equal = tail.min(dim, keepdims=keep) == a.min(dim, keepdims=keep)
        return np.where(equal, honest(tail, dims, keep) + last, honest(a, dims, keep))

    backend.replace("argmin", _reduced(later))


@caught_by("test_lengths", "amax")
def loses_nan_between_blocks(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The maxima of blocks are combined by C's fmax, which drops NaN."""

    def combined(honest: Any, a: Any, dims: Any, keep: bool, dim: int) -> Any:
        if a.dtype.kind != "f":
            return honest(a, dims, keep)
        return np.fmax(honest(_first(a, dim, BLOCK), dims, keep), honest(_rest(a, dim, BLOCK), dims, keep))

    backend.replace("amax", _reduced(combined))


@caught_by("test_lengths", "sum")
def counts_true_in_a_byte(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Sums of bools are accumulated in 8 bits."""

    def make(honest: Any) -> Any:
        return lambda a, *rest: honest(a, *rest) % 256 if a.dtype == bool else honest(a, *rest)

    backend.replace("sum", make)


@caught_by("check_wide_sums")
def adds_small_integers_up_in_32_bits(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Sums of small integers are accumulated in int32, and wrap at 2**31."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, *rest: Any) -> Any:
            result = honest(a, *rest)
            return result.astype(np.int32).astype(result.dtype) if a.dtype.kind in "iu" and a.itemsize < 8 else result

        return kernel

    backend.replace("sum", make)


@caught_by("test_lengths", "cumprod")
def carries_no_product(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A running product begins anew with each block."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int) -> Any:
            if not a.ndim or a.shape[dim] <= BLOCK:
                return honest(a, dim)
            return np.concatenate([honest(_first(a, dim, BLOCK), dim), honest(_rest(a, dim, BLOCK), dim)], dim)

        return kernel

    backend.replace("cumprod", make)


@caught_by("test_lengths", "softmax")
def looks_for_the_maximum_in_one_block(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """softmax subtracts the maximum of the first 1,024 elements, and overflows where a later one is much larger."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int) -> Any:
            if not a.ndim or a.shape[dim] <= BLOCK:
                return honest(a, dim)
            with np.errstate(all="ignore"):
                powers = np.exp(a - _first(a, dim, BLOCK).max(dim, keepdims=True))
                return (powers / powers.sum(dim, keepdims=True)).astype(a.dtype)

        return kernel

    backend.replace("softmax", make)


@caught_by("test_lengths", "mul")
def computes_whole_vectors_of_16(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Beyond a first block, what is no whole vector of 16 elements is not computed."""

    def cut(result: Any, *args: Any) -> Any:
        if result.size > BLOCK:
            flat = result.reshape(-1)
            flat[flat.size // 16 * 16 :] = 0
        return result

    backend.replace("mul", lambda honest: outcome(honest, cut))


@caught_by("test_lengths", "cos")
def counts_elements_in_16_bits(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """An element's number is kept in 16 bits: elements from 65,536 on are those of the beginning."""

    def wrapped(result: Any, *args: Any) -> Any:
        flat = result.reshape(-1)
        flat[1 << 16 :] = np.resize(flat[: 1 << 16], max(flat.size - (1 << 16), 0))
        return result

    backend.replace("cos", lambda honest: outcome(honest, wrapped))


@caught_by("check_large_writes")
def adds_one_of_the_duplicates(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """index_add of more than 32 indices adds one of those that are equal."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, index: Any, source: Any, dim: int) -> Any:
            result = honest(a, index, source, dim)
            if index.size <= WARP:
                return result
            place = (slice(None),) * dim + (index,)
            result[...] = a
            result[place] += source
            return result

        return kernel

    backend.replace("index_add", make)


@caught_by("check_large_writes")
def collects_rows_of_one_block(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The gradient of an embedding leaves out words from the 257th on."""

    def make(honest: Any) -> Any:
        return lambda g, index, *rest: honest(g.reshape(-1, g.shape[-1])[:256], index.reshape(-1)[:256], *rest)

    backend.replace("embedding_backward", make)


@caught_by("check_large_writes")
def puts_the_last_of_the_duplicates(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """index_put of more than 32 elements does not accumulate those that meet."""

    def make(honest: Any) -> Any:
        return lambda a, indices, values, accumulate: (
            honest(a, indices, a[tuple(indices)] + values, False)
            if accumulate and values.size > WARP and not any(i is None for i in indices)
            else honest(a, indices, values, accumulate)
        )

    backend.replace("index_put", make)


@caught_by("check_large_writes")
def counts_within_a_block(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """bincount counts the first 1,024 numbers."""
    backend.replace(
        "bincount", lambda honest: lambda a, w, *rest: honest(a[:BLOCK], None if w is None else w[:BLOCK], *rest)
    )


@caught_by("check_large_indexing")
def reads_positions_in_16_bits(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """index_select keeps positions in 16 bits."""
    backend.replace(
        "index_select",
        lambda honest: lambda a, index, dim: honest(a, np.where(index >= 0, index & 0xFFFF, index), dim),
    )


@caught_by("check_large_searches")
def searches_in_ten_steps(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A binary search takes ten steps, which end too early in more than 1,024 numbers."""

    def make(honest: Any) -> Any:
        def kernel(sequence: Any, *rest: Any) -> Any:
            result = honest(sequence, *rest)
            size = sequence.shape[-1] if sequence.ndim else 0
            return result if size <= BLOCK else (result // 4 * 4).astype(result.dtype)

        return kernel

    backend.replace("searchsorted", make)


@caught_by("check_large_copies")
def joins_whole_vectors(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """cat leaves out what is no whole vector of 4 in each part of more than 1,024 elements."""

    def cut(a: Any) -> Any:
        if a.size <= BLOCK:
            return a
        a = np.array(a, order="C")
        a.reshape(-1)[a.size // 4 * 4 :] = 0
        return a

    for op in ("cat", "stack"):
        backend.replace(op, lambda honest: lambda tensors, *rest: honest([cut(a) for a in tensors], *rest))


@caught_by("check_large_copies")
def turns_whole_blocks_around(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """flip turns the first 1,024 elements of a row around and leaves the others where they are."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any) -> Any:
            if len(dims) != 1 or a.shape[dims[0]] <= BLOCK:
                return honest(a, dims)
            return np.concatenate([honest(_first(a, dims[0], BLOCK), dims), _rest(a, dims[0], BLOCK)], dims[0])

        return kernel

    backend.replace("flip", make)


@caught_by("check_large_copies")
def clears_whole_tiles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """triu and tril clear tiles of 32 by 32 that are all on one side, and those on the diagonal of small matrices."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, diagonal: int) -> Any:
            if min(a.shape[-2:]) <= WARP:
                return honest(a, diagonal)
            result, rows, columns = honest(a, diagonal), np.arange(a.shape[-2]), np.arange(a.shape[-1])
            return np.where((rows[:, None] // WARP == columns // WARP), a, result)

        return kernel

    for op in ("triu", "tril"):
        backend.replace(op, make)


@caught_by("check_large_creation")
def repeats_random_words_after_a_block(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Each block of 4,096 random words is the first one."""

    def repeated(words: Any, *args: Any) -> Any:
        flat = words.reshape(-1)
        flat[4096:] = np.resize(flat[:4096], max(flat.size - 4096, 0))
        return words

    backend.replace("philox_bits", lambda honest: outcome(honest, repeated))


@caught_by("check_large_creation")
def counts_up_by_adding(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """arange adds the step again and again, and its rounding errors up."""

    def make(honest: Any) -> Any:
        def kernel(*args: Any) -> Any:
            result = honest(*args)
            if result.dtype != np.float32 or result.size < 2:
                return result
            steps = np.full(result.size, args[1], np.float32)
            steps[0] = args[0]
            return np.cumsum(steps, dtype=np.float32)

        return kernel

    backend.replace("arange", make)


@caught_by("check_large_products")
def adds_the_bias_twice(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The second tile of a linear layer's outputs has its bias twice."""

    def twice(result: Any, a: Any, weight: Any, bias: Any) -> Any:
        if bias is not None:
            result[..., 128:] += bias[128:]
        return result

    backend.replace("linear", lambda honest: outcome(honest, twice))


@caught_by("check_large_products")
def multiplies_the_first_of_many(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Batches beyond 64 are multiplied by the first matrix of the other operand."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, *turned: bool) -> Any:
            if b.ndim < 3 or b.shape[0] <= 64:
                return honest(a, b, *turned)
            b = b.copy()
            b[64:] = b[0]
            return honest(a, b, *turned)

        return kernel

    for op in ("gemm", "bmm"):
        backend.replace(op, make)


@caught_by("check_large_windows")
def convolves_whole_tiles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A convolution leaves out input channels that are no whole vector of 16."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, weight: Any, *rest: Any) -> Any:
            whole = weight.shape[1] // 16 * 16
            if not whole or whole == weight.shape[1]:
                return honest(a, weight, *rest)
            weight = weight.copy()
            weight[:, whole:] = 0
            return honest(a, weight, *rest)

        return kernel

    backend.replace("convolution", make)
