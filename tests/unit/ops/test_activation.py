"""Activations: what writes into its input, and what is drawn."""

from __future__ import annotations

import pytest

import polyad
from polyad.nn import functional as F

SCORES = [-2.0, -0.5, 0.25, 3.0]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("relu_", ()),
        ("celu_", (0.5,)),
        ("elu_", (2.0,)),
        ("hardtanh_", (-0.75, 0.75)),
        ("leaky_relu_", (0.25,)),
        ("rrelu_", (0.25, 0.5)),
        ("selu_", ()),
        ("threshold_", (0.5, 7.0)),
    ],
)
def test_functions_that_overwrite_their_input(name, args):
    x = polyad.tensor(SCORES)
    expected = getattr(F, name[:-1])(x, *args)
    assert getattr(F, name)(x, *args) is x
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["celu", "hardsigmoid", "hardswish", "mish", "rrelu"])
def test_inplace_argument(name):
    x = polyad.tensor(SCORES)
    expected = getattr(F, name)(x)
    assert getattr(F, name)(x, inplace=True) is x
    assert x.tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["celu", "hardswish", "mish", "hardtanh", "threshold"])
def test_gradient_through_an_overwritten_input(name):
    args = (0.5, 7.0) if name == "threshold" else ()
    one, other = polyad.tensor(SCORES, requires_grad=True), polyad.tensor(SCORES, requires_grad=True)
    getattr(F, name)(one * 1, *args, inplace=True).sum().backward()
    getattr(F, name)(other * 1, *args).sum().backward()
    assert one.grad.tolist() == other.grad.tolist()


def test_a_leaf_is_not_overwritten():
    with pytest.raises(RuntimeError, match="leaf"):
        F.rrelu_(polyad.tensor(SCORES, requires_grad=True), training=True)


def test_rrelu_draws_slopes_within_bounds_and_differentiates_them():
    polyad.manual_seed(0)
    x = polyad.full((200,), -1.0, requires_grad=True)
    drawn = F.rrelu(x, 0.25, 0.5, training=True)
    drawn.sum().backward()
    slopes = -drawn.detach()
    assert 0.25 <= slopes.min().item() < 0.27
    assert 0.48 < slopes.max().item() <= 0.5
    assert x.grad.tolist() == slopes.tolist()


def test_gumbel_softmax_draws_with_the_probabilities_of_its_logits():
    polyad.manual_seed(0)
    logits = polyad.tensor([0.5, 0.3, 0.2]).log().expand(4000, 3)
    shares = F.gumbel_softmax(logits, tau=0.1, hard=True).mean(0)
    # Three standard deviations of 4000 draws.
    assert shares.tolist() == pytest.approx([0.5, 0.3, 0.2], abs=3 * (0.25 / 4000) ** 0.5)


def test_hard_draws_have_the_gradient_of_soft_ones():
    logits = polyad.tensor([[0.5, -0.5, 1.0]], requires_grad=True)
    polyad.manual_seed(3)
    soft = F.gumbel_softmax(logits, tau=0.7)
    polyad.manual_seed(3)
    hard = F.gumbel_softmax(logits, tau=0.7, hard=True)
    assert sorted(hard.tolist()[0]) == pytest.approx([0, 0, 1])
    weight = polyad.tensor([[1.0, 2.0, 3.0]])
    (of_soft,) = polyad.autograd.grad((soft * weight).sum(), logits)
    (of_hard,) = polyad.autograd.grad((hard * weight).sum(), logits)
    assert of_hard.tolist()[0] == pytest.approx(of_soft.tolist()[0])


def test_gumbel_softmax_says_that_eps_does_nothing():
    with pytest.warns(UserWarning, match="eps"):
        F.gumbel_softmax(polyad.zeros(3), eps=1e-3)


def test_methods():
    x = polyad.tensor(SCORES)
    assert x.hardshrink(1.0).tolist() == [-2.0, 0.0, 0.0, 3.0]
    assert x.prelu(polyad.tensor(0.5)).tolist() == [-1.0, -0.25, 0.25, 3.0]
