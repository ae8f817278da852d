"""Graphs for all sizes: what `generalise` finds of them, and what it refuses."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

import polyad
from polyad import graph as graphs, jit, nn
from polyad.errors import BakedSize
from polyad.graph.expressions import SizeRef
from polyad.graph.structure import leaves_of
from polyad.nn import functional as F

BATCH = {0: "batch"}
IMAGE = {0: "batch", 2: "height", 3: "width"}


class Normed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)
        self.norm = nn.BatchNorm2d(4)

    def forward(self, x: polyad.Tensor) -> polyad.Tensor:
        y = F.interpolate(self.norm(self.conv(x)), scale_factor=2.0)
        return y.mean((2, 3)).view(x.shape[0], -1)


def patches(x: polyad.Tensor) -> polyad.Tensor:
    return x.unfold(2, 2, 2).unfold(3, 2, 2).reshape(x.shape[0], -1, 4 * x.shape[1])


def positions(x: polyad.Tensor) -> polyad.Tensor:
    mask = polyad.triu(polyad.ones(x.shape[1], x.shape[1]), 1).bool()
    scores = (x @ x.transpose(1, 2) / x.shape[-1] ** 0.5).masked_fill(mask, -float("inf"))
    return scores.softmax(-1) @ x + polyad.arange(x.shape[1]).unsqueeze(1)


def in_multiples(x: polyad.Tensor) -> tuple[polyad.Tensor, polyad.Tensor]:
    padded = F.pad(x, (0, (-x.shape[1]) % 8))
    return padded, padded.view(x.shape[0], -1, 8).sum(-1)


def written(x: polyad.Tensor) -> polyad.Tensor:
    y = polyad.zeros(x.shape[0] + 1, x.shape[1])
    y[1:] = x
    y[:, -1].mul_(x.shape[0])
    return y.t()


def decided(x: polyad.Tensor) -> polyad.Tensor:
    rows = x.shape[0]
    return polyad.cond(x.sum() > 0, lambda x: x.view(-1) / rows, lambda x: x.view(-1) * rows, (x,))


CASES: dict[str, tuple[Callable[..., Any], tuple[int, ...], dict[int, str], list[tuple[int, ...]]]] = {
    "linear": (nn.Linear(3, 2), (4, 3), BATCH, [(1, 3), (7, 3)]),
    "mean of rows": (lambda x: x.sum(0) / x.shape[0], (4, 3), BATCH, [(1, 3), (9, 3)]),
    "convolution": (Normed().eval(), (2, 3, 6, 7), IMAGE, [(1, 3, 8, 8), (3, 3, 31, 17)]),
    "patches": (patches, (2, 3, 4, 6), IMAGE, [(1, 3, 8, 2), (3, 3, 6, 10)]),
    "attention": (positions, (2, 5, 4), {0: "batch", 1: "length"}, [(1, 3, 4), (3, 17, 4)]),
    "layer": (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True).eval(), (2, 5, 8), {0: "b", 1: "t"}, [(3, 9, 8)]),
    "recurrent": (nn.LSTM(4, 5, 2, bidirectional=True), (3, 2, 4), {0: "time", 1: "batch"}, [(7, 3, 4)]),
    "half": (lambda x: x[:, : x.shape[1] // 2] + x[:, -(x.shape[1] // 2) :], (2, 6), {1: "width"}, [(2, 9), (2, 64)]),
    "in multiples": (in_multiples, (3, 6), {0: "batch", 1: "width"}, [(2, 8), (2, 17)]),
    "joined": (lambda x: polyad.cat([x, x[1:], polyad.zeros(2, 3)]), (4, 3), BATCH, [(1, 3), (8, 3)]),
    "written": (written, (4, 3), {0: "batch", 1: "width"}, [(2, 7), (9, 2)]),
    "decided": (decided, (4, 3), BATCH, [(2, 3), (9, 3)]),
    "unbiased": (nn.BatchNorm2d(3), (4, 3, 2, 5), BATCH, [(7, 3, 2, 5)]),
    "resized": (
        lambda x: F.interpolate(x, size=(x.shape[2] + 3, 7), mode="bilinear"),
        (1, 2, 4, 5),
        IMAGE,
        [(2, 2, 9, 6)],
    ),
    "all pairs": (lambda x: (x[:, None] - x[None]).abs().view(-1, 3), (4, 3), BATCH, [(2, 3), (9, 3)]),
}


def alike(one: Any, other: Any) -> None:
    pairs = zip(leaves_of(one, polyad.Tensor), leaves_of(other, polyad.Tensor), strict=True)
    for a, b in pairs:
        polyad.testing.assert_close(a, b)


@pytest.mark.parametrize("case", CASES)
def test_a_graph_gives_for_other_sizes_what_the_function_gives(case: str) -> None:
    function, shape, dims, others = CASES[case]
    graph = jit.generalise(function, (polyad.randn(shape),), dims={_first(function): dims})
    again = graphs.parse(graph.text, graph.state)
    assert again.text == graph.text
    shorter = graphs.optimize(graph)
    for other in others:
        x = polyad.randn(other)
        expected = function(x)
        for one in (graph, again, shorter):
            alike(one(x), expected)


def _first(function: Any) -> str:
    """The name of the function's first parameter."""
    return next(iter(inspect.signature(getattr(function, "forward", function)).parameters))


