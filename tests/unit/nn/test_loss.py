"""Losses against PyTorch's values and gradients, and that they never broadcast."""

import pytest

import polyad
from polyad import nn


def scores():
    return polyad.tensor([(7 * i % 11 - 5) / 5 for i in range(12)]).reshape(3, 4)


def classes():
    return polyad.tensor([1, 3, 0])


def weights():
    return polyad.tensor([0.5, 1.0, 2.0, 0.25])


def halves():
    return scores() * 0.5


def signs():
    return (scores() > 0).to(polyad.float32)


# Printed by PyTorch 2.13 (CPU, float32), rounded to 6 digits: the loss and the gradient of its sum.
EXPECTED = {
    "CrossEntropyLoss": (
        [1.635734],
        [
            0.023365,
            -0.238584,
            0.042574,
            0.172645,
            0.081496,
            0.036619,
            0.148495,
            -0.26661,
            -0.290021,
            0.17564,
            0.07892,
            0.035461,
        ],
    ),
    "CrossEntropyLoss weight smoothing": (
        [1.619952],
        [
            0.032661,
            -0.367159,
            0.043956,
            0.290542,
            0.037389,
            0.005724,
            0.052571,
            -0.095683,
            -0.223913,
            0.149436,
            0.044993,
            0.029483,
        ],
    ),
    "CrossEntropyLoss sum ignore": (
        [3.298613],
        [0.070095, -0.715751, 0.127721, 0.517935, 0.0, 0.0, 0.0, 0.0, -0.870063, 0.52692, 0.23676, 0.106383],
    ),
    "CrossEntropyLoss mean ignore": (
        [1.518839],
        [0.04673, -0.477167, 0.085147, 0.34529, 0.0, 0.0, 0.0, 0.0, -0.290021, 0.17564, 0.07892, 0.035461],
    ),
    "CrossEntropyLoss none": (
        [1.257905, 1.608589, 2.040707],
        [
            0.070095,
            -0.715751,
            0.127721,
            0.517935,
            0.244488,
            0.109856,
            0.445486,
            -0.79983,
            -0.870063,
            0.52692,
            0.23676,
            0.106383,
        ],
    ),
    "CrossEntropyLoss probabilities": (
        [0.946291],
        [
            0.018942,
            0.022014,
            0.027889,
            -0.068845,
            0.017299,
            0.023657,
            -0.064647,
            0.023691,
            0.027761,
            -0.080088,
            0.02729,
            0.025037,
        ],
    ),
    "NLLLoss": ([0.0], [0.0, -0.571429, 0.0, 0.0, 0.0, 0.0, 0.0, -0.142857, -0.285714, 0.0, 0.0, 0.0]),
    "MSELoss": (
        [1.195833],
        [-0.25, -0.133333, -0.2, -0.083333, -0.15, -0.216667, -0.1, -0.166667, -0.233333, -0.116667, -0.183333, -0.25],
    ),
    "MSELoss sum": ([14.349999], [-3.0, -1.6, -2.4, -1.0, -1.8, -2.6, -1.2, -2.0, -2.8, -1.4, -2.2, -3.0]),
    "L1Loss": (
        [0.366667],
        [
            -0.083333,
            -0.083333,
            -0.083333,
            0.083333,
            -0.083333,
            -0.083333,
            0.083333,
            -0.083333,
            -0.083333,
            0.083333,
            -0.083333,
            -0.083333,
        ],
    ),
    "BCEWithLogitsLoss": (
        [0.456035],
        [
            0.022412,
            -0.033443,
            0.033443,
            -0.022412,
            -0.037514,
            0.029529,
            -0.025835,
            0.041667,
            0.025835,
            -0.029529,
            0.037514,
            0.022412,
        ],
    ),
    "BCEWithLogitsLoss weights": (
        [0.705135],
        [
            0.011206,
            -0.066885,
            0.066885,
            -0.002801,
            -0.018757,
            0.029529,
            -0.206684,
            0.010417,
            0.012918,
            -0.059057,
            0.075028,
            0.005603,
        ],
    ),
}

