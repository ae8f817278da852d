"""Steps of optimizers: the fused kernels and their decompositions against the papers' formulas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from polyad.dtypes import float32

from ..sample import COMPLEX, REAL_FLOATS, ErrorCase, Maker, Sample, always, same


def largest(*inputs: Any) -> float:
    """The largest magnitude on the way: averages up to 2 are divided by roots and corrections of at least a half."""
    return 8.0


def sgd(param: Any, grad: Any, lr: float, decay: float, maximize: bool) -> Any:
    return param - lr * ((-grad if maximize else grad) + decay * param)


def momentum(
    param: Any,
    grad: Any,
    buffer: Any,
    lr: float,
    keep: float,
    damp: float,
    decay: float,
    nesterov: bool,
    maximize: bool,
) -> Any:
    grad = (-grad if maximize else grad) + decay * param
    buffer = keep * buffer + (1 - damp) * grad
    return param - lr * (grad + keep * buffer if nesterov else buffer), buffer


def adam(
    param: Any,
    grad: Any,
    first: Any,
    second: Any,
    step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    decoupled: bool,
    maximize: bool,
) -> Any:
    param, _, first, second, _, step = amsgrad(
        param, grad, first, second, 0 * second, step, lr, beta1, beta2, eps, decay, decoupled, maximize, False
    )
    return param, first, second, step


def amsgrad(
    param: Any,
    grad: Any,
    first: Any,
    second: Any,
    largest: Any,
    step: Any,
    lr: float,
    beta1: float,
    beta2: float,
    eps: float,
    decay: float,
    decoupled: bool,
    maximize: bool,
    keep_largest: bool = True,
) -> Any:
    grad = -grad if maximize else grad
    if decoupled:
        param = (1 - lr * decay) * param
    else:
        grad = grad + decay * param
    step = step + 1
    first = beta1 * first + (1 - beta1) * grad
    second = beta2 * second + (1 - beta2) * grad**2
    largest = np.maximum(largest, second)
    spread = np.sqrt((largest if keep_largest else second) / (1 - beta2**step))
    param = param - lr * first / (1 - beta1**step) / (spread + eps)
    return param, grad, first, second, largest, step


def reordered(*args: Any) -> Any:
    param, _, first, second, largest, step = amsgrad(*args)
    return param, first, second, largest, step


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


SAMPLES = [
    *samples(
        "_sgd_step",
        {"plain": (0.1, 0.0, False), "decay": (0.1, 0.5, False), "maximize": (0.1, 0.5, True)},
        lambda make, shape: [make(shape), make(shape)],
        reference=sgd,
        dtypes=(*REAL_FLOATS, *COMPLEX),
        steps=5,
        magnitude=largest,
        expand=False,
    ),
    *samples(
        "_sgd_momentum_step",
        {
            "plain": (0.1, 0.9, 0.0, 0.0, False, False),
            "dampening": (0.1, 0.9, 0.5, 0.5, False, True),
            "nesterov": (0.1, 0.9, 0.0, 0.5, True, False),
        },
        lambda make, shape: [make(shape), make(shape), make(shape)],
        reference=momentum,
        dtypes=(*REAL_FLOATS, *COMPLEX),
        result=(same, same),
        steps=8,
        magnitude=largest,
        expand=False,
    ),
    *samples(
        "_adam_step",
        {
            "plain": (0.1, 0.5, 0.75, 0.01, 0.0, False, False),
            "decay": (0.1, 0.5, 0.75, 0.01, 0.5, False, True),
            "decoupled": (0.1, 0.5, 0.75, 0.01, 0.5, True, False),
            "no memory": (0.1, 0.0, 0.75, 0.01, 0.0, False, False),
        },
        lambda make, shape: state(make, shape, 1),
        reference=adam,
        dtypes=REAL_FLOATS,
        result=(same, same, same, always(float32)),
        steps=15,
        magnitude=largest,
        expand=False,
    ),
    *samples(
        "_amsgrad_step",
        {
            "plain": (0.1, 0.5, 0.75, 0.01, 0.0, False, False),
            "decay": (0.1, 0.5, 0.75, 0.01, 0.5, False, True),
            "decoupled": (0.1, 0.5, 0.75, 0.01, 0.5, True, False),
        },
        lambda make, shape: state(make, shape, 2),
        reference=reordered,
        dtypes=REAL_FLOATS,
        result=(same, same, same, same, always(float32)),
        steps=15,
        magnitude=largest,
        expand=False,
    ),
]

ERRORS = [
    ErrorCase(
        op="_sgd_step",
        name="shapes",
        call=lambda op, tensor: op(tensor(2, 3), tensor(3), 0.1, 0.0, False),
        raises=RuntimeError,
        match=r"sgd_step: param \(2, 3\) and grad \(3,\)",
    ),
    ErrorCase(
        op="_adam_step",
        name="shapes",
        call=lambda op, tensor: op(
            tensor(2, 3), tensor(2, 3), tensor(2), tensor(2, 3), tensor(), 0.1, 0.9, 0.99, 1e-8, 0.0, False, False
        ),
        raises=RuntimeError,
        match=r"adam_step: param \(2, 3\) and exp_avg \(2,\)",
    ),
]
