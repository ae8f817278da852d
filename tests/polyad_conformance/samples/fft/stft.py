"""Spectrograms, from their definition frame by frame."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, int64

from ...sample import ErrorCase, Sample
from .dft import COMPLEX, REAL, spectrum, transform
from .transforms import real_part


def framed(window, n_fft):
    before = (n_fft - len(window)) // 2
    return np.pad(window, (before, n_fft - len(window) - before))


def stft(x, n_fft, window=None, hop_length=None, win_length=None, center=True, pad_mode="reflect", normalized=False,
         onesided=None, return_complex=True):  # fmt: skip
    hop = hop_length or n_fft // 4
    shape = framed(np.ones(win_length or n_fft) if window is None else window, n_fft)
    if center:
        sides = [(0, 0)] * (x.ndim - 1) + [(n_fft // 2, n_fft // 2)]
        x = np.pad(x, sides, mode=pad_mode)
    starts = range(0, x.shape[-1] - n_fft + 1, hop)
    frames = np.stack([x[..., start : start + n_fft] * shape for start in starts], -1)
    made = transform(frames, (-2,), "ortho" if normalized else "backward", True)
    half = onesided is not False and not np.iscomplexobj(frames)
    made = made[..., : n_fft // 2 + 1, :] if half else made
    return made if return_complex else np.stack((made.real, made.imag), -1)


def istft(z, n_fft, window=None, hop_length=None, win_length=None, center=True, normalized=False, onesided=None,
          length=None, return_complex=False):  # fmt: skip
    hop = hop_length or n_fft // 4
    shape = framed(np.ones(win_length or n_fft) if window is None else window, n_fft)
    count = z.shape[-1]
    if z.shape[-2] != n_fft or onesided:
        weights = np.array([1 if k == 0 or 2 * k == n_fft else 2 for k in range(n_fft // 2 + 1)])[:, None]
        z = np.concatenate([z * weights, np.zeros((*z.shape[:-2], n_fft - n_fft // 2 - 1, count))], -2)
        frames = transform(z, (-2,), "ortho" if normalized else "backward", False).real
    else:
        frames = transform(z, (-2,), "ortho" if normalized else "backward", False)
        frames = frames if return_complex else frames.real
    total = np.zeros((*z.shape[:-2], n_fft + hop * (count - 1)), frames.dtype)
    squares = np.zeros(total.shape[-1])
    for frame in range(count):
        place = slice(frame * hop, frame * hop + n_fft)
        total[..., place] += frames[..., frame] * shape
        squares[place] += shape**2
    start = n_fft // 2 if center else 0
    end = start + length if length else total.shape[-1] - start
    return total[..., start:end] / squares[start:end]


def sample(op, name, shape, n_fft, dtypes, result, **kwargs):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape), n_fft),
        reference=stft if op == "stft" else istft,
        kwargs=kwargs,
        dtypes=dtypes,
        result=result,
        gradient=True,
        steps=12,
        length=4 * n_fft,
    )


def windowed(op, name, shape, n_fft, points, dtypes, result, **kwargs):
    """With a window that is an input too; passed after hop_length and win_length."""
    reference = stft if op == "stft" else istft
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (
            make(shape),
            n_fft,
            kwargs["hop"],
            points,
            make.of(real_of(make.dtype)).positive((points,)),
        ),
        reference=lambda x, n, hop, points, window, **rest: reference(x, n, window, hop, points, **rest),
        kwargs={key: value for key, value in kwargs.items() if key != "hop"},
        dtypes=dtypes,
        result=result,
        gradient=(0,),
        steps=12,
        length=4 * n_fft,
    )


def real_of(dtype):
    return real_part(dtype) if dtype.is_complex else dtype


SAMPLES = [
    sample("stft", "one signal", (12,), 4, REAL, spectrum, return_complex=True),
    sample("stft", "all frequencies, not centred", (2, 10), 5, REAL, spectrum, return_complex=True,
           onesided=False, center=False, hop_length=2),
    sample("stft", "parts, normalised", (9,), 4, REAL, lambda dtype: dtype, return_complex=False,
           normalized=True),
    sample("stft", "complex", (8,), 4, COMPLEX, spectrum, hop_length=3, pad_mode="constant"),
    windowed("stft", "window", (2, 11), 6, 5, REAL, spectrum, hop=2, return_complex=True),
    sample("istft", "half a spectrum", (3, 6), 4, COMPLEX, real_part),
    sample("istft", "not centred", (2, 4, 5), 6, COMPLEX, real_part, center=False, hop_length=2,
           normalized=True),
    sample("istft", "complex", (4, 5), 4, COMPLEX, lambda dtype: dtype, onesided=False, return_complex=True),
    windowed("istft", "window", (2, 4, 6), 6, 5, COMPLEX, real_part, hop=2, length=11),
]  # fmt: skip

ERRORS = [
    ErrorCase(op=op, name=name, call=call, raises=RuntimeError, match=match)
    for op, name, call, match in (
        (
            "stft",
            "nothing said of complex",
            lambda op, tensor: op(tensor(16), 4),
            r"stft: return_complex must be given",
        ),
        (
            "stft",
            "integers",
            lambda op, tensor: op(tensor(16, dtype=int64), 4),
            r"stft: input must be a signal.*\n.*int64",
        ),
        ("stft", "three dimensions", lambda op, tensor: op(tensor(2, 2, 16), 4), r"stft: input must be a signal"),
        ("stft", "win_length", lambda op, tensor: op(tensor(16), 4, win_length=5), r"win_length 5 do not fit"),
        ("stft", "hop_length", lambda op, tensor: op(tensor(16), 4, hop_length=0), r"hop_length 0"),
        (
            "stft",
            "window",
            lambda op, tensor: op(tensor(16), 4, window=tensor(3)),
            r"window must be a vector of .* 4\n",
        ),
        (
            "stft",
            "too short",
            lambda op, tensor: op(tensor(3), 4, center=False, return_complex=True),
            r"stft: a signal of 3 points has no frame of n_fft 4",
        ),
        (
            "stft",
            "half of a complex spectrum",
            lambda op, tensor: op(tensor(16, dtype=complex64), 4, onesided=True),
            r"stft: the spectrum of complex numbers",
        ),
        (
            "stft",
            "alignment of centred frames",
            lambda op, tensor: op(tensor(16), 4, align_to_window=True, return_complex=True),
            r"stft: align_to_window",
        ),
        ("istft", "real", lambda op, tensor: op(tensor(3, 5), 4), r"istft: input is real\n.*input"),
        ("istft", "frequencies", lambda op, tensor: op(tensor(5, 5, dtype=complex64), 4), r"istft: 5 frequencies"),
        ("istft", "no frames", lambda op, tensor: op(tensor(3, 0, dtype=complex64), 4), r"istft: \(batch, freq"),
        (
            "istft",
            "window that leaves gaps",
            lambda op, tensor: op(tensor(3, 5, dtype=complex64), 4, 4, 4, tensor(4) * 0),
            r"istft: the windows leave a point",
        ),
        (
            "istft",
            "complex from half",
            lambda op, tensor: op(tensor(3, 5, dtype=complex64), 4, return_complex=True),
            r"istft: return_complex=True does not go with half a spectrum",
        ),
    )
]
