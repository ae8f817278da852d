"""Products of groups of matrices."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from polyad.base.dtypes import float16, float32, float64, int32

from ...sample import ErrorCase, Sample

FEW = (float16, float32, float64)


def by_group(a, b, offs=None):
    """What the groups' products are, one after another."""
    if offs is None:
        return np.stack([left @ right for left, right in zip(a, b, strict=True)])
    edges = [0, *offs]
    ranges = [slice(begin, end) for begin, end in pairwise(edges)]
    if a.ndim == b.ndim == 2:
        return np.stack([a[:, part] @ b[part] for part in ranges])
    if a.ndim == 2:
        made = np.zeros((a.shape[0], b.shape[2]), a.dtype)
        for group, part in enumerate(ranges):
            made[part] = a[part] @ b[group]
        return made
    made = np.zeros((a.shape[1], b.shape[1]), a.dtype)
    for group, part in enumerate(ranges):
        made[:, part] = a[group] @ b[:, part]
    return made


def sample(name, a, b, offs=None):
    ends = () if offs is None else (np.array(offs, np.int32),)
    return Sample(
        op="nn.functional.grouped_mm",
        name=name,
        inputs=lambda make: (make(a), make(b), *ends),
        call=lambda op, x, y, offs=None: op(x, y, offs=offs),
        reference=by_group,
        magnitude=lambda x, y, offs=None: by_group(np.abs(x), np.abs(y), offs),
        dtypes=FEW,
        gradient=(0, 1),
        steps=4,
        length=9,
    )


SAMPLES = [
    sample("stacks", (2, 3, 4), (2, 4, 5)),
    sample("rows by stack", (6, 4), (3, 4, 5), (2, 2, 5)),
    sample("stack by columns", (2, 3, 4), (4, 6), (1, 6)),
    sample("two matrices", (3, 6), (6, 4), (2, 5)),
]

ERRORS = [
    ErrorCase(
        op="nn.functional.grouped_mm",
        name=name,
        call=call,
        raises=RuntimeError,
        match=match,
    )
    for name, call, match in (
        ("no ends", lambda op, tensor: op(tensor(4, 3), tensor(2, 3, 5)), "a matrix needs the ends of its groups"),
        (
            "ends of two stacks",
            lambda op, tensor: op(tensor(2, 4, 3), tensor(2, 3, 5), offs=tensor(2, dtype=int32)),
            "two stacks of matrices have none",
        ),
        ("summed sizes", lambda op, tensor: op(tensor(2, 4, 3), tensor(2, 4, 5)), "contraction dimension .* 3 != 4"),
        ("groups", lambda op, tensor: op(tensor(3, 4, 3), tensor(2, 3, 5)), "the numbers of groups must match"),
        (
            "dtypes",
            lambda op, tensor: op(tensor(2, 4, 3), tensor(2, 3, 5, dtype=float64)),
            "not of one dtype of floats",
        ),
        ("ranks", lambda op, tensor: op(tensor(3), tensor(2, 3, 5)), "mat_a has 1 dimensions"),
    )
]
