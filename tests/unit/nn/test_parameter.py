"""Parameter and Buffer are tensors with a type of their own."""

import copy

import pytest

import polyad
from polyad import nn


def test_parameter_requires_grad_and_shares_memory():
    data = polyad.zeros(2)
    parameter = nn.Parameter(data)
    assert isinstance(parameter, polyad.Tensor)
    assert parameter.requires_grad
    assert parameter.is_leaf
    data.fill_(3.0)
    assert parameter.tolist() == [3.0, 3.0]
    assert not nn.Parameter(data, requires_grad=False).requires_grad


def test_parameter_of_a_result_has_no_history():
    source = polyad.ones(2, requires_grad=True)
    parameter = nn.Parameter(source * 2)
    assert parameter.is_leaf
    assert parameter.grad_fn is None


def test_results_are_plain_tensors():
    parameter = nn.Parameter(polyad.ones(2))
    for result in (parameter * 1, parameter.detach(), parameter.data, parameter.reshape(2, 1)):
        assert type(result) is polyad.Tensor
    assert not isinstance(polyad.ones(1), nn.Parameter)


def test_integers_cannot_be_trained():
    with pytest.raises(RuntimeError, match="floating"):
        nn.Parameter(polyad.tensor([1]))
    assert nn.Parameter(polyad.tensor([1]), requires_grad=False).dtype == polyad.int64


@pytest.mark.parametrize("kind", [nn.Parameter, nn.Buffer])
def test_data_must_be_a_tensor(kind):
    with pytest.raises(TypeError, match="data is list, not a Tensor"):
        kind([1.0])


def test_empty():
    assert nn.Parameter().shape == (0,)
    assert nn.Buffer().shape == (0,)


def test_repr():
    assert repr(nn.Parameter(polyad.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert repr(nn.Parameter(polyad.ones(2), requires_grad=False)) == "Parameter containing:\ntensor([1., 1.])"
    assert repr(nn.Buffer(polyad.ones(2))) == "tensor([1., 1.])"


@pytest.mark.parametrize("requires_grad", [True, False])
def test_deepcopy(requires_grad):
    parameter = nn.Parameter(polyad.ones(2), requires_grad=requires_grad)
    twin = copy.deepcopy(parameter)
    assert type(twin) is nn.Parameter
    assert twin.requires_grad is requires_grad
    twin.data.fill_(5.0)
    assert parameter.tolist() == [1.0, 1.0]


def test_deepcopy_of_a_buffer_keeps_persistence():
    assert copy.deepcopy(nn.Buffer(polyad.ones(1), persistent=False)).persistent is False


def test_gradients_arrive():
    parameter = nn.Parameter(polyad.tensor([1.0, 2.0]))
    (parameter * parameter).sum().backward()
    assert parameter.grad.tolist() == [2.0, 4.0]


def test_materialized_with_one_size():
    weight = nn.UninitializedParameter()
    weight.materialize(10)
    assert weight.shape == (10,)
