"""CUDA C on the host: what a GPU leaves undefined is told, and races show."""

import numpy as np
import pytest
from polyad_cuda_on_host import SCHEDULES, BuildError, KernelFault, LaunchRefused, build

from .compiled import needs_cuda_on_host

pytestmark = needs_cuda_on_host

SUM = """
extern "C" __global__ void __launch_bounds__(256) total(const float *__restrict__ x, float *out, const int n) {
    __shared__ float parts[8];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += blockDim.x) sum += x[i];
    for (int apart = 16; apart; apart >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, apart);
    if (threadIdx.x % 32 == 0) parts[threadIdx.x / 32] = sum;
    BARRIER
    sum = 0;
    for (unsigned k = 0; k < blockDim.x / 32; ++k) sum += parts[k];
    if (threadIdx.x == 0) *out = sum;
}
"""


def run(body: str, parameter: str = "float *x", threads: int = 64, blocks: int = 1, **given) -> np.ndarray:
    """What the statements *body* leave in x, 64 numbers that were 0."""
    x = np.zeros(64, {"f": np.float32, "i": np.int32}[parameter[0]])
    module = build(f'extern "C" __global__ void kernel_({parameter}) {{ {body} }}')
    module.launch("kernel_", (blocks,), (threads,), [x.ctypes.data], **given)
    return x


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_block_adds_up(schedule: int) -> None:
    x, out = np.arange(1000, dtype=np.float32), np.zeros(1, np.float32)
    given = [x.ctypes.data, out.ctypes.data, np.int32(1000).tobytes()]
    build(SUM.replace("BARRIER", "__syncthreads();")).launch("total", (1,), (256,), given, schedule=schedule)
    assert out[0] == x.sum()


def test_a_race_shows_on_some_schedule() -> None:
    x, out, found = np.arange(1000, dtype=np.float32), np.zeros(1, np.float32), []
    for schedule in SCHEDULES:
        given = [x.ctypes.data, out.ctypes.data, np.int32(1000).tobytes()]
        build(SUM.replace("BARRIER", "")).launch("total", (1,), (256,), given, schedule=schedule)
        found.append(out[0])
    assert any(each != x.sum() for each in found)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if (threadIdx.x < 4) __syncthreads();", "others have ended"),
        ("if (threadIdx.x < 32) __syncthreads(); else {\n __syncthreads(); }", "different barriers"),
        ("if (threadIdx.x < 4) x[0] = __shfl_sync(0xffffffffu, 1.0f, 5);", "never come"),
        ("if (threadIdx.x < 4) x[0] = __shfl_sync(0xfu, 1.0f, 5);", "takes no part"),
        ("if (threadIdx.x % 2) x[0] = __shfl_down_sync(0x55555555u, 1.0f, 1);", "does not name it"),
        ("x[0] = __shfl_xor_sync(0xffffffffu, 1.0f, 1, 12);", "no power of two"),
        ("*(float4 *)(x + 1) = make_float4(1, 2, 3, 4);", "not aligned"),
        ("int n = 32 + threadIdx.x; x[0] = 1 << n;", "a shift"),
        ("int n = threadIdx.x; x[0] = 1 / n;", "by zero"),
        ("float y[4]; int n = 4 + threadIdx.x; y[n] = 1; x[0] = y[n];", "outside of its array"),
    ],
)
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_what_is_undefined_ends_the_launch(body: str, words: str, schedule: int) -> None:
    with pytest.raises(KernelFault, match=words):
        run(body, schedule=schedule)


def test_shared_memory_is_nan_before_it_is_written() -> None:
    assert np.isnan(run("__shared__ float y[64]; x[threadIdx.x] = y[threadIdx.x];")).all()
    kernel = "extern __shared__ float y[]; x[threadIdx.x] = y[threadIdx.x];"
    assert np.isnan(run(kernel, shared=256)).all()


def test_warps_vote_and_atomics_count() -> None:
    assert run("x[threadIdx.x] = __ballot_sync(0xffffffffu, threadIdx.x % 32 < 3);", "int *x")[40] == 7
    assert run("x[threadIdx.x] = __syncthreads_count(threadIdx.x < 5);", "int *x")[63] == 5
    assert run("atomicAdd(x, 1);", "int *x", blocks=3)[0] == 192


def test_half_types_are_rounded_as_by_numpy() -> None:
    values = np.array([1 / 3, 65519.9, 65520, 6e-8, 2.98e-8, 6.1e-5, -0.0, np.inf, 2049], np.float32)
    module = build(
        'extern "C" __global__ void kernel_(const float *x, unsigned short *y, float *z) {\n'
        "unsigned short h; float f; const float v = x[threadIdx.x];\n"
        'asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));\n'
        'asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));\ny[threadIdx.x] = h; z[threadIdx.x] = f; }'
    )
    bits, back = np.zeros(9, np.uint16), np.zeros(9, np.float32)
    module.launch("kernel_", (1,), (9,), [array.ctypes.data for array in (values, bits, back)])
    with np.errstate(over="ignore"):
        wanted = values.astype(np.float16)
    assert (bits == wanted.view(np.uint16)).all()
    assert (back == wanted.astype(np.float32)).all()


def test_what_a_driver_refuses() -> None:
    kernel = build('extern "C" __global__ void __launch_bounds__(64) kernel_(float *x, const int n) { x[0] = n; }')
    x = np.zeros(1, np.float32)
    good = [x.ctypes.data, np.int32(3).tobytes()]
    for grid, block, args in (
        ((1,), (2048,), good),
        ((1,), (128,), good),
        ((1, 70000), (1,), good),
        ((0,), (1,), good),
        ((1,), (1,), good[:1]),
        ((1,), (1,), [x.ctypes.data, np.int64(3).tobytes()]),
        ((1,), (1,), [b"12345678", np.int32(3).tobytes()]),
    ):
        with pytest.raises(LaunchRefused):
            kernel.launch("kernel_", grid, block, args)
    kernel.launch("kernel_", (1,), (1,), good)
    assert x[0] == 3


def test_what_does_not_compile() -> None:
    with pytest.raises(BuildError, match="nothing_of_that_name"):
        build('extern "C" __global__ void kernel_(float *x) { nothing_of_that_name(x); }')
    with pytest.raises(BuildError, match="instruction add"):
        build('extern "C" __global__ void kernel_(float *x) { int a, b = 0; asm("add %0, %1;" : "=r"(a) : "r"(b)); }')
