"""Where the boxes of a chart go.

Layers by the longest path from the leaves, leaves just above their first use; then the order within layers, by
barycentres, swept down and up and kept where crossings are fewest (Sugiyama, Tagawa and Toda 1981); then x, by least
squares towards the neighbours under the constraint that boxes keep their distance, which is isotonic regression
(pool adjacent violators, Ayer et al. 1955). Arrows over several layers bend at points of their own in between, so they
run between boxes and not through them.

Invariant: no two boxes overlap, and (up to MOST_BENDS) no arrow crosses a box.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field
from itertools import pairwise
from operator import mul

from .boxes import Box, Chart

__all__ = ["CHARACTER", "LINE", "Places", "arrange"]

CHARACTER = 7.3
"""Width of a character of the monospaced font, 12 pixels high."""
LINE = 15
MARGIN = 10
GAP = 18
LAYER_GAP = 34
SWEEPS = 8
MOST_BENDS = 20_000
"""Beyond so many bends, arrows over several layers are straight lines."""


@dataclass(slots=True)
class Places:
    """Boxes as (left, top, width, height), arrows as lists of points from bottom to top edges of boxes."""

    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    arrows: list[list[tuple[float, float]]] = field(default_factory=list)
    width: float = 0.0
    height: float = 0.0


def arrange(chart: Chart) -> Places:
    """Give every box and arrow a place."""
    count = len(chart.boxes)
    level = _layers(chart)
    sizes = [_size(box) for box in chart.boxes]
    # Items are boxes and, numbered after them, the bends of arrows.
    links: list[tuple[int, int]] = []
    paths: list[list[int]] = []
    spans = sum(level[end] - level[start] - 1 for start, end in chart.arrows)
    for start, end in chart.arrows:
        path = [start]
        if spans <= MOST_BENDS:
            for between in range(level[start] + 1, level[end]):
                level.append(between)
                sizes.append((4.0, 0.0))
                path.append(len(level) - 1)
        path.append(end)
        links += pairwise(path)
        paths.append(path)
    rows: list[list[int]] = [[] for _ in range(max(level) + 1)]
    for item, row in enumerate(level):
        rows[row].append(item)
    above: list[list[int]] = [[] for _ in level]
    below: list[list[int]] = [[] for _ in level]
    for start, end in links:
        above[end].append(start)
        below[start].append(end)
    rows = _ordered(rows, above, below)
    light = {number for number in range(count) if not above[number]}
    widths = [width for width, _ in sizes]
    for (start, _), text in chart.labels.items():  # a text begins at the middle of its box
        widths[start] = max(widths[start], 2 * CHARACTER * len(text))
    x = _columns(rows, above, below, widths, count, light)
    return _placed(chart, rows, x, sizes, paths, level)


def _size(box: Box) -> tuple[float, float]:
    longest = max(map(len, [box.title, *box.lines]))
    return max(44.0, longest * CHARACTER + 16), LINE * (1 + len(box.lines)) + 10


def _layers(chart: Chart) -> list[int]:
    operands: list[list[int]] = [[] for _ in chart.boxes]
    uses: list[list[int]] = [[] for _ in chart.boxes]
    for start, end in chart.arrows:
        operands[end].append(start)
        uses[start].append(end)
    missing = [len(some) for some in operands]
    level = [0] * len(chart.boxes)
    ready = [number for number, left in enumerate(missing) if not left]
    order = []
    while ready:
        number = ready.pop()
        order.append(number)
        for use in uses[number]:
            level[use] = max(level[use], level[number] + 1)
            missing[use] -= 1
            if not missing[use]:
                ready.append(use)
    for number in reversed(order):
        if not operands[number] and uses[number]:
            level[number] = min(level[use] for use in uses[number]) - 1
    lowest = min(level, default=0)
    return [height - lowest for height in level]


def _ordered(rows: list[list[int]], above: list[list[int]], below: list[list[int]]) -> list[list[int]]:
    rows = [sorted(row) for row in rows]
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        neighbours = above if downwards else below
        for row in range(1, len(rows)) if downwards else range(len(rows) - 2, -1, -1):
            _sort_by_barycentre(rows[row], rows[row - 1] if downwards else rows[row + 1], neighbours)
        crossings = _crossings(rows, below)
        if crossings < fewest:
            best, fewest = [list(row) for row in rows], crossings
    return best


def _sort_by_barycentre(row: list[int], fixed: list[int], neighbours: list[list[int]]) -> None:
    position = {item: number for number, item in enumerate(fixed)}
    scale = len(fixed) / max(len(row), 1)
    key = {}
    for number, item in enumerate(row):
        near = [position[neighbour] for neighbour in neighbours[item] if neighbour in position]
        key[item] = sum(near) / len(near) if near else number * scale
    row.sort(key=key.__getitem__)


def _crossings(rows: list[list[int]], below: list[list[int]]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        position = {item: number for number, item in enumerate(lower)}
        ends: list[int] = []
        for item in upper:
            reached = sorted(position[neighbour] for neighbour in below[item] if neighbour in position)
            total += sum(len(ends) - bisect_left(ends, end + 1) for end in reached)
            for end in reached:
                insort(ends, end)
    return total


def _columns(
    rows: list[list[int]],
    above: list[list[int]],
    below: list[list[int]],
    widths: list[float],
    boxes: int,
    light: set[int],
) -> list[float]:
    """The middle of each item. *light* items, those without operands, give way, so that chains of ops are straight."""
    x = [0.0] * len(widths)
    for row in rows:
        _spread(row, x, [0.0] * len(row), [1.0] * len(row), widths)
    for sweep in range(SWEEPS):
        downwards = sweep % 2 == 0
        for row in rows if downwards else reversed(rows):
            wanted, weights = [], []
            for item in row:
                near = above[item] + below[item] if sweep >= SWEEPS - 2 else (above if downwards else below)[item]
                pulls = [0.02 if neighbour in light else 1.0 for neighbour in near]
                wanted.append(
                    sum(map(mul, pulls, [x[neighbour] for neighbour in near])) / sum(pulls) if near else x[item]
                )
                # Bends pull harder than boxes, so that long arrows are straight.
                weights.append(0.05 if item in light or not near else 4.0 if item >= boxes else 1.0)
            _spread(row, x, wanted, weights, widths)
    return x


def _spread(row: list[int], x: list[float], wanted: list[float], weights: list[float], widths: list[float]) -> None:
    """Put a row's items as near to where they are wanted as their order and distances allow, by least squares."""
    offsets, at = [], 0.0
    for number, item in enumerate(row):
        if number:
            at += (widths[row[number - 1]] + widths[item]) / 2 + GAP
        offsets.append(at)
    blocks: list[list[float]] = []  # weighted sum, weight, items
    for number in range(len(row)):
        blocks.append([(wanted[number] - offsets[number]) * weights[number], weights[number], 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            last = blocks.pop()
            blocks[-1] = [entry + last_entry for entry, last_entry in zip(blocks[-1], last)]
    number = 0
    for total, weight, items in blocks:
        for _ in range(int(items)):
            x[row[number]] = total / weight + offsets[number]
            number += 1


def _placed(
    chart: Chart,
    rows: list[list[int]],
    x: list[float],
    sizes: list[tuple[float, float]],
    paths: list[list[int]],
    level: list[int],
) -> Places:
    left = min(x[item] - sizes[item][0] / 2 for item in range(len(x))) - MARGIN
    tops, bottoms, at = [], [], float(MARGIN)
    for row in rows:
        height = max((sizes[item][1] for item in row), default=0.0)
        tops.append(at)
        bottoms.append(at + height)
        at += height + LAYER_GAP
    places = Places(height=at - LAYER_GAP + MARGIN)
    for item in range(len(chart.boxes)):
        width, height = sizes[item]
        top = (tops[level[item]] + bottoms[level[item]] - height) / 2
        places.boxes.append((x[item] - width / 2 - left, top, width, height))
    places.width = max(x[item] + sizes[item][0] / 2 for item in range(len(x))) - left + MARGIN
    for path in paths:
        first, last = places.boxes[path[0]], places.boxes[path[-1]]
        points = [(x[path[0]] - left, first[1] + first[3]), (x[path[0]] - left, bottoms[level[path[0]]])]
        for item in path[1:-1]:
            points += [(x[item] - left, tops[level[item]]), (x[item] - left, bottoms[level[item]])]
        points += [(x[path[-1]] - left, tops[level[path[-1]]]), (x[path[-1]] - left, last[1])]
        places.arrows.append(list(dict.fromkeys(points)))
    return places
