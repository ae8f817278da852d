"""K-th values, medians, modes, quantiles."""

from __future__ import annotations

import numpy as np

from polyad.dtypes import bfloat16, complex64, float32, float64, int64

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
        counts = {value: np.count_nonzero(line == value) for value in line.tolist()}
        best = min(counts, key=lambda value: (-counts[value], value))
        return best, np.flatnonzero(line == best)[-1]

    values = np.apply_along_axis(lambda line: of(line)[0], dim, x)
    places = np.apply_along_axis(lambda line: of(line)[1], dim, x)
    return tuple(np.expand_dims(one, dim) if keepdim else one for one in (values, places))


def quantiles(skips_nan):
    def of(line, q, interpolation):
        line = np.sort(line)
        if np.isnan(line).any():
            line = line[~np.isnan(line)] if skips_nan else line[-1:]
        if not line.size:
            return np.nan
        rank = q * (line.size - 1)
        low, high = line[int(np.floor(rank))], line[int(np.ceil(rank))]
        part = rank - np.floor(rank)
        return {
            "linear": low if low == high else (1 - part) * low + part * high,
            "lower": low,
            "higher": high,
            "midpoint": low if low == high else (low + high) / 2,
            "nearest": line[int(np.round(rank))],
        }[interpolation]

    def reference(x, q, dim=None, keepdim=False, interpolation="linear"):
        lines = x.reshape(-1) if dim is None or not x.ndim else x
        axis = 0 if dim is None or not x.ndim else dim
        made = [
            np.apply_along_axis(lambda line, one=one: of(line, one, interpolation), axis, lines) for one in np.ravel(q)
        ]
        if keepdim:
            made = [one.reshape((1,) * x.ndim) if dim is None else np.expand_dims(one, axis) for one in made]
        return np.stack(made) if np.ndim(q) else made[0]

    return reference


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
    *[
        Sample(
            op=op,
            name=name,
            inputs=lambda make, shape=shape, q=q: (
                make.distinct(shape),
                np.asarray(q, make(()).dtype) if isinstance(q, list) else q,
            ),
            kwargs=kwargs,
            reference=quantiles(op == "nanquantile"),
            dtypes=(float32, float64),
            gradient=(0,),
            steps=8,
            magnitude=lambda x, *rest, **kwargs: np.max(np.abs(x)),
            expand=False,
        )
        for op in ("quantile", "nanquantile")
        for name, shape, q, kwargs in (
            ("whole", (3, 4), 0.3, {}),
            ("vector", (2, 5), [0.0, 0.35, 1.0], {"dim": 1}),
            ("kept", (4, 3), 0.75, {"dim": 0, "keepdim": True}),
            ("vector, whole, kept", (2, 3), [0.1], {"keepdim": True}),
            ("0-d", (), 0.5, {"dim": 0}),
        )
    ],
    *[
        Sample(
            op="quantile",
            name=interpolation,
            inputs=lambda make: (make.distinct((2, 6)), np.asarray([0.125, 0.5, 0.75], make(()).dtype)),
            kwargs={"dim": 1, "interpolation": interpolation},
            reference=quantiles(False),
            dtypes=(float32, float64),
            gradient=(0,),
            steps=8,
            expand=False,
        )
        for interpolation in ("lower", "higher", "midpoint", "nearest")
    ],
    *[
        Sample(
            op=op,
            name="nan among them",
            inputs=lambda make: (with_nan(make), np.asarray([0.25, 0.5], make(()).dtype)),
            kwargs={"dim": 1},
            reference=quantiles(op == "nanquantile"),
            dtypes=(float32, float64),
            steps=8,
            expand=False,
        )
        for op in ("quantile", "nanquantile")
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
        for op, args in (("kthvalue", (1,)), ("median", ()), ("nanmedian", ()), ("mode", ()), ("quantile", (0.5,)))
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
    *[
        ErrorCase(
            op="quantile",
            name=name,
            call=call,
            raises=RuntimeError,
            match=match,
        )
        for name, call, match in (
            ("more than all", lambda op, tensor: op(tensor(3), 1.5), r"quantile: q is 1\.5"),
            ("an element of q below 0", lambda op, tensor: op(tensor(3), tensor(2) - 2), r"q is not in.*\n.*q"),
            ("a matrix of q", lambda op, tensor: op(tensor(3), tensor(2, 2)), r"q has 2 dimensions\n.*q"),
            ("q of another dtype", lambda op, tensor: op(tensor(3), tensor(2, dtype=float64)), r"dtype\n.*input"),
            ("integers", lambda op, tensor: op(tensor(3, dtype=int64), 0.5), r"input is int64"),
            ("of nothing", lambda op, tensor: op(tensor(0), 0.5), r"input has no elements\n.*input"),
            ("another rule", lambda op, tensor: op(tensor(3), 0.5, interpolation="cubic"), r"'cubic'(.*\n)*.*midpoint"),
        )
    ],
    ErrorCase(
        op="nanquantile",
        name="q in words",
        call=lambda op, tensor: op(tensor(3), "half"),
        raises=TypeError,
        match=r"nanquantile: q is str",
    ),
]
