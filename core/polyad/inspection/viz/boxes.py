"""Graphs as boxes and arrows, from autograd's nodes or from a captured graph.

Boxes are numbered from the outputs on; an arrow goes the way of the data, from an operand to what uses it. Runs of ops
may be folded into a box, and of what is still too large only the part nearest to the outputs is kept: nobody reads a
picture of ten thousand boxes.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

from ...errors import ArgumentTypeError, AutogradError
from ...history.node import Leaf, Output
from ...tensor import Tensor

__all__ = ["Box", "Chart", "cut", "of_captured", "of_tensors", "shape_text"]

MOST_USES = 3
"""A leaf with more uses is drawn beside each of them."""

Style = Literal["op", "module", "parameter", "leaf", "output", "more"]


@dataclass(slots=True)
class Box:
    """A box.

    Attributes:
        title, lines: the text in it.
        style: how it looks: an op, a module, a named or an unnamed leaf, an output, or a box in place of others.
        about: what is shown on pointing at it.
        frames: the frames around it as numbers and names, the outermost first.
    """

    title: str
    lines: list[str]
    style: Style
    about: str = ""
    frames: tuple[tuple[int, str], ...] = ()


@dataclass(slots=True)
class Chart:
    """Boxes, and arrows as pairs of their numbers.

    Attributes:
        note: what was left out; empty if nothing was.
        labels: texts at arrows.
    """

    boxes: list[Box] = field(default_factory=list)
    arrows: list[tuple[int, int]] = field(default_factory=list)
    note: str = ""
    labels: dict[tuple[int, int], str] = field(default_factory=dict)


def of_tensors(outputs: Any, names: dict[int, str], most: int, fold: bool | None) -> Chart:
    """The history of tensors."""
    chart = Chart()
    numbers: dict[Any, int] = {}
    waiting: deque[Any] = deque()

    def number_of(node: Any) -> int:
        node = node.parent if isinstance(node, Output) else node
        if node not in numbers:
            numbers[node] = len(chart.boxes)
            chart.boxes.append(_box(node, names))
            waiting.append(node)
        return numbers[node]

    found = list(_tensors_by_path(outputs, ""))
    if not found:
        raise ArgumentTypeError(f"viz.graph: {type(outputs).__name__} has no tensors", fix="pass a tensor")
    for name, tensor in found:
        if tensor._node is None:
            raise AutogradError(
                f"viz.graph: {name or 'the tensor'} has no history and requires no gradient",
                operands={name or "outputs": tensor},
                fix="draw what was computed from a tensor with requires_grad=True, with gradients on",
            )
        if not isinstance(tensor._node, Leaf):
            title = names.get(id(tensor), name or "result")
            chart.boxes.append(
                Box(title, [shape_text(tensor.shape)], "output", _about(title, tensor.shape, tensor._type))
            )
            here = len(chart.boxes) - 1
            chart.arrows.append((number_of(tensor._node), here))
        else:
            number_of(tensor._node)
    while waiting:
        node = waiting.popleft()
        if isinstance(node, Leaf) and not node.calls:
            continue
        if node.calls is None:
            raise AutogradError(
                f"viz.graph: the graph was freed: {node.name()} has been run backward",
                fix="draw before backward, or pass retain_graph=True to it",
            )
        here = numbers[node]
        for target in node.targets():
            chart.arrows.append((number_of(target), here))
    return _reduced(chart, most, fold)


def of_captured(graph: Any, most: int, fold: bool | None) -> Chart:
    """A captured function: inputs and constants, calls, outputs."""
    from_left = Chart()
    box_of: dict[int, int] = {}

    def add(box: Box) -> int:
        from_left.boxes.append(box)
        return len(from_left.boxes) - 1

    for value in graph.inputs:
        box_of[value.number] = add(Box(value.name, [shape_text(value.shape)], "leaf", f"input {value.name}: {value}"))
    for constant in graph.constants:
        value = constant.value
        box_of[value.number] = add(
            Box(value.name, [shape_text(value.shape)], "parameter", f"constant {value.name}: {value}")
        )
    for node in graph.nodes:
        shapes = [shape_text(graph.values[number].shape) for number in node.results]
        here = add(Box(node.name, shapes[:3], "op", f"{node.name} {node.line}".strip()))
        from_left.arrows += [(box_of[number], here) for number in node.uses if number in box_of]
        box_of.update((number, here) for number in node.makes)
    for value in graph.results:
        here = add(Box("result", [shape_text(value.shape)], "output", f"result: {value}"))
        if value.number in box_of:
            from_left.arrows.append((box_of[value.number], here))
    # The same order as of tensors: from the outputs on.
    last = len(from_left.boxes) - 1
    arrows = [(last - start, last - end) for start, end in from_left.arrows]
    return _reduced(Chart(from_left.boxes[::-1], arrows), most, fold)


def _tensors_by_path(value: Any, path: str) -> Iterator[tuple[str, Tensor]]:
    if isinstance(value, Tensor):
        yield path, value
    elif isinstance(value, (list, tuple)):
        for number, part in enumerate(value):
            yield from _tensors_by_path(part, f"{path}[{number}]" if path else f"result {number}")
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _tensors_by_path(part, f"{path}.{key}" if path else str(key))


def _box(node: Any, names: dict[int, str]) -> Box:
    if isinstance(node, Leaf):
        tensor = node.tensor()
        name = names.get(id(tensor)) if tensor is not None else None
        title = name or "leaf"
        about = _about(title, node.shape, node.type)
        return Box(title, [shape_text(node.shape)], "parameter" if name else "leaf", about)
    title = re.sub(r"Backward\d*$", "", node.name()) or node.name()
    shape = getattr(node, "count", None)
    lines = [shape_text(node.shape)] if shape is None else [f"{shape} results"]
    return Box(title, lines, "op", _about(node.name(), node.shape, node.type))


def shape_text(shape: Any) -> str:
    """A shape as it is written in pictures."""
    return " × ".join(map(str, shape)) if len(shape) else "scalar"


def _about(name: str, shape: Any, type_: Any) -> str:
    return f"{name}: {type_.dtype.name} {tuple(shape)} on {type_.device}"


# -------------------------------------------------------------------------------------------------------- large graphs


def _reduced(chart: Chart, most: int, fold: bool | None) -> Chart:
    chart.arrows = list(dict.fromkeys(chart.arrows))
    total = len(chart.boxes)
    if fold or (fold is None and total > most):
        chart = _folded(chart)
        if len(chart.boxes) < total:
            chart.note = f"{total} boxes folded into {len(chart.boxes)}"
    chart = _with_copies(chart)
    return cut(chart, most, total)


def _with_copies(chart: Chart) -> Chart:
    """A leaf that many ops use, as the weights of a recurrent network, gets a box beside each of them."""
    uses: list[list[int]] = [[] for _ in chart.boxes]
    operands: list[list[int]] = [[] for _ in chart.boxes]
    for start, end in chart.arrows:
        uses[start].append(end)
        operands[end].append(start)
    many = {
        number
        for number, box in enumerate(chart.boxes)
        if box.style in ("leaf", "parameter") and not operands[number] and len(uses[number]) > MOST_USES
    }
    if not many:
        return chart
    copied = Chart(note=chart.note)
    places: dict[int, int] = {}
    waiting = deque(number for number in range(len(chart.boxes)) if not uses[number])

    def place_of(number: int) -> int:
        if number in places and number not in many:
            return places[number]
        box = chart.boxes[number]
        if number in many:
            box = Box(box.title, [*box.lines, f"one of {len(uses[number])} uses"], box.style, box.about)
        else:
            waiting.append(number)
        places[number] = len(copied.boxes)
        copied.boxes.append(box)
        return places[number]

    first = [place_of(number) for number in list(waiting)]
    for _ in first:
        waiting.popleft()
    while waiting:
        number = waiting.popleft()
        here = places[number]
        copied.arrows += [(place_of(operand), here) for operand in operands[number]]
    return copied


def _folded(chart: Chart) -> Chart:
    """Runs of ops with one operand and one use each, as a single box."""
    operands: list[list[int]] = [[] for _ in chart.boxes]
    uses: list[list[int]] = [[] for _ in chart.boxes]
    for start, end in chart.arrows:
        operands[end].append(start)
        uses[start].append(end)

    def follows(number: int) -> int | None:
        """The op before *number* in its run."""
        if chart.boxes[number].style != "op" or len(operands[number]) != 1:
            return None
        before = operands[number][0]
        return before if chart.boxes[before].style == "op" and len(uses[before]) == 1 else None

    inside = {before for number in range(len(chart.boxes)) if (before := follows(number)) is not None}
    folded, place = Chart(note=chart.note), [-1] * len(chart.boxes)
    for number, box in enumerate(chart.boxes):
        if number in inside:
            continue
        run = [number]
        while (before := follows(run[-1])) is not None:
            run.append(before)
        if len(run) > 1:
            titles = [chart.boxes[member].title for member in reversed(run)]
            shown = titles if len(titles) <= 4 else [*titles[:2], f"… {len(titles) - 3} more", titles[-1]]
            box = Box(f"{len(run)} ops", [*shown, *box.lines], "op", " → ".join(titles[:40]))
        folded.boxes.append(box)
        for member in run:
            place[member] = len(folded.boxes) - 1
    pairs = ((place[start], place[end]) for start, end in chart.arrows)
    folded.arrows = [(start, end) for start, end in dict.fromkeys(pairs) if start != end]
    return folded


def cut(chart: Chart, most: int, total: int | None = None) -> Chart:
    """The first *most* boxes, which are those nearest to the outputs, and a box for the rest, if there are more."""
    left_out = len(chart.boxes) - most
    if left_out <= 0:
        return chart
    total = len(chart.boxes) if total is None else total
    labels = {arrow: text for arrow, text in chart.labels.items() if max(arrow) < most}
    kept = Chart(boxes=chart.boxes[:most], labels=labels)
    kept.boxes.append(Box(f"… {left_out:,} more", [f"of {total:,}"], "more", "not drawn; raise max_boxes to see more"))
    pairs = ((min(start, most), min(end, most)) for start, end in chart.arrows)
    kept.arrows = [(start, end) for start, end in dict.fromkeys(pairs) if start != end]
    # What is left out may in turn use boxes that are kept; such arrows would run in a circle.
    kept.arrows = [(start, end) for start, end in kept.arrows if end != most]
    kept.note = f"the {most} boxes nearest to the outputs, of {total:,}"
    return kept
