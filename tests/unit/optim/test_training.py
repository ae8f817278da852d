"""Steps against PyTorch's: parameters after five steps of least squares, for every option that changes the numbers."""

import pytest

import polyad
from polyad import optim
from polyad.dispatch.modes import Mode

# Printed by PyTorch 2.13 (CPU, float32) running `train` below with torch.optim's classes.
EXPECTED = {
    "SGD": [0.5675523, -0.1814521, 1.5362726, -0.1946581, 1.436929, 0.0261286],
    "SGD weight_decay maximize": [0.1337723, -6.2809749, 2.6386988, 1.879402, -11.7615919, 2.0556471],
    "SGD momentum": [0.6238172, 0.3603008, 0.8210949, -0.7047833, 1.7467098, 0.822347],
    "SGD dampening": [0.6278863, 0.5985714, 1.1559919, -0.5784923, 2.7765241, 0.1316751],
    "SGD nesterov": [0.5842581, 0.1320375, 0.621185, -0.7286587, 0.7726398, 1.2504029],
    "SGD maximize": [0.4556071, -1.9288788, 2.1441863, 0.5037928, -21.4367962, 2.0944097],
    "Adam": [0.9607719, -0.5064807, 1.504164, -0.2184243, 0.3468819, -0.2396259],
    "Adam weight_decay": [0.9398329, -0.5092369, 1.5060327, -0.2105368, 0.3454542, -0.2150484],
    "Adam amsgrad": [0.8921894, -0.5172908, 1.5077802, -0.1658174, 0.3416868, -0.1728794],
    "Adam maximize": [-0.0014033, -1.5020947, 2.5018327, 0.7514092, -0.1510355, 0.0436601],
    "Adam beta 0": [1.0000001, -0.4999999, 1.4999999, -0.25, 0.35, -0.15],
    "AdamW": [0.8930533, -0.4311047, 1.3329256, -0.2200626, 0.3364105, -0.2232341],
    "AdamW amsgrad": [-0.0028034, -1.496098, 2.4908345, 0.7491715, -0.1510332, 0.0437913],
}

MAKE = {
    "SGD": lambda params: optim.SGD(params, lr=0.01),
    "SGD weight_decay maximize": lambda params: optim.SGD(params, lr=0.01, weight_decay=0.1, maximize=True),
    "SGD momentum": lambda params: optim.SGD(params, lr=0.01, momentum=0.9),
    "SGD dampening": lambda params: optim.SGD(params, lr=0.01, momentum=0.9, dampening=0.5, weight_decay=0.1),
    "SGD nesterov": lambda params: optim.SGD(params, lr=0.01, momentum=0.9, nesterov=True, weight_decay=0.1),
    "SGD maximize": lambda params: optim.SGD(params, lr=0.001, momentum=0.9, maximize=True),
    "Adam": lambda params: optim.Adam(params, lr=0.1),
    "Adam weight_decay": lambda params: optim.Adam(params, lr=0.1, betas=(0.8, 0.95), eps=1e-3, weight_decay=0.3),
    "Adam amsgrad": lambda params: optim.Adam(params, lr=0.1, amsgrad=True, betas=(0.5, 0.6)),
    "Adam maximize": lambda params: optim.Adam(params, lr=0.1, maximize=True, weight_decay=0.1),
    "Adam beta 0": lambda params: optim.Adam(params, lr=0.1, betas=(0.0, 0.0)),
    "AdamW": lambda params: optim.AdamW(params, lr=0.1, weight_decay=0.2),
    "AdamW amsgrad": lambda params: optim.AdamW(params, lr=0.1, amsgrad=True, maximize=True),
}

# Five steps of twenty roundings, each of at most 2^-24 relative, of terms up to four times as large as the result.
TOLERANCE = 20 * 5 * 4 * 2**-24


