"""Matrices for samples, and linear algebra by its definitions: the references of ``polyad.linalg``.

Everything here is for small, well-conditioned matrices, one at a time (`each` makes a function of one matrix one of
batches), in formulas that no library uses: cofactors, characteristic polynomials, series. Results of
eigenproblems come as what of them is unique: spectral projectors instead of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .sample import Maker

# ---------------------------------------------------------------------------------------------------- to draw


def regular(make: Maker, shape: Iterable[int]) -> Any:
    """Matrices whose singular and eigenvalues are apart from each other and from 0; their leading minors, too."""
    *batch, rows, columns = shape
    values = make((*batch, rows, columns), -0.25, 0.25)
    diagonal = np.zeros((rows, columns))
    for i in range(min(rows, columns)):
        diagonal[i, i] = (1.5 + 1.25 * i) * (-1 if i % 3 == 1 else 1)
    return (values + diagonal).astype(values.dtype)


def definite(make: Maker, shape: Iterable[int]) -> Any:
    """Symmetric (Hermitian) positive-definite matrices with eigenvalues apart from each other."""
    values = make(tuple(shape), -0.25, 0.25)
    n = values.shape[-1]
    return (values + adjoint(values) + np.diag(1.5 + 1.25 * np.arange(n))).astype(values.dtype)


def symmetrized(matrix: Any) -> Any:
    """(A + A^H) / 2, for arrays and tensors: what an op that reads one triangle is differentiated through."""
    return (matrix + (matrix.mH if hasattr(matrix, "mH") else adjoint(matrix))) / 2


# ---------------------------------------------------------------------------------------------------- definitions


def adjoint(a: Any) -> Any:
    """A^H."""
    return np.conj(np.swapaxes(a, -1, -2))


def each(function: Callable[..., Any]) -> Callable[..., Any]:
    """*function* of matrices as one of batches: all array arguments have two dimensions more than the batch, which
    broadcast; results are stacked, several in a tuple.
    """

    def batched(*arrays: Any, **options: Any) -> Any:
        matrices = [a for a in arrays if isinstance(a, np.ndarray)]
        batch = np.broadcast_shapes(*[a.shape[:-2] for a in matrices])
        spread = [np.broadcast_to(a, batch + a.shape[-2:]) if isinstance(a, np.ndarray) else a for a in arrays]
        results = [
            function(*[a[place] if isinstance(a, np.ndarray) else a for a in spread], **options)
            for place in np.ndindex(batch)
        ]
        if not results:
            # The shapes of no results, from the result of an imagined matrix.
            imagined = function(
                *[np.eye(*a.shape[-2:], dtype=a.dtype) if isinstance(a, np.ndarray) else a for a in arrays], **options
            )
            if isinstance(imagined, tuple):
                return tuple(np.zeros(batch + np.shape(one), np.asarray(one).dtype) for one in imagined)
            return np.zeros(batch + np.shape(imagined), np.asarray(imagined).dtype)
        if isinstance(results[0], tuple):
            return tuple(
                np.stack([np.asarray(result[i]) for result in results]).reshape(batch + np.shape(results[0][i]))
                for i in range(len(results[0]))
            )
        return np.stack([np.asarray(result) for result in results]).reshape(batch + np.shape(results[0]))

    return batched


def determinant(a: Any) -> Any:
    """By expansion along the first row."""
    if not len(a):
        return np.ones((), a.dtype)[()]
    return sum((-1) ** j * a[0, j] * determinant(np.delete(a[1:], j, 1)) for j in range(len(a)))


def inverse(a: Any) -> Any:
    """The transposed cofactors over the determinant."""
    n = len(a)
    made = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(n):
            made[j, i] = (-1) ** (i + j) * determinant(np.delete(np.delete(a, i, 0), j, 1))
    return made / determinant(a) if n else made


def cholesky(a: Any) -> Any:
    """The lower factor, element by element, from the lower triangle."""
    n = len(a)
    factor = np.zeros((n, n), a.dtype)
    for i in range(n):
        for j in range(i + 1):
            rest = a[i, j] - factor[i, :j] @ np.conj(factor[j, :j])
            factor[i, j] = np.sqrt(rest.real) if i == j else rest / np.conj(factor[j, j])
    return factor


def elimination(a: Any) -> tuple[Any, Any]:
    """L below the diagonal and U above it, with the rows that were exchanged, counted from 1."""
    a = a.copy()
    pivots = []
    for k in range(min(a.shape)):
        chosen = k + int(np.argmax(np.abs(a[k:, k].real) + np.abs(a[k:, k].imag)))
        a[[k, chosen]] = a[[chosen, k]]
        pivots.append(chosen + 1)
        for i in range(k + 1, len(a)):
            a[i, k] /= a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]
    return a, np.array(pivots, np.int64)


def permutation(pivots: Any, rows: int) -> Any:
    """The matrix P with A = P L U."""
    order = list(range(rows))
    for k, chosen in enumerate(pivots):
        order[k], order[chosen - 1] = order[chosen - 1], order[k]
    return np.eye(rows)[:, order]


def gram_schmidt(a: Any) -> tuple[Any, Any]:
    """The reduced QR factorization whose R has a positive diagonal."""
    count = min(a.shape)
    q = np.zeros((len(a), count), a.dtype)
    for k in range(count):
        rest = a[:, k] - q[:, :k] @ (adjoint(q[:, :k]) @ a[:, k])
        rest = rest - q[:, :k] @ (adjoint(q[:, :k]) @ rest)
        q[:, k] = rest / np.sqrt(np.sum(np.abs(rest) ** 2))
    return q, np.triu(adjoint(q) @ a)


def characteristic_roots(a: Any) -> Any:
    """The eigenvalues, by Faddeev and LeVerrier's coefficients of the characteristic polynomial."""
    n = len(a)
    coefficients, m = [1.0 + 0j], np.zeros((n, n), complex)
    for k in range(1, n + 1):
        m = a @ m + coefficients[-1] * np.eye(n)
        coefficients.append(-np.trace(a @ m) / k)
    roots = np.roots(coefficients)
    for _ in range(3):  # Newton's steps take out what np.roots left
        roots = roots - np.polyval(coefficients, roots) / np.polyval(np.polyder(coefficients), roots)
    return roots


