"""Data types: their properties, PyTorch's promotion rules, the default floating point dtype, finfo and iinfo.

Invariants: every dtype exists once (compare with ``is``); nothing here knows NumPy, `polyad.interop.numpy` holds the
mapping. Promotion follows the documented lattice of PyTorch
(https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc): a category
(bool < integer < floating < complex) and, inside it, dimensioned tensors before 0-d tensors before Python numbers.

Dtypes in `STORED` are for memory alone: their numbers are stored, moved, converted, and compared for equality, and no
op computes with them. Only backends that declare them have them.

To add a dtype: add its `DType` below, its place in `_LATTICE` or in `STORED`, then its NumPy dtype in
`polyad.interop.numpy`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from ..errors import ArgumentTypeError, DTypeError, UnsupportedDType, safe_repr

BOOL, INTEGER, FLOATING, COMPLEX = range(4)


class DType:
    """A data type of tensor elements, such as `polyad.float32`.

    >>> import polyad
    >>> polyad.float32.itemsize, polyad.float32.is_floating_point
    (4, True)
    """

    __slots__ = ("category", "computes", "is_complex", "is_floating_point", "is_signed", "itemsize", "name")

    def __init__(self, name: str, itemsize: int, category: int, is_signed: bool = True, computes: bool = True) -> None:
        self.name = name
        self.computes = computes
        self.itemsize = itemsize
        self.category = category
        self.is_signed = is_signed
        self.is_floating_point = category == FLOATING
        self.is_complex = category == COMPLEX

    def __repr__(self) -> str:
        return f"polyad.{self.name}"

    def __reduce__(self) -> tuple[Callable[[str], DType], tuple[str]]:
        return named, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> DType:
        return self

    def to_real(self) -> DType:
        """The floating dtype of this complex dtype's parts; a real dtype gives itself."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> DType:
        """The complex dtype whose parts hold this floating dtype."""
        return {float64: complex128}.get(self, complex64) if not self.is_complex else self


bool_ = DType("bool", 1, BOOL, is_signed=False)
uint8 = DType("uint8", 1, INTEGER, is_signed=False)
int8 = DType("int8", 1, INTEGER)
int16 = DType("int16", 2, INTEGER)
int32 = DType("int32", 4, INTEGER)
int64 = DType("int64", 8, INTEGER)
float16 = DType("float16", 2, FLOATING)
bfloat16 = DType("bfloat16", 2, FLOATING)
float32 = DType("float32", 4, FLOATING)
float64 = DType("float64", 8, FLOATING)
complex64 = DType("complex64", 8, COMPLEX)
complex128 = DType("complex128", 16, COMPLEX)

uint16 = DType("uint16", 2, INTEGER, is_signed=False, computes=False)
uint32 = DType("uint32", 4, INTEGER, is_signed=False, computes=False)
uint64 = DType("uint64", 8, INTEGER, is_signed=False, computes=False)
float8_e4m3fn = DType("float8_e4m3fn", 1, FLOATING, computes=False)
float8_e4m3fnuz = DType("float8_e4m3fnuz", 1, FLOATING, computes=False)
float8_e5m2 = DType("float8_e5m2", 1, FLOATING, computes=False)
float8_e5m2fnuz = DType("float8_e5m2fnuz", 1, FLOATING, computes=False)
float8_e8m0fnu = DType("float8_e8m0fnu", 1, FLOATING, is_signed=False, computes=False)

ALL = (bool_, uint8, int8, int16, int32, int64, float16, bfloat16, float32, float64, complex64, complex128)
"""The dtypes that ops compute with."""

FLOAT8 = (float8_e4m3fn, float8_e4m3fnuz, float8_e5m2, float8_e5m2fnuz, float8_e8m0fnu)
STORED = (uint16, uint32, uint64, *FLOAT8)
"""The dtypes for memory alone."""

BY_NAME = {dtype.name: dtype for dtype in (*ALL, *STORED)}

