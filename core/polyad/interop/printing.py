"""How tensors print: values as PyTorch prints them, then device, dtype and grad_fn where they are not the default."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..device import Device
from ..errors import ArgumentError

if TYPE_CHECKING:
    from ..tensor import Tensor


@dataclass
class PrintOptions:
    """See `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


options = PrintOptions()


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Set how tensors print; *profile* "default", "short" or "full" first, then what else is given.

    Raises ValueError for an unknown profile.

    >>> import polyad
    >>> polyad.set_printoptions(precision=2)
    >>> polyad.tensor([1 / 3])
    tensor([0.33])
    >>> polyad.set_printoptions(profile="default")
    """
    global options
    if profile is not None:
        profiles = {"default": PrintOptions(), "short": PrintOptions(2, 1000, 2), "full": PrintOptions(4, math.inf)}
        if profile not in profiles:
            raise ArgumentError(
                f"set_printoptions: profile {profile!r} is not known", fix='use "default", "short" or "full"'
            )
        options = profiles[profile]
    for name, value in (
        ("precision", precision),
        ("threshold", threshold),
        ("edgeitems", edgeitems),
        ("linewidth", linewidth),
    ):
        if value is not None:
            setattr(options, name, value)
    if profile is None or sci_mode is not None:
        options.sci_mode = sci_mode


class _Formatter:
    """One width and notation for all elements, chosen from those that are shown."""

    def __init__(self, values: np.ndarray[Any, Any]) -> None:
        self.integral = values.dtype.kind in "biu"
        self.bool = values.dtype.kind == "b"
        self.scientific = self.whole = False
        flat = values.reshape(-1)
        if not self.integral:
            finite = flat[np.isfinite(flat) & (flat != 0)].astype(np.float64)
            magnitude = np.abs(finite)
            self.whole = bool(np.all(finite == np.ceil(finite)))
            if finite.size:
                low, high = float(magnitude.min()), float(magnitude.max())
                self.scientific = high > 1e8 if self.whole else high / low > 1000 or high > 1e8 or low < 1e-4
            if options.sci_mode is not None:
                self.scientific = options.sci_mode
        self.width = 0
        self.width = max((len(self(value)) for value in flat), default=0)

    def __call__(self, value: Any) -> str:
        if self.bool:
            text = "True" if value else "False"
        elif self.integral:
            text = str(int(value))
        elif not math.isfinite(value):
            text = str(float(value))
        elif self.scientific:
            text = f"{float(value):.{options.precision}e}"
        elif self.whole:
            text = f"{float(value):.0f}."
        else:
            text = f"{float(value):.{options.precision}f}"
        return text.rjust(self.width)


def _formatted(values: np.ndarray[Any, Any]) -> Any:
    if values.dtype.kind != "c":
        return _Formatter(values)
    real, imaginary = _Formatter(values.real), _Formatter(values.imag)

    def pair(value: Any) -> str:
        sign = "" if math.copysign(1.0, value.imag) < 0 else "+"
        return f"{real(value.real)}{sign}{imaginary(value.imag).strip()}j"

    return pair


def _edges(values: np.ndarray[Any, Any], summarize: bool) -> np.ndarray[Any, Any]:
    """The elements that are shown, which decide the width."""
    if not summarize:
        return values
    for axis, size in enumerate(values.shape):
        if size > 2 * options.edgeitems:
            keep = [*range(options.edgeitems), *range(size - options.edgeitems, size)]
            values = np.take(values, keep, axis=axis)
    return values


def _body(values: np.ndarray[Any, Any], write: Any, indent: int, summarize: bool) -> str:
    if values.ndim == 0:
        return str(write(values[()]))
    size, edge = values.shape[0], options.edgeitems
    cut = summarize and size > 2 * edge
    shown = [*range(edge), None, *range(size - edge, size)] if cut else list(range(size))
    if values.ndim == 1:
        width = len(write(values[0])) + 2 if size else 1
        per_line = max(1, (options.linewidth - indent) // width)
        parts = ["..." if at is None else write(values[at]) for at in shown]
        lines = [", ".join(parts[start : start + per_line]) for start in range(0, len(parts), per_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"
    parts = ["..." if at is None else _body(values[at], write, indent + 1, summarize) for at in shown]
    gap = "," + "\n" * (values.ndim - 1)
    return "[" + (gap + " " * (indent + 1)).join(parts) + "]"


def tensor_repr(tensor: Tensor, name: str = "tensor") -> str:
    """The repr of a tensor, or of a subclass called *name*."""
    values = tensor._type.backend.to_host(tensor._array)
    if tensor.dtype is dtypes.bfloat16 or tensor.dtype is dtypes.float16:
        values = values.astype(np.float32)
    suffixes = []
    if tensor.device != Device("cpu"):
        suffixes.append(f"device='{tensor.device}'")
    default = (dtypes.get_default_dtype(), dtypes.get_default_dtype().to_complex(), dtypes.int64, dtypes.bool_)
    if values.size == 0:
        body = "[]"
        if tensor.ndim != 1:
            suffixes.append(f"size={tuple(tensor.shape)}")
        if tensor.dtype is not dtypes.get_default_dtype():
            suffixes.append(f"dtype={tensor.dtype}")
    else:
        summarize = values.size > options.threshold
        body = _body(values, _formatted(_edges(values, summarize)), len(name) + 1, summarize)
        if tensor.dtype not in default:
            suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    return f"{name}({', '.join([body, *suffixes])})"