def eigenvalues(a: Any) -> Any:
    """Complex, in the order of their real parts."""
    roots = characteristic_roots(a)
    return roots[np.argsort(roots.real)]


def spectral_projectors(a: Any, values: Any) -> Any:
    """For each of the *values* the product of (A - value_j) / (value - value_j), (n, n, n)."""
    n = len(a)
    made = np.zeros((n, n, n), complex)
    for k in range(n):
        product = np.eye(n, dtype=complex)
        for j in range(n):
            if j != k:
                product = product @ (a - values[j] * np.eye(n)) / (values[k] - values[j])
        made[k] = product
    return made


def hermitian_spectrum(a: Any) -> tuple[Any, Any]:
    """The rising eigenvalues and v v^H for each eigenvector."""
    values = eigenvalues(a)
    return values.real, in_kind(spectral_projectors(a, values), a)


def in_kind(made: Any, like: Any) -> Any:
    """The real part, if *like* is real."""
    return made if np.iscomplexobj(like) else made.real


def spectrum(a: Any) -> tuple[Any, Any]:
    """The eigenvalues in the order of their real parts and v v^H for each eigenvector of length 1."""
    values = eigenvalues(a)
    made = []
    for projector in spectral_projectors(a, values):
        lengths = np.sum(np.abs(projector) ** 2, 0)
        v = projector[:, int(np.argmax(lengths))]
        made.append(np.outer(v, np.conj(v)) / np.sum(np.abs(v) ** 2))
    return values, np.array(made).reshape((len(a),) * 3)


def singular_spectrum(a: Any) -> tuple[Any, Any]:
    """The falling singular values and u v^H for each pair of vectors, (k, m, n)."""
    wide = a.shape[0] < a.shape[1]
    squares, projectors = hermitian_spectrum(a @ adjoint(a) if wide else adjoint(a) @ a)
    values = np.sqrt(squares[::-1])
    pairs = [
        (projector @ a if wide else a @ projector) / value
        for value, projector in zip(values, projectors[::-1], strict=True)
    ]
    return values, np.array(pairs).reshape((len(values), *a.shape)).astype(a.dtype)


def singular_values(a: Any) -> Any:
    """Falling."""
    if 0 in a.shape:
        return np.zeros(0)
    return singular_spectrum(a)[0]


def pseudo_inverse(a: Any) -> Any:
    """Of a matrix of full rank."""
    if 0 in a.shape:
        return np.zeros(a.shape[::-1], a.dtype)
    if a.shape[0] < a.shape[1]:
        return adjoint(a) @ inverse(a @ adjoint(a))
    return inverse(adjoint(a) @ a) @ adjoint(a)


def exponential(a: Any) -> Any:
    """The power series of A / 2^s, squared s times."""
    halvings = 6
    term = total = np.eye(len(a), dtype=a.dtype)
    for k in range(1, 24):
        term = term @ a / (k * 2.0**halvings)
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total
