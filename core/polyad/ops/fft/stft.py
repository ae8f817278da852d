"""Spectrograms: the transforms of overlapping pieces of a signal, and the signal back from them.

A frame is *n_fft* points of the signal times the window, which has *win_length* of them and lies in the frame's middle.
Frame t begins at point t * hop_length; with *center* the signal is padded so that it is the frame's middle that lies
there. The inverse adds the frames up where they were and divides by the sum of the squared windows
(Griffin and Lim, https://doi.org/10.1109/TASSP.1984.1164317).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...base.dtypes import FLOATING
from ...base.shapes_and_strides import normalize_shape
from ...base.state import warn_user
from ...dispatch.op import function
from ...errors import DTypeError, ShapeError
from ...tensor import Tensor
from ...tensor.tensor import check_tensor
from ..creation.factories import _full
from ..declaring.checks import check_least
from ..indexing.slicing import _slice, _sliding_windows
from ..nn.padding import _pad_constant, pad
from ..pointwise.complex_numbers import _view_as_real
from ..reductions.any_all import check_all
from ..shaping.strided import _overlap_add
from .dft import _fft_c2c, _fft_c2r, _fft_r2c

if TYPE_CHECKING:
    from ...base.dtypes import DType


def _lengths(op: str, n_fft: Any, hop_length: Any, win_length: Any) -> tuple[int, int, int]:
    (points,) = normalize_shape((n_fft,), op)
    (hop,) = (points // 4,) if hop_length is None else normalize_shape((hop_length,), op)
    (window,) = (points,) if win_length is None else normalize_shape((win_length,), op)
    if points < 1 or hop < 1 or not 0 < window <= points:
        raise ShapeError(
            f"{op}: n_fft {points}, hop_length {hop} and win_length {window} do not fit together",
            fix="all must be positive, and win_length at most n_fft",
        )
    return points, hop, window


def _check_window(op: str, window: Any, length: int) -> None:
    if window is None:
        return
    check_tensor(window, op, "window")
    if window._array.shape != (length,):
        raise ShapeError(
            f"{op}: window must be a vector of win_length {length}",
            operands={"window": window},
            fix="make another window, or give its length as win_length",
        )


def _in_frame(window: Tensor | None, length: int, points: int, dtype: DType, like: Tensor) -> Tensor:
    """The window, all ones if it is None, in the middle of a frame."""
    if window is None:
        window = _full((length,), 1, dtype, like._type.device)
    before = (points - length) // 2
    return _pad_constant(window, (before, points - length - before), 0) if length < points else window


@function()
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """The short-time Fourier transform of a signal (length,) or of several (batch, length).

    The result is (batch, frequencies, frames): n_fft // 2 + 1 frequencies of a real signal and window unless *onesided*
    is False, else n_fft; complex if *return_complex*, which a real signal must say, else with the parts in a last
    dimension of 2. *hop_length* is n_fft // 4 unless given; *normalized* divides by sqrt(n_fft). *center* pads the
    signal on both sides by n_fft // 2 as *pad_mode* says (see `polyad.nn.functional.pad`). *align_to_window*, without
    center, begins the first frame's window, not the frame, at the first point.

    Raises RuntimeError for lengths that do not fit together, a signal shorter than a frame, a window of another length
    than *win_length*, or onesided with complex numbers.

    >>> import polyad
    >>> signal = (polyad.arange(16.0) * polyad.pi / 2).sin()
    >>> spectrum = polyad.stft(signal, 8, window=polyad.hann_window(8), return_complex=True)
    >>> spectrum.shape, spectrum.abs()[:, 4].argmax()
    (polyad.Size([5, 9]), tensor(2))
    """
    shape = check_tensor(input, "stft", "input")._array.shape
    points, hop, length = _lengths("stft", n_fft, hop_length, win_length)
    _check_window("stft", window, length)
    if input._type.dtype.category < FLOATING or len(shape) not in (1, 2):
        raise ShapeError(
            "stft: input must be a signal, (length,) or (batch, length), of floating point or complex numbers",
            operands={"input": input},
            fix="convert it to float, or flatten the dimensions in front of the last",
        )
    if center and align_to_window:
        raise ShapeError("stft: align_to_window is for center=False", fix="leave either out")
    whole = input._type.dtype.is_complex or (window is not None and window._type.dtype.is_complex)
    if return_complex is None and not whole:
        raise ShapeError(
            "stft: return_complex must be given for a real signal",
            operands={"input": input},
            fix="say return_complex=True; view_as_real gives the parts",
        )
    if onesided and whole:
        raise DTypeError(
            "stft: the spectrum of complex numbers has no halves alike", operands={"input": input}, fix="onesided=False"
        )
    signal = input if len(shape) == 2 else input.unsqueeze(0)
    if center:
        side = points // 2
        signal = pad(signal.unsqueeze(1), (side, side), pad_mode).squeeze(1)
    elif align_to_window:
        before = (points - length) // 2
        signal = _pad_constant(signal, (0, 0, before, points - length - before), 0)
    if signal._array.shape[1] < points:
        raise ShapeError(
            f"stft: a signal of {signal._array.shape[1]} points has no frame of n_fft {points}",
            operands={"input": input},
            fix="use a smaller n_fft, or pad the signal",
        )
    frames = _sliding_windows(signal, 1, points, hop)
    if window is not None or length < points:
        frames = frames * _in_frame(window, length, points, input._type.dtype, input)
    norm = "ortho" if normalized else "backward"
    half = not whole and onesided is not False
    spectrum = _fft_r2c(frames, (2,), norm) if half else _fft_c2c(frames, (2,), norm, True)
    spectrum = spectrum.transpose(1, 2)
    if len(shape) == 1:
        spectrum = spectrum.squeeze(0)
    return spectrum if return_complex is None or return_complex else _view_as_real(spectrum)


@function()
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose short-time Fourier transform is *input*, (frequencies, frames) or (batch, frequencies, frames).

    Options are those of `stft`; *length* is the signal's where it is known, for frames do not tell all of it. Raises
    RuntimeError for a real input, a number of frequencies that n_fft has not, lengths that do not fit together, and a
    window whose overlapping squares leave a point of the signal at zero.

    >>> import polyad
    >>> window = polyad.hann_window(8)
    >>> spectrum = polyad.stft(polyad.arange(16.0), 8, window=window, return_complex=True)
    >>> polyad.istft(spectrum, 8, window=window)[4:8].round(decimals=3)
    tensor([4., 5., 6., 7.])
    """
    check_tensor(input, "istft", "input")
    points, hop, window_length = _lengths("istft", n_fft, hop_length, win_length)
    _check_window("istft", window, window_length)
    half = _is_half(input, points, hop, window_length, window, onesided, return_complex)
    frames = (input if input.ndim == 3 else input.unsqueeze(0)).transpose(1, 2)
    norm = "ortho" if normalized else "backward"
    if return_complex:
        frames = _fft_c2c(frames, (2,), norm, False)
    else:
        first = frames if half else _slice(frames, 2, 0, points // 2 + 1, 1)
        frames = _fft_c2r(first, (2,), norm, points)
    weight = _in_frame(window, window_length, points, input._type.dtype.to_real(), input)
    count = frames._array.shape[1]
    full = points + hop * (count - 1)
    signal = _overlap_add(frames * weight, hop, full)
    squares = (weight * weight).unsqueeze(0).expand(count, points)
    envelope = _overlap_add(squares, hop, full)
    start = points // 2 if center else 0
    wanted = 0 if length is None else _check_length(length)
    end = start + wanted if wanted else full - start
    inside = max(0, min(end, full) - start)
    signal, envelope = _slice(signal, 1, start, inside, 1), _slice(envelope, 0, start, inside, 1)
    if not inside:
        raise _left_at_zero((), 0)
    check_all(envelope.detach().abs() > 1e-11, _left_at_zero, input=input)
    signal = signal / envelope
    if inside < wanted:
        warn_user("istft: the frames end before the length asked for; the rest is zeros", UserWarning)
        signal = _pad_constant(signal, (0, 0, 0, wanted - inside), 0)
    return signal if input.ndim == 3 else signal.squeeze(0)


def _check_length(length: int) -> int:
    (wanted,) = normalize_shape((length,), "istft")
    check_least("istft", "length", wanted, 1, fix="ask for 1 or more points")
    return wanted


def _left_at_zero(position: tuple[int, ...], value: int) -> ShapeError:
    return ShapeError(
        "istft: the windows leave a point of the signal at zero",
        fix="use a window without zeros, more overlap (a smaller hop_length), or center=True",
    )


def _is_half(
    input: Tensor,
    points: int,
    hop: int,
    window_length: int,
    window: Tensor | None,
    onesided: bool | None,
    return_complex: bool,
) -> bool:
    """Whether *input* is half the spectrum of frames; raises unless it is one of the two and fits the options."""
    shape = input._array.shape
    if not input._type.dtype.is_complex:
        raise DTypeError("istft: input is real", operands={"input": input}, fix="use stft(..., return_complex=True)")
    if len(shape) not in (2, 3) or 0 in shape or hop > window_length:
        raise ShapeError(
            f"istft: (batch, frequencies, frames) are needed, and a hop_length {hop} of at most win_length "
            f"{window_length}",
            operands={"input": input},
            fix="give a spectrogram that stft returned",
        )
    frequencies = shape[-2]
    half = onesided if onesided is not None else frequencies != points
    if frequencies != (points // 2 + 1 if half else points):
        raise ShapeError(
            f"istft: {frequencies} frequencies are not those of n_fft {points} with onesided={half}",
            operands={"input": input},
            fix=f"give {points // 2 + 1} frequencies if onesided, else {points}",
        )
    complex_window = window is not None and window._type.dtype.is_complex
    if return_complex if half else (complex_window and not return_complex):
        raise DTypeError(
            f"istft: return_complex={return_complex} does not go with "
            + ("half a spectrum" if half else "a complex window"),
            operands={"input": input},
            fix=f"return_complex={not return_complex}",
        )
    if complex_window and half:
        raise DTypeError(
            "istft: half a spectrum has no complex window", operands={"window": window}, fix="onesided=False"
        )
    return half
