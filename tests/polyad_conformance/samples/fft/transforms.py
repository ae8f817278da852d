"""The functions of polyad.fft: which transform, sizes, dims and norms."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import complex64, float16, float32, float64, int64

from ...sample import ErrorCase, Sample
from .dft import COMPLEX, REAL, half_spectrum, signal, spectrum, transform


def fit(x, dims, sizes):
    for dim, size in zip(dims, sizes):
        x = np.take(x, range(min(size, x.shape[dim])), dim)
        pads = [(0, 0)] * x.ndim
        pads[dim] = (0, size - x.shape[dim])
        x = np.pad(x, pads)
    return x


def whole(forward):
    def reference(x, dims, sizes, norm):
        return transform(fit(x, dims, sizes), dims, norm, forward)

    return reference


def real_to_half(forward):
    def reference(x, dims, sizes, norm):
        made = half_spectrum(fit(x, dims, sizes), dims, norm)
        if forward:
            return made
        count = math.prod(sizes)
        return np.conj(made) * {"backward": 1 / count, "forward": count, "ortho": 1}[norm]

    return reference


def half_to_real(forward):
    def reference(x, dims, sizes, norm):
        fitted = fit(x, dims, (*sizes[:-1], sizes[-1] // 2 + 1))
        if not forward:
            return signal(fitted, dims, norm, sizes[-1])
        count = math.prod(sizes)
        made = signal(np.conj(fitted), dims, norm, sizes[-1])
        return made * {"backward": count, "forward": 1 / count, "ortho": 1}[norm]

    return reference


def real_part(dtype):
    return float32 if dtype is complex64 else float64


def call(op, name, shape, kwargs, reference, dims, sizes, norm, dtypes, result):
    return Sample(
        op=f"fft.{op}",
        name=name,
        inputs=lambda make: (make(shape),),
        reference=lambda x, **kwargs: reference(x, dims, sizes, norm),
        kwargs=kwargs,
        dtypes=dtypes,
        result=result,
        gradient=True,
        steps=6,
        length=2 * math.prod(sizes),
    )


KINDS = {
    "fft": (whole(True), REAL + COMPLEX, spectrum),
    "ifft": (whole(False), REAL + COMPLEX, spectrum),
    "rfft": (real_to_half(True), REAL, spectrum),
    "ihfft": (real_to_half(False), REAL, spectrum),
    "irfft": (half_to_real(False), COMPLEX, real_part),
    "hfft": (half_to_real(True), COMPLEX, real_part),
}
"""By name: the reference, the dtypes and the result's dtype."""

SAMPLES = [
    sample
    for name, (reference, dtypes, result) in KINDS.items()
    for from_half in [name in ("irfft", "hfft")]
    for sample in (
        call(name, "as it is", (2, 5), {}, reference, (1,), (8 if from_half else 5,), "backward", dtypes, result),
        call(
            name, "padded", (3, 2), {"n": 7, "dim": 0, "norm": "ortho"}, reference, (0,), (7,), "ortho", dtypes, result
        ),
        call(
            name,
            "cut",
            (6, 2),
            {"n": 3, "dim": -2, "norm": "forward"},
            reference,
            (0,),
            (3,),
            "forward",
            dtypes,
            result,
        ),
        call(
            f"{name}n",
            "all dimensions",
            (2, 4),
            {},
            reference,
            (0, 1),
            (2, 6 if from_half else 4),
            "backward",
            dtypes,
            result,
        ),
        call(
            f"{name}n",
            "sizes of the last",
            (2, 3, 4),
            {"s": (2, 5), "norm": "ortho"},
            reference,
            (1, 2),
            (2, 5),
            "ortho",
            dtypes,
            result,
        ),
        call(
            f"{name}n",
            "named dimensions",
            (3, 2, 4),
            {"s": (-1, 5), "dim": (2, 0), "norm": "forward"},
            reference,
            (2, 0),
            (4, 5),
            "forward",
            dtypes,
            result,
        ),
        call(
            f"{name}2",
            "as it is",
            (2, 3, 3),
            {},
            reference,
            (1, 2),
            (3, 4 if from_half else 3),
            "backward",
            dtypes,
            result,
        ),
    )
]

ERRORS = [
    *[
        ErrorCase(
            op=f"fft.{op}",
            name="no points",
            call=lambda op, tensor, several=op[-1] in "n2": op(tensor(3, 4), (2, 0) if several else 0),
            raises=RuntimeError,
            match=rf"^{op}: 0 points along dimension 1\n.*input .*\(3, 4\)",
        )
        for name in KINDS
        for op in (name, f"{name}n", f"{name}2")
    ],
    *[
        ErrorCase(
            op=f"fft.{op}",
            name="complex",
            call=lambda op, tensor: op(tensor(3, 4, dtype=complex64)),
            raises=RuntimeError,
            match=rf"^{op}: input is complex.*\n.*input .*complex64",
        )
        for op in ("rfft", "ihfft", "rfftn", "ihfftn", "rfft2", "ihfft2")
    ],
    *[
        ErrorCase(op=f"fft.{op}", name=name, call=call, raises=raises, match=match)
        for op, name, call, raises, match in (
            ("fft", "unknown norm", lambda op, tensor: op(tensor(3), norm="x"), RuntimeError, r"fft: norm is 'x'"),
            ("fft", "dim", lambda op, tensor: op(tensor(3), dim=1), IndexError, r"fft: dim 1 is out of range"),
            ("fft", "0-d", lambda op, tensor: op(tensor()), IndexError, r"fft: a 0-d tensor has no dimension"),
            (
                "fft",
                "float16",
                lambda op, tensor: op(tensor(3, dtype=float16)),
                RuntimeError,
                r"no transform of float16",
            ),
            ("irfft", "one point", lambda op, tensor: op(tensor(1)), RuntimeError, r"irfft: 0 points"),
            ("fftn", "twice", lambda op, tensor: op(tensor(3, 4), dim=(0, -2)), RuntimeError, r"fftn: dim .* twice"),
            ("fftn", "lengths", lambda op, tensor: op(tensor(3, 4), (2,), (0, 1)), RuntimeError, r"differ in length"),
            ("fftn", "sizes", lambda op, tensor: op(tensor(3), (2, 2)), RuntimeError, r"more sizes than"),
            ("fftn", "no list", lambda op, tensor: op(tensor(3), 1.5), TypeError, r"fftn: s is 1\.5"),
            ("rfftn", "none", lambda op, tensor: op(tensor(3), dim=()), RuntimeError, r"rfftn: no dimension is named"),
            ("irfftn", "none", lambda op, tensor: op(tensor(3), dim=()), RuntimeError, r"irfftn: no dimension"),
            ("fft", "out", lambda op, tensor: op(tensor(3), out=tensor(3, dtype=int64)), RuntimeError, r"out: .*dtype"),
        )
    ],
]
