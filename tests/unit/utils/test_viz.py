"""Pictures of graphs: what is in them, that nothing overlaps, and that large ones stay readable."""

from __future__ import annotations

import random
import re
import xml.etree.ElementTree as ElementTree
from itertools import pairwise
from pathlib import Path

import pytest

import polyad
from polyad import nn
from polyad.errors import ArgumentError, ArgumentTypeError, AutogradError
from polyad.files import FileTrouble
from polyad.inspection.viz.boxes import Box, Chart
from polyad.inspection.viz.layering import arrange
from polyad.utils import viz


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)

    def forward(self, x):
        return x + self.second(polyad.tanh(self.first(x)))


def titles(picture: viz.Picture) -> list[str]:
    return [box.title for box in picture.chart.boxes]


def arrows(picture: viz.Picture) -> set[tuple[str, str]]:
    names = titles(picture)
    return {(names[start], names[end]) for start, end in picture.chart.arrows}


def overlapping(chart: Chart) -> list[str]:
    """Every pair of boxes that overlap, and every arrow that goes through a box."""
    places, wrong = arrange(chart), []
    for one, (left, top, width, height) in enumerate(places.boxes):
        assert left >= 0
        assert top >= 0
        assert left + width <= places.width
        assert top + height <= places.height
        for other, (x, y, wide, high) in enumerate(places.boxes[:one]):
            if left < x + wide and x < left + width and top < y + high and y < top + height:
                wrong.append(f"boxes {one} and {other}")
        for (start, end), points in zip(chart.arrows, places.arrows, strict=True):
            for (x0, y0), (x1, y1) in pairwise(points):
                # Bent pieces lie between the layers; straight ones are upright.
                if one not in (start, end) and abs(x0 - x1) < 0.05:
                    inside = left < x0 < left + width and min(y0, y1) < top + height and max(y0, y1) > top
                    if inside:
                        wrong.append(f"arrow {start}-{end} through {one}")
                elif y0 < top + height / 2 < y1 and one not in (start, end):
                    wrong.append(f"arrow {start}-{end} bends across the layer of {one}")
    return wrong


def test_boxes_and_arrows_of_a_residual_block() -> None:
    model = Residual()
    x = polyad.randn(2, 3, requires_grad=True)
    picture = viz.graph(model(x).sum(), params={**dict(model.named_parameters()), "x": x})
    assert arrows(picture) == {
        ("x", "Add"),
        ("x", "Addmm"),
        ("first.weight", "Addmm"),
        ("first.bias", "Addmm"),
        ("Addmm", "Tanh"),
        ("Tanh", "Addmm"),
        ("second.weight", "Addmm"),
        ("second.bias", "Addmm"),
        ("Addmm", "Add"),
        ("Add", "Sum"),
        ("Sum", "result"),
    }
    by_title = {box.title: box for box in picture.chart.boxes}
    assert by_title["x"].lines == ["2 × 3"]
    assert by_title["Sum"].lines == ["scalar"]
    assert by_title["first.weight"].style == "parameter"
    assert by_title["result"].style == "output"
    assert by_title["result"].about == "result: float32 () on cpu"


def test_a_module_names_leaves_and_others_are_leaves() -> None:
    model = nn.Linear(3, 2)
    x = polyad.randn(1, 3, requires_grad=True)
    styles = {box.title: box.style for box in viz.graph(model(x), params=model).chart.boxes}
    assert styles == {"result": "output", "Addmm": "op", "weight": "parameter", "bias": "parameter", "leaf": "leaf"}


def test_several_outputs_share_what_they_have_in_common() -> None:
    x = polyad.randn(4, requires_grad=True)
    shared = x.exp()
    picture = viz.graph({"a": shared.sum(), "b": [shared.mean()]})
    assert titles(picture).count("Exp") == 1
    assert {"a", "b[0]"} <= set(titles(picture))


def test_an_op_with_several_results_is_one_box() -> None:
    first, second = polyad.randn(4, 4, requires_grad=True).split(2)
    picture = viz.graph((first * second).sum())
    assert titles(picture).count("Split") == 1
    assert next(box for box in picture.chart.boxes if box.title == "Split").lines == ["2 results"]


def test_a_leaf_alone() -> None:
    weight = nn.Parameter(polyad.ones(2))
    assert titles(viz.graph(weight, params={"w": weight})) == ["w"]


def test_a_leaf_used_often_is_drawn_beside_each_use() -> None:
    x = polyad.ones(2, requires_grad=True)
    total = x.exp()
    for _ in range(5):
        total = total * x
    boxes = viz.graph(total, params={"x": x}).chart.boxes
    assert [box.lines[-1] for box in boxes if box.title == "x"] == ["one of 6 uses"] * 6


def test_captured_functions_are_drawn_too() -> None:
    model = Residual()
    picture = viz.graph(polyad.jit.capture(model, polyad.ones(1, 3)))
    assert {("x", "add"), ("x", "linear"), ("first.weight", "linear"), ("linear", "tanh"), ("add", "result")} <= arrows(
        picture
    )
    assert overlapping(picture.chart) == []


