"""Reducing segments that lie one behind the other."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import bfloat16, float32, float64, int64

from ...sample import ErrorCase, Sample

FOLDS = {"sum": np.sum, "mean": np.mean, "prod": np.prod, "max": np.max, "min": np.min}
EMPTY = {"sum": 0.0, "mean": np.nan, "prod": 1.0, "max": -np.inf, "min": np.inf}


def segment_reduce(x, reduce, lengths=None, offsets=None, axis=0, initial=None):
    if offsets is None:
        offsets = np.concatenate([np.zeros((*lengths.shape[:-1], 1), int), lengths.cumsum(-1)], -1)
    out = np.empty((*x.shape[:axis], offsets.shape[-1] - 1, *x.shape[axis + 1 :]), x.dtype)
    for row in np.ndindex(*x.shape[:axis]):
        for at, (start, stop) in enumerate(zip(offsets[row][:-1], offsets[row][1:], strict=True)):
            segment = x[row][start:stop]
            if not len(segment):
                out[(*row, at)] = EMPTY[reduce] if initial is None else initial
                continue
            first = np.full((1, *segment.shape[1:]), initial, x.dtype)
            if initial is not None and reduce != "mean":
                segment = np.concatenate([first, segment])
            out[(*row, at)] = FOLDS[reduce](segment, 0)
            if initial is not None and reduce == "mean":
                out[(*row, at)] += initial / len(segment)
    return out


def drawn(reduce, make, shape):
    return make.distinct(shape) if reduce in ("max", "min") else make(shape, 0.5, 1.5)


LENGTHS, OFFSETS = [2, 0, 4, 1], [[0, 2, 6], [1, 4, 5]]

SAMPLES = [
    *[
        Sample(
            op="segment_reduce",
            name=f"{reduce}, {'nothing' if initial is None else initial} beside",
            inputs=lambda make, reduce=reduce: (drawn(reduce, make, (7, 3)), reduce),
            kwargs={"initial": initial},
            call=lambda op, x, reduce, initial: op(
                x, reduce, lengths=x.new_tensor(LENGTHS, dtype=int64), initial=initial
            ),
            reference=lambda x, reduce, initial: segment_reduce(x, reduce, np.array(LENGTHS), initial=initial),
            dtypes=(bfloat16, float32, float64),
            gradient=(0,),
            steps=5,
            length=5,
            expand=False,
        )
        for reduce in FOLDS
        for initial in (None, 1.3)
        if not (reduce in ("max", "min", "mean") and initial is None)  # a NaN or an infinity has no gradient to compare
    ],
    *[
        Sample(
            op="segment_reduce",
            name=f"{reduce} of rows, by offsets that leave some out",
            inputs=lambda make, reduce=reduce: (drawn(reduce, make, (2, 6, 2)), reduce),
            call=lambda op, x, reduce: op(x, reduce, offsets=x.new_tensor(OFFSETS, dtype=int64), axis=1),
            reference=lambda x, reduce: segment_reduce(x, reduce, offsets=np.array(OFFSETS), axis=1),
            dtypes=(float32, float64),
            gradient=(0,),
            steps=5,
            length=5,
            expand=False,
        )
        for reduce in FOLDS
    ],
]


def _refused(name, call, match, raises=RuntimeError, told_by_values=False):
    return ErrorCase(op="segment_reduce", name=name, call=call, raises=raises, match=match, fused=told_by_values)


ERRORS = [
    _refused("no segments", lambda op, tensor: op(tensor(3), "sum"), r"no segments were given", ValueError),
    _refused(
        "another reduction",
        lambda op, tensor: op(tensor(3), "median", lengths=tensor(1, dtype=int64)),
        r"reduce is 'median'",
    ),
    _refused(
        "too few",
        lambda op, tensor: op(tensor(3), "sum", lengths=tensor(1, dtype=int64) * 0 + 2),
        r"add up to the size along axis 0, 3",
        told_by_values=True,
    ),
    _refused(
        "another shape",
        lambda op, tensor: op(tensor(3, 2), "sum", lengths=tensor(3, 1, dtype=int64), axis=0),
        r"lengths do not fit data along axis 0",
    ),
    _refused("lengths of floats", lambda op, tensor: op(tensor(3), "sum", lengths=tensor(1)), r"not int32 or int64"),
    _refused(
        "integers", lambda op, tensor: op(tensor(3, dtype=int64), "sum", lengths=tensor(1, dtype=int64)), r"no int64"
    ),
]
