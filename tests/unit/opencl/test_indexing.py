"""What the conformance suite cannot see of indexing: the same bits each time, long lines, what errors say."""

import numpy as np
import pytest

from polyad.backend.bounds import ElementOutOfRange


@pytest.fixture
def rng():
    return np.random.default_rng(7)


def places(rng, size, shape):
    """Indices that come often, and seldom."""
    return np.where(rng.random(shape) < 0.5, rng.integers(0, size, shape), rng.integers(0, min(size, 3), shape))


def lines(array, dim):
    return np.moveaxis(array, dim, -1).reshape(-1, array.shape[dim])


def scattered(x, index, source, dim, add):
    """One element after the other."""
    out = np.moveaxis(x.copy(), dim, -1)
    flat = np.ascontiguousarray(out).reshape(-1, x.shape[dim])
    for line, (chosen, values) in enumerate(zip(lines(index, dim), lines(source, dim), strict=True)):
        for at, value in zip(chosen, values, strict=True):
            flat[line, at] = flat[line, at] + value if add else value
    return np.moveaxis(flat.reshape(out.shape), -1, dim)


@pytest.mark.parametrize(
    ("shape", "length", "dim"), [((300,), 5000, 0), ((3, 50, 2), 700, 1), ((2, 40), 900, 1), ((40, 70), 20, 0)]
)
def test_scatter_is_sequential(machine, rng, shape, length, dim):
    from polyad_kernels.kernels.indexing.gather_scatter import scatter, scatter_add

    x = rng.standard_normal(shape).astype(np.float32)
    index = places(rng, shape[dim], (*shape[:dim], length, *shape[dim + 1 :]))
    source = rng.standard_normal(index.shape).astype(np.float32)
    operands = [machine.array(one) for one in (x, index, source)]
    for kernel, add in ((scatter, False), (scatter_add, True)):
        expected = scattered(x, index, source, dim, add)
        for _ in range(2):
            np.testing.assert_array_equal(machine.host(kernel(*operands, dim)), expected)


@pytest.mark.parametrize(("shape", "dim"), [((50,), 0), ((50, 3), 0), ((2, 50, 33), 1)])
def test_index_add_is_sequential(machine, rng, shape, dim):
    from polyad_kernels.kernels.indexing.gather_scatter import index_add

    x = rng.standard_normal(shape).astype(np.float32)
    index = places(rng, 50, 3000)
    source = rng.standard_normal((*shape[:dim], 3000, *shape[dim + 1 :])).astype(np.float32)
    expected = np.moveaxis(x.copy(), dim, 0)
    for at, values in zip(index, np.moveaxis(source, dim, 0), strict=True):
        expected[at] += values
    made = machine.host(index_add(*[machine.array(one) for one in (x, index, source)], dim))
    np.testing.assert_array_equal(made, np.moveaxis(expected, 0, dim))


def test_scatter_add_of_bools_and_small_integers(machine, rng):
    from polyad_kernels.kernels.indexing.gather_scatter import scatter_add

    index = places(rng, 9, 4000)
    for dtype in (np.bool_, np.uint8, np.int16):
        source = rng.integers(0, 2 if dtype is np.bool_ else 100, 4000).astype(dtype)
        expected = np.zeros(9, dtype)
        np.add.at(expected, index, source)
        made = scatter_add(*[machine.array(one) for one in (np.zeros(9, dtype), index, source)], 0)
        np.testing.assert_array_equal(machine.host(made), expected)


@pytest.mark.parametrize("op", ["gather", "index_select", "scatter", "scatter_add", "index_add"])
@pytest.mark.parametrize(("wrong", "hint"), [(700, r"use indices in \[0, 6\)"), (-2, "count from 0")])
def test_wrong_index_is_named(machine, op, wrong, hint):
    from polyad_kernels.kernels.indexing.index_select import KERNELS

    x = np.ones((6, 5), np.float32)
    of_rows = op.startswith("index")
    index = np.zeros(300 if of_rows else (300, 5), np.int64)
    index[123 if of_rows else (123, 4)] = wrong
    operands = [machine.array(one) for one in (x, index)]
    if op not in ("gather", "index_select"):
        operands.append(machine.array(np.ones((300, 5), np.float32)))
    where = "123" if of_rows else "123, 4"
    with pytest.raises(ElementOutOfRange, match=rf"{op}: index\[{where}\] = {wrong} is not in \[0, 6\)") as caught:
        machine.host(KERNELS[op].function(*operands, 0))
    assert caught.match(hint)
    # It is told once, and the device goes on.
    np.testing.assert_array_equal(machine.host(operands[0]), x)