def test_a_write_in_a_captured_function_comes_before_what_reads_it() -> None:
    def work(x):
        y = x * 2
        y.add_(1)
        return y.sum()

    assert {("mul", "add_"), ("add_", "sum"), ("sum", "result")} <= arrows(
        viz.graph(polyad.jit.capture(work, polyad.ones(2)))
    )


# ------------------------------------------------------------------------------------------------------------- modules


class Twice(nn.Module):
    """A submodule that is called twice, an op between, and submodules within a submodule."""

    def __init__(self) -> None:
        super().__init__()
        self.residual = Residual()
        self.last = nn.Linear(3, 2)

    def forward(self, x):
        return self.last(self.residual(self.residual(x) * 2))


def drawn(depth: int) -> viz.Picture:
    return viz.graph(polyad.jit.capture(Twice(), polyad.ones(1, 3)), depth=depth)


def test_submodules_are_boxes_and_shapes_are_at_arrows() -> None:
    picture = drawn(1)
    assert titles(picture) == ["result", "last", "residual", "mul", "residual", "x"]
    assert [box.lines for box in picture.chart.boxes if box.style == "module"] == [
        ["Linear"],
        ["Residual"],
        ["Residual"],
    ]
    starts = [picture.chart.boxes[start].title for start, _ in picture.chart.arrows]
    assert starts == ["x", "residual", "mul", "residual", "last"]
    assert [picture.chart.labels[arrow] for arrow in picture.chart.arrows] == ["1 × 3"] * 4 + ["1 × 2"]
    assert "1 × 2" in picture.svg()
    assert '[label="1 × 2"]' in picture.dot()


def test_deeper_submodules_are_in_frames() -> None:
    picture = drawn(2)
    frames = {(box.title, tuple(name for _, name in box.frames)) for box in picture.chart.boxes}
    assert {("last", ()), ("mul", ()), ("x", ())} <= frames
    assert {("residual.first", ("residual (Residual)",)), ("add", ("residual (Residual)",))} <= frames
    assert len({box.frames for box in picture.chart.boxes}) == 3  # two calls, and outside
    for depth in (1, 2, 3):
        chart = drawn(depth).chart
        assert overlapping(chart) == []
        # From the outputs on: an arrow goes to a box with a smaller number, so none run in a circle.
        assert all(end < start for start, end in chart.arrows)
    assert picture.svg().count(">residual (Residual)<") == picture.dot().count("subgraph cluster_") == 2
    assert titles(drawn(3)) == titles(picture)


def test_parameters_that_ops_use_outside_of_submodules_are_drawn() -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(polyad.ones(3))
            self.linear = nn.Linear(3, 2)

        def forward(self, x):
            return self.linear(x * self.scale)

    picture = viz.graph(polyad.jit.capture(Scaled(), polyad.ones(1, 3)), depth=1)
    assert set(titles(picture)) == {"x", "scale", "mul", "linear", "result"}


def test_large_models_are_cut_by_modules_too() -> None:
    model = nn.Sequential(*(nn.Linear(2, 2) for _ in range(30)))
    picture = viz.graph(polyad.jit.capture(model, polyad.ones(1, 2)), depth=1, max_boxes=10)
    assert len(picture.chart.boxes) == 11
    assert "of 32" in picture.chart.note
    assert picture.svg()
    assert picture.dot()


@pytest.mark.parametrize("depth", [0, -1, 1.5, True])
def test_depths_that_are_none(depth) -> None:
    graph = polyad.jit.capture(nn.ReLU(), polyad.ones(1))
    with pytest.raises(ValueError, match="depth is"):
        viz.graph(graph, depth=depth)


def test_depth_is_for_captured_models() -> None:
    with pytest.raises(TypeError, match=r"pass polyad\.jit\.capture"):
        viz.graph(polyad.ones(1, requires_grad=True).sum(), depth=1)


# -------------------------------------------------------------------------------------------------------------- layout


@pytest.mark.parametrize("seed", range(30))
def test_nothing_overlaps_in_random_graphs(seed: int) -> None:
    chance = random.Random(seed)
    count = chance.randint(1, 40)
    chart = Chart([Box("op" * chance.randint(1, 8), ["2 × 3"] * chance.randint(0, 4), "op") for _ in range(count)])
    chart.arrows = [
        (start, end)
        for end in range(count)
        for start in range(end + 1, count)
        if chance.random() < chance.choice([0.03, 0.15])
    ]
    assert overlapping(chart) == []


def test_arrows_go_down() -> None:
    places = arrange(viz.graph(Residual()(polyad.randn(2, 3))).chart)
    for points in places.arrows:
        assert all(y0 < y1 for (_, y0), (_, y1) in pairwise(points))


