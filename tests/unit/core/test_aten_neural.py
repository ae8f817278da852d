"""PyTorch's ops of layers and losses, as files call them: numbers for reductions, sizes of results."""

import pytest

import polyad
from polyad.nn import functional as F
from polyad.testing import assert_close

aten = polyad.ops.aten
ONE, OTHER, THIRD = polyad.arange(12.0).reshape(3, 4), polyad.ones(3, 4), polyad.full((3, 4), 2.0)
SIGNS = polyad.tensor([1, -1, 1])
SCORES = polyad.linspace(-1, 1, 24).reshape(4, 2, 3).log_softmax(2)
LOSSES = {
    "cosine_embedding_loss": (ONE, OTHER, SIGNS),
    "hinge_embedding_loss": (ONE, OTHER),
    "margin_ranking_loss": (ONE, OTHER, polyad.ones(3, 4)),
    "triplet_margin_loss": (ONE, OTHER, THIRD),
    "ctc_loss": (SCORES, polyad.tensor([[1, 2], [2, 1]]), [4, 4], [2, 2]),
}


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_means_unless_a_number_says_otherwise(name):
    for given, reduction in (((), "mean"), ((0,), "none"), ((2,), "sum")):
        named = dict(zip(["reduction"], given, strict=False))
        wanted = getattr(F, name)(*LOSSES[name], reduction=reduction)
        assert_close(getattr(aten, name)(*LOSSES[name], **named), wanted)


@pytest.mark.parametrize("ndim", [2, 3])
@pytest.mark.parametrize("leading", [(2,), (3, 2)])
def test_unpooling_takes_the_size_of_the_result(ndim, leading):
    x = polyad.randn(*leading, *[5] * ndim)
    values, indices = getattr(F, f"max_pool{ndim}d")(x, 2, return_indices=True)
    more = ([2] * ndim, [0] * ndim) if ndim == 3 else ()
    found = getattr(aten, f"max_unpool{ndim}d")(values, indices, [5] * ndim, *more)
    assert_close(found, getattr(F, f"max_unpool{ndim}d")(values, indices, 2, output_size=[5] * ndim))


@pytest.mark.parametrize("ndim", [1, 2, 3])
def test_adaptive_maxima_come_with_indices(ndim):
    x = polyad.randn(3, 2, *[4] * ndim)
    found = getattr(aten, f"adaptive_max_pool{ndim}d")(x, [2] * ndim)
    wanted = getattr(F, f"adaptive_max_pool{ndim}d")(x, [2] * ndim, return_indices=True)
    for one, other in zip(found, wanted, strict=True):
        assert_close(one, other)


@pytest.mark.parametrize("name", ["silu", "mish", "hardswish", "hardsigmoid", "relu6"])
def test_activations_that_write_into_their_input(name):
    x = polyad.linspace(-4, 8, 7)
    wanted = getattr(F, name)(x)
    found = getattr(aten, f"{name}_")(x)
    assert found is x
    assert_close(x, wanted)


@pytest.mark.parametrize("number", [-1, 3, True])
def test_a_number_that_is_no_reduction_is_refused(number) -> None:
    with pytest.raises(ValueError, match="l1_loss: reduction is"):
        aten.l1_loss(ONE, OTHER, number)
