"""Lint: every mistake is found, once and with advice; every legitimate program that looks like one is not."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest

import polyad
import polyad.nn.functional as F
from polyad import nn, optim
from polyad.base.state import state
from polyad.errors import ArgumentError, ArgumentTypeError, AutogradError
from polyad.inspection.linting import CODES, GradientsNotCleared, LintWarning


def found(program: Callable[[], None], **options) -> list[str]:
    """The codes that lint reports of a program."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LintWarning)
        with polyad.lint(**options) as session:
            program()
    return [code for code, _ in session.found]


def perceptron(*extra: nn.Module) -> nn.Sequential:
    return nn.Sequential(nn.Linear(4, 8), *extra, nn.Tanh(), nn.Linear(8, 1))


def batch() -> tuple[polyad.Tensor, polyad.Tensor]:
    return polyad.randn(6, 4), polyad.randn(6, 1)


def train(model: nn.Module, optimizer: optim.Optimizer, steps: int = 4, clear: bool = True) -> None:
    for _ in range(steps):
        if clear:
            optimizer.zero_grad()
        x, y = batch()
        F.mse_loss(model(x), y).backward()
        optimizer.step()


def sgd(module: nn.Module) -> optim.SGD:
    return optim.SGD(module.parameters(), lr=0.01)


# -------------------------------------------------------------------------------------------------- mistakes are found


def test_gradients_never_cleared() -> None:
    model = perceptron()
    assert found(lambda: train(model, sgd(model), clear=False)) == ["PL001"]


def test_gradients_never_cleared_but_clipped() -> None:
    model = perceptron()
    optimizer = sgd(model)

    def program() -> None:
        for _ in range(3):
            x, y = batch()
            F.mse_loss(model(x), y).backward()
            for parameter in model.parameters():
                parameter.grad.mul_(0.5)
            optimizer.step()

    assert found(program) == ["PL001"]


def test_the_warning_names_optimizer_parameters_line_and_remedy() -> None:
    model = perceptron()
    with pytest.warns(GradientsNotCleared) as caught, polyad.lint():
        train(model, sgd(model), clear=False)
    assert len(caught) == 1
    text = str(caught[0].message)
    assert caught[0].filename == __file__
    for part in (
        "PL001: SGD.step()",
        "0.weight, 0.bias, 2.weight, 2.bias",
        "zero_grad()",
        "docs/lint.md#pl001",
        "PL001",
    ):
        assert part in text, part


def test_backward_twice_says_where_the_first_was() -> None:
    loss = (polyad.ones(3, requires_grad=True) ** 2).sum()
    with polyad.lint():
        loss.backward()
        with pytest.raises(AutogradError, match=r"PL002 +backward of this same tensor ran at test_lint.py:\d+"):
            loss.backward()


def test_hidden_state_kept_from_an_earlier_step() -> None:
    cell = nn.Linear(3, 3)
    hidden = polyad.zeros(1, 3)
    with polyad.lint():
        hidden = polyad.tanh(cell(hidden))
        hidden.sum().backward()
        hidden = polyad.tanh(cell(hidden))
        with pytest.raises(AutogradError, match=r"PL002 +part of the graph .* detach"):
            hidden.sum().backward()


def test_parameter_replaced_after_the_optimizer_was_made() -> None:
    model = perceptron()
    optimizer = sgd(model)
    model[0].weight = nn.Parameter(polyad.randn(8, 4))
    with warnings.catch_warnings(), polyad.lint() as session:
        warnings.simplefilter("ignore")
        train(model, optimizer)
    codes = [code for code, _ in session.found]
    assert codes == ["PL003"]
    assert "left_out  0.weight" in session.found[0][1]


