"""LU, LDL and QR factorizations."""

from __future__ import annotations

import numpy as np

from polyad.base.dtypes import complex64, complex128, float32, float64, int32, int64

from ...matrices import adjoint, definite, each, elimination, gram_schmidt, inverse, permutation, regular
from ...sample import ErrorCase, OnlyShape, Sample, always, same

ALL = (float32, complex64, float64, complex128)
WIDE = (float64, complex128)

info = always(int32)


def general(make, shape):
    """Random matrices that need row exchanges: large elements below the diagonal."""
    matrices = regular(make, shape)
    return matrices[..., ::-1, :].copy() if shape[-2] == shape[-1] else matrices


@each
def compact(a):
    factors, pivots = elimination(a)
    return factors, pivots, np.int64(0)


@each
def unpacked(a):
    factors, pivots = elimination(a)
    rows, columns = a.shape
    k = min(rows, columns)
    P = permutation(pivots, rows).astype(a.dtype)
    return P, np.tril(factors[:, :k], -1) + np.eye(rows, k), np.triu(factors[:k])


def lu_factor(op, name, shape, dtypes=WIDE, outputs=2, **options):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (general(make, shape),),
        reference=lambda a: tuple(compact(a)[:outputs]),
        dtypes=dtypes,
        result=(same, info, info)[:outputs],
        gradient=True,
        steps=12,
        length=4 * max(shape[-2:]),
        expand=False,
        **options,
    )


def lu(name, shape, dtypes=WIDE):
    return Sample(
        op="linalg.lu",
        name=name,
        inputs=lambda make: (general(make, shape),),
        reference=unpacked,
        dtypes=dtypes,
        result=(same, same, same),
        gradient=True,
        steps=12,
        length=4 * max(shape[-2:]),
        expand=False,
    )


def lu_solve(name, a, b, op="linalg.lu_solve", dtypes=WIDE, **options):
    """Through the factors that the reference made: LU and B have gradients."""

    @each
    def solution(factors, b, pivots, left=True, adjoint_=False):
        n = len(factors)
        whole = permutation(pivots[0], n) @ (np.tril(factors, -1) + np.eye(n)) @ np.triu(factors)
        whole = adjoint(whole) if adjoint_ else whole
        return inverse(whole) @ b if left else b @ inverse(whole)

    def inputs(make):
        factors, pivots, _ = compact(general(make, a))
        return factors, pivots.astype(np.int32), make(b)

    def reference(factors, pivots, b, left=True, adjoint=False):
        return solution(factors, b, pivots[..., None, :], left=left, adjoint_=adjoint)

    def older(op, factors, pivots, b):
        return op(b, factors, pivots)

    return Sample(
        op=op,
        name=name,
        inputs=inputs,
        kwargs=options,
        reference=reference,
        call=older if op == "lu_solve" else None,
        dtypes=dtypes,
        gradient=(0, 2),
        steps=12,
        length=8 * a[-1],
        magnitude=lambda *given, **options: 4.0,
        expand=False,
    )


@each
def without_exchange(a):
    """L D L^H of a diagonally dominant matrix, D in the place of L's ones."""
    n = len(a)
    factors, diagonal = np.eye(n, dtype=a.dtype), np.zeros(n, a.dtype)
    for i in range(n):
        for j in range(i):
            rest = a[i, j] - sum(factors[i, k] * diagonal[k] * np.conj(factors[j, k]) for k in range(j))
            factors[i, j] = rest / diagonal[j]
        diagonal[i] = a[i, i] - sum(np.abs(factors[i, k]) ** 2 * diagonal[k] for k in range(i))
    return np.tril(factors, -1) + np.diag(diagonal), np.arange(1, n + 1), np.int64(0)


