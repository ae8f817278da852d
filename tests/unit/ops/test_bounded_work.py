"""Sizes that no memory could hold, and values at which an algorithm never ends: an error, or an answer, at once."""

from __future__ import annotations

import subprocess
import sys

import pytest

import polyad
from polyad import linalg
from polyad.errors import LinAlgError, OutOfMemory, ShapeError

LONG = 2**40


@pytest.mark.parametrize(
    "call",
    [
        lambda: linalg.svd(polyad.empty(0, LONG)),
        lambda: polyad.combinations(polyad.arange(3), r=2**31 - 1, with_replacement=True),
        lambda: polyad.combinations(polyad.arange(40), r=20),
        lambda: polyad.combinations(polyad.arange(2**20), r=2**19),
        lambda: polyad.empty(LONG, 0).unbind(0),
        lambda: polyad.ones(1).expand(LONG).split(1),
        lambda: polyad.tensor_split(polyad.ones(3), LONG),
        lambda: polyad.nonzero(polyad.zeros(1).expand(LONG)),
        lambda: polyad.where(polyad.zeros(1).expand(LONG)),
        lambda: polyad.ones(1).expand(LONG)[polyad.ones(1).expand(LONG) > 0],
        lambda: polyad.masked_select(polyad.zeros(1).expand(LONG), polyad.tensor([False]).expand(LONG)),
        lambda: polyad.nn.functional.embedding(polyad.tensor([0]).expand(LONG), polyad.ones(2, 2)),
        lambda: polyad.bernoulli(polyad.zeros(1).expand(LONG)),
    ],
    ids=[
        "svd",
        "combinations replaced",
        "combinations",
        "combinations of many",
        "unbind",
        "split",
        "tensor_split",
        "nonzero",
        "where",
        "mask",
        "masked_select",
        "embedding",
        "bernoulli",
    ],
)
def test_what_no_memory_holds_is_refused_before_work_begins(call):
    with pytest.raises(OutOfMemory):
        call()


def test_a_histogram_has_few_dimensions():
    for bins in (2, [2]):
        with pytest.raises(ShapeError, match=r"1,099,511,627,776 dimensions"):
            polyad.histogramdd(polyad.empty(0, LONG), bins)


@pytest.mark.parametrize(
    ("call", "shape"),
    [
        (lambda: linalg.svd(polyad.empty(0, LONG), full_matrices=False).Vh, (0, LONG)),
        (lambda: linalg.svd(polyad.empty(LONG, 0, 0)).U, (LONG, 0, 0)),
        (lambda: linalg.svdvals(polyad.empty(LONG, 0, 3)), (LONG, 0)),
        (lambda: linalg.pinv(polyad.empty(0, LONG)), (LONG, 0)),
        (lambda: linalg.eigh(polyad.empty(LONG, 0, 0)).eigenvectors, (LONG, 0, 0)),
        (lambda: linalg.eig(polyad.empty(LONG, 0, 0)).eigenvalues, (LONG, 0)),
        (lambda: linalg.eigvalsh(polyad.empty(LONG, 0, 0)), (LONG, 0)),
        (lambda: linalg.qr(polyad.empty(LONG, 0, 3)).R, (LONG, 0, 3)),
        (lambda: linalg.matrix_power(polyad.empty(LONG, 0, 0), 3), (LONG, 0, 0)),
        (lambda: polyad.empty(LONG, 0, 2) @ polyad.empty(LONG, 2, 0), (LONG, 0, 0)),
        (lambda: polyad.combinations(polyad.arange(0), r=2**31 - 1, with_replacement=True), (0, 2**31 - 1)),
    ],
    ids=range(11),
)
def test_a_long_batch_of_nothing_is_no_work(call, shape):
    assert call().shape == shape


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (2, 0, 3), (2, 3, 0), (0, 3, 3)])
def test_svd_of_nothing_has_whole_bases(shape):
    full, thin = linalg.svd(polyad.empty(shape)), linalg.svd(polyad.empty(shape), full_matrices=False)
    for basis in (full.U, full.Vh):
        assert polyad.equal(basis, polyad.eye(basis.shape[-1]).expand(basis.shape))
    *batch, rows, columns = shape
    assert (thin.U.shape, thin.Vh.shape) == ((*batch, rows, min(rows, columns)), (*batch, min(rows, columns), columns))
    q, r = linalg.qr(polyad.empty(shape), mode="complete")
    assert polyad.equal(q, polyad.eye(rows).expand(q.shape))
    assert r.shape == shape


NOT_FINITE = """
import sys
import polyad
from polyad import linalg

for dtype in (polyad.float32, polyad.float64, polyad.complex64, polyad.complex128):
    for value in (float("inf"), float("-inf"), float("nan")):
        for place in ((0, 0), (2, 1), (0, 2)):
            matrix = polyad.eye(3, dtype=dtype) + 0.5
            matrix[place] = value
            for name in ("svd", "svdvals", "pinv", "matrix_rank", "cond", "eig", "eigvals", "eigh", "eigvalsh"):
                if place == (0, 2) and name in ("eigh", "eigvalsh"):
                    continue  # only the lower triangle is read
                try:
                    getattr(linalg, name)(matrix)
                except linalg.LinAlgError:
                    continue
                print(name, dtype, value, place)
            for order in ("nuc", 2, -2):
                try:
                    linalg.norm(matrix, order)
                except linalg.LinAlgError:
                    continue
                print("norm", order, dtype, value, place)
            for name in ("qr", "det", "slogdet", "inv_ex", "lu", "cholesky_ex", "matrix_exp", "ldl_factor_ex"):
                getattr(linalg, name)(matrix)  # they end
"""


def test_decompositions_of_what_is_not_finite_end():
    # LAPACK never ends at some of them, which no signal handler of Python's could stop.
    done = subprocess.run([sys.executable, "-c", NOT_FINITE], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_the_matrix_that_is_not_finite_is_named():
    batch = polyad.ones(3, 2, 2)
    batch[1, 0, 0] = float("inf")
    with pytest.raises(LinAlgError, match=r"svd: .*batch element 1 has values that are not finite"):
        linalg.svd(batch)


def test_combinations_are_built_in_time_that_grows_with_what_there_is():
    """Partial rows that cannot be finished are not begun, and columns are not copied for each column that follows."""
    last = polyad.combinations(polyad.arange(2), r=1000, with_replacement=True)
    assert last.shape == (1001, 1000)
    assert last.sum(1).tolist() == list(range(1001))
    assert polyad.combinations(polyad.arange(60), r=58).shape == (1770, 58)


def test_windows_over_endless_dimensions_of_no_sample():
    assert polyad.nn.functional.adaptive_max_pool1d(polyad.empty(0, LONG), 3).shape == (0, 3)


def test_more_dimensions_than_numpy_has():
    many = polyad.zeros((1,) * 64)
    index = polyad.zeros((1,) * 40, dtype=polyad.int64)
    for call in (
        lambda: many[index],
        lambda: polyad.nn.functional.embedding(many.long(), polyad.ones(2, 2)),
        lambda: polyad.linalg.svd(many),
    ):
        with pytest.raises(ShapeError, match="dimension"):
            call()
