"""Graphs: what they say of memory, their text and files, and what is refused as none."""

from __future__ import annotations

import dataclasses
import io
import random
import re
import warnings
from collections import OrderedDict, defaultdict

import pytest

import polyad
from polyad import graph as graphs, jit, nn
from polyad.base.shapes_and_strides import Layout
from polyad.dispatch.effects import EFFECTS
from polyad.dispatch.op import OPS, PUBLIC
from polyad.errors import InvalidGraph
from polyad.graph import Graph, Node
from polyad.graph.structure import Ref
from polyad.graph.text import name_of, named


def columns(graph: Graph) -> list[str]:
    """The lines of a graph without padding and lines of code."""
    text = re.sub(r"(, |# )[\w.]+\.py:\d+$", "", str(graph), flags=re.MULTILINE)
    return [re.sub(r" +", " ", line.strip()) for line in text.splitlines()[1:]]


def writes(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
    row, flat = x[0], x.view(-1)
    row.add_(1)
    flat[1:].mul_(2)
    x.t().copy_(y)
    return row + flat[:3]


def sample() -> Graph:
    model = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2))
    own = polyad.Generator()

    def step(x: polyad.Tensor, *, scale: float, parts: list[polyad.Tensor]) -> dict[str, object]:
        x = x * scale + polyad.rand(3, generator=own)
        y = model(x).transpose(0, 1)
        y[0].mul_(parts[0])
        if y.sum() > 1e9:
            y = y + 1
        with polyad.no_grad():
            best = (y.detach() + polyad.tensor([1.0])).max(1)
        return {"y": [y, "label", None], "best": best, "table": x.masked_fill(x > float("inf"), -float("inf"))}

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.BakedValueWarning)
        return jit.capture(step, polyad.randn(5, 3), scale=2.0, parts=[polyad.ones(5)])


# ------------------------------------------------------------------------------------------------------------ memory


def test_views_are_values_over_one_storage_and_writes_count_its_versions() -> None:
    graph = jit.capture(writes, polyad.zeros(2, 3), polyad.zeros(3, 2))
    assert columns(graph) == [
        "%x float32 (2, 3) on cpu in s0 # input",
        "%y float32 (3, 2) on cpu in s1 # input",
        "%0 = select(%x, dim=0, index=0) float32 (3,) on cpu in s0",
        "%1 = reshape_view(%x, shape=(6,)) float32 (6,) on cpu in s0",
        "%0@1; %1@1 = add_(%0, 1) float32 (3,) on cpu in s0@1",
        "%2 = slice(%1@1, dim=0, start=1, size=5, step=1) float32 (5,) on cpu in s0@1 from 1",
        "%2@1; %x@1 = mul_(%2, 2) float32 (5,) on cpu in s0@2 from 1",
        "%3 = permute(%x@1, dims=(1, 0)) float32 (3, 2) on cpu in s0@2 by (1, 3)",
        "%3@1; %1@2; %0@2 = copy_(%3, %y) float32 (3, 2) on cpu in s0@3 by (1, 3)",
        "%4 = slice(%1@2, dim=0, start=0, size=3, step=1) float32 (3,) on cpu in s0@3",
        "%5 = add(%0@2, %4) float32 (3,) on cpu in s2",
        "return %5",
    ]
    assert graph.after == {0: 3}
    assert [(one.number, one.nbytes, one.role) for one in graph.storages] == [
        (0, 24, "input"),
        (1, 24, "input"),
        (2, 12, "output"),
    ]


def test_two_tensors_over_one_memory_are_values_of_one_storage() -> None:
    whole = polyad.zeros(4)
    graph = jit.capture(lambda a, b: a.add_(1) + b, whole[:2], whole[2:])
    a, b = graph.inputs
    assert (a.storage, a.layout, b.layout) == (b.storage, Layout((2,), (1,), 0), Layout((2,), (1,), 2))
    assert a.storage.nbytes == 16
    assert graph.after == {0: 1}
    parameter = nn.Parameter(whole)
    graph = jit.capture(lambda x: parameter.detach().mul_(2) + x, whole)
    assert len({value.storage.number for value in graph.values}) == 2


def test_what_is_read_on_the_host_is_a_scalar_of_the_run() -> None:
    with pytest.warns(jit.BakedValueWarning):
        graph = jit.capture(lambda x: x * x.sum().item(), polyad.tensor([0.5, 1.0]))
    (scalar,) = graph.scalars
    assert (scalar.source, scalar.type_name, scalar.baked) == ("item", "float", "1.5")