# Each dtype's direct upward neighbours: promotion is the least upper bound in this lattice.
_LATTICE: dict[DType, tuple[DType, ...]] = {
    bool_: (uint8, int8),
    uint8: (int16,),
    int8: (int16,),
    int16: (int32,),
    int32: (int64,),
    int64: (float16, bfloat16),
    float16: (float32,),
    bfloat16: (float32,),
    float32: (float64, complex64),
    float64: (complex128,),
    complex64: (complex128,),
    complex128: (),
}


def _ancestors(dtype: DType) -> set[DType]:
    found = {dtype}
    for above in _LATTICE[dtype]:
        found |= _ancestors(above)
    return found


_PROMOTED: dict[tuple[DType, DType], DType] = {(dtype, dtype): dtype for dtype in STORED}
for _a in ALL:
    for _b in ALL:
        _upper = _ancestors(_a) & _ancestors(_b)
        _PROMOTED[_a, _b] = next(c for c in _upper if all(d in _ancestors(c) for d in _upper))
    if _a.category == FLOATING:
        for _b in (uint16, uint32, uint64):
            _PROMOTED[_a, _b] = _PROMOTED[_b, _a] = _a


def named(name: str) -> DType:
    """The dtype called *name*; raises DTypeError listing the names if there is none."""
    try:
        return BY_NAME[name.removeprefix("polyad.")]
    except KeyError:
        raise DTypeError(
            f"dtype: no dtype is called {safe_repr(name)}", fix="use one of " + ", ".join(BY_NAME)
        ) from None


def promote_types(type1: DType, type2: DType) -> DType:
    """The smallest dtype to which both can be converted.

    Raises RuntimeError for an unsigned integer dtype of more than 8 bits with any that is no floating dtype, and for an
    8-bit floating dtype with any other.

    >>> import polyad
    >>> polyad.promote_types(polyad.int64, polyad.float16), polyad.promote_types(polyad.uint16, polyad.float32)
    (polyad.float16, polyad.float32)
    """
    try:
        return _PROMOTED[type1, type2]
    except (KeyError, TypeError):
        pair = _given(type1, "promote_types", "type1"), _given(type2, "promote_types", "type2")
    if pair not in _PROMOTED:
        raise UnsupportedDType(
            f"promotion: {pair[0].name} and {pair[1].name} have no common dtype",
            fix="convert one of them to the dtype in which the call is to compute, with .to(...)",
        )
    return _PROMOTED[pair]


_PYTHONS: dict[Any, DType] = {bool: bool_, int: int64, float: float64, complex: complex128}


def of_python(given: Any) -> Any:
    """The dtype that PyTorch takes a Python type for where it wants a dtype; anything else as it is."""
    return _PYTHONS.get(given, given) if isinstance(given, type) else given


def _given(value: Any, op: str, name: str) -> DType:
    """A dtype that a user gave, or that of the Python type given; raises TypeError for anything else."""
    dtype = of_python(value)
    if not isinstance(dtype, DType):
        raise ArgumentTypeError(
            f"{op}: {name} is {type(value).__name__}, not a dtype",
            operands={name: value},
            fix="pass a dtype such as polyad.float32",
        )
    return dtype


_default = float32


def get_default_dtype() -> DType:
    """The floating point dtype that Python floats and ``zeros``, ``ones``, ... get: float32 unless changed."""
    return _default


_default_listeners: list[Callable[[], None]] = []


def on_default_change(listener: Callable[[], None]) -> None:
    """Call *listener* after each change of the default dtype (cached promotion results must be dropped then)."""
    _default_listeners.append(listener)


def set_default_dtype(d: DType) -> None:
    """Make *d* (a floating point dtype) the default; raises TypeError for any other dtype.

    >>> import polyad
    >>> polyad.set_default_dtype(polyad.float64)
    >>> polyad.tensor(1.5).dtype
    polyad.float64
    >>> polyad.set_default_dtype(polyad.float32)
    """
    global _default
    if not isinstance(d, DType) or not d.is_floating_point:
        raise ArgumentTypeError(
            f"set_default_dtype: d is {safe_repr(d)}, which is no floating point dtype",
            fix="pass polyad.float32 or polyad.float64",
        )
    _default = d
    for listener in _default_listeners:
        listener()


