"""CLBlast, where it is installed: a library of tuned kernels for GPUs.

It is called through its C interface with the handles that PyOpenCL holds, on the device's own queue. It serves float32
and float64; its half precision adds in half precision, which the tiles do not.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

from polyad.base.dtypes import DType, float32, float64
from polyad.errors import KernelFailure
from polyad_kernels.array import Array
from polyad_kernels.kept import kept

from .product import Product, dense

_NAMES = ("libclblast.so.1", "libclblast.dylib", "clblast.dll")
_ROUTINES = {
    float32: ("CLBlastSgemmStridedBatched", ctypes.c_float),
    float64: ("CLBlastDgemmStridedBatched", ctypes.c_double),
}
_ROW_MAJOR, _AS_IT_IS, _TRANSPOSED = 101, 111, 112


@kept
def library() -> ctypes.CDLL | None:
    """The library; None if there is none."""
    for name in (ctypes.util.find_library("clblast"), *_NAMES):
        try:
            if name:
                return ctypes.CDLL(name)
        except OSError:
            pass
    return None


def serves(dtype: DType) -> bool:
    """Whether it is installed and multiplies *dtype*."""
    return dtype in _ROUTINES and library() is not None


@kept
def _routine(dtype: DType) -> Any:
    name, number = _ROUTINES[dtype]
    size, memory = ctypes.c_size_t, ctypes.c_void_p
    matrix = [memory, size, size, size]
    routine = getattr(library(), name)
    routine.argtypes = [*[ctypes.c_int] * 3, size, size, size, number, *matrix, *matrix, number, *matrix, size]
    routine.argtypes += [memory, memory]
    routine.restype = ctypes.c_int
    return routine


def _layout(x: Array) -> tuple[Array, int, int]:
    """*x* with one dense dimension in each matrix, how that is read, and the elements from row to row."""
    rows, columns = x.shape[-2:]
    down, across = x.steps[-2:]
    if (across == 1 or columns == 1) and (down >= columns or rows == 1):
        return x, _AS_IT_IS, down if rows > 1 else columns
    if (down == 1 or rows == 1) and (across >= rows or columns == 1):
        return x, _TRANSPOSED, across if columns > 1 else rows
    return dense(x), _AS_IT_IS, columns


def run(product: Product) -> None:
    """Enqueue it. Raises RuntimeError (KernelFailure) with the library's status."""
    (a, a_way, a_pitch), (b, b_way, b_pitch) = _layout(product.a), _layout(product.b)
    sizes, steps = product.batches(a, b)
    if len(sizes) > 1:
        (a, a_way, a_pitch), (b, b_way, b_pitch) = ((dense(x), _AS_IT_IS, x.shape[-1]) for x in (a, b))
        sizes, steps = product.batches(a, b)
    if len(sizes) > 1:  # an operand is repeated along some of the dimensions
        raise KernelFailure(f"gemm {product.dtype.name}: CLBlast takes one batch dimension")
    (a_step,), (b_step,) = steps if sizes else ((0,), (0,))
    m, n, k, out, device = product.m, product.n, product.k, product.out, product.device
    queue = ctypes.c_void_p(device.queue.int_ptr)
    with device.calls, device.lock:
        status = _routine(product.dtype)(
            _ROW_MAJOR, a_way, b_way, m, n, k, 1.0,
            a.buffer.int_ptr, a.offset, a_pitch, a_step,
            b.buffer.int_ptr, b.offset, b_pitch, b_step,
            0.0, out.buffer.int_ptr, out.offset, n, m * n, product.count, ctypes.byref(queue), None,
        )  # fmt: skip
    if status:
        raise KernelFailure(
            f"gemm {product.dtype.name}: CLBlast failed on {device}",
            notes={"status": str(status), "driver": device.description},
            fix="set POLYAD_OPENCL_TUNE=0 to do without it",
        )
