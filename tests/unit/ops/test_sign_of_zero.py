"""Of equal zeros, `fmax` and `fmin` take the first, whatever computes them: C, NumPy or the op's body."""

from __future__ import annotations

from typing import Any

import pytest

import polyad
from polyad.backend.preparation import prepare
from polyad.devices import plugins, registry
from polyad.dispatch.catalogue import OPS
from polyad.dispatch.plan import signature_of

SHAPES = [(), (1,), (2,), (31,), (3, 5), (1023,), (1024,), (5000,)]
DTYPES = [polyad.float32, polyad.float64, polyad.float16, polyad.bfloat16]


def every_way(name: str, *operands: Any) -> list[Any]:
    """The results of the public function, of each package's kernel on cpu, and of the body."""
    op = OPS[name]
    types = signature_of(op, operands)
    arrays = [operand._array for operand in operands]
    results = [getattr(polyad, name)(*operands), op.body(*operands)]
    for kernel in plugins.candidate_kernels(registry.get("cpu"), name):
        call = prepare(kernel, types)
        if call is not None:
            computed = call(*arrays)
            results.append(polyad.tensor(computed.astype("float64")).to(operands[0].dtype))
    return results


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("name", ["fmax", "fmin"])
def test_the_first_of_equal_zeros_wins(name: str, dtype: polyad.dtype) -> None:
    for shape in SHAPES:
        for first, second in ((0.0, -0.0), (-0.0, 0.0)):
            operands = polyad.full(shape, first, dtype=dtype), polyad.full(shape, second, dtype=dtype)
            for result in every_way(name, *operands):
                assert polyad.signbit(result).unique().tolist() == [str(first).startswith("-")], (shape, first)
            assert polyad.signbit(getattr(polyad, name)(*(x.t() if x.ndim == 2 else x for x in operands))).all() == (
                str(first).startswith("-")
            )


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(("name", "chosen"), [("fmax", max), ("fmin", min)])
def test_a_number_wins_over_nan(name: str, chosen: Any, dtype: polyad.dtype) -> None:
    values, nan, inf = [1.0, -2.0, 3.0], float("nan"), float("inf")
    for count in (1, 400):
        a = polyad.tensor([*values, nan, inf, nan, -inf] * count, dtype=dtype)
        b = polyad.tensor([nan, 2.0, -inf, -4.0, nan, nan, 5.0] * count, dtype=dtype)
        wanted = polyad.tensor(
            [1.0, chosen(-2.0, 2.0), chosen(3.0, -inf), -4.0, inf, nan, chosen(-inf, 5.0)] * count, dtype=dtype
        )
        for result in every_way(name, a, b):
            polyad.testing.assert_close(result.to(dtype), wanted, equal_nan=True, rtol=0, atol=0)
        target = a.clone()
        assert getattr(polyad, name)(target, b, out=target) is target
        polyad.testing.assert_close(target, wanted, equal_nan=True, rtol=0, atol=0)
