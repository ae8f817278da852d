"""Products, factorizations and Fourier transforms. Matrices have 256 rows where NumPy's work grows faster than n**2."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.linalg
import scipy.spatial.distance

import polyad

from .arrays import Arrays, Case


def _products(arrays: Arrays) -> Iterator[Case]:
    x, y = arrays.x, arrays.y
    batch, other = x.reshape(64, 128, 128), y.reshape(64, 128, 128)
    small, small_other = x.reshape(-1, 4, 4), y.reshape(-1, 4, 4)
    yield Case("mm", polyad.mm, np.matmul, (x, y))
    yield Case("mm transposed", lambda a, b: a.T @ b, lambda a, b: a.T @ b, (x, y))
    yield Case("mm int", polyad.mm, np.matmul, (arrays.integers[:128, :128].copy(), arrays.others[:128, :128].copy()))
    yield Case("bmm", polyad.bmm, np.matmul, (batch, other))
    yield Case("bmm of 4x4", polyad.bmm, np.matmul, (small, small_other))
    yield Case("matmul broadcast", polyad.matmul, np.matmul, (batch, other[0]))
    yield Case("mv", polyad.mv, np.matmul, (x, y[0]))
    yield Case("dot", polyad.dot, np.dot, (x.ravel(), y.ravel()))
    yield Case("vdot", polyad.vdot, np.vdot, (arrays.complex.ravel(), arrays.complex.ravel()))
    yield Case("inner", polyad.inner, np.inner, (x, y[:8].copy()))
    yield Case("outer", polyad.outer, np.outer, (x[0], y[0]))
    yield Case("kron", polyad.kron, np.kron, (x[:32, :32].copy(), y[:32, :32].copy()))
    yield Case("addmm", polyad.addmm, lambda c, a, b: c + a @ b, (x, x, y))
    yield Case("baddbmm", polyad.baddbmm, lambda c, a, b: c + a @ b, (batch, batch, other))
    yield Case("addbmm", polyad.addbmm, lambda c, a, b: c + (a @ b).sum(0), (x[:128, :128].copy(), batch, other))
    yield Case("addmv", polyad.addmv, lambda c, a, b: c + a @ b, (x[0], x, y[0]))
    yield Case("addr", polyad.addr, lambda c, a, b: c + np.outer(a, b), (x, x[0], y[0]))
    yield Case("linear", polyad.nn.functional.linear, lambda a, w, b: a @ w.T + b, (x, y, x[0]))
    yield Case(
        "bilinear",
        polyad.nn.functional.bilinear,
        lambda a, b, w: np.einsum("bi,oij,bj->bo", a, w, b, optimize=True),
        (x[:, :64].copy(), y[:, :64].copy(), x[:256].reshape(64, 64, 64)),
    )
    yield Case("einsum", lambda a, b: polyad.einsum("ij,jk->ik", a, b), lambda a, b: a @ b, (x, y))
    yield Case(
        "einsum batch",
        lambda a, b: polyad.einsum("bij,bkj->bik", a, b),
        lambda a, b: a @ b.swapaxes(1, 2),
        (batch, other),
    )
    yield Case("einsum trace", lambda a: polyad.einsum("bii->b", a), lambda a: np.einsum("bii->b", a), (batch,))
    yield Case(
        "einsum sum", lambda a, b: polyad.einsum("ij,ij->i", a, b), lambda a, b: np.einsum("ij,ij->i", a, b), (x, y)
    )
    yield Case("tensordot", lambda a, b: polyad.tensordot(a, b, 1), lambda a, b: np.tensordot(a, b, 1), (x, y))
    yield Case("chain_matmul", polyad.chain_matmul, lambda a, b, c: a @ (b @ c), (x, y, x[:, :8].copy()))
    yield Case(
        "multi_dot", lambda *m: polyad.linalg.multi_dot(m), lambda *m: np.linalg.multi_dot(m), (x, y, x[:, :8].copy())
    )
    yield Case(
        "cross",
        polyad.linalg.cross,
        np.cross,
        (x.reshape(-1)[: 3 << 18].reshape(-1, 3), y.reshape(-1)[: 3 << 18].reshape(-1, 3)),
    )
    yield Case("vecdot", polyad.linalg.vecdot, np.linalg.vecdot, (x, y))
    yield Case("cdist", polyad.cdist, _distances, (x, y))
    yield Case(
        "cdist p=1",
        lambda a, b: polyad.cdist(a, b, p=1),
        lambda a, b: scipy.spatial.distance.cdist(a, b, "cityblock"),
        (x[:256, :64].copy(), y[:256, :64].copy()),
    )
    yield Case("pdist", polyad.nn.functional.pdist, scipy.spatial.distance.pdist, (x[:, :16].copy(),))


def _distances(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    squares = (x * x).sum(1)[:, None] + (y * y).sum(1) - 2 * x @ y.T
    return np.sqrt(np.maximum(squares, 0))


def _decompositions(arrays: Arrays) -> Iterator[Case]:
    a = arrays.x[:256, :256].copy()
    spd = (a @ a.T + 256 * np.eye(256, dtype=np.float32)).astype(np.float32)
    many = arrays.x.reshape(-1, 16, 16)
    many_spd = many @ many.swapaxes(1, 2) + 16 * np.eye(16, dtype=np.float32)
    for name in (
        "cholesky",
        "inv",
        "det",
        "slogdet",
        "eigvalsh",
        "eigh",
        "svdvals",
        "svd",
        "qr",
        "pinv",
        "cond",
        "matrix_rank",
    ):
        yield Case(f"linalg.{name}", getattr(polyad.linalg, name), getattr(np.linalg, name), (spd,))
    for name in ("cholesky", "inv", "det", "slogdet", "eigvalsh", "eigh", "svdvals", "qr"):
        yield Case(f"linalg.{name} batch", getattr(polyad.linalg, name), getattr(np.linalg, name), (many_spd,))
    small = a[:128, :128].copy()
    for name in ("eigvals", "eig"):
        yield Case(f"linalg.{name}", getattr(polyad.linalg, name), getattr(np.linalg, name), (small,))
    yield Case("linalg.solve", polyad.linalg.solve, np.linalg.solve, (spd, a))
    yield Case("linalg.solve batch", polyad.linalg.solve, np.linalg.solve, (many_spd, many))
    yield Case(
        "linalg.lstsq",
        lambda m, b: polyad.linalg.lstsq(m, b),
        lambda m, b: np.linalg.lstsq(m, b, None),
        (a, a[:, :8].copy()),
    )
    yield Case(
        "linalg.solve_triangular",
        lambda m, b: polyad.linalg.solve_triangular(m, b, upper=False),
        lambda m, b: scipy.linalg.solve_triangular(m, b, lower=True),
        (np.tril(spd), a),
    )
    yield Case("linalg.lu", polyad.linalg.lu, scipy.linalg.lu, (a,))
    yield Case("linalg.lu_factor", polyad.linalg.lu_factor, scipy.linalg.lu_factor, (a,))
    yield Case("linalg.matrix_exp", polyad.linalg.matrix_exp, scipy.linalg.expm, (a / 16,))
    yield Case(
        "linalg.matrix_power",
        lambda m: polyad.linalg.matrix_power(m, 5),
        lambda m: np.linalg.matrix_power(m, 5),
        (a / 16,),
    )
    yield Case("linalg.matrix_norm", polyad.linalg.matrix_norm, np.linalg.norm, (arrays.x,))
    yield Case("linalg.vander", polyad.linalg.vander, lambda v: np.vander(v, increasing=True), (arrays.x[0],))
    yield Case(
        "cholesky_solve",
        polyad.cholesky_solve,
        lambda b, m: scipy.linalg.cho_solve((m, True), b),
        (a, np.linalg.cholesky(spd)),
    )


def _transforms(arrays: Arrays) -> Iterator[Case]:
    x, z = arrays.x, arrays.complex
    for name in ("fft", "ifft", "fft2", "ifft2", "fftn"):
        yield Case(f"fft.{name}", getattr(polyad.fft, name), getattr(np.fft, name), (z,))
    yield Case("fft.fft dim 0", lambda a: polyad.fft.fft(a, dim=0), lambda a: np.fft.fft(a, axis=0), (z,))
    yield Case("fft.fft vector", polyad.fft.fft, np.fft.fft, (z.ravel(),))
    for name in ("rfft", "rfft2", "ihfft"):
        yield Case(f"fft.{name}", getattr(polyad.fft, name), getattr(np.fft, name), (x,))
    for name in ("irfft", "irfft2", "hfft"):
        yield Case(f"fft.{name}", getattr(polyad.fft, name), getattr(np.fft, name), (z,))
    yield Case("fft.fftshift", polyad.fft.fftshift, np.fft.fftshift, (x,))
    yield Case(
        "stft",
        lambda a, w: polyad.stft(a, 512, 256, window=w, center=False, return_complex=True),
        _stft,
        (x.ravel(), np.hanning(512).astype(np.float32)),
    )


def _stft(a: np.ndarray, window: np.ndarray) -> np.ndarray:
    frames = np.lib.stride_tricks.sliding_window_view(a, 512)[::256]
    return np.fft.rfft(frames * window).T


def cases(arrays: Arrays) -> Iterator[Case]:
    yield from _products(arrays)
    yield from _decompositions(arrays)
    yield from _transforms(arrays)
