"""NumPy arrays in and out without a copy, and the mapping between polyad's dtypes and NumPy's.

bfloat16 and the 8-bit floating dtypes are ml_dtypes' (NumPy has none); ml_dtypes is imported when it is first met.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import DType
from ..base.state import state, warn_user
from ..devices import registry
from ..errors import (
    ArgumentError,
    ArgumentTypeError,
    AutogradError,
    DataError,
    OptionError,
    OutOfMemory,
    safe_repr,
    wrong_type,
)

if TYPE_CHECKING:
    from ..tensor import Tensor


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy dtype that corresponds to *dtype*."""
    if dtype is dtypes.bfloat16 or dtype in dtypes.FLOAT8:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, dtype.name))
        return found
    return np.dtype(dtype.name)


def is_for_memory(dtype: np.dtype[Any]) -> bool:
    """Whether *dtype* is one of those that nothing computes with (`polyad.base.dtypes.STORED`)."""
    kind, size = dtype.kind, dtype.itemsize
    return (kind == "u" and size > 1) or (size == 1 and kind not in "biu")


def converted(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """A real *array* in *dtype*, where one of the two is for memory alone: as PyTorch converts.

    To 8-bit floating numbers by way of float32, to nearest even. What is too large for a dtype without infinities is
    NaN, but e4m3fn gives its largest number then, which the Open Compute Project's specification of these formats calls
    saturating. e8m0fnu has powers of two alone, and takes magnitudes; its bits are the exponent of float32. Floating
    numbers become wide unsigned integers as C converts on x86-64: through int64, whose low bits stay.
    """
    if array.dtype.itemsize == 1 and array.dtype.kind not in "biu":
        array = array.astype(np.float32)  # which holds all 8-bit floating numbers
    if dtype.itemsize > 1 or dtype.kind in "biu":
        if dtype.kind != "u" or dtype.itemsize == 1 or array.dtype.kind in "biu":
            return array.astype(dtype)
        double = array.astype(np.float64)
        signed = double.astype(np.int64).astype(dtype)
        return signed if dtype.itemsize < 8 else np.where(double < 2.0**63, signed, double.astype(np.uint64))
    single = array.astype(np.float32)
    if dtype.name == "float8_e8m0fnu":
        bits = np.abs(single).view(np.uint32)
        exponents, rest = bits >> 23, bits & 0x7FFFFF
        half = np.where(exponents > 0, 0x400000, 0x400001)  # numbers below 2**-126 have no leading 1
        found: np.ndarray[Any, Any] = np.minimum(exponents + (rest >= half), 255).astype(np.uint8).view(dtype)
        return found
    return (np.clip(single, -448, 448) if dtype.name == "float8_e4m3fn" else single).astype(dtype)


FROM_NUMPY: dict[str, DType] = dtypes.BY_NAME


def polyad_dtype(dtype: np.dtype[Any]) -> DType:
    """The polyad dtype that corresponds to a NumPy dtype; raises TypeError if there is none."""
    found = FROM_NUMPY.get(dtype.name)
    if found is None:
        raise ArgumentTypeError(
            f"dtype: numpy's {dtype} has no twin in polyad",
            fix="convert the array first, for example with .astype(numpy.int64)",
        )
    return found


def empty_on_host(shape: tuple[int, ...], dtype: DType) -> np.ndarray[Any, Any]:
    """A new array of NumPy's for what a device holds.

    Raises OutOfMemory if there is no room, or if NumPy has no array of so large a shape: not even one without elements.
    """
    try:
        return np.empty(shape, numpy_dtype(dtype))
    except (MemoryError, ValueError) as error:
        raise OutOfMemory(
            f"the host has no array for shape {tuple(shape)} {dtype.name}",
            notes={"NumPy said": str(error)},
            fix="copy a part of the tensor",
        ) from error


def from_numpy(ndarray: Any) -> Tensor:
    """A CPU tensor sharing memory with a NumPy array. Writing to the tensor of a read-only array raises ValueError.

    Raises TypeError for anything else and for a dtype polyad lacks, ValueError for negative strides.

    >>> import numpy, polyad
    >>> a = numpy.zeros(2, dtype=numpy.float32)
    >>> t = polyad.from_numpy(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.])
    """
    from ..tensor import Tensor
    from ..tensor.storage import Storage, ViewOf

    if not isinstance(ndarray, np.ndarray):
        raise ArgumentTypeError(
            f"from_numpy: {type(ndarray).__name__} is no numpy.ndarray",
            fix="pass an ndarray, or use polyad.tensor to copy other data",
        )
    dtype = polyad_dtype(ndarray.dtype.newbyteorder("="))
    if not ndarray.dtype.isnative or any(stride < 0 or stride % ndarray.itemsize for stride in ndarray.strides):
        raise ArgumentError(
            "from_numpy: strides must be non-negative multiples of the item size, in native byte order",
            fix="pass array.copy()",
        )
    ndarray = np.asarray(ndarray)  # no masked array, no matrix
    type_ = registry.tensor_type(dtype, registry.resolve_device("cpu"), ndarray.ndim == 0)
    for mode in state.modes:
        mode.shares_memory()
    out = Tensor._of(ndarray, type_)
    if not ndarray.flags.c_contiguous:
        # The storage is the span of memory from the first element to the last.
        span = (
            sum((size - 1) * stride for size, stride in zip(ndarray.shape, ndarray.strides, strict=True))
            + ndarray.itemsize
            if ndarray.size
            else 0
        )
        flat = np.lib.stride_tricks.as_strided(
            ndarray.reshape(-1)[:0] if not ndarray.size else ndarray[(slice(0, 1),) * ndarray.ndim].view(),
            (span // ndarray.itemsize,),
            (ndarray.itemsize,),
        )
        out._storage, out._view = Storage(flat, type_.backend, dtype.itemsize), ViewOf(None, 0)
    if not ndarray.flags.writeable:
        (out._storage or out._make_storage()).read_only = True
    return out


def shared_with(data: Any) -> Tensor | None:
    """A tensor over the memory of a NumPy array or NumPy number that polyad can show as it is, else None."""
    if not isinstance(data, np.ndarray) or data.dtype.name not in FROM_NUMPY or not data.dtype.isnative:
        return None
    if not data.flags.writeable or any(stride < 0 or stride % data.itemsize for stride in data.strides):
        return None
    return from_numpy(data)


def is_numpy(data: Any) -> bool:
    """Whether *data* is a NumPy array or a NumPy number."""
    return isinstance(data, (np.ndarray, np.generic))


def buffer_of(data: Any) -> memoryview | None:
    """The memory of an object with Python's buffer protocol, None for any other object."""
    try:
        return memoryview(data)
    except (TypeError, ValueError):
        return None


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d CPU tensor over the memory of an object with Python's buffer protocol, read as *dtype* from byte *offset*.

    A tensor over memory that is read-only, such as bytes, cannot be written to, which a UserWarning says; it is as good
    as any to compute with. Raises ValueError if the buffer is empty or does not hold *count* elements (all it has if
    negative), TypeError for an object that has no buffer.

    >>> import polyad
    >>> polyad.frombuffer(bytearray([1, 0, 2, 0]), dtype=polyad.int16)
    tensor([1, 2], dtype=polyad.int16)
    """
    if not isinstance(dtype, DType):
        raise wrong_type("frombuffer", "dtype", dtype, "a dtype such as polyad.uint8")
    view = buffer_of(buffer)
    if view is None:
        raise DataError(f"frombuffer: {type(buffer).__name__} has no buffer", fix="pass bytes-like data")
    if not view.c_contiguous or "O" in view.format:
        raise DataError("frombuffer: the buffer has gaps or holds objects", fix="pass a contiguous copy of numbers")
    if view.readonly:
        warn_user(
            "frombuffer: the buffer is read-only, so writing to the tensor raises; pass bytearray(buffer) for a copy",
            UserWarning,
        )
    room = view.nbytes - offset
    if offset < 0 or room <= 0 or count == 0 or (count < 0 and room % dtype.itemsize) or count * dtype.itemsize > room:
        raise ArgumentError(
            f"frombuffer: {view.nbytes} bytes from offset {offset} do not hold "
            + (f"{count} elements" if count > 0 else "a whole number of elements, one or more,")
            + f" of {dtype.itemsize} bytes",
            fix="choose offset and count within the buffer",
        )
    tensor = from_numpy(np.frombuffer(view, numpy_dtype(dtype), count, offset))
    return tensor.requires_grad_() if requires_grad else tensor


def from_file(
    filename: Any, shared: bool | None = None, size: int = 0, *, dtype: DType | None = None, requires_grad: bool = False
) -> Tensor:
    """A 1-d CPU tensor over the first *size* elements of a file, which is read when they are.

    If *shared*, writing to the tensor writes the file, which is made, or made longer, as needed; otherwise nobody else
    sees what is written. Raises RuntimeError for a file that cannot be opened or is too short.

    >>> import polyad, tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     _ = file.write(bytes([1, 0, 2, 0])), file.flush()
    ...     polyad.from_file(file.name, size=2, dtype=polyad.int16)
    tensor([1, 2], dtype=polyad.int16)
    """
    dtype = dtype or dtypes.get_default_dtype()
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(f"from_file: dtype is {safe_repr(dtype)}, not a dtype", fix="pass a polyad dtype")
    if size < 0:
        raise ArgumentError(f"from_file: size is {size}", fix="pass a number of elements")
    if not size:
        return from_numpy(np.empty(0, numpy_dtype(dtype)))
    length = size * dtype.itemsize
    try:
        if shared and not (os.path.exists(filename) and os.path.getsize(filename) >= length):
            with open(filename, "ab") as made:
                made.truncate(length)
        elif os.path.getsize(filename) < length:
            raise OptionError(
                f"from_file: {filename} has {os.path.getsize(filename)} bytes, {size} of {dtype.name} take {length}",
                fix="ask for fewer elements, or of a smaller dtype",
            )
        mapped = np.memmap(filename, numpy_dtype(dtype), "r+" if shared else "c", shape=(size,))
    except OSError as error:
        raise OptionError(f"from_file: {filename} cannot be opened: {error}", fix="check the path") from error
    tensor = from_numpy(np.asarray(mapped))
    return tensor.requires_grad_() if requires_grad else tensor


def room(size: int) -> memoryview:
    """Memory of *size* bytes to be written to; what is in it is not said."""
    if size < _LARGE or _MADVISE is None:
        return memoryview(np.empty(size, np.uint8))  # type: ignore[arg-type]
    # NumPy asks for huge pages. Where memory is in pieces, finding them takes longer than reading a file.
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    # All pages at once take half as long as each when it is first written to. The call lets go of the interpreter,
    # which mmap does not. A system too old for it refuses, and the pages come when they are written to.
    _MADVISE(ctypes.addressof(ctypes.c_char.from_buffer(memory)), size, _POPULATE)
    return memoryview(memory)


_LARGE = 1 << 22
_POPULATE = 23
"""MADV_POPULATE_WRITE of Linux, for which the module mmap has no name."""


def _system_madvise() -> Any:
    if sys.platform != "linux":
        return None
    found = getattr(ctypes.CDLL(None), "madvise", None)
    if found is not None:
        found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
    return found


_MADVISE = _system_madvise()


def flat_array(data: Any, dtype: DType) -> Tensor:
    """A 1-d CPU tensor over bytes that may be written to; over a copy where they do not lie as *dtype* should."""
    array = np.frombuffer(data, numpy_dtype(dtype))
    return from_numpy(array if array.flags.aligned and array.flags.writeable else array.copy())


def to_numpy(tensor: Tensor, force: bool) -> np.ndarray[Any, Any]:
    """See ``Tensor.numpy``."""
    if tensor.requires_grad and state.grad_enabled and not force:
        raise AutogradError(
            "numpy: the tensor requires a gradient, which NumPy would not track",
            operands={"self": tensor},
            fix="use tensor.detach().numpy(), or numpy(force=True)",
        )
    type_ = tensor._type
    if "shared_host_memory" not in type_.backend.capabilities(type_.device).features and not force:
        raise ArgumentTypeError(
            f"numpy: the tensor is on {type_.device}, whose memory NumPy cannot see",
            operands={"self": tensor},
            fix="use tensor.cpu().numpy(), or numpy(force=True)",
        )
    result: np.ndarray[Any, Any] = type_.backend.to_host(tensor._array)
    if isinstance(tensor._array, np.ndarray):
        tensor._storage or tensor._make_storage()
    return result


def as_array(tensor: Tensor, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """See ``Tensor.__array__``."""
    array = to_numpy(tensor, force=False)
    try:
        dtype = None if dtype is None else np.dtype(dtype)
    except Exception:  # it may even be a SyntaxError
        raise ArgumentTypeError(
            f"__array__: dtype is {safe_repr(dtype)}, no dtype of NumPy's",
            operands={"self": tensor},
            fix="pass a numpy.dtype",
        ) from None
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ArgumentError(
                "__array__: another dtype needs a copy, but copy=False", operands={"self": tensor}, fix="allow the copy"
            )
        return array.astype(dtype)
    return array.copy() if copy else array
