"""Tensors whose elements follow a rule: evenly spaced numbers, the identity matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.dtypes import COMPLEX, FLOATING, DType, float32, get_default_dtype
from ...base.memory_formats import check_layout
from ...base.shapes_and_strides import Shape, check_sizes, normalize_shape
from ...devices import registry
from ...dispatch.op import composite, function
from ...dispatch.promotion import keyed_dtype
from ...dispatch.structure import creation
from ...errors import ArgumentTypeError, OptionError, ShapeError, safe_repr
from ...tensor import Tensor
from ..pointwise.where import _where
from ..shaping.strided import _window_put
from .factories import _arange, _full, with_options

if TYPE_CHECKING:
    from ...base.device import Device


def _steps_shape(start: Any, end: Any, steps: int, *rest: Any) -> Shape:
    return (steps,)


@composite(dtype=keyed_dtype, structure=creation, shape=_steps_shape, keyed=("dtype", "device"), method=False)
def _linspace(start: Any, end: Any, steps: int, dtype: DType, device: Device) -> Tensor:
    """*steps* evenly spaced numbers from start to end, computed from both ends so that both are exact."""
    if steps == 1:
        return _full((1,), start, dtype, device)
    wide = dtype if dtype.category >= FLOATING and dtype.itemsize > 2 else float32
    step = (end - start) / (steps - 1) if steps else 0.0
    half = steps // 2
    position = _arange(0, 1, steps, wide.to_real(), device).to(wide)
    early = _arange(0, 1, steps, float32, device) < half
    result = _where(early, position * step + start, end - (steps - 1 - position) * step)
    return result.to(dtype)


def _read_number(op: str, name: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        value = value.item()
    if isinstance(value, bool):
        return int(value)
    if not isinstance(value, (int, float, complex)):
        raise ArgumentTypeError(f"{op}: {name} is {safe_repr(value)}, not a number", fix="pass a number")
    return value


def _check_bounds(op: str, start: Any, end: Any, steps: Any, dtype: DType | None) -> tuple[Any, Any, int, DType]:
    start, end = _read_number(op, "start", start), _read_number(op, "end", end)
    if isinstance(steps, bool) or not hasattr(steps, "__index__"):
        raise ArgumentTypeError(f"{op}: steps is {safe_repr(steps)}, not an int", fix="pass an int")
    count = int(steps.__index__())
    if count < 0:
        raise ShapeError(f"{op}: steps is {count}, but cannot be negative", fix="ask for 0 or more")
    if dtype is None:
        dtype = get_default_dtype()
        if isinstance(start, complex) or isinstance(end, complex):
            dtype = dtype.to_complex()
    elif dtype.category < COMPLEX and (isinstance(start, complex) or isinstance(end, complex)):
        raise OptionError(f"{op}: complex bounds do not fit {dtype.name}", fix="use a complex dtype")
    return start, end, count, dtype


@function(method=False, dtype_of_out=True, sequence=True)
def linspace(
    start: Any,
    end: Any,
    steps: int,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """*steps* evenly spaced numbers from *start* to *end*, both included; the default dtype unless *dtype* is given.

    Raises RuntimeError for negative steps.

    >>> import polyad
    >>> polyad.linspace(0, 1, 5)
    tensor([0.0000, 0.2500, 0.5000, 0.7500, 1.0000])
    """
    check_layout(layout, "linspace")
    start, end, count, dtype = _check_bounds("linspace", start, end, steps, dtype)
    return with_options(_linspace(start, end, count, dtype, registry.resolve_device(device)), requires_grad, pin_memory)


@function(method=False, dtype_of_out=True, sequence=True)
def logspace(
    start: Any,
    end: Any,
    steps: int,
    base: float = 10.0,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """*base* raised to *steps* evenly spaced numbers from *start* to *end*.

    Raises RuntimeError for negative steps.

    >>> import polyad
    >>> polyad.logspace(0, 2, 3)
    tensor([  1.,  10., 100.])
    """
    check_layout(layout, "logspace")
    start, end, count, dtype = _check_bounds("logspace", start, end, steps, dtype)
    wide = dtype if dtype.category >= FLOATING and dtype.itemsize > 2 else float32
    exponents = _linspace(start, end, count, wide, registry.resolve_device(device))
    return with_options((_read_number("logspace", "base", base) ** exponents).to(dtype), requires_grad, pin_memory)


def _square(rows: int, columns: int, *rest: Any) -> Shape:
    return (rows, columns)


@composite(dtype=keyed_dtype, structure=creation, shape=_square, keyed=("dtype", "device"), method=False)
def _eye(rows: int, columns: int, dtype: DType, device: Device) -> Tensor:
    """Ones on the diagonal, zeros elsewhere."""
    ones = _full((min(rows, columns),), 1, dtype, device)
    return _window_put(ones, (rows, columns), (max(columns, 1), 1), (columns + 1,), 0)


@function(method=False, dtype_of_out=True)
def eye(
    n: int,
    m: int | None = None,
    *,
    dtype: DType | None = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool | None = False,
    pin_memory: bool | None = False,
    out: Tensor | None = None,
) -> Tensor:
    """The identity matrix (n, n), or (n, m) with ones on its diagonal.

    Raises RuntimeError for a negative size.

    >>> import polyad
    >>> polyad.eye(2, 3)
    tensor([[1., 0., 0.],
            [0., 1., 0.]])
    """
    check_layout(layout, "eye")
    rows, columns = check_sizes(normalize_shape((n, n if m is None else m), "eye"), "eye")
    return with_options(
        _eye(rows, columns, dtype or get_default_dtype(), registry.resolve_device(device)), requires_grad, pin_memory
    )
