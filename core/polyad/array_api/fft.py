"""The extension for Fourier transforms: `polyad.fft` with the standard's argument names."""

from __future__ import annotations

from collections.abc import Sequence

from .. import fft as _fft
from ..base.device import Device
from ..base.dtypes import DType
from ..tensor import Tensor

Axes = Sequence[int] | None


def fft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The transform of a complex tensor along *axis*."""
    return _fft.fft(x, n, axis, norm)


def ifft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `fft`."""
    return _fft.ifft(x, n, axis, norm)


def fftn(x: Tensor, /, *, s: Axes = None, axes: Axes = None, norm: str = "backward") -> Tensor:
    """The transform of a complex tensor along several axes."""
    return _fft.fftn(x, s, axes, norm)


def ifftn(x: Tensor, /, *, s: Axes = None, axes: Axes = None, norm: str = "backward") -> Tensor:
    """The inverse of `fftn`."""
    return _fft.ifftn(x, s, axes, norm)


def rfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The transform of a real tensor, its non-negative frequencies."""
    return _fft.rfft(x, n, axis, norm)


def irfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `rfft`."""
    return _fft.irfft(x, n, axis, norm)


def rfftn(x: Tensor, /, *, s: Axes = None, axes: Axes = None, norm: str = "backward") -> Tensor:
    """The transform of a real tensor along several axes, non-negative frequencies of the last."""
    return _fft.rfftn(x, s, axes, norm)


def irfftn(x: Tensor, /, *, s: Axes = None, axes: Axes = None, norm: str = "backward") -> Tensor:
    """The inverse of `rfftn`."""
    return _fft.irfftn(x, s, axes, norm)


def hfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The real transform of a signal with Hermitian symmetry."""
    return _fft.hfft(x, n, axis, norm)


def ihfft(x: Tensor, /, *, n: int | None = None, axis: int = -1, norm: str = "backward") -> Tensor:
    """The inverse of `hfft`."""
    return _fft.ihfft(x, n, axis, norm)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """The frequencies of `fft` for samples *d* apart."""
    return _fft.fftfreq(n, d, dtype=dtype, device=device)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None) -> Tensor:
    """The frequencies of `rfft` for samples *d* apart."""
    return _fft.rfftfreq(n, d, dtype=dtype, device=device)


def fftshift(x: Tensor, /, *, axes: int | Axes = None) -> Tensor:
    """The zero frequency moved to the middle."""
    return _fft.fftshift(x, axes)


def ifftshift(x: Tensor, /, *, axes: int | Axes = None) -> Tensor:
    """The inverse of `fftshift`."""
    return _fft.ifftshift(x, axes)
