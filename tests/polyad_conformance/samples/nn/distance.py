"""Distances and similarities."""

from __future__ import annotations

import math

import numpy as np

from polyad.base.dtypes import complex128, float32, float64, int64

from ...sample import FLOATS, REAL_FLOATS, ErrorCase, Sample, as_float, as_real

PRECISE = (float64, complex128)
ORDERS = {"2": 2.0, "1": 1.0, "inf": math.inf, "0": 0.0, "3.5": 3.5}


def norm(x, p, axis=None, keepdims=False):
    size = np.abs(x)
    if p == 0:
        return (size != 0).sum(axis, keepdims=keepdims).astype(float)
    if p == math.inf:
        return size.max(axis, keepdims=keepdims, initial=0)
    return (size**p).sum(axis, keepdims=keepdims) ** (1 / p)


def all_pairs(x1, x2, p=2.0, compute_mode=None):
    return norm(x1[..., :, None, :] - x2[..., None, :, :], p, -1)


def upper(x, p=2.0):
    return np.array([norm(a - b, p) for at, a in enumerate(x) for b in x[at + 1 :]])


def cosine(x1, x2, dim=1, eps=1e-8):
    x1, x2 = np.broadcast_arrays(x1, x2)
    lengths = [np.maximum(norm(x, 2, dim, True), eps) for x in (x1, x2)]
    return (x1 / lengths[0] * (x2 / lengths[1])).sum(dim)


SAMPLES = [
    *[
        Sample(
            op="cdist",
            name=f"p {name}",
            inputs=lambda make: (make.distinct((3, 5)), make((4, 5), 0.05, 0.2)),
            kwargs={"p": p},
            reference=all_pairs,
            dtypes=REAL_FLOATS if p == 2 else (float32, float64),
            gradient=p > 0,
            steps=8,
            length=5,
        )
        for name, p in ORDERS.items()
    ],
    Sample(
        op="cdist",
        name="batches broadcast",
        inputs=lambda make: (make((2, 1, 2, 3)), make((2, 4, 3))),
        reference=all_pairs,
        dtypes=(float64,),
        gradient=True,
        steps=8,
    ),
    *[
        Sample(
            op="cdist",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left), make(right)),
            reference=all_pairs,
            dtypes=(float64,),
            gradient=True,
        )
        for name, left, right in (("no rows", (0, 3), (2, 3)), ("vectors without elements", (2, 0), (3, 0)))
    ],
    Sample(
        op="cdist",
        name="by a product of matrices",
        inputs=lambda make: (make((3, 4), -2, 0), make((27, 4), 1, 2)),
        reference=all_pairs,
        magnitude=lambda x1, x2: np.full((len(x1), len(x2)), 32.0),
        dtypes=(float32, float64),
        gradient=(0,),
        steps=8,
        length=8,
    ),
    Sample(
        op="cdist",
        name="by a product of matrices, on demand",
        inputs=lambda make: (make((2, 2, 4), -2, 0), make((3, 4), 1, 2)),
        kwargs={"compute_mode": "use_mm_for_euclid_dist"},
        reference=all_pairs,
        dtypes=(float64,),
        gradient=True,
        steps=16,
    ),
    *[
        Sample(
            op="nn.functional.pdist",
            name=f"p {name}",
            inputs=lambda make: (make.distinct((5, 3)),),
            kwargs={"p": p},
            reference=upper,
            dtypes=REAL_FLOATS if p == 2 else (float64,),
            gradient=p == 2 or p == 3.5,
            steps=8,
            length=3,
        )
        for name, p in ORDERS.items()
    ],
    Sample(
        op="nn.functional.pdist",
        name="one row",
        inputs=lambda make: (make((1, 3)),),
        reference=upper,
        dtypes=(float64,),
    ),
    *[
        Sample(
            op="dist",
            name=f"p {name}",
            inputs=lambda make: (make.distinct((3, 4)), make((4,), 0.05, 0.2)),
            kwargs={"p": p},
            reference=lambda a, b, p: norm(a - b, p),
            dtypes=FLOATS if p == 2 else PRECISE,
            result=as_real,
            gradient=p in (2, 1, 3.5),
            steps=8,
            length=12,
        )
        for name, p in ORDERS.items()
    ],
    *[
        Sample(
            op="nn.functional.pairwise_distance",
            name=name,
            inputs=lambda make, left=left, right=right: (make(left, 0, 1), make(right, 2, 3)),
            kwargs=kwargs,
            reference=lambda a, b, p=2.0, keepdim=False: norm(a - b + 1e-6, p, -1, keepdim),
            dtypes=(*REAL_FLOATS, int64) if not kwargs else PRECISE,
            result=lambda dtype: as_real(as_float(dtype)),
            gradient=True,
            steps=8,
            length=5,
        )
        for name, left, right, kwargs in (
            ("rows", (3, 5), (3, 5), {}),
            ("kept", (3, 5), (5,), {"keepdim": True, "p": 1.0}),
            ("vectors", (5,), (5,), {"p": 3.0}),
        )
    ],
    *[
        Sample(
            op="cosine_similarity",
            name=name,
            inputs=lambda make, left=left, right=right: (make.nonzero(left), make.nonzero(right)),
            kwargs=kwargs,
            reference=cosine,
            magnitude=lambda x1, x2, **kwargs: cosine(np.abs(x1), np.abs(x2), **kwargs),
            dtypes=REAL_FLOATS if not kwargs else (float64,),
            gradient=True,
            steps=8,
            length=9,
        )
        for name, left, right, kwargs in (
            ("rows", (3, 9), (3, 9), {}),
            ("broadcast", (2, 3, 4), (3, 1), {"dim": -1}),
            ("first dim", (4,), (4,), {"dim": 0}),
        )
    ],
    Sample(
        op="cosine_similarity",
        name="zero vectors",
        inputs=lambda make: (make((2, 3)) * 0, make((2, 3))),
        reference=cosine,
        dtypes=(float32, float64),
    ),
]

