"""Windows: factors with which the ends of a signal are faded out, each a function of the window's length *M*.

The greatest value is 1; it does not appear if *M* is even and *sym* is True. A symmetric window (``sym=True``) is for
filters; a periodic one, the symmetric window of M + 1 values without its last, is for spectra.

All raise ValueError for a negative *M*, for a dtype that is neither float32 nor float64, and for a *layout* that is not
strided.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..arguments import explain
from ..base.device import Device
from ..base.dtypes import DType, float32, float64, get_default_dtype
from ..base.memory_formats import MemoryLayout, strided
from ..errors import ArgumentError, ArgumentTypeError
from ..functions import arange, cos, empty, exp, i0, linspace, ones, pow, sin, sqrt, tensor
from ..tensor import Tensor

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _check(op: str, M: int, dtype: DType | None, layout: Any) -> DType:
    """The dtype of the window. Raises unless these are the length, dtype and layout of a window."""
    dtype = get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ArgumentError(f"{op}: M must not be negative", operands={"M": M}, fix="pass a length of 0 or more")
    if layout is not strided:
        raise ArgumentError(f"{op}: layout must be strided", operands={"layout": layout}, fix="leave it out")
    if dtype not in (float32, float64):
        raise ArgumentError(f"{op}: dtype must be float32 or float64", operands={"dtype": dtype}, fix="cast the window")
    return dtype


def _even(start: float, step: float, M: int, dtype: DType, device: Any, requires_grad: bool) -> Tensor:
    """M numbers from *start* in steps of *step*."""
    return linspace(start, start + (M - 1) * step, M, dtype=dtype, device=device, requires_grad=requires_grad)


def _intervals(M: int, sym: bool) -> int:
    """How many steps there are from one end of the window to the other, the end of a periodic one being left out."""
    return M if not sym and M > 1 else M - 1


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-abs(n - center) / tau) for each place n.

    Args:
        M: the length.
        center: where the window is 1; by default its middle. For periodic windows alone.
        tau: how slowly it fades; positive.
        sym: symmetric rather than periodic.

    Raises:
        ValueError: *tau* is not positive, or there is a *center* in a symmetric window.

    >>> import polyad
    >>> polyad.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    dtype = _check("exponential", M, dtype, layout)
    if tau <= 0:
        raise ArgumentError("exponential: tau must be positive", operands={"tau": tau}, fix="choose a larger tau")
    if sym and center is not None:
        raise ArgumentError(
            "exponential: the center of a symmetric window is its middle",
            operands={"center": center},
            fix="leave center out, or pass sym=False",
        )
    if M == 0:
        return empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    middle = _intervals(M, sym) / 2 if center is None else center
    return exp(-_even(-middle / tau, 1 / tau, M, dtype, device, requires_grad).abs())


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """sin(pi * (n + 1/2) / M) for each place n.

    >>> import polyad
    >>> polyad.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    dtype = _check("cosine", M, dtype, layout)
    if M == 0:
        return empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    step = math.pi / (_intervals(M, sym) + 1)
    return sin(_even(step / 2, step, M, dtype, device, requires_grad))


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """exp(-(n / std) ** 2 / 2), n being counted from the middle.

    Args:
        M: the length.
        std: the standard deviation; positive.
        sym: symmetric rather than periodic.

    Raises:
        ValueError: *std* is not positive.

    >>> import polyad
    >>> polyad.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    dtype = _check("gaussian", M, dtype, layout)
    if std <= 0:
        raise ArgumentError("gaussian: std must be positive", operands={"std": std}, fix="choose a larger std")
    if M == 0:
        return empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    step = 1 / (std * math.sqrt(2))
    return exp(-pow(_even(-_intervals(M, sym) / 2 * step, step, M, dtype, device, requires_grad), 2))


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """i0(beta * sqrt(1 - x ** 2)) / i0(beta), x going from -1 to 1 (Kaiser and Schafer 1980).

    Args:
        M: the length.
        beta: how fast it fades; not negative.
        sym: symmetric rather than periodic.

    Raises:
        ValueError: *beta* is negative.

    >>> import polyad
    >>> polyad.signal.windows.kaiser(3, beta=1.0)
    tensor([0.7898, 1.0000, 0.7898])
    """
    dtype = _check("kaiser", M, dtype, layout)
    if beta < 0:
        raise ArgumentError("kaiser: beta must not be negative", operands={"beta": beta}, fix="choose a larger beta")
    if M == 0:
        return empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    if M == 1:
        return ones((1,), dtype=dtype, device=device, requires_grad=requires_grad)
    step = 2 * beta / _intervals(M, sym)
    last = min(beta, -beta + (M - 1) * step)  # rounding must not lead out of the root's range
    x = linspace(-beta, last, M, dtype=dtype, device=device, requires_grad=requires_grad)
    return i0(sqrt(beta * beta - pow(x, 2))) / i0(tensor(beta, dtype=dtype, device=device))


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.54 - 0.46 * cos(x), x going once around.

    >>> import polyad
    >>> polyad.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """1/2 - cos(x) / 2, x going once around.

    >>> import polyad
    >>> polyad.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return general_hamming(
        M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """0.42 - cos(x) / 2 + 0.08 * cos(2 * x), x going once around.

    >>> import polyad
    >>> polyad.signal.windows.blackman(3).round(decimals=4).abs()
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle: 1 - abs(x), x going from -1 to 1.

    >>> import polyad
    >>> polyad.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    dtype = _check("bartlett", M, dtype, layout)
    if M == 0:
        return empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    if M == 1:
        return ones((1,), dtype=dtype, device=device, requires_grad=requires_grad)
    return 1 - _even(-1, 2 / _intervals(M, sym), M, dtype, device, requires_grad).abs()


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of ``(-1) ** i * a[i] * cos(i * x)``, x going once around.

    Args:
        M: the length.
        a: the factors.
        sym: symmetric rather than periodic.

    Raises:
        TypeError: *a* is no iterable.
        ValueError: it is empty.

    >>> import polyad
    >>> polyad.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    dtype = _check("general_cosine", M, dtype, layout)
    if not isinstance(a, Iterable):
        raise ArgumentTypeError("general_cosine: a must be a list of numbers", operands={"a": a}, fix="pass a list")
    factors = list(a)
    if not factors:
        raise ArgumentError("general_cosine: a is empty", fix="pass a factor at least")
    if M == 0:
        return empty((0,), dtype=dtype, device=device, requires_grad=requires_grad)
    if M == 1:
        return ones((1,), dtype=dtype, device=device, requires_grad=requires_grad)
    x = _even(0, 2 * math.pi / _intervals(M, sym), M, dtype, device, requires_grad)
    signed = tensor([(-1) ** i * factor for i, factor in enumerate(factors)], dtype=dtype, device=device)
    times = arange(len(factors), dtype=dtype, device=device)
    return (signed.unsqueeze(-1) * cos(times.unsqueeze(-1) * x)).sum(0)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """alpha - (1 - alpha) * cos(x), x going once around.

    Args:
        M: the length.
        alpha: the window's mean.
        sym: symmetric rather than periodic.

    >>> import polyad
    >>> polyad.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, device=device, requires_grad=requires_grad
    )


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: DType | None = None,
    layout: MemoryLayout = strided,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The cosine window with the factors 0.3635819, 0.4891775, 0.1365995 and 0.0106411 (Nuttall 1981).

    >>> import polyad
    >>> polyad.signal.windows.nuttall(3).round(decimals=3)
    tensor([0., 1., 0.])
    """
    return general_cosine(
        M,
        a=[0.3635819, 0.4891775, 0.1365995, 0.0106411],
        sym=sym,
        dtype=dtype,
        layout=layout,
        device=device,
        requires_grad=requires_grad,
    )


explain(globals())
