"""Views of a part."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, ErrorCase, Sample, same


def view(op, name, shape, *args, reference, count=None, **sample):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape), *args),
        reference=reference,
        dtypes=EVERYTHING,
        result=same if count is None else (same,) * count,
        gradient=True,
        aliasing="view",
        length=6,
        **sample,
    )


def windows(x, dim, size, step):
    starts = range(0, x.shape[dim] - size + 1, step)
    return np.stack([np.moveaxis(np.take(x, range(s, s + size), dim), dim, -1) for s in starts], dim)


def cut(x, edges, dim):
    return tuple(np.split(x, edges, dim))


def diagonals(x, offset, dim1, dim2):
    rows = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], rows, rows), x.dtype)
    where = np.arange(x.shape[-1])
    out[..., where + max(-offset, 0), where + max(offset, 0)] = x
    return np.moveaxis(out, (-2, -1), (dim1, dim2))


SAMPLES = [
    view("select", "first dim", (3, 4), 0, 1, reference=lambda x, dim, at: np.take(x, at, dim)),
    view("select", "from the end", (3, 4, 2), 1, -1, reference=lambda x, dim, at: np.take(x, at, dim)),
    view("narrow", "middle", (3, 5), 1, 1, 3, reference=lambda x, dim, start, n: x[:, start : start + n]),
    view("narrow", "from the end", (5, 3), 0, -2, 2, reference=lambda x, dim, start, n: x[3:]),
    view("narrow", "nothing", (5, 3), 0, 5, 0, reference=lambda x, dim, start, n: x[5:]),
    view("unbind", "rows", (3, 4), reference=tuple, count=3, expand=False),
    view("unbind", "columns", (3, 2), 1, reference=lambda x, dim: tuple(x.T), count=2),
    view("split", "size", (5, 3), 2, reference=lambda x, n: cut(x, [2, 4], 0), count=3),
    view("split", "sizes", (3, 5), (1, 0, 4), 1, reference=lambda x, n, dim: cut(x, [1, 1], 1), count=3),
    view("chunk", "", (2, 7), 3, 1, reference=lambda x, n, dim: cut(x, [3, 6], 1), count=3),
    view("tensor_split", "sections", (7,), 3, reference=lambda x, n: tuple(np.array_split(x, n)), count=3),
    view("tensor_split", "indices", (7, 2), (1, 4), reference=lambda x, n: cut(x, [1, 4], 0), count=3),
    view("split_with_sizes", "", (3, 5), (1, 0, 4), 1, reference=lambda x, n, dim: cut(x, [1, 1], 1), count=3),
    view("hsplit", "sections", (2, 6), 3, reference=np.hsplit, count=3),
    view("hsplit", "indices of a vector", (6,), (1, 4), reference=np.hsplit, count=3),
    view("vsplit", "sections", (4, 3), 2, reference=np.vsplit, count=2, expand=False),
    view("vsplit", "indices", (4, 3), (1,), reference=np.vsplit, count=2, expand=False),
    view("dsplit", "sections", (2, 3, 4), 2, reference=np.dsplit, count=2),
    view("dsplit", "indices", (2, 3, 4), (1, 2), reference=np.dsplit, count=3),
    view("diagonal", "main", (3, 4), reference=np.diagonal),
    view("diagonal", "above", (3, 4), 1, reference=np.diagonal),
    view("diagonal", "below", (4, 3), -2, reference=np.diagonal),
    view("diagonal", "outside", (3, 3), 4, reference=np.diagonal),
    view("diagonal", "of other dimensions", (3, 2, 4), 0, 2, 0, reference=np.diagonal),
    Sample(
        op="diagflat",
        name="of a matrix",
        inputs=lambda make: (make((2, 3)), 1),
        reference=lambda x, offset: np.diagflat(x, offset),
        dtypes=EVERYTHING,
        gradient=True,
        length=6,
    ),
    Sample(
        op="diagflat",
        name="0-d",
        inputs=lambda make: (make(()), -1),
        reference=np.diagflat,
        dtypes=EVERYTHING,
        gradient=True,
    ),
    view("_sliding_windows", "overlapping", (3, 6), 1, 3, 1, reference=windows),
    view("_sliding_windows", "apart", (7, 2), 0, 2, 3, reference=windows),
    # The one element that every layout has in one place: what lies beside it depends on the layout.
    view(
        "as_strided",
        "the first element, repeated",
        (3, 4),
        (2, 3),
        (0, 0),
        reference=lambda x, size, stride: np.full(size, x[0, 0]),
    ),
    *[
        Sample(
            op="diag",
            name=name,
            inputs=lambda make, shape=shape, offset=offset: (make(shape), offset),
            reference=np.diag,
            dtypes=EVERYTHING,
            gradient=True,
            length=4,
        )
        for name, shape, offset in (("of a matrix", (3, 4), 1), ("from a vector", (3,), 0))
    ],
    *[
        Sample(
            op="diag_embed",
            name=name,
            inputs=lambda make, args=args: (make((2, 3)), *args),
            reference=diagonals,
            dtypes=EVERYTHING,
            gradient=True,
            length=4,
        )
        for name, args in (("main", (0, -2, -1)), ("above, in front", (1, 0, 1)), ("below", (-2, 0, 2)))
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="too few dimensions",
            call=lambda op, tensor, shape=shape: op(tensor(*shape), 1),
            raises=RuntimeError,
            match=rf"{op}: input has {len(shape)} dimensions, fewer than .*\n.*input",
        )
        for op, shape in (("hsplit", ()), ("vsplit", (3,)), ("dsplit", (3, 3)))
    ],
    *[
        ErrorCase(
            op=op,
            name="sections that do not divide",
            call=lambda op, tensor: op(tensor(3, 3, 3), 2),
            raises=RuntimeError,
            match=rf"{op}: dimension ., whose size is 3, has no 2 equal pieces\n.*input",
        )
        for op in ("hsplit", "vsplit", "dsplit")
    ],
    ErrorCase(
        op="split_with_sizes",
        name="one size",
        call=lambda op, tensor: op(tensor(4), 2),
        raises=TypeError,
        match=r"split_with_sizes: split_sizes is 2, not a list of ints\n",
    ),
    ErrorCase(
        op="diagflat",
        name="a float offset",
        call=lambda op, tensor: op(tensor(4), 0.5),
        raises=TypeError,
        match=r"diagflat: offset is float, not an int",
    ),
    ErrorCase(
        op="select",
        name="past the end",
        call=lambda op, tensor: op(tensor(2, 3), 1, 3),
        raises=IndexError,
        match=r"select: index 3 is not in \[-3, 3\) of dimension 1\n.*input",
    ),
    ErrorCase(
        op="narrow",
        name="too long",
        call=lambda op, tensor: op(tensor(2, 3), 1, 1, 3),
        raises=RuntimeError,
        match=r"narrow: start 1 and length 3 leave dimension 1, whose size is 3\n.*input",
    ),
    ErrorCase(
        op="split",
        name="sizes that do not add up",
        call=lambda op, tensor: op(tensor(5), (2, 2)),
        raises=RuntimeError,
        match=r"split: sizes \[2, 2\] do not add up to 5.*\n.*input",
    ),
    ErrorCase(
        op="chunk",
        name="none",
        call=lambda op, tensor: op(tensor(5), 0),
        raises=RuntimeError,
        match=r"chunk: chunks is 0",
    ),
    ErrorCase(
        op="diagonal",
        name="one dimension twice",
        call=lambda op, tensor: op(tensor(2, 3), 0, 1, -1),
        raises=RuntimeError,
        match=r"diagonal: dim1 and dim2 are both 1\n.*input",
    ),
    ErrorCase(
        op="as_strided",
        name="outside of the storage",
        call=lambda op, tensor: op(tensor(2, 3), (2, 3), (3, 2)),
        raises=RuntimeError,
        match=r"as_strided: .* reach element 7 of a storage of 6\n.*input",
    ),
    ErrorCase(
        op="unbind",
        name="dim out of range",
        call=lambda op, tensor: op(tensor(2, 3), 2),
        raises=IndexError,
        match=r"unbind: dim 2 is out of range",
    ),
]
