"""A captured model with its submodules as boxes, and the shapes of what goes from one to the next at the arrows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from .boxes import Box, Chart, cut, shape_text

__all__ = ["of_modules"]


def of_modules(graph: Any, depth: int, most: int) -> Chart:
    """Inputs, calls of submodules, ops, and outputs.

    A call is a box if it is *depth* levels down or calls no submodules itself, else a frame around what it does. So a
    box is a run of ops without a gap, and arrows do not run in a circle. The parameters of boxes are not drawn.
    """
    chart = Chart()
    box_of: dict[int, int] = {}  # of the value with that number, the box that gives it
    boxes: dict[Any, int] = {}  # of a call of a submodule
    waiting = {constant.value.number: constant.value for constant in graph.constants}
    labels: dict[tuple[int, int], dict[str, None]] = {}
    around = {call.number for node in graph.nodes for call in node.modules[:-1]}

    def add(box: Box) -> int:
        chart.boxes.append(box)
        return len(chart.boxes) - 1

    def connect(number: int, here: int) -> None:
        start = box_of[number]
        if start != here:
            labels.setdefault((start, here), {})[shape_text(graph.values[number].shape)] = None

    for value in graph.inputs:
        box_of[value.number] = add(Box(value.name, [], "leaf", f"input {value.name}: {value}"))
    for node in graph.nodes:
        calls = node.modules[:depth]
        box = calls[-1] if len(calls) == depth or (calls and calls[-1].number not in around) else None
        frames = tuple((call.number, f"{call.path} ({call.class_name})") for call in calls if call is not box)
        if box is None:
            here = add(Box(node.name, [], "op", f"{node.name} {node.line}".strip(), frames))
        else:
            if box.number not in boxes:
                boxes[box.number] = add(
                    Box(box.path, [box.class_name], "module", f"{box.path}: {box.class_name}", frames)
                )
            here = boxes[box.number]
        for number in node.uses:
            if number in waiting and box is None:
                value = waiting.pop(number)
                about = f"constant {value.name}: {value}"
                box_of[number] = add(Box(value.name, [], "parameter", about, frames))
            if number in box_of:
                connect(number, here)
        box_of.update((number, here) for number in node.makes)
    for value in graph.results:
        here = add(Box("result", [], "output", f"result: {value}"))
        if value.number in box_of:
            connect(value.number, here)
    return cut(_turned(chart, labels), most)


def _turned(chart: Chart, labels: dict[tuple[int, int], dict[str, None]]) -> Chart:
    """Boxes from the outputs on, as those of all charts."""
    last = len(chart.boxes) - 1
    found = {(last - start, last - end): ", ".join(shapes) for (start, end), shapes in labels.items()}
    return Chart(chart.boxes[::-1], list(found), labels=found)


def frames_of(chart: Chart) -> Iterator[tuple[str, list[int]]]:
    """Each frame's name, and the boxes in it; the outermost frames first."""
    members: dict[tuple[tuple[int, str], ...], list[int]] = {}
    for number, box in enumerate(chart.boxes):
        for depth in range(1, len(box.frames) + 1):
            members.setdefault(box.frames[:depth], []).append(number)
    for path in sorted(members, key=len):
        yield path[-1][1], members[path]
