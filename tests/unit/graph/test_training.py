"""Replays of a captured training step are steps.

Parameters, gradients, optimizer state, buffers, versions, loss and random numbers are compared bit for bit.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import polyad
import polyad.nn.functional as F
from polyad import graph as graphs, jit, nn, optim
from polyad.dispatch.effects import Effect
from polyad.errors import ArgumentError, ArgumentTypeError, AutogradError, InvalidGraph
from polyad.graph import Graph


class Training(NamedTuple):
    """A step that is called with *inputs*, and everything that it changes, by name."""

    step: Callable[..., Any]
    held: Callable[[], dict[str, Any]]


def bits(tensor: Any) -> Any:
    if not isinstance(tensor, polyad.Tensor):
        return repr(tensor)
    shown = tensor.dtype, tensor.shape, tensor.stride(), tensor._version
    return np.ascontiguousarray(tensor.detach().numpy()).tobytes(), shown


def held_by(model: nn.Module, optimizer: Any, *others: polyad.Tensor) -> Callable[[], dict[str, Any]]:
    def held() -> dict[str, Any]:
        found: dict[str, Any] = dict(enumerate(others))
        for name, tensor in (*model.named_parameters(), *model.named_buffers()):
            found[name], found[f"{name}.grad"] = tensor, tensor.grad
            found |= {f"{name} {key}": value for key, value in optimizer.state.get(tensor, {}).items()}
        return found

    held.optimizer = optimizer
    return held


def trained(make: Callable[[], Training], batches: list[Any], captured: bool, warm: int, between: Any = None) -> Any:
    """What is there after each batch; the step is captured after *warm* of them, with the next as its example."""
    polyad.manual_seed(3)
    training, history = make(), []
    replays: list[Graph] = []
    for number, batch in enumerate(batches):
        if captured and number == warm:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", jit.BakedValueWarning)
                graph = jit.capture(training.step, *batch)
            graphs.verify(graph)
            read = graph if "<" in graph.text else graphs.parse(graph.text, graph.state)
            assert read.text == graph.text
            replays = [graph, read]
            loss = None
        else:
            take = replays[number % 2] if replays else training.step
            given = {one.name: one.read() for one in replays[0].numbers} if number % 2 and replays else {}  # type: ignore[misc]
            loss = take(*batch, **given)
        found = {name: bits(tensor) for name, tensor in training.held().items()}
        found["loss"] = "" if loss is None else loss.item()
        found["generator"] = bits(polyad.get_rng_state())
        history.append(found)
        if between is not None:
            between(training)
    if captured:
        history[warm]["loss"] = ""
    return history, graph if captured else None


def check(make: Callable[[], Training], batches: list[Any], warm: int = 1, between: Any = None) -> Graph:
    eager, _ = trained(make, batches, False, warm, between)
    replayed, graph = trained(make, batches, True, warm, between)
    eager[warm]["loss"] = ""
    for number, (wanted, got) in enumerate(zip(eager, replayed, strict=True)):
        differ = [name for name in wanted if wanted[name] != got.get(name)]
        assert (differ, sorted(map(str, got))) == ([], sorted(map(str, wanted))), f"after step {number}"
    return graph


def labelled(count: int, *shape: int) -> list[Any]:
    polyad.manual_seed(1)
    return [(polyad.randn(8, *shape), polyad.randint(0, 3, (8,))) for _ in range(count)]


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 5), nn.Tanh(), nn.Linear(5, 3))


class Halves:
    """Between steps: the options *names* of the first group, halved."""

    def __init__(self, *names: str) -> None:
        self.names = names

    def __call__(self, training: Training) -> None:
        (group, *_) = training.held.optimizer.param_groups
        for name in self.names:
            value = group[name]
            group[name] = tuple(one / 2 for one in value) if isinstance(value, tuple) else value / 2


def training(model: nn.Module, kind: Any, clip: float | None = None, none: bool = True, **options: Any) -> Training:
    optimizer = kind(model.parameters(), **options)

    def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
        optimizer.zero_grad(none)
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        if clip is not None:
            nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        return loss

    return Training(step, held_by(model, optimizer))


@pytest.mark.parametrize("none", [True, False])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (optim.SGD, {"lr": 0.1}),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
        (optim.Adam, {"lr": 0.01}),
        (optim.AdamW, {"lr": 0.01, "amsgrad": True}),
        (optim.RMSprop, {"lr": 0.01}),
        (optim.Adagrad, {"lr": 0.01}),
        (optim.Adadelta, {"lr": 0.01}),
        (optim.Adamax, {"lr": 0.01}),
        (optim.ASGD, {"lr": 0.01}),
        (optim.NAdam, {"lr": 0.01}),
        (optim.RAdam, {"lr": 0.01}),
        (optim.Rprop, {"lr": 0.01}),
    ],
)
def test_a_step_of_each_optimizer(kind: Any, options: Any, none: bool) -> None:
    graph = check(lambda: training(perceptron(), kind, clip=0.1, none=none, **options), labelled(7, 6))
    assert "backward" not in [node.name for node in graph]


@pytest.mark.parametrize("inplace", [False, True])
def test_convolutions_with_batch_norm_and_dropout(inplace: bool) -> None:
    def make() -> Training:
        model = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace), nn.MaxPool2d(2), nn.Dropout2d(0.3),
            nn.Flatten(), nn.Dropout(0.5), nn.Linear(16, 3),
        )  # fmt: skip
        return training(model, optim.SGD, lr=0.1, momentum=0.9)

    graph = check(make, labelled(6, 1, 4, 4))
    assert "backward" not in [node.name for node in graph]


def test_recurrence_attention_and_embeddings() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.table, self.memory = nn.Embedding(9, 8), nn.LSTM(8, 8, batch_first=True)
            self.block = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True)
            self.head = nn.Linear(8, 3)

        def forward(self, x: polyad.Tensor) -> polyad.Tensor:
            return self.head(self.block(self.memory(self.table(x))[0]).mean(1))

    batches = [(polyad.randint(0, 9, (4, 5)), polyad.randint(0, 3, (4,))) for _ in range(4)]
    check(lambda: training(Model(), optim.AdamW, lr=0.01, clip=1.0), batches)


@pytest.mark.parametrize("warm", [0, 1])
def test_gradients_of_two_micro_batches_add_up(warm: int) -> None:
    def make() -> Training:
        model = perceptron()
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            for rows in (slice(0, 4), slice(4, 8)):
                loss = F.cross_entropy(model(x[rows]), y[rows]) / 2
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        return Training(step, held_by(model, optimizer))

    graph = check(make, labelled(5, 6), warm)
    assert [node.name for node in graph].count("accumulate_grad") == 12


def test_a_step_that_only_adds_to_gradients_does_so_whether_there_are_some_or_none() -> None:
    def make() -> Training:
        model = nn.Sequential(shared := nn.Linear(6, 6), nn.Tanh(), shared, nn.Tanh(), shared)
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        return Training(step, held_by(model, optimizer))

    check(make, labelled(5, 6), warm=0)


def test_gradients_of_gradients() -> None:
    def make() -> Training:
        model = nn.Sequential(nn.Linear(6, 5), nn.Sigmoid(), nn.Linear(5, 5), nn.Softmax(1), nn.Linear(5, 3))
        optimizer = optim.Adam(model.parameters(), lr=0.01)

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            optimizer.zero_grad()
            x = x.detach().requires_grad_()
            loss = F.cross_entropy(model(x), y)
            (slope,) = polyad.autograd.grad(loss, x, create_graph=True)
            (loss + (slope.norm() - 1) ** 2).backward()
            optimizer.step()
            return loss

        return Training(step, held_by(model, optimizer))

    check(make, labelled(5, 6))


def test_hooks_on_leaves_and_results() -> None:
    def make() -> Training:
        model = perceptron()
        optimizer, seen = optim.SGD(model.parameters(), lr=0.1), polyad.zeros(5)
        model[0].weight.register_hook(lambda gradient: gradient * 0.5)
        model[2].weight.register_post_accumulate_grad_hook(lambda param: param.grad.clamp_(-0.01, 0.01))

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            optimizer.zero_grad()
            hidden = model[1](model[0](x))
            hidden.register_hook(lambda gradient: seen.add_(gradient.sum(0)) * 0 + gradient)
            hidden.retain_grad()
            loss = F.cross_entropy(model[4](model[3](model[2](hidden))), y)
            loss.backward()
            optimizer.step()
            return loss + hidden.grad.sum().detach()

        return Training(step, held_by(model, optimizer, seen))

    check(make, labelled(5, 6))


def test_checkpointed_layers() -> None:
    def make() -> Training:
        model, head = nn.Sequential(nn.Linear(6, 5), nn.Dropout(0.5), nn.Tanh()), nn.Linear(5, 3)
        both = nn.ModuleList([model, head])
        optimizer = optim.SGD(both.parameters(), lr=0.1)

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(head(polyad.utils.checkpoint.checkpoint(model, x, use_reentrant=False)), y)
            loss.backward()
            optimizer.step()
            return loss

        return Training(step, held_by(both, optimizer))

    check(make, labelled(5, 6))


def test_a_function_with_a_backward_of_its_own() -> None:
    class Steep(polyad.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: polyad.Tensor) -> polyad.Tensor:
            ctx.save_for_backward(x)
            return x.sin()

        @staticmethod
        def backward(ctx: Any, gradient: polyad.Tensor) -> polyad.Tensor:
            return gradient * ctx.saved_tensors[0].cos() * 3

    def make() -> Training:
        model = nn.Linear(6, 3)
        optimizer = optim.SGD(model.parameters(), lr=0.1)

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            optimizer.zero_grad()
            loss = F.cross_entropy(Steep.apply(model(x)), y)
            loss.backward()
            optimizer.step()
            return loss

        return Training(step, held_by(model, optimizer))

    graph = check(make, labelled(4, 6))
    assert "Steep" in [node.name for node in graph]


# ------------------------------------------------------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("kind", "options", "names"),
    [
        (optim.SGD, {"lr": 0.1}, ["lr"]),
        (optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1}, ["lr", "momentum", "weight_decay"]),
        (optim.Adam, {"lr": 0.1, "weight_decay": 0.1}, ["lr", "betas", "eps", "weight_decay"]),
        (optim.AdamW, {"lr": 0.1, "amsgrad": True}, ["lr", "betas", "eps", "weight_decay"]),
        (optim.RMSprop, {"lr": 0.1, "momentum": 0.5, "centered": True}, ["lr", "momentum", "alpha", "eps"]),
        (optim.Adagrad, {"lr": 0.1, "lr_decay": 0.1}, ["lr", "lr_decay", "eps"]),
        (optim.Adadelta, {"lr": 0.1}, ["lr", "rho", "eps"]),
        (optim.Adamax, {"lr": 0.1}, ["lr", "betas", "eps"]),
        (optim.ASGD, {"lr": 0.1}, ["lr", "lambd", "alpha"]),
        (optim.NAdam, {"lr": 0.1}, ["lr", "betas", "momentum_decay"]),
        (optim.RAdam, {"lr": 0.1}, ["lr", "betas", "eps"]),
        (optim.Rprop, {"lr": 0.1}, ["etas"]),
        (optim.Adafactor, {"lr": 0.1}, ["lr", "d"]),
    ],
)
@pytest.mark.parametrize("warm", [0, 1])
def test_options_that_change_between_steps_change_between_replays(
    kind: Any, options: Any, names: Any, warm: int
) -> None:
    if kind is optim.Rprop:
        options = {**options, "etas": (0.5, 8.0)}
    check(lambda: training(perceptron(), kind, clip=1.0, **options), labelled(6, 6), warm, Halves(*names))


def test_a_schedule_between_replays() -> None:
    def make() -> Training:
        found = training(perceptron(), optim.SGD, lr=0.1, momentum=0.9)
        schedule = optim.lr_scheduler.OneCycleLR(found.held.optimizer, 0.5, total_steps=20)
        found.held.schedule = schedule
        return found

    graph = check(make, labelled(8, 6), between=lambda training: training.held.schedule.step())
    assert {number.name for number in graph.numbers} == {"lr", "momentum"}


def test_numbers_of_several_groups_and_optimizers_have_names() -> None:
    def make() -> Training:
        model = perceptron()
        first, *others = [{"params": layer.parameters()} for layer in (model[0], model[2], model[4])]
        optimizer = optim.SGD([first, {**others[0], "lr": 0.5}], lr=0.1)
        second = optim.Adam([others[1]], lr=0.01)

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            model.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            second.step()
            return loss

        held = held_by(model, second)
        held.optimizer = optimizer
        return Training(step, held)

    graph = check(make, labelled(5, 6), 1, Halves("lr"))
    assert [number.name for number in graph.numbers] == ["lr", "param_groups_1_lr", "lr_2", "betas_0", "betas_1", "eps"]
    assert graph.numbers[1].source == "SGD.param_groups[1]['lr']"


@pytest.mark.filterwarnings("ignore::polyad.jit.BakedValueWarning")
def test_a_scaled_step_is_replayed_until_its_scale_changes() -> None:
    scalers = []

    def make() -> Training:
        model = perceptron()
        optimizer, scaler = optim.SGD(model.parameters(), lr=0.1), polyad.amp.GradScaler("cpu", init_scale=8.0)
        scalers.append(scaler)

        def step(x: polyad.Tensor, y: polyad.Tensor) -> polyad.Tensor:
            optimizer.zero_grad()
            with polyad.autocast("cpu"):
                loss = F.cross_entropy(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            return loss

        return Training(step, held_by(model, optimizer))

    batches = labelled(5, 6)
    graph = check(make, batches)
    assert "backward" not in [node.name for node in graph]
    scalers[-1].update(4.0)
    with pytest.raises(ArgumentError, match=r"GradScaler\.scale is baked into the graph"):
        graph(*batches[0])


def stepped(options: Any) -> tuple[Any, Graph, Any]:
    weight = polyad.tensor([1.0, 2.0], requires_grad=True)
    optimizer = optim.SGD([weight], **options)

    def step(x: polyad.Tensor) -> None:
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()

    return optimizer.param_groups[0], jit.capture(step, polyad.ones(2)), weight


def test_what_was_decided_by_a_number_is_asked_of_the_next() -> None:
    group, graph, weight = stepped({"lr": 0.5, "momentum": 0.5})
    group["momentum"] = 0.0
    before = weight.tolist()
    with pytest.raises(ArgumentError, match="what the function decided by momentum is not so any more"):
        graph(polyad.ones(2))
    read = graphs.parse(graph.text, graph.state)
    with pytest.raises(ArgumentError, match="what the function decided by momentum"):
        read(polyad.ones(2), lr=0.5, momentum=0.0)
    group["momentum"], group["nesterov"] = 0.25, True
    with pytest.raises(ArgumentError, match=r"SGD.param_groups\[0\]\['nesterov'\] is baked into the graph"):
        graph(polyad.ones(2))
    assert weight.tolist() == before


def test_a_graph_from_a_text_is_given_its_numbers() -> None:
    group, graph, weight = stepped({"lr": 0.5})
    read = graphs.parse(graph.text, graph.state)
    assert "$lr" in graph.text
    assert [(one.name, one.captured, one.read) for one in read.numbers] == [("lr", 0.5, None)]
    with pytest.raises(ArgumentTypeError, match="lr is missing"):
        read(polyad.ones(2))
    with pytest.raises(ArgumentTypeError, match="lr is str, not a number"):
        read(polyad.ones(2), lr="0.5")
    with polyad.no_grad():
        weight.fill_(1.0)
    read(polyad.ones(2), lr=0.25)
    assert weight.tolist() == [0.75, 0.75]
    graph(polyad.ones(2), lr=0.5)
    assert weight.tolist() == [0.25, 0.25]
    group["lr"] = 0.125
    graph(polyad.ones(2))
    assert weight.tolist() == [0.125, 0.125]
    assert type(group["lr"]) is float


def test_a_number_that_is_computed_with_must_not_change() -> None:
    weight = polyad.tensor([1.0, 2.0], requires_grad=True)

    class Plain(optim.Optimizer):
        def step(self, closure: Any = None) -> None:
            with polyad.no_grad():
                for group in self.param_groups:
                    for param in group["params"]:
                        param.add_(param.grad, alpha=-group["lr"])

    optimizer = Plain([weight], {"lr": 0.5})

    def step(x: polyad.Tensor) -> None:
        optimizer.zero_grad()
        (weight * x).sum().backward()
        optimizer.step()

    graph = jit.capture(step, polyad.ones(2))
    graph(polyad.ones(2))
    assert weight.tolist() == [0.0, 1.0]
    optimizer.param_groups[0]["lr"] = 0.25
    with pytest.raises(ArgumentError, match=r"Plain.param_groups\[0\]\['lr'\] is baked into the graph"):
        graph(polyad.ones(2))


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("$lr  ", "$rate  ", "node .* there is no number lr"),
        ("$lr  ", "$lr = ", "'float' is missing before '='"),
        ("# 0.5 from", "# 1 from", "lr is no number of type float"),
        ("if true", "if divmod 1.0", "divmod is no comparison"),
    ],
)
def test_numbers_that_a_text_cannot_have(old: str, new: str, what: str) -> None:
    _, graph, _ = stepped({"lr": 0.5, "momentum": 0.5})
    text = graph.text
    assert old in text
    with pytest.raises(InvalidGraph, match=what):
        graphs.parse(text.replace(old, new, 1), graph.state)


# ------------------------------------------------------------------------------------------------------------- history


def test_history_from_before_makes_the_pass_one_node() -> None:
    weight = polyad.ones(2, requires_grad=True)

    def work(x: polyad.Tensor) -> polyad.Tensor:
        (x * 3).sum().backward()
        return x * 2

    for example in (polyad.ones(2, requires_grad=True), weight * 5):
        graph = jit.capture(work, example)
        assert ("backward" in [node.name for node in graph]) == (not example.is_leaf)
    weight.grad = None
    graph(weight * 7)
    assert weight.grad.tolist() == [21.0, 21.0]


def test_a_replay_holds_no_history_that_is_spent_and_all_that_is_not() -> None:
    weight, other = polyad.ones(2, requires_grad=True), polyad.ones(2, requires_grad=True)

    def work(x: polyad.Tensor) -> Any:
        first = (weight * x).exp()
        first.sum().backward()
        return first, (other * x).exp()

    first, second = jit.capture(work, polyad.ones(2))(polyad.ones(2))
    assert not first.requires_grad
    second.sum().backward()
    assert other.grad.tolist() == second.tolist()


def test_history_that_a_pass_keeps_is_there_after_a_replay() -> None:
    weight = polyad.tensor([1.0, 2.0], requires_grad=True)

    def work(x: polyad.Tensor) -> polyad.Tensor:
        y = (weight * x).exp()
        y.sum().backward(retain_graph=True)
        return y

    graph = jit.capture(work, polyad.ones(2))
    found = []
    for function in (work, graph):
        weight.grad = None
        function(polyad.tensor([0.5, 1.0])).sum().backward()
        found.append(weight.grad.tolist())
    assert found[0] == found[1]


def test_slopes_that_are_recorded_are_differentiated_through_a_replay() -> None:
    def slope(x: polyad.Tensor) -> polyad.Tensor:
        (found,) = polyad.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
        return found

    graph = jit.capture(slope, polyad.ones(2, requires_grad=True))
    assert "grad" not in [node.name for node in graph]
    found = []
    for function in (slope, graph):
        x = polyad.tensor([2.0, 0.5], requires_grad=True)
        found.append([one.tolist() for one in polyad.autograd.grad(function(x).sum(), x)])
    assert found[0] == found[1]


def test_which_inputs_get_gradients_is_part_of_the_graph() -> None:
    graph = jit.capture(lambda x, y: (x * y).sum().backward(), polyad.ones(2, requires_grad=True), polyad.ones(2))
    with pytest.raises(AutogradError, match="input 1 requires a gradient, unlike the example"):
        graph(polyad.ones(2, requires_grad=True), polyad.ones(2, requires_grad=True))
    with pytest.raises(AutogradError, match="input 0 requires no gradient, unlike the example"):
        graph(polyad.ones(2), polyad.ones(2))
    x = polyad.ones(2, requires_grad=True)
    with pytest.raises(AutogradError, match="the tensor was a leaf when the step was recorded"):
        graph(x * 2, polyad.ones(2))
    graph(x, polyad.tensor([4.0, 5.0]))
    assert x.grad.tolist() == [4.0, 5.0]


def test_a_text_is_read_in_a_process_that_has_not_trained_yet() -> None:
    names = sorted({node.name for node in _a_step() if isinstance(node.op, Effect)})
    assert {"accumulate_grad", "set_grad", "update"} <= set(names)
    program = "import sys, polyad.graph.text as text; print([name for name in sys.argv[1:] if not text.named(name)])"
    for name in names:
        done = subprocess.run([sys.executable, "-c", program, name], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


def _a_step() -> Graph:
    model = nn.Linear(3, 2)
    optimizer = polyad.optim.Adam(model.parameters())

    def step(x):
        optimizer.zero_grad()
        model(x).sum().backward()
        optimizer.step()

    step(polyad.ones(2, 3))
    return polyad.jit.capture(step, polyad.ones(2, 3))


def test_a_step_of_all_parameters_is_one_call() -> None:
    graph = _a_step()
    (update,) = [node for node in graph if node.name == "update"]
    assert len(update.renewed) == 8  # two parameters, their two moments and counts each
    assert len(graph) < 16
