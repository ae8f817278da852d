"""Attention and its gradient by kernels of our own that hold no scores: float32 and half types, computed in float32.

A block has some queries of a head, past which keys and values stream through shared memory; it keeps each row's largest
score and the sum of the powers, and scales what it has summed when a larger score comes (Milakov and Gimelshein 2018,
Dao et al. 2022). The gradient is computed by two kernels that make the weights again from the logarithms of the sums: a
block of the first has some queries, of the second some keys, so that nothing is added by atomics, and sums have the
same bits each time. Where queries are causal, tiles that hold no pair are left out.

What is left to the op's body: float64, more than 128 features, and `polyad.backends.cuda.enable_mem_efficient_sdp`
set to False.
"""

from __future__ import annotations

import math
from typing import Any

from polyad.base.dtypes import DType, bfloat16, bool_, float16, float32
from polyad.base.shapes_and_strides import broadcast_shapes, broadcast_strides
from polyad.codegen import collapse
from polyad.errors import ShapeError
from polyad.settings import allowed_attention
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying
from polyad_kernels.memo import memoize
from polyad_kernels.source.elements import STORED, text as elements

from . import fused_attention_source

COMPUTED = (float32, float16, bfloat16)
_THREADS = 128
_FEATURES = 128
"""The most that tiles in 48 KiB of shared memory have."""

_MOST_BLOCKS = 2**31 - 1
_LETTERS = {"attend": "qkvm", "of_query": "gqkvm", "of_keys": "gqkvm"}
_RESULTS = {"attend": "ppppppfiiiii", "of_query": "pppppppppfiiiii", "of_keys": "pppppppppfiiiii"}

_TILES = {
    # Rows and columns of a tile, up to 64 features and beyond: what fits into shared memory and registers.
    "attend": ((64, 32), (32, 32)),
    "of_query": ((32, 32), (16, 32)),
    "of_keys": ((32, 32), (16, 16)),
}


