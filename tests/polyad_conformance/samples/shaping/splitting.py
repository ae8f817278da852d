"""Pieces of a tensor."""

from __future__ import annotations

import numpy as np

from ...sample import ErrorCase
from ..indexing.slicing import view


def cut(x, edges, dim):
    return tuple(np.split(x, edges, dim))


SAMPLES = [
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
        op="unbind",
        name="dim out of range",
        call=lambda op, tensor: op(tensor(2, 3), 2),
        raises=IndexError,
        match=r"unbind: dim 2 is out of range",
    ),
]
