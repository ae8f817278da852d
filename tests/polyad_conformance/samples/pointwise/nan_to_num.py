"""Numbers in place of nan and the infinities."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import float64

from ...sample import COMPLEX, INTEGERS, REAL_FLOATS, ErrorCase, Sample


def replaced(x, nan=0.0, posinf=None, neginf=None):
    result = np.where(np.isnan(x), nan, x)
    result = np.where(np.isposinf(x), posinf, result)
    return np.where(np.isneginf(x), neginf, result)


def special_row(make):
    values = np.array([np.nan, np.inf, -np.inf, 0.0, -1.5], np.float64)
    return (values.astype(make(()).dtype),)


SAMPLES = [
    Sample(
        op="nan_to_num",
        inputs=special_row,
        kwargs={"nan": 1.5, "posinf": 2.0, "neginf": -2.0},
        reference=replaced,
        dtypes=REAL_FLOATS,
    ),
    Sample(
        op="nan_to_num",
        name="complex",
        inputs=lambda make: (
            np.array([complex(np.nan, 1), complex(2, np.inf), complex(-np.inf, np.nan)], make(()).dtype),
        ),
        kwargs={"nan": 1.5, "posinf": 2.0, "neginf": -2.0},
        reference=lambda x, nan, posinf, neginf: np.array([1.5 + 1j, 2 + 2j, -2 + 1.5j]),
        dtypes=COMPLEX,
        expand=False,
    ),
    Sample(
        op="nan_to_num",
        name="finite",
        inputs=lambda make: (make((3, 4)),),
        reference=lambda x: x,
        dtypes=(float64,),
        gradient=True,
        second_gradient=False,
    ),
    Sample(
        op="nan_to_num",
        name="integers",
        inputs=lambda make: (make((5,)),),
        reference=lambda x: x,
        dtypes=INTEGERS,
    ),
]

ERRORS = [
    ErrorCase(
        op="nan_to_num",
        name="a word for nan",
        call=lambda op, tensor: op(tensor(3), "zero"),
        raises=TypeError,
        match=r"nan_to_num: nan is str",
    ),
]
