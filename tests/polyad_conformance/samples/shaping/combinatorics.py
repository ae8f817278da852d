"""Cartesian products and combinations."""

from __future__ import annotations

import itertools

import numpy as np

from polyad.base.dtypes import bool_, complex128, float16, float32, float64, int8, int64

from ...sample import ErrorCase, Sample

SOME = (bool_, int8, float16, float32, complex128, float64)


def chosen(choose):
    def reference(x, r=2, with_replacement=False):
        rows = list((itertools.combinations_with_replacement if with_replacement else choose)(x, r))
        return np.array(rows, x.dtype).reshape(len(rows), r)

    return reference


SAMPLES = [
    *[
        Sample(
            op="cartesian_prod",
            name=name,
            inputs=lambda make, sizes=sizes: tuple([make((size,)) for size in sizes]),
            reference=lambda *vectors: (
                vectors[0]
                if len(vectors) == 1
                else np.array(list(itertools.product(*vectors)), vectors[0].dtype).reshape(-1, len(vectors))
            ),
            dtypes=SOME,
            gradient=True,
            aliasing="maybe",
        )
        for name, sizes in (("two", (3, 4)), ("three", (2, 3, 2)), ("one", (3,)), ("an empty one", (2, 0)))
    ],
    *[
        Sample(
            op="combinations",
            name=name,
            inputs=lambda make, size=size: (make((size,)),),
            kwargs=kwargs,
            reference=chosen(itertools.combinations),
            dtypes=SOME,
            gradient=size > 1,
        )
        for name, size, kwargs in (
            ("pairs", 4, {}),
            ("triples", 5, {"r": 3}),
            ("with replacement", 3, {"r": 3, "with_replacement": True}),
            ("more than there are", 1, {"r": 2}),
        )
    ],
]

ERRORS = [
    ErrorCase(
        op="cartesian_prod",
        name="none",
        call=lambda op, tensor: op(),
        raises=RuntimeError,
        match=r"cartesian_prod: there is no tensor",
    ),
    ErrorCase(
        op="cartesian_prod",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(2), tensor(2, dtype=int64)),
        raises=RuntimeError,
        match=r"cartesian_prod: .*same dtype",
    ),
    ErrorCase(
        op="combinations",
        name="a matrix",
        call=lambda op, tensor: op(tensor(2, 2)),
        raises=RuntimeError,
        match=r"combinations: input has 2 dimensions",
    ),
    ErrorCase(
        op="combinations",
        name="fewer than none",
        call=lambda op, tensor: op(tensor(3), -1),
        raises=RuntimeError,
        match=r"combinations: r is -1",
    ),
]