def test_out_that_is_resized_shows_other_memory() -> None:
    out = polyad.empty(0)
    graph = jit.capture(lambda x: polyad.add(x, 1, out=out), polyad.ones(2))
    (constant,) = graph.constants
    assert not constant.fixed
    assert graph.results[0].storage != constant.value.storage
    assert graphs.parse(graph.text, graph.state)(polyad.ones(2)) is out


# ------------------------------------------------------------------------------------------------------------ text


def test_a_text_is_read_as_an_equal_graph() -> None:
    graph = sample()
    read = graphs.parse(graph.text, graph.state)
    assert read.text == graph.text
    assert [value.layout for value in read.results] == [value.layout for value in graph.results]
    assert (read.scalars, read.storages[0], read.after) == (graph.scalars, graph.storages[0], graph.after)
    assert [[node.name, node.grad, node.line, node.modules] for node in read] == [
        [node.name, node.grad, node.line, node.modules] for node in graph
    ]
    x, found = polyad.randn(5, 3), []
    for one in (graph, read):
        polyad.manual_seed(1)
        graph.state["generator 0"].manual_seed(2)
        found.append(one(x, scale=2.0, parts=[polyad.ones(5)]))
    assert str(found[0]) == str(found[1])
    assert type(found[1]["best"]) is polyad.return_types.max


def test_every_effect_and_in_place_form_is_found_by_its_name() -> None:
    assert not set(OPS) & set(EFFECTS)
    assert [effect for effect in EFFECTS.values() if named(effect.name) is not effect] == []
    forms = [public for public in PUBLIC.values() if public.inplace]
    assert [public.path for public in forms if name_of(named(public.name + "_")) != public.name + "_"] == []


class Twice(polyad.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


@dataclasses.dataclass
class Thing:
    number: int = 1


@pytest.mark.parametrize(
    ("function", "what"),
    [
        (lambda x: Twice.apply(x), r"node 0: <Twice> has no text"),
        (lambda x: (x * 1, Thing()), r"<.*Thing\(number=1\).*> has no text"),
        (lambda x: x.register_hook(lambda g: g) and x * 1, r"register_hook\): <.*lambda.*> has no text"),
    ],
    ids=["function", "object", "hook"],
)  # fmt: skip
def test_code_of_the_program_has_no_text(function, what) -> None:
    graph = jit.capture(function, polyad.ones(2, requires_grad=True))
    assert "<" in str(graph)
    with pytest.raises(InvalidGraph, match=what):
        graphs.parse(graph.text, graph.state)
    with pytest.raises(TypeError, match=rf"is a graph that no text holds whole: .*{what}"):
        polyad.save(graph, io.BytesIO(), format="polyad")


def test_a_check_of_elements_keeps_its_error() -> None:
    graph = jit.capture(lambda x, at: x.take(at), polyad.ones(3), polyad.tensor([0]))
    read = graphs.parse(graph.text)
    with pytest.raises(IndexError):
        read(polyad.ones(3), polyad.tensor([7]))


# ------------------------------------------------------------------------------------------------------------ files


def test_a_graph_in_a_file() -> None:
    graph, file = sample(), io.BytesIO()
    polyad.save({"graph": graph, "epoch": 3}, file)
    file.seek(0)
    found = polyad.load(file)
    assert found["epoch"] == 3
    read = found["graph"]
    assert read.text == graph.text
    assert all(bool((a.tensor == b.tensor).all()) for a, b in zip(read.constants, graph.constants, strict=True))
    x, results = polyad.randn(5, 3), []
    graph.state["generator 0"].manual_seed(2)
    read.state["generator 0"].manual_seed(2)
    for one in (graph, read):
        polyad.manual_seed(1)
        results.append(str(one(x, scale=2.0, parts=[polyad.ones(5)])))
    assert results[0] == results[1]


def test_a_file_that_holds_no_graph(monkeypatch) -> None:
    graph, file = jit.capture(lambda x: x * 2, polyad.ones(2)), io.BytesIO()
    monkeypatch.setattr(Graph, "text", property(lambda self: str(self).replace("mul", "frobnicate")))
    monkeypatch.setattr("polyad.serialization.structure.parse", lambda *_: graph)
    polyad.save(graph, file)
    monkeypatch.undo()
    file.seek(0)
    with pytest.raises(RuntimeError, match=r"holds a graph that is none: .*node 0 \(frobnicate\): there is no such op"):
        polyad.load(file)


# ------------------------------------------------------------------------------------------------------------ refused

TEXT = """graph 1 of "f" (%x)
    s0  96 bytes
    %x             float32 (2, 3) on cpu in s0  # input
    %0 = permute(%x, dims=(1, 0))  float32 (3, 2) on cpu in s0 by (1, 3)
    %0@1; %x@1 = mul_(%0, 2)  float32 (3, 2) on cpu in s0@1 by (1, 3)
    %1 = add(%x@1, 1)  float32 (2, 3) on cpu in s1
    return %1"""


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("graph 1", "graph 5", "line 1: it is of version 5, and this polyad reads up to 4"),
        ("graph 1", "diagram", "line 1: it does not begin as a graph does"),
        ("= add(", "= adds(", r"line 6, node 2 \(adds\): there is no such op or effect"),
        ("add(%x@1", "add(%1", r"node 2 \(add\): %1 is used before it is made"),
        ("add(%x@1", "add(%x", r"node 2 \(add\): value %x .* shows version 0 of s0, which is at 1"),
        ("96 bytes", "8 bytes", "storage s0 has 8 bytes, and 24 are shown of it"),
        ("s0@1", "s0@2", r"node 1 \(mul_\): value .* shows version 2 of s0, which is at 0"),
        ("(2, 3) on cpu in s1", "(3, 3) on cpu in s1", r"node 2 \(add\): its result .* is float32 \(2, 3\) by"),
        ("float32 (2, 3) on cpu in s1", "int64 (2, 3) on cpu in s1", r"node 2 \(add\): its result .* by the rules"),
        ("in s1", "in s0@2", r"node 2 \(add\): it writes to s0, and add writes nothing"),
        ("in s1", "in s0@1", r"node 2 \(add\): its result .* shows an operand's memory"),
        ("in s0 by (1, 3)", "in s1", r"node 0 \(permute\): its result .* is another view of s0"),
        ("dims=(1, 0))", "dims=(1, 2))", r"node 0 \(permute\): its arguments do not fit"),
        ("dims=(1, 0))", "axes=(1, 0))", r"node 0 \(permute\): it takes 1 operands and the params dims"),
        ("%1 = add", "%0 = add", "%0 is made twice"),
        ("return %1", "return %2", "line 7: %2 is used before it is made"),
        ("return %1", "return <f>", "line 7: <f> has no text"),
        ("# input", "# constant, by reference", "%x is a constant, and state has no tensor 'x'"),
        ("(%x)\n", "()\n", "value %x .* is used before it is made"),
        ("on cpu in s1", "on opencl:0 in s0", "storage s0 is on cpu, not on opencl:0"),
        ("(1, 3)\n    %1", "(1, 4)\n    %1", r"node 1 \(mul_\): its result .* is not its argument"),
        (", 1)  float", ", " + "(" * 150 + "  float", "nested more than 100 levels deep"),
        (", 1)  float", ", " + "9" * 500 + ")  float", "a number has more than 400 digits"),
    ],
)  # fmt: skip
def test_what_is_no_graph(old: str, new: str, what: str) -> None:
    graphs.parse(TEXT)
    assert old in TEXT
    with pytest.raises(InvalidGraph, match=what):
        graphs.parse(TEXT.replace(old, new))


