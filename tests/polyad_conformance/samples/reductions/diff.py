"""Differences and slopes."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int8, int64, uint8

from ...sample import BOOL, NUMBERS, ErrorCase, Sample, as_float

FEW = (int64, float16, float32, float64, complex128)
PRECISE = (float64, complex128)


def joined_difference(x, n=1, dim=-1, prepend=None, append=None):
    parts = [part for part in (prepend, x, append) if part is not None]
    made = np.concatenate(parts, dim)
    for _ in range(n):
        made = np.diff(made, axis=dim) if made.shape[dim] else made
    return made


def slopes(x, spacing=1, dim=None, edge_order=1):
    dims = range(x.ndim) if dim is None else [dim] if isinstance(dim, int) else dim
    steps = spacing if isinstance(spacing, list) else [spacing] * len(list(dims))
    return tuple([np.gradient(x, step, axis=at, edge_order=edge_order) for at, step in zip(dims, steps)])


GRADIENTS = {
    "all dims": ((3, 4), {}, 2),
    "one dim": ((3, 4), {"dim": 1}, 1),
    "spacing": ((3, 4), {"spacing": 2.0, "dim": (1, 0)}, 2),
    "two spacings": ((3, 4), {"spacing": [0.5, 2.0]}, 2),
    "second order at the edges": ((2, 5), {"dim": -1, "edge_order": 2}, 1),
    "two samples": ((2, 3), {"dim": 0}, 1),
}

SAMPLES = [
    *[
        Sample(
            op="diff",
            name=name,
            inputs=lambda make, shapes=shapes, place=place: (
                make(shapes[0]),
                *place,
                *[make(one) for one in shapes[1:]],
            ),
            reference=joined_difference,
            dtypes=NUMBERS if name == "last dim" else (int8, float64),
            gradient=True,
            special=True,
            steps=4,
        )
        for name, shapes, place in (
            ("last dim", ((3, 9),), ()),
            ("twice, first dim", ((4, 3),), (2, 0)),
            ("joined", ((2, 3), (2, 1), (2, 2)), (1, 1)),
        )
    ],
    *[
        Sample(
            op="diff",
            name=name,
            inputs=lambda make, rest=rest: (make((2, 3)), *rest),
            reference=joined_difference,
            dtypes=(int8, float64),
        )
        for name, rest in (("more often than there are elements", (4,)), ("never", (0,)))
    ],
    Sample(
        op="diff",
        name="bool",
        inputs=lambda make: (make((3, 9)),),
        reference=lambda x: x[:, 1:] != x[:, :-1],
        dtypes=BOOL,
    ),
    *[
        Sample(
            op="gradient",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs=kwargs,
            reference=slopes,
            dtypes=FEW if name in ("all dims", "spacing") else PRECISE,
            result=(as_float,) * results,
            gradient=True,
            steps=8,
            length=4,
        )
        for name, (shape, kwargs, results) in GRADIENTS.items()
    ],
]

ERRORS = [
    ErrorCase(
        op="diff",
        name="0-d",
        call=lambda op, tensor: op(tensor()),
        raises=RuntimeError,
        match=r"diff: input is 0-d",
    ),
    ErrorCase(
        op="diff",
        name="a negative n",
        call=lambda op, tensor: op(tensor(3), -1),
        raises=RuntimeError,
        match=r"diff: n is -1",
    ),
    ErrorCase(
        op="diff",
        name="joined sizes",
        call=lambda op, tensor: op(tensor(2, 3), 1, 1, tensor(1, 3)),
        raises=RuntimeError,
        match=r"diff: prepend \(1, 3\) cannot be joined to input \(2, 3\).*\n.*prepend",
    ),
    *[
        ErrorCase(op="gradient", name=name, call=call, raises=raises, match=match)
        for name, call, raises, match in (
            ("uint8", lambda op, tensor: op(tensor(3, dtype=uint8)), RuntimeError, r"gradient: input is uint8"),
            ("too few", lambda op, tensor: op(tensor(3, 1)), RuntimeError, r"gradient: dimension 1 has fewer than 2"),
            ("edge order", lambda op, tensor: op(tensor(3), edge_order=3), RuntimeError, r"gradient: edge_order is 3"),
            (
                "spacings",
                lambda op, tensor: op(tensor(3, 3), spacing=[1.0, 2.0, 3.0]),
                RuntimeError,
                r"gradient: spacing has 3 entries for 2 dimensions",
            ),
            ("dim", lambda op, tensor: op(tensor(3), dim=1), IndexError, r"gradient: dim 1 is out of range"),
            (
                "dim twice",
                lambda op, tensor: op(tensor(3, 3), dim=(0, 0)),
                RuntimeError,
                r"gradient: dim .* names a dimension twice",
            ),
        )
    ],
]
