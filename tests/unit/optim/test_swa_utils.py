"""Averages of models."""

import pytest

import polyad
from polyad import nn, optim
from polyad.optim import swa_utils


def model_of(value):
    model = nn.Linear(2, 1)
    with polyad.no_grad():
        for param in model.parameters():
            param.fill_(value)
    return model


def fill(model, value):
    with polyad.no_grad():
        for param in model.parameters():
            param.fill_(value)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (1 + 4 + 7) / 3),
        ({"avg_fn": swa_utils.get_ema_avg_fn(0.5)}, (1 + 4) / 4 + 7 / 2),
        ({"multi_avg_fn": swa_utils.get_ema_multi_avg_fn(0.5)}, (1 + 4) / 4 + 7 / 2),
        ({"multi_avg_fn": swa_utils.get_swa_multi_avg_fn()}, (1 + 4 + 7) / 3),
        ({"avg_fn": lambda mean, param, count: param * (count + 1)}, 7 * 3),
    ],
)
def test_average(options, expected):
    model = model_of(1.0)
    averaged = swa_utils.AveragedModel(model, **options)
    for value in (1.0, 4.0, 7.0):
        fill(model, value)
        averaged.update_parameters(model)
    assert averaged.module.weight.flatten().tolist() == pytest.approx([expected] * 2)
    assert averaged.n_averaged.item() == 3
    assert model.weight.tolist() == [[7.0, 7.0]]
    assert averaged(polyad.ones(1, 2)).item() == pytest.approx(3 * expected)


def test_the_first_parameters_are_the_average():
    averaged = swa_utils.AveragedModel(model_of(1.0))
    averaged.update_parameters(model_of(5.0))
    assert averaged.module.weight.tolist() == [[5.0, 5.0]]


def test_the_state_goes_on():
    model = model_of(1.0)
    first = swa_utils.AveragedModel(model)
    first.update_parameters(model)
    second = swa_utils.AveragedModel(model_of(0.0))
    second.load_state_dict(first.state_dict())
    second.update_parameters(model_of(3.0))
    assert second.module.weight.tolist() == [[2.0, 2.0]]


def test_buffers_are_copied_or_averaged():
    for use_buffers, expected in ((False, 8.0), (True, 6.0)):
        model = nn.BatchNorm1d(1)
        averaged = swa_utils.AveragedModel(model, use_buffers=use_buffers)
        for value in (4.0, 8.0):
            model.running_mean.fill_(value)
            averaged.update_parameters(model)
        assert averaged.module.running_mean.tolist() == [expected]


def test_other_models_change_nothing():
    averaged = swa_utils.AveragedModel(model_of(1.0))
    averaged.update_parameters(model_of(1.0))
    with pytest.raises(ValueError, match="nothing was changed"):
        averaged.update_parameters(nn.Linear(3, 1))
    assert averaged.module.weight.tolist() == [[1.0, 1.0]]
    assert averaged.n_averaged.item() == 1


def test_refusals():
    with pytest.raises(AssertionError, match="both"):
        swa_utils.AveragedModel(
            model_of(1.0), avg_fn=swa_utils.get_swa_avg_fn(), multi_avg_fn=swa_utils.get_swa_multi_avg_fn()
        )
    for decay in (-0.1, 1.1):
        with pytest.raises(ValueError, match="decay"):
            swa_utils.get_ema_avg_fn(decay)
        with pytest.raises(ValueError, match="decay"):
            swa_utils.get_ema_multi_avg_fn(decay)


class TestUpdateBn:
    def test_statistics_are_means_over_batches(self):
        norm = nn.BatchNorm1d(1, momentum=0.3)
        model = nn.Sequential(norm, nn.Dropout(0.5))
        model[1].eval()
        batches = [polyad.tensor([[0.0], [2.0]]), (polyad.tensor([[4.0], [10.0]]), "label")]
        swa_utils.update_bn(batches, model)
        assert norm.running_mean.tolist() == [4.0]
        assert norm.running_var.tolist() == [(2 + 18) / 2]
        assert norm.momentum == 0.3
        assert model.training
        assert not model[1].training

    def test_an_input_that_fails_leaves_modes_and_momenta(self):
        norm = nn.BatchNorm1d(1, momentum=0.3).eval()
        with pytest.raises(RuntimeError):
            swa_utils.update_bn([polyad.ones(2, 5)], norm)
        assert norm.momentum == 0.3
        assert not norm.training

    def test_without_normalization_nothing_is_run(self):
        def batches():
            raise AssertionError("the loader is not asked")
            yield

        swa_utils.update_bn(batches(), model_of(1.0))


def test_names():
    assert optim.swa_utils is swa_utils
