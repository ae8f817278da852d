"""Starting values: bounds and spreads, errors, and that nothing is recorded."""

import math

import pytest

import polyad
from polyad import nn
from polyad.nn import init

COUNT = 200 * 100


@pytest.fixture(autouse=True)
def _seed():
    polyad.manual_seed(0)


def spread(tensor):
    values = tensor.detach().reshape(-1).tolist()
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values)), max(map(abs, values))


@pytest.mark.parametrize(
    ("fill", "bound"),
    [
        (lambda w: init.uniform_(w, -2.0, 2.0), 2.0),
        (lambda w: init.xavier_uniform_(w, gain=2.0), 2 * math.sqrt(6 / 300)),
        (init.kaiming_uniform_, math.sqrt(2.0) * math.sqrt(3 / 100)),
        (lambda w: init.kaiming_uniform_(w, a=math.sqrt(5)), 1 / math.sqrt(100)),
        (lambda w: init.kaiming_uniform_(w, mode="fan_out", nonlinearity="relu"), math.sqrt(6 / 200)),
    ],
)
def test_uniform(fill, bound):
    weight = polyad.empty(200, 100)
    assert fill(weight) is weight
    mean, deviation, largest = spread(weight)
    assert 0.999 * bound < largest <= bound
    assert abs(mean) < 6 * bound / math.sqrt(3 * COUNT)
    assert deviation == pytest.approx(bound / math.sqrt(3), rel=6 / math.sqrt(COUNT))


@pytest.mark.parametrize(
    ("fill", "std"),
    [
        (lambda w: init.normal_(w, 0.0, 3.0), 3.0),
        (init.xavier_normal_, math.sqrt(2 / 300)),
        (init.kaiming_normal_, math.sqrt(2 / 100)),
        (lambda w: init.kaiming_normal_(w, mode="fan_out", nonlinearity="tanh"), 5 / 3 / math.sqrt(200)),
    ],
)
def test_normal(fill, std):
    weight = polyad.empty(200, 100)
    assert fill(weight) is weight
    mean, deviation, largest = spread(weight)
    assert abs(mean) < 6 * std / math.sqrt(COUNT)
    assert deviation == pytest.approx(std, rel=6 / math.sqrt(2 * COUNT))
    assert largest > 3 * std


def test_fans_of_a_convolution():
    assert init._calculate_fan_in_and_fan_out(polyad.empty(2, 3, 4, 5)) == (60, 40)


def test_constants():
    assert init.constant_(polyad.empty(2), 0.5).tolist() == [0.5, 0.5]
    assert init.ones_(polyad.empty(2)).tolist() == [1.0, 1.0]
    assert init.zeros_(polyad.empty(2)).tolist() == [0.0, 0.0]
    assert init.eye_(polyad.empty(2, 3)).tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_dirac_passes_its_input():
    layer = nn.Conv2d(2, 2, 3, padding=1, bias=False)
    init.dirac_(layer.weight)
    input = polyad.arange(18, dtype=polyad.float32).reshape(1, 2, 3, 3)
    assert layer(input).tolist() == input.tolist()
    grouped = init.dirac_(polyad.empty(4, 1, 1), groups=2).tolist()
    assert grouped == [[[1.0]], [[0.0]], [[1.0]], [[0.0]]]


def test_parameters_are_filled_in_place_without_history():
    parameter = nn.Parameter(polyad.empty(2, 2))
    for fill in (init.uniform_, init.normal_, init.ones_, init.eye_, init.kaiming_uniform_):
        assert fill(parameter) is parameter
        assert parameter.is_leaf
        assert parameter.requires_grad


def test_seed_decides():
    first = init.normal_(polyad.empty(5)).tolist()
    assert init.normal_(polyad.empty(5)).tolist() != first
    polyad.manual_seed(0)
    assert init.normal_(polyad.empty(5)).tolist() == first


@pytest.mark.parametrize(
    ("nonlinearity", "param", "gain"),
    [
        ("linear", None, 1.0),
        ("conv2d", None, 1.0),
        ("sigmoid", None, 1.0),
        ("tanh", None, 5 / 3),
        ("relu", None, math.sqrt(2)),
        ("selu", None, 0.75),
        ("leaky_relu", None, math.sqrt(2 / 1.0001)),
        ("leaky_relu", 5, math.sqrt(2 / 26)),
    ],
)
def test_gain(nonlinearity, param, gain):
    assert init.calculate_gain(nonlinearity, param) == pytest.approx(gain)


@pytest.mark.parametrize(
    ("fill", "error", "words"),
    [
        (lambda: init.calculate_gain("foo"), ValueError, "nonlinearity 'foo'"),
        (lambda: init.calculate_gain("leaky_relu", True), ValueError, "slope"),
        (lambda: init.xavier_uniform_(polyad.ones(3)), ValueError, "2 dimensions"),
        (lambda: init.kaiming_normal_(polyad.ones(3, 3), mode="x"), ValueError, "mode 'x'"),
        (lambda: init.kaiming_normal_(polyad.ones(3, 3), nonlinearity="x"), ValueError, "nonlinearity 'x'"),
        (lambda: init.eye_(polyad.ones(3)), ValueError, "2-d"),
        (lambda: init.dirac_(polyad.ones(3, 3)), ValueError, "3-d"),
        (lambda: init.dirac_(polyad.ones(3, 3, 3), groups=2), ValueError, "divisible"),
        (lambda: init.ones_(3), TypeError, "Tensor"),
        (lambda: init.uniform_([1.0]), TypeError, "Tensor"),
        (lambda: init.uniform_(polyad.ones(3), 2, 1), RuntimeError, "uniform_"),
        (lambda: init.normal_(polyad.ones(3), 0, -1), RuntimeError, "normal_"),
        (lambda: init.kaiming_uniform_(polyad.ones(2, 3, dtype=polyad.int32)), RuntimeError, "int32"),
        (lambda: init.constant_(polyad.ones(2), "x"), TypeError, "constant_: val is str"),
    ],
)
def test_errors(fill, error, words):
    with pytest.raises(error, match=words):
        fill()


def test_tensor_without_elements():
    with pytest.warns(UserWarning, match="without elements"):
        assert init.kaiming_uniform_(polyad.empty(0, 3)).shape == (0, 3)
