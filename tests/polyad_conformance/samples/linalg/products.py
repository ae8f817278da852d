"""Products and views of matrices under the signatures of ``polyad.linalg``."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int64

from ...sample import BOOL, FLOATS, ErrorCase, Sample, as_sum
from ..products.cross import crossed, crossed_magnitude
from ..products.mm import chain

FEW = (int64, float16, float32, float64, complex128)


def vecdot(x, y, dim=-1):
    return (np.conj(x) * y).sum(dim)


DIFFERENTIABLE = (float64, complex128)


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
    *[
        Sample(
            op="linalg.cross",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right)),
            kwargs=kwargs,
            reference=crossed,
            magnitude=crossed_magnitude,
            dtypes=FEW,
            gradient=True,
        )
        for name, left, right, kwargs in (
            ("last dim", (5, 3), (1, 3), {}),
            ("first dim", (3, 2), (3, 2), {"dim": 0}),
        )
    ],
    *[
        Sample(
            op="linalg.vecdot",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right)),
            kwargs=kwargs,
            reference=vecdot,
            magnitude=lambda x, y, dim=-1: vecdot(np.abs(x), np.abs(y), dim),
            dtypes=FLOATS if name == "last dim" else (float64, complex128),
            gradient=True,
            length=5,
        )
        for name, left, right, kwargs in (
            ("last dim", (3, 5), (5,), {}),
            ("first dim", (4, 2), (4, 2), {"dim": 0}),
            ("vectors", (5,), (5,), {}),
            ("nothing", (2, 0), (2, 0), {}),
        )
    ],
    Sample(
        op="linalg.diagonal",
        inputs=lambda make: (make((2, 3, 4)),),
        reference=lambda x: np.diagonal(x, 0, -2, -1),
        dtypes=BOOL + FEW,
        gradient=True,
        aliasing="view",
    ),
    Sample(
        op="linalg.diagonal",
        name="other dims",
        inputs=lambda make: (make((3, 4, 2)),),
        kwargs={"offset": 1, "dim1": 0, "dim2": 1},
        reference=lambda x, offset, dim1, dim2: np.diagonal(x, offset, dim1, dim2),
        dtypes=(float64,),
        gradient=True,
        aliasing="view",
    ),
    *[
        Sample(
            op="linalg.vander",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs=kwargs,
            reference=lambda x, N=None: np.atleast_1d(x)[..., None] ** np.arange(N or x.shape[-1]),
            dtypes=FEW,
            result=as_sum,
            gradient=True,
            steps=6,
        )
        for name, shape, kwargs in (
            ("vector", (4,), {}),
            ("batch", (2, 3), {"N": 5}),
            ("empty", (0, 2), {}),
            ("0-d", (), {"N": 3}),
        )
    ],
    multiplied("matrices", (2, 4), (4, 3), (3, 5), (5, 1), dtypes=FEW),
    multiplied("vectors at both ends", (3,), (3, 4), (4,)),
    multiplied("two", (2, 3), (3, 2)),
]

ERRORS = [
    ErrorCase(
        op="linalg.cross",
        name="not of size 3",
        call=lambda op, tensor: op(tensor(2, 4), tensor(2, 4)),
        raises=RuntimeError,
        match=r"cross: dimension 1 of both must have size 3\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="linalg.vecdot",
        name="integers",
        call=lambda op, tensor: op(tensor(3, dtype=int64), tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"vecdot: the operands are int64\n.*x .*\n.*y",
    ),
    ErrorCase(
        op="linalg.vecdot",
        name="sizes",
        call=lambda op, tensor: op(tensor(3), tensor(4)),
        raises=RuntimeError,
        match=r"vecdot: .*\n.*x .*\n.*y",
    ),
    ErrorCase(
        op="linalg.diagonal",
        name="the same dimension twice",
        call=lambda op, tensor: op(tensor(3, 3), dim1=0, dim2=-2),
        raises=RuntimeError,
        match=r"diagonal: dim1 and dim2 are both 0",
    ),
    ErrorCase(
        op="linalg.vander",
        name="one power",
        call=lambda op, tensor: op(tensor(3), N=1),
        raises=RuntimeError,
        match=r"vander: N is 1.*\n.*x",
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
]
