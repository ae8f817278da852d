"""Block diagonals, Cartesian products, combinations, powers."""

from __future__ import annotations

import itertools

import numpy as np

from polyad.dtypes import bool_, complex128, float16, float32, float64, int8, int64

from ...sample import BOOL, EVERYTHING, ErrorCase, Sample, as_sum

SOME = (bool_, int8, float16, float32, complex128, float64)


def on_the_diagonal(*blocks):
    blocks = [np.atleast_2d(block) for block in blocks]
    made = np.zeros(np.sum([block.shape for block in blocks], 0), np.result_type(*blocks))
    row = column = 0
    for block in blocks:
        made[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return made


def chosen(choose):
    def reference(x, r=2, with_replacement=False):
        rows = list((itertools.combinations_with_replacement if with_replacement else choose)(x, r))
        return np.array(rows, x.dtype).reshape(len(rows), r)

    return reference


SAMPLES = [
    *[
        Sample(
            op="block_diag",
            name=name,
            inputs=lambda make, shapes=shapes: tuple([make(shape) for shape in shapes]),
            reference=on_the_diagonal,
            dtypes=dtypes,
            gradient=True,
            special=True,
        )
        for name, shapes, dtypes in (
            ("matrices", ((2, 3), (1, 2), (3, 1)), EVERYTHING),
            ("fewer dimensions", ((3,), (), (2, 2)), SOME),
            ("an empty one", ((2, 2), (0, 3)), (float64,)),
        )
    ],
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
    *[
        Sample(
            op="vander",
            name=name,
            inputs=lambda make, size=size: (make((size,)),),
            kwargs=kwargs,
            reference=lambda x, N=None, increasing=False: np.vander(x + 0, N, increasing),
            dtypes=(int8, float16, float32, complex128, float64),
            result=as_sum,
            gradient=kwargs.get("N", 2) > 1,
            steps=6,
        )
        for name, size, kwargs in (
            ("square", 4, {}),
            ("increasing", 3, {"N": 5, "increasing": True}),
            ("ones", 3, {"N": 1}),
            ("no powers", 3, {"N": 0}),
        )
    ],
    Sample(
        op="vander",
        name="bool",
        inputs=lambda make: (make((3,)),),
        reference=lambda x: np.vander(x.astype(np.int64)),
        dtypes=BOOL,
        result=as_sum,
    ),
]

ERRORS = [
    ErrorCase(
        op="block_diag",
        name="three dimensions",
        call=lambda op, tensor: op(tensor(2, 2), tensor(1, 2, 3)),
        raises=RuntimeError,
        match=r"block_diag: tensors\[1\] has 3 dimensions.*\n.*tensors\[0\]",
    ),
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
    ErrorCase(
        op="vander",
        name="fewer than none",
        call=lambda op, tensor: op(tensor(3), -1),
        raises=RuntimeError,
        match=r"vander: N is -1.*\n.*x",
    ),
]
