"""Matrix products added to a tensor."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex128, float16, float32, float64, int8, int64, uint8

from ...sample import BOOL, NUMBERS, ErrorCase, Sample

FEW = (int64, float16, float32, float64, complex128)
DIFFERENTIABLE = (float64, complex128)


def added(product):
    def reference(input, a, b, beta=1, alpha=1):
        return beta * input + alpha * product(a, b)

    return reference


PRODUCTS = {
    "addmm": added(np.matmul),
    "baddbmm": added(np.matmul),
    "addmv": added(np.matmul),
    "addbmm": added(lambda a, b: np.einsum("bnm,bmp->np", a, b)),
    "addr": added(np.outer),
}

SHAPES = {
    "addmm": ((3, 5), (3, 4), (4, 5)),
    "baddbmm": ((2, 3, 5), (2, 3, 4), (2, 4, 5)),
    "addmv": ((3,), (3, 4), (4,)),
    "addbmm": ((3, 5), (2, 3, 4), (2, 4, 5)),
    "addr": ((3, 5), (3,), (5,)),
}


def sample(op, name, shapes, dtypes=FEW, **kwargs):
    reference = PRODUCTS[op]
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: tuple([make(shape) for shape in shapes]),
        kwargs=kwargs,
        reference=reference,
        magnitude=lambda input, a, b, beta=1, alpha=1: reference(
            np.abs(input), np.abs(a), np.abs(b), abs(beta), abs(alpha)
        ),
        dtypes=dtypes,
        gradient=True,
        steps=4,
        length=9,
    )


def dropping(input, a, b, beta=1, alpha=1):
    """A term with the factor 0 does not count, whatever is in it."""
    return (alpha * np.matmul(a, b) if alpha else 0) + (beta * input if beta else 0)


def with_nan(make, shape):
    values = make(shape)
    values.flat[1] = np.nan
    return values


SAMPLES = [
    *[sample(op, "", shapes, NUMBERS if op == "addmm" else FEW) for op, shapes in SHAPES.items()],
    *[sample(op, "factors", shapes, FEW, beta=2, alpha=3) for op, shapes in SHAPES.items()],
    *[sample(op, "an input that expands", ((1,), *shapes[1:]), DIFFERENTIABLE) for op, shapes in SHAPES.items()],
    sample("addmm", "sum of nothing", ((2, 3), (2, 0), (0, 3)), DIFFERENTIABLE, beta=2),
    sample("addmm", "float factors", ((2, 3), (2, 1), (1, 3)), DIFFERENTIABLE, beta=0.5, alpha=-1.5),
    *[
        Sample(
            op="addmm",
            name=f"nan where {name} is 0",
            inputs=lambda make, name=name: (
                with_nan(make, (2, 3)) if name == "beta" else make((2, 3)),
                with_nan(make, (2, 2)) if name == "alpha" else make((2, 2)),
                make((2, 3)),
            ),
            kwargs={name: 0},
            reference=dropping,
            magnitude=lambda input, a, b, **kwargs: np.full((2, 3), 20.0),
            dtypes=(float32, float64),
            length=2,
            expand=False,
        )
        for name in ("beta", "alpha")
    ],
    Sample(
        op="addr",
        name="bool",
        inputs=lambda make: (make((3, 4)), make((3,)), make((4,))),
        reference=lambda input, a, b: input | np.outer(a, b),
        dtypes=BOOL,
    ),
    Sample(
        op="addr",
        name="products beyond the vectors' dtype",
        inputs=lambda make: (make((3, 4)), make.of(int8)((3,), 50, 100), make.of(uint8)((4,), 50, 100)),
        reference=lambda input, a, b: input + np.outer(a, b),
        magnitude=lambda input, a, b: np.abs(input) + np.outer(a, b),
        dtypes=(int64, float32),
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="an input that does not expand",
            call=lambda op, tensor, shapes=shapes: op(tensor(7), *[tensor(*shape) for shape in shapes[1:]]),
            raises=RuntimeError,
            match=rf"{op}: input \(7,\) does not broadcast.*\n.*input",
        )
        for op, shapes in SHAPES.items()
    ],
    *[
        ErrorCase(
            op=op,
            name="summed sizes",
            call=lambda op, tensor, lead=lead: op(tensor(1), tensor(*lead, 2, 3), tensor(*lead, 4, 2)),
            raises=RuntimeError,
            match=rf"{op}: .*3 != 4\n.*input",
        )
        for op, lead in (("addmm", ()), ("baddbmm", (2,)), ("addbmm", (2,)))
    ],
    ErrorCase(
        op="addmm",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(2, 2), tensor(2, 2), tensor(2, 2, dtype=float16)),
        raises=RuntimeError,
        match=r"addmm: .*same dtype",
    ),
    ErrorCase(
        op="addmm",
        name="a complex factor",
        call=lambda op, tensor: op(tensor(2, 2), tensor(2, 2), tensor(2, 2), alpha=1j),
        raises=RuntimeError,
        match=r"addmm: alpha is complex",
    ),
    ErrorCase(
        op="addmv",
        name="a matrix for the vector",
        call=lambda op, tensor: op(tensor(2), tensor(2, 2), tensor(2, 2)),
        raises=RuntimeError,
        match=r"addmv: vec .*is not a vector",
    ),
    ErrorCase(
        op="addr",
        name="a float factor of integers",
        call=lambda op, tensor: op(*[tensor(*shape, dtype=int64) for shape in ((2, 2), (2,), (2,))], beta=0.5),
        raises=RuntimeError,
        match=r"addr: beta is a float",
    ),
]
