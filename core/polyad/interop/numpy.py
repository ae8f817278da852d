"""NumPy arrays in and out, and the mapping between polyad's dtypes and NumPy's.

bfloat16 is ml_dtypes' (NumPy has none); ml_dtypes is imported when it is first met.
"""

from __future__ import annotations

import functools
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..backend import registry
from ..dtypes import DType
from ..errors import ArgumentError, ArgumentTypeError, AutogradError, DTypeError, PolyadError

if TYPE_CHECKING:
    from ..tensor import Tensor


@cache
def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """The NumPy twin of *dtype*."""
    if dtype is dtypes.bfloat16:
        import ml_dtypes

        twin: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return twin
    return np.dtype(dtype.name)


_FROM_NUMPY: dict[str, DType] = {dtype.name: dtype for dtype in dtypes.ALL}


def polyad_dtype(dtype: np.dtype[Any]) -> DType:
    """The polyad twin of a NumPy dtype; raises TypeError if there is none."""
    found = _FROM_NUMPY.get(dtype.name)
    if found is None:
        raise ArgumentTypeError(
            f"dtype: numpy's {dtype} has no twin in polyad",
            fix="convert the array first, for example with .astype(numpy.int64)",
        )
    return found


def host_data(data: Any, dtype: DType | None) -> tuple[np.ndarray[Any, Any], DType]:
    """*data* (numbers, nested sequences, arrays) as a new NumPy array, and the dtype it has by PyTorch's rules."""
    met: set[Any] = set()
    if isinstance(data, (list, tuple)):
        data = _read(data, met)
    is_array = isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__")
    try:
        array = np.asarray(data)
    except (ValueError, TypeError) as error:
        raise ArgumentError(
            f"tensor: data cannot be read as an array: {error}", fix="give numbers, or nested lists whose lengths agree"
        ) from error
    except OverflowError as error:
        raise ArgumentError(
            f"tensor: a number is too large: {error}", fix="use a float, or a smaller integer"
        ) from error
    if array.dtype == object:
        raise _no_numbers(data, met)
    if array.dtype.kind in "USmMV" and array.dtype.name != "bfloat16":
        raise ArgumentTypeError(
            f"tensor: data is no array of numbers (NumPy reads it as {array.dtype})",
            operands={"data": data},
            fix="give numbers, or nested lists of numbers whose lengths agree",
        )
    if dtype is None:
        if is_array:
            dtype = polyad_dtype(array.dtype)
        elif not met <= _PYTHONS:
            dtype = functools.reduce(dtypes.promote_types, map(_dtype_of, met))
        elif array.size == 0 or array.dtype.kind == "f":
            dtype = dtypes.get_default_dtype()
        elif array.dtype.kind == "c":
            dtype = dtypes.get_default_dtype().to_complex()
        elif array.dtype.kind == "u":
            raise ArgumentError("tensor: an integer is larger than 2**63 - 1", fix="use a float dtype")
        else:
            dtype = dtypes.bool_ if array.dtype.kind == "b" else dtypes.int64
    elif array.dtype.kind == "c" and dtype.category in (dtypes.INTEGER, dtypes.FLOATING):
        raise ArgumentTypeError(
            f"tensor: complex data does not fit {dtype}", fix="use a complex dtype, or give the real parts"
        )
    elif dtype.category == dtypes.INTEGER and not is_array and array.dtype.kind != "b":
        _check_range(array, dtype)
    with np.errstate(all="ignore"):
        return np.array(array, dtype=numpy_dtype(dtype), order="C"), dtype


_PYTHONS: set[Any] = {bool, int, float, complex}


def _read(data: Any, met: set[Any]) -> Any:
    """Nested sequences without tensors; *met* gets the types of all numbers, and the dtypes of arrays and tensors."""
    from ..tensor import Tensor

    kinds = set(map(type, data))
    if kinds <= _PYTHONS:
        met |= kinds
        return data
    read = []
    for item in data:
        if isinstance(item, (list, tuple)):
            item = _read(item, met)
        elif isinstance(item, Tensor):
            met.add(item.dtype)
            item = item.tolist()
        elif isinstance(item, (np.ndarray, np.generic)):
            met.add(item.dtype)
        else:
            met.add(type(item))
        read.append(item)
    return read


def _dtype_of(kind: Any) -> DType:
    """The dtype of what `_read` met: a Python number's type, NumPy's or polyad's dtype."""
    if isinstance(kind, DType):
        return kind
    return dtypes.dtype_of_number(kind) if kind in _PYTHONS else polyad_dtype(np.dtype(kind))


def _no_numbers(data: Any, met: set[Any]) -> PolyadError:
    """The error for data that NumPy reads as objects: PyTorch has one for each way."""
    if met <= _PYTHONS and met:
        return ArgumentError("tensor: an integer is too large", operands={"data": data}, fix="use a float")
    if type(data) is int:
        return ArgumentError("tensor: the integer is too large", operands={"data": data}, fix="use a float")
    wrong = sorted(kind.__name__ for kind in met - _PYTHONS if isinstance(kind, type)) or [type(data).__name__]
    return DTypeError(
        f"tensor: there is no dtype for {', '.join(wrong)}",
        operands={"data": data},
        fix="give numbers, or nested lists of numbers whose lengths agree",
    )


