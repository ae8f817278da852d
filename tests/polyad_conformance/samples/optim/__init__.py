"""Steps of optimizers: kernels and decompositions against the papers' formulas."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ...sample import ErrorCase, Maker, Sample


def largest(*inputs: Any) -> float:
    """The largest magnitude on the way: averages up to 2 are divided by roots and corrections of at least a half."""
    return 8.0


def state(make: Maker, shape: tuple[int, ...], squares: int) -> list[Any]:
    """A parameter, its gradient, an average, *squares* averages of squares and a step count."""
    return [
        *[make(shape) for _ in range(3)],
        *[make.positive(shape, 0.25, 2.0) for _ in range(squares)],
        np.array(3.0, np.float32),
    ]


def samples(
    op: str, options: dict[str, tuple[Any, ...]], inputs: Callable[[Maker, tuple[int, ...]], list[Any]], **fields: Any
) -> list[Sample]:
    made = [
        Sample(
            op=op,
            name=name,
            inputs=lambda make, params=params: (*inputs(make, (3, 7)), *params),
            **fields,
        )
        for name, params in options.items()
    ]
    params = next(iter(options.values()))
    for name, shape in (("empty", (0, 3)), ("0-d", ())):
        made.append(
            Sample(op=op, name=name, inputs=lambda make, shape=shape: (*inputs(make, shape), *params), **fields)
        )
    return made


def misfit(op: str, wrong: str, shapes: list[tuple[int, ...]], *params: Any) -> ErrorCase:
    """A step of tensors of which *wrong*, the first that has another shape than the parameter, does not fit."""
    other = next(shape for shape in shapes if shape not in (shapes[0], ()))
    return ErrorCase(
        op=op,
        name="shapes",
        call=lambda op, tensor: op(*[tensor(*shape) for shape in shapes], *params),
        raises=RuntimeError,
        match=re.escape(f"{op[1:]}: param {shapes[0]} and {wrong} {other}"),
    )


def rate_samples(op: str, options: dict[str, tuple[Any, ...]], counts: int, **fields: Any) -> list[Sample]:
    """Calls of an op of 0-d tensors: a step count, and further numbers of the state, below 1."""
    return [
        Sample(
            op=op,
            name=f"{name} step {step}",
            inputs=lambda make, params=params, step=step: (
                np.array(float(step), np.float32),
                *[np.array(0.75, np.float32) for _ in range(counts - 1)],
                *params,
            ),
            **fields,
        )
        for name, params in options.items()
        for step in (0, 1, 7)
    ]
