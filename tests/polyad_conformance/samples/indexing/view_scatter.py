"""Views with other contents."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, ErrorCase, Sample


def scatter(op, name, shape, src, *args, put):
    def reference(x, values, *args):
        made = np.array(x)
        put(made, values)
        return made

    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape), make(src), *args),
        reference=reference,
        dtypes=EVERYTHING,
        gradient=True,
        length=4,
    )


def row(made, values):
    made[1] = values


def last_column(made, values):
    made[..., -1] = values


def middle(made, values):
    made[:, 1:3] = values


def odd(made, values):
    made[1::2] = values


def nothing(made, values):
    pass


def above(made, values):
    places = np.arange(len(values))
    made[places, places + 1] = values


def batched(made, values):
    places = np.arange(values.shape[-1])
    made[places, :, places] = np.moveaxis(values, -1, 0)


def every_third(made, values):
    made.reshape(-1)[0::3] = values


SAMPLES = [
    scatter("select_scatter", "row", (3, 4), (4,), 0, 1, put=row),
    scatter("select_scatter", "last column", (2, 3, 4), (2, 3), -1, -1, put=last_column),
    scatter("slice_scatter", "middle", (3, 5), (3, 2), 1, 1, 3, put=middle),
    scatter("slice_scatter", "steps", (5, 2), (2, 2), 0, 1, None, 2, put=odd),
    scatter("slice_scatter", "nothing", (5, 2), (0, 2), 0, 7, put=nothing),
    scatter("diagonal_scatter", "above", (3, 4), (3,), 1, put=above),
    scatter("diagonal_scatter", "of other dimensions", (3, 2, 4), (2, 3), 0, 0, 2, put=batched),
    Sample(
        op="as_strided_scatter",
        name="every third",
        inputs=lambda make: (make((3, 4)), make((4,)), (4,), (3,)),
        reference=lambda x, values, *layout: np.where(
            np.arange(12) % 3 == 0, np.repeat(values, 3), x.reshape(-1)
        ).reshape(3, 4),
        dtypes=EVERYTHING,
        gradient=True,
        length=4,
        layouts=False,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="src of another shape",
            call=lambda op, tensor, args=args: op(tensor(3, 3), tensor(2, 5), *args),
            raises=RuntimeError,
            match=rf"{op}: src \(2, 5\) is not of the view's shape.*\n.*input .*\n.*src",
        )
        for op, args in (
            ("select_scatter", (0, 1)),
            ("slice_scatter", (0, 1, 3)),
            ("diagonal_scatter", ()),
            ("as_strided_scatter", ((2,), (1,))),
        )
    ],
    ErrorCase(
        op="select_scatter",
        name="index out of range",
        call=lambda op, tensor: op(tensor(3, 4), tensor(4), 0, 3),
        raises=IndexError,
        match=r"select_scatter: index 3 is not in \[-3, 3\)",
    ),
    ErrorCase(
        op="slice_scatter",
        name="step 0",
        call=lambda op, tensor: op(tensor(3), tensor(3), 0, None, None, 0),
        raises=RuntimeError,
        match=r"slice_scatter: step 0",
    ),
    ErrorCase(
        op="diagonal_scatter",
        name="one dimension",
        call=lambda op, tensor: op(tensor(3, 3), tensor(3), 0, 1, 1),
        raises=RuntimeError,
        match=r"diagonal_scatter: dim1 and dim2 are both 1",
    ),
    ErrorCase(
        op="as_strided_scatter",
        name="several elements at one place",
        call=lambda op, tensor: op(tensor(3, 4), tensor(2, 3), (2, 3), (0, 1)),
        raises=RuntimeError,
        match=r"as_strided_scatter: in a layout of size \(2, 3\) and stride \(0, 1\) .*\n.*input",
    ),
    ErrorCase(
        op="as_strided_scatter",
        name="outside of the storage",
        call=lambda op, tensor: op(tensor(3), tensor(4), (4,), (1,)),
        raises=RuntimeError,
        match=r"reach element 3 of a storage of 3",
    ),
]
