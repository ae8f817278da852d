"""Attention of half types and its gradient by cuDNN, where it is proved: no scores are held.

What is left to `fused_attention` and the op's body: float32 and float64, masks (a query that a mask lets attend to
nothing gets 0 in polyad, and NaN from cuDNN), batches that broadcast in other ways than groups of heads, and sizes that
cuDNN has no plan for. Dropout never comes here: its body draws polyad's own random bits. Where
``polyad.backends.cuda.enable_cudnn_sdp(False)`` was said, everything is left to them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from polyad.backends import cudnn as switches
from polyad.base.dtypes import DType, bfloat16, float16, float32
from polyad.base.shapes_and_strides import contiguous_strides
from polyad.settings import allowed_attention
from polyad_kernels.array import Array, new
from polyad_kernels.kernels.memory import conversion as copying

from ...libraries.accuracy import EPSILON, difference, on_host, random
from ...libraries.cudnn import ALIGNMENT, TYPES, CudnnError, Sizes, Work, version
from . import cudnn_convolution

HALF = (float16, bfloat16)
_ROWS = 8
"""Elements of a half type that have the alignment: features, and every step, are multiples of them."""

Laid = tuple[Sizes, Sizes]
"""Sizes and steps."""


@dataclass(frozen=True, slots=True)
class Attention(Work):
    """Attention of (batch, heads, positions, features), or its gradient.

    Attributes:
        operands: of the first, query, key, value and the result; of the second also that of the arriving gradient.
        causal: whether query i attends to keys up to i.
    """

    dtype: DType
    operands: tuple[Laid, ...]
    causal: bool
    scale: float

    @property
    def avoided(self) -> tuple[str, ...]:
        """Notes of engines that are not to be chosen; which adds up in order is said in the graph."""
        return ()

    def describe(self, cudnn: Any, graph: Any) -> None:
        """Put the operation into *graph*."""
        kind = getattr(cudnn.data_type, TYPES[self.dtype])
        names = ("q", "k", "v", "o", "dO")
        backward = len(self.operands) > 4
        given = {
            name: graph.tensor(dim=list(sizes), stride=list(steps), data_type=kind, name=name, uid=number)
            for number, (name, (sizes, steps)) in enumerate(zip(names, self.operands), 1)
            if backward or name != "o"
        }
        settings: dict[str, Any] = {"attn_scale": self.scale}
        if self.causal:
            settings["diagonal_alignment"] = cudnn.diagonal_alignment.TOP_LEFT
            settings["diagonal_band_right_bound"] = 0
        of_sums = (*self.operands[3][0][:3], 1)
        if not backward:
            out, sums = graph.sdpa(**given, generate_stats=True, **settings)
            _result(out, self.operands[3], kind, 4)
            _result(sums, (of_sums, contiguous_strides(of_sums)), cudnn.data_type.FLOAT, 5)
            return
        sums = graph.tensor(
            dim=list(of_sums), stride=list(contiguous_strides(of_sums)), data_type=cudnn.data_type.FLOAT,
            name="stats", uid=6,
        )  # fmt: skip
        results = graph.sdpa_backward(**given, stats=sums, use_deterministic_algorithm=True, **settings)
        for number, (result, (sizes, _)) in enumerate(zip(results, self.operands), 7):
            _result(result, (sizes, contiguous_strides(sizes)), kind, number)


def _result(tensor: Any, laid: Laid, kind: Any, number: int) -> None:
    sizes, steps = laid
    tensor.set_output(True).set_dim(list(sizes)).set_stride(list(steps)).set_data_type(kind).set_uid(number)


def _merged(x: Array, first: int, end: int) -> Laid | None:
    """The dimensions from *first* to *end* of *x* as a single one; None if they do not lie so."""
    size, step = 1, 0
    for have, apart in zip(reversed(x.shape[first:end]), reversed(x.steps[first:end])):
        if have == 1:
            continue
        if size > 1 and apart != size * step:
            return None
        step = step if size > 1 else apart
        size *= have
    return (size,), (step,)


def _heads(x: Array, batch: int) -> Array:
    """*x* (lead.., positions, features) as (batch, heads, positions, features), where *batch* dimensions are the first;
    a copy, if it does not lie so that cuDNN reads it.
    """
    parts = _merged(x, 0, batch), _merged(x, batch, x.ndim - 2)
    place = x.buffer + x.offset * x.dtype.itemsize
    if None not in parts and x.steps[-1] == 1 and not place % ALIGNMENT:
        (batches, outer), (heads, inner) = parts  # type: ignore[misc]
        sizes, steps = (*batches, *heads, *x.shape[-2:]), (*outer, *inner, *x.steps[-2:])
        apart = [step for size, step in zip(sizes[:3], steps[:3]) if size > 1]
        if all(step and not step % _ROWS for step in apart):
            wanted = contiguous_strides(sizes)
            steps = tuple([step if size > 1 else full for size, step, full in zip(sizes, steps, wanted)])
            return Array(x.block, x.dtype, sizes, steps, x.offset)
    copied = new(x.device, x.shape, x.dtype)
    copying.copy(copied, x)
    sizes = (math.prod(x.shape[:batch]), math.prod(x.shape[batch:-2]), *x.shape[-2:])
    return Array(copied.block, x.dtype, sizes, contiguous_strides(sizes), 0)


def _batch(query: Array, key: Array, value: Array) -> int | None:
    """How many of the leading dimensions are batches, and no heads; None if cuDNN cannot see them so."""
    lead, others = query.shape[:-2], key.shape[:-2]
    if value.shape[:-2] != others or (query.shape[-1] | value.shape[-1]) % _ROWS:
        return None
    if not all(map(math.prod, (query.shape, key.shape, value.shape))):
        return None
    if lead == others:
        return max(0, len(lead) - 1)
    if len(lead) == len(others) and lead[:-1] == others[:-1] and others[-1] == 1:
        return max(0, len(lead) - 2)  # groups of queries' heads, a dimension of their own, share keys and values
    return None


def attention(query: Array, key: Array, value: Array, mask: Array | None, causal: bool, scale: float) -> Any:
    """The results of ``attention``; NotImplemented if that is left to others."""
    batch = None if mask is not None else _batch(query, key, value)
    if batch is None or not _proved(query):
        return NotImplemented
    shape = (*query.shape[:-1], value.shape[-1])
    given = [_heads(x, batch) for x in (query, key, value)]
    out, sums = new(query.device, shape, query.dtype), new(query.device, shape[:-1], float32)
    sizes = (*given[0].shape[:3], shape[-1])
    operands = (*[(x.shape, x.steps) for x in given], (sizes, contiguous_strides(sizes)))
    work = Attention(query.dtype, operands, causal, scale)
    return (out, sums) if _run(work, (*given, out, sums)) else NotImplemented


def attention_backward(
    grad: Array, query: Array, key: Array, value: Array, mask: Array | None, out: Array, sums: Array, causal: bool,
    scale: float,
) -> Any:  # fmt: skip
    """The results of ``attention_backward``; NotImplemented if that is left to others.

    The gradients of keys and values that heads share are sums over these heads.
    """
    batch = None if mask is not None or grad.dtype is not query.dtype else _batch(query, key, value)
    if batch is None or not _proved(query):
        return NotImplemented
    operands = [_heads(x, batch) for x in (query, key, value, out, grad)]
    if not sums.is_dense:
        dense = new(sums.device, sums.shape, sums.dtype)
        copying.copy(dense, sums)
        sums = dense
    results = tuple([new(x.device, x.shape, x.dtype) for x in (query, key, value)])
    work = Attention(query.dtype, tuple([(x.shape, x.steps) for x in operands]), causal, scale)
    return results if _run(work, (*operands, sums, *results)) else NotImplemented


def _way(dtype: DType) -> str:
    return f"{dtype.name} attention by cuDNN"


def _proved(query: Array) -> bool:
    device, dtype = query.device, query.dtype
    if not switches.enabled or not allowed_attention()["cudnn"]:
        return False
    return bool(device.proofs.holds(_way(dtype), version, lambda: _objection(device, dtype)))


def _run(work: Attention, arrays: tuple[Array, ...]) -> bool:
    device = arrays[0].device
    places = [x.buffer + x.offset * x.dtype.itemsize for x in arrays]
    try:
        return cudnn_convolution.engine(device)(work, places)
    except CudnnError as error:
        device.proofs.drop(_way(work.dtype), error)
        return False


# ------------------------------------------------------------------------------------------------------------- proof

_TRIED = (
    # batch, heads of queries, of keys, queries, keys, features, features of values, whether it is causal
    (2, 2, 2, 64, 64, 64, 64, False),
    (1, 4, 2, 40, 72, 32, 32, True),
    (2, 3, 3, 128, 128, 64, 64, True),
    (1, 2, 2, 17, 33, 128, 128, False),
)


def _objection(device: Any, dtype: DType) -> str:
    """What is wrong with cuDNN's attention here, beside its definition in float64; empty if nothing is."""
    rng, taken = np.random.default_rng(0), 0
    for batch, heads, shared, rows, columns, features, of_values, causal in _TRIED:
        shapes = [
            (batch, heads, rows, features), (batch, shared, columns, features), (batch, shared, columns, of_values),
            (batch, heads, rows, of_values),
        ]  # fmt: skip
        query, key, value, grad = (random(device, rng, dtype, shape) for shape in shapes)
        scale = 1 / math.sqrt(features)
        given = [(x.shape, x.steps) for x in (query, key, value)]
        out, sums = new(device, shapes[3], dtype), new(device, shapes[3][:-1], float32)
        forward = Attention(dtype, (*given, (out.shape, out.steps)), causal, scale)
        engine = cudnn_convolution.engine(device)
        if not engine(forward, [x.buffer for x in (query, key, value, out, sums)]):
            continue
        results = [new(device, x.shape, dtype) for x in (query, key, value)]
        backward = Attention(dtype, (*given, (out.shape, out.steps), (grad.shape, grad.steps)), causal, scale)
        places = [x.buffer for x in (query, key, value, out, grad, sums, *results)]
        found = [out, sums, *results] if engine(backward, places) else [out, sums]
        taken += 1
        wanted = _defined(*map(on_host, (query, key, value, grad)), causal, scale)
        for name, array, want in zip(("result", "sums", "gradient of query", "of key", "of value"), found, wanted):
            error = difference(array, want)
            if not error <= 8 * EPSILON[dtype]:
                return f"{shapes[0]} by {shapes[1]}: the {name} differs by {error:.1e} of the largest element"
    return "" if taken else "none of the shapes that were tried has a plan"


def _defined(query: Any, key: Any, value: Any, grad: Any, causal: bool, scale: float) -> tuple[Any, ...]:
    """Result, logarithms of the sums, and the three gradients, of arrays of the host."""
    group = query.shape[1] // key.shape[1]
    keys, values = (np.repeat(x, group, axis=1) for x in (key, value))
    scores = scale * query @ keys.swapaxes(-1, -2)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    top = scores.max(-1, keepdims=True)
    powers = np.exp(scores - top)
    total = powers.sum(-1, keepdims=True)
    weights = powers / total
    of_weights = grad @ values.swapaxes(-1, -2)
    of_scores = scale * weights * (of_weights - (weights * of_weights).sum(-1, keepdims=True))
    of_keys, of_values = of_scores.swapaxes(-1, -2) @ query, weights.swapaxes(-1, -2) @ grad
    shared = [x.reshape(*key.shape[:2], group, *x.shape[2:]).sum(2) for x in (of_keys, of_values)]
    return weights @ values, (top + np.log(total))[..., 0], of_scores @ keys, *shared
