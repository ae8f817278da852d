"""Control flow in graphs: one node with its functions as graphs, which goes where the data of each replay says."""

from __future__ import annotations

import io
import random
import re
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import polyad as torch
from polyad import Tensor, func, graph as graphs, jit, nn
from polyad._higher_order_ops import map as map_over, scan
from polyad.errors import AutogradError, InvalidGraph, NotSupported, ShapeError
from polyad.graph import Graph


@pytest.fixture(autouse=True)
def _nothing_is_baked_in():
    with warnings.catch_warnings():
        warnings.simplefilter("error", jit.BakedValueWarning)
        yield


def sample(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


WEIGHT = sample(3, seed=7).requires_grad_()
OTHER = sample(3, seed=8).requires_grad_()


def branch(x, pred):
    y = x * 2
    return torch.cond(pred, lambda x: [x * WEIGHT, y], lambda x: [x.sin() @ OTHER * x, x], (x,))


def branch_of_data(x):
    return torch.cond(x.sum() > 0, lambda x: {"a": x.exp() * WEIGHT}, lambda x: {"a": x[[0]] * OTHER}, (x,))["a"]


def loop(x, n):
    return torch.while_loop(lambda n, x: n > 0, lambda n, x: (n - 1, x * WEIGHT + x.t() * 0.5), (n, x))[1]


def scanned(x, start):
    return scan(lambda c, row: (torch.tanh(c * WEIGHT + row), {"y": c * row}), start, x, reverse=True)


def mapped(x, y):
    return map_over(lambda rows, y: (rows[0] * y + OTHER, rows[1].sum()), [x, x.t()], y)


def nested(x, n):
    def step(n, x):
        def row_step(c, row):
            c = torch.cond(c.sum() > row.sum(), lambda c: c - row * WEIGHT, lambda c: c + row, (c,))
            return c, c * OTHER

        return n - 1, scan(row_step, x[0], x)[1] * 0.5

    return torch.while_loop(lambda n, x: (n > 0) & (x.abs().sum() < 1e6), step, (n, x))[1]


def integer(value: int) -> Tensor:
    return torch.tensor(value)


# What is captured, an example, and arguments of other data: other branches, other numbers of trips.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], list[tuple[Any, ...]]]] = {
    "branch": (branch, (sample(3), integer(2) > 1), [(sample(3, seed=n), integer(n) > 1) for n in (1, 2)]),
    "branch of data": (branch_of_data, (sample(2, 3).abs()[:1],), [(sample(1, 3).abs(),), (-sample(1, 3).abs(),)]),
    "loop": (loop, (sample(3, 3), integer(2)), [(sample(3, 3, seed=n), integer(n)) for n in (0, 1, 5)]),
    "scan": (scanned, (sample(4, 3), sample(3)), [(sample(4, 3, seed=5), sample(3, seed=6))]),
    "map": (mapped, (sample(3, 3), sample(3)), [(sample(3, 3, seed=5), sample(3, seed=6))]),
    "nested": (nested, (sample(4, 3), integer(1)), [(sample(4, 3, seed=n), integer(n)) for n in (0, 2, 3)]),
}  # fmt: skip