def test_wrong_index_of_a_long_line_is_named(machine):
    from polyad_kernels.kernels.indexing.gather_scatter import scatter, scatter_add

    index = np.zeros((2, 3, 500), np.int64)
    index[1, 2, 321] = 9
    operands = [machine.array(one) for one in (np.zeros((2, 3, 9), np.float32), index, index.astype(np.float32))]
    for kernel in (scatter, scatter_add):
        with pytest.raises(ElementOutOfRange, match=r"index\[1, 2, 321\] = 9 is not in \[0, 9\)"):
            machine.host(kernel(*operands, 2))


def test_wrong_pivots_are_named(machine):
    from polyad_kernels.kernels.linalg.factorizations import lu_permutation

    pivots = np.array([[2, 2, 3], [1, 0, 3]], np.int32)
    with pytest.raises(IndexError, match=r"pivots\[1, 1\] = 0 is not in \[1, 3\]"):
        machine.host(lu_permutation(machine.array(pivots), 3))
    pivots[1, 1] = 3
    made = machine.host(lu_permutation(machine.array(pivots), 4))
    np.testing.assert_array_equal(made, [[1, 0, 2, 3], [0, 2, 1, 3]])


@pytest.mark.parametrize("shape", [(), (1,), (70001,), (130, 517), (3, 1, 40, 2, 1, 5)])
def test_nonzero_of_sizes_that_are_cut(machine, rng, shape):
    from polyad_kernels.kernels.indexing.index_select import nonzero

    for share in (0.0, 0.01, 0.6, 1.0):
        x = (rng.random(shape) < share) * rng.standard_normal(shape)
        np.testing.assert_array_equal(machine.host(nonzero(machine.array(np.asarray(x)))), np.argwhere(x))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_nonzero_knows_zeros(machine, dtype):
    from polyad_kernels.kernels.indexing.index_select import nonzero

    x = np.array([0.0, -0.0, np.nan, 5e-324, -np.inf, 1], dtype)
    if x.dtype.kind == "c":
        x = np.concatenate([x, np.array([complex(0, -0.0), complex(-0.0, 1), complex(0, np.nan)], dtype)])
    np.testing.assert_array_equal(machine.host(nonzero(machine.array(x))), np.argwhere(x))


def test_ranks_beyond_the_padded_ones(machine, rng):
    """Dimensions that nothing merges, more than the loops of few dimensions have."""
    from polyad_kernels.array import Array
    from polyad_kernels.kernels.indexing.index_select import gather
    from polyad_kernels.kernels.shaping.triangles import tril

    shape = (2, 3, 2, 3, 2, 3, 2, 3, 2)
    x = rng.standard_normal(shape[::-1]).astype(np.float32)
    made = machine.array(x)
    turned = Array(made.block, made.dtype, made.shape[::-1], made.steps[::-1], 0)
    index = rng.integers(0, 3, shape)
    np.testing.assert_array_equal(
        machine.host(gather(turned, machine.array(index), 3)), np.take_along_axis(x.T, index, 3)
    )
    np.testing.assert_array_equal(machine.host(tril(turned, 0)), np.tril(x.T))


def test_embedding_reads_any_layout_and_names_its_operand(machine, rng):
    from polyad_kernels.kernels.indexing.index_select import KERNELS

    weight, index = rng.random((7, 5), np.float32), places(rng, 7, 600).reshape(20, 30)
    embedding = KERNELS["embedding"].function
    made = embedding(machine.array(weight), machine.array(index), -1, False)
    np.testing.assert_array_equal(machine.host(made), weight[index])
    index[3, 4] = 7
    with pytest.raises(ElementOutOfRange, match=r"embedding: input\[3, 4\] = 7 is not in \[0, 7\)"):
        machine.host(embedding(machine.array(weight), machine.array(index), -1, False))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("valued", [False, True])
def test_elements_that_are_refused_are_told_by_the_next_read(machine, dtype, valued):
    from polyad.errors import ShapeError
    from polyad_kernels.array import Array
    from polyad_kernels.kernels.indexing.checking import check_all

    good = np.ones((300, 40), dtype)
    made, values = machine.array(good), machine.array(np.arange(12000).reshape(300, 40)) if valued else None

    def error(position, value):
        return ShapeError(f"{position} has {value}")

    check_all(made, values, error)
    check_all(machine.array(good[:0]), None, error)
    machine.device.finish()
    good[[7, 250], [3, 1]] = 0
    made = machine.array(good)
    told = rf"\(7, 3\) has {283 if valued else 0}$"
    if machine.device.shares_host_memory:
        with pytest.raises(ShapeError, match=told):
            check_all(made, values, error)
    else:
        check_all(made, values, error)
        with pytest.raises(ShapeError, match=told):
            machine.host(made)
    turned = Array(made.block, made.dtype, made.shape[::-1], made.steps[::-1], 0)

    def checked():
        check_all(turned, None, error)
        machine.device.finish()

    with pytest.raises(ShapeError, match=r"\(1, 250\) has 0$"):
        checked()
