"""A planned graph, and how it is computed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import onnx

from polyad.errors import PolyadError, safe_repr

from .operators import Compute, described

__all__ = ["Block", "ComputeError", "Step"]


class ComputeError(PolyadError, RuntimeError):
    """A node of a model that cannot be computed with what it was given."""


class Step:
    """One call of a plan."""

    __slots__ = ("call", "dead", "inputs", "operator", "outputs", "proto")

    def __init__(self, call: Compute, inputs: tuple[int, ...], outputs: tuple[int, ...], proto: onnx.NodeProto) -> None:
        self.call = call
        self.inputs = inputs
        self.outputs = outputs
        self.dead: tuple[int, ...] = ()
        self.proto = proto
        self.operator = ""
        """The operator of ONNX's own domain that it computes; empty for others, and for changes of form."""


class Block:
    """A graph, planned: its values have numbers, in the order in which they are met. 0 is what a node leaves out."""

    def __init__(self) -> None:
        self.template: list[Any] = [None]
        """The values before the first step: constants, and None for those that are still to come."""
        self.inputs: list[int] = []
        self.outputs: list[int] = []
        self.outer: list[tuple[int, int]] = []
        """Which of the values that its node is handed is which of this block."""
        self.steps: list[Step] = []

    def run(self, inputs: Iterable[Any], outer: Sequence[Any] = (), state: Iterable[tuple[int, Any]] = ()) -> list[Any]:
        """The outputs for these *inputs*; *outer* are values from around the graph, *state* those of the model."""
        values = self.template.copy()
        for slot, value in state:
            values[slot] = value
        for slot, value in zip(self.inputs, inputs, strict=True):
            values[slot] = value
        for index, slot in self.outer:
            values[slot] = outer[index]
        step = None
        try:
            for step in self.steps:
                made = step.call(*[values[slot] for slot in step.inputs])
                if len(step.outputs) == 1:
                    values[step.outputs[0]] = made
                else:
                    for slot, value in zip(step.outputs, made, strict=False):
                        values[slot] = value
                for slot in step.dead:
                    values[slot] = None
        except Exception as error:
            assert step is not None
            raise _naming_node(error, step, values) from error
        return [values[slot] for slot in self.outputs]

    def free_early(self) -> None:
        """Note after which step each value is wanted by nobody."""
        last: dict[int, int] = {}
        for index, step in enumerate(self.steps):
            for slot in (*step.inputs, *step.outputs):
                last[slot] = index
        for slot in (0, *self.outputs):
            last.pop(slot, None)
        freed: dict[int, list[int]] = {}
        for slot, index in last.items():
            if self.template[slot] is None:
                freed.setdefault(index, []).append(slot)
        for index, slots in freed.items():
            self.steps[index].dead = tuple(slots)


def _naming_node(error: Exception, step: Step, values: list[Any]) -> Exception:
    """The error of a step, naming the node and what it was given."""
    given = {safe_repr(name): values[slot] for name, slot in zip(step.proto.input, step.inputs, strict=False) if name}
    if isinstance(error, PolyadError):
        if "node" not in error.lines:
            error.add_operands(given)
            error.lines["node"] = described(step.proto)
        return error
    return ComputeError(
        f"{step.proto.op_type}: {type(error).__name__}: {error}",
        operands=given,
        notes={"node": described(step.proto)},
        fix="give the model inputs of the shapes and dtypes that it was made for",
    )
