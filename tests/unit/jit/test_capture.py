"""Calls recorded as graphs: what is recorded, how it prints, and that replays equal calls, gradients included."""

from __future__ import annotations

import collections
import re
import warnings

import pytest

import polyad
from polyad import jit, nn
from polyad.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from polyad.graph import Graph

Pair = collections.namedtuple("Pair", "left right")


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph]


def tensor(*values: float, grad: bool = False) -> polyad.Tensor:
    return polyad.tensor(values, requires_grad=grad)


def same(got, wanted) -> bool:
    """Equal values, dtypes and nesting; bits, since the same kernels ran on the same numbers."""
    if isinstance(wanted, polyad.Tensor):
        return got.dtype is wanted.dtype and got.shape == wanted.shape and got.tolist() == wanted.tolist()
    if isinstance(wanted, (list, tuple)):
        return type(got) is type(wanted) and len(got) == len(wanted) and all(map(same, got, wanted))
    if isinstance(wanted, dict):
        return got.keys() == wanted.keys() and all(same(got[key], wanted[key]) for key in wanted)
    return got == wanted


# ------------------------------------------------------------------------------------------------------------ replay


def test_ops_params_and_abstract_values() -> None:
    def work(x, y):
        return (x * y).sum(1, keepdim=True)

    graph = jit.capture(work, polyad.ones(2, 3), polyad.ones(3))
    assert names(graph) == ["mul", "sum"]
    assert [value.name for value in graph.inputs] == ["x", "y"]
    value = graph.values[graph.nodes[1].outputs.number]
    assert (value.shape, value.dtype, value.device) == ((2, 1), polyad.float32, polyad.device("cpu"))
    assert graph.nodes[1].args[1:] == ((1,), True)
    assert graph.nodes[0].line.startswith("test_capture.py:")
    assert graph.constants == []
    a, b = polyad.arange(6).reshape(2, 3).float(), tensor(1.0, -2.0, 3.0)
    assert same(graph(a, b), work(a, b))


def test_the_example_call_happens_and_its_result_is_not_kept_from_the_function() -> None:
    calls = []

    def work(x):
        calls.append(1)
        return x + 1

    graph = jit.capture(work, tensor(1.0))
    graph(tensor(2.0))
    graph(tensor(3.0))
    assert calls == [1]


def test_gradients_flow_through_replays_to_inputs_and_constants() -> None:
    weight = polyad.ones(3, 4, requires_grad=True)

    def work(x):
        return ((x @ weight) * x.sum()).relu()

    graph = jit.capture(work, polyad.ones(2, 3))
    (constant,) = graph.constants
    assert constant.tensor is weight
    x = polyad.arange(6).reshape(2, 3).float().requires_grad_()
    graph(x).sum().backward()
    replayed = x.grad.tolist(), weight.grad.tolist()
    x.grad = weight.grad = None
    work(x).sum().backward()
    assert (x.grad.tolist(), weight.grad.tolist()) == replayed


def test_second_derivatives_of_a_replay() -> None:
    graph = jit.capture(lambda x: (x * x * x).sum(), tensor(1.0, 1.0))
    x = tensor(2.0, 3.0, grad=True)
    (first,) = polyad.autograd.grad(graph(x), x, create_graph=True)
    (second,) = polyad.autograd.grad(first.sum(), x)
    assert second.tolist() == [12.0, 18.0]


def test_constants_are_references() -> None:
    scale = tensor(2.0)
    graph = jit.capture(lambda x: x * scale, tensor(1.0))
    scale.fill_(5.0)
    assert graph(tensor(3.0)).tolist() == [15.0]


def test_a_constant_that_changed_its_shape_is_noticed() -> None:
    scale = tensor(2.0)
    graph = jit.capture(lambda x: x * scale, tensor(1.0))
    scale.data = tensor(2.0, 3.0)
    with pytest.raises(ShapeError, match=r"constant c0 has shape \(2,\), the graph was captured with \(1,\)"):
        graph(tensor(3.0))


def test_modules_show_their_parameters_by_name() -> None:
    model = nn.Linear(3, 2)
    graph = jit.capture(model, polyad.ones(4, 3))
    assert sorted(constant.value.name for constant in graph.constants) == ["bias", "weight"]
    assert [value.name for value in graph.inputs] == ["input"]
    x = polyad.arange(12).reshape(4, 3).float()
    assert same(graph(x), model(x))
    with polyad.no_grad():
        model.bias.fill_(9.0)
    assert same(graph(x), model(x))


