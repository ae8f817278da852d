"""CUDA C on the host: kernels compiled by g++, whose threads are fibers.

It is for tests. A GPU runs what is undefined and says nothing; here a launch ends with `KernelFault` at barriers that
some threads miss, warp collectives that a lane never reaches, and undefined behaviour. Shared memory is NaN before a
block begins, and three schedules, in which threads and blocks come in different orders, show what races.

Not shown: tensor cores, cooperative groups, the order in which memory becomes visible without fences, speed.

    cuda_on_host.h   CUDA's words, as kernels see them; cuda_fp16.h and cuda_bf16.h: half types
    runtime.cpp      threads, barriers, shuffles
    compiler.py      `build`: from source to a `Module` whose kernels are launched by name

    >>> import numpy as np
    >>> from polyad_cuda_on_host import build
    >>> module = build('extern "C" __global__ void twice(float *x) { x[threadIdx.x] *= 2; }')
    >>> x = np.ones(4, np.float32)
    >>> module.launch("twice", (1,), (4,), [x.ctypes.data])
    >>> x
    array([2., 2., 2., 2.], dtype=float32)
"""

from .compiler import (
    BACKWARDS as BACKWARDS,
    FORWARDS as FORWARDS,
    SCHEDULES as SCHEDULES,
    SHUFFLED as SHUFFLED,
    BuildError as BuildError,
    KernelFault as KernelFault,
    LaunchRefused as LaunchRefused,
    Module as Module,
    Parameter as Parameter,
    build as build,
    compiler as compiler,
)
