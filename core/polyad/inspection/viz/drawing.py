"""SVG and DOT of a chart.

Boxes are filled and bring their own dark text, arrows are of a middle grey, and there is no background, so that a
picture is readable on light and dark pages alike.
"""

from __future__ import annotations

from xml.sax.saxutils import escape

from .boxes import Chart
from .layering import CHARACTER, LINE, Places
from .modules import frames_of

__all__ = ["dot", "svg"]

COLOURS = {
    "op": ("#eceff1", "#78909c"),
    "module": ("#e1e4f7", "#5c6bc0"),
    "parameter": ("#bbdefb", "#1e88e5"),
    "leaf": ("#c8e6c9", "#43a047"),
    "output": ("#ffe0b2", "#fb8c00"),
    "more": ("#f5f5f5", "#9e9e9e"),
}
"""Fill and border by a box's style."""

ARROW = "#8a939b"
TEXT = "#1c2429"


def svg(chart: Chart, places: Places) -> str:
    """An SVG document."""
    labels = _labels(chart, places)
    width, height = max([places.width, *(x + CHARACTER * len(text) for text, x, _ in labels)]), places.height
    note = f"Only {chart.note}" if chart.note.startswith("the ") else chart.note
    if note:
        width, height = max(width, 7.3 * len(note) + 36), height + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.1f} {height:.1f}" font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" '
        f'font-size="12" text-anchor="middle">',
        '<defs><marker id="polyad-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0.5 L8 4 L0 7.5 z" fill="{ARROW}"/></marker></defs>',
        *_frames(chart, places),
        f'<g fill="none" stroke="{ARROW}" stroke-width="1.4">',
    ]
    parts += [f'<path d="{_curve(points)}" marker-end="url(#polyad-tip)"/>' for points in places.arrows]
    parts.append("</g>")
    parts += [
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="11" text-anchor="start" fill="{ARROW}">{escape(text)}</text>'
        for text, x, y in labels
    ]
    for box, (left, top, wide, high) in zip(chart.boxes, places.boxes, strict=True):
        fill, border = COLOURS[box.style]
        dashes = ' stroke-dasharray="4 3"' if box.style == "more" else ""
        parts.append(
            f'<g><title>{escape(box.about or box.title)}</title><rect x="{left:.1f}" y="{top:.1f}" width="{wide:.1f}" '
            f'height="{high:.1f}" rx="{4 if box.style == "op" else 9}" fill="{fill}" stroke="{border}"{dashes}/>'
        )
        for number, line in enumerate([box.title, *box.lines]):
            style = ' font-weight="bold"' if number == 0 else ""
            colour = TEXT if number == 0 else "#455a64"
            y = top + 5 + LINE * (number + 1) - 3.5
            parts.append(f'<text x="{left + wide / 2:.1f}" y="{y:.1f}" fill="{colour}"{style}>{escape(line)}</text>')
        parts.append("</g>")
    if note:
        top, wide = height - 32, 7.3 * len(note) + 16
        parts.append(
            f'<rect x="10" y="{top:.1f}" width="{wide:.1f}" height="22" rx="4" fill="#fff9c4" stroke="#fbc02d"/>'
            f'<text x="{10 + wide / 2:.1f}" y="{top + 15:.1f}" fill="{TEXT}">{escape(note)}</text>'
        )
    return "\n".join([*parts, "</svg>\n"])


def _frames(chart: Chart, places: Places) -> list[str]:
    """A rectangle around the boxes of each frame, with its name; none where it would be around other boxes too."""
    parts = []
    for name, members in frames_of(chart):
        inside = [places.boxes[number] for number in members]
        depth = max(len(chart.boxes[number].frames) for number in members)
        space = 5.0 + 3 * depth
        left, top = min(box[0] for box in inside) - space, min(box[1] for box in inside) - space - LINE
        right, bottom = (max(box[n] + box[n + 2] for box in inside) + space for n in (0, 1))
        right = max(right, left + len(name) * CHARACTER + 12)
        others = (places.boxes[number] for number in {*range(len(chart.boxes))} - {*members})
        if any(x < right and x + wide > left and y < bottom and y + high > top for x, y, wide, high in others):
            continue
        parts.append(
            f'<rect x="{left:.1f}" y="{top:.1f}" width="{right - left:.1f}" height="{bottom - top:.1f}" rx="8" '
            f'fill="{COLOURS["module"][1]}" fill-opacity="0.1" stroke="{COLOURS["module"][1]}" stroke-dasharray="2 3"/>'
            f'<text x="{left + 6:.1f}" y="{top + 12:.1f}" font-size="11" text-anchor="start" fill="{ARROW}">'
            f"{escape(name)}</text>"
        )
    return parts


def _labels(chart: Chart, places: Places) -> list[tuple[str, float, float]]:
    """Texts and where they begin: at the right of an arrow's beginning, once for all arrows that leave a box there."""
    found: dict[tuple[int, str], tuple[str, float, float]] = {}
    for arrow, points in zip(chart.arrows, places.arrows, strict=True):
        if text := chart.labels.get(arrow):
            found.setdefault((arrow[0], text), (text, points[0][0] + 5, points[0][1] + 12))
    return list(found.values())


def _curve(points: list[tuple[float, float]]) -> str:
    (x, y), *rest = points
    path = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        if abs(to_x - x) < 0.05:
            path.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            middle = (y + to_y) / 2
            path.append(f"C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return " ".join(path)


def dot(chart: Chart) -> str:
    """A digraph in DOT."""
    lines = [
        "digraph polyad {",
        f'  graph [bgcolor="transparent", rankdir=TB, label={_quoted(chart.note)}, fontcolor="{ARROW}"];',
        '  node [shape=box, style="filled,rounded", fontname="monospace", fontsize=11];',
        f'  edge [color="{ARROW}"];',
    ]
    for number, box in enumerate(chart.boxes):
        fill, border = COLOURS[box.style]
        label = _quoted("\n".join([box.title, *box.lines]))
        lines.append(
            f'  n{number} [label={label}, tooltip={_quoted(box.about)}, fillcolor="{fill}", color="{border}", '
            f'fontcolor="{TEXT}"];'
        )
    for number, (name, members) in enumerate(_outermost(chart)):
        lines.append(f'  subgraph cluster_{number} {{ label={_quoted(name)}; fontcolor="{ARROW}"; style=dashed;')
        lines.append("    " + " ".join(f"n{member};" for member in members) + " }")
    for start, end in chart.arrows:
        text = chart.labels.get((start, end))
        lines.append(f"  n{start} -> n{end}" + (f" [label={_quoted(text)}];" if text else ";"))
    return "\n".join([*lines, "}\n"])


def _outermost(chart: Chart) -> list[tuple[str, list[int]]]:
    """The frames that are in no other; Graphviz takes a box in a single cluster, or in nested ones."""
    found: dict[tuple[int, str], list[int]] = {}
    for number, box in enumerate(chart.boxes):
        if box.frames:
            found.setdefault(box.frames[0], []).append(number)
    return [(name, members) for (_, name), members in found.items()]


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