class _Heads:
    """The operands of a call: how they lie, and what a kernel is told of that."""

    def __init__(self, name: str, lead: tuple[int, ...], operands: list[Array], mask: Array | None) -> None:
        query, key, value = operands[-3:]
        self.device, self.dtype, self.mask = query.device, query.dtype, mask
        self.rows, self.columns = query.shape[-2], key.shape[-2]
        self.features, self.of_values = query.shape[-1], value.shape[-1]
        self.count = math.prod(lead)
        seen = [(x, x.steps[-2:]) for x in operands]
        if mask is not None:
            steps = broadcast_strides(mask.shape, mask.steps, (*lead, self.rows, self.columns))
            seen.append(
                (Array(mask.block, mask.dtype, (*lead, self.rows, self.columns), steps, mask.offset), steps[-2:])
            )
        outer = [broadcast_strides(x.shape[:-2], x.steps[:-2], lead) for x, _ in seen]
        sizes, steps = collapse(lead, outer)
        self.rank = max(3, len(sizes))
        lacking = self.rank - len(sizes)
        self.numbers = [1] * lacking + [*sizes]
        for (x, inner), each in zip(seen, steps, strict=True):
            self.numbers += [x.offset, *[0] * lacking, *each, *inner]
        wanted = 4 if all(_packs(x, each) for (x, _), each in zip(seen[: len(operands)], steps)) else 1
        self.name, self.pack = name, wanted

    def launch(self, arrays: list[Array], scale: float, causal: bool) -> None:
        """Enqueue the kernel for *arrays*, its results and operands."""
        wide = max(32, -(-max(self.features, self.of_values) // 32) * 32)
        rows, _ = _TILES[self.name][wide > 64]
        mask = None if self.mask is None else self.mask.dtype
        kernel = _kernel(self.device, self.name, self.dtype, mask, wide, self.pack, self.rank)
        places = [x.buffer for x in arrays]
        blocks = self.count * -(-(self.columns if self.name == "of_keys" else self.rows) // rows)
        kernel(
            (blocks * _THREADS,), *places, scale, int(causal), self.rows, self.columns, self.features, self.of_values,
            *self.numbers,
        )  # fmt: skip


def _packs(x: Array, outer: tuple[int, ...]) -> bool:
    """Whether four features at once can be read of *x*."""
    down, across = x.steps[-2:]
    size = x.dtype.itemsize
    place = x.buffer + x.offset * size
    return across == 1 and not (x.shape[-1] | down | math.gcd(*outer)) % 4 and not place % (4 * size)


@memoize
def _kernel(device: Any, name: str, dtype: DType, mask: DType | None, wide: int, pack: int, rank: int) -> Any:
    rows, columns = _TILES[name][wide > 64]
    operands = _LETTERS[name] if mask else _LETTERS[name][:-1]
    hidden = "((mask)[i] ? (score) : -INFINITY)"
    if mask is not None and mask is not bool_:
        hidden = "((score) + (mask)[i])" if mask is float32 else "((score) + LOAD(mask, i))"
    source = f"""{elements(dtype)}
#define ROWS {rows}
#define COLUMNS {columns}
#define WIDTH {wide}
#define PACK {pack}
#define MASK {"uchar" if mask is None else STORED[mask.name]}
#define HIDDEN(score, i) {hidden}
{fused_attention_source.text(name, operands, rank, mask is not None)}"""
    letters = _RESULTS[name] + "q" * (rank + len(operands) * (3 + rank))
    return device.kernel(source, name, letters, what=f"attention {dtype.name}", local=(_THREADS,))


def _taken(name: str, lead: tuple[int, ...], operands: list[Array], mask: Array | None) -> _Heads | None:
    """How *operands*, of which query, key and value are the last, are computed; None if that is left to the body."""
    query, key, value = operands[-3:]
    if not allowed_attention()["mem_efficient"] or any(x.dtype is not query.dtype for x in operands):
        return None
    if query.dtype not in COMPUTED or max(query.shape[-1], value.shape[-1]) > _FEATURES:
        return None
    if math.prod(lead) * max(query.shape[-2], key.shape[-2]) > _MOST_BLOCKS:
        return None
    if mask is not None:
        if mask.dtype not in (bool_, float32, query.dtype):
            return None
        whole = (*lead, query.shape[-2], key.shape[-2])
        try:
            if broadcast_shapes(mask.shape, whole) != whole:
                return None
        except ShapeError:
            return None
    return _Heads(name, lead, operands, mask)


def attention(query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float) -> Any:
    """The results of ``attention``; NotImplemented if that is left to the body."""
    lead = broadcast_shapes(query.shape[:-2], key.shape[:-2], value.shape[:-2])
    heads = _taken("attend", lead, [query, key, value], mask)
    if heads is None:
        return NotImplemented
    out = new(query.device, (*lead, heads.rows, heads.of_values), query.dtype)
    sums = new(query.device, (*lead, heads.rows), float32)
    if sums.size:
        heads.launch([out, sums, query, key, value, mask or query], scale, causal)
    return out, sums


def attention_backward(
    grad: Array, query: Array, key: Array, value: Array, mask: Array | None, out: Array, sums: Array, causal: bool,
    scale: float,
) -> Any:  # fmt: skip
    """The results of ``attention_backward``, with all dimensions of batches; NotImplemented if that is left to the
    body.
    """
    lead, operands = grad.shape[:-2], [grad, query, key, value]
    by_rows = _taken("of_query", lead, operands, mask)
    if by_rows is None:
        return NotImplemented
    of_query, of_key, of_value = [new(x.device, (*lead, *x.shape[-2:]), x.dtype) for x in (query, key, value)]
    given = [*operands, mask or query]
    out, sums = _dense(out), _dense(sums)
    deltas = new(sums.device, sums.shape, float32)
    if sums.size:
        by_rows.launch([of_query, deltas, *given, out, sums], scale, causal)
    if by_rows.count * by_rows.columns:
        _Heads("of_keys", lead, operands, mask).launch([of_key, of_value, *given, deltas, sums], scale, causal)
    return of_query, of_key, of_value


def _dense(x: Array) -> Array:
    if x.is_dense and not x.offset:
        return x
    dense = new(x.device, x.shape, x.dtype)
    copying.copy(dense, x)
    return dense