def test_sizes_are_read_by_whoever_reads_the_graph() -> None:
    graph = jit.generalise(lambda x: x.view(x.shape[0] * 2, -1), (polyad.ones(4, 6),), dims={"x": BATCH})
    (symbol,) = graph.symbols
    assert (symbol.name, graph.values[symbol.value].name, symbol.dim) == ("batch", "x", 0)
    assert graph.inputs[0].sizes == (SizeRef("batch"), 6)
    wanted = graph.nodes[0].params["shape"][0]
    assert str(wanted) == "2*batch"
    assert wanted.evaluate({"batch": 5}) == 10
    assert "%0 = reshape_view(%x, shape=(2*batch, 3))" in str(graph)


def test_gradients_and_statistics_are_the_functions() -> None:
    polyad.manual_seed(0)
    model, twin = Normed(), Normed()
    twin.load_state_dict(model.state_dict())
    example, other = polyad.randn(2, 3, 6, 7), polyad.randn(3, 3, 9, 8)
    graph = jit.generalise(model, (example,), dims={"x": IMAGE})
    twin(example)
    alike(list(model.buffers()), list(twin.buffers()))  # as after one call
    graph(other).sum().backward()
    twin(other).sum().backward()
    alike(list(model.buffers()), list(twin.buffers()))
    alike([p.grad for p in model.parameters()], [p.grad for p in twin.parameters()])


def test_random_numbers_follow_the_sizes() -> None:
    def noisy(x: polyad.Tensor) -> polyad.Tensor:
        return F.dropout(x) + polyad.randn(x.shape)

    polyad.manual_seed(0)
    graph = jit.generalise(noisy, (polyad.ones(4, 3),), dims={"x": BATCH})
    after = polyad.rand(2)
    polyad.manual_seed(0)
    noisy(polyad.ones(4, 3))
    alike(after, polyad.rand(2))
    x = polyad.ones(50, 3)
    polyad.manual_seed(1)
    expected = noisy(x)
    polyad.manual_seed(1)
    alike(graph(x), expected)


@pytest.mark.parametrize(
    ("function", "says"),
    [
        (lambda x: x * 2 if x.shape[0] > 4 else x + 1, r"node 0 \(add\): another capture has mul here.*line +test_g"),
        (lambda x: sum(x[k] for k in range(x.shape[0])), "another capture"),
        (lambda x: x.view(2, -1), "it runs for batch = 4, and fails for batch = 5"),
        (lambda x: x + polyad.randn(x.shape).new_tensor([hash(str(x.shape)) % 1000]), "node|no expression"),
        (lambda x: x[: min(x.shape[0], 1000)], r"node 0 \(slice\): no expression .* size, which is 4, 5, 1000"),
        (lambda x: x + polyad.zeros(1000, 3)[: x.shape[0]], "runs for batch = 4, and fails for batch = 104031"),
        (lambda x: x * float(x.shape[0]) ** 1.7, r"node 0 \(mul\): no expression of the sizes gives its argument 1"),
    ],
)  # fmt: skip
def test_what_is_not_so_for_all_sizes_is_refused_by_name(function: Any, says: str) -> None:
    with pytest.raises(BakedSize) as caught:
        jit.generalise(function, (polyad.randn(4, 3),), dims={"x": BATCH})
    assert re.search(says, str(caught.value), re.DOTALL), str(caught.value)


