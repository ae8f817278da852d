"""Branches and loops: their graphs are blocks, which are handed what they take from around them."""

from __future__ import annotations

from itertools import count
from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import ShapeError

from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []


def _single_or_all(made: list[Any]) -> Any:
    return made[0] if len(made) == 1 else made


def _said(condition: Tensor) -> bool:
    """What a condition of one element says."""
    return bool(condition.item())


@operator("If", host=(0,))
def conditional(node: Node) -> Compute:
    then, otherwise = node.graph("then_branch", REQUIRED), node.graph("else_branch", REQUIRED)

    def call(condition: Any, *outer: Any) -> Any:
        return _single_or_all((then if condition[0] else otherwise).run((), outer))

    return call


@operator("Loop", host=(0, 1))
def loop(node: Node) -> Compute:
    body, inputs = node.graph("body", REQUIRED), node.inputs
    carried = len(body.inputs) - 2
    if inputs - 2 != carried or len(body.outputs) < 1 + carried or node.outputs > len(body.outputs) - 1:
        raise node.wrong(
            f"the body has {len(body.inputs)} inputs and {len(body.outputs)} outputs; "
            f"the node has {inputs} inputs and {node.outputs} outputs"
        )
    scanned = len(body.outputs) - 1 - carried

    def call(*given: Any) -> Any:
        most, first = given[0], given[1] if inputs > 1 else None
        state, outer = list(given[2:inputs]), given[inputs:]
        columns: list[list[Any]] = [[] for _ in range(scanned)]
        going = True if first is None else bool(first[0])
        for turn in count() if most is None else range(most[0]):
            if not going:
                break
            here = polyad.tensor(turn, device=node.device)
            made = body.run([here, polyad.tensor(True, device=node.device), *state], outer)
            going, state = _said(made[0]), made[1 : 1 + carried]
            for column, value in zip(columns, made[1 + carried :], strict=True):
                column.append(value)
        empty = [polyad.zeros(0, device=node.device)] * scanned
        stacked = [polyad.stack(column) if column else none for column, none in zip(columns, empty, strict=True)]
        return _single_or_all([*state, *stacked])

    return call


def _axes(node: Node, name: str, many: int) -> list[int]:
    return node.integers(name, None) or [0] * many


@operator("Scan", since=9)
def scan(node: Node) -> Compute:
    body, inputs, scanned = node.graph("body", REQUIRED), node.inputs, node.integer("num_scan_inputs", REQUIRED)
    carried = inputs - scanned
    made_columns = len(body.outputs) - carried
    if scanned < 1 or carried < 0 or len(body.inputs) != inputs or made_columns < 0:
        raise node.wrong(f"the body has {len(body.inputs)} inputs and {len(body.outputs)} outputs for {inputs} inputs")
    axes, backwards = _axes(node, "scan_input_axes", scanned), _axes(node, "scan_input_directions", scanned)
    out_axes = _axes(node, "scan_output_axes", made_columns)
    out_backwards = _axes(node, "scan_output_directions", made_columns)

    def call(*given: Any) -> Any:
        state, sequences, outer = list(given[:carried]), given[carried:inputs], given[inputs:]
        length = sequences[0].shape[axes[0]]
        if any(each.shape[axis] != length for each, axis in zip(sequences, axes, strict=True)):
            raise ShapeError(
                "Scan: the sequences have different lengths",
                operands={f"input{index}": each for index, each in enumerate(sequences)},
                fix="give sequences of one length",
            )
        columns: list[list[Any]] = [[] for _ in range(made_columns)]
        for turn in range(length):
            here = [
                each.select(axis, length - 1 - turn if turned else turn)
                for each, axis, turned in zip(sequences, axes, backwards, strict=True)
            ]
            made = body.run([*state, *here], outer)
            state = made[:carried]
            for column, value in zip(columns, made[carried:], strict=True):
                column.append(value)
        stacked = []
        for column, axis, turned in zip(columns, out_axes, out_backwards, strict=True):
            ordered = column[::-1] if turned else column
            stacked.append(polyad.stack(ordered, axis) if ordered else polyad.zeros(0, device=node.device))
        return _single_or_all([*state, *stacked])

    return call


@operator("Scan", since=8)
def scan_of_batches(node: Node) -> Compute:
    body, inputs, scanned = node.graph("body", REQUIRED), node.inputs, node.integer("num_scan_inputs", REQUIRED)
    carried = inputs - 1 - scanned
    backwards = _axes(node, "directions", scanned)
    if carried < 0 or node.has(0):
        raise node.refused("sequence_lens of operator set 8", "export the model with opset_version 9 or newer")

    def one(state: list[Any], sequences: list[Tensor], outer: Any) -> list[Any]:
        columns: list[list[Any]] = [[] for _ in range(len(body.outputs) - carried)]
        length = sequences[0].shape[0]
        for turn in range(length):
            here = [
                each[length - 1 - turn if turned else turn] for each, turned in zip(sequences, backwards, strict=True)
            ]
            made = body.run([*state, *here], outer)
            state = made[:carried]
            for column, value in zip(columns, made[carried:], strict=True):
                column.append(value)
        return [*state, *map(polyad.stack, columns)]

    def call(_: Any, *given: Any) -> Any:
        values, outer = given[: inputs - 1], given[inputs - 1 :]
        rows = [
            one([each[row] for each in values[:carried]], [each[row] for each in values[carried:]], outer)
            for row in range(values[0].shape[0])
        ]
        return _single_or_all([polyad.stack(column) for column in zip(*rows, strict=True)])

    return call