def _check_range(array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Raise DTypeError unless *array*'s numbers can be written in *dtype*; negative ones wrap around in an unsigned
    dtype.
    """
    limits = dtypes.iinfo(dtype)
    low = limits.min if dtype.is_signed else -limits.max
    with np.errstate(invalid="ignore"):
        wrong = (
            ~((array >= low) & (array < limits.max + 1.0))
            if array.dtype.kind == "f"
            else ((array < low) | (array > limits.max))
        )
    if wrong.any():
        raise DTypeError(
            f"tensor: {array[wrong].flat[0]} is not in [{limits.min}, {limits.max}], the range of {dtype.name}",
            fix="use a dtype that can hold all numbers",
        )


def from_numpy(ndarray: Any) -> Tensor:
    """A CPU tensor sharing memory with a NumPy array.

    Raises TypeError for anything else, for a dtype polyad lacks, and ValueError for negative strides or a read-only
    array.

    >>> import numpy, polyad
    >>> a = numpy.zeros(2, dtype=numpy.float32)
    >>> t = polyad.from_numpy(a)
    >>> a[0] = 5
    >>> t
    tensor([5., 0.])
    """
    from ..storage import Storage, ViewOf
    from ..tensor import Tensor

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
    kind = registry.tensor_type(dtype, registry.resolve_device("cpu"), ndarray.ndim == 0)
    out = Tensor._of(ndarray, kind)
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
        out._storage, out._view = Storage(flat, kind.backend, dtype.itemsize), ViewOf(None, 0)
    return out


def shared_with(data: Any) -> Tensor | None:
    """A tensor over the memory of a NumPy array or NumPy number that polyad can show as it is, else None."""
    if not isinstance(data, np.ndarray) or data.dtype.name not in _FROM_NUMPY or not data.dtype.isnative:
        return None
    if not data.flags.writeable or any(stride < 0 or stride % data.itemsize for stride in data.strides):
        return None
    return from_numpy(data)


def frombuffer(buffer: Any, *, dtype: DType, count: int = -1, offset: int = 0, requires_grad: bool = False) -> Tensor:
    """A 1-d CPU tensor over the memory of an object with Python's buffer protocol, read as *dtype* from byte *offset*.

    Raises ValueError if the buffer is read-only, empty, or does not hold *count* elements (all it has if negative);
    TypeError for an object that has no buffer.

    >>> import polyad
    >>> polyad.frombuffer(bytearray([1, 0, 2, 0]), dtype=polyad.int16)
    tensor([1, 2], dtype=polyad.int16)
    """
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(f"frombuffer: dtype is {dtype!r}, not a dtype", fix="pass a dtype such as polyad.uint8")
    try:
        view = memoryview(buffer)
    except TypeError:
        raise ArgumentTypeError(
            f"frombuffer: {type(buffer).__name__} has no buffer", fix="pass bytes-like data"
        ) from None
    if view.readonly:
        raise ArgumentError("frombuffer: the buffer is read-only", fix="pass bytearray(buffer), which is a copy")
    room = view.nbytes - offset
    if offset < 0 or room <= 0 or count == 0 or (count < 0 and room % dtype.itemsize) or count * dtype.itemsize > room:
        raise ArgumentError(
            f"frombuffer: {view.nbytes} bytes from offset {offset} do not hold "
            + (f"{count} elements" if count > 0 else "a whole number of elements, one or more,")
            + f" of {dtype.itemsize} bytes",
            fix="choose offset and count within the buffer",
        )
    made = from_numpy(np.frombuffer(buffer, numpy_dtype(dtype), count, offset))
    return made.requires_grad_() if requires_grad else made


def to_numpy(tensor: Tensor, force: bool) -> np.ndarray[Any, Any]:
    """See ``Tensor.numpy``."""
    if tensor.requires_grad and not force:
        raise AutogradError(
            "numpy: the tensor requires a gradient, which NumPy would not track",
            operands={"self": tensor},
            fix="use tensor.detach().numpy(), or numpy(force=True)",
        )
    kind = tensor._type
    if "shared_host_memory" not in kind.backend.capabilities(kind.device).features and not force:
        raise ArgumentTypeError(
            f"numpy: the tensor is on {kind.device}, whose memory NumPy cannot see",
            operands={"self": tensor},
            fix="use tensor.cpu().numpy(), or numpy(force=True)",
        )
    result: np.ndarray[Any, Any] = kind.backend.to_host(tensor._array)
    if isinstance(tensor._array, np.ndarray):
        tensor._storage or tensor._make_storage()
    return result


def as_array(tensor: Tensor, dtype: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """See ``Tensor.__array__``."""
    array = to_numpy(tensor, force=False)
    if dtype is not None and array.dtype != dtype:
        if copy is False:
            raise ArgumentError(
                "__array__: another dtype needs a copy, but copy=False", operands={"self": tensor}, fix="allow the copy"
            )
        return array.astype(dtype)
    return array.copy() if copy else array
