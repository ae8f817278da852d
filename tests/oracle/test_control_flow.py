"""Control flow against PyTorch's: the same programs with both libraries, results and gradients."""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import polyad


def value(lib: Any, *shape: int, seed: int = 1) -> Any:
    return lib.tensor(np.random.default_rng(seed).normal(size=shape))


def leaves(found: Any) -> list[Any]:
    if isinstance(found, (list, tuple, dict)):
        items = found.values() if isinstance(found, dict) else found
        return [leaf for item in items for leaf in leaves(item)]
    return [found]


def with_gradients(program: Callable[..., Any]) -> Callable[[Any, Any], list[Any]]:
    """Results of a program of two tensors, 3 and 4 by 3, and the gradients of their squares."""

    def run(lib: Any, calls: Any) -> list[Any]:
        given = [value(lib, 3).requires_grad_(), value(lib, 4, 3, seed=2).requires_grad_()]
        results = leaves(program(lib, calls, *given))
        total = sum((one * one).sum() for one in results if one.is_floating_point())
        return [*results, *lib.autograd.grad(total, given)]

    return run


def chosen(threshold: float) -> Callable[..., Any]:
    return lambda lib, calls, w, x: lib.cond(
        x.sum() > threshold,
        lambda d: {"a": d["x"] * w, "b": [w + 1]},
        lambda d: {"a": d["x"].exp() + w, "b": [w * 3]},
        ({"x": x},),
    )


PROGRAMS: dict[str, Callable[[Any, Any], list[Any]]] = {
    "cond true": with_gradients(chosen(-100)),
    "cond false": with_gradients(chosen(100)),
    "cond of a batch": lambda lib, calls: [
        lib.func.vmap(lambda x: lib.cond(x.sum() > 0, lambda x: x * 2, lambda x: x.cos(), (x,)))(value(lib, 4, 3))
    ],
    "while_loop": with_gradients(
        lambda lib, calls, w, x: calls.while_loop(
            lambda n, x: n < 4, lambda n, x: (n + 1, x * w + 1), (lib.tensor(0), x)
        )
    ),
    "while_loop of a dict": lambda lib, calls: leaves(
        calls.while_loop(
            lambda d, x: d["n"] < 3, lambda d, x: ({"n": d["n"] + 1}, x + d["n"]), ({"n": lib.tensor(0)}, value(lib, 3))
        )
    ),
    "scan": with_gradients(lambda lib, calls, w, x: calls.scan(lambda c, x: (c * 0.5 + x, (c * x).tanh()), w, x)),
    "scan reversed": with_gradients(
        lambda lib, calls, w, x: calls.scan(lambda c, x: (c * x + 1, c + x), w.sum() * x[:, 0], x, dim=1, reverse=True)
    ),
    "scan of structures": with_gradients(
        lambda lib, calls, w, x: calls.scan(
            lambda c, x: ({"a": c["a"] + x[0]}, [c["a"] * x[1], x[0].clone()]), {"a": w}, (x, x * 2)
        )
    ),
    "map": with_gradients(lambda lib, calls, w, x: calls.map(lambda x, w: x * w + x.exp(), x, w)),
    "map of structures": lambda lib, calls: list(
        calls.map(lambda xs: (xs[0] + xs[1], xs[0].sum()), [value(lib, 4, 3), value(lib, 4, 3, seed=2)])
    ),
    "associative_scan": lambda lib, calls: [
        calls.associative_scan(lambda a, b: a * b, value(lib, 4, 3), 0, reverse=True, combine_mode="generic")
    ],
    "a branch in a scan": with_gradients(
        lambda lib, calls, w, x: calls.scan(
            lambda c, x: (lib.cond(x.sum() > 0, lambda c: c * x, lambda c: c - x, (c,)), c.clone()), w, x
        )
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_control_flow(name: str) -> None:
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for lib in (polyad, torch):
            calls = importlib.import_module(f"{lib.__name__}._higher_order_ops")
            found.append([one.detach().numpy() for one in PROGRAMS[name](lib, calls)])
    for ours, theirs in zip(*found, strict=True):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