def test_the_ends_of_a_range_are_captured() -> None:
    def decides(x: polyad.Tensor) -> polyad.Tensor:
        return x * 2 if x.shape[0] > 60 else x + 1

    graph = jit.generalise(decides, (polyad.ones(4),), dims={"x": BATCH}, ranges={"batch": (2, 60)})
    assert graph(polyad.ones(60))[0] == 2
    with pytest.raises(RuntimeError, match=r"batch is 61 \(dim 0 of x\), and must be from 2 to 60"):
        graph(polyad.ones(61))
    with pytest.raises(BakedSize, match="another capture"):
        jit.generalise(decides, (polyad.ones(4),), dims={"x": BATCH}, ranges={"batch": (2, 61)})


def test_inputs_must_agree_and_errors_say_who_does_not() -> None:
    dims = {"x": {0: "batch", 1: SizeRef("half") * 2}, "y": {0: "batch", 1: "half"}}
    graph = jit.generalise(lambda x, y: x[:, ::2] + y, (polyad.ones(4, 6), polyad.ones(4, 3)), dims=dims)
    assert graph(polyad.ones(3, 10), polyad.ones(3, 5)).shape == (3, 5)
    with pytest.raises(RuntimeError, match="dim 0 of y is 4, and must be batch = 3"):
        graph(polyad.ones(3, 10), polyad.ones(4, 5))
    with pytest.raises(RuntimeError, match=r"dim 1 of x is 9, which is 2\*half for no half"):
        graph(polyad.ones(3, 9), polyad.ones(3, 4))
    with pytest.raises(BakedSize, match="batch is 4 and 5 in the example"):
        jit.generalise(lambda x, y: x, (polyad.ones(4, 6), polyad.ones(5, 3)), dims=dims)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("shape=(batch, 6)", "shape=(batch, other)", "the name other has no meaning"),
        ("shape=(batch, 6)", "shape=(batch, 2**batch)", "a power is a number up to 4"),
        ("shape=(batch, 6)", "shape=(batch, 6//(batch - 4))", "an argument cannot be computed"),
        ("shape=(batch, 6)", "shape=(batch - 1, 6)", "does not hold for batch = 4"),
        ("dim 0 of %x", "dim 1 of %x", "read off no dimension"),
        ("dim 0 of %x", "dim 0 of %y", "used before it is made"),
        ("batch  ", "float32  ", "has another meaning"),
    ],
)
def test_a_text_with_wrong_sizes_is_refused(old: str, new: str, says: str) -> None:
    graph = jit.generalise(lambda x: x.view(x.shape[0], -1), (polyad.ones(4, 2, 3),), dims={"x": BATCH})
    assert old in graph.text
    with pytest.raises(RuntimeError, match=re.escape(says)):
        graphs.parse(graph.text.replace(old, new), graph.state)


def test_what_may_be_general_is_found_by_trying() -> None:
    def scores(x: polyad.Tensor, y: polyad.Tensor, mask: polyad.Tensor) -> polyad.Tensor:
        table = polyad.arange(5.0)
        return (x @ y.transpose(1, 2)).masked_fill(mask, 0) + table

    args = polyad.randn(3, 4, 2), polyad.randn(3, 5, 2), polyad.zeros(1, 5).bool()
    graph = jit.generalise(scores, args, dims="auto")
    shown = {value.name: tuple(map(str, value.sizes)) for value in graph.inputs}
    assert shown == {"x": ("x_0", "x_1", "x_2"), "y": ("x_0", "5", "x_2"), "mask": ("mask_0", "5")}
    others = polyad.randn(6, 9, 7), polyad.randn(6, 5, 7), polyad.zeros(1, 5).bool()
    for rows in (1, 9):  # which is broadcast, or is as long as it shall be
        others = (*others[:2], polyad.eye(rows, 5).bool())
        alike(graph(*others), scores(*others))
    with pytest.raises(RuntimeError, match=r"captured with \(6, 5, 7\)"):
        graph(others[0], polyad.randn(6, 4, 7), others[2])
    fixed = jit.generalise(lambda x: x.view(6), (polyad.ones(2, 3),), dims={"x": {0: ..., 1: ...}})
    assert not fixed.symbols


