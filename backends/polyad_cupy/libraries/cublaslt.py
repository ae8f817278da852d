"""Matrix products by cuBLASLt: strides and transposed operands as the layout of the call, float32 accumulation.

Numbers and structures are those of ``cublasLt.h``, ``cublas_api.h`` and ``library_types.h`` of CUDA 12 and 13;
``tests/backends/cupy/compare_names.py`` compares them with the headers of NVIDIA's package.

cuBLASLt has column-major matrices. A row-major product is the column-major product of the operands in the other order,
each read as its transpose: so b comes first, and nothing is copied.
"""

from __future__ import annotations

import ctypes
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from polyad.base.dtypes import DType, bfloat16, float16, float32, float64
from polyad.base.locks import Lock

if TYPE_CHECKING:
    from ..runtime.device import Device

CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF = 0, 1, 2, 14
CUBLAS_COMPUTE_32F, CUBLAS_COMPUTE_64F, CUBLAS_COMPUTE_32F_FAST_TF32 = 68, 70, 77
CUBLAS_OP_N, CUBLAS_OP_T = 0, 1
CUBLASLT_MATMUL_DESC_TRANSA, CUBLASLT_MATMUL_DESC_TRANSB = 3, 4
CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_MATMUL_DESC_BIAS_POINTER = 7, 8
CUBLASLT_EPILOGUE_BIAS = 4
CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 5, 6
CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1
CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 5, 6
CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 7, 8

WORKSPACE = 32 << 20
"""Bytes a stream: what NVIDIA recommends for Hopper."""

TYPES = {float16: CUDA_R_16F, bfloat16: CUDA_R_16BF, float32: CUDA_R_32F, float64: CUDA_R_64F}


class cublasLtMatmulAlgo_t(ctypes.Structure):
    """An algorithm."""

    _fields_ = (("data", ctypes.c_uint64 * 8),)


class cublasLtMatmulHeuristicResult_t(ctypes.Structure):
    """What the heuristic proposes."""

    _fields_ = (
        ("algo", cublasLtMatmulAlgo_t),
        ("workspaceSize", ctypes.c_size_t),
        ("state", ctypes.c_int),
        ("wavesCount", ctypes.c_float),
        ("reserved", ctypes.c_int * 4),
    )


_VOID, _SIZE = ctypes.c_void_p, ctypes.c_size_t
_SIGNATURES = {
    "cublasLtCreate": (_VOID,),
    "cublasLtMatmulDescCreate": (_VOID, ctypes.c_int, ctypes.c_int),
    "cublasLtMatmulDescSetAttribute": (_VOID, ctypes.c_int, _VOID, _SIZE),
    "cublasLtMatrixLayoutCreate": (_VOID, ctypes.c_int, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_int64),
    "cublasLtMatrixLayoutSetAttribute": (_VOID, ctypes.c_int, _VOID, _SIZE),
    "cublasLtMatmulPreferenceCreate": (_VOID,),
    "cublasLtMatmulPreferenceSetAttribute": (_VOID, ctypes.c_int, _VOID, _SIZE),
    "cublasLtMatmulAlgoGetHeuristic": (*[_VOID] * 7, ctypes.c_int, _VOID, _VOID),
    "cublasLtMatmul": (*[_VOID] * 13, _VOID, _SIZE, _VOID),
}
"""The functions that are called, with the types of their parameters."""


@cache
def library() -> Any:
    """The library. Raises OSError if it is not installed."""
    try:
        from cuda import pathfinder

        path = str(pathfinder.load_nvidia_dynamic_lib("cublasLt").abs_path)
    except Exception as error:
        raise OSError(
            f"cuBLASLt is not installed: pip install nvidia-cublas-cu12, or nvidia-cublas for CUDA 13 ({error})"
        ) from error
    found = ctypes.CDLL(path)
    for name, types in _SIGNATURES.items():
        getattr(found, name).argtypes = types
    found.cublasLtGetVersion.restype = _SIZE
    return found


def version() -> str:
    """The library's version. Raises OSError if it is not installed."""
    return str(library().cublasLtGetVersion())


class LtError(RuntimeError):
    """A call of cuBLASLt failed."""


def _call(name: str, *arguments: Any) -> None:
    status = getattr(library(), name)(*arguments)
    if status:
        raise LtError(f"{name} gave status {status}")


@dataclass(frozen=True, slots=True)
class Operand:
    """A batch of matrices as cuBLASLt reads them.

    Attributes:
        rows, columns: of the column-major matrix in memory.
        pitch: elements from column to column.
        turned: whether the product takes its transpose.
        apart: elements from matrix to matrix; 0 where all are the same.
        alignment: bytes to a multiple of which every matrix begins, a power of two up to 256.
    """

    rows: int
    columns: int
    pitch: int
    turned: bool
    apart: int
    alignment: int


@dataclass(frozen=True, slots=True)
class Product:
    """What a plan is made for: D = op(A) op(B), column-major, *count* times.

    Attributes:
        bias: whether a vector is added to each column of D.
        tf32: whether float32 numbers may be rounded to 10 bits behind the point before they are multiplied.
    """

    dtype: DType
    count: int
    a: Operand
    b: Operand
    d: Operand
    bias: bool = False
    tf32: bool = False