def test_a_chain_is_straight() -> None:
    x = polyad.ones(2, requires_grad=True)
    places = arrange(viz.graph(x.exp().sin().cos().sum()).chart)
    middles = {round(left + width / 2, 3) for left, _, width, _ in places.boxes}
    assert len(middles) == 1


def test_few_crossings() -> None:
    """Two chains that do not meet are drawn without crossing."""
    chart = Chart([Box("op", [], "op") for _ in range(12)], [(n, n - 2) for n in range(2, 12)])
    places = arrange(chart)
    left = [places.boxes[number][0] for number in range(12)]
    assert len({left[number] < left[number + 1] for number in range(0, 12, 2)}) == 1


# -------------------------------------------------------------------------------------------------------- large graphs


def test_runs_of_ops_are_folded() -> None:
    x = polyad.ones(3, requires_grad=True)
    value = x
    for _ in range(50_000):
        value = value * 1.0
    picture = viz.graph(value.sum())
    assert [box.title for box in picture.chart.boxes] == ["result", "50001 ops", "leaf"]
    assert picture.chart.note == "50003 boxes folded into 3"
    assert picture.chart.note in picture.svg()
    assert len(viz.graph(x.exp().sin(), fold=True).chart.boxes) == 3


def test_what_is_too_large_is_cut_with_a_note() -> None:
    x = polyad.ones(3, requires_grad=True)
    value = x
    for _ in range(300):
        value = polyad.tanh(value) * value
    picture = viz.graph(value.sum(), max_boxes=20)
    assert len(picture.chart.boxes) == 21
    assert picture.chart.boxes[0].title == "result"
    assert picture.chart.boxes[-1].style == "more"
    assert "the 20 boxes nearest to the outputs" in repr(picture)
    assert overlapping(picture.chart) == []


# ------------------------------------------------------------------------------------------------------------- formats


def test_svg_is_well_formed_and_complete(tmp_path: Path) -> None:
    x = polyad.ones(2, requires_grad=True)
    picture = viz.graph({"a < b & c": x.exp()}, params={'"x"': x})
    root = ElementTree.fromstring(picture._repr_svg_())
    texts = [element.text for element in root.iter() if element.tag.endswith("text")]
    assert {"a < b & c", '"x"', "Exp"} <= set(texts)
    rectangles = [element for element in root.iter() if element.tag.endswith("rect")]
    assert len(rectangles) == len(picture.chart.boxes)
    picture.save(tmp_path / "picture.svg")
    assert (tmp_path / "picture.svg").read_text(encoding="utf-8") == picture.svg()


def test_boxes_bring_their_own_colours_and_there_is_no_background() -> None:
    text = viz.graph(polyad.ones(2, requires_grad=True).exp()).svg()
    for fill, ink in zip(
        re.findall(r"<rect[^>]* fill=\"(#\w+)\"", text), re.findall(r"<text[^>]* fill=\"(#\w+)\"", text)
    ):
        assert _luminance(fill) - _luminance(ink) > 0.4
    # Arrows are seen on white and on black.
    (arrow,) = set(re.findall(r"stroke=\"(#\w+)\" stroke-width", text))
    assert 0.15 < _luminance(arrow) < 0.6


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    return sum(weight * part**2.2 for weight, part in zip((0.2126, 0.7152, 0.0722), parts))


def test_dot_lists_boxes_and_arrows(tmp_path: Path) -> None:
    x = polyad.ones(2, requires_grad=True)
    picture = viz.graph(x.exp(), params={'a "quoted"\\name': x})
    text = picture.dot()
    assert text.startswith("digraph polyad {")
    assert 'label="a \\"quoted\\"\\\\name\\n2"' in text
    assert text.count(" -> ") == 2
    for name in ("picture.dot", "picture.gv"):
        picture.save(tmp_path / name)
        assert (tmp_path / name).read_text(encoding="utf-8") == text


# -------------------------------------------------------------------------------------------------------------- errors


def test_what_cannot_be_drawn(tmp_path: Path) -> None:
    x = polyad.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match="no history"):
        viz.graph(polyad.ones(2))
    loss = (x * x).sum()
    loss.backward()
    with pytest.raises(AutogradError, match="was freed"):
        viz.graph(loss)
    with pytest.raises(ArgumentTypeError, match="no tensors"):
        viz.graph([1, 2])
    with pytest.raises(ArgumentTypeError, match="params is list"):
        viz.graph(x.exp(), params=[x])
    with pytest.raises(ArgumentError, match="max_boxes"):
        viz.graph(x.exp(), max_boxes=0)
    with pytest.raises(ArgumentError, match="neither SVG nor DOT"):
        viz.graph(x.exp()).save(tmp_path / "picture.png")
    with pytest.raises(FileTrouble, match=r"picture\.svg"):
        viz.graph(x.exp()).save(tmp_path / "none" / "picture.svg")


def test_drawing_changes_nothing() -> None:
    x = polyad.ones(2, requires_grad=True)
    loss = (x * x).sum()
    viz.graph(loss).svg()
    loss.backward()
    assert x.grad.tolist() == [2.0, 2.0]
