"""Linear layers of one and of two inputs."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import complex128, float32, float64

from ...sample import FLOATS, ErrorCase, Sample


def linear(name, input, weight, bias):
    def reference(x, w, b=None):
        return x @ w.T if b is None else x @ w.T + b

    def magnitude(x, w, b=None):
        return reference(np.abs(x), np.abs(w), None if b is None else np.abs(b))

    return Sample(
        op="linear",
        name=name,
        inputs=lambda make: (make(input), make(weight)) if bias is None else (make(input), make(weight), make(bias)),
        reference=reference,
        magnitude=magnitude,
        dtypes=FLOATS,
        gradient=True,
        steps=3,
        length=input[-1] + 1,
    )


def weight_grad(name, grad, input):
    def reference(g, x):
        return np.einsum("rn,rk->nk", *(each.reshape(math.prod(each.shape[:-1]), each.shape[-1]) for each in (g, x)))

    return Sample(
        op="_linear_weight_grad",
        name=name,
        inputs=lambda make: (make(grad), make(input)),
        reference=reference,
        magnitude=lambda g, x: reference(np.abs(g), np.abs(x)),
        dtypes=FLOATS,
        gradient=True,
        steps=3,
        length=math.prod(grad[:-1]) + 1,
    )


DIFFERENTIABLE = (float64, complex128)


def bilinear(x1, x2, weight, bias=None):
    made = np.einsum("...n,knm,...m->...k", x1, weight, x2)
    return made if bias is None else made + bias


SAMPLES = [
    linear("no bias", (3, 4), (2, 4), None),
    linear("bias", (3, 4), (2, 4), (2,)),
    linear("batches", (2, 3, 4), (5, 4), (5,)),
    linear("one vector", (4,), (3, 4), (3,)),
    linear("no rows", (0, 4), (3, 4), (3,)),
    linear("no features", (2, 0), (3, 0), (3,)),
    linear("batches without features", (2, 3, 0), (5, 0), (5,)),
    weight_grad("rows", (3, 2), (3, 4)),
    weight_grad("batches", (2, 3, 4), (2, 3, 5)),
    weight_grad("no rows", (0, 2), (0, 4)),
    weight_grad("no features", (3, 2), (3, 0)),
    weight_grad("batches without features", (2, 3, 4), (2, 3, 0)),
    weight_grad("batches without gradients", (2, 3, 0), (2, 3, 4)),
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
        op="linear",
        name="inner sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(5, 4)),
        raises=RuntimeError,
        match=r"linear: .*3 != 4\n.*input .*\n.*weight",
    ),
    ErrorCase(
        op="linear",
        name="bias of another length",
        call=lambda op, tensor: op(tensor(2, 3), tensor(5, 3), tensor(4, dtype=float32)),
        raises=RuntimeError,
        match=r"linear: .*\n.*input .*\n.*weight .*\n.*bias",
    ),
    ErrorCase(
        op="nn.functional.bilinear",
        name="sizes",
        call=lambda op, tensor: op(tensor(5, 3), tensor(5, 4), tensor(2, 3, 3)),
        raises=RuntimeError,
        match=r"bilinear: .*do not agree\n.*input1 .*\n.*input2 .*\n.*weight",
    ),
]
