"""Choosing by a condition."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, float32, uint8

from ...sample import EVERYTHING, NUMBERS, ErrorCase, Sample


def chosen(name, *shapes):
    return Sample(
        op="where",
        name=name,
        inputs=lambda make: (make.mask(shapes[0]), make(shapes[1]), make(shapes[2])),
        reference=np.where,
        dtypes=EVERYTHING,
        gradient=(1, 2),
        special=True,
    )


SAMPLES = [
    chosen("equal shapes", (3, 4), (3, 4), (3, 4)),
    chosen("broadcast", (3, 1), (4,), (3, 4)),
    chosen("condition broadcast to operands", (), (2, 3), (3,)),
    chosen("0-d", (), (), ()),
    chosen("empty", (0, 3), (3,), (0, 3)),
    chosen("past every vector width", (67,), (67,), (67,)),
    # Backends may choose another way where there are many elements.
    Sample(
        op="where",
        name="many elements",
        inputs=lambda make: (make.mask((90, 101)), make((90, 101)), make((90, 101))),
        reference=np.where,
        dtypes=EVERYTHING,
        special=True,
    ),
    *[
        Sample(
            op="where",
            name=f"{size} elements or {number}",
            inputs=lambda make, size=size, number=number: (make.mask((size,)), make((size,)), number),
            reference=np.where,
            dtypes=NUMBERS,
            gradient=(1,) if size < 100 else False,
            special=True,
        )
        for size in (9, 1100)
        for number in (0, 3)
    ],
    Sample(
        op="where",
        name="a number or elements",
        inputs=lambda make: (make.mask((9,)), 0, make((9,))),
        reference=np.where,
        dtypes=NUMBERS,
        gradient=(2,),
    ),
    Sample(
        op="where",
        name="uint8 condition",
        inputs=lambda make: (make.mask((9,)).astype(np.uint8), make((9,)), make((9,))),
        reference=np.where,
        dtypes=(float32,),
    ),
]

ERRORS = [
    ErrorCase(
        op="where",
        name="shapes that do not broadcast",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3), tensor(4)),
        raises=RuntimeError,
        match=r"3 != 4\n.*condition .*\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="where",
        name="condition that is no mask",
        call=lambda op, tensor: op(tensor(3), tensor(3), tensor(3)),
        raises=RuntimeError,
        match=r"where: condition is float32.*\n.*condition",
    ),
    ErrorCase(
        op="where",
        name="one choice",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3)),
        raises=TypeError,
        match=r"where: input and other go together",
    ),
    ErrorCase(
        op="where",
        name="a number outside the dtype",
        call=lambda op, tensor: op(tensor(3, dtype=bool_), tensor(3, dtype=uint8), 300),
        raises=RuntimeError,
        match=r"where: .*300",
    ),
]
