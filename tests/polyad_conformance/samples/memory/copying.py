"""Copies."""

from __future__ import annotations

import numpy as np

from polyad.base.memory_formats import channels_last, channels_last_3d

from ...sample import EVERYTHING, ErrorCase, Sample

SHAPES = {"2-d": (3, 4), "0-d": (), "empty": (0, 3), "1-d": (37,), "4-d": (2, 1, 3, 2)}


def unchanged(op, aliasing, gradient=True, **kwargs):
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            reference=lambda x, **kwargs: x,
            kwargs=kwargs,
            dtypes=EVERYTHING,
            gradient=gradient,
            steps=0,
            aliasing=aliasing,
        )
        for name, shape in SHAPES.items()
    ]


SAMPLES = [
    *unchanged("clone", "none"),
    *unchanged("contiguous", "maybe"),
    *unchanged("detach", "view", gradient=False)[:2],
    *[
        Sample(
            op=op,
            name="channels last",
            inputs=lambda make: (make((2, 3, 4, 2)),),
            reference=lambda x, memory_format: x,
            kwargs={"memory_format": channels_last},
            dtypes=EVERYTHING,
            gradient=True,
            steps=0,
            aliasing="maybe",
        )
        for op in (
            "clone",
            "contiguous",
        )
    ],
    *[
        Sample(
            op="fill",
            name=name,
            inputs=lambda make, shape=shape, value=value: (make(shape), make(()) if value is None else value),
            reference=lambda x, value: np.full(x.shape, value, x.dtype),
            dtypes=EVERYTHING,
            gradient=(1,) if value is None else (),
        )
        for name, shape, value in (
            ("number", (2, 3), 1),
            ("below zero", (2, 3), -1),
            ("tensor", (37,), None),
            ("no elements", (0, 3), None),
        )
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name=name,
            call=lambda op, tensor, given=given: op(tensor(2, 3), memory_format=given),
            raises=raises,
            match=match,
        )
        for op in (
            "clone",
            "contiguous",
        )
        for name, given, raises, match in (
            (
                "a format of another rank",
                channels_last_3d,
                RuntimeError,
                r"channels_last_3d is for 5 dimensions, not 2",
            ),
            ("no format", "channels_last", TypeError, r"memory_format is 'channels_last', which is none"),
        )
    ],
    ErrorCase(
        op="fill",
        name="a tensor with dimensions",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3)),
        raises=RuntimeError,
        match="fill_",
    ),
    ErrorCase(
        op="clone",
        name="no tensor",
        call=lambda op, tensor: op([1, 2]),
        raises=TypeError,
        match=r"clone: input is list",
    ),
    ErrorCase(
        op="contiguous",
        name="no tensor",
        call=lambda op, tensor: op(1.0),
        raises=TypeError,
        match=r"contiguous: input is float",
    ),
]
