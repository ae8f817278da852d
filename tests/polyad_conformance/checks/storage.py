"""Tier 0: what every backend must bring, tested on `polyad.backend.Backend` itself, below all ops."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import polyad
from polyad.base.dtypes import FLOAT8, DType, bfloat16, uint8
from polyad.interop.numpy import numpy_dtype

from ..calls import Target
from ..layouts import poison

SHAPES = ((), (1,), (0,), (3, 0, 2), (5,), (4, 3), (2, 3, 4), (2, 1, 3, 2), (1025,))


def values_of(shape: tuple[int, ...], dtype: DType, start: int = 1) -> np.ndarray:
    """Numbers that tell elements apart, in any dtype; among floats -0, among wide integers such as float64 has not."""
    count = int(np.prod(shape))
    numbers = np.arange(start, start + count) % 97
    if dtype.name == "int64":
        numbers = numbers * (2**55 + 1)
    elif dtype.is_floating_point:
        numbers = np.where(numbers % 11 == 7, -0.0, numbers)
    if dtype.is_complex:
        return (numbers + 1j * (numbers % 7)).reshape(shape).astype(numpy_dtype(dtype))
    return (numbers % 2 if dtype.name == "bool" else numbers).reshape(shape).astype(numpy_dtype(dtype))


def bits(array: Any) -> bytes:
    """The bytes of an array in row-major order."""
    return np.ascontiguousarray(array).tobytes()


def assert_same(got: Any, expected: np.ndarray, what: str) -> None:
    """Assert equality of bits, dtype and shape."""
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, expected {expected.dtype}"
    assert tuple(got.shape) == expected.shape, f"{what}: shape {tuple(got.shape)}, expected {expected.shape}"
    assert bits(got) == bits(expected), f"{what}:\n{np.array(got)}\nexpected\n{expected}"


def check_round_trip(dtype: DType, target: Target) -> None:
    """Host to device and back, any shape, any strides on the host; what is on the device is a copy."""
    backend, device = target.backend, target.full_device
    for shape in SHAPES:
        host = values_of(shape, dtype)
        before = host.copy()
        array = backend.from_host(host, dtype, device)
        assert tuple(array.shape) == shape, f"from_host {dtype.name} {shape}: the array has shape {tuple(array.shape)}"
        host.fill(0)
        assert_same(backend.to_host(array), before, f"from_host, then to_host, {dtype.name} {shape}")
    grid = values_of((6, 8), dtype)
    for name, view in {
        "transposed": grid.T,
        "sliced": grid[1::2, ::3],
        "reversed": grid[::-1],
        "broadcast": np.broadcast_to(grid[0], (3, 8)),
    }.items():
        assert_same(
            backend.to_host(backend.from_host(view, dtype, device)),
            np.ascontiguousarray(view),
            f"from_host of a {name} host array, {dtype.name}",
        )


def check_empty(dtype: DType, target: Target) -> None:
    """New arrays are row-major, of the right shape, and share nothing with each other."""
    backend, device = target.backend, target.full_device
    for shape in SHAPES:
        first, second = backend.empty(shape, dtype, device), backend.empty(shape, dtype, device)
        strides = [int(np.prod(shape[d + 1 :])) * dtype.itemsize for d in range(len(shape))]
        assert tuple(first.shape) == shape, f"empty {dtype.name} {shape}: shape {tuple(first.shape)}"
        assert first.ndim == len(shape), f"empty {dtype.name} {shape}: ndim {first.ndim}"
        if 0 not in shape:
            wrong = [d for d in range(len(shape)) if shape[d] > 1 and first.strides[d] != strides[d]]
            assert not wrong, f"empty {dtype.name} {shape}: strides {tuple(first.strides)}, expected {tuple(strides)}"
        backend.fill(first, 1)
        backend.fill(second, 0)
        assert_same(
            backend.to_host(first),
            np.ones(shape, numpy_dtype(dtype)),
            f"two empty arrays {dtype.name} {shape} share memory: the first",
        )


def windows(size: int) -> list[tuple[str, tuple[int, ...], tuple[int, ...], int]]:
    """Strided windows of a memory of *size* >= 60 elements: name, shape, strides, offset."""
    return [
        ("row-major", (4, 5), (5, 1), 0),
        ("offset", (4, 5), (5, 1), 7),
        ("column-major", (4, 5), (1, 4), 0),
        ("sliced", (3, 4), (18, 2), 5),
        ("permuted", (2, 3, 4), (1, 8, 2), 3),
        ("0-d", (), (), 11),
        ("empty", (0, 3), (3, 1), 2),
        ("one column", (6, 1), (9, 1), 4),
        ("step", (20,), (3,), size - 58),
    ]


def check_as_strided(dtype: DType, target: Target) -> None:
    """A strided window shows the elements it names, shares their memory, and knows where it begins."""
    backend, device = target.backend, target.full_device
    host = values_of((60,), dtype)
    for name, shape, strides, offset in windows(60):
        array = backend.from_host(host, dtype, device)
        root = backend.root(array)
        window = backend.as_strided(root, dtype, shape, strides, offset)
        expected = np.lib.stride_tricks.as_strided(host[offset:], shape, [s * host.itemsize for s in strides])
        assert_same(
            backend.to_host(window), np.ascontiguousarray(expected).reshape(shape), f"as_strided {dtype.name} {name}"
        )
        backend.fill(window, 0)
        after = host.copy()
        np.lib.stride_tricks.as_strided(after[offset:], shape, [s * host.itemsize for s in strides])[...] = 0
        whole = backend.as_strided(root, dtype, (60,), (1,), 0)
        assert_same(backend.to_host(whole), after, f"fill of a window, {dtype.name} {name}: the memory around it")
    if uint8 in backend.capabilities(device).dtypes:
        check_as_bytes(dtype, target)


def check_data_ptr(dtype: DType, target: Target) -> None:
    """It tells where an array begins: equal for the same place in memory, counted in bytes within one memory, and
    never that of an element of another memory that is in use.
    """
    backend, device = target.backend, target.full_device
    size, held = dtype.itemsize, []
    for count in (37, 1, 64, 5) * 8:
        array = backend.empty((count,), dtype, device)
        root, begin = backend.root(array), backend.data_ptr(array)
        held.append((begin, begin + count * size, root))
        for offset in (0, count // 2, count - 1):
            for shape, strides in (((), ()), ((1,), (1,)), ((1, 2), (1, 0))):
                for window in (backend.as_strided(root, dtype, shape, strides, offset) for _ in range(2)):
                    found = backend.data_ptr(window) - begin
                    assert found == offset * size, (
                        f"data_ptr {dtype.name}: a window {shape} that begins {offset * size} bytes into its memory "
                        f"has an address {found} bytes after the memory's"
                    )
    held.sort(key=lambda span: span[:2])
    for (begin, end, _), (begin_of_next, _, _) in itertools.pairwise(held):
        assert end <= begin_of_next, (
            f"data_ptr {dtype.name}: a memory at {begin} has {end - begin} bytes, and another that is in use is said "
            f"to begin {begin_of_next - begin} bytes after it: two tensors seem to share memory"
        )


def check_as_bytes(dtype: DType, target: Target) -> None:
    """The memory of an array can be read, and written, as another dtype."""
    backend = target.backend
    host = values_of((6,), dtype)
    root = backend.root(backend.from_host(host, dtype, target.full_device))
    size = dtype.itemsize
    octets = backend.as_strided(root, uint8, (5 * size,), (1,), size)
    assert_same(backend.to_host(octets), host[1:].view(np.uint8), f"as_strided: {dtype.name} as bytes")
    backend.fill(backend.as_strided(root, uint8, (size,), (1,), 2 * size), 0)
    host[2] = 0
    whole = backend.as_strided(root, dtype, (6,), (1,), 0)
    assert_same(backend.to_host(whole), host, f"as_strided: {dtype.name} whose bytes were written")


def check_fill(dtype: DType, target: Target) -> None:
    """One number into every element of any shape, converted as a cast would."""
    backend, device = target.backend, target.full_device
    numbers: list[Any] = [0, 1, True, False]
    if dtype.name not in ("bool", "uint8"):
        numbers += [-3]
    if dtype.is_floating_point or dtype.is_complex:
        numbers += [0.1, -2.5, float("inf"), float("nan"), -0.0]
    if dtype.is_complex:
        numbers += [1 + 2j]
    if dtype.name == "int64":
        numbers += [2**62 + 1, -(2**63)]
    for shape in SHAPES:
        for number in numbers:
            array = backend.empty(shape, dtype, device)
            backend.fill(array, number)
            wide = np.full(shape, number, "c16" if dtype.is_complex else "f8" if isinstance(number, float) else "i8")
            assert_same(backend.to_host(array), cast(wide, dtype), f"fill {dtype.name} {shape} with {number!r}")


def check_copy(dtype: DType, target: Target) -> None:
    """Strided to strided, broadcasting, and nothing else written."""
    backend, device = target.backend, target.full_device
    for name, shape, strides, offset in windows(60):
        for other_name, other_shape, other_strides, other_offset in windows(60):
            if other_shape != shape:
                continue
            source_host, target_host = (
                values_of((60,), dtype, 5),
                np.full(60, poison(numpy_dtype(dtype)), numpy_dtype(dtype)),
            )
            source, destination = (
                backend.from_host(source_host, dtype, device),
                backend.from_host(target_host, dtype, device),
            )
            root = backend.root(destination)
            window = backend.as_strided(backend.root(source), dtype, shape, strides, offset)
            backend.copy(backend.as_strided(root, dtype, shape, other_strides, other_offset), window)
            size = target_host.itemsize
            written = np.lib.stride_tricks.as_strided(
                target_host[other_offset:], shape, [s * size for s in other_strides]
            )
            written[...] = np.lib.stride_tricks.as_strided(source_host[offset:], shape, [s * size for s in strides])
            what = f"copy {dtype.name} {name} to {other_name}"
            assert_same(backend.to_host(backend.as_strided(root, dtype, (60,), (1,), 0)), target_host, what)
    for source_shape, shape in (
        ((), (2, 3)),
        ((3,), (2, 3)),
        ((2, 1), (2, 3)),
        ((1,), ()),
        ((3,), (0, 3)),
        ((2, 1, 3), (2, 4, 3)),
    ):
        host = values_of(source_shape, dtype)
        array = backend.empty(shape, dtype, device)
        backend.copy(array, backend.from_host(host, dtype, device))
        expected = np.broadcast_to(host, shape) if source_shape != (1,) else host.reshape(shape)
        assert_same(
            backend.to_host(array),
            np.ascontiguousarray(expected).reshape(shape),
            f"copy {dtype.name} broadcast {source_shape} to {shape}",
        )


def check_overlap(dtype: DType, target: Target) -> None:
    """A copy between windows of one memory acts as if the source were read first."""
    backend, device = target.backend, target.full_device
    moves = {
        "one to the right": ((59,), (1,), 0, (1,), 1),
        "one to the left": ((59,), (1,), 1, (1,), 0),
        "reversed order of dimensions": ((7, 7), (1, 7), 0, (7, 1), 0),
        "rows shifted": ((5, 9), (10, 1), 0, (10, 1), 11),
        "spread": ((20,), (1,), 0, (2,), 3),
        "gathered": ((20,), (2,), 3, (1,), 0),
    }
    for name, (shape, strides, offset, other_strides, other_offset) in moves.items():
        host = values_of((60,), dtype)
        array = backend.from_host(host, dtype, device)
        root = backend.root(array)
        source = backend.as_strided(root, dtype, shape, strides, offset)
        backend.copy(backend.as_strided(root, dtype, shape, other_strides, other_offset), source)
        size = host.itemsize
        moved = np.lib.stride_tricks.as_strided(host[offset:], shape, [s * size for s in strides]).copy()
        np.lib.stride_tricks.as_strided(host[other_offset:], shape, [s * size for s in other_strides])[...] = moved
        assert_same(
            backend.to_host(backend.as_strided(root, dtype, (60,), (1,), 0)),
            host,
            f"overlapping copy {dtype.name}, {name}",
        )


# ------------------------------------------------------------------------------------------------ casts


def to_bfloat16(values: np.ndarray) -> np.ndarray:
    """float32 values rounded to bfloat16, to nearest and ties to even, by their bits."""
    raw = np.ascontiguousarray(values, np.float32).view(np.uint32)
    rounded = ((raw + 0x7FFF + ((raw >> 16) & 1)) >> 16).astype(np.uint16)
    rounded = np.where(np.isnan(values), np.uint16(0x7FC0), rounded).astype(np.uint16)
    return rounded.view(numpy_dtype(bfloat16)).reshape(values.shape)


_FLOAT8 = {
    "float8_e4m3fn": (3, 7, 448.0, 448.0),
    "float8_e4m3fnuz": (3, 8, 240.0, np.nan),
    "float8_e5m2": (2, 15, 57344.0, np.inf),
    "float8_e5m2fnuz": (2, 16, 57344.0, np.nan),
}
"""Bits of the mantissa, bias of the exponent, the largest number, and what is larger becomes."""


def to_float8(values: np.ndarray, dtype: DType) -> np.ndarray:
    """float32 values rounded to nearest, ties to even; of float8_e8m0fnu, powers of two, magnitudes and ties up."""
    exact = np.asarray(values, np.float64)
    size = np.abs(exact)
    if dtype.name == "float8_e8m0fnu":
        found = 2.0 ** np.floor(np.log2(np.maximum(size, 2.0**-127)))
        found = np.where(size >= 1.5 * found, 2 * found, found)
        found = np.where(found < 2.0**128, found, np.nan)
    else:
        bits, bias, largest, beyond = _FLOAT8[dtype.name]
        step = 2.0 ** (np.maximum(np.floor(np.log2(np.maximum(size, 2.0**-60))), 1 - bias) - bits)
        found = np.where(np.isinf(size), size, np.rint(size / step) * step)
        found = np.copysign(np.where(found > largest, beyond, found), exact)
        found = np.where(np.isnan(exact), np.nan, found)
    return found.astype(numpy_dtype(dtype))


def cast(values: np.ndarray, dtype: DType) -> np.ndarray:
    """What a cast to *dtype* must give: nearest even, truncation towards zero, modulo 2**n, imaginary parts dropped."""
    with np.errstate(all="ignore"):
        if values.dtype == numpy_dtype(bfloat16):
            values = values.astype(np.float32)
        if dtype.name == "bool":
            return values != 0
        if values.dtype.kind == "c" and not dtype.is_complex:
            values = values.real
        if dtype is bfloat16:
            return to_bfloat16(values.astype(np.float32))
        if dtype in FLOAT8:
            return to_float8(values.astype(np.float32), dtype)
        if values.dtype.kind == "f" and dtype.category < 2:
            return np.trunc(values).astype(np.int64).astype(numpy_dtype(dtype))
        return values.astype(numpy_dtype(dtype))


_REALS = (
    0.0, -0.0, 0.5, -0.5, 0.999, 1.0, -1.0, 1.5, 2.5, -2.5, 3.14159, -7.9, 100.25, 249.75, 3000.125, 65504.0, 65519.0,
    65520.0, 7e4, 1e20,
)  # fmt: skip

_TIES = (
    1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-11 + 2.0**-20, 1 + 2.0**-8, 1 + 3 * 2.0**-8, 1 + 2.0**-8 + 2.0**-20,
    2.0**-24, 2.0**-25, 6e-8,
)  # fmt: skip
"""Ties of float16 (11 bits) and bfloat16 (8 bits), and their neighbours."""


def cast_inputs(source: DType, into: DType) -> np.ndarray:
    """Values whose conversion from *source* to *into* is defined and tells roundings apart."""
    if source.name == "bool":
        return np.array([True, False, True])
    twin = numpy_dtype(source)
    if source.category == 1:
        limits = np.iinfo(twin)
        numbers = {0, 1, 2, 7, 63, 100, 127, max(-5, limits.min)}
        numbers |= {limits.min, limits.max // 2 + 1, limits.max - 1, limits.max}
        numbers |= {n for n in (2049, 2051, 257, 259, 33000, 2**24 + 1, 2**24 + 3, 65521) if n <= limits.max}
        if into is bfloat16:
            # By way of float32, which is what polyad promises, only numbers that float32 has are rounded once.
            numbers = {n for n in numbers if int(np.float32(n)) == n}
        return np.array(sorted(numbers), twin)
    limit = {1: 250.0}.get(into.itemsize, 30000.0) if into.category == 1 else 1e30
    reals = [*_REALS, *_TIES]
    if into.category == 1:
        low = 0.0 if not into.is_signed else -limit if into.itemsize > 1 else -120.0
        high = limit if not into.is_signed or into.itemsize > 1 else 120.0
        reals = [real for real in reals if low <= real <= high]
    else:
        reals += [np.inf, -np.inf, np.nan, -65504.0, -1e20]
    # Through float32, so that no result depends on rounding once or twice.
    with np.errstate(all="ignore"):
        values = np.array(reals, np.float32).astype(np.complex64 if source.is_complex else np.float32)
        if source.is_complex:
            values = values + np.complex64(2j) if into.category != 1 else values + np.complex64(1j)
        if source is bfloat16:
            return to_bfloat16(values)
        made = values.astype(twin)
    if into.category == 1:
        keep = (made.real >= low) & (made.real <= high)
        made = made[keep]
    return made


def check_casts(source: DType, target: Target) -> None:
    """From *source* to every dtype, by the backend's copy and by the op."""
    backend, device = target.backend, target.full_device
    for into in sorted(target.dtypes, key=lambda dtype: dtype.name):
        host = cast_inputs(source, into)
        host = np.tile(host, 3)
        expected = cast(host, into)
        array = backend.empty(host.shape, into, device)
        backend.copy(array, backend.from_host(host, source, device))
        by_copy = backend.to_host(array)
        tensor = polyad.tensor(host, device=target.device)
        with target.watching():
            result = tensor.to(into)
        by_op = backend.to_host(result._array)
        for how, got in (("copy", by_copy), ("to", by_op)):
            what = f"{how} from {source.name} to {into.name}"
            assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}"
            wrong = np.array([_differs(a, b) for a, b in zip(got, expected, strict=True)])
            if into.name == "bool":
                wrong |= got.view(np.uint8) > 1  # True is 1, and no other byte
            assert not wrong.any(), (
                f"{what}: {host[wrong][0]!r} became {got[wrong][:1]!r} with bytes {got[wrong][:1].tobytes().hex()}, "
                f"expected {expected[wrong][0]!r}"
            )
        assert result.dtype is into, f"to {into.name} gives {result.dtype}"


def _differs(got: Any, expected: Any) -> bool:
    if expected.dtype.kind in "biu":
        return bool(got != expected)
    a, b = complex(got), complex(expected)
    return any(
        not ((x == y and math.copysign(1, x) == math.copysign(1, y)) or (x != x and y != y))
        for x, y in ((a.real, b.real), (a.imag, b.imag))
    )


DTYPE_CHECKS = (
    check_empty,
    check_round_trip,
    check_as_strided,
    check_data_ptr,
    check_fill,
    check_copy,
    check_overlap,
    check_casts,
)
"""Called as ``check(dtype, target)`` for every declared dtype."""