def test_nested_containers_of_inputs_and_outputs() -> None:
    def work(batch, pair, *, mask):
        total = batch["x"] + pair.left * mask[0][0]
        return {"sum": total, "parts": [batch["x"], (pair.right, "label", 3)], "pair": Pair(total, None)}

    def inputs(scale: float):
        return ({"x": tensor(scale), "n": 2}, Pair(tensor(2 * scale), tensor(3 * scale))), {"mask": [(tensor(1.0),)]}

    args, kwargs = inputs(1.0)
    graph = jit.capture(work, *args, **kwargs)
    assert [value.name for value in graph.inputs] == ["batch['x']", "pair.left", "pair.right", "mask[0][0]"]
    args, kwargs = inputs(7.0)
    result, wanted = graph(*args, **kwargs), work(*args, **kwargs)
    assert same(result, wanted)
    assert result["parts"][0] is args[0]["x"]
    assert type(result["pair"]) is Pair


def test_views_and_writes_alias_as_they_do_in_the_function() -> None:
    def work(x):
        y = x.clone()
        row = y[0]
        row.add_(10)
        y.t()[1].copy_(tensor(7.0, 8.0))
        y.mul_(2)
        a, b = y.unbind(0)
        b.zero_()
        return y, row, a

    graph = jit.capture(work, polyad.zeros(2, 3))
    x = polyad.arange(6).reshape(2, 3).float()
    result = graph(x)
    assert same(result, work(x))
    result[1].fill_(1.0)
    assert result[0][0].tolist() == [1.0, 1.0, 1.0]
    assert x.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


def test_gradients_through_writes() -> None:
    def work(x):
        y = x * 2
        y[0].mul_(x[1])
        y.add_(1)
        return (y * y).sum()

    graph = jit.capture(work, polyad.ones(2, 2))
    x = tensor(1.0, 2.0, 3.0, 4.0).reshape(2, 2).detach().requires_grad_()
    graph(x).backward()
    replayed = x.grad.tolist()
    x.grad = None
    work(x).backward()
    assert x.grad.tolist() == replayed


def test_writes_to_inputs_and_constants_happen_on_each_replay() -> None:
    count = tensor(0.0)

    def work(x):
        count.add_(1)
        x.mul_(2)
        return x

    graph = jit.capture(work, tensor(1.0))
    x = tensor(3.0)
    assert graph(x) is x
    graph(x)
    assert x.tolist() == [12.0]
    assert count.tolist() == [3.0]


def test_tensors_made_inside_are_made_anew() -> None:
    def work(x):
        total = polyad.tensor([0.0])
        memory = polyad.empty(1)
        memory.copy_(total)
        total.add_(x)
        zeros = polyad.zeros(1)
        zeros.add_(total)
        return total, zeros, memory

    graph = jit.capture(work, tensor(1.0))
    first, second = graph(tensor(5.0)), graph(tensor(6.0))
    assert [t.tolist() for t in first] == [[5.0], [5.0], [0.0]]
    assert [t.tolist() for t in second] == [[6.0], [6.0], [0.0]]


def test_ops_with_several_results() -> None:
    graph = jit.capture(lambda x: x.max(1), polyad.ones(2, 3))
    x = tensor(1.0, 5.0, 2.0, 9.0, 3.0, 4.0).reshape(2, 3)
    result = graph(x)
    assert (result[0].tolist(), result[1].tolist()) == ([5.0, 9.0], [1, 0])
    assert type(result) is type(x.max(1))


def test_regions_without_and_with_gradients() -> None:
    def work(x):
        with polyad.no_grad():
            frozen = x * 3
        with polyad.no_grad(), polyad.enable_grad():
            alive = x * 5
        return frozen * x + alive + x.detach() * 7

    graph = jit.capture(work, tensor(1.0, grad=True))
    assert [node.grad for node in graph if node.name == "mul"] == [False, None, None, None]
    x = tensor(2.0, grad=True)
    graph(x).backward()
    replayed = x.grad.tolist()
    x.grad = None
    work(x).backward()
    assert x.grad.tolist() == replayed == [6.0 + 5.0]
    with polyad.no_grad():
        assert not graph(x).requires_grad
    assert polyad.is_grad_enabled()


