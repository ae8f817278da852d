"""Sizes at which work is cut into blocks: what is carried from one block to the next, and what the last one leaves out.

Samples are small, since gradients and layouts visit each element; a kernel that is wrong only beyond a work-group, a
grid's row or one step of a tree passes them all. Here primitives of every kind run once on some hundred thousand
elements; those whose structure says how they may be made longer are made so in `lengths` too. Values are small whole
numbers in float32, so that results are exact in whatever order they are added up.

To add a check, write a function and add it to `CHECKS`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polyad
from polyad.dispatch.op import OPS
from polyad.errors import UndeclaredDType
from polyad.interop.numpy import polyad_dtype
from polyad.random import philox

from ..calls import Target, outputs_of
from ..layouts import to_host
from ..tolerance import wide

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
    for dims in ((0,), (1,), (0, 1)):
        _compare(target, f"flip of {SQUARE} along {dims}", lambda x, dims=dims: x.flip(dims), np.flip(grid, dims), grid)
    for diagonal in (-37, 0, 5):
        for op, expected in (("tril", np.tril), ("triu", np.triu)):
            call = lambda x, op=op, diagonal=diagonal: getattr(x, op)(diagonal)  # noqa: E731
            _compare(target, f"{op}({diagonal}) of {SQUARE}", call, expected(grid, diagonal), grid)
    long = whole_numbers(LONG, below=100)
    _compare(target, f"flip of {LONG} elements", lambda x: x.flip(0), long[::-1], long)
    _compare(target, f"cat of {LONG} and 3", lambda x: polyad.cat([x, x[:3]]), np.concatenate([long, long[:3]]), long)
    for source in (np.uint8, np.float64, bool):
        values = (long % 2).astype(source)
        if polyad_dtype(values.dtype) in target.dtypes:
            _compare(target, f"cast of {LONG} {values.dtype}", lambda x: x.to(polyad.float32), long % 2, values)


def check_large_creation(target: Target) -> None:
    """Numbers of a line, and random words, which do not repeat themselves and go on where the last draw ended."""
    line = lambda: polyad.arange(-3.0, -3.0 + LONG / 8, 0.125, device=target.device)  # noqa: E731
    _compare(target, f"arange of {LONG} elements", line, np.arange(LONG) / 8 - 3)
    step = polyad.arange(0.0, 2000.05, 0.1, dtype=polyad.float32, device=target.device)
    off = np.abs(to_host(step) - np.arange(len(step)) * 0.1).max()
    assert off <= 2000 * 2.0**-23, f"arange by 0.1 to 2000 is off by {off}"
    _compare(target, "eye", lambda: polyad.eye(*SQUARE, device=target.device), np.eye(*SQUARE))
    bits = OPS["philox_bits"].call
    for seed, offset in ((11, 0), (11, 2**32 - SORTED // 8)):
        _compare(
            target,
            f"{SORTED} random words from block {offset} on",
            lambda seed=seed, offset=offset: bits((SORTED,), seed, offset, target.full_device),
            np.array(philox.words(SORTED, seed, offset), np.int64),
        )


def check_large_reductions(target: Target) -> None:
    """Of everything, of long rows, of long columns."""
    for shape in ((LONG,), WIDE, TALL):
        a = whole_numbers(*shape)
        for dim in range(a.ndim):
            _compare(target, f"sum of {shape} over {dim}", lambda x, dim=dim: x.sum(dim), a.sum(dim), a)
        _compare(target, f"sum of {shape}", lambda x: x.sum(), a.sum(), a)
        a[(-1,) * a.ndim] = 9
        _compare(target, f"max of {shape}", lambda x: x.max(), 9, a)
        _compare(target, f"min of {shape}", lambda x: (-x).min(), -9, a)
        _compare(target, f"max of {shape} with its place", lambda x: x.max(0).indices, a.argmax(0), a)
        _compare(target, f"min of {shape} with its place", lambda x: (-x).min(0).indices, a.argmax(0), a)
        _compare(target, f"median of {shape} over 0", lambda x: x.median(0).values, np.sort(a, 0)[(len(a) - 1) // 2], a)
        for dim in range(a.ndim):
            _compare(target, f"amax of {shape} over {dim}", lambda x, dim=dim: x.amax(dim), a.max(dim), a)
            _compare(target, f"argmax of {shape} over {dim}", lambda x, dim=dim: x.argmax(dim), a.argmax(dim), a)
        _compare(target, f"median of {shape}", lambda x: x.median(), np.sort(a, None)[(a.size - 1) // 2], a)
        _compare(target, f"nanmedian of {shape}", lambda x: x.nanmedian(), np.sort(a, None)[(a.size - 1) // 2], a)
        _compare(target, f"any of {shape}", lambda x: (x > 8).any(), True, a)
        _compare(target, f"all of {shape}", lambda x: (x < 9).all(), False, a)


def check_large_scans(target: Target) -> None:
    """Running sums along long rows and columns."""
    for shape in ((LONG,), WIDE, TALL):
        a = whole_numbers(*shape)
        for dim in range(a.ndim):
            _compare(target, f"cumsum of {shape} over {dim}", lambda x, dim=dim: x.cumsum(dim), a.cumsum(dim), a)


def check_large_gradients(target: Target) -> None:
    """Gradients along rows that are longer than a block, in which each element has to do with all others."""
    a, arriving = whole_numbers(3, 1025), whole_numbers(3, 1025, seed=1)
    powers = np.exp(wide(a))
    shares = powers / powers.sum(1, keepdims=True)
    of_softmax = shares * (arriving - (shares * arriving).sum(1, keepdims=True))
    of_log_softmax = arriving - shares * arriving.sum(1, keepdims=True)
    signs = 1 - 2 * (a % 2)
    of_cumprod = ((arriving * np.cumprod(signs, 1))[:, ::-1].cumsum(1)[:, ::-1]) / signs
    for name, values, expected, rounding in (
        ("softmax", a, of_softmax, 32),
        ("log_softmax", a, of_log_softmax, 32),
        ("cumprod", signs, of_cumprod, 0),
    ):
        x = polyad.tensor(values, device=target.device).requires_grad_()
        with target.watching():
            result = getattr(polyad, name)(x, 1)
            (gradient,) = polyad.autograd.grad(result, x, polyad.tensor(arriving, device=target.device))
        off = np.abs(to_host(gradient) - expected).max()
        allowed = rounding * 2.0**-23 * np.abs(expected).max()
        assert off <= allowed, f"the gradient of {name} of {a.shape} is off by {off:.3g}, allowed {allowed:.3g}"


def check_large_sorting(target: Target) -> None:
    """Numbers of which many are equal, and keep their order."""
    a = whole_numbers(SORTED, below=1000)
    order = np.argsort(a, kind="stable")
    _compare(target, f"sort of {SORTED} elements", lambda x: x.sort(stable=True).values, a[order], a)
    _compare(target, f"stable argsort of {SORTED} elements", lambda x: x.sort(stable=True).indices, order, a)
    down = np.argsort(-a, kind="stable")
    _compare(target, f"topk of {SORTED} elements", lambda x: x.topk(77).values, a[down[:77]], a)
    _compare(target, "the same, descending", lambda x: x.sort(stable=True, descending=True).indices, down, a)


def check_large_searches(target: Target) -> None:
    """Where elements are not zero, in row-major order."""
    a = whole_numbers(SORTED // 7, 7)
    _compare(target, f"nonzero of {a.shape}", lambda x: x.nonzero(), np.argwhere(a), a)
    _compare(target, f"elements of {a.shape} under a mask", lambda x: x[x > 1], a[a > 1], a)
    sequence, wanted = np.sort(whole_numbers(SORTED, below=5000)), whole_numbers(1025, below=5003) - 1
    for side in ("left", "right"):
        _compare(
            target,
            f"searchsorted in {SORTED} elements, {side}",
            lambda x, y, side=side: polyad.searchsorted(x, y, side=side),
            np.searchsorted(sequence, wanted, side),
            sequence,
            wanted,
        )


def check_large_indexing(target: Target) -> None:
    """Elements from and to many places."""
    random = np.random.default_rng(0)
    a, where = whole_numbers(SORTED), random.integers(0, SORTED, SORTED)
    _compare(target, f"{SORTED} elements by index", lambda x, i: x[i], a[where], a, where)
    long, rows, far = whole_numbers(LONG, below=100), whole_numbers(*TALL, below=100), random.integers(0, LONG, 1025)
    far[-1] = LONG - 1
    read = f"1025 of {LONG} elements by"
    _compare(target, f"{read} index", lambda x, i: x[i], long[far], long, far)
    _compare(target, f"{read} index_select", lambda x, i: x.index_select(0, i), long[far], long, far)
    _compare(target, f"{read} gather", lambda x, i: x.gather(0, i), long[far], long, far)
    _compare(target, f"{read} take", lambda x, i: x.take(i), long[far], long, far)
    few = far % len(rows)
    _compare(target, f"1025 rows of {TALL}", lambda x, i: x.index_select(0, i), rows[few], rows, few)
    _compare(target, f"an embedding of {TALL}", lambda x, i: polyad.nn.functional.embedding(i, x), rows[few], rows, few)


def check_large_writes(target: Target) -> None:
    """Many elements that go to few places and meet there, and as many that go to a place of their own."""
    for count in (33, 1025, SORTED):
        random = np.random.default_rng(count)
        values, where, base = whole_numbers(count) + 1, random.integers(0, 31, count), whole_numbers(31)
        sums = base + np.bincount(where, values, 31).astype(np.float32)
        what = f"of {count} elements into 31"

        def compare(name: str, call: Callable[..., Any], expected: Any, *given: Any, what: str = what) -> None:
            _compare(target, f"{name} {what}", call, expected, *given)

        adding: dict[str, Callable[..., Any]] = {
            "index_add": lambda x, i, v: x.index_add(0, i, v),
            "scatter_add": lambda x, i, v: x.scatter_add(0, i, v),
            "scatter_reduce(sum)": lambda x, i, v: x.scatter_reduce(0, i, v, "sum"),
            "index_put(accumulate)": lambda x, i, v: x.index_put((i,), v, accumulate=True),
            "put(accumulate)": lambda x, i, v: x.put(i, v, accumulate=True),
            "bincount(weights)": lambda x, i, v: x + polyad.bincount(i, v, 31),
        }
        for name, call in adding.items():
            compare(name, call, sums, base, where, values)
        compare("bincount", lambda i: polyad.bincount(i, minlength=31), np.bincount(where, minlength=31), where)
        for reduce, ufunc in (("amax", np.maximum), ("amin", np.minimum)):
            expected = base.copy()
            ufunc.at(expected, where, values)
            call = lambda x, i, v, reduce=reduce: x.scatter_reduce(0, i, v, reduce)  # noqa: E731
            compare(f"scatter_reduce({reduce})", call, expected, base, where, values)
        rows, three = np.zeros((31, 3), np.float32), np.repeat(values[:, None], 3, 1) * np.float32([1, 2, 3])
        np.add.at(rows, where, three)
        zeros = np.zeros((31, 3), np.float32)
        compare("index_add of rows", lambda x, i, v: x.index_add(0, i, v), rows, zeros, where, three)
        compare("index_add of columns", lambda x, i, v: x.T.index_add(1, i, v.T).T, rows, zeros, where, three)
        compare("the gradient of an embedding", _embedding_gradient, rows, zeros, where, three)
        order = random.permutation(count)
        placed = np.empty(count, np.float32)
        placed[order] = values
        placing: dict[str, Callable[..., Any]] = {
            "scatter": lambda x, i, v: x.scatter(0, i, v),
            "index_copy": lambda x, i, v: x.index_copy(0, i, v),
            "index_put": lambda x, i, v: x.index_put((i,), v),
            "put": lambda x, i, v: x.put(i, v),
        }
        for name, call in placing.items():
            compare(name, call, placed, values * 0, order, values, what=f"of {count} elements")
        chosen = values > 1
        compare(
            "masked_scatter",
            lambda x, m, v: x.masked_scatter(m, v),
            np.where(chosen, values[np.cumsum(chosen) - 1], -values),
            -values,
            chosen,
            values,
        )


def _embedding_gradient(weight: Any, index: Any, arriving: Any) -> Any:
    weight = weight.clone().requires_grad_()
    (gradient,) = polyad.autograd.grad(polyad.nn.functional.embedding(index, weight), weight, arriving)
    return gradient


def check_large_products(target: Target) -> None:
    """Matrices, also transposed, of sizes that no tile divides; and many small ones."""
    a, b = whole_numbers(SQUARE[0], 173), whole_numbers(173, 257, seed=1)
    _compare(target, f"product of {a.shape} and {b.shape}", lambda x, y: x @ y, a @ b, a, b)
    _compare(target, "the same, transposed", lambda x, y: (y.T @ x.T).T, a @ b, a, b)
    _compare(target, "a matrix and a vector", lambda x, y: x @ y[:, 0], a @ b[:, 0], a, b)
    many = whole_numbers(700, 3, 5)
    _compare(target, f"product of {many.shape}", lambda x: x @ x.mT, many @ many.transpose(0, 2, 1), many)
    linear, bias = polyad.nn.functional.linear, whole_numbers(257, seed=2)
    _compare(target, f"linear of {a.shape}", linear, a @ b + bias, a, b.T.copy(), bias)
    for inner in (15, 17, 33, 65, 1025):
        x, y = whole_numbers(5, inner), whole_numbers(inner, 3, seed=1)
        _compare(target, f"product of {x.shape} and {y.shape}", lambda x, y: x @ y, x @ y, x, y)
        _compare(target, f"dot of {inner} elements", lambda x, y: x[0] @ y[:, 0], x[0] @ y[:, 0], x, y)


def check_large_windows(target: Target) -> None:
    """Convolutions and pooling of images and channels that no tile divides, with their gradients."""
    functions = polyad.nn.functional
    image, weight, bias = whole_numbers(2, 19, 37, 35), whole_numbers(21, 19, 3, 3, seed=1), whole_numbers(21, seed=2)
    views = np.lib.stride_tricks.sliding_window_view(image, (3, 3), (2, 3))
    result = np.einsum("nchwij,ocij->nohw", views, weight) + bias[:, None, None]
    _compare(target, f"convolution of {image.shape} by {weight.shape}", functions.conv2d, result, image, weight, bias)
    arriving = whole_numbers(*result.shape, seed=3)
    of_weight = np.einsum("nchwij,nohw->ocij", views, arriving)
    of_image = np.zeros_like(image)
    for i, j in np.ndindex(3, 3):
        of_image[:, :, i : i + 35, j : j + 33] += np.einsum("nohw,oc->nchw", arriving, weight[:, :, i, j])

    def gradient(position: int) -> Callable[..., Any]:
        def call(x: Any, y: Any, g: Any) -> Any:
            given = [x.clone().requires_grad_(), y.clone().requires_grad_()]
            return polyad.autograd.grad(functions.conv2d(*given), given[position], g)[0]

        return call

    _compare(target, "the gradient of its image", gradient(0), of_image, image, weight, arriving)
    _compare(target, "the gradient of its weights", gradient(1), of_weight, image, weight, arriving)
    turned = weight.transpose(1, 0, 2, 3)[:, :, ::-1, ::-1].copy()
    padded = np.pad(arriving, ((0, 0), (0, 0), (2, 2), (2, 2)))
    _compare(target, "a transposed convolution", functions.conv_transpose2d, of_image, arriving, weight)
    _compare(target, "the same as a convolution", functions.conv2d, of_image, padded, turned)
    quarters = image[:, :, :36, :34].reshape(2, 19, 18, 2, 17, 2)
    pool = lambda x: functions.max_pool2d(x, 2)  # noqa: E731
    _compare(target, "max_pool2d", pool, quarters.max((3, 5)), image)
    places = np.argmax(quarters.transpose(0, 1, 2, 4, 3, 5).reshape(2, 19, 18, 17, 4), -1)
    rows, columns = np.arange(18)[:, None] * 2 + places // 2, np.arange(17) * 2 + places % 2
    call = lambda x: functions.max_pool2d(x, 2, return_indices=True)[1]  # noqa: E731
    _compare(target, "positions of max_pool2d", call, rows * 35 + columns, image)
    _compare(target, "avg_pool2d", lambda x: functions.avg_pool2d(x, 2), quarters.mean((3, 5)), image)
    arriving = whole_numbers(2, 19, 18, 17, seed=4) * 4
    spread = np.pad(arriving.repeat(2, 2).repeat(2, 3) / 4, ((0, 0), (0, 0), (0, 1), (0, 1)))

    def of_pool(x: Any, g: Any) -> Any:
        x = x.clone().requires_grad_()
        return polyad.autograd.grad(functions.avg_pool2d(x, 2), x, g)[0]

    _compare(target, "the gradient of avg_pool2d", of_pool, spread, image, arriving)


def check_large_matrices(target: Target) -> None:
    """Factorizations of matrices that no tile divides, by what their factors give when they are multiplied.

    Some also give int32 or complex numbers, and are left out where a device does not declare these.
    """
    n = 67
    a = np.random.default_rng(0).uniform(-1, 1, (2, n, n)).astype(np.float32) + np.eye(n, dtype=np.float32) * 3
    spd = (a @ a.transpose(0, 2, 1) / n + np.eye(n)).astype(np.float32)
    right = np.random.default_rng(1).uniform(-1, 1, (2, n, 3)).astype(np.float32)
    linalg = polyad.linalg

    def near(name: str, matrix: np.ndarray, call: Callable[..., Any], product: Callable[..., Any]) -> None:
        tensors = [polyad.tensor(value, device=target.device) for value in (matrix, right)]
        try:
            with target.watching():
                results = outputs_of(call(*tensors))
        except UndeclaredDType as error:
            if error.dtype in target.dtypes:
                raise
            return
        found = product(*[wide(to_host(one)) for one in results])
        expected = wide(right if name.startswith("solve") else matrix)
        # Rounding errors of n steps, each relative to the largest element on the way.
        allowed = 16 * n * 2.0**-23 * np.abs(matrix).max()
        off = np.abs(found - expected).max()
        assert off <= allowed, f"{name} of {matrix.shape}: the product is off by {off:.3g}, allowed {allowed:.3g}"

    near("cholesky", spd, lambda x, b: linalg.cholesky(x), lambda f: f @ f.swapaxes(1, 2))
    near("lu", a, lambda x, b: linalg.lu(x), lambda p, low, up: p @ low @ up)
    near("qr", a, lambda x, b: linalg.qr(x), lambda q, r: q @ r)
    rows = lambda x, b: (linalg.householder_product(*polyad.geqrf(x)), polyad.geqrf(x)[0].triu())  # noqa: E731
    near("geqrf", a, rows, lambda q, r: q @ r)
    near("eigh", spd, lambda x, b: linalg.eigh(x), lambda w, v: v * w[:, None] @ v.swapaxes(1, 2))
    near("svd", a, lambda x, b: linalg.svd(x), lambda u, s, vh: u * s[:, None] @ vh)
    near("eig", a, lambda x, b: linalg.eig(x), lambda w, v: (v * w[:, None] @ np.linalg.inv(v)).real)
    near("solve", a, linalg.solve, lambda x: wide(a) @ x)
    near("solve by LDL", spd, lambda x, b: linalg.ldl_solve(*linalg.ldl_factor(x), b), lambda x: wide(spd) @ x)
    for upper in (False, True):
        triangle = (np.triu(a / n) if upper else np.tril(a / n)) + np.eye(n, dtype=np.float32)
        call = lambda x, b, upper=upper: linalg.solve_triangular(x, b, upper=upper)  # noqa: E731
        near("solve_triangular", triangle, call, lambda x, triangle=triangle: wide(triangle) @ x)


def check_large_ranks(target: Target) -> None:
    """Five and more dimensions, of which neighbours in memory are not neighbours in the shape."""
    for rank in (5, 8):
        _check_rank(rank, target)


def _check_rank(rank: int, target: Target) -> None:
    shape = tuple(2 + d % 2 for d in range(rank))
    a, b = whole_numbers(*shape, below=1000), whole_numbers(*shape[::-1], below=1000, seed=1)
    order = [*range(1, rank, 2), *range(0, rank, 2)]
    turned = list(range(rank))[::-1]

    def compare(name: str, call: Callable[..., Any], expected: Any) -> None:
        def strided(x: Any, y: Any) -> Any:
            return call(x.permute(order).contiguous().permute(list(np.argsort(order))), y.permute(turned))

        _compare(target, f"{name} of {rank} dimensions", strided, expected, a, b)

    compare("add", lambda x, y: x + y, a + b.T)
    compare("copy", lambda x, y: x.contiguous(), a)
    compare("where", lambda x, y: polyad.where(x > 500, y, -x), np.where(a > 500, b.T, -a))
    for dims in ((0,), (rank - 2,), (1, rank - 1), tuple(range(0, rank, 2))):
        compare(f"sum over {dims}", lambda x, y, dims=dims: x.sum(dims), a.sum(dims))
    for dim in (1, rank - 1):
        compare(f"argmax over {dim}", lambda x, y, dim=dim: x.argmax(dim), a.argmax(dim))
        compare(f"flip along {dim}", lambda x, y, dim=dim: x.flip(dim), np.flip(a, dim))
        compare(f"cumsum along {dim}", lambda x, y, dim=dim: x.cumsum(dim), a.cumsum(dim))


CHECKS = (
    check_large_elementwise,
    check_large_copies,
    check_large_reductions,
    check_large_scans,
    check_large_gradients,
    check_large_sorting,
    check_large_searches,
    check_large_indexing,
    check_large_writes,
    check_large_creation,
    check_large_products,
    check_large_windows,
    check_large_matrices,
    check_large_ranks,
)
"""Called as ``check(target)``."""
