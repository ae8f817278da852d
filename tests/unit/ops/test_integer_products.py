"""Products of integer matrices go through float64 where that is exact, and wrap as integers do where it is not."""

import numpy as np
import pytest

import polyad


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "int64"])
@pytest.mark.parametrize("most", [100, None])
def test_products_of_integers(dtype: str, most: int | None) -> None:
    limits, draw = np.iinfo(dtype), np.random.default_rng(0)
    least, most = (limits.min, limits.max) if most is None else (0, most)
    a = draw.integers(least, most, (40, 50), dtype=dtype, endpoint=True)
    b = draw.integers(least, most, (50, 60), dtype=dtype, endpoint=True)
    expected = a @ b  # NumPy's loop adds up integers, modulo the dtype's range
    left, right = polyad.tensor(a), polyad.tensor(b)
    products = [
        left @ right,
        polyad.tensor(a.T.copy()).T @ right,
        left @ polyad.tensor(b.T.copy()).T,
        (left[None].expand(2, 40, 50) @ right[None].expand(2, 50, 60))[1],
    ]
    for product in products:
        assert product.dtype == left.dtype
        assert np.array_equal(product.numpy(), expected)


def test_sums_at_the_limit_of_what_floats_hold() -> None:
    large = (1 << 53) // 4  # four of them: 2**53, beyond which float64 has no odd numbers
    a, b = polyad.full((64, 4), large), polyad.ones(4, 64, dtype=polyad.int64)
    a[:, 0] += 1
    assert (a @ b == (1 << 53) + 1).all()
