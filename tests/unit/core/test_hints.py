"""Errors that recognise what was meant."""

import importlib
import importlib.util

import pytest

import polyad
from polyad import nn
from polyad.nn import functional as F


@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss, nn.CrossEntropyLoss(), nn.NLLLoss()])
@pytest.mark.parametrize("places", [(), (6,), (6, 4, 3)])
def test_swapped_arguments_of_losses(loss, places):
    scores = polyad.randn(*places[:1], 5, *places[1:])
    classes = polyad.zeros(*places, dtype=polyad.int64) if places else polyad.tensor(1)
    loss(scores, classes)
    if places:
        with pytest.raises(RuntimeError, match=r"swapped(.|\n)*fix +exchange them"):
            loss(classes, scores)
    with pytest.raises(RuntimeError, match="class numbers are integers"):
        loss(scores, classes.float()[..., None] if not places else polyad.randn(*places))


@pytest.mark.parametrize(
    ("call", "order"),
    [
        (lambda: nn.Conv2d(3, 8, 3)(polyad.randn(2, 9, 9, 3)), "0, 3, 1, 2"),
        (lambda: nn.Conv2d(4, 8, 3, groups=2)(polyad.randn(2, 9, 9, 4)), "0, 3, 1, 2"),
        (lambda: nn.Conv2d(3, 8, 3)(polyad.randn(9, 9, 3)), "2, 0, 1"),
        (lambda: nn.Conv1d(3, 8, 3)(polyad.randn(2, 9, 3)), "0, 2, 1"),
        (lambda: nn.ConvTranspose2d(3, 8, 3)(polyad.randn(2, 9, 9, 3)), "0, 3, 1, 2"),
        (lambda: nn.BatchNorm2d(3)(polyad.randn(2, 9, 9, 3)), "0, 3, 1, 2"),
    ],
)
def test_channels_that_come_last(call, order):
    with pytest.raises(RuntimeError, match=rf"fix +the channels seem to come last: input\.permute\({order}\)"):
        call()


def test_other_channels_get_other_advice():
    with pytest.raises(RuntimeError, match="give input 3 channels"):
        nn.Conv2d(3, 8, 3)(polyad.randn(2, 4, 9, 9))


@pytest.mark.parametrize(
    ("module", "advice"),
    [
        ("polyad.lint", "lint is no module: from polyad import lint"),
        ("polyad.vison", r"did you mean polyad\.vision\?"),
        ("polyad.nn.modules.convv", r"did you mean polyad\.nn\.modules\.conv\?"),
        ("polyad.zzz", "install the package that brings it"),
        ("polyad.nn.zzz", r"see dir\(polyad\.nn\)"),
    ],
)
def test_modules_that_are_not_there(module, advice):
    with pytest.raises(ModuleNotFoundError, match=rf"{module}: there is no such module\n +fix +{advice}") as caught:
        importlib.import_module(module)
    assert caught.value.name == module


def test_asking_for_a_module_raises_nothing():
    assert importlib.util.find_spec("polyad.zzz") is None
    assert not hasattr(polyad, "zzz")
    with pytest.raises(ImportError, match="cannot import name 'zzz'"):
        from polyad import zzz  # noqa: F401