def ldl(op, name, shape, dtypes=WIDE, outputs=2):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (definite(make, shape),),
        kwargs={"hermitian": True},
        reference=lambda a, hermitian: tuple(without_exchange(a)[:outputs]),
        dtypes=dtypes,
        result=(same, info, info)[:outputs],
        steps=12,
        length=4 * shape[-1],
        expand=False,
    )


def ldl_solve(name, a, b, hermitian, dtypes=WIDE):
    """Through the factors that the reference made, without exchanges, of L D L^H (or L D L^T) with any L and D."""

    @each
    def solution(factors, b, pivots):
        lower = np.tril(factors, -1) + np.eye(len(factors))
        diagonal = np.diag(np.diag(factors))
        return inverse(lower @ diagonal @ (adjoint(lower) if hermitian else lower.T)) @ b

    def inputs(make):
        factors = np.tril(regular(make, a))
        if hermitian:
            diagonal = np.arange(a[-1])
            factors[..., diagonal, diagonal] = factors[..., diagonal, diagonal].real
        return factors, np.broadcast_to(np.arange(1, a[-1] + 1, dtype=np.int32), a[:-1]).copy(), make(b)

    return Sample(
        op="linalg.ldl_solve",
        name=name,
        inputs=inputs,
        kwargs={"hermitian": hermitian},
        reference=lambda factors, pivots, b, hermitian: solution(factors, b, pivots[..., None, :]),
        dtypes=dtypes,
        steps=16,
        length=16,
        magnitude=lambda *given, **options: 8.0,
        expand=False,
    )


def positive(Q, R):
    """Q and R with the signs that make R's diagonal positive."""
    k = R.shape[-2]
    signs = R.diagonal(0, -2, -1).sgn()
    if signs.shape[-1] < k:
        signs = signs.new_ones((*signs.shape[:-1], k))
    return Q * signs.unsqueeze(-2), R * signs.unsqueeze(-1)


def qr(name, shape, dtypes=WIDE, mode="reduced"):
    return Sample(
        op="linalg.qr",
        name=name,
        inputs=lambda make: (regular(make, shape),),
        call=lambda op, a: positive(*op(a, mode)),
        reference=each(gram_schmidt),
        dtypes=dtypes,
        result=(same, same),
        gradient=True,
        steps=16,
        length=4 * max(shape[-2:]),
        expand=False,
    )


def reflection(alpha, rest):
    """v and tau such that (I - conj(tau) v v^H) (alpha, rest) is real and 0 below its first place, LAPACK's signs."""
    size = np.sqrt(np.abs(alpha) ** 2 + np.sum(np.abs(rest) ** 2))
    if not np.any(rest) and np.imag(alpha) == 0:
        return np.append(1.0, rest * 0), 0.0
    beta = -np.copysign(size, np.real(alpha))
    return np.append(1.0, rest / (alpha - beta)), (beta - alpha) / beta


@each
def reflections(a):
    a = a.copy()
    factors = np.zeros(min(a.shape), a.dtype)
    for k in range(len(factors)):
        v, tau = reflection(a[k, k], a[k + 1 :, k])
        a[k:, k:] -= np.conj(tau) * np.outer(v, np.conj(v) @ a[k:, k:])
        a[k + 1 :, k] = v[1:]
        factors[k] = tau
    return a, factors[None]


@each
def product_of_reflections(a, tau, columns=None):
    rows, k = len(a), a.shape[1]
    product = np.eye(rows, dtype=a.dtype)
    for i in range(tau.shape[-1]):
        v = np.concatenate([np.zeros(i), [1], a[i + 1 :, i]])
        product = product @ (np.eye(rows) - tau[0, i] * np.outer(v, np.conj(v)))
    return product[:, : k if columns is None else columns]


def householder(op, name, shape, count, dtypes=WIDE):
    return Sample(
        op=op,
        name=name,
        inputs=lambda make: (make(shape, -1, 1), make((*shape[:-2], count), 0.2, 0.8)),
        reference=lambda a, tau: product_of_reflections(a, tau[..., None, :]),
        dtypes=dtypes,
        gradient=count > 0,
        steps=16,
        length=8 * shape[-2],
        expand=False,
    )


