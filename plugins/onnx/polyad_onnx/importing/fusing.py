"""Steps that exporters write one by one and polyad computes at once.

- a product with a matrix of the file and the addition of a vector of it: `linear`
- the five operators that are GELU by the error function: `gelu`

A value that is wanted elsewhere too is still made; so nothing but time and rounding changes.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import polyad.nn.functional as F
from polyad import Tensor

from .blocks import Block, Step

__all__ = ["fuse"]


def fuse(block: Block, shapes: Mapping[int, tuple[int, ...]], number: Callable[[int], Any]) -> None:
    """Replace steps of *block* by fewer.

    *shapes* are those of the file's tensors; *number* gives a constant of one element, and None for other values.
    """
    fusion = _Fusion(block, shapes, number)
    for step in list(block.steps):
        if step.operator == "Add":
            fusion.linear(step)
        elif step.operator == "Erf":
            fusion.gelu(step)
    block.steps = [step for step in block.steps if step not in fusion.gone]


class _Fusion:
    """Who makes each value of a block and who takes it."""

    def __init__(self, block: Block, shapes: Mapping[int, tuple[int, ...]], number: Callable[[int], Any]) -> None:
        self.shapes = shapes
        self.number = number
        self.makers = {slot: step for step in block.steps for slot in step.outputs}
        self.takers: dict[int, list[Step]] = {}
        for step in block.steps:
            for slot in step.inputs:
                self.takers.setdefault(slot, []).append(step)
        self.outputs = Counter(block.outputs)
        self.gone: set[Step] = set()

    def alone(self, slot: int) -> Step | None:
        """The one step that takes a value, if it is one and the value goes nowhere else."""
        takers = self.takers.get(slot, ())
        return takers[0] if len(takers) == 1 and not self.outputs[slot] else None

    def made_by(self, slot: int, operator: str) -> Step | None:
        """The step that makes a value, if it is of that operator."""
        step = self.makers.get(slot)
        return step if step is not None and step.operator == operator and step not in self.gone else None

    def linear(self, add: Step) -> None:
        """``x @ w + b``, where w is a matrix of the file, transposed or not, and b a vector of it."""
        for product, bias in (add.inputs, add.inputs[::-1]):
            matmul = self.made_by(product, "MatMul")
            if matmul is None or self.alone(product) is not add or len(self.shapes.get(bias, ())) != 1:
                continue
            x, weight = matmul.inputs
            turned = self.made_by(weight, "Transpose")
            if turned is not None and len(self.shapes.get(turned.inputs[0], ())) == 2:
                weight, call, features = turned.inputs[0], _apply_linear, 0
            else:
                turned, call, features = None, _linear_of_transposed, 1
            shape = self.shapes.get(weight, ())
            if len(shape) != 2 or self.shapes[bias] != (shape[features],):
                continue
            if turned is not None and self.alone(turned.outputs[0]) is matmul:
                self.gone.add(turned)
            self.gone.add(matmul)
            add.call, add.inputs, add.operator = call, (x, weight, bias), "Gemm"
            return

    def scalar(self, slot: int, number: float) -> bool:
        """Whether a value is a constant of one element, about *number*."""
        value = self.number(slot)
        return isinstance(value, float) and math.isclose(value, number, rel_tol=1e-3)

    def other(self, step: Step, slot: int) -> int:
        """What a step of two inputs takes beside *slot*."""
        first, second = step.inputs
        return second if first == slot else first

    def gelu(self, erf: Step) -> None:
        """``0.5 * x * (1 + erf(x / sqrt(2)))``, the factors in any order."""
        scaled = self.makers.get(erf.inputs[0])
        if scaled is None or self.alone(erf.inputs[0]) is not erf or len(scaled.inputs) != 2:
            return
        x, by = scaled.inputs
        if scaled.operator == "Mul" and self.scalar(x, math.sqrt(0.5)):
            x, by = by, x
        if not self.scalar(by, {"Div": math.sqrt(2), "Mul": math.sqrt(0.5)}.get(scaled.operator, math.nan)):
            return
        add = self.alone(erf.outputs[0])
        if add is None or add.operator != "Add" or not self.scalar(self.other(add, erf.outputs[0]), 1.0):
            return
        steps, slot, halved, multiplied = [scaled, erf, add], add.outputs[0], False, False
        while not (halved and multiplied):
            product = self.alone(slot)
            if product is None or product.operator != "Mul" or len(product.inputs) != 2:
                return
            factor = self.other(product, slot)
            half = self.made_by(factor, "Mul")
            if factor == x and not multiplied:
                multiplied = True
            elif self.scalar(factor, 0.5) and not halved:
                halved = True
            elif half is not None and x in half.inputs and self.scalar(self.other(half, x), 0.5):
                if halved or multiplied or self.alone(factor) is not product:
                    return
                halved = multiplied = True
                steps.append(half)
            else:
                return
            steps.append(product)
            slot = product.outputs[0]
        last = steps.pop()
        self.gone.update(steps)
        last.call, last.inputs, last.operator = F.gelu, (x,), "Gelu"


def _apply_linear(x: Tensor, weight: Tensor, bias: Tensor) -> Any:
    return F.linear(x, weight, bias)


def _linear_of_transposed(x: Tensor, weight: Tensor, bias: Tensor) -> Any:
    return F.linear(x, weight.t(), bias)
