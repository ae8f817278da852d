"""Transforms of tensors against Pillow's, and against what is written out in NumPy."""

import random

import numpy as np
import pytest

import polyad
from polyad.utils.data import DataLoader, Dataset
from polyad.vision import transforms as T
from polyad.vision.transforms import InterpolationMode, functional as F

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def pixels(height=23, width=31, channels=3):
    """A smooth picture with noise, so that neither rounding nor interpolation has an easy case only."""
    at = np.random.default_rng(0).integers(0, 256, (height, width, channels))
    ramp = np.add.outer(np.arange(height) * 5, np.arange(width) * 3)[..., None]
    return ((at + ramp) // 2 % 256).astype(np.uint8)


def both(array=None):
    array = pixels() if array is None else array
    return F.to_pil_image(array), polyad.from_numpy(array.transpose(2, 0, 1).copy())


def apart(name, *args, **kwargs):
    """The largest difference between a transform of a picture and of the same tensor."""
    picture, tensor = both()
    expected = F.pil_to_tensor(getattr(F, name)(picture, *args, **kwargs))
    found = getattr(F, name)(tensor, *args, **kwargs)
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    return (found.int() - expected.int()).abs().max().item()


# Pillow keeps 8 bits between its two passes, and weights in fixed point: a level for the first, a level for rounding.
@pytest.mark.parametrize("mode", [InterpolationMode.BILINEAR, InterpolationMode.BICUBIC])
@pytest.mark.parametrize("size", [7, (11, 40), (50, 9), (46, 62)])
def test_resize(size, mode):
    assert apart("resize", size, mode) <= 2


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("hflip", ()),
        ("vflip", ()),
        ("crop", (3, 5, 9, 12)),
        ("crop", (-4, -5, 40, 50)),
        ("center_crop", (12,)),
        ("center_crop", ((40, 12),)),
        ("pad", (3, 9)),
        ("pad", ((1, 2, 3, 4), 0, "reflect")),
        ("pad", ((1, 2), 0, "symmetric")),
        ("pad", (2, 0, "edge")),
        ("invert", ()),
        ("posterize", (3,)),
        ("solarize", (120,)),
        ("equalize", ()),
        ("rotate", (90, InterpolationMode.NEAREST, True)),
        ("rotate", (180,)),
        ("gaussian_blur", (5, 1.3)),
    ],
)
def test_the_same_numbers_as_pillow(name, arguments):
    assert apart(name, *arguments) == 0


# Pillow's grey rounds and takes other digits of the weights: a level; blending cuts it off: another.
@pytest.mark.parametrize("name", ["adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_sharpness"])
@pytest.mark.parametrize("factor", [0.0, 0.4, 1.0, 1.8])
def test_colours(name, factor):
    assert apart(name, factor) <= 2


def test_grey_and_contrast():
    assert apart("rgb_to_grayscale") <= 1
    assert apart("rgb_to_grayscale", 3) <= 1
    assert apart("autocontrast") <= 1
    assert apart("adjust_gamma", 0.6) <= 1


def test_hue_goes_around():
    picture, tensor = both()
    floating = tensor.float() / 255
    red = polyad.tensor([1.0, 0.0, 0.0]).reshape(3, 1, 1)
    assert F.adjust_hue(red, 1 / 3).flatten().tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    turned = F.adjust_hue(F.adjust_hue(floating, 0.2), -0.2)
    assert (turned - floating).abs().max().item() < 1e-5
    # Pillow keeps hue, saturation and value in a byte each: six times that much in a channel.
    expected = F.pil_to_tensor(F.adjust_hue(picture, 0.25)).int()
    assert (F.adjust_hue(tensor, 64 / 255).int() - expected).abs().float().mean().item() < 4


def test_rotation_by_an_angle_inside():
    picture, tensor = both(pixels(40, 40))
    expected = F.pil_to_tensor(F.rotate(picture, 30, InterpolationMode.BILINEAR)).int()
    found = F.rotate(tensor, 30, InterpolationMode.BILINEAR).int()
    inside = (slice(None), slice(12, 28), slice(12, 28))
    assert (found - expected)[inside].abs().max().item() <= 1


def test_between_numbers_arrays_and_pictures():
    array = pixels()
    picture, tensor = both(array)
    assert polyad.equal(F.pil_to_tensor(picture), tensor)
    assert polyad.equal(F.to_tensor(picture), tensor.float() / 255)
    assert polyad.equal(F.to_tensor(array), F.to_tensor(picture))
    assert (np.array(F.to_pil_image(tensor)) == array).all()
    assert (np.array(F.to_pil_image(F.to_tensor(picture))) == array).all()
    for dtype in (polyad.float32, polyad.float64, polyad.int16):
        assert polyad.equal(F.convert_image_dtype(F.convert_image_dtype(tensor, dtype), polyad.uint8), tensor)
    grey = F.to_pil_image(tensor[:1])
    assert (grey.mode, F.to_tensor(grey).shape) == ("L", (1, 23, 31))


def test_pixels_that_only_move_are_not_computed_with():
    array = pixels()
    picture, tensor = both(array)
    for size in ((7, 9), (40, 50)):
        found = F.resize(tensor, size, InterpolationMode.NEAREST_EXACT)
        expected = F.pil_to_tensor(F.resize(picture, size, InterpolationMode.NEAREST))
        assert polyad.equal(found, expected)
        floating = F.resize(tensor.float(), size, InterpolationMode.NEAREST)
        assert polyad.equal(F.resize(tensor, size, InterpolationMode.NEAREST).float(), floating)


