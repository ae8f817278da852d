"""A small network of most layers, trained for eight steps, against PyTorch's losses, results and running values."""

import pytest

import polyad
from polyad import nn, optim

# Printed by PyTorch 2.13 (CPU, float32) running the same program: the losses, rounded to 6 digits; then, in evaluation
# mode, the first row of scores, rounded to 5 digits, and the running variances, rounded to 6.
EXPECTED = {
    "adam": (
        [1.667524, 1.568681, 1.574672, 1.56637, 1.556728, 1.549596, 1.543382, 1.5363],
        [0.37649, 1.32841, 0.39261, 0.45613, 0.30058],
        [0.562369, 0.488393, 0.511192, 0.481843],
    ),
    "sgd": (
        [1.667524, 1.566308, 1.568533, 1.568883, 1.561162, 1.548476, 1.532318, 1.512198],
        [0.31654, 1.27768, 0.56054, 0.63285, 0.31856],
        [0.534813, 0.498703, 0.51287, 0.479647],
    ),
}

MAKE = {
    "adam": lambda params: optim.Adam(params, lr=0.02),
    "sgd": lambda params: optim.SGD(params, lr=0.05, momentum=0.9, weight_decay=1e-3),
}


def network():
    model = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(4, 6, 3),
        nn.GELU(),
        nn.AvgPool2d(2),
        nn.Flatten(),
        nn.LayerNorm(6),
        nn.Linear(6, 5),
    )
    with polyad.no_grad():
        for parameter in model.parameters():
            shift = 0.5 if parameter.ndim == 1 else 0
            values = [(7 * i % 11 - 5) / 5 * 0.4 + shift for i in range(parameter.numel())]
            parameter.copy_(polyad.tensor(values).reshape(*parameter.shape))
    return model


@pytest.mark.parametrize("case", EXPECTED)
def test_training(case):
    losses, scores, variances = EXPECTED[case]
    model = network()
    input = polyad.tensor([(13 * i % 29 - 14) / 14 for i in range(6 * 64)]).reshape(6, 1, 8, 8)
    target = polyad.tensor([0, 1, 2, 3, 4, 1])
    optimizer = MAKE[case](model.parameters())
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    found = []
    for _ in range(8):
        optimizer.zero_grad()
        loss = criterion(model(input), target)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    # Half a unit of the last digit, and float32's rounding (2^-24) over chains of about a hundred operations.
    assert found == pytest.approx(losses, abs=5e-7 + 200 * 2**-24)
    model.eval()
    assert model(input)[0].tolist() == pytest.approx(scores, abs=5e-6 + 400 * 2**-24)
    assert model[1].running_var.tolist() == pytest.approx(variances, abs=5e-7 + 100 * 2**-24)
