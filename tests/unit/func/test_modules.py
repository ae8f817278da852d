"""Modules as functions of their parameters."""

import pytest

import polyad
from polyad import nn
from polyad.func import functional_call, grad, stack_module_state
from polyad.nn.utils import stateless

ONES = {"weight": polyad.ones(1, 2), "bias": polyad.zeros(1)}
X = polyad.tensor([[1.0, 2.0]])


def test_a_module_is_called_with_other_parameters_and_is_as_before() -> None:
    layer = nn.Linear(2, 1)
    weight = layer.weight
    assert functional_call(layer, ONES, X).item() == 3
    assert functional_call(layer, ({"weight": ONES["weight"]}, {"bias": ONES["bias"]}), (X,)).item() == 3
    assert functional_call(layer, ONES, kwargs={"input": X}).item() == 3
    partial = functional_call(layer, {"weight": ONES["weight"]}, X)
    assert partial.item() == pytest.approx(3 + layer.bias.item())
    assert layer.weight is weight
    with pytest.raises(RuntimeError):
        functional_call(layer, {"weight": polyad.ones(3, 5)}, X)
    assert layer.weight is weight


def test_nested_modules_and_gradients() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1)).double()
    parameters = {name: tensor.detach() for name, tensor in model.named_parameters()}
    found = grad(lambda p: functional_call(model, p, X.double()).sum())(parameters)
    model(X.double()).sum().backward()
    assert found.keys() == parameters.keys()
    for name, parameter in model.named_parameters():
        assert polyad.equal(found[name], parameter.grad)


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", polyad.zeros(()))

    def forward(self, x):
        self.count = self.count + 1
        return x + self.count


def test_a_replaced_buffer_is_replaced_in_the_dict() -> None:
    counter, state = Counter(), {"count": polyad.zeros(())}
    assert functional_call(counter, state, polyad.ones(())).item() == 2
    assert (state["count"].item(), counter.count.item()) == (1, 0)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Parameter(polyad.zeros(()))
        self.b = self.a

    def forward(self, x):
        return x + self.a + 10 * self.b


def test_tied_weights() -> None:
    tied, one = Tied(), polyad.ones(())
    assert functional_call(tied, {"a": one}, one).item() == 12
    assert functional_call(tied, {"b": one}, one, strict=True).item() == 12
    assert functional_call(tied, {"a": one}, one, tie_weights=False).item() == 2
    assert functional_call(tied, {"a": one, "b": one * 2}, one, tie_weights=False).item() == 22
    with pytest.raises(ValueError, match="one tensor in the module"):
        functional_call(tied, {"a": one, "b": one * 2}, one)


def test_mistakes_are_told() -> None:
    layer = nn.Linear(2, 1)
    with pytest.raises(RuntimeError, match=r"missing .*bias"):
        functional_call(layer, {"weight": ONES["weight"]}, X, strict=True)
    with pytest.raises(RuntimeError, match=r"unexpected .*more"):
        functional_call(layer, {**ONES, "more": X}, X, strict=True)
    assert functional_call(layer, {**ONES, "more": X}, X).item() == 3
    with pytest.raises(AttributeError, match="'a'"):
        functional_call(layer, {**ONES, "a.more": X}, X)
    with pytest.raises(ValueError, match="neither a dict"):
        functional_call(layer, 3, X)
    with pytest.raises(ValueError, match="several dicts"):
        functional_call(layer, (ONES, ONES), X)
    with pytest.raises(TypeError, match="weight is int"):
        stateless.functional_call(layer, {"weight": 3}, X)
    with pytest.raises(TypeError, match="not a Module"):
        functional_call(lambda x: x, {}, X)


def test_stack_module_state() -> None:
    models = [nn.BatchNorm1d(2) for _ in range(3)]
    parameters, buffers = stack_module_state(models)
    assert {name: tuple(one.shape) for name, one in parameters.items()} == {"weight": (3, 2), "bias": (3, 2)}
    assert all(one.is_leaf and one.requires_grad for one in parameters.values())
    assert set(buffers) == {"running_mean", "running_var", "num_batches_tracked"}
    assert not any(one.requires_grad for one in buffers.values())
    with pytest.raises(RuntimeError, match="no models"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="mode"):
        stack_module_state([models[0], nn.BatchNorm1d(2).eval()])
    with pytest.raises(RuntimeError, match="classes"):
        stack_module_state([nn.Linear(1, 1), nn.BatchNorm1d(2)])
    with pytest.raises(RuntimeError, match="shape"):
        stack_module_state([nn.Linear(1, 1), nn.Linear(2, 1)])
    frozen = nn.Linear(1, 1)
    frozen.weight.requires_grad_(False)
    with pytest.raises(RuntimeError, match="weight requires a gradient in some"):
        stack_module_state([frozen, nn.Linear(1, 1)])


def test_none_takes_a_parameter_away_and_other_names_are_there_during_the_call() -> None:
    layer = nn.Linear(2, 1)
    assert functional_call(layer, {"weight": ONES["weight"], "bias": None}, X).item() == 3
    assert layer.bias is not None

    class Shifted(nn.Module):
        def forward(self, x):
            return x + self.shift

    shifted = Shifted()
    assert functional_call(shifted, {"shift": polyad.tensor(1.0)}, polyad.tensor(2.0)).item() == 3
    assert not hasattr(shifted, "shift")


def test_modules_that_hold_each_other() -> None:
    layer = nn.Linear(2, 1)
    layer.child = nn.Module()
    layer.child.parent = layer
    assert functional_call(layer, ONES, X, tie_weights=False).item() == 3