def test_batches_are_the_same_as_samples():
    tensor = both()[1]
    batch = polyad.stack([tensor, tensor.flip(-1)])
    for name, *arguments in (
        ("resize", 9), ("rotate", 33.0), ("gaussian_blur", 3), ("adjust_contrast", 0.5), ("equalize",),
    ):  # fmt: skip
        function = getattr(F, name)
        assert polyad.equal(function(batch, *arguments)[1], function(batch[1], *arguments)), name


AUGMENT = T.Compose(
    [
        T.RandomResizedCrop(12),
        T.RandomHorizontalFlip(),
        T.RandomVerticalFlip(),
        T.ColorJitter(0.4, 0.4, 0.4, 0.2),
        T.RandomApply([T.GaussianBlur(3)]),
        T.RandomRotation(20),
        T.RandomAffine(10, (0.1, 0.1), (0.8, 1.2), 5),
        T.RandomCrop(12, padding=2),
        T.RandomOrder([T.RandomGrayscale(), T.RandomInvert()]),
        T.RandomChoice([T.RandomAutocontrast(), T.RandomSolarize(100)]),
        T.ConvertImageDtype(polyad.float32),
        T.Normalize([0.5] * 3, [0.2] * 3),
        T.RandomErasing(value="random"),
    ]
)


class Augmented(Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, index):
        return AUGMENT(both()[1])


def test_a_sample_depends_on_seed_epoch_and_index_alone():
    def epochs(count, **options):
        loader = DataLoader(Augmented(), generator=polyad.Generator().manual_seed(3), **options)
        return [polyad.cat(list(loader)) for _ in range(count)]

    first, second = epochs(2, batch_size=2)
    polyad.rand(5), random.random()
    again = epochs(2, batch_size=3)
    assert polyad.equal(first, again[0])
    assert polyad.equal(second, again[1])
    assert not polyad.equal(first, second)
    assert len({tuple(sample.flatten().tolist()) for sample in first}) == 6


def test_chance_is_as_announced():
    polyad.manual_seed(0)
    tensor = polyad.arange(6.0).reshape(1, 2, 3)
    flips = sum(T.RandomHorizontalFlip(0.3)(tensor)[0, 0, 0].item() == 2 for _ in range(2000))
    assert abs(flips / 2000 - 0.3) < 4 * (0.21 / 2000) ** 0.5
    places = {T.RandomCrop.get_params(tensor, (1, 2))[:2] for _ in range(200)}
    assert places == {(0, 0), (0, 1), (1, 0), (1, 1)}
    picture = polyad.zeros(3, 60, 40)
    for _ in range(200):
        top, left, height, width = T.RandomResizedCrop.get_params(picture, (0.2, 0.5), (0.5, 2.0))
        assert 0 <= top <= 60 - height
        assert 0 <= left <= 40 - width
        rounding = (height + width) / 2 + 0.25  # of both sides by a half
        assert 0.2 * 2400 - rounding <= height * width <= 0.5 * 2400 + rounding
        assert (width + 0.5) / (height - 0.5) >= 0.5
        assert (width - 0.5) / (height + 0.5) <= 2.0
    erased = T.RandomErasing(1.0, value=5.0)(picture)
    assert 0.015 < (erased == 5).float().mean().item() < 0.36


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: F.resize("picture", 3), TypeError, "img is str, not a tensor"),
        (lambda: F.resize(polyad.zeros(3, 4, 4), 0), ValueError, "size is 0"),
        (lambda: F.resize(polyad.zeros(3, 4, 4), (2, 2), max_size=3), ValueError, "max_size goes with"),
        (lambda: F.normalize(polyad.zeros(1, 2, 2, dtype=polyad.uint8), [0], [1]), TypeError, "uint8"),
        (lambda: F.normalize(polyad.zeros(1, 2, 2), [0.0], [0.0]), ValueError, "std is"),
        (lambda: F.pad(polyad.zeros(1, 2, 2), 5, padding_mode="reflect"), ValueError, "pad at most 1"),
        (lambda: F.adjust_hue(polyad.zeros(3, 2, 2), 0.7), ValueError, "from -0.5 to 0.5"),
        (lambda: F.rgb_to_grayscale(polyad.zeros(4, 2, 2)), ValueError, "4 channels"),
        (lambda: F.equalize(polyad.zeros(3, 2, 2)), TypeError, "uint8"),
        (lambda: F.gaussian_blur(polyad.zeros(3, 9, 9), 4), ValueError, "odd"),
        (lambda: F.to_pil_image(polyad.zeros(5, 2, 2)), ValueError, "5 channels"),
        (lambda: F.to_tensor([1, 2]), TypeError, "of type list"),
        (lambda: T.RandomCrop(9)(polyad.zeros(3, 4, 4)), ValueError, "pad_if_needed"),
        (lambda: T.ColorJitter(hue=0.6), ValueError, "hue"),
        (lambda: T.ColorJitter(brightness=-1), ValueError, "brightness"),
        (lambda: T.RandomErasing(value="noise"), ValueError, "random"),
        (lambda: T.Lambda(3), TypeError, "lambd"),
        (lambda: F.five_crop(polyad.zeros(3, 4, 4), 5), ValueError, "crop less"),
    ],
)
def test_wrong_arguments_are_named(call, error, text):
    with pytest.raises(error, match=text):
        call()