def test_layers_in_a_plain_list() -> None:
    class Hidden(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = [nn.Linear(4, 4)]
            self.last = nn.Linear(4, 1)

        def forward(self, x):
            return self.last(polyad.tanh(self.layers[0](x)))

    model = Hidden()
    assert found(lambda: train(model, sgd(model))) == ["PL003"]


@pytest.mark.parametrize("layer", [nn.Dropout(0.5), nn.BatchNorm1d(8)], ids=["dropout", "batchnorm"])
def test_training_after_validation_without_train(layer: nn.Module) -> None:
    model = perceptron(layer)
    optimizer = sgd(model)

    def program() -> None:
        train(model, optimizer)
        model.eval()
        with polyad.no_grad():
            model(batch()[0])
        train(model, optimizer)

    assert found(program) == ["PL004"]


def test_validation_builds_a_graph() -> None:
    model = perceptron(nn.Dropout(0.1))
    optimizer = sgd(model)

    def program() -> None:
        for _ in range(2):
            model.train()
            train(model, optimizer)
            model.eval()
            for _ in range(4):
                x, y = batch()
                F.mse_loss(model(x), y).item()

    assert found(program) == ["PL005"]


@pytest.mark.parametrize("kept", ["list", "sum"])
def test_losses_kept_alive(kept: str) -> None:
    model = perceptron()
    optimizer = sgd(model)

    def program() -> None:
        losses, total = [], 0
        for _ in range(12):
            optimizer.zero_grad()
            x, y = batch()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            if kept == "list":
                losses.append(loss)
            else:
                total = total + loss

    assert found(program) == ["PL006"]


def test_parameter_without_a_gradient() -> None:
    class Unused(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.used, self.unused = nn.Linear(4, 1), nn.Linear(4, 1)

        def forward(self, x):
            return self.used(x)

    model = Unused()
    with warnings.catch_warnings(), polyad.lint(patience=5) as session:
        warnings.simplefilter("ignore")
        train(model, sgd(model), steps=8)
    assert [code for code, _ in session.found] == ["PL007"]
    assert "unused.weight, unused.bias" in session.found[0][1]


@pytest.mark.parametrize("between", [lambda p: p, lambda p: p.view(6, 3), lambda p: p.double()])
def test_softmax_before_cross_entropy(between: Callable[[polyad.Tensor], polyad.Tensor]) -> None:
    scores = polyad.randn(6, 3, requires_grad=True)
    target = polyad.tensor([0, 1, 2, 0, 1, 2])
    assert found(lambda: F.cross_entropy(between(F.softmax(scores, 1)), target)) == ["PL008"]
    assert found(lambda: nn.CrossEntropyLoss()(between(nn.Softmax(1)(scores)), target)) == ["PL008"]


def test_sigmoid_before_the_loss_that_takes_logits() -> None:
    scores = polyad.randn(6, requires_grad=True)
    assert found(lambda: F.binary_cross_entropy_with_logits(polyad.sigmoid(scores), polyad.ones(6))) == ["PL008"]


@pytest.mark.parametrize("swap", [False, True])
@pytest.mark.parametrize("norm", [lambda d: (d**2).mean(), lambda d: d.abs().sum()])
def test_column_against_row(swap: bool, norm: Callable[[polyad.Tensor], polyad.Tensor]) -> None:
    model, y = perceptron(), polyad.randn(6)

    def program() -> None:
        prediction = model(polyad.randn(6, 4))
        norm(y - prediction if swap else prediction - y).backward()

    assert found(program) == ["PL009"]


def test_prediction_row_against_target_column() -> None:
    model = perceptron()
    assert found(lambda: ((model(polyad.randn(6, 4)).squeeze(1) - polyad.randn(6, 1)) ** 2).mean().backward()) == [
        "PL009"
    ]


def test_float64_into_layers_of_float32() -> None:
    model = perceptron()
    assert found(lambda: [model(batch()[0].double()) for _ in range(2)]) == ["PL010"]
    with warnings.catch_warnings(record=True) as seen, polyad.lint():
        warnings.simplefilter("always")
        model(batch()[0].double())
    assert "convert the input once" in str(seen[0].message)
    assert seen[0].filename == __file__


# --------------------------------------------------------------------------------------- legitimate programs are silent


@pytest.mark.parametrize(
    "program",
    [
        lambda: perceptron()(batch()[0]),
        lambda: perceptron().double()(batch()[0].double()),
        lambda: polyad.autocast("cpu", polyad.bfloat16)(perceptron())(batch()[0]),
    ],
)
def test_layers_of_one_dtype_are_silent(program: Callable[[], object]) -> None:
    assert found(program) == []


def accumulation() -> None:
    model = perceptron()
    optimizer = sgd(model)
    for _ in range(4):
        for _ in range(4):
            x, y = batch()
            (F.mse_loss(model(x), y) / 4).backward()
        optimizer.step()
        optimizer.zero_grad()


def clearing_in_every_way() -> None:
    model = perceptron()
    optimizer = sgd(model)

    def with_none() -> None:
        for parameter in model.parameters():
            parameter.grad = None

    def with_zeros() -> None:
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()

    for clear in (optimizer.zero_grad, model.zero_grad, with_none, with_zeros, lambda: optimizer.zero_grad(False)):
        for _ in range(3):
            train(model, optimizer, 1, clear=False)
            clear()


def decayed_gradients() -> None:
    model = perceptron()
    optimizer = sgd(model)
    for _ in range(4):
        train(model, optimizer, 1, clear=False)
        for parameter in model.parameters():
            parameter.grad.mul_(0.9)


def closure() -> None:
    model = perceptron()
    optimizer = sgd(model)
    x, y = batch()

    def evaluate() -> polyad.Tensor:
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        return loss

    for _ in range(4):
        optimizer.step(evaluate)


def adversaries(clear: str = "optimizer") -> None:
    generator, critic = nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    of_generator, of_critic = sgd(generator), sgd(critic)
    for _ in range(12):
        if clear == "optimizer":
            of_critic.zero_grad()
        else:
            for parameter in critic.parameters():
                if parameter.grad is not None:
                    parameter.grad.zero_()
        real, fake = polyad.randn(5, 4), generator(polyad.randn(5, 3))
        loss = F.binary_cross_entropy_with_logits(critic(real), polyad.ones(5, 1))
        loss.backward()
        loss_fake = F.binary_cross_entropy_with_logits(critic(fake.detach()), polyad.zeros(5, 1))
        loss_fake.backward()
        of_critic.step()
        of_generator.zero_grad()
        loss_generator = F.binary_cross_entropy_with_logits(critic(fake), polyad.ones(5, 1))
        loss_generator.backward()
        of_generator.step()


def adversaries_cleared_in_place() -> None:
    adversaries("in place")


def critic_trained_more_often() -> None:
    generator, critic = nn.Linear(3, 4), nn.Linear(4, 1)
    of_generator, of_critic = sgd(generator), sgd(critic)
    for step in range(30):
        of_critic.zero_grad()
        (critic(generator(polyad.randn(5, 3)).detach()).mean() - critic(polyad.randn(5, 4)).mean()).backward()
        of_critic.step()
        if step % 5 == 4:
            of_generator.zero_grad()
            critic(generator(polyad.randn(5, 3))).mean().neg().backward()
            of_generator.step()


def frozen_parameters() -> None:
    model = perceptron()
    model[0].requires_grad_(False)
    train(model, optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.01), 12)
    train(model, sgd(model), 12)


def validation_without_gradients() -> None:
    model = perceptron(nn.Dropout(0.5))
    optimizer = sgd(model)
    for _ in range(3):
        model.train()
        train(model, optimizer)
        model.eval()
        with polyad.no_grad():
            for _ in range(4):
                F.mse_loss(model(batch()[0]), batch()[1]).item()


def losses_as_numbers_and_detached() -> None:
    model = perceptron()
    optimizer = sgd(model)
    total, kept = 0.0, []
    for _ in range(15):
        optimizer.zero_grad()
        x, y = batch()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
        kept.append(loss.detach())


def best_loss_kept() -> None:
    model = perceptron()
    optimizer = sgd(model)
    best = None
    for _ in range(15):
        optimizer.zero_grad()
        x, y = batch()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        if best is None or loss.item() < best.item():
            best = loss


def losses_summed_over_a_sequence() -> None:
    cell, optimizer = nn.Linear(4, 4), None
    optimizer = sgd(cell)
    for _ in range(4):
        optimizer.zero_grad()
        hidden, losses = polyad.zeros(1, 4), []
        for _ in range(10):
            hidden = polyad.tanh(cell(hidden + polyad.randn(1, 4)))
            losses.append(hidden.square().mean())
        sum(losses).backward()
        optimizer.step()


def two_optimizers_for_one_model() -> None:
    model = perceptron()
    first, second = sgd(model[0]), optim.Adam(model[2].parameters())
    for step in range(12):
        first.zero_grad()
        second.zero_grad()
        x, y = batch()
        F.mse_loss(model(x), y).backward()
        first.step()
        if step % 3 == 2:
            second.step()


def parameter_updated_by_hand() -> None:
    model = perceptron()
    scale = nn.Parameter(polyad.ones(1))
    optimizer = sgd(model)
    for number in range(6):
        optimizer.zero_grad()
        scale.grad = None
        x, y = batch()
        F.mse_loss(model(x) * scale, y).backward()
        optimizer.step()
        if number % 2:
            with polyad.no_grad():
                scale -= 0.1 * scale.grad
        else:
            scale.data = scale.data - 0.1 * scale.grad


def moving_average_of_the_model() -> None:
    model = perceptron(nn.BatchNorm1d(8))
    average = copy.deepcopy(model).eval()
    for parameter in average.parameters():
        parameter.requires_grad_(False)
    optimizer = sgd(model)
    for _ in range(12):
        optimizer.zero_grad()
        x, y = batch()
        (F.mse_loss(model(x), y) + F.mse_loss(model(x), average(x))).backward()
        optimizer.step()
        with polyad.no_grad():
            for mean, one in zip(average.parameters(), model.parameters()):
                mean.lerp_(one, 0.01)


def frozen_statistics() -> None:
    model = perceptron(nn.BatchNorm1d(8))
    model.train()
    model[1].eval()
    train(model, sgd(model), 3)


def eval_mode_where_it_makes_no_difference() -> None:
    model = perceptron().eval()
    train(model, sgd(model), 3)


def frozen_backbone_in_eval_mode() -> None:
    backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)).eval().requires_grad_(False)
    head = nn.Linear(8, 1)
    optimizer = sgd(head)
    for _ in range(5):
        optimizer.zero_grad()
        F.mse_loss(head(backbone(polyad.randn(6, 4))), polyad.randn(6, 1)).backward()
        optimizer.step()


