"""Joining."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bool_, complex128, float16, float32, float64, int8, int64

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


SOME = (bool_, int8, float16, float32, complex128, float64)


def on_the_diagonal(*blocks):
    blocks = [np.atleast_2d(block) for block in blocks]
    made = np.zeros(np.sum([block.shape for block in blocks], 0), np.result_type(*blocks))
    row = column = 0
    for block in blocks:
        made[row : row + block.shape[0], column : column + block.shape[1]] = block
        row, column = row + block.shape[0], column + block.shape[1]
    return made


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
        op="block_diag",
        name="three dimensions",
        call=lambda op, tensor: op(tensor(2, 2), tensor(1, 2, 3)),
        raises=RuntimeError,
        match=r"block_diag: tensors\[1\] has 3 dimensions.*\n.*tensors\[0\]",
    ),
]
