"""Products of matrices: every way to compute them is right, wherever operands lie, on CPUs and in GPUs' geometry."""

from __future__ import annotations

import numpy as np
import pytest

from polyad.base.dtypes import bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8
from polyad.interop.numpy import numpy_dtype

pytest.importorskip("pyopencl", reason="PyOpenCL is not installed: pip install 'polyad[opencl]'")

from polyad_kernels.array import Array
from polyad_opencl.kernels.products import matmul as products
from polyad_opencl.kernels.products.gemm import algorithms, clblast
from polyad_opencl.kernels.products.gemm.product import Product
from polyad_opencl.kernels.products.gemm.sources import Local, Registers
from polyad_opencl.runtime.discovery import POCL

DTYPES = [float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8]

GPU_TILES = sorted(set(sum(algorithms.FOR_GPUS.values(), ())), key=str)
CPU_TILES = sorted({algorithms.FOR_CPU, *sum(algorithms.FOR_CPUS.values(), ())}, key=str)

AS_IT_IS = pytest.mark.parametrize("machine", ["as it is"], indirect=True)
"""What a kernel does when it is called depends on no geometry."""

SHAPES = [
    ((1, 1), (1, 1)),
    ((17, 33), (33, 65)),
    ((130, 19), (19, 131)),
    ((1, 40), (40, 70)),
    ((70, 9), (9, 1)),
    ((3, 9, 17), (3, 17, 18)),
]
"""Tails in every direction for every tile, single rows and columns, a batch."""


def values(shape, dtype):
    """Small whole numbers, whose products add up exactly in 32 bits."""
    low = 0 if dtype is uint8 else -4
    return np.random.default_rng(sum(shape)).integers(low, 5, shape).astype(numpy_dtype(dtype))


def expected(a, b):
    """What is rounded, or wraps, once."""
    exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
    return (exact if a.dtype.kind not in "iu" else exact.astype(np.int64)).astype(a.dtype)


def dense(machine, x):
    return machine.array(x)


def upright(machine, x):
    """The same matrices, columns dense."""
    made = machine.array(np.swapaxes(x, -1, -2))
    steps = (*made.steps[:-2], made.steps[-1], made.steps[-2])
    return Array(made.block, made.dtype, x.shape, steps, 0)


def inside(machine, x):
    """The same matrices as every second element of rows, from an offset on, with others around them."""
    room = np.full((*x.shape[:-2], x.shape[-2] + 3, 2 * x.shape[-1] + 5), 99).astype(x.dtype)
    room[..., 2:-1, 3:-2:2] = x
    made = machine.array(room)
    return Array(made.block, made.dtype, x.shape, (*made.steps[:-1], 2), 2 * made.steps[-2] + 3)


def repeated(machine, x):
    """One matrix for the whole batch: the first."""
    made = machine.array(x.reshape(-1, *x.shape[-2:])[0])
    return Array(made.block, made.dtype, x.shape, (*[0] * (x.ndim - 2), *made.steps), 0)


def check(machine, way, a, b, place=dense, other=None):
    """*way* writes the product of arrays, and nothing behind it."""
    count, behind = a[..., 0].size * b.shape[-1], 64
    room = machine.array(np.full(count + behind, 77).astype(a.dtype))
    shape = (*a.shape[:-1], b.shape[-1])
    steps = machine.array(np.zeros(shape, a.dtype)).steps
    way.run(Product.of(Array(room.block, room.dtype, shape, steps, 0), place(machine, a), (other or place)(machine, b)))
    got = machine.host(room)
    np.testing.assert_array_equal(got[:count].reshape(shape), expected(a, b))
    assert (got[count:] == np.full(1, 77).astype(a.dtype)).all()