def ormqr(name, shape, other, left, transpose):
    def reference(a, tau, other, left, transpose):
        whole = product_of_reflections(a, tau[None], columns=len(a))
        whole = adjoint(whole) if transpose else whole
        return whole @ other if left else other @ whole

    return Sample(
        op="ormqr",
        name=name,
        inputs=lambda make: (make(shape, -1, 1), make(shape[-1:], 0.2, 0.8), make(other), left, transpose),
        reference=reference,
        dtypes=WIDE,
        gradient=True,
        steps=16,
        length=8 * shape[-2],
        expand=False,
    )


SAMPLES = [
    lu_factor("linalg.lu_factor", "matrix", (3, 3), ALL),
    lu_factor("linalg.lu_factor", "tall batch", (2, 3, 2)),
    lu_factor("linalg.lu_factor", "many small", (20, 2, 2)),
    lu_factor("linalg.lu_factor", "no rows", (0, 3)),
    lu_factor("linalg.lu_factor_ex", "wide", (2, 3), outputs=3),
    Sample(
        op="linalg.lu_factor_ex",
        name="singular",
        inputs=lambda make: (np.stack([np.eye(3), np.diag([1.0, 0, 0])]).astype(make(()).dtype),),
        call=lambda op, a: op(a).info,
        reference=lambda a: np.array([0, 2]),
        result=info,
        dtypes=ALL,
        expand=False,
    ),
    lu_factor("lu", "", (3, 3)),
    lu("matrix", (3, 3), ALL),
    lu("tall", (4, 2)),
    lu("wide", (2, 3)),
    lu("batch", (2, 2, 2)),
    Sample(
        op="lu_unpack",
        inputs=lambda make: (lambda made: (made[0], made[1].astype(np.int32)))(compact(general(make, (3, 3)))),
        reference=lambda factors, pivots: (
            permutation(pivots, 3).astype(factors.dtype),
            np.tril(factors, -1) + np.eye(3),
            np.triu(factors),
        ),
        result=(same, same, same),
        dtypes=WIDE,
        gradient=(0,),
        steps=2,
        expand=False,
    ),
    Sample(
        op="lu_unpack",
        name="data only",
        inputs=lambda make: (lambda made: (made[0], made[1].astype(np.int32)))(compact(general(make, (3, 2)))),
        kwargs={"unpack_pivots": False},
        reference=lambda factors, pivots, unpack_pivots: (
            OnlyShape((0,)),
            np.tril(factors, -1) + np.eye(3, 2),
            np.triu(factors[:2]),
        ),
        result=(same, same, same),
        dtypes=(float64,),
        steps=2,
        expand=False,
    ),
    lu_solve("matrix", (3, 3), (3, 2), dtypes=ALL),
    lu_solve("adjoint, broadcast", (3, 3), (2, 3, 1), adjoint=True),
    lu_solve("right", (2, 2, 2), (2, 3, 2), left=False),
    lu_solve("right, adjoint", (2, 2), (3, 2), left=False, adjoint=True),
    lu_solve("many small", (12, 2, 2), (12, 2, 1)),
    lu_solve("many small, adjoint", (12, 2, 2), (12, 2, 1), adjoint=True),
    lu_solve("", (3, 3), (3, 2), op="lu_solve"),
    ldl("linalg.ldl_factor", "matrix", (3, 3), ALL),
    ldl("linalg.ldl_factor", "no rows", (2, 0, 0)),
    ldl("linalg.ldl_factor_ex", "batch", (2, 3, 3), outputs=3),
    ldl_solve("symmetric", (4, 4), (4, 2), False, ALL),
    Sample(
        op="linalg.ldl_solve",
        name="a block of two",
        inputs=lambda make: (
            np.array([[0, 0], [2, 0]], make(()).dtype),
            np.array([-2, -2], np.int32),
            make((2, 1)),
        ),
        reference=lambda factors, pivots, b: b[::-1] / 2,
        dtypes=(float32, float64),
        steps=4,
        length=2,
        expand=False,
    ),
    ldl_solve("hermitian, broadcast", (2, 1, 3, 3), (2, 3, 1), True),
    qr("matrix", (3, 3), ALL),
    qr("tall batch", (2, 4, 2)),
    qr("wide", (2, 3)),
    *(
        Sample(
            op="linalg.qr",
            name=f"nothing in {shape}, {mode}",
            inputs=lambda make, shape=shape: (make(shape),),
            kwargs={"mode": mode},
            reference=lambda a, mode: tuple(
                np.linalg.qr(np.zeros(a.shape[-2:]), mode)[i] * np.ones((*a.shape[:-2], 1, 1)) for i in (0, 1)
            ),
            dtypes=(float64,),
            result=(same, same),
        )
        for shape in ((0, 5, 5), (0, 2, 3), (0, 3, 2), (3, 2, 0))
        for mode in ("reduced", "complete")
    ),
    qr("wide, complete", (2, 3), mode="complete"),
    Sample(
        op="linalg.qr",
        name="tall, complete",
        inputs=lambda make: (make((2, 4, 2)),),
        call=lambda op, a: (lambda made: (made.Q.mH @ made.Q, made.Q @ made.R, made.R.tril(-1)))(op(a, "complete")),
        reference=lambda a: (np.broadcast_to(np.eye(4), (2, 4, 4)), a, a * 0),
        dtypes=WIDE,
        result=(same, same, same),
        steps=16,
        length=16,
        expand=False,
    ),
    Sample(
        op="linalg.qr",
        name="r",
        inputs=lambda make: (regular(make, (3, 2)),),
        call=lambda op, a: (lambda made: (made.Q, made.R.abs()))(op(a, "r")),
        reference=lambda a: (np.zeros(0), np.abs(gram_schmidt(a)[1])),
        dtypes=(float32, float64),
        result=(same, same),
        steps=16,
        length=12,
        expand=False,
    ),
    Sample(
        op="linalg.qr",
        name="no columns",
        inputs=lambda make: (make((3, 0)),),
        kwargs={"mode": "complete"},
        reference=lambda a, mode: (np.eye(3), np.zeros((3, 0))),
        dtypes=(float64,),
        result=(same, same),
    ),
    Sample(
        op="qr",
        inputs=lambda make: (regular(make, (3, 2)),),
        call=lambda op, a: positive(*op(a)),
        reference=gram_schmidt,
        dtypes=WIDE,
        result=(same, same),
        gradient=True,
        steps=16,
        length=12,
        expand=False,
    ),
    Sample(
        op="geqrf",
        name="tall batch",
        inputs=lambda make: (make((2, 4, 3)),),
        reference=lambda a: (lambda factors, tau: (factors, tau[:, 0]))(*reflections(a)),
        dtypes=ALL,
        result=(same, same),
        steps=16,
        length=16,
        expand=False,
    ),
    Sample(
        op="geqrf",
        name="no rows",
        inputs=lambda make: (make((0, 3)),),
        reference=lambda a: (a, np.zeros(0)),
        dtypes=(float64,),
        result=(same, same),
    ),
    householder("linalg.householder_product", "tall", (4, 3), 3, ALL),
    householder("linalg.householder_product", "fewer factors, batch", (2, 3, 3), 2),
    householder("linalg.householder_product", "no factors", (3, 2), 0),
    householder("orgqr", "", (3, 2), 2),
    ormqr("left", (3, 2), (3, 2), True, False),
    ormqr("right, transposed", (3, 3), (2, 3), False, True),
]


