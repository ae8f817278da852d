"""Running sums, random words and sequences: long ones, and bits that have to be the CPU's."""

import numpy as np
import pytest

import polyad
from polyad.base.device import Device
from polyad.base.dtypes import bfloat16, float16, float32, float64, int32, int64, uint8
from polyad.codegen.kernels import generated_kernels
from polyad.random.philox import words


@pytest.mark.parametrize("shape", [(100_003,), (5, 3001), (40, 500), (3, 700, 70)])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_running_totals(machine, shape, name):
    from polyad_kernels.kernels.reductions.cumulative import KERNELS

    kernel = KERNELS[name].function
    rng = np.random.default_rng(3)
    whole = rng.integers(-(2**31), 2**31, shape)
    floats = rng.standard_normal(shape).astype(np.float32)
    if name == "cumprod":
        floats = np.exp(floats / 64)
    accumulate = np.cumsum if name == "cumsum" else np.cumprod
    for dim in range(len(shape)):
        np.testing.assert_array_equal(machine.host(kernel(machine.array(whole), dim)), accumulate(whole, dim))
        made = machine.host(kernel(machine.array(floats), dim))
        if machine.device.is_cpu or name == "cumprod":
            np.testing.assert_array_equal(made, accumulate(floats, dim))
        else:
            # Each of n roundings is at most half a unit in the last place of the largest partial sum.
            exact = np.cumsum(floats, dim, np.float64)
            bound = shape[dim] * np.finfo(np.float32).eps * np.abs(np.cumsum(np.abs(floats), dim)).max()
            assert np.abs(made - exact).max() <= bound


@pytest.mark.parametrize(("seed", "offset"), [(0, 0), (2**64 - 1, 2**64 - 3), (123456789123, 2**32 - 2)])
@pytest.mark.parametrize("count", [1, 4, 31, 32, 33, 1030])
def test_words_are_the_contract(machine, seed, offset, count):
    from polyad_opencl.source.generated import runtime_on

    philox_bits = generated_kernels(lambda name: runtime_on(machine.device))["philox_bits"].function
    made = machine.host(philox_bits((count,), seed, offset, Device("opencl", 0)))
    assert made.tolist() == words(count, seed, offset)


def test_draws_are_the_cpus(opencl):
    drawn = {}
    for device in ("cpu", opencl):
        generator = polyad.Generator(device).manual_seed(11)
        drawn[device] = (
            polyad.rand(1001, generator=generator, device=device),
            polyad.randint(0, 1000, (33, 3), generator=generator, device=device),
            polyad.randperm(5000, generator=generator, device=device),
        )
    for ours, theirs in zip(drawn[opencl], drawn["cpu"], strict=True):
        assert (ours.cpu() == theirs).all()


@pytest.mark.parametrize(
    ("dtype", "start", "step"),
    [
        *[(dtype, start, step) for dtype in (float32, float64) for start, step in ((0, 1), (0.1, 0.1), (-1e9, 1 / 3))],
        *[(dtype, 0.1, 0.1) for dtype in (float16, bfloat16)],
        *[(dtype, 3, -7) for dtype in (int64, int32, uint8)],
    ],
)
def test_sequences_are_rounded_once(opencl, dtype, start, step):
    end = start + 2000 * step
    on_cpu, on_device = (polyad.arange(start, end, step, dtype=dtype, device=device) for device in ("cpu", opencl))
    assert on_device.shape == on_cpu.shape
    assert (on_device.cpu() == on_cpu).all()