class Problem:
    """Least squares with the bias in a group of its own."""

    def __init__(self, dtype=polyad.float32):
        self.weight = polyad.tensor([[0.5, -1.0], [2.0, 0.25]], dtype=dtype, requires_grad=True)
        self.bias = polyad.tensor([0.1, -0.2], dtype=dtype, requires_grad=True)
        self.input = polyad.tensor([[1.0, 2.0], [-1.0, 0.5], [0.0, 3.0]], dtype=dtype)
        self.target = polyad.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, -1.0]], dtype=dtype)

    def groups(self):
        return [{"params": [self.weight]}, {"params": [self.bias], "lr": 0.05}]

    def loss(self):
        rest = self.input @ self.weight.t() + self.bias - self.target
        return (rest * rest).sum()

    def train(self, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            self.loss().backward()
            optimizer.step()

    def values(self):
        return [*self.weight.reshape(-1).tolist(), *self.bias.tolist()]


@pytest.mark.parametrize("case", EXPECTED)
def test_five_steps(case):
    problem = Problem()
    problem.train(MAKE[case](problem.groups()), 5)
    assert problem.values() == pytest.approx(EXPECTED[case], rel=TOLERANCE, abs=TOLERANCE)


@pytest.mark.parametrize("case", EXPECTED)
def test_five_steps_in_float64_agree_with_float32(case):
    problem = Problem(polyad.float64)
    problem.train(MAKE[case](problem.groups()), 5)
    assert problem.weight.dtype == polyad.float64
    assert problem.values() == pytest.approx(EXPECTED[case], rel=TOLERANCE, abs=TOLERANCE)


@pytest.mark.parametrize("case", EXPECTED)
def test_resuming_from_a_state_changes_nothing(case):
    whole = Problem()
    whole.train(MAKE[case](whole.groups()), 4)

    first, second = Problem(), Problem()
    before = MAKE[case](first.groups())
    first.train(before, 2)
    with polyad.no_grad():
        second.weight.copy_(first.weight)
        second.bias.copy_(first.bias)
    after = MAKE[case](second.groups())
    after.load_state_dict(before.state_dict())
    second.train(after, 2)
    assert second.values() == whole.values()


@pytest.mark.parametrize("case", ["SGD", "SGD nesterov", "Adam", "Adam amsgrad"])
def test_a_transposed_parameter_is_trained_in_place(case):
    usual, other = Problem(), Problem()
    memory = other.weight.detach().t().contiguous()
    other.weight = memory.t().requires_grad_()
    assert not other.weight.is_contiguous()
    usual.train(MAKE[case](usual.groups()), 3)
    other.train(MAKE[case](other.groups()), 3)
    assert other.values() == pytest.approx(usual.values(), rel=TOLERANCE, abs=TOLERANCE)
    assert memory.t().tolist() == other.weight.tolist()


@pytest.mark.parametrize("case", ["SGD", "SGD momentum", "Adam", "AdamW amsgrad"])
def test_a_parameter_larger_than_any_chunk(case):
    # The elements are alike, so all must end alike, wherever a kernel cuts.
    large = polyad.full((300, 1000), 0.5).requires_grad_()
    small = polyad.full((1,), 0.5).requires_grad_()
    for param in (large, small):
        optimizer = MAKE[case]([param])
        for _ in range(3):
            param.grad = param.detach() * 2
            optimizer.step()
    lowest, highest = min(map(min, large.tolist())), max(map(max, large.tolist()))
    assert lowest == highest == small.item()


@pytest.mark.parametrize("case", EXPECTED)
def test_empty_and_scalar_parameters(case):
    empty, scalar = polyad.zeros(0).requires_grad_(), polyad.tensor(1.0).requires_grad_()
    optimizer = MAKE[case]([empty, scalar])
    empty.grad, scalar.grad = polyad.zeros(0), polyad.tensor(1.0)
    optimizer.step()
    assert empty.shape == (0,)
    assert scalar.shape == ()
    assert scalar.item() != 1.0


def test_infinite_gradients_raise_no_warnings(recwarn):
    param = polyad.tensor([1.0, 1.0]).requires_grad_()
    optimizer = optim.Adam([param])
    param.grad = polyad.tensor([1e30, 0.0])
    optimizer.step()
    optimizer.step()
    assert param.tolist()[0] == 1.0  # the square overflows: the step is finite / inf
    assert len(recwarn) == 0


def test_a_step_counts_as_a_write():
    weight = polyad.ones(2).requires_grad_()
    loss = (weight * weight).sum()
    weight.grad = polyad.ones(2)
    optim.SGD([weight], lr=0.1).step()
    with pytest.raises(RuntimeError, match="sgd_step"):
        loss.backward()


@pytest.mark.parametrize("case", EXPECTED)
def test_modes_see_the_step_and_every_write(case):
    class Witness(Mode):
        def __init__(self):
            self.seen = []

        def dispatch(self, op, args):
            self.seen.append(op.name)
            return op.call(*args)

    problem, other = Problem(), Problem()
    optimizer, watched = MAKE[case](problem.groups()), MAKE[case](other.groups())
    for param in (problem.weight, problem.bias, other.weight, other.bias):
        param.grad = polyad.ones(*param.shape)
    optimizer.step()
    with Witness() as witness:
        watched.step()
    assert other.values() == problem.values()
    steps = [name for name in witness.seen if name.endswith("_step")]
    assert len(steps) == 2
    assert witness.seen.count("write") >= 2
