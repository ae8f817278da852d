"""Products of matrices of fixed ranks, and of many."""

from __future__ import annotations

from functools import reduce

import numpy as np

from polyad.base.dtypes import bool_, complex128, float16, float32, float64, int64

from ...sample import NUMBERS, ErrorCase, Sample

FEW = (int64, float16, float32, float64, complex128)
DIFFERENTIABLE = (float64, complex128)


def product(op, name, left, right, reference=np.matmul, dtypes=FEW, length=None, magnitude=None, **fields):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(left), make(right)),
        reference=reference,
        magnitude=magnitude or (lambda a, b: reference(np.abs(a), np.abs(b))),
        dtypes=dtypes,
        gradient=True,
        length=left[-1] if length is None else length,
        **fields,
    )


def chain(matrices):
    return reduce(np.matmul, matrices)


SAMPLES = [
    product("mm", "", (3, 4), (4, 5), dtypes=NUMBERS),
    product("mm", "past every tile", (9, 33), (33, 10), dtypes=(float32, float64)),
    product("mm", "sum of nothing", (2, 0), (0, 3)),
    product("spmm", "", (3, 4), (4, 5)),
    product("bmm", "", (2, 3, 4), (2, 4, 2), dtypes=NUMBERS),
    product("bmm", "no batches", (0, 3, 4), (0, 4, 2), dtypes=DIFFERENTIABLE),
    product("mv", "", (3, 17), (17,)),
    product("mv", "sum of nothing", (3, 0), (0,), dtypes=DIFFERENTIABLE),
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
        op="mm",
        name="inner sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4, 5)),
        raises=RuntimeError,
        match=r"mm: .*3 != 4\n.*input .*\(2, 3\).*\n.*mat2 .*\(4, 5\)",
    ),
    ErrorCase(
        op="spmm",
        name="inner sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(4, 5)),
        raises=RuntimeError,
        match=r"mm: .*3 != 4",
    ),
    ErrorCase(
        op="mm",
        name="a vector",
        call=lambda op, tensor: op(tensor(3), tensor(3, 2)),
        raises=RuntimeError,
        match=r"mm: input \(3,\) is not a matrix.*\n.*input",
    ),
    ErrorCase(
        op="mm",
        name="a batch",
        call=lambda op, tensor: op(tensor(2, 2, 3), tensor(2, 3, 2)),
        raises=RuntimeError,
        match=r"mm: input .* is not a matrix.*\n.*input",
    ),
    ErrorCase(
        op="mm",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2, dtype=float16)),
        raises=RuntimeError,
        match=r"mm: .*float32 and float16.*same dtype",
    ),
    ErrorCase(
        op="mm",
        name="bool",
        call=lambda op, tensor: op(tensor(2, 3, dtype=bool_), tensor(3, 2, dtype=bool_)),
        raises=NotImplementedError,
        match=r"mm: bool",
    ),
    ErrorCase(
        op="bmm",
        name="numbers of matrices",
        call=lambda op, tensor: op(tensor(1, 2, 3), tensor(2, 3, 2)),
        raises=RuntimeError,
        match=r"bmm: .*1 != 2\n.*input .*\n.*mat2",
    ),
    ErrorCase(
        op="bmm",
        name="matrices",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2)),
        raises=RuntimeError,
        match=r"bmm: input .* is not a batch",
    ),
    ErrorCase(
        op="mv",
        name="sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(2)),
        raises=RuntimeError,
        match=r"mv: .*3 != 2\n.*input .*\n.*vec",
    ),
    ErrorCase(
        op="mv",
        name="a matrix",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3, 2)),
        raises=RuntimeError,
        match=r"mv: vec .* is not a vector",
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
