"""Dropout: what is drawn, how often, and where it is written."""

from __future__ import annotations

import pytest

import polyad
from polyad.nn import functional as F

SHAPES = {
    "dropout": (40, 50),
    "alpha_dropout": (40, 50),
    "dropout1d": (40, 50, 3),
    "dropout2d": (40, 50, 2, 2),
    "dropout3d": (40, 50, 1, 2, 2),
    "feature_alpha_dropout": (40, 50, 2),
}


@pytest.mark.parametrize("name", SHAPES)
def test_how_often_something_is_dropped(name):
    polyad.manual_seed(1)
    drawn = getattr(F, name)(polyad.ones(SHAPES[name]), 0.3, True)
    dropped = (drawn <= 0).flatten(2).float().mean().item() if drawn.ndim > 2 else (drawn <= 0).float().mean().item()
    # Three standard deviations of 2000 draws.
    assert dropped == pytest.approx(0.3, abs=3 * (0.21 / 2000) ** 0.5)


@pytest.mark.parametrize("name", SHAPES)
def test_in_place(name):
    polyad.manual_seed(2)
    expected = getattr(F, name)(polyad.ones(SHAPES[name]), 0.3, True)
    polyad.manual_seed(2)
    x = polyad.ones(SHAPES[name])
    assert getattr(F, name)(x, 0.3, True, True) is x
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("name", SHAPES)
def test_gradient_is_what_the_input_was_scaled_by(name):
    polyad.manual_seed(4)
    x = polyad.full(SHAPES[name], 2.0, requires_grad=True)
    drawn = getattr(F, name)(x, 0.3, True)
    drawn.sum().backward()
    kept = drawn > 0
    assert bool((x.grad[~kept] == 0).all())
    assert len(set(x.grad[kept].tolist())) == 1


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout"])
def test_alpha_dropout_keeps_mean_and_variance(name):
    polyad.manual_seed(5)
    x = polyad.randn(500, 200)
    drawn = getattr(F, name)(x, 0.2, True)
    assert drawn.mean().item() == pytest.approx(0, abs=0.02)
    assert drawn.var().item() == pytest.approx(1, abs=0.02)


def test_without_training_nothing_happens():
    x = polyad.ones(2, 3, 4)
    for name in ("dropout", "alpha_dropout", "feature_alpha_dropout", "dropout1d"):
        assert getattr(F, name)(x, 0.5, False) is x


def test_dimensions_that_are_guessed_warn():
    with pytest.warns(UserWarning, match="dropout2d"):
        F.dropout2d(polyad.ones(2, 3, 4))
    with pytest.warns(UserWarning, match="dropout3d"):
        F.dropout3d(polyad.ones(2, 3))
