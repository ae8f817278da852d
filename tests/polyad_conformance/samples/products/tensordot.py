"""tensordot and products of many matrices."""

from __future__ import annotations

from functools import reduce

import numpy as np

from polyad.dtypes import complex128, float16, float32, float64, int64

from ...sample import ErrorCase, Sample

FEW = (int64, float16, float32, float64, complex128)
DIFFERENTIABLE = (float64, complex128)


def contracted(name, left, right, dims, dtypes=DIFFERENTIABLE):
    return Sample(
        op="tensordot",
        name=name,
        inputs=lambda make: (make(left), make(right)),
        kwargs={"dims": dims},
        reference=lambda a, b, dims: np.tensordot(a, b, dims),
        magnitude=lambda a, b, dims: np.tensordot(np.abs(a), np.abs(b), dims),
        dtypes=dtypes,
        gradient=True,
        length=12,
    )


def chain(matrices):
    return reduce(np.matmul, matrices)


def multiplied(name, *shapes, dtypes=DIFFERENTIABLE):
    return Sample(
        op="linalg.multi_dot",
        name=name,
        inputs=lambda make: ([make(shape) for shape in shapes],),
        reference=chain,
        magnitude=lambda matrices: chain([np.abs(one) for one in matrices]),
        dtypes=dtypes,
        gradient=True,
        steps=2 * len(shapes),
        length=4 * len(shapes),
    )


SAMPLES = [
    contracted("two dims", (2, 3, 4), (3, 4, 2), 2, FEW),
    contracted("none", (2, 3), (2,), 0),
    contracted("all", (2, 3), (2, 3), 2),
    contracted("lists", (2, 3, 4), (4, 5, 2), ([0, 2], [2, 0])),
    contracted("negative dims", (2, 3), (5, 3), ([-1], [-1])),
    contracted("of nothing", (2, 0), (0, 3), 1),
    multiplied("matrices", (2, 4), (4, 3), (3, 5), (5, 1), dtypes=FEW),
    multiplied("vectors at both ends", (3,), (3, 4), (4,)),
    multiplied("two", (2, 3), (3, 2)),
    Sample(
        op="chain_matmul",
        inputs=lambda make: (make((2, 4)), make((4, 3)), make((3, 5))),
        reference=lambda *matrices: chain(matrices),
        magnitude=lambda *matrices: chain([np.abs(one) for one in matrices]),
        dtypes=FEW,
        gradient=True,
        steps=6,
        length=12,
    ),
    Sample(
        op="chain_matmul",
        name="one",
        inputs=lambda make: (make((2, 4)),),
        reference=lambda x: x,
        dtypes=(float32,),
    ),
]

ERRORS = [
    ErrorCase(
        op="tensordot",
        name="sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=([0], [0])),
        raises=RuntimeError,
        match=r"tensordot: .*2 != 3\n.*a .*\n.*b",
    ),
    ErrorCase(
        op="tensordot",
        name="too many dims",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=3),
        raises=RuntimeError,
        match=r"tensordot: dims is 3",
    ),
    ErrorCase(
        op="tensordot",
        name="lists of different lengths",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=([1], [0, 1])),
        raises=RuntimeError,
        match=r"tensordot: dims names 1 dimensions of a and 2 of b",
    ),
    ErrorCase(
        op="tensordot",
        name="a dim out of range",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2), dims=([2], [0])),
        raises=IndexError,
        match=r"tensordot: dim 2 is out of range",
    ),
    ErrorCase(
        op="linalg.multi_dot",
        name="one matrix",
        call=lambda op, tensor: op([tensor(2, 3)]),
        raises=RuntimeError,
        match=r"multi_dot: there are 1 tensors",
    ),
    ErrorCase(
        op="linalg.multi_dot",
        name="sizes",
        call=lambda op, tensor: op([tensor(2, 3), tensor(2, 3)]),
        raises=RuntimeError,
        match=r"multi_dot: tensors 0 and 1 do not agree: 3 != 2\n.*tensors\[0\]",
    ),
    ErrorCase(
        op="linalg.multi_dot",
        name="a vector inside",
        call=lambda op, tensor: op([tensor(2, 3), tensor(3), tensor(3, 2)]),
        raises=RuntimeError,
        match=r"multi_dot: tensor 1 has 1 dimensions",
    ),
    ErrorCase(
        op="chain_matmul",
        name="no matrix",
        call=lambda op, tensor: op(),
        raises=RuntimeError,
        match=r"chain_matmul: there is no matrix",
    ),
    ErrorCase(
        op="chain_matmul",
        name="a vector",
        call=lambda op, tensor: op(tensor(3), tensor(3, 2)),
        raises=RuntimeError,
        match=r"chain_matmul: matrices\[0\] has 1 dimensions",
    ),
]