@AS_IT_IS
@pytest.mark.parametrize("tile", [*CPU_TILES, *GPU_TILES], ids=str)
def test_every_tile_takes_every_shape_and_place(machine, tile):
    if not tile.fits(machine.device, float32):
        pytest.skip("the device's groups are too small for this tile")
    for first, second in SHAPES:
        a, b = values(first, float32), values(second, float32)
        for place in (dense, upright, inside):
            check(machine, algorithms.Tiled(machine.device, float32, tile), a, b, place)
        b = np.broadcast_to(b.reshape(-1, *b.shape[-2:])[0], b.shape)
        check(machine, algorithms.Tiled(machine.device, float32, tile), a, b, inside, repeated)


@AS_IT_IS
@pytest.mark.parametrize("dtype", DTYPES, ids=lambda dtype: dtype.name)
def test_tiles_for_gpus_take_every_dtype(machine, dtype):
    """Those for CPUs are what the conformance suite runs on."""
    tile = algorithms.FOR_GPUS["square"][0]
    if dtype is float64 and not machine.device.has_fp64:
        pytest.skip("the device has no float64")
    for first, second in SHAPES[1:3]:
        check(
            machine, algorithms.Tiled(machine.device, dtype, tile), values(first, dtype), values(second, dtype), inside
        )


@AS_IT_IS
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda dtype: dtype.name)
def test_the_hosts_blas_multiplies_mapped_memory(machine, dtype):
    if not machine.device.handle.host_unified_memory or (dtype is float64 and not machine.device.has_fp64):
        pytest.skip("the device does not share the host's memory, or has no float64")
    for first, second in SHAPES:
        for place in (dense, upright, inside):
            check(machine, algorithms.HOST, values(first, dtype), values(second, dtype), place)


@AS_IT_IS
@pytest.mark.parametrize("dtype", [float32, float64], ids=lambda dtype: dtype.name)
def test_clblast_multiplies_where_it_is_installed(machine, dtype):
    if clblast.library() is None:
        pytest.skip("CLBlast is not installed")
    if machine.device.handle.platform.name == POCL:
        pytest.skip("PoCL compiles CLBlast's kernels for minutes; they run on other drivers")
    for first, second in SHAPES:
        for place in (dense, upright, inside):
            check(machine, algorithms.CLBLAST, values(first, dtype), values(second, dtype), place)
    a, b = values((4, 9, 17), dtype), np.broadcast_to(values((17, 18), dtype), (4, 17, 18))
    check(machine, algorithms.CLBLAST, a, b, dense, repeated)


def test_more_batch_dimensions_than_kernels_walk(machine):
    a, b = values((2, 3, 2, 3, 4, 5), float32), values((2, 3, 2, 3, 5, 6), float32)
    turned = machine.array(np.ascontiguousarray(a.transpose(3, 1, 0, 2, 4, 5)))
    steps = tuple([turned.steps[axis] for axis in (2, 1, 3, 0, 4, 5)])
    left = Array(turned.block, turned.dtype, a.shape, steps, 0)
    got = machine.host(products.product(left, machine.array(b), False, False))
    np.testing.assert_array_equal(got, expected(a, b))


# ------------------------------------------------------------------------------------------------ what is offered


class Handle:
    local_mem_size = 32768
    max_work_item_sizes = (256, 256, 64)


class Limited:
    """A GPU with these limits."""

    is_cpu = shares_host_memory = False
    handle = Handle()

    def __init__(self, max_local_size):
        self.max_local_size = max_local_size


def test_tiles_are_offered_as_far_as_the_device_allows():
    names = [way.name for way in algorithms.tiles(Limited(256), float32, "square")]
    assert names == [str(tile) for tile in algorithms.FOR_GPUS["square"]]
    assert [way.tile for way in algorithms.tiles(Limited(64), float32, "square")] == [Local(8, 8, 4, 4, 8)]
    assert [type(way.tile) for way in algorithms.tiles(Limited(16), float32, "square")] == [Registers]
    small = Limited(256)
    small.handle = type("Handle", (Handle,), {"local_mem_size": 8800})()
    assert Local(16, 16, 4, 4, 16).fits(small, float32)
    assert not Local(16, 16, 4, 4, 16).fits(small, float64)
