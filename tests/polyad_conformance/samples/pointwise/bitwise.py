"""Operations on bits and truth values."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, float32, int8, int64

from ...patterns import binary, unary
from ...sample import BOOL, EVERYTHING, INTEGERS, ErrorCase, Sample, as_bool


def shifts(make, shape):
    return make(shape, 0, 3)


def shifted_left(a, b):
    """Numbers of int64; nothing is left of one that is shifted by all its bits, or by a negative number of them."""
    return np.where((b < 0) | (b > 63), 0, a << np.clip(b, 0, 63))


def shifted_right(a, b):
    """Only the sign is left of one that is shifted by all its bits, or by a negative number of them."""
    return a >> np.where((b < 0) | (b > 63), 63, b)


def truth(make, shape):
    """Some zeros in every dtype."""
    return np.where(make.mask(shape), make(shape), np.zeros((), make(()).dtype))


SAMPLES = [
    *[
        entry
        for name, reference in (
            ("bitwise_and", np.bitwise_and),
            ("bitwise_or", np.bitwise_or),
            ("bitwise_xor", np.bitwise_xor),
        )
        for entry in (
            *binary(name, reference, dtypes=INTEGERS, number=6),
            Sample(
                op=name, name="bool", inputs=lambda make: (make((3, 4)), make((4,))), reference=reference, dtypes=BOOL
            ),
        )
    ],
    *unary("bitwise_not", lambda x: -x - 1, dtypes=INTEGERS),
    Sample(op="bitwise_not", name="bool", inputs=lambda make: (make((9,)),), reference=np.logical_not, dtypes=BOOL),
    *binary("bitwise_left_shift", shifted_left, draw_other=shifts, dtypes=INTEGERS, number=2),
    *binary("bitwise_right_shift", shifted_right, draw_other=shifts, dtypes=INTEGERS, number=2),
    Sample(
        op="bitwise_left_shift",
        name="everything out",
        inputs=lambda make: (np.array([1, -1, 5], np.int8), np.array([8, 9, 100], np.int8)),
        reference=lambda a, b: a * 0,
        dtypes=(int8,),
    ),
    Sample(
        op="bitwise_right_shift",
        name="everything out",
        inputs=lambda make: (np.array([1, -1, 5], np.int8), np.array([8, 9, 100], np.int8)),
        reference=lambda a, b: -(a < 0).astype(np.int64),
        dtypes=(int8,),
    ),
    *[
        entry
        for name, reference in (
            ("logical_and", np.logical_and),
            ("logical_or", np.logical_or),
            ("logical_xor", np.logical_xor),
        )
        for entry in binary(name, reference, draw=truth, dtypes=EVERYTHING, result=as_bool, number=None)
    ],
    *unary("logical_not", np.logical_not, draw=truth, dtypes=EVERYTHING, result=as_bool),
]

ERRORS = [
    *[
        ErrorCase(
            op=name,
            name="shapes that do not broadcast",
            call=lambda op, tensor: op(tensor(2, 3, dtype=int64), tensor(4, dtype=int64)),
            raises=RuntimeError,
            match=r"3 != 4\n.*input .*\(2, 3\).*\n.*other .*\(4,\)",
        )
        for name in (
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "bitwise_left_shift",
            "bitwise_right_shift",
            "logical_and",
        )
    ],
    *[
        ErrorCase(
            op=name,
            name="floats",
            call=lambda op, tensor: op(tensor(3), tensor(3)),
            raises=RuntimeError,
            match=rf"{name}: .*float32",
        )
        for name in ("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_left_shift", "bitwise_right_shift")
    ],
    ErrorCase(
        op="bitwise_not",
        name="floats",
        call=lambda op, tensor: op(tensor(3, dtype=float32)),
        raises=RuntimeError,
        match=r"bitwise_not: .*float32",
    ),
    ErrorCase(
        op="bitwise_left_shift",
        name="bool",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3, dtype=bool_)),
        raises=RuntimeError,
        match=r"bitwise_left_shift: .*bool",
    ),
    ErrorCase(
        op="logical_and",
        name="a number",
        call=lambda op, tensor: op(tensor(3), 1),
        raises=TypeError,
        match=r"logical_and: other is int",
    ),
]
