"""Models: names and shapes of torchvision 0.28, kept in a file beside this one, and what they are built from."""

import json
import lzma
from pathlib import Path

import pytest

import polyad
from polyad import nn
from polyad.vision import models

STATES = json.loads(lzma.decompress(Path(__file__).with_name("torchvision-0.28-states.json.xz").read_bytes()))


def test_every_model_of_the_list_is_there():
    assert models.list_models() == sorted(STATES)


@pytest.mark.parametrize("name", STATES)
def test_keys_and_shapes_are_torchvisions(name):
    with polyad.device("meta"):
        model = models.get_model(name)
    assert [(key, list(value.shape)) for key, value in model.state_dict().items()] == list(STATES[name].items())


# Others differ from these in numbers of blocks and channels only.
@pytest.mark.parametrize("name", ["resnet18", "resnext50_32x4d"])
def test_models_compute_scores(name):
    with polyad.device("meta"):
        model = models.get_model(name, num_classes=7)
        assert model(polyad.empty(2, 3, 64, 64)).shape == (2, 7)


def test_weights_come_from_a_file_or_a_state_dict(tmp_path):
    source = models.resnet18(num_classes=3)
    polyad.save(source.state_dict(), tmp_path / "weights.safetensors", format="safetensors")
    for weights in (tmp_path / "weights.safetensors", str(tmp_path / "weights.safetensors"), source.state_dict()):
        loaded = models.resnet18(weights=weights, num_classes=3)
        assert all(polyad.equal(a, b) for a, b in zip(loaded.state_dict().values(), source.state_dict().values()))


@pytest.mark.parametrize(
    ("weights", "error", "text"),
    [
        ("DEFAULT", ValueError, "published weights; polyad brings none"),
        ("IMAGENET1K_V1", ValueError, "pass the path of a downloaded file"),
        (7, TypeError, "weights is int, not"),
        ("absent.pth", FileNotFoundError, "absent.pth"),
        ({"a": polyad.ones(1)}, RuntimeError, "conv1.weight"),
    ],
)
def test_other_weights_are_refused(weights, error, text):
    with pytest.raises(error, match=text):
        models.resnet18(weights=weights, num_classes=2)


def test_initial_numbers():
    polyad.manual_seed(0)
    model = models.resnet18(zero_init_residual=True, num_classes=10)
    weight = model.layer3[0].conv1.weight
    assert abs(weight.std().item() / (2 / (256 * 9)) ** 0.5 - 1) < 0.02
    assert model.layer1[0].bn2.weight.abs().max().item() == 0
    assert model.layer1[0].bn1.weight.min().item() == 1


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="there is no model 'resnet19'"):
        models.get_model("resnet19")
    with pytest.raises(ValueError, match="replace_stride_with_dilation"):
        models.resnet50(replace_stride_with_dilation=[True])


def test_a_step_of_training_changes_every_parameter():
    polyad.manual_seed(0)
    model = models.ResNet(models.resnet.BasicBlock, [1, 1, 1, 1], num_classes=3)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = polyad.optim.SGD(model.parameters(), lr=0.1)
    nn.functional.cross_entropy(model(polyad.randn(4, 3, 32, 32)), polyad.tensor([0, 1, 2, 0])).backward()
    optimizer.step()
    assert [name for name, value in model.named_parameters() if polyad.equal(value, before[name])] == []
