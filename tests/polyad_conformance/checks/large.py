"""Sizes at which work is cut into blocks: what is carried from one block to the next, and what the last one leaves out.

Samples are small, since gradients and layouts visit each element; a kernel that is wrong only beyond a work-group, a
grid's row or one step of a tree passes them all. Here primitives of every kind run once on some hundred thousand
elements. Values are small whole numbers in float32, so that results are exact in whatever order they are added up.

To add a check, write a function and add it to `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polyad

from ..calls import Target
from ..layouts import to_host

LONG = 2**20 + 2**17 + 5
"""Elements in one dimension: more than 1024 blocks of 1024."""

SORTED = 2**15 + 77
"""Elements that are sorted, found or scattered, which slow backends do one by one."""

WIDE, TALL = (5, 20011), (20011, 5)
SQUARE = (311, 517)


def whole_numbers(*shape: int, below: int = 3, seed: int = 0) -> np.ndarray:
    """float32 whole numbers from 0 to *below* - 1, in a pattern that no block size divides."""
    return np.random.default_rng(seed).integers(0, below, shape).astype(np.float32)


def _compare(target: Target, what: str, call: Callable[..., Any], expected: Any, *values: Any) -> None:
    tensors = [polyad.tensor(value, device=target.device) for value in values]
    with target.watching():
        result = call(*tensors)
    got, expected = to_host(result), np.asarray(expected)
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, expected {expected.shape}"
    wrong = np.flatnonzero(got.reshape(-1) != expected.reshape(-1))
    assert not wrong.size, (
        f"{what}: {wrong.size} of {got.size} elements are wrong, the first at {wrong[0]}: "
        f"{got.reshape(-1)[wrong[0]]}, expected {expected.reshape(-1)[wrong[0]]}"
    )


def check_large_elementwise(target: Target) -> None:
    """Dense, broadcast and transposed operands."""
    a, b = whole_numbers(LONG), whole_numbers(LONG, seed=1)
    _compare(target, f"add of {LONG} elements", lambda x, y: x + y, a + b, a, b)
    _compare(target, f"neg of {LONG - 1} elements from the second on", lambda x: -x[1:], -a[1:], a)
    grid, row, column = whole_numbers(*SQUARE), whole_numbers(SQUARE[1], seed=1), whole_numbers(SQUARE[0], 1, seed=2)
    _compare(target, f"mul of {SQUARE} and a row", lambda x, y: x * y, grid * row, grid, row)
    _compare(
        target, f"add of a column and {SQUARE} transposed", lambda x, y: (x.T + y.T).T, grid + column, grid, column
    )


def check_large_copies(target: Target) -> None:
    """Transposed, every third element, joined, and into other dtypes."""
    grid = whole_numbers(*SQUARE, below=100)
    _compare(target, f"copy of {SQUARE} transposed", lambda x: x.T.contiguous(), grid.T, grid)
    _compare(target, f"every third column of {SQUARE}", lambda x: x[:, 1::3].contiguous(), grid[:, 1::3], grid)
    _compare(target, f"cast of {SQUARE}", lambda x: x.to(polyad.bool), grid != 0, grid)
    _compare(
        target, f"cat of {SQUARE} twice", lambda x: polyad.cat([x, x[:, 1:]], 1), np.hstack([grid, grid[:, 1:]]), grid
    )


def check_large_reductions(target: Target) -> None:
    """Of everything, of long rows, of long columns."""
    for shape in ((LONG,), WIDE, TALL):
        a = whole_numbers(*shape)
        for dim in range(a.ndim):
            _compare(target, f"sum of {shape} over {dim}", lambda x, dim=dim: x.sum(dim), a.sum(dim), a)
        _compare(target, f"sum of {shape}", lambda x: x.sum(), a.sum(), a)
        a[(-1,) * a.ndim] = 9
        for dim in range(a.ndim):
            _compare(target, f"amax of {shape} over {dim}", lambda x, dim=dim: x.amax(dim), a.max(dim), a)
            _compare(target, f"argmax of {shape} over {dim}", lambda x, dim=dim: x.argmax(dim), a.argmax(dim), a)
        _compare(target, f"any of {shape}", lambda x: (x > 8).any(), True, a)
        _compare(target, f"all of {shape}", lambda x: (x < 9).all(), False, a)


def check_large_scans(target: Target) -> None:
    """Running sums along long rows and columns."""
    for shape in ((LONG,), WIDE, TALL):
        a = whole_numbers(*shape)
        for dim in range(a.ndim):
            _compare(target, f"cumsum of {shape} over {dim}", lambda x, dim=dim: x.cumsum(dim), a.cumsum(dim), a)


def check_large_sorting(target: Target) -> None:
    """Numbers of which many are equal, and keep their order."""
    a = whole_numbers(SORTED, below=1000)
    order = np.argsort(a, kind="stable")
    _compare(target, f"sort of {SORTED} elements", lambda x: x.sort(stable=True).values, a[order], a)
    _compare(target, f"stable argsort of {SORTED} elements", lambda x: x.sort(stable=True).indices, order, a)
    down = np.argsort(-a, kind="stable")
    _compare(target, "the same, descending", lambda x: x.sort(stable=True, descending=True).indices, down, a)


def check_large_searches(target: Target) -> None:
    """Where elements are not zero, in row-major order."""
    a = whole_numbers(SORTED // 7, 7)
    _compare(target, f"nonzero of {a.shape}", lambda x: x.nonzero(), np.argwhere(a), a)
    _compare(target, f"elements of {a.shape} under a mask", lambda x: x[x > 1], a[a > 1], a)


def check_large_indexing(target: Target) -> None:
    """Elements from and to many places."""
    random = np.random.default_rng(0)
    a, where = whole_numbers(SORTED), random.integers(0, SORTED, SORTED)
    _compare(target, f"{SORTED} elements by index", lambda x, i: x[i], a[where], a, where)
    few = random.integers(0, 311, SORTED)
    sums = np.bincount(few, a, 311).astype(np.float32)
    made = lambda x, i: polyad.zeros(311, device=target.device).scatter_add(0, i, x)  # noqa: E731
    _compare(target, f"scatter_add of {SORTED} elements into 311", made, sums, a, few)


def check_large_products(target: Target) -> None:
    """Matrices, also transposed, of sizes that no tile divides; and many small ones."""
    a, b = whole_numbers(SQUARE[0], 173), whole_numbers(173, 257, seed=1)
    _compare(target, f"product of {a.shape} and {b.shape}", lambda x, y: x @ y, a @ b, a, b)
    _compare(target, "the same, transposed", lambda x, y: (y.T @ x.T).T, a @ b, a, b)
    _compare(target, "a matrix and a vector", lambda x, y: x @ y[:, 0], a @ b[:, 0], a, b)
    many = whole_numbers(700, 3, 5)
    _compare(target, f"product of {many.shape}", lambda x: x @ x.mT, many @ many.transpose(0, 2, 1), many)


CHECKS = (
    check_large_elementwise,
    check_large_copies,
    check_large_reductions,
    check_large_scans,
    check_large_sorting,
    check_large_searches,
    check_large_indexing,
    check_large_products,
)
"""Called as ``check(target)``."""
