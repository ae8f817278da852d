"""Padding."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, FLOATS, ErrorCase, Sample

MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def padded(x, pad, mode="constant", value=0):
    sides = [(0, 0)] * (x.ndim - len(pad) // 2) + [tuple(pad[at : at + 2]) for at in range(len(pad) - 2, -1, -2)]
    grown = [(max(before, 0), max(after, 0)) for before, after in sides]
    if mode == "circular":
        # What is left goes round.
        x, sides = cropped(x, sides), grown
    made = np.pad(x, grown, constant_values=value) if mode == "constant" else np.pad(x, grown, mode=MODES[mode])
    return cropped(made, sides)


def cropped(x, sides):
    return x[
        tuple(
            slice(max(-before, 0), size - max(-after, 0)) for (before, after), size in zip(sides, x.shape, strict=True)
        )
    ]


def pad(name, shape, amounts, dtypes=FLOATS, **settings):
    return Sample(
        op="nn.functional.pad",
        name=name,
        inputs=lambda make: (make(shape), amounts),
        reference=padded,
        kwargs=settings,
        dtypes=dtypes,
        gradient=(0,) if dtypes is FLOATS else False,
        aliasing="maybe",
    )


SAMPLES = [
    Sample(
        op="constant_pad_nd",
        inputs=lambda make: (make((2, 3)), (1, 2, 0, 1), 3),
        reference=lambda x, amounts, value: padded(x, amounts, value=value),
        dtypes=EVERYTHING[1:],
        aliasing="maybe",
    ),
    pad("zeros", (2, 3), (1, 2)),
    pad("two dimensions", (2, 3, 4), (1, 0, 0, 2), value=1.5),
    pad("every dtype", (2, 3), (1, 2, 2, 1), EVERYTHING, value=1),
    pad("crop", (4, 5), (-1, 2, 1, -2)),
    pad("crop everything", (2, 3), (-1, -2)),
    pad("nothing", (2, 3), (0, 0)),
    pad("no elements", (0, 3), (1, 1, 1, 0)),
    pad("reflect", (2, 3, 5), (2, 3), mode="reflect"),
    pad("reflect images", (1, 2, 3, 4), (1, 2, 2, 0), mode="reflect"),
    pad("replicate", (1, 2, 3, 4), (1, 5, 2, 0), mode="replicate"),
    pad("circular", (1, 2, 3, 4), (1, 4, 3, 0), mode="circular"),
    pad("volumes, cropped", (1, 3, 4, 3), (1, -1, -1, 2, 0, 1), mode="replicate"),
    pad("circular, cropped", (2, 5), (-1, 2), mode="circular"),
    pad("reflect every dtype", (2, 4), (2, 1), EVERYTHING, mode="reflect"),
]

ERRORS = [
    ErrorCase(
        op="nn.functional.pad",
        name="odd amounts",
        call=lambda op, tensor: op(tensor(2, 3), (1, 2, 3)),
        raises=RuntimeError,
        match=r"pad: 3 amounts do not fit 2 dimensions\n.*input",
    ),
    ErrorCase(
        op="nn.functional.pad",
        name="mode",
        call=lambda op, tensor: op(tensor(2, 3), (1, 2), mode="mirror"),
        raises=NotImplementedError,
        match=r"pad: mode 'mirror' is unknown\n.*input",
    ),
    ErrorCase(
        op="nn.functional.pad",
        name="reflects too far",
        call=lambda op, tensor: op(tensor(2, 3), (3, 0), mode="reflect"),
        raises=RuntimeError,
        match=r"pad: amounts \(3, 0\) do not fit dimension 1 of size 3",
    ),
    ErrorCase(
        op="nn.functional.pad",
        name="crops too much",
        call=lambda op, tensor: op(tensor(2, 3), (-2, -2)),
        raises=RuntimeError,
        match=r"pad: dimension 1 .*fewer than are cropped\n.*input",
    ),
    ErrorCase(
        op="nn.functional.pad",
        name="too few dimensions to reflect",
        call=lambda op, tensor: op(tensor(3), (1, 1), mode="reflect"),
        raises=NotImplementedError,
        match=r"pad: mode 'reflect' takes amounts .*, not for 1 of 1\n.*input",
    ),
    ErrorCase(
        op="nn.functional.pad",
        name="a value to reflect",
        call=lambda op, tensor: op(tensor(2, 3), (1, 1), "reflect", 2.0),
        raises=RuntimeError,
        match=r"pad: mode 'reflect' takes no value\n.*input",
    ),
    ErrorCase(
        op="nn.functional.pad",
        name="amounts of floats",
        call=lambda op, tensor: op(tensor(2, 3), (1.0, 2)),
        raises=TypeError,
        match=r"pad: pad is \(1\.0, 2\)",
    ),
]
