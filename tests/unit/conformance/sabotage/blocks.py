"""Work that is cut into blocks, wrong from the second block on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .saboteur import Saboteur, caught_by, outcome

if TYPE_CHECKING:
    import pytest

BLOCK = 1024
"""What a work-group computes."""


def _blocks(size: int) -> list[np.ndarray]:
    return [np.arange(begin, min(begin + BLOCK, size)) for begin in range(0, size, BLOCK)]


@caught_by("check_large_elementwise")
def starts_too_few_blocks(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The number of blocks is kept in 10 bits, so that the end of large results is not computed."""

    def cut(result: Any, *args: Any) -> Any:
        result.reshape(-1)[BLOCK * BLOCK :] = 0
        return result

    backend.replace("add", lambda honest: outcome(honest, cut))


@caught_by("check_large_copies")
def forgets_the_edge_of_tiles(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A transposing copy leaves out what is no whole tile of 32 by 32."""
    honest = Saboteur.copy

    def copy(self: Any, target: Any, source: Any) -> None:
        if target.ndim == 2 and min(target.shape) > 32:
            rows, columns = (n // 32 * 32 for n in target.shape)
            honest(self, target[:rows, :columns], source[:rows, :columns])
        else:
            honest(self, target, source)

    patch.setattr(Saboteur, "copy", copy)
    backend.replace("copy", lambda honest: outcome(honest, _without_edge))


def _without_edge(result: Any, *args: Any) -> Any:
    if result.ndim == 2 and min(result.shape) > 32:
        result[result.shape[0] // 32 * 32 :] = 0
    return result


@caught_by("check_large_reductions")
def sums_the_first_blocks_alone(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """The second pass of a sum adds the results of one block of blocks."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, keepdim: bool) -> Any:
            return honest(a[: BLOCK * BLOCK] if a.ndim == 1 else a, dims, keepdim)

        return kernel

    backend.replace("sum", make)


@caught_by("check_large_reductions")
def counts_positions_from_the_block(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """argmax gives the position within the block where the maximum is."""
    backend.replace("argmax", lambda honest: outcome(honest, lambda r, *args: r % BLOCK))


@caught_by("check_large_scans")
def begins_running_sums_anew(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A running sum does not carry into the next block."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int) -> Any:
            if not a.ndim or a.shape[dim] <= BLOCK:
                return honest(a, dim)
            return np.concatenate([honest(np.take(a, block, dim), dim) for block in _blocks(a.shape[dim])], dim)

        return kernel

    backend.replace("cumsum", make)


@caught_by("check_large_sorting")
def sorts_each_block(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Blocks are sorted and never merged."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int, descending: bool) -> Any:
            if not a.ndim or a.shape[dim] <= BLOCK:
                return honest(a, dim, descending)
            blocks = _blocks(a.shape[dim])
            sorted_ones = [honest(np.take(a, block, dim), dim, descending) for block in blocks]
            values = np.concatenate([one for one, _ in sorted_ones], dim)
            return values, np.concatenate([one + block[0] for (_, one), block in zip(sorted_ones, blocks)], dim)

        return kernel

    backend.replace("sort", make)


@caught_by("check_large_searches")
def lists_blocks_as_they_end(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """Blocks take their places in the result of nonzero by an atomic counter, the last one first."""

    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            found = honest(a)
            if a.size <= BLOCK:
                return found
            block = np.ravel_multi_index(tuple(found.T), a.shape) // BLOCK
            return found[np.argsort(-block, kind="stable")]

        return kernel

    backend.replace("nonzero", make)


@caught_by("check_large_writes")
def adds_within_blocks_alone(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """What blocks add to one place is not added up: the last block's sum is kept."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dim: int, index: Any, source: Any, *rest: Any) -> Any:
            if not index.ndim or index.shape[dim] <= BLOCK:
                return honest(a, dim, index, source, *rest)
            last = _blocks(index.shape[dim])[-1]
            return honest(a, dim, np.take(index, last, dim), np.take(source, last, dim), *rest)

        return kernel

    backend.replace("scatter_add", make)


@caught_by("check_large_products")
def leaves_out_the_last_depth(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A product of matrices goes along the inner dimension in whole tiles of 16."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, turned: bool, other_turned: bool) -> Any:
            inner = a.shape[-2 if turned else -1]
            if inner <= 64 or inner % 16 == 0:
                return honest(a, b, turned, other_turned)
            whole = np.arange(inner // 16 * 16)
            return honest(
                np.take(a, whole, -2 if turned else -1),
                np.take(b, whole, -1 if other_turned else -2),
                turned,
                other_turned,
            )

        return kernel

    backend.replace("gemm", make)
