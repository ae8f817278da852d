"""Folders of pictures."""

import sys

import numpy as np
import pytest

from polyad.datasets import ImageFolder
from polyad.utils.data import DataLoader

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def number(picture):
    return picture.getpixel((0, 0))[0]


@pytest.fixture
def folder(tmp_path):
    for name, colour, suffix in (("cat/1", 10, "png"), ("cat/deep/2", 20, "PNG"), ("dog/3", 30, "bmp")):
        path = tmp_path / f"{name}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((4, 6, 3), colour, np.uint8)).save(path)
    (tmp_path / "cat" / "notes.txt").write_text("no picture")
    return tmp_path


def test_pictures_and_classes(folder):
    dataset = ImageFolder(folder)
    assert (dataset.classes, dataset.class_to_idx, dataset.targets) == (["cat", "dog"], {"cat": 0, "dog": 1}, [0, 0, 1])
    picture, target = dataset[2]
    assert (picture.mode, picture.size, picture.getpixel((0, 0)), target) == ("RGB", (6, 4), (30, 30, 30), 1)
    assert dataset.imgs == dataset.samples
    own = ImageFolder(folder, str.lower, str, lambda path: path[-5:], lambda path: path[-5] in "23")
    assert (list(own.samples), own[1]) == (dataset.samples[1:], ("3.bmp", "1"))


def test_a_class_without_a_picture(folder):
    (folder / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="no file to take for the classes empty"):
        ImageFolder(folder)
    dataset = ImageFolder(folder, allow_empty=True)
    assert (dataset.classes, dataset.targets) == (["cat", "dog", "empty"], [0, 0, 1])


@pytest.mark.parametrize("workers", [0, 2])
def test_a_damaged_picture_is_named_or_skipped(folder, workers):
    path = folder / "cat" / "1.png"
    data = bytearray(path.read_bytes())
    data[-30] ^= 255
    path.write_bytes(data[:-16])
    with pytest.raises(RuntimeError, match=r"1\.png cannot be read as a picture") as caught:
        list(DataLoader(ImageFolder(folder, number), num_workers=workers))
    assert any("sample 0" in note for note in caught.value.__notes__)
    [(_, targets)] = DataLoader(ImageFolder(folder, number, damaged="skip"), batch_size=3, num_workers=workers)
    assert targets.tolist() == [0, 1]


def test_what_is_no_folder_of_pictures(folder, monkeypatch):
    with pytest.raises(FileNotFoundError, match="is not a folder"):
        ImageFolder(folder / "cat" / "1.png")
    with pytest.raises(FileNotFoundError, match="has no folder in it"):
        ImageFolder(folder / "dog")
    with pytest.raises(ValueError, match="damaged must be 'raise' or 'skip', not 'ignore'"):
        ImageFolder(folder, damaged="ignore")
    dataset = ImageFolder(folder)
    (folder / "dog" / "3.bmp").unlink()
    with pytest.raises(FileNotFoundError, match=r"3\.bmp"):
        dataset[2]
    monkeypatch.setitem(sys.modules, "PIL.Image", None)
    with pytest.raises(ImportError, match=r"polyad\[images\]"):
        dataset[0]
