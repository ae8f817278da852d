"""The comparison notices what is wrong: outcomes that are spoilt in one way at a time, in every floating dtype."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest

from polyad.base.dtypes import DType, bfloat16, complex64, complex128, float16, float32, float64
from polyad.interop.numpy import numpy_dtype

from .calls import Call, contiguous
from .libraries import POLYAD, TORCH
from .outcomes import Outcome, compare, observe
from .templates import bound_of


def _off(array: np.ndarray) -> np.ndarray:
    """*array* with its last element doubled."""
    spoilt = np.array(array)
    spoilt.reshape(-1)[-1] *= 2
    return spoilt


def _value(outcome: Outcome) -> None:
    outcome.results[0] = replace(outcome.results[0], values=_off(outcome.results[0].values))


def _gradient(outcome: Outcome) -> None:
    outcome.gradients[0] = _off(outcome.gradients[0])  # type: ignore[arg-type]


def _no_gradient(outcome: Outcome) -> None:
    outcome.gradients[0] = None


def _written(outcome: Outcome) -> None:
    outcome.memories[0] = _off(outcome.memories[0])


def _dtype(outcome: Outcome) -> None:
    outcome.results[0] = replace(outcome.results[0], dtype=None)


def _strides(outcome: Outcome) -> None:
    outcome.results[0] = replace(outcome.results[0], strides=outcome.results[0].strides[::-1])


def _sharing(outcome: Outcome) -> None:
    outcome.results[0] = replace(outcome.results[0], shares=0)


FAULTS = (_value, _gradient, _no_gradient, _written, _dtype, _strides, _sharing)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__.strip("_"))
@pytest.mark.parametrize("dtype", [float16, bfloat16, float32, float64, complex64, complex128], ids=str)
@pytest.mark.parametrize("path", ["exp", "square", "mul", "matmul"])
def test_a_fault_is_found(path: str, dtype: DType, fault: Callable[[Outcome], None]) -> None:
    values = contiguous(np.linspace(0.5, 1.5, 9).reshape(3, 3).astype(numpy_dtype(dtype)))
    call = Call(path, (values, values) if path in ("mul", "matmul") else (values,)).with_gradients()
    ours, theirs = observe(POLYAD, call), observe(TORCH, call)
    assert not compare(call, ours, theirs, bound_of(path))
    spoilt = deepcopy(ours)
    fault(spoilt)
    assert compare(call, spoilt, theirs, bound_of(path))
