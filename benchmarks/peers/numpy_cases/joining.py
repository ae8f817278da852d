"""Joining, repeating, flipping, padding and combining."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import scipy.linalg

import polyad
from polyad.nn import functional as F

from .arrays import Arrays, Case


def cases(arrays: Arrays) -> Iterator[Case]:
    x, y, flat = arrays.x, arrays.y, arrays.flat
    yield Case("cat", lambda a, b: polyad.cat([a, b]), lambda a, b: np.concatenate([a, b]), (x, y))
    yield Case("cat dim 1", lambda a, b: polyad.cat([a, b], 1), lambda a, b: np.concatenate([a, b], 1), (x, y))
    yield Case(
        "cat mixed",
        lambda a, b: polyad.cat([a, b]),
        lambda a, b: np.concatenate([a, b]),
        (x, y.astype(np.float64)),
    )
    for dim in (0, 1, 2):
        yield Case(
            f"stack dim {dim}",
            lambda a, b, d=dim: polyad.stack([a, b], d),
            lambda a, b, d=dim: np.stack([a, b], d),
            (x, y),
        )
    for name in ("hstack", "vstack", "dstack", "column_stack"):
        ours, theirs = getattr(polyad, name), getattr(np, name)
        yield Case(name, lambda a, b, f=ours: f([a, b]), lambda a, b, f=theirs: f([a, b]), (x, y))
    yield Case("block_diag", polyad.block_diag, scipy.linalg.block_diag, (x[:512, :512], y[:512, :512]))
    yield Case(
        "meshgrid",
        lambda a, b: [m.clone() for m in polyad.meshgrid(a, b, indexing="ij")],
        lambda a, b: np.meshgrid(a, b, indexing="ij"),
        (x[0], y[0]),
    )
    yield Case("cartesian_prod", polyad.cartesian_prod, _cartesian, (x[0], y[0]))
    yield Case(
        "combinations",
        polyad.combinations,
        lambda a: a[np.array(list(itertools.combinations(range(len(a)), 2)))],
        (x[0, :512],),
    )
    yield Case("tile", lambda a: polyad.tile(a, (2, 2)), lambda a: np.tile(a, (2, 2)), (x,))
    yield Case("repeat", lambda a: a.repeat(2, 3), lambda a: np.tile(a, (2, 3)), (x,))
    yield Case("repeat_interleave", lambda a: polyad.repeat_interleave(a, 3, 1), lambda a: np.repeat(a, 3, 1), (x,))
    yield Case(
        "repeat_interleave tensor",
        lambda a, n: polyad.repeat_interleave(a, n, 0),
        lambda a, n: np.repeat(a, n, 0),
        (x, arrays.integers[0] % 4),
    )
    yield Case("flip", lambda a: polyad.flip(a, (1,)), lambda a: np.flip(a, 1).copy(), (x,))
    yield Case("flip dims 0, 1", lambda a: polyad.flip(a, (0, 1)), lambda a: np.flip(a).copy(), (x,))
    yield Case("fliplr", polyad.fliplr, lambda a: np.fliplr(a).copy(), (x,))
    yield Case("rot90", polyad.rot90, lambda a: np.rot90(a).copy(), (x,))
    yield Case("roll", lambda a: polyad.roll(a, 5, 1), lambda a: np.roll(a, 5, 1), (x,))
    yield Case("roll dims", lambda a: polyad.roll(a, (5, 7), (0, 1)), lambda a: np.roll(a, (5, 7), (0, 1)), (x,))
    yield Case("roll flat", lambda a: polyad.roll(a, 5), lambda a: np.roll(a, 5), (x,))
    yield Case("tril", polyad.tril, np.tril, (x,))
    yield Case("triu", polyad.triu, np.triu, (x,))
    yield Case("diag", polyad.diag, np.diag, (flat[:2048],))
    yield Case("diag_embed", polyad.diag_embed, _diag_embed, (x[:16],))
    yield Case("pad", lambda a: F.pad(a, (1, 1, 1, 1)), lambda a: np.pad(a, 1), (x,))
    for mode, numpys in (("reflect", "reflect"), ("replicate", "edge"), ("circular", "wrap")):
        yield Case(
            f"pad {mode}",
            lambda a, m=mode: F.pad(a, (1, 1, 1, 1), mode=m),
            lambda a, m=numpys: np.pad(a, ((0, 0), (0, 0), (1, 1), (1, 1)), m),
            (arrays.image,),
        )
    yield Case("vander", polyad.vander, np.vander, (x[0],))
    yield Case(
        "unravel_index",
        lambda i: polyad.unravel_index(i, (1024, 1024)),
        lambda i: np.unravel_index(i, (1024, 1024)),
        (arrays.order,),
    )
    yield Case("tril_indices", lambda: polyad.tril_indices(1024, 1024), lambda: np.tril_indices(1024), ())


def _cartesian(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    made = np.empty((len(a), len(b), 2), a.dtype)
    made[..., 0] = a[:, None]
    made[..., 1] = b
    return made.reshape(-1, 2)


def _diag_embed(a: np.ndarray) -> np.ndarray:
    made = np.zeros((*a.shape, a.shape[-1]), a.dtype)
    places = np.arange(a.shape[-1])
    made[..., places, places] = a
    return made
