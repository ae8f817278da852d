"""Kernels that read or write beside what they were given."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

from polyad.interop.numpy import numpy_dtype

from .saboteur import Saboteur, caught_by

if TYPE_CHECKING:
    import pytest


def _around(array: np.ndarray, before: int, behind: int) -> np.ndarray | None:
    """A dense array with elements before and behind it, if these are in the memory that it is a window of."""
    base: Any = array
    while isinstance(base.base, np.ndarray):
        base = base.base
    if base is array or not array.flags.c_contiguous or not array.size:
        return None
    first = array.ctypes.data - before * array.itemsize
    count = array.size + before + behind
    if first < base.ctypes.data or first + count * array.itemsize > base.ctypes.data + base.nbytes:
        return None
    return np.ndarray(count, array.dtype, base.reshape(-1).view(np.uint8), first - base.ctypes.data)


@caught_by("test_values", "sum")
def reads_one_element_too_many(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A sum over dense memory takes in the element behind its end."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, dims: Any, keepdim: bool) -> Any:
            more = _around(a, 0, 1) if a.ndim == 1 else None
            return honest(a if more is None else more, dims, keepdim)

        return kernel

    backend.replace("sum", make)


@caught_by("test_values", "mul")
def aligns_its_operands_to_vectors(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel loads dense operands from the last address before them that is divisible by 16."""

    def aligned(a: Any) -> Any:
        off = a.ctypes.data % 16 // a.itemsize if isinstance(a, np.ndarray) else 0
        more = _around(a, off, 0) if off else None
        return a if more is None else more[: a.size].reshape(a.shape)

    backend.replace("mul", lambda honest: lambda a, b: honest(aligned(a), aligned(b)))


@caught_by("test_inplace", "mul")
def writes_between_the_elements_of_out(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel that writes into strided memory writes into a gap too."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, out: Any = None) -> Any:
            result = honest(a, b)
            if out is None:
                return result
            out[...] = result
            if out.ndim == 2 and out.size and out.strides[1] > out.itemsize:
                np.lib.stride_tricks.as_strided(out, (2,), (out.itemsize,))[1] = 0
            return out

        return kernel

    backend.replace("mul", make, out=True)


@caught_by("test_inplace", "add")
def writes_whole_vectors_into_out(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel that writes into dense memory stores a whole vector at the tail."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, out: Any = None) -> Any:
            result = honest(a, b)
            if out is None:
                return result
            out[...] = result
            more = _around(out, 0, -out.size % 4)
            if more is not None:
                more[out.size :] = 0
            return out

        return kernel

    backend.replace("add", make, out=True)


class Arena:
    """Memory out of which arrays are cut side by side, used again as soon as it is given up."""

    def __init__(self) -> None:
        self.bytes = np.zeros(1 << 22, np.uint8)
        self.end = 0
        self.free: dict[int, list[int]] = {}

    def array(self, shape: tuple[int, ...], dtype: Any) -> Any:
        size = max(int(np.prod(shape)) * dtype.itemsize, 16) + 15 & ~15
        begin = self.free[size].pop() if self.free.get(size) else self.end
        self.end = max(self.end, begin + size)
        made = np.ndarray(shape, dtype, self.bytes, begin)
        weakref.finalize(made, self.free.setdefault(size, []).append, begin)
        return made

    def behind(self, array: np.ndarray) -> np.ndarray:
        """The 16 bytes behind an array's vectors."""
        end = (array.ctypes.data - self.bytes.ctypes.data + array.nbytes + 15) & ~15
        return self.bytes[end : end + 16]


@caught_by("test_neighbours", "exp")
def writes_behind_its_result(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel writes one vector too many into memory that it allocated itself."""
    arena = Arena()

    def empty(self: Any, shape: Any, dtype: Any, device: Any) -> Any:
        return arena.array(tuple(shape), numpy_dtype(dtype))

    def from_host(self: Any, data: Any, dtype: Any, device: Any) -> Any:
        made = arena.array(data.shape, numpy_dtype(dtype))
        made[...] = data
        return made

    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            result = honest(a)
            made = arena.array(result.shape, result.dtype)
            made[...] = result
            if made.size:
                arena.behind(made)[...] = 0
            return made

        return kernel

    patch.setattr(Saboteur, "empty", empty)
    patch.setattr(Saboteur, "from_host", from_host)
    backend.replace("exp", make)


@caught_by("test_values", "neg")
def writes_its_input(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel computes in its operand's memory."""

    def make(honest: Any) -> Any:
        def kernel(a: Any) -> Any:
            result = honest(a)
            if a.shape == result.shape and a.flags.writeable and a.dtype == result.dtype:
                a[...] = result
            return result

        return kernel

    backend.replace("neg", make)


@caught_by("test_error", "matmul")
def writes_its_input_before_it_fails(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A call that is refused has changed its operand."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, *flags: Any) -> Any:
            try:
                return honest(a, b, *flags)
            except Exception:
                a[...] = 0
                raise

        return kernel

    backend.replace("gemm", make)


@caught_by("test_values", "abs")
def returns_its_input(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel with nothing to do returns its operand, so that the result is an alias."""
    backend.replace("abs", lambda honest: lambda a: a if a.dtype == np.uint8 else honest(a))


@caught_by("test_inplace", "mul")
def clears_out_first(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel sets its output to zero before it reads operands, one of which may be that output."""

    def make(honest: Any) -> Any:
        def kernel(a: Any, b: Any, out: Any = None) -> Any:
            if out is None:
                return honest(a, b)
            out[...] = 0
            out[...] = honest(a, b)
            return out

        return kernel

    backend.replace("mul", make, out=True)


@caught_by("test_inplace", "mul")
def leaves_out_as_it_was(backend: Saboteur, patch: pytest.MonkeyPatch) -> None:
    """A kernel that says that it writes into given memory returns other memory."""
    backend.replace("mul", lambda honest: lambda a, b, out=None: honest(a, b), out=True)
