"""RandAugment, TrivialAugmentWide and the names of v2."""

import numpy as np
import pytest

import polyad
from polyad.vision import transforms as T
from polyad.vision.transforms import automatic, functional as F, v2

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
PIXELS = np.random.default_rng(0).integers(0, 256, (20, 24, 3), dtype=np.uint8)
TENSOR = polyad.from_numpy(PIXELS.transpose(2, 0, 1).copy())
SPACES = {"rand": T.RandAugment().ranges(20, 24), "trivial": T.TrivialAugmentWide().ranges(20, 24)}


def test_strengths_are_those_of_the_papers():
    rand, trivial = SPACES["rand"], SPACES["trivial"]
    assert len(rand) == len(trivial) == 14
    assert [rand["Posterize"].at(m, 31) for m in (0, 3, 4, 9, 30)] == [8, 8, 7, 7, 4]
    assert [trivial["Posterize"].at(m, 31) for m in (0, 30)] == [8, 2]
    assert (rand["Solarize"].at(0, 31), rand["Solarize"].at(30, 31)) == (255, 0)
    assert rand["TranslateX"].at(30, 31) == pytest.approx(150 / 331 * 24)
    assert rand["Rotate"].at(9, 31) == pytest.approx(9)
    assert trivial["Brightness"].at(30, 31) == pytest.approx(0.99)


@pytest.mark.parametrize("name", SPACES["rand"])
@pytest.mark.parametrize("space", SPACES)
def test_an_operation_does_to_tensors_what_it_does_to_pictures(space, name):
    at = SPACES[space][name]
    for strength in {at.at(12, 31), at.at(30, 31), *([-at.at(12, 31)] if at.signed else [])}:
        found = automatic.apply(TENSOR, name, strength, automatic.NEAREST, None)
        picture = automatic.apply(F.to_pil_image(TENSOR), name, strength, automatic.NEAREST, None)
        apart = (found.int() - F.pil_to_tensor(picture).int()).abs()
        if name in ("Rotate", "ShearX", "ShearY"):  # pixels whose place is on the edge between two
            assert (apart > 0).float().mean().item() < 0.12
        else:
            assert apart.max().item() <= (2 if name in automatic.COLORS else 0)
        changes = name not in ("Identity", "AutoContrast", "Equalize") and strength != 0
        assert not changes or not polyad.equal(found, TENSOR)


@pytest.mark.parametrize("augment", [T.RandAugment(3, 12), T.TrivialAugmentWide(fill=128)])
def test_what_is_chosen_follows_from_the_seed(augment):
    def drawn(seed):
        polyad.manual_seed(seed)
        return [augment(TENSOR) for _ in range(4)]

    assert all(polyad.equal(a, b) for a, b in zip(drawn(1), drawn(1)))
    different = {tuple(augment(TENSOR).flatten().tolist()) for _ in range(40)}
    assert len(different) > 15
    assert augment(F.to_pil_image(TENSOR)).size == (24, 20)


def test_all_operations_are_chosen_alike(monkeypatch):
    seen = []
    monkeypatch.setattr(automatic, "apply", lambda img, name, strength, *rest: seen.append((name, strength)) or img)
    polyad.manual_seed(0)
    for _ in range(700):
        T.RandAugment()(TENSOR)
    counts = {name: sum(1 for found, _ in seen if found == name) for name in SPACES["rand"]}
    assert all(60 < count < 145 for count in counts.values())  # 100 each, and 4.5 standard deviations
    turned = [strength for name, strength in seen if name == "Rotate"]
    assert 0.3 < sum(strength < 0 for strength in turned) / len(turned) < 0.7


def test_v2_names():
    change = v2.Compose(
        [
            v2.ToImage(),
            v2.RandomResizedCrop(8, antialias=True),
            v2.RandomHorizontalFlip(p=0.5),
            v2.TrivialAugmentWide(),
            v2.ToDtype(polyad.float32, scale=True),
            v2.Normalize(mean=[0.5] * 3, std=[0.25] * 3),
            v2.ToPureTensor(),
        ]
    )
    assert change(F.to_pil_image(TENSOR)).shape == (3, 8, 8)
    assert polyad.equal(v2.ToImage()(PIXELS), TENSOR)
    assert v2.ToDtype(polyad.float32)(TENSOR).max().item() > 1
    assert polyad.equal(v2.ToDtype(polyad.float32, scale=True)(TENSOR), F.convert_image_dtype(TENSOR, polyad.float32))
    assert v2.RGB()(TENSOR[:1]).shape == (3, 20, 24)
    assert all(hasattr(v2, name) for name in v2.__all__)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: T.RandAugment(magnitude=31), ValueError, "magnitude 31 of 31"),
        (lambda: T.TrivialAugmentWide(1), ValueError, "at least 2"),
        (lambda: v2.ToDtype({"a": polyad.float32}), TypeError, "dict"),
        (lambda: v2.ToDtype(polyad.float32)(F.to_pil_image(TENSOR)), TypeError, "ToImage"),
        (lambda: v2.ToImage()("file.png"), TypeError, "type str"),
        (lambda: T.RandAugment()("file.png"), TypeError, "img is str, not a tensor"),
    ],
)
def test_wrong_arguments_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
