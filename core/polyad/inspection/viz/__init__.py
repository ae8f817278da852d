"""Pictures of graphs: what a result was computed from, and what a captured function does.

boxes.py      a graph of nodes as boxes and arrows, folded or cut if it is large
modules.py    a captured model as boxes that are its submodules
layering.py   where boxes go: layers by the longest path, few crossings, straight lines
drawing.py    SVG and DOT out of boxes and places

Nothing but Python is needed. A notebook shows the result of `graph` as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import ArgumentError, ArgumentTypeError, safe_repr
from ...files import replacing
from .boxes import Chart, of_captured, of_tensors
from .drawing import dot, svg
from .layering import arrange
from .modules import of_modules

__all__ = ["Picture", "graph"]


class Picture:
    """A drawn graph; `graph` makes it.

    Attributes:
        chart: the boxes and arrows, for programs that look at them.
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

    def svg(self) -> str:
        """The picture as an SVG document, readable on light and dark pages."""
        return svg(self.chart, arrange(self.chart))

    def dot(self) -> str:
        """The graph in Graphviz's language."""
        return dot(self.chart)

    def save(self, path: Any) -> None:
        """Write the picture to a file, SVG or DOT by its suffix (``.svg``, ``.dot``, ``.gv``).

        Raises ValueError for another suffix, OSError if the file cannot be written.
        """
        text = str(path)
        if text.endswith(".svg"):
            content = self.svg()
        elif text.endswith((".dot", ".gv")):
            content = self.dot()
        else:
            raise ArgumentError(f"Picture.save: {text} is neither SVG nor DOT", fix="end its name in .svg or .dot")
        with replacing(path, "Picture.save") as file:
            file.write(content.encode())

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        note = f", {self.chart.note}" if self.chart.note else ""
        return f"<picture of {len(self.chart.boxes)} boxes, {len(self.chart.arrows)} arrows{note}>"


def graph(
    outputs: Any, params: Any = None, *, max_boxes: int = 150, fold: bool | None = None, depth: int | None = None
) -> Picture:
    """A picture of what tensors were computed from, or of a captured function.

    Boxes are ops with the shapes of their results, leaves that require a gradient, and the outputs; what requires no
    gradient is not part of a graph. Draw before ``backward``, which frees the graph.

    Args:
        outputs: a tensor, tensors in nested lists, tuples and dicts, or a graph of `polyad.jit.capture`.
        params: a module, whose parameters are shown by their paths, or a dict of names and tensors.
        max_boxes: the most boxes to draw; of a larger graph what is nearest to the outputs, with a note.
        fold: draw a run of ops with one input each as a box; by default only in graphs with more than *max_boxes*.
        depth: of a captured model: draw the calls of its submodules, down to so many levels, as boxes, with the shapes
            of what goes from one to the next at the arrows, and frames around what is in a submodule.

    Raises:
        TypeError: there is no tensor, *params* is neither a module nor a dict, or *depth* is given for tensors.
        RuntimeError: a tensor has no history, or its graph was freed.
        ValueError: *max_boxes* or *depth* is below 1.

    >>> import polyad
    >>> from polyad import nn
    >>> model = nn.Linear(3, 2)
    >>> picture = polyad.utils.viz.graph(model(polyad.ones(1, 3)).sum(), params=model)
    >>> picture
    <picture of 5 boxes, 4 arrows>
    >>> [box.title for box in picture.chart.boxes]
    ['result', 'Sum', 'Addmm', 'weight', 'bias']
    >>> picture.svg()[:5], picture.dot()[:7]
    ('<svg ', 'digraph')

    A model by its submodules:

    >>> model = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    >>> chart = polyad.utils.viz.graph(polyad.jit.capture(model, polyad.ones(1, 3)), depth=1).chart
    >>> [(box.title, *box.lines) for box in chart.boxes]
    [('result',), ('1', 'Tanh'), ('0', 'Linear'), ('input',)]
    >>> list(chart.labels.values())
    ['1 × 3', '1 × 2', '1 × 2']
    """
    if max_boxes < 1:
        raise ArgumentError(f"viz.graph: max_boxes is {max_boxes}", fix="pass a number of at least 1")
    if depth is not None and (type(depth) is not int or depth < 1):
        raise ArgumentError(f"viz.graph: depth is {safe_repr(depth)}", fix="pass a number of at least 1, or None")
    captured = hasattr(outputs, "nodes") and hasattr(outputs, "constants")
    if depth is not None:
        if not captured:
            raise ArgumentTypeError(
                f"viz.graph: depth is for captured models, not {type(outputs).__name__}",
                fix="pass polyad.jit.capture(model, *inputs)",
            )
        return Picture(of_modules(outputs, depth, max_boxes))
    if captured:
        return Picture(of_captured(outputs, max_boxes, fold))
    return Picture(of_tensors(outputs, _names(params), max_boxes, fold))


def _names(params: Any) -> dict[int, str]:
    if params is None:
        return {}
    if isinstance(params, Mapping):
        return {id(tensor): str(name) for name, tensor in params.items()}
    if hasattr(params, "named_parameters"):
        return {id(tensor): name for name, tensor in params.named_parameters()}
    raise ArgumentTypeError(
        f"viz.graph: params is {type(params).__name__}", fix="pass a module, or a dict of names and tensors"
    )
