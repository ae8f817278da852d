"""Joining, repeating, reversing, triangles."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import float32, int64

from ...sample import EVERYTHING, ErrorCase, Sample, same


def copied(op, name, shape, *args, reference, **kwargs):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape), *args),
        kwargs=kwargs,
        reference=reference,
        dtypes=EVERYTHING,
        gradient=True,
        special=True,
        length=6,
    )


def joined(op, name, shapes, *args, reference, gradient=True):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: ([make(shape) for shape in shapes], *args),
        reference=reference,
        dtypes=EVERYTHING,
        gradient=gradient,
        length=3,
        expand=False,
    )


SAMPLES = [
    joined("cat", "rows", ((2, 3), (1, 3), (0, 3)), reference=np.concatenate),
    joined("cat", "columns", ((2, 3), (2, 1)), -1, reference=np.concatenate),
    joined("cat", "one", ((4,),), reference=np.concatenate),
    joined("cat", "an empty vector beside matrices", ((2, 3), (0,)), reference=lambda xs: xs[0], gradient=False),
    joined("concat", "", ((2, 3), (2, 3)), 1, reference=np.concatenate),
    joined("dstack", "vectors", ((3,), (3,)), reference=np.dstack),
    joined("dstack", "3-d", ((2, 3, 1), (2, 3, 2)), reference=np.dstack),
    joined("column_stack", "vectors and matrices", ((2,), (2, 3)), reference=np.column_stack),
    joined("column_stack", "0-d", ((), ()), reference=lambda xs: np.stack(xs)[None]),
    joined("row_stack", "", ((3,), (2, 3)), reference=np.vstack),
    *[copied("rot90", f"{k} turns", (2, 3), k, reference=np.rot90) for k in (1, 2, -1, 4)],
    copied("rot90", "other dims", (2, 3, 4), 1, (2, 0), reference=np.rot90),
    joined("stack", "first", ((2, 3), (2, 3)), reference=np.stack),
    joined("stack", "last", ((2, 3), (2, 3), (2, 3)), -1, reference=np.stack),
    joined("stack", "0-d", ((), ()), reference=np.stack),
    joined("stack", "middle", ((2, 3), (2, 3)), 1, reference=np.stack),
    *[
        Sample(
            op=f"atleast_{ndim}d",
            name=f"{len(shape)}-d",
            inputs=lambda make, shape=shape: (make(shape),),
            reference=reference,
            dtypes=EVERYTHING,
            gradient=True,
            aliasing="maybe",
            length=3,
        )
        for ndim, reference in ((1, np.atleast_1d), (2, np.atleast_2d), (3, np.atleast_3d))
        for shape in ((), (3,), (2, 3))
    ],
    joined("hstack", "", ((2, 3), (2, 1)), reference=np.hstack),
    joined("hstack", "vectors", ((3,), ()), reference=np.hstack),
    joined("vstack", "", ((3,), (2, 3)), reference=np.vstack),
    copied("flipud", "", (3, 2), reference=np.flipud),
    copied("fliplr", "", (3, 2), reference=np.fliplr),
    copied("flip", "one", (3, 4), 0, reference=np.flip),
    copied("flip", "several", (2, 3, 4), (0, -1), reference=np.flip),
    copied("flip", "empty", (0, 3), (0, 1), reference=np.flip),
    copied("roll", "flat", (3, 4), 5, reference=np.roll),
    copied("roll", "one", (3, 4), -1, 1, reference=np.roll),
    copied("roll", "several", (3, 4), (1, 2), (0, 1), reference=np.roll),
    copied("roll", "empty", (0, 3), 1, 0, reference=np.roll),
    copied("_repeat", "more dimensions", (2, 3), (2, 1, 2), reference=np.tile),
    copied("_repeat", "not at all", (2, 3), (0, 1), reference=np.tile),
    copied("tile", "", (2, 3), (2,), reference=np.tile),
    copied("tile", "more dimensions", (3,), (2, 1, 2), reference=np.tile),
    copied("repeat_interleave", "flat", (2, 3), 2, reference=np.repeat),
    copied("repeat_interleave", "dim", (2, 3), 3, 1, reference=np.repeat),
    Sample(
        op="repeat_interleave",
        name="tensor",
        inputs=lambda make: (make((4, 2)), np.array([2, 0, 1, 3])),
        kwargs={"dim": 0},
        reference=lambda x, repeats, dim: np.repeat(x, repeats, dim),
        dtypes=EVERYTHING,
        gradient=True,
        length=4,
        expand=False,
    ),
    *[
        copied(op, f"{name}, diagonal {diagonal}", shape, diagonal, reference=reference)
        for op, reference in (("tril", np.tril), ("triu", np.triu))
        for name, shape, diagonal in (
            ("matrix", (3, 4), 0),
            ("batch", (2, 3, 3), 1),
            ("tall", (4, 2), -1),
            ("wide", (2, 4), 5),
        )
    ],
    Sample(
        op="meshgrid",
        inputs=lambda make: (make((2,)), make((3,))),
        reference=lambda a, b: tuple(np.meshgrid(a, b, indexing="ij")),
        dtypes=EVERYTHING,
        result=(same, same),
        gradient=True,
        aliasing="maybe",
        length=3,
    ),
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="an empty list",
            call=lambda op, tensor: op([]),
            raises=ValueError,
            match=rf"{op}: the list of tensors is empty",
        )
        for op in ("dstack", "column_stack")
    ],
    *[
        ErrorCase(
            op="rot90",
            name=name,
            call=lambda op, tensor, shape=shape, dims=dims: op(tensor(*shape), 1, dims),
            raises=RuntimeError,
            match=match,
        )
        for name, shape, dims, match in (
            ("a vector", (3,), (0, 1), r"rot90: 2 dims of a tensor of 1 dimensions\n.*input"),
            ("three dims", (3, 3, 3), (0, 1, 2), r"rot90: 3 dims of"),
            ("a dim twice", (3, 3), (0, -2), r"rot90: both dims are 0\n.*input"),
        )
    ],
    ErrorCase(
        op="atleast_3d",
        name="a number",
        call=lambda op, tensor: op(tensor(), 3),
        raises=TypeError,
        match=r"atleast_3d: tensors\[1\] is int",
    ),
    ErrorCase(
        op="row_stack",
        name="columns that differ",
        call=lambda op, tensor: op([tensor(2), tensor(3)]),
        raises=RuntimeError,
        match=r"cat: .*must agree",
    ),
    ErrorCase(
        op="meshgrid",
        name="two dtypes",
        call=lambda op, tensor: op(tensor(2), tensor(3, dtype=int64)),
        raises=RuntimeError,
        match=r"meshgrid: tensors\[1\] has another dtype",
    ),
    *[
        ErrorCase(
            op=op,
            name="a number",
            call=lambda op, tensor: op(1.0),
            raises=TypeError,
            match=rf"{op}: input is float",
        )
        for op in ("atleast_1d", "atleast_2d")
    ],
    ErrorCase(
        op="cat",
        name="sizes that differ",
        call=lambda op, tensor: op([tensor(2, 3), tensor(2, 4)]),
        raises=RuntimeError,
        match=r"cat: tensors\[0\] \(2, 3\) and tensors\[1\] \(2, 4\) must agree in all dimensions but 0",
    ),
    ErrorCase(
        op="stack",
        name="shapes that differ",
        call=lambda op, tensor: op([tensor(2), tensor(3)]),
        raises=RuntimeError,
        match=r"stack: tensors\[0\] \(2,\) and tensors\[1\] \(3,\) must have one shape",
    ),
    *[
        ErrorCase(
            op=op,
            name="nothing",
            call=lambda op, tensor: op([]),
            raises=ValueError,
            match=rf"{op}: the list of tensors is empty",
        )
        for op in ("cat", "stack", "hstack", "vstack")
    ],
    *[
        ErrorCase(
            op=op,
            name="a tensor, not a list",
            call=lambda op, tensor: op(tensor(2)),
            raises=TypeError,
            match=rf"{op}: tensors is Tensor",
        )
        for op in ("cat", "stack")
    ],
    ErrorCase(
        op="cat",
        name="a number in the list",
        call=lambda op, tensor: op([tensor(2), 1.0]),
        raises=TypeError,
        match=r"cat: tensors\[1\] is float",
    ),
    ErrorCase(
        op="tril",
        name="a vector",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"tril: input needs two dimensions.*\n.*input",
    ),
    ErrorCase(
        op="roll",
        name="shifts without dims",
        call=lambda op, tensor: op(tensor(2, 3), (1, 2)),
        raises=RuntimeError,
        match=r"roll: several shifts need as many dims\n.*input",
    ),
    ErrorCase(
        op="flip",
        name="a dimension twice",
        call=lambda op, tensor: op(tensor(2, 3), (0, -2)),
        raises=RuntimeError,
        match=r"flip: dim \(0, -2\) names a dimension twice",
    ),
    ErrorCase(
        op="repeat_interleave",
        name="negative",
        call=lambda op, tensor: op(tensor(2, dtype=float32), tensor(2, dtype=int64) - 1),
        raises=RuntimeError,
        match=r"repeat_interleave: repeats must be 2 integers of 0 or more\n.*input.*\n.*repeats",
    ),
]
