"""A stand-in for CuPy on a machine without a GPU, for tests of device "cuda" and for nothing else.

It has what `polyad_cupy` uses, under CuPy's names, and is stricter than a GPU:

- Work is put off until a synchronisation that the program asks for, stream by stream: a missing wait reads poison.
- Memory that is fresh or freed is poisoned, in the order of its stream. Behind each block lie bytes that nobody may
  write.
- Kernels run as threads of `polyad_cuda_on_host`, in other orders each time. Their arguments have to have the sizes of
  the parameters, pointers have to lie in memory that is allocated, on the device that the launch is for.
- No array becomes one of NumPy's by itself.

There are `STANDIN_CUPY_DEVICES` devices, 2 by default, of `STANDIN_CUPY_MEMORY` bytes each. `cupy.simulation` makes
allocations fail and devices break.

    simulation.py  devices, memory, streams
    arrays.py      arrays, and functions of them
    cuda/          CuPy's names for these
"""

__version__ = "14.2.0"

from . import cuda as cuda, linalg as linalg
from .arrays import from_dlpack as from_dlpack, matmul as matmul, ndarray as ndarray
