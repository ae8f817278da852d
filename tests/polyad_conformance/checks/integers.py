"""Integers that no floating type holds, through kernels that move, compare, add and multiply them.

A kernel that computes or keeps int64 in float64 or in 32 bits is right for the small numbers of samples.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polyad

from ..calls import Target
from ..layouts import to_host

WIDE = (np.arange(24).reshape(4, 6) * 0x123456789ABCD - 2**50) | 1
"""Numbers of 51 bits and more, near each other in pairs once 1 is taken from some; their sums have less than 63."""

Pairs = list[tuple[str, Callable[..., Any], Any]]


def _pairs(device: Any) -> Pairs:
    near = WIDE - 2 * (np.arange(WIDE.size).reshape(WIDE.shape) % 2) + 2**60
    other = near[::-1].copy()
    order = np.argsort(near[:, ::-1], axis=1)
    place = np.arange(24).reshape(4, 6) % 4
    scattered = np.zeros((4, 6), np.int64)
    np.add.at(scattered, (place, np.arange(6)[None, :].repeat(4, 0)), WIDE)
    with np.errstate(over="ignore"):
        product = WIDE @ WIDE.T

    def on(values: Any) -> Any:
        return polyad.tensor(values, device=device)

    return [
        ("maximum", lambda: polyad.maximum(on(near), on(near - 1)), near),
        ("minimum", lambda: polyad.minimum(on(near), on(near - 1)), near - 1),
        ("where", lambda: polyad.where(on(near > other), on(near), on(other)), np.where(near > other, near, other)),
        ("sort", lambda: on(near[:, ::-1].copy()).sort(1).values, np.take_along_axis(near[:, ::-1], order, 1)),
        ("cumsum", lambda: on(WIDE).cumsum(1), WIDE.cumsum(1)),
        ("sum", lambda: on(WIDE).sum(0), WIDE.sum(0)),
        ("prod", lambda: on(np.array([3, 2**31 + 1, 715827883])).prod(), np.int64(3 * (2**31 + 1) * 715827883)),
        ("pow", lambda: on(np.array([3, -7, 2097151])) ** 3, np.array([27, -343, 2097151**3])),
        ("matmul", lambda: on(WIDE) @ on(WIDE).T, product),  # modulo 2**64
        ("scatter_add", lambda: on(WIDE * 0).scatter_add(0, on(place), on(WIDE)), scattered),
        ("gather", lambda: on(near).gather(0, on(place)), np.take_along_axis(near, place, 0)),
        ("index_select", lambda: on(near).index_select(1, on(np.array([5, 0]))), near[:, [5, 0]]),
        ("cat", lambda: polyad.cat([on(near), on(other)]), np.concatenate([near, other])),
        ("amin", lambda: on(near).amin(0), near.min(0)),
        ("clone", lambda: on(near).T.clone(), near.T),
    ]


def check_wide_integers(target: Target) -> None:
    """Every bit of int64 results."""
    for name, call, expected in _pairs(target.device):
        with target.watching():
            result = call()
        got = to_host(result)
        wrong = np.flatnonzero(got.reshape(-1) != np.asarray(expected).reshape(-1))
        assert got.shape == np.shape(expected), f"{name} of wide integers: shape {got.shape}"
        assert not wrong.size, (
            f"{name} of wide integers is wrong in {wrong.size} of {got.size} elements: "
            f"{got.reshape(-1)[wrong[0]]}, expected {np.asarray(expected).reshape(-1)[wrong[0]]}"
        )