ERRORS = [
    ErrorCase(
        op="cdist",
        name="vectors of two sizes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(2, 4)),
        raises=RuntimeError,
        match=r"cdist: .*3 != 4\n.*x1 .*\n.*x2",
    ),
    ErrorCase(
        op="cdist",
        name="vectors",
        call=lambda op, tensor: op(tensor(3), tensor(3)),
        raises=RuntimeError,
        match=r"cdist: x1 has fewer than two dimensions",
    ),
    ErrorCase(
        op="cdist",
        name="integers",
        call=lambda op, tensor: op(tensor(2, 3, dtype=int64), tensor(2, 3)),
        raises=RuntimeError,
        match=r"cdist: x1 is int64",
    ),
    ErrorCase(
        op="cdist",
        name="a negative p",
        call=lambda op, tensor: op(tensor(2, 3), tensor(2, 3), -1),
        raises=RuntimeError,
        match=r"cdist: p is -1",
    ),
    ErrorCase(
        op="cdist",
        name="an unknown mode",
        call=lambda op, tensor: op(tensor(2, 3), tensor(2, 3), compute_mode="best"),
        raises=ValueError,
        match=r"cdist: compute_mode is 'best'",
    ),
    ErrorCase(
        op="nn.functional.pdist",
        name="a vector",
        call=lambda op, tensor: op(tensor(3)),
        raises=RuntimeError,
        match=r"pdist: input has 1 dimensions",
    ),
    ErrorCase(
        op="dist",
        name="shapes",
        call=lambda op, tensor: op(tensor(3), tensor(4)),
        raises=RuntimeError,
        match=r"input .*\n.*other",
    ),
    ErrorCase(
        op="dist",
        name="p that is no number",
        call=lambda op, tensor: op(tensor(3), tensor(3), "fro"),
        raises=TypeError,
        match=r"dist: p is str, not a number",
    ),
    ErrorCase(
        op="nn.functional.pairwise_distance",
        name="shapes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(2, 2)),
        raises=RuntimeError,
        match=r"input .*\n.*other",
    ),
    ErrorCase(
        op="cosine_similarity",
        name="shapes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(2, 2)),
        raises=RuntimeError,
        match=r"cosine_similarity: .*\n.*x1 .*\n.*x2",
    ),
    ErrorCase(
        op="cosine_similarity",
        name="integers",
        call=lambda op, tensor: op(tensor(2, 3, dtype=int64), tensor(2, 3, dtype=int64)),
        raises=RuntimeError,
        match=r"cosine_similarity: the operands are int64",
    ),
]
