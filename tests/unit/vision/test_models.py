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
@pytest.mark.parametrize(
    "name",
    ["resnet18", "resnext50_32x4d", "vgg11", "vgg13_bn", "mobilenet_v2", "mobilenet_v3_large", "efficientnet_b1",
     "efficientnet_v2_s", "vit_b_16"],
)  # fmt: skip
def test_models_compute_scores(name):
    size = 224 if name.startswith("vit") else 64
    with polyad.device("meta"):
        model = models.get_model(name, num_classes=7)
        assert model(polyad.empty(2, 3, size, size)).shape == (2, 7)


def tiny():
    return models.VisionTransformer(16, 8, num_layers=1, num_heads=2, hidden_dim=8, mlp_dim=16, num_classes=3)


def test_weights_come_from_a_file_or_a_state_dict(tmp_path):
    source = models.mobilenet_v3_small(num_classes=3)
    polyad.save(source.state_dict(), tmp_path / "weights.safetensors", format="safetensors")
    for weights in (tmp_path / "weights.safetensors", str(tmp_path / "weights.safetensors"), source.state_dict()):
        loaded = models.mobilenet_v3_small(weights=weights, num_classes=3)
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
    net = models.efficientnet_b0(num_classes=10)
    assert net.classifier[1].weight.abs().max().item() <= 10**-0.5
    assert net.features[8][1].eps == 1e-5
    assert models.efficientnet_v2_s(num_classes=2).features[0][1].eps == 1e-3
    head = tiny().heads.head
    assert (head.weight.abs().sum() + head.bias.abs().sum()).item() == 0


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match="there is no model 'resnet19'"):
        models.get_model("resnet19")
    with pytest.raises(ValueError, match="must be divisible by patch_size"):
        models.VisionTransformer(30, 8, 1, 1, 8, 8)
    with pytest.raises(RuntimeError, match="resize the pictures to 16 x 16"):
        tiny()(polyad.zeros(1, 3, 32, 32))
    with pytest.raises(ValueError, match="replace_stride_with_dilation"):
        models.resnet50(replace_stride_with_dilation=[True])


def test_stochastic_depth_drops_samples_or_the_batch():
    polyad.manual_seed(0)
    rows = models.layers.stochastic_depth(polyad.ones(4000, 2), 0.25, "row")
    assert {0.0, 4 / 3} == {round(value, 6) and 4 / 3 for value in rows.unique().tolist()}
    assert abs(rows.mean().item() - 1) < 0.03
    assert polyad.equal(rows[:, 0], rows[:, 1])
    batch = models.layers.stochastic_depth(polyad.ones(100, 2), 0.5, "batch")
    assert len(batch.unique()) == 1
    assert models.layers.stochastic_depth(polyad.ones(3), 0.9, "row", training=False).sum().item() == 3


def test_a_step_of_training_changes_every_parameter():
    polyad.manual_seed(0)
    model = models.mobilenet_v2(num_classes=3, width_mult=0.35)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = polyad.optim.SGD(model.parameters(), lr=0.1)
    nn.functional.cross_entropy(model(polyad.randn(4, 3, 32, 32)), polyad.tensor([0, 1, 2, 0])).backward()
    optimizer.step()
    assert [name for name, value in model.named_parameters() if polyad.equal(value, before[name])] == []
