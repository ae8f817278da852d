"""Views of a part."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, ErrorCase, Sample, same


def view(op, name, shape, *args, reference, count=None, **sample):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape), *args),
        reference=reference,
        dtypes=EVERYTHING,
        result=same if count is None else (same,) * count,
        gradient=True,
        aliasing="view",
        length=6,
        **sample,
    )


def windows(x, dim, size, step):
    starts = range(0, x.shape[dim] - size + 1, step)
    return np.stack([np.moveaxis(np.take(x, range(s, s + size), dim), dim, -1) for s in starts], dim)


SAMPLES = [
    view("select", "first dim", (3, 4), 0, 1, reference=lambda x, dim, at: np.take(x, at, dim)),
    view("select", "from the end", (3, 4, 2), 1, -1, reference=lambda x, dim, at: np.take(x, at, dim)),
    view("narrow", "middle", (3, 5), 1, 1, 3, reference=lambda x, dim, start, n: x[:, start : start + n]),
    view("narrow", "from the end", (5, 3), 0, -2, 2, reference=lambda x, dim, start, n: x[3:]),
    view("narrow", "nothing", (5, 3), 0, 5, 0, reference=lambda x, dim, start, n: x[5:]),
    view("_sliding_windows", "overlapping", (3, 6), 1, 3, 1, reference=windows),
    view("_sliding_windows", "apart", (7, 2), 0, 2, 3, reference=windows),
]

ERRORS = [
    ErrorCase(
        op="select",
        name="past the end",
        call=lambda op, tensor: op(tensor(2, 3), 1, 3),
        raises=IndexError,
        match=r"select: index 3 is not in \[-3, 3\) of dimension 1\n.*input",
    ),
    ErrorCase(
        op="narrow",
        name="too long",
        call=lambda op, tensor: op(tensor(2, 3), 1, 1, 3),
        raises=RuntimeError,
        match=r"narrow: start 1 and length 3 leave dimension 1, whose size is 3\n.*input",
    ),
]