def test_sizes_that_are_rounded_away_stay_fixed() -> None:
    """Pooling drops a last row, so one row more gives the same, and many more do not."""
    layer = nn.Linear(9, 2)

    def classify(x: polyad.Tensor) -> polyad.Tensor:
        return layer(polyad.nn.functional.max_pool2d(x, 2).flatten(1))

    graph = jit.generalise(classify, (polyad.ones(2, 1, 6, 6),), dims="auto")
    assert [(symbol.value, symbol.dim) for symbol in graph.symbols] == [(0, 0)]
    assert graph(polyad.ones(5, 1, 6, 6)).shape == (5, 2)


def test_the_module_is_as_after_one_call() -> None:
    class Counting(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", polyad.zeros(1))
            self.last = None

        def forward(self, x: polyad.Tensor) -> polyad.Tensor:
            self.count += 1
            self.last = x * 2
            return self.last + self.count

    model = Counting()
    count = model.count
    graph = jit.generalise(model, (polyad.ones(3, 2),), dims={"x": {0: "rows"}})
    assert model.count is count
    assert count.tolist() == [1]
    assert model.last.shape == (3, 2)
    assert model.last.device.type == "cpu"
    assert graph(polyad.ones(5, 2)).tolist() == [[4, 4]] * 5


@pytest.mark.parametrize("example", [5, 30, 50])
def test_a_table_of_limited_length_is_cut_for_every_length(example: int) -> None:
    table = polyad.arange(50.0)[None]

    def positions(x: polyad.Tensor) -> polyad.Tensor:
        return x + table[:, : x.size(1)]

    graph = jit.generalise(positions, (polyad.zeros(3, example),), dims="auto")
    for length in (1, 2, 5, 6, 50):
        alike(graph(polyad.zeros(2, length)), positions(polyad.zeros(2, length)))
    with pytest.raises(RuntimeError):
        graph(polyad.zeros(2, 51))
    with pytest.raises(RuntimeError, match="max="):
        jit.generalise(positions, (polyad.zeros(3, example),), dims={"x": {1: "length"}})


ONES: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], list[list[tuple[int, ...]]]]] = {
    "rows": (lambda x: x.view(x.shape[0], -1) * x.shape[0], [(1, 3)], [[(4, 3)], [(1, 5)]]),
    "no copy of one": (lambda x: x[None].expand(x.size(0), -1, -1).reshape(-1, x.size(1)), [(1, 2)], [[(3, 4)]]),
    "broadcast": (lambda x, y: (x + y) * x.shape[0], [(1, 3), (4, 3)], [[(1, 3), (6, 3)], [(6, 3), (6, 3)]]),
    "both": (
        lambda x, y: (x + y) / y.shape[0],
        [(1, 3), (1, 3)],
        [[(4, 3), (4, 3)], [(1, 3), (6, 3)], [(6, 3), (1, 3)]],
    ),
}


@pytest.mark.parametrize("case", ONES)
def test_sizes_of_one_may_be_others(case: str) -> None:
    function, example, others = ONES[case]
    graph = jit.generalise(function, tuple(map(polyad.rand, example)), dims="auto")
    for shapes in [example, *others]:
        given = tuple(map(polyad.rand, shapes))
        alike(graph(*given), function(*given))


def test_dimensions_by_which_a_function_decides_are_told() -> None:
    with pytest.warns(
        jit.BakedValueWarning, match=r"dim 0 of x stays 4, since .* another capture has mul here \(test_gen"
    ):
        jit.generalise(lambda x: x * 2 if x.shape[0] > 4 else x + 1, (polyad.ones(4),), dims="auto")


