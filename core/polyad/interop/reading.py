"""Python data as arrays: numbers, nested sequences of them, NumPy arrays and tensors, with the dtypes PyTorch gives.

Python's numbers have the dtypes of `dtype_of_number`; NumPy's numbers and arrays and tensors keep theirs; several are
promoted. Data whose numbers do not fit the dtype asked for is refused, arrays and tensors apart: these are converted as
``.to(dtype)`` would.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..base import dtypes
from ..base.dtypes import DType
from ..errors import DataError
from ..tensor import Tensor
from .numpy import FROM_NUMPY, converted, from_numpy, numpy_dtype, polyad_dtype, shared_with

_PYTHONS: tuple[Any, ...] = (bool, int, float, complex)
_NO_NUMBERS = (str, bytes, type(None))
DEEPEST = 64
"""How deep lists may be nested: as many dimensions as a NumPy array may have."""


def host_data(data: Any, dtype: DType | None, copy: bool = True) -> tuple[np.ndarray[Any, Any], DType]:
    """*data* (numbers, nested sequences, arrays) as a row-major NumPy array, and the dtype it has by PyTorch's rules.

    The array is new, unless *copy* is False and data is such an array.
    Raises `DataError` for what is no array of numbers.
    """
    met: set[Any] = set()
    is_array = isinstance(data, (np.ndarray, np.generic)) or hasattr(data, "__array__")
    array = _held(data) if is_array else _assembled(_read(data, met), met, dtype)
    if array.dtype.kind not in "biufc" and array.dtype.name != "bfloat16":
        raise DataError(
            f"tensor: data is an array of {array.dtype}, not of numbers",
            operands={"data": data},
            fix="convert the array first, for example with .astype(numpy.float32)",
        )
    if dtype is None:
        dtype = polyad_dtype(array.dtype) if is_array else _common_dtype(met)
        if dtype is dtypes.int64 and array.dtype.kind not in "bi":
            raise DataError(
                "tensor: an integer is larger than int64 can hold", operands={"data": data}, fix="give dtype=float64"
            )
    elif array.dtype.kind == "c" and dtype.category in (dtypes.INTEGER, dtypes.FLOATING):
        raise DataError(
            f"tensor: complex data does not fit {dtype.name}", fix="use a complex dtype, or give the real parts"
        )
    elif dtype.category == dtypes.INTEGER and not is_array and array.dtype.kind != "b":
        _check_range(array, dtype)
    with np.errstate(all="ignore"):
        if dtype in dtypes.FLOAT8 and array.dtype != numpy_dtype(dtype):
            array, copy = converted(array, numpy_dtype(dtype)), False
        return np.array(array, dtype=numpy_dtype(dtype), order="C", copy=copy or None), dtype


def _read(data: Any, met: set[Any], depth: int = 0) -> Any:
    """Numbers, arrays and lists of them; *met* gets the types of all numbers, and the dtypes of arrays and tensors."""
    if depth > DEEPEST:
        raise DataError(f"tensor: lists are nested more than {DEEPEST} deep", fix="give fewer dimensions")
    if isinstance(data, (list, tuple)):
        types = set(map(type, data))
        if types.issubset(_PYTHONS):
            met |= types
            return data
        return [_read(item, met, depth + 1) for item in data]
    if isinstance(data, Tensor):
        met.add(data.dtype)
        return data.item() if data.numel() == 1 else data.tolist()
    if hasattr(data, "__array__"):
        array = _held(data)
        met.add(array.dtype)
        return array
    type_ = type(data)
    for number in _PYTHONS:
        if isinstance(data, number):
            met.add(number)
            return number(data)
    if hasattr(type_, "__getitem__") and hasattr(type_, "__len__") and not isinstance(data, (*_NO_NUMBERS, Mapping)):
        return _read(list(data), met, depth)
    met.add(type_)
    return data


def _held(data: Any) -> np.ndarray[Any, Any]:
    """The array that *data* says it is, or is."""
    try:
        return np.asarray(data)
    except ValueError as error:
        raise DataError(
            f"tensor: the __array__ of {type(data).__name__} gives no array: {error}",
            operands={"data": data},
            fix="give numbers, nested lists of them, or an array",
        ) from error


def _assembled(data: Any, met: set[Any], dtype: DType | None) -> np.ndarray[Any, Any]:
    """What `_read` returned as an array."""
    foreign = {type_ for type_ in met if isinstance(type_, type)}.difference(_PYTHONS)
    if foreign and (dtype is None or any(issubclass(type_, _NO_NUMBERS) for type_ in foreign)):
        raise _no_dtype(data, foreign)
    try:
        array = np.asarray(data)
    except ValueError as error:
        raise DataError(
            f"tensor: {_disagreement(data) or error}",
            operands={"data": data},
            fix="give lists of one length at each depth",
        ) from None
    if array.dtype != object:
        return array
    dtype = dtype or _common_dtype(met)
    try:
        return np.asarray(np.frompyfunc(_python_number(dtype), 1, 1)(array)).astype(_widest_dtype(dtype))
    except OverflowError:
        raise DataError(
            f"tensor: a number is larger than {dtype.name} can hold",
            operands={"data": data},
            fix="give dtype=float64, or a smaller number",
        ) from None
    except TypeError:
        raise _no_dtype(data, foreign) from None


def _python_number(dtype: DType) -> Callable[[Any], Any]:
    return {dtypes.FLOATING: float, dtypes.COMPLEX: complex}.get(dtype.category, operator.index)


def _widest_dtype(dtype: DType) -> str:
    """NumPy's widest dtype of *dtype*'s category."""
    return {dtypes.BOOL: "bool", dtypes.INTEGER: "int64", dtypes.FLOATING: "float64"}.get(dtype.category, "complex128")


def _common_dtype(met: set[Any]) -> DType:
    if not met:
        return dtypes.get_default_dtype()
    return functools.reduce(dtypes.promote_types, map(_dtype_of, met))


def _dtype_of(entry: Any) -> DType:
    """The dtype of what `_read` met: a Python number's type, NumPy's or polyad's dtype."""
    if isinstance(entry, DType):
        return entry
    # Not `entry in _PYTHONS`: NumPy's float64 equals Python's float.
    return dtypes.dtype_of_number(entry) if isinstance(entry, type) else polyad_dtype(entry)


