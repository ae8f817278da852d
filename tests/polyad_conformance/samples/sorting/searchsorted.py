"""Searching sorted sequences, membership. References count: how many elements are smaller."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, bool_, complex64, float16, float32, float64, int8, int32, int64, uint8

from ...sample import ErrorCase, Sample, always, as_bool, as_int64

SOME = (uint8, int8, int64, float16, bfloat16, float32, float64)


def counted(sequence, values, right=False, **kwargs):
    """nan counts as larger than everything else."""
    values = np.asarray(values)
    if sequence.ndim == 1:
        below, x = sequence, values[..., None]
    else:
        below, x = sequence[..., None, :], values[..., None]
    smaller = (below < x) | (np.isnan(x) & ~np.isnan(below))
    equal = (below == x) | (np.isnan(x) & np.isnan(below))
    return (smaller | (equal & bool(right))).sum(-1)


def in_order(make, shape):
    """Sorted numbers, some of them equal."""
    return np.sort(make.random.integers(0, 7, shape), -1).astype(make(()).dtype)


def some(make, shape):
    return make.random.integers(0, 9, shape).astype(make(()).dtype)


def searched(name, sequence, values, dtypes=SOME, result=as_int64, **kwargs):
    return Sample(
        op="searchsorted",
        name=name,
        inputs=lambda make: (in_order(make, sequence), some(make, values) if isinstance(values, tuple) else values),
        kwargs=kwargs,
        reference=counted,
        dtypes=dtypes,
        result=result,
    )


SAMPLES = [
    searched("left", (5,), (3, 9)),
    searched("right", (5,), (9,), right=True),
    searched("rows", (3, 4), (3, 5), (int64, float32)),
    searched("rows, right", (2, 2, 4), (2, 2, 3), (float64,), right=True),
    searched("a number", (5,), 3.5, (int64, float32)),
    searched("0-d", (5,), (), (int64, float32)),
    searched("empty sequence", (0,), (3,), (float32,)),
    searched("int32", (5,), (3,), (float32,), always(int32), out_int32=True),
    Sample(
        op="searchsorted",
        name="nan is largest",
        inputs=lambda make: (
            np.array([0, 1, np.nan, np.nan]).astype(make(()).dtype),
            np.array([1, np.nan, 5]).astype(make(()).dtype),
        ),
        reference=counted,
        dtypes=(float16, bfloat16, float32, float64),
        result=as_int64,
        expand=False,
    ),
    *[
        Sample(
            op="bucketize",
            name=name,
            inputs=lambda make, values=values: (
                some(make, values) if isinstance(values, tuple) else values,
                in_order(make, (4,)),
            ),
            kwargs=kwargs,
            reference=lambda x, boundaries, **kwargs: counted(boundaries, x, **kwargs),
            dtypes=SOME if name == "left" else (int64, float32),
            result=as_int64,
        )
        for name, values, kwargs in (
            ("left", (3, 5), {}),
            ("right", (2, 9), {"right": True}),
            ("a number", 2, {}),
            ("nothing", (0, 2), {}),
        )
    ],
    *[
        Sample(
            op="isin",
            name=name,
            inputs=lambda make, left=left, right=right: (
                some(make, left) if isinstance(left, tuple) else left,
                some(make, right) if isinstance(right, tuple) else right,
            ),
            kwargs=kwargs,
            reference=lambda x, test, invert=False, **kwargs: (
                np.asarray((np.asarray(x)[..., None] == np.reshape(test, -1)).any(-1)) ^ invert
            ),
            dtypes=SOME if name == "several" else (int64, float32),
            result=as_bool,
        )
        for name, left, right, kwargs in (
            ("several", (3, 7), (2, 2), {}),
            ("many", (5, 9), (60,), {}),
            ("inverted", (9,), (3,), {"invert": True}),
            ("a number", (9,), 3, {}),
            ("a number in a tensor", 3, (9,), {}),
            ("in nothing", (3,), (0,), {}),
            ("nothing", (0, 3), (2,), {}),
        )
    ],
    Sample(
        op="isin",
        name="nan equals nothing",
        inputs=lambda make: tuple(
            [np.array(values).astype(make(()).dtype) for values in ([np.nan, 1.0, 2.0], [np.nan, 2.0])]
        ),
        reference=lambda x, test: np.array([False, False, True]),
        dtypes=(float16, float32, float64),
        result=as_bool,
        expand=False,
    ),
]

ERRORS = [
    *[
        ErrorCase(op="searchsorted", name=name, call=call, raises=raises, match=f"searchsorted: {match}")
        for name, call, raises, match in (
            ("0-d", lambda op, tensor: op(tensor(), tensor(2)), RuntimeError, r"sorted_sequence is 0-d"),
            (
                "rows",
                lambda op, tensor: op(tensor(2, 3), tensor(3, 2)),
                RuntimeError,
                r"input \(3, 2\) has not the leading .* of sorted_sequence \(2, 3\)\n.*sorted_sequence .*\n.*input",
            ),
            ("a side", lambda op, tensor: op(tensor(2), tensor(2), side="up"), RuntimeError, r"side is 'up'"),
            (
                "side against right",
                lambda op, tensor: op(tensor(2), tensor(2), side="left", right=True),
                RuntimeError,
                r'side is "left", but right is True',
            ),
            (
                "sorter of another shape",
                lambda op, tensor: op(tensor(3), tensor(2), sorter=tensor(2, dtype=int64)),
                RuntimeError,
                r"sorter \(2,\) has not the shape",
            ),
            (
                "sorter of another dtype",
                lambda op, tensor: op(tensor(3), tensor(2), sorter=tensor(3)),
                RuntimeError,
                r"sorter is float32",
            ),
            (
                "complex",
                lambda op, tensor: op(tensor(3, dtype=complex64), tensor(2)),
                RuntimeError,
                r"complex",
            ),
            ("a string", lambda op, tensor: op(tensor(3), "3"), TypeError, r"input is str"),
        )
    ],
    ErrorCase(
        op="bucketize",
        name="rows",
        call=lambda op, tensor: op(tensor(2), tensor(2, 2)),
        raises=RuntimeError,
        match=r"bucketize: boundaries has 2 dimensions",
    ),
    ErrorCase(
        op="isin",
        name="two numbers",
        call=lambda op, tensor: op(2, 2),
        raises=TypeError,
        match=r"isin: .*neither is a tensor",
    ),
    ErrorCase(
        op="isin",
        name="bool",
        call=lambda op, tensor: op(tensor(2, dtype=bool_), tensor(2, dtype=bool_)),
        raises=RuntimeError,
        match=r"isin: the operands are bool",
    ),
]
