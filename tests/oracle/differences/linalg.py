"""What differs in ``polyad.ops.linalg``."""

from __future__ import annotations

import re

import numpy as np

from polyad_conformance.tolerance import wide

from ..calls import Call, contiguous
from ..outcomes import Mismatch, Outcome
from .difference import Difference, floats, message


def _other_triangle(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind != "gradient" or call.name not in ("cholesky_solve", "cholesky_inverse"):
        return False
    factor = call.givens()[-1].values
    triangle = np.triu if call.kwargs.get("upper") or call.args[-1] is True else np.tril
    if not np.array_equal(factor, triangle(factor)):
        return True
    one, other = ours.gradients[-1], theirs.gradients[-1]
    # Where nothing stands beside the triangle, PyTorch's gradient is the same in it, and not zero outside.
    return one is not None and other is not None and np.allclose(wide(one), triangle(wide(other)), 1e-3, 1e-3)


def _imaginary_diagonal(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    complex_ = any(given.dtype.is_complex for given in call.givens())
    return mismatch.kind == "gradient" and call.name in ("cholesky", "cholesky_ex") and complex_


def _singular_determinant(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    return mismatch.kind == "gradient" and call.name in ("det", "slogdet", "logdet")


def _batches_of_lstsq(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    words = "must be greater or equal to other.dim|The size of tensor a .* must match the size of tensor b"
    return mismatch.kind == "accepted" and call.name == "lstsq" and re.search(words, message(theirs.error)) is not None


def _rank_of_lstsq(call: Call, mismatch: Mismatch, ours: Outcome, theirs: Outcome) -> bool:
    if mismatch.kind not in ("value", "gradient") or call.path != "linalg.lstsq" or not ours.results[2].values.size:
        return False
    # The rank that singular values say is polyad's, and not PyTorch's.
    rank = np.linalg.matrix_rank(call.givens()[0].values)
    return np.array_equal(ours.results[2].values, rank) and not np.array_equal(theirs.results[2].values, rank)


DIFFERENCES = [
    Difference(
        "the gradient of complex cholesky on the diagonal",
        "is real, as imaginary parts are not read there",
        _imaginary_diagonal,
        Call("linalg.cholesky", (contiguous(np.eye(2) + 0j),)).with_gradients(),
    ),
    Difference(
        "the gradient of cholesky_solve and cholesky_inverse in the triangle that is not read",
        "is zero; PyTorch's formula takes that triangle for zero, and gives it a gradient",
        _other_triangle,
        Call(
            "cholesky_solve", (contiguous(np.ones((2, 2))), contiguous(np.array([[2.0, 0.5], [0.5, 2.0]])))
        ).with_gradients(),
    ),
    Difference(
        "the gradient of the determinant of a singular matrix",
        "is the matrix of cofactors; PyTorch's is zero, or divides by a perturbed zero",
        _singular_determinant,
        Call("linalg.det", (contiguous(np.diag([3.0, 1.0, 0.0])),)).with_gradients(),
    ),
    Difference(
        "batches of lstsq",
        "broadcast as in all functions of matrices; PyTorch wants as many dimensions",
        _batches_of_lstsq,
        Call("linalg.lstsq", (contiguous(floats(4, 3)), contiguous(floats(2, 4, 2)))),
    ),
    Difference(
        "the rank that lstsq finds",
        "is that of its singular values; PyTorch's gelsy finds fewer beside columns of zeros than its own gelsd",
        _rank_of_lstsq,
        Call(
            "linalg.lstsq",
            (
                contiguous(
                    np.array(
                        [[4, 0, 0, 0, 2], [0, 0, 0, 0, 4], [0, 0, 0, 2, 0], [0, 0, 0, 4, 0], [0, 0, 2, 0, 0]],
                        np.float32,
                    )
                ),
                contiguous(floats(5, 1)),
            ),
        ),
    ),
]