APART: dict[str, Callable[[polyad.Tensor], polyad.Tensor]] = {
    "half of a width": lambda x: x[:, : x.shape[1] // 2].reshape(x.shape[0], -1),
    "a third of a batch": lambda x: x[: (x.shape[0] + 2) // 3],
    "half of all": lambda x: x.reshape(-1)[: x.shape[0] * x.shape[1] // 2],
    "sizes of new tensors": lambda x: polyad.zeros(x.shape[1] // 4 + 1, x.shape[0] // 2),
    "amounts of padding": lambda x: F.pad(x, (x.shape[0] // 2, x.shape[1] - 1)),
}


@pytest.mark.parametrize("example", [(4, 6), (6, 6), (2, 10)])
@pytest.mark.parametrize("case", APART)
def test_what_follows_one_symbol_fits_no_other(case: str, example: tuple[int, int]) -> None:
    function = APART[case]
    graph = jit.generalise(function, (polyad.rand(example),), dims={"x": {0: "batch", 1: "width"}})
    for shape in [(3, 9), (8, 5), (11, 30), (17, 4)]:
        given = polyad.rand(shape)
        alike(graph(given), function(given))


BY_FEW_SIZES: dict[str, Callable[[polyad.Tensor], polyad.Tensor]] = {
    "to a power of two": lambda x: F.pad(x, (0, 0, 0, 2 ** (x.shape[0] - 1).bit_length() - x.shape[0])),
    "a threshold": lambda x: x * int(x.shape[0] > 20),
    "bits": lambda x: x * bin(x.shape[0]).count("1"),
    "digits": lambda x: x * len(str(x.shape[0])),
}


@pytest.mark.parametrize("span", [(6, 2, 64), (17, 3, 1000), (6, 0, None)], ids=str)
@pytest.mark.parametrize("case", BY_FEW_SIZES)
def test_an_expression_that_fits_only_few_sizes_is_refused(case: str, span: tuple[int, int, int | None]) -> None:
    rows, *ends = span
    with pytest.raises(BakedSize, match="no expression of the sizes gives"):
        jit.generalise(BY_FEW_SIZES[case], (polyad.rand(rows, 2),), dims={"x": BATCH}, ranges={"batch": tuple(ends)})


SMALLEST: dict[str, tuple[Callable[[polyad.Tensor], polyad.Tensor], int]] = {
    "rows": (lambda x: x.sum(0) / 2, 0),
    "half of the rows": (lambda x: x[: x.shape[0] // 2], 0),
    "windows": (lambda x: x.unfold(0, 2, 2).unfold(1, 2, 2).reshape(-1, 4), 2),
    "a view": (lambda x: x.view(x.shape[0], -1), 1),
    "divided": (lambda x: x / x.shape[0] ** -1, 1),
    "squeezed": (lambda x: x.squeeze(0), 2),
    "of one": (lambda x: x * 2 if x.shape[0] == 1 else x * 3, 2),
    "of few": (lambda x: x * 2 if x.shape[0] <= 2 else x * 3, 3),
    "at least": (lambda x: x * max(x.shape[0], 3), 3),
    "the largest": (lambda x: x.topk(min(3, x.shape[0]), 0)[0], 3),
    "the first": (lambda x: x[: min(5, x.shape[0])], 5),
}


@pytest.mark.parametrize("case", SMALLEST)
def test_a_range_begins_where_the_graph_holds(case: str) -> None:
    function, least = SMALLEST[case]
    graph = jit.generalise(function, (polyad.ones(6, 4),), dims={"x": BATCH})
    assert [symbol.least for symbol in graph.symbols if symbol.name == "batch"] == [least]
    for rows in range(least, 9):
        x = polyad.rand(rows, 4)
        alike(graph(x), function(x))
    for rows in range(least):
        with pytest.raises(RuntimeError, match=f"must be at least {least}"):
            graph(polyad.rand(rows, 4))
    dims, ranges = {"x": BATCH}, {"batch": (1, 64)}
    if least <= 1:
        assert jit.generalise(function, (polyad.ones(6, 4),), dims=dims, ranges=ranges).symbols[0].least == 1
        return
    with pytest.raises(BakedSize, match=r"for batch = [12]"):
        jit.generalise(function, (polyad.ones(6, 4),), dims=dims, ranges=ranges)
