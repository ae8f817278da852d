"""How tensors print: values as PyTorch prints them, then size, dtype, device and grad_fn where they are not default.

All elements of a tensor have one width and one notation, chosen from those that are shown; so have the real and the
imaginary parts of complex ones, each for itself. Zeros, infinities and NaN have no say in that choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..base import dtypes
from ..base.device import Device
from ..base.state import state
from ..dispatch.overriding import SEEN
from ..errors import ArgumentError, safe_repr, wrong_type

if TYPE_CHECKING:
    from ..tensor import Tensor
from ..tensor.pending import settle


@dataclass
class PrintOptions:
    """See `set_printoptions`."""

    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


PROFILES = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=math.inf),
}

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

    *precision* digits after the point; a tensor of more than *threshold* elements shows *edgeitems* at each end of each
    dimension; lines are at most *linewidth* characters long; *sci_mode* turns scientific notation on or off, None (and
    leaving it out) decides by the values.

    Raises ValueError for an unknown profile and for negative numbers, TypeError for what is no number.

    >>> import polyad
    >>> polyad.set_printoptions(precision=2)
    >>> polyad.tensor([1 / 3])
    tensor([0.33])
    >>> polyad.set_printoptions(profile="default")
    """
    global options
    if profile is not None and not (isinstance(profile, str) and profile in PROFILES):
        raise ArgumentError(
            f"set_printoptions: profile {safe_repr(profile)} is not known", fix='use "default", "short" or "full"'
        )
    counts = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    given: dict[str, Any] = {name: value for name, value in counts.items() if value is not None}
    for name, value in given.items():
        if not isinstance(value, (int, float) if name == "threshold" else int) or isinstance(value, bool):
            raise wrong_type("set_printoptions", name, value, "a whole number")
        if not value >= 0 or (name != "threshold" and value >= 2**31):
            raise ArgumentError(
                f"set_printoptions: {name} is {value}", fix="give a number of 0 or more, and less than 2**31"
            )
    options = replace(options if profile is None else PROFILES[profile], **given, sci_mode=sci_mode)


Write = Callable[[Any], str]


def _writer(shown: np.ndarray[Any, Any]) -> tuple[Write, int]:
    """What writes an element of a real tensor, right-aligned, and how wide that is."""
    if shown.dtype.kind in "biu":
        width = max((len(str(value)) for value in shown.reshape(-1).tolist()), default=1)
        return lambda value: str(value).rjust(width), width
    decisive = shown[np.isfinite(shown) & (shown != 0)].astype(np.float64)
    notation, point = _notation(decisive)
    width = max((len(notation % value) + len(point) for value in decisive.tolist()), default=1)

    def write(value: float) -> str:
        return (notation % value + (point if math.isfinite(value) else "")).rjust(width)

    return write, width


def _notation(values: np.ndarray[Any, Any]) -> tuple[str, str]:
    """The format of floats of which *values* are to be read well, and what follows finite ones."""
    if not values.size:
        return "%.0f", "."
    magnitudes = np.abs(values)
    low, high = float(magnitudes.min()), float(magnitudes.max())
    scientific = options.sci_mode
    if scientific is None:
        scientific = high / low > 1000 or high > 1e8 or low < 1e-4
    if scientific:
        return f"%.{options.precision}e", ""
    if np.all(values == np.ceil(values)):
        return "%.0f", "."
    return f"%.{options.precision}f", ""


def _element_writer(shown: np.ndarray[Any, Any]) -> tuple[Write, int]:
    """What writes an element of any tensor, and the width that it needs at most."""
    if shown.dtype.kind != "c":
        return _writer(shown)
    (write_real, real_width), (write_imaginary, width) = _writer(shown.real), _writer(shown.imag)

    def write(value: complex) -> str:
        imaginary = write_imaginary(value.imag).lstrip()
        return f"{write_real(value.real)}{'' if imaginary[0] in '+-' else '+'}{imaginary}j"

    return write, real_width + width + len("j")


def _ends(values: np.ndarray[Any, Any], cuts: tuple[bool, ...]) -> np.ndarray[Any, Any]:
    """The elements that a summary shows, of all."""
    edge = options.edgeitems
    for axis, size in enumerate(values.shape):
        if cuts[axis]:  # np.take would copy all of an expanded tensor
            values = values[(slice(None),) * axis + ([*range(edge), *range(size - edge, size)],)]
    return values


def _ends_on_device(tensor: Tensor, cuts: tuple[bool, ...]) -> Any:
    """The array of the elements that a summary shows; a dimension that is cut has become two: its ends, and in them."""
    shape: list[int] = []
    strides: list[int] = []
    for size, step, cut in zip(tensor.shape, tensor.stride(), cuts, strict=True):
        shape += [2, options.edgeitems] if cut else [size]
        strides += [(size - options.edgeitems) * step, step] if cut else [step]
    type_ = tensor._type
    root = type_.backend.root(tensor._array) if tensor._storage is None else tensor._storage.root
    return type_.backend.as_strided(root, type_.dtype, tuple(shape), tuple(strides), tensor.storage_offset())


