"""Kernels that compute from places alone: sequences, and random words."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ...backend.interface import Kernel, Signature
from ...backend.runtime import Runtime
from ...base.device import Device
from ...base.dtypes import INTEGER, DType, float32, float64, int64
from ...base.shapes_and_strides import Layout, Shape, contiguous_strides
from ...tables.philox import KEY_STEPS, MULTIPLIERS, ROUNDS
from ..expression import Expression, Iota, Operand, Scalar, apply, cast
from .layouts import LayoutCache
from .pointwise import PointwiseKernel
from .pointwise_ops import RuntimeOf

_LOW = 0xFFFFFFFF


def _sequence(runtime: Runtime, start: Any, step: Any, count: int, dtype: DType) -> Any:
    """start + step * i, in int64, or in float64 and rounded once; where there is no float64, in float32."""
    whole = dtype.category == INTEGER and isinstance(start, int) and isinstance(step, int)
    wide = int64 if whole else float64 if runtime.description.has_fp64 else float32
    # Beyond 2**24, float32 cannot count: there it is rounded once.
    place = cast(Iota(0), wide) if wide is float32 else Iota(0, wide)
    number = cast(place * Scalar(1, wide) + Scalar(0, wide), dtype)
    kernel, launches = runtime.once(
        ("sequence", wide, dtype),
        lambda: (PointwiseKernel(runtime, f"arange {dtype.name} in {wide.name}", [number]), LayoutCache()),
    )
    out = runtime.empty(dtype, (count,), (1,))
    if count not in launches:
        launches.add(count, kernel.launch((count,), [runtime.layout(out)], [Layout((count,), (1,), 0)]))
    launch = launches[count]
    if launch is not None:
        launch((out,), kernel.packed((start, step)))
    return out


def _and(x: Expression, mask: int) -> Expression:
    return apply("bitwise_and", x, x.literal(mask))


def _high(x: Expression) -> Expression:
    """The upper half of 64 bits."""
    return _and(apply("bitwise_right_shift", x, x.literal(32)), _LOW)


def _words_of_a_block(block: Expression, first: Expression, second: Expression) -> list[Expression]:
    """The four words of Philox's block number *block* under a key's halves, *first* and *second*."""
    zero: Expression = block.literal(0)
    a, b, c, d = _and(block, _LOW), _high(block), zero, zero
    for turn in range(ROUNDS):
        keys = [_and(key + turn * step, _LOW) for key, step in zip((first, second), KEY_STEPS, strict=True)]
        low, high = a * MULTIPLIERS[0], c * MULTIPLIERS[1]
        a = apply("bitwise_xor", apply("bitwise_xor", _high(high), b), keys[0])
        c = apply("bitwise_xor", apply("bitwise_xor", _high(low), d), keys[1])
        b, d = _and(high, _LOW), _and(low, _LOW)
    return [a, b, c, d]


def _given() -> list[Expression]:
    """The words where key and offset are numbers that the kernel gets."""
    return _words_of_a_block(Iota(0) + Scalar(2, int64), Scalar(0, int64), Scalar(1, int64))


def _read() -> list[Expression]:
    """The words where the halves of the key and the offset lie in memory."""
    first, second, offset = (Operand(place, int64) for place in range(3))
    return _words_of_a_block(Iota(3) + offset + Scalar(0, int64), first, second)


def _philox_words(
    runtime: Runtime, shape: Shape, words: Callable[[], list[Expression]], numbers: tuple[int, ...], begin: Any = None
) -> Any:
    """Words by the contract in `polyad.random.philox`: a row of four for each block, of which the last may be cut.

    *begin* is the array that `_read` reads.
    """
    backend = runtime.backend
    count = math.prod(shape)
    blocks = -(-count // 4)
    out = runtime.empty(int64, shape, contiguous_strides(shape))
    if not count:
        return out
    kernel, launches = runtime.once(words, lambda: (PointwiseKernel(runtime, "philox_bits", words()), LayoutCache()))
    padded = out if count % 4 == 0 else runtime.empty(int64, (4 * blocks,), (1,))
    offset = runtime.layout(padded).offset
    whole = None if begin is None else runtime.layout(begin)
    key = blocks, offset, whole
    launch = launches.get(key)
    if launch is None:
        results = [Layout((blocks,), (4,), offset + word) for word in range(4)]
        read = [] if whole is None else [Layout((), (), whole.offset + place * whole.strides[0]) for place in range(3)]
        places = Layout((blocks,), (1,), 0)
        launch = launches.add(key, kernel.launch((blocks,), results, [*read, places]))
    launch((*(padded,) * 4, *(begin,) * (0 if begin is None else 3)), kernel.packed(numbers))
    if padded is not out:
        flat = backend.as_strided(backend.root(padded), int64, (count,), (1,), 0)
        backend.copy(backend.as_strided(backend.root(out), int64, (count,), (1,), 0), flat)
    return out


def creating_ops(runtime_of: RuntimeOf) -> dict[str, Kernel]:
    """The kernels of `arange`, `philox_bits` and `philox_bits_from`."""

    def arange(start: Any, step: Any, count: int, dtype: DType, device: Device) -> Any:
        return _sequence(runtime_of(device), start, step, count, dtype)

    def philox_bits(shape: Shape, seed: int, offset: int, device: Device) -> Any:
        return _philox_words(runtime_of(device), shape, _given, (seed & _LOW, seed >> 32, offset))

    def from_begin(types: Signature) -> Any:
        runtime = runtime_of(types[0].device)

        def bits(begin: Any, ahead: int, count: int) -> Any:
            if len(runtime.layout(begin).shape) > 1:
                return NotImplemented
            return _philox_words(runtime, (count,), _read, (ahead,), begin)

        return bits

    return {
        "arange": Kernel(arange),
        "philox_bits": Kernel(philox_bits),
        "philox_bits_from": Kernel(from_begin, specialize=from_begin, partial=True),
    }