class Plan:
    """Descriptors and an algorithm for a `Product`."""

    __slots__ = ("_algorithm", "_layouts", "_one", "_operation", "_workspace", "_zero")

    def __init__(self, handle: Any, product: Product) -> None:
        wide = product.dtype is float64
        number = ctypes.c_double if wide else ctypes.c_float
        self._one, self._zero = number(1), number(0)
        self._operation = _VOID()
        compute, scale = (CUBLAS_COMPUTE_64F, CUDA_R_64F) if wide else (CUBLAS_COMPUTE_32F, CUDA_R_32F)
        if product.tf32:
            compute = CUBLAS_COMPUTE_32F_FAST_TF32
        _call("cublasLtMatmulDescCreate", ctypes.byref(self._operation), compute, scale)
        for attribute, operand in (
            (CUBLASLT_MATMUL_DESC_TRANSA, product.a),
            (CUBLASLT_MATMUL_DESC_TRANSB, product.b),
        ):
            how = ctypes.c_int32(CUBLAS_OP_T if operand.turned else CUBLAS_OP_N)
            _call("cublasLtMatmulDescSetAttribute", self._operation, attribute, ctypes.byref(how), 4)
        if product.bias:
            epilogue = ctypes.c_int32(CUBLASLT_EPILOGUE_BIAS)
            _call(
                "cublasLtMatmulDescSetAttribute", self._operation, CUBLASLT_MATMUL_DESC_EPILOGUE,
                ctypes.byref(epilogue), 4,
            )  # fmt: skip
        self._layouts = [_layout(product, operand) for operand in (product.a, product.b, product.d)]
        preference = _VOID()
        _call("cublasLtMatmulPreferenceCreate", ctypes.byref(preference))
        most = ctypes.c_uint64(WORKSPACE)
        set_preference = "cublasLtMatmulPreferenceSetAttribute"
        _call(set_preference, preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, ctypes.byref(most), 8)
        for attribute, operand in (
            (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, product.a),
            (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, product.b),
            (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, product.d),
            (CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, product.d),
        ):
            alignment = ctypes.c_uint32(operand.alignment)
            _call(set_preference, preference, attribute, ctypes.byref(alignment), 4)
        found, count = cublasLtMatmulHeuristicResult_t(), ctypes.c_int(0)
        a, b, d = self._layouts
        _call(
            "cublasLtMatmulAlgoGetHeuristic", handle, self._operation, a, b, d, d, preference, 1,
            ctypes.byref(found), ctypes.byref(count),
        )  # fmt: skip
        if not count.value or found.state:
            raise LtError(f"no algorithm for {product}")
        self._algorithm = found.algo

    def run(self, handle: Any, a: int, b: int, d: int, bias: int, workspace: int, stream: int) -> None:
        """Enqueue the product of the matrices at these addresses; *bias* is 0 where nothing is added."""
        left, right, result = self._layouts
        if bias:
            place = _VOID(bias)
            _call(
                "cublasLtMatmulDescSetAttribute", self._operation, CUBLASLT_MATMUL_DESC_BIAS_POINTER,
                ctypes.byref(place), 8,
            )  # fmt: skip
        _call(
            "cublasLtMatmul", handle, self._operation, ctypes.byref(self._one), a, left, b, right,
            ctypes.byref(self._zero), d, result, d, result, ctypes.byref(self._algorithm), workspace, WORKSPACE, stream,
        )  # fmt: skip


def _layout(product: Product, operand: Operand) -> Any:
    layout = _VOID()
    _call(
        "cublasLtMatrixLayoutCreate", ctypes.byref(layout), TYPES[product.dtype], operand.rows, operand.columns,
        operand.pitch,
    )  # fmt: skip
    if product.count > 1:
        count, apart = ctypes.c_int32(product.count), ctypes.c_int64(operand.apart)
        set_attribute = "cublasLtMatrixLayoutSetAttribute"
        _call(set_attribute, layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, ctypes.byref(count), 4)
        _call(set_attribute, layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, ctypes.byref(apart), 8)
    return layout


class Multiplier:
    """Products on a device, with what is made once for it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._handle = _VOID()
        device.enter()
        _call("cublasLtCreate", ctypes.byref(self._handle))
        self._plans: dict[Product, Plan] = {}
        self._workspaces: dict[int, Any] = {}
        self._lock = Lock()

    def __call__(self, product: Product, a: int, b: int, d: int, bias: int = 0) -> None:
        """Enqueue *product* of the matrices at these addresses in this thread's stream."""
        device = self._device
        plan = self._plans.get(product)
        if plan is None:
            plan = self._plans.setdefault(product, Plan(self._handle, product))
        stream = int(device.stream.ptr)
        recording = device.recording  # a graph works in memory of its own
        workspaces = self._workspaces if recording is None else recording.kept
        workspace = workspaces.get(stream)
        if workspace is None:
            workspace = workspaces.setdefault(stream, device.pool.take(WORKSPACE))
        device.enter()
        # The address of the bias is kept in the plan until the call has read it.
        with self._lock if bias else nullcontext():
            plan.run(self._handle, a, b, d, bias, workspace.buffer, stream)