MAKE = {
    "CrossEntropyLoss": (lambda: nn.CrossEntropyLoss(), classes),
    "CrossEntropyLoss weight smoothing": (lambda: nn.CrossEntropyLoss(weights(), label_smoothing=0.1), classes),
    "CrossEntropyLoss sum ignore": (lambda: nn.CrossEntropyLoss(reduction="sum", ignore_index=3), classes),
    "CrossEntropyLoss mean ignore": (lambda: nn.CrossEntropyLoss(weights(), ignore_index=3), classes),
    "CrossEntropyLoss none": (lambda: nn.CrossEntropyLoss(reduction="none"), classes),
    "CrossEntropyLoss probabilities": (lambda: nn.CrossEntropyLoss(), lambda: nn.Softmax(1)(scores() * 2)),
    "NLLLoss": (lambda: nn.NLLLoss(weights()), classes),
    "MSELoss": (lambda: nn.MSELoss(), lambda: halves() + 1),
    "MSELoss sum": (lambda: nn.MSELoss(reduction="sum"), lambda: halves() + 1),
    "L1Loss": (lambda: nn.L1Loss(), lambda: halves() + 0.25),
    "BCEWithLogitsLoss": (lambda: nn.BCEWithLogitsLoss(), signs),
    "BCEWithLogitsLoss weights": (lambda: nn.BCEWithLogitsLoss(weights(), pos_weight=weights() * 2), signs),
}


@pytest.mark.parametrize("case", EXPECTED)
def test_value_and_gradient(case):
    make, target = MAKE[case]
    value, gradient = EXPECTED[case]
    input = scores().requires_grad_()
    loss = make()(input, target())
    loss.sum().backward()
    # Half a unit of the sixth digit, and float32's rounding of about 30 operations on numbers of the result's size.
    assert loss.reshape(-1).tolist() == pytest.approx(value, abs=5e-7, rel=30 * 2**-24)
    assert input.grad.reshape(-1).tolist() == pytest.approx(gradient, abs=5e-7 + 30 * 2**-24)


SHAPES = [((4, 1), (4,)), ((4,), (4, 1)), ((2, 3), (3,)), ((2,), ())]


@pytest.mark.parametrize(("input", "target"), SHAPES)
def test_shapes_must_agree(input, target):
    with pytest.raises((RuntimeError, ValueError), match="input"):
        nn.BCEWithLogitsLoss()(polyad.zeros(input), polyad.zeros(target))


@pytest.mark.parametrize("kind", [nn.MSELoss, nn.L1Loss])
@pytest.mark.parametrize(("input", "target"), SHAPES)
def test_shapes_broadcast_with_a_warning(kind, input, target):
    with pytest.warns(UserWarning, match="broadcast"):
        assert kind()(polyad.ones(input), polyad.zeros(target)).item() == 1


@pytest.mark.parametrize("kind", [nn.CrossEntropyLoss, nn.NLLLoss])
@pytest.mark.parametrize(
    ("input", "target"), [((3, 4), (2,)), ((3, 4), (3, 1)), ((3, 4, 5), (3,)), ((3, 4, 5), (3, 6)), ((4,), (2,))]
)
def test_classes_must_agree_with_scores(kind, input, target):
    with pytest.raises((RuntimeError, ValueError), match="target"):
        kind()(polyad.zeros(*input), polyad.zeros(*target, dtype=polyad.int64))


@pytest.mark.parametrize("kind", [nn.CrossEntropyLoss, nn.NLLLoss])
@pytest.mark.parametrize("target", [4, -1])
def test_classes_must_exist(kind, target):
    with pytest.raises(IndexError, match=str(target)):
        kind()(polyad.zeros(2, 4), polyad.tensor([0, target]))


@pytest.mark.parametrize("kind", [nn.CrossEntropyLoss, nn.NLLLoss, nn.MSELoss, nn.L1Loss, nn.BCEWithLogitsLoss])
def test_unknown_reduction(kind):
    with pytest.raises(ValueError, match="unknown reduction 'average'"):
        kind(reduction="average")


def test_older_names_of_reductions():
    assert nn.MSELoss(size_average=False).reduction == "sum"
    assert nn.MSELoss(reduce=False).reduction == "none"
    assert nn.MSELoss(reduce=True).reduction == "mean"


def test_weights_are_state():
    assert list(nn.CrossEntropyLoss(weights()).state_dict()) == ["weight"]
    assert list(nn.CrossEntropyLoss().state_dict()) == []
    assert list(nn.BCEWithLogitsLoss(pos_weight=weights()).state_dict()) == ["pos_weight"]


def test_higher_dimensions():
    input = scores().reshape(1, 4, 3).requires_grad_()
    target = polyad.tensor([[0, 1, 2]])
    flat = nn.CrossEntropyLoss()(input.transpose(1, 2).reshape(3, 4), target.reshape(3))
    assert nn.CrossEntropyLoss()(input, target).item() == pytest.approx(flat.item(), rel=30 * 2**-24)


def test_nothing_counts():
    loss = nn.CrossEntropyLoss()(polyad.zeros(2, 3), polyad.tensor([-100, -100]))
    assert loss.item() != loss.item()
