"""K-th values, medians, modes."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, complex64, float32, float64, int64

from ...sample import REAL, REAL_FLOATS, ErrorCase, Sample, as_int64, same

SOME = (int64, bfloat16, float32, float64)


def along(rank_of):
    """What a stable sort puts at ``rank_of(line)`` of each line, and where it was."""

    def reference(x, *args, dim=-1, keepdim=False):
        if not x.ndim:
            return x, np.asarray(0)
        moved = np.moveaxis(x, dim, -1)
        values, places = np.empty(moved.shape[:-1], x.dtype), np.empty(moved.shape[:-1], np.int64)
        for at in np.ndindex(*moved.shape[:-1]):
            order = sorted(range(moved.shape[-1]), key=lambda k, line=moved[at]: (np.isnan(line[k]), line[k], k))
            places[at] = order[rank_of(moved[at], *args)]
            values[at] = moved[at][places[at]]
        return tuple(np.expand_dims(one, dim) if keepdim else one for one in (values, places))

    return reference


def middle(line):
    number = np.count_nonzero(line == line)
    return (len(line) - 1) // 2 if number == len(line) else number


def known_middle(line):
    return max(np.count_nonzero(line == line) - 1, 0) // 2


def whole_median(x):
    return np.nan if np.isnan(x).any() else np.sort(x.reshape(-1))[(x.size - 1) // 2]


def whole_nanmedian(x):
    known = np.sort(x[~np.isnan(x)])
    return known[(known.size - 1) // 2] if known.size else np.nan


def commonest(x, dim=-1, keepdim=False):
    if not x.ndim:
        return x, np.asarray(0)
    if not x.size:
        return np.zeros(0, x.dtype), np.zeros(0, np.int64)

    def of(line):
        counts = {value: np.count_nonzero(line == value) for value in set(line.tolist())}
        best = min(counts, key=lambda value: (-counts[value], value))
        return best, np.flatnonzero(line == best)[-1]

    values = np.apply_along_axis(lambda line: of(line)[0], dim, x)
    places = np.apply_along_axis(lambda line: of(line)[1], dim, x)
    return tuple(np.expand_dims(one, dim) if keepdim else one for one in (values, places))


def few_values(make, shape):
    """Many equal elements: which of them is named must be that of a stable sort."""
    return make.random.integers(0, 4, shape).astype(make(()).dtype)


def with_nan(make):
    x = make.distinct((3, 5))
    x[0, 1] = x[1] = np.nan
    return x


def chosen(op, reference, *args):
    """Samples of an op that chooses an element along a dimension."""
    cases = {
        "last dim": ((3, 5), {"dim": -1}),
        "first dim, kept": ((4, 3), {"dim": 0, "keepdim": True}),
        "middle dim": ((2, 4, 3), {"dim": 1}),
        "0-d": ((), {"dim": 0}),
        "no lines": ((0, 3), {"dim": 1}),
    }
    return [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape: (make.distinct(shape), *(args if shape else args and (1,))),
            kwargs=kwargs,
            reference=reference,
            dtypes=REAL if name == "last dim" else SOME,
            result=(same, as_int64),
            gradient=bool(shape),
        )
        for name, (shape, kwargs) in cases.items()
    ] + [
        Sample(
            op=op,
            name=f"equal elements, {size} in a line",
            inputs=lambda make, size=size: (few_values(make, (3, size)), *args),
            kwargs={"dim": 1},
            reference=reference,
            dtypes=SOME,
            result=(same, as_int64),
        )
        for size in (9, 90)
    ]


SAMPLES = [
    *chosen("kthvalue", along(lambda line, k: k - 1), 2),
    *chosen("median", along(middle)),
    *chosen("nanmedian", along(known_middle)),
    *chosen("mode", commonest),
    *[
        Sample(
            op=op,
            name="nan among them",
            inputs=lambda make, args=args: (with_nan(make), *args),
            kwargs={"dim": 1},
            reference=along(rank),
            dtypes=REAL_FLOATS,
            result=(same, as_int64),
            expand=False,
        )
        for op, rank, args in (
            ("kthvalue", lambda line, k: k - 1, (5,)),
            ("median", middle, ()),
            ("nanmedian", known_middle, ()),
        )
    ],
    *[
        Sample(
            op=op,
            name=f"whole, {size} elements",
            inputs=lambda make, size=size: (make.distinct((size,)),),
            reference=reference,
            dtypes=REAL,
            gradient=True,
            special=True,
        )
        for op, reference in (("median", whole_median), ("nanmedian", whole_nanmedian))
        for size in (1, 4, 5)
    ],
]

ERRORS = [
    *[
        ErrorCase(
            op=op,
            name="dim out of range",
            call=lambda op, tensor, args=args: op(tensor(2, 3), *args, dim=2),
            raises=IndexError,
            match=rf"{op}: dim 2 is out of range",
        )
        for op, args in (
            ("kthvalue", (1,)),
            ("median", ()),
            ("nanmedian", ()),
            ("mode", ()),
        )
    ],
    *[
        ErrorCase(
            op=op,
            name="no elements",
            call=lambda op, tensor, args=args: op(tensor(0, 3), *args, dim=0),
            raises=IndexError,
            match=rf"{op}: dimension 0 has no elements\n.*input",
        )
        for op, args in (("kthvalue", (1,)), ("median", ()), ("nanmedian", ()), ("mode", ()))
    ],
    *[
        ErrorCase(
            op=op,
            name="complex",
            call=lambda op, tensor, args=args: op(tensor(3, dtype=complex64), *args),
            raises=NotImplementedError,
            match=rf"{op}: complex",
        )
        for op, args in (("kthvalue", (1,)), ("median", ()), ("nanmedian", ()), ("mode", ()))
    ],
    ErrorCase(
        op="kthvalue",
        name="counted from 0",
        call=lambda op, tensor: op(tensor(3), 0),
        raises=RuntimeError,
        match=r"kthvalue: k is 0.*\n.*input",
    ),
]
