"""Kernels that know no dtypes: `cast_by_rule` gives them operands and results by the op's rule."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from polyad_tier0.backend import StorageOnly, Stored

import polyad
from polyad import backends
from polyad.backend import Kernel, cast_by_rule
from polyad.base.shapes_and_strides import contiguous_strides
from polyad.interop.numpy import numpy_dtype


def load(operand: Any, dtype: Any) -> Any:
    values = operand.values() if isinstance(operand, Stored) else np.asarray(operand, numpy_dtype(dtype))
    assert values.dtype == numpy_dtype(dtype)
    return values


def store(result: Any, dtype: Any) -> Stored:
    shape = np.shape(result)
    made = Stored(bytearray(np.size(result) * dtype.itemsize), dtype, shape, contiguous_strides(shape), 0)
    made.values()[...] = result
    return made


SEEN: list[tuple[str, ...]] = []


def noting(function: Any) -> Any:
    def noted(*args: Any) -> Any:
        SEEN.append(tuple(arg.dtype.name for arg in args if isinstance(arg, np.ndarray)))
        return function(*args)

    return noted


class Casting(StorageOnly):
    kernels = cast_by_rule(
        {
            "eq": noting(np.equal),
            "add": noting(np.add),
            "div": noting(np.true_divide),
            "where": noting(np.where),
            "sum": lambda a, dims, keepdim: a.sum(axis=dims, keepdims=keepdim, dtype=float),
            "argmax": lambda a, dim, keepdim: np.int32(a.argmax(axis=dim)),
            "cat": lambda arrays, dim: np.concatenate(arrays, dim),
            "cast": lambda a, dtype: a,
            "sort": lambda a, dim, descending: [np.sort(a, dim), np.argsort(a, dim).astype(np.int16)],
            "mul": Kernel(np.multiply, contiguous=True, specialize=lambda types: noting(np.multiply)),
        },
        load=load,
        store=store,
    )


@pytest.fixture
def x() -> Iterator[Any]:
    with backends.register("casting", Casting()):
        SEEN.clear()
        yield polyad.tensor([1, 2, 3], dtype=polyad.int32, device="casting")


def test_numbers_have_the_dtype_that_the_op_computes_in(x) -> None:
    assert (x + 2.5).tolist() == [3.5, 4.5, 5.5]
    assert (x == 2).dtype is polyad.bool
    half = polyad.tensor([0.3], dtype=polyad.float16, device="casting")
    assert (half == 0.3).item() is True
    assert SEEN == [("float32", "float32"), ("int32", "int32"), ("float16", "float16")]


def test_numbers_that_a_rule_leaves_exact_beside_half_types(x) -> None:
    half = polyad.tensor([3.0], dtype=polyad.float16, device="casting")
    assert (half / 0.1).dtype is polyad.float16
    assert (half / 0.1).item() == (half.cpu() / 0.1).item() == 30.0
    assert SEEN[0] == ("float16", "float32")


def test_results_have_the_dtype_of_the_rule(x) -> None:
    assert (x / 2).dtype is polyad.float32
    assert x.sum().dtype is polyad.int64
    assert x.argmax().dtype is polyad.int64
    assert x.to(polyad.float64).dtype is polyad.float64
    values, indices = x.sort(descending=False)
    assert (values.dtype, indices.dtype) == (polyad.int32, polyad.int64)
    assert polyad.cat([x, x.float()]).dtype is polyad.float32


def test_numbers_beside_a_condition(x) -> None:
    assert polyad.where(x == 2, x, 0.5).tolist() == [0.5, 2, 0.5]
    assert polyad.where(x == 2, 1, 0).dtype is polyad.int64


def test_other_wishes_of_a_kernel_hold(x) -> None:
    grid = polyad.cat([x, x]).reshape(2, 3).t()
    assert (grid * 2).tolist() == [[2, 2], [4, 4], [6, 6]]
    assert SEEN == [("int32", "int32")]
    assert isinstance(Casting.kernels["mul"], Kernel)
    y = x + 0
    y += 1
    assert y.tolist() == [2, 3, 4]
