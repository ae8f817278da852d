"""Steps of optimisers, of ONNX's training domain."""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor

from ..operators import REQUIRED, TRAINING, Compute, Node, operator

__all__: list[str] = []


def _by_tensor(parts: int, inputs: tuple[Any, ...], step: Any) -> Any:
    """*step* for each of the tensors that a node trains; ONNX lists the first of all, then the second of all."""
    rate, turn, *rest = inputs
    many = len(rest) // parts
    made = [step(rate, turn, *(rest[part * many + index] for part in range(parts))) for index in range(many)]
    return [each for column in zip(*made, strict=True) for each in column]


@operator("Adagrad", domain=TRAINING)
def adagrad(node: Node) -> Compute:
    decay, epsilon = node.number("decay_factor", 0.0), node.number("epsilon", 0.0)
    penalty = node.number("norm_coefficient", 0.0)

    def step(rate: Tensor, turn: Tensor, x: Tensor, gradient: Tensor, squares: Tensor) -> tuple[Tensor, ...]:
        slower = rate / (1 + turn * decay)
        gradient = penalty * x + gradient
        squares = squares + gradient * gradient
        return x - slower * gradient / (squares.sqrt() + epsilon), squares

    return lambda *inputs: _by_tensor(3, inputs, step)


@operator("Momentum", domain=TRAINING)
def momentum(node: Node) -> Compute:
    alpha, beta, penalty = (
        node.number("alpha", REQUIRED),
        node.number("beta", REQUIRED),
        node.number("norm_coefficient", REQUIRED),
    )
    ahead = node.choice("mode", "standard", "standard", "nesterov") == "nesterov"

    def step(rate: Tensor, turn: Tensor, x: Tensor, gradient: Tensor, velocity: Tensor) -> tuple[Tensor, ...]:
        gradient = penalty * x + gradient
        by = polyad.where(turn > 0, beta, 1.0).to(x.dtype)
        velocity = alpha * velocity + by * gradient
        return x - rate * (gradient + alpha * velocity if ahead else velocity), velocity

    return lambda *inputs: _by_tensor(3, inputs, step)


@operator("Adam", domain=TRAINING)
def adam(node: Node) -> Compute:
    alpha, beta = node.number("alpha", 0.9), node.number("beta", 0.999)
    epsilon, before, after = (
        node.number("epsilon", 0.0),
        node.number("norm_coefficient", 0.0),
        node.number("norm_coefficient_post", 0.0),
    )

    def step(
        rate: Tensor, turn: Tensor, x: Tensor, gradient: Tensor, mean: Tensor, squares: Tensor
    ) -> tuple[Tensor, ...]:
        gradient = before * x + gradient
        mean = alpha * mean + (1 - alpha) * gradient
        squares = beta * squares + (1 - beta) * gradient * gradient
        time = turn.to(x.dtype)
        corrected = rate * (1 - beta**time).sqrt() / (1 - alpha**time)
        adjusted = polyad.where(turn > 0, corrected, rate)
        made = x - adjusted * mean / (squares.sqrt() + epsilon)
        return (1 - after) * made, mean, squares

    return lambda *inputs: _by_tensor(4, inputs, step)