def _no_dtype(data: Any, types: set[Any]) -> DataError:
    names = ", ".join(sorted(type_.__name__ for type_ in types)) or "such integers"
    return DataError(
        f"tensor: there is no dtype for {names}",
        operands={"data": data},
        fix="give numbers, or nested lists of numbers whose lengths agree",
    )


def _disagreement(data: Any) -> str:
    """Where nested lists differ in length, "" if they do not."""
    shape, first = [], data
    while isinstance(first, (list, tuple)) and first:
        shape.append(len(first))
        first = first[0]

    def differing(part: Any, depth: int, path: str) -> str:
        if depth == len(shape):
            return f"{path} is a list where data{'[0]' * depth} is none" if isinstance(part, (list, tuple)) else ""
        if not isinstance(part, (list, tuple)):
            return f"{path} is no list where data{'[0]' * depth} is one"
        if len(part) != shape[depth]:
            return f"{path} has length {len(part)} where data{'[0]' * depth} has length {shape[depth]}"
        return next(filter(None, (differing(element, depth + 1, f"{path}[{i}]") for i, element in enumerate(part))), "")

    return differing(data, 0, "data")


def _check_range(array: np.ndarray[Any, Any], dtype: DType) -> None:
    """Raise DataError unless *array*'s numbers can be written in *dtype*; negative ones wrap around in an unsigned
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
        raise DataError(
            f"tensor: {array[wrong].flat[0]} is not in [{limits.min}, {limits.max}], the range of {dtype.name}",
            fix="use a dtype that can hold all numbers",
        )


def operand(data: Any) -> Tensor | bool | None:
    """A NumPy array as an operator's operand, over its own memory where that can be shared, and NumPy's bool as
    Python's; None for anything else.
    """
    if isinstance(data, np.bool_):
        return bool(data)
    if not isinstance(data, np.ndarray):
        return None
    shared = shared_with(data)
    return from_numpy(host_data(data, None)[0]) if shared is None else shared


def wrapped(array: Any) -> Any:
    """What a NumPy ufunc of tensors computed, as a tensor; see ``Tensor.__array_wrap__``."""
    made = operand(np.asarray(array)) if np.asarray(array).dtype.name in FROM_NUMPY else None
    return array if made is None else made
