"""Arrays' memory begins with a line of the cache, and NumPy's ways to make, grow and free arrays go on working."""

import os
import subprocess
import sys

import numpy as np
import pytest

import polyad
from polyad_native import compiler

pytestmark = pytest.mark.skipif(not compiler.usable(), reason="no native kernels here")

PROGRAM = """
import numpy as np
import polyad

a = polyad.ones(64, 64)
a @ a
print(np._core.multiarray.get_handler_name(np.empty(3)))
print(*{polyad.empty(size).data_ptr() % 64 for size in range(64, 5000, 7)})
"""


def said(program, **variables):
    run = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return run.stdout.split()


def test_arrays_are_aligned() -> None:
    assert said(PROGRAM) == ["polyad", "0"]


def test_the_user_decides() -> None:
    assert said(PROGRAM, POLYAD_KEEP_FREED_MEMORY="0")[0] == "default_allocator"


def test_arrays_grow_and_shrink() -> None:
    polyad.ones(64, 64) @ polyad.ones(64, 64)
    whole = np.arange(100.0)
    array = whole.copy()
    assert np._core.multiarray.get_handler_name(array) == "polyad"
    kept = 100
    for size in (5, 1000, 100_000, 10, 3, 1 << 20, 7, 32, 31, 33):
        array.resize(size, refcheck=False)
        kept = min(kept, size)
        assert (array[:kept] == whole[:kept]).all()
        assert (array[kept:] == 0).all()
        assert array.ctypes.data % (64 if array.nbytes >= 256 else 16) == 0
    assert np.fromiter(range(10_000), float).sum() == 49_995_000


def test_memory_that_cannot_be_had_is_an_error() -> None:
    polyad.ones(64, 64) @ polyad.ones(64, 64)
    for make in (np.empty, np.zeros):
        with pytest.raises((MemoryError, ValueError)):
            make(2**62, np.uint8)
    assert np.zeros(1 << 20).sum() == 0
