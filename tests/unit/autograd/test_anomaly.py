"""Anomaly mode and detect_nonfinite: what they report, where, and that they leave nothing behind."""

import threading
from contextlib import nullcontext

import pytest

import polyad
from polyad import nn
from polyad.autograd import detect_anomaly, set_detect_anomaly
from polyad.base.state import state
from polyad.history.node import watchers

INF = float("inf")


@pytest.fixture(autouse=True)
def nothing_is_left():
    yield
    assert not polyad.is_anomaly_enabled()
    assert watchers == []
    assert state.inspect is None
    assert state.modes == ()


class Root(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        nn.init.constant_(self.body[0].weight, -1.0)
        nn.init.constant_(self.body[0].bias, 0.0)

    def forward(self, x: polyad.Tensor) -> polyad.Tensor:
        return self.body(x).sqrt()  # this line


def test_a_nan_gradient_names_the_node_the_line_and_the_module() -> None:
    with detect_anomaly(), pytest.raises(RuntimeError) as caught:
        Root()(polyad.ones(1, 2)).mul(0.0).sum().backward()
    text = str(caught.value)
    assert "Function 'SqrtBackward0' returned nan values in its 0th output" in text
    assert "return self.body(x).sqrt()  # this line" in text
    assert "in       model (Root)" in text
    assert "saved    float32 (1, 2) on cpu: min 0, max 0, mean 0" in text


def test_the_path_of_a_module_inside() -> None:
    with detect_anomaly():
        model = Root()
        y = model.body(polyad.ones(1, 2))
        z = model(polyad.ones(1, 2, requires_grad=True))
        assert y.grad_fn.metadata["forward"].module == "model.1 (ReLU)"
        inner = z.grad_fn.next_functions[0][0]
    assert inner.name() == "ReluBackward0"
    assert inner.metadata["forward"].module == "model.body.1 (ReLU)"


def test_what_a_users_function_raises_says_where_it_was_called() -> None:
    class Broken(polyad.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, gradient):
            raise ValueError("mine")

    x = polyad.ones(2, requires_grad=True)
    with detect_anomaly(), pytest.raises(ValueError, match="mine") as caught:
        Broken.apply(x).sum().backward()  # called here
    notes = "\n".join(caught.value.__notes__)
    assert "in the backward of BrokenBackward" in notes
    assert "# called here" in notes


def test_a_write_in_place_names_both_lines() -> None:
    x = polyad.ones(2, requires_grad=True)

    def program() -> polyad.Tensor:
        y = x * 3
        z = y * y  # saved here
        y.add_(1)
        return z.sum()

    for mode in (nullcontext, detect_anomaly):
        with mode(), pytest.raises(RuntimeError) as caught:
            program().backward()
        text = str(caught.value)
        assert "saved by  MulBackward0 (test_anomaly.py:" in text
        assert "# saved here" in text
        assert "changed   by add_ (test_anomaly.py:" in text
        assert text.count("saved here") == 1


def test_the_line_that_saved_is_the_users_also_below_modules() -> None:
    layer = polyad.nn.Linear(3, 3)
    h = polyad.ones(2, 3, requires_grad=True) * 2
    z = layer(h).exp()  # both are saved here
    h.mul_(2)
    with pytest.raises(
        RuntimeError, match=r"saved by  AddmmBackward0 \(test_anomaly.py:\d+: .*# both are saved here\)"
    ):
        z.sum().backward()


def test_a_graph_made_before_says_how_to_see_its_line() -> None:
    y = polyad.zeros(1, requires_grad=True).sqrt() * 0.0
    with detect_anomaly(), pytest.raises(RuntimeError, match="run the forward pass in anomaly mode too"):
        y.sum().backward()


def test_without_nan_nothing_is_raised_and_gradients_are_the_same() -> None:
    x = polyad.tensor([1.0, 2.0], requires_grad=True)
    with detect_anomaly(), polyad.detect_nonfinite():
        values, _ = (x * x.exp()).sort()
        (values[0] * 3 + values[1]).backward()
    found, x.grad = x.grad, None
    values, _ = (x * x.exp()).sort()
    (values[0] * 3 + values[1]).backward()
    assert found.tolist() == x.grad.tolist()


def test_anomaly_mode_without_the_search_for_nan() -> None:
    x = polyad.zeros(1, requires_grad=True)
    with detect_anomaly(check_nan=False):
        assert not polyad.is_anomaly_check_nan_enabled()
        (x.sqrt() * 0.0).sum().backward()
    assert x.grad.isnan().all()
    assert polyad.is_anomaly_check_nan_enabled()


def test_set_detect_anomaly_is_a_function_and_a_context() -> None:
    set_detect_anomaly(True)
    try:
        found = []
        thread = threading.Thread(target=lambda: found.append(polyad.is_anomaly_enabled()))
        thread.start()
        thread.join()
        assert found == [True]
        with set_detect_anomaly(False):
            assert not polyad.is_anomaly_enabled()
        assert polyad.is_anomaly_enabled()
    finally:
        set_detect_anomaly(False)
    with pytest.raises(TypeError, match="mode is int, not a bool"):
        set_detect_anomaly(3)  # type: ignore[arg-type]
    with detect_anomaly(), detect_anomaly(check_nan=False):
        assert polyad.is_anomaly_enabled()


# ----------------------------------------------------------------------------------------------------- detect_nonfinite


def test_an_infinity_in_forward_names_op_line_module_and_numbers() -> None:
    class Log(nn.Module):
        def forward(self, x: polyad.Tensor) -> polyad.Tensor:
            return x.log()

    with polyad.detect_nonfinite(), pytest.raises(FloatingPointError) as caught:
        nn.Sequential(nn.ReLU(), Log())(polyad.tensor([-1.0, 4.0]))
    text = str(caught.value)
    assert text.startswith("log: it made an infinity")
    assert "input   float32 (2,) on cpu: min 0, max 4, mean 2" in text
    assert "line    test_anomaly.py:" in text
    assert "in      model.1 (Log)" in text


def test_backward_is_searched_too() -> None:
    x = polyad.tensor([1e-30, 1.0], requires_grad=True)
    with polyad.detect_nonfinite():
        y = x.log() * 1e20
        with pytest.raises(RuntimeError) as caught:
            y.sum().backward()
    text = str(caught.value)
    assert text.startswith("backward: LogBackward0 made an infinity, in gradient 0")
    assert "arrived  float32 (2,) on cpu: min 1e+20, max 1e+20, mean 1e+20" in text
    assert "y = x.log() * 1e20" in text


def test_infinities_that_the_program_gives_are_its_own() -> None:
    with polyad.detect_nonfinite():
        scores = polyad.zeros(2, 2).masked_fill(polyad.ones(2, 2).triu(1) > 0, -INF)
        weights = scores.softmax(-1)
        polyad.full((2,), float("nan")) + 1
        polyad.empty(1000)
        polyad.zeros(2).fill_(INF).mul_(2)
    assert weights.tolist() == [[1.0, 0.0], [0.5, 0.5]]


@pytest.mark.parametrize(
    ("program", "words"),
    [
        (lambda: polyad.tensor([INF]) - INF, "sub: it made a NaN"),
        (lambda: polyad.full((2, 2), -INF).softmax(-1), "softmax: it made a NaN"),
        (lambda: polyad.ones(2).div_(0), "div_: it made an infinity"),
        (lambda: polyad.full((2,), 60000.0, dtype=polyad.float16) * 2, "mul: it made an infinity"),
        (lambda: polyad.linalg.svd(polyad.tensor([[1.0, 0.0]])).S / 0, "div: it made an infinity"),
    ],
)
def test_what_is_made_of_other_numbers_is_reported(program, words: str) -> None:
    with polyad.detect_nonfinite(), pytest.raises(RuntimeError, match=words):
        program()


def test_it_can_be_entered_again_and_inside_itself() -> None:
    watching = polyad.detect_nonfinite()
    for _ in range(2):
        with watching, watching:
            polyad.ones(2).log()
