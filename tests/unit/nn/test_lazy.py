"""Lazy layers before and after their first call; their parameters without a shape."""

import copy
import pickle

import pytest

import polyad
from polyad import nn


class Scaled(nn.modules.lazy.LazyModuleMixin, nn.Module):
    """A lazy module of the user's, with a buffer; it stays of its class."""

    def __init__(self):
        super().__init__()
        self.factor = nn.UninitializedParameter()
        self.seen = nn.UninitializedBuffer()

    def initialize_parameters(self, input):
        self.factor.materialize(input.shape[-1:])
        self.seen.materialize((1,))
        nn.init.constant_(self.factor, 2.0)

    def forward(self, input):
        return input * self.factor


def test_a_first_call_makes_an_ordinary_layer():
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2)).to(polyad.float64)
    assert model(polyad.ones(2, 3, 4, 4, dtype=polyad.float64)).shape == (2, 2)
    assert [type(layer).__name__ for layer in model] == ["Conv2d", "BatchNorm2d", "Flatten", "Linear"]
    assert all(type(one) is nn.Parameter and one.dtype == polyad.float64 for one in model.parameters())
    assert (model[3].in_features, model[0].in_channels, model[1].num_features) == (16, 3, 4)
    assert 0 < model[3].weight.abs().max() <= 0.25
    with pytest.raises(RuntimeError, match="5 != 16"):
        model[3](polyad.ones(2, 5, dtype=polyad.float64))


def test_a_module_of_the_users_keeps_its_class_and_is_called_once():
    module = Scaled()
    assert [name for name, _ in module.named_parameters()] == ["factor"]
    assert [name for name, _ in module.named_buffers()] == ["seen"]
    assert module.has_uninitialized_params()
    for _ in range(2):
        assert module(polyad.ones(3)).tolist() == [2.0, 2.0, 2.0]
    assert type(module) is Scaled
    assert type(module.seen) is nn.Buffer
    assert not module.has_uninitialized_params()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda layer: pickle.loads(pickle.dumps(layer))])
def test_copies_before_the_first_call(copied):
    layer = nn.LazyLinear(3, dtype=polyad.float64)
    twin = copied(layer)
    assert repr(twin) == repr(layer) == "LazyLinear(in_features=0, out_features=3, bias=True)"
    assert twin.weight is not layer.weight
    assert twin(polyad.ones(2, 5, dtype=polyad.float64)).shape == (2, 3)
    assert layer.has_uninitialized_params()


def test_state_goes_into_lazy_layers_and_back():
    known, lazy = nn.Linear(5, 3), nn.LazyLinear(3)
    assert repr(list(lazy.state_dict().values())) == "[<UninitializedParameter>, <UninitializedParameter>]"
    lazy.load_state_dict(nn.LazyLinear(3).state_dict())
    assert lazy.has_uninitialized_params()
    with pytest.raises(RuntimeError, match=r"no values for weight .*never called"):
        known.load_state_dict(lazy.state_dict())
    with pytest.raises(RuntimeError, match="missing"):
        lazy.load_state_dict({"weight": known.weight})
    assert lazy.has_uninitialized_params()  # nothing was changed
    lazy.load_state_dict(known.state_dict())
    x = polyad.ones(2, 5)
    assert polyad.equal(lazy(x), known(x))
    assert lazy.in_features == 5


def test_what_has_no_shape_cannot_be_used():
    weight = nn.UninitializedParameter()
    for use in (
        lambda: weight.shape,
        lambda: weight + 1,
        lambda: polyad.ones(2) * weight,
        lambda: weight.sum(),
        lambda: nn.functional.linear(polyad.ones(2, 2), weight),
        lambda: polyad.zeros_like(weight),
        lambda: weight.numel(),
    ):
        with pytest.raises(RuntimeError, match="shape is not known yet"):
            use()
    assert (weight.dtype, weight.device.type, weight.requires_grad) == (polyad.float32, "cpu", True)
    assert not nn.UninitializedParameter(requires_grad=False).requires_grad
    weight.requires_grad_(False)
    weight.materialize((2, 3), dtype=polyad.float64)
    assert (weight.shape, weight.dtype, weight.requires_grad) == ((2, 3), polyad.float64, False)


def test_moves_before_the_first_call():
    layer = nn.LazyLinear(3)
    weight = layer.weight
    layer.to("meta").to(polyad.float16)
    assert layer.weight is weight
    assert (weight.device.type, weight.dtype) == ("meta", polyad.float16)
    assert layer.to_empty(device="cpu").weight.device.type == "cpu"


def test_first_inputs_that_do_not_fit():
    model = nn.Sequential(nn.LazyConv2d(4, 3, groups=2))
    with pytest.raises(ValueError, match="3-d or 4-d, not 2-d"):
        model(polyad.ones(2, 3))
    with pytest.raises(ValueError, match="divisible by groups: 3 and 2"):
        model(polyad.ones(1, 3, 4, 4))
    assert model[0].has_uninitialized_params()

    class Forgetful(nn.modules.lazy.LazyModuleMixin, nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, input):
            pass

    with pytest.raises(RuntimeError, match="left parameters without a shape"):
        Forgetful()(polyad.ones(1))


def test_computing_with_an_unknown_shape_is_a_value_error_too():
    with pytest.raises(ValueError, match="shape is not known"):
        polyad.add(nn.UninitializedParameter(), 1)


def test_an_optimizer_takes_parameters_before_they_have_a_shape():
    layer = nn.LazyLinear(1, bias=False)
    optimizer = polyad.optim.SGD(layer.parameters(), lr=0.5)
    layer(polyad.ones(2, 3)).sum().backward()
    before = layer.weight.detach().clone()
    optimizer.step()
    assert polyad.equal(layer.weight, before - 1.0)
