"""Functions of nn.functional whose namesakes in polyad have other parameters."""

from __future__ import annotations

from polyad.base.dtypes import bool_, float32, float64, int64

from ....sample import REAL, REAL_FLOATS, Sample, always
from . import away_from_zero, functional, in_place, refused
from .rectifiers import relu
from .softmax import log_softmax, one_or_size, softmax

SAMPLES = [
    *functional("relu", relu, away_from_zero, dtypes=REAL, second_gradient=False, shapes={"2-d": (3, 4)}),
    *[
        Sample(
            op=f"nn.functional.{reference.__name__}",
            name=name,
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"dim": dim},
            reference=reference,
            magnitude=one_or_size,
            dtypes=REAL_FLOATS,
            gradient=bool(shape),
            steps=10,
            length=8,
        )
        for reference in (softmax, log_softmax)
        for name, shape, dim in (("last dim", (3, 5), -1), ("middle dim", (2, 5, 3), 1), ("0-d", (), 0))
    ],
    *[
        Sample(
            op=f"nn.functional.{reference.__name__}",
            name="dtype",
            inputs=lambda make: (make((3, 4)),),
            kwargs={"dim": 1, "dtype": float64},
            reference=reference,
            dtypes=(int64, float32),
            result=always(float64),
            steps=10,
            magnitude=one_or_size,
        )
        for reference in (softmax, log_softmax)
    ],
]

ERRORS = [
    refused("relu", "bool", lambda op, tensor: op(tensor(3, dtype=bool_)), RuntimeError, ".*bool"),
    refused("relu", "a list", lambda op, tensor: op([1.0]), TypeError, ""),
    *[
        refused(name, "dim out of range", lambda op, tensor: op(tensor(2, 3), 2), IndexError, "dim 2 is out of range")
        for name in ("softmax", "log_softmax")
    ],
    *[
        refused(name, "integers", lambda op, tensor: op(tensor(3, dtype=int64), 0), RuntimeError, ".*int64")
        for name in ("softmax", "log_softmax")
    ],
]

_SAMPLES, _ERRORS = in_place(SAMPLES, ERRORS, "relu")
SAMPLES += _SAMPLES
ERRORS += _ERRORS
