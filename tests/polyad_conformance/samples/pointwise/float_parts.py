"""Signs, exponents and neighbours of floating point numbers."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, bool_, complex64, complex128, float16, float32, float64, int8, int32, int64
from polyad.interop.numpy import numpy_dtype

from ...patterns import unary
from ...sample import BOOL, COMPLEX, REAL, REAL_FLOATS, ErrorCase, Sample, always, as_bool, as_float, same

FEW = (int64, bfloat16, float32, float64)


def signbit(x):
    """From the quotient that tells -0.0 from 0.0."""
    x = x.astype(np.float64)
    with np.errstate(all="ignore"):
        return (x < 0) | ((x == 0) & (1 / x < 0))


def copysign(a, b):
    return np.where(signbit(np.asarray(b)), -np.abs(a), np.abs(a)).astype(np.float64)


def power_of_two(a, b):
    return a * 2.0**b


def frexp(x):
    """From the digits of a number, which Python shows in hexadecimal."""

    def one(value):
        if value == 0 or not np.isfinite(value):
            return value, 0
        exponent = int(float(value).hex().rpartition("p")[2])
        mantissa = float(value) * 2.0 ** -(exponent + 1)
        while abs(mantissa) < 0.5:  # subnormal
            mantissa, exponent = mantissa * 2, exponent - 1
        return mantissa, exponent + 1

    pairs = [one(value) for value in x.ravel()]
    mantissas = np.array([pair[0] for pair in pairs], np.float64).reshape(x.shape)
    return mantissas, np.array([pair[1] for pair in pairs], np.int64).reshape(x.shape)


def towards(dtype):
    """The neighbour in a dtype, from a search for the smallest step that changes the number."""
    info = {float16: (-14, 10), bfloat16: (-126, 7), float32: (-126, 23), float64: (-1022, 52)}[dtype]

    def one(a, b):
        if np.isnan(a) or np.isnan(b):
            return np.nan
        if a == b:
            return b
        if np.isinf(a):
            return np.copysign((2 - 2.0 ** -info[1]) * 2.0 ** (-info[0] + 1), a)
        exponent = max(int(np.floor(np.log2(abs(a)))) if a else info[0], info[0])
        if a and abs(a) == 2.0**exponent and (b > a) == (a < 0) and exponent > info[0]:
            exponent -= 1  # below a power of two the steps are half as wide
        return a + np.copysign(2.0 ** (exponent - info[1]), b - a)

    return np.vectorize(one, otypes=[np.float64])


def neighbours(dtype):
    return Sample(
        op="nextafter",
        name=f"broadcast {dtype.name}",
        inputs=lambda make: (
            np.array([[1.0], [-2.0], [0.0], [1.7], [-3e-5]]).astype(numpy_dtype(dtype)),
            np.array([2.0, 1.0, 0.0, -5.0]).astype(numpy_dtype(dtype)),
        ),
        reference=towards(dtype),
        dtypes=(dtype,),
        special=True,
    )


SAMPLES = [
    *unary("signbit", signbit, dtypes=BOOL + REAL, result=as_bool),
    *[
        Sample(
            op="copysign",
            name=name,
            inputs=lambda make, left=left, right=right: (make.nonzero(left), make.nonzero(right)),
            reference=copysign,
            dtypes=FEW,
            result=as_float,
            gradient=True,
            special=True,
        )
        for name, left, right in (
            ("broadcast", (3, 1), (4,)),
            ("0-d", (), ()),
            ("empty", (0, 3), (3,)),
            ("1-d", (37,), (37,)),
        )
    ],
    *[
        Sample(
            op="copysign",
            name=f"the sign of {sign}",
            inputs=lambda make, sign=sign: (make.nonzero((5,)), sign),
            reference=copysign,
            dtypes=(int64, float32),
            result=as_float,
            gradient=True,
        )
        for sign in (-0.0, 3)
    ],
    *[neighbours(dtype) for dtype in REAL_FLOATS],
    Sample(
        op="nextafter",
        name="gradient",
        inputs=lambda make: (make.nonzero((3, 4)), make.nonzero((3, 4), 4, 5)),
        reference=lambda a, b: a,
        dtypes=(float64,),
        gradient=(0,),
        steps=2,
    ),
    *[
        Sample(
            op="ldexp",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right, -3, 3)),
            reference=power_of_two,
            dtypes=(int64, float16, bfloat16, float32, float64),
            result=as_float,
            gradient=True,
            special=True,
            steps=6,
        )
        for name, left, right in (("broadcast", (3, 1), (4,)), ("0-d", (), ()), ("empty", (0, 3), (3,)))
    ],
    Sample(
        op="ldexp",
        name="by integers",
        inputs=lambda make: (make((9,)), np.arange(-4, 5, dtype=np.int32)),
        reference=power_of_two,
        dtypes=(*REAL_FLOATS, *COMPLEX),
        gradient=(0,),
        steps=2,
    ),
    Sample(
        op="ldexp",
        name="powers out of range",
        inputs=lambda make: (np.array([1.5e-300, 1.5e300, 2.0**-1070]), np.array([1500.0, -1500.0, 2000.0])),
        reference=lambda a, b: (a * 2.0 ** (b / 2)) * 2.0 ** (b / 2),
        dtypes=(float64,),
        steps=1,
    ),
    Sample(
        op="ldexp",
        name="a power out of range with a fraction",
        inputs=lambda make: (np.array([1.5e-300, 1.5e300, 2.0**-1070]), np.array([1500.25, -1500.0, 2000.0])),
        reference=lambda a, b: (a * 2.0 ** (b / 2)) * 2.0 ** (b / 2),
        dtypes=(float64,),
        steps=8,
    ),
    *[
        Sample(
            op="frexp",
            name=name,
            inputs=lambda make, shape=shape: (make.nonzero(shape, 1e-3, 100),),
            reference=frexp,
            dtypes=REAL_FLOATS,
            result=(same, always(int32)),
            special=True,
            steps=0,
        )
        for name, shape in (("2-d", (3, 4)), ("0-d", ()), ("empty", (0, 3)))
    ],
    Sample(
        op="frexp",
        name="extremes",
        inputs=lambda make: (np.array([2.0, 0.5, -1.0, 2.0**-1074, 3e-310, 1.7e308]),),
        reference=frexp,
        dtypes=(float64,),
        result=(same, always(int32)),
        steps=0,
    ),
    Sample(
        op="frexp",
        name="gradient",
        inputs=lambda make: (np.array([0.7, 3.0, -20.0]),),
        reference=frexp,
        dtypes=(float64,),
        result=(same, always(int32)),
        gradient=True,
        steps=2,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="complex",
            call=lambda op, tensor: op(
                tensor(3, dtype=complex64), *[tensor(3, dtype=complex64)][: op.__name__ != "signbit"]
            ),
            raises=NotImplementedError,
            match=rf"{op}: complex",
        )
        for op in ("signbit", "copysign", "nextafter")
    ],
    *[
        ErrorCase(
            op=op,
            name="shapes that do not broadcast",
            call=lambda op, tensor: op(tensor(2, 3), tensor(4)),
            raises=RuntimeError,
            match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
        )
        for op in ("copysign", "nextafter", "ldexp")
    ],
    ErrorCase(
        op="nextafter",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64)),
        raises=NotImplementedError,
        match=r"nextafter: .*int64",
    ),
    ErrorCase(
        op="ldexp",
        name="a number",
        call=lambda op, tensor: op(tensor(3), 2),
        raises=TypeError,
        match=r"ldexp: other is int",
    ),
    *[
        ErrorCase(
            op="frexp",
            name=dtype.name,
            call=lambda op, tensor, dtype=dtype: op(tensor(3, dtype=dtype)),
            raises=RuntimeError,
            match=rf"frexp: input is {dtype.name}",
        )
        for dtype in (bool_, int8, complex128)
    ],
]