def _printed_elements(tensor: Tensor, cuts: tuple[bool, ...]) -> np.ndarray[Any, Any]:
    """The elements to be shown, on the host: all, or the ends of the dimensions in *cuts*.

    The ends alone come from a device if there is more than a megabyte; less comes faster as it is.
    """
    type_ = tensor._type
    backend = type_.backend
    values: np.ndarray[Any, Any]
    if not tensor.numel():
        return np.empty(0)  # its shape may be more than NumPy takes
    large = any(cuts) and options.edgeitems > 0 and tensor.numel() * type_.dtype.itemsize > 1 << 20
    if large and "shared_host_memory" not in backend.capabilities(type_.device).features:
        values = backend.to_host(_ends_on_device(tensor, cuts))
        return values.reshape([2 * options.edgeitems if cut else size for size, cut in zip(tensor.shape, cuts)])
    values = backend.to_host(tensor._array)
    return _ends(values, cuts)


def _parts_of(values: np.ndarray[Any, Any], cut: bool, write: Callable[[Any], str], gap: str) -> list[str]:
    """*values* along the first dimension, each written by *write*, with *gap* between its ends if it is cut."""
    parts = [write(value) for value in values]
    if cut:
        parts.insert(options.edgeitems, gap)
    return parts


def _body(values: np.ndarray[Any, Any], cuts: tuple[bool, ...], write: Write, width: int, indent: int) -> str:
    """The elements in brackets; lines after the first begin with *indent* spaces, one more a bracket that is open."""
    if values.ndim == 0:
        return write(values.item())
    if values.ndim == 1:
        parts = _parts_of(values, cuts[0], lambda value: write(value.item()), " ..." if options.edgeitems else "...")
        count = max(1, (options.linewidth - indent) // (width + len(", ")))
        rows = [", ".join(parts[start : start + count]) for start in range(0, len(parts), count)]
        return "[" + (",\n" + " " * (indent + 1)).join(rows) + "]"
    inner = _parts_of(values, cuts[0], lambda part: _body(part, cuts[1:], write, width, indent + 1), "...")
    return "[" + ("," + "\n" * (values.ndim - 1) + " " * (indent + 1)).join(inner) + "]"


def _suffixes(tensor: Tensor) -> list[str]:
    """What is not the default: ``size=(0, 3)``, ``dtype=polyad.int32``, ..."""
    suffixes = []
    if tensor.device != Device("cpu"):
        suffixes.append(f"device='{tensor.device}'")
    empty, default = tensor.numel() == 0, dtypes.get_default_dtype()
    unseen = not tensor._type.backend.holds_data
    if unseen or (empty and tensor.ndim != 1) or (not empty and options.edgeitems == 0):
        suffixes.append(f"size={tuple(tensor.shape)}")
    # Digits tell int64, bool and the default dtypes from others; nothing tells them where there are no digits.
    obvious = (default,) if empty or unseen else (default, default.to_complex(), dtypes.int64, dtypes.bool_)
    if tensor.dtype not in obvious:
        suffixes.append(f"dtype={tensor.dtype}")
    if tensor.grad_fn is not None:
        suffixes.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        suffixes.append("requires_grad=True")
    tangents = [tangent for mode in state.modes if (tangent := mode.tangent(tensor)) is not None]
    return [*suffixes, f"tangent={tangents[-1]!r}"] if tangents else suffixes


def tensor_repr(tensor: Tensor) -> str:
    """The repr of a tensor. The class stands before the elements if it is the user's own."""
    name = type(tensor).__name__ if type(tensor) in SEEN else "tensor"
    settle(tensor)
    if not tensor._type.backend.holds_data:
        return _framed(tensor, f"{name}(...", len(name) + len("("))
    indent = len(name) + len("(")
    return _framed(tensor, f"{name}({elements_text(tensor, indent)}", indent)


def elements_text(tensor: Tensor, indent: int) -> str:
    """The elements in brackets; lines after the first begin with *indent* spaces."""
    if not tensor.numel():
        return "[]"
    summarize = tensor.numel() > options.threshold
    cuts = tuple([summarize and size > 2 * options.edgeitems for size in tensor.shape])
    values = _printed_elements(tensor, cuts)
    write, width = _element_writer(values.astype(np.float32) if tensor.dtype is dtypes.bfloat16 else values)
    return _body(values, cuts, write, width, indent)


def _framed(tensor: Tensor, text: str, indent: int) -> str:
    """*text*, the elements, with what else is said of a tensor, on new lines where it is too long."""
    # PyTorch counts the last line one longer than it is, two if it is the only line: its lines break there.
    used = len(text) - text.rfind("\n") + 1
    for suffix in _suffixes(tensor):
        used += len(", ") + len(suffix)
        if used > options.linewidth:
            text += f",\n{' ' * indent}{suffix}"
            used = indent + len(suffix)
        else:
            text += f", {suffix}"
    return text + ")"
