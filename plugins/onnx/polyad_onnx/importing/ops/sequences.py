"""Sequences, which are lists of tensors, and optional values, which are None if they are empty."""

from __future__ import annotations

from typing import Any

import polyad
from polyad import Tensor
from polyad.errors import IndexOutOfRange

from ..operators import REQUIRED, Compute, Node, operator

__all__: list[str] = []


def _position_in(sequence: list[Any], position: Any, room: int = 0) -> int:
    """A place in a sequence, which may be counted from its end."""
    place = position[0]
    size = len(sequence) + room
    if not -len(sequence) <= place < size:
        raise IndexOutOfRange(
            f"position {place} is not in a sequence of {len(sequence)}", fix=f"use {-len(sequence)} to {size - 1}"
        )
    return place if place >= 0 else place + len(sequence)


@operator("SequenceConstruct")
def sequence_construct(node: Node) -> Compute:
    return lambda *xs: list(xs)


@operator("SequenceEmpty")
def sequence_empty(node: Node) -> Compute:
    return list


@operator("SequenceAt", host=(1,))
def sequence_at(node: Node) -> Compute:
    return lambda sequence, position: sequence[_position_in(sequence, position)]


@operator("SequenceInsert", host=(2,))
def sequence_insert(node: Node) -> Compute:
    def call(sequence: list[Any], x: Any, position: Any = None) -> list[Any]:
        place = len(sequence) if position is None else _position_in(sequence, position, 1)
        return [*sequence[:place], x, *sequence[place:]]

    return call


@operator("SequenceErase", host=(1,))
def sequence_erase(node: Node) -> Compute:
    def call(sequence: list[Any], position: Any = (-1,)) -> list[Any]:
        place = _position_in(sequence, position)
        return [*sequence[:place], *sequence[place + 1 :]]

    return call


@operator("SequenceLength")
def sequence_length(node: Node) -> Compute:
    return lambda sequence: polyad.tensor(len(sequence), device=node.device)


@operator("ConcatFromSequence")
def concat_from_sequence(node: Node) -> Compute:
    axis, new = node.integer("axis", REQUIRED), node.integer("new_axis", 0)
    return lambda sequence: polyad.stack(sequence, axis) if new else polyad.cat(sequence, axis)


@operator("SplitToSequence", host=(1,))
def split_to_sequence(node: Node) -> Compute:
    axis, keep = node.integer("axis", 0), node.integer("keepdims", 1)

    def call(x: Tensor, sizes: Any = None) -> list[Tensor]:
        if sizes is None:
            return list(x.split(1, axis)) if keep else list(x.unbind(axis))
        return list(x.split(sizes if len(sizes) > 1 else sizes[0], axis))

    return call


@operator("SequenceMap")
def sequence_map(node: Node) -> Compute:
    body, inputs = node.graph("body", REQUIRED), node.inputs

    def call(*given: Any) -> Any:
        values, outer = given[:inputs], given[inputs:]
        columns: list[list[Any]] = [[] for _ in body.outputs]
        for index in range(len(values[0])):
            here = [value[index] if isinstance(value, list) else value for value in values]
            for column, made in zip(columns, body.run(here, outer), strict=True):
                column.append(made)
        return columns[0] if len(columns) == 1 else columns

    return call


@operator("Optional")
def optional(node: Node) -> Compute:
    return lambda x=None: x


@operator("OptionalHasElement")
def optional_has_element(node: Node) -> Compute:
    return lambda x=None: polyad.tensor(x is not None, device=node.device)


@operator("OptionalGetElement")
def optional_get_element(node: Node) -> Compute:
    return lambda x: x
