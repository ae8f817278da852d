"""Copies of what views show."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64

from ...sample import ErrorCase, Sample, as_real
from ..indexing.slicing import view, windows
from ..pointwise.complex_numbers import as_complex


def copy(op, shape, *args, reference, count=None):
    return replace(
        view(f"{op}_copy", "", shape, *args, reference=reference, count=count, expand=False), aliasing="none"
    )


SAMPLES = [
    copy("alias", (2, 3), reference=lambda x: x),
    # The one element that every layout has in one place.
    copy("as_strided", (3, 4), (2, 3), (0, 0), reference=lambda x, size, strides: np.full(size, x[0, 0])),
    copy("detach", (2, 3), reference=lambda x: x),
    copy("diagonal", (3, 4), 1, reference=np.diagonal),
    copy("expand", (1, 3), (2, 3), reference=np.broadcast_to),
    copy("narrow", (3, 5), 1, 1, 3, reference=lambda x, dim, start, n: x[:, start : start + n]),
    copy("permute", (2, 3, 4), (2, 0, 1), reference=np.transpose),
    copy("select", (3, 4), 0, 1, reference=lambda x, dim, at: np.take(x, at, dim)),
    copy("slice", (3, 7), 1, 1, 6, 2, reference=lambda x, dim, start, end, step: x[:, start:end:step]),
    copy("split", (5, 3), 2, reference=lambda x, n: tuple(np.split(x, [2, 4])), count=3),
    copy("split_with_sizes", (3, 5), (1, 0, 4), 1, reference=lambda x, n, dim: tuple(np.split(x, [1, 1], 1)), count=3),
    copy("squeeze", (3, 1, 2), 1, reference=np.squeeze),
    copy("t", (3, 4), reference=np.transpose),
    copy("transpose", (2, 3, 4), 0, 2, reference=np.swapaxes),
    copy("unbind", (2, 4), reference=tuple, count=2),
    copy("unfold", (3, 6), 1, 3, 2, reference=windows),
    copy("unsqueeze", (3, 4), 1, reference=np.expand_dims),
    copy("view", (3, 4), (2, 6), reference=np.reshape),
    Sample(
        op="view_as_complex_copy",
        inputs=lambda make: (make((3, 2)),),
        reference=lambda x: x[..., 0] + 1j * x[..., 1],
        dtypes=(float32, float64),
        result=as_complex,
        gradient=True,
        layouts=False,
        expand=False,
    ),
    Sample(
        op="view_as_real_copy",
        inputs=lambda make: (make((3, 2)),),
        reference=lambda x: np.stack([x.real, x.imag], -1),
        dtypes=(complex64, complex128),
        result=as_real,
        gradient=True,
        expand=False,
    ),
]

ERRORS = [
    ErrorCase(
        op="permute_copy",
        name="a dimension twice",
        call=lambda op, tensor: op(tensor(2, 3), (0, 0)),
        raises=RuntimeError,
        match=r"permute: ",
    ),
    ErrorCase(
        op="narrow_copy",
        name="too long",
        call=lambda op, tensor: op(tensor(5, 3), 0, 3, 3),
        raises=RuntimeError,
        match=r"narrow: ",
    ),
]
