"""Reductions, running reductions, sorting, counting and searching."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import polyad

from .arrays import SIDE, Arrays, Case

_ADDING = ("sum", "mean", "prod", "nansum", "nanmean", "count_nonzero")
_COMPARING = ("amax", "amin", "argmax", "argmin", "all", "any")


def _reductions(arrays: Arrays) -> Iterator[Case]:
    x, integers, mask, image = arrays.x, arrays.integers, arrays.mask, arrays.image
    for name in [
        "sum",
        "mean",
        "amax",
        "amin",
        "prod",
        "argmax",
        "argmin",
        "all",
        "any",
        "nansum",
        "nanmean",
        "count_nonzero",
    ]:
        theirs = getattr(np, {"amax": "max", "amin": "min"}.get(name, name))
        ours = getattr(polyad, name)
        for dim in (0, 1):
            yield Case(f"{name} dim {dim}", lambda a, f=ours, d=dim: f(a, d), lambda a, f=theirs, d=dim: f(a, d), (x,))
        yield Case(f"{name} whole", ours, theirs, (x,))
    for name in ("sum", "all", "any", "count_nonzero"):
        yield Case(f"{name} bool", getattr(polyad, name), getattr(np, name), (mask,))
        ours, theirs = getattr(polyad, name), getattr(np, name)
        yield Case(f"{name} bool dim 1", lambda a, f=ours: f(a, 1), lambda a, f=theirs: f(a, 1), (mask,))
    for name in ("sum", "prod", "amax", "argmax"):
        ours, theirs = getattr(polyad, name), getattr(np, name)
        yield Case(f"{name} int", lambda a, f=ours: f(a, 1), lambda a, f=theirs: f(a, 1), (integers,))
    for name in ("sum", "mean", "amax"):
        ours, theirs = getattr(polyad, name), getattr(np, name)
        yield Case(
            f"{name} float16",
            lambda a, f=ours: f(a, 1),
            (lambda a, f=theirs: f(a, 1, dtype=np.float32)) if name != "amax" else lambda a: a.max(1),
            (x.astype(np.float16),),
        )
        yield Case(f"{name} dims 2, 3", lambda a, f=ours: f(a, (2, 3)), lambda a, f=theirs: f(a, (2, 3)), (image,))
        yield Case(
            f"{name} dims 0, 2, 3", lambda a, f=ours: f(a, (0, 2, 3)), lambda a, f=theirs: f(a, (0, 2, 3)), (image,)
        )
        yield Case(f"{name} transposed", lambda a, f=ours: f(a.T, 1), lambda a, f=theirs: f(a.T, 1), (x,))
    yield Case("max with indices", lambda a: polyad.max(a, 1), lambda a: (a.max(1), a.argmax(1)), (x,))
    yield Case("max with indices dim 0", lambda a: polyad.max(a, 0), lambda a: (a.max(0), a.argmax(0)), (x,))
    yield Case("max whole", polyad.max, np.max, (x,))
    yield Case("aminmax", polyad.aminmax, lambda a: (a.min(), a.max()), (x,))
    yield Case("var", lambda a: polyad.var(a, 1), lambda a: a.var(1, ddof=1), (x,))
    yield Case("var dim 0", lambda a: polyad.var(a, 0), lambda a: a.var(0, ddof=1), (x,))
    yield Case("std", lambda a: polyad.std(a, 1), lambda a: a.std(1, ddof=1), (x,))
    yield Case("std whole", polyad.std, lambda a: a.std(ddof=1), (x,))
    yield Case("var_mean", lambda a: polyad.var_mean(a, 1), lambda a: (a.var(1, ddof=1), a.mean(1)), (x,))
    yield Case("logsumexp", lambda a: polyad.logsumexp(a, 1), _logsumexp, (x,))
    yield Case("norm", polyad.linalg.vector_norm, lambda a: np.sqrt((a * a).sum()), (x,))
    yield Case("norm dim", lambda a: polyad.linalg.vector_norm(a, dim=1), lambda a: np.sqrt((a * a).sum(1)), (x,))
    yield Case("norm 1", lambda a: polyad.linalg.vector_norm(a, 1, 1), lambda a: np.abs(a).sum(1), (x,))
    yield Case(
        "norm 3", lambda a: polyad.linalg.vector_norm(a, 3, 1), lambda a: (np.abs(a) ** 3).sum(1) ** (1 / 3), (x,)
    )
    yield Case("norm inf", lambda a: polyad.linalg.vector_norm(a, np.inf, 1), lambda a: np.abs(a).max(1), (x,))
    yield Case("dist", polyad.dist, lambda a, b: np.linalg.norm(a.ravel() - b.ravel()), (x, arrays.y))
    yield Case("trace", polyad.trace, np.trace, (x,))
    yield Case("cov", polyad.cov, np.cov, (x[:128],))
    yield Case("corrcoef", polyad.corrcoef, np.corrcoef, (x[:128],))
    yield Case("trapezoid", polyad.trapezoid, np.trapezoid, (x,))


def _logsumexp(a: np.ndarray) -> np.ndarray:
    most = a.max(1, keepdims=True)
    return np.log(np.exp(a - most).sum(1)) + most[:, 0]


def _running(arrays: Arrays) -> Iterator[Case]:
    x, integers = arrays.x, arrays.integers
    for dim in (0, 1):
        yield Case(f"cumsum dim {dim}", lambda a, d=dim: polyad.cumsum(a, d), lambda a, d=dim: np.cumsum(a, d), (x,))
        yield Case(f"cumprod dim {dim}", lambda a, d=dim: polyad.cumprod(a, d), lambda a, d=dim: np.cumprod(a, d), (x,))
        yield Case(f"cummax dim {dim}", lambda a, d=dim: polyad.cummax(a, d), lambda a, d=dim: _cummax(a, d), (x,))
    yield Case("cummin", lambda a: polyad.cummin(a, 1), lambda a: _cummax(-a, 1), (x,))
    yield Case("cumsum int", lambda a: polyad.cumsum(a, 1), lambda a: np.cumsum(a, 1), (integers,))
    yield Case("logcumsumexp", lambda a: polyad.logcumsumexp(a, 1), lambda a: np.logaddexp.accumulate(a, 1), (x,))
    yield Case("diff", polyad.diff, np.diff, (x,))
    yield Case("diff dim 0", lambda a: polyad.diff(a, dim=0), lambda a: np.diff(a, axis=0), (x,))
    yield Case("gradient", lambda a: polyad.gradient(a, dim=0)[0], lambda a: np.gradient(a, axis=0), (x,))
    yield Case(
        "cumulative_trapezoid",
        polyad.cumulative_trapezoid,
        lambda a: np.cumsum((a[:, 1:] + a[:, :-1]) * np.float32(0.5), 1),
        (x,),
    )


def _cummax(a: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    values = np.maximum.accumulate(a, axis)
    shape = [1, 1]
    shape[axis] = -1
    return values, np.maximum.accumulate(np.where(a >= values, np.arange(a.shape[axis]).reshape(shape), 0), axis)


def _order(arrays: Arrays) -> Iterator[Case]:
    x, flat, integers = arrays.x, arrays.flat, arrays.integers
    yield Case("sort", lambda a: polyad.sort(a, 1), _sort, (x,))
    yield Case("sort dim 0", lambda a: polyad.sort(a, 0), lambda a: _sort(a, 0), (x,))
    yield Case("sort vector", polyad.sort, lambda a: _sort(a, 0), (flat,))
    yield Case("sort int", lambda a: polyad.sort(a, 1), _sort, (integers,))
    yield Case("msort", polyad.msort, lambda a: np.sort(a, 0), (x,))
    yield Case("argsort", lambda a: polyad.argsort(a, 1), lambda a: np.argsort(a, 1), (x,))
    yield Case("topk", lambda a: polyad.topk(a, 8, 1), _topk, (x,))
    yield Case("kthvalue", lambda a: polyad.kthvalue(a, 100, 1), lambda a: _kth(a, 99), (x,))
    yield Case("median", lambda a: polyad.median(a, 1), lambda a: _kth(a, 511), (x,))
    yield Case("median whole", polyad.median, lambda a: np.partition(a, 2**19 - 1)[2**19 - 1], (flat,))
    yield Case("nanmedian", lambda a: polyad.nanmedian(a, 1), lambda a: _kth(a, 511), (x,))
    yield Case("quantile", lambda a: polyad.quantile(a, 0.3, 1), lambda a: np.quantile(a, 0.3, 1), (x,))
    yield Case("nanquantile", lambda a: polyad.nanquantile(a, 0.3, 1), lambda a: np.nanquantile(a, 0.3, 1), (x[:64],))
    yield Case("mode", lambda a: polyad.mode(a, 1), _mode, (integers,))
    yield Case("unique", polyad.unique, np.unique, (integers,))
    yield Case(
        "unique counts",
        lambda a: polyad.unique(a, return_inverse=True, return_counts=True),
        lambda a: np.unique(a, return_inverse=True, return_counts=True),
        (integers,),
    )
    yield Case("unique rows", lambda a: polyad.unique(a, dim=0), lambda a: np.unique(a, axis=0), (integers % 2,))
    yield Case("unique_consecutive", polyad.unique_consecutive, _consecutive, (integers.ravel() // 100,))
    yield Case("bincount", polyad.bincount, np.bincount, (integers.reshape(-1),))
    yield Case("bincount weights", polyad.bincount, np.bincount, (integers.reshape(-1), flat))
    yield Case("histc", lambda a: polyad.histc(a, 100, -3, 3), lambda a: np.histogram(a, 100, (-3, 3)), (flat,))
    yield Case("histogram", lambda a: polyad.histogram(a, 100), lambda a: np.histogram(a, 100), (flat,))
    yield Case(
        "histogramdd",
        lambda a: polyad.histogramdd(a, [10, 10]),
        lambda a: np.histogramdd(a, [10, 10]),
        (flat.reshape(-1, 2),),
    )
    yield Case("searchsorted", polyad.searchsorted, np.searchsorted, (np.sort(flat[:4096]), flat))
    yield Case("bucketize", polyad.bucketize, lambda a, b: np.searchsorted(b, a), (arrays.x, np.sort(flat[:64])))
    yield Case("isin", polyad.isin, np.isin, (integers, np.arange(0, 1000, 7)))
    yield Case("isin float", polyad.isin, np.isin, (flat, flat[:1000].copy()))


def _sort(a: np.ndarray, axis: int = 1) -> tuple[np.ndarray, np.ndarray]:
    order = np.argsort(a, axis)
    return np.take_along_axis(a, order, axis), order


def _topk(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.argpartition(a, -8, 1)[:, -8:]
    values = np.take_along_axis(a, order, 1)
    inner = np.argsort(-values, 1)
    return np.take_along_axis(values, inner, 1), np.take_along_axis(order, inner, 1)


def _kth(a: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    order = np.argpartition(a, k, 1)[:, k]
    return np.take_along_axis(a, order[:, None], 1)[:, 0], order


def _mode(a: np.ndarray) -> np.ndarray:
    values = np.sort(a, 1)
    at = np.broadcast_to(np.arange(SIDE), a.shape)
    begins = np.zeros_like(at)
    begins[:, 1:] = np.where(values[:, 1:] == values[:, :-1], 0, at[:, 1:])
    longest = (at - np.maximum.accumulate(begins, 1)).argmax(1)
    return values[np.arange(SIDE), longest]


def _consecutive(a: np.ndarray) -> Any:
    return a[np.concatenate([[True], a[1:] != a[:-1]])]


def cases(arrays: Arrays) -> Iterator[Case]:
    yield from _reductions(arrays)
    yield from _running(arrays)
    yield from _order(arrays)
