"""``x[...]`` of ints, slices and None: one view. Index tensors and masks are in index_put.py."""

from __future__ import annotations

import numpy as np

from ...sample import EVERYTHING, Sample


def numpys(entry):
    """NumPy's form of a subscript's entry: a position, (start, size, step), or None for a new dimension."""
    if isinstance(entry, tuple):
        start, size, step = entry
        return slice(start, start + size * step, step)
    return entry


SAMPLES = [
    Sample(
        op="_subscript",
        name=name,
        inputs=lambda make, entries=entries: (make((3, 4, 2)), entries),
        reference=lambda x, entries: np.asarray(x[tuple(map(numpys, entries))]),
        dtypes=EVERYTHING,
        gradient=True,
        aliasing="view",
        length=6,
    )
    for name, entries in (
        ("positions", (2, 1)),
        ("ranges", ((1, 2, 1), (0, 2, 2))),
        ("new dimensions", (None, 1, None)),
        ("mixed", (None, (0, 2, 2), 3, (1, 1, 1), None)),
        ("nothing", ((3, 0, 1), 1)),
        ("everything", ()),
        ("one element", (0, 1, 1)),
    )
]

ERRORS = []