def bits(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.dtype, value.shape, value.stride(), value.tolist()
    if isinstance(value, dict):
        return {key: bits(item) for key, item in value.items()}
    return [type(value), *map(bits, value)] if isinstance(value, (list, tuple)) else value


def leaves(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    items = value.values() if isinstance(value, dict) else value
    return [leaf for item in items for leaf in leaves(item)]


def with_gradients(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Results, and their first and second gradients."""
    x = args[0].detach().clone().requires_grad_()
    found = function(x, *args[1:])
    total = sum((one * one).sum() for one in leaves(found))
    wanted = [x, WEIGHT, OTHER]
    first = torch.autograd.grad(total, wanted, create_graph=True, materialize_grads=True)
    second = torch.autograd.grad(sum((one * one).sum() for one in first), wanted, materialize_grads=True)
    return bits([found, first, second])


def captured(name: str) -> Graph:
    function, example, _ = PROGRAMS[name]
    return jit.capture(function, *example)


@pytest.mark.parametrize("name", PROGRAMS)
def test_replays_go_where_their_data_says(name: str) -> None:
    function, example, others = PROGRAMS[name]
    graph = captured(name)
    graphs.verify(graph)
    read = graphs.parse(graph.text, graph.state)
    assert read.text == graph.text
    for args in (example, *others):
        wanted = with_gradients(function, args)
        assert with_gradients(graph, args) == wanted
        assert with_gradients(read, args) == wanted
        again = jit.capture(graph, *args)
        assert [node.name for node in again] == [node.name for node in graph]
        assert with_gradients(again, args) == wanted


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_captured_call_is_the_call(name: str) -> None:
    function, example, _ = PROGRAMS[name]
    found = []
    jit.capture(lambda *args: found.append(function(*args)) or args[0] * 1, *example)
    assert bits(found[0]) == bits(function(*example))


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_node_with_bodies_that_have_no_constants(name: str) -> None:
    graph = captured(name)
    (node,) = [node for node in graph if node.bodies]
    assert node.name in ("cond", "while_loop", "scan", "map")
    assert len(node.bodies) == (2 if node.name in ("cond", "while_loop") else 1)
    for body in node.bodies:
        assert not body.constants
        assert body.after == {}
    assert {id(one.tensor) for one in graph.constants} <= {id(WEIGHT), id(OTHER)}


def test_the_text() -> None:
    def work(x, pred):
        return torch.cond(pred, torch.sin, lambda x: x * WEIGHT, (x,))

    graph = jit.capture(work, sample(3), torch.tensor(True))
    text = re.sub(r"(, |# )[\w.]+\.py:\d+$", "", str(graph), flags=re.MULTILINE)
    lines = [" " * (len(line) - len(line.lstrip())) + re.sub(r"  +", "  ", line.strip()) for line in text.splitlines()]
    assert lines == [
        'graph 2 of "test_the_text.<locals>.work" (%x, %pred)',
        "    %x  float32 (3,) on cpu in s0  # input",
        "    %pred  bool () on cpu in s1  # input",
        "    %c0  float32 (3,) on cpu in s2, requires grad  # constant, by reference",
        "    [%0] = cond(%pred, body(0), body(1), (%x, %c0))  float32 (3,) on cpu in s3",
        '        graph 1 of "sin" (%x, %c0)',
        "            %x  float32 (3,) on cpu in s0  # input",
        "            %c0  float32 (3,) on cpu in s2, requires grad  # input",
        "            %0 = sin(%x)  float32 (3,) on cpu in s1",
        "            return [%0]",
        '        graph 1 of "<lambda>" (%x, %c0)',
        "            %x  float32 (3,) on cpu in s0  # input",
        "            %c0  float32 (3,) on cpu in s1, requires grad  # input",
        "            %0 = mul(%x, %c0)  float32 (3,) on cpu in s2, requires grad",
        "            return [%0]",
        "    return %0",
    ]


def test_files() -> None:
    file = io.BytesIO()
    graph = captured("nested")
    torch.save(graph, file)
    file.seek(0)
    again = torch.load(file)
    args = PROGRAMS["nested"][2][-1]
    assert bits(again(*args)) == bits(nested(*args))


def test_pictures_and_lists_show_it() -> None:
    assert "while_loop" in torch.utils.viz.graph(captured("nested"))._repr_svg_()


def test_loops_begin_with_tensors_that_lie_in_any_way() -> None:
    graph = captured("loop")
    for x in (sample(3, 3).t(), sample(3, 6)[:, ::2]):
        with pytest.raises(ShapeError, match="has strides"):  # the graph says how its inputs lie
            graph(x, integer(2))
    whole = jit.capture(lambda x, n: loop(x.t() + 0, n), sample(3, 3), integer(1))
    assert bits(whole(sample(3, 3), integer(3))) == bits(loop(sample(3, 3).t() + 0, integer(3)))


# ------------------------------------------------------------------------------------------ nothing else happens


def test_the_other_branch_leaves_no_trace() -> None:
    own = torch.Generator()

    def work(x, pred):
        def yes(x):
            return x + torch.rand(3) + torch.rand(3, generator=own) + torch.empty(3).uniform_()

        return torch.cond(pred, yes, lambda x: x - torch.randn(3), (x,)) + torch.rand(3)

    def seeded(call, *args):
        torch.manual_seed(0)
        own.manual_seed(0)
        return call(*args)

    def states():
        return torch.get_rng_state().tolist(), own.get_state().tolist()

    x = sample(3)
    for pred in (torch.tensor(True), torch.tensor(False)):
        wanted = seeded(work, x, pred).tolist(), states()
        graph = seeded(jit.capture, work, x, pred)
        assert states() == wanted[1]
        assert (seeded(graph, x, pred).tolist(), states()) == wanted
        assert seeded(work, x, ~pred).tolist() == seeded(graph, x, ~pred).tolist()


def test_a_loop_that_would_not_end_is_traced() -> None:
    def forever(n):
        return torch.while_loop(
            lambda n: n != 0, lambda n: (n - torch.while_loop(lambda m: m != n, lambda m: (m,), (n + 1,))[0],), (n,)
        )[0]

    graph = jit.capture(lambda n: torch.cond(n > 0, forever, lambda n: n + 1, (n,)), integer(-3))
    assert graph(integer(-7)).item() == -6
    assert [node.name for node in graph] == ["gt", "cond"]


def test_writes_to_what_a_branch_did_not_make_are_refused_before_they_happen() -> None:
    x, state = sample(3), torch.zeros(3)
    leaf, table = sample(3).requires_grad_(), sample(3, 3)
    cases = {
        "add_": lambda x: x.add_(1),
        "mul_": lambda x: state.mul_(x),
        "copy_": lambda x: state[1:].copy_(x[1:]),
        "requires_grad_": lambda x: state.requires_grad_(),
        "detach_": lambda x: leaf.detach_(),
        "t_": lambda x: table.t_(),
        "set_grad": lambda x: setattr(leaf, "grad", x) or x,
    }

    def attempt(write):
        jit.capture(lambda x: torch.cond(x.sum() > 100, write, lambda x: x + 0, (x,)), x)

    for name, write in cases.items():
        with pytest.raises(AutogradError, match="<lambda> writes to a tensor that it did not make") as found:
            attempt(write)
        assert name in str(found.value)
    with pytest.raises(NotSupported, match=r"calls backward\(\), which adds to .grad"):
        jit.capture(
            lambda x: torch.cond(x.sum() > 100, lambda x: (leaf * x).sum().backward() or x, lambda x: x, (x,)), x
        )
    assert (state.tolist(), state.requires_grad, leaf.grad, leaf.requires_grad) == ([0, 0, 0], False, None, True)
    assert table.is_contiguous()
    assert x.tolist() == sample(3).tolist()

    def fill(x):
        made = torch.zeros(3)
        made[1:].add_(x[1:])
        return made.mul_(2)

    graph = jit.capture(lambda x: torch.cond(x.sum() > 100, fill, lambda x: x + 0, (x,)), x)
    assert graph(x + 100).tolist() == fill(x + 100).tolist()


def test_gradients_are_taken_within_a_body_and_through_it() -> None:
    def descend(x, rows):
        def step(x, row):
            x = x.detach().requires_grad_()
            (slope,) = torch.autograd.grad((branch_of_data(x[None])[0] * row).sum(), x)
            return x.detach() - slope, slope

        return scan(step, x, rows)

    args = sample(3), sample(4, 3, seed=1)
    graph = jit.capture(descend, *args)
    for x in args[0], -args[0]:
        assert bits(graph(x, args[1])) == bits(descend(x, args[1]))
    slope = func.grad(lambda x: branch_of_data(x).sum())
    graph = jit.capture(slope, args[1][:1])
    for x in args[1][:1].abs(), -args[1][:1].abs():
        assert bits(graph(x)) == bits(slope(x))


def test_branches_that_differ_are_told_at_capture() -> None:
    with pytest.raises(ShapeError, match="true_fn and false_fn return different tensors"):
        jit.capture(lambda x: torch.cond(x.sum() > 0, lambda x: x, lambda x: x[:1], (x,)), sample(3))
    with pytest.raises(TypeError, match="should return"):
        jit.capture(lambda x: torch.cond(x.sum() > 0, lambda x: [x], lambda x: x, (x,)), sample(3))
    with pytest.raises(ShapeError, match="body_fn returns other tensors"):
        jit.capture(lambda x: torch.while_loop(lambda x: x.sum() > 100, lambda x: (x[:1],), (x,)), sample(3))


# ------------------------------------------------------------------------------------------------ surroundings


class Choice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = nn.Linear(3, 3), nn.Linear(3, 3)
        self.cell = nn.LSTMCell(3, 3)

    def forward(self, x, h):
        x = torch.cond(x.sum() > 0, self.one, self.other, (x,))
        return scan(lambda c, row: ((c := self.cell(row[None], c)), c[0]), h, x)


def test_parameters_get_gradients_in_replays() -> None:
    torch.manual_seed(0)
    model = Choice()
    h = (torch.zeros(1, 3), torch.zeros(1, 3))
    graph = jit.capture(model, sample(4, 3).abs(), h)
    assert [node.name for node in graph][-2:] == ["cond", "scan"]
    assert "one.weight" in {one.value.name for one in graph.constants}
    assert {one.path for one in graph.nodes[-2].bodies[0].nodes[0].modules} == {"one"}
    for x in (sample(4, 3).abs(), -sample(4, 3).abs()):
        found = []
        for call in (model, graph):
            model.zero_grad()
            call(x, h)[1].square().sum().backward()
            found.append(
                [(name, None if one.grad is None else one.grad.tolist()) for name, one in model.named_parameters()]
            )
        assert found[0] == found[1]
        assert sum(gradient is None for _, gradient in found[0]) == 2


def test_no_grad_and_autocast_within_and_around() -> None:
    def work(x, pred):
        def yes(x):
            with torch.no_grad():
                y = x * WEIGHT
            return y + x

        def half(x):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                return (x[None] @ x[:, None]).float().sum() * OTHER

        with torch.no_grad():
            still = torch.cond(pred, yes, half, (x,))
        return still + torch.cond(pred, yes, half, (x,))

    graph = jit.capture(work, sample(3), torch.tensor(True))
    for pred in (True, False):
        args = sample(3, seed=2), torch.tensor(pred)
        assert with_gradients(graph, args) == with_gradients(work, args)
    with torch.no_grad():
        assert not graph(sample(3).requires_grad_(), torch.tensor(True)).requires_grad


def test_replays_of_batches_and_tangents() -> None:
    graph, xs = captured("branch of data"), torch.stack([sample(1, 3).abs(), -sample(1, 3).abs()])
    assert bits(func.vmap(graph)(xs)) == bits(torch.stack([branch_of_data(x) for x in xs]))
    got = func.jvp(graph, (xs[1],), (sample(1, 3),))
    assert bits(got) == bits(func.jvp(branch_of_data, (xs[1],), (sample(1, 3),)))


def test_without_data() -> None:
    x, start = torch.empty(4, 3, device="meta"), torch.empty(3, device="meta")
    graph = jit.capture(lambda x, start: scan(lambda c, row: (c + row, c.sum()), start, x), x, start)
    assert [tuple(one.shape) for one in graph(x, start)] == [(3,), (4,)]
    pred = torch.empty((), dtype=torch.bool, device="meta")
    graph = jit.capture(lambda p, x: torch.cond(p, lambda x: x * 2, lambda x: x + 1, (x,)), pred, x)
    assert graphs.verify(graph)(pred, x).shape == (4, 3)


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("branch", "body(0), body(1)", "body(1), body(0)", "node 1 .cond.: 2 graphs are below it"),
        ("branch", "body(0), body(1)", "body(0), body(2)", "node 1 .cond.: there is no body 2"),
        ("branch", "body(0), body(1)", "body(0), 3", "node 1 .cond.: 2 graphs are below it"),
        ("branch", "cond(%pred", "cond(%x", "node 1 .cond.: its arguments do not fit: cond: pred"),
        ("branch", "= sin(", "= sine(", r"line \d+, node 1, body 1, node 0 .sine.: there is no such op"),
        ("branch", "= sin(%x)", "= sin(%2)", "node 1, body 1, node 0 .sin.: %2 is used before it is made"),
        ("branch", "return [%0, %v0]", "return [%0]", "node 1 .cond.: its arguments do not fit: cond: true_fn and"),
        ("branch", "return [%0, %v0]", "return %0", "node 1 .cond.: body 0 is no function"),
        ("loop", "return [%0]", "return [%n]", "node 0 .while_loop.: its arguments do not fit: while_loop: cond_fn"),
        ("loop", "[%n, %x]", "[%x, %n]", "node 0 .while_loop.: body 0 has another shape, dtype or device for input 0"),
        ("loop", "(%c0,))", "(%c0, %c0))", "node 0 .while_loop.: body 0 has 3 inputs, and is given 4"),
        ("scan", "True, (%c0", "True, 3, (%c0", "node 0 .scan.: it has 6 arguments, and takes 5"),
        ("scan", "True, (%c0", "(%c0", "node 0 .scan.: it has 4 arguments, and takes 5"),
        ("scan", "(4, 3) on cpu in s4", "(5, 3) on cpu in s4", "node 0 .scan.: its result .* by the rules of scan"),
        ("scan", "= scan(body(0)", "= sin(body(0)", "node 0 .sin."),
    ],
)  # fmt: skip
def test_what_is_no_graph(name: str, old: str, new: str, message: str) -> None:
    graph = captured(name)
    assert old in graph.text, graph.text
    with pytest.raises(InvalidGraph, match=message):
        graphs.parse(graph.text.replace(old, new), graph.state)


def test_bodies_of_what_has_none_are_refused() -> None:
    graph = jit.capture(lambda x: x.sin() * 2, sample(3))
    lines = graph.text.split("\n")
    body = ["        " + line for line in jit.capture(torch.cos, sample(3)).text.split("\n")]
    for at, message in ((1, "line 2: graphs are below it"), (2, r"line 3, node 0 \(sin\): 1 graphs are below it")):
        with pytest.raises(InvalidGraph, match=message):
            graphs.parse("\n".join([*lines[: at + 1], *body, *lines[at + 1 :]]), graph.state)


def test_a_body_that_writes_to_what_it_is_given_is_refused() -> None:
    graph = jit.capture(lambda x: map_over(lambda row: row * 2, x), sample(4, 3))
    text = re.sub(r"%0 = mul\(%x, 2\) .* in s1 .*", "%x@1 = mul_(%x, 2) float32 (3,) on cpu in s0@1", graph.text)
    with pytest.raises(InvalidGraph, match=r"node 0 \(map\): body 0 writes to what it is given"):
        graphs.parse(text.replace("return [%0]", "return [%x@1]"), graph.state)


def test_graphs_nested_without_end_are_refused() -> None:
    graph = jit.capture(lambda x: map_over(lambda row: row * 2, x), sample(4, 3))
    head, *rows, last = graph.text.split("\n")
    calls = [row for row in rows if "map(" in row]
    text = graph.text
    for _ in range(60):
        text = "\n".join([head, rows[0], *calls, *["        " + line for line in text.split("\n")], last])
    with pytest.raises(InvalidGraph, match="graphs are nested more than 25 levels deep"):
        graphs.parse(text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_mutated_texts_are_read_or_refused(name: str) -> None:
    graph, choose = captured(name), random.Random(0)
    text = graph.text
    words = re.findall(r"[%\w@.()]+|[=,\[\]]", text)
    refused = 0
    for _ in range(150):
        at = choose.randrange(len(text))
        cut = (
            text[:at]
            + choose.choice(["", choose.choice(words), " " * 8, "\n"])
            + text[at + choose.choice([0, 1, 9, 60]) :]
        )
        try:
            assert graphs.parse(cut, graph.state).text is not None
        except InvalidGraph:
            refused += 1
    assert refused > 75


def test_draws_after_control_flow_follow_what_its_functions_drew() -> None:
    def function(chosen, x):
        y = torch.rand(4) + torch.cond(chosen, lambda x: x + torch.rand(40), lambda x: x.clone(), (x,))[:4]
        return y + torch.rand(4)

    x = torch.zeros(40)
    for captured_with in (True, False):
        graph = torch.jit.capture(function, torch.tensor(captured_with), x)
        for again in (graph, torch.graph.parse(graph.text)):
            for chosen in (True, False):
                torch.manual_seed(5)
                wanted, stands = function(torch.tensor(chosen), x), torch.get_rng_state()
                torch.manual_seed(5)
                assert torch.equal(again(torch.tensor(chosen), x), wanted)
                assert torch.equal(torch.get_rng_state(), stands)


def test_a_generator_is_not_put_back_to_before_control_flow_that_drew_from_it() -> None:
    def function(chosen, x):
        with torch.random.fork_rng():
            y = torch.cond(chosen, lambda x: x + torch.rand(40), lambda x: x.clone(), (x,))
        return y + torch.rand(40)

    with pytest.raises(NotImplementedError, match="put back to before control flow"):
        torch.jit.capture(function, torch.tensor(True), torch.zeros(40))
