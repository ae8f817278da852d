"""FLOPs of matrix products and convolutions; the numbers are what PyTorch 2.13 counts, where it counts."""

import pytest

import polyad
from polyad import nn
from polyad.nn import functional as F
from polyad.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def g(*shape):
    return polyad.randn(*shape, requires_grad=True)


@pytest.mark.parametrize(
    ("call", "count"),
    [
        (lambda: g(3, 4) @ g(4, 5), 360),
        (lambda: g(2, 3, 4) @ g(2, 4, 5), 720),
        (lambda: F.linear(g(2, 3, 4), g(5, 4), g(5)), 720),
        (lambda: F.conv_transpose2d(g(2, 3, 4, 4), g(3, 5, 3, 3), stride=2), 25920),
        (lambda: F.conv2d(g(2, 4, 6, 6), g(6, 2, 3, 3), groups=2, padding=1, stride=2), 11664),
        (lambda: F.conv1d(polyad.randn(2, 4, 6), g(6, 4, 3)), 2304),
        (lambda: F.scaled_dot_product_attention(g(2, 3, 7, 8), g(2, 3, 9, 8), g(2, 3, 9, 8)), 42336),
        (lambda: polyad.einsum("bij,bjk->bik", g(2, 3, 4), g(2, 4, 5)), 720),
        (lambda: polyad.addmm(g(5), g(3, 4), g(4, 5)), 360),
        (lambda: polyad.baddbmm(g(5), g(2, 3, 4), g(2, 4, 5)), 720),
        (lambda: nn.MultiheadAttention(8, 2)(g(6, 2, 8), g(6, 2, 8), g(6, 2, 8))[0], 25344),
        (lambda: g(4) @ g(4), 0),
        (lambda: g(3, 4).softmax(1).exp() * 2, 0),
    ],
)
def test_counts_of_pytorch(call, count):
    with FlopCounterMode(display=False) as counter:
        call().sum().backward()
    assert counter.get_total_flops() == count


def test_writes_count_too():
    total = polyad.zeros(3, 5)
    with FlopCounterMode(display=False) as counter:
        total.addmm_(polyad.ones(3, 4), polyad.ones(4, 5))
    assert counter.get_total_flops() == 120
    assert (total == 4).all()


def test_results_and_gradients_are_the_same():
    polyad.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.LSTM(8, 3, batch_first=True))
    x = polyad.randn(2, 5, 4)

    def run():
        polyad.manual_seed(1)
        model.zero_grad()
        loss = model(x)[0].sum()
        loss.backward()
        return [loss.detach(), *(p.grad for p in model.parameters())]

    expected = run()
    with FlopCounterMode(display=False):
        found = run()
    assert all(polyad.equal(a, b) for a, b in zip(found, expected, strict=True))


def test_modules(capsys):
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.Flatten(), nn.Sequential(nn.Linear(144, 6), nn.ReLU(), nn.Linear(6, 5))
    )
    counter = FlopCounterMode()
    with counter:
        model(polyad.randn(2, 3, 8, 8)).sum().backward()
    counts = {name: sum(ops.values()) for name, ops in counter.get_flop_counts().items()}
    first, last = 3 * 2 * 2 * 144 * 6, 3 * 2 * 2 * 6 * 5
    assert counts == {
        "Global": 31104 + first + last,
        "Sequential": 31104 + first + last,
        "Sequential.0": 31104,
        "Sequential.2": first + last,
        "Sequential.2.0": first,
        "Sequential.2.2": last,
    }
    shown = capsys.readouterr().out
    assert "Sequential.2 " in shown
    assert "Sequential.2.2" not in shown
    assert "100.0%" in shown
    assert "Sequential.2.2" in counter.get_table(3)
    with counter:  # it begins again
        pass
    assert counter.get_total_flops() == 0


def test_formulas_of_ones_own():
    @register_flop_formula(["exp", "log"])
    def formula(input_shape, *, out_shape):
        return 3 * out_shape.numel()

    try:
        with FlopCounterMode(display=False, custom_mapping={"sin": lambda x, *, out_val: 5}) as counter:
            polyad.ones(2, 3).exp().log().sin()
    finally:
        del flop_registry["exp"], flop_registry["log"]
    assert counter.get_flop_counts() == {"Global": {"exp": 18, "log": 18, "sin": 5}}
    with pytest.raises(TypeError, match="no op"):
        register_flop_formula("nothing")
