"""Products of vectors and matrices of fixed ranks."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import bool_, complex64, complex128, float16, float32, float64, int32, int64

from ...sample import BOOL, FLOATS, NUMBERS, ErrorCase, Sample, as_sum

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


def kron(a, b):
    return np.kron(a, b)


def crossed(a, b, dim=-1):
    a, b = np.broadcast_arrays(np.moveaxis(a, dim, 0), np.moveaxis(b, dim, 0))
    levi_civita = np.zeros((3, 3, 3))
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        levi_civita[i, j, k], levi_civita[i, k, j] = 1, -1
    made = np.einsum("ijk,j...,k...->i...", levi_civita, a, b)
    return np.moveaxis(made.astype(a.dtype), 0, dim)


def crossed_magnitude(a, b, dim=-1):
    """What cancels is at most twice the product of the largest elements."""
    return 2 * np.max(np.abs(a), initial=0) * np.max(np.abs(b), initial=0)


def bilinear(x1, x2, weight, bias=None):
    made = np.einsum("...n,knm,...m->...k", x1, weight, x2)
    return made if bias is None else made + bias


SAMPLES = [
    product("mm", "", (3, 4), (4, 5), dtypes=NUMBERS),
    product("mm", "past every tile", (9, 33), (33, 10), dtypes=(float32, float64)),
    product("mm", "sum of nothing", (2, 0), (0, 3)),
    product("bmm", "", (2, 3, 4), (2, 4, 2), dtypes=NUMBERS),
    product("bmm", "no batches", (0, 3, 4), (0, 4, 2), dtypes=DIFFERENTIABLE),
    product("mv", "", (3, 17), (17,)),
    product("mv", "sum of nothing", (3, 0), (0,), dtypes=DIFFERENTIABLE),
    product("dot", "", (17,), (17,), np.dot),
    product("dot", "nothing", (0,), (0,), np.dot),
    product("vdot", "", (5,), (5,), np.vdot),
    product("inner", "vectors", (5,), (5,), np.inner, dtypes=DIFFERENTIABLE),
    product("inner", "matrix and vector", (2, 5), (5,), np.inner, dtypes=DIFFERENTIABLE),
    product("inner", "many dimensions", (2, 5), (3, 1, 5), np.inner),
    product("inner", "0-d", (), (3,), np.inner, length=1),
    *[
        Sample(
            op="outer",
            name=f"{n} by {m}",
            inputs=lambda make, n=n, m=m: (make((n,)), make((m,))),
            reference=np.outer,
            dtypes=BOOL + FEW,
            gradient=True,
            special=True,
        )
        for n, m in ((3, 9), (0, 2))
    ],
    *[
        Sample(
            op="kron",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right)),
            reference=kron,
            dtypes=BOOL + FEW,
            gradient=True,
        )
        for name, left, right in (
            ("matrices", (2, 3), (3, 2)),
            ("vector and matrix", (3,), (2, 2)),
            ("0-d", (), (3,)),
            ("more dimensions", (2, 1, 2), (3, 2)),
        )
    ],
    *[
        Sample(
            op="trace",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            reference=np.trace,
            dtypes=FEW,
            result=as_sum,
            gradient=True,
            length=4,
        )
        for name, shape in (("square", (4, 4)), ("wide", (2, 5)), ("empty", (0, 3)))
    ],
    product("cross", "first dim of size 3", (3, 2), (3, 2), lambda a, b: crossed(a, b, 0), magnitude=crossed_magnitude),
    product("cross", "a dim", (2, 3, 5), (1, 3, 5), crossed, magnitude=crossed_magnitude, kwargs={"dim": 1}),
    product("cross", "no vectors", (0, 3), (0, 3), crossed, magnitude=crossed_magnitude, dtypes=DIFFERENTIABLE),
    *[
        Sample(
            op="nn.functional.bilinear",
            name=name,
            inputs=lambda make, lead=lead, bias=bias: (
                make((*lead, 3)),
                make((*lead, 4)),
                make((2, 3, 4)),
                *([make((2,))] if bias else []),
            ),
            reference=bilinear,
            magnitude=lambda *given: bilinear(*[np.abs(one) for one in given]),
            dtypes=FLOATS if bias else DIFFERENTIABLE,
            gradient=True,
            steps=4,
            length=12,
        )
        for name, lead, bias in (("rows", (5,), True), ("one", (), False), ("batches", (2, 3), False))
    ],
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
    *[
        ErrorCase(
            op=op,
            name="lengths",
            call=lambda op, tensor: op(tensor(2), tensor(3)),
            raises=RuntimeError,
            match=rf"{op}: .*2 != 3\n.*input .*\n.*{other}",
        )
        for op, other in (("dot", "tensor"), ("vdot", "other"), ("inner", "other"))
    ],
    ErrorCase(
        op="dot",
        name="matrices",
        call=lambda op, tensor: op(tensor(2, 2), tensor(2, 2)),
        raises=RuntimeError,
        match=r"dot: input .* is not a vector",
    ),
    ErrorCase(
        op="inner",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(2), tensor(2, dtype=float16)),
        raises=RuntimeError,
        match=r"inner: .*same dtype\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="outer",
        name="a matrix",
        call=lambda op, tensor: op(tensor(2, 2), tensor(2)),
        raises=RuntimeError,
        match=r"outer: input has 2 dimensions.*\n.*input",
    ),
    ErrorCase(
        op="kron",
        name="a number",
        call=lambda op, tensor: op(tensor(2), 3),
        raises=TypeError,
        match=r"kron: other is int",
    ),
    ErrorCase(
        op="trace",
        name="a vector",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"trace: input has 1 dimensions.*\n.*input",
    ),
    ErrorCase(
        op="cross",
        name="no dimension of size 3",
        call=lambda op, tensor: op(tensor(2, 4), tensor(2, 4)),
        raises=RuntimeError,
        match=r"cross: input has no dimension of size 3\n.*input",
    ),
    ErrorCase(
        op="cross",
        name="numbers of dimensions",
        call=lambda op, tensor: op(tensor(3), tensor(2, 3), dim=0),
        raises=RuntimeError,
        match=r"cross: input has 1 dimensions and other 2\n.*input .*\n.*other",
    ),
    ErrorCase(
        op="cross",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(3, dtype=int32), tensor(3, dtype=complex64), dim=0),
        raises=RuntimeError,
        match=r"cross: .*same dtype",
    ),
    ErrorCase(
        op="nn.functional.bilinear",
        name="sizes",
        call=lambda op, tensor: op(tensor(5, 3), tensor(5, 4), tensor(2, 3, 3)),
        raises=RuntimeError,
        match=r"bilinear: .*do not agree\n.*input1 .*\n.*input2 .*\n.*weight",
    ),
]