def tuned_backbone_in_eval_mode() -> None:
    backbone = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8)).eval()
    head = nn.Linear(8, 1)
    optimizer = optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.01)
    for _ in range(5):
        optimizer.zero_grad()
        F.mse_loss(head(backbone(polyad.randn(6, 4))), polyad.randn(6, 1)).backward()
        optimizer.step()


def adversarial_examples_made_in_eval_mode() -> None:
    model = perceptron(nn.BatchNorm1d(8))
    optimizer = sgd(model)
    for _ in range(4):
        x, y = batch()
        x.requires_grad_()
        model.eval()
        (slope,) = polyad.autograd.grad(F.mse_loss(model(x), y), x)
        model.train()
        optimizer.zero_grad()
        F.mse_loss(model((x + 0.1 * slope.sign()).detach()), y).backward()
        optimizer.step()


def saliency() -> None:
    model = perceptron(nn.Dropout(0.5)).eval()
    for _ in range(6):
        x = polyad.randn(6, 4, requires_grad=True)
        model(x).sum().backward()


def shapes_probed_once() -> None:
    model = perceptron().eval()
    assert model(polyad.zeros(1, 4)).shape == (1, 1)


def layers_dropped_at_random() -> None:
    model = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))
    optimizer = sgd(model)
    for step in range(12):
        optimizer.zero_grad()
        x = polyad.randn(2, 4)
        for number, layer in enumerate(model):
            if (step + number) % 3:
                x = layer(x)
        x.square().mean().backward()
        optimizer.step()