def test_no_grad_is_left_after_a_failing_replay() -> None:
    def work(x, index):
        with polyad.no_grad():
            return x[index]

    graph = jit.capture(work, tensor(1.0, 2.0), polyad.tensor([0]))
    with pytest.raises(IndexError):
        graph(tensor(1.0, 2.0), polyad.tensor([5]))
    assert polyad.is_grad_enabled()


def test_captured_under_no_grad_a_graph_follows_whoever_replays_it() -> None:
    with polyad.no_grad():
        graph = jit.capture(lambda x: x * 2, tensor(1.0))
    x = tensor(3.0, grad=True)
    graph(x).backward()
    assert x.grad.tolist() == [2.0]


def test_a_training_step_with_its_backward_pass() -> None:
    def make():
        weight = polyad.ones(3, 1, requires_grad=True)

        def step(x):
            loss = ((x @ weight) * (x @ weight)).sum()
            loss.backward()
            with polyad.no_grad():
                weight.sub_(weight.grad * 0.01)
            weight.grad = None
            return loss

        return weight, step

    x, y = polyad.ones(2, 3), polyad.arange(6).reshape(2, 3).float()
    weight, step = make()
    graph = jit.capture(step, x)
    assert names(graph)[-4:] == ["accumulate_grad", "mul", "sub_", "set_grad"]
    replayed = [graph(y).item(), graph(x).item(), weight.tolist()]
    weight, step = make()
    step(x)
    assert [step(y).item(), step(x).item(), weight.tolist()] == replayed


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_a_step_of_an_optimizer_that_has_taken_one(kind: str) -> None:
    def make():
        parameter = tensor(1.0, 2.0, grad=True)
        optimizer = getattr(polyad.optim, kind)([parameter], lr=0.1)

        def step(x):
            optimizer.zero_grad()
            loss = (parameter * x).sum()
            loss.backward()
            optimizer.step()
            return loss

        step(tensor(1.0, 1.0))
        return parameter, step

    inputs = [tensor(1.0, -2.0), tensor(0.5, 3.0), tensor(-1.0, 1.0)]
    parameter, step = make()
    graph = jit.capture(step, inputs[0])
    losses = [graph(x).item() for x in inputs[1:]]
    other, step = make()
    assert [step(x).item() for x in inputs][1:] == losses
    assert other.tolist() == parameter.tolist()


def test_gradients_asked_for_inside() -> None:
    def slope(x):
        x = x.detach().requires_grad_()
        (gradient,) = polyad.autograd.grad((x * x * x).sum(), x)
        return gradient

    graph = jit.capture(slope, tensor(1.0))
    assert graph(tensor(2.0)).tolist() == [12.0]


