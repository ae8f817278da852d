"""Absurd sizes of triangles are refused before anything is computed."""

import tracemalloc

import pytest

import polyad


@pytest.mark.parametrize(("function", "offset"), [(polyad.tril_indices, 2**50), (polyad.triu_indices, 0)])
def test_more_positions_than_memory_holds_are_refused_at_once(function, offset):
    tracemalloc.start()
    try:
        with pytest.raises(RuntimeError):
            function(2**20, 2**50, offset)
        assert tracemalloc.get_traced_memory()[1] < 2**23  # the positions of one row of 2**20 take as much
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("dtype", [polyad.int32, polyad.int64])
def test_positions_have_the_dtype_that_was_asked_for(dtype):
    found = polyad.triu_indices(2, 3, 1, dtype=dtype)
    assert (found.dtype, found.tolist()) == (dtype, [[0, 0, 1], [1, 2, 2]])