def softmax_elsewhere() -> None:
    scores = polyad.randn(6, 3, requires_grad=True)
    target = polyad.tensor([0, 1, 2, 0, 1, 2])
    F.cross_entropy(scores, target)
    F.cross_entropy(F.log_softmax(scores, 1), target)
    F.cross_entropy(F.softmax(scores, 1) * 10, target)
    F.cross_entropy(scores, F.softmax(scores.detach(), 1))
    F.nll_loss(F.softmax(scores, 1).log(), target)
    F.softmax(scores, 1).argmax(1)
    F.binary_cross_entropy_with_logits(scores, polyad.sigmoid(scores.detach()))
    F.logsigmoid(polyad.sigmoid(scores))


def pairwise_differences() -> None:
    x, y = polyad.randn(6, requires_grad=True), polyad.randn(6)
    (x[:, None] - y).abs().mean().backward()
    (x - y.unsqueeze(1)).abs().mean().backward()
    (x.view(6, 1) - y).square().sum().backward()
    scores = nn.Linear(4, 1)(polyad.randn(6, 4))
    (scores - scores.squeeze(1)).clamp(min=0).mean().backward()
    (scores.squeeze(1) - y).square().mean()
    (polyad.randn(1, 1, requires_grad=True) - polyad.randn(1)).sum().backward()


def accumulated_over_a_generator_and_retained() -> None:
    model = perceptron()
    optimizer = sgd(model)
    for _ in range(4):
        optimizer.zero_grad()
        out = model(batch()[0])
        out.mean().backward(retain_graph=True)
        out.square().mean().backward()
        optimizer.step()


