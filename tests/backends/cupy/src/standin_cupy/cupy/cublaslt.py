"""What is called of cuBLASLt, on simulated devices: `Library` stands in the place of what ctypes loads.

Nothing imports it but tests of products: it is no part of CuPy.
"""

from __future__ import annotations

import numpy as np

from polyad.interop.numpy import numpy_dtype
from polyad_cupy.libraries import cublaslt

from . import simulation

DTYPES = {number: numpy_dtype(dtype) for dtype, number in cublaslt.TYPES.items()}


class Library:
    """What is called of cuBLASLt. *wrong* is added to results, *failing* is the status of products.

    TF32 keeps *digits* bits behind the point.
    """

    def __init__(self, wrong=0.0, failing=0, digits=10):
        self.wrong, self.failing, self.digits, self.products, self.things = wrong, failing, digits, 0, {}
        self.in_tf32 = self.with_bias = 0

    def cublasLtGetVersion(self):
        return 120903

    def _make(self, place, **thing):
        place._obj.value = number = 1000 + len(self.things)
        self.things[number] = thing
        return 0

    def _set(self, thing, attribute, value, size):
        self.things[thing.value][attribute] = value._obj.value
        return 0

    def cublasLtCreate(self, place):
        return self._make(place)

    def cublasLtMatmulDescCreate(self, place, compute, scale):
        return self._make(place, compute=compute, scale=scale)

    def cublasLtMatrixLayoutCreate(self, place, kind, rows, columns, pitch):
        return self._make(place, dtype=DTYPES[kind], rows=rows, columns=columns, pitch=pitch)

    def cublasLtMatmulPreferenceCreate(self, place):
        return self._make(place)

    cublasLtMatmulDescSetAttribute = cublasLtMatrixLayoutSetAttribute = cublasLtMatmulPreferenceSetAttribute = _set

    def cublasLtMatmulAlgoGetHeuristic(self, handle, operation, a, b, c, d, preference, most, found, count):
        layouts = [self.things[each.value] for each in (a, b, d)]
        assert all(each["pitch"] >= each["rows"] for each in layouts)
        assert self.things[preference.value][cublaslt.CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES] == cublaslt.WORKSPACE
        count._obj.value = 1
        return 0

    def _matrices(self, address, layout):
        found = self.things[layout.value]
        count = found.get(cublaslt.CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 1)
        apart = found.get(cublaslt.CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, 0)
        dtype, size = found["dtype"], found["dtype"].itemsize
        memory = simulation.owner_of(address, size)
        strides = (apart * size, size, found["pitch"] * size)
        shape = (count, found["rows"], found["columns"])
        return np.ndarray(shape, dtype, memory.contents, address - memory.address, strides)

    def _rounded(self, x):
        fraction, power = np.frexp(x)
        steps = 2.0 ** (self.digits + 1)
        return np.ldexp(np.round(fraction * steps) / steps, power)

    def cublasLtMatmul(
        self, handle, operation, alpha, a, A, b, B, beta, c, C, d, D, algorithm, workspace, size, stream
    ):  # fmt: skip
        if self.failing:
            return self.failing
        self.products += 1
        simulation.owner_of(workspace, size)
        left, right, result = (self._matrices(*pair) for pair in ((a, A), (b, B), (d, D)))
        how = self.things[operation.value]
        if how[cublaslt.CUBLASLT_MATMUL_DESC_TRANSA]:
            left = left.swapaxes(1, 2)
        if how[cublaslt.CUBLASLT_MATMUL_DESC_TRANSB]:
            right = right.swapaxes(1, 2)
        in_tf32 = how["compute"] == cublaslt.CUBLAS_COMPUTE_32F_FAST_TF32
        self.in_tf32 += in_tf32
        bias = 0
        if how.get(cublaslt.CUBLASLT_MATMUL_DESC_EPILOGUE) == cublaslt.CUBLASLT_EPILOGUE_BIAS:
            self.with_bias += 1
            address = how[cublaslt.CUBLASLT_MATMUL_DESC_BIAS_POINTER]
            size = result.shape[1] * result.itemsize
            memory = simulation.owner_of(address, size)
            bias = np.ndarray((result.shape[1], 1), result.dtype, memory.contents, address - memory.address)
        wide = np.float64 if how["compute"] == cublaslt.CUBLAS_COMPUTE_64F else np.float32

        def work():
            factors = [self._rounded(x) if in_tf32 else x.astype(wide) for x in (left, right)]
            result[...] = np.matmul(*factors) + bias + wide(self.wrong)

        simulation.queue_of(stream).put(work)
        return 0