def with_node(graph: Graph, number: int, **changes) -> list[Node]:
    nodes = list(graph.nodes)
    nodes[number] = dataclasses.replace(nodes[number], **changes)
    return nodes


def smaller(graph: Graph) -> dict[str, object]:
    """The graph with too little memory for its last value."""
    first, last = graph.storages[0], dataclasses.replace(graph.storages[1], nbytes=8)
    return {
        "storages": [first, last],
        "values": [*graph.values[:-1], dataclasses.replace(graph.values[-1], storage=last)],
    }


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (lambda g: {"nodes": g.nodes[::-1]}, r"node 0 \(add\): value %x .* is used before it is made"),
        (lambda g: {"nodes": g.nodes[:-1]}, "value %1 .* is used before it is made"),
        (lambda g: smaller(g), r"node 2 \(add\): value %1 .* ends at byte 24 of s1, which has 8"),
        (lambda g: {"storages": g.storages[1:]}, "storages are not numbered in order"),
        (lambda g: {"storages": g.storages[:1]}, r"value %1 .* in a storage of its own"),
        (lambda g: {"nodes": [*g.nodes, g.nodes[-1]]}, r"node 3 \(add\): value %1 .* is made twice"),
        (lambda g: {"nodes": with_node(g, 0, args=(Ref(99), (1, 0)))}, r"node 0 .* 99 is used before"),
        (lambda g: {"nodes": with_node(g, 1, renewed=())}, r"node 2 .* is used before it is made"),
    ],
)  # fmt: skip
def test_a_graph_that_a_pass_broke(change, what: str) -> None:
    graph = graphs.parse(TEXT)
    with pytest.raises(InvalidGraph, match=what):
        graphs.verify(dataclasses.replace(graph, **change(graph)))