LEGITIMATE = [
    accumulation,
    clearing_in_every_way,
    decayed_gradients,
    closure,
    adversaries,
    adversaries_cleared_in_place,
    critic_trained_more_often,
    frozen_parameters,
    validation_without_gradients,
    losses_as_numbers_and_detached,
    best_loss_kept,
    losses_summed_over_a_sequence,
    two_optimizers_for_one_model,
    parameter_updated_by_hand,
    moving_average_of_the_model,
    frozen_statistics,
    eval_mode_where_it_makes_no_difference,
    frozen_backbone_in_eval_mode,
    tuned_backbone_in_eval_mode,
    adversarial_examples_made_in_eval_mode,
    saliency,
    shapes_probed_once,
    layers_dropped_at_random,
    softmax_elsewhere,
    pairwise_differences,
    accumulated_over_a_generator_and_retained,
]


@pytest.mark.parametrize("program", LEGITIMATE, ids=lambda program: program.__name__)
def test_silent(program: Callable[[], None]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", LintWarning)
        with polyad.lint() as session:
            program()
    assert session.found == []


# ----------------------------------------------------------------------------------------------------- on, off, silent


def test_it_is_on_from_the_call_to_the_end_of_with() -> None:
    assert state.watchers == state.modes == ()
    with polyad.lint() as outer:
        with polyad.lint(codes=["PL001"]) as inner:
            assert state.watchers == (outer, inner)
        assert state.watchers == (outer,)
    assert state.watchers == state.modes == ()
    polyad.lint()
    assert len(state.watchers) == len(state.modes) == 1
    polyad.lint(False)
    assert state.watchers == state.modes == ()


def test_the_inner_session_takes_over() -> None:
    model = perceptron()
    with polyad.lint() as outer, polyad.lint(ignore=["PL001"]) as inner, warnings.catch_warnings():
        warnings.simplefilter("error")
        train(model, sgd(model), clear=False)
    assert outer.found == inner.found == []


def test_codes_and_filters_silence() -> None:
    model = perceptron()
    assert found(lambda: train(model, sgd(model), clear=False), ignore=["PL001"]) == []
    assert found(lambda: train(model, sgd(model), clear=False), codes=["PL008"]) == []
    with warnings.catch_warnings(), polyad.lint():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", category=GradientsNotCleared)
        train(model, sgd(model), clear=False)
    with warnings.catch_warnings(), polyad.lint():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "PL001")
        train(model, sgd(model), clear=False)


def test_once_an_optimizer() -> None:
    first, second = perceptron(), perceptron()

    def program() -> None:
        train(first, sgd_of_first, 6, clear=False)
        train(second, sgd_of_second, 6, clear=False)

    sgd_of_first, sgd_of_second = sgd(first), sgd(second)
    assert found(program) == ["PL001", "PL001"]


def test_as_an_error_it_stops_at_the_step() -> None:
    model = perceptron()
    with warnings.catch_warnings():
        warnings.simplefilter("error", LintWarning)
        with pytest.raises(GradientsNotCleared), polyad.lint():
            train(model, sgd(model), clear=False)
    assert state.watchers == state.modes == ()


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"codes": ["PL999"]}, ArgumentError),
        ({"ignore": ["E501"]}, ArgumentError),
        ({"codes": "PL001"}, ArgumentTypeError),
        ({"patience": 0}, ArgumentError),
        ({"mode": ["PL001"]}, ArgumentTypeError),
    ],
)
def test_wrong_arguments(options: dict, error: type[Exception]) -> None:
    with pytest.raises(error, match="lint"):
        polyad.lint(**options)
    assert state.watchers == ()


def test_the_same_numbers_with_and_without() -> None:
    def run() -> list:
        polyad.manual_seed(3)
        model = perceptron(nn.BatchNorm1d(8), nn.Dropout(0.3))
        train(model, optim.Adam(model.parameters()), 5)
        return [parameter.tolist() for parameter in model.parameters()]

    plain = run()
    with polyad.lint():
        assert run() == plain


def test_every_code_has_a_page_and_a_rule() -> None:
    from pathlib import Path

    from polyad.inspection.linting import RULES

    page = (Path(__file__).parents[3] / "docs" / "lint.md").read_text()
    assert {rule.code for rule in RULES} == set(CODES)
    for code in CODES:
        assert f"\n## {code}\n" in page, code
        for part in ("**What**", "**Why**", "**Fix**", "**Silence**"):
            assert part in page.split(f"\n## {code}\n")[1].split("\n## ")[0], (code, part)