def test_functions_with_a_backward_of_their_own_keep_it() -> None:
    class Twice(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 100 * ctx.saved_tensors[0]

    graph = jit.capture(lambda x: Twice.apply(x).sum(), tensor(1.0))
    assert names(graph) == ["Twice", "sum"]
    x = tensor(3.0, grad=True)
    graph(x).backward()
    assert x.grad.tolist() == [300.0]


def test_results_written_to_out() -> None:
    target = polyad.empty(0)
    graph = jit.capture(lambda x: polyad.add(x, 1, out=target), tensor(1.0, 2.0))
    assert graph(tensor(5.0, 6.0)) is target
    assert target.tolist() == [6.0, 7.0]


def test_a_graph_is_captured_by_an_outer_capture() -> None:
    inner = jit.capture(lambda x: x * 2 + 1, tensor(1.0))
    outer = jit.capture(lambda x: inner(x) * inner(x), tensor(1.0))
    assert names(outer) == ["mul", "add", "mul", "add", "mul"]
    assert outer(tensor(2.0)).tolist() == [25.0]


def test_values_are_freed_after_their_last_use() -> None:
    graph = jit.capture(lambda x: (x + 1) * 2 - 3, tensor(1.0))
    made = [node.outputs.number for node in graph]
    assert made[0] in graph.nodes[1].frees
    assert made[2] not in graph.nodes[2].frees  # it is the result


def test_a_failing_function_leaves_no_mode_behind() -> None:
    def work(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        jit.capture(work, tensor(1.0))
    assert polyad.base.state.state.modes == ()


# ------------------------------------------------------------------------------------------------------------ baked in


def test_data_dependent_control_flow_is_baked_in_with_a_warning() -> None:
    def work(x):
        if x.sum() > 0:
            return x * 2
        return x * 3

    with pytest.warns(jit.BakedValueWarning, match=r"item\(\) reads data \(test_capture.py:\d+\)") as caught:
        graph = jit.capture(work, tensor(1.0))
    assert caught[0].filename == __file__
    assert graph(tensor(-1.0)).tolist() == [-2.0]
    assert "# baked in: True" in str(graph)


@pytest.mark.parametrize("read", [polyad.Tensor.item, polyad.Tensor.tolist, float, bool, lambda x: x.detach().numpy()])
def test_every_way_of_reading_data_warns(read) -> None:
    with pytest.warns(jit.BakedValueWarning, match="reads data"):
        jit.capture(lambda x: x * 1 if read(x.sum()) is not None else x, tensor(1.0))


def test_printing_is_no_decision() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit.capture(lambda x: x * len(repr(x)), tensor(1.0))


# ------------------------------------------------------------------------------------------------------------ printing


def test_a_graph_reads_as_a_listing() -> None:
    bias = tensor(1.0, 2.0, grad=True)

    def work(x):
        y = x.t().sum(0) + bias
        y.mul_(2)
        with polyad.no_grad():
            return y * 3

    text = str(jit.capture(work, polyad.ones(2, 3)))
    head, *lines = re.sub(r"(test_capture.py):\d+", r"\1:LINE", text).splitlines()
    assert head == 'graph 1 of "test_a_graph_reads_as_a_listing.<locals>.work" (%x)'
    assert [re.sub(r" +", " ", line.strip()) for line in lines] == [
        "%x float32 (2, 3) on cpu in s0 # input",
        "%c0 float32 (2,) on cpu in s2, requires grad # constant, by reference",
        "%0 = permute(%x, dims=(1, 0)) float32 (3, 2) on cpu in s0 by (1, 3) # test_capture.py:LINE",
        "%1 = sum(%0, dims=(0,), keepdim=False) float32 (2,) on cpu in s1 # test_capture.py:LINE",
        "%2 = add(%1, %c0) float32 (2,) on cpu in s3, requires grad # test_capture.py:LINE",
        "%2@1 = mul_(%2, 2) float32 (2,) on cpu in s3@1, requires grad # test_capture.py:LINE",
        "%3 = mul(%2@1, 3) float32 (2,) on cpu in s4 # no_grad, test_capture.py:LINE",
        "return %3",
    ]
    assert repr(jit.capture(work, polyad.ones(2, 3))).endswith("work: 1 inputs, 1 constants, 5 nodes>")


# ------------------------------------------------------------------------------------------------------------ bad input


def test_replaying_with_what_does_not_fit() -> None:
    graph = jit.capture(lambda x, n: x * n, polyad.ones(2, 3), 4)
    with pytest.raises(ShapeError, match=r"input 0 has shape \(3, 3\), the graph was captured with \(2, 3\)") as caught:
        graph(polyad.ones(3, 3), 4)
    assert caught.value.lines["given"] == "float32 (3, 3) on cpu"
    assert "capture again" in caught.value.fix
    with pytest.raises(DTypeError, match="input 0 has dtype float64, the graph was captured with float32"):
        graph(polyad.ones(2, 3, dtype=polyad.float64), 4)
    with pytest.raises(ArgumentTypeError, match="input 0 is int, not a tensor"):
        graph(3, 4)
    with pytest.raises(ArgumentError, match="input 1 is baked into the graph") as caught:
        graph(polyad.ones(2, 3), 5)
    assert caught.value.lines == {"captured": "int 4", "given": "int 5"}
    with pytest.raises(ArgumentError, match="input 1 is baked"):
        graph(polyad.ones(2, 3), 4.0)
    with pytest.raises(ArgumentTypeError, match="input 1 is missing"):
        graph(polyad.ones(2, 3))
    with pytest.raises(ArgumentTypeError, match="input 2 is not an argument of the example call"):
        graph(polyad.ones(2, 3), 4, 5)
    with pytest.raises(ArgumentTypeError, match="extra is not an argument"):
        graph(polyad.ones(2, 3), 4, extra=5)


def test_another_device_is_refused(make_device) -> None:
    graph = jit.capture(lambda x: x, tensor(1.0))
    with pytest.raises(RuntimeError, match="input 0 has device second:0, the graph was captured on cpu"):
        graph(polyad.ones(1, device=make_device))


@pytest.fixture
def make_device():
    from polyad_numpy.backend import NumpyBackend

    with polyad.backends.register("second", NumpyBackend()):
        yield "second"


def test_one_tensor_for_two_inputs_stays_one() -> None:
    x = tensor(2.0)
    graph = jit.capture(lambda a, b: a * b, x, x)
    y = tensor(3.0)
    assert graph(y, y).tolist() == [9.0]
    with pytest.raises(ArgumentError, match="input 1 must be the same tensor as a"):
        graph(y, tensor(3.0))


def test_nothing_runs_when_an_input_does_not_fit() -> None:
    count = tensor(0.0)
    graph = jit.capture(lambda x, y: count.add_(1) + x + y, tensor(1.0), tensor(1.0))
    with pytest.raises(ShapeError):
        graph(tensor(1.0), tensor(1.0, 2.0))
    assert count.tolist() == [1.0]


def test_capturing_what_cannot_be_captured() -> None:
    with pytest.raises(ArgumentTypeError, match="cannot be called"):
        jit.capture(3, tensor(1.0))
    with pytest.raises(ArgumentTypeError, match="no example input is a tensor"):
        jit.capture(lambda: None)


def test_trace_takes_a_tuple_or_one_tensor() -> None:
    assert jit.trace(lambda x: x + 1, tensor(1.0))(tensor(2.0)).tolist() == [3.0]
    assert jit.trace(lambda x, y: x + y, (tensor(1.0), tensor(1.0)))(tensor(2.0), tensor(3.0)).tolist() == [5.0]


# ------------------------------------------------------------------------------------------------------- random numbers


def test_random_numbers_are_drawn_anew_from_the_generator_that_was_used() -> None:
    generator = polyad.Generator()

    def work(x):
        return x + polyad.rand(3, generator=generator), polyad.nn.functional.dropout(x, 0.5)

    x = polyad.ones(3)
    generator.manual_seed(1)
    polyad.manual_seed(2)
    wanted = [work(x) for _ in range(3)]
    generator.manual_seed(1)
    polyad.manual_seed(2)
    graph = jit.capture(work, x)
    assert same([graph(x), graph(x)], wanted[1:])
    assert wanted[0][0].tolist() != wanted[1][0].tolist()
    assert names(graph)[0] == "uniform"  # the generator is a parameter: whoever runs the op moves it on


# ------------------------------------------------------------------------------------------ sizes that follow from data


@pytest.mark.parametrize(
    "work",
    [lambda x: x[x > 0] * tensor([1.0, 2.0, 3.0]), lambda x: x.masked_select(x > 0)[2], lambda x: x.nonzero()[1:3]],
    ids=["mul", "select", "slice"],
)
def test_what_was_captured_for_another_number_of_found_elements_says_so(work) -> None:
    graph = jit.capture(work, tensor([1.0, 2.0, 3.0, 0.0]))
    with pytest.raises(ShapeError, match="the size follows from the data"):
        graph(tensor([1.0, 2.0, 0.0, 0.0]))


def test_what_takes_any_number_of_found_elements_is_replayed() -> None:
    graph = jit.capture(lambda x: x.masked_select(x > 0).sum(), tensor([1.0, 2.0, -1.0]))
    assert graph(tensor([1.0, 2.0, 3.0])).item() == 6.0


def test_nodes_know_the_submodules_that_they_are_part_of():
    inner = nn.Sequential(nn.ReLU(), nn.Linear(2, 2))
    model = nn.Sequential(nn.Linear(3, 2), inner, inner)
    for function in (model, model.forward):
        graph = polyad.jit.capture(function, polyad.ones(1, 3))
        assert [[call.path for call in node.modules] for node in graph] == [
            ["0"], ["1", "1.0"], ["1", "1.1"], ["1", "1.0"], ["1", "1.1"],
        ]  # fmt: skip
        assert [call.class_name for call in graph.nodes[1].modules] == ["Sequential", "ReLU"]
        assert len({node.modules[-1].number for node in graph}) == 5
    assert all(node.modules == () for node in polyad.jit.capture(lambda x: model(x), polyad.ones(1, 3)))


def test_a_submodule_that_raises_is_left():
    class Guarded(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(5, 5), nn.Linear(3, 2)

        def forward(self, x):
            try:
                return self.first(x)
            except RuntimeError:
                return self.second(x)

    graph = polyad.jit.capture(Guarded(), polyad.ones(1, 3))
    assert [call.path for call in graph.nodes[-1].modules] == ["second"]
