"""Parts of complex numbers."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int64

from ...patterns import unary
from ...sample import COMPLEX, EVERYTHING, NUMBERS, REAL, ErrorCase, Sample, as_bool, as_float, as_real

PARTS = (float32, float64)


def as_complex(dtype):
    return {float32: complex64, float64: complex128}.get(dtype, complex64)


def nonzero(make, shape):
    return make.nonzero(shape)


def pairs(make, shape):
    return make((*shape, 2))


def one(op, name, shape, reference, **sample):
    sample = {"dtypes": EVERYTHING, "gradient": True, **sample}
    return Sample(op=op, name=name, inputs=lambda make: (make(shape),), reference=reference, **sample)


def with_real_numbers(make, shape):
    """Complex numbers of which every other one has no imaginary part."""
    values = make(shape)
    if values.dtype.kind == "c" and values.size > 1:
        values.imag.flat[::2] = 0
    return values


SAMPLES = [
    *unary("isreal", np.isreal, draw=with_real_numbers, dtypes=EVERYTHING, result=as_bool),
    one("real", "complex", (3, 4), np.real, dtypes=COMPLEX, result=as_real, aliasing="view"),
    one("real", "real", (3, 4), np.real, dtypes=REAL, aliasing="view"),
    one("real", "0-d", (), np.real, dtypes=NUMBERS, result=as_real, aliasing="view"),
    one("real", "empty", (0, 3), np.real, dtypes=NUMBERS, result=as_real),
    one("imag", "2-d", (3, 4), np.imag, dtypes=COMPLEX, result=as_real, aliasing="view"),
    one("imag", "0-d", (), np.imag, dtypes=COMPLEX, result=as_real, aliasing="view"),
    one("imag", "empty", (0, 3), np.imag, dtypes=COMPLEX, result=as_real),
    *[
        one(
            "view_as_real",
            name,
            shape,
            lambda z: np.stack((z.real, z.imag), -1),
            dtypes=COMPLEX,
            result=as_real,
            aliasing="view",
        )
        for name, shape in (("2-d", (3, 4)), ("0-d", ()), ("empty", (2, 0)))
    ],
    *[
        one(
            "view_as_complex",
            name,
            (*shape, 2),
            lambda x: x[..., 0] + 1j * x[..., 1],
            dtypes=PARTS,
            result=as_complex,
            aliasing="maybe" if 0 in shape else "view",
            layouts=False,
        )
        for name, shape in (("2-d", (3, 4)), ("0-d", ()), ("empty", (0, 3)))
    ],
    *[
        Sample(
            op="complex",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right)),
            reference=lambda x, y: x + 1j * y,
            dtypes=PARTS,
            result=as_complex,
            gradient=True,
            length=4,
        )
        for name, left, right in (
            ("equal shapes", (3, 4), (3, 4)),
            ("broadcast", (3, 1), (4,)),
            ("0-d", (), ()),
            ("empty", (0, 3), (3,)),
        )
    ],
    *[
        Sample(
            op="polar",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right, -6, 6)),
            reference=lambda r, phi: r * np.cos(phi) + 1j * (r * np.sin(phi)),
            dtypes=PARTS,
            result=as_complex,
            gradient=True,
            steps=4,
            length=4,
        )
        for name, left, right in (("equal shapes", (3, 4), (3, 4)), ("broadcast", (3, 1), (4,)), ("0-d", (), ()))
    ],
    *unary(
        "angle",
        lambda x: np.where(x < 0, math.pi, np.where(np.isnan(x), np.nan, 0.0)),
        draw=nonzero,
        dtypes=REAL,
        result=as_float,
        steps=3,
    ),
    Sample(
        op="angle",
        name="complex",
        inputs=lambda make: (make.nonzero((3, 4)),),
        reference=np.angle,
        dtypes=COMPLEX,
        result=as_real,
        gradient=True,
        steps=5,
    ),
    one("conj_physical", "complex", (3, 4), np.conj, dtypes=COMPLEX),
    one("conj_physical", "real", (3, 4), np.conj, dtypes=REAL, aliasing="view"),
    one("resolve_conj", "", (3, 4), lambda x: x, dtypes=NUMBERS, aliasing="view"),
    one("resolve_neg", "", (3, 4), lambda x: x, dtypes=NUMBERS, aliasing="view"),
]

ERRORS = [
    ErrorCase(
        op="isreal", name="a list", call=lambda op, tensor: op([1.0]), raises=TypeError, match=r"isreal: input is list"
    ),
    ErrorCase(
        op="imag", name="real", call=lambda op, tensor: op(tensor(3)), raises=RuntimeError, match=r"imag: .*\n.*input"
    ),
    ErrorCase(
        op="view_as_real",
        name="real",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"view_as_real: input is real.*\n.*input",
    ),
    *[
        ErrorCase(op="view_as_complex", name=name, call=call, raises=RuntimeError, match=match)
        for name, call, match in (
            ("integers", lambda op, tensor: op(tensor(3, 2, dtype=int64)), r"view_as_complex: .*int64.*\n.*input"),
            ("last size 3", lambda op, tensor: op(tensor(2, 3)), r"must have size 2\n.*input"),
            ("0-d", lambda op, tensor: op(tensor()), r"must have size 2\n.*input"),
            ("transposed", lambda op, tensor: op(tensor(2, 2).t()), r"must have stride 1\n.*input"),
            ("odd offset", lambda op, tensor: op(tensor(5)[1:].view(2, 2)), r"storage_offset 1 must be even\n.*input"),
            ("odd strides", lambda op, tensor: op(tensor(2, 3)[:, :2]), r"strides \(3, 1\) must be even.*\n.*input"),
        )
    ],
    *[
        ErrorCase(op=op, name=name, call=call, raises=RuntimeError, match=match)
        for op in ("complex", "polar")
        for name, call, match in (
            (
                "two dtypes",
                lambda op, tensor: op(tensor(3), tensor(3, dtype=float64)),
                r"differ in dtype\n.*\n.*float64",
            ),
            ("integers", lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64)), r"parts of int64\n"),
            ("shapes", lambda op, tensor: op(tensor(3), tensor(4)), r"(complex|polar): .*\(3,\) and \(4,\)"),
        )
    ],
]