def dtype_of_number(number_type: type) -> DType:
    """The dtype that a Python number of this type has by default."""
    if number_type is bool:
        return bool_
    if number_type is int:
        return int64
    if number_type is float:
        return _default
    if number_type is complex:
        return _default.to_complex()
    raise ArgumentTypeError(
        f"dtype: {number_type.__name__} is not a number type", fix="pass bool, int, float or complex"
    )


def _combine(higher: DType | None, lower: DType | None) -> DType | None:
    if higher is None or lower is None:
        return higher or lower
    if higher.category >= lower.category:
        return higher
    if higher.is_floating_point and lower.is_complex:
        return higher.to_complex()
    return promote_types(higher, lower)


def result_dtype(dimensioned: Iterable[DType], zero_dim: Iterable[DType], numbers: Iterable[type]) -> DType:
    """The common dtype of operands given in three groups: dimensioned tensors, 0-d tensors, and Python number types."""
    levels: list[DType | None] = []
    for group in (dimensioned, zero_dim, map(dtype_of_number, numbers)):
        level: DType | None = None
        for dtype in group:
            level = dtype if level is None else promote_types(level, dtype)
        levels.append(level)
    result = _combine(_combine(levels[0], levels[1]), levels[2])
    if result is None:
        raise ArgumentTypeError("result_type: no operand given", fix="pass at least one tensor or number")
    return result


def can_cast(from_: DType, to: DType) -> bool:
    """Whether *from_* may become *to* without leaving its category, PyTorch's rule for in-place results.

    >>> import polyad
    >>> polyad.can_cast(polyad.float64, polyad.float16), polyad.can_cast(polyad.float32, polyad.int64)
    (True, False)
    """
    if from_.__class__ is not DType or to.__class__ is not DType:
        from_, to = _given(from_, "can_cast", "from_"), _given(to, "can_cast", "to")
    if from_.category == INTEGER and not from_.is_signed and to is bool_:
        return False
    return from_.category <= to.category


class finfo:
    """Limits of a floating point (or the parts of a complex) dtype:
    bits, eps, max, min, tiny, smallest_normal, resolution.

    >>> import polyad
    >>> polyad.finfo(polyad.float32).eps
    1.1920928955078125e-07
    """

    # The bits of the mantissa, the largest number, the exponent of the smallest normal one.
    _LIMITS: ClassVar[dict[DType, tuple[int, float, int]]] = {
        float8_e4m3fn: (3, 448.0, -6),
        float8_e4m3fnuz: (3, 240.0, -7),
        float8_e5m2: (2, 57344.0, -14),
        float8_e5m2fnuz: (2, 57344.0, -15),
        float8_e8m0fnu: (0, 2.0**127, -127),
        float16: (10, 65504.0, -14),
        bfloat16: (7, (2 - 2.0**-7) * 2.0**127, -126),
        float32: (23, (2 - 2.0**-23) * 2.0**127, -126),
        float64: (52, (2 - 2.0**-52) * 2.0**1023, -1022),
    }

    def __init__(self, type: DType | None = None) -> None:
        dtype = (get_default_dtype() if type is None else _given(type, "finfo", "type")).to_real()
        if dtype not in self._LIMITS:
            raise ArgumentTypeError(f"finfo: {dtype} is no floating point dtype", fix="use polyad.iinfo")
        mantissa, self.max, exponent = self._LIMITS[dtype]
        self.dtype = dtype.name
        self.bits = dtype.itemsize * 8
        self.eps = 2.0**-mantissa
        self.tiny = self.smallest_normal = 2.0**exponent
        self.min = -self.max if dtype.is_signed else self.tiny
        self.resolution = 10.0 ** -int(mantissa * 0.30103)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: bits, min, max.

    >>> import polyad
    >>> polyad.iinfo(polyad.uint8).max
    255
    """

    def __init__(self, type: DType) -> None:
        type = _given(type, "iinfo", "type")
        if type.category != INTEGER:
            raise ArgumentTypeError(f"iinfo: {type} is no integer dtype", fix="use polyad.finfo")
        self.dtype = type.name
        self.bits = type.itemsize * 8
        self.min = -(2 ** (self.bits - 1)) if type.is_signed else 0
        self.max = 2 ** (self.bits - 1) - 1 if type.is_signed else 2**self.bits - 1

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
