"""A small training run, step by step against the same run written in NumPy with gradients derived by hand."""

from __future__ import annotations

import numpy as np

import polyad

from ..calls import Target
from ..layouts import to_host

STEPS, RATE, GOAL = 100, 0.1, 0.1


def data() -> tuple[np.ndarray, ...]:
    """Two interleaved half circles, their labels (-1 and 1), and the weights to begin with."""
    random = np.random.default_rng(0)
    angle = random.uniform(0, np.pi, 64)
    label = np.where(np.arange(64) % 2, 1.0, -1.0)
    x = np.stack([np.cos(angle) * label + 0.5 * (label + 1), np.sin(angle) * label + 0.25 * (1 - label)], 1)
    return x, label[:, None], random.normal(0, 1, (2, 16)), np.zeros(16), random.normal(0, 0.3, (16, 1)), np.zeros(1)


def losses_in_numpy() -> list[float]:
    """The mean squared error before each step, in float64."""
    x, y, w1, b1, w2, b2 = data()
    losses = []
    for _ in range(STEPS):
        before = x @ w1 + b1
        hidden = np.maximum(before, 0)
        error = hidden @ w2 + b2 - y
        losses.append(float(np.mean(error**2)))
        slope = 2 * error / error.size
        back = (slope @ w2.T) * (before > 0)
        w2, b2 = w2 - RATE * hidden.T @ slope, b2 - RATE * slope.sum(0)
        w1, b1 = w1 - RATE * x.T @ back, b1 - RATE * back.sum(0)
    return losses


def check_training(target: Target) -> None:
    """Losses follow the reference at first, while rounding has not added up, and reach the goal."""
    x, y, *weights = (polyad.tensor(values.astype(np.float32), device=target.device) for values in data())
    for weight in weights:
        weight.requires_grad_()
    w1, b1, w2, b2 = weights
    losses = []
    with target.watching():
        for _ in range(STEPS):
            error = (x @ w1 + b1).relu() @ w2 + b2 - y
            loss = (error * error).mean()
            for weight in weights:
                weight.grad = None
            loss.backward()
            with polyad.no_grad():
                for weight in weights:
                    weight -= RATE * weight.grad
            losses.append(float(to_host(loss)))
    reference = losses_in_numpy()
    for step in range(10):
        off = abs(losses[step] - reference[step])
        assert off <= 1e-4 * max(1.0, reference[step]), (
            f"training: loss {losses[step]} at step {step}, the reference has {reference[step]}"
        )
    assert losses[-1] < GOAL, (
        f"training: loss {losses[-1]} after {STEPS} steps, the reference has {reference[-1]}, the goal is {GOAL}"
    )
