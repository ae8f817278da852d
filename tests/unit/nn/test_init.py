"""Starting values: bounds and spreads, errors, and that nothing is recorded."""

import math
import warnings

import numpy as np
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
        (lambda: init.xavier_uniform_(polyad.ones(3)), ValueError, "at least 2-d"),
        (lambda: init.kaiming_normal_(polyad.ones(3, 3), mode="x"), ValueError, "mode 'x'"),
        (lambda: init.kaiming_normal_(polyad.ones(3, 3), nonlinearity="x"), ValueError, "nonlinearity 'x'"),
        (lambda: init.eye_(polyad.ones(3)), ValueError, "2-d"),
        (lambda: init.dirac_(polyad.ones(3, 3)), ValueError, "3-d"),
        (lambda: init.dirac_(polyad.ones(3, 3, 3), groups=2), ValueError, "divisible"),
        (lambda: init.ones_(3), TypeError, "ones_: tensor is int, not a tensor"),
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


@pytest.mark.parametrize(("mean", "std", "a", "b"), [(0, 1, -2, 2), (1, 0.5, 0.5, 3), (0, 1, 1, 1.5), (0, 1, 6, 7)])
def test_truncated_normal(mean, std, a, b):
    weight = polyad.empty(200, 100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # limits far from the mean
        assert init.trunc_normal_(weight, mean, std, a, b) is weight
    values = np.sort(weight.numpy().reshape(-1).astype(np.float64))
    assert a <= values[0] <= values[-1] <= b
    # Kolmogorov and Smirnov's distance from the distribution function exceeds 2.5 / sqrt(n) once in 100 000 runs.
    below = [math.erfc((mean - x) / (std * math.sqrt(2))) for x in (a, b)]
    above = [math.erfc((x - mean) / (std * math.sqrt(2))) for x in (a, b)]
    right = above[0] < below[0]  # the side on which probabilities keep their digits
    scores = np.array([math.erfc((x - mean if right else mean - x) / (std * math.sqrt(2))) for x in values])
    low, high = above if right else below
    expected = (scores - low) / (high - low)
    assert np.abs(expected - (np.arange(COUNT) + 0.5) / COUNT).max() < 2.5 / math.sqrt(COUNT)


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (5, 5), (4, 2, 3)])
def test_orthogonal(shape):
    weight = polyad.empty(*shape, dtype=polyad.float64)
    assert init.orthogonal_(weight, gain=2.0) is weight
    flat = weight.reshape(shape[0], -1)
    product = flat @ flat.T if flat.shape[0] <= flat.shape[1] else flat.T @ flat
    assert polyad.allclose(product, 4 * polyad.eye(min(flat.shape), dtype=polyad.float64))


def test_orthogonal_matrices_are_of_all_signs():
    ends = [init.orthogonal_(polyad.empty(2, 2))[1, 1].item() > 0 for _ in range(60)]
    assert 10 < sum(ends) < 50


def test_sparse():
    weight = init.sparse_(polyad.empty(200, 100), 0.3, std=2.0)
    assert (weight == 0).sum(0).tolist() == [60] * 100
    deviation = weight.double().square().sum().item() / (140 * 100)
    assert deviation == pytest.approx(4, rel=6 * math.sqrt(2 / 14000))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: init.orthogonal_(polyad.empty(3)), "at least 2-d"),
        (lambda: init.sparse_(polyad.empty(3), 0.5), "must be 2-d"),
        (lambda: init.trunc_normal_(polyad.empty(3), a=1, b=0), "a must be less than b"),
        (lambda: init.trunc_normal_(polyad.empty(3), std=0), "std positive"),
    ],
)
def test_more_refusals(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_older_names_warn():
    with pytest.warns(FutureWarning, match="uniform_"):
        init.uniform(polyad.empty(3))


# Layers with at least 10 000 weights, the bound of their uniform distribution or the deviation of their normal one.
STARTS = {
    "Linear": (lambda: nn.Linear(100, 200), 0.1, None),
    "Bilinear": (lambda: nn.Bilinear(100, 10, 20), 0.1, None),
    "Conv1d": (lambda: nn.Conv1d(20, 200, 5), 0.1, None),
    "Conv2d": (lambda: nn.Conv2d(8, 300, 5, groups=2), 0.1, None),
    "Conv3d": (lambda: nn.Conv3d(4, 100, 5, bias=True), 1 / math.sqrt(500), None),
    "ConvTranspose1d": (lambda: nn.ConvTranspose1d(200, 20, 5), 0.1, None),
    "ConvTranspose2d": (lambda: nn.ConvTranspose2d(300, 8, 5, groups=2), 0.1, None),
    "ConvTranspose3d": (lambda: nn.ConvTranspose3d(100, 4, 5), 1 / math.sqrt(500), None),
    "Embedding": (lambda: nn.Embedding(200, 100), None, 1.0),
    "EmbeddingBag": (lambda: nn.EmbeddingBag(200, 100), None, 1.0),
    "AdaptiveLogSoftmaxWithLoss": (lambda: nn.AdaptiveLogSoftmaxWithLoss(100, 400, [200]).head, 0.1, None),
    "LazyLinear": (lambda: called(nn.LazyLinear(200), 1, 100), 0.1, None),
    "LazyConv2d": (lambda: called(nn.LazyConv2d(300, 5, groups=2), 1, 8, 5, 5), 0.1, None),
}


def called(layer, *shape):
    layer(polyad.zeros(*shape))
    return layer


@pytest.mark.parametrize("name", STARTS)
def test_layers_start_with_these_distributions(name):
    make, bound, std = STARTS[name]
    layer = make()
    count = layer.weight.numel()
    mean, deviation, largest = spread(layer.weight)
    expected = std if bound is None else bound / math.sqrt(3)
    assert abs(mean) < 6 * expected / math.sqrt(count)
    assert deviation == pytest.approx(expected, rel=6 / math.sqrt(count))
    if bound is not None:
        assert 0.998 * bound < largest <= bound
        if getattr(layer, "bias", None) is not None:
            assert 0 < layer.bias.abs().max().item() <= bound


def test_layers_that_start_with_constants():
    for layer in (nn.BatchNorm3d(3), nn.GroupNorm(1, 3), nn.InstanceNorm1d(3, affine=True), nn.SyncBatchNorm(3)):
        assert (layer.weight.tolist(), layer.bias.tolist()) == ([1.0] * 3, [0.0] * 3)
    assert nn.RMSNorm(3).weight.tolist() == [1.0] * 3
    assert nn.PReLU(2, init=0.5).weight.tolist() == [0.5, 0.5]
    assert nn.EmbeddingBag(3, 2, padding_idx=1).weight[1].tolist() == [0.0, 0.0]
