"""Datasets in the published formats, written here, and pictures for people."""

import pickle

import numpy as np
import pytest

import polyad
from polyad.vision import datasets, transforms, utils

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
RANDOM = np.random.default_rng(1)
PIXELS = RANDOM.integers(0, 256, (20, 3072), dtype=np.uint8)
LABELS = RANDOM.integers(0, 10, 20).tolist()


def cifar_python(folder, protocol=2):
    place = folder / "cifar-10-batches-py"
    place.mkdir()
    files = [f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]
    for number, name in enumerate(files):
        rows = slice(number * 3, number * 3 + 3)
        (place / name).write_bytes(
            pickle.dumps({b"batch_label": b"x", b"labels": LABELS[rows], b"data": PIXELS[rows]}, protocol)
        )
    (place / "batches.meta").write_bytes(pickle.dumps({b"label_names": [f"n{n}" for n in range(10)]}, protocol))


def cifar_binary(folder):
    place = folder / "cifar-10-batches-bin"
    place.mkdir()
    for number, name in enumerate([f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]):
        rows = range(number * 3, number * 3 + 3)
        (place / f"{name}.bin").write_bytes(b"".join(bytes([LABELS[n]]) + PIXELS[n].tobytes() for n in rows))
    (place / "batches.meta.txt").write_text("\n".join(f"n{n}" for n in range(10)) + "\n")


@pytest.mark.parametrize("write", [cifar_python, lambda folder: cifar_python(folder, 4), cifar_binary])
def test_cifar(tmp_path, write):
    write(tmp_path)
    train, test = datasets.CIFAR10(tmp_path), datasets.CIFAR10(tmp_path, train=False)
    assert (len(train), len(test), train.targets) == (15, 3, LABELS[:15])
    assert train.classes == [f"n{n}" for n in range(10)]
    picture, label = test[1]
    assert (np.array(picture) == PIXELS[16].reshape(3, 32, 32).transpose(1, 2, 0)).all()
    assert label == LABELS[16]
    changed = datasets.CIFAR10(tmp_path, transform=transforms.ToTensor(), target_transform=str)[0]
    assert (changed[0].shape, changed[1]) == ((3, 32, 32), str(LABELS[0]))


class Harm:
    def __reduce__(self):
        return print, ("harm",)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        pickle.dumps(Harm()),
        pickle.dumps([1]),
        pickle.dumps({b"labels": [0], b"data": np.zeros((1, 3072), np.float64)}),
        pickle.dumps({b"labels": [0], b"data": np.array([[None]], object)}),
        pickle.dumps({b"labels": [0], b"data": np.zeros((2, 3072), np.uint8)}),
        pickle.dumps({b"labels": [11, 0], b"data": np.zeros((2, 3072), np.uint8)}),
    ],
)
def test_a_damaged_or_hostile_cifar_file_is_refused(tmp_path, content, capsys):
    cifar_python(tmp_path)
    (tmp_path / "cifar-10-batches-py" / "test_batch").write_bytes(content)
    with pytest.raises(RuntimeError, match="test_batch"):
        datasets.CIFAR10(tmp_path, train=False)
    assert capsys.readouterr().out == ""


def test_files_that_are_missing_say_where_they_are(tmp_path):
    with pytest.raises(RuntimeError, match=r"https://www\.cs\.toronto\.edu"):
        datasets.CIFAR100(tmp_path, download=True)
    with pytest.raises(FileNotFoundError, match="IDX files"):
        datasets.MNIST(tmp_path)


@pytest.mark.parametrize("inner", ["", "FashionMNIST/raw"])
def test_mnist(tmp_path, inner):
    folder = tmp_path / inner
    folder.mkdir(parents=True, exist_ok=True)
    images, labels = RANDOM.integers(0, 256, (4, 28, 28), dtype=np.uint8), bytes([3, 1, 9, 0])
    header = bytes([0, 0, 8, 3]) + b"".join(n.to_bytes(4, "big") for n in (4, 28, 28))
    (folder / "train-images-idx3-ubyte").write_bytes(header + images.tobytes())
    (folder / "train-labels-idx1-ubyte").write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 4]) + labels)
    dataset = datasets.FashionMNIST(tmp_path, train=True)
    picture, label = dataset[2]
    assert (picture.mode, label, dataset.targets.tolist()) == ("L", 9, [3, 1, 9, 0])
    assert (np.array(picture) == images[2]).all()
    assert dataset.class_to_idx["ankle boot"] == 9


def test_folders(tmp_path):
    for name, colour in (("a/1.png", 10), ("a/2.png", 20), ("b/3.png", 30)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4), (colour,) * 3).save(tmp_path / name)
    folder = datasets.ImageFolder(tmp_path, transforms.PILToTensor(), str)
    assert (folder[2][0].unique().tolist(), folder[2][1], folder.classes) == ([30], "1", ["a", "b"])
    assert datasets.ImageFolder(tmp_path)[0][0].getpixel((0, 0)) == (10, 10, 10)
    other = datasets.DatasetFolder(tmp_path, lambda path: path[-5], extensions=".png")
    assert [other[n] for n in range(3)] == [("1", 0), ("2", 0), ("3", 1)]
    with pytest.raises(ValueError, match="extensions and is_valid_file"):
        datasets.DatasetFolder(tmp_path, len)
    with pytest.raises(FileNotFoundError, match="no file to take for the classes a, b"):
        datasets.DatasetFolder(tmp_path, len, extensions=".wav")


def test_grids_and_files(tmp_path):
    pictures = polyad.arange(5.0).reshape(5, 1, 1, 1).expand(5, 1, 2, 3) / 4
    grid = utils.make_grid(pictures, nrow=3, padding=1, pad_value=0.5)
    assert grid.shape == (3, 7, 13)
    assert grid[0, 4].tolist() == [0.5, 0.75, 0.75, 0.75, 0.5, 1, 1, 1, 0.5, 0.5, 0.5, 0.5, 0.5]
    assert utils.make_grid(pictures * 8, normalize=True).max().item() == 1
    utils.save_image(pictures, tmp_path / "grid.png", nrow=3)
    read = np.asarray(Image.open(tmp_path / "grid.png"))
    assert (read.shape, read.max(), read.dtype) == ((10, 17, 3), 255, np.uint8)