def test_changed_files_are_refused_or_equal() -> None:
    graph, file, luck = sample(), io.BytesIO(), random.Random(3)
    polyad.save(graph, file)
    held = file.getvalue()
    for _ in range(100):
        changed = bytearray(held)
        at = luck.randrange(len(held))
        changed[at : at + luck.randint(0, 2)] = luck.randbytes(luck.randint(0, 2))
        try:
            read = polyad.load(io.BytesIO(changed))
        except (RuntimeError, ValueError):
            continue
        assert isinstance(read, Graph)
        assert read.text == graph.text


def mutated(text: str, luck: random.Random) -> str:
    """*text* with one to three changes: a character, a word in another's place, a line less, twice or elsewhere."""
    for _ in range(luck.randint(1, 3)):
        lines, at = text.split("\n"), luck.randrange(len(text))
        words = re.findall(r"[%\w.@]+|\d+|[(),=;#]", text)
        kind = luck.randrange(6)
        if kind == 0:
            text = text[:at] + luck.choice('0129-()[]{},=;:%@#$<>"\\ .abs\n\t\0é') + text[at + luck.randint(0, 1) :]
        elif kind == 1:
            text = text[:at] + text[at + luck.randint(1, 8) :]
        elif kind == 2:
            old = luck.choice(words)
            text = text.replace(old, luck.choice(words), 1)
        elif kind == 3:
            del lines[luck.randrange(len(lines))]
            text = "\n".join(lines)
        else:
            line = lines.pop(luck.randrange(len(lines))) if kind == 4 else luck.choice(lines)
            lines.insert(luck.randrange(len(lines) + 1), line)
            text = "\n".join(lines)
    return text or "graph"


def check_mutated(count: int, seed: int) -> int:
    """How many of *count* changed texts are refused; the others are graphs that say what their texts say."""
    graph, luck, refused = sample(), random.Random(seed), 0
    text, state = graph.text, graph.state
    for _ in range(count):
        changed = mutated(text, luck)
        try:
            read = graphs.parse(changed, state)
        except InvalidGraph:
            refused += 1
        else:
            assert graphs.parse(read.text, state).text == read.text
    return refused


def test_changed_texts_are_refused_or_graphs() -> None:
    assert check_mutated(300, 7) > 200


class TestStrides:
    """Whether a program takes a view or a copy follows from strides, so what was decided holds for such inputs."""

    @pytest.mark.parametrize(
        ("function", "captured", "given"),
        [
            (lambda a: a.reshape(-1).add_(1), (2, 3), (3, 2)),
            (lambda a: a.contiguous().mul_(2), (2, 3), (3, 2)),
            (lambda a: a.reshape(-1)[1:] * 2, (2, 3), (3, 2)),
        ],
    )
    def test_an_input_that_lies_otherwise_is_refused(self, function, captured, given) -> None:
        whole, turned = polyad.ones(captured), polyad.ones(given).t()
        for example, other in ((whole, turned), (turned, whole)):
            graph = polyad.jit.capture(function, example.clone(memory_format=polyad.preserve_format))
            if graph.depends_on_strides:
                with pytest.raises(RuntimeError, match=r"input 0 has strides \(\d, \d\), the graph was captured with"):
                    graph(other)

    def test_some_graph_of_these_depends_on_strides(self) -> None:
        assert polyad.jit.capture(lambda a: a.reshape(-1).add_(1), polyad.ones(2, 3)).depends_on_strides
        assert polyad.jit.capture(lambda a: a.contiguous().mul_(2), polyad.ones(3, 2).t()).depends_on_strides

    def test_what_only_computes_takes_any(self) -> None:
        graph = polyad.jit.capture(lambda a: (a @ a.exp()).sum(0), polyad.ones(2, 2))
        assert not graph.depends_on_strides
        x = polyad.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
        assert polyad.equal(graph(x), (x @ x.exp()).sum(0))

    def test_dimensions_of_one_element_say_nothing(self) -> None:
        graph = polyad.jit.capture(lambda a: a.view(-1).mul_(2), polyad.ones(1, 3))
        assert graph(polyad.ones(3, 1).t()).tolist() == [2.0, 2.0, 2.0]


def test_results_keep_their_containers() -> None:
    class Row(list):
        pass

    for make in (lambda x: OrderedDict(a=x), lambda x: defaultdict(list, a=x), lambda x: Row([x])):
        given = make(polyad.ones(1))
        found = polyad.jit.capture(lambda x, make=make: make(x + 1), polyad.ones(1))(polyad.zeros(1))
        assert type(found) is type(given)
        assert (found[0] if isinstance(found, list) else found["a"]).item() == 1