def refused(op, name, call, match, raises=RuntimeError):
    return ErrorCase(op=op, name=name, call=call, raises=raises, match=match)


def pivots(tensor, *shape):
    return tensor(*shape, dtype=int32)


ERRORS = [
    *[
        case
        for op in ("linalg.lu", "linalg.lu_factor", "linalg.lu_factor_ex", "lu")
        for case in (
            refused(op, "a vector", lambda op, tensor: op(tensor(3)), r"fewer than two dimensions\n.*A "),
            refused(op, "integers", lambda op, tensor: op(tensor(2, 2, dtype=int64)), r"A is int64"),
            refused(op, "pivot", lambda op, tensor: op(tensor(2, 2), pivot=False), r"without pivoting"),
        )
    ],
    refused("linalg.lu_factor", "singular", lambda op, tensor: op(tensor(2, 2, 2) * 0), r"batch element 0: U\[1,1\]"),
    refused(
        "linalg.lu_factor_ex",
        "singular, checked",
        lambda op, tensor: op(tensor(2, 2) * 0, check_errors=True),
        r"U\[1,1\] is zero",
    ),
    refused(
        "lu_unpack", "pivots", lambda op, tensor: op(tensor(3, 3), pivots(tensor, 2)), r"\(2,\) does not belong to"
    ),
    refused(
        "linalg.lu_solve",
        "sizes",
        lambda op, tensor: op(tensor(3, 3), pivots(tensor, 3), tensor(2, 2)),
        r"3 != 2\n.*LU .*\n.*B ",
    ),
    refused(
        "linalg.lu_solve",
        "pivots of another dtype",
        lambda op, tensor: op(tensor(3, 3), tensor(3, dtype=int64), tensor(3, 2)),
        r"pivots is int64",
    ),
    refused(
        "lu_solve", "sizes", lambda op, tensor: op(tensor(2, 2), tensor(3, 3), pivots(tensor, 3)), r"3 != 2\n.*LU_data "
    ),
    refused("linalg.ldl_factor", "not square", lambda op, tensor: op(tensor(2, 3)), r"square.*\n.*A "),
    refused("linalg.ldl_factor", "singular", lambda op, tensor: op(tensor(2, 2) * 0), r"D\[1,1\] is zero"),
    refused(
        "linalg.ldl_factor",
        "a gradient",
        lambda op, tensor: op(tensor(2, 2).requires_grad_()),
        r"has no gradient",
        NotImplementedError,
    ),
    refused("linalg.ldl_factor_ex", "integers", lambda op, tensor: op(tensor(2, 2, dtype=int64)), r"A is int64"),
    refused(
        "linalg.ldl_solve",
        "sizes",
        lambda op, tensor: op(tensor(3, 3), pivots(tensor, 3), tensor(2, 2)),
        r"3 != 2\n.*LD .*\n.*B ",
    ),
    refused("linalg.qr", "mode", lambda op, tensor: op(tensor(3, 3), "full"), r"mode is 'full'.*\n.*A "),
    refused("linalg.qr", "integers", lambda op, tensor: op(tensor(3, 3, dtype=int64)), r"A is int64"),
    refused("qr", "a vector", lambda op, tensor: op(tensor(3)), r"input "),
    refused("geqrf", "a vector", lambda op, tensor: op(tensor(3)), r"input "),
    refused(
        "geqrf",
        "a gradient",
        lambda op, tensor: op(tensor(2, 2).requires_grad_()),
        r"has no gradient",
        NotImplementedError,
    ),
    refused(
        "linalg.householder_product",
        "more columns than rows",
        lambda op, tensor: op(tensor(2, 3), tensor(2)),
        r"do not agree\n.*A .*\n.*tau ",
    ),
    refused("orgqr", "too many factors", lambda op, tensor: op(tensor(3, 2), tensor(3)), r"do not agree\n.*input "),
    refused("ormqr", "sizes", lambda op, tensor: op(tensor(3, 2), tensor(2), tensor(2, 2)), r"3 != 2\n.*input "),
]
